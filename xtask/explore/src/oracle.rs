//! The judge: for each operation the set of all that happen before it, kept as such. It knows nothing of clocks.

use crate::op::{EVENTS, RENEWALS, STREAMS};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// A set of operations, one bit each.
pub type Set = u64;

/// Slots of markers, the program's events among them.
pub const SLOTS: usize = EVENTS + MARKERS;
/// Markers of the pool's own.
pub const MARKERS: usize = 12;

/// Streams that a program can have, one after the other in a place.
const TENANTS: usize = STREAMS + RENEWALS;

/// A stream by the order of creation: never given out again.
pub type Tenant = u8;

/// A granule of physical memory, by its handle.
pub type Granule = u64;

/// Where a granule is, and what was done with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Mapping {
    at: Option<u64>,
    /// All operations on it since it exists.
    history: Set,
    /// It was handed out since it was mapped where it is.
    handed: bool,
}

/// Who is ordered before whom, and who did what with which granule.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// Who is in each place.
    tenants: [Tenant; STREAMS],
    created: Tenant,
    /// The past of streams that were destroyed.
    gone: Vec<Set>,
    /// The stream of each operation.
    ops: Vec<Tenant>,
    /// What happens before each operation.
    before: Vec<Set>,
    /// The same without what only the pool had learnt.
    told_before: Vec<Set>,
    /// What happens before whatever a stream does next, its own past included.
    past: [Set; STREAMS],
    /// The same without what a stream comes after only because the host knew it to be complete.
    told: [Set; STREAMS],
    /// What the latest lay of each slot stands for.
    slots: [Option<Set>; SLOTS],
    told_slots: [Set; SLOTS],
    /// What the host knows to be complete.
    known: Set,
    /// The same, by the program's own calls only.
    seen: Set,
    /// Granules that exist.
    granules: BTreeMap<Granule, Mapping>,
    /// A malloc came to a growth while work was open on whole free granules: from then on the pool lays more markers.
    pub burst: bool,
}

impl Default for Oracle {
    fn default() -> Self {
        Self {
            tenants: std::array::from_fn(|place| place as Tenant),
            created: STREAMS as Tenant,
            gone: Vec::new(),
            ops: Vec::new(),
            before: Vec::new(),
            told_before: Vec::new(),
            past: [0; STREAMS],
            told: [0; STREAMS],
            slots: [None; SLOTS],
            told_slots: [0; SLOTS],
            known: 0,
            seen: 0,
            granules: BTreeMap::new(),
            burst: false,
        }
    }
}

/// What a query or a synchronisation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A stream, all that is queued there.
    Stream(usize),
    /// The latest lay of a slot.
    Slot(usize),
    /// All that is queued anywhere.
    Device,
}

/// By whose call something is learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The program's.
    Program,
    /// The pool's.
    Pool,
}

impl Oracle {
    /// Whatever the stream does next comes after these.
    #[must_use]
    pub fn before_next(&self, stream: usize) -> Set {
        self.past[stream] | self.known
    }

    /// What a stream comes after by its own queue and by waits, without what the host knows.
    #[must_use]
    pub fn told(&self, stream: usize) -> Set {
        self.told[stream]
    }

    /// What the host knows to be complete.
    #[must_use]
    pub fn known(&self) -> Set {
        self.known
    }

    /// What the program knows to be complete.
    #[must_use]
    pub fn seen(&self) -> Set {
        self.seen
    }

    /// What an event stands for.
    #[must_use]
    pub fn slot(&self, slot: usize) -> Option<Set> {
        self.slots[slot]
    }

    /// All operations.
    #[must_use]
    pub fn all(&self) -> Set {
        (1u64 << self.ops.len()) - 1
    }

    /// The stream in a place.
    #[must_use]
    pub fn tenant(&self, stream: usize) -> Tenant {
        self.tenants[stream]
    }

    /// The operations of the stream in a place.
    #[must_use]
    pub fn of(&self, stream: usize) -> Set {
        self.of_tenant(self.tenants[stream])
    }

    /// The operations of a stream, live or not.
    #[must_use]
    pub fn of_tenant(&self, tenant: Tenant) -> Set {
        let mine = self.ops.iter().enumerate().filter(|&(_, &s)| s == tenant);
        mine.fold(0, |set, (n, _)| set | 1 << n)
    }

    /// A stream takes a place, with nothing before it but what the host knows.
    pub fn begin_stream(&mut self, stream: usize) {
        self.tenants[stream] = self.created;
        self.created += 1;
        (self.past[stream], self.told[stream]) = (0, 0);
    }

    /// A stream is destroyed; its work goes on.
    pub fn end_stream(&mut self, stream: usize) {
        self.gone.push(self.past[stream]);
        (self.past[stream], self.told[stream]) = (0, 0);
    }

    /// Destroyed streams whose work is not known to be complete.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.gone.iter().filter(|&&past| past & !self.known != 0).count()
    }

    /// Streams that were created in place of others.
    #[must_use]
    pub fn renewals(&self) -> usize {
        usize::from(self.created) - STREAMS
    }

    /// An operation on a stream.
    pub fn act(&mut self, stream: usize) -> Set {
        let op = 1 << self.ops.len();
        self.ops.push(self.tenants[stream]);
        self.before.push(self.before_next(stream));
        self.told_before.push(self.told[stream] | self.seen);
        self.past[stream] |= self.known | op;
        self.told[stream] |= op;
        op
    }

    /// Notes what an operation does with memory.
    pub fn touch(&mut self, op: Set, at: u64, bytes: u64) {
        let range = at..at + bytes;
        for granule in self.granules.values_mut().filter(|g| g.at.is_some_and(|at| range.contains(&at))) {
            granule.history |= op;
            granule.handed = true;
        }
    }

    /// Whether all of a history is among `reached`, or before what is: a free tells of whatever it comes after.
    #[must_use]
    pub fn is_within(&self, history: Set, reached: Set) -> bool {
        within(history, reached, &self.before)
    }

    /// The same by what the program told, without what only the pool had learnt: a pool whose switch 2 is off need not
    /// count that.
    #[must_use]
    pub fn is_told_within(&self, history: Set, reached: Set) -> bool {
        within(history, reached, &self.told_before)
    }

    /// A marker is laid behind the stream's queue.
    pub fn lay(&mut self, slot: usize, stream: usize) {
        self.slots[slot] = Some(self.before_next(stream));
        self.told_slots[slot] = self.told[stream];
    }

    /// A stream waits for a marker.
    pub fn wait(&mut self, stream: usize, slot: usize) {
        self.past[stream] |= self.slots[slot].unwrap_or(0);
        self.told[stream] |= self.told_slots[slot];
    }

    /// What a target of a query or a synchronisation stands for.
    #[must_use]
    pub fn stands_for(&self, what: What) -> Set {
        match what {
            What::Stream(stream) => self.before_next(stream),
            What::Slot(slot) => self.slots[slot].unwrap_or(0),
            What::Device => self.all(),
        }
    }

    /// The host learns that a target is complete.
    pub fn learn(&mut self, what: What, by: By) {
        self.known |= self.stands_for(what);
        if by == By::Program {
            // What only the pool had learnt does not become the program's knowledge on the way.
            self.seen |= match what {
                What::Stream(stream) => self.told[stream],
                What::Slot(slot) => self.told_slots[slot],
                What::Device => self.all(),
            };
        }
    }

    /// A granule is created.
    pub fn create(&mut self, granule: Granule) {
        self.granules.insert(granule, Mapping::default());
    }

    /// A granule is destroyed.
    pub fn destroy(&mut self, granule: Granule) {
        self.granules.remove(&granule);
    }

    /// A granule is mapped.
    pub fn map(&mut self, at: u64, granule: Granule) {
        if let Some(granule) = self.granules.get_mut(&granule) {
            (granule.at, granule.handed) = (Some(at), false);
        }
    }

    /// Whatever is mapped at the address is unmapped. The operations on it that the host does not know to be complete.
    pub fn unmap(&mut self, at: u64) -> Set {
        let known = self.known;
        let found = self.granules.values_mut().find(|granule| granule.at == Some(at));
        found.map_or(0, |granule| {
            granule.at = None;
            granule.history & !known
        })
    }

    /// What was done with the memory, and whether all of it is mapped.
    #[must_use]
    pub fn history(&self, at: u64, bytes: u64, granularity: u64) -> Option<Set> {
        let mut all = 0;
        for at in (at..at + bytes).step_by(granularity as usize) {
            all |= self.mapped().find(|&(mapped, _)| mapped == at)?.1;
        }
        Some(all)
    }

    /// Where granules are mapped, and what was done with each.
    pub fn mapped(&self) -> impl Iterator<Item = (u64, Set)> + Clone {
        self.granules.values().filter_map(|granule| Some((granule.at?, granule.history)))
    }

    /// Whether the granule at an address was handed out since it was mapped there. What a failed growth could not unmap
    /// never was, and is offered to nobody.
    #[must_use]
    pub fn was_handed(&self, at: u64) -> bool {
        self.granules.values().any(|granule| granule.at == Some(at) && granule.handed)
    }

    /// Granules that exist.
    #[must_use]
    pub fn granules(&self) -> usize {
        self.granules.len()
    }

    /// A set by names that do not depend on the order of operations of different streams: each operation is the `n`-th
    /// of its stream.
    fn name(&self, set: Set) -> [u32; TENANTS] {
        let (mut names, mut counts) = ([0; TENANTS], [0; TENANTS]);
        for (n, &stream) in self.ops.iter().enumerate() {
            let stream = usize::from(stream);
            names[stream] |= u32::from(set & 1 << n != 0) << counts[stream];
            counts[stream] += 1;
        }
        names
    }
}

fn within(history: Set, reached: Set, before: &[Set]) -> bool {
    let told = before.iter().enumerate().filter(|&(n, _)| history & reached & 1 << n != 0);
    history & !told.fold(reached, |all, (_, before)| all | before) == 0
}

impl Hash for Oracle {
    fn hash<H: Hasher>(&self, into: &mut H) {
        (self.tenants, self.burst).hash(into);
        self.gone.iter().for_each(|&past| self.name(past).hash(into));
        self.name(self.all()).hash(into);
        let before = self.before.iter().zip(&self.told_before).map(|(&all, &told)| (self.name(all), self.name(told)));
        let mut before: Vec<_> = self.ops.iter().zip(before).collect();
        // Stable: the operations of one stream stay in their order.
        before.sort_by_key(|&(&stream, _)| stream);
        before.hash(into);
        self.past.map(|set| self.name(set)).hash(into);
        self.told.map(|set| self.name(set)).hash(into);
        // The pool's own markers are in its arenas; which slot each has does not matter.
        self.slots[..EVENTS].iter().for_each(|slot| slot.map(|set| self.name(set)).hash(into));
        self.told_slots[..EVENTS].iter().for_each(|&set| self.name(set).hash(into));
        self.name(self.known).hash(into);
        self.name(self.seen).hash(into);
        let named = |granule: &Mapping| (granule.at, self.name(granule.history), granule.handed);
        let mut granules: Vec<_> = self.granules.values().map(named).collect();
        granules.sort_unstable();
        granules.hash(into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_transitive_and_a_record_stands_for_its_moment() {
        let mut oracle = Oracle::default();
        let first = oracle.act(0);
        oracle.lay(0, 0);
        let later = oracle.act(0);
        oracle.wait(1, 0);
        let second = oracle.act(1);
        oracle.lay(1, 1);
        oracle.wait(2, 1);
        assert_eq!(oracle.before_next(2), first | second);
        assert_eq!(oracle.before_next(1) & later, 0);
        oracle.learn(What::Slot(1), By::Pool);
        assert_eq!((oracle.known(), oracle.seen()), (first | second, 0));
    }

    #[test]
    fn memory_remembers_what_was_done_with_it_wherever_it_is_mapped() {
        let mut oracle = Oracle::default();
        oracle.create(7);
        oracle.map(4096, 7);
        let op = oracle.act(0);
        oracle.touch(op, 4096, 4096);
        assert_eq!(oracle.unmap(4096), op);
        oracle.map(8192, 7);
        assert_eq!((oracle.history(8192, 4096, 4096), oracle.history(4096, 4096, 4096)), (Some(op), None));
    }

    #[test]
    fn names_do_not_depend_on_the_order_between_streams() {
        let (mut a, mut b) = (Oracle::default(), Oracle::default());
        let x = a.act(0) | a.act(1);
        let _ = b.act(1);
        let y = b.all() | b.act(0);
        assert_eq!(a.name(x), b.name(y));
    }
}
