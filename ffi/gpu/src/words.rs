//! Words that the host and the kernels share: what checks count in, and what opens a hold.

use crate::calls::{Calls, done};
use crate::error::GpuError;
use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};

/// How many checks can be queued before somebody looks at them.
pub(crate) const COUNTS: usize = 1 << 16;
/// How many holds there can be in all; their words are not used again.
const HOLDS: usize = 1 << 10;

/// 32-bit words in the device's memory.
pub(crate) struct Counts {
    at: u64,
}

impl Counts {
    /// In the current context, for as long as the process lasts.
    pub(crate) fn new(calls: &Calls) -> Result<Self, GpuError> {
        let mut at = 0;
        // SAFETY: a place for the answer.
        let code = unsafe { (calls.malloc)(&raw mut at, COUNTS * 4) };
        done("cuMemAlloc", code)?;
        let this = Self { at };
        this.clear(calls).map(|()| this)
    }

    pub(crate) const fn address(&self, place: usize) -> u64 {
        self.at + place as u64 * 4
    }

    /// Sets all to 0, and waits for that: it runs on a stream that no other one waits for. No kernel is at work.
    pub(crate) fn clear(&self, calls: &Calls) -> Result<(), GpuError> {
        // SAFETY: memory of the device that has so many words.
        let code = unsafe { (calls.set)(self.at, 0, COUNTS) };
        done("cuMemsetD32", code)?;
        // SAFETY: no arguments.
        done("cuCtxSynchronize", unsafe { (calls.synchronise)() })
    }

    /// The first words. No kernel is at work.
    pub(crate) fn read(&self, calls: &Calls, words: usize) -> Result<Vec<u32>, GpuError> {
        let mut found = vec![0; words.min(COUNTS)];
        let bytes = found.len() * 4;
        if bytes > 0 {
            // SAFETY: memory of the host and of the device that has so many bytes.
            let code = unsafe { (calls.copy_out)(found.as_mut_ptr().cast(), self.at, bytes) };
            done("cuMemcpyDtoH", code)?;
        }
        Ok(found)
    }
}

/// 32-bit words in the host's memory that kernels can read. The first is always 0.
pub(crate) struct Doors {
    host: NonNull<c_void>,
    device: u64,
    used: AtomicU32,
}

impl Doors {
    /// In the current context, for as long as the process lasts.
    pub(crate) fn new(calls: &Calls) -> Result<Self, GpuError> {
        /// For all contexts, and with an address on the device.
        const PORTABLE_AND_MAPPED: u32 = 3;
        let (mut host, mut device) = (ptr::null_mut(), 0);
        // SAFETY: a place for the answer.
        let code = unsafe { (calls.host_malloc)(&raw mut host, HOLDS * 4, PORTABLE_AND_MAPPED) };
        done("cuMemHostAlloc", code)?;
        let host = NonNull::new(host).ok_or_else(|| GpuError::Failed("cuMemHostAlloc gave no memory".into()))?;
        // SAFETY: so many bytes that nobody else knows of yet.
        unsafe { host.write_bytes(0, HOLDS * 4) };
        // SAFETY: a place for the answer, and memory of the call above.
        let code = unsafe { (calls.host_address)(&raw mut device, host.as_ptr(), 0) };
        done("cuMemHostGetDevicePointer", code)?;
        Ok(Self { host, device, used: AtomicU32::new(1) })
    }

    /// The word that is always 0.
    pub(crate) const fn closed(&self) -> u64 {
        self.device
    }

    /// A word that is 0 until it is opened, and its address on the device.
    pub(crate) fn take(&self) -> Result<(u32, u64), GpuError> {
        let place = self.used.fetch_add(1, Ordering::Relaxed);
        if place as usize >= HOLDS {
            return Err(GpuError::Failed(format!("more than {HOLDS} holds")));
        }
        Ok((place, self.device + u64::from(place) * 4))
    }

    pub(crate) fn open(&self, place: u32) {
        assert!((place as usize) < HOLDS, "a word of `take`");
        // SAFETY: within the memory, whose words are aligned.
        let word = unsafe { self.host.cast::<u32>().add(place as usize) };
        // SAFETY: nobody uses the word but kernels, who read it, and this function.
        let word = unsafe { AtomicU32::from_ptr(word.as_ptr()) };
        word.store(1, Ordering::SeqCst);
    }
}
