//! The judge: from the order of operations and the state of every byte, says whether memory was given out, moved and
//! released safely, and whether the pool overlooked any.

use crate::failure::{Failure, Kind};
use crate::memory::{Memory, Piece};
use crate::order::{Order, Point};
use crate::set::Set;
use weir::driver::{Properties, Target};
use weir::policy::Reuse;
use weir::units::Bytes;

/// Requests up to the small limit, and those above.
pub(crate) const LARGE: u8 = 1;
pub(crate) const SMALL: u8 = 2;

/// What the oracle keeps of a pool.
pub(crate) struct Pool {
    pub(crate) base: u64,
    pub(crate) range: u64,
    pub(crate) limit: u64,
    pub(crate) threshold: u64,
    pub(crate) reuse: Reuse,
    pub(crate) small: u64,
    /// Switch 2 was on at some time: what the pool learnt then, it need not forget.
    pub(crate) asked: bool,
    /// It is destroyed; what it holds goes when its work is complete.
    pub(crate) dying: bool,
    pub(crate) memory: Memory,
}

/// A malloc in flight.
#[derive(Clone, Copy, Debug)]
struct Asking {
    pool: usize,
    native: u64,
    size: u64,
    class: u8,
    waited: bool,
    /// Whether it was judged already that the pool may go on to a costlier way; by way.
    judged: [bool; 3],
}

/// What a malloc does where nothing is free at once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Asks,
    Waits,
    Grows,
}

/// Where memory is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// In granules that only the request's class had, and in whole granules inside one piece.
    Class,
    /// Anywhere.
    All,
}

/// How a stream sees operations.
struct View {
    number: u32,
    settled: Set,
    /// Empty where orders along events do not count.
    ahead: Set,
    /// Driver slots of the pool's markers, where waits for them are imagined.
    markers: Option<usize>,
}

pub(crate) struct Oracle {
    pub(crate) order: Order,
    pub(crate) pools: Vec<Pool>,
    pub(crate) failure: Option<Failure>,
    /// Whether memory is judged at all.
    judges: bool,
    /// Whether overlooked memory counts: not where the driver fails on demand.
    strict: bool,
    /// Driver slots from here on are the pool's own markers.
    pub(crate) events: usize,
    properties: Properties,
    asking: Option<Asking>,
    /// Granules that were mapped for it.
    fresh: Vec<u64>,
    /// `free_async` may make no driver call.
    pub(crate) quiet: bool,
    /// How many refusals and costlier ways were found justified.
    pub(crate) justified: u64,
}

impl Oracle {
    pub(crate) fn new(events: usize, properties: Properties, judges: bool, strict: bool) -> Self {
        Self {
            order: Order::new(),
            pools: Vec::new(),
            failure: None,
            judges,
            strict,
            events,
            properties,
            asking: None,
            fresh: Vec::new(),
            quiet: false,
            justified: 0,
        }
    }

    pub(crate) fn fail(&mut self, kind: Kind, text: String) {
        self.failure.get_or_insert(Failure::new(kind, text));
    }

    fn granularity(&self) -> u64 {
        self.properties.granularity.get()
    }

    /// The pool whose range holds an address.
    pub(crate) fn pool_at(&self, at: u64) -> Option<usize> {
        self.pools.iter().position(|pool| pool.base <= at && at < pool.base + pool.range)
    }

    /// The operations that pieces ask about.
    pub(crate) fn asked_about(&self, set: &mut Set) {
        let pieces = self.pools.iter().flat_map(|pool| &pool.memory.pieces);
        pieces.flat_map(|piece| &piece.points).for_each(|point| set.insert(point.id));
    }

    /// How a stream sees a pool's memory. Two answers: the most that the pool may rely on, and what it must know.
    fn view(&self, pool: usize, native: u64, waited: bool, at_most: bool) -> View {
        let pool = &self.pools[pool];
        // A wait for what the pool knows to be complete needs no driver call.
        let waits = pool.reuse.contains(Reuse::INTERNAL);
        let asks = pool.reuse.contains(Reuse::OPPORTUNISTIC) || (at_most && (pool.asked || waits));
        let settled = match (asks, at_most) {
            (true, _) => self.order.known,
            (false, true) => self.order.seen_at_most,
            (false, false) => self.order.seen,
        };
        let events = waited || pool.reuse.contains(Reuse::EVENT);
        let ahead = match (events, at_most) {
            (true, _) => self.order.ahead(native),
            // What a stream freed itself is its own, although others came first by the legacy stream's rules.
            (false, true) => self.order.implied(native),
            (false, false) => Set::NONE,
        };
        View { number: self.order.number(native), settled, ahead, markers: None }
    }

    fn reached(&self, view: &View, point: Point) -> bool {
        point.stream == view.number
            || view.settled.has(point.id)
            || view.ahead.has(point.id)
            || view.markers.is_some_and(|first| self.order.marked(point, first))
    }

    fn usable(&self, view: &View, piece: &Piece) -> bool {
        !piece.live && !piece.crowded && piece.points.iter().all(|&point| self.reached(view, point))
    }

    // What the driver sees.

    pub(crate) fn laid(&mut self, slot: usize, native: u64) {
        self.order.lay(slot, native);
    }

    pub(crate) fn waits(&mut self, native: u64, slot: usize) {
        self.order.wait(native, slot);
        let Some(asking) = self.asking.as_mut().filter(|_| slot >= self.events) else { return };
        asking.waited = true;
        let pool = asking.pool;
        if !self.pools[pool].reuse.contains(Reuse::INTERNAL) {
            self.fail(Kind::Unsafe, "a wait was inserted although switch 3 is off".into());
        }
    }

    pub(crate) fn complete(&mut self, what: Target) {
        use crate::order::Whose;
        match what {
            Target::Marker(slot) => {
                let slot = slot.0 as usize;
                let whose = if slot < self.events { Whose::Program } else { Whose::Pool };
                self.order.complete_laid(slot, whose);
            }
            // Only the pool asks about streams; the program synchronises.
            Target::Stream(native) => self.order.complete_stream(native.0, Whose::Pool),
            Target::Device(_) => self.order.complete_everything(Whose::Pool),
        }
    }

    pub(crate) fn synchronised(&mut self, what: Target) {
        use crate::order::Whose::Program;
        match what {
            Target::Marker(slot) => self.order.complete_laid(slot.0 as usize, Program),
            Target::Stream(native) => self.order.complete_stream(native.0, Program),
            Target::Device(_) => self.order.complete_everything(Program),
        }
    }

    pub(crate) fn mapped(&mut self, at: u64, native: Option<u64>) {
        if !self.judges {
            return;
        }
        let in_order = weir::driver::Capabilities::MAP_IN_STREAM_ORDER;
        let ordered = native.filter(|_| self.properties.capabilities.contains(in_order));
        let points = ordered.map(|native| self.order.add(native)).into_iter().collect();
        let granularity = self.granularity();
        match self.pool_at(at) {
            // Where the growth fails half way, what the stream has yet to map is set aside.
            Some(pool) => self.pools[pool].memory.map(at, granularity, points, ordered.is_some()),
            None => self.fail(Kind::Unsafe, format!("a granule was mapped at {at:#x}, outside every pool")),
        }
        self.fresh.push(at);
    }

    pub(crate) fn unmapped(&mut self, at: u64) {
        if !self.judges {
            return;
        }
        let granularity = self.granularity();
        let Some(pool) = self.pool_at(at) else { return };
        let known = &self.order.known;
        let busy = |piece: &&Piece| piece.live || piece.points.iter().any(|point| !known.has(point.id));
        let in_use = self.pools[pool].memory.overlapping(at, at + granularity).find(busy).cloned();
        if let Some(piece) = in_use {
            self.fail(Kind::Unsafe, format!("the granule at {at:#x} was unmapped under {}", shown(&piece)));
        }
        self.pools[pool].memory.unmap(at, granularity);
    }

    pub(crate) fn released(&mut self, base: u64) {
        self.pools.retain(|pool| pool.base != base);
    }

    // What the program does.

    pub(crate) fn begin_malloc(&mut self, pool: usize, native: u64, size: u64) {
        if self.judges {
            let class = if size <= self.pools[pool].small { SMALL } else { LARGE };
            self.fresh.clear();
            self.asking = Some(Asking { pool, native, size, class, waited: false, judged: [false; 3] });
        }
    }

    /// The pool turns to a costlier way: nothing that costs less may be there.
    pub(crate) fn turns_to(&mut self, way: Way) {
        let Some(asking) = &mut self.asking else { return };
        if std::mem::replace(&mut asking.judged[way as usize], true) || !self.strict || self.order.vague {
            return;
        }
        let asking = *asking;
        let view = self.view(asking.pool, asking.native, asking.waited, false);
        match self.find(&asking, &view, Scope::Class) {
            Some((from, to)) => self.fail(
                Kind::Missed,
                format!(
                    "a malloc of {} bytes {} although {from:#x}..{to:#x} ({} bytes) was usable",
                    asking.size,
                    match way {
                        Way::Asks => "asked the driver",
                        Way::Waits => "inserted a wait",
                        Way::Grows => "mapped or moved memory",
                    },
                    to - from
                ),
            ),
            None => self.justified += 1,
        }
    }

    /// The malloc got these bytes. Returns what must still come before their next use, since only the legacy default
    /// stream's rule orders it before this malloc: that rule orders work, and a malloc is none.
    pub(crate) fn end_malloc(&mut self, at: u64, given: u64) -> Vec<Point> {
        let Some(asking) = self.asking.take() else { return Vec::new() };
        let (from, to) = (at, at + given);
        if given != asking.size {
            self.fail(Kind::Unsafe, format!("{given} bytes were given for {} rounded up", asking.size));
        }
        let view = self.view(asking.pool, asking.native, asking.waited, true);
        let (past, granularity) = (self.order.past(asking.native), self.granularity());
        let mut implied = Vec::new();
        let mut expected = from;
        let mut wrong = None;
        for piece in self.pools[asking.pool].memory.overlapping(from, to) {
            let unordered = piece.points.iter().any(|&point| !self.reached(&view, point));
            if wrong.is_none() && (piece.live || unordered || piece.from > expected) {
                wrong = Some(shown(piece));
            }
            let only_implied = |p: &&Point| p.stream != view.number && !past.has(p.id) && !self.order.known.has(p.id);
            for point in piece.points.iter().filter(only_implied) {
                if !implied.contains(point) {
                    implied.push(*point);
                }
            }
            expected = piece.to;
        }
        if let Some(piece) = wrong {
            self.fail(Kind::Unsafe, format!("a malloc on stream #{} got {from:#x}..{to:#x}: {piece}", view.number));
        } else if expected < to {
            self.fail(Kind::Unsafe, format!("a malloc got {from:#x}..{to:#x}, where not all is mapped"));
        }
        let memory = &mut self.pools[asking.pool].memory;
        memory.take(from, to, asking.class);
        let granules: Vec<u64> = self.fresh.drain(..).filter(|at| at + granularity > from && *at < to).collect();
        granules.into_iter().for_each(|at| memory.open(at, at + granularity));
        implied
    }

    /// The malloc was refused for want of memory, or of addresses.
    pub(crate) fn end_refused(&mut self, reserved: u64, device_free: u64, for_addresses: bool) {
        let Some(asking) = self.asking.take() else { return };
        if !self.strict || self.order.vague {
            return;
        }
        let mut view = self.view(asking.pool, asking.native, asking.waited, false);
        if let Some((from, to)) = self.find(&asking, &view, Scope::All) {
            let text = format!("a malloc of {} bytes was refused although {from:#x}..{to:#x} was usable", asking.size);
            return self.fail(Kind::Missed, text);
        }
        if let Some(text) = self.could_grow(&asking, reserved, device_free, for_addresses) {
            return self.fail(Kind::Missed, text);
        }
        if self.pools[asking.pool].reuse.contains(Reuse::INTERNAL) {
            view.markers = Some(self.events);
            if let Some((from, to)) = self.find(&asking, &view, Scope::Class) {
                return self.fail(
                    Kind::Missed,
                    format!(
                        "a malloc of {} bytes was refused although waits for markers that are laid would have \
                         made {from:#x}..{to:#x} usable",
                        asking.size
                    ),
                );
            }
        }
        self.justified += 1;
    }

    /// The call ended in an error that says nothing about memory.
    pub(crate) fn end_failed(&mut self) {
        self.asking = None;
    }

    fn could_grow(&self, asking: &Asking, reserved: u64, device_free: u64, for_addresses: bool) -> Option<String> {
        let granularity = self.granularity();
        let pool = &self.pools[asking.pool];
        let bytes = asking.size.next_multiple_of(granularity);
        if pool.memory.longest_hole(pool.base, pool.range, granularity) < bytes {
            return None;
        }
        if for_addresses {
            return Some(format!("a malloc of {} bytes was refused for want of addresses", asking.size));
        }
        let movable = self.movable(asking.pool);
        let created = bytes.saturating_sub(movable);
        let others = (0..self.pools.len()).filter(|&p| p != asking.pool && !self.pools[p].dying);
        let others: u64 = others.map(|pool| self.movable(pool)).sum();
        let room = created <= pool.limit.saturating_sub(reserved) && created <= device_free + others;
        room.then(|| {
            format!(
                "a malloc of {} bytes was refused although {movable} bytes could be moved and {created} created \
                 (reserved {reserved} of {}, the device has {device_free}, other pools could release {others})",
                asking.size, pool.limit
            )
        })
    }

    /// Bytes of granules that are free and whose work the pool knows to be complete.
    pub(crate) fn movable(&self, pool: usize) -> u64 {
        let pool = &self.pools[pool];
        let settled = if pool.reuse.contains(Reuse::OPPORTUNISTIC) { &self.order.known } else { &self.order.seen };
        let complete = |piece: &Piece| !piece.crowded && piece.points.iter().all(|point| settled.has(point.id));
        pool.memory.whole(self.granularity(), complete)
    }

    /// A run of free bytes that is long enough and that the view lets the stream have.
    fn find(&self, asking: &Asking, view: &View, scope: Scope) -> Option<(u64, u64)> {
        let granularity = self.granularity();
        let memory = &self.pools[asking.pool].memory;
        let (mut from, mut to) = (0, 0);
        for piece in &memory.pieces {
            if !self.usable(view, piece) {
                (from, to) = (0, 0);
                continue;
            }
            let whole = (piece.from.next_multiple_of(granularity), piece.to - piece.to % granularity);
            if whole.1.saturating_sub(whole.0) >= asking.size.next_multiple_of(granularity) {
                return Some(whole);
            }
            for (at, classes) in memory.classes(piece.from, piece.to) {
                let (start, end) = (piece.from.max(at), piece.to.min(at + granularity));
                if scope == Scope::Class && (memory.mixed || classes != asking.class) {
                    (from, to) = (0, 0);
                    continue;
                }
                if to != start {
                    from = start;
                }
                to = end;
                if to - from >= asking.size {
                    return Some((from, to));
                }
            }
        }
        None
    }

    /// After a synchronisation or a trim: nothing above `keep` that could go is left.
    pub(crate) fn judge_release(&mut self, pool: usize, keep: u64, reserved: u64, used: u64) {
        if !self.judges || !self.strict || self.order.vague {
            return;
        }
        let surplus = reserved.saturating_sub(keep.max(used));
        let movable = self.movable(pool);
        if surplus >= self.granularity() && movable > 0 {
            self.fail(
                Kind::Missed,
                format!("{reserved} bytes stay reserved, {keep} are to be kept, and {movable} could be released"),
            );
        }
    }

    /// A block is freed: `points` must come before its next use.
    pub(crate) fn freed(&mut self, at: u64, points: Vec<Point>, crowded: bool) {
        if let Some(pool) = self.pool_at(at).filter(|_| self.judges) {
            self.pools[pool].memory.give(at, points, crowded);
        }
    }

    /// A pool is destroyed; what is live waits for everything.
    pub(crate) fn end_pool(&mut self, pool: usize, with_live: bool) {
        let points = if with_live { self.order.add_everywhere() } else { Vec::new() };
        let pool = &mut self.pools[pool];
        pool.dying = true;
        for piece in pool.memory.pieces.iter_mut().filter(|piece| piece.live) {
            (piece.live, piece.crowded) = (false, true);
            piece.points.clone_from(&points);
        }
    }

    pub(crate) fn unit(&self) -> Bytes {
        self.properties.alignment
    }
}

fn shown(piece: &Piece) -> String {
    let state = if piece.live { "live" } else { "free" };
    let points: Vec<String> = piece.points.iter().map(|p| format!("{} of stream #{}", p.id, p.stream)).collect();
    let after = if points.is_empty() { "nothing".into() } else { points.join(", ") };
    format!("{:#x}..{:#x} is {state} and waits for {after}", piece.from, piece.to)
}
