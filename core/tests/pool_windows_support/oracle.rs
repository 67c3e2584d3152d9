//! Who happens before whom, as sets of single operations: what the program's calls and the driver calls allow, in the
//! order in which they were really made. It knows nothing of the pool's clocks.

use std::collections::{BTreeMap, HashMap};
use weir::driver::Target;
use weir::units::{Bytes, DevicePtr};

/// A set of operations, one bit each.
pub type Set = u128;

/// A piece of physical memory, wherever it is mapped.
#[derive(Clone, Copy, Debug, Default)]
struct Granule {
    at: Option<u64>,
    /// All that was done with it.
    history: Set,
}

/// The judge.
#[derive(Debug)]
pub struct Oracle {
    granularity: u64,
    ops: u32,
    /// Per stream, by its handle: all that happens before whatever it does next.
    past: BTreeMap<u64, Set>,
    /// What the latest lay of each slot stands for.
    slots: HashMap<u32, Set>,
    /// What the host knows to be complete.
    known: Set,
    granules: HashMap<u64, Granule>,
    live: BTreeMap<u64, u64>,
}

impl Oracle {
    pub fn new(granularity: Bytes) -> Self {
        Self {
            granularity: granularity.0,
            ops: 0,
            past: BTreeMap::new(),
            slots: HashMap::new(),
            known: 0,
            granules: HashMap::new(),
            live: BTreeMap::new(),
        }
    }

    fn before_next(&self, stream: u64) -> Set {
        self.past.get(&stream).copied().unwrap_or(0) | self.known
    }

    fn granules(&mut self, ptr: DevicePtr, bytes: Bytes) -> impl Iterator<Item = &mut Granule> {
        let (first, end, size) = (ptr.0, ptr.0 + bytes.0, self.granularity);
        self.granules.values_mut().filter(move |g| g.at.is_some_and(|at| at < end && first < at + size))
    }

    /// An operation on the stream that has to do with this memory: work that uses it, or its free.
    pub fn act(&mut self, stream: u64, ptr: DevicePtr, bytes: Bytes) {
        let op = 1 << self.ops;
        self.ops += 1;
        let past = self.before_next(stream) | op;
        self.past.insert(stream, past);
        self.granules(ptr, bytes).for_each(|granule| granule.history |= op);
    }

    /// Whether the stream may have the memory: nobody else has it, it is there, and all that was done with it happens
    /// before what the stream does next.
    pub fn grant(&mut self, stream: u64, ptr: DevicePtr, bytes: Bytes) -> Result<(), String> {
        let before = self.live.range(..ptr.0 + bytes.0).next_back();
        if before.is_some_and(|(at, bytes)| at + bytes > ptr.0) {
            return Err(format!("{ptr:?} was handed out twice"));
        }
        self.live.insert(ptr.0, bytes.0);
        let reached = self.before_next(stream);
        let (mut mapped, mut early) = (0, false);
        for granule in self.granules(ptr, bytes) {
            mapped += 1;
            early |= granule.history & !reached != 0;
        }
        if mapped < bytes.0.div_ceil(self.granularity) {
            return Err(format!("{ptr:?} is not mapped"));
        }
        if early {
            return Err(format!("{ptr:?} was handed out before earlier work on it was ordered before this stream"));
        }
        Ok(())
    }

    /// The program freed the memory on the stream.
    pub fn free(&mut self, stream: u64, ptr: DevicePtr, bytes: Bytes) {
        self.live.remove(&ptr.0);
        self.act(stream, ptr, bytes);
    }

    pub fn create(&mut self, granule: u64) {
        self.granules.insert(granule, Granule::default());
    }

    pub fn destroy(&mut self, granule: u64) {
        self.granules.remove(&granule);
    }

    pub fn map(&mut self, at: u64, granule: u64) {
        if let Some(granule) = self.granules.get_mut(&granule) {
            granule.at = Some(at);
        }
    }

    pub fn unmap(&mut self, at: u64) {
        let mapped = self.granules.values_mut().find(|granule| granule.at == Some(at));
        mapped.into_iter().for_each(|granule| granule.at = None);
    }

    pub fn lay(&mut self, slot: u32, stream: u64) {
        self.slots.insert(slot, self.before_next(stream));
    }

    pub fn wait(&mut self, stream: u64, slot: u32) {
        let told = self.before_next(stream) | self.slots.get(&slot).copied().unwrap_or(0);
        self.past.insert(stream, told);
    }

    /// The host learns that all of it is complete.
    pub fn learn(&mut self, what: Target) {
        self.known |= match what {
            Target::Stream(stream) => self.before_next(stream.0),
            Target::Marker(slot) => self.slots.get(&slot.0).copied().unwrap_or(0),
            Target::Device(_) => (1 << self.ops) - 1,
        };
    }
}
