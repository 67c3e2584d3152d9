//! An allocation log as a loop: what it allocates and frees, in its order, on its streams.

use crate::churn::{Allocator, Host, Refused};
use std::fs::File;
use std::path::Path;
use weir_viz::import::{self, Op, Program};

/// A log that is gone through again and again. What it leaves live is freed at the end of each round.
pub struct Replay<A: Allocator> {
    pub(crate) allocator: A,
    ops: Vec<Op>,
    sizes: Vec<(u64, usize)>,
    live: Vec<Option<A::Block>>,
    peak: u64,
}

/// Reads a log.
pub fn read(path: &Path) -> Result<Program, String> {
    let said = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|error| said(&error))?;
    import::read(file, None).map_err(|error| said(&error))
}

/// Room for a log: twice its peak, and some for classes of sizes.
pub fn room(program: &Program) -> u64 {
    program.peak_within(u64::MAX) * 2 + (256 << 20)
}

impl<A: Allocator> Replay<A> {
    /// A log for an allocator, with all sizes divided by `scale`.
    pub fn new(allocator: A, program: &Program, scale: u64) -> Self {
        let mut ops: Vec<Op> = program.ops.clone();
        ops.extend(left_live(program).into_iter().map(|(block, stream)| Op::Free { block, stream }));
        Self {
            allocator,
            ops,
            sizes: program.blocks.iter().map(|block| ((block.size / scale).max(1), block.stream)).collect(),
            live: vec![None; program.blocks.len()],
            peak: program.peak_within(u64::MAX) / scale,
        }
    }

    /// How many mallocs a round makes.
    pub fn pairs(&self) -> usize {
        self.ops.iter().filter(|op| matches!(op, Op::Allocate { .. })).count()
    }

    /// A round, not counted, that watches what is held.
    pub fn watched(&mut self) -> Result<(), Refused> {
        let Self { allocator, ops, sizes, live, .. } = self;
        for op in ops.iter() {
            let block = |live: &[Option<A::Block>], block: usize| live.get(block).copied().flatten();
            if let Op::Free { block: number, .. } = *op
                && let Some(block) = block(live, number)
            {
                allocator.forget(block);
            }
            round(allocator, std::slice::from_ref(op), sizes, live)?;
            if let Op::Allocate { block: number } = *op
                && let (Some(block), Some((size, _))) = (block(live, number), sizes.get(number))
            {
                allocator.watch(block, *size);
            }
        }
        Ok(())
    }

    /// A round, not counted.
    pub fn through(&mut self) -> Result<(), Refused> {
        round(&mut self.allocator, &self.ops, &self.sizes, &mut self.live)
    }

    /// A round, counted.
    pub fn count(&mut self) -> Result<(), Refused> {
        counted_round(&mut self.allocator, &self.ops, &self.sizes, &mut self.live)
    }

    /// The most memory that the allocator says it had.
    pub fn peak(&self) -> Option<u64> {
        self.allocator.peak()
    }

    /// What was held at the peak for each byte that was live at the peak.
    pub fn footprint(&self) -> Option<f64> {
        self.allocator.peak().map(|held| held as f64 / self.peak as f64)
    }
}

/// What the log does not free, with its stream.
fn left_live(program: &Program) -> Vec<(usize, usize)> {
    let mut live: Vec<Option<usize>> = vec![None; program.blocks.len()];
    for op in &program.ops {
        match *op {
            Op::Allocate { block } => live[block] = Some(program.blocks[block].stream),
            Op::Free { block, .. } => live[block] = None,
            _ => {}
        }
    }
    live.iter().enumerate().filter_map(|(block, stream)| stream.map(|stream| (block, stream))).collect()
}

#[inline(always)]
fn round<A: Allocator>(
    allocator: &mut A,
    ops: &[Op],
    sizes: &[(u64, usize)],
    live: &mut [Option<A::Block>],
) -> Result<(), Refused> {
    for op in ops {
        match *op {
            Op::Allocate { block } => {
                let (Some((size, stream)), Some(place)) = (sizes.get(block), live.get_mut(block)) else { continue };
                allocator.on(*stream);
                let Some(new) = allocator.malloc(*size) else { return Err(Refused) };
                *place = Some(new);
            }
            Op::Free { block, stream } => {
                let Some(place) = live.get_mut(block) else { continue };
                if let Some(old) = place.take() {
                    allocator.on(stream);
                    allocator.free(old)?;
                }
            }
            Op::Record { event, stream } => {
                allocator.on(stream);
                allocator.record(event)?;
            }
            Op::Wait { stream, event } => {
                allocator.on(stream);
                allocator.wait(event)?;
            }
            Op::SyncStream { stream } => {
                allocator.on(stream);
                allocator.synchronise(Host::Stream)?;
            }
            Op::SyncDevice => allocator.synchronise(Host::Device)?,
            // Only weir's own logs have the first two, and not every allocator can be told.
            Op::SyncEvent { .. } | Op::Use { .. } | Op::Mark { .. } | Op::Nothing => {}
        }
    }
    Ok(())
}

#[inline(never)]
fn counted_round<A: Allocator>(
    allocator: &mut A,
    ops: &[Op],
    sizes: &[(u64, usize)],
    live: &mut [Option<A::Block>],
) -> Result<(), Refused> {
    round(allocator, ops, sizes, live)
}
