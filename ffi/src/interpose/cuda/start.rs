//! What is looked at before the program begins: whether it brings the CUDA runtime along, linked statically. That one
//! calls the driver by addresses that it asks for itself, so nothing of it is seen.

use super::codes::announce;
use super::vendor::is_runtime;
use crate::interpose::handles::distrust_everything;
use core::ffi::{CStr, c_int, c_void};
use core::slice;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the runtime has in it, linked how ever: the driver that it loads, and the name of one of its errors.
const RUNTIME: [&[u8]; 2] = [b"libcuda.so.1\0", b"cudaErrorCudartUnloading\0"];
/// How much of a segment is looked at. Code for the device, of which there may be gigabytes, comes behind the texts.
const MOST: usize = 64 << 20;

/// What was found of the objects that the process begins with.
#[derive(Default)]
struct Found {
    /// The runtime's own library.
    library: bool,
    /// The texts of `RUNTIME`, in the program itself.
    texts: [bool; 2],
    /// Objects looked at; the first is the program.
    objects: usize,
}

/// Looks at the process, once, when the library is loaded.
pub fn start() {
    // A panic here has nobody to go to.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let mut found = Found::default();
        // SAFETY: the function keeps to what the system asks for, and `found` outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        if !found.library && found.texts == [true; 2] {
            distrust_everything();
            announce(
                "the program has the CUDA runtime linked statically, so its calls cannot be seen: its pools stay \
                 the vendor's, and no event is believed. Link it with -cudart shared",
            );
        }
    }));
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: libc::size_t, found: *mut c_void) -> c_int {
    // SAFETY: the struct of `start`.
    let found = unsafe { &mut *found.cast::<Found>() };
    // SAFETY: the system gives a struct that is good during the call.
    let info = unsafe { &*info };
    if !info.dlpi_name.is_null() {
        // SAFETY: a string of the loader's.
        found.library |= is_runtime(unsafe { CStr::from_ptr(info.dlpi_name) });
    }
    if found.objects == 0 {
        look_into(info, &mut found.texts);
    }
    found.objects += 1;
    0
}

/// Looks for the texts in what of the program can only be read.
fn look_into(info: &libc::dl_phdr_info, texts: &mut [bool; 2]) {
    if info.dlpi_phdr.is_null() {
        return;
    }
    // SAFETY: non-null, and so many of them, as the system says.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    for header in headers {
        // Only what the loader mapped to be read, and nobody writes to.
        if header.p_type != libc::PT_LOAD || header.p_flags & (libc::PF_R | libc::PF_W) != libc::PF_R {
            continue;
        }
        let Some(start) = info.dlpi_addr.checked_add(header.p_vaddr) else { continue };
        let bytes = usize::try_from(header.p_filesz).unwrap_or(0).min(MOST);
        let start = core::ptr::with_exposed_provenance::<u8>(usize::try_from(start).unwrap_or(0));
        if start.is_null() || bytes == 0 {
            continue;
        }
        // SAFETY: the loader has mapped the segment there, to be read, and nobody writes to it.
        let segment = unsafe { slice::from_raw_parts(start, bytes) };
        for (found, text) in texts.iter_mut().zip(RUNTIME) {
            *found = *found || has(segment, text);
        }
    }
}

/// Whether some bytes are in others.
fn has(bytes: &[u8], text: &[u8]) -> bool {
    // SAFETY: both are as long as they say.
    let found = unsafe { libc::memmem(bytes.as_ptr().cast(), bytes.len(), text.as_ptr().cast(), text.len()) };
    !found.is_null()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_whole() {
        assert!(has(b"..libcuda.so.1\0..", RUNTIME[0]));
        assert!(!has(b"libcuda.so.12\0", RUNTIME[0]));
        assert!(!has(b"libcuda.so.1", RUNTIME[0]));
    }
}
