//! Pointers that C gives.

use super::failure::Failure;
use crate::bindings::weir_status as s;
use core::ffi::{CStr, c_char};
use core::mem::{MaybeUninit, size_of};
use weir::driver::NativeStream;
use weir::policy::StreamKind;

/// Where an output goes; `name` is the parameter's.
///
/// # Safety
/// The pointer is null, or good for writing a `T` during `'a`.
pub(super) unsafe fn output<'a, T>(to: *mut T, name: &str) -> Result<&'a mut MaybeUninit<T>, Failure> {
    check(to, name)?;
    // SAFETY: non-null and aligned, and the caller promised the rest.
    Ok(unsafe { &mut *to.cast::<MaybeUninit<T>>() })
}

/// An output that may be left out.
///
/// # Safety
/// As for [`output`].
pub(super) unsafe fn output_or_none<'a, T>(to: *mut T, name: &str) -> Result<Option<&'a mut MaybeUninit<T>>, Failure> {
    if to.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promised.
    unsafe { output(to, name) }.map(Some)
}

/// A struct that is read; `name` is the parameter's.
///
/// # Safety
/// The pointer is null, or good for reading a `T` during `'a`.
pub(super) unsafe fn input<'a, T>(from: *const T, name: &str) -> Result<&'a T, Failure> {
    check(from, name)?;
    // SAFETY: non-null and aligned, and the caller promised the rest.
    Ok(unsafe { &*from })
}

fn check<T>(pointer: *const T, name: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::invalid(format!("`{name}` is null")));
    }
    if !pointer.is_aligned() {
        return Err(Failure::invalid(format!("`{name}` is not aligned: {pointer:p}")));
    }
    Ok(())
}

/// A name in UTF-8.
///
/// # Safety
/// The pointer is null, or to a string with a 0 at its end, during `'a`.
pub(super) unsafe fn name<'a>(from: *const c_char, name: &str) -> Result<&'a str, Failure> {
    check(from, name)?;
    // SAFETY: non-null, and the caller promised the rest.
    let text = unsafe { CStr::from_ptr(from) };
    let bad = |_| Failure::new(s::WEIR_BAD_NAME, format!("`{name}` is not UTF-8: {text:?}"));
    text.to_str().map_err(bad)
}

/// The `size` field that a struct's `init` function sets.
pub(super) fn check_size<T>(found: u32, name: &str) -> Result<(), Failure> {
    let expected = size_of::<T>();
    if found as usize == expected {
        return Ok(());
    }
    Err(Failure::invalid(format!("`{name}.size` is {found}, expected {expected}: call {name}_init first")))
}

/// A number of one of the header's enums.
pub(super) fn choice<T: Copy>(number: u32, choices: &[T], name: &str) -> Result<T, Failure> {
    let place = usize::try_from(number).unwrap_or(usize::MAX);
    let most = choices.len() - 1;
    let bad = || Failure::invalid(format!("`{name}` is {number}, expected 0 to {most}"));
    choices.get(place).copied().ok_or_else(bad)
}

/// `enum weir_stream_kind`.
pub(super) fn stream_kind(number: u32) -> Result<StreamKind, Failure> {
    use StreamKind::{Blocking, Legacy, NonBlocking, PerThread};
    choice(number, &[NonBlocking, Blocking, Legacy, PerThread], "kind")
}

/// A stream of the program's own.
pub(super) const fn native(number: u64) -> NativeStream {
    NativeStream(number)
}
