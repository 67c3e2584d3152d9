//! A program under every order of its threads.

use super::turns::{self, Path};
use super::world::{Held, Op, Setting, SimSpace, Space, World};
use std::sync::Mutex;

/// Two threads, what came before them, and what comes after.
#[derive(Clone, Copy, Debug)]
pub struct Program<'p> {
    pub before: &'p [Op],
    pub threads: [&'p [Op]; 2],
    /// What shows wrong facts: mallocs of memory that must not be handed out yet.
    pub after: &'p [Op],
}

/// What all runs did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub runs: u64,
    /// Mallocs by what they relied on.
    pub sources: [u64; 8],
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.sources.iter_mut().zip(other.sources).for_each(|(sum, count)| *sum += count);
    }
}

/// Runs the program in every order with at most so many interruptions. The error tells the order that shows it.
pub fn explore(program: Program<'_>, setting: Setting, interruptions: u32) -> Result<Tally, String> {
    let (mut space, mut sim) = (Space::new(), SimSpace::new());
    let mut tally = Tally::default();
    let mut path = Some(Path::new(interruptions));
    while let Some(taken) = path.take() {
        let world = World::new(space.arenas(), sim.arenas(), setting)?;
        let (walked, outcome, story) = run(world, program, taken, &mut tally);
        outcome.map_err(|what| format!("{what}\n{program:?}\n{setting:?}\nin this order:\n{story}"))?;
        tally.runs += 1;
        path = walked.next();
    }
    Ok(tally)
}

fn run(world: World<'_>, program: Program<'_>, path: Path, tally: &mut Tally) -> (Path, Result<(), String>, String) {
    let mut first = Vec::new();
    if let Err(what) = calls(&world, program.before, &mut first) {
        return (path, Err(what), String::new());
    }
    // What was allocated before is the first thread's.
    let hands = [Mutex::new(first), Mutex::default()];
    let (path, outcome, story) = turns::run(path, |me| {
        let mut hand = hands[me].lock().map_err(|_| "the hand is taken")?;
        calls(&world, program.threads[me], &mut hand)
    });
    let mut held: Vec<Held> = hands.into_iter().flat_map(|hand| hand.into_inner().unwrap_or_default()).collect();
    let outcome = outcome.and_then(|()| calls(&world, program.after, &mut held)).and_then(|()| {
        let stats = world.end(held)?;
        tally.sources.iter_mut().zip(stats.by_source).for_each(|(sum, count)| *sum += count);
        Ok(())
    });
    (path, outcome, story)
}

fn calls(world: &World<'_>, ops: &[Op], held: &mut Vec<Held>) -> Result<(), String> {
    ops.iter().try_for_each(|&op| world.call(op, held))
}
