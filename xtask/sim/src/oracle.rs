//! The judge: from the order of operations and the state of every byte, says whether memory was given out, moved and
//! released safely, and whether the pool overlooked any.

use crate::failure::{Failure, Kind};
use crate::fit::{Scope, View};
use crate::memory::{Memory, Piece};
use crate::order::{Order, Point};
use crate::set::Set;
use weir::driver::{Properties, Target};
use weir::id::DeviceId;
use weir::policy::Reuse;
use weir::units::Bytes;

/// Requests up to the small limit, and those above.
pub(crate) const LARGE: u8 = 1;
pub(crate) const SMALL: u8 = 2;

/// What the oracle keeps of a pool.
pub(crate) struct Pool {
    pub(crate) device: DeviceId,
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
    /// Unmaps in stream order: until one is complete, its addresses are there for streams that come after it only.
    pub(crate) leaving: Vec<Point>,
}

/// A malloc in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking {
    pub(crate) pool: usize,
    pub(crate) native: u64,
    pub(crate) size: u64,
    pub(crate) class: u8,
    pub(crate) waited: bool,
    /// Whether it was judged already that the pool may go on to a costlier way; by way.
    judged: [bool; 3],
}

/// What must still come before the next use of memory, beside what is done with it from now on: only the legacy default
/// stream's rules order it before this malloc, and they order work, and a malloc is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) points: Vec<Point>,
    /// There were more than a pool has places for.
    pub(crate) crowded: bool,
}

/// Positions that a block of the pool's has places for, that of the free among them.
pub(crate) const PLACES: usize = 3;

/// How many different streams these are.
pub(crate) fn distinct(mut streams: Vec<u32>) -> usize {
    streams.sort_unstable();
    streams.dedup();
    streams.len()
}

/// What a malloc does where nothing is free at once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Asks,
    Waits,
    Grows,
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
    pub(crate) fresh: Vec<u64>,
    /// `free_async` may make no driver call.
    pub(crate) quiet: bool,
    /// How often this step has read the clock.
    pub(crate) looks: u64,
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
            looks: 0,
            justified: 0,
        }
    }

    pub(crate) fn fail(&mut self, kind: Kind, text: String) {
        self.failure.get_or_insert(Failure::new(kind, text));
    }

    pub(crate) fn granularity(&self) -> u64 {
        self.properties.granularity.get()
    }

    /// Whether it counts what the pool overlooks.
    pub(crate) fn is_strict(&self) -> bool {
        self.strict && !self.order.vague
    }

    /// The pool whose range holds an address.
    pub(crate) fn pool_at(&self, at: u64) -> Option<usize> {
        self.pools.iter().position(|pool| pool.base <= at && at < pool.base + pool.range)
    }

    /// The operations that pieces ask about.
    pub(crate) fn asked_about(&self, set: &mut Set) {
        let pieces = self.pools.iter().flat_map(|pool| &pool.memory.pieces);
        let leaving = self.pools.iter().flat_map(|pool| &pool.leaving);
        pieces
            .flat_map(|piece| piece.points.iter().chain(&piece.maybe))
            .chain(leaving)
            .for_each(|point| set.insert(point.id));
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
            Target::Device(device) => self.order.complete_device(device, Whose::Pool),
        }
    }

    pub(crate) fn synchronised(&mut self, what: Target) {
        use crate::order::Whose::Program;
        match what {
            Target::Marker(slot) => self.order.complete_laid(slot.0 as usize, Program),
            Target::Stream(native) => self.order.complete_stream(native.0, Program),
            Target::Device(device) => self.order.complete_device(device, Program),
        }
    }

    pub(crate) fn mapped(&mut self, at: u64, native: Option<u64>) {
        if !self.judges {
            return;
        }
        let ordered = native.filter(|_| self.maps_in_order());
        let points = ordered.map(|native| self.order.add(native)).into_iter().collect();
        let granularity = self.granularity();
        match self.pool_at(at) {
            // Where the growth fails half way, what the stream has yet to map is set aside.
            Some(pool) => self.pools[pool].memory.map(at, granularity, points, ordered.is_some()),
            None => self.fail(Kind::Unsafe, format!("a granule was mapped at {at:#x}, outside every pool")),
        }
        self.fresh.push(at);
        // The granules of one growth are one block, which is there for others when the last of them is.
        let last = self.pool_at(at).and_then(|pool| {
            let memory = &self.pools[pool].memory;
            memory.overlapping(at, at + granularity).next().and_then(|piece| piece.points.first().copied())
        });
        if let (Some(pool), Some(last)) = (self.pool_at(at), last) {
            let fresh = self.fresh.clone();
            fresh.into_iter().for_each(|at| self.pools[pool].memory.doubt(at, last));
        }
    }

    pub(crate) fn unmapped(&mut self, at: u64, native: Option<u64>) {
        if !self.judges {
            return;
        }
        let granularity = self.granularity();
        let Some(pool) = self.pool_at(at) else { return };
        let ordered = native.filter(|_| self.maps_in_order());
        let known = &self.order.known;
        let before = |point: &Point| ordered.is_some_and(|native| self.order.comes_before(*point, native));
        let done = |point: &Point| known.has(point.id) || before(point);
        let busy = |piece: &&Piece| piece.live || !piece.points.iter().all(done);
        let in_use = self.pools[pool].memory.overlapping(at, at + granularity).find(busy).cloned();
        if let Some(piece) = in_use {
            self.fail(Kind::Unsafe, format!("the granule at {at:#x} was unmapped under {}", shown(&piece)));
        }
        self.pools[pool].memory.unmap(at, granularity);
        if let Some(native) = ordered {
            let point = self.order.add(native);
            self.pools[pool].leaving.push(point);
        }
    }

    fn maps_in_order(&self) -> bool {
        self.properties.capabilities.contains(weir::driver::Capabilities::MAP_IN_STREAM_ORDER)
    }

    /// What each stream of the device comes after may be merged more freely.
    pub(crate) fn note_common(&mut self) {
        let order = &self.order;
        for Pool { memory, device, reuse, .. } in &mut self.pools {
            memory.forget(|point| order.seen.has(point.id));
            let follows = reuse.contains(Reuse::EVENT);
            memory.note_common(|points| order.is_alone(*device) || (follows && order.is_common(*device, points)));
        }
    }

    pub(crate) fn released(&mut self, base: u64) {
        self.pools.retain(|pool| pool.base != base);
    }

    // What the program does.

    pub(crate) fn begin_malloc(&mut self, pool: usize, native: u64, size: u64) {
        if self.judges {
            let class = if size <= self.pools[pool].small { SMALL } else { LARGE };
            self.fresh.clear();
            let (order, number) = (&self.order, self.order.number(native));
            self.pools[pool].memory.note_own(number, |points| order.is_untold(number, points));
            self.asking = Some(Asking { pool, native, size, class, waited: false, judged: [false; 3] });
        }
    }

    /// The pool turns to a costlier way: nothing that costs less may be there.
    pub(crate) fn turns_to(&mut self, way: Way) {
        let strict = self.is_strict();
        let Some(asking) = &mut self.asking else { return };
        if std::mem::replace(&mut asking.judged[way as usize], true) || !strict {
            return;
        }
        let asking = *asking;
        if matches!(way, Way::Asks) && self.may_join(&asking) {
            return;
        }
        let view = View::least(self, &asking);
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

    /// The malloc got these bytes.
    pub(crate) fn end_malloc(&mut self, at: u64, given: u64) -> Kept {
        let Some(asking) = self.asking.take() else { return Kept::default() };
        let (from, to) = (at, at + given);
        if given != asking.size {
            self.fail(Kind::Unsafe, format!("{given} bytes were given for {} rounded up", asking.size));
        }
        self.judge_safety(&asking, from, to);
        self.judge_fit(&asking, at);
        let kept = self.kept(&asking, from, to);
        let granularity = self.granularity();
        let memory = &mut self.pools[asking.pool].memory;
        memory.take(from, to, asking.class);
        let granules: Vec<u64> = self.fresh.drain(..).filter(|at| at + granularity > from && *at < to).collect();
        granules.into_iter().for_each(|at| memory.open(at, at + granularity));
        kept
    }

    /// All of it must be mapped, free, and ordered before whatever the stream does next.
    fn judge_safety(&mut self, asking: &Asking, from: u64, to: u64) {
        let view = View::most(self, asking);
        let mut expected = from;
        let mut wrong = None;
        for piece in self.pools[asking.pool].memory.overlapping(from, to) {
            if wrong.is_none() && (piece.live || !self.reached_all(&view, piece) || piece.from > expected) {
                wrong = Some(shown(piece));
            }
            expected = piece.to;
        }
        if let Some(piece) = wrong {
            self.fail(Kind::Unsafe, format!("a malloc on stream #{} got {from:#x}..{to:#x}: {piece}", view.number));
        } else if expected < to {
            self.fail(Kind::Unsafe, format!("a malloc got {from:#x}..{to:#x}, where not all is mapped"));
        }
    }

    /// What must still come before the next use of memory that is given out now.
    fn kept(&self, asking: &Asking, from: u64, to: u64) -> Kept {
        let mut kept = Kept::default();
        if !self.judges || !self.order.tied(asking.native) {
            return kept;
        }
        let (past, implied) = (self.order.past(asking.native), self.order.implied(asking.native));
        let number = self.order.number(asking.native);
        let only_implied = |p: &&Point| p.stream != number && implied.has(p.id) && !past.has(p.id);
        let mut streams = Vec::new();
        for piece in self.pools[asking.pool].memory.overlapping(from, to) {
            kept.crowded |= piece.crowded;
            streams.extend(piece.points.iter().map(|point| point.stream));
            for point in piece.points.iter().filter(only_implied) {
                // What only the pool knows to be complete it keeps, although it need not.
                match (self.order.known.has(point.id), self.order.seen.has(point.id)) {
                    (false, _) => kept.points.push(*point),
                    (true, seen) => kept.crowded |= !seen,
                }
            }
        }
        kept.points.sort_unstable_by_key(|point| point.id);
        kept.points.dedup();
        kept.crowded |= distinct(streams) > PLACES;
        kept
    }

    /// The malloc was refused for want of memory, or of addresses.
    pub(crate) fn end_refused(&mut self, reserved: u64, device_free: u64, for_addresses: bool) {
        let Some(asking) = self.asking.take() else { return };
        if !self.is_strict() {
            return;
        }
        let mut view = View::least(self, &asking);
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
        // What a growth in stream order set aside keeps the addresses that it had yet to map.
        let aside = |piece: &Piece| piece.crowded && !piece.live && piece.freed == 0;
        let leaving = pool.leaving.iter().any(|point| !self.order.known.has(point.id));
        if leaving
            || pool.memory.pieces.iter().any(aside)
            || pool.memory.longest_hole(pool.base, pool.range, granularity) < bytes
        {
            return None;
        }
        if for_addresses {
            return Some(format!("a malloc of {} bytes was refused for want of addresses", asking.size));
        }
        let movable = self.movable(asking.pool);
        let created = bytes.saturating_sub(movable);
        let others = (0..self.pools.len())
            .filter(|&p| p != asking.pool && !self.pools[p].dying && self.pools[p].device == pool.device);
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
        let all = |points: &[Point]| points.iter().all(|point| settled.has(point.id));
        let complete = |piece: &Piece| !piece.crowded && all(&piece.points) && all(&piece.maybe);
        pool.memory.whole(self.granularity(), |piece| complete(piece) && pool.memory.all_joined(piece, complete))
    }

    /// After a synchronisation or a trim: nothing above `keep` that could go is left.
    pub(crate) fn judge_release(&mut self, pool: usize, keep: u64, reserved: u64, used: u64) {
        if !self.judges || !self.is_strict() {
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
        let device = self.pools[pool].device;
        let points = if with_live { self.order.add_everywhere(device) } else { Vec::new() };
        let pool = &mut self.pools[pool];
        pool.dying = true;
        for piece in pool.memory.pieces.iter_mut().filter(|piece| piece.live) {
            (piece.live, piece.crowded) = (false, true);
            piece.points.clone_from(&points);
        }
    }

    /// Bytes that are mapped in the pool at this address.
    pub(crate) fn mapped_in(&self, base: u64) -> u64 {
        self.pool_at(base).map_or(0, |pool| self.pools[pool].memory.mapped(self.granularity()))
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
