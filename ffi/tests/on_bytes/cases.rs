//! Faults that users of such allocators reported, on memory that is really there: kernels write patterns and check them,
//! and a kernel that is held keeps its stream at work for as long as the trace needs. The name says whose report it is;
//! `core/tests/cases_*.rs` has all of them in virtual time.
//!
//! Not here: cupy/cupy#5264 (no device gives a stream's number out again at will), and what no byte can show (sizes,
//! numbers, refusals).

use super::{Machine, Make};
use std::any::Any;
use std::sync::Mutex;
use weir::driver::{NativeStream, Target};
use weir::error::MallocError;
use weir::id::{DeviceId, PoolId, StreamId};
use weir::policy::{Attribute, Destroy, PoolConfig, Preference, Reuse, UseUntil};
use weir::trace::{NullSink, Source};
use weir::units::{Bytes, DevicePtr, MIB};
use weir::{Capacities, Runtime, State, StreamConfig};
use weir_ffi::arenas::HeapArenas;
use weir_ffi::lock::Parking;

type Hosted<'a, D> = Runtime<'a, D, NullSink, Parking<State<'a>>>;

const DEVICE: DeviceId = DeviceId(0);

/// Calls a macro with the names of all cases.
#[allow(unused_macros, reason = "each test file uses a part")]
macro_rules! for_each_case {
    ($then:ident) => {
        $then! {
            rmm_2489_merged_list_carries_the_wrong_event
            rmm_993_opportunistic_means_complete
            onnxruntime_4829_a_copy_that_still_runs
            cub_156_a_block_is_not_visible_before_its_order
            cuda_jl_780_a_use_on_another_stream_is_told
            rocm_10943_released_only_when_both_streams_have_passed
            pytorch_196258_a_trim_waits_for_the_pools_own_device
            llama_cpp_22155_what_a_kernel_uses_is_not_released_for_others
            pytorch_110194_free_granules_in_pieces_serve_a_large_request
            rmm_397_half_of_what_was_merged_is_released
            pytorch_147168_usable_after_the_last_recorded_use
            executorch_22312_pending_memory_is_not_released_and_is_counted
            cubecl_1191_handles_survive_a_clean_up
            imp_837_used_is_within_reserved_and_reserved_within_the_limit
            cann_wait_first_keeps_reserved_low
            tensorflow_57676_a_free_in_a_callback_does_not_hang
        }
    };
}
#[allow(unused_imports, reason = "each test file uses a part")]
pub(crate) use for_each_case;

/// What callbacks of the device's may still name when a case is over.
static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

fn arenas() -> HeapArenas {
    let small = Capacities { streams: 8, events: 16, markers: 64, pools: 4, blocks: 512, ..Capacities::default() };
    HeapArenas::new(Capacities { granules: 256, labels: 1, pages: 0, ..small })
}

/// A stream, by the runtime's id and the driver's number.
#[derive(Clone, Copy)]
struct Stream {
    id: StreamId,
    native: NativeStream,
}

/// Memory with a pattern that nothing else has.
#[derive(Clone, Copy)]
struct Block {
    ptr: DevicePtr,
    bytes: Bytes,
    seed: u64,
}

struct Bench<'a, D: Machine> {
    rt: Hosted<'a, D>,
}

impl<'a, D: Machine> Bench<'a, D> {
    fn new<M: Make<Machine = D>>(make: &M, arenas: &'a mut HeapArenas, total: u64) -> Self {
        Self::on(make.machine(1, Bytes(total)), arenas)
    }

    fn on(machine: D, arenas: &'a mut HeapArenas) -> Self {
        Self { rt: Runtime::new(arenas.lend(), machine, NullSink) }
    }

    fn stream(&self) -> Stream {
        self.stream_on(DEVICE)
    }

    fn stream_on(&self, device: DeviceId) -> Stream {
        let native = self.rt.driver().stream(device);
        Stream { id: self.rt.create_stream(StreamConfig::new(device, native)).unwrap(), native }
    }

    fn pool(&self, limit: u64, reuse: Reuse) -> PoolId {
        self.rt.create_pool(PoolConfig { limit: Bytes(limit), reuse, ..PoolConfig::new(DEVICE) }).unwrap()
    }

    fn keep(&self, pool: PoolId) {
        self.rt.set_attribute(pool, Attribute::ReleaseThreshold, u64::MAX).unwrap();
    }

    /// A block whose pattern is written on its stream.
    fn malloc(&self, pool: PoolId, bytes: u64, stream: Stream) -> Block {
        self.try_malloc(pool, bytes, stream).expect("there is room")
    }

    fn try_malloc(&self, pool: PoolId, bytes: u64, stream: Stream) -> Result<Block, MallocError> {
        let ptr = self.rt.malloc_async(pool, Bytes(bytes), stream.id)?;
        // No two mallocs of a pool have the same.
        let block = Block { ptr, bytes: Bytes(bytes), seed: self.rt.stats(pool).unwrap().mallocs };
        self.rt.driver().fill(stream.native, block.ptr, block.bytes, block.seed);
        Ok(block)
    }

    /// Queues a kernel that fails, and with it the device, where the block has not its own pattern.
    fn check(&self, block: Block, stream: Stream) {
        let Block { ptr, bytes, seed } = block;
        self.rt.driver().check(stream.native, ptr, bytes, seed);
    }

    fn free(&self, block: Block, stream: Stream) {
        self.rt.free_async(block.ptr, stream.id).unwrap();
    }

    fn hold(&self, stream: Stream) -> D::Hold {
        self.rt.driver().hold(stream.native)
    }

    /// Waits for a stream's work without the pool's knowledge.
    fn run(&self, stream: Stream) {
        self.rt.driver().synchronise(Target::Stream(stream.native)).unwrap();
    }

    fn follow(&self, waiting: Stream, recorded: Stream) {
        let event = self.rt.create_event().unwrap();
        self.rt.record(event, recorded.id).unwrap();
        self.rt.wait(waiting.id, event).unwrap();
        self.rt.destroy_event(event).unwrap();
    }

    /// The next call on a stream lays the marker behind what was freed there.
    fn mark(&self, stream: Stream) {
        let event = self.rt.create_event().unwrap();
        self.rt.record(event, stream.id).unwrap();
        self.rt.destroy_event(event).unwrap();
    }

    /// Everything runs to its end; every kernel found its own bytes.
    fn end(&self) {
        let outcome = self.rt.synchronize_device(DEVICE);
        self.rt.driver().verdict(DEVICE);
        outcome.unwrap();
        self.rt.verify().unwrap();
    }

    fn reserved(&self, pool: PoolId) -> u64 {
        self.rt.stats(pool).unwrap().reserved.get()
    }
}

pub(crate) fn rmm_2489_merged_list_carries_the_wrong_event<M: Make>(make: &M) {
    for reuse in [Reuse::INTERNAL, Reuse::EVENT | Reuse::INTERNAL, Reuse::all()] {
        let mut arenas = arenas();
        let b = Bench::new(make, &mut arenas, 64 * MIB);
        let [sa, sb, sc] = [(); 3].map(|()| b.stream());
        let pool = b.pool(10 * MIB, reuse);
        let blocks: Vec<_> = (0..10).map(|_| b.malloc(pool, MIB, sa)).collect();
        let work = b.hold(sa);
        for block in blocks {
            b.check(block, sa);
            b.free(block, sa);
        }
        b.mark(sa);
        let big = b.malloc(pool, 10 * MIB, sb);
        b.check(big, sb);
        b.free(big, sb);
        b.mark(sb);
        let c1 = b.malloc(pool, MIB, sc);
        b.check(c1, sc);
        drop(work);
        b.end();
    }
}

pub(crate) fn rmm_993_opportunistic_means_complete<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::new(make, &mut arenas, 64 * MIB);
    let [s1, s2] = [(); 2].map(|()| b.stream());
    let pool = b.pool(64 * MIB, Reuse::OPPORTUNISTIC);
    let a = b.malloc(pool, 2 * MIB, s1);
    let work = b.hold(s1);
    b.check(a, s1);
    b.free(a, s1);
    b.mark(s1);
    let early = b.malloc(pool, 2 * MIB, s2);
    b.run(s2);
    assert_ne!(early.ptr, a.ptr);
    drop(work);
    b.run(s1);
    assert_eq!(b.malloc(pool, 2 * MIB, s2).ptr, a.ptr, "now it is complete");
    assert_eq!(b.rt.stats(pool).unwrap().by_source[Source::Opportunistic as usize], 1);
    b.end();
}

pub(crate) fn onnxruntime_4829_a_copy_that_still_runs<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::new(make, &mut arenas, 64 * MIB);
    let [copy, compute] = [(); 2].map(|()| b.stream());
    let pool = b.pool(64 * MIB, Reuse::all());
    let work = b.hold(copy);
    let a = b.malloc(pool, 4 * MIB, copy);
    b.check(a, copy);
    b.free(a, copy);
    let other = b.malloc(pool, 4 * MIB, compute);
    b.run(compute);
    assert_ne!(other.ptr, a.ptr);
    b.follow(compute, copy);
    let next = b.malloc(pool, 4 * MIB, compute);
    assert_eq!(next.ptr, a.ptr, "ordered after the copy");
    b.check(next, compute);
    drop(work);
    b.end();
}

/// One thread frees while another allocates, in a pool that has room for two blocks and no more.
pub(crate) fn cub_156_a_block_is_not_visible_before_its_order<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::new(make, &mut arenas, 64 * MIB);
    let streams = [(); 2].map(|()| b.stream());
    let pool = b.pool(4 * MIB, Reuse::all());
    std::thread::scope(|scope| {
        for s in streams {
            let b = &b;
            scope.spawn(move || {
                for _ in 0..300 {
                    match b.try_malloc(pool, 2 * MIB, s) {
                        Ok(block) => {
                            b.check(block, s);
                            b.free(block, s);
                        }
                        Err(MallocError::OutOfMemory(_)) => b.rt.synchronize_stream(s.id).unwrap(),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    b.end();
}

pub(crate) fn cuda_jl_780_a_use_on_another_stream_is_told<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::new(make, &mut arenas, 64 * MIB);
    let [s1, s2] = [(); 2].map(|()| b.stream());
    let pool = b.pool(64 * MIB, Reuse::all());
    let a = b.malloc(pool, 2 * MIB, s1);
    b.follow(s2, s1);
    let work = b.hold(s2);
    b.check(a, s2);
    b.rt.record_use(a.ptr, s2.id, UseUntil::Now).unwrap();
    b.free(a, s1);
    let next = b.malloc(pool, 2 * MIB, s1);
    b.run(s1);
    assert_ne!(next.ptr, a.ptr);
    drop(work);
    b.end();
}

/// Threshold 0, and only the first stream is ever waited for: nothing goes under the second one's feet.
pub(crate) fn rocm_10943_released_only_when_both_streams_have_passed<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::new(make, &mut arenas, 64 * MIB);
    let [s1, s2] = [(); 2].map(|()| b.stream());
    let pool = b.pool(64 * MIB, Reuse::all());
    for _ in 0..600 {
        let a = b.malloc(pool, MIB / 2, s1);
        b.follow(s2, s1);
        b.check(a, s2);
        b.free(a, s2);
        b.rt.synchronize_stream(s1.id).unwrap();
    }
    b.end();
    assert_eq!(b.reserved(pool), 0);
    assert_eq!(b.rt.driver().resident(DEVICE), Bytes::ZERO);
}

pub(crate) fn pytorch_196258_a_trim_waits_for_the_pools_own_device<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::on(make.machine(2, Bytes(64 * MIB)), &mut arenas);
    let current = DeviceId(1);
    let (s0, s1) = (b.stream(), b.stream_on(current));
    let pools = [DEVICE, current].map(|device| b.rt.create_pool(PoolConfig::new(device)).unwrap());
    let a = b.malloc(pools[0], 8 * MIB, s0);
    let work = b.hold(s0);
    b.check(a, s0);
    b.free(a, s0);
    let other = b.malloc(pools[1], 8 * MIB, s1);
    b.free(other, s1);
    b.rt.synchronize_device(current).unwrap();
    let trimmed = pools.map(|pool| b.rt.trim_to(pool, Bytes::ZERO).unwrap());
    assert_eq!(trimmed.map(|t| t.reserved), [Bytes::mib(8), Bytes::ZERO]);
    assert_eq!(trimmed[0].pending, Bytes::mib(8));
    drop(work);
    b.end();
    assert_eq!(b.reserved(pools[0]), 0);
}

pub(crate) fn llama_cpp_22155_what_a_kernel_uses_is_not_released_for_others<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::new(make, &mut arenas, 16 * MIB);
    let [s1, s2] = [(); 2].map(|()| b.stream());
    let (cache, pool) = (b.pool(0, Reuse::all()), b.pool(0, Reuse::all()));
    let a = b.malloc(cache, 16 * MIB, s1);
    let work = b.hold(s1);
    b.check(a, s1);
    b.free(a, s1);
    b.mark(s1);
    let refused = b.try_malloc(pool, 8 * MIB, s2).map(|block| block.ptr);
    let Err(MallocError::OutOfMemory(oom)) = refused else { panic!("{refused:?}") };
    assert!(oom.device_full.is_some(), "{oom}");
    assert_eq!(b.reserved(cache), 16 * MIB);
    drop(work);
    b.run(s1);
    let next = b.malloc(pool, 8 * MIB, s2);
    b.check(next, s2);
    b.end();
}

/// Granules move to where a large request needs them; what lives beside them keeps its bytes.
pub(crate) fn pytorch_110194_free_granules_in_pieces_serve_a_large_request<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::new(make, &mut arenas, 64 * MIB);
    let s = b.stream();
    let pool = b.pool(40 * MIB, Reuse::empty());
    b.keep(pool);
    let blocks: Vec<_> = (0..20).map(|_| b.malloc(pool, 2 * MIB, s)).collect();
    blocks.iter().step_by(2).for_each(|&block| b.free(block, s));
    b.rt.synchronize_stream(s.id).unwrap();
    let large = b.malloc(pool, 20 * MIB, s);
    b.check(large, s);
    blocks.iter().skip(1).step_by(2).for_each(|&block| b.check(block, s));
    b.end();
    assert_eq!(b.reserved(pool), 40 * MIB);
}

pub(crate) fn rmm_397_half_of_what_was_merged_is_released<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::new(make, &mut arenas, 64 * MIB);
    let s = b.stream();
    let pool = b.pool(16 * MIB, Reuse::empty());
    b.keep(pool);
    let blocks = [(); 3].map(|()| b.malloc(pool, 2 * MIB, s));
    b.free(blocks[1], s);
    b.free(blocks[2], s);
    b.rt.synchronize_stream(s.id).unwrap();
    assert_eq!(b.rt.trim_to(pool, Bytes::mib(4)).unwrap().reserved, Bytes::mib(4));
    let halves = [(); 2].map(|()| b.malloc(pool, 2 * MIB, s));
    [blocks[0], halves[0], halves[1]].into_iter().for_each(|block| b.check(block, s));
    b.end();
    assert_eq!(b.rt.driver().resident(DEVICE), Bytes::mib(6));
}

/// Unrelated work on the second stream, which never ends, holds nothing back.
pub(crate) fn pytorch_147168_usable_after_the_last_recorded_use<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::new(make, &mut arenas, 64 * MIB);
    let [s1, s2] = [(); 2].map(|()| b.stream());
    let pool = b.pool(64 * MIB, Reuse::EVENT);
    let a = b.malloc(pool, 2 * MIB, s1);
    b.follow(s2, s1);
    b.check(a, s2);
    b.rt.record_use(a.ptr, s2.id, UseUntil::Now).unwrap();
    b.follow(s1, s2);
    let work = b.hold(s2);
    b.free(a, s1);
    let next = b.malloc(pool, 2 * MIB, s1);
    assert_eq!(next.ptr, a.ptr);
    b.check(next, s1);
    b.run(s1);
    drop(work);
    b.end();
}

pub(crate) fn executorch_22312_pending_memory_is_not_released_and_is_counted<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::new(make, &mut arenas, 64 * MIB);
    let s = b.stream();
    let pool = b.pool(64 * MIB, Reuse::empty());
    let a = b.malloc(pool, 32 * MIB, s);
    let work = b.hold(s);
    b.check(a, s);
    b.free(a, s);
    let trimmed = b.rt.trim_to(pool, Bytes::ZERO).unwrap();
    assert_eq!((trimmed.reserved, trimmed.pending), (Bytes::mib(32), Bytes::mib(32)));
    drop(work);
    b.end();
    assert_eq!((b.reserved(pool), b.rt.driver().resident(DEVICE)), (0, Bytes::ZERO));
}

pub(crate) fn cubecl_1191_handles_survive_a_clean_up<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::new(make, &mut arenas, 64 * MIB);
    let s = b.stream();
    let pools = [(); 3].map(|()| b.pool(16 * MIB, Reuse::empty()));
    let blocks = pools.map(|pool| b.malloc(pool, 4 * MIB, s));
    b.free(blocks[0], s);
    b.rt.synchronize_stream(s.id).unwrap();
    b.rt.destroy_pool(pools[0], Destroy::IfEmpty).unwrap();
    let again = b.pool(16 * MIB, Reuse::empty());
    let fresh = b.malloc(again, 4 * MIB, s);
    for block in [blocks[1], blocks[2], fresh] {
        b.check(block, s);
        b.free(block, s);
    }
    b.end();
}

/// What the pool says it holds is what the machine gave it, and a release gives it back.
pub(crate) fn imp_837_used_is_within_reserved_and_reserved_within_the_limit<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::new(make, &mut arenas, 64 * MIB);
    let s = [(); 2].map(|()| b.stream());
    let pool = b.pool(32 * MIB, Reuse::all());
    let mut live = Vec::new();
    for step in 0..400u64 {
        let on = s[usize::from(step % 3 == 0)];
        match step % 4 {
            0..3 => live.extend(b.try_malloc(pool, 1 + step * 7919 % (2 * MIB), on).ok().map(|block| (block, on))),
            _ => {
                b.rt.synchronize_device(DEVICE).unwrap();
                for (block, on) in live.drain(..live.len() / 2) {
                    b.check(block, on);
                    b.free(block, on);
                }
            }
        }
        let (stats, created) = (b.rt.stats(pool).unwrap(), b.rt.driver().created(DEVICE));
        assert!(stats.used <= stats.reserved && stats.reserved <= Bytes::mib(32), "step {step}: {stats:?}");
        assert_eq!(created, stats.reserved, "step {step}");
        assert!(b.rt.driver().resident(DEVICE) <= created, "step {step}");
    }
    live.into_iter().for_each(|(block, on)| b.free(block, on));
    b.end();
    assert_eq!(b.rt.driver().resident(DEVICE), Bytes::ZERO);
}

/// CANN's order of steps: a wait comes before new memory, and still no byte is lost.
pub(crate) fn cann_wait_first_keeps_reserved_low<M: Make>(make: &M) {
    let mut arenas = arenas();
    let b = Bench::new(make, &mut arenas, 64 * MIB);
    let [s1, s2] = [(); 2].map(|()| b.stream());
    let config = PoolConfig { reuse: Reuse::INTERNAL, preference: Preference::WaitFirst, ..PoolConfig::new(DEVICE) };
    let pool = b.rt.create_pool(config).unwrap();
    let a = b.malloc(pool, 8 * MIB, s1);
    let work = b.hold(s1);
    b.check(a, s1);
    b.free(a, s1);
    b.mark(s1);
    let next = b.malloc(pool, 8 * MIB, s2);
    assert_eq!((next.ptr, b.reserved(pool)), (a.ptr, 8 * MIB));
    b.check(next, s2);
    drop(work);
    b.end();
}

/// tensorflow/tensorflow#57676, #56935: what is freed in a callback, while the host waits for it.
pub(crate) fn tensorflow_57676_a_free_in_a_callback_does_not_hang<M: Make>(make: &M) {
    let b: &'static Bench<'static, M::Machine> =
        Box::leak(Box::new(Bench::new(make, Box::leak(Box::new(arenas())), 64 * MIB)));
    KEPT.lock().unwrap().push(Box::new(b));
    let [s1, s2] = [(); 2].map(|()| b.stream());
    let pool = b.pool(64 * MIB, Reuse::all());
    for round in 0..100 {
        let (block, on) = (b.malloc(pool, 2 * MIB, s1), if round % 2 == 0 { s1 } else { s2 });
        b.follow(s2, s1);
        b.check(block, on);
        b.rt.driver().callback(on.native, move || b.free(block, on));
        b.rt.synchronize_device(DEVICE).unwrap();
    }
    b.end();
    assert_eq!(b.rt.stats(pool).unwrap().live_blocks, 0);
    b.rt.destroy_pool(pool, Destroy::IfEmpty).unwrap();
}
