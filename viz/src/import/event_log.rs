//! weir's own log as a program: what the program called, without what the pool made of it.

use super::order::{Order, Place};
use super::program::{Block, Op, Program, Recorded, Tie};
use crate::model::{Death, EventIx, Kind, LifeIx, Model, Payload, PoolIx};
use std::collections::{HashMap, HashSet};
use weir::id::{AllocId, EventId, PoolId, StreamId};
use weir::policy::StreamKind;
use weir::trace::{MapReason, Record, Refusal, Verb};

/// The pool to replay: the one with most allocations, of a device where one is named.
pub(super) fn pool_of(model: &Model, device: Option<usize>) -> Option<PoolIx> {
    let Some(device) = device else { return model.busiest_pool() };
    let on = |at: &usize| {
        let definition = model.pools[*at].definition;
        definition.is_some_and(|definition| definition.config.device.0 as usize == device)
    };
    let pools = (0..model.pools.len()).filter(on);
    pools.max_by_key(|at| (model.pools[*at].lives.len(), std::cmp::Reverse(*at))).map(PoolIx::next_of)
}

/// The program whose calls the log holds, with the allocations of these pools only and the order of all streams.
///
/// Allocations that were refused are left out, for the log cannot say when they would have been freed; so are those that
/// were there before the log begins. What is live when its pool is destroyed is freed there, on its own stream. O(records).
#[must_use]
pub fn program_of(model: &Model, pools: &[PoolIx]) -> Program {
    extract(model, pools, Refusals::Aside)
}

/// As [`program_of`], with the mallocs that were refused as the program tried them, for a replay: what it grants it has
/// back at once.
pub(super) fn tried_program_of(model: &Model, pools: &[PoolIx]) -> Program {
    extract(model, pools, Refusals::Tried)
}

/// What becomes of mallocs that were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusals {
    Aside,
    Tried,
}

fn extract(model: &Model, pools: &[PoolIx], refusals: Refusals) -> Program {
    let mut extraction = Extraction {
        model,
        pools: pools.iter().copied().collect(),
        ids: pools.iter().map(|pool| model.pool(*pool).id).collect(),
        program: Program::default(),
        order: Order::default(),
        streams: HashMap::new(),
        events: HashMap::new(),
        spare: Vec::new(),
        labels: HashMap::new(),
        live: HashMap::new(),
        before: 0,
        refusals,
        tried: 0,
    };
    let mut ends = model.ended_with();
    for at in (0..model.events.len()).map(EventIx::next_of) {
        ends.remove(&at).into_iter().flatten().for_each(|life| extraction.end(life));
        if let Some(op) = extraction.op(at) {
            extraction.program.ops.push(op);
        }
    }
    extraction.finish()
}

/// What a pool made of the program; `None` where the log lacks its settings. O(records).
pub(super) fn recorded(model: &Model, at: PoolIx) -> Option<Recorded> {
    let pool = model.pool(at);
    let config = pool.definition?.config;
    let device = model.devices.iter().find(|(id, _)| *id == config.device).map(|(_, properties)| *properties);
    let lives = || pool.lives.iter().map(|life| model.life(*life));
    let mut recorded = Recorded {
        config,
        device,
        mallocs: lives().filter(|life| life.born().is_some()).count() as u64,
        frees: lives().filter(|life| matches!(life.death, Death::Free { .. })).count() as u64,
        refused: 0,
        peak_used: pool.used.peak().0,
        peak_reserved: pool.reserved.peak().0,
        reuse: pool.by_source.each_ref().map(|mallocs| mallocs.len() as u64),
        waits_inserted: 0,
        created: 0,
        mapped: 0,
    };
    // Waits since the last call ended: the next malloc's.
    let mut waits = 0;
    for event in (0..model.events.len()).map(EventIx::next_of) {
        let record = match model.events.payload(event) {
            Payload::Other(record) => record,
            Payload::Life(life) => {
                recorded.waits_inserted += if model.life(life).pool == at { waits } else { 0 };
                waits = 0;
                continue;
            }
        };
        if let Record::OutOfMemory { pool: of, .. } = record {
            recorded.waits_inserted += if of == pool.id { waits } else { 0 };
            waits = 0;
        }
        match record {
            Record::OutOfMemory { pool: of, .. } | Record::Refused { verb: Verb::Malloc, pool: Some(of), .. }
                if of == pool.id =>
            {
                recorded.refused += 1;
            }
            Record::WaitInserted { .. } => waits += 1,
            Record::Mapped { pool: of, granules, reason, .. }
            | Record::MappedInOrder { pool: of, granules, reason, .. }
                if of == pool.id =>
            {
                recorded.mapped += u64::from(granules);
                recorded.created += if reason == MapReason::Remap { 0 } else { u64::from(granules) };
            }
            _ => {}
        }
    }
    Some(recorded)
}

struct Extraction<'m> {
    model: &'m Model,
    pools: HashSet<PoolIx>,
    ids: HashSet<PoolId>,
    program: Program,
    order: Order,
    /// By slot: a slot is given away only when all work of the stream before is complete.
    streams: HashMap<u32, usize>,
    events: HashMap<EventId, usize>,
    /// Numbers of events that are gone; the next ones to be recorded have them.
    spare: Vec<usize>,
    labels: HashMap<u32, u32>,
    live: HashMap<AllocId, (usize, Place)>,
    /// Frees of what was allocated before the log.
    before: u64,
    refusals: Refusals,
    /// Refused mallocs that are tried.
    tried: u64,
}

impl Extraction<'_> {
    fn op(&mut self, at: EventIx) -> Option<Op> {
        let record = match self.model.events.payload(at) {
            Payload::Life(life) if self.model.events.kind(at) == Kind::Malloc => return self.malloc(life),
            Payload::Life(life) => return self.free(life),
            Payload::Other(record) => record,
        };
        if let Record::Mark { .. } = record {
            return Some(self.mark(at));
        }
        self.order_op(&record).or_else(|| self.other_op(&record))
    }

    fn malloc(&mut self, at: LifeIx) -> Option<Op> {
        let life = self.model.life(at);
        if !self.pools.contains(&life.pool) {
            return None;
        }
        let stream = self.stream(self.model.stream(life.stream).id);
        let block = self.program.blocks.len();
        self.live.insert(life.id, (block, self.order.step(stream)));
        let size = life.asked().unwrap_or(life.given).0;
        self.program.blocks.push(Block { size, stream, tie: Tie::Logged });
        let name = self.model.name(life.name);
        if !name.is_empty() {
            let labels = &mut self.program.labels;
            let label = *self.labels.entry(life.name.0).or_insert_with(|| {
                labels.push(name.to_owned());
                u32::try_from(labels.len()).unwrap_or(0)
            });
            self.program.labelled.resize(block, 0);
            self.program.labelled.push(label);
        }
        Some(Op::Allocate { block })
    }

    fn free(&mut self, at: LifeIx) -> Option<Op> {
        let life = self.model.life(at);
        let Death::Free { stream, .. } = life.death else { return None };
        if !self.pools.contains(&life.pool) {
            return None;
        }
        let Some((block, place)) = self.live.remove(&life.id) else {
            self.before += 1;
            return None;
        };
        let stream = self.stream(self.model.stream(stream).id);
        if !self.order.reached(stream, place) {
            self.program.blocks[block].tie = Tie::Assumed;
        }
        self.order.step(stream);
        Some(Op::Free { block, stream })
    }

    /// A malloc that was refused, and its free right behind it.
    fn attempt(&mut self, stream: StreamId, size: u64) -> Op {
        let (stream, block) = (self.stream(stream), self.program.blocks.len());
        self.tried += 1;
        self.order.step(stream);
        self.program.blocks.push(Block { size, stream, tie: Tie::Logged });
        self.program.ops.push(Op::Allocate { block });
        Op::Free { block, stream }
    }

    /// Frees a block that ends with its pool, where it is of these pools.
    fn end(&mut self, at: LifeIx) {
        let life = self.model.life(at);
        if !self.pools.contains(&life.pool) {
            return;
        }
        if let Some((block, _)) = self.live.remove(&life.id) {
            let Block { stream, tie, .. } = &mut self.program.blocks[block];
            *tie = Tie::Ended;
            self.program.ops.push(Op::Free { block, stream: *stream });
        }
    }

    fn order_op(&mut self, record: &Record<'_>) -> Option<Op> {
        Some(match *record {
            Record::Recorded { event, stream, .. } => {
                let (event, stream) = (self.event(event), self.stream(stream));
                self.order.record(event, stream);
                Op::Record { event, stream }
            }
            Record::Waited { stream, event, .. } => {
                // One that was never recorded adds nothing.
                let event = *self.events.get(&event)?;
                let stream = self.stream(stream);
                self.order.wait(stream, event);
                Op::Wait { stream, event }
            }
            Record::StreamSynchronized { stream, .. } => {
                let stream = self.stream(stream);
                self.order.sync_stream(stream);
                Op::SyncStream { stream }
            }
            Record::EventSynchronized { event, .. } | Record::Queried { event, complete: true, .. } => {
                let event = *self.events.get(&event)?;
                self.order.sync_event(event);
                Op::SyncEvent { event }
            }
            Record::DeviceSynchronized { .. } => {
                self.order.sync_device();
                Op::SyncDevice
            }
            _ => return None,
        })
    }

    fn other_op(&mut self, record: &Record<'_>) -> Option<Op> {
        match *record {
            Record::Use { id, stream, until, .. } => {
                let (block, _) = *self.live.get(&id)?;
                let stream = self.stream(stream);
                Some(Op::Use { block, stream, until })
            }
            Record::OutOfMemory { pool, stream, requested: size, .. }
            | Record::Refused {
                verb: Verb::Malloc,
                pool: Some(pool),
                stream: Some(stream),
                size,
                // What a pool of other settings may grant.
                reason: Refusal::AboveLimit(_) | Refusal::NoAddressRange(_) | Refusal::Overflow,
            } if self.refusals == Refusals::Tried && self.ids.contains(&pool) && size.0 > 0 => {
                Some(self.attempt(stream, size.0))
            }
            Record::OutOfMemory { pool, .. } | Record::Refused { verb: Verb::Malloc, pool: Some(pool), .. }
                if self.ids.contains(&pool) =>
            {
                self.program.aside.failures += 1;
                Some(Op::Nothing)
            }
            // A reset event stands for nothing: as one that is not there yet.
            Record::EventReset { event } | Record::EventDestroyed { event } => {
                self.spare.extend(self.events.remove(&event));
                None
            }
            _ => None,
        }
    }

    fn mark(&mut self, at: EventIx) -> Op {
        let marks = &self.model.marks;
        let found = marks.binary_search_by_key(&at, |mark| mark.event).ok();
        self.program.marks.push(found.map(|found| self.model.name(marks[found].name).to_owned()));
        self.program.measured_from = self.program.ops.len() + 1;
        Op::Mark { number: self.program.marks.len() }
    }

    fn stream(&mut self, id: StreamId) -> usize {
        let streams = &mut self.program.streams;
        *self.streams.entry(id.raw() as u32).or_insert_with(|| {
            streams.push(id.raw());
            streams.len() - 1
        })
    }

    fn event(&mut self, id: EventId) -> usize {
        let events = &mut self.program.events;
        let spare = &mut self.spare;
        *self.events.entry(id).or_insert_with(|| {
            spare.pop().unwrap_or_else(|| {
                *events += 1;
                *events - 1
            })
        })
    }

    fn finish(self) -> Program {
        let Self { mut program, model, pools, before, tried, .. } = self;
        let mut note = |text: String| program.notes.push(text);
        if model.pools.len() > pools.len() {
            note(format!("the log has {} pools; the allocations of {} are looked at", model.pools.len(), pools.len()));
        }
        if tried > 0 {
            note(format!(
                "{tried} mallocs that the log refused are tried again; where one is granted it is freed at once, for the log \
                 cannot say how long it would have lived"
            ));
        }
        if before > 0 {
            note(format!("{before} frees are left out, of what was allocated before the log begins"));
        }
        let tied = |kind| kind != StreamKind::NonBlocking;
        if model.streams.iter().any(|stream| stream.definition.is_some_and(|(_, kind)| tied(kind))) {
            note("what default streams order without events is left out: all streams count as non-blocking".to_owned());
        }
        program
    }
}
