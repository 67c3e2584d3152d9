//! What must not work: more than there is, and memory that was given back.

use super::Bench;
use crate::board::{Board, DEVICE, Pattern, Work};
use crate::machine::{Fault, GRANULE, Machine};
use core::fmt::Write;
use weir::error::MallocError;
use weir::trace::Sink;
use weir::units::Bytes;
use weir::{Lock, State};

/// A malloc beyond the device is refused and changes nothing.
pub(super) fn exhausted<'a, M: Machine, S: Sink, L: Lock<State<'a>>, W: Write>(
    bench: &mut Bench<'_, 'a, M, S, L, W>,
) -> Option<()> {
    let pool = bench.pool()?;
    let (rt, [stream, ..]) = (bench.rt, bench.streams);
    let most = Bytes(GRANULE * (Board::<M>::FRAMES as u64 - 1));
    let block = bench.checks.done(rt.malloc_async(pool, most, stream.id), "nearly all memory")?;
    let before = bench.checks.done(rt.stats(pool), "the figures")?;
    let refused = rt.malloc_async(pool, Bytes(2 * GRANULE), stream.id);
    bench.checks.holds(
        matches!(refused, Err(MallocError::OutOfMemory(_))),
        format_args!("more than there is: {:?}", refused.is_ok()),
    );
    let above = rt.malloc_async(pool, Bytes(u64::MAX), stream.id);
    bench.checks.holds(above.is_err(), format_args!("2^64 bytes were given"));
    let after = bench.checks.done(rt.stats(pool), "the figures")?;
    bench.checks.same((after.used, after.reserved), (before.used, before.reserved), "bytes after a refusal");
    bench.checks.same(after.refused, before.refused + 2, "refusals");
    bench.checks.done(rt.free_async(block, stream.id), "a free")?;
    bench.end(pool)
}

/// What is released is no longer there: the device faults at the address that a kernel touches, and nowhere else.
pub(super) fn released<'a, M: Machine, S: Sink, L: Lock<State<'a>>, W: Write>(
    bench: &mut Bench<'_, 'a, M, S, L, W>,
) -> Option<()> {
    let pool = bench.pool()?;
    let (rt, [stream, ..]) = (bench.rt, bench.streams);
    let size = Bytes(2 * GRANULE);
    let block = bench.checks.done(rt.malloc_async(pool, size, stream.id), "a malloc")?;
    let inside = Pattern { at: block.0 + GRANULE, bytes: 64, seed: 1 };
    let before = rt.driver().found();
    bench.checks.done(rt.driver().launch(stream.native, Work::Fill(inside)), "a kernel")?;
    bench.checks.done(rt.driver().launch(stream.native, Work::Check(inside)), "a kernel")?;
    bench.checks.done(rt.synchronize_stream(stream.id), "a synchronisation")?;
    bench.checks.same(rt.driver().found().faults, before.faults, "faults in a live block");
    bench.checks.holds(rt.driver().is_mapped(block), format_args!("a live block is not mapped"));

    bench.checks.done(rt.free_async(block, stream.id), "a free")?;
    bench.checks.done(rt.synchronize_device(DEVICE), "a synchronisation")?;
    let stats = bench.checks.done(rt.stats(pool), "the figures")?;
    bench.checks.same(stats.reserved, Bytes::ZERO, "bytes that are held after the release");
    bench.checks.holds(!rt.driver().is_mapped(block), format_args!("a released granule is mapped"));
    for work in [Work::Fill(inside), Work::Check(inside)] {
        let before = rt.driver().found();
        bench.checks.done(rt.driver().launch(stream.native, work), "a kernel")?;
        bench.checks.done(rt.synchronize_stream(stream.id), "a synchronisation")?;
        let found = rt.driver().found();
        bench.checks.same(found.faults, before.faults + 1, "faults of a kernel that touches released memory");
        bench.checks.same(found.latest, Some(Fault { at: inside.at }), "the address of the fault");
    }
    bench.end(pool)
}
