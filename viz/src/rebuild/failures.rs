//! Which of a call's driver calls failed: the log says that one of a kind did, and around it what the others did.

use super::refused::passed_over;
use crate::model::{EventIx, Model, Payload};
use std::ops::Range;
use weir::driver::{DriverCall, DriverError};
use weir::id::PoolId;
use weir::trace::{MapReason, Record, UnmapReason};
use weir::units::{Bytes, DevicePtr};

/// A driver call that fails.
#[derive(Debug)]
pub(super) struct Failing {
    pub(super) error: DriverError,
    pub(super) when: When,
}

/// Which one of its kind, once the failures before it have been.
#[derive(Debug)]
pub(super) enum When {
    /// The one behind so many that do not fail.
    After(u64),
    /// The one about this address.
    At(DevicePtr),
    /// The first one about any address.
    Anywhere,
    /// The destruction of a granule that could not be mapped.
    NotMapped,
    /// The destruction of a granule that was kept apart, behind so many that went.
    KeptApart(u64),
    /// The first one about an address that is in none of these: what the log says was done.
    Outside(Vec<Range<u64>>),
}

/// The records of one call.
struct Window<'m> {
    model: &'m Model,
    records: Vec<(EventIx, Record<'static>)>,
}

/// A growth: its records among those of the call, and what it was to map.
struct Growth {
    records: Range<usize>,
    planned: Range<u64>,
    granularity: u64,
}

/// The driver calls that failed in a call whose records are these, in their order.
pub(super) fn failures(model: &Model, from: EventIx, to: EventIx) -> Vec<Failing> {
    let all = (from.at()..to.at()).map(EventIx::next_of);
    let records = all.filter_map(|at| match model.events.payload(at) {
        Payload::Other(record) => Some((at, record)),
        Payload::Life(_) => None,
    });
    Window { model, records: records.collect() }.failures()
}

impl Window<'_> {
    fn failures(&self) -> Vec<Failing> {
        let (mut found, mut before) = (Vec::new(), 0);
        for (place, (at, record)) in self.records.iter().enumerate() {
            let Record::DriverFailed { error } = *record else { continue };
            // Answers to queries are known one by one.
            if error.call == DriverCall::Query || passed_over(self.model, *at).is_some() {
                continue;
            }
            let when = match error.call {
                DriverCall::Map => self.unmapped_place(place),
                DriverCall::Create => When::After(self.created(before, place)),
                DriverCall::Unmap => self.not_unmapped(place),
                DriverCall::Destroy => self.destroyed(before, place),
                DriverCall::Release => self.released(place),
                call => When::After(self.count(before..place, |record| answers(record, call))),
            };
            found.push(Failing { error, when });
            before = place + 1;
        }
        found
    }

    fn count(&self, places: Range<usize>, of: impl Fn(&Record<'_>) -> u64) -> u64 {
        self.records[places].iter().map(|(_, record)| of(record)).sum()
    }

    /// The growth that was under way at a place.
    fn growth(&self, place: usize) -> Option<Growth> {
        let planned = |(_, record): &(EventIx, Record<'_>)| matches!(record, Record::GrowPlanned { .. });
        let begin = self.records[..place].iter().rposition(planned)?;
        let end = self.records[begin + 1..].iter().position(planned).map_or(self.records.len(), |at| begin + 1 + at);
        let Record::GrowPlanned { pool, offset, granules, .. } = self.records[begin].1 else { return None };
        let granularity = self.granularity(pool);
        let planned = self.range(pool, offset, granules);
        Some(Growth { records: begin..end, planned, granularity })
    }

    fn granularity(&self, pool: PoolId) -> u64 {
        let device = self.definition(pool).map(|definition| definition.config.device);
        let found = self.model.devices.iter().find(|(id, _)| Some(*id) == device);
        found.map_or(1, |(_, properties)| properties.granularity.0)
    }

    fn definition(&self, pool: PoolId) -> Option<crate::model::Definition> {
        self.model.pools.iter().find(|known| known.id == pool)?.definition
    }

    /// Addresses of a pool's granules.
    fn range(&self, pool: PoolId, offset: Bytes, granules: u32) -> Range<u64> {
        let from = self.definition(pool).map_or(0, |definition| definition.base.0).saturating_add(offset.0);
        from..from.saturating_add(u64::from(granules).saturating_mul(self.granularity(pool)))
    }

    /// What a growth mapped, those before a failure too: that is written when it ends.
    fn mapped(&self, growth: &Growth) -> impl Iterator<Item = (Range<u64>, MapReason)> {
        let planned = growth.planned.clone();
        self.records[growth.records.clone()].iter().filter_map(move |(_, record)| match *record {
            Record::Mapped { pool, offset, granules, reason }
            | Record::MappedInOrder { pool, offset, granules, reason, .. } => {
                Some((self.range(pool, offset, granules), reason)).filter(|(range, _)| planned.contains(&range.start))
            }
            _ => None,
        })
    }

    /// The first address that a growth did not map.
    fn unmapped_place(&self, place: usize) -> When {
        let Some(growth) = self.growth(place) else { return When::After(0) };
        let end = self.mapped(&growth).map(|(range, _)| range.end).max();
        When::At(DevicePtr(end.unwrap_or(growth.planned.start)))
    }

    /// How many granules were created since the failure before this one.
    fn created(&self, before: usize, place: usize) -> u64 {
        let Some(growth) = self.growth(place) else { return 0 };
        let whole = self.mapped(&growth).any(|(range, _)| range.end == growth.planned.end);
        let granules = |range: &Range<u64>| (range.end - range.start) / growth.granularity;
        // One that it could do without: the rest of the growth was created behind it.
        let counts = |reason| match reason {
            MapReason::Remap => false,
            MapReason::Spare => true,
            _ => !whole,
        };
        let created =
            self.mapped(&growth).filter(|(_, reason)| counts(*reason)).map(|(range, _)| granules(&range)).sum();
        if before > growth.records.start { 0 } else { created }
    }

    /// An unmapping: of all that the call unmapped it is none. Of what an aborted growth takes back, the log says right behind
    /// it how much stayed; what is mapped in order is set aside whatever failed.
    fn not_unmapped(&self, place: usize) -> When {
        let mut behind = self.records[place + 1..].iter().map(|(_, record)| record);
        let stays = behind.find(|record| !is_undone(record));
        let in_order = |(_, record): &(EventIx, Record<'_>)| matches!(record, Record::MappedInOrder { .. });
        let growth = self.growth(place).filter(|growth| !self.records[growth.records.clone()].iter().any(in_order));
        if let (Some(growth), Some(Record::Quarantined { granules, .. })) = (growth, stays) {
            let last = u64::from(*granules).saturating_sub(1).saturating_mul(growth.granularity);
            return When::At(DevicePtr(growth.planned.start.saturating_add(last)));
        }
        let ranges = self.records.iter().filter_map(|(_, record)| match *record {
            Record::Unmapped { pool, offset, granules, .. }
            | Record::UnmappedInOrder { pool, offset, granules, .. } => Some(self.range(pool, offset, granules)),
            _ => None,
        });
        When::Outside(ranges.collect())
    }

    /// A range could not be given back: that of the pool whose last granules were unmapped before.
    fn released(&self, place: usize) -> When {
        let ended = self.records[..place].iter().rev().find_map(|(_, record)| match *record {
            Record::Unmapped { pool, reason: UnmapReason::Destroy, .. } | Record::PoolDestroyed { pool, .. } => {
                Some(pool)
            }
            _ => None,
        });
        let base = ended.and_then(|pool| self.definition(pool)).map(|definition| definition.base);
        base.map_or(When::After(0), When::At)
    }

    /// Whether a granule goes at this place because it could not be mapped.
    fn is_not_mapped(&self, place: usize) -> bool {
        let moved = |record: &Record<'_>| match record {
            Record::Unmapped { reason, .. } | Record::UnmappedInOrder { reason, .. } => *reason == UnmapReason::Remap,
            _ => false,
        };
        let before = self.records[..place].iter().rev().map(|(_, record)| record).find(|record| !moved(record));
        matches!(before, Some(Record::DriverFailed { error }) if error.call == DriverCall::Map)
    }

    /// A granule could not be destroyed: the last one of what was unmapped then, which stands right behind it; without such,
    /// one that could not be mapped, or that was kept apart. Each of those that went since the failure before has a record.
    fn destroyed(&self, before: usize, place: usize) -> When {
        match self.records.get(place + 1).map(|(_, record)| *record) {
            Some(record) if is_undone(&record) => When::Anywhere,
            Some(Record::Unmapped { pool, offset, granules, .. }) => {
                let range = self.range(pool, offset, granules);
                When::At(DevicePtr(range.end - self.granularity(pool)))
            }
            _ if self.is_not_mapped(place) => When::NotMapped,
            _ => {
                let went = |pair: &&[(EventIx, Record<'_>)]| match (pair[0].1, pair[1].1) {
                    (Record::Quarantined { .. }, _) => false,
                    (_, last) => matches!(last, Record::Undestroyed { .. }),
                };
                When::KeptApart(self.records[before.saturating_sub(1)..place].windows(2).filter(went).count() as u64)
            }
        }
    }
}

/// Whether an aborted growth takes back what it mapped.
const fn is_undone(record: &Record<'_>) -> bool {
    matches!(record, Record::Unmapped { reason: UnmapReason::Undo, .. })
}

/// How many successful calls of a kind a record stands for.
fn answers(record: &Record<'_>, call: DriverCall) -> u64 {
    u64::from(matches!(
        (record, call),
        (Record::MarkerLaid { .. }, DriverCall::Lay)
            | (Record::WaitInserted { .. }, DriverCall::Wait)
            | (Record::Blocked { .. }, DriverCall::Synchronise)
    ))
}
