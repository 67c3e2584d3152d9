//! What a malloc would find: every free block and why it is or is not for the taking. Changes nothing; for people and
//! tools that want to know why.

use super::malloc::Request;
use super::{Lock, Runtime, State};
use crate::arena::Link;
use crate::block::{self, Block};
use crate::driver::Driver;
use crate::error::{MallocError, Point};
use crate::facts::Facts;
use crate::id::{LabelId, PoolId, StreamId};
use crate::order::{CoveredBy, Level};
use crate::policy::Reuse;
use crate::reuse::{Ask, Choice, Taken};
use crate::trace::{Sink, Source};
use crate::units::Bytes;

/// Blocks that one hold of the lock judges.
const AT_ONCE: usize = 32;

/// How a free block stands to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Access {
    /// The stream may have it at once, on these grounds.
    Usable(Source),
    /// The stream comes after all that was done with it along the program's events, but the pool's switch 1 is off.
    EventsOff(Point),
    /// weir knows that it is complete up to here, but the program has not seen it, and the pool's switch 2 is off.
    Unseen(Point),
    /// The stream does not come after this; a marker stands behind it, which can be asked (switch 2) or waited for
    /// (switch 3).
    Marked(Point),
    /// The stream does not come after this, and no marker stands behind it.
    Unordered(Point),
}

/// A free block as a malloc sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Candidate {
    /// From the pool's base.
    pub offset: Bytes,
    /// Its size.
    pub size: Bytes,
    /// Whether it holds blocks of the other class (small or large): of such a block only whole granules are taken.
    pub other_class: bool,
    /// How it stands to the stream.
    pub access: Access,
    /// How many points keep the stream from it.
    pub unreached: u32,
}

/// What a malloc finds before it asks or calls the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Outlook {
    /// The size, rounded up.
    pub size: Bytes,
    /// What can be taken at once: its offset from the pool's base, and the grounds. Free neighbours that could be one
    /// block with it are not joined yet, as the malloc does before it cuts.
    pub taken: Option<(Bytes, Source)>,
    /// Bytes that can be created before the limit is reached.
    pub headroom: Bytes,
    /// Bytes that a growth would have to map. `None`: no hole is long enough.
    pub to_map: Option<Bytes>,
    /// Of those, bytes that are free elsewhere in whole granules and can be moved.
    pub movable: Bytes,
    /// The pool's switches.
    pub reuse: Reuse,
}

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// What a malloc of `size` bytes on `stream` would find now. Every free block of the pool is handed to `f` in address
    /// order, without the lock. Asks no driver and changes nothing.
    ///
    /// O(blocks of the pool + holes).
    ///
    /// # Errors
    /// Those of [`malloc_async`](Self::malloc_async) that need no search: an id is not live, the size is 0 or too large.
    pub fn candidates(
        &self,
        pool: PoolId,
        size: Bytes,
        stream: StreamId,
        mut f: impl FnMut(Candidate),
    ) -> Result<Outlook, MallocError> {
        let request = Request { pool, stream, asked: size, label: LabelId::NONE };
        let admit = |state: &State<'a>| {
            let Facts { order, pools, .. } = &state.facts;
            request.admit(order, pools).map(|admitted| admitted.ask).ok_or_else(|| request.why_not(order, pools))
        };
        let outlook = self.enter(|state| Ok::<_, MallocError>(outlook(&admit(state)?, &state.facts)))?;
        let mut from = Place::default();
        loop {
            let some = self.enter(|state| {
                let ask = admit(state)?;
                let mut some: heapless::Vec<Candidate, AT_ONCE> = heapless::Vec::new();
                from = judge_from(&ask, &state.facts, from, |candidate| some.push(candidate).is_ok());
                Ok::<_, MallocError>(some)
            })?;
            some.into_iter().for_each(&mut f);
            if from.done {
                return Ok(outlook);
            }
        }
    }
}

/// Where to go on: a block, if it still begins there.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    slot: usize,
    at: u64,
    begun: bool,
    done: bool,
}

fn outlook(ask: &Ask, facts: &Facts<'_>) -> Outlook {
    let pool = facts.pool(ask.pool);
    let growth = ask.growth(facts);
    let offset = |Choice { taken, .. }: Choice| match taken {
        Taken::Granules { from, .. } => from,
        Taken::Front(block) | Taken::Run(block) => facts.blocks.get(block).at,
    };
    Outlook {
        size: Bytes(ask.size),
        taken: ask
            .choose(facts)
            .map(|choice| (Bytes(offset(choice).wrapping_sub(pool.base)), ask.source(choice.reach))),
        headroom: Bytes(pool.headroom()),
        to_map: growth.map(|growth| Bytes(growth.bytes())),
        movable: Bytes(growth.map_or(0, |growth| ask.movable(facts, &growth))),
        reuse: pool.reuse,
    }
}

/// Judges free blocks until `keep` takes no more; where to go on.
fn judge_from(ask: &Ask, facts: &Facts<'_>, from: Place, mut keep: impl FnMut(Candidate) -> bool) -> Place {
    let pool = facts.pool(ask.pool);
    let there = facts.blocks.look(from.slot).is_some_and(|b| b.at == from.at && b.pool() == ask.pool);
    let first = match from.begun {
        false => pool.first,
        true if there => Link::to(from.slot),
        // It was joined with what lies before it, or is gone: the block that is there now was judged in part.
        true => facts.blocks.holding(pool.first, from.at).map_or(Link::NONE, Link::to),
    };
    for (slot, block) in facts.blocks.walk(first).filter(|(_, b)| b.state() == block::State::Free) {
        if !keep(candidate(ask, facts, block)) {
            return Place { slot, at: block.at, begun: true, done: false };
        }
    }
    Place { begun: true, done: true, ..from }
}

fn candidate(ask: &Ask, facts: &Facts<'_>, block: &Block) -> Candidate {
    Candidate {
        offset: Bytes(block.at.wrapping_sub(facts.pool(ask.pool).base)),
        size: Bytes(block.size),
        other_class: block.class() != ask.class,
        access: access(ask, facts, block),
        unreached: ask.unreached(facts, block).count() as u32,
    }
}

fn access(ask: &Ask, facts: &Facts<'_>, block: &Block) -> Access {
    if let Some(reach) = ask.reach(facts, block) {
        return Access::Usable(ask.source(reach));
    }
    let order = &facts.order;
    let along_events = Ask { waited: true, ..*ask };
    // What would still be missing with switch 1 says more than what the switch alone would give.
    let hard = along_events.unreached(facts, block).next();
    let Some(mark) = hard.or_else(|| ask.unreached(facts, block).next()) else {
        return Access::Usable(Source::Settled);
    };
    let point = order.point(mark);
    match order.covered_by(mark) {
        _ if hard.is_none() => Access::EventsOff(point),
        _ if order.settled(mark, Level::Known) => Access::Unseen(point),
        CoveredBy::Marker { .. } => Access::Marked(point),
        CoveredBy::Stream { .. } | CoveredBy::Nothing => Access::Unordered(point),
    }
}
