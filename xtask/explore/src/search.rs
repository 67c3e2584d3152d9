//! The search: level by level, each state once.

use crate::op::{BLOCKS, EVENTS, FAULTS, Op, Program, RENEWALS, STREAMS, Step};
use crate::oracle::{Oracle, Set, Tenant};
use crate::run::{End, Family, Room, Setting, Want, run};
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a search came to.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Programs that were run.
    pub programs: u64,
    /// States that were met, without those that only the last step of the longest programs leads to.
    pub states: u64,
    /// Programs that show something wrong, the shortest first; at most [`ENOUGH`].
    pub wrong: Vec<(Program, String)>,
}

/// How many programs that show something wrong are kept.
pub const ENOUGH: usize = 5;

const SHARDS: usize = 64;

/// States that were met.
struct Met(Vec<Mutex<HashSet<u128>>>);

impl Met {
    fn new() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }

    fn is_new(&self, state: u128) -> bool {
        let shard = &self.0[state as usize % SHARDS];
        shard.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(state)
    }
}

/// What one thread found on one level.
#[derive(Default)]
struct Part {
    programs: u64,
    next: Vec<Program>,
    wrong: Vec<(Program, String)>,
}

/// Runs every program of up to `depth` operations.
#[must_use]
pub fn search(setting: Setting, depth: usize, threads: usize) -> Found {
    let mut found = Found { states: 1, ..Found::default() };
    let mut level = vec![Program::EMPTY];
    for length in 1..=depth {
        let met = Met::new();
        let at = AtomicUsize::new(0);
        let work = || {
            let mut part = Part::default();
            let mut room = Room::default();
            while let Some(program) = level.get(at.fetch_add(1, Ordering::Relaxed)) {
                Expansion { setting, left: depth - length, met: &met, room: &mut room, part: &mut part }
                    .expand(program);
            }
            part
        };
        let parts: Vec<Part> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
        });
        level = Vec::new();
        for part in parts {
            found.programs += part.programs;
            found.wrong.extend(part.wrong);
            level.extend(part.next);
        }
        found.states += level.len() as u64;
        if !found.wrong.is_empty() {
            found.wrong.truncate(ENOUGH);
            return found;
        }
    }
    found
}

/// One program, with one step more.
struct Expansion<'a> {
    setting: Setting,
    /// Steps that can follow.
    left: usize,
    met: &'a Met,
    room: &'a mut Room,
    part: &'a mut Part,
}

impl Expansion<'_> {
    fn expand(&mut self, program: &Program) {
        let Ok(end) = run(self.room, self.setting, program, Want::Nothing) else { return };
        let failed: u32 = program.steps().iter().map(|step| step.faults.count_ones()).sum();
        let faults = if self.setting.family == Family::Faults { FAULTS.saturating_sub(failed) } else { 0 };
        for op in steps(&end, program, self.setting, self.left) {
            self.vary(program, Step { op, answers: 0, faults: 0 }, Fixed { queries: 0, calls: 0, faults });
        }
    }

    /// Runs the program with this step, and with every other behaviour of the driver from what is fixed on.
    fn vary(&mut self, program: &Program, step: Step, fixed: Fixed) {
        let longer = program.with(step);
        let want = if self.left > 0 { Want::Digest } else { Want::Nothing };
        self.part.programs += 1;
        match run(self.room, self.setting, &longer, want) {
            Ok(end) => {
                if self.left > 0 && self.met.is_new(end.digest) {
                    self.part.next.push(longer);
                }
                for query in fixed.queries..end.asked.min(u8::BITS) {
                    let step = Step { answers: step.answers | 1 << query, ..step };
                    self.vary(program, step, Fixed { queries: query + 1, ..fixed });
                }
                let calls = if fixed.faults > 0 { end.attempts.min(u32::BITS) } else { 0 };
                for call in fixed.calls..calls {
                    let step = Step { faults: step.faults | 1 << call, ..step };
                    self.vary(program, step, Fixed { queries: u32::MAX, calls: call + 1, faults: fixed.faults - 1 });
                }
            }
            Err(what) => {
                if self.part.wrong.len() < ENOUGH {
                    self.part.wrong.push((longer, what));
                }
            }
        }
    }
}

/// What a variation of a step leaves as it is.
#[derive(Clone, Copy)]
struct Fixed {
    /// Answers to so many queries.
    queries: u32,
    /// Whether so many calls fail.
    calls: u32,
    /// How many more may fail.
    faults: u32,
}

/// The operations that a correct program may go on with, names in the order of their first use, and without those that
/// change nothing or that nothing can show in the `left` steps after them.
fn steps(end: &End, program: &Program, setting: Setting, left: usize) -> Vec<Op> {
    let used = Used::of(program);
    let places = 0..(used.streams + 1).min(setting.streams) as u8;
    let streams = places.clone().filter(|&stream| end.live[usize::from(stream)]);
    let mut all = Vec::with_capacity(40);
    for stream in streams.clone() {
        all.extend([1, 2].map(|granules| Op::Malloc { granules, stream }).iter().filter(|_| end.held.contains(&None)));
        all.extend((0..BLOCKS as u8).flat_map(|block| [Op::Free { block, stream }, Op::Use { block, stream }]));
        let events = 0..(used.events + 1).min(EVENTS) as u8;
        all.extend(events.flat_map(|event| [Op::Record { event, stream }, Op::Wait { stream, event }]));
        all.push(Op::SyncStream { stream });
        if setting.family == Family::Streams && left >= 1 {
            all.push(Op::DestroyStream { stream });
        }
    }
    let empty = places.into_iter().find(|&stream| !end.live[usize::from(stream)]);
    if end.oracle.renewals() < RENEWALS && left >= 1 {
        all.extend(empty.map(|stream| Op::CreateStream { stream }));
    }
    all.extend((0..used.events as u8).flat_map(|event| [Op::Query { event }, Op::SyncEvent { event }]));
    all.push(Op::SyncDevice);
    all.retain(|&op| is_legal(op, end) && tells(op, end, left));
    all
}

/// How many streams and events a program names.
struct Used {
    streams: usize,
    events: usize,
}

impl Used {
    fn of(program: &Program) -> Self {
        let mut used = Self { streams: 0, events: 0 };
        for step in program.steps() {
            let (stream, event) = match step.op {
                Op::Malloc { stream, .. } | Op::Free { stream, .. } | Op::Use { stream, .. } => (Some(stream), None),
                Op::SyncStream { stream } | Op::DestroyStream { stream } | Op::CreateStream { stream } => {
                    (Some(stream), None)
                }
                Op::Record { event, stream } | Op::Wait { stream, event } => (Some(stream), Some(event)),
                Op::Query { event } | Op::SyncEvent { event } => (None, Some(event)),
                Op::SyncDevice => (None, None),
            };
            used.streams = used.streams.max(stream.map_or(0, |n| usize::from(n) + 1));
            used.events = used.events.max(event.map_or(0, |n| usize::from(n) + 1));
        }
        used
    }
}

/// Whether a correct program may do it: whoever uses or frees memory comes after its owner's write.
fn is_legal(op: Op, end: &End) -> bool {
    let after_write = |block: u8, stream: u8| {
        end.held[usize::from(block)].is_some_and(|held| {
            let write = nth(&end.oracle, held.owner, held.write);
            write & !end.oracle.before_next(usize::from(stream)) == 0
        })
    };
    match op {
        Op::Free { block, stream } => after_write(block, stream),
        Op::Use { block, stream } => {
            let tenant = end.oracle.tenant(usize::from(stream));
            let fits = |user: &Option<Tenant>| user.is_none_or(|user| user == tenant);
            let other = |held: crate::run::Held| held.owner != tenant && held.users.iter().any(fits);
            after_write(block, stream) && end.held[usize::from(block)].is_some_and(other)
        }
        Op::Wait { event, .. } | Op::Query { event } | Op::SyncEvent { event } => {
            end.oracle.slot(usize::from(event)).is_some()
        }
        _ => true,
    }
}

/// The `n`-th operation of a stream.
fn nth(oracle: &Oracle, stream: Tenant, n: u32) -> Set {
    let mut mine = oracle.of_tenant(stream);
    for _ in 0..n {
        mine &= mine - 1;
    }
    mine & mine.wrapping_neg()
}

/// Whether it changes anything that one of the `left` steps after it, or the step itself, can show.
fn tells(op: Op, end: &End, left: usize) -> bool {
    let oracle = &end.oracle;
    let open = |set: Set| set & !oracle.known() != 0;
    let stands_for = |event: u8| oracle.slot(usize::from(event)).unwrap_or(0);
    match op {
        Op::Malloc { .. } | Op::DestroyStream { .. } | Op::CreateStream { .. } => true,
        Op::Free { .. } => left >= 1,
        Op::Use { .. } => left >= 2,
        Op::Record { event, stream } => {
            let now = oracle.before_next(usize::from(stream));
            left >= 1 && open(now) && stands_for(event) != now
        }
        Op::Wait { stream, event } => left >= 1 && stands_for(event) & !oracle.before_next(usize::from(stream)) != 0,
        Op::Query { event } => left >= 1 && open(stands_for(event)),
        Op::SyncEvent { event } => open(stands_for(event)),
        Op::SyncStream { stream } => open(oracle.before_next(usize::from(stream))),
        // Where one stream alone has work open, synchronising that is the same; where none has, it may release what the
        // queries before it have told.
        Op::SyncDevice => {
            let busy = (0..STREAMS).filter(|&s| open(oracle.before_next(s))).count();
            // What destroyed streams did is learnt in no other way.
            let gone = oracle.unfinished() > 0;
            gone || busy > 1
                || (busy == 0 && oracle.granules() > end.held.iter().flatten().map(|h| h.granules as usize).sum())
        }
    }
}
