//! What an image without std needs to link. Nothing in the interface panics, which CI sees on the linked image.

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
