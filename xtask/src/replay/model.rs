//! A model of the allocators that others have: one contiguous range that only grows, a free list, and a rule by which a
//! free run is chosen. It follows the program's order as weir does, but moves no memory, asks no device and inserts no
//! wait. Slow and plain on purpose.
//!
//! What it has reserved at most is also the smallest limit at which it refuses nothing: it grows only where no free run is
//! large enough, so below that limit it would stand there with nothing else to try.

use super::{ALIGNMENT, Lag};
use std::collections::BTreeMap;
use weir_viz::import::{Op, Order, Place, Program};

/// Which of the free runs that are large enough is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The smallest.
    Best,
    /// That of the lowest address.
    First,
    /// The largest.
    Worst,
    /// The smallest of the stream's own; if there is none, the smallest.
    OwnFirst,
}

/// How an allocation came to its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Own,
    Settled,
    Event,
}

/// What the model came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The most bytes reserved, before rounding to granules.
    pub(crate) reserved: u64,
    /// Allocations from memory of the own stream, from settled memory, along events, and from new memory.
    pub(crate) sources: [u64; 4],
}

/// A free that not every stream comes after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    place: Place,
    stream: usize,
    row: usize,
}

/// Free bytes, and the last of the frees that made them so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    bytes: u64,
    point: Point,
}

/// Adjacent spans that a stream may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    at: u64,
    bytes: u64,
    source: Source,
}

struct Model<'a> {
    program: &'a Program,
    fit: Fit,
    lag: Lag,
    order: Order,
    /// The row at which others could last learn how far a stream is.
    told: Vec<Option<usize>>,
    free: BTreeMap<u64, Span>,
    /// Where each block is.
    at: Vec<u64>,
    top: u64,
    outcome: Outcome,
}

/// Runs a program on the model.
pub(crate) fn run(program: &Program, fit: Fit, lag: Lag) -> Outcome {
    let mut model = Model {
        program,
        fit,
        lag,
        order: Order::default(),
        told: vec![None; program.streams.len()],
        free: BTreeMap::new(),
        at: vec![0; program.blocks.len()],
        top: 0,
        outcome: Outcome::default(),
    };
    for (row, op) in program.ops.iter().enumerate() {
        model.op(row, *op);
    }
    model.outcome.reserved = model.top;
    model.outcome
}

impl Model<'_> {
    fn op(&mut self, row: usize, op: Op) {
        match op {
            Op::Record { stream, .. } | Op::SyncStream { stream } => self.told[stream] = Some(row),
            Op::SyncDevice => self.told.fill(Some(row)),
            _ => {}
        }
        match op {
            Op::Allocate { block } => self.allocate(row, block),
            Op::Free { block, stream } => self.free(row, block, stream),
            Op::Record { event, stream } => self.order.record(event, stream),
            Op::Wait { stream, event } => self.order.wait(stream, event),
            Op::SyncStream { stream } => self.order.sync_stream(stream),
            Op::SyncDevice => self.order.sync_device(),
            Op::SyncEvent { event } => self.order.sync_event(event),
            Op::Use { .. } | Op::Mark { .. } | Op::Nothing => {}
        }
    }

    fn allocate(&mut self, row: usize, block: usize) {
        let stream = self.program.blocks[block].stream;
        let bytes = self.bytes(block);
        self.order.step(stream);
        let widest: &[Source] = match self.fit {
            Fit::OwnFirst => &[Source::Own, Source::Event],
            Fit::Best | Fit::First | Fit::Worst => &[Source::Event],
        };
        let chosen = widest.iter().find_map(|widest| self.choose(self.runs(row, stream, *widest), bytes));
        self.outcome.sources[chosen.map_or(3, |run| run.source as usize)] += 1;
        let run = chosen.unwrap_or_else(|| self.extended(row, stream));
        self.top = self.top.max(run.at.saturating_add(bytes));
        self.take(run.at, bytes);
        self.at[block] = run.at;
    }

    fn choose(&self, runs: Vec<Run>, bytes: u64) -> Option<Run> {
        let fitting = runs.into_iter().filter(|run| run.bytes >= bytes);
        match self.fit {
            Fit::First => fitting.min_by_key(|run| run.at),
            Fit::Best | Fit::OwnFirst => fitting.min_by_key(|run| run.bytes),
            Fit::Worst => fitting.max_by_key(|run| run.bytes),
        }
    }

    /// Where new memory begins: behind everything, or where what is usable at the top begins.
    fn extended(&self, row: usize, stream: usize) -> Run {
        let last = self.runs(row, stream, Source::Event).pop().filter(|run| run.at + run.bytes == self.top);
        last.unwrap_or(Run { at: self.top, bytes: 0, source: Source::Own })
    }

    /// The longest runs that the stream may use, none of whose spans comes from a wider source; by address.
    fn runs(&self, row: usize, stream: usize, widest: Source) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (at, span) in &self.free {
            let Some(source) = self.usable(span.point, row, stream).filter(|source| *source <= widest) else {
                continue;
            };
            match runs.last_mut() {
                Some(run) if run.at + run.bytes == *at => {
                    run.bytes += span.bytes;
                    run.source = run.source.max(source);
                }
                _ => runs.push(Run { at: *at, bytes: span.bytes, source }),
            }
        }
        runs
    }

    fn usable(&self, point: Point, row: usize, stream: usize) -> Option<Source> {
        if point.stream == stream {
            return Some(Source::Own);
        }
        if matches!(self.lag, Lag::Rows(lag) if point.row.saturating_add(lag) < row) {
            return Some(Source::Settled);
        }
        self.order.reached(stream, point.place).then_some(Source::Event)
    }

    /// Takes bytes out of the free list; those beyond the top are new.
    fn take(&mut self, at: u64, bytes: u64) {
        let end = at.saturating_add(bytes);
        let within: Vec<u64> = self.free.range(at..end).map(|(at, _)| *at).collect();
        for begin in within {
            let Some(span) = self.free.remove(&begin) else { continue };
            if begin + span.bytes > end {
                self.free.insert(end, Span { bytes: begin + span.bytes - end, ..span });
            }
        }
    }

    fn free(&mut self, row: usize, block: usize, stream: usize) {
        let point = Point { place: self.order.step(stream), stream, row };
        let (mut at, mut span) = (self.at[block], Span { bytes: self.bytes(block), point });
        if let Some(after) = self.free.get(&(at + span.bytes)).copied().filter(|after| self.alike(after.point, point)) {
            self.free.remove(&(at + span.bytes));
            span.bytes += after.bytes;
        }
        let before = self.free.range(..at).next_back().map(|(at, span)| (*at, *span));
        if let Some((begin, before)) = before.filter(|(begin, before)| begin + before.bytes == at)
            && self.alike(before.point, point)
        {
            at = begin;
            span.bytes += before.bytes;
        }
        self.free.insert(at, span);
    }

    /// Whether whoever comes after an earlier point of the same stream comes after a later one too, made now: both are
    /// complete when the next row begins, or nothing that others can learn of the stream lies between them.
    fn alike(&self, earlier: Point, later: Point) -> bool {
        let told = self.told.get(later.stream).copied().flatten();
        let both_new = told.is_none_or(|told| earlier.row > told);
        earlier.stream == later.stream
            && match self.lag {
                Lag::Rows(0) => true,
                Lag::Rows(_) => self.program.streams.len() == 1,
                Lag::Never => both_new,
            }
    }

    fn bytes(&self, block: usize) -> u64 {
        self.program.blocks[block].size.next_multiple_of(ALIGNMENT.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn read(rows: &str) -> Program {
        let rows = rows.split(';').map(|row| format!("1,1,{row}\n")).collect::<String>();
        let text = format!("Thread,Time,Action,Pointer,Size,Stream\n{rows}");
        weir_viz::import::read(text.as_bytes(), None).expect("is a log")
    }

    /// Mebibytes reserved, and the sources.
    fn outcome(rows: &str, fit: Fit, lag: Lag) -> (u64, [u64; 4]) {
        let Outcome { reserved, sources } = run(&read(rows), fit, lag);
        (reserved / MIB, sources)
    }

    /// Both streams free a block; the other's is the one that fits.
    const TWO: &str = "allocate,1,4194304,0;allocate,2,2097152,1;allocate,3,512,1;free,1,,0;free,2,,1;record,9,0,1;\
                       wait,9,0,0;allocate,4,2097152,0";

    #[test]
    fn the_own_stream_comes_first_only_where_it_is_asked_to() {
        assert_eq!(outcome(TWO, Fit::Best, Lag::Never).1, [0, 0, 1, 3]);
        assert_eq!(outcome(TWO, Fit::Best, Lag::Rows(0)).1, [0, 1, 0, 3]);
        assert_eq!(outcome(TWO, Fit::OwnFirst, Lag::Never).1, [1, 0, 0, 3]);
    }

    #[test]
    fn what_is_not_ordered_is_not_taken() {
        let apart = "allocate,1,4194304,0;free,1,,0;allocate,2,4194304,1";
        assert_eq!(outcome(apart, Fit::Best, Lag::Never).0, 8);
        assert_eq!(outcome(apart, Fit::Best, Lag::Rows(0)).0, 4);
        assert_eq!(outcome(apart, Fit::Best, Lag::Rows(1)).0, 8);
    }

    /// Two neighbours are freed, and the event stands for the first one only.
    #[test]
    fn neighbours_stay_apart_where_somebody_comes_after_one_of_them() {
        let between = "allocate,1,1048576,0;allocate,2,1048576,0;free,1,,0;record,9,0,0;free,2,,0;wait,9,0,1";
        assert_eq!(outcome(&format!("{between};allocate,3,1048576,1"), Fit::Best, Lag::Never), (2, [0, 0, 1, 2]));
        assert_eq!(outcome(&format!("{between};allocate,3,2097152,1"), Fit::Best, Lag::Never).0, 4);
        assert_eq!(outcome(&format!("{between};allocate,3,2097152,0"), Fit::Best, Lag::Never).0, 2);
    }

    #[test]
    fn what_is_free_at_the_top_is_extended() {
        assert_eq!(outcome("allocate,1,1048576,0;free,1,,0;allocate,2,3145728,0", Fit::Best, Lag::Never).0, 3);
    }
}
