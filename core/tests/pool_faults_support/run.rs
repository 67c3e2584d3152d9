//! Runs a program under a plan of failures and checks what must hold after every call.

use super::corpus::Program;
use super::driver::{CODE, Faulty, Made, Plan};
use super::op::Op;
use super::world::{DEVICE, Done, EVENTS, GRANULE, Kept, Outcome, Picture, Refusal, SimSpace, Space, World};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use weir::Local;
use weir::driver::{Capabilities, Driver, DriverCall, DriverErrorKind};
use weir::error::{Arena, MallocError, OrderError, PoolError};
use weir::id::PoolId;
use weir::policy::UseUntil;
use weir::sim::{DeviceConfig, Sim};
use weir::trace::{Reader, Record};
use weir::units::Bytes;

/// What many runs came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub runs: u64,
    pub injected: u64,
    /// Calls that were refused because of a failure.
    pub refused: u64,
    /// Calls that met a failure and succeeded all the same.
    pub rescued: u64,
    /// Granules or runs that were set aside.
    pub quarantined: u64,
    /// Mallocs that found no memory after all failures were over, because some was still quarantined.
    pub short_by_quarantine: u64,
    /// The same, because weir does not know that the work on some is complete: a marker, a question, a wait or a
    /// synchronisation failed before, or a mapping in a stream's order is left of a growth that failed.
    pub short_by_ignorance: u64,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.injected += other.injected;
        self.refused += other.refused;
        self.rescued += other.rescued;
        self.quarantined += other.quarantined;
        self.short_by_quarantine += other.short_by_quarantine;
        self.short_by_ignorance += other.short_by_ignorance;
    }
}

/// Whether frees are by the allocating stream and nobody else uses a block: then the program stays a correct one
/// whichever of its calls are refused and ignored.
pub fn stands_refusals(program: &Program) -> bool {
    let mut owners = std::collections::BTreeMap::new();
    program.ops.iter().all(|op| match *op.call() {
        Op::Malloc(block, _, _, stream) => {
            owners.insert(block, stream);
            true
        }
        Op::Free(block, stream) => owners.get(&block) == Some(&stream),
        Op::Use(_, _, UseUntil::Now | UseUntil::Free) => false,
        _ => true,
    })
}

/// Runs the program; where something does not hold, says in which program under which plan. Returns the number of
/// driver calls up to the program's end.
pub fn run(program: &Program, capabilities: Capabilities, plan: Plan) -> Option<(usize, Tally)> {
    let ran = catch_unwind(AssertUnwindSafe(|| run_bare(program, capabilities, plan)));
    if ran.is_err() {
        eprintln!("program `{}`, {capabilities:?}, {plan:?}", program.name);
    }
    ran.ok()
}

fn run_bare(program: &Program, capabilities: Capabilities, plan: Plan) -> (usize, Tally) {
    let (mut space, mut sim_space) = (Box::new(Space::new()), Box::new(SimSpace::new()));
    let mut device = DeviceConfig::new(Bytes(program.total * GRANULE));
    device.properties.capabilities = capabilities;
    let sim = Sim::new(sim_space.arenas(), &[device], 1).expect("the storage is large enough");
    let rt = Local::new(space.arenas(), Faulty::new(sim, plan), Kept::default());
    let mut runner = Runner { world: World::new(rt), plan, tally: Tally::default(), errors: 0, failed: 0 };
    for op in &program.ops {
        runner.step(op);
    }
    let calls = runner.world.driver().made();
    runner.finish();
    runner.check_log();
    runner.tally.runs = 1;
    (calls, runner.tally)
}

struct Runner<'a> {
    world: World<'a>,
    plan: Plan,
    tally: Tally,
    /// Errors that calls returned.
    errors: u64,
    /// Driver calls that failed, by plan or because the device was full.
    failed: u64,
}

/// One call of the program, with what it did to the driver.
struct Attempt {
    outcome: Outcome,
    before: Picture,
    after: Picture,
    made: Vec<Made>,
}

impl Attempt {
    fn failed(&self) -> impl Iterator<Item = &Made> {
        self.made.iter().filter(|made| made.failed.is_some())
    }

    /// No call failed by plan.
    fn is_clean(&self) -> bool {
        !self.made.iter().any(|made| made.planned)
    }

    fn failed_in(&self, calls: &[DriverCall]) -> bool {
        self.failed().any(|made| calls.contains(&made.call))
    }
}

impl Runner<'_> {
    /// One op: attempted until it succeeds, which the first attempt without a failure must.
    fn step(&mut self, op: &Op) {
        for _ in 0..4 {
            let attempt = self.attempt(op);
            let expected = matches!(op, Op::Refused(_));
            let clean = attempt.is_clean();
            match (attempt.outcome, clean) {
                (Ok(_), _) => return,
                (Err(_), true) if expected => return,
                (Err(refusal), true) => return self.recover(op, refusal),
                // During an outage nothing is tried twice.
                (Err(_), false) if matches!(self.plan, Plan::Outage(..)) => return,
                (Err(_), false) => {}
            }
        }
        panic!("{op:?} failed more often than the device");
    }

    /// A refusal without a failure: only for want of what earlier failures withheld, and only until the next
    /// synchronisation.
    fn recover(&mut self, op: &Op, refusal: Refusal) {
        assert!(is_shortage(refusal), "{op:?} was refused although nothing failed: {refusal:?}");
        let made = self.world.driver().calls_since(0);
        let failed = |calls: &[DriverCall]| made.iter().any(|m| m.failed.is_some() && calls.contains(&m.call));
        if failed(&[DriverCall::Destroy, DriverCall::Unmap]) {
            self.tally.short_by_quarantine += 1;
        } else if failed(&[DriverCall::Lay, DriverCall::Query, DriverCall::Wait, DriverCall::Synchronise])
            || (self.maps_in_order() && failed(&[DriverCall::Create, DriverCall::Map]))
        {
            self.tally.short_by_ignorance += 1;
        } else {
            panic!("{op:?} found no memory although nothing was withheld: {refusal:?}");
        }
        if matches!(self.plan, Plan::Outage(..)) {
            return;
        }
        self.world.resume_all();
        for _ in 0..3 {
            let synchronised = self.attempt(&Op::SyncDevice);
            let again = self.attempt(op);
            if again.outcome == Ok(Done::Yes) {
                return;
            }
            let hurt = !synchronised.is_clean() || !again.is_clean();
            // Each round can free what one other pool holds, where maps are queued.
            assert!(
                hurt || self.maps_in_order(),
                "{op:?} is refused even after a synchronisation: {:?}",
                again.outcome
            );
        }
        panic!("{op:?} failed more often than the device");
    }

    fn attempt(&mut self, op: &Op) -> Attempt {
        let (before, from) = (self.world.picture(), self.world.driver().made());
        let outcome = self.world.perform(op);
        self.world.driver().returned();
        let made = self.world.driver().calls_since(from);
        let attempt = Attempt { outcome, before, after: self.world.picture(), made };
        let checked = catch_unwind(AssertUnwindSafe(|| self.check(op, &attempt)));
        if let Err(panic) = checked {
            eprintln!("in {op:?}, which returned {outcome:?} and made {:?}", attempt.made);
            resume_unwind(panic);
        }
        let injected = attempt.made.iter().filter(|made| made.planned).count() as u64;
        self.failed += attempt.failed().count() as u64;
        self.tally.injected += injected;
        self.errors += u64::from(attempt.outcome.is_err());
        self.tally.refused += u64::from(injected > 0 && attempt.outcome.is_err());
        self.tally.rescued += u64::from(injected > 0 && attempt.outcome.is_ok());
        attempt
    }

    fn check(&self, op: &Op, attempt: &Attempt) {
        let world = &self.world;
        assert_eq!(world.sim().violation(), None);
        world.rt.verify().expect("every invariant holds");
        let Attempt { before, after, .. } = attempt;
        assert_eq!(after.failed - before.failed, attempt.failed().count() as u64, "each failure is counted once");
        let mut seen: Vec<PoolId> = Vec::new();
        let mut reserved = 0;
        for (n, stats) in &after.pools {
            let id = world.pools[n];
            reserved += if seen.contains(&id) { 0 } else { stats.reserved.get() };
            seen.push(id);
        }
        let created = world.sim().created(DEVICE).get();
        assert!(reserved == created || (world.buried && reserved < created), "{reserved} reserved, {created} created");
        match attempt.outcome {
            Ok(done) => check_success(op, attempt, done),
            Err(refusal) => check_refusal(op, attempt, refusal, self.maps_in_order()),
        }
    }

    fn maps_in_order(&self) -> bool {
        let device = self.world.sim().properties(DEVICE).expect("the device exists");
        device.capabilities.contains(Capabilities::MAP_IN_STREAM_ORDER)
    }

    /// The device works again: everything can be given back.
    fn finish(&mut self) {
        self.world.driver().heal();
        self.world.end().expect("the device works");
        let sim = self.world.sim();
        sim.run_all();
        assert_eq!((sim.created(DEVICE), sim.mapped(DEVICE)), (Bytes::ZERO, Bytes::ZERO), "memory is left behind");
        assert_eq!((sim.violation(), sim.unchecked()), (None, 0));
        self.world.rt.verify().expect("every invariant holds");
        self.world.bury().expect("the device works");
        assert_eq!(self.world.driver().ranges(), 0, "address ranges are left behind");
        self.world.rt.verify().expect("every invariant holds");
        assert_eq!(self.world.sim().violation(), None);
    }

    /// Each failure and each refusal stands in the log once.
    fn check_log(&mut self) {
        let kept = self.world.rt.with_sink(|sink| std::mem::take(&mut sink.0));
        let (mut failures, mut refusals) = (0, 0);
        for item in Reader::new(&kept) {
            match item.expect("the log is whole").record {
                Record::DriverFailed { .. } => failures += 1,
                Record::Refused { .. } | Record::OutOfMemory { .. } => refusals += 1,
                Record::Quarantined { .. } => self.tally.quarantined += 1,
                _ => {}
            }
        }
        assert_eq!(self.world.rt.counters().records_lost, 0);
        assert_eq!(failures, self.failed, "failures in the log");
        assert_eq!(refusals, self.errors, "refusals in the log");
    }
}

/// The driver call that the program's call stands for, if it is one that cannot do without.
fn essential(op: &Op, made: &Made) -> bool {
    let of_program = made.slot.is_some_and(|slot| (slot as usize) < EVENTS);
    match op.call() {
        Op::Record(..) => made.call == DriverCall::Lay && of_program,
        Op::Wait(..) => made.call == DriverCall::Wait && of_program,
        Op::Query(_) => made.call == DriverCall::Query && of_program,
        Op::SyncStream(_) | Op::SyncEvent(_) | Op::SyncDevice => made.call == DriverCall::Synchronise,
        Op::Pool(..) | Op::Default(_) => matches!(made.call, DriverCall::Properties | DriverCall::Reserve),
        Op::Stream(_) => made.call == DriverCall::Properties,
        _ => false,
    }
}

fn check_success(op: &Op, attempt: &Attempt, done: Done) {
    if let Some(made) = attempt.failed().find(|made| essential(op, made)) {
        panic!("{op:?} says that it succeeded although {made:?}");
    }
    if done == Done::Skipped {
        assert!(attempt.made.is_empty());
    }
    let (before, after) = (&attempt.before, &attempt.after);
    let changed = |n: &usize| match (before.pools.get(n), after.pools.get(n)) {
        (Some(b), Some(a)) => (a.live_blocks as i64 - b.live_blocks as i64, a.used.get() as i64 - b.used.get() as i64),
        _ => (0, 0),
    };
    match *op.call() {
        Op::Malloc(_, pool, parts, _) if done == Done::Yes => {
            assert_eq!(changed(&pool), (1, (parts * (GRANULE / 64)) as i64), "one block more");
        }
        Op::Free(..) => {}
        _ => assert!(after.pools.keys().all(|n| changed(n) == (0, 0)), "nobody's block changed"),
    }
}

/// Memory is missing; or a slot for a stream, because an ended one is not known to be complete.
fn is_shortage(refusal: Refusal) -> bool {
    match refusal {
        Refusal::Malloc(MallocError::OutOfMemory(_)) => true,
        Refusal::Order(OrderError::ArenaFull(full)) => full.arena == Arena::Streams,
        _ => false,
    }
}

/// Errors that are right with this op and these failures.
fn is_apt(op: &Op, attempt: &Attempt, refusal: Refusal) -> bool {
    let injected = |error: weir::driver::DriverError| {
        error.code == CODE && attempt.failed().any(|made| made.call == error.call && made.failed == Some(error.kind))
    };
    let clean = attempt.is_clean();
    match refusal {
        Refusal::Malloc(MallocError::Driver(error)) => injected(error),
        Refusal::Malloc(MallocError::OutOfMemory(_)) => {
            let exhausted = attempt.failed().any(|made| made.failed == Some(DriverErrorKind::Exhausted));
            let unknown = [DriverCall::Lay, DriverCall::Query, DriverCall::Destroy, DriverCall::Unmap];
            clean || exhausted || matches!(op, Op::Refused(_)) || attempt.failed_in(&unknown)
        }
        Refusal::Order(OrderError::ArenaFull(_)) => is_shortage(refusal),
        Refusal::Order(OrderError::Driver(error)) | Refusal::Pool(PoolError::Driver(error)) => injected(error),
        Refusal::Pool(PoolError::LiveBlocks { .. }) => matches!(op, Op::Refused(_)),
        _ => false,
    }
}

fn check_refusal(op: &Op, attempt: &Attempt, refusal: Refusal, ordered: bool) {
    assert!(is_apt(op, attempt, refusal), "not the error of that failure");
    let Attempt { before, after, .. } = attempt;
    assert_eq!(before.blocks, after.blocks, "blocks are as before");
    assert_eq!(before.ranges, after.ranges, "address ranges are as before");
    assert_eq!(before.pools.len(), after.pools.len());
    // What was mapped in a stream's order cannot be unmapped at once; it may stay as free memory.
    let stays = ordered || attempt.failed_in(&[DriverCall::Destroy, DriverCall::Unmap]);
    for (n, b) in &before.pools {
        let a = &after.pools[n];
        let counts = |s: &weir::PoolStats| (s.used, s.requested, s.live_blocks, s.mallocs, s.frees, s.by_source);
        assert_eq!(counts(b), counts(a), "pool {n}: used bytes and counts are as before");
        assert!(a.reserved <= b.reserved || stays, "pool {n}: {} reserved, then {}", b.reserved, a.reserved);
        let refused = match *op.call() {
            // Two numbers may name the default pool: the address tells them apart.
            Op::Malloc(_, pool, ..) => u64::from(b.base == before.pools[&pool].base),
            _ => 0,
        };
        assert_eq!(a.refused - b.refused, refused, "pool {n}: the refusal is counted once");
    }
}
