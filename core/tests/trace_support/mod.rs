//! What the tests of the log share: records of every kind with numbers from a seed, and a table of definitions.

#![allow(dead_code, unused_imports, reason = "each test file uses a part")]

mod room;

pub(crate) use room::{Room, Table, pool, small_table, stream, take, written};
use weir::driver::{Capabilities, DriverCall, DriverError, DriverErrorKind, Properties};
use weir::error::{Arena, Point};
use weir::id::{AllocId, DeviceId, EventId, LabelId, PoolId, StreamId};
use weir::policy::{
    Attribute, Blocking, Capture, Growth, PoolConfig, Preference, Release, Reuse, StreamKind, Tuning, UseUntil,
};
use weir::trace::{MapReason, Points, Record, Refusal, Source, Stamped, UnmapReason, Verb};
use weir::units::{Bytes, DevicePtr, Nanos, Seq};

/// How many cases a property is tried with. A failing seed is printed; nothing is kept in files.
pub(crate) fn cases(cases: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config { cases, failure_persistence: None, ..Default::default() }
}

/// Numbers from a seed (the generator known as SplitMix64).
pub(crate) struct Numbers(pub u64);

impl Numbers {
    pub(crate) fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Any number, all lengths equally likely.
    pub(crate) fn number(&mut self) -> u64 {
        let bits = self.below(65) as u32;
        self.any().checked_shr(64 - bits).unwrap_or(0)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.any() % end
    }

    pub(crate) fn short(&mut self) -> u32 {
        self.number() as u32
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// Byte counts as they occur: multiples of 512, others, and the extremes.
    pub(crate) fn bytes(&mut self) -> Bytes {
        let number = self.number();
        Bytes(match self.below(4) {
            0 => number,
            1 => u64::MAX,
            _ => number / 512 * 512,
        })
    }

    fn raw_id(&mut self) -> u64 {
        let generation = if self.below(3) == 0 { u64::from(self.short()) } else { 1 };
        generation << 32 | u64::from(self.short())
    }

    pub(crate) fn stream(&mut self) -> StreamId {
        StreamId::from_raw(self.raw_id())
    }

    pub(crate) fn pool(&mut self) -> PoolId {
        PoolId::from_raw(self.raw_id())
    }

    pub(crate) fn event(&mut self) -> EventId {
        EventId::from_raw(self.raw_id())
    }

    pub(crate) fn point(&mut self) -> Point {
        Point { stream: self.stream(), seq: Seq(self.number()) }
    }

    pub(crate) fn points(&mut self) -> Points {
        let count = self.below(4) as usize;
        let mut points = Points::default();
        for place in points.list.iter_mut().take(count) {
            *place = Some(self.point());
        }
        points.epoch = self.below(2) * self.number();
        points
    }

    pub(crate) fn option<T>(&mut self, value: T) -> Option<T> {
        (self.below(3) != 0).then_some(value)
    }

    pub(crate) fn answer(&mut self) -> bool {
        self.below(2) == 1
    }

    pub(crate) fn name(&mut self) -> &'static str {
        self.pick(&[
            "",
            " ",
            "step 12",
            "layer 3 backward",
            "a=b c=d",
            "two\nlines",
            "line end\r\n",
            "number=1 time=2 record=lost records=3",
            "Größe 数量 🚀",
            "\"quoted\\ \0\t",
            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        ])
    }

    pub(crate) fn driver_error(&mut self) -> DriverError {
        use DriverErrorKind::{Exhausted, Failed, TimedOut, Unsupported};
        DriverError {
            call: self.pick(&DriverCall::ALL),
            code: self.short() as i32,
            kind: self.pick(&[Exhausted, TimedOut, Unsupported, Failed]),
        }
    }

    pub(crate) fn config(&mut self) -> PoolConfig {
        let (small, limit) = (self.bytes(), self.bytes());
        PoolConfig {
            device: DeviceId(self.short()),
            limit,
            threshold: self.bytes(),
            reuse: Reuse::from_bits_truncate(self.below(8) as u8),
            preference: self.pick(&[Preference::GrowFirst, Preference::WaitFirst]),
            small_limit: self.option(small),
            tuning: Tuning::DEFAULT,
        }
    }

    /// One refusal of each reason.
    pub(crate) fn refusals(&mut self) -> Vec<Refusal> {
        let at = |n: &mut Self| DevicePtr(n.number());
        let point = self.point();
        vec![
            Refusal::ZeroSize,
            Refusal::AboveLimit(self.bytes()),
            Refusal::Overflow,
            Refusal::NoAddressRange(self.bytes()),
            Refusal::OtherDevice,
            Refusal::Capturing,
            Refusal::Unknown,
            Refusal::Stale,
            Refusal::BadPointer(at(self)),
            Refusal::Interior(at(self), at(self)),
            Refusal::OtherPool(at(self), self.pool()),
            Refusal::AlreadyFree(at(self), self.option(point)),
            Refusal::Unmapped(at(self)),
            Refusal::ArenaFull(self.pick(&Arena::ALL), self.number()),
            Refusal::Driver(self.driver_error()),
            Refusal::LiveBlocks(self.number(), self.bytes()),
            Refusal::StillHeld(self.bytes()),
            Refusal::BadValue(self.number()),
            Refusal::Exists,
        ]
    }

    fn refused(&mut self, reason: Refusal) -> Record<'static> {
        let (pool, stream) = (self.pool(), self.stream());
        Record::Refused {
            verb: self.pick(&VERBS),
            pool: self.option(pool),
            stream: self.option(stream),
            size: self.bytes(),
            reason,
        }
    }

    fn definitions(&mut self) -> Vec<Record<'static>> {
        use StreamKind::{Blocking, Legacy, NonBlocking, PerThread};
        vec![
            Record::DeviceDef {
                device: DeviceId(self.short()),
                properties: Properties {
                    granularity: self.bytes(),
                    alignment: self.bytes(),
                    total: self.bytes(),
                    capabilities: Capabilities::from_bits_truncate(self.below(4) as u32),
                },
            },
            Record::StreamDef {
                stream: self.stream(),
                device: DeviceId(self.short()),
                kind: self.pick(&[NonBlocking, Blocking, Legacy, PerThread]),
            },
            Record::PoolDef {
                pool: self.pool(),
                base: DevicePtr(self.number()),
                range: self.bytes(),
                config: self.config(),
            },
            Record::LabelDef { label: LabelId(self.short()), name: self.name() },
        ]
    }

    fn life_cycle(&mut self) -> Vec<Record<'static>> {
        vec![
            Record::Begin {
                version: (self.number() as u16, self.number() as u16, self.number() as u16),
                policy: self.short(),
                streams: self.short(),
                events: self.short(),
                markers: self.short(),
                pools: self.short(),
                blocks: self.short(),
                granules: self.short(),
            },
            Record::PoolCreated { pool: self.pool() },
            Record::PoolDestroyed { pool: self.pool(), leaked: self.bytes() },
            Record::StreamCreated { stream: self.stream() },
            Record::StreamDestroyed { stream: self.stream() },
            Record::EventCreated { event: self.event() },
            Record::EventDestroyed { event: self.event() },
            Record::AttributeSet {
                pool: self.pool(),
                attribute: Attribute::from_number(1 + self.below(8) as u32).expect("1 to 8"),
                value: self.number(),
            },
        ]
    }

    fn blocks(&mut self) -> Vec<Record<'static>> {
        vec![
            Record::Malloc {
                pool: self.pool(),
                stream: self.stream(),
                seq: Seq(self.number()),
                id: AllocId(self.number()),
                asked: self.bytes(),
                given: self.bytes(),
                offset: self.bytes(),
                source: self.pick(&Source::ALL),
                label: LabelId(self.short()),
                points: self.points(),
            },
            Record::Free {
                pool: self.pool(),
                stream: self.stream(),
                seq: Seq(self.number()),
                id: AllocId(self.number()),
                offset: self.bytes(),
                given: self.bytes(),
            },
            Record::Use {
                pool: self.pool(),
                stream: self.stream(),
                seq: Seq(self.number()),
                id: AllocId(self.number()),
                until: self.pick(&[UseUntil::Now, UseUntil::Free]),
            },
        ]
    }

    fn order(&mut self) -> Vec<Record<'static>> {
        let (event, stream, seq, number) = (self.event(), self.stream(), Seq(self.number()), self.number());
        let (marker, complete) = (self.short(), self.answer());
        vec![
            Record::Recorded { event, stream, seq, number },
            Record::Waited { stream: self.stream(), seq, event, number },
            Record::Queried { event, number, complete },
            Record::MarkerLaid { marker, stream, seq },
            Record::Asked { stream, seq: Seq(self.number()), complete: !complete },
            Record::WaitInserted { stream, seq, marker, on: self.point() },
            Record::StreamSynchronized { stream, seq },
            Record::EventSynchronized { event, number },
            Record::DeviceSynchronized { device: DeviceId(self.short()) },
        ]
    }

    fn memory(&mut self) -> Vec<Record<'static>> {
        use MapReason as Map;
        use UnmapReason as Unmap;
        let (pool, stream, call, granules) = (self.pool(), self.stream(), self.number(), self.short());
        vec![
            Record::GrowPlanned { pool, stream, call, offset: self.bytes(), granules },
            Record::GrowAborted { pool, call },
            Record::Mapped { pool, offset: self.bytes(), granules, reason: self.pick(&[Map::Grow, Map::Remap]) },
            Record::Unmapped {
                pool,
                offset: self.bytes(),
                granules,
                reason: self.pick(&[Unmap::Threshold, Unmap::Trim, Unmap::Remap, Unmap::Destroy, Unmap::Undo]),
            },
            Record::Quarantined { pool, granules },
            Record::Trimmed {
                pool,
                target: self.bytes(),
                reached: self.bytes(),
                live: self.bytes(),
                pending: self.bytes(),
                partial: self.bytes(),
            },
            Record::OutOfMemory {
                pool,
                stream,
                requested: self.bytes(),
                used: self.bytes(),
                reserved: self.bytes(),
                limit: self.bytes(),
                largest_usable: self.bytes(),
                pending: self.bytes(),
            },
        ]
    }

    fn tuning(&mut self) -> Tuning {
        let (step, times) = (self.bytes(), self.short());
        Tuning {
            growth: self.option(step).map_or(Growth::Frugal, Growth::Eager),
            release: self.pick(&[Release::Hysteresis, Release::Always]),
            blocking: self.pick(&[Blocking::Never, Blocking::WhenExhausted]),
            addresses: self.option(times),
        }
    }

    /// What the settings of a pool bring about.
    fn tuned(&mut self) -> Vec<Record<'static>> {
        let (pool, stream, seq, granules) = (self.pool(), self.stream(), Seq(self.number()), self.short());
        let map = self.pick(&[MapReason::Grow, MapReason::Remap, MapReason::Spare]);
        let unmap = UnmapReason::Remap;
        vec![
            Record::PoolTuned { pool, tuning: self.tuning() },
            Record::Kept { pool, kept: self.bytes(), thrash: self.bytes() },
            Record::Blocked { pool, stream, on: self.point() },
            Record::Pressed { pool, bytes: self.bytes(), relieved: self.answer() },
            Record::MappedInOrder { pool, stream, seq, offset: self.bytes(), granules, reason: map },
            Record::UnmappedInOrder { pool, stream, seq, offset: self.bytes(), granules, reason: unmap },
            Record::TrimPending { pool, on: self.point(), bytes: self.bytes(), streams: granules },
            Record::Undestroyed { pool, granules },
        ]
    }

    /// One record of each kind, and one refusal of each reason.
    pub(crate) fn records(&mut self) -> Vec<Record<'static>> {
        let mut records = self.definitions();
        records.extend(self.life_cycle());
        records.extend(self.blocks());
        records.extend(self.order());
        records.extend(self.memory());
        for reason in self.refusals() {
            records.push(self.refused(reason));
        }
        records.push(Record::DriverFailed { error: self.driver_error() });
        records.push(Record::Mark { label: LabelId(self.short()), name: self.name() });
        records.push(Record::Lost { records: self.number() });
        records.push(Record::EventReset { event: self.event() });
        let capture = self.pick(&[Capture::None, Capture::Active]);
        records.push(Record::CaptureSet { stream: self.stream(), capture });
        records.extend(self.tuned());
        records
    }
}

pub(crate) const VERBS: [Verb; 18] = [
    Verb::Malloc,
    Verb::Free,
    Verb::Use,
    Verb::Record,
    Verb::Wait,
    Verb::Query,
    Verb::Synchronize,
    Verb::CreateStream,
    Verb::DestroyStream,
    Verb::CreateEvent,
    Verb::DestroyEvent,
    Verb::CreatePool,
    Verb::DestroyPool,
    Verb::Attribute,
    Verb::Trim,
    Verb::Label,
    Verb::ResetEvent,
    Verb::SetCapture,
];

/// A number for each kind, so that a test notices one that [`Numbers::records`] lacks.
pub(crate) fn kind(record: &Record<'_>) -> usize {
    match record {
        Record::Begin { .. } => 0,
        Record::DeviceDef { .. } => 1,
        Record::StreamDef { .. } => 2,
        Record::PoolDef { .. } => 3,
        Record::LabelDef { .. } => 4,
        Record::PoolCreated { .. } => 5,
        Record::PoolDestroyed { .. } => 6,
        Record::StreamCreated { .. } => 7,
        Record::StreamDestroyed { .. } => 8,
        Record::EventCreated { .. } => 9,
        Record::EventDestroyed { .. } => 10,
        Record::AttributeSet { .. } => 11,
        Record::Malloc { .. } => 12,
        Record::Free { .. } => 13,
        Record::Use { .. } => 14,
        Record::Recorded { .. } => 15,
        Record::Waited { .. } => 16,
        Record::Queried { .. } => 17,
        Record::MarkerLaid { .. } => 18,
        Record::Asked { .. } => 19,
        Record::WaitInserted { .. } => 20,
        Record::StreamSynchronized { .. } => 21,
        Record::EventSynchronized { .. } => 22,
        Record::DeviceSynchronized { .. } => 23,
        Record::GrowPlanned { .. } => 24,
        Record::GrowAborted { .. } => 25,
        Record::Mapped { .. } => 26,
        Record::Unmapped { .. } => 27,
        Record::Quarantined { .. } => 28,
        Record::Trimmed { .. } => 29,
        Record::OutOfMemory { .. } => 30,
        Record::Refused { .. } => 31,
        Record::DriverFailed { .. } => 32,
        Record::Mark { .. } => 33,
        Record::Lost { .. } => 34,
        Record::EventReset { .. } => 35,
        Record::CaptureSet { .. } => 36,
        Record::PoolTuned { .. } => 37,
        Record::Kept { .. } => 38,
        Record::Blocked { .. } => 39,
        Record::Pressed { .. } => 40,
        Record::MappedInOrder { .. } => 41,
        Record::UnmappedInOrder { .. } => 42,
        Record::TrimPending { .. } => 43,
        Record::Undestroyed { .. } => 44,
    }
}

/// How many kinds there are.
pub(crate) const KINDS: usize = 45;

/// Some seconds of a program on four streams: what a log mostly holds.
pub(crate) fn ordinary(numbers: &mut Numbers, count: usize) -> Vec<(Nanos, Record<'static>)> {
    let mut records = Vec::new();
    let mut live: Vec<(AllocId, Bytes, Bytes)> = Vec::new();
    let (mut time, mut seqs, mut id) = (0, [0; 4], 0);
    for _ in 0..count {
        time += 2_000 + numbers.below(60_000);
        let slot = if numbers.below(4) == 0 { numbers.below(4) } else { 0 };
        let seq = &mut seqs[slot as usize];
        *seq += 1;
        let (pool, stream, seq) = (pool(0), stream(slot), Seq(*seq));
        let free = live.len() > 40 || (live.len() > 4 && numbers.below(2) == 0);
        let record = if free {
            let (id, offset, given) = live.remove(numbers.below(live.len() as u64) as usize);
            Record::Free { pool, stream, seq, id, offset, given }
        } else {
            id += 1;
            let scale = 4 + numbers.below(22);
            let asked = Bytes(1 + numbers.below(1 << scale));
            let given = asked.round_up(Bytes(512)).expect("small");
            let offset = Bytes(numbers.below(1 << 24) * 512);
            live.push((AllocId(id), offset, given));
            let source = numbers.pick(&Source::ALL);
            let mut points = Points::default();
            if source != Source::Grow {
                points.list[0] = Some(Point { stream, seq: Seq(seq.0.saturating_sub(1 + numbers.below(90))) });
            }
            let label = LabelId(numbers.below(3) as u32);
            Record::Malloc { pool, stream, seq, id: AllocId(id), asked, given, offset, source, label, points }
        };
        records.push((Nanos(time), record));
    }
    records
}

/// Whether a stamped record is no definition.
pub(crate) fn numbered(stamped: &Stamped<'_>) -> bool {
    !stamped.record.is_definition()
}
