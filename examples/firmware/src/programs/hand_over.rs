//! Two streams hand a block to and fro along events: no synchronisation, no copy, every byte checked.

use super::Bench;
use crate::board::{Pattern, Work};
use crate::machine::Machine;
use core::fmt::Write;
use weir::trace::{Sink, Source};
use weir::units::Bytes;
use weir::{Lock, State};

const ROUNDS: u64 = 24;
const SIZE: Bytes = Bytes::kib(512);

pub(super) fn run<'a, M: Machine, S: Sink, L: Lock<State<'a>>, W: Write>(
    bench: &mut Bench<'_, 'a, M, S, L, W>,
) -> Option<()> {
    let pool = bench.pool()?;
    let (rt, [producer, consumer, ..]) = (bench.rt, bench.streams);
    let filled = bench.checks.done(rt.create_event(), "an event")?;
    let read = bench.checks.done(rt.create_event(), "an event")?;
    let before = rt.driver().found();
    for round in 0..ROUNDS {
        let block = bench.checks.done(rt.malloc_async(pool, SIZE, producer.id), "a malloc")?;
        let pattern = Pattern { at: block.0, bytes: SIZE.0, seed: round };
        bench.checks.done(rt.driver().launch(producer.native, Work::Fill(pattern)), "a kernel")?;
        bench.checks.done(rt.record(filled, producer.id), "a record")?;
        bench.checks.done(rt.wait(consumer.id, filled), "a wait")?;
        bench.checks.done(rt.driver().launch(consumer.native, Work::Check(pattern)), "a kernel")?;
        // The consumer frees: the producer may have the block again once it comes after the consumer.
        bench.checks.done(rt.free_async(block, consumer.id), "a free")?;
        bench.checks.done(rt.record(read, consumer.id), "a record")?;
        bench.checks.done(rt.wait(producer.id, read), "a wait")?;
        // A queue holds so much and no more.
        if round % 8 == 7 {
            bench.checks.done(rt.synchronize_stream(producer.id), "a synchronisation")?;
        }
    }
    bench.checks.done(rt.synchronize_stream(consumer.id), "a synchronisation")?;
    let found = rt.driver().found();
    bench.checks.same(found.compared - before.compared, ROUNDS * SIZE.0 / 8, "words that arrived");
    bench.checks.same(found.wrong, before.wrong, "wrong words");
    bench.checks.same(found.faults, before.faults, "faults");
    let stats = bench.checks.done(rt.stats(pool), "the figures")?;
    bench.checks.same(stats.reserved_high, Bytes::mib(2), "the most that was held");
    let grown = stats.by_source.get(Source::Grow as usize).copied();
    bench.checks.holds(grown.is_some_and(|grown| grown <= 3), format_args!("it grew {grown:?} times"));
    for event in [filled, read] {
        bench.checks.done(rt.destroy_event(event), "the end of an event")?;
    }
    bench.end(pool)
}
