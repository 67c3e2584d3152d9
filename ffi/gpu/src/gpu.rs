//! The device, its kernels, and what they found.

use crate::calls::{Calls, Handle, NOTHING_THERE, done, library};
use crate::error::GpuError;
use crate::kernels::{Kernels, Pattern, first_word};
use crate::words::{COUNTS, Counts, Doors};
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use weir::driver::NativeStream;
use weir::units::{Bytes, DevicePtr};

/// How long a stream can be held. Whoever is held longer waits for something that waits for it.
const MOST_HELD: Duration = Duration::from_secs(10);
/// The count that a [`Gpu::spin`] runs out in, of which nobody takes note.
const SPINS: usize = 0;
/// The count of holds that ran out.
const RAN_OUT: usize = 1;

/// The first device, for as long as the process lasts.
pub struct Gpu {
    pub(crate) calls: Calls,
    pub(crate) library: Handle,
    pub(crate) device: c_int,
    context: Handle,
    kernels: Kernels,
    counts: Counts,
    doors: Doors,
    checks: Mutex<Checks>,
    /// Where kernels may write and read: begins and sizes.
    ranges: Mutex<Vec<(u64, u64)>>,
}

// SAFETY: the vendor's calls may be made on any thread, each sets its context before, and the rest is behind locks.
unsafe impl Send for Gpu {}
// SAFETY: the same.
unsafe impl Sync for Gpu {}

/// Checks since somebody last looked.
#[derive(Default)]
struct Checks {
    queued: Vec<String>,
    done: u64,
    wrong: Vec<String>,
}

/// What kernels found so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// How many blocks were checked.
    pub checks: u64,
    /// What was wrong: a line each.
    pub wrong: Vec<String>,
}

/// A stream that is kept at work until this is dropped, or for ten seconds.
#[must_use = "it ends when it is dropped"]
pub struct Hold<'g> {
    gpu: &'g Gpu,
    place: u32,
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.gpu.doors.open(self.place);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream's handle.
pub(crate) fn handle(stream: NativeStream) -> Handle {
    ptr::with_exposed_provenance_mut(stream.0 as usize)
}

impl Gpu {
    /// Loads the vendor's library and its first device's kernels.
    ///
    /// # Errors
    /// [`GpuError::None`]: there is no library, or no device. Else: the library does not do, or a call failed.
    pub fn open() -> Result<Self, GpuError> {
        let library = library()?;
        let calls = Calls::of(library)
            .map_err(|name| GpuError::Failed(format!("the CUDA driver's library has no {}", name.to_string_lossy())))?;
        // SAFETY: a number.
        let code = unsafe { (calls.init)(0) };
        let mut count = 0;
        if NOTHING_THERE.contains(&code) {
            return Err(GpuError::None(format!("the CUDA driver says that there is no device (cuInit: {code})")));
        }
        done("cuInit", code)?;
        // SAFETY: a place for the answer.
        let code = unsafe { (calls.device_count)(&raw mut count) };
        if NOTHING_THERE.contains(&code) || (code == 0 && count == 0) {
            return Err(GpuError::None("the CUDA driver counts no device".into()));
        }
        done("cuDeviceGetCount", code)?;
        let (mut device, mut context) = (0, ptr::null_mut());
        // SAFETY: a place for the answer, and a device that is there.
        done("cuDeviceGet", unsafe { (calls.device_get)(&raw mut device, 0) })?;
        // SAFETY: a place for the answer, and a device.
        done("cuDevicePrimaryCtxRetain", unsafe { (calls.retain)(&raw mut context, device) })?;
        // SAFETY: a context.
        done("cuCtxSetCurrent", unsafe { (calls.set_current)(context) })?;
        let (kernels, counts, doors) = (Kernels::load(&calls)?, Counts::new(&calls)?, Doors::new(&calls)?);
        let (checks, ranges) = Default::default();
        let this = Self { calls, library, device, context, kernels, counts, doors, checks, ranges };
        this.warm_up().map(|()| this)
    }

    /// Drivers that load a kernel when it is first launched wait for the device then: that is done here, once.
    fn warm_up(&self) -> Result<(), GpuError> {
        let stream = self.stream()?;
        let pattern = Pattern { at: self.counts.address(2), bytes: 8, first: 0 };
        self.kernels.fill(&self.calls, handle(stream), pattern)?;
        self.kernels.check(&self.calls, handle(stream), pattern, self.counts.address(SPINS))?;
        self.spin(stream, Duration::ZERO)?;
        self.synchronise()?;
        self.counts.clear(&self.calls)?;
        lock(&self.checks).queued = reserved();
        self.destroy_stream(stream)
    }

    /// What the calls that follow are about.
    pub(crate) fn enter(&self) -> Result<(), GpuError> {
        // SAFETY: a context that is retained for ever.
        done("cuCtxSetCurrent", unsafe { (self.calls.set_current)(self.context) })
    }

    /// The device's name.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn name(&self) -> Result<String, GpuError> {
        let mut text: [c_char; 128] = [0; 128];
        // SAFETY: a place for the answer with its size, and a device.
        let code = unsafe { (self.calls.device_name)(text.as_mut_ptr(), 128, self.device) };
        done("cuDeviceGetName", code)?;
        text[127] = 0;
        // SAFETY: a string: it ends with 0 here at the latest.
        Ok(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
    }

    /// The driver's version: major and minor.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn version(&self) -> Result<(i32, i32), GpuError> {
        let mut version = 0;
        // SAFETY: a place for the answer.
        done("cuDriverGetVersion", unsafe { (self.calls.version)(&raw mut version) })?;
        Ok((version / 1000, version % 1000 / 10))
    }

    /// The device's memory.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn total(&self) -> Result<Bytes, GpuError> {
        let mut bytes = 0;
        // SAFETY: a place for the answer, and a device.
        done("cuDeviceTotalMem", unsafe { (self.calls.device_total)(&raw mut bytes, self.device) })?;
        Ok(Bytes(bytes as u64))
    }

    /// How many devices there are.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn devices(&self) -> Result<u32, GpuError> {
        let mut count = 0;
        // SAFETY: a place for the answer.
        done("cuDeviceGetCount", unsafe { (self.calls.device_count)(&raw mut count) })?;
        Ok(count.try_into().unwrap_or(0))
    }

    /// A stream of its own, which waits for no default stream.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn stream(&self) -> Result<NativeStream, GpuError> {
        const NON_BLOCKING: c_uint = 1;
        self.enter()?;
        let mut stream = ptr::null_mut();
        // SAFETY: a place for the answer.
        done("cuStreamCreate", unsafe { (self.calls.stream_create)(&raw mut stream, NON_BLOCKING) })?;
        Ok(NativeStream(stream.expose_provenance() as u64))
    }

    /// Ends a stream of [`stream`](Self::stream)'s; the vendor frees it when its work is done.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn destroy_stream(&self, stream: NativeStream) -> Result<(), GpuError> {
        self.enter()?;
        // SAFETY: a handle; the vendor refuses those that it did not give out.
        done("cuStreamDestroy", unsafe { (self.calls.stream_destroy)(handle(stream)) })
    }

    /// Waits for everything on the device, of which no pool learns.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn synchronise(&self) -> Result<(), GpuError> {
        self.enter()?;
        // SAFETY: no arguments.
        done("cuCtxSynchronize", unsafe { (self.calls.synchronise)() })
    }

    /// Lets kernels into a range of the device's memory or addresses.
    pub(crate) fn admit(&self, at: u64, bytes: u64) {
        lock(&self.ranges).push((at, bytes));
    }

    /// And keeps them out again.
    pub(crate) fn dismiss(&self, at: u64) {
        let mut ranges = lock(&self.ranges);
        if let Some(place) = ranges.iter().position(|(begin, _)| *begin == at) {
            ranges.swap_remove(place);
        }
    }

    /// A kernel outside the ranges would, on some machines, reach the host's memory.
    fn check_range(&self, at: DevicePtr, bytes: Bytes) -> Result<(), GpuError> {
        let within = |(begin, size): &(u64, u64)| {
            at.0.checked_sub(*begin).is_some_and(|offset| offset <= *size && bytes.0 <= size - offset)
        };
        if !at.0.is_multiple_of(8) || !lock(&self.ranges).iter().any(within) {
            return Err(GpuError::Failed(format!("a kernel for {bytes} at {at}, where no pool has memory")));
        }
        Ok(())
    }

    /// Queues a kernel that writes the seed's pattern.
    ///
    /// # Errors
    /// No driver or pool of this crate has these addresses, or the vendor's call failed.
    pub fn fill(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64) -> Result<(), GpuError> {
        self.check_range(at, bytes)?;
        self.enter()?;
        let pattern = Pattern { at: at.0, bytes: bytes.0, first: first_word(seed) };
        self.kernels.fill(&self.calls, handle(on), pattern)
    }

    /// Queues a kernel that expects the seed's pattern; [`verdict`](Self::verdict) says what it found.
    ///
    /// # Errors
    /// No driver or pool of this crate has these addresses, or the vendor's call failed.
    pub fn check(&self, on: NativeStream, at: DevicePtr, bytes: Bytes, seed: u64) -> Result<(), GpuError> {
        self.check_range(at, bytes)?;
        self.enter()?;
        let mut checks = lock(&self.checks);
        if checks.queued.len() == COUNTS {
            self.look(&mut checks)?;
        }
        let place = checks.queued.len();
        let pattern = Pattern { at: at.0, bytes: bytes.0, first: first_word(seed) };
        self.kernels.check(&self.calls, handle(on), pattern, self.counts.address(place))?;
        checks.queued.push(format!("block {seed:#x} of {bytes} at {at}"));
        Ok(())
    }

    /// Keeps a stream at work for about so long.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn spin(&self, on: NativeStream, time: Duration) -> Result<(), GpuError> {
        self.enter()?;
        let (closed, spins) = (self.doors.closed(), self.counts.address(SPINS));
        self.kernels.hold(&self.calls, handle(on), closed, nanoseconds(time), spins)
    }

    /// Keeps a stream at work until the answer is dropped, or for ten seconds, which the verdict then says.
    ///
    /// # Errors
    /// The vendor's call failed, or there were too many holds.
    pub fn hold(&self, on: NativeStream) -> Result<Hold<'_>, GpuError> {
        self.enter()?;
        let (place, open) = self.doors.take()?;
        let hold = Hold { gpu: self, place };
        let ran_out = self.counts.address(RAN_OUT);
        self.kernels.hold(&self.calls, handle(on), open, nanoseconds(MOST_HELD), ran_out)?;
        Ok(hold)
    }

    /// Queues a call on the host. It may not call the device.
    ///
    /// # Errors
    /// The vendor's call failed.
    pub fn callback<F: FnOnce() + Send + 'static>(&self, on: NativeStream, call: F) -> Result<(), GpuError> {
        self.enter()?;
        let call = Box::into_raw(Box::new(call));
        // SAFETY: the function takes this closure, once, on a thread of the vendor's.
        let code = unsafe { (self.calls.launch_host)(handle(on), called::<F>, call.cast()) };
        if code != 0 {
            // SAFETY: of `into_raw`, and the vendor did not take it.
            drop(unsafe { Box::from_raw(call) });
        }
        done("cuLaunchHostFunc", code)
    }

    /// Waits for everything on the device, and says what kernels found since the last time.
    ///
    /// # Errors
    /// A vendor's call failed: also where a kernel touched memory that is not mapped.
    pub fn verdict(&self) -> Result<Verdict, GpuError> {
        let mut checks = lock(&self.checks);
        self.look(&mut checks)?;
        Ok(Verdict { checks: std::mem::take(&mut checks.done), wrong: std::mem::take(&mut checks.wrong) })
    }

    fn look(&self, checks: &mut Checks) -> Result<(), GpuError> {
        self.synchronise()?;
        let found = self.counts.read(&self.calls, checks.queued.len())?;
        self.counts.clear(&self.calls)?;
        let queued = std::mem::replace(&mut checks.queued, reserved());
        for (place, (what, count)) in queued.into_iter().zip(found).enumerate().skip(RAN_OUT) {
            match count {
                0 => {}
                _ if place == RAN_OUT => checks.wrong.push(format!("{what}: {count}")),
                _ => checks.wrong.push(format!("{what}: {count} words are not its own")),
            }
            checks.done += u64::from(place > RAN_OUT);
        }
        Ok(())
    }
}

/// The counts that are no check's.
fn reserved() -> Vec<String> {
    vec![String::new(), format!("streams that were held for {MOST_HELD:?} because a call waited for them")]
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

unsafe extern "C" fn called<F: FnOnce()>(call: *mut c_void) {
    // SAFETY: of `Gpu::callback`, for this function alone and once.
    let call = unsafe { Box::from_raw(call.cast::<F>()) };
    // Nothing may unwind into the vendor's code; the message is on the standard error stream.
    if catch_unwind(AssertUnwindSafe(call)).is_err() {
        std::process::abort();
    }
}
