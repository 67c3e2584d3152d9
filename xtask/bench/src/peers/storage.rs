//! Memory for allocators that write into what they manage.

use std::mem::MaybeUninit;

/// `bytes` that are never given back. The system backs a page when it is first written to: of a block its header.
///
/// # Errors
/// The system has no such range.
pub(super) fn lazy(bytes: u64) -> Result<&'static mut [MaybeUninit<u8>], String> {
    let refused = || format!("the system gives no {} MiB of addresses", bytes >> 20);
    let mut memory: Vec<u8> = Vec::new();
    memory.try_reserve_exact(usize::try_from(bytes).map_err(|_| refused())?).map_err(|_| refused())?;
    Ok(Box::leak(Box::new(memory)).spare_capacity_mut())
}
