//! The devices that this process has open: made once, whichever thread comes first.

use super::super::failure::Failure;
use super::device::Device;
use crate::bindings::weir_status as s;
use core::cell::RefCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::sync::{Arc, LazyLock, Once, PoisonError, RwLock, RwLockWriteGuard, TryLockError};

type Devices = BTreeMap<u32, Arc<Device>>;

static DEVICES: LazyLock<RwLock<Arc<Devices>>> = LazyLock::new(RwLock::default);

thread_local! {
    /// The devices as a call of this thread holds them: a pressure callback that it makes may call in again, and may not
    /// wait for what the thread itself holds.
    static HELD: RefCell<Option<Arc<Devices>>> = const { RefCell::new(None) };
}

/// Notes what this thread holds. At the thread's end there is no place for it: then no callback can be told apart.
fn note_held(devices: Option<Arc<Devices>>) -> Option<Arc<Devices>> {
    HELD.try_with(|held| held.replace(devices)).ok().flatten()
}

/// Ends a hold, whichever way the call ends.
struct Hold;

impl Drop for Hold {
    fn drop(&mut self) {
        note_held(None);
    }
}

/// The process that has devices open; 0: none has. Looked at before any lock: after a fork, the threads that held one
/// are not there.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// The process is ending: what is logged from now on is written at once.
static ENDING: AtomicBool = AtomicBool::new(false);

/// The devices that this thread holds already.
fn held() -> Option<Arc<Devices>> {
    HELD.try_with(|held| held.borrow().clone()).ok().flatten()
}

/// Works on the devices; none is ended meanwhile.
fn hold<R>(work: impl FnOnce(&Devices) -> Result<R, Failure>) -> Result<R, Failure> {
    check_process()?;
    if let Some(devices) = held() {
        return work(&devices);
    }
    let devices = DEVICES.read().unwrap_or_else(PoisonError::into_inner);
    note_held(Some(Arc::clone(&devices)));
    let _end = Hold;
    work(&devices)
}

/// The devices, to be opened and ended.
fn devices_mut() -> Result<RwLockWriteGuard<'static, Arc<Devices>>, Failure> {
    check_process()?;
    if held().is_some() {
        let text = "a pressure callback may use the devices that are open, but neither open one nor reset them";
        return Err(Failure::new(s::WEIR_BUSY, text));
    }
    Ok(DEVICES.write().unwrap_or_else(PoisonError::into_inner))
}

fn check_process() -> Result<(), Failure> {
    let (owner, process) = (OWNER.load(Ordering::Relaxed), std::process::id());
    if owner == 0 || owner == process {
        return Ok(());
    }
    let text =
        format!("process {process} was forked from process {owner}, which has devices open: only that may use them");
    Err(Failure::new(s::WEIR_BUSY, text))
}

/// Notes who has devices open.
fn note_owner(devices: &Devices) {
    OWNER.store(if devices.is_empty() { 0 } else { std::process::id() }, Ordering::Relaxed);
}

fn number(device: c_int) -> Result<u32, Failure> {
    u32::try_from(device).map_err(|_| Failure::invalid(format!("`device` is {device}, expected a number from 0")))
}

/// Works on a device, and opens it where it is not.
pub(super) fn on<R>(device: c_int, work: impl FnOnce(&Device) -> Result<R, Failure>) -> Result<R, Failure> {
    let device = number(device)?;
    let mut work = Some(work);
    loop {
        let done = hold(|devices| Ok(devices.get(&device).and_then(|found| work.take().map(|work| work(found)))))?;
        match done {
            Some(done) => return done,
            None => open(Arc::make_mut(&mut *devices_mut()?), device)?,
        }
    }
}

/// Opens a device, unless another thread was faster.
fn open(devices: &mut Devices, number: u32) -> Result<(), Failure> {
    if devices.contains_key(&number) {
        return Ok(());
    }
    // Before the driver is loaded, so that a child that is forked meanwhile keeps away.
    OWNER.store(std::process::id(), Ordering::Relaxed);
    let opened = Device::open(number).inspect_err(|_| note_owner(devices))?;
    if opened.has_log {
        at_exit();
    }
    devices.insert(number, Arc::new(opened));
    Ok(())
}

/// Works on a device that is open.
pub(super) fn on_open<R>(device: c_int, work: impl FnOnce(&Device) -> Result<R, Failure>) -> Result<R, Failure> {
    let number = number(device)?;
    let none = || Failure::new(s::WEIR_BAD_POINTER, format!("nothing was allocated on device {number}"));
    hold(|devices| {
        let found = devices.get(&number).ok_or_else(none)?;
        let done = work(found);
        if ENDING.load(Ordering::Relaxed) && found.has_log {
            done.and_then(|done| found.flush().map(|()| done))
        } else {
            done
        }
    })
}

/// Works on the device that `is` is true of.
pub(super) fn on_which(
    is: impl Fn(&Device) -> Result<bool, Failure>,
    missing: impl FnOnce() -> Failure,
    work: impl FnOnce(&Device) -> Result<(), Failure>,
) -> Result<(), Failure> {
    hold(|devices| {
        for device in devices.values() {
            if is(device)? {
                return work(device);
            }
        }
        Err(missing())
    })
}

/// Works on every device. They are not held: the work may take long, and call what opens another device.
pub(super) fn on_each(work: impl Fn(&Device) -> Result<(), Failure>) -> Result<(), Failure> {
    let all = hold(|devices| Ok(devices.clone()))?;
    let mut first = Ok(());
    for device in all.values() {
        let done = work(device);
        // A device that another thread ended meanwhile has nothing left to work on.
        if !done.as_ref().is_err_and(|failure| failure.status == s::WEIR_BAD_HANDLE) {
            first = first.and(done);
        }
    }
    first
}

/// Ends all devices, if nothing is live.
pub(super) fn reset() -> Result<(), Failure> {
    let ended = {
        let mut devices = devices_mut()?;
        for (number, device) in &**devices {
            let live = device.live_blocks()?;
            if live > 0 {
                let text = format!("{live} blocks are live on device {number}: free them first");
                return Err(Failure::new(s::WEIR_LIVE_BLOCKS, text));
            }
        }
        core::mem::take(&mut *devices)
    };
    // Without the lock: the end waits for the devices' work.
    let mut first = Ok(());
    let mut left = Devices::new();
    for (number, device) in &*ended {
        let outcome = device.end();
        if outcome.as_ref().is_err_and(|failure| failure.status == s::WEIR_BUSY) {
            left.insert(*number, Arc::clone(device));
        }
        first = first.and(outcome);
    }
    let mut devices = devices_mut()?;
    for (number, device) in left {
        Arc::make_mut(&mut devices).entry(number).or_insert(device);
    }
    note_owner(&devices);
    first
}

/// Has the logs written when the process ends.
fn at_exit() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: a function that does not unwind, and stays: where the library is unloaded, it is called before that.
        let registered = unsafe { libc::atexit(write_logs) };
        if registered != 0 {
            super::say("the end of the log will be lost: the process takes no more functions to be called at its end");
        }
    });
}

extern "C" fn write_logs() {
    if OWNER.load(Ordering::Relaxed) != std::process::id() {
        return;
    }
    ENDING.store(true, Ordering::Relaxed);
    let _ = catch_unwind(|| {
        // Another thread that is opening a device is not waited for: it may never get on.
        let devices = match DEVICES.try_read() {
            Ok(devices) => devices,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        for device in devices.values().filter(|device| device.has_log) {
            if let Err(failure) = device.flush() {
                super::say(&failure.text);
            }
        }
    });
}
