//! Logs made by hand: a toy pool that is good enough to look at, and records without rhyme or reason.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use weir::driver::{Capabilities, Properties};
use weir::error::Point;
use weir::id::{AllocId, DeviceId, EventId, LabelId, PoolId, StreamId};
use weir::policy::{PoolConfig, StreamKind};
use weir::trace::{MapReason, Points, Record, Refusal, Source, Stamped, UnmapReason, Verb};
use weir::units::{Bytes, DevicePtr, GIB, MIB, Nanos, Seq};

/// A plain generator, so that a failing case can be repeated.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Below `most`.
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }
}

pub(crate) const POOL: PoolId = PoolId::from_raw(1 << 32);
pub(crate) const GRANULE: u64 = 2 * MIB;
pub(crate) const BASE: u64 = 0x7f00_0000_0000;

pub(crate) fn stream(n: u64) -> StreamId {
    StreamId::from_raw((1 << 32) | n)
}

pub(crate) fn event(n: u64) -> EventId {
    EventId::from_raw((1 << 32) | n)
}

/// Stamps records one after another.
#[derive(Default)]
pub(crate) struct Tape {
    pub(crate) records: Vec<Stamped<'static>>,
    pub(crate) time: u64,
    number: u64,
}

impl Tape {
    pub(crate) fn push(&mut self, record: Record<'static>) {
        self.records.push(Stamped { number: self.number, time: Nanos(self.time), record });
        let definition = matches!(
            record,
            Record::DeviceDef { .. } | Record::StreamDef { .. } | Record::PoolDef { .. } | Record::LabelDef { .. }
        );
        self.number += u64::from(!definition);
    }

    /// The beginning of a log: a device, a pool, streams.
    pub(crate) fn begin(limit: u64, threshold: u64, streams: u64) -> Self {
        let mut tape = Self::default();
        tape.push(Record::Begin {
            version: (0, 1, 0),
            policy: 1,
            streams: 16,
            events: 64,
            markers: 64,
            pools: 4,
            blocks: 4096,
            granules: 4096,
        });
        tape.push(Record::DeviceDef {
            device: DeviceId(0),
            properties: Properties {
                granularity: Bytes(GRANULE),
                alignment: Bytes(512),
                total: Bytes(64 * GIB),
                capabilities: Capabilities::default(),
            },
        });
        let mut config = PoolConfig::new(DeviceId(0));
        (config.limit, config.threshold) = (Bytes(limit), Bytes(threshold));
        tape.push(Record::PoolDef { pool: POOL, base: DevicePtr(BASE), range: Bytes(limit * 4), config });
        tape.push(Record::PoolCreated { pool: POOL });
        for n in 0..streams {
            tape.push(Record::StreamDef { stream: stream(n), device: DeviceId(0), kind: StreamKind::NonBlocking });
            tape.push(Record::StreamCreated { stream: stream(n) });
        }
        tape
    }

    pub(crate) fn malloc(&mut self, id: u64, on: u64, offset: u64, given: u64, source: Source) {
        let points = Points { list: [Some(Point { stream: stream(on), seq: Seq(id) }), None, None], epoch: 0 };
        self.push(Record::Malloc {
            pool: POOL,
            stream: stream(on),
            seq: Seq(id.wrapping_mul(2)),
            id: AllocId(id),
            asked: Bytes(given.saturating_sub(7)),
            given: Bytes(given),
            offset: Bytes(offset),
            source,
            label: LabelId::NONE,
            points: if source == Source::Grow { Points::default() } else { points },
        });
    }

    pub(crate) fn free(&mut self, id: u64, on: u64, offset: u64, given: u64) {
        self.push(Record::Free {
            pool: POOL,
            stream: stream(on),
            seq: Seq(id.wrapping_mul(2) | 1),
            id: AllocId(id),
            offset: Bytes(offset),
            given: Bytes(given),
        });
    }

    pub(crate) fn map(&mut self, offset: u64, granules: u32) {
        self.push(Record::Mapped { pool: POOL, offset: Bytes(offset), granules, reason: MapReason::Grow });
    }

    pub(crate) fn unmap(&mut self, offset: u64, granules: u32, reason: UnmapReason) {
        self.push(Record::Unmapped { pool: POOL, offset: Bytes(offset), granules, reason });
    }
}

/// A pool with first fit; just enough of one to make logs that look like logs.
pub(crate) struct Toy {
    pub(crate) tape: Tape,
    pub(crate) random: Random,
    /// Free and mapped: start to end and the stream that freed.
    free: BTreeMap<u64, (u64, u64)>,
    live: BTreeMap<u64, (u64, u64, u64)>,
    top: u64,
    next: u64,
}

impl Toy {
    pub(crate) fn new(seed: u64, streams: u64) -> Self {
        Self {
            tape: Tape::begin(4 * GIB, 512 * MIB, streams),
            random: Random(seed),
            free: BTreeMap::new(),
            live: BTreeMap::new(),
            top: 0,
            next: 1,
        }
    }

    pub(crate) fn malloc(&mut self, on: u64, size: u64) -> u64 {
        let size = size.next_multiple_of(512);
        self.tape.time += 900 + self.random.below(400) + size / 4096;
        let fits = |(at, (end, _)): (&u64, &(u64, u64))| (end - at >= size).then_some(*at);
        let found = self.free.iter().find_map(fits);
        let (at, source) = match found {
            Some(at) => self.take_free(at, size, on),
            None => self.grow(size, on),
        };
        let id = self.next;
        self.next += 1;
        self.tape.malloc(id, on, at, size, source);
        self.live.insert(id, (at, size, on));
        id
    }

    fn take_free(&mut self, at: u64, size: u64, on: u64) -> (u64, Source) {
        let (end, freed_on) = self.free.remove(&at).unwrap();
        if end > at + size {
            self.free.insert(at + size, (end, freed_on));
        }
        let source = match (freed_on == on, self.random.below(8)) {
            (true, _) => Source::SameStream,
            (_, 0) => Source::Internal,
            (_, 1) => Source::Opportunistic,
            (_, 2..4) => Source::Settled,
            _ => Source::Event,
        };
        if source == Source::Internal {
            self.tape.push(Record::WaitInserted {
                stream: stream(on),
                seq: Seq(self.next),
                marker: 3,
                on: Point { stream: stream(freed_on), seq: Seq(self.next - 1) },
            });
        }
        (at, source)
    }

    fn grow(&mut self, size: u64, on: u64) -> (u64, Source) {
        let granules = size.div_ceil(GRANULE);
        let at = self.top;
        self.tape.map(at, granules as u32);
        self.top = at + granules * GRANULE;
        if self.top > at + size {
            self.free.insert(at + size, (self.top, on));
        }
        (at, Source::Grow)
    }

    pub(crate) fn free(&mut self, id: u64, on: u64) {
        let (at, size, _) = self.live.remove(&id).unwrap();
        self.tape.time += 300;
        self.tape.free(id, on, at, size);
        let (mut start, mut end) = (at, at + size);
        if let Some((before, (stop, _))) = self.free.range(..at).next_back()
            && *stop == start
        {
            start = *before;
        }
        if let Some((stop, _)) = self.free.remove(&end) {
            end = stop;
        }
        self.free.insert(start, (end, on));
    }

    /// Gives whole free granules at the end back.
    pub(crate) fn trim(&mut self, reason: UnmapReason) {
        let Some((start, (end, on))) = self.free.iter().next_back().map(|(s, v)| (*s, *v)) else {
            return;
        };
        let from = start.next_multiple_of(GRANULE);
        if end != self.top || from >= end {
            return;
        }
        self.free.remove(&start);
        if start < from {
            self.free.insert(start, (from, on));
        }
        self.tape.unmap(from, ((end - from) / GRANULE) as u32, reason);
        self.top = from;
    }

    pub(crate) fn live(&self) -> Vec<u64> {
        self.live.keys().copied().collect()
    }
}

/// Training steps: copies on stream 1, layers on stream 0, gradient buckets on stream 2.
pub(crate) fn training(seed: u64, steps: u64, layers: u64) -> Vec<Stamped<'static>> {
    let mut toy = Toy::new(seed, 3);
    let weights: Vec<u64> = (0..layers).map(|l| (1 + l % 5) * 700_000 + 40_000).collect();
    for size in &weights {
        toy.malloc(0, *size);
    }
    for step in 0..steps {
        toy.tape.push(Record::Mark {
            label: LabelId::NONE,
            name: ["step 0", "step 1", "step 2", "step 3", "step 4", "step 5", "step 6", "step 7"][step as usize % 8],
        });
        one_step(&mut toy, layers, step);
    }
    toy.tape.records
}

fn one_step(toy: &mut Toy, layers: u64, step: u64) {
    let input = toy.malloc(1, 4 * MIB);
    let mut kept = Vec::new();
    for layer in 0..layers {
        let scratch = toy.malloc(0, 300_000 + toy.random.0 % 2_000_000);
        let out = 600_000 + (layers - layer) * 160_000 + step % 4 * 90_000;
        kept.push(toy.malloc(0, out));
        let stats = toy.malloc(0, 4096);
        toy.free(scratch, 0);
        if layer % 3 == 1 {
            toy.free(stats, 0);
        } else {
            kept.push(stats);
        }
    }
    toy.free(input, 0);
    let mut buckets = Vec::new();
    while let Some(id) = kept.pop() {
        let size = 500_000 + toy.random.below(700_000);
        let gradient = toy.malloc(0, size);
        toy.free(id, 0);
        if kept.len() % 6 == 0 {
            buckets.push(toy.malloc(2, 8 * MIB));
        }
        if buckets.len() > 2 {
            let done = buckets.remove(0);
            toy.free(done, 2);
        }
        toy.free(gradient, if kept.len() % 2 == 0 { 0 } else { 2 });
    }
    for bucket in buckets {
        toy.free(bucket, 2);
    }
    if step % 3 == 2 {
        toy.tape.push(Record::Refused {
            verb: Verb::Malloc,
            pool: Some(POOL),
            stream: Some(stream(0)),
            size: Bytes(9 * GIB),
            reason: Refusal::AboveLimit(Bytes(4 * GIB)),
        });
        toy.tape.push(Record::DeviceSynchronized { device: DeviceId(0) });
        toy.trim(UnmapReason::Threshold);
    }
}

const LABELS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];

/// A training run whose blocks carry labels, some far more often than others.
pub(crate) fn labelled(seed: u64, labels: u64) -> Vec<Stamped<'static>> {
    let mut records: Vec<Stamped<'static>> = Vec::new();
    for stamped in training(seed, 4, 30) {
        if records.len() == 1 {
            let names = LABELS.iter().take(labels as usize).enumerate();
            records.extend(names.map(|(at, name)| Stamped {
                record: Record::LabelDef { label: LabelId(at as u32 + 1), name },
                ..stamped
            }));
        }
        let record = match stamped.record {
            Record::Malloc { pool, stream, seq, id, asked, given, offset, source, points, .. } => {
                let label = LabelId((id.0 * id.0 / 7 % labels) as u32 + 1);
                Record::Malloc { pool, stream, seq, id, asked, given, offset, source, label, points }
            }
            other => other,
        };
        records.push(Stamped { record, ..stamped });
    }
    records
}
