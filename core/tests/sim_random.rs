//! Random programs against a slow, obvious model: every operation carries the full set of operations that come before
//! it, and every access is compared with every earlier one. The simulation must agree on each single call.
#![cfg(feature = "sim")]

mod sim_support;

use sim_support::{D0, D1, G, Random, Sizes, sim_of};
use std::collections::HashMap;
use weir::driver::{Completion, Driver, GranuleHandle, MarkerSlot, NativeStream, Target};
use weir::id::DeviceId;
use weir::policy::StreamKind;
use weir::sim::{Access, Issue, Ran, Sim, SimError, Violation};
use weir::units::{Bytes, DevicePtr, Nanos};

const OPS: usize = 512;
const MARKERS: usize = 6;
const PAGES: u64 = 4;

/// A set of operations.
#[derive(Clone, Default)]
struct Set(Vec<bool>);

impl Set {
    fn add(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), false);
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }

    fn put(&mut self, issue: u64) {
        let index = issue as usize;
        self.0.resize(self.0.len().max(index + 1), false);
        self.0[index] = true;
    }

    fn has(&self, issue: u64) -> bool {
        self.0.get(issue as usize).copied().unwrap_or(false)
    }
}

struct Stream {
    native: NativeStream,
    device: DeviceId,
    kind: StreamKind,
    /// Its last operation and all before it.
    upto: Set,
    queued: Vec<u64>,
    alive: bool,
}

#[derive(Clone, Copy)]
struct Touched {
    issue: u64,
    granule: GranuleHandle,
    from: u64,
    to: u64,
    write: bool,
}

struct Model<'a> {
    sim: Sim<'a>,
    random: Random,
    base: DevicePtr,
    pages: Vec<Option<GranuleHandle>>,
    spare: Vec<GranuleHandle>,
    streams: Vec<Stream>,
    /// What each operation comes after, itself included.
    before: Vec<Set>,
    host: Set,
    markers: Vec<Option<u64>>,
    touched: Vec<Touched>,
    ran: Set,
    /// What a program that runs in the order of the calls would find in memory.
    tags: HashMap<GranuleHandle, Vec<(u64, u64, u64)>>,
    races: u32,
    refused_unmaps: u32,
}

impl<'a> Model<'a> {
    fn new(sim: Sim<'a>, seed: u64) -> Self {
        let base = sim.reserve(D0, Bytes(PAGES * G)).unwrap();
        let mut spare: Vec<_> = (0..PAGES + 2).map(|_| sim.create(D0).unwrap()).collect();
        let pages = (0..PAGES).map(|page| {
            let granule = spare.pop().unwrap();
            sim.map(D0, DevicePtr(base.0 + page * G), granule, None).unwrap();
            Some(granule)
        });
        let pages = pages.collect();
        Self {
            sim,
            random: Random::new(seed),
            base,
            pages,
            spare,
            streams: Vec::new(),
            before: vec![Set::default()],
            host: Set::default(),
            markers: vec![None; MARKERS],
            touched: Vec::new(),
            ran: Set::default(),
            tags: HashMap::new(),
            races: 0,
            refused_unmaps: 0,
        }
    }

    fn living(&mut self) -> Option<usize> {
        let living: Vec<usize> = (0..self.streams.len()).filter(|&i| self.streams[i].alive).collect();
        (!living.is_empty()).then(|| *self.random.pick(&living))
    }

    /// What an operation that is queued on this stream now comes after.
    fn after(&self, index: usize) -> Set {
        let stream = &self.streams[index];
        let mut set = self.host.clone();
        set.add(&stream.upto);
        let blocking = |kind| matches!(kind, StreamKind::Blocking | StreamKind::PerThread);
        for other in &self.streams {
            let tied = blocking(stream.kind) && other.kind == StreamKind::Legacy
                || stream.kind == StreamKind::Legacy && blocking(other.kind);
            if tied && other.device == stream.device {
                set.add(&other.upto);
            }
        }
        set
    }

    fn queued(&mut self, index: usize, mut set: Set) {
        let issue = self.before.len() as u64;
        set.put(issue);
        self.streams[index].upto = set.clone();
        self.streams[index].queued.push(issue);
        self.before.push(set);
        assert_eq!(self.sim.issued(), Issue(issue + 1));
    }

    fn ran(&mut self, ran: Ran) {
        let issue = ran.issue.0;
        for earlier in (1..issue).filter(|&earlier| self.before[issue as usize].has(earlier)) {
            assert!(self.ran.has(earlier), "operation {issue} ran before {earlier}");
        }
        self.ran.put(issue);
    }

    fn create(&mut self) {
        let kinds = [StreamKind::NonBlocking, StreamKind::Blocking, StreamKind::PerThread, StreamKind::Legacy];
        let kind = *self.random.pick(&kinds);
        let device = *self.random.pick(&[D0, D0, D1]);
        // No place is left, or there is a legacy stream.
        let Ok(native) = self.sim.create_stream_of_kind(device, kind) else {
            return;
        };
        let same = self.streams.iter().find(|s| s.alive && s.native == native);
        assert!(same.is_none(), "two living streams have one handle");
        let (upto, queued) = (Set::default(), Vec::new());
        self.streams.push(Stream { native, device, kind, upto, queued, alive: true });
    }

    fn destroy(&mut self) {
        if let Some(index) = self.living() {
            self.sim.destroy_stream(self.streams[index].native).unwrap();
            self.streams[index].alive = false;
        }
    }

    /// The parts of granules under a range, or nothing where one is not mapped.
    fn parts(&self, at: u64, bytes: u64) -> Option<Vec<(GranuleHandle, u64, u64)>> {
        let mut parts = Vec::new();
        for page in at / G..=(at + bytes - 1) / G {
            let granule = (*self.pages.get(page as usize)?)?;
            parts.push((granule, at.max(page * G) - page * G, (at + bytes).min(page * G + G) - page * G));
        }
        Some(parts)
    }

    fn access(&mut self) {
        let Some(index) = self.living() else { return };
        let native = self.streams[index].native;
        // Few places, so that accesses meet; some across the edge of a granule.
        let edge = (1 + self.random.below(PAGES)) * G;
        let at = edge - 1024 + self.random.below(4) * 512;
        let bytes = 1 + self.random.below(3) * 512 + self.random.below(2) * 511;
        let write = self.random.below(2) == 0;
        let set = self.after(index);
        let Some(parts) = self.parts(at, bytes) else {
            let ptr = DevicePtr(self.base.0 + at);
            let result = self.sim.access(native, ptr, Bytes(bytes), Access::Read);
            // The part in front of the gap may race; then that is what is reported.
            let unmapped = matches!(result, Err(SimError::Violation(Violation::AccessUnmapped { .. })));
            let raced = matches!(result, Err(SimError::Violation(Violation::Race { .. })));
            assert!(unmapped || raced && self.parts(at, 1).is_some(), "{result:?}");
            return;
        };
        let clash = self.touched.iter().copied().find(|old| {
            let meets = parts.iter().any(|&(g, from, to)| g == old.granule && from < old.to && old.from < to);
            meets && (write || old.write) && !set.has(old.issue)
        });
        let result = self.issue_access(native, at, bytes, write, &parts);
        match (clash, result) {
            (None, Ok(_)) => {
                let issue = self.before.len() as u64;
                let new = parts.iter().map(|&(granule, from, to)| Touched { issue, granule, from, to, write });
                self.touched.extend(new);
                self.queued(index, set);
            }
            (Some(_), Err(SimError::Violation(Violation::Race { .. }))) => self.races += 1,
            (clash, result) => panic!("model: {:?}, simulation: {result:?}", clash.map(|c| c.issue)),
        }
    }

    fn issue_access(
        &mut self,
        native: NativeStream,
        at: u64,
        bytes: u64,
        write: bool,
        parts: &[(GranuleHandle, u64, u64)],
    ) -> Result<Issue, SimError> {
        let (ptr, bytes) = (DevicePtr(self.base.0 + at), Bytes(bytes));
        if write {
            let tag = self.random.next();
            let result = self.sim.access_write_tag(native, ptr, bytes, tag);
            if result.is_ok() {
                for &(granule, from, to) in parts {
                    let tags = self.tags.entry(granule).or_default();
                    tags.retain(|old| old.1 <= from || to <= old.0);
                    tags.push((from, to, tag));
                }
            }
            return result;
        }
        let exact = |&(granule, from, to): &(GranuleHandle, u64, u64)| {
            let found = self.tags.get(&granule)?.iter().find(|tag| (tag.0, tag.1) == (from, to))?;
            Some(found.2)
        };
        let tags: Vec<Option<u64>> = parts.iter().map(exact).collect();
        match tags[0] {
            Some(tag) if tags.iter().all(|other| *other == Some(tag)) => {
                self.sim.access_read_expect(native, ptr, bytes, tag)
            }
            _ => self.sim.access(native, ptr, bytes, Access::Read),
        }
    }

    fn lay(&mut self) {
        let Some(index) = self.living() else { return };
        let marker = self.random.below(MARKERS as u64);
        self.sim.lay(MarkerSlot(marker as u32), self.streams[index].native).unwrap();
        self.markers[marker as usize] = Some(self.before.len() as u64);
        let set = self.after(index);
        self.queued(index, set);
    }

    fn wait(&mut self) {
        let Some(index) = self.living() else { return };
        let marker = self.random.below(MARKERS as u64);
        self.sim.wait(self.streams[index].native, MarkerSlot(marker as u32)).unwrap();
        let mut set = self.after(index);
        if let Some(laid) = self.markers[marker as usize] {
            set.add(&self.before[laid as usize]);
        }
        self.queued(index, set);
    }

    fn work(&mut self) {
        let Some(index) = self.living() else { return };
        self.sim.work(self.streams[index].native, Nanos(self.random.below(50))).unwrap();
        let set = self.after(index);
        self.queued(index, set);
    }

    /// What a target stands for, with everything before it, and whether all of it ran.
    fn target(&mut self) -> Option<(Target, Set)> {
        Some(match self.random.below(3) {
            0 => {
                let index = self.living()?;
                (Target::Stream(self.streams[index].native), self.streams[index].upto.clone())
            }
            1 => {
                let marker = self.random.below(MARKERS as u64);
                let set = self.markers[marker as usize].map(|laid| self.before[laid as usize].clone());
                (Target::Marker(MarkerSlot(marker as u32)), set.unwrap_or_default())
            }
            _ => {
                let device = *self.random.pick(&[D0, D1]);
                let mut set = Set::default();
                for stream in self.streams.iter().filter(|stream| stream.device == device) {
                    set.add(&stream.upto);
                }
                (Target::Device(device), set)
            }
        })
    }

    fn query(&mut self) {
        let Some((what, set)) = self.target() else { return };
        let complete = (1..self.before.len() as u64).all(|issue| !set.has(issue) || self.ran.has(issue));
        let expected = if complete { Completion::Complete } else { Completion::Pending };
        assert_eq!(self.sim.query(what), Ok(expected));
        if complete {
            self.host.add(&set);
        }
    }

    fn synchronise(&mut self) {
        let Some((what, set)) = self.target() else { return };
        self.sim.synchronise(what).unwrap();
        // What ran is exactly what the target stands on.
        self.ran.add(&set);
        self.host.add(&set);
        let queued = (1..self.before.len() as u64).filter(|&issue| !self.ran.has(issue)).count();
        assert_eq!(self.sim.queued(), queued);
    }

    fn step(&mut self) {
        for _ in 0..self.random.below(6) {
            match self.sim.step() {
                Some(ran) => self.ran(ran),
                None => assert_eq!(self.sim.queued(), 0, "something can always run"),
            }
        }
    }

    fn complete_some(&mut self) {
        let issued = self.before.len() as u64;
        let limit = issued - self.random.below(issued.min(20));
        self.sim.complete_issued_before(Issue(limit));
        for issue in 1..limit {
            self.ran.put(issue);
        }
        let queued = (1..issued).filter(|&issue| !self.ran.has(issue)).count();
        assert_eq!(self.sim.queued(), queued);
    }

    fn remap(&mut self) {
        let page = self.random.below(PAGES) as usize;
        let at = DevicePtr(self.base.0 + page as u64 * G);
        let Some(granule) = self.pages[page] else {
            let index = self.random.below(self.spare.len() as u64) as usize;
            let granule = self.spare.swap_remove(index);
            self.sim.map(D0, at, granule, None).unwrap();
            self.pages[page] = Some(granule);
            return;
        };
        let mut uses = self.touched.iter().filter(|old| old.granule == granule);
        match (uses.all(|old| self.host.has(old.issue)), self.sim.unmap(D0, at, None)) {
            (true, Ok(())) => {
                self.pages[page] = None;
                self.spare.push(granule);
            }
            (false, Err(_)) => self.refused_unmaps += 1,
            (known, result) => panic!("model: {known}, simulation: {result:?}"),
        }
    }

    fn go(&mut self, calls: u32) {
        for _ in 0..calls {
            if self.before.len() + 1 >= OPS {
                break;
            }
            match self.random.below(40) {
                0 | 1 => self.create(),
                2 => self.destroy(),
                3..=15 => self.access(),
                16..=20 => self.lay(),
                21..=26 => self.wait(),
                27 | 28 => self.work(),
                29..=31 => self.query(),
                32 => self.synchronise(),
                33..=36 => self.step(),
                37 => self.complete_some(),
                _ => self.remap(),
            }
        }
    }
}

#[test]
fn the_simulation_agrees_with_the_model() {
    let (mut races, mut accesses, mut refused) = (0, 0, 0);
    for seed in 1..=250 {
        let mut heap = sim_support::heap(Sizes { streams: 12, markers: MARKERS, ops: OPS, ..Sizes::default() });
        let device = weir::sim::DeviceConfig::new(Bytes::mib(64));
        let sim = Sim::new(heap.lend(), &[device, device], seed).unwrap();
        let mut model = Model::new(sim, seed);
        model.go(600);
        while let Some(ran) = model.sim.step() {
            model.ran(ran);
        }
        assert_eq!((model.sim.queued(), model.sim.unchecked(), model.sim.squeezed()), (0, 0, 0));
        if let Some(wrong @ Violation::WrongContent { .. }) = model.sim.violation() {
            panic!("seed {seed}: {wrong}");
        }
        races += model.races;
        refused += model.refused_unmaps;
        accesses += model.touched.len() as u32;
    }
    // The programs are neither all wrong nor all right.
    assert!(races > 1_000 && accesses > 10_000 && refused > 500, "{races} {accesses} {refused}");
}

/// Blocks that wander over streams in a serial order; each hand-over has a marker and a wait, apart from the one that
/// is left out. Waits along other ways are avoided, so that it is missed.
fn relay(seed: u64, skip: Option<u64>) -> (Option<Violation>, u64, u64) {
    let sim = sim_of(Sizes { markers: 256, ..Sizes::default() }, seed);
    let (base, _) = sim_support::mapped(&sim, 2);
    let mut random = Random::new(99);
    let mut hand_overs = 0;
    for block in 0..6 {
        let at = DevicePtr(base.0 + block * 300_000);
        let bytes = Bytes(4096 + block * 512);
        // Every block has streams of its own, so that no other block's waits order this one by the way.
        let mine: [NativeStream; 2] = sim_support::streams(&sim);
        let mut holder = 0;
        let mut tag = None;
        for _ in 0..12 {
            if let Some(tag) = tag {
                let _ = sim.access_read_expect(mine[holder], at, bytes, tag);
            }
            tag = Some(random.next());
            let _ = sim.access_write_tag(mine[holder], at, bytes, tag.unwrap());
            let marker = MarkerSlot(hand_overs as u32);
            sim.lay(marker, mine[holder]).unwrap();
            holder = 1 - holder;
            if skip != Some(hand_overs) {
                sim.wait(mine[holder], marker).unwrap();
            }
            hand_overs += 1;
            sim.complete_issued_before(Issue(sim.issued().0.saturating_sub(seed % 9)));
        }
        sim.access_read_expect(mine[holder], at, bytes, tag.unwrap()).ok();
        sim.synchronise(Target::Device(D0)).unwrap();
        for stream in mine {
            sim.destroy_stream(stream).unwrap();
        }
    }
    (sim.violation(), hand_overs, sim.digest())
}

#[test]
fn a_serial_order_raises_no_alarm_and_a_missing_wait_always_does() {
    let (_, hand_overs, _) = relay(0, None);
    for seed in 0..20 {
        let (violation, _, digest) = relay(seed, None);
        assert_eq!(violation, None, "seed {seed}");
        assert_eq!(relay(seed, None).2, digest, "seed {seed}");
        for skip in 0..hand_overs {
            let (violation, ..) = relay(seed, Some(skip));
            assert!(matches!(violation, Some(Violation::Race { .. })), "seed {seed}, {skip} left out: {violation:?}");
        }
    }
}
