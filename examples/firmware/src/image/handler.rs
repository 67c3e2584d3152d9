//! Calls from an interrupt handler: `try_malloc_async` and `try_free_async` where nothing is in the way, where the lock is
//! held by whom the interrupt hit, and where a driver call would be needed.

use super::{Hardware, RUNTIME, lock, machine};
use core::fmt::Write;
use spin::Mutex;
use weir::error::{FreeError, MallocError, Unusable};
use weir::id::{PoolId, StreamId};
use weir::policy::PoolConfig;
use weir::trace::Sink;
use weir::units::{Bytes, DevicePtr};
use weir::{Lock, State};
use weir_firmware::board::DEVICE;
use weir_firmware::programs::Bench;

/// What a handler is to do, and what came of it.
#[derive(Clone, Copy, Debug)]
enum Job {
    Malloc { pool: PoolId, stream: StreamId, bytes: Bytes },
    Malloced(Result<DevicePtr, MallocError>),
    Free { at: DevicePtr, stream: StreamId },
    Freed(Result<(), FreeError>),
}

static JOB: Mutex<Option<Job>> = Mutex::new(None);

/// The software interrupt's handler.
pub(super) fn interrupted() {
    let (Some(rt), Some(mut job)) = (RUNTIME.get(), JOB.try_lock()) else { return };
    *job = match *job {
        Some(Job::Malloc { pool, stream, bytes }) => Some(Job::Malloced(rt.try_malloc_async(pool, bytes, stream))),
        Some(Job::Free { at, stream }) => Some(Job::Freed(rt.try_free_async(at, stream))),
        done => done,
    };
}

/// Lets the handler do a job now.
fn at_once(job: Job) -> Option<Job> {
    *JOB.lock() = Some(job);
    machine::interrupt();
    JOB.lock().take()
}

/// Lets the handler do a job while the runtime's lock is held.
fn while_locked(job: Job) -> Option<Job> {
    *JOB.lock() = Some(job);
    lock::arm();
    let _ = RUNTIME.get().map(|rt| rt.counters());
    JOB.lock().take()
}

/// See the module's page. `None`: a call failed, which is counted.
pub(super) fn run<'a, S: Sink, L: Lock<State<'a>>, W: Write>(
    bench: &mut Bench<'_, 'a, Hardware, S, L, W>,
) -> Option<()> {
    bench.checks.say(format_args!("program: interrupt handler"));
    let (rt, stream) = (bench.rt, bench.streams.first()?.id);
    let pool = bench.checks.done(rt.create_pool(PoolConfig::new(DEVICE)), "a pool")?;
    let bytes = Bytes::kib(64);
    let malloc = Job::Malloc { pool, stream, bytes };
    let busy = |done: &Option<Job>| matches!(done, Some(Job::Malloced(Err(MallocError::Unusable(Unusable::Busy)))));

    let grown = at_once(malloc);
    bench.checks.holds(busy(&grown), format_args!("a handler's malloc that would grow: {grown:?}"));
    // Memory that is usable at once: what this stream has freed.
    let block = bench.checks.done(rt.malloc_async(pool, bytes, stream), "a malloc")?;
    bench.checks.done(rt.free_async(block, stream), "a free")?;

    let locked = while_locked(malloc);
    bench.checks.holds(busy(&locked), format_args!("a handler's malloc under the lock: {locked:?}"));
    let Some(Job::Malloced(Ok(at))) = at_once(malloc) else {
        bench.checks.holds(false, format_args!("a handler's malloc of usable memory was refused"));
        return None;
    };
    bench.checks.same(at, block, "what a handler was given");

    let locked = while_locked(Job::Free { at, stream });
    let busy = matches!(locked, Some(Job::Freed(Err(FreeError::Unusable(Unusable::Busy)))));
    bench.checks.holds(busy, format_args!("a handler's free under the lock: {locked:?}"));
    let freed = at_once(Job::Free { at, stream });
    bench.checks.holds(matches!(freed, Some(Job::Freed(Ok(())))), format_args!("a handler's free: {freed:?}"));
    bench.checks.done(rt.verify(), "the bookkeeping");
    bench.checks.done(rt.synchronize_device(DEVICE), "a synchronisation")?;
    bench.checks.done(rt.destroy_pool(pool, weir::policy::Destroy::IfEmpty), "the end of a pool")
}
