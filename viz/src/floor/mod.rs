//! The ordered floor: the largest total of allocations of which no two are ordered free-before-malloc.
//!
//! No two of them can have the same memory without a wait that the program does not make, so no allocator that adds no
//! waits needs less. It depends on the program's order alone, not on how fast a device works it off.
//!
//! Allocations are such a set exactly if there is a *cut* at which all of them are live: a set of calls that holds, with
//! each call, everything that happens before it. (For the set's mallocs and all that comes before them hold none of its
//! frees.) So the floor is the largest number of live bytes over all cuts, a problem known as the maximum-weight closure:
//! a malloc weighs its size, a free as much less, a call needs what comes before it, and the answer is a minimum cut.

mod closure;
mod graph;
mod segment;

use crate::import::{Op, Program};
use graph::Graph;

/// The ordered floor of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floor {
    /// Its bytes, each allocation rounded up to the alignment.
    pub bytes: u64,
    /// What they are.
    pub exactness: Exactness,
}

/// How the number relates to the floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// It is the floor.
    Exact,
    /// The floor may be higher: the program is long (see [`Floor::within`]); or the log frees blocks on streams that it orders nowhere behind the allocation, which were
    /// counted as if it did; or it tells of uses by other streams, which hold blocks beyond their frees; or of pools that
    /// were destroyed with live blocks, which others' work may hold beyond that.
    LowerBound,
}

impl Exactness {
    /// Its name in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::LowerBound => "lower bound",
        }
    }
}

impl Floor {
    /// The floor of a program on a device of this alignment.
    #[must_use]
    pub fn of(program: &Program, alignment: u64) -> Self {
        let graph = Graph::of(program, &program.ops, alignment);
        let exactness = if graph.assumed_order || graph.held_longer { Exactness::LowerBound } else { Exactness::Exact };
        let bytes = closure::heaviest(&graph.weights, &graph.needs);
        Self { bytes: u64::try_from(bytes).unwrap_or(u64::MAX), exactness }
    }

    /// The floor of a program of up to so many calls; of a longer one a lower bound: the heaviest cut of those that lie
    /// within a part of the log where most is live. Everything before such a part is done in it, and nothing after.
    #[must_use]
    pub fn within(program: &Program, alignment: u64, calls: usize) -> Self {
        if program.ops.len() <= calls {
            return Self::of(program, alignment);
        }
        let alignment = alignment.max(1);
        let parts = parts(program, alignment, (calls / PARTS).max(1));
        let cut = |part: &Part| {
            let graph = Graph::of(program, &program.ops[part.from..part.to], alignment);
            part.live + closure::heaviest(&graph.weights, &graph.needs)
        };
        let bytes = parts.iter().map(cut).max().unwrap_or(0);
        Self { bytes: u64::try_from(bytes).unwrap_or(u64::MAX), exactness: Exactness::LowerBound }
    }
}

/// So many parts of a long log are looked at.
const PARTS: usize = 8;

/// Calls of a program that follow each other.
struct Part {
    from: usize,
    to: usize,
    /// Live bytes before the first of them.
    live: i128,
    /// The most live bytes in it.
    most: i128,
}

/// The parts of this length with the most live bytes, in the log's own order of the calls.
fn parts(program: &Program, alignment: u64, length: usize) -> Vec<Part> {
    let weight = |block: usize| i128::from(program.blocks[block].size.div_ceil(alignment)) * i128::from(alignment);
    let mut parts = Vec::new();
    let mut live = 0;
    for from in (0..program.ops.len()).step_by(length) {
        let to = (from + length).min(program.ops.len());
        let mut part = Part { from, to, live, most: live };
        for op in &program.ops[from..to] {
            match *op {
                Op::Allocate { block } => live += weight(block),
                Op::Free { block, .. } => live -= weight(block),
                _ => {}
            }
            part.most = part.most.max(live);
        }
        parts.push(part);
    }
    parts.sort_by_key(|part| (std::cmp::Reverse(part.most), part.from));
    parts.truncate(PARTS);
    parts
}

#[cfg(test)]
mod tests;
