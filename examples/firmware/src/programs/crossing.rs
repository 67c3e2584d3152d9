//! Four streams, sizes of all kinds, frees on other streams, uses, and work that takes time: whatever is handed out must
//! hold what was written into it until it is freed.

use super::{Bench, Pair};
use crate::board::{DEVICE, PLAIN_STREAMS, Pattern, Work};
use crate::machine::Machine;
use core::fmt::Write;
use weir::policy::UseUntil;
use weir::trace::Sink;
use weir::units::{Bytes, DevicePtr, Nanos};
use weir::{Lock, State};

const STEPS: u64 = 60;

/// Blocks that live at the same time.
const LIVE: usize = 6;

/// One block with what was written into it.
#[derive(Clone, Copy)]
struct Live {
    pattern: Pattern,
    owner: usize,
}

/// A small generator of numbers (xorshift64*), the same on every machine.
struct Numbers(u64);

impl Numbers {
    const fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % most
    }
}

pub(super) fn run<'a, M: Machine, S: Sink, L: Lock<State<'a>>, W: Write>(
    bench: &mut Bench<'_, 'a, M, S, L, W>,
) -> Option<()> {
    let pool = bench.pool()?;
    let before = bench.rt.driver().found();
    let mut numbers = Numbers(7);
    let mut live: [Option<Live>; LIVE] = [None; LIVE];
    let mut expected = 0;
    for step in 0..STEPS {
        let place = live.get_mut(numbers.below(LIVE as u64) as usize)?;
        if let Some(block) = place.take() {
            expected += block.pattern.bytes / 8;
            retire(bench, block, &mut numbers)?;
        }
        let owner = numbers.below(PLAIN_STREAMS as u64) as usize;
        let bytes = 512 + 512 * numbers.below(2_000);
        let stream = *bench.streams.get(owner)?;
        let block = bench.checks.done(bench.rt.malloc_async(pool, Bytes(bytes), stream.id), "a malloc")?;
        let pattern = Pattern { at: block.0, bytes, seed: step };
        let driver = bench.rt.driver();
        if numbers.below(4) == 0 {
            bench.checks.done(driver.launch(stream.native, Work::Pause(Nanos(2_000_000))), "a pause")?;
        }
        bench.checks.done(driver.launch(stream.native, Work::Fill(pattern)), "a kernel")?;
        *place = Some(Live { pattern, owner });
        // Queues are not endless: let the device come along.
        if step % 10 == 9 {
            bench.checks.done(bench.rt.synchronize_device(DEVICE), "a synchronisation")?;
        }
    }
    for block in live.iter_mut().filter_map(Option::take) {
        expected += block.pattern.bytes / 8;
        retire(bench, block, &mut numbers)?;
    }
    bench.checks.done(bench.rt.synchronize_device(DEVICE), "a synchronisation")?;
    let found = bench.rt.driver().found();
    bench.checks.same(found.compared - before.compared, expected, "words that were compared");
    bench.checks.same(found.wrong, before.wrong, "wrong words");
    bench.checks.same(found.faults, before.faults, "faults");
    bench.end(pool)
}

/// Checks a block, on its own stream or on another one that waits for it, and frees it.
fn retire<'a, M: Machine, S: Sink, L: Lock<State<'a>>, W: Write>(
    bench: &mut Bench<'_, 'a, M, S, L, W>,
    block: Live,
    numbers: &mut Numbers,
) -> Option<()> {
    let rt = bench.rt;
    let owner: Pair = *bench.streams.get(block.owner)?;
    let other: Pair = *bench.streams.get(numbers.below(PLAIN_STREAMS as u64) as usize)?;
    let at = DevicePtr(block.pattern.at);
    let written = bench.checks.done(rt.create_event(), "an event")?;
    bench.checks.done(rt.record(written, owner.id), "a record")?;
    bench.checks.done(rt.wait(other.id, written), "a wait")?;
    bench.checks.done(rt.destroy_event(written), "the end of an event")?;
    bench.checks.done(rt.driver().launch(other.native, Work::Check(block.pattern)), "a kernel")?;
    // Either the stream that read it frees it, or the owner does after the pool was told who reads.
    if numbers.below(2) == 0 {
        return bench.checks.done(rt.free_async(at, other.id), "a free");
    }
    bench.checks.done(rt.record_use(at, other.id, UseUntil::Now), "a use")?;
    bench.checks.done(rt.free_async(at, owner.id), "a free")
}
