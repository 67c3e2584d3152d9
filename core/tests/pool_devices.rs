//! Several devices in one runtime.

mod pool_support;

use pool_support::{Bench, MIB};
use weir::StreamConfig;
use weir::id::{DeviceId, StreamId};
use weir::policy::{Destroy, Reuse, UseUntil};
use weir::sim::Access;
use weir::units::Bytes;

const OTHER: DeviceId = DeviceId(1);

/// A stream of the second device.
fn elsewhere(bench: &Bench) -> StreamId {
    let native = bench.sim().create_stream(OTHER).expect("a stream is left");
    bench.rt.create_stream(StreamConfig::new(OTHER, native)).expect("a slot is left")
}

#[test]
fn a_destroyed_pool_waits_for_recorded_uses_on_other_devices() {
    let bench = Bench::new(1);
    let (owner, user, done) = (bench.stream(), elsewhere(&bench), bench.event());
    let pool = bench.pool(64 * MIB, Reuse::all());
    let ptr = bench.malloc(pool, 2 * MIB, owner);
    bench.rt.record(done, owner).expect("both are live");
    bench.rt.wait(user, done).expect("both are live");
    bench.sim().access(bench.native(user), ptr, Bytes::mib(2), Access::Read).expect("it is ordered");
    bench.rt.record_use(ptr, user, UseUntil::Now).expect("the block is live");
    bench.rt.destroy_pool(pool, Destroy::WithLiveBlocks).expect("it may");
    bench.rt.synchronize_device(DeviceId(0)).expect("nothing is paused");
    // The other device's read may be under way: nothing may be unmapped under it.
    bench.check();
    assert_eq!(bench.sim().created(DeviceId(0)), Bytes::mib(2));
    bench.rt.synchronize_device(OTHER).expect("nothing is paused");
    bench.rt.synchronize_device(DeviceId(0)).expect("nothing is paused");
    assert_eq!(bench.sim().created(DeviceId(0)), Bytes::ZERO);
}
