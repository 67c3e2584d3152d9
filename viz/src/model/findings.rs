//! What the detector found, and where in the model that is.

use super::{EventIx, FindingIx, LifeIx, Model, Payload, PoolIx};
use crate::check::{Finding, Operation, Report};

/// A finding and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// What is wrong.
    pub finding: Finding,
    /// The pool that it is about, where it is about one.
    pub pool: Option<PoolIx>,
    /// The record that should have come first, where it is in the log.
    pub first: Option<EventIx>,
    /// The record where it shows.
    pub second: EventIx,
}

impl Flag {
    /// The addresses that it is about, from the pool's base.
    #[must_use]
    pub fn addresses(&self) -> Option<(u64, u64)> {
        let memory = self.finding.memory?;
        Some((memory.offset.0, memory.offset.0.saturating_add(memory.bytes.0)))
    }

    /// Whether it belongs to a picture of that pool. What is about no pool belongs to each.
    #[must_use]
    pub fn concerns(&self, pool: PoolIx) -> bool {
        self.pool.is_none_or(|own| own == pool)
    }
}

/// What the detector found in the log; nothing until the log is checked.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    flags: Vec<Flag>,
    more: u64,
}

impl Findings {
    /// Those that are kept one by one, in the order in which they show.
    #[must_use]
    pub fn flags(&self) -> &[Flag] {
        &self.flags
    }

    /// One of them.
    #[must_use]
    pub fn flag(&self, at: FindingIx) -> Option<&Flag> {
        self.flags.get(at.at())
    }

    /// Each with its index.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (FindingIx, &Flag)> {
        self.flags.iter().enumerate().map(|(at, flag)| (FindingIx::next_of(at), flag))
    }

    /// How many there are in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.flags.len() as u64 + self.more
    }
}

impl Model {
    /// Takes what was found in the log of this model.
    pub fn take_findings(&mut self, report: Report) {
        let more = report.more;
        let flags: Vec<Flag> = report.findings.into_iter().filter_map(|finding| self.place(finding)).collect();
        for at in 0..self.pools.len() {
            let of_pool = flags.iter().filter(|flag| flag.concerns(PoolIx::next_of(at)));
            let mut events: Vec<EventIx> = of_pool.map(|flag| flag.second).collect();
            events.sort_unstable();
            self.pools[at].findings = events;
        }
        self.findings = Findings { flags, more };
    }

    /// `None` only for the report of another log.
    fn place(&self, finding: Finding) -> Option<Flag> {
        let second = self.event_of(&finding.second)?;
        let first = finding.first.as_ref().and_then(|first| self.event_of(first));
        let life = self.life_of_operation(second).or_else(|| first.and_then(|event| self.life_of_operation(event)));
        let named = || {
            let id = finding.memory?.pool;
            self.pools.iter().rposition(|pool| pool.id == id).map(PoolIx::next_of)
        };
        let pool = life.map(|life| self.life(life).pool).or_else(named);
        Some(Flag { pool, first, second, finding })
    }

    /// The model and the detector count the same records.
    fn event_of(&self, operation: &Operation) -> Option<EventIx> {
        let at = usize::try_from(operation.at).ok().filter(|at| *at < self.events.len())?;
        Some(EventIx::next_of(at))
    }

    fn life_of_operation(&self, event: EventIx) -> Option<LifeIx> {
        match self.events.payload(event) {
            Payload::Life(life) => Some(life),
            Payload::Other(_) => None,
        }
    }
}
