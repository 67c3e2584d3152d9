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

/// An event may outlive its stream, whose slot may be another device's by then.
#[test]
fn a_synchronised_event_releases_on_the_device_that_it_was_recorded_on() {
    let bench = Bench::new(2);
    let streams: Vec<_> = (0..12).map(|_| bench.stream()).collect();
    let (owner, gone, done) = (streams[0], streams[11], bench.event());
    let pool = bench.releasing_pool(64 * MIB, Reuse::empty());
    let ptr = bench.malloc(pool, 2 * MIB, owner);
    bench.free(ptr, owner);
    bench.rt.record(done, owner).expect("both are live");
    bench.rt.wait(gone, done).expect("both are live");
    bench.rt.record(done, gone).expect("both are live");
    let native = bench.native(gone);
    bench.rt.destroy_stream(gone).expect("it is live");
    bench.sim().destroy_stream(native).expect("it is live");
    bench.sim().run_all();
    assert_eq!(elsewhere(&bench).raw() as u32, gone.raw() as u32, "no other slot is left");
    bench.rt.synchronize_event(done).expect("nothing is paused");
    assert_eq!(bench.reserved(pool), 0);
}

/// A device's synchronisation sees its destroyed streams' work, and what that came after, whoever has their slots by then.
#[test]
fn a_synchronised_device_tells_what_its_destroyed_streams_came_after() {
    let newcomers: [fn(&Bench) -> StreamId; 2] = [Bench::stream, elsewhere];
    for newcomer in newcomers {
        let bench = Bench::new(3);
        let streams: Vec<_> = (0..11).map(|_| bench.stream()).collect();
        let (freer, asker, freed) = (streams[0], streams[1], bench.event());
        let gone = elsewhere(&bench);
        let pool = bench.pool(64 * MIB, Reuse::empty());
        let (first, second) = (bench.malloc(pool, 2 * MIB, freer), bench.malloc(pool, 4 * MIB, freer));
        bench.free(first, freer);
        bench.rt.record(freed, freer).expect("both are live");
        bench.rt.wait(gone, freed).expect("both are live");
        bench.free(second, gone);
        let native = bench.native(gone);
        bench.rt.destroy_stream(gone).expect("it is live");
        bench.sim().destroy_stream(native).expect("it is live");
        bench.sim().run_all();
        assert_eq!(newcomer(&bench).raw() as u32, gone.raw() as u32, "no other slot is left");
        bench.rt.synchronize_device(OTHER).expect("nothing is paused");
        assert_eq!(bench.malloc(pool, 2 * MIB, asker), first);
        assert_eq!(bench.malloc(pool, 4 * MIB, asker), second);
    }
}
