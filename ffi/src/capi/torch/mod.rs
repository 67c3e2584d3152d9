//! The functions of `weir_torch.h`: device memory for PyTorch and torch_npu.
//!
//! * `settings`: the environment.
//! * `device`: a runtime with a pool, and the streams that were named.
//! * `process`: which devices are open, and what a fork and the process's end mean.

mod device;
mod process;
mod settings;

use super::arguments::{output, output_or_none};
use super::failure::{Failure, guard};
use crate::bindings::{weir_pool, weir_runtime, weir_status as s, weir_stream};
use core::ffi::{c_int, c_void};
use core::ptr::{null_mut, with_exposed_provenance_mut};
use device::Device;
use std::io::Write;
use weir::units::DevicePtr;

/// A line for people.
fn say(text: &str) {
    // Where nobody can be told, nothing else can be done.
    let _ = writeln!(std::io::stderr().lock(), "weir: {text}");
}

/// The body of a function that has no status to answer: a refusal is said, and kept for `weir_last_error`.
fn told(name: impl FnOnce() -> String, work: impl FnOnce() -> Result<(), Failure>) {
    guard(|| work().inspect_err(|failure| say(&format!("{}: {}", name(), failure.text))));
}

/// What a framework calls a stream.
fn handle(stream: *mut c_void) -> u64 {
    stream.addr() as u64
}

/// An address as the framework has it.
fn device_ptr(ptr: *mut c_void) -> DevicePtr {
    DevicePtr(ptr.addr() as u64)
}

/// See `weir_torch.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_torch_malloc(size: usize, device: c_int, stream: *mut c_void) -> *mut c_void {
    let mut made = 0;
    if size > 0 {
        let name = || format!("weir_torch_malloc({size} bytes, device {device}, stream {stream:p})");
        told(name, || {
            made = process::on(device, |device| device.malloc(size, handle(stream)))?;
            Ok(())
        });
    }
    if made == 0 { null_mut() } else { with_exposed_provenance_mut(made) }
}

/// See `weir_torch.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_torch_free(ptr: *mut c_void, _size: usize, device: c_int, stream: *mut c_void) {
    if !ptr.is_null() {
        let name = || format!("weir_torch_free({ptr:p}, device {device}, stream {stream:p})");
        told(name, || process::on_open(device, |device| device.free(device_ptr(ptr), handle(stream))));
    }
}

/// See `weir_torch.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_torch_record_stream(ptr: *mut c_void, stream: *mut c_void) {
    if !ptr.is_null() {
        let missing = || Failure::new(s::WEIR_BAD_POINTER, "no live block begins there");
        let name = || format!("weir_torch_record_stream({ptr:p}, stream {stream:p})");
        let record = |device: &Device| device.record(device_ptr(ptr), handle(stream));
        told(name, || process::on_which(|device| device.has(device_ptr(ptr)), missing, record));
    }
}

/// See `weir_torch.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_torch_empty_cache() {
    told(|| "weir_torch_empty_cache".to_owned(), || process::on_each(Device::empty));
}

/// See `weir_torch.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_torch_npu_empty_cache(_check_error: bool) {
    told(|| "weir_torch_npu_empty_cache".to_owned(), || process::on_each(Device::empty));
}

/// See `weir_torch.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_torch_reset() -> c_int {
    guard(process::reset)
}

/// See `weir_torch.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_torch_handles(device: c_int, runtime: *mut weir_runtime, pool: *mut weir_pool) -> c_int {
    guard(|| {
        // SAFETY: the header asks for a place for a handle, or null.
        let runtime = unsafe { output_or_none(runtime, "runtime") }?;
        // SAFETY: as above.
        let pool = unsafe { output_or_none(pool, "pool") }?;
        let found = process::on(device, |device| Ok(device.handles()))?;
        if let Some(place) = runtime {
            place.write(found.0);
        }
        if let Some(place) = pool {
            place.write(found.1);
        }
        Ok(())
    })
}

/// See `weir_torch.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_torch_stream(device: c_int, stream: *mut c_void, found: *mut weir_stream) -> c_int {
    guard(|| {
        // SAFETY: the header asks for a place for a handle, or null.
        let found = unsafe { output(found, "found") }?;
        found.write(process::on(device, |device| device.stream_handle(handle(stream)))?);
        Ok(())
    })
}
