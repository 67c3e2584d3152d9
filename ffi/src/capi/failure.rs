//! A refusal on its way to the caller: a number and a text.

use crate::bindings::weir_status as s;
use core::cell::RefCell;
use core::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a call was refused.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: s::Type,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(status: s::Type, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::new(s::WEIR_INVALID_ARGUMENT, text)
    }
}

thread_local! {
    static LATEST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs the body of an exported function: keeps the text of a failure, and stops a panic.
pub(crate) fn guard(work: impl FnOnce() -> Result<(), Failure>) -> c_int {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    let failure = match outcome {
        Ok(Ok(())) => return s::WEIR_OK as c_int,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(s::WEIR_INTERNAL, "a defect of weir: a panic was caught, see the standard error stream"),
    };
    keep(failure.text);
    failure.status as c_int
}

/// Makes a text the thread's latest.
pub(crate) fn keep(text: String) {
    // A thread that is ending has no place for it any more; nobody can ask then either.
    let _ = LATEST.try_with(|latest| {
        if let Ok(mut latest) = latest.try_borrow_mut() {
            *latest = text;
        }
    });
}

/// Copies the thread's latest text; answers its whole length.
///
/// # Safety
/// As for [`copy_text`].
pub(crate) unsafe fn copy_latest(buffer: *mut c_char, size: usize) -> usize {
    let text = LATEST.try_with(|latest| latest.try_borrow().map(|t| t.clone()).unwrap_or_default());
    // SAFETY: as the caller promised.
    unsafe { copy_text(&text.unwrap_or_default(), buffer, size) }
}

/// Copies a text into a buffer of C's, cut at a whole character, with a 0 behind it; answers its whole length.
///
/// # Safety
/// `buffer` is null or good for writing `size` bytes.
pub(crate) unsafe fn copy_text(text: &str, buffer: *mut c_char, size: usize) -> usize {
    if !buffer.is_null() && size > 0 {
        let kept = text.floor_char_boundary(size - 1);
        // SAFETY: the caller promised `size` bytes, and at most `size - 1` are copied.
        unsafe { buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), kept) };
        // SAFETY: `kept` is less than `size`.
        let end = unsafe { buffer.add(kept) };
        // SAFETY: inside the buffer, as above.
        unsafe { end.write(0) };
    }
    text.len()
}
