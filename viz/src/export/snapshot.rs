//! PyTorch's memory snapshot: `segments` as they are at the log's end, and `device_traces`, what happened on each device.

use super::ordered::{ordered, ranges};
use super::pickle::Pickle;
use super::{base, device, pools_by_id, refused};
use crate::import::{SNAPSHOT_BESIDE, SNAPSHOT_PART};
use crate::model::{EventIx, Fact, Life, LifeIx, Model, Payload, PoolIx};
use std::collections::BTreeSet;
use std::io::{Result, Write};
use std::ops::Range;
use weir::id::{PoolId, StreamId};
use weir::trace::Record;
use weir::units::Bytes;

const MASK: u64 = u64::MAX >> 32;
/// Records that are written at once.
const PIECE: usize = 1 << 12;

/// An entry of a device's trace.
struct Entry {
    action: &'static str,
    address: u64,
    bytes: u64,
    stream: u64,
    micros: u64,
    label: Option<crate::model::NameIx>,
    /// The record's number, from 0: devices have lists of their own, and times are coarse.
    record: EventIx,
    pool: PoolIx,
    /// What the block takes, where that is more than was asked for.
    given: Option<u64>,
    with_pool: bool,
}

/// A run of mapped addresses at the log's end, with the live blocks in it.
struct Segment {
    pool: PoolIx,
    start: u64,
    end: u64,
    blocks: Vec<LifeIx>,
}

pub(super) fn write(model: &Model, part: &str, out: &mut impl Write) -> Result<()> {
    let mut pickle = Pickle::begin(out)?;
    pickle.open_dict()?;
    if !part.is_empty() {
        pickle.entry(SNAPSHOT_PART, part)?;
    }
    pickle.text("segments")?;
    pickle.open_list()?;
    for segment in segments(model) {
        write_segment(model, &segment, &mut pickle)?;
    }
    pickle.close_list()?;
    pickle.text("device_traces")?;
    pickle.open_list()?;
    let traces = Traces { model, pools: pools_by_id(model), ended: model.ended_with() };
    for device in 0..devices(model) {
        pickle.open_list()?;
        let pieces = ranges(model.events.len(), PIECE);
        ordered(pieces, |piece| traces.piece(device, piece), |piece| pickle.written(&piece?))?;
        pickle.close_list()?;
    }
    pickle.close_list()?;
    pickle.text("allocator_settings")?;
    pickle.open_dict()?;
    pickle.entry("PYTORCH_CUDA_ALLOC_CONF", "")?;
    pickle.close_dict()?;
    pickle.text("external_annotations")?;
    pickle.open_list()?;
    pickle.close_list()?;
    pickle.close_dict()?;
    pickle.end()
}

fn segments(model: &Model) -> Vec<Segment> {
    let mut all = Vec::new();
    for (at, pool) in model.pools.iter().enumerate() {
        let at = PoolIx::next_of(at);
        let mut live: Vec<(u64, LifeIx)> = pool
            .lives
            .iter()
            .filter(|life| model.life(**life).died().is_none())
            .map(|life| (model.life(*life).offset.0, *life))
            .collect();
        live.sort_unstable();
        // Where blocks lie nowhere, what holds each is a segment of its own: nothing is between them.
        let mut runs: Vec<(u64, u64)> = match model.unrecorded.has(Fact::Addresses) {
            true => live.iter().map(|(_, life)| (model.life(*life).offset.0, model.life(*life).end())).collect(),
            false => pool.runs.iter().filter(|run| run.unmapped.is_none()).map(|run| (run.start, run.end)).collect(),
        };
        runs.sort_unstable();
        let mut live = live.into_iter().peekable();
        let mut segments: Vec<Segment> = Vec::new();
        for (start, end) in runs {
            match segments.last_mut() {
                // Blocks may lie across two runs that touch.
                Some(last) if last.end >= start && !model.unrecorded.has(Fact::Addresses) => {
                    last.end = last.end.max(end)
                }
                _ => segments.push(Segment { pool: at, start, end, blocks: Vec::new() }),
            }
        }
        for segment in &mut segments {
            while let Some((_, life)) = live.next_if(|(offset, _)| *offset < segment.end) {
                // What a damaged log shows outside of all mappings is in no segment.
                if model.life(life).offset.0 >= segment.start {
                    segment.blocks.push(life);
                }
            }
        }
        all.extend(segments);
    }
    all
}

fn write_segment<W: Write>(model: &Model, segment: &Segment, pickle: &mut Pickle<'_, W>) -> Result<()> {
    let base = base(model, segment.pool);
    let lives = || segment.blocks.iter().map(|life| model.life(*life));
    let given: u64 = lives().map(|life| life.given.0).sum();
    let asked: u64 = lives().map(|life| life.asked().unwrap_or(life.given).0).sum();
    pickle.open_dict()?;
    pickle.count("device", device(model, segment.pool).into())?;
    pickle.count("address", base.wrapping_add(segment.start))?;
    pickle.count("total_size", segment.end - segment.start)?;
    pickle.count("allocated_size", given)?;
    pickle.count("active_size", given)?;
    pickle.count("requested_size", asked)?;
    let first = lives().next().map_or(0, |life| stream(model, life));
    pickle.count("stream", first)?;
    pickle.entry("segment_type", "large")?;
    pickle.text("segment_pool_id")?;
    pickle.number(0)?;
    pickle.number(segment.pool.0.into())?;
    pickle.pair()?;
    pickle.count(SNAPSHOT_BESIDE[1], segment.pool.0.into())?;
    pickle.text("is_expandable")?;
    pickle.truth(true)?;
    pickle.text("frames")?;
    frames("", pickle)?;
    pickle.text("blocks")?;
    pickle.open_list()?;
    let mut at = segment.start;
    for life in segment.blocks.iter().map(|life| model.life(*life)) {
        block(model, base, (at, life.offset.0), None, pickle)?;
        // Blocks follow each other there; one that overlaps in a damaged log is cut.
        let start = life.offset.0.max(at);
        let end = life.end().min(segment.end).max(start);
        block(model, base, (start, end), Some(life), pickle)?;
        at = end;
    }
    block(model, base, (at, segment.end), None, pickle)?;
    pickle.close_list()?;
    pickle.close_dict()
}

fn block<W: Write>(
    model: &Model,
    base: u64,
    (start, end): (u64, u64),
    life: Option<&Life>,
    pickle: &mut Pickle<'_, W>,
) -> Result<()> {
    if start >= end {
        return Ok(());
    }
    let asked = life.map_or(0, |life| life.asked().unwrap_or(life.given).0);
    pickle.open_dict()?;
    pickle.count("address", base.wrapping_add(start))?;
    pickle.count("size", end - start)?;
    pickle.count("requested_size", asked)?;
    pickle.entry("state", if life.is_some() { "active_allocated" } else { "inactive" })?;
    pickle.text("frames")?;
    frames(life.map_or("", |life| model.name(life.name)), pickle)?;
    pickle.close_dict()
}

/// A label stands where PyTorch has the call that allocates.
fn frames<W: Write>(label: &str, pickle: &mut Pickle<'_, W>) -> Result<()> {
    pickle.open_list()?;
    if !label.is_empty() {
        pickle.open_dict()?;
        pickle.entry("filename", "label")?;
        pickle.count("line", 0)?;
        pickle.entry("name", label)?;
        pickle.close_dict()?;
    }
    pickle.close_list()
}

fn write_entry<W: Write>(model: &Model, entry: &Entry, pickle: &mut Pickle<'_, W>) -> Result<()> {
    pickle.open_dict()?;
    pickle.entry("action", entry.action)?;
    pickle.count(if entry.action == "oom" { "device_free" } else { "addr" }, entry.address)?;
    pickle.count("size", entry.bytes)?;
    pickle.count("stream", entry.stream)?;
    if !model.unrecorded.has(Fact::Times) {
        pickle.count("time_us", entry.micros)?;
    }
    let [record, pool, given, with_pool] = SNAPSHOT_BESIDE;
    pickle.count(record, entry.record.0.into())?;
    pickle.count(pool, entry.pool.0.into())?;
    if let Some(bytes) = entry.given {
        pickle.count(given, bytes)?;
    }
    if entry.with_pool {
        pickle.text(with_pool)?;
        pickle.truth(true)?;
    }
    pickle.text("frames")?;
    frames(entry.label.map_or("", |label| model.name(label)), pickle)?;
    pickle.close_dict()
}

fn stream(model: &Model, life: &Life) -> u64 {
    model.stream(life.stream).id.raw() & MASK
}

/// Devices from 0 on that have a list of their own. A hostile log may name any device; PyTorch counts them from 0.
fn devices(model: &Model) -> u32 {
    let pools = (0..model.pools.len()).map(PoolIx::next_of);
    let devices: BTreeSet<u32> = pools.map(|pool| device(model, pool)).collect();
    let most = weir::id::MAX_DEVICES.max(devices.len()) as u32;
    devices.last().map_or(0, |last| last.saturating_add(1)).min(most)
}

/// What is told of the devices.
struct Traces<'m> {
    model: &'m Model,
    pools: foldhash::HashMap<PoolId, PoolIx>,
    ended: foldhash::HashMap<EventIx, Vec<LifeIx>>,
}

impl Traces<'_> {
    /// What these records tell of a device.
    fn piece(&self, of: u32, events: Range<usize>) -> Result<Vec<u8>> {
        let (model, mut out) = (self.model, Vec::new());
        let mut pickle = Pickle::amid(&mut out);
        for record in events.map(EventIx::next_of) {
            let telling = Telling { model, pools: &self.pools, record, micros: model.events.time(record) / 1000 };
            for life in self.ended.get(&record).into_iter().flatten().map(|life| model.life(*life)) {
                let entries = telling.free(life, model.stream(life.stream).id);
                let entries = entries.map(|entry| Entry { with_pool: true, ..entry });
                put(model, of, &entries, &mut pickle)?;
            }
            let life = match model.events.payload(record) {
                Payload::Life(life) => Some(model.life(life)),
                Payload::Other(_) => None,
            };
            put(model, of, &telling.entries(&model.record(record).record, life), &mut pickle)?;
        }
        Ok(out)
    }
}

/// Entries about one pool, where that is the device's.
fn put<W: Write>(model: &Model, of: u32, entries: &[Entry], pickle: &mut Pickle<'_, W>) -> Result<()> {
    let mut of_device = entries.iter().filter(|entry| device(model, entry.pool) == of);
    of_device.try_for_each(|entry| write_entry(model, entry, pickle))
}

/// A record on its way to entries.
struct Telling<'m> {
    model: &'m Model,
    pools: &'m foldhash::HashMap<PoolId, PoolIx>,
    record: EventIx,
    micros: u64,
}

impl Telling<'_> {
    fn entries(&self, record: &Record<'_>, life: Option<&Life>) -> Vec<Entry> {
        match (*record, life) {
            (Record::Malloc { stream, .. }, Some(life)) => vec![self.block("alloc", life, stream)],
            (Record::Free { stream, .. }, Some(life)) => self.free(life, stream).into(),
            (
                Record::Mapped { pool, offset, granules, .. } | Record::MappedInOrder { pool, offset, granules, .. },
                _,
            ) => self.granules("segment_map", pool, offset, granules),
            (
                Record::Unmapped { pool, offset, granules, .. }
                | Record::UnmappedInOrder { pool, offset, granules, .. },
                _,
            ) => self.granules("segment_unmap", pool, offset, granules),
            (record, _) => self.failure(&record).into_iter().collect(),
        }
    }

    fn entry(&self, action: &'static str, pool: PoolIx, address: u64, bytes: u64) -> Entry {
        let (record, micros) = (self.record, self.micros);
        Entry { action, address, bytes, stream: 0, micros, label: None, record, pool, given: None, with_pool: false }
    }

    fn block(&self, action: &'static str, life: &Life, stream: StreamId) -> Entry {
        let (address, asked) = (base(self.model, life.pool).wrapping_add(life.offset.0), life.asked());
        let entry = self.entry(action, life.pool, address, asked.unwrap_or(life.given).0);
        let given = asked.filter(|asked| *asked != life.given).map(|_| life.given.0);
        Entry { stream: stream.raw() & MASK, label: Some(life.name), given, ..entry }
    }

    /// A free is complete at once: the pool knows what else uses the block.
    fn free(&self, life: &Life, stream: StreamId) -> [Entry; 2] {
        ["free_requested", "free_completed"].map(|action| self.block(action, life, stream))
    }

    fn granules(&self, action: &'static str, pool: PoolId, offset: Bytes, granules: u32) -> Vec<Entry> {
        let Some(&pool) = self.pools.get(&pool) else { return Vec::new() };
        let bytes = u64::from(granules).saturating_mul(self.model.pool(pool).granularity.0);
        vec![self.entry(action, pool, base(self.model, pool).wrapping_add(offset.0), bytes)]
    }

    fn failure(&self, record: &Record<'_>) -> Option<Entry> {
        let (pool, stream, bytes) = refused(record)?;
        let entry = self.entry("oom", *self.pools.get(&pool?)?, 0, bytes);
        Some(Entry { stream: stream.map_or(0, |stream| stream.raw() & MASK), ..entry })
    }
}
