//! Who is ordered before whom: the simulation's own vector clocks, which know nothing of weir's.
//!
//! A word `clock[T]` says that every operation up to this number in place `T` comes before. All order between
//! operations is settled when they are queued (a wait takes the lay that it saw; what the host knows flows to what is
//! queued later), so the verdict does not depend on when anything happens to run.

use super::storage::Stamp;
use super::violation::{SimArena, SimError};

pub(super) struct Order<'a> {
    width: usize,
    host: &'a mut [u64],
    streams: &'a mut [u64],
    markers: &'a mut [u64],
    /// Advances whenever the host learns something.
    version: u64,
}

fn row(words: &[u64], width: usize, index: usize) -> Result<&[u64], SimError> {
    let start = index.saturating_mul(width);
    words.get(start..start.saturating_add(width)).ok_or(SimError::Full(SimArena::Clocks))
}

fn row_mut(words: &mut [u64], width: usize, index: usize) -> Result<&mut [u64], SimError> {
    let start = index.saturating_mul(width);
    words.get_mut(start..start.saturating_add(width)).ok_or(SimError::Full(SimArena::Clocks))
}

/// Takes the later of each word; says whether anything changed.
fn join(into: &mut [u64], from: &[u64]) -> bool {
    let mut changed = false;
    for (mine, theirs) in into.iter_mut().zip(from) {
        if *mine < *theirs {
            *mine = *theirs;
            changed = true;
        }
    }
    changed
}

fn copy<'s, 't>(into: impl IntoIterator<Item = &'s mut u64>, from: impl IntoIterator<Item = &'t u64>) {
    for (mine, theirs) in into.into_iter().zip(from) {
        *mine = *theirs;
    }
}

fn raise(row: &mut [u64], slot: usize, issue: u64) -> bool {
    match row.get_mut(slot) {
        Some(word) if *word < issue => {
            *word = issue;
            true
        }
        _ => false,
    }
}

impl<'a> Order<'a> {
    pub(super) fn new(host: &'a mut [u64], streams: &'a mut [u64], markers: &'a mut [u64]) -> Self {
        host.fill(0);
        streams.fill(0);
        markers.fill(0);
        Self { width: host.len(), host, streams, markers, version: 0 }
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Whether the host knows that everything up to `issue` in this place is complete.
    pub(super) fn host_knows(&self, slot: usize, issue: u64) -> bool {
        self.host.get(slot).is_some_and(|known| issue <= *known)
    }

    /// Whether operation `issue` in place `before` comes before whatever is queued in place `after` next.
    pub(super) fn before(&self, before: usize, issue: u64, after: usize) -> bool {
        let word = row(self.streams, self.width, after).ok().and_then(|row| row.get(before));
        before == after || word.is_some_and(|known| issue <= *known)
    }

    /// Whether a map or unmap comes before what is queued in place `after` next; where none is named, whether the host
    /// knows it to be complete.
    pub(super) fn follows(&self, after: Option<usize>, stamp: Stamp) -> bool {
        let slot = stamp.slot as usize;
        match after {
            _ if stamp.issue == 0 => true,
            Some(after) => self.before(slot, stamp.issue, after),
            None => self.host_knows(slot, stamp.issue),
        }
    }

    /// A new tenant comes after what the host knows, and after nothing else.
    pub(super) fn begin(&mut self, slot: usize) -> Result<(), SimError> {
        copy(row_mut(self.streams, self.width, slot)?, self.host.iter());
        Ok(())
    }

    /// What is queued from now on comes after what the host knows.
    pub(super) fn after_host(&mut self, slot: usize) -> Result<(), SimError> {
        join(row_mut(self.streams, self.width, slot)?, self.host);
        Ok(())
    }

    /// What is queued in place `slot` from now on comes after everything up to `issue` in place `other`.
    pub(super) fn after_stream(&mut self, slot: usize, other: usize, issue: u64) -> Result<(), SimError> {
        let width = self.width;
        let range = |index: usize| index.saturating_mul(width)..index.saturating_mul(width).saturating_add(width);
        let rows = self.streams.get_disjoint_mut([range(slot), range(other)]);
        let [mine, theirs] = rows.map_err(|_| SimError::Full(SimArena::Clocks))?;
        join(mine, theirs);
        raise(mine, other, issue);
        Ok(())
    }

    /// Keeps what a stream comes after, for [`restore`](Self::restore).
    pub(super) fn save<'s>(&self, slot: usize, into: impl Iterator<Item = &'s mut u64>) -> Result<(), SimError> {
        copy(into, row(self.streams, self.width, slot)?);
        Ok(())
    }

    /// Undoes what was added since [`save`](Self::save).
    pub(super) fn restore<'s>(&mut self, slot: usize, from: impl Iterator<Item = &'s u64>) -> Result<(), SimError> {
        copy(row_mut(self.streams, self.width, slot)?, from);
        Ok(())
    }

    /// A marker takes what its stream comes after.
    pub(super) fn lay(&mut self, marker: usize, slot: usize) -> Result<(), SimError> {
        let mine = row(self.streams, self.width, slot)?;
        copy(row_mut(self.markers, self.width, marker)?, mine);
        Ok(())
    }

    /// What is queued from now on comes after a marker, which was laid by `issue` in place `by`.
    pub(super) fn wait(&mut self, slot: usize, marker: usize, by: usize, issue: u64) -> Result<(), SimError> {
        let mine = row_mut(self.streams, self.width, slot)?;
        join(mine, row(self.markers, self.width, marker)?);
        raise(mine, by, issue);
        Ok(())
    }

    /// The host learns that everything up to `issue` in place `slot` is complete.
    pub(super) fn learn_stream(&mut self, slot: usize, issue: u64) -> Result<(), SimError> {
        let joined = join(self.host, row(self.streams, self.width, slot)?);
        let raised = raise(self.host, slot, issue);
        self.version += u64::from(joined | raised);
        Ok(())
    }

    /// The host learns that a marker is complete, which was laid by `issue` in place `by`.
    pub(super) fn learn_marker(&mut self, marker: usize, by: usize, issue: u64) -> Result<(), SimError> {
        let joined = join(self.host, row(self.markers, self.width, marker)?);
        let raised = raise(self.host, by, issue);
        self.version += u64::from(joined | raised);
        Ok(())
    }
}
