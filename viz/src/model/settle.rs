//! Allocations, frees and mappings as the log is read: who has which addresses.

use super::build::{Builder, signed};
use super::owners::Span;
use super::{Birth, Death, EventIx, Fact, Life, LifeIx, Link, NameIx, PoolIx, Run, StreamIx};
use std::ops::Range;
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
        let points = self.keep_points(life, &points);
        let recorded = Some(source).filter(|_| !self.model.unrecorded.has(Fact::Source));
        self.model.lives.push(Life {
            pool,
            id,
            asked,
            given,
            offset,
            stream,
            seq,
            label,
            name,
            source: recorded,
            birth: Birth::Malloc(event),
            death: Death::Live,
            points,
            from,
        });
        self.alive.insert(id, life);
        self.making[pool.at()].used.add(event, signed(given.0));
        let making = &mut self.making[pool.at()];
        making.owned.note(event, &making.owners);
        let pool = &mut self.model.pools[pool.at()];
        pool.lives.push(life);
        if let Some(source) = recorded {
            pool.by_source[source as usize].push(event);
        }
        life.0
    }

    /// Takes the addresses for a new life; answers where its links begin.
    fn settle_in(&mut self, event: EventIx, pool: PoolIx, life: LifeIx, start: u64, end: u64) -> u32 {
        let Self { model, making, .. } = self;
        let (at, mut trespassed) = (model.links.len(), Vec::new());
        making[pool.at()].owners.replace(start, end, life, |span| {
            if model.lives[span.value.at()].death == Death::Live {
                trespassed.push(span.value);
            }
            let bytes = span.end - span.start;
            match model.links[at..].iter_mut().find(|link| link.life == span.value) {
                Some(link) => link.bytes += bytes,
                None => model.links.push(Link { life: span.value, bytes }),
            }
        });
        trespassed.into_iter().for_each(|life| self.end_unrecorded(event, life));
        self.ensure_mapped(event, pool, start, end);
        LifeIx::next_of(at).0
    }

    /// A life whose addresses are given away must have ended without a record: in the first missing records after its
    /// malloc.
    fn end_unrecorded(&mut self, event: EventIx, life: LifeIx) {
        let old = &self.model.lives[life.at()];
        if old.death != Death::Live {
            return;
        }
        let (pool, id, given) = (old.pool, old.id, old.given);
        let gap = self.gap_after(old.since());
        self.model.lives[life.at()].death = Death::NotRecorded(gap.unwrap_or(event));
        self.alive.remove(&id);
        let making = &mut self.making[pool.at()];
        match gap {
            Some(gap) => making.used.unseen(gap, -signed(given.0)),
            None => making.used.add(event, -signed(given.0)),
        }
        if gap.is_none() {
            self.odd(event, || {
                format!("allocation {id} is still live, but its addresses are given away: its free is not in the log")
            });
        }
    }

    /// Blocks lie in mapped memory: what is not mapped there must have been in the missing records.
    fn ensure_mapped(&mut self, event: EventIx, pool: PoolIx, start: u64, end: u64) {
        let granule = self.model.pools[pool.at()].granularity.0.max(1);
        let (start, end) = (start - start % granule, end.checked_next_multiple_of(granule).unwrap_or(u64::MAX));
        let missing = self.making[pool.at()].mapped.missing(start, end);
        if missing.is_empty() || start >= end {
            return;
        }
        let bytes: u64 = missing.iter().map(|m| m.1 - m.0).sum();
        let gap = self.latest_gap(pool);
        let making = &mut self.making[pool.at()];
        for (start, end) in missing {
            making.mapped.put(start, end, (gap.unwrap_or(event), None));
        }
        making.reserved.unseen(gap.unwrap_or(event), signed(bytes));
        if gap.is_none() {
            self.odd(event, || format!("{bytes} bytes are in use, but their mapping is not in the log"));
        }
    }

    /// Answers where they begin.
    fn keep_points(&mut self, life: LifeIx, points: &Points) -> u32 {
        let at = EventIx::next_of(self.model.points.len()).0;
        self.model.points.extend(points.list.iter().flatten());
        if points.epoch != 0 {
            self.model.epochs.push((life, points.epoch));
        }
        at
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
        let (life, there) = match known {
            Some(life) => (life, Vec::new()),
            None => self.born_before(event, pool, stream, seq, id, offset, given),
        };
        self.model.lives[life.at()].death = Death::Free { event, stream, seq };
        self.making[pool.at()].used.add(event, -signed(given.0));
        // Where this one's malloc is not in the log, its addresses may seem to be another's, which must have ended.
        there.into_iter().for_each(|span| self.end_unrecorded(event, span.value));
        life.0
    }

    /// A free without its malloc; answers whose its addresses seemed to be, too.
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
    ) -> (LifeIx, Vec<Span<LifeIx>>) {
        let life = LifeIx::next_of(self.model.lives.len());
        let gap = self.latest_gap(pool);
        let since = gap.unwrap_or(event);
        self.model.lives.push(Life {
            pool,
            id,
            asked: given,
            given,
            offset,
            stream,
            seq,
            label: LabelId::NONE,
            name: NameIx(0),
            source: None,
            birth: Birth::NotRecorded(since),
            death: Death::Live,
            points: EventIx::next_of(self.model.points.len()).0,
            from: LifeIx::next_of(self.model.links.len()).0,
        });
        if gap.is_none() {
            self.odd(event, || format!("allocation {id} is freed, but its malloc is not in the log"));
        }
        let end = offset.0.saturating_add(given.0);
        self.ensure_mapped(event, pool, offset.0, end);
        let making = &mut self.making[pool.at()];
        making.used.unseen(since, signed(given.0));
        making.before.push(life);
        let there = making.owners.take(offset.0, end);
        making.owners.put(offset.0, end, life);
        (life, there)
    }

    pub(super) fn begin(&mut self, event: EventIx, version: (u16, u16, u16)) {
        self.model.version = Some(version);
        if self.model.events.is_empty() {
            return;
        }
        self.odd(event, || "the log begins again here: what went before belongs to another run".to_owned());
        for at in 0..self.making.len() {
            self.end_run(event, PoolIx::next_of(at));
        }
        self.pools.clear();
        self.streams.clear();
        self.labels.clear();
        self.alive.clear();
    }

    /// Its blocks are gone. What they lay in stays mapped until all work on it is complete, and each unmapping has its
    /// own record.
    pub(super) fn destroy_pool(&mut self, event: EventIx, id: PoolId, leaked: Bytes) {
        let at = self.pool(id);
        self.model.pools[at.at()].destroyed = Some(event);
        let owners: Vec<LifeIx> = self.making[at.at()].owners.iter().map(|span| span.value).collect();
        owners.into_iter().for_each(|life| self.end_with_pool(event, life, leaked));
        let gap = self.latest_gap(at);
        let making = &mut self.making[at.at()];
        if let Some(gap) = gap {
            making.used.state(gap, signed(leaked.0));
        }
        making.used.end(event);
    }

    fn end_with_pool(&mut self, event: EventIx, at: LifeIx, leaked: Bytes) {
        let life = &self.model.lives[at.at()];
        if life.death != Death::Live {
            return;
        }
        let (pool, id, given) = (life.pool, life.id, signed(life.given.0));
        // Where nothing leaked, it was freed in missing records.
        let gap = self.gap_after(life.since()).filter(|_| leaked.0 == 0);
        self.alive.remove(&id);
        self.model.lives[at.at()].death = match gap {
            Some(gap) => {
                self.making[pool.at()].used.unseen(gap, -given);
                Death::NotRecorded(gap)
            }
            None => Death::Destroyed(event),
        };
    }

    /// Another run begins: nothing of this pool is left.
    fn end_run(&mut self, event: EventIx, at: PoolIx) {
        let making = &mut self.making[at.at()];
        for span in making.owners.drain() {
            let life = &mut self.model.lives[span.value.at()];
            if life.death == Death::Live {
                life.death = Death::Destroyed(event);
            }
        }
        for span in making.mapped.drain() {
            let run = Run::from_span(span, Some(event), Some(UnmapReason::Destroy));
            self.model.pools[at.at()].runs.push(run);
        }
        making.used.end(event);
        making.reserved.end(event);
    }

    pub(super) fn map(&mut self, event: EventIx, pool: PoolId, offset: Bytes, granules: u32, reason: MapReason) {
        let at = self.pool(pool);
        let range = self.granules_at(at, offset, granules);
        let twice = self.making[at.at()].mapped.take(range.start, range.end);
        for span in twice {
            self.unmap_unrecorded(event, at, span);
        }
        self.abandon(event, at, &range);
        let making = &mut self.making[at.at()];
        making.mapped.put(range.start, range.end, (event, Some(reason)));
        making.reserved.add(event, signed(range.end - range.start));
    }

    /// Where so many granules from there on lie.
    fn granules_at(&self, pool: PoolIx, offset: Bytes, granules: u32) -> Range<u64> {
        let bytes = self.model.pools[pool.at()].granularity.0.saturating_mul(u64::from(granules));
        offset.0..offset.0.saturating_add(bytes)
    }

    /// What is mapped anew must have been unmapped before: in the first missing records after its mapping.
    fn unmap_unrecorded(&mut self, event: EventIx, pool: PoolIx, span: Span<(EventIx, Option<MapReason>)>) {
        let bytes = span.end - span.start;
        let gap = self.gap_after(span.value.0);
        let run = Run::from_span(span, Some(gap.unwrap_or(event)), None);
        self.model.pools[pool.at()].runs.push(run);
        let reserved = &mut self.making[pool.at()].reserved;
        match gap {
            Some(gap) => reserved.unseen(gap, -signed(bytes)),
            None => {
                reserved.add(event, -signed(bytes));
                self.odd(event, || format!("{bytes} bytes are mapped twice: their unmapping is not in the log"));
            }
        }
    }

    /// Nobody lives in memory that is mapped or unmapped here, and of fresh memory nobody had it at this address before.
    fn abandon(&mut self, event: EventIx, pool: PoolIx, range: &Range<u64>) {
        for span in self.making[pool.at()].owners.take(range.start, range.end) {
            self.end_unrecorded(event, span.value);
        }
    }

    /// So many granules are reserved but mapped nowhere from here on.
    pub(super) fn keep_apart(&mut self, event: EventIx, pool: PoolId, granules: u32) {
        let at = self.pool(pool);
        let bytes = self.model.pools[at.at()].granularity.0.saturating_mul(u64::from(granules));
        let making = &mut self.making[at.at()];
        making.reserved.add(event, signed(bytes) - signed(making.apart));
        making.apart = bytes;
    }

    pub(super) fn unmap(&mut self, event: EventIx, pool: PoolId, offset: Bytes, granules: u32, reason: UnmapReason) {
        let at = self.pool(pool);
        let range = self.granules_at(at, offset, granules);
        self.abandon(event, at, &range);
        let gap = self.latest_gap(at);
        let making = &mut self.making[at.at()];
        let missing = making.mapped.missing(range.start, range.end);
        let unseen: u64 = missing.iter().map(|m| m.1 - m.0).sum();
        for (start, end) in missing.iter().filter(|_| gap.is_some()) {
            making.mapped.put(*start, *end, (gap.unwrap_or(event), None));
        }
        if let Some(gap) = gap {
            making.reserved.unseen(gap, signed(unseen));
        }
        let known = making.mapped.take(range.start, range.end);
        let bytes: u64 = known.iter().map(|s| s.end - s.start).sum();
        making.reserved.add(event, -signed(bytes));
        let runs = known.into_iter().map(|span| Run::from_span(span, Some(event), Some(reason)));
        self.model.pools[at.at()].runs.extend(runs);
        if unseen > 0 && gap.is_none() {
            self.odd(event, || format!("{unseen} bytes are unmapped, but their mapping is not in the log"));
        }
    }
}
