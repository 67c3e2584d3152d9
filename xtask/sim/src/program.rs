//! One program: its surroundings and its steps, performed and judged.

use crate::bench::{Boxes, Store, Surroundings};
use crate::failure::{Failure, Kind};
use crate::generate::Generator;
use crate::op::Op;
use crate::world::{Tally, World};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// The pool's invariants, the simulation and the oracle, after every step.
    All,
    /// The simulation after every step; the invariants now and then.
    Simulation,
}

/// Steps between two looks at the invariants where not every step is judged.
const SELDOM: u64 = 1000;

/// How a program ended.
pub(crate) struct Outcome {
    pub(crate) tally: Tally,
    /// A hash of everything that the device did.
    pub(crate) digest: u64,
    pub(crate) failure: Option<Failure>,
    /// The steps up to the failure; kept only where all is judged.
    pub(crate) ops: Vec<Op>,
    pub(crate) store: Store,
}

/// Runs a program whose steps come from `next`, until it returns `None`.
fn run(
    surroundings: &Surroundings,
    judge: Judge,
    store: Store,
    mut next: impl FnMut(&World<'_>, u64) -> Option<Op>,
) -> Outcome {
    let pages = if matches!(store, Store::Nowhere) { 0 } else { 4 };
    let mut boxes = Boxes::new(surroundings, pages);
    let rt = boxes.lend(surroundings, store, judge == Judge::All);
    let mut world = World::new(rt, surroundings);
    let mut ops = Vec::new();
    let mut failure = None;
    let ran = catch_unwind(AssertUnwindSafe(|| {
        while let Some(op) = next(&world, world.tally.steps) {
            if judge == Judge::All {
                ops.push(op);
            }
            world.step(op)?;
            if judge == Judge::All || world.tally.steps.is_multiple_of(SELDOM) {
                world.verify()?;
            }
        }
        world.finish()
    }));
    match ran {
        Ok(Ok(())) => {}
        Ok(Err(found)) => failure = Some(found),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            failure = Some(Failure::new(Kind::Panic, text.unwrap_or("without a message")));
        }
    }
    let (tally, digest) = (world.tally, world.digest());
    let store = world.rt.with_sink(|sink| std::mem::replace(sink, Store::Nowhere));
    Outcome { tally, digest, failure, ops, store }
}

/// A random program of so many steps.
pub(crate) fn random(
    surroundings: &Surroundings,
    streams: Option<usize>,
    steps: u64,
    judge: Judge,
    store: Store,
) -> Outcome {
    let mut generator = Generator::new(surroundings.seed, surroundings.devices, streams);
    run(surroundings, judge, store, |world, done| (done < steps).then(|| generator.next(world)))
}

/// A program that is written down.
pub(crate) fn written(surroundings: &Surroundings, ops: &[Op], store: Store) -> Outcome {
    let mut ops = ops.iter().copied();
    run(surroundings, Judge::All, store, |_, _| ops.next())
}
