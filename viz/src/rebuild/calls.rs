//! The program's calls: which record ends one, and making it again.

use super::answers::Answers;
use super::refused::{Holes, is_made_again, is_refused_record, marked_before};
use crate::model::{Death, EventIx, Kind, LifeIx, Model, Payload, Pool, PoolIx, StreamIx};
use std::collections::HashMap;
use weir::driver::NativeStream;
use weir::error::{OrderError, Unusable};
use weir::id::{AllocId, EventId, LabelId, PoolId, StreamId};
use weir::policy::Destroy;
use weir::trace::{Record, Refusal, Sink, Verb};
use weir::units::{Bytes, DevicePtr};
use weir::{Local, StreamConfig};

/// Makes a log's calls.
pub(super) struct Calls<'m> {
    model: &'m Model,
    pools: HashMap<PoolId, PoolIx>,
    streams: HashMap<StreamId, StreamIx>,
    /// Live allocations by id: pool and offset are the log's.
    live: HashMap<AllocId, DevicePtr>,
    /// Streams that were made.
    made: u64,
    /// Live events, and whether each stands for anything.
    events: HashMap<EventId, bool>,
    holes: Holes,
}

impl<'m> Calls<'m> {
    pub(super) fn new(model: &'m Model, begin: EventIx) -> Self {
        let pools = model.pools.iter().enumerate().map(|(at, pool)| (pool.id, PoolIx::next_of(at))).collect();
        let streams = model.streams.iter().enumerate().map(|(at, stream)| (stream.id, StreamIx::next_of(at))).collect();
        Self {
            model,
            pools,
            streams,
            live: HashMap::new(),
            made: 0,
            events: HashMap::new(),
            holes: Holes::of(model, begin),
        }
    }

    /// Whether a record is the one that a call of the program's ends with. The others are written on its way.
    pub(super) fn ends_one(model: &Model, at: EventIx) -> bool {
        match model.events.kind(at) {
            // Others change nothing.
            Kind::Refused => is_made_again(model, at),
            kind => matches!(
                kind,
                Kind::PoolCreated
                    | Kind::PoolDestroyed
                    | Kind::StreamCreated
                    | Kind::StreamDestroyed
                    | Kind::CaptureSet
                    | Kind::EventCreated
                    | Kind::EventDestroyed
                    | Kind::EventReset
                    | Kind::AttributeSet
                    | Kind::Malloc
                    | Kind::Free
                    | Kind::Use
                    | Kind::Recorded
                    | Kind::Waited
                    | Kind::Queried
                    | Kind::StreamSynchronized
                    | Kind::EventSynchronized
                    | Kind::DeviceSynchronized
                    | Kind::Trimmed
                    | Kind::OutOfMemory
                    | Kind::Mark
            ),
        }
    }

    /// Makes the call that a record ends, if it ends one; answers the record behind what was made. What comes of it is
    /// seen in the runtime's own log.
    pub(super) fn follow<S: Sink>(&mut self, runtime: &Local<'_, Answers<'m>, S>, at: EventIx) -> EventIx {
        if let Some(end) = self.holes.around(at) {
            self.make_around(runtime, at, end);
            return EventIx(end.0 + 1);
        }
        if Self::ends_one(self.model, at) {
            runtime.driver().expect(at);
            self.make(runtime, at);
        }
        EventIx(at.0 + 1)
    }

    /// A record of an event in the middle of which the calls from `at` on are made; `end` is its own record, or says that
    /// it was refused.
    fn make_around<S: Sink>(&mut self, runtime: &Local<'_, Answers<'m>, S>, at: EventIx, end: EventIx) {
        let Payload::Other(record) = self.model.events.payload(end) else { return };
        let (event, stream, outcome) = match record {
            Record::Recorded { event, stream, .. } => (Some(event), Some(stream), Ok(())),
            refused => (self.event_at(end), is_refused_record(&refused), Err(unusable())),
        };
        let (Some(event), Some(stream)) = (event, stream) else { return };
        self.holes.begun(at);
        // A marker that is due before the record may be what fails.
        runtime.driver().expect(at);
        let _ = runtime.record_with(event, stream, || {
            self.make(runtime, at);
            let mut at = EventIx(at.0 + 1);
            while at < end {
                at = self.follow(runtime, at);
            }
            outcome
        });
        if outcome.is_ok() {
            self.events.insert(event, true);
        }
    }

    fn make<S: Sink>(&mut self, runtime: &Local<'_, Answers<'m>, S>, at: EventIx) {
        match self.model.events.payload(at) {
            Payload::Life(life) if self.model.events.kind(at) == Kind::Malloc => self.malloc(runtime, life),
            Payload::Life(life) => self.free(runtime, life),
            Payload::Other(record) => {
                let done = self.order(runtime, &record)
                    || self.refused(runtime, at, &record)
                    || self.memory(runtime, &record)
                    || self.make_pool(runtime, &record);
                if !done && self.model.events.kind(at) == Kind::Mark {
                    let found = self.model.marks.binary_search_by_key(&at, |mark| mark.event).ok();
                    let name = found.map_or("", |found| self.model.name(self.model.marks[found].name));
                    let _ = runtime.mark(name);
                }
            }
        }
    }

    fn malloc<S: Sink>(&mut self, runtime: &Local<'_, Answers<'m>, S>, at: LifeIx) {
        let life = self.model.life(at);
        let (pool, stream) = (self.model.pool(life.pool), self.model.stream(life.stream).id);
        let name = self.model.name(life.name);
        let label = if name.is_empty() { LabelId::NONE } else { runtime.label(name).unwrap_or(LabelId::NONE) };
        let asked = life.asked().unwrap_or(life.given);
        if let Ok(ptr) = runtime.malloc_labelled(pool.id, asked, stream, label) {
            self.live.insert(life.id, ptr);
        }
    }

    fn free<S: Sink>(&mut self, runtime: &Local<'_, Answers<'m>, S>, at: LifeIx) {
        let life = self.model.life(at);
        let Death::Free { stream, .. } = life.death else { return };
        if let Some(ptr) = self.live.remove(&life.id) {
            let _ = runtime.free_async(ptr, self.model.stream(stream).id);
        }
    }

    fn order<S: Sink>(&mut self, runtime: &Local<'_, Answers<'m>, S>, record: &Record<'_>) -> bool {
        // What a call answers is in the log that it writes.
        match *record {
            Record::Recorded { event, stream, .. } => {
                let _ = runtime.record(event, stream);
                self.events.insert(event, true);
            }
            Record::Waited { stream, event, .. } => drop(runtime.wait(stream, event)),
            Record::Queried { event, .. } => drop(runtime.query(event)),
            Record::StreamSynchronized { stream, .. } => drop(runtime.synchronize_stream(stream)),
            Record::EventSynchronized { event, .. } => drop(runtime.synchronize_event(event)),
            Record::DeviceSynchronized { device } => drop(runtime.synchronize_device(device)),
            Record::EventCreated { event } => {
                let _ = runtime.create_event();
                self.events.insert(event, false);
            }
            Record::EventDestroyed { event } => {
                let _ = runtime.destroy_event(event);
                self.events.remove(&event);
            }
            Record::EventReset { event } => {
                let _ = runtime.reset_event(event);
                self.events.insert(event, false);
            }
            Record::CaptureSet { stream, capture } => drop(runtime.set_capture(stream, capture)),
            Record::StreamDestroyed { stream } => drop(runtime.destroy_stream(stream)),
            Record::StreamCreated { stream } => self.make_stream(runtime, stream),
            _ => return false,
        }
        true
    }

    /// Refused calls that left something behind.
    fn refused<S: Sink>(&mut self, runtime: &Local<'_, Answers<'m>, S>, at: EventIx, record: &Record<'_>) -> bool {
        let Record::Refused { verb, pool, stream, size, reason } = *record else { return false };
        match (verb, reason, stream) {
            (Verb::Malloc, _, Some(stream)) => {
                let _ = pool.map(|pool| runtime.malloc_async(pool, size, stream));
            }
            (Verb::CreateStream, ..) => {
                if let Some((device, _)) = self.model.devices.first() {
                    let _ = runtime.create_stream(StreamConfig::new(*device, NativeStream(u64::MAX)));
                }
            }
            (Verb::Record, Refusal::Driver(_), Some(stream)) => {
                let event = self.event_at(at);
                if let Some(event) = event {
                    let _ = match self.failed(at) {
                        true => runtime.record(event, stream),
                        false => runtime.record_with(event, stream, || Err(unusable())),
                    };
                }
            }
            // Which event it waits for changes nothing.
            (Verb::Wait, Refusal::Driver(_), Some(stream)) => {
                if let Some(event) = self.some_event() {
                    let _ = match self.failed(at) {
                        true => runtime.wait(stream, event),
                        false => runtime.wait_with(stream, event, |_| Err(unusable())),
                    };
                }
            }
            // Of an event that is none, behind a marker.
            (Verb::Record | Verb::Wait, ..) => {
                if let Some(stream) = marked_before(self.model, at) {
                    let _ = runtime.wait(stream, EventId::from_raw(u64::MAX));
                }
            }
            _ => {}
        }
        true
    }

    /// Whether the record before says that the driver failed: a layer's vendor does not.
    fn failed(&self, at: EventIx) -> bool {
        at.0 > 0 && self.model.events.kind(EventIx(at.0 - 1)) == Kind::DriverFailed
    }

    /// The event of a refused record. Where no number is missing it was one that is not recorded again, and which one
    /// changes nothing.
    fn event_at(&self, refusal: EventIx) -> Option<EventId> {
        let place = |event: &EventId| event.raw() as u32;
        let events = || self.events.keys().copied();
        match self.holes.event_of(refusal) {
            Some(known) => events().find(|event| place(event) == known),
            None => events().filter(|event| !self.holes.is_recorded_behind(place(event), refusal)).max_by_key(place),
        }
    }

    /// A live event, one that was recorded if there is one.
    fn some_event(&self) -> Option<EventId> {
        self.events.iter().max_by_key(|(event, recorded)| (**recorded, event.raw())).map(|(event, _)| *event)
    }

    fn memory<S: Sink>(&self, runtime: &Local<'_, Answers<'m>, S>, record: &Record<'_>) -> bool {
        match *record {
            Record::Use { id, stream, until, .. } => {
                if let Some(ptr) = self.live.get(&id) {
                    let _ = runtime.record_use(*ptr, stream, until);
                }
            }
            Record::OutOfMemory { pool, stream, requested, .. } => drop(runtime.malloc_async(pool, requested, stream)),
            Record::Trimmed { pool, target, .. } => drop(runtime.trim_to(pool, target)),
            Record::AttributeSet { pool, attribute, value } => drop(runtime.set_attribute(pool, attribute, value)),
            _ => return false,
        }
        true
    }

    fn make_pool<S: Sink>(&self, runtime: &Local<'_, Answers<'m>, S>, record: &Record<'_>) -> bool {
        match *record {
            Record::PoolCreated { pool } => {
                let definition = self.pools.get(&pool).and_then(|at| self.pool(*at).definition);
                if let Some(definition) = definition {
                    runtime.driver().next_base(definition.base);
                    let _ = runtime.create_pool(definition.config);
                }
            }
            Record::PoolDestroyed { pool, leaked } => {
                let how = if leaked == Bytes::ZERO { Destroy::IfEmpty } else { Destroy::WithLiveBlocks };
                let _ = runtime.destroy_pool(pool, how);
            }
            _ => return false,
        }
        true
    }

    fn pool(&self, at: PoolIx) -> &'m Pool {
        self.model.pool(at)
    }

    fn make_stream<S: Sink>(&mut self, runtime: &Local<'_, Answers<'m>, S>, stream: StreamId) {
        let definition = self.streams.get(&stream).and_then(|at| self.model.stream(*at).definition);
        if let Some((device, kind)) = definition {
            self.made += 1;
            // Which context it is of is not recorded: all are taken to be of one.
            let config = StreamConfig { device, native: NativeStream(self.made), kind, context: 0 };
            let _ = runtime.create_stream(config);
        }
    }
}

/// What a layer's vendor says that refuses: it is passed on, and means nothing here.
const fn unusable() -> OrderError {
    OrderError::Unusable(Unusable::Busy)
}
