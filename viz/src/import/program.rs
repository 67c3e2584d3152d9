//! The program that a log describes: its rows with dense numbers in place of addresses and handles.

use super::order::{Order, Place};
use super::row::{Action, ImportError, Row, Spot, StreamKey};
use std::collections::HashMap;
use weir::driver::Properties;
use weir::policy::{PoolConfig, UseUntil};

/// Rows that are told one by one.
const MOST_TOLD: usize = 5;

/// One row. Blocks, streams and events are numbered in the order of their first appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A block is allocated, on its stream.
    Allocate {
        /// Its number.
        block: usize,
    },
    /// A block is freed on a stream.
    Free {
        /// Its number.
        block: usize,
        /// The stream's number.
        stream: usize,
    },
    /// An event is recorded on a stream.
    Record {
        /// The event's number.
        event: usize,
        /// The stream's number.
        stream: usize,
    },
    /// A stream waits for an event.
    Wait {
        /// The stream's number.
        stream: usize,
        /// The event's number.
        event: usize,
    },
    /// The host waits for a stream.
    SyncStream {
        /// The stream's number.
        stream: usize,
    },
    /// The host waits for all streams.
    SyncDevice,
    /// The host waits for what an event stands for, or learns that it is complete.
    SyncEvent {
        /// The event's number.
        event: usize,
    },
    /// The pool is told that another stream uses a block.
    Use {
        /// The block's number.
        block: usize,
        /// The stream's number.
        stream: usize,
        /// Until when it counts.
        until: UseUntil,
    },
    /// A mark, counted from 1.
    Mark {
        /// Which one.
        number: usize,
    },
    /// Nothing to do: an allocation that failed in the logged program, or one of zero bytes.
    Nothing,
}

/// Where the order of a block's free behind its allocation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// From the log's own rows.
    Logged,
    /// From nowhere: the log frees the block on a stream that it orders nowhere behind the allocation (RMM's own logs hold
    /// no events). Either the program ordered the two without saying so, or it raced; the first is assumed.
    Assumed,
    /// It was live when its pool was destroyed, which counts as a free on its own stream: work of others may hold it longer.
    Ended,
}

/// One allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Bytes asked for.
    pub size: u64,
    /// The stream that allocates it.
    pub stream: usize,
    /// What orders its free behind it.
    pub tie: Tie,
}

/// What the pool of an event log made of the program: its settings, and what came of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The pool's settings when it was made.
    pub config: PoolConfig,
    /// Its device's properties; `None` where they are not in the log.
    pub device: Option<Properties>,
    /// Mallocs that succeeded.
    pub mallocs: u64,
    /// Frees.
    pub frees: u64,
    /// Mallocs that were refused.
    pub refused: u64,
    /// The most bytes in live blocks.
    pub peak_used: u64,
    /// The most mapped bytes.
    pub peak_reserved: u64,
    /// Mallocs by what they relied on, in the order of [`weir::trace::Source::ALL`].
    pub reuse: [u64; 6],
    /// Waits that the pool inserted.
    pub waits_inserted: u64,
    /// Granules that were created.
    pub created: u64,
    /// Granules that were mapped, those that were moved among them.
    pub mapped: u64,
}

/// A log, ready to be replayed.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its rows.
    pub ops: Vec<Op>,
    /// Its allocations.
    pub blocks: Vec<Block>,
    /// What the log calls each stream.
    pub streams: Vec<u64>,
    /// The names of labels.
    pub labels: Vec<String>,
    /// For each of the first blocks its label, counted from 1; 0 for none. The blocks behind them have none.
    pub labelled: Vec<u32>,
    /// How many events there are.
    pub events: usize,
    /// The first row after the last mark; 0 without one.
    pub measured_from: usize,
    /// The names that `mark` rows gave, one for each mark.
    pub marks: Vec<Option<String>>,
    /// What a pool made of it, where the log is weir's own.
    pub recorded: Option<Recorded>,
    /// What rows said that is not replayed.
    pub aside: Aside,
    /// What else a reader should know of the log.
    pub notes: Vec<String>,
}

/// Rows, or parts of them, that a replay leaves aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aside {
    /// `allocate failure` rows.
    pub failures: u64,
    /// Allocations of zero bytes.
    pub zero_sized: u64,
    /// Frees of those, and of null.
    pub frees: u64,
    /// Frees that name another size than their allocation.
    pub missized: u64,
    /// The first such free.
    pub missized_at: Option<Spot>,
}

impl Aside {
    /// Counts a free that names another size than its allocation. Which of the two is right the log does not say.
    fn compare(&mut self, row: &Row, allocated: u64) {
        if row.size.is_some_and(|size| size != allocated) {
            self.missized_at.get_or_insert(row.at);
            self.missized += 1;
        }
    }
}

impl Program {
    /// The program that rows describe.
    pub(super) fn of(rows: impl IntoIterator<Item = Result<Row, ImportError>>) -> Result<Self, ImportError> {
        let mut builder = Builder::default();
        for row in rows {
            let op = builder.op(&row?)?;
            builder.program.ops.push(op);
        }
        let mut program = builder.program;
        program.events = builder.events.len();
        Ok(program)
    }

    /// The program of the rows that make sense, as the other readers of logs take them; a note says of each of the others
    /// what is wrong with it. A block whose free is missing ends where its address is allocated again.
    pub(super) fn around(rows: impl IntoIterator<Item = Result<Row, ImportError>>) -> Result<Self, ImportError> {
        let (mut builder, mut wrong) = (Builder::default(), Vec::new());
        for row in rows {
            let op = row.and_then(|row| {
                let again =
                    row.action == Action::Allocate && row.size != Some(0) && builder.live.contains_key(&row.pointer);
                if !again {
                    return builder.op(&row);
                }
                let freed = builder.free(&Row { action: Action::Free, size: None, ..row.clone() })?;
                builder.program.ops.push(freed);
                builder.unfreed += 1;
                builder.op(&row)
            });
            match op {
                Ok(op) => builder.program.ops.push(op),
                Err(error) => wrong.push(error),
            }
        }
        let Builder { mut program, events, unfreed, .. } = builder;
        program.events = events.len();
        if program.blocks.is_empty()
            && let Some(first) = wrong.first()
        {
            return Err(first.clone());
        }
        program.notes.extend(wrong.iter().take(MOST_TOLD).map(|error| format!("left out: {error}")));
        if wrong.len() > MOST_TOLD {
            program.notes.push(format!("left out: {} more rows", wrong.len() - MOST_TOLD));
        }
        if unfreed > 0 {
            program
                .notes
                .push(format!("{unfreed} blocks end where their address is allocated again: no row frees them"));
        }
        Ok(program)
    }

    /// The sizes of all allocations together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total_within(u64::MAX)
    }

    /// The sizes of all allocations together that a pool of this limit does not refuse at once.
    #[must_use]
    pub fn total_within(&self, limit: u64) -> u64 {
        let sizes = self.blocks.iter().map(|block| block.size);
        sizes.filter(|size| *size <= limit).fold(0, u64::saturating_add)
    }

    /// The most bytes, as asked for, that a pool of this limit may hold of the log at once.
    #[must_use]
    pub fn peak_within(&self, limit: u64) -> u64 {
        let size = |block: usize| {
            let size = self.blocks.get(block).map_or(0, |block| block.size);
            if size <= limit { u128::from(size) } else { 0 }
        };
        let (mut live, mut peak) = (0_u128, 0);
        for op in &self.ops {
            match *op {
                Op::Allocate { block } => live += size(block),
                Op::Free { block, .. } => live -= size(block),
                _ => {}
            }
            peak = peak.max(live);
        }
        u64::try_from(peak).unwrap_or(u64::MAX).min(limit)
    }
}

struct Live {
    block: usize,
    at: Spot,
    place: Place,
}

#[derive(Default)]
struct Builder {
    program: Program,
    /// Live allocations by address.
    live: HashMap<u64, Live>,
    /// Those of zero bytes, which may share an address: how many there are.
    empty: HashMap<u64, usize>,
    streams: HashMap<u64, usize>,
    events: HashMap<u64, usize>,
    order: Order,
    /// Blocks that ended without a free.
    unfreed: u64,
}

impl Builder {
    fn op(&mut self, row: &Row) -> Result<Op, ImportError> {
        match row.action {
            Action::Allocate => return self.allocate(row),
            Action::Free => return self.free(row),
            Action::AllocateFailure => {
                self.program.aside.failures += 1;
                return Ok(Op::Nothing);
            }
            Action::Mark => return Ok(self.mark(row)),
            Action::Sync | Action::Record | Action::Wait => {}
        }
        let StreamKey::One(key) = row.stream else {
            self.order.sync_device();
            return Ok(Op::SyncDevice);
        };
        let stream = self.stream(key);
        if row.action == Action::Sync {
            self.order.sync_stream(stream);
            return Ok(Op::SyncStream { stream });
        }
        let count = self.events.len();
        let event = *self.events.entry(row.pointer).or_insert(count);
        if row.action == Action::Record {
            self.order.record(event, stream);
            return Ok(Op::Record { event, stream });
        }
        self.order.wait(stream, event);
        Ok(Op::Wait { stream, event })
    }

    fn allocate(&mut self, row: &Row) -> Result<Op, ImportError> {
        let size = row.size.unwrap_or(0);
        if size == 0 {
            self.program.aside.zero_sized += 1;
            *self.empty.entry(row.pointer).or_default() += 1;
            return Ok(Op::Nothing);
        }
        if let Some(live) = self.live.get(&row.pointer) {
            let expected = format!("an address that is free (it is live since {})", live.at);
            return Err(pointer(row, expected));
        }
        let stream = self.row_stream(row);
        let live = Live { block: self.program.blocks.len(), at: row.at, place: self.order.step(stream) };
        let block = live.block;
        self.live.insert(row.pointer, live);
        self.program.blocks.push(Block { size, stream, tie: Tie::Logged });
        Ok(Op::Allocate { block })
    }

    fn free(&mut self, row: &Row) -> Result<Op, ImportError> {
        // Of two allocations at an address, one of them empty, a free of zero bytes means that one.
        let means_empty = row.size == Some(0) && self.empty.get(&row.pointer).is_some_and(|count| *count > 0);
        let live = if means_empty { None } else { self.live.remove(&row.pointer) };
        let Some(live) = live else {
            return self.free_nothing(row);
        };
        let stream = self.row_stream(row);
        if let Some(block) = self.program.blocks.get_mut(live.block) {
            self.program.aside.compare(row, block.size);
            if !self.order.reached(stream, live.place) {
                block.tie = Tie::Assumed;
            }
        }
        self.order.step(stream);
        Ok(Op::Free { block: live.block, stream })
    }

    /// A free of what holds no bytes.
    fn free_nothing(&mut self, row: &Row) -> Result<Op, ImportError> {
        match self.empty.get_mut(&row.pointer) {
            Some(count) if *count > 0 => {
                *count -= 1;
                self.program.aside.compare(row, 0);
            }
            // Freeing null is no error in any allocator.
            _ if row.pointer == 0 => {}
            _ => return Err(pointer(row, "an address that an earlier row allocated and none has freed".into())),
        }
        self.program.aside.frees += 1;
        Ok(Op::Nothing)
    }

    fn mark(&mut self, row: &Row) -> Op {
        self.program.marks.push(row.name.clone());
        self.program.measured_from = self.program.ops.len() + 1;
        Op::Mark { number: self.program.marks.len() }
    }

    fn row_stream(&mut self, row: &Row) -> usize {
        match row.stream {
            StreamKey::One(key) => self.stream(key),
            StreamKey::Device => 0,
        }
    }

    fn stream(&mut self, key: u64) -> usize {
        let streams = &mut self.program.streams;
        *self.streams.entry(key).or_insert_with(|| {
            streams.push(key);
            streams.len() - 1
        })
    }
}

fn pointer(row: &Row, expected: String) -> ImportError {
    ImportError { at: row.at, column: Some("Pointer"), found: format!("{:#x}", row.pointer), expected }
}

#[cfg(test)]
mod tests {
    use super::super::rmm::Rows;
    use super::*;

    fn read(rows: &str) -> Result<Program, ImportError> {
        Program::of(Rows::new(format!("Thread,Time,Action,Pointer,Size,Stream\n{rows}").as_bytes())?)
    }

    #[test]
    fn addresses_that_return_are_new_blocks() {
        let program =
            read("1,1,allocate,0x10,100,5\n1,2,free,0x10,100,5\n1,3,allocate,0x10,7,6\n").expect("is readable");
        assert_eq!(
            program.ops,
            [Op::Allocate { block: 0 }, Op::Free { block: 0, stream: 0 }, Op::Allocate { block: 1 }]
        );
        assert_eq!((program.peak_within(u64::MAX), program.total()), (100, 107));
        assert_eq!(program.streams, [5, 6]);
        assert_eq!(program.blocks[1].stream, 1);
    }

    #[test]
    fn freeing_what_is_not_live_names_the_line() {
        for rows in ["1,1,free,0x10,0,0\n", "1,1,allocate,0x10,8,0\n1,1,free,0x10,8,0\n1,1,free,0x10,8,0\n"] {
            let error = read(rows).expect_err("is no program");
            assert_eq!(error.at, Spot::Line(1 + rows.lines().count() as u64));
            assert!(error.to_string().contains("found 0x10; expected an address that an earlier row allocated"));
        }
    }

    #[test]
    fn allocating_a_live_address_names_both_lines() {
        let error = read("1,1,allocate,0x10,8,0\n1,1,allocate,0x10,8,0\n").expect_err("is no program");
        assert_eq!(
            error.to_string(),
            "line 3, column Pointer: found 0x10; expected an address that is free (it is live since line 2)"
        );
    }

    #[test]
    fn zero_bytes_failures_and_null_are_nothing_to_do() {
        let program =
            read("1,1,allocate,(nil),0,0\n1,1,free,(nil),0,0\n1,1,free,(nil),0,0\n1,1,allocate failure,(nil),8,0\n")
                .expect("is readable");
        assert_eq!(program.ops, [Op::Nothing; 4]);
        assert_eq!(program.aside, Aside { failures: 1, zero_sized: 1, frees: 2, ..Aside::default() });
    }

    #[test]
    fn empty_allocations_share_an_address_with_each_other_and_with_a_block() {
        let rows = "1,1,allocate,0x10,0,0\n1,1,allocate,0x10,0,0\n1,1,allocate,0x10,8,0\n\
                    1,1,free,0x10,0,0\n1,1,free,0x10,8,0\n1,1,free,0x10,,0\n";
        let program = read(rows).expect("is readable");
        assert_eq!(program.ops[2..5], [Op::Allocate { block: 0 }, Op::Nothing, Op::Free { block: 0, stream: 0 }]);
        assert_eq!(program.aside, Aside { zero_sized: 2, frees: 2, ..Aside::default() });
        let error = read(&format!("{rows}1,1,free,0x10,0,0\n")).expect_err("frees three");
        assert_eq!(error.at, Spot::Line(8));
    }

    #[test]
    fn frees_of_another_size_are_counted_and_blank_ones_are_not() {
        let rows = "1,1,allocate,0x10,8,0\n1,1,free,0x10,8,0\n1,1,allocate,0x10,8,0\n1,1,free,0x10,,0\n\
                    1,1,allocate,0x10,8,0\n1,1,free,0x10,9,0\n1,1,allocate,0x10,8,0\n1,1,free,0x10,0,0\n";
        let aside = read(rows).expect("is readable").aside;
        assert_eq!(aside, Aside { missized: 2, missized_at: Some(Spot::Line(7)), ..Aside::default() });
    }

    #[test]
    fn what_is_larger_than_the_limit_needs_no_room() {
        let program = read(
            "1,1,allocate,1,18446744073709551615,0\n1,1,allocate,2,100,0\n1,1,allocate,3,18446744073709551615,0\n\
             1,1,allocate,4,60,0\n1,1,free,1,18446744073709551615,0\n",
        )
        .expect("is readable");
        assert_eq!((program.peak_within(100), program.total_within(100)), (100, 160));
        assert_eq!((program.peak_within(1_000), program.total_within(1_000)), (160, 160));
        assert_eq!(program.peak_within(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_last_mark_begins_the_measured_part() {
        let program =
            read("1,1,mark,0,0,0\n1,1,allocate,1,8,0\n1,1,mark,0,0,0\n1,1,free,1,8,0\n").expect("is readable");
        assert_eq!((program.measured_from, program.marks.len()), (3, 2));
        assert_eq!(program.ops[2], Op::Mark { number: 2 });
        assert_eq!(read("1,1,allocate,1,8,0\n").expect("is readable").measured_from, 0);
    }

    #[test]
    fn what_orders_a_free_behind_its_allocation() {
        let race = read("1,1,allocate,1,8,0\n1,1,free,1,8,1\n").expect("is readable");
        assert_eq!(race.blocks[0].tie, Tie::Assumed);
        let tied = read("1,1,allocate,1,8,0\n1,1,record,9,0,0\n1,1,wait,9,0,1\n1,1,free,1,8,1\n").expect("is readable");
        assert_eq!(tied.blocks[0].tie, Tie::Logged);
        let synced = read("1,1,allocate,1,8,0\n1,1,sync,0,0,-1\n1,1,free,1,8,1\n").expect("is readable");
        assert_eq!(synced.blocks[0].tie, Tie::Logged);
    }

    /// The right values were counted by a few lines of Python.
    #[test]
    fn the_real_log_has_the_numbers_of_its_description() {
        let text = include_bytes!("../../../examples/traces/resnet50_train.csv");
        let program = Program::of(Rows::new(text.as_slice()).expect("has a header")).expect("is readable");
        assert_eq!((program.ops.len(), program.blocks.len()), (26_348, 13_335));
        assert_eq!(program.peak_within(u64::MAX), 714_256_192);
        assert_eq!(program.aside, Aside::default());
        assert_eq!(program.total(), 20_091_890_900);
        assert_eq!(program.streams, [0]);
    }
}
