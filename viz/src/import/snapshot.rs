//! PyTorch's memory snapshots: what `torch.cuda.memory._dump_snapshot` writes, and its twins for other devices.
//!
//! The recording is a ring, so blocks may have been live before it begins. Those are found in two ways: by a free of what
//! the recording never allocated, and in the segments, which are complete at the moment of the snapshot.

use super::pickle::{Id, Pickle, Value};
use super::row::{Action, ImportError, Row, Spot, StreamKey};
use std::collections::{BTreeMap, HashSet};

/// One device's part of a snapshot.
pub(super) struct Snapshot {
    pub(super) rows: Vec<Row>,
    /// What a reader should know beside.
    pub(super) notes: Vec<String>,
}

/// A block that was live before the recording.
struct Seed {
    bytes: u64,
    stream: u64,
}

/// Reads the part of a device; where none is named, of the one that did most.
pub(super) fn read(pickle: &Pickle<'_>, wanted: Option<usize>) -> Result<Snapshot, ImportError> {
    let list = |key: &'static str| {
        let found = pickle.field(pickle.root(), key);
        let elements = found.and_then(|list| pickle.elements(list));
        elements.ok_or_else(|| {
            let found = found.map_or(pickle.value(pickle.root()).kind(), |found| pickle.value(found).kind());
            let expected = "a dict with the lists segments and device_traces".to_owned();
            ImportError { at: Spot::File, column: Some(key), found: found.to_owned(), expected }
        })
    };
    let (segments, traces) = (list("segments")?, list("device_traces")?);
    let entries = traces.iter().map(|trace| pickle.elements(*trace).unwrap_or_default()).collect::<Vec<_>>();
    let segments = by_device(pickle, segments)?;
    let device = choose(&entries, &segments, wanted)?;
    let mut part = Part { pickle, rows: Vec::new(), seeds: BTreeMap::new(), seen: HashSet::new() };
    for (number, entry) in entries.get(device).copied().unwrap_or_default().iter().enumerate() {
        part.entry(*entry, Spot::Entry(number as u64))?;
    }
    for segment in segments.get(&device).into_iter().flatten() {
        part.segment(*segment)?;
    }
    Ok(Snapshot { notes: notes(&part, &entries, device), rows: part.finish() })
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

/// The entries and segments of one device on their way to rows.
struct Part<'p, 'a> {
    pickle: &'p Pickle<'a>,
    rows: Vec<Row>,
    /// By address.
    seeds: BTreeMap<u64, Seed>,
    /// Addresses that the recording tells of.
    seen: HashSet<u64>,
}

impl Part<'_, '_> {
    fn entry(&mut self, entry: Id, at: Spot) -> Result<(), ImportError> {
        let action = self.pickle.field(entry, "action").map(|action| self.pickle.value(action));
        let Some(Value::Text(action)) = action else {
            let found = action.map_or("nothing", Value::kind).to_owned();
            let expected = "the name of an action, such as alloc".to_owned();
            return Err(ImportError { at, column: Some("action"), found, expected });
        };
        match *action {
            b"alloc" => {
                let row = self.row(entry, at, Action::Allocate)?;
                self.seen.insert(row.pointer);
                self.rows.push(row);
            }
            // Only when other streams are done with it too it can be used again.
            b"free_requested" => {
                let row = self.row(entry, at, Action::Free)?;
                self.freed(&row);
            }
            b"free_completed" | b"free" => {
                let row = self.row(entry, at, Action::Free)?;
                self.freed(&row);
                self.rows.push(row);
            }
            b"oom" => self.rows.push(Row {
                at,
                action: Action::AllocateFailure,
                pointer: 0,
                size: Some(0),
                stream: StreamKey::One(0),
                name: None,
            }),
            // What the allocator itself got and gave back, and remarks.
            _ => {}
        }
        Ok(())
    }

    fn row(&self, entry: Id, at: Spot, action: Action) -> Result<Row, ImportError> {
        let number = |key| number_of(self.pickle, entry, key, at);
        let (pointer, size, stream) = (number("addr")?, number("size")?, number("stream")?);
        Ok(Row { at, action, pointer, size: Some(size), stream: StreamKey::One(stream), name: None })
    }

    fn freed(&mut self, row: &Row) {
        if let (true, StreamKey::One(stream)) = (self.seen.insert(row.pointer), row.stream) {
            self.seeds.insert(row.pointer, Seed { bytes: row.size.unwrap_or(0), stream });
        }
    }

    fn segment(&mut self, segment: Id) -> Result<(), ImportError> {
        let at = Spot::Before;
        let number = |dict, key| number_of(self.pickle, dict, key, at);
        let (mut next, stream) = (number(segment, "address")?, number(segment, "stream")?);
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
            if live && !self.seen.contains(&address) {
                self.seeds.insert(address, Seed { bytes: asked, stream });
            }
        }
        Ok(())
    }

    /// What was live before, a mark, and what the recording tells.
    fn finish(self) -> Vec<Row> {
        let seeds = self.seeds.into_iter().map(|(pointer, Seed { bytes, stream })| Row {
            at: Spot::Before,
            action: Action::Allocate,
            pointer,
            size: Some(bytes),
            stream: StreamKey::One(stream),
            name: None,
        });
        let mut rows: Vec<Row> = seeds.collect();
        if !rows.is_empty() {
            rows.push(Row {
                at: Spot::Before,
                action: Action::Mark,
                pointer: 0,
                size: None,
                stream: StreamKey::One(0),
                name: Some("the recording begins".into()),
            });
        }
        rows.extend(self.rows);
        rows
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
