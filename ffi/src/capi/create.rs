//! Making runtimes on the process's heap, and the texts of errors.

use super::arguments::{check_size, input, name, output};
use super::driver::Backend;
use super::failure::{Failure, copy_latest, guard};
use super::instance;
use super::life::{capacities, default_config};
use crate::arenas::HeapArenas;
use crate::bindings::{weir_config, weir_driver_ops, weir_host_config, weir_runtime, weir_status as s};
use crate::environment::variable;
use crate::host::{DEFAULT_TOTAL, HostConfig, HostDriver};
use crate::log_sink::LogSink;
use crate::size;
use crate::table::TableDriver;
use core::ffi::{c_char, c_int};
use core::mem::size_of;
use core::time::Duration;
use std::path::Path;
use weir::Capacities;
use weir::units::Bytes;

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_last_error(buffer: *mut c_char, size: usize) -> usize {
    // SAFETY: the header asks for a buffer of `size` bytes, or null.
    unsafe { copy_latest(buffer, size) }
}

fn default_host() -> weir_host_config {
    let usual = HostConfig::default();
    weir_host_config {
        size: size_of::<weir_host_config>() as u32,
        devices: usual.devices,
        total: 0,
        granularity: usual.granularity.0,
        alignment: usual.alignment.0,
        patience: 0,
    }
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_host_config_init(config: *mut weir_host_config) -> c_int {
    guard(|| {
        // SAFETY: the header asks for a place for a struct, or null.
        unsafe { output(config, "config") }?.write(default_host());
        Ok(())
    })
}

/// What a configuration asks for.
///
/// # Safety
/// `config` is null or good for reading, and so are the pointers in it.
unsafe fn read_config(config: *const weir_config) -> Result<(Capacities, LogSink), Failure> {
    let usual = default_config();
    let config = if config.is_null() {
        &usual
    } else {
        // SAFETY: as the caller promised.
        unsafe { input(config, "config") }?
    };
    check_size::<weir_config>(config.size, "weir_config")?;
    let mut sink = LogSink::default();
    if !config.log_path.is_null() {
        // SAFETY: non-null, so a string, as the caller promised.
        let path = unsafe { name(config.log_path, "weir_config.log_path") }?;
        let bad = |e| Failure::new(s::WEIR_SYSTEM, format!("the log file {path:?} cannot be made: {e}"));
        sink.set_file(Path::new(path)).map_err(bad)?;
    }
    sink.set_function(config.log_fn, config.log_user);
    let mut capacities = capacities(config)?;
    if sink.is_nothing() {
        capacities.pages = 0;
    }
    check_room(HeapArenas::bytes(capacities))?;
    Ok((capacities, sink))
}

/// Whether the machine has that much memory: asked first, because a refusal later ends the process.
fn check_room(bytes: Option<usize>) -> Result<(), Failure> {
    let machine = machine_bytes();
    if bytes.is_some_and(|bytes| bytes < machine) {
        return Ok(());
    }
    let wanted = bytes.map_or_else(|| "more than 64 bits count".to_owned(), |b| format!("{b}"));
    let text = format!("the capacities in weir_config need {wanted} bytes, and the machine has {machine}");
    Err(Failure::new(s::WEIR_SYSTEM, text))
}

fn machine_bytes() -> usize {
    let ask = |name| {
        // SAFETY: reads a number of the system's; touches no memory of ours.
        let answer = unsafe { libc::sysconf(name) };
        usize::try_from(answer).unwrap_or(0)
    };
    ask(libc::_SC_PHYS_PAGES).saturating_mul(ask(libc::_SC_PAGESIZE))
}

/// The device's total where nothing else is said.
pub(crate) fn usual_total() -> Result<Bytes, Failure> {
    const NAME: &str = "WEIR_HOST_BYTES";
    let Some(text) = variable(NAME) else { return Ok(DEFAULT_TOTAL) };
    let text = text.to_string_lossy();
    let bad = || Failure::invalid(format!("{NAME} is {text:?}: expected {}", size::EXPECTED));
    size::parse(&text).map(Bytes).ok_or_else(bad)
}

fn host_config(config: &weir_host_config) -> Result<HostConfig, Failure> {
    check_size::<weir_host_config>(config.size, "weir_host_config")?;
    Ok(HostConfig {
        devices: config.devices,
        total: if config.total == 0 { usual_total()? } else { Bytes(config.total) },
        granularity: Bytes(config.granularity),
        alignment: Bytes(config.alignment),
        patience: (config.patience > 0).then_some(Duration::from_nanos(config.patience)),
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_create_host(
    config: *const weir_config,
    host: *const weir_host_config,
    runtime: *mut weir_runtime,
) -> c_int {
    guard(|| {
        // SAFETY: the header asks for a place for a handle, or null.
        let runtime = unsafe { output(runtime, "runtime") }?;
        let usual = default_host();
        let host = if host.is_null() {
            &usual
        } else {
            // SAFETY: the header asks for a struct, or null.
            unsafe { input(host, "host") }?
        };
        let driver = HostDriver::new(host_config(host)?)?;
        // SAFETY: the header asks for a struct, or null.
        let (capacities, sink) = unsafe { read_config(config) }?;
        runtime.write(instance::open(capacities, Backend::Host(Box::new(driver)), sink));
        Ok(())
    })
}

/// See `weir.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_create_with_driver(
    config: *const weir_config,
    ops: *const weir_driver_ops,
    runtime: *mut weir_runtime,
) -> c_int {
    guard(|| {
        // SAFETY: the header asks for a place for a handle, or null.
        let runtime = unsafe { output(runtime, "runtime") }?;
        // SAFETY: the header asks for a table, or null.
        let ops = unsafe { input(ops, "ops") }?;
        let bad = |e: crate::table::TableError| Failure::new(s::WEIR_BAD_DRIVER, e.to_string());
        // SAFETY: the program promises that its functions do what the header says.
        let driver = unsafe { TableDriver::new(ops) }.map_err(bad)?;
        // SAFETY: the header asks for a struct, or null.
        let (capacities, sink) = unsafe { read_config(config) }?;
        runtime.write(instance::open(capacities, Backend::Table(driver), sink));
        Ok(())
    })
}
