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

use crate::import::Program;
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
    /// The floor may be higher: the log frees blocks on streams that it orders nowhere behind the allocation, which were
    /// counted as if it did; or it tells of uses by other streams, which hold blocks beyond their frees.
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
        let graph = Graph::of(program, alignment);
        let exactness = if graph.assumed_order || graph.held_longer { Exactness::LowerBound } else { Exactness::Exact };
        let bytes = closure::heaviest(&graph.weights, &graph.needs);
        Self { bytes: u64::try_from(bytes).unwrap_or(u64::MAX), exactness }
    }
}

#[cfg(test)]
mod tests;
