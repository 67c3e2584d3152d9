//! Chrome's trace events, which Perfetto opens: a process for each pool with counters of its memory and the lifetimes of its
//! allocations; a thread for each stream with a slice for each call; arrows from the free of a block to the malloc that gets
//! its memory, and from a recorded event to the wait for it.
//!
//! Events named `[memory]`, as Kineto writes them, say the same once more for tools that read those; weir reads them, too.

use super::{base, device, pools_by_id, streams_by_id};
use crate::import::{KINETO_BESIDE, MARK, MEMORY, POOL};
use crate::model::{EventIx, Fact, LifeIx, Model, Payload, PoolIx, StreamIx};
use crate::report::refusal_words;
use foldhash::HashMap;
use serde_json::{Value, json};
use std::io::{Result, Write};
use weir::id::{PoolId, StreamId};
use weir::trace::{Record, Verb};

/// The longest slice of a call. Calls have no length in the log.
const LONGEST: u64 = 1_000;
/// The process of the streams; pools count from 1.
const STREAMS: u64 = 0;

pub(super) fn write(model: &Model, out: &mut impl Write) -> Result<()> {
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut changes = changes(model).into_iter().peekable();
    let mut trace = Trace {
        model,
        out,
        first: true,
        calls: calls(model),
        streams: streams_by_id(model),
        pools: pools_by_id(model),
        ended: model.ended_with(),
        flows: 0,
        recorded: HashMap::default(),
    };
    trace.names()?;
    for at in 0..model.events.len() {
        let event = EventIx::next_of(at);
        trace.event(event)?;
        while let Some((_, pool)) = changes.next_if(|change| change.0 == event) {
            trace.counter(event, pool)?;
        }
    }
    trace.out.write_all(b"\n]}\n")
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

/// When the slice of each call begins and how long it is, so that none overlap on a stream and none begins before an
/// earlier one.
fn calls(model: &Model) -> HashMap<EventIx, (u64, u64)> {
    let mut last: HashMap<StreamId, (EventIx, u64)> = HashMap::default();
    let (mut slices, mut latest) = (HashMap::default(), 0);
    for (event, stamped) in super::records(model) {
        let Some(stream) = stream_of(&stamped.record) else { continue };
        let mut begin = stamped.time.0.max(latest);
        if let Some((before, begun)) = last.get(&stream) {
            // What has the same time is drawn a nanosecond apart.
            begin = begin.max(begun + 1);
            slices.insert(*before, (*begun, (begin - begun).min(LONGEST)));
        }
        slices.insert(event, (begin, LONGEST));
        last.insert(stream, (event, begin));
        latest = begin;
    }
    slices
}

/// The stream whose call a record is.
const fn stream_of(record: &Record<'_>) -> Option<StreamId> {
    match *record {
        Record::Malloc { stream, .. }
        | Record::Free { stream, .. }
        | Record::Use { stream, .. }
        | Record::Recorded { stream, .. }
        | Record::Waited { stream, .. }
        | Record::WaitInserted { stream, .. }
        | Record::StreamSynchronized { stream, .. }
        | Record::Blocked { stream, .. } => Some(stream),
        _ => None,
    }
}

/// Which end of a lifetime is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Begins,
    Freed,
    /// With its pool.
    WithPool,
}

struct Trace<'m, 'w, W: Write> {
    model: &'m Model,
    out: &'w mut W,
    first: bool,
    calls: HashMap<EventIx, (u64, u64)>,
    streams: HashMap<StreamId, StreamIx>,
    pools: HashMap<PoolId, PoolIx>,
    /// What ends without a call of its own.
    ended: HashMap<EventIx, Vec<LifeIx>>,
    flows: u64,
    /// The latest recording of each event, by event and number.
    recorded: HashMap<(u64, u64), EventIx>,
}

impl<W: Write> Trace<'_, '_, W> {
    fn put(&mut self, event: &Value) -> Result<()> {
        self.out.write_all(if std::mem::take(&mut self.first) { b"\n" } else { b",\n" })?;
        write!(self.out, "{event}")
    }

    fn names(&mut self) -> Result<()> {
        let model = self.model;
        self.put(&json!({ "ph": "M", "name": "process_name", "pid": STREAMS, "args": { "name": "streams" } }))?;
        for (at, pool) in model.pools.iter().enumerate() {
            let device = device(model, PoolIx::next_of(at));
            let name = format!("pool {} on device {device}", pool.id);
            self.put(&json!({ "ph": "M", "name": "process_name", "pid": at + 1, "args": { "name": name } }))?;
        }
        for (at, stream) in model.streams.iter().enumerate() {
            let name = match model.unrecorded.has(Fact::Streams) {
                true => "stream not recorded".to_owned(),
                false => format!("stream {}", stream.id),
            };
            self.put(
                &json!({ "ph": "M", "name": "thread_name", "pid": STREAMS, "tid": at, "args": { "name": name } }),
            )?;
        }
        Ok(())
    }

    fn event(&mut self, event: EventIx) -> Result<()> {
        let model = self.model;
        let stamped = model.record(event);
        let kind = model.events.kind(event).name();
        for life in self.ended.remove(&event).unwrap_or_default() {
            self.life(event, life, End::WithPool)?;
        }
        if let Some(stream) = stream_of(&stamped.record) {
            self.slice(event, stream, kind, &stamped.record)?;
        }
        match (stamped.record, model.events.payload(event)) {
            (Record::Malloc { .. }, Payload::Life(life)) => self.life(event, life, End::Begins)?,
            (Record::Free { .. }, Payload::Life(life)) => self.life(event, life, End::Freed)?,
            (Record::Recorded { event: id, number, .. }, _) => {
                self.recorded.insert((id.raw(), number), event);
            }
            (Record::Waited { event: id, number, .. }, _) => {
                if let Some(from) = self.recorded.get(&(id.raw(), number)).copied() {
                    self.arrow("wait", from, event)?;
                }
            }
            (Record::Mark { name, .. }, _) => {
                let (name, ts) = (name.to_owned(), micros(stamped.time.0));
                self.put(
                    &json!({ "ph": "i", "s": "g", "cat": MARK, "name": name, "pid": STREAMS, "tid": 0, "ts": ts }),
                )?;
            }
            (record @ (Record::OutOfMemory { .. } | Record::Refused { .. }), _) => self.refusal(event, &record)?,
            (record, _) => self.other(event, &record, kind)?,
        }
        Ok(())
    }

    /// A call on a stream, and the arrows that end there.
    fn slice(&mut self, event: EventIx, stream: StreamId, kind: &str, record: &Record<'_>) -> Result<()> {
        let (begin, length) = self.calls.get(&event).copied().unwrap_or_default();
        let tid = self.streams.get(&stream).map_or(0, |stream| stream.0);
        let number = self.model.events.number(event);
        let mut args = json!({ "number": number });
        if let (Record::Malloc { id, given, .. } | Record::Free { id, given, .. }, Some(args)) =
            (record, args.as_object_mut())
        {
            args.insert("allocation".into(), json!(id.0));
            args.insert("bytes".into(), json!(given.0));
        }
        self.put(&json!({
            "ph": "X", "cat": "call", "name": kind, "pid": STREAMS, "tid": tid,
            "ts": micros(begin), "dur": micros(length), "args": args
        }))
    }

    fn arrow(&mut self, name: &str, from: EventIx, to: EventIx) -> Result<()> {
        let place = |event: EventIx| {
            let stream = stream_of(&self.model.record(event).record)?;
            let tid = self.streams.get(&stream)?.0;
            Some((tid, self.calls.get(&event)?.0))
        };
        let (Some((from_tid, from)), Some((to_tid, to))) = (place(from), place(to)) else { return Ok(()) };
        self.flows += 1;
        let id = self.flows;
        let end = |ph, tid, ts| {
            let mut end = json!({ "ph": ph, "cat": "order", "name": name, "id": id, "pid": STREAMS, "tid": tid, "ts": micros(ts) });
            if let (true, Some(end)) = (ph == "f", end.as_object_mut()) {
                end.insert("bp".into(), json!("e"));
            }
            end
        };
        self.put(&end("s", from_tid, from))?;
        self.put(&end("f", to_tid, to))
    }

    /// The beginning or end of a lifetime, and where its memory comes from.
    fn life(&mut self, event: EventIx, at: LifeIx, end: End) -> Result<()> {
        let model = self.model;
        let life = model.life(at);
        let label = model.name(life.name);
        let name = if label.is_empty() { format!("{} B", life.given.0) } else { label.to_owned() };
        let time = micros(model.events.time(event));
        let born = end == End::Begins;
        let (ph, pid) = (if born { "b" } else { "e" }, life.pool.0 + 1);
        let stream = Some(stream_number(model, life.stream)).filter(|_| !model.unrecorded.has(Fact::Streams));
        let source = life.source.map_or("not recorded", weir::trace::Source::name);
        if born || life.born().is_some() {
            self.put(&json!({
                "ph": ph, "cat": "allocation", "id": life.id.0, "name": name, "pid": pid, "tid": 0, "ts": time,
                "args": { "bytes": life.given.0, "source": source, "stream": stream }
            }))?;
        }
        self.memory(event, at, end)?;
        if born && !model.unrecorded.has(Fact::Addresses) {
            for link in model.came_from(at) {
                if let crate::model::Death::Free { event: freed, .. } = model.life(link.life).death {
                    self.arrow("reuse", freed, event)?;
                }
            }
        }
        Ok(())
    }

    /// As Kineto says it.
    fn memory(&mut self, event: EventIx, at: LifeIx, end: End) -> Result<()> {
        let model = self.model;
        let life = model.life(at);
        let bytes = i64::try_from(life.asked().unwrap_or(life.given).0).unwrap_or(i64::MAX);
        let pool = model.pool(life.pool);
        let mut args = json!({
            "Device Type": 1,
            "Device Id": device(model, life.pool),
            "Bytes": if end == End::Begins { bytes } else { -bytes },
            "Total Allocated": pool.used.after(event),
        });
        if let Some(args) = args.as_object_mut() {
            let [pool_key, given, with_pool] = KINETO_BESIDE;
            args.insert(pool_key.into(), json!(life.pool.0));
            if life.asked().is_some_and(|asked| asked != life.given) {
                args.insert(given.into(), json!(life.given.0));
            }
            if end == End::WithPool {
                args.insert(with_pool.into(), json!(true));
            }
            if !model.unrecorded.has(Fact::Addresses) {
                args.insert("Addr".into(), json!(base(model, life.pool).wrapping_add(life.offset.0)));
            }
            if !model.unrecorded.has(Fact::Reserved) {
                args.insert("Total Reserved".into(), json!(pool.reserved.after(event)));
            }
            if !model.unrecorded.has(Fact::Streams) {
                args.insert("Stream".into(), json!(stream_number(model, life.stream)));
            }
        }
        let (pid, ts) = (life.pool.0 + 1, micros(model.events.time(event)));
        self.put(&json!({ "ph": "i", "s": "t", "name": MEMORY, "pid": pid, "tid": 0, "ts": ts, "args": args }))
    }

    /// A call that was refused: on its stream, else at its pool.
    fn refusal(&mut self, event: EventIx, record: &Record<'_>) -> Result<()> {
        let (verb, pool, stream) = match *record {
            Record::Refused { verb, pool, stream, .. } => (verb, pool, stream),
            Record::OutOfMemory { pool, stream, .. } => (Verb::Malloc, Some(pool), Some(stream)),
            _ => return Ok(()),
        };
        let model = self.model;
        let tid = stream.and_then(|stream| self.streams.get(&stream)).map(|stream| stream.0);
        let pool = pool.and_then(|pool| self.pools.get(&pool).copied());
        let (pid, scope) = match (tid, pool) {
            (Some(_), _) => (STREAMS, "t"),
            (None, Some(pool)) => (u64::from(pool.0) + 1, "p"),
            (None, None) => (STREAMS, "p"),
        };
        let ts = micros(model.events.time(event));
        let mut args = json!({ "number": model.events.number(event), "why": refusal_words(record) });
        if let (Some(pool), Some(args)) = (pool, args.as_object_mut()) {
            args.insert("pool".into(), json!(model.pool(pool).id.to_string()));
        }
        self.put(&json!({
            "ph": "i", "s": scope, "cat": "refused", "name": format!("{} refused", verb.name()), "pid": pid,
            "tid": tid.unwrap_or(0), "ts": ts, "args": args
        }))
    }

    /// What happens to a pool.
    fn other(&mut self, event: EventIx, record: &Record<'_>, kind: &str) -> Result<()> {
        let pool = match *record {
            Record::Mapped { pool, .. }
            | Record::MappedInOrder { pool, .. }
            | Record::Unmapped { pool, .. }
            | Record::UnmappedInOrder { pool, .. }
            | Record::PoolDestroyed { pool, .. }
            | Record::Trimmed { pool, .. } => Some(pool),
            _ => None,
        };
        let Some(pool) = pool.and_then(|pool| self.pools.get(&pool).copied()) else { return Ok(()) };
        let (pid, ts) = (pool.0 + 1, micros(self.model.events.time(event)));
        let number = self.model.events.number(event);
        self.put(&json!({
            "ph": "i", "s": "p", "cat": POOL, "name": kind, "pid": pid, "tid": 0, "ts": ts, "args": { "number": number }
        }))
    }

    /// A pool's sums, where the record changes them.
    fn counter(&mut self, event: EventIx, at: PoolIx) -> Result<()> {
        let (model, pool) = (self.model, self.model.pool(at));
        let (used, reserved) = (pool.used.after(event), pool.reserved.after(event));
        if event != EventIx(0) && used == pool.used.before(event) && reserved == pool.reserved.before(event) {
            return Ok(());
        }
        let (pid, ts) = (at.0 + 1, micros(model.events.time(event)));
        let mut args = json!({ "used": used });
        if let (false, Some(args)) = (model.unrecorded.has(Fact::Reserved), args.as_object_mut()) {
            args.insert("reserved".into(), json!(reserved));
        }
        self.put(&json!({ "ph": "C", "cat": POOL, "name": "memory", "pid": pid, "tid": 0, "ts": ts, "args": args }))
    }
}

fn stream_number(model: &Model, stream: StreamIx) -> u64 {
    model.stream(stream).id.raw() & (u64::MAX >> 32)
}

/// Microseconds, in which this format counts, with three places.
fn micros(nanos: u64) -> Value {
    let text = format!("{}.{:03}", nanos / 1000, nanos % 1000);
    // Numbers of this form are valid; beyond 2^53 nanoseconds the last places may be lost by readers.
    text.parse::<f64>().map_or(Value::Null, Value::from)
}
