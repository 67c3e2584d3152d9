//! What of a log is worth a look, each with its place: what the detector found, and what the report tells.

use super::held::{self, axis};
use super::pool::{Peak, holders};
use super::{Waits, refusals, waits};
use crate::model::{Axis, EventIx, Fact, FindingIx, Kind, LifeIx, Model, Payload, PoolIx};
use crate::scene::ticks;
use foldhash::HashMap;
use weir::id::PoolId;
use weir::trace::Record;

/// Where something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A finding of the detector's, which has a place of its own.
    Finding(FindingIx),
    /// An allocation.
    Life(LifeIx),
    /// A record.
    Event(EventIx),
}

/// Something worth a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notable {
    /// Of what kind.
    pub kind: &'static str,
    /// The pool that it is about, where it is about one.
    pub pool: Option<PoolIx>,
    /// Where it is.
    pub place: Place,
    /// What there is to say.
    pub words: String,
}

impl Notable {
    /// The record that it stands at.
    #[must_use]
    pub fn event(&self, model: &Model) -> Option<EventIx> {
        match self.place {
            Place::Finding(at) => model.findings.flag(at).map(|flag| flag.second),
            Place::Life(at) => Some(model.life(at).since()),
            Place::Event(event) => Some(event),
        }
    }

    /// Whether the detector found it: then it is wrong, and not only worth a look.
    #[must_use]
    pub const fn is_wrong(&self) -> bool {
        matches!(self.place, Place::Finding(_))
    }
}

/// What is worth a look: the findings first, then each pool's, then what is nobody's pool. O(n log n) in the records.
#[must_use]
pub fn notable(model: &Model) -> Vec<Notable> {
    let mut list: Vec<Notable> = model
        .findings
        .iter()
        .map(|(at, flag)| Notable {
            kind: flag.finding.fault.name(),
            pool: flag.pool,
            place: Place::Finding(at),
            words: flag.finding.fault.meaning().to_owned(),
        })
        .collect();
    for pool in (0..model.pools.len()).map(PoolIx::next_of) {
        peaks(model, pool, &mut list);
        live_at_end(model, pool, &mut list);
        idle(model, pool, &mut list);
    }
    list.extend(thrash(model));
    list.extend(refused(model));
    list.extend(waited(model));
    list
}

fn peaks(model: &Model, pool: PoolIx, list: &mut Vec<Notable>) {
    let of = model.pool(pool);
    let mut peak = |kind, (bytes, event): (u64, Option<EventIx>), more: String| {
        if bytes > 0 {
            let place = Place::Event(event.unwrap_or(EventIx(0)));
            let words = format!("{}{more}", ticks::bytes(bytes));
            list.push(Notable { kind, pool: Some(pool), place, words });
        }
    };
    let (bytes, event) = of.used.peak();
    let (holders, _) = holders(model, pool, Peak { bytes, event });
    let most = holders.first().map(|holder| {
        let (held, blocks) = (ticks::bytes(holder.bytes), ticks::count(holder.blocks));
        format!("; most of it: {held} in {blocks} blocks, {}", holder.name())
    });
    peak("peak used", (bytes, event), most.unwrap_or_default());
    if !model.unrecorded.has(Fact::Reserved) {
        peak("peak reserved", of.reserved.peak(), String::new());
    }
}

/// What the program never freed, as far as the log goes; at the largest of it.
fn live_at_end(model: &Model, pool: PoolIx, list: &mut Vec<Notable>) {
    let lives = model.pool(pool).lives.iter().filter(|life| model.life(**life).died().is_none());
    let lives: Vec<LifeIx> = lives.copied().collect();
    let bytes = lives.iter().map(|life| model.life(*life).given.0).fold(0, u64::saturating_add);
    let largest = lives.iter().max_by_key(|life| (model.life(**life).given.0, std::cmp::Reverse(**life)));
    list.extend(largest.map(|largest| Notable {
        kind: "live at end",
        pool: Some(pool),
        place: Place::Life(*largest),
        words: format!(
            "{} in {} blocks, the largest #{}",
            ticks::bytes(bytes),
            ticks::count(lives.len() as u64),
            model.life(*largest).id
        ),
    }));
}

fn idle(model: &Model, pool: PoolIx, list: &mut Vec<Notable>) {
    let words = |length: u64| match axis(model) {
        Axis::Time => ticks::time(length),
        Axis::Record => format!("{} records", ticks::count(length)),
    };
    let (_, idle) = held::held(model, pool);
    for idle in idle.into_iter().filter(|idle| idle.early + idle.late > 0) {
        let life = model.life(idle.life);
        let what = format!("#{}, {}", life.id, ticks::bytes(life.given.0));
        let words = format!("{what}: allocated {} early, freed {} late", words(idle.early), words(idle.late));
        list.push(Notable { kind: "idle", pool: Some(pool), place: Place::Life(idle.life), words });
    }
}

/// The record that tells the most of it, of each pool.
fn thrash(model: &Model) -> Vec<Notable> {
    let mut last: Vec<Option<(EventIx, u64)>> = vec![None; model.pools.len()];
    // Of several of one id, as where a log begins again, the last.
    let ids: HashMap<PoolId, usize> = model.pools.iter().enumerate().map(|(at, pool)| (pool.id, at)).collect();
    for event in of_kind(model, Kind::Kept) {
        if let Payload::Other(Record::Kept { pool, thrash, .. }) = model.events.payload(event)
            && let Some(&at) = ids.get(&pool)
            && thrash.0 > last[at].map_or(0, |(_, bytes)| bytes)
        {
            last[at] = Some((event, thrash.0));
        }
    }
    let note = |(at, found): (usize, Option<(EventIx, u64)>)| {
        let (event, bytes) = found?;
        let words =
            format!("{} were released by a synchronisation and mapped again before the next", ticks::bytes(bytes));
        Some(Notable { kind: "thrash", pool: Some(PoolIx::next_of(at)), place: Place::Event(event), words })
    };
    last.into_iter().enumerate().filter_map(note).collect()
}

fn refused(model: &Model) -> Vec<Notable> {
    let note = |refused: super::Refused| Notable {
        kind: "refused",
        pool: None,
        place: Place::Event(refused.at),
        words: format!(
            "{} x {}, {}; first: {}",
            ticks::count(refused.count),
            refused.verb.replace('_', " "),
            refused.reason.replace('_', " "),
            refused.first
        ),
    };
    refusals::refusals(model).into_iter().map(note).collect()
}

fn waited(model: &Model) -> Vec<Notable> {
    let (waits, host) = waits::waits(model);
    let note = |waits: &Waits| Notable {
        kind: "inserted wait",
        pool: None,
        place: Place::Event(waits.first),
        words: waits.words(),
    };
    let mut list: Vec<Notable> = waits.iter().map(note).collect();
    list.extend(of_kind(model, Kind::Blocked).next().filter(|_| host > 0).map(|first| Notable {
        kind: "host waits",
        pool: None,
        place: Place::Event(first),
        words: format!("{} times, so that a malloc gets memory", ticks::count(host)),
    }));
    list
}

fn of_kind(model: &Model, kind: Kind) -> impl Iterator<Item = EventIx> {
    (0..model.events.len()).map(EventIx::next_of).filter(move |event| model.events.kind(*event) == kind)
}

/// As CSV with a heading.
#[must_use]
pub fn csv(model: &Model, list: &[Notable]) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail.
    let _ = out.write_record(["kind", "pool", "record", "what"]);
    for notable in list {
        let pool = notable.pool.map_or(String::new(), |pool| model.pool(pool).id.to_string());
        let record = notable.event(model).map_or(String::new(), |event| model.events.number(event).to_string());
        let _ = out.write_record([notable.kind, &pool, &record, &notable.words]);
    }
    out.into_inner().unwrap_or_default()
}
