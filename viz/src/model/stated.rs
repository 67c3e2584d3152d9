//! Sums that a translated log states in place of counting.

use super::{EventIx, Events, Kind, Life, Payload, PoolIx};

/// A call states no more than used and reserved bytes and a threshold.
const MOST: usize = 3;

/// The sums with the records that they hold from on. What a call states that it leaves stands before the call, and it is
/// the call that makes it so.
pub(super) fn in_effect(
    events: &Events,
    lives: &[Life],
    pool: PoolIx,
    stated: &[(EventIx, u64)],
) -> Vec<(EventIx, u64)> {
    let call = |at: EventIx| {
        let behind = (at.at() + 1..events.len()).take(MOST).map(EventIx::next_of);
        let next = behind.into_iter().find(|next| events.kind(*next) != Kind::AttributeSet)?;
        let Payload::Life(life) = events.payload(next) else { return None };
        (lives[life.at()].pool == pool && events.time(next) == events.time(at)).then_some(next)
    };
    let mut sums: Vec<(EventIx, u64)> = stated.iter().map(|(at, sum)| (call(*at).unwrap_or(*at), *sum)).collect();
    // Of several at one record the last holds.
    sums.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 = later.1;
        }
        same
    });
    sums
}

/// What held before the first of them.
pub(super) type Before = fn(&Events, &[Life], (EventIx, u64)) -> u64;

/// The used bytes before the first that are stated: where a call made them so, those without it.
pub(super) fn before(events: &Events, lives: &[Life], (at, sum): (EventIx, u64)) -> u64 {
    match (events.payload(at), events.kind(at)) {
        (Payload::Life(life), Kind::Malloc) => sum.saturating_sub(lives[life.at()].given.0),
        (Payload::Life(life), _) => sum.saturating_add(lives[life.at()].given.0),
        _ => sum,
    }
}
