//! Streams and events, as `weir.h` has them.

use super::arguments::{native, output, stream_kind};
use super::failure::Failure;
use super::handle::Handles;
use super::instance::{Instance, call};
use crate::bindings::{weir_event, weir_runtime, weir_stream};
use core::ffi::c_int;
use weir::StreamConfig;
use weir::driver::Completion;
use weir::id::DeviceId;

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_stream_register(
    runtime: weir_runtime,
    device: u32,
    kind: u32,
    number: u64,
    context: u64,
    stream: *mut weir_stream,
) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a handle, or null.
        let stream = unsafe { output(stream, "stream") }?;
        instance.check_registers()?;
        let config = StreamConfig::new(DeviceId(device), native(number));
        stream.write(register(instance, StreamConfig { kind: stream_kind(kind)?, context, ..config })?);
        Ok(())
    })
}

/// Makes a stream of the program's own driver known.
pub(super) fn register(instance: &Instance, config: StreamConfig) -> Result<weir_stream, Failure> {
    let made = instance.runtime().create_stream(config)?;
    Ok(instance.add_stream(config.device, config.native, made))
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_stream_destroy(runtime: weir_runtime, stream: weir_stream) -> c_int {
    call(runtime, |instance| {
        let stream = instance.stream(stream)?;
        instance.runtime().driver().pressure.check_outside("destroying a stream")?;
        instance.end_stream(stream)
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_stream_synchronize(runtime: weir_runtime, stream: weir_stream) -> c_int {
    call(runtime, |instance| Ok(instance.runtime().synchronize_stream(instance.stream(stream)?)?))
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_device_synchronize(runtime: weir_runtime, device: u32) -> c_int {
    call(runtime, |instance| {
        instance.check_device(DeviceId(device))?;
        Ok(instance.runtime().synchronize_device(DeviceId(device))?)
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_event_create(runtime: weir_runtime, event: *mut weir_event) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a handle, or null.
        let event = unsafe { output(event, "event") }?;
        event.write(instance.give_event(instance.runtime().create_event()?));
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_event_destroy(runtime: weir_runtime, event: weir_event) -> c_int {
    call(runtime, |instance| Ok(instance.runtime().destroy_event(instance.event(event)?)?))
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_event_record(runtime: weir_runtime, event: weir_event, stream: weir_stream) -> c_int {
    call(runtime, |instance| Ok(instance.runtime().record(instance.event(event)?, instance.stream(stream)?)?))
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_stream_wait_event(
    runtime: weir_runtime,
    stream: weir_stream,
    event: weir_event,
) -> c_int {
    call(runtime, |instance| Ok(instance.runtime().wait(instance.stream(stream)?, instance.event(event)?)?))
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_event_query(runtime: weir_runtime, event: weir_event, complete: *mut c_int) -> c_int {
    call(runtime, |instance| {
        // SAFETY: the header asks for a place for a number, or null.
        let complete = unsafe { output(complete, "complete") }?;
        let completion = instance.runtime().query(instance.event(event)?)?;
        complete.write(c_int::from(completion == Completion::Complete));
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_event_synchronize(runtime: weir_runtime, event: weir_event) -> c_int {
    call(runtime, |instance| Ok(instance.runtime().synchronize_event(instance.event(event)?)?))
}
