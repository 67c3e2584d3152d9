//! Faults that users of such allocators reported, each as a small trace with the right answer; the name says whose.
//! Here: what is kept and what is given back, by trims, at synchronisations and after failures.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, DEVICE, MIB};
use weir::driver::DriverCall;
use weir::error::{BadPointer, FreeError, MallocError};
use weir::id::{PoolId, StreamId};
use weir::policy::{Attribute, Destroy, PoolConfig, Reuse};
use weir::sim::{DeviceConfig, Sim, SimStorage};
use weir::trace::NullSink;
use weir::units::{Bytes, DevicePtr};
use weir::{Local, Storage, StreamConfig};

const NO_SWITCH: Reuse = Reuse::empty();

/// ggml-org/llama.cpp#5429, NVIDIA/cuda-python#771, rapidsai/rmm#2510: the default threshold of 0 in a loop that
/// synchronises. The cost is counted, and a threshold ends it; unless the pool must release always, so does hysteresis.
#[test]
fn llama_cpp_5429_what_the_threshold_costs_is_counted() {
    let b = Bench::new(1);
    let s = b.stream();
    let round = |pool: PoolId| {
        let before = b.rt.counters();
        let a = b.malloc(pool, 16 * MIB, s);
        b.free(a, s);
        b.rt.synchronize_stream(s).unwrap();
        let after = b.rt.counters();
        (after.create - before.create, after.destroy - before.destroy)
    };
    let pool = b.releasing_pool(64 * MIB, NO_SWITCH);
    (0..5).for_each(|_| assert_eq!(round(pool), (8, 8)));
    assert_eq!(b.rt.stats(pool).unwrap().thrash, Bytes::mib(4 * 16));
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, 16 * MIB).unwrap();
    assert_eq!(round(pool), (8, 0));
    (0..5).for_each(|_| assert_eq!(round(pool), (0, 0)));
    let pool = b.pool(64 * MIB, NO_SWITCH);
    (0..3).for_each(|_| assert_eq!(round(pool), (8, 8)));
    assert_eq!(round(pool), (8, 0));
    (0..5).for_each(|_| assert_eq!(round(pool), (0, 0)));
}

/// JuliaGPU/CUDA.jl#1540: 11 of 9 reserved, most of it free already, and the next allocation releases before it looks.
/// Here 110 of 90 MiB: it is found, and the next synchronisation releases the surplus and no more.
#[test]
fn cuda_jl_1540_search_before_growth_and_release_no_more_than_the_surplus() {
    let b = Bench::new(2);
    let (s, pool) = (b.stream(), b.pool(128 * MIB, NO_SWITCH));
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, 90 * MIB).unwrap();
    let blocks: Vec<_> = (0..10).map(|_| b.malloc(pool, 11 * MIB, s)).collect();
    blocks[..8].iter().for_each(|&block| b.free(block, s));
    let calls = || (b.sim().calls(DriverCall::Create), b.sim().calls(DriverCall::Unmap));
    let before = calls();
    b.malloc(pool, 11 * MIB, s);
    assert_eq!((calls(), b.reserved(pool)), (before, 110 * MIB), "what is free serves");
    b.rt.synchronize_stream(s).unwrap();
    b.check();
    assert_eq!((b.reserved(pool), b.rt.counters().destroy), (90 * MIB, 10));
}

/// pytorch/executorch#22312, ml-explore/mlx#2869, openxla/xla#6398, pytorch/pytorch#188110: a trim with work under way.
#[test]
fn executorch_22312_pending_memory_is_not_released_and_is_counted() {
    let b = Bench::new(3);
    let (s1, s2, pool) = (b.stream(), b.stream(), b.pool(256 * MIB, NO_SWITCH));
    let a = b.malloc(pool, 256 * MIB, s1);
    b.pause(s1);
    b.work(s1);
    b.free(a, s1);
    let trimmed = b.rt.trim_to(pool, Bytes::ZERO).unwrap();
    assert_eq!((trimmed.reserved, trimmed.pending), (Bytes::mib(256), Bytes::mib(256)));
    // Who asks for it is told whom to wait for.
    let Err(MallocError::OutOfMemory(oom)) = b.try_malloc(pool, 64 * MIB, s2) else { panic!("it is pending") };
    assert_eq!(oom.pending_on[0].map(|on| (on.stream, on.bytes)), Some((s1, Bytes::mib(256))));
    b.resume(s1);
    b.rt.synchronize_stream(s1).unwrap();
    b.check();
    assert_eq!(b.reserved(pool), 0, "all 256 after the synchronisation");
    b.malloc(pool, 64 * MIB, s2);
}

/// A runtime of its own on a device that it shares.
type Process = Local<'static, &'static Sim<'static>, NullSink>;

fn process(sim: &'static Sim<'static>) -> (Process, StreamId, PoolId) {
    let space: &'static mut Storage<1, 0, 0, 1, 200, 80, 0, 0> = Box::leak(Box::default());
    let rt = Local::new(space.arenas(), sim, NullSink);
    let native = sim.create_stream(DEVICE).unwrap();
    let config = PoolConfig { threshold: Bytes(u64::MAX), ..PoolConfig::new(DEVICE) };
    let pool = rt.create_pool(config).unwrap();
    let stream = rt.create_stream(StreamConfig::new(DEVICE, native)).unwrap();
    (rt, stream, pool)
}

/// Genesis-Embodied-AI/quadrants#669: eight processes with 128 MiB each that nobody else can have. A trim gives back every
/// granule that nothing lives in, wherever it lies, and another process gets it.
#[test]
fn quadrants_669_eight_processes_give_back_what_they_do_not_use() {
    let storage: &'static mut SimStorage<1, 10, 600, 10, 1, 4000, 4000> = Box::leak(Box::default());
    let config = DeviceConfig::new(Bytes::mib(1024));
    let sim: &'static Sim<'static> = Box::leak(Box::new(Sim::new(storage.arenas(), &[config], 4).unwrap()));
    let eight: Vec<_> = (0..8).map(|_| process(sim)).collect();
    for (rt, s, pool) in &eight {
        let blocks: Vec<_> = (0..64).map(|_| rt.malloc_async(*pool, Bytes::mib(2), *s).unwrap()).collect();
        // One in eight lives on.
        for (_, block) in blocks.into_iter().enumerate().filter(|(n, _)| n % 8 != 0) {
            rt.free_async(block, *s).unwrap();
        }
        rt.synchronize_stream(*s).unwrap();
    }
    assert_eq!(sim.created(DEVICE), Bytes::mib(1024));
    let (rt, s, pool) = process(sim);
    let Err(MallocError::OutOfMemory(oom)) = rt.malloc_async(pool, Bytes::mib(64), s) else { panic!("it is full") };
    assert!(oom.device_full.is_some(), "{oom:?}");
    for (rt, _, pool) in &eight {
        assert_eq!(rt.trim_to(*pool, Bytes::ZERO).unwrap().reserved, Bytes::mib(16));
        rt.verify().unwrap();
    }
    assert_eq!(sim.created(DEVICE), Bytes::mib(128));
    rt.malloc_async(pool, Bytes::mib(64), s).unwrap();
    assert_eq!(sim.violation(), None);
}

/// CANN releases the pools' free memory where the device is full. So it is where the arena has as many granules as the
/// device, and is full before the driver can say so.
#[test]
fn cann_a_full_arena_of_granules_is_a_full_device() {
    let storage: &'static mut SimStorage<1, 2, 9, 1, 1, 64, 64> = Box::leak(Box::default());
    let sim = Sim::new(storage.arenas(), &[DeviceConfig::new(Bytes::mib(16))], 5).unwrap();
    let native = sim.create_stream(DEVICE).unwrap();
    let space: &'static mut Storage<1, 0, 0, 2, 32, 8, 0, 0> = Box::leak(Box::default());
    let rt = Local::new(space.arenas(), sim, NullSink);
    let s = rt.create_stream(StreamConfig::new(DEVICE, native)).unwrap();
    let config = PoolConfig { threshold: Bytes(u64::MAX), ..PoolConfig::new(DEVICE) };
    let pools = [(); 2].map(|()| rt.create_pool(config).unwrap());
    rt.malloc_async(pools[0], Bytes::mib(4), s).unwrap();
    let freed = rt.malloc_async(pools[0], Bytes::mib(12), s).unwrap();
    rt.free_async(freed, s).unwrap();
    rt.synchronize_stream(s).unwrap();
    rt.malloc_async(pools[1], Bytes::mib(8), s).unwrap();
    rt.verify().unwrap();
    assert_eq!(rt.stats(pools[0]).unwrap().reserved, Bytes::mib(8));
    assert_eq!(rt.driver().violation(), None);
}

/// ROCm/rocm-systems#11642, #11643: a failed allocation leaves memory behind, and the exit frees it twice.
#[test]
fn rocm_11642_a_failed_allocation_changes_nothing() {
    use weir::driver::DriverErrorKind;
    let b = Bench::new(5);
    let (s, pool) = (b.stream(), b.pool(16 * MIB, NO_SWITCH));
    let a = b.malloc(pool, 12 * MIB, s);
    let before = (b.used(pool), b.reserved(pool), b.sim().created(DEVICE));
    assert!(matches!(b.try_malloc(pool, 9 * MIB, s), Err(MallocError::OutOfMemory(_))));
    for n in 1..=6u64 {
        let call = if n % 2 == 0 { DriverCall::Map } else { DriverCall::Create };
        b.sim().fail_nth(Some(call), n.div_ceil(2).min(2), DriverErrorKind::Failed).unwrap();
        assert!(matches!(b.try_malloc(pool, 4 * MIB, s), Err(MallocError::Driver(_))), "failure {n}");
        assert_eq!((b.used(pool), b.reserved(pool), b.sim().created(DEVICE)), before);
    }
    let c = b.malloc(pool, 4 * MIB, s);
    b.free(a, s);
    b.free(c, s);
    b.rt.destroy_pool(pool, Destroy::IfEmpty).unwrap();
    b.rt.synchronize_device(DEVICE).unwrap();
    b.check();
    assert_eq!(b.sim().created(DEVICE), Bytes::ZERO);
}

/// tracel-ai/cubecl#1191, #1384, #1401: after a clean-up, handles into later pages name others or none. Addresses of live
/// blocks stay, and ids of what is gone name nothing.
#[test]
fn cubecl_1191_handles_survive_a_clean_up() {
    let b = Bench::new(6);
    let (s, pools) = (b.stream(), [(); 3].map(|()| b.pool(16 * MIB, NO_SWITCH)));
    let blocks = pools.map(|pool| b.malloc(pool, 4 * MIB, s));
    let ids = blocks.map(|block| b.rt.block_at(block).unwrap().id);
    b.free(blocks[0], s);
    b.rt.synchronize_stream(s).unwrap();
    assert_eq!(b.reserved(pools[0]), 0);
    b.rt.destroy_pool(pools[0], Destroy::IfEmpty).unwrap();
    // Something new in the first one's place.
    let again = b.pool(16 * MIB, NO_SWITCH);
    let fresh = b.malloc(again, 4 * MIB, s);
    assert!(b.rt.stats(pools[0]).is_err());
    assert!(again != pools[0] && !ids.contains(&b.rt.block_at(fresh).unwrap().id));
    for n in [1, 2] {
        let info = b.rt.block_at(blocks[n]).unwrap();
        assert_eq!((info.pool, info.id), (pools[n], ids[n]));
        b.write(blocks[n], s);
        b.free(blocks[n], s);
    }
    b.free(fresh, s);
}

/// kekzl/imp#837: stream-ordered memory, released by a synchronous call: more is used than reserved. Used is never above
/// reserved, nor that above the limit, after any step; what is given back is gone from both.
#[test]
fn imp_837_used_is_within_reserved_and_reserved_within_the_limit() {
    let b = Bench::new(7);
    let (s, limit) = ([b.stream(), b.stream()], 32 * MIB);
    let pool = b.pool(limit, Reuse::all());
    let mut live: Vec<DevicePtr> = Vec::new();
    for step in 0..3000u64 {
        let (on, size) = (s[(step / 7 % 2) as usize], 512 + step * 7919 % (3 * MIB));
        match step % 5 {
            0..=2 => live.extend(b.try_malloc(pool, size, on).ok()),
            3 => {
                // At once, as the synchronous call does it: wait, free, wait.
                b.rt.synchronize_device(DEVICE).unwrap();
                live.drain(..live.len() / 2).for_each(|block| b.free(block, on));
                b.rt.synchronize_device(DEVICE).unwrap();
            }
            _ => {
                b.rt.trim_to(pool, Bytes(size)).unwrap();
            }
        }
        b.check();
        let stats = b.rt.stats(pool).unwrap();
        assert!(stats.used <= stats.reserved && stats.reserved.get() <= limit, "step {step}: {stats:?}");
        assert_eq!(stats.reserved, b.sim().created(DEVICE), "step {step}");
    }
    // What the synchronous call does not know is freed once.
    let block = live.pop().unwrap();
    b.free(block, s[0]);
    b.rt.synchronize_device(DEVICE).unwrap();
    let again = b.rt.free_async(block, s[0]);
    assert!(
        matches!(again, Err(FreeError::BadPointer(BadPointer::AlreadyFree { .. } | BadPointer::Unmapped { .. }))),
        "{again:?}"
    );
}
