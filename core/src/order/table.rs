//! The tables beside the streams' clocks: what an action comes after is written there, and taken from there when it is
//! known to be accepted, waited for or complete.

use super::rows::Rows;
use super::{Level, Mark, Order, StreamSlot};
use crate::arena::Slots;
use crate::policy::StreamKind;

/// Which rows a view is written to.
#[derive(Clone, Copy)]
pub(super) enum Table {
    Events,
    Markers,
    Snapshots,
}

impl<'a> Order<'a> {
    /// Writes what a real action (a record or a marker) comes after: the stream's clock, its own position, and what the
    /// default streams imply. O(streams that it knows of); on a legacy default stream that for each blocking stream.
    #[inline]
    pub(super) fn write_action(&mut self, own: Mark, which: Table, row: usize) {
        self.write_clock(own, which, row);
        if self.legacy_streams > 0 {
            self.write_implied(own.stream, which, row);
        }
    }

    #[inline(never)]
    fn write_implied(&mut self, slot: usize, which: Table, row: usize) {
        let StreamSlot { kind, legacy, .. } = *self.stream(slot);
        match (kind, legacy.slot()) {
            (StreamKind::Blocking | StreamKind::PerThread, Some(legacy)) => {
                let (rows, clocks, streams) = self.tables(which);
                rows.raise(row, legacy, streams.get_mut(legacy).share_all());
                rows.join(row, clocks.row(legacy));
            }
            (StreamKind::Legacy, _) => self.write_followed(slot, which, row),
            _ => {}
        }
    }

    /// Adds the heads and clocks of all that a legacy default stream follows. What they know of each other is less than
    /// their heads, and left out; all is, where no stream waited since the legacy one took it over with a marker.
    fn write_followed(&mut self, slot: usize, which: Table, row: usize) {
        let news = self.stream(slot).caught_up != self.waits;
        let (rows, clocks, streams) = self.tables(which);
        let Some(mut row) = rows.row_mut(row) else { return };
        let mut elsewhere = clocks.no_columns();
        for (other, stream) in streams.iter_mut() {
            if stream.blocks(slot) {
                row.raise(other, stream.share_all());
            } else if other != slot {
                elsewhere.add(other);
            }
        }
        if news {
            let followed = streams.iter().filter(|(_, stream)| stream.blocks(slot));
            row.join_all(followed.map(|(other, _)| clocks.row(other).only(elsewhere)));
        }
    }

    /// Writes a stream's clock with its own position: what its work so far comes after.
    #[inline]
    pub(super) fn write_clock(&mut self, own: Mark, which: Table, row: usize) {
        let (rows, clocks, _) = self.tables(which);
        if let Some(mut row) = rows.row_mut(row) {
            row.write(clocks.row(own.stream), own);
        }
    }

    /// An action was accepted: whatever the stream does from now on comes after what the action implied.
    #[inline]
    pub(super) fn keep_implied(&mut self, slot: usize, which: Table, row: usize) {
        if self.legacy_streams > 0 {
            self.learn_apart(slot, which, row);
        }
    }

    fn rows(&self, which: Table) -> &Rows<'a> {
        match which {
            Table::Events => &self.event_clocks,
            Table::Markers => &self.marker_clocks,
            Table::Snapshots => &self.snapshots,
        }
    }

    /// A table to write to; and the streams' clocks, and the streams.
    #[inline]
    fn tables(&mut self, which: Table) -> (&mut Rows<'a>, &Rows<'a>, &mut Slots<'a, StreamSlot>) {
        let rows = match which {
            Table::Events => &mut self.event_clocks,
            Table::Markers => &mut self.marker_clocks,
            Table::Snapshots => &mut self.snapshots,
        };
        (rows, &self.clocks, &mut self.streams)
    }

    #[cold]
    #[inline(never)]
    fn learn_apart(&mut self, slot: usize, which: Table, row: usize) {
        self.join_from(slot, which, row);
    }

    /// A wait was queued: whatever the stream does from now on comes after what a row stands for.
    #[inline]
    pub(super) fn learn(&mut self, slot: usize, which: Table, row: usize) {
        self.waits = self.waits.wrapping_add(1);
        self.join_from(slot, which, row);
    }

    /// Joins a row of another table into a stream's clock.
    #[cfg_attr(feature = "compact", inline(never))]
    #[cfg_attr(not(feature = "compact"), inline(always))]
    fn join_from(&mut self, slot: usize, which: Table, row: usize) {
        let from = match which {
            Table::Events => &self.event_clocks,
            Table::Markers => &self.marker_clocks,
            Table::Snapshots => &self.snapshots,
        };
        self.clocks.join(slot, from.row(row));
    }

    /// Marks every entry of a row as complete.
    pub(super) fn settle_row(&mut self, which: Table, row: usize, level: Level) {
        self.rows(which).row(row).columns.each(|slot| {
            let seq = *self.rows(which).row(row).entries.get(slot)?;
            if seq > self.done(slot, level) {
                self.settle(slot, seq, level);
            }
            Some(())
        });
    }
}
