//! Judgement of a malloc: which memory it may have, and what might help where there is none. Pure: facts in, decision out.

use crate::arena::Link;
use crate::block::{Block, Class, State};
use crate::blocks::Blocks;
use crate::facts::Facts;
use crate::free_index::{Kind, PICKS, Sight, WAYS};
use crate::order::{CoveredBy, Level, Mark, Reach, UNTIL_FREE};
use crate::plant::{self, Plant};
use crate::policy::Reuse;
use crate::pool::PoolSlot;
use crate::trace::Source;
use crate::units::{Bytes, Seq};

/// How many runs of adjacent blocks one search looks at.
const RUNS: usize = 64;

/// What a malloc asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) pool: usize,
    pub(crate) stream: usize,
    /// Rounded up to the alignment.
    pub(crate) size: u64,
    pub(crate) class: Class,
    /// The call inserted a wait: what the stream's clock says counts whatever the switches say.
    pub(crate) waited: bool,
    /// The call asked the driver: what it learnt is opportunistic reuse.
    pub(crate) asked: bool,
    /// Judge as if a wait for every laid marker had been inserted.
    pub(crate) imagine_waits: bool,
    /// The class does not matter: rather than refusing, small and large blocks share granules.
    pub(crate) mixed: bool,
}

/// Memory that the stream may have now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) taken: Taken,
    pub(crate) reach: Reach,
}

/// Where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The front of a block.
    Front(usize),
    /// Whole granules inside a block of the other class, from `from` to `to`, which change class.
    Granules { block: usize, from: u64, to: u64 },
    /// Adjacent blocks from this one on, together large enough.
    Run(usize),
}

impl Taken {
    /// The first block of it.
    pub(crate) fn first(self) -> usize {
        match self {
            Self::Front(block) | Self::Granules { block, .. } | Self::Run(block) => block,
        }
    }
}

/// A question to the driver that might help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) stream: usize,
    pub(crate) about: CoveredBy,
}

/// A wait that might help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) marker: usize,
    pub(crate) on: Mark,
}

/// What an inserted wait leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "compact", repr(u32))]
pub(crate) enum Towards {
    /// One more wait.
    Wait(Dependency),
    /// This can be taken: all it waits for is known to be complete.
    Ready(Choice),
}

impl Ask {
    /// A question about a pool as a stream sees it.
    #[inline]
    pub(crate) fn about(pool: usize, stream: usize) -> Self {
        let class = Class::Large;
        Self { pool, stream, size: 0, class, waited: false, asked: false, imagine_waits: false, mixed: false }
    }

    /// A malloc of so many bytes of this pool. A size of which the pool has no multiple becomes 0.
    #[inline(always)]
    pub(crate) fn new((pool, of): (usize, &PoolSlot), stream: usize, asked: Bytes) -> Self {
        let mask = of.alignment.wrapping_sub(1);
        let size = asked.0.wrapping_add(mask) & !mask;
        let class = if size <= of.small_limit { Class::Small } else { Class::Large };
        Self { size, class, ..Self::about(pool, stream) }
    }

    /// A block that the stream is just freeing, if the stream would get it back as it is: nobody else used it, it would not
    /// merge with a neighbour, and it is of the size that is asked for. No other comes before it then: none is closer in
    /// size, reached at less cost, or freed more recently.
    #[inline]
    pub(crate) fn gets_back<'b>(&self, blocks: &'b mut Blocks<'_>, slot: usize) -> Option<&'b mut Block> {
        let block = blocks.look(slot)?;
        // One after the other: that is a comparison and a jump each.
        if block.size != self.size || !block.is_plain(self.pool, self.class) {
            return None;
        }
        if blocks.is_free(block.prev) || blocks.is_free(block.next) || PICKS.into_iter().any(plant::on) {
            return None;
        }
        blocks.look_mut(slot)
    }

    /// How the stream reaches what was done with a block, if the switches let it count.
    pub(crate) fn reach(&self, facts: &Facts<'_>, block: &Block) -> Option<Reach> {
        match facts.order.reach(self.stream, &block.points(), facts.pool(self.pool).level()) {
            Reach::Not | Reach::Event | Reach::Implied if self.imagine_waits => {
                self.could_wait(facts, block).then_some(Reach::Event)
            }
            Reach::Not => None,
            Reach::Event | Reach::Implied if !self.follows_events(facts) => None,
            reach => Some(reach),
        }
    }

    /// Whether what the stream's clock says counts.
    fn follows_events(&self, facts: &Facts<'_>) -> bool {
        self.waited || facts.pool(self.pool).reuse.contains(Reuse::EVENT) || plant::on(Plant::SwitchIgnored)
    }

    /// Whether waits for markers that are laid already would do, where any are needed.
    #[cold]
    #[inline(never)]
    fn could_wait(&self, facts: &Facts<'_>, block: &Block) -> bool {
        !facts.order.any_mark(&block.points(), |mark| {
            self.is_unreached(facts, block, mark) && !facts.order.is_marked_or_settled(mark)
        })
    }

    /// The kind of reuse that a choice amounts to.
    #[inline]
    pub(crate) fn source(&self, reach: Reach) -> Source {
        match reach {
            Reach::Own => Source::SameStream,
            Reach::Settled if self.asked => Source::Opportunistic,
            Reach::Settled => Source::Settled,
            Reach::Implied | Reach::Event | Reach::Not if self.waited => Source::Internal,
            Reach::Implied | Reach::Event | Reach::Not => Source::Event,
        }
    }

    fn other_class(&self) -> Class {
        match self.class {
            Class::Small => Class::Large,
            Class::Large => Class::Small,
        }
    }

    /// The best memory that costs nothing: the closest size in the class; else whole granules of the other class; else a
    /// run of adjacent blocks.
    pub(crate) fn choose(&self, facts: &Facts<'_>) -> Option<Choice> {
        match self.choose_block(facts) {
            Some((block, reach)) => Some(Choice { taken: Taken::Front(block), reach }),
            None => self.choose_granules(facts).or_else(|| self.choose_run(facts)),
        }
    }

    /// The block of the closest size in the class.
    #[inline]
    pub(crate) fn choose_block(&self, facts: &Facts<'_>) -> Option<(usize, Reach)> {
        facts.index.best(&facts.blocks, (self.pool, self.class), self.size, &Eyes { ask: self, facts })
    }

    /// As [`choose`](Self::choose), but a part of a granule of the other class will do.
    pub(crate) fn choose_mixed(&self, facts: &Facts<'_>) -> Option<Choice> {
        let other = (self.pool, self.other_class());
        let best = facts.index.best(&facts.blocks, other, self.size, &Eyes { ask: self, facts });
        match best {
            Some((block, reach)) => Some(Choice { taken: Taken::Front(block), reach }),
            None => Self { mixed: true, ..*self }.choose_run(facts),
        }
    }

    /// Whole granules inside a block of the other class: of some that may hold them, else of the closest size that does
    /// wherever it lies.
    #[cold]
    #[inline(never)]
    fn choose_granules(&self, facts: &Facts<'_>) -> Option<Choice> {
        let (pool, eyes) = (facts.pool(self.pool), Eyes { ask: self, facts });
        let bytes = pool.granule_up(self.size);
        let sure = bytes.checked_add(pool.granularity)?.wrapping_sub(pool.alignment);
        let holds = |b: &Block| facts.granules_inside(b).is_some_and(|(from, to)| to.wrapping_sub(from) >= bytes);
        let whose = (self.pool, self.other_class());
        let some = facts.index.best_of_some(&facts.blocks, whose, (bytes, sure), &eyes, holds);
        let (block, reach) = some.or_else(|| facts.index.best(&facts.blocks, whose, sure, &eyes))?;
        let (from, _) = facts.granules_inside(facts.blocks.get(block))?;
        Some(Choice { taken: Taken::Granules { block, from, to: from.wrapping_add(bytes) }, reach })
    }

    /// The shortest of a bounded number of runs of adjacent usable blocks that are together large enough.
    #[cold]
    #[inline(never)]
    fn choose_run(&self, facts: &Facts<'_>) -> Option<Choice> {
        if plant::on(Plant::NoRuns) {
            return None;
        }
        let mut best: Option<(u64, Choice)> = None;
        let mut looked = 0;
        let mut covered_to = 0;
        for (slot, block) in facts.blocks.walk(facts.pool(self.pool).first) {
            if block.at < covered_to || !self.joins(facts, block) {
                continue;
            }
            let run = self.measure_run(facts, slot);
            covered_to = run.end;
            looked += usize::from(run.blocks > 1);
            if run.size >= self.size && best.is_none_or(|(size, _)| run.size < size) {
                best = Some((run.size, Choice { taken: Taken::Run(slot), reach: run.reach }));
            }
            if looked == RUNS {
                break;
            }
        }
        best.map(|(_, choice)| choice)
    }

    /// Whether a block can be part of a run.
    pub(crate) fn joins(&self, facts: &Facts<'_>, block: &Block) -> bool {
        let mine = self.mixed || block.class() == self.class;
        block.state() == State::Free && mine && self.reach(facts, block).is_some()
    }

    fn measure_run(&self, facts: &Facts<'_>, first: usize) -> RunOfBlocks {
        let mut run = RunOfBlocks { blocks: 0, size: 0, end: 0, reach: Reach::Own };
        for (_, block) in facts.blocks.walk(Link::to(first)) {
            if !self.joins(facts, block) {
                break;
            }
            let Some(reach) = self.reach(facts, block) else { break };
            run.blocks += 1;
            run.end = block.end();
            // Only as many as it takes: what lies behind them does not count.
            if run.size < self.size {
                run.size = run.size.wrapping_add(block.size);
                run.reach = run.reach.max(reach);
            }
        }
        run
    }

    /// The largest free block that the stream may use.
    pub(crate) fn largest_usable(&self, facts: &Facts<'_>) -> u64 {
        let of = |class| {
            let entries = facts.index.entries(&facts.blocks, (self.pool, Kind::Free(class)), 0);
            entries.filter(|(_, b)| self.reach(facts, b).is_some()).map(|(_, b)| b.size).max().unwrap_or(0)
        };
        of(Class::Large).max(of(Class::Small))
    }

    /// The points of a block that keep the stream from it.
    pub(crate) fn unreached<'f>(&'f self, facts: &'f Facts<'_>, block: &'f Block) -> impl Iterator<Item = Mark> + 'f {
        facts.order.all_marks(&block.points()).filter(move |&mark| self.is_unreached(facts, block, mark))
    }

    /// Whether one point of a block keeps the stream from it.
    #[cfg_attr(feature = "compact", inline(always))]
    pub(crate) fn is_unreached(&self, facts: &Facts<'_>, block: &Block, mark: Mark) -> bool {
        let pool = facts.pool(self.pool);
        let events = self.waited || pool.reuse.contains(Reuse::EVENT);
        match facts.order.reached(self.stream, mark, pool.level()) {
            Reach::Not => true,
            Reach::Event => !events,
            Reach::Implied => !(events || facts.order.is_own(self.stream, &block.points())),
            Reach::Own | Reach::Settled => false,
        }
    }

    /// The next question to the driver, no stream being asked twice by call number `call`: about the stream of the block
    /// freed first among those large enough, else among all, since pieces may join and their granules may be moved.
    pub(crate) fn question(&self, facts: &Facts<'_>, call: u64) -> Option<Question> {
        let mut best: Option<((bool, u64), Mark)> = None;
        for class in [Class::Large, Class::Small] {
            for (_, block) in facts.index.entries(&facts.blocks, (self.pool, Kind::Free(class)), 0) {
                let rank = (block.size < self.size || class != self.class, block.freed());
                if best.is_some_and(|(least, _)| least <= rank) {
                    continue;
                }
                let open = |mark: &Mark| facts.order.stream(mark.stream).asked < call;
                if let Some(mark) = self.unreached(facts, block).find(open) {
                    best = Some((rank, mark));
                }
            }
        }
        best.map(|(_, mark)| Question { stream: mark.stream, about: facts.order.covered_by(mark) })
    }

    /// The next question whose answer might let granules be moved: about the block freed first among those whose past is
    /// not known to be complete, the asking stream's own among them. Only by markers that are laid
    /// already, and about the asking stream as a whole.
    pub(crate) fn settling_question(&self, facts: &Facts<'_>, call: u64) -> Option<Question> {
        let mut best: Option<(u64, Question)> = None;
        for class in [Class::Large, Class::Small] {
            let entries =
                facts.index.entries(&facts.blocks, (self.pool, Kind::Free(class)), facts.pool(self.pool).granularity);
            for (_, block) in entries.filter(|(_, b)| facts.granules_inside(b).is_some()) {
                if best.is_some_and(|(freed, _)| freed <= block.freed()) {
                    continue;
                }
                let open = facts.order.all_marks(&block.points()).find(|&mark| {
                    !facts.order.settled(mark, Level::Known) && facts.order.stream(mark.stream).asked < call
                });
                let question = open.map(|mark| Question { stream: mark.stream, about: facts.order.covered_by(mark) });
                let useful = question.filter(|q| match q.about {
                    CoveredBy::Marker { .. } => true,
                    CoveredBy::Stream { .. } => q.stream == self.stream,
                    CoveredBy::Nothing => false,
                });
                best = useful.map(|question| (block.freed(), question)).or(best);
            }
        }
        best.map(|(_, question)| question)
    }

    /// What to wait for next, towards the block that needs the fewest waits, the smallest of those; else towards whole
    /// granules of the other class; else towards a run of blocks. Only for markers that are laid already: one laid now would
    /// stand behind the other stream's whole queue. What weir knows to be complete counts as a wait that needs no call, so
    /// that the choice does not depend on timing.
    pub(crate) fn towards(&self, facts: &Facts<'_>) -> Option<Towards> {
        if let Some(slot) = self.fewest_waits(facts, self.class, self.size, |_| true) {
            let (mut wait, block) = (None, facts.blocks.get(slot));
            return self.add_wait(facts, block, &mut wait).then(|| Self::towards_taken(Taken::Front(slot), wait));
        }
        match self.granules_of_fewest_waits(facts) {
            Some((slot, from, to)) => {
                let (mut wait, block) = (None, facts.blocks.get(slot));
                let taken = Taken::Granules { block: slot, from, to };
                self.add_wait(facts, block, &mut wait).then(|| Self::towards_taken(taken, wait))
            }
            None => self.towards_run(facts),
        }
    }

    /// Whole granules inside a block of the other class: that which needs the fewest waits.
    #[inline(never)]
    fn granules_of_fewest_waits(&self, facts: &Facts<'_>) -> Option<(usize, u64, u64)> {
        let bytes = facts.pool(self.pool).granule_up(self.size);
        let whole = |b: &Block| facts.granules_inside(b).filter(|(from, to)| to.wrapping_sub(*from) >= bytes);
        let slot = self.fewest_waits(facts, self.other_class(), bytes, |b| whole(b).is_some())?;
        let (from, _) = whole(facts.blocks.get(slot))?;
        Some((slot, from, from.wrapping_add(bytes)))
    }

    /// The same towards a run of blocks.
    #[inline(never)]
    fn towards_run(&self, facts: &Facts<'_>) -> Option<Towards> {
        let imagined = Self { imagine_waits: true, ..*self };
        let run = imagined.choose_run(facts)?.taken;
        let Taken::Run(first) = run else { return None };
        let (mut missing, mut wait) = (self.size, None);
        for (_, block) in facts.blocks.walk(Link::to(first)) {
            if missing == 0 || wait.is_some() || !imagined.joins(facts, block) {
                break;
            }
            missing = missing.saturating_sub(block.size);
            if !self.add_wait(facts, block, &mut wait) {
                return None;
            }
        }
        Some(Self::towards_taken(run, wait))
    }

    /// The block of a class that needs the fewest waits, then the smallest.
    #[inline(never)]
    fn fewest_waits(&self, facts: &Facts<'_>, class: Class, size: u64, fits: impl Fn(&Block) -> bool) -> Option<usize> {
        let mut best: Option<((usize, u64, u64), usize)> = None;
        for (slot, block) in facts.index.entries(&facts.blocks, (self.pool, Kind::Free(class)), size) {
            if fits(block) && self.could_wait(facts, block) {
                let rank = (self.unreached(facts, block).count(), block.size, block.at);
                if best.is_none_or(|best| (rank, slot) < best) {
                    best = Some((rank, slot));
                }
            }
        }
        best.map(|(_, slot)| slot)
    }

    /// Notes the first wait that a block needs, if it needs any. False: for a marker that is not laid.
    #[inline(never)]
    pub(crate) fn add_wait(&self, facts: &Facts<'_>, block: &Block, wait: &mut Option<Dependency>) -> bool {
        let open = self.unreached(facts, block).find(|&mark| !facts.order.settled(mark, Level::Known));
        let Some(on) = open else { return true };
        let CoveredBy::Marker { slot, .. } = facts.order.covered_by(on) else { return false };
        *wait = Some(Dependency { marker: slot, on });
        true
    }

    /// The wait that is left, or what can be taken where none is.
    fn towards_taken(taken: Taken, wait: Option<Dependency>) -> Towards {
        match wait {
            Some(dependency) => Towards::Wait(dependency),
            None => Towards::Ready(Choice { taken, reach: Reach::Event }),
        }
    }
}

/// What a malloc sees of the free index.
struct Eyes<'f, 'a> {
    ask: &'f Ask,
    facts: &'f Facts<'a>,
}

impl Sight<Reach> for Eyes<'_, '_> {
    fn stream(&self) -> usize {
        self.ask.stream
    }

    fn own(&self) -> Reach {
        Reach::Own
    }

    fn anyones(&self) -> Reach {
        Reach::Settled
    }

    fn reaches(&self, stream: usize) -> [Seq; WAYS] {
        let Self { ask, facts } = self;
        let settled = facts.order.done(stream, facts.pool(ask.pool).level());
        if !ask.follows_events(facts) {
            return [settled; WAYS];
        }
        let implied = settled.max(facts.order.implied_up_to(ask.stream, stream));
        [settled, implied, implied.max(facts.order.clock(ask.stream, stream))]
    }

    #[inline]
    fn reaches_to(&self, stream: usize) -> Seq {
        let Self { ask, facts } = self;
        let settled = facts.order.done(stream, facts.pool(ask.pool).level());
        if !ask.follows_events(facts) {
            return settled;
        }
        settled.max(facts.order.implied_up_to(ask.stream, stream)).max(facts.order.clock(ask.stream, stream))
    }

    fn way(&self, way: usize) -> Reach {
        match way {
            0 => Reach::Settled,
            1 => Reach::Implied,
            _ => Reach::Event,
        }
    }

    fn furthest(&self, stream: usize, former: bool) -> Mark {
        let Self { ask, facts } = self;
        if stream == ask.stream && !former {
            return Mark { stream, seq: UNTIL_FREE };
        }
        // Beside a position of the stream's own, what is implied counts whatever the switches say.
        let settled = facts.order.done(stream, facts.pool(ask.pool).level());
        let ahead = facts.order.implied_up_to(ask.stream, stream).max(facts.order.clock(ask.stream, stream));
        Mark { stream, seq: settled.max(ahead) }
    }

    fn judge(&self, block: &Block) -> Option<Reach> {
        self.ask.reach(self.facts, block)
    }
}

/// A run as it was measured.
struct RunOfBlocks {
    blocks: usize,
    size: u64,
    end: u64,
    reach: Reach,
}

/// Whether a block's whole past is complete, as far as weir knows: then its granules may be moved or released.
#[cfg_attr(feature = "compact", inline(never))]
pub(crate) fn is_settled(facts: &Facts<'_>, block: &Block) -> bool {
    plant::on(Plant::ReleasePending) || facts.order.all_settled(&block.points(), Level::Known)
}
