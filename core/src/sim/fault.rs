//! Failures on demand, counters of the calls, and the numbers that everything random comes from.

use super::violation::{SimArena, SimError};
use crate::driver::{DriverCall, DriverErrorKind};

/// Splitmix64: small, seedable, good enough to choose an order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 where the limit is 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        let limit = limit as u64;
        self.next().checked_rem(limit).map_or(0, |n| n as usize)
    }
}

/// How many failures can be planned at one time.
pub(super) const PLANNED: usize = 16;

#[derive(Clone, Copy)]
struct Planned {
    call: Option<DriverCall>,
    left: u64,
    kind: DriverErrorKind,
}

pub(super) struct Faults {
    planned: heapless::Vec<Planned, PLANNED>,
    per_mille: u16,
    rng: Rng,
    calls: [u64; DriverCall::ALL.len()],
    injected: u64,
}

/// The failure of this call that a driver is most likely to have.
const fn likely(call: DriverCall) -> DriverErrorKind {
    match call {
        DriverCall::Reserve | DriverCall::Create | DriverCall::Map => DriverErrorKind::Exhausted,
        DriverCall::Synchronise => DriverErrorKind::TimedOut,
        _ => DriverErrorKind::Failed,
    }
}

impl Faults {
    pub(super) fn new() -> Self {
        Self {
            planned: heapless::Vec::new(),
            per_mille: 0,
            rng: Rng::new(0),
            calls: [0; DriverCall::ALL.len()],
            injected: 0,
        }
    }

    pub(super) fn plan(&mut self, call: Option<DriverCall>, n: u64, kind: DriverErrorKind) -> Result<(), SimError> {
        let left = n.max(1);
        let planned = self.planned.push(Planned { call, left, kind });
        planned.map_err(|_| SimError::Full(SimArena::Faults))
    }

    pub(super) fn rate(&mut self, seed: u64, per_mille: u16) {
        self.rng = Rng::new(seed);
        self.per_mille = per_mille;
    }

    pub(super) fn clear(&mut self) {
        self.planned.clear();
        self.per_mille = 0;
    }

    pub(super) fn calls(&self, call: DriverCall) -> u64 {
        self.calls.get(call as usize).copied().unwrap_or(0)
    }

    pub(super) fn injected(&self) -> u64 {
        self.injected
    }

    /// Counts a call; an error is a fault that was asked for.
    pub(super) fn enter(&mut self, call: DriverCall) -> Result<(), SimError> {
        if let Some(count) = self.calls.get_mut(call as usize) {
            *count += 1;
        }
        match self.due(call) {
            None => Ok(()),
            Some(kind) => {
                self.injected += 1;
                Err(SimError::Injected(kind))
            }
        }
    }

    fn due(&mut self, call: DriverCall) -> Option<DriverErrorKind> {
        let mut due = None;
        for planned in &mut self.planned {
            if planned.call.is_none_or(|only| only == call) {
                planned.left -= 1;
                if planned.left == 0 {
                    due = due.or(Some(planned.kind));
                }
            }
        }
        self.planned.retain(|planned| planned.left != 0);
        if due.is_none() && self.per_mille != 0 && self.rng.below(1000) < usize::from(self.per_mille) {
            due = Some(likely(call));
        }
        due
    }
}
