//! Random maps and unmaps, in the order of streams and at once, against a slow, obvious model: it keeps every use that
//! there ever was of a granule and of an address, and what each operation comes after. Both must agree on each call.
#![cfg(feature = "sim")]

mod sim_support;

use sim_support::{D0, G, Random, Sizes, heap};
use std::collections::{BTreeMap, BTreeSet};
use weir::driver::{Capabilities, Completion, Driver, GranuleHandle, MarkerSlot, NativeStream, Target};
use weir::sim::{Access, DeviceConfig, Issue, Sim, SimError, Violation};
use weir::units::{Bytes, DevicePtr};

const STREAMS: usize = 4;
const MARKERS: usize = 4;
/// Few ranges make for many meetings, many fill the table of mappings.
const RANGES: [usize; 2] = [5, 9];
const GRANULES: usize = 4;
/// Entries of the table of mappings that can be used; one more stays free.
const ENTRIES: usize = 4;
const BLOCK: u64 = 4096;

type Set = BTreeSet<u64>;

#[derive(Clone, Copy)]
struct Use {
    issue: u64,
    /// The block; `None`: all of the granule.
    block: Option<u64>,
    write: bool,
}

struct Granule {
    handle: GranuleHandle,
    at: Option<u64>,
    uses: Vec<Use>,
    /// What stands in each block for a program that runs in the order of the calls.
    tags: BTreeMap<u64, u64>,
}

/// What became of a call, as far as the model can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Good,
    /// Refused where the model knows it to be of this kind.
    Race,
    InUse,
    BeforeUnmap,
    Mapped,
    Nothing,
    /// No violation: the table of mappings has no room.
    Full,
}

struct Model<'a> {
    sim: Sim<'a>,
    random: Random,
    streams: Vec<NativeStream>,
    /// What the next operation of each stream comes after.
    upto: Vec<Set>,
    /// What each operation comes after, itself included.
    before: Vec<Set>,
    markers: Vec<Option<u64>>,
    host: Set,
    ran: Set,
    /// One granule's addresses each.
    ranges: Vec<u64>,
    granules: Vec<Granule>,
    /// The unmaps of an address in the order of streams.
    unmaps: BTreeMap<u64, Vec<u64>>,
    tally: BTreeMap<(&'static str, Verdict), u32>,
    refused: u64,
}

impl<'a> Model<'a> {
    fn new(sim: Sim<'a>, seed: u64) -> Self {
        let granule =
            |_| Granule { handle: sim.create(D0).unwrap(), at: None, uses: Vec::new(), tags: BTreeMap::new() };
        Self {
            random: Random::new(seed),
            streams: (0..STREAMS).map(|_| sim.create_stream(D0).unwrap()).collect(),
            upto: vec![Set::new(); STREAMS],
            before: vec![Set::new()],
            markers: vec![None; MARKERS],
            host: Set::new(),
            ran: Set::new(),
            ranges: (0..RANGES[seed as usize % 2]).map(|_| sim.reserve(D0, Bytes(G)).unwrap().0).collect(),
            granules: (0..GRANULES).map(granule).collect(),
            unmaps: BTreeMap::new(),
            tally: BTreeMap::new(),
            refused: 0,
            sim,
        }
    }

    fn any(&mut self, count: usize) -> usize {
        self.random.below(count as u64) as usize
    }

    fn after(&self, stream: usize) -> Set {
        self.host.union(&self.upto[stream]).copied().collect()
    }

    /// An operation was queued that comes after `set`.
    fn queued(&mut self, stream: usize, mut set: Set) -> u64 {
        let issue = self.before.len() as u64;
        set.insert(issue);
        self.upto[stream] = set.clone();
        self.before.push(set);
        assert_eq!(self.sim.issued(), Issue(issue + 1));
        issue
    }

    /// The simulation must say what the model says.
    #[track_caller]
    fn agree(&mut self, what: &'static str, expected: Verdict, got: bool, violations: u64) {
        assert_eq!(expected == Verdict::Good, got, "{what}: the model says {expected:?}");
        let refused = !matches!(expected, Verdict::Good | Verdict::Full);
        self.refused += u64::from(refused);
        assert_eq!(self.sim.violations() - violations, u64::from(refused), "{what}");
        // The simulation keeps the first violation, so its kind can be compared once.
        if self.refused == 1 && refused {
            let kind = match self.sim.violation() {
                Some(Violation::Race { .. }) => Verdict::Race,
                Some(Violation::UnmapInUse { .. }) => Verdict::InUse,
                Some(Violation::BeforeUnmap { .. }) => Verdict::BeforeUnmap,
                Some(Violation::AccessUnmapped { .. } | Violation::NothingMapped(_)) => Verdict::Nothing,
                _ => Verdict::Mapped,
            };
            assert_eq!(kind, expected, "{what}: {:?}", self.sim.violation());
        }
        *self.tally.entry((what, expected)).or_default() += 1;
    }

    fn granule_at(&self, at: u64) -> Option<usize> {
        self.granules.iter().position(|granule| granule.at == Some(at))
    }

    fn access(&mut self) {
        let (stream, range, block) = (self.any(STREAMS), self.any(self.ranges.len()), self.random.below(2));
        let (write, set, at) = (self.random.below(2) == 0, self.after(stream), self.ranges[range]);
        let (ptr, native) = (DevicePtr(at + block * BLOCK), self.streams[stream]);
        let (granule, violations) = (self.granule_at(at), self.sim.violations());
        let verdict = granule.map_or(Verdict::Nothing, |granule| {
            let meets = |old: &&Use| old.block.is_none_or(|old| old == block) && (write || old.write);
            let uses = &self.granules[granule].uses;
            if uses.iter().filter(meets).all(|old| set.contains(&old.issue)) { Verdict::Good } else { Verdict::Race }
        });
        let found = granule.and_then(|granule| self.granules[granule].tags.get(&block).copied());
        let tag = self.random.next();
        let result: Result<Issue, SimError> = match found {
            _ if write => self.sim.access_write_tag(native, ptr, Bytes(BLOCK), tag),
            Some(tag) => self.sim.access_read_expect(native, ptr, Bytes(BLOCK), tag),
            None => self.sim.access(native, ptr, Bytes(BLOCK), Access::Read),
        };
        self.agree("access", verdict, result.is_ok(), violations);
        if let (Ok(_), Some(granule)) = (result, granule) {
            let issue = self.queued(stream, set);
            self.granules[granule].uses.push(Use { issue, block: Some(block), write });
            if write {
                self.granules[granule].tags.insert(block, tag);
            }
        }
    }

    /// A stream to name, or none, and what a map or unmap so made comes after.
    fn way(&mut self) -> (Option<usize>, Set) {
        match self.any(STREAMS + 1) {
            STREAMS => (None, self.host.clone()),
            stream => (Some(stream), self.after(stream)),
        }
    }

    fn unmap(&mut self) {
        let ((stream, set), range) = (self.way(), self.any(self.ranges.len()));
        let (at, violations) = (self.ranges[range], self.sim.violations());
        let granule = self.granule_at(at);
        let ordered = |granule: usize| self.granules[granule].uses.iter().all(|old| set.contains(&old.issue));
        let verdict = match (granule, stream) {
            (None, _) => Verdict::Nothing,
            (Some(granule), _) if ordered(granule) => Verdict::Good,
            (_, Some(_)) => Verdict::Race,
            (_, None) => Verdict::InUse,
        };
        let result = self.sim.unmap(D0, DevicePtr(at), stream.map(|stream| self.streams[stream]));
        self.agree(if stream.is_some() { "unmap in order" } else { "unmap" }, verdict, result.is_ok(), violations);
        if let (Ok(()), Some(granule)) = (result, granule) {
            self.granules[granule].at = None;
            if let Some(stream) = stream {
                let issue = self.queued(stream, set);
                self.granules[granule].uses.push(Use { issue, block: None, write: true });
                self.unmaps.entry(at).or_default().push(issue);
            }
        }
    }

    /// An entry is needed where something is mapped, and where the host does not know every unmap to be complete.
    fn has_room(&self, at: u64) -> bool {
        let unknown = self.unmaps.iter().filter(|(_, unmaps)| !unmaps.iter().all(|issue| self.host.contains(issue)));
        let mut entries: Set = unknown.map(|(&at, _)| at).collect();
        entries.extend(self.granules.iter().filter_map(|granule| granule.at));
        entries.contains(&at) || entries.len() < ENTRIES
    }

    fn map(&mut self) {
        let ((stream, set), range, granule) = (self.way(), self.any(self.ranges.len()), self.any(GRANULES));
        let (at, violations) = (self.ranges[range], self.sim.violations());
        let clear = |issue: &u64| set.contains(issue);
        let taken = self.granule_at(at).is_some() || self.granules[granule].at.is_some();
        let uses = &self.granules[granule].uses;
        let verdict = match () {
            () if taken => Verdict::Mapped,
            () if !self.unmaps.get(&at).is_none_or(|unmaps| unmaps.iter().all(clear)) => Verdict::BeforeUnmap,
            () if !uses.iter().all(|old| clear(&old.issue)) => Verdict::BeforeUnmap,
            () if !self.has_room(at) => Verdict::Full,
            () => Verdict::Good,
        };
        let (handle, native) = (self.granules[granule].handle, stream.map(|stream| self.streams[stream]));
        let result = self.sim.map(D0, DevicePtr(at), handle, native);
        self.agree(if stream.is_some() { "map in order" } else { "map" }, verdict, result.is_ok(), violations);
        if result.is_ok() {
            self.granules[granule].at = Some(at);
            if let Some(stream) = stream {
                let issue = self.queued(stream, set);
                self.granules[granule].uses.push(Use { issue, block: None, write: true });
            }
        }
    }

    /// Destroys a granule, or releases a range, and makes a new one.
    fn renew(&mut self) {
        let (range, granule, violations) = (self.any(self.ranges.len()), self.any(GRANULES), self.sim.violations());
        let judge = |mapped: bool, known: bool| match (mapped, known) {
            (true, _) => Verdict::Mapped,
            (_, false) => Verdict::BeforeUnmap,
            _ => Verdict::Good,
        };
        if self.random.below(2) == 0 {
            let old = &self.granules[granule];
            let verdict = judge(old.at.is_some(), old.uses.iter().all(|old| self.host.contains(&old.issue)));
            let result = self.sim.destroy(D0, old.handle);
            self.agree("destroy", verdict, result.is_ok(), violations);
            if result.is_ok() {
                let handle = self.sim.create(D0).unwrap();
                self.granules[granule] = Granule { handle, at: None, uses: Vec::new(), tags: BTreeMap::new() };
            }
            return;
        }
        let at = self.ranges[range];
        let mut unmaps = self.unmaps.get(&at).into_iter().flatten();
        let verdict = judge(self.granule_at(at).is_some(), unmaps.all(|issue| self.host.contains(issue)));
        let result = self.sim.release(D0, DevicePtr(at), Bytes(G));
        self.agree("release", verdict, result.is_ok(), violations);
        if result.is_ok() {
            self.ranges[range] = self.sim.reserve(D0, Bytes(G)).unwrap().0;
        }
    }

    fn order(&mut self) {
        let (from, to, marker) = (self.any(STREAMS), self.any(STREAMS), self.any(MARKERS));
        if self.random.below(2) == 0 {
            self.sim.lay(MarkerSlot(marker as u32), self.streams[from]).unwrap();
            let set = self.after(from);
            self.markers[marker] = Some(self.queued(from, set));
        }
        self.sim.wait(self.streams[to], MarkerSlot(marker as u32)).unwrap();
        let mut set = self.after(to);
        set.extend(self.markers[marker].iter().flat_map(|&laid| &self.before[laid as usize]));
        self.queued(to, set);
    }

    fn learn(&mut self) {
        let (stream, marker) = (self.any(STREAMS), self.any(MARKERS));
        let laid = self.markers[marker].map(|laid| self.before[laid as usize].clone()).unwrap_or_default();
        let (what, set) = match self.random.below(2) {
            0 => (Target::Stream(self.streams[stream]), self.upto[stream].clone()),
            _ => (Target::Marker(MarkerSlot(marker as u32)), laid),
        };
        if self.random.below(2) == 0 {
            self.sim.synchronise(what).unwrap();
            self.ran.extend(&set);
        }
        let complete = set.is_subset(&self.ran);
        let expected = if complete { Completion::Complete } else { Completion::Pending };
        assert_eq!(self.sim.query(what), Ok(expected));
        if complete {
            self.host.extend(set);
        }
    }

    fn step(&mut self) {
        for _ in 0..self.random.below(5) {
            if let Some(ran) = self.sim.step() {
                assert!(
                    self.before[ran.issue.0 as usize]
                        .iter()
                        .all(|&issue| issue == ran.issue.0 || self.ran.contains(&issue))
                );
                self.ran.insert(ran.issue.0);
            }
        }
    }

    fn go(&mut self, calls: u32) {
        for _ in 0..calls {
            match self.random.below(20) {
                0..=5 => self.access(),
                6..=8 => self.unmap(),
                9..=12 => self.map(),
                13 => self.renew(),
                14 | 15 => self.order(),
                16 | 17 => self.learn(),
                _ => self.step(),
            }
        }
    }
}

#[test]
fn the_simulation_agrees_with_the_model() {
    let mut tally = BTreeMap::new();
    for seed in 1..=200 {
        let mut heap = heap(Sizes { granules: GRANULES, streams: STREAMS, markers: MARKERS, ..Sizes::default() });
        let mut device = DeviceConfig::new(Bytes::mib(64));
        device.properties.capabilities |= Capabilities::MAP_IN_STREAM_ORDER;
        let mut arenas = heap.lend();
        arenas.pages = &mut std::mem::take(&mut arenas.pages)[..=ENTRIES];
        let sim = Sim::new(arenas, &[device], seed).unwrap();
        let mut model = Model::new(sim, seed);
        model.go(300);
        model.sim.run_all();
        // What was accepted went well: nothing was found unmapped, or with other content, when it ran.
        assert_eq!((model.sim.violations(), model.sim.queued()), (model.refused, 0), "seed {seed}");
        assert_eq!((model.sim.unchecked(), model.sim.squeezed()), (0, 0));
        for (what, count) in model.tally {
            *tally.entry(what).or_insert(0) += count;
        }
    }
    // Every verdict that there is was given often.
    let wanted = [
        ("access", &[Verdict::Good, Verdict::Race, Verdict::Nothing][..]),
        ("unmap in order", &[Verdict::Good, Verdict::Race, Verdict::Nothing]),
        ("unmap", &[Verdict::Good, Verdict::InUse, Verdict::Nothing]),
        ("map in order", &[Verdict::Good, Verdict::BeforeUnmap, Verdict::Mapped, Verdict::Full]),
        ("map", &[Verdict::Good, Verdict::BeforeUnmap, Verdict::Mapped]),
        ("destroy", &[Verdict::Good, Verdict::BeforeUnmap, Verdict::Mapped]),
        ("release", &[Verdict::Good, Verdict::BeforeUnmap, Verdict::Mapped]),
    ];
    for (what, verdicts) in wanted {
        for verdict in verdicts {
            let count = tally.get(&(what, *verdict)).copied().unwrap_or(0);
            assert!(count > 50, "{what}, {verdict:?}: {count} of {tally:?}");
        }
    }
}
