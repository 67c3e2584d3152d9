//! Allocations, frees and mappings as the log is read: who has which addresses.

use super::build::{Builder, signed};
use super::owners::Span;
use super::{Birth, Death, EventIx, Life, LifeIx, Link, NameIx, PoolIx, Run, StreamIx};
use weir::id::{AllocId, LabelId, PoolId};
use weir::trace::{MapReason, Points, Record, UnmapReason};
use weir::units::{Bytes, Seq};

impl Builder {
    pub(super) fn malloc(&mut self, event: EventIx, record: &Record<'_>) -> u32 {
        let Record::Malloc { pool, stream, seq, id, asked, given, offset, source, label, points } = *record else {
            return 0;
        };
        let (pool, stream, name) = (self.pool(pool), self.stream(stream), self.label(label));
        self.model.streams[stream.at()].mallocs += 1;
        let life = LifeIx::next_of(self.model.lives.len());
        let from = self.settle_in(event, pool, life, offset.0, offset.0.saturating_add(given.0));
        let points = self.keep_points(&points);
        self.model.lives.push(Life {
            pool,
            id,
            asked: Some(asked),
            given,
            offset,
            stream,
            seq,
            label,
            name,
            source: Some(source),
            birth: Birth::Malloc(event),
            death: Death::Live,
            points: points.0,
            epoch: points.1,
            from,
        });
        self.alive.insert(id, life);
        self.making[pool.at()].used.add(event, signed(given.0));
        let pool = &mut self.model.pools[pool.at()];
        pool.lives.push(life);
        pool.by_source[source as usize].push(event);
        life.0
    }

    /// Takes the addresses for a new life; answers the range of its links.
    fn settle_in(&mut self, event: EventIx, pool: PoolIx, life: LifeIx, start: u64, end: u64) -> (u32, u32) {
        let making = &mut self.making[pool.at()];
        let trespassed = making.live.take(start, end);
        making.live.put(start, end, life);
        let owners = making.owners.take(start, end);
        making.owners.put(start, end, life);
        for span in trespassed {
            self.end_unrecorded(event, span.value, start..end);
        }
        let at = self.model.links.len();
        for Span { start, end, value } in owners {
            let bytes = end - start;
            match self.model.links[at..].iter_mut().find(|l| l.life == value) {
                Some(link) => link.bytes += bytes,
                None => self.model.links.push(Link { life: value, bytes }),
            }
        }
        (LifeIx::next_of(at).0, LifeIx::next_of(self.model.links.len() - at).0)
    }

    /// A life whose addresses are given away, or whose id is freed elsewhere, must have ended without a record.
    fn end_unrecorded(&mut self, event: EventIx, life: LifeIx, new: std::ops::Range<u64>) {
        let old = &mut self.model.lives[life.at()];
        if old.death != Death::Live {
            return;
        }
        old.death = Death::NotRecorded(event);
        let (pool, id, offset, given, end) = (old.pool, old.id, old.offset, old.given, old.end());
        self.alive.remove(&id);
        let making = &mut self.making[pool.at()];
        making.used.add(event, -signed(given.0));
        making.whole = false;
        // What lies outside the new owner's addresses is nobody's now.
        let _ = making.live.take(offset.0, new.start.min(end));
        let _ = making.live.take(new.end.max(offset.0), end);
        self.odd(event, || {
            format!("allocation {id} is still live, but its addresses are given away: its free is not in the log")
        });
    }

    fn keep_points(&mut self, points: &Points) -> ((u32, u8), u64) {
        let at = EventIx::next_of(self.model.points.len()).0;
        self.model.points.extend(points.list.iter().flatten());
        let length = self.model.points.len() - at as usize;
        ((at, u8::try_from(length).unwrap_or(0)), points.epoch)
    }

    pub(super) fn free(&mut self, event: EventIx, record: &Record<'_>) -> u32 {
        let Record::Free { pool, stream, seq, id, offset, given } = *record else {
            return 0;
        };
        let (pool, stream) = (self.pool(pool), self.stream(stream));
        let known = self.alive.remove(&id).filter(|l| {
            let life = &self.model.lives[l.at()];
            life.pool == pool && life.offset == offset && life.given == given
        });
        let life = known.unwrap_or_else(|| self.born_before(event, pool, stream, seq, id, offset, given));
        self.model.lives[life.at()].death = Death::Free { event, stream, seq };
        let end = offset.0.saturating_add(given.0);
        let making = &mut self.making[pool.at()];
        let there = making.live.take(offset.0, end);
        making.used.add(event, -signed(given.0));
        // Where this one's malloc is not in the log, its addresses may seem to be another's, which must have ended.
        for span in there.into_iter().filter(|s| s.value != life) {
            self.end_unrecorded(event, span.value, offset.0..end);
        }
        life.0
    }

    /// A free without its malloc.
    #[allow(clippy::too_many_arguments, reason = "the fields of one record")]
    fn born_before(
        &mut self,
        event: EventIx,
        pool: PoolIx,
        stream: StreamIx,
        seq: Seq,
        id: AllocId,
        offset: Bytes,
        given: Bytes,
    ) -> LifeIx {
        let life = LifeIx::next_of(self.model.lives.len());
        self.model.lives.push(Life {
            pool,
            id,
            asked: None,
            given,
            offset,
            stream,
            seq,
            label: LabelId::NONE,
            name: NameIx(0),
            source: None,
            birth: Birth::NotRecorded,
            death: Death::Live,
            points: (0, 0),
            epoch: 0,
            from: (0, 0),
        });
        let making = &mut self.making[pool.at()];
        if making.whole {
            self.odd(event, || format!("allocation {id} is freed, but its malloc is not in the log"));
        }
        let making = &mut self.making[pool.at()];
        making.used.unseen(signed(given.0));
        making.before.push(life);
        let end = offset.0.saturating_add(given.0);
        if making.owners.take(offset.0, end).is_empty() {
            making.owners.put(offset.0, end, life);
        }
        life
    }

    pub(super) fn begin(&mut self, event: EventIx, version: (u16, u16, u16)) {
        self.model.version = Some(version);
        if self.model.events.is_empty() {
            return;
        }
        self.odd(event, || "the log begins again here: what went before belongs to another run".to_owned());
        for at in 0..self.making.len() {
            self.end_pool(event, PoolIx::next_of(at));
        }
        self.pools.clear();
        self.streams.clear();
        self.labels.clear();
        self.alive.clear();
    }

    pub(super) fn destroy_pool(&mut self, event: EventIx, id: PoolId) {
        let at = self.pool(id);
        self.end_pool(event, at);
    }

    fn end_pool(&mut self, event: EventIx, at: PoolIx) {
        let making = &mut self.making[at.at()];
        let mut live: Vec<LifeIx> = making.live.drain().iter().map(|s| s.value).collect();
        live.dedup();
        for life in live {
            let life = &mut self.model.lives[life.at()];
            if life.death == Death::Live {
                life.death = Death::Destroyed(event);
                self.alive.remove(&life.id);
            }
        }
        for Span { start, end, value } in making.mapped.drain() {
            self.model.pools[at.at()].runs.push(Run {
                start,
                end,
                mapped: value.0.map(|e| (e, value.1)),
                unmapped: Some(event),
                why: Some(UnmapReason::Destroy),
            });
        }
        for tally in [&mut making.used, &mut making.reserved] {
            if tally.now() > 0 {
                tally.add(event, -tally.now());
            }
        }
    }

    pub(super) fn map(&mut self, event: EventIx, pool: PoolId, offset: Bytes, granules: u32, reason: MapReason) {
        let at = self.pool(pool);
        let bytes = self.model.pools[at.at()].granularity.0 * u64::from(granules);
        let end = offset.0.saturating_add(bytes);
        let making = &mut self.making[at.at()];
        let twice: u64 = making.mapped.take(offset.0, end).iter().map(|s| s.end - s.start).sum();
        making.mapped.put(offset.0, end, (Some(event), reason));
        making.reserved.add(event, signed(bytes - twice));
        // Fresh memory: nobody had it at this address before.
        let _ = making.owners.take(offset.0, end);
        if twice > 0 {
            making.whole = false;
            self.odd(event, || format!("{twice} bytes are mapped twice: their unmapping is not in the log"));
        }
    }

    pub(super) fn unmap(&mut self, event: EventIx, pool: PoolId, offset: Bytes, granules: u32, reason: UnmapReason) {
        let at = self.pool(pool);
        let bytes = self.model.pools[at.at()].granularity.0 * u64::from(granules);
        let end = offset.0.saturating_add(bytes);
        let making = &mut self.making[at.at()];
        let known = making.mapped.take(offset.0, end);
        let covered: u64 = known.iter().map(|s| s.end - s.start).sum();
        let _ = making.owners.take(offset.0, end);
        making.reserved.unseen(signed(bytes - covered));
        making.reserved.add(event, -signed(bytes));
        let mut run = |start, end, mapped| {
            self.model.pools[at.at()].runs.push(Run { start, end, mapped, unmapped: Some(event), why: Some(reason) });
        };
        let mut from = offset.0;
        for span in known {
            if span.start > from {
                run(from, span.start, None);
            }
            run(span.start, span.end, span.value.0.map(|e| (e, span.value.1)));
            from = span.end;
        }
        if from < end {
            run(from, end, None);
        }
        if covered < bytes {
            self.unmapped_unknown(event, at, bytes - covered);
        }
    }

    fn unmapped_unknown(&mut self, event: EventIx, pool: PoolIx, bytes: u64) {
        let making = &mut self.making[pool.at()];
        if making.whole {
            making.whole = false;
            self.odd(event, || format!("{bytes} bytes are unmapped, but their mapping is not in the log"));
        }
    }
}
