//! A malloc that was refused before anything was looked for.

use super::Explanation;
use crate::model::{EventIx, Model, Payload};
use crate::report::refusal_words;
use crate::scene::ticks;
use weir::id::{PoolId, StreamId};
use weir::trace::{Record, Refusal, Verb};
use weir::units::Bytes;

/// Why there is nothing to choose from: the call itself could not be met, whatever is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untried {
    /// Its record.
    pub event: EventIx,
    /// The record's number.
    pub record: u64,
    /// The pool, where it is one.
    pub pool: Option<PoolId>,
    /// The stream, where it is one.
    pub stream: Option<StreamId>,
    /// Bytes asked for.
    pub asked: Bytes,
    /// The reason's name in the log.
    pub reason: &'static str,
    /// In words.
    pub why: String,
    /// What to change.
    pub change: &'static str,
    /// How many records the core writes again as they are logged; `None`: the record alone was looked at, for it names no
    /// pool or stream that a call could be made with.
    pub agreed: Option<u64>,
}

impl Untried {
    /// Of a refused malloc; `None` for other records.
    pub(super) fn of(model: &Model, event: EventIx) -> Option<Self> {
        let Payload::Other(record @ Record::Refused { verb: Verb::Malloc, pool, stream, reason, size, .. }) =
            model.events.payload(event)
        else {
            return None;
        };
        Some(Self {
            event,
            record: model.events.number(event),
            pool,
            stream,
            asked: size,
            reason: reason.name(),
            why: refusal_words(&record).unwrap_or_default(),
            change: change(&reason),
            agreed: None,
        })
    }

    /// Whether it names what a call can be made with.
    pub(super) const fn is_whole(&self) -> bool {
        self.pool.is_some() && self.stream.is_some()
    }

    /// The verdict, in a sentence.
    #[must_use]
    pub fn verdict(&self) -> String {
        format!("refused before anything was looked for: {}", self.why)
    }

    /// In lines, as [`text`](super::text()) gives an explanation.
    #[must_use]
    pub fn text(&self) -> String {
        let stream = self.stream.map_or_else(|| "no stream".to_owned(), |id| format!("stream {id}"));
        let pool = self.pool.map_or_else(|| "no pool".to_owned(), |id| format!("pool {id}"));
        let asked = ticks::bytes_exact(self.asked.0);
        let mut lines = vec![
            ("call", format!("record {}: a malloc that was refused", self.record)),
            ("asked", format!("{asked} on {stream} of {pool}")),
            ("got", "nothing: the call was refused".to_owned()),
            ("verdict", self.verdict()),
            ("least change", self.change.to_owned()),
        ];
        if let Some(agreed) = self.agreed {
            lines.push(("recomputed", Explanation::agreed_words(agreed)));
        }
        lines.into_iter().map(|(name, value)| format!("{name:<13} {value}\n")).collect()
    }
}

const fn change(reason: &Refusal) -> &'static str {
    match reason {
        Refusal::ZeroSize => "ask for a byte at least",
        Refusal::AboveLimit(_) => "a larger limit of the pool, or less in one call: no pool gives more than its limit",
        Refusal::Overflow => "a smaller size: this one is beyond all addresses once it is rounded up",
        Refusal::NoAddressRange(_) => "a pool with a longer range of addresses, or less in one call",
        Refusal::OtherDevice => "a stream of the pool's device, or a pool of the stream's device",
        Refusal::Capturing => "the call before the capture begins or after it ends",
        Refusal::Unknown => "an id that the runtime gave out",
        Refusal::Stale => "the call before the pool or stream is destroyed, or another pool or stream",
        Refusal::ArenaFull(..) => "a runtime with larger arenas, or fewer of what fills this one at once",
        Refusal::Driver(_) => "the driver's failure has to be found: weir could not go on without that call",
        _ => "a call that the reason does not hold for",
    }
}
