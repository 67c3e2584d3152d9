//! Chrome's trace events, which Perfetto opens: a process for each pool with counters of its memory and the lifetimes of its
//! allocations; a thread for each stream with a slice for each call; arrows from the free of a block to the malloc that gets
//! its memory, and from a recorded event to the wait for it.
//!
//! Events named `[memory]`, as Kineto writes them, say the same once more for tools that read those; weir reads them, too.

use super::json::Object;
use super::ordered::{ordered, ranges};
use super::slices::{Slices, stream_of};
use super::waits::Waits;
use super::{base, device, pools_by_id, streams_by_id};
use crate::import::{BESIDE, KINETO_BESIDE, MARK, MEMORY, PART, POOL};
use crate::model::{Death, EventIx, Fact, LifeIx, Model, Payload, PoolIx, StreamIx};
use crate::report::refusal_words;
use foldhash::HashMap;
use std::io::{Result, Write};
use std::ops::Range;
use weir::id::{PoolId, StreamId};
use weir::trace::{Record, Verb};

/// The process of the streams; pools count from 1.
const STREAMS: u64 = 0;
/// Records that are written at once.
const PIECE: usize = 1 << 12;
/// Arrows that can end at one record: readers take numbers for floats, which tell 2^53 of them apart.
const ARROWS: u64 = 1 << 21;

pub(super) fn write(model: &Model, part: &str, out: &mut impl Write) -> Result<()> {
    let trace = Trace {
        model,
        slices: Slices::of(model),
        waits: Waits::of(model),
        changes: changes(model),
        streams: streams_by_id(model),
        pools: pools_by_id(model),
        ended: model.ended_with(),
    };
    out.write_all(b"{\"displayTimeUnit\":\"ns\",")?;
    if !part.is_empty() {
        let mut beside = Vec::new();
        Object::begin(&mut beside).text(PART, part);
        out.write_all(&[format!("\"{BESIDE}\":").as_bytes(), &beside, b","].concat())?;
    }
    out.write_all(b"\"traceEvents\":[")?;
    // A comma stands before each event but the first.
    let names = trace.names();
    out.write_all(names.strip_prefix(b",").unwrap_or(&names))?;
    ordered(ranges(model.events.len(), PIECE), |piece| trace.piece(piece), |piece| out.write_all(&piece))?;
    out.write_all(b"\n]}\n")
}

/// The records at which the sums of a pool may change, with the pool, in order; each pool begins with the log.
fn changes(model: &Model) -> Vec<(EventIx, PoolIx)> {
    let mut changes = Vec::new();
    for (at, pool) in model.pools.iter().enumerate() {
        let steps = pool.used.steps().chain(pool.reserved.steps()).map(|step| step.0);
        changes.extend(std::iter::once(EventIx(0)).chain(steps).map(|event| (event, PoolIx::next_of(at))));
    }
    changes.sort_unstable();
    changes.dedup();
    changes
}

/// Which end of a lifetime is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Begins,
    Freed,
    /// With its pool.
    WithPool,
}

struct Trace<'m> {
    model: &'m Model,
    slices: Slices,
    waits: Waits,
    changes: Vec<(EventIx, PoolIx)>,
    streams: HashMap<StreamId, StreamIx>,
    pools: HashMap<PoolId, PoolIx>,
    /// What ends without a call of its own.
    ended: HashMap<EventIx, Vec<LifeIx>>,
}

/// The next event of the trace. Its members stand in the order of their names.
fn put(out: &mut Vec<u8>) -> Object<'_> {
    out.extend_from_slice(b",\n");
    Object::begin(out)
}

/// What every event has behind its own members: its kind, and whose it is.
fn whose(object: &mut Object<'_>, phase: &'static str, process: u64, thread: u32) {
    object.word("ph", phase);
    object.number("pid", process);
    object.number("tid", thread);
}

impl Trace<'_> {
    /// What happens at these records.
    fn piece(&self, events: Range<usize>) -> Vec<u8> {
        let mut out = Vec::new();
        let before = |at: usize| self.changes.partition_point(|change| change.0 < EventIx::next_of(at));
        let mut changes = self.changes[before(events.start)..before(events.end)].iter().peekable();
        for event in events.map(EventIx::next_of) {
            self.event(event, &mut out);
            while let Some((_, pool)) = changes.next_if(|change| change.0 == event) {
                self.counter(event, *pool, &mut out);
            }
        }
        out
    }

    fn names(&self) -> Vec<u8> {
        let (model, mut out) = (self.model, Vec::new());
        let mut name = |what: &'static str, process: u64, thread: Option<usize>, name: &str| {
            let mut object = put(&mut out);
            object.object("args").text("name", name);
            object.word("name", what);
            object.word("ph", "M");
            object.number("pid", process);
            if let Some(thread) = thread {
                object.number("tid", thread);
            }
        };
        name("process_name", STREAMS, None, "streams");
        for (at, pool) in model.pools.iter().enumerate() {
            let device = device(model, PoolIx::next_of(at));
            name("process_name", at as u64 + 1, None, &format!("pool {} on device {device}", pool.id));
        }
        for (at, stream) in model.streams.iter().enumerate() {
            let words = match model.unrecorded.has(Fact::Streams) {
                true => "stream not recorded".to_owned(),
                false => format!("stream {}", stream.id),
            };
            name("thread_name", STREAMS, Some(at), &words);
        }
        out
    }

    fn event(&self, event: EventIx, out: &mut Vec<u8>) {
        let model = self.model;
        for life in self.ended.get(&event).into_iter().flatten() {
            self.life(event, *life, End::WithPool, out);
        }
        let record = model.record(event).record;
        let kind = model.events.kind(event).name();
        if let Some(stream) = stream_of(model, event) {
            self.slice(event, stream, kind, &record, out);
        }
        match (record, model.events.payload(event)) {
            (Record::Malloc { .. }, Payload::Life(life)) => self.life(event, life, End::Begins, out),
            (Record::Free { .. }, Payload::Life(life)) => self.life(event, life, End::Freed, out),
            (Record::Waited { .. }, _) => {
                if let Some(wait) = self.waits.at(event) {
                    self.arrow("wait", (wait.recording, event), 0, out);
                }
            }
            (Record::Mark { name, .. }, _) => {
                let mut object = put(out);
                object.word("cat", MARK);
                object.text("name", name);
                object.word("ph", "i");
                object.number("pid", STREAMS);
                object.word("s", "g");
                object.number("tid", 0);
                object.micros("ts", model.events.time(event));
            }
            (Record::OutOfMemory { .. } | Record::Refused { .. }, _) => self.refusal(event, &record, out),
            _ => self.other(event, &record, kind, out),
        }
    }

    /// A call on a stream.
    fn slice(&self, event: EventIx, stream: StreamId, kind: &'static str, record: &Record<'_>, out: &mut Vec<u8>) {
        let (begin, length) = self.slices.of_call(event);
        let mut object = put(out);
        let mut args = object.object("args");
        if let Record::Malloc { id, given, .. } | Record::Free { id, given, .. } = record {
            args.number("allocation", id.0);
            args.number("bytes", given.0);
        }
        args.number("number", self.model.events.number(event));
        drop(args);
        object.word("cat", "call");
        object.micros("dur", length);
        object.word("name", kind);
        whose(&mut object, "X", STREAMS, self.thread(stream));
        object.micros("ts", begin);
    }

    fn thread(&self, stream: StreamId) -> u32 {
        self.streams.get(&stream).map_or(0, |stream| stream.0)
    }

    /// From call to call; `nth` of those that end there.
    fn arrow(&self, name: &'static str, (from, to): (EventIx, EventIx), nth: u64, out: &mut Vec<u8>) {
        let place = |event| Some((self.thread(stream_of(self.model, event)?), self.slices.of_call(event).0));
        let (Some(from), Some(end)) = (place(from), place(to)) else { return };
        let id = u64::from(to.0) * ARROWS + nth;
        for (phase, (thread, time)) in [("s", from), ("f", end)] {
            let mut object = put(out);
            if phase == "f" {
                object.word("bp", "e");
            }
            object.word("cat", "order");
            object.number("id", id);
            object.word("name", name);
            whose(&mut object, phase, STREAMS, thread);
            object.micros("ts", time);
        }
    }

    /// The beginning or end of a lifetime, and where its memory comes from.
    fn life(&self, event: EventIx, at: LifeIx, end: End, out: &mut Vec<u8>) {
        let model = self.model;
        let life = model.life(at);
        let born = end == End::Begins;
        if born || life.born().is_some() {
            let mut object = put(out);
            let mut args = object.object("args");
            args.number("bytes", life.given.0);
            args.word("source", life.source.map_or("not recorded", weir::trace::Source::name));
            match model.unrecorded.has(Fact::Streams) {
                true => args.null("stream"),
                false => args.number("stream", stream_number(model, life.stream)),
            }
            drop(args);
            object.word("cat", "allocation");
            object.number("id", life.id.0);
            match model.name(life.name) {
                "" => object.text("name", &format!("{} B", life.given.0)),
                label => object.text("name", label),
            }
            whose(&mut object, if born { "b" } else { "e" }, u64::from(life.pool.0) + 1, 0);
            object.micros("ts", model.events.time(event));
        }
        self.memory(event, at, end, out);
        if born && !model.unrecorded.has(Fact::Addresses) {
            for (nth, link) in (0..ARROWS).zip(model.came_from(at)) {
                if let Death::Free { event: freed, .. } = model.life(link.life).death {
                    self.arrow("reuse", (freed, event), nth, out);
                }
            }
        }
    }

    /// As Kineto says it.
    fn memory(&self, event: EventIx, at: LifeIx, end: End, out: &mut Vec<u8>) {
        let model = self.model;
        let life = model.life(at);
        let bytes = i64::try_from(life.asked().unwrap_or(life.given).0).unwrap_or(i64::MAX);
        let pool = model.pool(life.pool);
        let [pool_key, given, with_pool] = KINETO_BESIDE;
        let mut object = put(out);
        let mut args = object.object("args");
        if !model.unrecorded.has(Fact::Addresses) {
            args.number("Addr", base(model, life.pool).wrapping_add(life.offset.0));
        }
        args.number("Bytes", if end == End::Begins { bytes } else { -bytes });
        args.number("Device Id", device(model, life.pool));
        args.number("Device Type", 1);
        if end == End::WithPool {
            args.truth(with_pool);
        }
        if life.asked().is_some_and(|asked| asked != life.given) {
            args.number(given, life.given.0);
        }
        args.number(pool_key, life.pool.0);
        if !model.unrecorded.has(Fact::Streams) {
            args.number("Stream", stream_number(model, life.stream));
        }
        args.number("Total Allocated", pool.used.after(event));
        if !model.unrecorded.has(Fact::Reserved) {
            args.number("Total Reserved", pool.reserved.after(event));
        }
        drop(args);
        object.word("name", MEMORY);
        object.word("ph", "i");
        object.number("pid", u64::from(life.pool.0) + 1);
        object.word("s", "t");
        object.number("tid", 0);
        object.micros("ts", model.events.time(event));
    }

    /// A call that was refused: on its stream, else at its pool.
    fn refusal(&self, event: EventIx, record: &Record<'_>, out: &mut Vec<u8>) {
        let (verb, pool, stream) = match *record {
            Record::Refused { verb, pool, stream, .. } => (verb, pool, stream),
            Record::OutOfMemory { pool, stream, .. } => (Verb::Malloc, Some(pool), Some(stream)),
            _ => return,
        };
        let model = self.model;
        let tid = stream.and_then(|stream| self.streams.get(&stream)).map(|stream| stream.0);
        let pool = pool.and_then(|pool| self.pools.get(&pool).copied());
        let (pid, scope) = match (tid, pool) {
            (Some(_), _) => (STREAMS, "t"),
            (None, Some(pool)) => (u64::from(pool.0) + 1, "p"),
            (None, None) => (STREAMS, "p"),
        };
        let mut object = put(out);
        let mut args = object.object("args");
        args.number("number", model.events.number(event));
        if let Some(pool) = pool {
            args.text("pool", &model.pool(pool).id.to_string());
        }
        match refusal_words(record) {
            Some(words) => args.text("why", &words),
            None => args.null("why"),
        }
        drop(args);
        object.word("cat", "refused");
        object.text("name", &format!("{} refused", verb.name()));
        object.word("ph", "i");
        object.number("pid", pid);
        object.word("s", scope);
        object.number("tid", tid.unwrap_or(0));
        object.micros("ts", model.events.time(event));
    }

    /// What happens to a pool.
    fn other(&self, event: EventIx, record: &Record<'_>, kind: &'static str, out: &mut Vec<u8>) {
        let pool = match *record {
            Record::Mapped { pool, .. }
            | Record::MappedInOrder { pool, .. }
            | Record::Unmapped { pool, .. }
            | Record::UnmappedInOrder { pool, .. }
            | Record::PoolDestroyed { pool, .. }
            | Record::Trimmed { pool, .. } => Some(pool),
            _ => None,
        };
        let Some(pool) = pool.and_then(|pool| self.pools.get(&pool).copied()) else { return };
        let mut object = put(out);
        object.object("args").number("number", self.model.events.number(event));
        object.word("cat", POOL);
        object.word("name", kind);
        object.word("ph", "i");
        object.number("pid", u64::from(pool.0) + 1);
        object.word("s", "p");
        object.number("tid", 0);
        object.micros("ts", self.model.events.time(event));
    }

    /// A pool's sums, where the record changes them.
    fn counter(&self, event: EventIx, at: PoolIx, out: &mut Vec<u8>) {
        let (model, pool) = (self.model, self.model.pool(at));
        let (used, reserved) = (pool.used.after(event), pool.reserved.after(event));
        if event != EventIx(0) && used == pool.used.before(event) && reserved == pool.reserved.before(event) {
            return;
        }
        let mut object = put(out);
        let mut args = object.object("args");
        if !model.unrecorded.has(Fact::Reserved) {
            args.number("reserved", reserved);
        }
        args.number("used", used);
        drop(args);
        object.word("cat", POOL);
        object.word("name", "memory");
        whose(&mut object, "C", u64::from(at.0) + 1, 0);
        object.micros("ts", model.events.time(event));
    }
}

fn stream_number(model: &Model, stream: StreamIx) -> u64 {
    model.stream(stream).id.raw() & (u64::MAX >> 32)
}
