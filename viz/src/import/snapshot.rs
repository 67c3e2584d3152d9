//! PyTorch's memory snapshots: what `torch.cuda.memory._dump_snapshot` writes, and its twins for other devices.
//!
//! The recording is a ring, so blocks may have been live before it begins. Those are found in two ways: by a free of what
//! the recording never allocated, and in the segments, which are complete at the moment of the snapshot.

use super::held::Held;
use super::pickle::{Id, Limits, Pickle, Value, salvage};
use super::recording::{Happening, NO_POOL, Recording, What};
use super::row::{ImportError, Spot, StreamKey};
use crate::model::{Fact, Unrecorded};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What entries say beside in snapshots of weir's own: which record it is and of which pool, what the block takes, and
/// whether it ends with its pool. Segments say the second.
pub(crate) const BESIDE: [&str; 4] = ["record", "pool", "given", "with_pool"];

/// Where a snapshot of weir's own says which part of a log it is.
pub(crate) const PART: &str = "part_of_log";

/// One device's part of a snapshot.
pub(super) struct Snapshot {
    pub(super) happenings: Vec<Happening>,
    /// What a reader should know beside.
    pub(super) notes: Vec<String>,
}

/// A block that was live before the recording.
struct Seed {
    asked: u64,
    given: Option<u64>,
    stream: u64,
}

/// The lists that a snapshot consists of.
struct Lists<'p> {
    entries: Vec<&'p [Id]>,
    segments: BTreeMap<usize, Vec<Id>>,
}

impl<'p> Lists<'p> {
    fn of(pickle: &'p Pickle<'_>) -> Result<Self, ImportError> {
        let (segments, traces) = (list(pickle, "segments")?, list(pickle, "device_traces")?);
        let entries = traces.iter().map(|trace| pickle.elements(*trace).unwrap_or_default()).collect();
        Ok(Self { entries, segments: by_device(pickle, segments)? })
    }

    /// The lists of a file that is cut: those that are there.
    fn of_part(pickle: &'p Pickle<'_>) -> Result<Self, ImportError> {
        let traces = list(pickle, "device_traces").unwrap_or_default();
        let entries = traces.iter().map(|trace| pickle.elements(*trace).unwrap_or_default()).collect();
        Ok(Self { entries, segments: by_device(pickle, list(pickle, "segments").unwrap_or_default())? })
    }

    fn part<'a>(&self, pickle: &'p Pickle<'a>, device: usize) -> Part<'p, 'a> {
        let number = u32::try_from(device).unwrap_or(u32::MAX);
        let (happenings, seeds, seen) = (Vec::new(), BTreeMap::new(), HashSet::new());
        let blank = self.segments.get(&device).into_iter().flatten();
        let segments = blank.filter_map(|segment| {
            let number = |key| number_of(pickle, *segment, key, Spot::Before).ok();
            Some((pool(pickle, *segment), (number("address")?, number("total_size")?)))
        });
        Part { pickle, device: number, happenings, seeds, seen, segments: segments.collect(), pools: BTreeSet::new() }
    }

    fn devices(&self) -> impl Iterator<Item = usize> {
        let mut all: Vec<usize> = self.segments.keys().copied().collect();
        all.extend((0..self.entries.len()).filter(|device| self.entries.get(*device).is_some_and(|e| !e.is_empty())));
        all.sort_unstable();
        all.dedup();
        all.into_iter()
    }
}

fn list<'p>(pickle: &'p Pickle<'_>, key: &'static str) -> Result<&'p [Id], ImportError> {
    let found = pickle.field(pickle.root(), key);
    let elements = found.and_then(|list| pickle.elements(list));
    elements.ok_or_else(|| {
        let found = found.map_or(pickle.value(pickle.root()).kind(), |found| pickle.value(found).kind());
        let expected = "a dict with the lists segments and device_traces".to_owned();
        ImportError { at: Spot::File, column: Some(key), found: found.to_owned(), expected }
    })
}

/// Reads the part of a device; where none is named, of the one that did most.
pub(super) fn read(pickle: &Pickle<'_>, wanted: Option<usize>) -> Result<Snapshot, ImportError> {
    let lists = Lists::of(pickle)?;
    let device = choose(&lists.entries, &lists.segments, wanted)?;
    let mut part = lists.part(pickle, device);
    for (number, entry) in lists.entries.get(device).copied().unwrap_or_default().iter().enumerate() {
        part.entry(*entry, Spot::Entry(number as u64))?;
    }
    for segment in lists.segments.get(&device).into_iter().flatten() {
        part.segment(*segment)?;
    }
    Ok(Snapshot { notes: notes(&part, &lists.entries, device), happenings: part.finish() })
}

/// What a snapshot recorded, of all devices. Of a file that is cut or damaged what stands before that.
pub(super) fn record(bytes: &[u8]) -> Result<Recording, ImportError> {
    let unrecorded = Unrecorded::of(&[Fact::Source, Fact::Order, Fact::Rounding, Fact::Limit]);
    let mut recording = Recording::new("a memory snapshot of PyTorch", unrecorded);
    let (pickle, cut) = salvage(bytes, Limits::DEFAULT)?;
    let lists = match &cut {
        None => Lists::of(&pickle)?,
        Some(cut) => {
            recording.damage(cut);
            Lists::of_part(&pickle)?
        }
    };
    if let Some(Value::Text(part)) = pickle.field(pickle.root(), PART).map(|part| pickle.value(part)) {
        recording.part = String::from_utf8_lossy(part).into_owned();
    }
    for device in lists.devices() {
        let mut part = lists.part(&pickle, device);
        for (number, entry) in lists.entries.get(device).copied().unwrap_or_default().iter().enumerate() {
            if let Err(error) = part.entry(*entry, Spot::Entry(number as u64)) {
                recording.damage(format!("device {device}, {error}"));
            }
        }
        for segment in lists.segments.get(&device).into_iter().flatten() {
            if let Err(error) = part.segment(*segment) {
                recording.damage(format!("device {device}, {error}"));
            }
        }
        if !part.seeds.is_empty() {
            let count = part.seeds.len();
            recording.notes.push(format!("device {device}: {count} blocks were live before the recording began"));
        }
        for pool in &part.pools {
            recording.place(Some(*pool), Some(part.device));
        }
        recording.happenings.extend(part.finish());
    }
    if let (Some(cut), true) = (cut, recording.happenings.is_empty()) {
        return Err(cut);
    }
    if recording.happenings.iter().all(|happening| happening.time.is_none()) {
        recording.unrecorded = recording.unrecorded.and(Fact::Times);
    }
    if !recording.happenings.iter().any(|happening| matches!(happening.what, What::Map { .. })) {
        recording.unrecorded = recording.unrecorded.and(Fact::Reserved);
    }
    in_time(&mut recording.happenings);
    Ok(recording)
}

/// Brings the devices' events together by their records' numbers, where all have one, else by their times. A device's own
/// stay in their order, whatever its clock says; those without a time go with the next that has one.
fn in_time(happenings: &mut [Happening]) {
    let number = |happening: &Happening| match happening.at {
        Spot::Before => Some(0),
        Spot::Record(number) => Some(number.saturating_add(1)),
        _ => None,
    };
    if happenings.iter().all(|happening| number(happening).is_some()) {
        return happenings.sort_by_key(number);
    }
    let mut next: HashMap<u32, u64> = HashMap::new();
    for happening in happenings.iter_mut().rev() {
        match happening.time {
            Some(time) => drop(next.insert(happening.device, time)),
            None => happening.time = next.get(&happening.device).copied(),
        }
    }
    let mut last: HashMap<u32, u64> = HashMap::new();
    happenings.sort_by_cached_key(|happening| {
        let last = last.entry(happening.device).or_default();
        *last = happening.time.unwrap_or(*last).max(*last);
        *last
    });
}

fn by_device(pickle: &Pickle<'_>, segments: &[Id]) -> Result<BTreeMap<usize, Vec<Id>>, ImportError> {
    let mut devices: BTreeMap<usize, Vec<Id>> = BTreeMap::new();
    for (number, segment) in segments.iter().enumerate() {
        let device = match pickle.field(*segment, "device") {
            // Files of one device leave it out.
            None => 0,
            Some(_) => number_of(pickle, *segment, "device", Spot::Entry(number as u64))?,
        };
        devices.entry(usize::try_from(device).unwrap_or(usize::MAX)).or_default().push(*segment);
    }
    Ok(devices)
}

fn choose(entries: &[&[Id]], segments: &BTreeMap<usize, Vec<Id>>, wanted: Option<usize>) -> Result<usize, ImportError> {
    let weight = |device: usize| {
        let rows = entries.get(device).map_or(0, |entries| entries.len());
        (rows, segments.get(&device).map_or(0, Vec::len))
    };
    let count = entries.len().max(segments.keys().last().map_or(0, |last| last.saturating_add(1)));
    let known = || segments.keys().copied().chain(0..entries.len());
    match wanted {
        None => Ok(known().max_by_key(|device| (weight(*device), std::cmp::Reverse(*device))).unwrap_or(0)),
        Some(device) if weight(device) != (0, 0) => Ok(device),
        Some(device) => Err(ImportError {
            at: Spot::File,
            column: None,
            found: format!("nothing of device {device}"),
            expected: format!("one of the {count} devices of the snapshot, counted from 0"),
        }),
    }
}

fn notes(part: &Part<'_, '_>, entries: &[&[Id]], device: usize) -> Vec<String> {
    let others = entries.iter().enumerate().filter(|(other, entries)| *other != device && !entries.is_empty());
    let mut notes: Vec<String> = others
        .map(|(other, entries)| {
            format!("this is device {device}; device {other} has {} entries: --device {other}", entries.len())
        })
        .collect();
    if !part.seeds.is_empty() {
        notes.push(format!("{} blocks were live before the recording began", part.seeds.len()));
    }
    notes
}

/// The entries and segments of one device on their way to what happened.
struct Part<'p, 'a> {
    pickle: &'p Pickle<'a>,
    device: u32,
    happenings: Vec<Happening>,
    /// By pool and address.
    seeds: BTreeMap<(Option<u32>, u64), Seed>,
    /// Addresses that the recording tells of.
    seen: HashSet<(Option<u32>, u64)>,
    /// Segments at the moment of the snapshot: pool, address and size.
    segments: Vec<(Option<u32>, (u64, u64))>,
    /// Those that entries and segments name.
    pools: BTreeSet<u32>,
}

/// The pool that an entry or a segment names.
fn pool(pickle: &Pickle<'_>, dict: Id) -> Option<u32> {
    let number = number_of(pickle, dict, BESIDE[1], Spot::File).ok()?;
    u32::try_from(number).ok().filter(|number| *number < NO_POOL)
}

impl Part<'_, '_> {
    fn entry(&mut self, entry: Id, at: Spot) -> Result<(), ImportError> {
        let action = self.pickle.field(entry, "action").map(|action| self.pickle.value(action));
        let Some(Value::Text(action)) = action else {
            let found = action.map_or("nothing", Value::kind).to_owned();
            let expected = "the name of an action, such as alloc".to_owned();
            return Err(ImportError { at, column: Some("action"), found, expected });
        };
        let (pickle, action) = (self.pickle, *action);
        let pool = pool(pickle, entry);
        self.pools.extend(pool);
        let at = number_of(pickle, entry, BESIDE[0], at).map_or(at, Spot::Record);
        let number = |key| number_of(pickle, entry, key, at);
        match action {
            b"alloc" => {
                let (address, asked) = (number("addr")?, number("size")?);
                self.seen.insert((pool, address));
                let given = number(BESIDE[2]).ok();
                let what = What::Allocate { block: address, address: Some(address), asked, given, label: None };
                self.push(entry, at, what)
            }
            // Only when other streams are done with it too it can be used again.
            b"free_requested" => self.freed(entry, at),
            b"free_completed" | b"free" => {
                let (block, size) = (number("addr")?, number("size")?);
                self.freed(entry, at)?;
                let with_pool = pickle.field(entry, BESIDE[3]).map(|truth| pickle.value(truth));
                if matches!(with_pool, Some(Value::Bool(true))) {
                    self.push(entry, at, What::PoolEnds)?;
                }
                self.push(entry, at, What::Free { block, size: Some(size) })
            }
            b"oom" => self.push(entry, at, What::Refused { bytes: number("size").unwrap_or(0) }),
            b"segment_alloc" | b"segment_map" => {
                let what = What::Map { address: number("addr")?, bytes: number("size")? };
                self.push(entry, at, what)
            }
            b"segment_free" | b"segment_unmap" => {
                let what = What::Unmap { address: number("addr")?, bytes: number("size")? };
                self.push(entry, at, what)
            }
            // Remarks.
            _ => Ok(()),
        }
    }

    fn push(&mut self, entry: Id, at: Spot, what: What) -> Result<(), ImportError> {
        let of_stream = matches!(what, What::Allocate { .. } | What::Free { .. });
        let stream = match number_of(self.pickle, entry, "stream", at) {
            Ok(stream) => stream,
            Err(error) if of_stream => return Err(error),
            Err(_) => 0,
        };
        let micros = number_of(self.pickle, entry, "time_us", at).ok();
        let (time, stream) = (micros.map(|micros| micros.saturating_mul(1000)), StreamKey::One(stream));
        let device = pool(self.pickle, entry).unwrap_or(self.device);
        self.happenings.push(Happening { at, time, device, stream, what });
        Ok(())
    }

    fn freed(&mut self, entry: Id, at: Spot) -> Result<(), ImportError> {
        let number = |key| number_of(self.pickle, entry, key, at);
        let place = (pool(self.pickle, entry), number("addr")?);
        let (asked, given, stream) = (number("size")?, number(BESIDE[2]).ok(), number("stream")?);
        if self.seen.insert(place) {
            self.seeds.insert(place, Seed { asked, given, stream });
        }
        Ok(())
    }

    fn segment(&mut self, segment: Id) -> Result<(), ImportError> {
        let at = Spot::Before;
        let number = |dict, key| number_of(self.pickle, dict, key, at);
        let (mut next, stream) = (number(segment, "address")?, number(segment, "stream")?);
        let pool = pool(self.pickle, segment);
        self.pools.extend(pool);
        let blocks = self.pickle.field(segment, "blocks").and_then(|blocks| self.pickle.elements(blocks));
        for block in blocks.unwrap_or_default() {
            let size = number(*block, "size")?;
            // Old files leave the address out: blocks follow each other without gaps.
            let address = match self.pickle.field(*block, "address") {
                Some(_) => number(*block, "address")?,
                None => next,
            };
            next = address.saturating_add(size);
            let asked = match self.pickle.field(*block, "requested_size") {
                Some(_) => number(*block, "requested_size")?,
                None => size,
            };
            let state = self.pickle.field(*block, "state").map(|state| self.pickle.value(state));
            let live = matches!(state, Some(Value::Text(state)) if state.starts_with(b"active"));
            if live && !self.seen.contains(&(pool, address)) {
                self.seeds.insert((pool, address), Seed { asked, given: Some(size), stream });
            }
        }
        Ok(())
    }

    /// What was mapped and live before, a mark, and what the recording tells.
    fn finish(self) -> Vec<Happening> {
        let told_apart = if self.pools.is_empty() { 0 } else { NO_POOL };
        let place = |pool: Option<u32>| pool.unwrap_or(told_apart | self.device);
        let before = |pool, stream, what| Happening { at: Spot::Before, time: None, device: place(pool), stream, what };
        let none = StreamKey::One(0);
        let mut all = Vec::new();
        let pools = self.segments.iter().map(|(pool, _)| *pool);
        let pools: BTreeSet<_> =
            pools.chain(self.pools.iter().copied().map(Some)).chain(self.pools.is_empty().then_some(None)).collect();
        for pool in pools {
            let last: Vec<_> =
                self.segments.iter().filter(|(of, _)| *of == pool).map(|(_, segment)| *segment).collect();
            let held = Held::before(&last, self.happenings.iter().filter(|happening| happening.device == place(pool)));
            all.extend(held.into_iter().map(|(address, bytes)| before(pool, none, What::Map { address, bytes })));
        }
        let live = !self.seeds.is_empty();
        all.extend(self.seeds.into_iter().map(|((pool, address), Seed { asked, given, stream })| {
            let what = What::Allocate { block: address, address: Some(address), asked, given, label: None };
            before(pool, StreamKey::One(stream), what)
        }));
        if live {
            all.push(before(None, none, What::Mark { name: Some("the recording begins".into()) }));
        }
        all.extend(self.happenings);
        all
    }
}

fn number_of(pickle: &Pickle<'_>, dict: Id, key: &'static str, at: Spot) -> Result<u64, ImportError> {
    let value = pickle.field(dict, key).map(|value| pickle.value(value));
    let number = match value {
        Some(Value::Int(number)) => u64::try_from(*number).ok(),
        _ => None,
    };
    number.ok_or_else(|| ImportError {
        at,
        column: Some(key),
        found: match value {
            Some(Value::Int(number)) => number.to_string(),
            Some(value) => value.kind().to_owned(),
            None => "nothing".to_owned(),
        },
        expected: "a number from 0 to 2^64 - 1".to_owned(),
    })
}
