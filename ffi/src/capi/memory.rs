//! Allocations and names, as `weir.h` has them.

use super::arguments::{choice, name, output};
use super::failure::Failure;
use super::handle::Handles;
use super::instance::call;
use crate::bindings::{weir_block, weir_pool, weir_ptr, weir_runtime, weir_status as s, weir_stream};
use core::ffi::{c_char, c_int};
use weir::id::LabelId;
use weir::policy::UseUntil;
use weir::units::{Bytes, DevicePtr};

/// Whether an allocation may wait for the lock and call the driver.
#[derive(Clone, Copy)]
enum Patience {
    Full,
    None,
}

/// What an allocation was called with.
struct Asked {
    runtime: weir_runtime,
    pool: weir_pool,
    stream: weir_stream,
    bytes: u64,
    label: u32,
    patience: Patience,
    ptr: *mut weir_ptr,
}

/// What the three ways to allocate have in common.
///
/// # Safety
/// `asked.ptr` is null or good for writing.
#[inline(always)]
unsafe fn allocate(asked: &Asked) -> c_int {
    call(asked.runtime, |instance| {
        // SAFETY: as the caller promised.
        let ptr = unsafe { output(asked.ptr, "ptr") }?;
        instance.runtime().driver().pressure.check_outside("allocating")?;
        let (pool, stream) = (instance.pool(asked.pool)?, instance.stream(asked.stream)?);
        let label = instance.label(asked.label)?;
        let (runtime, bytes) = (instance.runtime(), Bytes(asked.bytes));
        let made = match asked.patience {
            Patience::Full => runtime.malloc_with(pool, bytes, stream, label, Failure::refused),
            Patience::None => runtime.try_malloc_with(pool, bytes, stream, Failure::refused),
        }?;
        ptr.write(made.0);
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_malloc_async(
    runtime: weir_runtime,
    pool: weir_pool,
    bytes: u64,
    stream: weir_stream,
    ptr: *mut weir_ptr,
) -> c_int {
    // SAFETY: the header asks for a place for an address, or null.
    unsafe { allocate(&Asked { runtime, pool, stream, bytes, label: LabelId::NONE.0, patience: Patience::Full, ptr }) }
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_malloc_labelled(
    runtime: weir_runtime,
    pool: weir_pool,
    bytes: u64,
    stream: weir_stream,
    label: u32,
    ptr: *mut weir_ptr,
) -> c_int {
    // SAFETY: the header asks for a place for an address, or null.
    unsafe { allocate(&Asked { runtime, pool, stream, bytes, label, patience: Patience::Full, ptr }) }
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_try_malloc_async(
    runtime: weir_runtime,
    pool: weir_pool,
    bytes: u64,
    stream: weir_stream,
    ptr: *mut weir_ptr,
) -> c_int {
    // SAFETY: the header asks for a place for an address, or null.
    unsafe { allocate(&Asked { runtime, pool, stream, bytes, label: LabelId::NONE.0, patience: Patience::None, ptr }) }
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_free_async(runtime: weir_runtime, ptr: weir_ptr, stream: weir_stream) -> c_int {
    call(runtime, |instance| Ok(instance.runtime().free_async(DevicePtr(ptr), instance.stream(stream)?)?))
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_try_free_async(runtime: weir_runtime, ptr: weir_ptr, stream: weir_stream) -> c_int {
    call(runtime, |instance| Ok(instance.runtime().try_free_async(DevicePtr(ptr), instance.stream(stream)?)?))
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_record_use(
    runtime: weir_runtime,
    ptr: weir_ptr,
    stream: weir_stream,
    until: u32,
) -> c_int {
    call(runtime, |instance| {
        let until = choice(until, &[UseUntil::Now, UseUntil::Free], "until")?;
        Ok(instance.runtime().record_use(DevicePtr(ptr), instance.stream(stream)?, until)?)
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_block_at(runtime: weir_runtime, ptr: weir_ptr, block: *mut weir_block) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a struct, or null.
        let block = unsafe { output(block, "block") }?;
        let none = || Failure::new(s::WEIR_BAD_POINTER, format!("no live block starts at {}", DevicePtr(ptr)));
        let found = instance.runtime().block_at(DevicePtr(ptr)).ok_or_else(none)?;
        block.write(weir_block {
            pool: instance.give_pool(found.pool),
            start: found.start.0,
            given: found.given.0,
            asked: found.asked.0,
            allocation: found.id.0,
            label: found.label.0,
            reserved: 0,
        });
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_label(runtime: weir_runtime, text: *const c_char, label: *mut u32) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a number, or null.
        let label = unsafe { output(label, "label") }?;
        // SAFETY: the header asks for a string, or null.
        let text = unsafe { name(text, "name") }?;
        label.write(instance.add_label(instance.runtime().label(text)?));
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_mark(runtime: weir_runtime, text: *const c_char) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a string, or null.
        let text = unsafe { name(text, "name") }?;
        Ok(instance.runtime().mark(text)?)
    })
}
