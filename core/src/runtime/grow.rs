//! Growing: granules are taken from settled free blocks of the pool, or created, and mapped where a malloc needs them.

use super::place::Moving;
use super::{Action, Answer, Outcome, State};
use crate::block::{self, Class};
use crate::driver::DriverError;
use crate::error::ArenaFull;
use crate::id::DeviceId;
use crate::order::{Mark, Points};
use crate::plant::{self, Plant};
use crate::release;
use crate::reuse::{Ask, Edge, Growth};
use crate::trace::{MapReason, Record, UnmapReason};
use crate::units::{Bytes, DevicePtr};

/// What the driver is doing for a growth.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Nothing,
    Taking { granule: usize },
    Creating { granule: usize },
    Mapping { granule: usize, reason: MapReason },
    UndoingMap { granule: usize },
    Discarding { granule: usize },
}

/// A growth in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grow {
    pool: usize,
    stream: usize,
    call: u64,
    /// The addresses that are being mapped, in transit.
    run: usize,
    edge: Option<Edge>,
    from: u64,
    at: u64,
    to: u64,
    doing: Doing,
    moving: Option<Moving>,
    taken: u32,
    mapped: (MapReason, u32),
    /// Why it is being undone.
    failure: Option<Failure>,
}

/// Why a growth did not come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The limit leaves no room, and no granule can be moved.
    NoRoom,
    Driver(DriverError),
    Arena(ArenaFull),
}

/// What a growth wants next.
pub(super) enum Grown {
    Do(Action),
    /// The block, in transit: run and edge together.
    Ready {
        block: usize,
        edge: Option<Edge>,
    },
    Failed(Failure),
}

impl State<'_> {
    /// Puts the place in transit, if the granules for it can be had.
    pub(super) fn begin_grow(&mut self, ask: &Ask, growth: Growth, call: u64) -> Result<Grow, Failure> {
        let bytes = growth.bytes();
        let spared = growth.edge.map(Edge::block);
        let headroom = self.facts.pool(ask.pool).headroom();
        if headroom < bytes {
            let movable = release::available(&self.facts, ask.pool, spared);
            if headroom.saturating_add(movable) < bytes {
                return Err(Failure::NoRoom);
            }
        }
        let run = self.facts.carve(growth.hole, growth.from, growth.to).map_err(Failure::Arena)?;
        if let Some(edge) = spared {
            self.facts.unlist(edge);
            self.facts.describe(edge, |b| b.state = block::State::Transit);
        }
        let pool = self.facts.pool_mut(ask.pool);
        pool.begin_transit();
        let (offset, granularity) = (Bytes(growth.from.wrapping_sub(pool.base)), pool.granularity);
        let granules = bytes.checked_div(granularity).unwrap_or(0) as u32;
        let (pool, stream) = (self.facts.pool_id(ask.pool), self.facts.order.stream_id(ask.stream));
        self.record(Record::GrowPlanned { pool, stream, call, offset, granules });
        Ok(Grow {
            pool: ask.pool,
            stream: ask.stream,
            call,
            run,
            edge: growth.edge,
            from: growth.from,
            at: growth.from,
            to: growth.to,
            doing: Doing::Nothing,
            moving: None,
            taken: 0,
            mapped: (MapReason::Grow, 0),
            failure: None,
        })
    }
}

impl Grow {
    pub(super) fn advance(&mut self, state: &mut State<'_>, ask: &Ask, outcome: Option<Outcome>) -> Grown {
        if let Some(outcome) = outcome {
            self.commit(state, outcome);
        }
        if self.failure.is_some() {
            return self.undo(state);
        }
        if self.at == self.to && matches!(self.doing, Doing::Nothing) {
            self.end_taking(state);
            self.log_mapped(state);
            state.facts.pool_mut(self.pool).end_transit();
            return Grown::Ready { block: self.run, edge: self.edge };
        }
        match self.next(state, ask) {
            Ok(action) => Grown::Do(action),
            Err(failure) => {
                self.failure = Some(failure);
                self.undo(state)
            }
        }
    }

    fn commit(&mut self, state: &mut State<'_>, outcome: Outcome) {
        let granularity = state.facts.pool(self.pool).granularity;
        let doing = core::mem::replace(&mut self.doing, Doing::Nothing);
        if let Err(error) = outcome {
            self.commit_failure(state, doing, error);
            return;
        }
        match doing {
            Doing::Taking { granule } => {
                state.facts.granules.unmapped(granule);
                self.taken = self.taken.wrapping_add(1);
                if let Some(moving) = &mut self.moving {
                    moving.at = moving.at.wrapping_add(granularity);
                }
                self.doing = Doing::Mapping { granule, reason: MapReason::Remap };
            }
            Doing::Creating { granule } => {
                if let Ok(Answer::Handle(handle)) = outcome {
                    state.facts.granules.created(granule, handle);
                }
                let pool = state.facts.pool_mut(self.pool);
                pool.coming = pool.coming.saturating_sub(granularity);
                pool.add_reserved(granularity);
                if plant::on(Plant::ReservedTwice) {
                    pool.add_reserved(granularity);
                }
                self.doing = Doing::Mapping { granule, reason: MapReason::Grow };
            }
            Doing::Mapping { granule, reason } => {
                if !state.facts.granules.mapped(granule, self.at) {
                    state.fail("granule lookup is full");
                }
                self.count_mapped(state, reason);
                if plant::on(Plant::DoubleMap) && self.at == self.from && self.to.wrapping_sub(self.at) > granularity {
                    return;
                }
                self.at = self.at.wrapping_add(granularity);
            }
            Doing::UndoingMap { granule } => {
                state.facts.granules.unmapped(granule);
                self.at = self.at.wrapping_sub(granularity);
                self.doing = Doing::Discarding { granule };
            }
            Doing::Discarding { granule } => {
                state.facts.granules.end(granule);
                state.facts.pool_mut(self.pool).take_reserved(granularity);
            }
            Doing::Nothing => {}
        }
    }

    fn commit_failure(&mut self, state: &mut State<'_>, doing: Doing, error: DriverError) {
        let granularity = state.facts.pool(self.pool).granularity;
        let failure = Failure::Driver(error);
        match doing {
            Doing::Creating { granule } => {
                state.facts.granules.end(granule);
                let pool = state.facts.pool_mut(self.pool);
                pool.coming = pool.coming.saturating_sub(granularity);
            }
            Doing::Mapping { granule, .. } => self.doing = Doing::Discarding { granule },
            Doing::UndoingMap { .. } => {
                self.set_aside(state);
            }
            Doing::Discarding { granule } => {
                state.facts.granules.quarantine(granule);
                let pool = state.facts.pool_id(self.pool);
                state.record(Record::Quarantined { pool, granules: 1 });
            }
            Doing::Taking { .. } | Doing::Nothing => {}
        }
        self.failure = self.failure.or(Some(failure));
    }

    /// The driver call that brings the next granule nearer.
    fn next(&mut self, state: &mut State<'_>, ask: &Ask) -> Result<Action, Failure> {
        let pool = *state.facts.pool(self.pool);
        let native = state.native(ask.stream);
        if let Doing::Mapping { granule, .. } = self.doing {
            let handle = state.facts.granules.get(granule).handle;
            return Ok(Action::Map { device: pool.device, at: DevicePtr(self.at), handle, stream: Some(native) });
        }
        if let Some(action) = self.take_next(state, pool.device) {
            return Ok(action);
        }
        self.end_taking(state);
        let wanted = self.to.wrapping_sub(self.at);
        let spared = self.edge.map(Edge::block);
        if let Some(next) = release::next(&state.facts, self.pool, wanted, spared) {
            // Where the arena has no slot to cut the block with, memory is created instead.
            self.moving = state.facts.begin_moving(next).ok();
            if let Some(action) = self.take_next(state, pool.device) {
                return Ok(action);
            }
        }
        if pool.headroom() < pool.granularity {
            return Err(Failure::NoRoom);
        }
        let granule = state.facts.granules.begin(self.pool).map_err(Failure::Arena)?;
        let slot = state.facts.pool_mut(self.pool);
        slot.coming = slot.coming.saturating_add(slot.granularity);
        self.doing = Doing::Creating { granule };
        Ok(Action::Create { device: pool.device })
    }

    /// Unmaps the next granule of the block that granules are taken from.
    fn take_next(&mut self, state: &State<'_>, device: DeviceId) -> Option<Action> {
        let moving = self.moving.filter(|moving| moving.at < moving.to)?;
        let granule = state.facts.granules.at(moving.at)?;
        self.doing = Doing::Taking { granule };
        // Its work is complete: it can go at once, so that the addresses are a hole for every stream.
        Some(Action::Unmap { device, at: DevicePtr(moving.at), stream: None })
    }

    fn end_taking(&mut self, state: &mut State<'_>) {
        let Some(moving) = self.moving.take() else { return };
        let from = state.facts.blocks.get(moving.block).at;
        state.facts.end_moving(moving);
        if self.taken > 0 {
            let pool = state.facts.pool_id(self.pool);
            let offset = Bytes(from.wrapping_sub(state.facts.pool(self.pool).base));
            state.record(Record::Unmapped { pool, offset, granules: self.taken, reason: UnmapReason::Remap });
        }
        self.taken = 0;
    }

    fn count_mapped(&mut self, state: &mut State<'_>, reason: MapReason) {
        if self.mapped.0 != reason {
            self.log_mapped(state);
            self.mapped = (reason, 0);
        }
        self.mapped.1 = self.mapped.1.wrapping_add(1);
    }

    fn log_mapped(&mut self, state: &mut State<'_>) {
        let (reason, granules) = self.mapped;
        if granules > 0 {
            let pool = *state.facts.pool(self.pool);
            let bytes = u64::from(granules).wrapping_mul(pool.granularity);
            let offset = Bytes(self.at.wrapping_sub(bytes).wrapping_sub(pool.base));
            let pool = state.facts.pool_id(self.pool);
            state.record(Record::Mapped { pool, offset, granules, reason });
        }
        self.mapped.1 = 0;
    }

    /// What cannot be unmapped now stays where it is, offered to nobody, until a release tries again.
    fn set_aside(&mut self, state: &mut State<'_>) {
        let granularity = state.facts.pool(self.pool).granularity;
        if state.facts.pool(self.pool).maps_in_order {
            let seq = state.facts.order.tick_open(self.stream);
            state.facts.set_points(self.run, Points::one(Mark { stream: self.stream, seq }));
        }
        state.facts.set_aside(self.run);
        let granules = self.at.wrapping_sub(self.from).checked_div(granularity).unwrap_or(0) as u32;
        let pool = state.facts.pool_id(self.pool);
        state.record(Record::Quarantined { pool, granules });
        self.at = self.from;
    }

    /// Takes everything back, one driver call at a time.
    fn undo(&mut self, state: &mut State<'_>) -> Grown {
        self.end_taking(state);
        let pool = *state.facts.pool(self.pool);
        if let Doing::Discarding { granule } = self.doing {
            let handle = state.facts.granules.get(granule).handle;
            return Grown::Do(Action::Destroy { device: pool.device, handle });
        }
        let first = self.mapped.1 > 0;
        self.log_mapped(state);
        if self.at > self.from && pool.maps_in_order {
            // The stream has yet to map it: it goes when that is known to be done.
            self.set_aside(state);
        }
        if self.at > self.from && !plant::on(Plant::LostUndo) {
            if first {
                let granules = self.at.wrapping_sub(self.from).checked_div(pool.granularity).unwrap_or(0) as u32;
                let (id, offset) = (state.facts.pool_id(self.pool), Bytes(self.from.wrapping_sub(pool.base)));
                state.record(Record::Unmapped { pool: id, offset, granules, reason: UnmapReason::Undo });
            }
            let at = self.at.wrapping_sub(pool.granularity);
            if let Some(granule) = state.facts.granules.at(at) {
                self.doing = Doing::UndoingMap { granule };
                return Grown::Do(Action::Unmap { device: pool.device, at: DevicePtr(at), stream: None });
            }
            state.fail("a granule that was just mapped is not there");
        }
        if state.facts.blocks.get(self.run).state == block::State::Transit {
            state.facts.settle_hole(self.run);
        }
        if let Some(edge) = self.edge {
            state.facts.settle_free(edge.block());
        }
        state.facts.pool_mut(self.pool).end_transit();
        let pool = state.facts.pool_id(self.pool);
        state.record(Record::GrowAborted { pool, call: self.call });
        Grown::Failed(self.failure.unwrap_or(Failure::NoRoom))
    }
}

impl State<'_> {
    /// Joins the run with its edge, cuts the malloc's bytes out and makes the rest free. Where the arena has no slot for
    /// the rest, the malloc gets it too.
    pub(super) fn finish_grow(&mut self, ask: &Ask, (run, edge): (usize, Option<Edge>)) -> usize {
        // Memory that is mapped in stream order is there for others only after this point. It is a position of its own:
        // what was recorded or laid since the malloc began stands before the map.
        let fresh = match self.facts.pool(ask.pool).maps_in_order {
            true => {
                let seq = self.facts.order.tick_open(ask.stream);
                Points::one(Mark { stream: ask.stream, seq })
            }
            false => Points::NONE,
        };
        self.facts.set_points(run, fresh);
        self.facts.describe(run, |b| b.class = ask.class);
        match edge {
            None => self.cut_rest(run, ask.size),
            Some(Edge::Before(block)) => {
                let missing = ask.size.saturating_sub(self.facts.blocks.get(block).size);
                self.cut_rest(run, missing);
                let points = self.facts.blocks.get(block).points;
                self.facts.join(block, points);
                block
            }
            Some(Edge::After(block)) => {
                let spare = {
                    let (run, block) = (self.facts.blocks.get(run), self.facts.blocks.get(block));
                    run.size.wrapping_add(block.size).saturating_sub(ask.size)
                };
                let cut = if spare > 0 { self.facts.cut(run, spare).ok() } else { None };
                let mine = cut.unwrap_or(run);
                let points = self.facts.blocks.get(block).points;
                self.facts.join(mine, points);
                if cut.is_some() {
                    self.facts.settle_free(run);
                }
                mine
            }
        }
    }

    fn cut_rest(&mut self, run: usize, size: u64) -> usize {
        if self.facts.blocks.get(run).size > size
            && let Ok(rest) = self.facts.cut(run, size)
        {
            self.facts.settle_free(rest);
        }
        run
    }

    /// The class of a size.
    pub(super) fn class_of(&self, pool: usize, size: u64) -> Class {
        if size <= self.facts.pool(pool).small_limit { Class::Small } else { Class::Large }
    }
}
