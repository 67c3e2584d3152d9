//! A pool on each vendor's driver, used by four threads on two devices: kernels write and check real bytes, in the
//! latest order that the program and the pool asked for.
#![cfg(target_os = "linux")]

mod common;
mod vendor_support;

use vendor_support::{Left, Standin};
use weir::error::MallocError;
use weir::id::DeviceId;
use weir::policy::{Destroy, PoolConfig, Preference, Release, Reuse, Tuning};
use weir::trace::{NullSink, Source};
use weir::units::{Bytes, KIB};
use weir::{Capacities, Runtime, State, StreamConfig};
use weir_ffi::arenas::HeapArenas;
use weir_ffi::lock::Parking;
use weir_ffi::vendor::{Vendor, VendorDriver};

type Hosted<'a> = Runtime<'a, VendorDriver, NullSink, Parking<State<'a>>>;

const GRANULE: u64 = 64 * KIB;
const ROUNDS: u64 = 300;

/// Answers how often a stream took memory from another: by a wait, or because it was seen to be complete first.
fn storm(vendor: Vendor) -> u64 {
    let standin = Standin::new(vendor, "pool");
    standin.setup(2, GRANULE, 24);
    let capacities =
        Capacities { streams: 8, events: 8, markers: 16, pools: 4, blocks: 512, granules: 128, labels: 1, pages: 0 };
    let mut arenas = HeapArenas::new(capacities);
    let runtime: Hosted<'_> = Runtime::new(arenas.lend(), standin.driver(), NullSink);
    let pools = [0, 1].map(|device| {
        let tuning = Tuning { release: Release::Always, ..Tuning::DEFAULT };
        let (reuse, preference) = (Reuse::all(), Preference::WaitFirst);
        let config = PoolConfig { reuse, preference, tuning, ..PoolConfig::new(DeviceId(device)) };
        runtime.create_pool(config).unwrap()
    });
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let (runtime, standin) = (&runtime, &standin);
            scope.spawn(move || {
                let device = thread % 2;
                let pool = pools[device as usize];
                let native = standin.stream(device);
                let stream = runtime.create_stream(StreamConfig::new(DeviceId(device), native)).unwrap();
                let mut live = Vec::new();
                for round in 0..ROUNDS {
                    // Sizes that are prime to each other, up to five granules.
                    let bytes = Bytes(1 + (round * 7919 + u64::from(thread) * 104_729) % (5 * GRANULE));
                    let value = u8::try_from((round * 4 + u64::from(thread)) % 251).unwrap();
                    match runtime.malloc_async(pool, bytes, stream) {
                        Ok(ptr) => {
                            standin.kernel(native, ptr, bytes, None, Some(value));
                            live.push((ptr, bytes, value));
                        }
                        Err(MallocError::OutOfMemory(_)) => runtime.synchronize_stream(stream).unwrap(),
                        Err(error) => panic!("{vendor:?}: {error:?}"),
                    }
                    if live.len() > 3 || round % 3 == 0 || round + 1 == ROUNDS {
                        let keep = if round + 1 == ROUNDS { 0 } else { 2 };
                        while live.len() > keep {
                            let (ptr, bytes, value) = live.remove(0);
                            standin.kernel(native, ptr, bytes, Some(value), None);
                            runtime.free_async(ptr, stream).unwrap();
                        }
                    }
                    if round % 64 == 63 {
                        runtime.synchronize_device(DeviceId(device)).unwrap();
                    }
                }
            });
        }
    });
    let mut taken = 0;
    for (pool, device) in pools.into_iter().zip([DeviceId(0), DeviceId(1)]) {
        runtime.synchronize_device(device).unwrap();
        let stats = runtime.stats(pool).unwrap();
        assert_eq!((stats.used, stats.reserved, stats.mallocs), (Bytes(0), Bytes(0), stats.frees), "{stats:?}");
        taken += [Source::Internal, Source::Opportunistic]
            .map(|source| stats.by_source[source as usize])
            .iter()
            .sum::<u64>();
        runtime.destroy_pool(pool, Destroy::IfEmpty).unwrap();
    }
    runtime.verify().unwrap();
    drop(runtime);
    assert_eq!((standin.violation(), standin.left()), (String::new(), Left::default()), "{vendor:?}");
    taken
}

#[test]
fn four_threads_share_two_devices() {
    // Not on every device: now and then its threads run one after the other.
    let taken: u64 = Vendor::ALL.into_iter().map(storm).sum();
    assert!(taken > 0);
}
