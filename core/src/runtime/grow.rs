//! Growing: granules are taken from free blocks of the pool, or created, and mapped where a malloc needs them.

mod ready;

use super::place::Moving;
use super::{Action, Answer, Outcome, State};
use crate::arena::Link;
use crate::block;
use crate::driver::DriverError;
use crate::error::{ArenaFull, Point};
use crate::facts::Facts;
use crate::growth::Growth;
use crate::order::{Mark, Points};
use crate::plant::{self, Plant};
use crate::release::Releasable;
use crate::reuse::{Ask, is_settled};
use crate::trace::{MapReason, Record, UnmapReason};
use crate::units::{Bytes, DevicePtr};

/// What the driver is doing for a growth.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Nothing,
    Taking { granule: usize },
    Creating { granule: usize, reason: MapReason },
    Mapping { granule: usize, reason: MapReason },
    UndoingMap { granule: usize },
    Discarding { granule: usize },
}

/// When granules leave their block, or have left a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timing {
    /// Their work is complete: the addresses are a hole for every stream.
    Now,
    /// When the stream comes to it.
    InOrder,
}

/// A growth in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grow {
    pool: usize,
    stream: usize,
    call: u64,
    /// The addresses that are being mapped, in transit.
    run: usize,
    growth: Growth,
    /// Up to here the malloc needs it; the rest is eager.
    needed: u64,
    /// Bytes of that which are created although they could be moved.
    spare: u64,
    at: u64,
    doing: Doing,
    /// Where granules are to be taken next.
    chosen: Releasable,
    moving: Option<Moving>,
    unmapping: Timing,
    /// When the place can be mapped: as the hole was unmapped.
    hole: Timing,
    /// Something was mapped in the order of the stream.
    ordered: bool,
    taken: u32,
    mapped: (MapReason, u32),
    /// Where the stream has mapped what is recorded so far, on a device that maps in stream order.
    behind: Option<Mark>,
    /// Why it is being undone, and how many bytes were lacking then.
    failure: Option<Failure>,
    lacking: u64,
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
    /// The run is mapped; it and what lies beside it are in transit until [`Grow::finish`].
    Ready,
    /// The driver has taken everything back.
    Undone,
    /// So many bytes were lacking.
    Failed(Failure, u64),
}

impl State<'_> {
    /// Puts the place in transit, if the granules for it can be had: of `movable` bytes that could be moved, or new ones.
    pub(super) fn begin_grow(&mut self, ask: &Ask, growth: Growth, call: u64, movable: u64) -> Result<Grow, Failure> {
        let pool = self.facts.pool(ask.pool);
        if pool.headroom().saturating_add(movable) < growth.bytes() {
            return Err(Failure::NoRoom);
        }
        let (needed, spare) = (growth.to, pool.spare(ask.size).min(movable).min(growth.bytes()));
        let growth = growth.eager(&self.facts);
        let settled = is_settled(&self.facts, self.facts.blocks.get(growth.hole));
        let run = self.facts.carve(growth.hole, growth.from, growth.to).map_err(Failure::Arena)?;
        self.facts.each_beside(run, &growth, |facts, slot| {
            facts.unlist(slot);
            facts.blocks.get_mut(slot).set_state(block::State::Transit);
            slot
        });
        let pool = self.facts.pool_mut(ask.pool);
        pool.begin_transit();
        let (offset, granularity) = (Bytes(growth.from.wrapping_sub(pool.base)), pool.granularity);
        let granules = Bytes(growth.bytes()).units(Bytes(granularity)) as u32;
        self.log_planned(ask, call, offset, granules);
        Ok(Grow {
            pool: ask.pool,
            stream: ask.stream,
            call,
            run,
            growth,
            needed,
            spare,
            at: growth.from,
            doing: Doing::Nothing,
            chosen: Releasable { block: 0, from: 0, to: 0 },
            moving: None,
            unmapping: Timing::Now,
            hole: if settled { Timing::Now } else { Timing::InOrder },
            ordered: false,
            taken: 0,
            mapped: (MapReason::Grow, 0),
            behind: None,
            failure: None,
            lacking: 0,
        })
    }
}

impl State<'_> {
    #[cfg_attr(feature = "compact", inline(never))]
    fn log_planned(&mut self, ask: &Ask, call: u64, offset: Bytes, granules: u32) {
        let (pool, stream) = (self.facts.pool_id(ask.pool), self.facts.order.stream_id(ask.stream));
        self.record_frequent(move |_| Record::GrowPlanned { pool, stream, call, offset, granules });
    }
}

#[inline(never)]
fn is_run_settled(facts: &Facts<'_>, run: &Releasable) -> bool {
    let mut blocks = facts.blocks.walk(Link::to(run.block)).take_while(|(_, block)| block.at < run.to);
    blocks.all(|(_, block)| is_settled(facts, block))
}

impl Grow {
    #[inline(never)]
    pub(super) fn advance(&mut self, state: &mut State<'_>, ask: &Ask, outcome: Option<Outcome>) -> Grown {
        if let Some(outcome) = outcome {
            let doing = core::mem::replace(&mut self.doing, Doing::Nothing);
            match outcome {
                Ok(answer) => self.commit(state, doing, answer),
                Err(error) => self.commit_failure(state, doing, error),
            }
        }
        if self.failure.is_none() {
            if self.at == self.growth.to && matches!(self.doing, Doing::Nothing) {
                self.end_taking(state);
                return self.ready(state);
            }
            if let Some(action) = self.carry_on(state) {
                return Grown::Do(action);
            }
            self.end_taking(state);
            if self.choose(state, ask) {
                self.take_up(state);
            }
            let next = self.take_next(state).or_else(|| self.create(state));
            if let Some(action) = next {
                return Grown::Do(action);
            }
        }
        if self.lacking == 0 {
            self.lacking = self.needed.saturating_sub(self.at);
        }
        self.end_taking(state);
        let grown = self.undo(state);
        if matches!(grown, Grown::Undone) {
            self.settle_back(state);
            self.log_abort(state);
            return Grown::Failed(self.failure.unwrap_or(Failure::NoRoom), self.lacking);
        }
        grown
    }

    /// All is mapped that was asked for.
    #[inline(never)]
    fn ready(&mut self, state: &mut State<'_>) -> Grown {
        self.log_mapped(state);
        state.facts.pool_mut(self.pool).end_transit();
        Grown::Ready
    }

    /// Makes the run one with what lies beside it, and cuts out what was asked for.
    #[inline]
    pub(super) fn finish(&self, state: &mut State<'_>, ask: &Ask) -> usize {
        state.note_points_of_growth(self.run, &self.growth);
        // Where it is there for others.
        let fresh = self.behind.map_or(Points::NONE, Points::one);
        state.finish_grow(ask, self.run, &self.growth, fresh)
    }

    #[inline(never)]
    fn commit(&mut self, state: &mut State<'_>, doing: Doing, answer: Answer) {
        let granularity = state.facts.pool(self.pool).granularity;
        match doing {
            Doing::Taking { granule } => {
                state.facts.granules.unmapped(granule);
                state.facts.pool_mut(self.pool).moves.note_moved();
                self.taken = self.taken.wrapping_add(1);
                if let Some(moving) = &mut self.moving {
                    moving.at = moving.at.wrapping_add(granularity);
                }
                self.doing = Doing::Mapping { granule, reason: MapReason::Remap };
            }
            Doing::Creating { granule, reason } => {
                if let Answer::Handle(handle) = answer {
                    state.facts.granules.created(granule, handle);
                }
                let pool = state.facts.pool_mut(self.pool);
                pool.coming = pool.coming.saturating_sub(granularity);
                pool.add_reserved(granularity);
                if plant::on(Plant::ReservedTwice) {
                    pool.add_reserved(granularity);
                }
                if reason == MapReason::Spare {
                    pool.moves.note_spared(granularity);
                    self.spare = self.spare.saturating_sub(granularity);
                }
                self.doing = Doing::Mapping { granule, reason };
            }
            Doing::Mapping { granule, reason } => {
                if !state.facts.granules.mapped(granule, self.at) {
                    state.fail("granule lookup is full");
                }
                self.count_mapped(state, reason);
                if plant::on(Plant::DoubleMap)
                    && self.at == self.growth.from
                    && self.growth.to.wrapping_sub(self.at) > granularity
                {
                    return;
                }
                self.at = self.at.wrapping_add(granularity);
            }
            Doing::UndoingMap { granule } => {
                state.facts.granules.unmapped(granule);
                self.at = self.at.wrapping_sub(granularity);
                self.taken = self.taken.wrapping_add(1);
                self.doing = Doing::Discarding { granule };
            }
            Doing::Discarding { granule } => {
                state.facts.granules.end(granule);
                state.facts.pool_mut(self.pool).take_reserved(granularity);
            }
            Doing::Nothing => {}
        }
    }

    #[inline(never)]
    fn commit_failure(&mut self, state: &mut State<'_>, doing: Doing, error: DriverError) {
        let granularity = state.facts.pool(self.pool).granularity;
        let failure = Failure::Driver(error);
        match doing {
            Doing::Creating { granule, reason } => {
                state.facts.granules.end(granule);
                let pool = state.facts.pool_mut(self.pool);
                pool.coming = pool.coming.saturating_sub(granularity);
                if reason == MapReason::Spare {
                    // It could do without.
                    pool.moves.forget();
                    self.spare = 0;
                    return;
                }
            }
            Doing::Mapping { granule, reason: MapReason::Remap } if self.unmapping == Timing::InOrder => {
                let after = state.tick_after(self.stream);
                state.quarantine(self.pool, granule, after);
            }
            Doing::Mapping { granule, .. } => self.doing = Doing::Discarding { granule },
            Doing::UndoingMap { .. } => {
                self.set_aside(state);
            }
            Doing::Discarding { granule } => {
                self.log_undo(state);
                state.quarantine(self.pool, granule, Mark::default());
            }
            Doing::Taking { .. } | Doing::Nothing => {}
        }
        self.failure = self.failure.or(Some(failure));
    }

    /// Whether a granule is mapped in the order of the stream: it, or what was there, leaves in that order. The run is one
    /// block with one position, so what comes behind such a granule is too.
    fn is_ordered(&self, reason: MapReason) -> bool {
        let moved = reason == MapReason::Remap && self.unmapping == Timing::InOrder;
        self.ordered || self.hole == Timing::InOrder || moved
    }

    /// The driver call that follows from the last one.
    #[inline(never)]
    fn carry_on(&mut self, state: &State<'_>) -> Option<Action> {
        let Doing::Mapping { granule, reason } = self.doing else { return self.take_next(state) };
        let handle = state.facts.granules.get(granule).handle;
        // A new granule goes into a hole that is there for all at once, and is there for all.
        let stream = self.is_ordered(reason).then(|| state.native(self.stream));
        self.ordered |= stream.is_some();
        let device = state.facts.pool(self.pool).device;
        Some(Action::Map { device, at: DevicePtr(self.at), handle, stream })
    }

    /// The driver call that makes a granule; nothing, and why, where there is no room for one.
    #[inline(never)]
    fn create(&mut self, state: &mut State<'_>) -> Option<Action> {
        let pool = state.facts.pool(self.pool);
        let (device, granularity, headroom) = (pool.device, pool.granularity, pool.headroom());
        if headroom < granularity {
            self.failure = Some(Failure::NoRoom);
            return None;
        }
        let granule = match state.facts.granules.begin(self.pool) {
            Ok(granule) => granule,
            Err(full) => {
                self.failure = Some(Failure::Arena(full));
                return None;
            }
        };
        let pool = state.facts.pool_mut(self.pool);
        pool.coming = pool.coming.saturating_add(granularity);
        let spare = self.spare.min(headroom) >= granularity;
        let reason = if spare { MapReason::Spare } else { MapReason::Grow };
        self.doing = Doing::Creating { granule, reason };
        Some(Action::Create { device })
    }

    /// Chooses free memory to take granules out of; says whether there is any. Nothing is moved for what nobody asked for yet,
    /// nor for what is created rather.
    #[inline(never)]
    fn choose(&mut self, state: &State<'_>, ask: &Ask) -> bool {
        let spare = self.spare.min(state.facts.pool(self.pool).headroom());
        let wanted = self.needed.saturating_sub(self.at).saturating_sub(spare);
        let next = ask.next_to_move(&state.facts, &self.growth, wanted);
        self.chosen = next.unwrap_or(Releasable { block: 0, from: 0, to: 0 });
        next.is_some()
    }

    /// Begins to take granules out of what was chosen. Where the arena has no slot to cut the block with, memory is created
    /// instead.
    #[inline(never)]
    fn take_up(&mut self, state: &mut State<'_>) {
        let settled = is_run_settled(&state.facts, &self.chosen);
        self.unmapping = if settled { Timing::Now } else { Timing::InOrder };
        self.moving = state.facts.begin_moving(self.chosen).ok();
    }

    /// Unmaps the next granule of the block that granules are taken from.
    fn take_next(&mut self, state: &State<'_>) -> Option<Action> {
        let moving = self.moving.filter(|moving| moving.at < moving.to)?;
        let granule = state.facts.granules.at(moving.at)?;
        self.doing = Doing::Taking { granule };
        let stream = match self.unmapping {
            Timing::Now => None,
            Timing::InOrder => Some(state.native(self.stream)),
        };
        let device = state.facts.pool(self.pool).device;
        Some(Action::Unmap { device, at: DevicePtr(moving.at), stream })
    }

    fn end_taking(&mut self, state: &mut State<'_>) {
        if self.moving.is_some() {
            self.end_move(state);
        }
    }

    #[inline(never)]
    fn end_move(&mut self, state: &mut State<'_>) {
        let Some(moving) = &self.moving else { return };
        let from = state.facts.blocks.get(moving.block).at;
        let granules = core::mem::replace(&mut self.taken, 0);
        let in_order = self.unmapping == Timing::InOrder && granules > 0;
        let behind = in_order.then(|| state.tick_after(self.stream));
        state.facts.end_moving(moving, behind);
        self.moving = None;
        if granules > 0 {
            self.log_taken(state, from, granules, behind);
        }
    }

    #[inline(never)]
    fn log_taken(&self, state: &mut State<'_>, from: u64, granules: u32, behind: Option<Mark>) {
        let (pool, reason) = (state.facts.pool_id(self.pool), UnmapReason::Remap);
        let offset = Bytes(from.wrapping_sub(state.facts.pool(self.pool).base));
        state.record(match behind.map(|mark| state.facts.order.point(mark)) {
            Some(Point { stream, seq }) => Record::UnmappedInOrder { pool, stream, seq, offset, granules, reason },
            None => Record::Unmapped { pool, offset, granules, reason },
        });
    }

    fn count_mapped(&mut self, state: &mut State<'_>, reason: MapReason) {
        if self.mapped.0 != reason {
            self.log_mapped(state);
            self.mapped = (reason, 0);
        }
        self.mapped.1 = self.mapped.1.wrapping_add(1);
    }

    #[inline(never)]
    fn log_mapped(&mut self, state: &mut State<'_>) {
        let (reason, granules) = self.mapped;
        self.mapped.1 = 0;
        if granules == 0 {
            return;
        }
        let facts = state.facts.pool(self.pool);
        let bytes = u64::from(granules).wrapping_mul(facts.granularity);
        let offset = Bytes(self.at.wrapping_sub(bytes).wrapping_sub(facts.base));
        let pool = state.facts.pool_id(self.pool);
        if !self.ordered {
            state.record_frequent(move |_| Record::Mapped { pool, offset, granules, reason });
            return;
        }
        let behind = state.tick_after(self.stream);
        self.behind = Some(behind);
        let Point { stream, seq } = state.facts.order.point(behind);
        state.record(Record::MappedInOrder { pool, stream, seq, offset, granules, reason });
    }

    /// What cannot be unmapped now stays where it is, offered to nobody, until a release tries again.
    #[inline(never)]
    fn set_aside(&mut self, state: &mut State<'_>) {
        if self.ordered {
            let after = state.tick_after(self.stream);
            state.facts.set_points(self.run, Points::one(after));
        }
        state.facts.set_aside(self.run);
        self.log_undo(state);
        let granularity = state.facts.pool(self.pool).granularity;
        let granules = Bytes(self.at.wrapping_sub(self.growth.from)).units(Bytes(granularity)) as u32;
        state.log_quarantined(self.pool, granules);
        self.at = self.growth.from;
    }

    /// What is there is enough for the malloc: the rest of an eager growth stays a hole. False: the arena has no slot to
    /// cut it off.
    #[inline(never)]
    fn shorten(&mut self, state: &mut State<'_>) -> bool {
        let points = state.facts.blocks.get(self.run).points();
        let Ok(rest) = state.facts.cut(self.run, self.at.wrapping_sub(self.growth.from)) else { return false };
        state.facts.settle_hole(rest, points);
        (self.growth.to, self.growth.end) = (self.at, self.at);
        self.failure = None;
        true
    }

    /// Takes everything back, one driver call at a time.
    #[inline(never)]
    fn undo(&mut self, state: &mut State<'_>) -> Grown {
        let device = state.facts.pool(self.pool).device;
        if let Doing::Discarding { granule } = self.doing {
            let handle = state.facts.granules.get(granule).handle;
            return Grown::Do(Action::Destroy { device, handle });
        }
        if self.at >= self.needed && self.shorten(state) {
            return self.ready(state);
        }
        self.log_mapped(state);
        if self.at > self.growth.from && self.ordered {
            // The stream has yet to map it: it goes when that is known to be done.
            self.set_aside(state);
        }
        if self.at > self.growth.from && !plant::on(Plant::LostUndo) {
            let at = self.at.wrapping_sub(state.facts.pool(self.pool).granularity);
            if let Some(granule) = state.facts.granules.at(at) {
                self.doing = Doing::UndoingMap { granule };
                return Grown::Do(Action::Unmap { device, at: DevicePtr(at), stream: None });
            }
            state.fail("a granule that was just mapped is not there");
        }
        self.log_undo(state);
        Grown::Undone
    }

    /// What was taken back so far, from the end on.
    #[inline(never)]
    fn log_undo(&mut self, state: &mut State<'_>) {
        let granules = core::mem::replace(&mut self.taken, 0);
        if granules > 0 {
            let (pool, base) = (state.facts.pool_id(self.pool), state.facts.pool(self.pool).base);
            let offset = Bytes(self.at.wrapping_sub(base));
            state.record(Record::Unmapped { pool, offset, granules, reason: UnmapReason::Undo });
        }
    }

    #[inline(never)]
    fn log_abort(&self, state: &mut State<'_>) {
        let pool = state.facts.pool_id(self.pool);
        state.record(Record::GrowAborted { pool, call: self.call });
    }

    /// All is taken back.
    #[inline(never)]
    fn settle_back(&self, state: &mut State<'_>) {
        state.facts.each_beside(self.run, &self.growth, Facts::settle_free);
        if state.facts.blocks.get(self.run).state() == block::State::Transit {
            // What it waited for as a hole is still its own.
            state.facts.settle_own_hole(self.run);
        }
        state.facts.pool_mut(self.pool).end_transit();
    }
}
