//! PyTorch's memory snapshot: `segments` as they are at the log's end, and `device_traces`, what happened on each device.

use super::pickle::Pickle;
use super::{base, device, pools_by_id, records, refused};
use crate::model::{Fact, Life, LifeIx, Model, Payload, PoolIx};
use std::collections::{BTreeMap, HashMap};
use std::io::{Result, Write};
use weir::trace::Record;
use weir::units::Bytes;

const MASK: u64 = u64::MAX >> 32;

/// An entry of a device's trace.
struct Entry {
    action: &'static str,
    address: u64,
    bytes: u64,
    stream: u64,
    micros: u64,
    label: Option<crate::model::NameIx>,
}

/// A run of mapped addresses at the log's end, with the live blocks in it.
struct Segment {
    pool: PoolIx,
    start: u64,
    end: u64,
    blocks: Vec<LifeIx>,
}

pub(super) fn write(model: &Model, out: &mut impl Write) -> Result<()> {
    let mut pickle = Pickle::begin(out)?;
    pickle.open_dict()?;
    pickle.text("segments")?;
    pickle.open_list()?;
    for segment in segments(model) {
        write_segment(model, &segment, &mut pickle)?;
    }
    pickle.close_list()?;
    pickle.text("device_traces")?;
    pickle.open_list()?;
    for entries in traces(model) {
        pickle.open_list()?;
        for entry in entries {
            write_entry(model, &entry, &mut pickle)?;
        }
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
    pickle.text("frames")?;
    frames(entry.label.map_or("", |label| model.name(label)), pickle)?;
    pickle.close_dict()
}

fn stream(model: &Model, life: &Life) -> u64 {
    model.stream(life.stream).id.raw() & MASK
}

/// The traces, a list for each device from 0 on.
fn traces(model: &Model) -> Vec<Vec<Entry>> {
    let mut devices: BTreeMap<u32, Vec<Entry>> = BTreeMap::new();
    let granules: HashMap<_, _> = model.pools.iter().map(|pool| (pool.id, pool.granularity.0)).collect();
    let pools = pools_by_id(model);
    for (event, stamped) in records(model) {
        let life = match model.events.payload(event) {
            Payload::Life(life) => Some(model.life(life)),
            Payload::Other(_) => None,
        };
        let address = |pool, offset: Bytes| base(model, pool).wrapping_add(offset.0);
        let entry = |action, address, bytes, stream| Entry {
            action,
            address,
            bytes,
            stream,
            micros: stamped.time.0 / 1000,
            label: life.map(|life| life.name),
        };
        let (pool, entries) = match (stamped.record, life) {
            (Record::Malloc { asked, stream, .. }, Some(life)) => {
                let stream = stream.raw() & MASK;
                (life.pool, vec![entry("alloc", address(life.pool, life.offset), asked.0, stream)])
            }
            (Record::Free { stream, .. }, Some(life)) => {
                let (at, bytes) = (address(life.pool, life.offset), life.asked().unwrap_or(life.given).0);
                let of = |action| entry(action, at, bytes, stream.raw() & MASK);
                (life.pool, vec![of("free_requested"), of("free_completed")])
            }
            (
                Record::Mapped { pool, offset, granules: n, .. }
                | Record::MappedInOrder { pool, offset, granules: n, .. },
                _,
            ) => {
                let Some(at) = pools.get(&pool).copied() else { continue };
                (at, vec![entry("segment_map", address(at, offset), u64::from(n) * granules[&pool], 0)])
            }
            (
                Record::Unmapped { pool, offset, granules: n, .. }
                | Record::UnmappedInOrder { pool, offset, granules: n, .. },
                _,
            ) => {
                let Some(at) = pools.get(&pool).copied() else { continue };
                (at, vec![entry("segment_unmap", address(at, offset), u64::from(n) * granules[&pool], 0)])
            }
            (record, _) => {
                let Some((Some(pool), stream, bytes)) = refused(&record) else { continue };
                let Some(at) = pools.get(&pool).copied() else { continue };
                (at, vec![entry("oom", 0, bytes, stream.map_or(0, |stream| stream.raw() & MASK))])
            }
        };
        devices.entry(device(model, pool)).or_default().extend(entries);
    }
    let count = devices.keys().last().map_or(0, |last| *last as usize + 1);
    // A hostile log may name any device; PyTorch counts them from 0.
    let count = count.min(weir::id::MAX_DEVICES.max(devices.len()));
    let mut all: Vec<Vec<Entry>> = (0..count).map(|_| Vec::new()).collect();
    for (device, entries) in devices {
        if let Some(list) = all.get_mut(device as usize) {
            *list = entries;
        }
    }
    all
}
