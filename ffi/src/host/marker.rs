//! Positions in streams: what markers stand for, what waits wait for.

use super::fault::lock;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;
use weir::driver::MarkerSlot;

#[derive(Debug, Default)]
struct Reached {
    done: u64,
    waiting: u32,
}

/// How far a stream has come. Outlives the stream, so that markers on a destroyed stream stay complete.
#[derive(Debug, Default)]
pub(super) struct Progress {
    reached: Mutex<Reached>,
    changed: Condvar,
}

impl Progress {
    /// One more command is complete.
    pub(super) fn advance(&self) {
        let mut reached = lock(&self.reached);
        reached.done += 1;
        if reached.waiting > 0 {
            self.changed.notify_all();
        }
    }

    fn has(&self, position: u64) -> bool {
        lock(&self.reached).done >= position
    }

    /// Waits for the position, at the longest until `deadline`; answers whether it was reached.
    fn wait(&self, position: u64, deadline: Option<Instant>) -> bool {
        let mut reached = lock(&self.reached);
        reached.waiting += 1;
        while reached.done < position {
            let Some(deadline) = deadline else {
                reached = self.changed.wait(reached).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                break;
            };
            let woken = self.changed.wait_timeout(reached, left).unwrap_or_else(PoisonError::into_inner);
            reached = woken.0;
        }
        reached.waiting -= 1;
        reached.done >= position
    }
}

/// Everything that was queued on one stream up to a moment.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    progress: Arc<Progress>,
    position: u64,
}

impl Mark {
    pub(super) fn new(progress: &Arc<Progress>, position: u64) -> Self {
        Self { progress: Arc::clone(progress), position }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.progress.has(self.position)
    }

    /// Waits on the calling thread; answers whether the mark was reached before the deadline.
    pub(super) fn wait(&self, deadline: Option<Instant>) -> bool {
        self.progress.wait(self.position, deadline)
    }
}

/// What every slot stands for, and on which device.
#[derive(Debug, Default)]
pub(super) struct Markers(Mutex<HashMap<u32, (usize, Mark)>>);

impl Markers {
    pub(super) fn lay(&self, slot: MarkerSlot, device: usize, mark: Mark) {
        lock(&self.0).insert(slot.0, (device, mark));
    }

    /// The slot's latest mark and its device; `None` where it was never laid.
    pub(super) fn get(&self, slot: MarkerSlot) -> Option<(usize, Mark)> {
        lock(&self.0).get(&slot.0).cloned()
    }
}
