//! Makes a failing program small: leaves out whatever the failure does not need (Zeller and Hildebrandt's delta
//! debugging), then makes what is left simpler.

use crate::bench::{Store, Surroundings};
use crate::failure::Failure;
use crate::op::Op;
use crate::program;

/// Programs that one shrinking may run.
const RUNS: usize = 6000;

/// A small program that fails in the same way.
#[derive(Clone, Debug)]
pub struct Small {
    /// Its steps.
    pub(crate) ops: Vec<Op>,
    /// How it fails.
    pub failure: Failure,
}

impl Small {
    /// The steps, one a line.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.ops.iter().map(ToString::to_string).collect()
    }
}

struct Shrinker<'s> {
    surroundings: &'s Surroundings,
    small: Small,
    runs: usize,
}

impl Shrinker<'_> {
    /// Keeps a candidate if it fails in the same way.
    fn tries(&mut self, ops: &[Op]) -> bool {
        if self.runs == 0 {
            return false;
        }
        self.runs -= 1;
        let outcome = program::written(self.surroundings, ops, Store::Nowhere);
        match outcome.failure {
            Some(failure) if failure.kind == self.small.failure.kind => {
                // It may fail earlier than before.
                self.small = Small { ops: outcome.ops, failure };
                true
            }
            _ => false,
        }
    }

    /// Leaves out runs of steps, long ones first.
    fn leave_out(&mut self) {
        let mut chunk = self.small.ops.len().div_ceil(2).max(1);
        loop {
            let mut from = 0;
            let mut any = false;
            while from < self.small.ops.len() {
                let to = (from + chunk).min(self.small.ops.len());
                let ops = [&self.small.ops[..from], &self.small.ops[to..]].concat();
                if self.tries(&ops) {
                    any = true;
                } else {
                    from = to;
                }
            }
            match (chunk, any) {
                (1, false) => return,
                (1, true) => {}
                _ => chunk = chunk.div_ceil(2).max(1),
            }
            if self.runs == 0 {
                return;
            }
        }
    }

    fn simplify(&mut self) {
        let mut at = 0;
        while at < self.small.ops.len() {
            for simpler in simpler(self.small.ops[at]) {
                let mut ops = self.small.ops.clone();
                ops[at] = simpler;
                if self.tries(&ops) {
                    break;
                }
            }
            at += 1;
        }
    }
}

/// What a step could be instead, simplest first.
fn simpler(op: Op) -> Vec<Op> {
    match op {
        Op::Malloc { block, pool, stream, bytes, write } => {
            let sizes = [512, 1 << 20, 2 << 20].into_iter().filter(|&size| size < bytes);
            let smaller = sizes.map(|bytes| Op::Malloc { block, pool, stream, bytes, write });
            smaller.chain(write.then_some(Op::Malloc { block, pool, stream, bytes, write: false })).collect()
        }
        Op::Run { count, seed } if count > 1 => vec![Op::Run { count: 1, seed }],
        Op::CreateStream { stream, device, kind } if kind != crate::op::Kind::NonBlocking => {
            vec![Op::CreateStream { stream, device, kind: crate::op::Kind::NonBlocking }]
        }
        _ => Vec::new(),
    }
}

/// Shrinks a program that fails.
pub(crate) fn shrink(surroundings: &Surroundings, ops: &[Op], failure: Failure) -> Small {
    let mut shrinker = Shrinker { surroundings, small: Small { ops: ops.to_vec(), failure }, runs: RUNS };
    loop {
        let before = shrinker.small.ops.len();
        shrinker.leave_out();
        shrinker.simplify();
        if shrinker.small.ops.len() == before || shrinker.runs == 0 {
            return shrinker.small;
        }
    }
}
