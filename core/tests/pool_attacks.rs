//! Faults that were found by attacking the pool, each by its smallest program.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, DEVICE, MIB};
use weir::driver::{Capabilities, Completion, Driver, DriverCall, DriverError, DriverErrorKind, MarkerSlot};
use weir::error::{BadPointer, FreeError, MallocError, OrderError, PoolError};
use weir::id::DeviceId;
use weir::policy::{Attribute, Destroy, PoolConfig, Reuse, StreamKind, Tuning, UseUntil};
use weir::sim::{Access, DeviceConfig};
use weir::trace::Source;
use weir::units::{Bytes, DevicePtr};
use weir::{Capture, StreamConfig};

const NO_SWITCH: Reuse = Reuse::empty();

/// A use until the free covers what was queued after the user stream's last call, however complete that call is.
#[test]
fn a_use_until_the_free_covers_work_that_no_call_followed() {
    for users in [1, 4] {
        let b = Bench::new(1);
        let (s, e, pool) = (b.stream(), b.event(), b.pool(64 * MIB, Reuse::EVENT));
        let block = b.malloc(pool, 2 * MIB, s);
        b.rt.record(e, s).unwrap();
        let users: Vec<_> = (0..users).map(|_| b.stream()).collect();
        for &user in &users {
            b.rt.wait(user, e).unwrap();
            b.rt.record_use(block, user, UseUntil::Free).unwrap();
            b.rt.synchronize_stream(user).unwrap();
            b.sim().access(b.native(user), block, Bytes::mib(2), Access::Read).unwrap();
        }
        b.free(block, s);
        assert_ne!(b.malloc(pool, 2 * MIB, s), block);
    }
}

#[test]
fn a_pool_destroyed_with_live_blocks_waits_for_work_that_no_call_followed() {
    let b = Bench::new(2);
    let (s, pool) = (b.stream(), b.pool(64 * MIB, NO_SWITCH));
    let block = b.malloc(pool, 2 * MIB, s);
    b.rt.synchronize_device(DEVICE).unwrap();
    b.pause(s);
    b.write(block, s);
    b.rt.destroy_pool(pool, Destroy::WithLiveBlocks).unwrap();
    b.check();
    assert_eq!(b.sim().created(DEVICE), Bytes::mib(2));
    b.resume(s);
    b.rt.synchronize_device(DEVICE).unwrap();
    assert_eq!(b.sim().created(DEVICE), Bytes::ZERO);
}

#[test]
fn a_pool_destroyed_with_live_blocks_waits_for_its_own_device_only() {
    let b = Bench::new(3);
    let (s, pool, e) = (b.stream(), b.pool(64 * MIB, NO_SWITCH), b.event());
    let other = DeviceId(1);
    let native = b.sim().create_stream(other).unwrap();
    let elsewhere = b.rt.create_stream(StreamConfig::new(other, native)).unwrap();
    b.sim().pause(native).unwrap();
    b.rt.record(e, elsewhere).unwrap();
    b.malloc(pool, 2 * MIB, s);
    b.rt.destroy_pool(pool, Destroy::WithLiveBlocks).unwrap();
    b.rt.synchronize_device(DEVICE).unwrap();
    assert_eq!(b.sim().created(DEVICE), Bytes::ZERO);
}

/// A blocking stream that queues nothing is complete at once, whatever the legacy stream still does: a free on it comes
/// after the legacy stream's work all the same.
#[test]
fn a_free_on_a_stream_without_work_comes_after_the_legacy_stream() {
    let b = Bench::new(4);
    let legacy = b.stream_of(StreamKind::Legacy);
    let (blocking, other) = (b.stream_of(StreamKind::Blocking), b.stream());
    // Without markers, which are work.
    let pool = b.pool(64 * MIB, Reuse::EVENT);
    b.pause(legacy);
    let block = b.malloc(pool, 2 * MIB, legacy);
    b.free(block, legacy);
    let again = b.rt.malloc_async(pool, Bytes::mib(2), blocking).unwrap();
    assert_eq!(again, block);
    b.free(block, blocking);
    b.rt.synchronize_stream(blocking).unwrap();
    b.check();
    assert_ne!(b.malloc(pool, 2 * MIB, other), block);
    assert_eq!(b.rt.malloc_async(pool, Bytes::mib(2), blocking), Ok(block), "its own it is");
    b.resume(legacy);
}

#[test]
fn the_legacy_streams_memory_is_not_released_under_it() {
    let b = Bench::new(5);
    let (legacy, blocking) = (b.stream_of(StreamKind::Legacy), b.stream_of(StreamKind::Blocking));
    let pool = b.pool(64 * MIB, NO_SWITCH);
    b.pause(legacy);
    let block = b.malloc(pool, 2 * MIB, legacy);
    b.free(block, blocking);
    b.rt.synchronize_stream(blocking).unwrap();
    b.check();
    assert_eq!(b.reserved(pool), 2 * MIB);
    assert_eq!(b.malloc(pool, 2 * MIB, blocking), block, "same-stream reuse needs no switch");
    b.resume(legacy);
}

/// Two recordings at once leave it unknown which came last: the event teaches nothing, but the program's own waits and
/// queries are made.
#[test]
fn an_event_that_is_recorded_twice_at_once_still_orders_the_program() {
    let b = Bench::new(6);
    let (a, s, c, e) = (b.stream(), b.stream(), b.stream(), b.event());
    let lay = |stream| b.sim().lay(MarkerSlot(0), b.native(stream)).map_err(OrderError::from);
    b.pause(s);
    b.work(s);
    let nested = b.rt.record_with(e, a, || {
        lay(a)?;
        b.rt.record(e, s)
    });
    nested.unwrap();
    assert_eq!(b.rt.query(e), Ok(Completion::Pending));
    let before = b.sim().calls(DriverCall::Wait);
    b.rt.wait(c, e).unwrap();
    assert_eq!(b.sim().calls(DriverCall::Wait), before + 1, "the driver decides what the wait is for");
    b.resume(s);
}

#[test]
fn a_capturing_stream_is_not_queried() {
    let b = Bench::new(7);
    let (t, s, pool) = (b.stream(), b.stream(), b.pool(64 * MIB, Reuse::all()));
    let block = b.malloc(pool, 2 * MIB, t);
    b.free(block, t);
    b.rt.set_capture(t, Capture::Active).unwrap();
    assert_ne!(b.malloc(pool, 2 * MIB, s), block);
    assert_eq!(b.sim().calls(DriverCall::Query), 0);
    assert_eq!(b.rt.malloc_async(pool, Bytes(1), t), Err(MallocError::Capturing(t)));
    assert_eq!(b.rt.free_async(block, t), Err(FreeError::Capturing(t)));
}

#[test]
fn what_could_not_be_undone_is_tried_again() {
    for call in [DriverCall::Unmap, DriverCall::Destroy] {
        let b = Bench::new(8);
        let (s, pool) = (b.stream(), b.pool(4 * MIB, NO_SWITCH));
        b.rt.set_attribute(pool, Attribute::ReleaseThreshold, u64::MAX).unwrap();
        b.sim().fail_nth(Some(DriverCall::Map), 2, DriverErrorKind::Failed).unwrap();
        b.sim().fail_nth(Some(call), 1, DriverErrorKind::Failed).unwrap();
        assert!(matches!(b.try_malloc(pool, 4 * MIB, s), Err(MallocError::Driver(_))));
        assert_eq!((b.used(pool), b.reserved(pool)), (0, 2 * MIB), "set aside");
        b.malloc(pool, 4 * MIB, s);
    }
}

/// What could not be undone holds the only addresses, until the call that lacks them has it undone: then it is memory
/// that is lacking.
#[test]
fn a_refusal_names_what_was_lacking_last() {
    let b = Bench::on(18, &[DeviceConfig::new(Bytes::mib(6))]);
    let (s, other) = (b.stream(), b.pool(2 * MIB, NO_SWITCH));
    let tuning = Tuning { addresses: Some(1), ..Tuning::DEFAULT };
    let pool = b.rt.create_pool(PoolConfig { tuning, ..PoolConfig::new(DEVICE) }).unwrap();
    b.malloc(other, 2 * MIB, s);
    // The device has two granules for three: those are to go again, which fails once and once more.
    b.sim().fail_nth(Some(DriverCall::Unmap), 1, DriverErrorKind::Failed).unwrap();
    b.sim().fail_nth(Some(DriverCall::Unmap), 2, DriverErrorKind::Failed).unwrap();
    for reserved in [4 * MIB, 0] {
        let Err(MallocError::OutOfMemory(oom)) = b.try_malloc(pool, 6 * MIB, s) else { panic!("the device is full") };
        assert_eq!((oom.device_full.is_some(), b.reserved(pool)), (true, reserved));
    }
}

#[test]
fn a_failed_growth_in_stream_order_is_undone_when_the_stream_has_mapped_it() {
    let mut device = DeviceConfig::new(Bytes::mib(64));
    device.properties.capabilities |= Capabilities::MAP_IN_STREAM_ORDER;
    let b = Bench::on(9, &[device]);
    let (s, pool) = (b.stream(), b.pool(8 * MIB, NO_SWITCH));
    let blocks = [2, 2, 4].map(|size| b.malloc(pool, size * MIB, s));
    b.pause(s);
    b.free(blocks[0], s);
    b.free(blocks[2], s);
    // A granule was unmapped in the stream's order, and is nowhere yet.
    b.sim().fail_nth(Some(DriverCall::Map), 1, DriverErrorKind::Failed).unwrap();
    let refused = b.try_malloc(pool, 6 * MIB, s);
    assert!(matches!(refused, Err(MallocError::Driver(_))), "{refused:?}");
    assert_eq!((b.used(pool), b.reserved(pool)), (2 * MIB, 8 * MIB));
    b.resume(s);
    b.rt.synchronize_stream(s).unwrap();
    b.check();
    assert_eq!(b.reserved(pool), 2 * MIB);
    b.malloc(pool, 6 * MIB, s);
}

#[test]
fn the_devices_other_pools_give_back_what_is_complete() {
    let b = Bench::on(10, &[DeviceConfig::new(Bytes::mib(16))]);
    let (s, a, c) = (b.stream(), b.pool(16 * MIB, Reuse::all()), b.pool(16 * MIB, NO_SWITCH));
    let t = b.stream();
    let block = b.malloc(a, 16 * MIB, s);
    b.free(block, s);
    b.rt.record(b.event(), s).unwrap();
    b.pause(s);
    b.work(s);
    let Err(MallocError::OutOfMemory(oom)) = b.try_malloc(c, 2 * MIB, t) else {
        panic!("nothing is known to be complete")
    };
    assert_eq!(oom.device_full.map(|error| error.call), Some(DriverCall::Create));
    b.resume(s);
    b.sim().run_all();
    b.malloc(c, 2 * MIB, t);
    assert_eq!(b.reserved(a), 14 * MIB);
}

/// A question about another pool's memory may tell that work on the own pool's is complete, which nobody could be asked
/// about: its marker made room for a later one. A small request may then have a part of a large block, and where a wait
/// would do there is nothing left to wait for.
#[test]
fn what_is_learnt_about_other_pools_is_of_use_before_a_refusal() {
    for (reuse, bytes) in [(Reuse::OPPORTUNISTIC, 512), (Reuse::INTERNAL, MIB)] {
        let sim: &'static mut weir::sim::SimStorage<1, 2, 8, 8, 8, 64, 256> = Box::leak(Box::default());
        let sim = weir::sim::Sim::new(sim.arenas(), &[DeviceConfig::new(Bytes::mib(4))], 17).unwrap();
        let space: &'static mut weir::Storage<4, 1, 2, 2, 32, 4, 0, 0> = Box::leak(Box::default());
        let b = Bench { rt: weir::Local::new(space.arenas(), sim, weir::trace::NullSink) };
        let (s, d, t, u, e) = (b.stream(), b.stream(), b.stream(), b.stream(), b.event());
        let (own, other) = (b.pool(4 * MIB, reuse), b.pool(4 * MIB, reuse));
        let (x, y) = (b.malloc(own, 3 * MIB / 2, d), b.malloc(other, 2 * MIB, t));
        b.malloc(own, MIB / 2, s);
        // The other pool's memory cannot go: u is not complete.
        b.pause(u);
        b.work(u);
        b.rt.record_use(y, u, UseUntil::Now).unwrap();
        b.rt.wait(u, e).unwrap();
        b.free(x, d);
        b.rt.record(e, d).unwrap();
        b.rt.wait(t, e).unwrap();
        b.free(y, t);
        // There are two markers. One stays with u, the other moves from d to t.
        b.rt.wait(t, e).unwrap();
        b.sim().run_all();
        b.pause(d);
        b.work(d);
        assert_eq!(b.try_malloc(own, bytes, s), Ok(x));
        b.resume(u);
        b.resume(d);
    }
}

#[test]
fn a_stream_at_its_limit_learns_that_it_is_idle() {
    let b = Bench::new(11);
    let (s, pool) = (b.stream(), b.pool(8 * MIB, NO_SWITCH));
    let blocks: Vec<_> = (0..4).map(|_| b.malloc(pool, 2 * MIB, s)).collect();
    b.free(blocks[0], s);
    b.free(blocks[2], s);
    b.pause(s);
    b.work(s);
    let Err(MallocError::OutOfMemory(oom)) = b.try_malloc(pool, 4 * MIB, s) else {
        panic!("in pieces, and not settled")
    };
    assert_eq!((oom.pending, oom.unsettled), (Bytes::ZERO, Bytes::mib(4)));
    b.resume(s);
    b.sim().run_all();
    b.malloc(pool, 4 * MIB, s);
}

#[test]
fn a_new_streams_slot_does_not_tell_the_program_what_only_weir_knew() {
    let b = Bench::new(12);
    let (s, pool, helper) = (b.stream(), b.pool(64 * MIB, NO_SWITCH), b.pool(64 * MIB, Reuse::all()));
    let mut streams: Vec<_> = (0..11).map(|_| b.stream()).collect();
    let u = streams.pop().unwrap();
    let block = b.malloc(pool, 2 * MIB, u);
    b.free(block, u);
    b.sim().run_all();
    let _ = helper;
    let native = b.native(u);
    b.rt.destroy_stream(u).unwrap();
    b.sim().destroy_stream(native).unwrap();
    b.sim().run_all();
    // The only slot left is u's: it is given away once weir has asked.
    let again = b.stream();
    assert_eq!(again.raw() as u32, u.raw() as u32);
    // The program saw nothing, and it is not the new stream's own: its granule may be moved, no more.
    b.malloc(pool, 2 * MIB, s);
    b.malloc(pool, 2 * MIB, again);
    assert_eq!((b.sources(pool, Source::Settled), b.sources(pool, Source::SameStream)), (0, 0));
}

#[test]
fn a_destroyed_streams_memory_goes_back_without_a_device_synchronisation() {
    let b = Bench::new(13);
    let other = b.stream();
    for _ in 0..20 {
        let (s, pool) = (b.stream(), b.pool(64 * MIB, NO_SWITCH));
        let block = b.malloc(pool, 2 * MIB, s);
        b.free(block, s);
        let native = b.native(s);
        b.rt.destroy_stream(s).unwrap();
        b.sim().run_all();
        b.sim().destroy_stream(native).unwrap();
        b.rt.destroy_pool(pool, Destroy::IfEmpty).unwrap();
        b.rt.synchronize_stream(other).unwrap();
        b.check();
        assert_eq!(b.sim().created(DEVICE), Bytes::ZERO);
    }
}

#[test]
fn the_first_free_is_named_although_its_bytes_have_merged() {
    let b = Bench::new(14);
    let (s, pool) = (b.stream(), b.pool(64 * MIB, NO_SWITCH));
    let (x, y) = (b.malloc(pool, 2 * MIB, s), b.malloc(pool, 2 * MIB, s));
    let ids = [x, y].map(|ptr| b.rt.block_at(ptr).unwrap().id);
    b.free(y, s);
    b.free(x, s);
    for (ptr, id) in [x, y].into_iter().zip(ids) {
        let Err(FreeError::BadPointer(BadPointer::AlreadyFree { id: first, freed_at, .. })) = b.rt.free_async(ptr, s)
        else {
            panic!("a double free")
        };
        assert_eq!((first, freed_at.is_some()), (Some(id), true));
    }
}

#[test]
fn the_smallest_arena_serves_what_fits_into_it() {
    use weir::trace::NullSink;
    let sim: &'static mut weir::sim::SimStorage<1, 2, 8, 2, 4, 16, 64> = Box::leak(Box::default());
    let sim = weir::sim::Sim::new(sim.arenas(), &[DeviceConfig::new(Bytes::mib(8))], 1).unwrap();
    let native = sim.create_stream(DEVICE).unwrap();
    let space: &'static mut weir::Storage<1, 0, 0, 1, 4, 2, 0, 0> = Box::leak(Box::default());
    let rt = weir::Local::new(space.arenas(), sim, NullSink);
    let pool = rt.create_pool(PoolConfig::new(DEVICE)).unwrap();
    let s = rt.create_stream(StreamConfig::new(DEVICE, native)).unwrap();
    let blocks = [(); 2].map(|()| rt.malloc_async(pool, Bytes::mib(2), s).unwrap());
    rt.verify().unwrap();
    assert!(matches!(rt.malloc_async(pool, Bytes::mib(2), s), Err(MallocError::ArenaFull(_))), "two granules");
    for block in blocks {
        rt.free_async(block, s).unwrap();
        rt.verify().unwrap();
    }
}

#[test]
fn a_limit_of_a_device_that_is_no_whole_number_of_granules() {
    let b = Bench::on(15, &[DeviceConfig::new(Bytes::mib(5))]);
    let pool = b.pool(5 * MIB, NO_SWITCH);
    let s = b.stream();
    b.malloc(pool, 4 * MIB, s);
    let refused = b.rt.create_pool(PoolConfig { limit: Bytes::mib(6), ..PoolConfig::new(DEVICE) });
    assert!(matches!(refused, Err(PoolError::LimitAboveDevice { .. })));
}

#[test]
fn granules_go_while_more_is_reserved_than_the_threshold() {
    let b = Bench::new(16);
    let (s, pool) = (b.stream(), b.pool(64 * MIB, NO_SWITCH));
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, 3 * MIB).unwrap();
    let block = b.malloc(pool, 6 * MIB, s);
    b.free(block, s);
    b.rt.synchronize_stream(s).unwrap();
    assert_eq!(b.reserved(pool), 2 * MIB);
    assert_eq!(b.sources(pool, Source::Grow), 1);
}

/// A driver that gives every pool the range that it was told to give.
struct Stuck<'a> {
    sim: &'a weir::sim::Sim<'static>,
    base: std::cell::Cell<u64>,
}

impl Driver for Stuck<'_> {
    weir::hand_on! { self => self.sim; properties create destroy map unmap lay query wait synchronise now }
    fn reserve(&self, _: DeviceId, _: Bytes) -> Result<DevicePtr, DriverError> {
        Ok(DevicePtr(self.base.get()))
    }
    fn release(&self, _: DeviceId, _: DevicePtr, _: Bytes) -> Result<(), DriverError> {
        panic!("what is no range of its own is not given back")
    }
}

#[test]
fn a_drivers_bad_range_is_refused() {
    let sim: &'static mut weir::sim::SimStorage<1, 2, 8, 2, 4, 16, 64> = Box::leak(Box::default());
    let sim = weir::sim::Sim::new(sim.arenas(), &[DeviceConfig::new(Bytes::mib(8))], 1).unwrap();
    let space: &'static mut weir::Storage<1, 0, 0, 4, 16, 2, 0, 0> = Box::leak(Box::default());
    let driver = Stuck { sim: &sim, base: std::cell::Cell::new(1 << 40) };
    let rt = weir::Local::new(space.arenas(), &driver, weir::trace::NullSink);
    let config = PoolConfig { limit: Bytes::mib(4), ..PoolConfig::new(DEVICE) };
    rt.create_pool(config).unwrap();
    for base in [1 << 40, (1 << 40) + (2 << 20), 12345, 0, u64::MAX - (2 << 20) + 1] {
        driver.base.set(base);
        assert!(matches!(rt.create_pool(config), Err(PoolError::BadRange { .. })), "{base:#x}");
        rt.verify().unwrap();
    }
}
