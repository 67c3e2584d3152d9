//! T: giving memory back, when asked and at synchronisations.

use crate::Verdict::{AtAclrt, Differs, Same};
use crate::pool_support::{Bench, DEVICE, MIB};
use crate::{Row, device, gib_device};
use weir::Trimmed;
use weir::error::{BadId, MallocError, PoolError};
use weir::id::{PoolId, StreamId};
use weir::policy::{Attribute, Destroy, PoolConfig, Reuse};
use weir::units::{Bytes, DevicePtr, GIB, KIB};

const CLAMPED: &str = "what can go goes, and the answer says what is live: memory in use is no reason to keep the rest";
const NO_OP: &str =
    "nothing to do, so success, as CUDA does; the aclrt layer refuses more than the pool's size, as CANN does";

pub(crate) const ROWS: &[Row] = &[
    Row { id: "T1", says: "500 live, trim to 400: refused", verdict: Differs(below_what_is_live, CLAMPED) },
    Row { id: "T2", says: "300 of them freed, trim to 400: exactly 400", verdict: Same(exactly) },
    Row { id: "T3", says: "2 MB live, 3 MB freed: 2 used, 5 reserved", verdict: Same(two_and_three) },
    Row { id: "T4", says: "T3, trim to 6 MB: 5 stay", verdict: Same(above_what_is_reserved) },
    Row { id: "T5", says: "T3, trim to the pool's 10 MB: 5 stay", verdict: Same(to_the_pools_size) },
    Row { id: "T6", says: "T3, trim to 12 MB: refused, 5 stay", verdict: Differs(above_the_pools_size, NO_OP) },
    Row { id: "T7", says: "20 KB live, 30 KB freed, trim to 0: refused", verdict: Differs(to_nothing, CLAMPED) },
    Row { id: "T8", says: "T7, trim to 20 KB: exactly 20", verdict: Same(to_what_is_live) },
    Row { id: "T9", says: "a pool that is wholly live, trim: refused", verdict: Differs(wholly_live, CLAMPED) },
    Row { id: "T10", says: "a second pool is trimmed to 0 by itself", verdict: Same(a_second_pool) },
    Row { id: "T11", says: "after all trims: the live block is freed, the pool ends", verdict: Same(freed_afterwards) },
    Row { id: "T12", says: "an empty 10 GB pool, trim to 5 and to 1 GB: nothing to do", verdict: Same(an_empty_pool) },
    Row { id: "T13", says: "trim of no pool: refused", verdict: Same(of_no_pool) },
    Row { id: "T14", says: "5 GB pool, trim to 10 GB: refused", verdict: Differs(five_to_ten, NO_OP) },
    Row {
        id: "T15",
        says: "the public call trims, and passes errors on",
        verdict: AtAclrt("about the call in C; the core's own are rows T7 and T13"),
    },
    Row { id: "T16", says: "threshold 0, 2 GB live, 3 freed, stream synchronised: 2", verdict: Same(at_a_stream_sync) },
    Row { id: "T17", says: "threshold 1, 2 GB live, 3 freed, event synchronised: 2", verdict: Same(at_an_event_sync) },
    Row { id: "T18", says: "threshold 3, 2 GB live, 3 freed, device synchronised: 3", verdict: Same(at_a_device_sync) },
    Row {
        id: "T19",
        says: "2 GB live, 3 freed, the device is full: pools are trimmed to 2",
        verdict: Differs(
            for_another_pools_need,
            "by another pool's malloc, since there is no synchronous one, and by no more than it asks for",
        ),
    },
    Row { id: "T20", says: "the stream ends, then the pool with live blocks", verdict: Same(the_stream_ends_first) },
];

/// A pool with a live and a freed block, the free being complete and nothing released.
struct Half {
    b: Bench,
    s: StreamId,
    pool: PoolId,
    live: DevicePtr,
    freed: DevicePtr,
}

impl Half {
    fn new(b: Bench, limit: u64, live: u64, freed: u64) -> Self {
        let (s, pool) = (b.stream(), b.pool(limit, Reuse::empty()));
        b.rt.set_attribute(pool, Attribute::ReleaseThreshold, u64::MAX).unwrap();
        let [live, freed] = [live, freed].map(|size| b.malloc(pool, size, s));
        Self { b, s, pool, live, freed }
    }

    fn freed(self) -> Self {
        self.b.free(self.freed, self.s);
        self.b.rt.synchronize_stream(self.s).unwrap();
        self
    }

    fn trim(&self, keep: u64) -> Trimmed {
        let trimmed = self.b.rt.trim_to(self.pool, Bytes(keep)).unwrap();
        self.b.check();
        assert_eq!(trimmed.reserved.get(), self.b.reserved(self.pool));
        trimmed
    }

    /// The live block is still whole, and all of it can go.
    fn end(self) {
        self.b.write(self.live, self.s);
        self.b.free(self.live, self.s);
        self.b.rt.destroy_pool(self.pool, Destroy::IfEmpty).unwrap();
        self.b.rt.synchronize_device(DEVICE).unwrap();
        self.b.check();
        assert_eq!(self.b.sim().created(DEVICE), Bytes::ZERO);
    }
}

/// 200 and 300 of a pool of 1000.
fn thousand() -> Half {
    Half::new(device(Bytes::mib(1000), Bytes::mib(2)), 1000 * MIB, 200 * MIB, 300 * MIB)
}

fn below_what_is_live() {
    let half = thousand();
    let trimmed = half.trim(400 * MIB);
    assert_eq!((trimmed.reserved, trimmed.live), (Bytes::mib(500), Bytes::mib(500)));
    half.b.write(half.freed, half.s);
}

fn exactly() {
    let half = thousand().freed();
    assert_eq!(half.trim(400 * MIB).reserved, Bytes::mib(400));
    half.end();
}

/// 2 MB live and 3 MB freed of a pool of 10 MB.
fn ten() -> Half {
    Half::new(device(Bytes::mib(64), Bytes::mib(1)), 10 * MIB, 2 * MIB, 3 * MIB).freed()
}

fn two_and_three() {
    let half = ten();
    assert_eq!((half.b.used(half.pool), half.b.reserved(half.pool)), (2 * MIB, 5 * MIB));
}

fn above_what_is_reserved() {
    assert_eq!(ten().trim(6 * MIB).reserved, Bytes::mib(5));
}

fn to_the_pools_size() {
    assert_eq!(ten().trim(10 * MIB).reserved, Bytes::mib(5));
}

fn above_the_pools_size() {
    for keep in [12 * MIB, u64::MAX] {
        assert_eq!(ten().trim(keep).reserved, Bytes::mib(5));
    }
}

/// 20 KB live and 30 KB freed of a pool of 100 KB.
fn hundred() -> Half {
    Half::new(device(Bytes::mib(1), Bytes::kib(2)), 100 * KIB, 20 * KIB, 30 * KIB).freed()
}

fn to_nothing() {
    let half = hundred();
    let trimmed = half.trim(0);
    assert_eq!((trimmed.reserved, trimmed.live, trimmed.pending), (Bytes::kib(20), Bytes::kib(20), Bytes::ZERO));
    half.end();
}

fn to_what_is_live() {
    assert_eq!(hundred().trim(20 * KIB).reserved, Bytes::kib(20));
}

fn wholly_live() {
    let half = Half::new(device(Bytes::mib(64), Bytes::mib(1)), 100 * MIB / 10, 4 * MIB, 6 * MIB);
    let trimmed = half.trim(MIB / 2);
    assert_eq!((trimmed.reserved, trimmed.live), (Bytes::mib(10), Bytes::mib(10)));
}

fn a_second_pool() {
    let half = ten();
    let (b, s) = (&half.b, half.s);
    let second = b.pool(10 * MIB, Reuse::empty());
    b.rt.set_attribute(second, Attribute::ReleaseThreshold, u64::MAX).unwrap();
    let block = b.malloc(second, 10 * MIB, s);
    b.free(block, s);
    b.rt.synchronize_stream(s).unwrap();
    let trimmed = b.rt.trim_to(second, Bytes::ZERO).unwrap();
    assert_eq!((trimmed.reserved, b.reserved(half.pool)), (Bytes::ZERO, 5 * MIB));
}

fn freed_afterwards() {
    let half = hundred();
    for keep in [60, 40, 20, 0] {
        half.trim(keep * KIB);
    }
    half.end();
}

fn an_empty_pool() {
    let b = gib_device(16);
    let pool = b.pool(10 * GIB, Reuse::empty());
    for keep in [5, 1] {
        assert_eq!(b.rt.trim_to(pool, Bytes::gib(keep)), Ok(Trimmed::default()));
    }
}

fn of_no_pool() {
    let b = gib_device(16);
    let none = PoolId::from_raw(0);
    assert_eq!(b.rt.trim_to(none, Bytes::gib(5)), Err(PoolError::BadId(BadId::UnknownPool(none))));
}

fn five_to_ten() {
    let b = gib_device(16);
    let pool = b.pool(5 * GIB, Reuse::empty());
    assert_eq!(b.rt.trim_to(pool, Bytes::gib(10)), Ok(Trimmed::default()));
}

/// 2 GB live and 3 GB freed of 10 GB, with this threshold, and then a synchronisation.
fn at_sync(threshold: u64, synchronise: fn(&Bench, StreamId)) -> u64 {
    let b = gib_device(16);
    let (s, pool) = (b.stream(), b.pool(10 * GIB, Reuse::empty()));
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, threshold).unwrap();
    b.malloc(pool, 2 * GIB, s);
    let freed = b.malloc(pool, 3 * GIB, s);
    b.free(freed, s);
    assert_eq!(b.reserved(pool), 5 * GIB);
    synchronise(&b, s);
    b.check();
    assert_eq!(b.used(pool), 2 * GIB);
    b.reserved(pool)
}

fn at_a_stream_sync() {
    assert_eq!(at_sync(0, |b, s| b.rt.synchronize_stream(s).unwrap()), 2 * GIB);
}

fn at_an_event_sync() {
    let synchronise = |b: &Bench, s| {
        let e = b.event();
        b.rt.record(e, s).unwrap();
        b.rt.synchronize_event(e).unwrap();
    };
    assert_eq!(at_sync(GIB, synchronise), 2 * GIB);
}

fn at_a_device_sync() {
    assert_eq!(at_sync(3 * GIB, |b, _| b.rt.synchronize_device(DEVICE).unwrap()), 3 * GIB);
}

fn for_another_pools_need() {
    let b = gib_device(6);
    let (s, pool) = (b.stream(), b.pool(0, Reuse::empty()));
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, u64::MAX).unwrap();
    b.malloc(pool, 2 * GIB, s);
    let freed = b.malloc(pool, 3 * GIB, s);
    b.free(freed, s);
    b.rt.synchronize_stream(s).unwrap();
    let other = b.rt.create_pool(PoolConfig::new(DEVICE)).unwrap();
    b.malloc(other, GIB, s);
    assert_eq!(b.reserved(pool), 5 * GIB, "1 GB was there on the device");
    b.malloc(other, GIB, s);
    assert_eq!(b.reserved(pool), 4 * GIB);
    b.malloc(other, 2 * GIB, s);
    assert_eq!((b.reserved(pool), b.used(pool)), (2 * GIB, 2 * GIB));
    assert!(matches!(b.try_malloc(other, GIB, s), Err(MallocError::OutOfMemory(_))));
}

fn the_stream_ends_first() {
    let half = ten();
    half.b.rt.destroy_stream(half.s).unwrap();
    half.b.rt.destroy_pool(half.pool, Destroy::WithLiveBlocks).unwrap();
    half.b.rt.synchronize_device(DEVICE).unwrap();
    half.b.check();
    assert_eq!(half.b.sim().created(DEVICE), Bytes::ZERO);
}
