//! Whose memory is whose: allocations, and the pools that they are from.

use super::finding::{Memory, Operation, What};
use super::order::{Order, Place};
use foldhash::HashMap;
use std::collections::{BTreeMap, BTreeSet};
use weir::id::{AllocId, DeviceId, StreamId};
use weir::policy::UseUntil;
use weir::units::{Bytes, DevicePtr, Nanos, Seq};

/// An operation, and where it stands: in the log (definitions not counted) and on its stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) at: u64,
    pub(super) place: Option<Place>,
    pub(super) shown: Operation,
}

/// How an allocation ended.
#[derive(Clone, Debug)]
pub(super) enum End {
    Live,
    /// Freed; and the uses by other streams that the free does not come after.
    Freed {
        free: Op,
        uses: Vec<Op>,
    },
    /// Its pool was destroyed: whoever used it may still do so.
    Abandoned {
        with: Op,
        heads: Vec<Place>,
    },
}

/// A malloc or free in little room, as a log holds millions of them: what it was, and its stream's lane, are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noted {
    at: u64,
    record: u64,
    time: Nanos,
    stream: StreamId,
    seq: Seq,
}

impl Noted {
    /// Of an operation on a stream.
    pub(super) fn of(op: &Op) -> Option<Self> {
        let Operation { record, time, stream, seq, .. } = op.shown;
        Some(Self { at: op.at, record, time, stream: stream?, seq: seq? })
    }

    fn op(self, what: What, order: &Order) -> Op {
        let Self { at, record, time, stream, seq } = self;
        let place = order.known(stream).map(|lane| Place { lane, seq: seq.0 });
        Op { at, place, shown: Operation { at, record, time, what, stream: Some(stream), seq: Some(seq) } }
    }
}

/// How an allocation ended, in little room.
#[derive(Clone, Debug)]
pub(super) enum Ended {
    Not,
    Freed(Noted),
    Abandoned(Box<(Op, Vec<Place>)>),
}

/// An allocation.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub(super) id: AllocId,
    pub(super) memory: Memory,
    /// Its malloc, where the log has it.
    pub(super) malloc: Option<Noted>,
    /// Uses by other streams, once it is freed those that the free does not come after; a use until the free has no
    /// position before that.
    pub(super) uses: Vec<(Op, UseUntil)>,
    pub(super) ended: Ended,
    /// It was told that it leaked.
    pub(super) leaked: bool,
}

const _: () = assert!(size_of::<Life>() <= 160);

impl Life {
    /// Its malloc, where the log has it.
    pub(super) fn malloc(&self, order: &Order) -> Option<Op> {
        self.malloc.map(|noted| noted.op(What::Malloc(self.id), order))
    }

    /// How it ended.
    pub(super) fn end(&self, order: &Order) -> End {
        match &self.ended {
            Ended::Not => End::Live,
            Ended::Freed(noted) => {
                let uses = self.uses.iter().map(|used| used.0).collect();
                End::Freed { free: noted.op(What::Free(self.id), order), uses }
            }
            Ended::Abandoned(with) => End::Abandoned { with: with.0, heads: with.1.clone() },
        }
    }
}

/// Ranges of addresses that do not overlap, each with a value.
#[derive(Debug)]
pub(super) struct Ranges<T>(BTreeMap<u64, (u64, T)>);

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Copy> Ranges<T> {
    /// Takes out what lies in a range, cut at its ends.
    pub(super) fn take(&mut self, start: u64, end: u64) -> Vec<(u64, u64, T)> {
        let mut found = Vec::new();
        while let Some((&from, &(to, value))) = self.0.range(..end).next_back() {
            if to <= start || end <= start {
                break;
            }
            self.0.remove(&from);
            if end < to {
                self.0.insert(end, (to, value));
            }
            found.push((from.max(start), to.min(end), value));
            if from < start {
                self.0.insert(from, (start, value));
                break;
            }
        }
        found
    }

    pub(super) fn put(&mut self, start: u64, end: u64, value: T) {
        if start < end {
            self.0.insert(start, (end, value));
        }
    }

    /// What lies in a range, cut at its ends, from the last on.
    pub(super) fn within(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64, T)> {
        let all = self.0.range(..end).rev().map(|(&from, &(to, value))| (from, to, value));
        all.take_while(move |(_, to, _)| *to > start)
            .map(move |(from, to, value)| (from.max(start), to.min(end), value))
    }

    /// How many bytes of a range are there.
    pub(super) fn covered(&self, start: u64, end: u64) -> u64 {
        self.within(start, end).map(|(from, to, _)| to - from).sum()
    }
}

/// A pool.
#[derive(Debug)]
pub(super) struct PoolState {
    /// Base, range and device, once defined.
    pub(super) definition: Option<(DevicePtr, Bytes, DeviceId)>,
    /// Where it was created, if the log has that.
    pub(super) created: Option<u64>,
    pub(super) ended: Option<Op>,
    /// The last to have each byte, since it was mapped.
    pub(super) owners: Ranges<usize>,
    pub(super) mapped: Ranges<Op>,
    /// What was unmapped in the order of a stream, until it is mapped again.
    pub(super) leaving: Ranges<Op>,
    /// It is unclear what is mapped: a granule was given up half way.
    pub(super) unclear: bool,
    /// Driver calls that had failed before it was there; whatever failed since makes it unclear, too.
    pub(super) failures_before: u64,
    pub(super) live: BTreeSet<usize>,
    /// Bytes in live blocks, as the log has them.
    pub(super) used: u64,
    /// The last allocation to begin at an offset.
    pub(super) beginning: HashMap<u64, usize>,
}

impl PoolState {
    pub(super) fn new(failures_before: u64) -> Self {
        Self {
            definition: None,
            created: None,
            ended: None,
            owners: Ranges::default(),
            mapped: Ranges::default(),
            leaving: Ranges::default(),
            unclear: false,
            failures_before,
            live: BTreeSet::new(),
            used: 0,
            beginning: HashMap::default(),
        }
    }

    /// A block is live no more.
    pub(super) fn end(&mut self, life: usize, bytes: Bytes) {
        if self.live.remove(&life) {
            self.used = self.used.saturating_sub(bytes.0);
        }
    }

    /// Where in the pool an address lies.
    pub(super) fn offset(&self, ptr: DevicePtr) -> Option<u64> {
        let (base, range, _) = self.definition?;
        let offset = ptr.0.checked_sub(base.0)?;
        (offset < range.0).then_some(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_and_counted() {
        let mut ranges = Ranges::default();
        ranges.put(0, 10, 'a');
        ranges.put(10, 20, 'b');
        ranges.put(30, 40, 'c');
        assert_eq!((ranges.covered(5, 35), ranges.covered(20, 30)), (20, 0));
        assert_eq!(ranges.take(5, 15), [(10, 15, 'b'), (5, 10, 'a')]);
        assert_eq!((ranges.covered(0, 5), ranges.covered(5, 15), ranges.covered(15, 20)), (5, 0, 5));
        assert_eq!(ranges.take(32, 34), [(32, 34, 'c')]);
        assert_eq!((ranges.covered(30, 40), ranges.covered(32, 34)), (8, 0));
        assert_eq!(ranges.take(9, 9), []);
    }
}
