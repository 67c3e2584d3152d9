//! What a program tells the profiler that it runs under. Without one this does nothing.

/// What follows is instrumented: counted, where it is to be. Setting up runs ten times as fast before.
///
/// The profiler is told to begin by a sequence of instructions that change nothing: valgrind's client request
/// `CALLGRIND_START_INSTRUMENTATION`. On machines other than x86-64 it instruments from the start.
pub(crate) fn begin() {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    request(START_INSTRUMENTATION);
}

/// Tool `CT`, request 4.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
const START_INSTRUMENTATION: u64 = (0x43 << 24) | (0x54 << 16) | 4;

/// Whether the program tells the profiler where to begin: then that may start without instrumentation.
pub const BEGINS: bool = cfg!(all(target_arch = "x86_64", target_os = "linux"));

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn request(code: u64) {
    let arguments = [code, 0, 0, 0, 0, 0];
    // SAFETY: the four rotations turn rdi by 128 bits in all and so give it back, the exchange of rbx with itself does
    // nothing. Under valgrind the whole is a call that reads `arguments` and answers in rdx.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") 0u64 => _,
        );
    }
}
