//! How often each call was made.

use core::sync::atomic::{AtomicU64, Ordering};
use weir::driver::{DriverCall, DriverError};

const CALLS: usize = DriverCall::ALL.len();

/// Numbers of calls since the driver was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    calls: [u64; CALLS],
    failures: [u64; CALLS],
    /// Kernels that were run, copies among them; those skipped behind a fault do not count.
    pub kernels: u64,
}

impl HostCounters {
    /// How often `call` was made, failures included.
    #[must_use]
    pub fn calls(&self, call: DriverCall) -> u64 {
        self.calls[call as usize]
    }

    /// How often `call` failed.
    #[must_use]
    pub fn failures(&self, call: DriverCall) -> u64 {
        self.failures[call as usize]
    }
}

/// The live counters.
#[derive(Debug, Default)]
pub(super) struct Counters {
    calls: [AtomicU64; CALLS],
    failures: [AtomicU64; CALLS],
}

impl Counters {
    /// Counts a call and passes its outcome on.
    pub(super) fn count<T>(&self, call: DriverCall, outcome: Result<T, DriverError>) -> Result<T, DriverError> {
        self.calls[call as usize].fetch_add(1, Ordering::Relaxed);
        if outcome.is_err() {
            self.failures[call as usize].fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    pub(super) fn read(&self, kernels: u64) -> HostCounters {
        let load = |list: &[AtomicU64; CALLS]| core::array::from_fn(|i| list[i].load(Ordering::Relaxed));
        HostCounters { calls: load(&self.calls), failures: load(&self.failures), kernels }
    }
}
