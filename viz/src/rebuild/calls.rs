//! The program's calls: which record ends one, and making it again.

use super::answers::Answers;
use crate::model::{Death, EventIx, Kind, LifeIx, Model, Payload, Pool, PoolIx, StreamIx};
use std::collections::HashMap;
use weir::driver::NativeStream;
use weir::id::{AllocId, LabelId, PoolId, StreamId};
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
}

impl<'m> Calls<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        let pools = model.pools.iter().enumerate().map(|(at, pool)| (pool.id, PoolIx::next_of(at))).collect();
        let streams = model.streams.iter().enumerate().map(|(at, stream)| (stream.id, StreamIx::next_of(at))).collect();
        Self { model, pools, streams, live: HashMap::new(), made: 0 }
    }

    /// Whether a record is the one that a call of the program's ends with. The others are written on its way.
    pub(super) fn ends_one(model: &Model, at: EventIx) -> bool {
        match model.events.kind(at) {
            // Others change nothing; but where no slot is left for a stream, destroyed ones are asked about.
            Kind::Refused => matches!(
                model.events.payload(at),
                Payload::Other(
                    Record::Refused { verb: Verb::Malloc, pool: Some(_), stream: Some(_), .. }
                        | Record::Refused { verb: Verb::CreateStream, reason: Refusal::ArenaFull(..), .. }
                )
            ),
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

    /// Makes the call that a record ends. What comes of it is seen in the runtime's own log.
    pub(super) fn make<S: Sink>(&mut self, runtime: &Local<'_, Answers<'m>, S>, at: EventIx) {
        match self.model.events.payload(at) {
            Payload::Life(life) if self.model.events.kind(at) == Kind::Malloc => self.malloc(runtime, life),
            Payload::Life(life) => self.free(runtime, life),
            Payload::Other(record) => {
                let done =
                    self.order(runtime, &record) || self.memory(runtime, &record) || self.make_pool(runtime, &record);
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
        let asked = life.asked.unwrap_or(life.given);
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
            Record::Recorded { event, stream, .. } => drop(runtime.record(event, stream)),
            Record::Waited { stream, event, .. } => drop(runtime.wait(stream, event)),
            Record::Queried { event, .. } => drop(runtime.query(event)),
            Record::StreamSynchronized { stream, .. } => drop(runtime.synchronize_stream(stream)),
            Record::EventSynchronized { event, .. } => drop(runtime.synchronize_event(event)),
            Record::DeviceSynchronized { device } => drop(runtime.synchronize_device(device)),
            Record::EventCreated { .. } => drop(runtime.create_event()),
            Record::EventDestroyed { event } => drop(runtime.destroy_event(event)),
            Record::EventReset { event } => drop(runtime.reset_event(event)),
            Record::CaptureSet { stream, capture } => drop(runtime.set_capture(stream, capture)),
            Record::StreamDestroyed { stream } => drop(runtime.destroy_stream(stream)),
            Record::StreamCreated { stream } => self.make_stream(runtime, stream),
            Record::Refused { verb: Verb::CreateStream, .. } => {
                if let Some((device, _)) = self.model.devices.first() {
                    let _ = runtime.create_stream(StreamConfig::new(*device, NativeStream(u64::MAX)));
                }
            }
            _ => return false,
        }
        true
    }

    fn memory<S: Sink>(&self, runtime: &Local<'_, Answers<'m>, S>, record: &Record<'_>) -> bool {
        match *record {
            Record::Use { id, stream, until, .. } => {
                if let Some(ptr) = self.live.get(&id) {
                    let _ = runtime.record_use(*ptr, stream, until);
                }
            }
            Record::OutOfMemory { pool, stream, requested, .. } => self.refused(runtime, pool, stream, requested),
            Record::Refused { verb: Verb::Malloc, pool: Some(pool), stream: Some(stream), size, .. } => {
                self.refused(runtime, pool, stream, size);
            }
            Record::Trimmed { pool, target, .. } => drop(runtime.trim_to(pool, target)),
            Record::AttributeSet { pool, attribute, value } => drop(runtime.set_attribute(pool, attribute, value)),
            _ => return false,
        }
        true
    }

    fn refused<S: Sink>(&self, runtime: &Local<'_, Answers<'m>, S>, pool: PoolId, stream: StreamId, size: Bytes) {
        let _ = runtime.malloc_async(pool, size, stream);
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
