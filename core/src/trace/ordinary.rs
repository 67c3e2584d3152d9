//! The fast way to write a record: for the kinds of which a log has most, with the values that they mostly have.
//!
//! A record is **ordinary** where the open page defines what it names, its ids and its step on the stream take one byte
//! each, and every number has at most eight bytes. [`is_ordinary`] looks first, so that [`write_ordinary`] need not: it
//! puts each number as a whole word, of which the next one overwrites what is not needed, and has no case for numbers of
//! another form. What is not ordinary takes [`Writer`](super::wire::Writer); both give the same bytes.
//!
//! Both are inlined where a record is made, so that its kind is known: the table of fields becomes straight code, and the
//! record itself is never built. Counted by callgrind on x86-64, over the calls of 8 training steps of a ResNet-50 with
//! markers: 372 instructions a record in one general writer, 119 this way, the checksum apart (50). A malloc takes 154,
//! a free 100, a use 72, an event's record 79, a wait 68, a marker 66; what is not ordinary about 400.

use super::field::Field;
use super::wire::{Context, Out, UNIT, put_word, short_form};
use super::{Points, Record};
use crate::error::Point;
use crate::id::{AllocId, DeviceId, EventId, LabelId, PoolId, StreamId};
use crate::units::{Bytes, Nanos, Seq};
use core::hint::cold_path;

/// Room for an ordinary record, and for the unneeded end of its last word.
pub(super) const ROOM: usize = 72;

/// What ordinary numbers are below: twice such a one, and one more, still has at most eight bytes.
const LIMIT_BITS: u32 = 54;

/// No id.
const NONE: u64 = u64::MAX;

/// How many ids of each kind are remembered.
const PLACES: usize = 8;

/// What the open page defines, as far as it takes one byte. An id of another slot may take an id's place: its records
/// are written as others are, then.
#[derive(Clone, Debug)]
pub(super) struct Known {
    streams: [u64; PLACES],
    pools: [u64; PLACES],
    /// The latest of the pools: where there is one, it is found at once.
    pool: u64,
    /// One bit a label.
    labels: u64,
}

impl Known {
    pub(super) const NOTHING: Self = Self { streams: [NONE; PLACES], pools: [NONE; PLACES], pool: NONE, labels: 0 };

    pub(super) fn stream(&mut self, stream: StreamId) {
        if is_short(stream.raw()) {
            set(&mut self.streams, stream.slot(), stream.raw());
        }
    }

    /// What a definition defines, unless it is a pool so large that its offsets are not ordinary.
    pub(super) fn define(&mut self, definition: &Record<'_>) {
        match *definition {
            Record::StreamDef { stream, .. } => self.stream(stream),
            Record::PoolDef { pool, range, .. } if is_short(pool.raw()) && range.0 >> LIMIT_BITS == 0 => {
                set(&mut self.pools, pool.slot(), pool.raw());
                self.pool = pool.raw();
            }
            Record::LabelDef { label, .. } => self.labels |= bit(label),
            _ => {}
        }
    }

    pub(super) fn forget_stream(&mut self, slot: usize) {
        set(&mut self.streams, slot, NONE);
    }

    pub(super) fn forget_pool(&mut self, slot: usize) {
        set(&mut self.pools, slot, NONE);
        self.pool = NONE;
    }

    pub(super) fn forget_label(&mut self, label: LabelId) {
        self.labels &= !bit(label);
    }
}

/// Of the first generation, in a slot below 64.
const fn is_short(raw: u64) -> bool {
    raw ^ (1 << 32) < 64
}

const fn bit(label: LabelId) -> u64 {
    match 1_u64.checked_shl(label.0) {
        Some(bit) => bit,
        None => 0,
    }
}

fn get(places: &[u64; PLACES], slot: usize) -> u64 {
    places.get(slot % PLACES).copied().unwrap_or_default()
}

fn set(places: &mut [u64; PLACES], slot: usize, raw: u64) {
    if let Some(place) = places.get_mut(slot % PLACES) {
        *place = raw;
    }
}

/// The kinds that may be ordinary. All they hold beside what [`Check`] looks at is small: counters of the runtime's own,
/// which take centuries to reach 2^54, and bytes within a known pool.
const fn is_frequent(record: &Record<'_>) -> bool {
    matches!(
        record,
        Record::Malloc { .. }
            | Record::Free { .. }
            | Record::Use { .. }
            | Record::Recorded { .. }
            | Record::Waited { .. }
            | Record::MarkerLaid { .. }
            | Record::Asked { .. }
            | Record::GrowPlanned { .. }
            | Record::Mapped { .. }
    )
}

/// Whether a record, made by a runtime, is ordinary.
#[inline(always)]
pub(super) fn is_ordinary(known: &Known, context: &Context, time: Nanos, record: &Record<'_>) -> bool {
    let elapsed = time.0.wrapping_sub(context.time);
    let mut check = Check { known, context, stream: StreamId::from_raw(0), all: elapsed >> LIMIT_BITS };
    record.put(&mut check);
    is_frequent(record) && check.all == 0
}

/// Looks at the values of a record. One comparison at the end is cheaper than one a value.
struct Check<'c> {
    known: &'c Known,
    context: &'c Context,
    stream: StreamId,
    /// What must be zero, or-ed.
    all: u64,
}

/// Not zero.
const NEVER: u64 = 1;

impl Out for Check<'_> {
    #[inline(always)]
    fn byte(&mut self, _: u8) {}

    #[inline(always)]
    fn number(&mut self, _: u64) {}

    #[inline(always)]
    fn difference(&mut self, _: u64) {}

    #[inline(always)]
    fn device(&mut self, _: DeviceId) {
        self.all |= NEVER;
    }

    #[inline(always)]
    fn stream(&mut self, stream: StreamId) {
        self.stream = stream;
        self.all |= get(&self.known.streams, stream.slot()) ^ stream.raw();
    }

    #[inline(always)]
    fn pool(&mut self, pool: PoolId) {
        if pool.raw() != self.known.pool {
            cold_path();
            self.all |= get(&self.known.pools, pool.slot()) ^ pool.raw();
        }
    }

    #[inline(always)]
    fn event(&mut self, _: EventId) {}

    #[inline(always)]
    fn label(&mut self, label: LabelId) {
        if label != LabelId::NONE {
            cold_path();
            if self.known.labels & bit(label) == 0 {
                self.all |= NEVER;
            }
        }
    }

    #[inline(always)]
    fn seq(&mut self, seq: Seq) {
        self.all |= seq.0.wrapping_sub(self.context.seq(self.stream.slot())) >> 6;
    }

    #[inline(always)]
    fn points(&mut self, points: &Points) {
        if let [Some(first), second, _] = &points.list {
            if first.stream != self.stream {
                cold_path();
                self.all |= get(&self.known.streams, first.stream.slot()) ^ first.stream.raw();
            }
            if second.is_some() {
                self.all |= NEVER;
            }
        }
        if points.epoch != 0 {
            self.all |= NEVER;
        }
    }

    #[inline(always)]
    fn point(&mut self, _: &Point) {
        self.all |= NEVER;
    }

    #[inline(always)]
    fn alloc(&mut self, _: AllocId) {}

    #[inline(always)]
    fn bytes(&mut self, _: Bytes) {}

    #[inline(always)]
    fn name(&mut self, _: &str) {
        self.all |= NEVER;
    }
}

/// Writes a record that [is ordinary](is_ordinary), and returns its length.
#[inline(always)]
pub(super) fn write_ordinary(
    window: &mut [u8; ROOM],
    context: &mut Context,
    time: Nanos,
    record: &Record<'_>,
) -> usize {
    let elapsed = time.0.wrapping_sub(context.time);
    context.time = time.0;
    let mut out = Ordinary { window, fields: 0, more: 0, size: None, stream: 0, context };
    out.number(elapsed);
    record.put(&mut out);
    out.fields + out.more
}

/// Writes the values of an ordinary record.
struct Ordinary<'w> {
    window: &'w mut [u8; ROOM],
    /// How many bytes and numbers there are so far. Apart from `more`, because the compiler knows it.
    fields: usize,
    /// How many bytes the numbers have beside their first.
    more: usize,
    /// The byte count before in the same record.
    size: Option<u64>,
    stream: usize,
    context: &'w mut Context,
}

impl Ordinary<'_> {
    #[inline(always)]
    fn word(&mut self, word: u64) {
        put_word(self.window, self.fields + self.more, word);
        self.fields += 1;
    }

    /// A number below 128; what is above that is ignored.
    #[inline(always)]
    fn small(&mut self, number: u64) {
        self.word((number << 1) | 1);
    }
}

impl Out for Ordinary<'_> {
    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.window.get_mut(self.fields + self.more) {
            *place = byte;
        }
        self.fields += 1;
    }

    #[inline(always)]
    fn number(&mut self, number: u64) {
        let (bytes, more) = short_form(number);
        self.word(bytes);
        self.more += more;
    }

    #[inline(always)]
    fn difference(&mut self, difference: u64) {
        if (difference as i64) < 0 {
            cold_path();
            self.number(!(difference << 1));
        } else {
            self.number(difference << 1);
        }
    }

    #[inline(always)]
    fn device(&mut self, _: DeviceId) {}

    #[inline(always)]
    fn stream(&mut self, stream: StreamId) {
        self.stream = stream.slot();
        self.small(stream.raw() << 1);
    }

    #[inline(always)]
    fn pool(&mut self, pool: PoolId) {
        self.small(pool.raw() << 1);
    }

    #[inline(always)]
    fn event(&mut self, event: EventId) {
        let slot = (event.slot() as u64) << 1;
        if event.generation() == 1 {
            self.number(slot);
        } else {
            self.number(slot | 1);
            self.number(u64::from(event.generation()));
        }
    }

    #[inline(always)]
    fn label(&mut self, label: LabelId) {
        self.small(u64::from(label.0));
    }

    #[inline(always)]
    fn seq(&mut self, seq: Seq) {
        self.small(seq.0.wrapping_sub(self.context.seq(self.stream)) << 1);
        self.context.set_seq(self.stream, seq.0);
    }

    #[inline(always)]
    fn points(&mut self, points: &Points) {
        match &points.list {
            [Some(only), ..] => {
                self.byte(1);
                self.small(only.stream.raw() << 1);
                self.difference(self.context.seq(only.stream.slot()).wrapping_sub(only.seq.0));
            }
            _ => {
                cold_path();
                self.byte(0);
            }
        }
    }

    #[inline(always)]
    fn point(&mut self, _: &Point) {}

    /// A malloc's is mostly the next, a free's mostly of long ago: each is worth a case.
    #[inline(always)]
    fn alloc(&mut self, id: AllocId) {
        let step = id.0.wrapping_sub(self.context.id);
        if (step as i64) < 0 {
            self.number(!(step << 1));
        } else {
            self.context.id = id.0;
            if step < 64 {
                self.small(step << 1);
            } else {
                self.number(step << 1);
            }
        }
    }

    #[inline(always)]
    fn bytes(&mut self, count: Bytes) {
        let count = count.0;
        let before = self.size.replace(count);
        let rounded = count.is_multiple_of(UNIT);
        match before {
            None if rounded => self.number(count / UNIT * 2),
            Some(before) if count == before => self.small(0),
            // Zero is no multiple here: its code would say that it is as the count before.
            Some(_) if rounded => self.number((count / UNIT * 2).max(1)),
            _ => self.number((count << 1) | 1),
        }
    }

    #[inline(always)]
    fn name(&mut self, _: &str) {}
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::driver::{Capabilities, Properties};
    use crate::policy::{PoolConfig, StreamKind, UseUntil};
    use crate::trace::{Definitions, Log, LogStamps, MapReason, PAGE_BYTES, Page, Source, Spill};
    use crate::units::DevicePtr;
    use std::boxed::Box;
    use std::vec;
    use std::vec::Vec;

    const KINDS: usize = 9;
    /// A pool beyond what is ordinary.
    const VAST: usize = 3;

    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.0 >> 11
        }

        fn below(&mut self, end: u64) -> u64 {
            self.next() % end
        }

        /// One in `n`.
        fn rare(&mut self, n: u64) -> bool {
            self.below(n) == 0
        }

        /// Below 2^54, of any length.
        fn any(&mut self) -> u64 {
            let number = self.next() & ((1 << 54) - 1);
            number >> self.below(54)
        }
    }

    /// Defines whatever is asked for.
    struct All;

    impl Definitions for All {
        fn device(&self, device: DeviceId) -> Option<Record<'_>> {
            let properties = Properties {
                granularity: Bytes::mib(2),
                alignment: Bytes(512),
                total: Bytes::gib(8),
                capabilities: Capabilities::empty(),
            };
            Some(Record::DeviceDef { device, properties })
        }
        fn stream(&self, stream: StreamId) -> Option<Record<'_>> {
            Some(Record::StreamDef { stream, device: DeviceId(0), kind: StreamKind::NonBlocking })
        }
        fn pool(&self, pool: PoolId) -> Option<Record<'_>> {
            let range = if pool.slot() == VAST { Bytes(1 << 60) } else { Bytes::gib(80) };
            Some(Record::PoolDef { pool, base: DevicePtr(1 << 40), range, config: PoolConfig::new(DeviceId(0)) })
        }
        fn label(&self, label: LabelId) -> Option<Record<'_>> {
            Some(Record::LabelDef { label, name: "layer" })
        }
    }

    /// What a runtime on many streams does, with a share of what is rare.
    struct Program {
        random: Random,
        streams: u64,
        time: u64,
        seqs: [u64; 128],
        id: u64,
    }

    impl Program {
        fn stream(&mut self) -> StreamId {
            let slot = if self.random.rare(60) { 60 + self.random.below(60) } else { self.random.below(self.streams) };
            StreamId::new(slot as usize, if self.random.rare(80) { 2 } else { 1 })
        }

        fn seq(&mut self, stream: StreamId) -> Seq {
            let step = if self.random.rare(60) { self.random.any() >> 8 } else { 1 + self.random.below(3) };
            let seq = &mut self.seqs[stream.slot()];
            *seq += step;
            Seq(*seq)
        }

        fn point(&mut self, own: StreamId) -> Point {
            let stream = if self.random.rare(4) { self.stream() } else { own };
            let seq = self.seqs[stream.slot()];
            Point { stream, seq: Seq(seq.saturating_add(3).saturating_sub(self.random.below(90))) }
        }

        fn points(&mut self, own: StreamId) -> Points {
            let count = if self.random.rare(10) { self.random.below(4) } else { 1 };
            let mut points =
                Points { list: [None; 3], epoch: if self.random.rare(40) { self.random.any() } else { 0 } };
            for place in points.list.iter_mut().take(count as usize) {
                *place = Some(self.point(own));
            }
            points
        }

        fn pool(&mut self) -> PoolId {
            let slot = if self.random.rare(3) { self.random.below(12) } else { 0 };
            PoolId::new(slot as usize, if self.random.rare(50) { 7 } else { 1 })
        }

        fn bytes(&mut self, pool: PoolId) -> Bytes {
            let any = self.random.any() << if pool.slot() == VAST { 6 } else { 0 };
            Bytes(if self.random.rare(8) { any } else { self.random.below(1 << 24) * 512 })
        }

        fn event(&mut self) -> EventId {
            EventId::new(self.random.below(200) as usize, 1 + self.random.below(4) as u32 / 2)
        }

        fn malloc(&mut self, pool: PoolId, stream: StreamId, seq: Seq) -> Record<'static> {
            self.id += 1;
            let offset = self.bytes(pool);
            let given = if self.random.rare(9) { offset } else { self.bytes(pool) };
            let asked = if self.random.rare(3) { given } else { self.bytes(pool) };
            let labels = if self.random.rare(5) { 80 } else { 9 };
            let label = LabelId(if self.random.rare(3) { self.random.below(labels) as u32 } else { 0 });
            let source = Source::ALL[self.random.below(6) as usize];
            let points = self.points(stream);
            Record::Malloc { pool, stream, seq, id: AllocId(self.id), asked, given, offset, source, label, points }
        }

        /// The next record, and which kind it is.
        fn record(&mut self) -> (usize, Record<'static>) {
            let (pool, stream) = (self.pool(), self.stream());
            let seq = self.seq(stream);
            let id = AllocId(self.id.saturating_sub(self.random.below(1 + self.id / 2)));
            let (number, granules) = (self.random.any(), self.random.any() as u32);
            let kind = self.random.below(KINDS as u64) as usize;
            let record = match kind {
                0 => self.malloc(pool, stream, seq),
                1 => Record::Free { pool, stream, seq, id, offset: self.bytes(pool), given: self.bytes(pool) },
                2 => Record::Use { pool, stream, seq, id, until: UseUntil::Now },
                3 => Record::Recorded { event: self.event(), stream, seq, number },
                4 => Record::Waited { stream, seq, event: self.event(), number },
                5 => Record::MarkerLaid { marker: granules, stream, seq },
                6 => Record::Asked { stream, seq, complete: self.random.rare(2) },
                7 => Record::GrowPlanned { pool, stream, call: number, offset: self.bytes(pool), granules },
                _ => Record::Mapped { pool, offset: self.bytes(pool), granules, reason: MapReason::Remap },
            };
            (kind, record)
        }

        fn clock(&mut self) -> Nanos {
            self.time = match self.random.below(200) {
                0 => self.time.wrapping_sub(self.random.any()),
                1 => self.time.wrapping_add(1 << 54 << self.random.below(10)),
                2..60 => self.time,
                _ => self.time.wrapping_add(self.random.any() >> 30),
            };
            Nanos(self.time)
        }
    }

    /// A log over memory that is kept for ever: two pages, 100 streams, 10 pools, 70 labels.
    fn log() -> Log<'static> {
        fn stamps(count: usize) -> &'static mut [u64] {
            Box::leak(vec![0; count].into_boxed_slice())
        }
        let pages = Box::leak(vec![Page::EMPTY; 2].into_boxed_slice());
        let stamps = LogStamps { streams: stamps(100), pools: stamps(10), labels: stamps(70) };
        Log::new(pages, stamps, Box::leak(Box::new(Spill::EMPTY)))
    }

    fn take(log: &mut Log<'_>, into: &mut Vec<u8>) {
        let mut page = [0; PAGE_BYTES];
        while let Some(length) = log.take_page(&mut page) {
            into.extend(&page[..length]);
        }
    }

    /// How many of each kind were ordinary, and how many of those stood at a page's end.
    #[derive(Default)]
    struct Count {
        ordinary: [u64; KINDS],
        at_end: u64,
    }

    fn append(log: &mut Log<'_>, time: Nanos, kind: usize, record: Record<'_>, count: &mut Count) {
        if log.append_ordinary(time, &record) {
            count.ordinary[kind] += 1;
        } else if log.append_at_end(time, &record) {
            count.at_end += 1;
        } else {
            log.append(time, record, &All);
        }
    }

    /// Both ways of writing give the same bytes, whatever a runtime does.
    fn compare(seed: u64, streams: u64) -> Count {
        let mut program = Program { random: Random(seed), streams, time: seed, seqs: [0; 128], id: 0 };
        let (mut fast, mut slow, mut count) = (log(), log(), Count::default());
        let (mut fast_bytes, mut slow_bytes) = (Vec::new(), Vec::new());
        for _ in 0..4000 {
            let (kind, record) = program.record();
            let time = program.clock();
            match program.random.below(300) {
                0 => [&mut fast, &mut slow].map(|log| log.forget_stream(StreamId::new(kind, 1))),
                1 => [&mut fast, &mut slow].map(|log| log.forget_pool(PoolId::new(kind, 1))),
                2 => [&mut fast, &mut slow].map(|log| log.forget_label(LabelId(kind as u32 + 1))),
                3 => [&mut fast, &mut slow].map(Log::seal),
                4 => [&mut fast, &mut slow].map(|log| log.count_lost(kind as u64)),
                5 => [&mut fast, &mut slow].map(|log| log.append(time, Record::Lost { records: u64::MAX }, &All)),
                _ => [(), ()],
            };
            append(&mut fast, time, kind, record, &mut count);
            slow.append(time, record, &All);
            assert_eq!((fast.next(), fast.lost()), (slow.next(), slow.lost()));
            take(&mut fast, &mut fast_bytes);
            take(&mut slow, &mut slow_bytes);
            assert!(fast_bytes == slow_bytes, "seed {seed}, {streams} streams, before or at {record:?}");
        }
        count
    }

    #[test]
    fn both_ways_give_the_same_bytes() {
        for seed in 0..24 {
            let few = compare(seed, 4);
            assert!(few.ordinary.iter().all(|&kind| kind > 50), "{:?}", few.ordinary);
            assert!(few.at_end > 5, "{}", few.at_end);
            compare(seed, 30);
        }
    }

    #[test]
    fn byte_counts_of_every_length_are_ordinary() {
        let (pool, stream) = (PoolId::new(0, 1), StreamId::new(0, 1));
        let (mut fast, mut slow, mut count) = (log(), log(), Count::default());
        let (mut fast_bytes, mut slow_bytes) = (Vec::new(), Vec::new());
        for (step, bits) in (0..54).flat_map(|bits| [bits; 4]).enumerate() {
            let edge = 1_u64 << bits;
            let given = Bytes([edge - 1, edge, edge + 1, edge / 512 * 512][step % 4]);
            let (seq, id) = (Seq(step as u64), AllocId(step as u64));
            let record = Record::Free { pool, stream, seq, id, offset: Bytes(512), given };
            append(&mut fast, Nanos(edge), 1, record, &mut count);
            slow.append(Nanos(edge), record, &All);
        }
        for log in [(&mut fast, &mut fast_bytes), (&mut slow, &mut slow_bytes)] {
            log.0.seal();
            take(log.0, log.1);
        }
        assert!(fast_bytes == slow_bytes);
        assert!(count.ordinary[1] + count.at_end > 200);
    }

    #[test]
    fn only_the_kinds_that_a_runtime_keeps_small_are_ordinary() {
        let mut log = log();
        let stream = StreamId::new(0, 1);
        let synchronized = Record::StreamSynchronized { stream, seq: Seq(1) };
        log.append(Nanos(1), synchronized, &All);
        for record in [
            synchronized,
            Record::Lost { records: u64::MAX },
            Record::EventSynchronized { event: EventId::new(0, 1), number: u64::MAX },
        ] {
            assert!(!log.append_ordinary(Nanos(2), &record));
            assert!(!log.append_at_end(Nanos(2), &record));
        }
        assert_eq!(log.next(), 1);
    }
}
