//! C: making pools and ending them.

use crate::Verdict::{AtAclrt, Differs, Nothing, Same};
use crate::pool_support::{Bench, DEVICE, MIB};
use crate::{Row, device, gib_device, limit};
use weir::driver::{DriverCall, DriverErrorKind};
use weir::error::{BadId, PoolError};
use weir::id::PoolId;
use weir::policy::{Destroy, PoolConfig, Reuse};
use weir::sim::DeviceConfig;
use weir::units::{Bytes, GIB};

pub(crate) const ROWS: &[Row] = &[
    Row { id: "C1", says: "16 GB device: a pool of 10 GB is made", verdict: Same(a_pool_is_made) },
    Row { id: "C2", says: "and one of 5 GB beside it; they end in any order", verdict: Same(two_end_in_any_order) },
    Row { id: "C3", says: "size 0 on 16 GB: the whole device", verdict: Same(zero_is_the_whole_device) },
    Row { id: "C4", says: "size 0 on four granules: 8 MB", verdict: Same(zero_is_four_granules) },
    Row { id: "C5", says: "size 0 on two granules: made, looked at, ended", verdict: Same(zero_is_two_granules) },
    Row { id: "C6", says: "6 MB on 4 MB: refused", verdict: Same(more_than_the_device) },
    Row { id: "C7", says: "2 MB less a byte on 2 TB: rounded up to 2 MB", verdict: Same(rounded_up) },
    Row { id: "C8", says: "20 GB on 16 GB: refused, no handle", verdict: Same(refused_leaves_nothing) },
    Row { id: "C9", says: "30 GB on 20 GB: refused, above 32 bits too", verdict: Same(beyond_32_bits) },
    Row { id: "C10", says: "the driver is out of memory: that error", verdict: Same(driver_out_of_memory) },
    Row { id: "C11", says: "the driver fails otherwise: that failure is passed on", verdict: Same(driver_fails) },
    Row { id: "C12", says: "1.5 of 2 TB alive, the driver refuses 1 TB, then not", verdict: Same(refused_then_made) },
    Row { id: "C13", says: "a pool ends", verdict: Same(a_pool_ends) },
    Row { id: "C14", says: "the end of no pool: refused", verdict: Same(the_end_of_no_pool) },
    Row { id: "C15", says: "made again with the same settings", verdict: Same(made_again) },
    Row { id: "C16", says: "2 MB and 4 MB side by side: looked at, ended", verdict: Same(side_by_side) },
    Row {
        id: "C17",
        says: "a manager without a segment is made and dropped",
        verdict: Nothing("an object inside CANN's runtime: a pool of weir's has its range from the start"),
    },
    Row {
        id: "C18",
        says: "properties: pinned, on a device, size 10, zeroes: made",
        verdict: AtAclrt("the fields are the aclrt layer's; the core's `PoolConfig` has no bad value of theirs"),
    },
    Row {
        id: "C19",
        says: "properties: a reserved byte that is not 0: refused",
        verdict: AtAclrt("the fields are the aclrt layer's; the core's `PoolConfig` has none that is reserved"),
    },
    Row {
        id: "C20",
        says: "properties: the location is the host: refused",
        verdict: AtAclrt("the fields are the aclrt layer's; the core's `PoolConfig` names a device by its type"),
    },
    Row {
        id: "C21",
        says: "the public call reaches the pool: it ends",
        verdict: AtAclrt("about the call in C; the core's own is row C13"),
    },
    Row {
        id: "C22",
        says: "a pool ends with a live block in it",
        verdict: Differs(
            the_end_with_live_blocks,
            "refused unless asked for (`Destroy::WithLiveBlocks`, which the aclrt layer asks for); then the memory stays \
             until what is queued is done, where CANN takes it away under running work",
        ),
    },
];

fn config(limit: Bytes) -> PoolConfig {
    PoolConfig { limit, ..PoolConfig::new(DEVICE) }
}

/// One device with granules of 2 MiB.
fn small(total: Bytes) -> Bench {
    Bench::on(1, &[DeviceConfig::new(total)])
}

fn end(b: &Bench, pool: PoolId) {
    b.rt.destroy_pool(pool, Destroy::IfEmpty).unwrap();
    b.check();
    assert!(b.rt.stats(pool).is_err());
}

fn a_pool_is_made() {
    let b = gib_device(16);
    let pool = b.pool(10 * GIB, Reuse::empty());
    assert_ne!(pool.raw(), 0);
    assert_eq!((limit(&b, pool), b.reserved(pool)), (Bytes::gib(10), 0));
}

fn two_end_in_any_order() {
    for first in [0, 1] {
        let b = gib_device(16);
        let pools = [10, 5].map(|gib| b.pool(gib * GIB, Reuse::empty()));
        end(&b, pools[first]);
        assert_eq!(b.reserved(pools[1 - first]), 0, "the other is there");
        end(&b, pools[1 - first]);
    }
}

fn zero_is_the_whole_device() {
    let b = gib_device(16);
    assert_eq!(limit(&b, b.pool(0, Reuse::empty())), Bytes::gib(16));
}

fn zero_is_four_granules() {
    let b = small(Bytes::mib(8));
    let (s, pool) = (b.stream(), b.pool(0, Reuse::empty()));
    assert_eq!(limit(&b, pool), Bytes::mib(8));
    b.malloc(pool, 8 * MIB, s);
}

fn zero_is_two_granules() {
    let b = small(Bytes::mib(4));
    let pool = b.pool(0, Reuse::empty());
    assert_eq!(limit(&b, pool), Bytes::mib(4));
    end(&b, pool);
}

fn more_than_the_device() {
    let b = small(Bytes::mib(4));
    let refused = PoolError::LimitAboveDevice { limit: Bytes::mib(6), total: Bytes::mib(4) };
    assert_eq!(b.rt.create_pool(config(Bytes::mib(6))), Err(refused));
    b.check();
}

fn rounded_up() {
    let b = small(Bytes::gib(2048));
    assert_eq!(limit(&b, b.pool(2 * MIB - 1, Reuse::empty())), Bytes::mib(2));
}

fn refused_leaves_nothing() {
    let b = gib_device(16);
    let refused = PoolError::LimitAboveDevice { limit: Bytes::gib(20), total: Bytes::gib(16) };
    assert_eq!(b.rt.create_pool(config(Bytes::gib(20))), Err(refused));
    assert_eq!(b.sim().calls(DriverCall::Reserve), 0);
    // Every slot is still there.
    for _ in 0..6 {
        b.pool(GIB, Reuse::empty());
    }
}

fn beyond_32_bits() {
    let b = gib_device(20);
    let refused = PoolError::LimitAboveDevice { limit: Bytes::gib(30), total: Bytes::gib(20) };
    assert_eq!(b.rt.create_pool(config(Bytes::gib(30))), Err(refused));
    assert_eq!(limit(&b, b.pool(5 * GIB, Reuse::empty())), Bytes::gib(5));
}

/// The driver fails the next reservation so; the same call succeeds afterwards.
fn reservation_fails(kind: DriverErrorKind) {
    let b = gib_device(16);
    b.sim().fail_nth(Some(DriverCall::Reserve), 1, kind).unwrap();
    let Err(PoolError::Driver(error)) = b.rt.create_pool(config(Bytes::gib(10))) else { panic!("it fails once") };
    assert_eq!((error.call, error.kind), (DriverCall::Reserve, kind));
    b.check();
    end(&b, b.pool(10 * GIB, Reuse::empty()));
}

fn driver_out_of_memory() {
    reservation_fails(DriverErrorKind::Exhausted);
}

fn driver_fails() {
    reservation_fails(DriverErrorKind::Failed);
    reservation_fails(DriverErrorKind::Unsupported);
}

fn refused_then_made() {
    let b = small(Bytes::gib(2048));
    let first = b.pool(1536 * GIB, Reuse::empty());
    b.sim().fail_nth(Some(DriverCall::Reserve), 1, DriverErrorKind::Exhausted).unwrap();
    assert!(matches!(b.rt.create_pool(config(Bytes::gib(1024))), Err(PoolError::Driver(_))));
    end(&b, first);
    end(&b, b.pool(1024 * GIB, Reuse::empty()));
}

fn a_pool_ends() {
    let b = gib_device(16);
    let pool = b.pool(10 * GIB, Reuse::empty());
    end(&b, pool);
    assert_eq!(b.rt.destroy_pool(pool, Destroy::IfEmpty), Err(PoolError::BadId(BadId::StalePool(pool))));
}

fn the_end_of_no_pool() {
    let b = gib_device(16);
    for raw in [0, 0xdead_beef] {
        let none = PoolId::from_raw(raw);
        assert!(matches!(b.rt.destroy_pool(none, Destroy::WithLiveBlocks), Err(PoolError::BadId(_))), "{raw:#x}");
    }
}

fn made_again() {
    let b = gib_device(16);
    let first = b.pool(10 * GIB, Reuse::empty());
    end(&b, first);
    let second = b.pool(10 * GIB, Reuse::empty());
    assert_ne!(first, second, "an id never names a successor");
    assert!(b.rt.stats(first).is_err());
}

fn side_by_side() {
    let b = small(Bytes::mib(16));
    let pools = [2, 4].map(|mib| b.pool(mib * MIB, Reuse::empty()));
    assert_eq!(pools.map(|pool| limit(&b, pool)), [Bytes::mib(2), Bytes::mib(4)]);
    pools.into_iter().for_each(|pool| end(&b, pool));
}

fn the_end_with_live_blocks() {
    let b = device(Bytes::mib(64), Bytes::mib(2));
    let (s, pool) = (b.stream(), b.pool(0, Reuse::empty()));
    b.pause(s);
    let block = b.malloc(pool, 2 * MIB, s);
    let refused = PoolError::LiveBlocks { count: 1, bytes: Bytes::mib(2) };
    assert_eq!(b.rt.destroy_pool(pool, Destroy::IfEmpty), Err(refused));
    b.write(block, s);
    b.rt.destroy_pool(pool, Destroy::WithLiveBlocks).unwrap();
    b.check();
    assert_eq!(b.sim().created(DEVICE), Bytes::mib(2), "the write has not run");
    b.resume(s);
    b.rt.synchronize_device(DEVICE).unwrap();
    b.check();
    assert_eq!(b.sim().created(DEVICE), Bytes::ZERO);
}
