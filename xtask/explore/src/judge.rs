//! Mallocs, judged by the oracle's sets.

use crate::oracle::{Oracle, Set};
use crate::run::{GRANULE, Held, LIMIT, Run};
use weir::error::MallocError;
use weir::policy::Reuse;
use weir::sim::Access;
use weir::units::{Bytes, DevicePtr};

impl Run<'_> {
    pub(crate) fn malloc(&mut self, granules: u64, stream: u8) -> Result<(), String> {
        let could = self.usable(granules, stream);
        // Where this comes to a growth, the pool lays more markers from now on.
        let pending = self.is_pending();
        let malloc = self.rt.malloc_async(self.pool, Bytes(granules * GRANULE), self.stream(stream)?);
        let (calls, failed) = {
            let mut watch = self.driver.watch.borrow_mut();
            watch.oracle.burst |= pending && (watch.calls > 0 || malloc.is_err());
            (watch.calls, watch.failed)
        };
        if could && (malloc.is_err() || calls > 0) {
            return Err(format!("usable memory was there, but {calls} driver calls were made: {malloc:?}"));
        }
        match malloc {
            Ok(ptr) => self.accept(ptr, granules, stream),
            // A device that says it is full is believed.
            Err(MallocError::OutOfMemory(_) | MallocError::Driver(_)) if failed > 0 => Ok(()),
            Err(MallocError::OutOfMemory(_)) => self.excuse(granules, stream),
            Err(error) => Err(format!("the malloc is refused: {error:?}")),
        }
    }

    /// Judges memory that was handed out.
    fn accept(&mut self, ptr: DevicePtr, granules: u64, stream: u8) -> Result<(), String> {
        let (s, bytes) = (usize::from(stream), granules * GRANULE);
        let overlaps = |h: &&Held| h.at < ptr.0 + bytes && ptr.0 < h.at + h.granules * GRANULE;
        if let Some(held) = self.held.iter().flatten().find(overlaps) {
            return Err(format!("the malloc got {ptr:?}, where {held:?} is live"));
        }
        let events = self.setting.reuse.contains(Reuse::EVENT) || self.driver.watch.borrow().waits > 0;
        let (owner, write) = {
            let oracle = &mut self.driver.watch.borrow_mut().oracle;
            let Some(history) = oracle.history(ptr.0, bytes, GRANULE) else {
                return Err(format!("the malloc got {ptr:?}, where nothing is mapped"));
            };
            if history & !oracle.before_next(s) != 0 {
                return Err(format!("s{stream} got {ptr:?}, and nothing orders it after what was done there"));
            }
            if !events && !oracle.is_within(history, oracle.of(s) | oracle.known()) {
                return Err(format!("s{stream} got {ptr:?} along an event, and switch 1 is off"));
            }
            let op = oracle.act(s);
            oracle.touch(op, ptr.0, bytes);
            (oracle.tenant(s), oracle.of(s).count_ones() - 1)
        };
        let native = self.driver.native(s).ok_or("the stream is not live")?;
        let access = self.driver.sim.access(native, ptr, Bytes(bytes), Access::Write);
        access.map_err(|error| format!("the simulator refuses the write: {error:?}"))?;
        let free = self.held.iter().position(Option::is_none).ok_or("all blocks are live")?;
        self.held[free] = Some(Held { at: ptr.0, granules, owner, write, users: [None; 2] });
        Ok(())
    }

    /// Judges a refusal: the pool had nothing that it could know to be usable.
    fn excuse(&self, granules: u64, stream: u8) -> Result<(), String> {
        if self.usable(granules, stream) {
            return Err("the malloc is refused, though usable memory is there".into());
        }
        let oracle = &self.driver.watch.borrow().oracle;
        let movable = self.free_granules(oracle).filter(|&(_, history)| history & !oracle.known() == 0).count();
        // What exists and is not mapped could not be destroyed: the pool tries again before it refuses.
        let room = LIMIT - oracle.mapped().count() as u64;
        if room + movable as u64 >= granules {
            return Err(format!("the malloc is refused, though {room} granules may be made and {movable} moved"));
        }
        Ok(())
    }

    /// Whether work is open on whole free granules.
    fn is_pending(&self) -> bool {
        let oracle = &self.driver.watch.borrow().oracle;
        self.free_granules(oracle).any(|(_, history)| history & !oracle.known() != 0)
    }

    fn free_granules<'o>(&'o self, oracle: &'o Oracle) -> impl Iterator<Item = (u64, Set)> + 'o {
        let live = |at: u64| self.held.iter().flatten().any(|h| (h.at..h.at + h.granules * GRANULE).contains(&at));
        oracle.mapped().filter(move |&(at, _)| !live(at))
    }

    /// Whether adjacent free granules are there that the pool could know the stream may use.
    fn usable(&self, granules: u64, stream: u8) -> bool {
        let oracle = &self.driver.watch.borrow().oracle;
        let reuse = self.setting.reuse;
        let s = usize::from(stream);
        let settled = if reuse.contains(Reuse::OPPORTUNISTIC) { oracle.known() } else { oracle.seen() };
        let told = if reuse.contains(Reuse::EVENT) { oracle.told(s) } else { 0 };
        let reached = oracle.of(s) | settled | told;
        let mut run = (0, 0);
        let mut at: Vec<u64> = self
            .free_granules(oracle)
            .filter(|&(at, history)| oracle.was_handed(at) && oracle.is_told_within(history, reached))
            .map(|(at, _)| at)
            .collect();
        at.sort_unstable();
        at.into_iter().any(|at| {
            run = if at == run.0 { (at + GRANULE, run.1 + 1) } else { (at + GRANULE, 1) };
            run.1 >= granules
        })
    }
}
