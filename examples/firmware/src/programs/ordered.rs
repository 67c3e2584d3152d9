//! The device whose memory an agent maps in the order of the streams, as CANN's pools do it.

use super::Bench;
use crate::agent;
use crate::board::{Pattern, Work};
use crate::machine::{GRANULE, Machine, PLACES, SPACE};
use core::fmt::Write;
use weir::agent::{Claim, Message, Operation, Refusal};
use weir::trace::Sink;
use weir::units::{Bytes, DevicePtr, Nanos};
use weir::{Lock, State};

const ROUNDS: u64 = 8;

/// Two free granules with live ones beside them, and a request for two together: they are moved while work on them is
/// queued. The runtime decides on addresses, and the agent does the physical work when the stream comes to it.
pub(super) fn run<'a, M: Machine, S: Sink, L: Lock<State<'a>>, W: Write>(
    bench: &mut Bench<'_, 'a, M, S, L, W>,
) -> Option<()> {
    let pool = bench.pool_of(agent::DEVICE)?;
    let (rt, [.., one, two]) = (bench.rt, bench.streams);
    let passed = bench.checks.done(rt.create_event(), "an event")?;
    let (before, served) = (rt.driver().found(), rt.driver().served());
    let mut expected = 0;
    for round in 0..ROUNDS {
        let mut blocks = [DevicePtr(0); 4];
        for block in &mut blocks {
            *block = bench.checks.done(rt.malloc_async(pool, Bytes(GRANULE), one.id), "a malloc")?;
            let pattern = Pattern { at: block.0, bytes: 64 * 1024, seed: 16 * round };
            bench.checks.done(rt.driver().launch(one.native, Work::Fill(pattern)), "a kernel")?;
            bench.checks.done(rt.driver().launch(one.native, Work::Check(pattern)), "a kernel")?;
            expected += pattern.bytes / 8;
        }
        let [first, left, third, right] = blocks;
        for block in [first, third] {
            bench.checks.done(rt.free_async(block, one.id), "a free")?;
        }
        let joined = bench.checks.done(rt.malloc_async(pool, Bytes(2 * GRANULE), one.id), "a malloc")?;
        // Its middle: the end of one granule and the beginning of the other.
        let pattern = Pattern { at: joined.0 + GRANULE - 2048, bytes: 4096, seed: 16 * round + 1 };
        bench.checks.done(rt.driver().launch(one.native, Work::Fill(pattern)), "a kernel")?;
        bench.checks.done(rt.record(passed, one.id), "a record")?;
        bench.checks.done(rt.wait(two.id, passed), "a wait")?;
        bench.checks.done(rt.driver().launch(two.native, Work::Check(pattern)), "a kernel")?;
        expected += pattern.bytes / 8;
        for block in [left, right, joined] {
            bench.checks.done(rt.free_async(block, two.id), "a free")?;
        }
        bench.checks.done(rt.synchronize_device(agent::DEVICE), "a synchronisation")?;
    }
    let found = rt.driver().found();
    bench.checks.same(found.compared - before.compared, expected, "words that were compared");
    bench.checks.same((found.wrong, found.faults), (before.wrong, before.faults), "wrong words and faults");
    let now = rt.driver().served();
    bench.checks.holds(
        now.executed >= served.executed + 2 * ROUNDS as u32,
        format_args!("the agent executed {} messages", now.executed - served.executed),
    );
    bench.checks.same(now.refused, served.refused, "messages that the agent refused");
    bench.checks.done(rt.destroy_event(passed), "the end of an event")?;
    bench.end(pool)
}

/// Messages that come along two streams without a runtime, at the device's last addresses.
pub(super) fn messages<'a, M: Machine, S: Sink, L: Lock<State<'a>>, W: Write>(
    bench: &mut Bench<'_, 'a, M, S, L, W>,
) -> Option<()> {
    let (rt, [.., one, two]) = (bench.rt, bench.streams);
    let at = DevicePtr(SPACE + (PLACES as u64 - 1) * GRANULE);
    let message = |operation| Message { size: Bytes(GRANULE), va: at, pool: 99, device: agent::DEVICE, operation };
    let [fresh, standard, internal] = [Claim::Fresh, Claim::Standard, Claim::Internal].map(Operation::Malloc);
    let (pattern, other) = (Pattern { at: at.0, bytes: 512, seed: 1 }, Pattern { at: at.0, bytes: 512, seed: 2 });
    let (before, served) = (rt.driver().found(), rt.driver().served());
    let mut send =
        |stream, operation| bench.checks.done(rt.driver().send(stream, message(operation).to_bytes()), "a send");

    // One stream frees late; the other one waits for that, however early it comes, and does not read what it has not got.
    send(one.native, fresh)?;
    send(two.native, internal)?;
    rt.driver().launch(two.native, Work::Fill(other)).ok()?;
    rt.driver().launch(two.native, Work::Check(other)).ok()?;
    rt.driver().launch(one.native, Work::Pause(Nanos(3_000_000))).ok()?;
    rt.driver().launch(one.native, Work::Fill(pattern)).ok()?;
    rt.driver().launch(one.native, Work::Check(pattern)).ok()?;
    send(one.native, Operation::Free)?;
    bench.checks.done(rt.synchronize_device(agent::DEVICE), "a synchronisation")?;
    let (found, now) = (rt.driver().found(), rt.driver().served());
    bench.checks.same(found.compared - before.compared, 128, "words that were compared");
    bench.checks.same((found.wrong, found.faults), (before.wrong, before.faults), "wrong words and faults");
    bench.checks.same((now.executed, now.refused), (served.executed + 3, served.refused), "messages");
    bench.checks.holds(now.waited > served.waited, format_args!("the other stream did not wait"));

    // What is live cannot be taken, and what is no operation is refused.
    let mut unknown = message(fresh).to_bytes();
    if let Some(operation) = unknown.get_mut(28) {
        *operation = 3;
    }
    for (bytes, refusal) in [
        (message(standard).to_bytes(), Refusal::InUse(at)),
        (unknown, Refusal::UnknownOperation(3)),
        (Message { pool: 98, ..message(Operation::Free) }.to_bytes(), Refusal::NotLive(at)),
    ] {
        let before = rt.driver().served();
        bench.checks.done(rt.driver().send(one.native, bytes), "a send")?;
        bench.checks.done(rt.synchronize_stream(one.id), "a synchronisation")?;
        let now = rt.driver().served();
        bench.checks.same((now.refused, now.latest), (before.refused + 1, Some(refusal)), "a refusal");
    }
    bench.checks.done(rt.driver().send(two.native, message(Operation::Free).to_bytes()), "a send")?;
    bench.checks.done(rt.synchronize_device(agent::DEVICE), "a synchronisation")
}
