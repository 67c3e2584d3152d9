//! L: which pool an address belongs to. K: the device kernel.

use crate::Row;
use crate::Verdict::{Nothing, Same};
use crate::pool_support::{Bench, MIB};
use weir::driver::Capabilities;
use weir::error::{BadPointer, FreeError};
use weir::id::{PoolId, StreamId};
use weir::policy::Reuse;
use weir::sim::DeviceConfig;
use weir::units::{Bytes, DevicePtr};

pub(crate) const ROWS: &[Row] = &[
    Row { id: "L1", says: "a byte before the pool: not this pool", verdict: Same(before_the_pool) },
    Row { id: "L2", says: "the pool's first byte: this pool, of 2 MB", verdict: Same(at_its_beginning) },
    Row { id: "L3", says: "the pool's last byte: this pool", verdict: Same(at_its_last_byte) },
    Row { id: "L4", says: "a byte behind the pool: not this pool", verdict: Same(behind_the_pool) },
    Row { id: "L5", says: "the middle of a second pool: that pool", verdict: Same(in_the_middle_of_another) },
];

const NO_KERNEL: &str = "weir maps granules from the host: no malloc or free is work on the device";

pub(crate) const KERNEL_ROWS: &[Row] = &[
    Row { id: "K1", says: "the device kernel is sent a malloc: OK", verdict: Nothing(NO_KERNEL) },
    Row { id: "K2", says: "the device kernel is sent a free: OK", verdict: Nothing(NO_KERNEL) },
    Row { id: "K3", says: "the device kernel is sent something else: it fails", verdict: Nothing(NO_KERNEL) },
];

/// A pool of one granule whose range is no larger than that, and one block that is all of it.
struct One {
    b: Bench,
    s: StreamId,
    pool: PoolId,
    block: DevicePtr,
}

fn one() -> One {
    let mut config = DeviceConfig::new(Bytes::mib(64));
    config.properties.capabilities -= Capabilities::SPARSE_ADDRESSES;
    let b = Bench::on(1, &[config]);
    let (s, pool) = (b.stream(), b.pool(2 * MIB, Reuse::empty()));
    let block = b.malloc(pool, 2 * MIB, s);
    let stats = b.rt.stats(pool).unwrap();
    assert_eq!((stats.base, stats.range), (block, Bytes::mib(2)));
    One { b, s, pool, block }
}

/// What the look-up says of an address that is this far from the pool's beginning and cannot be freed.
fn refused(one: &One, offset: i64) -> BadPointer {
    let ptr = DevicePtr(one.block.0.wrapping_add_signed(offset));
    let Err(FreeError::BadPointer(why)) = one.b.rt.free_async(ptr, one.s) else { panic!("{ptr} is no block") };
    assert_eq!(one.b.used(one.pool), 2 * MIB, "nothing is changed");
    why
}

fn before_the_pool() {
    let one = one();
    assert_eq!(refused(&one, -1), BadPointer::Unknown(DevicePtr(one.block.0 - 1)));
}

fn at_its_beginning() {
    let one = one();
    let info = one.b.rt.block_at(one.block).unwrap();
    assert_eq!((info.pool, info.start, info.given), (one.pool, one.block, Bytes::mib(2)));
    one.b.free(one.block, one.s);
}

fn at_its_last_byte() {
    let one = one();
    let BadPointer::Interior { start, size, .. } = refused(&one, 2 * MIB as i64 - 1) else { panic!("it is inside") };
    assert_eq!((start, size), (one.block, Bytes::mib(2)));
}

fn behind_the_pool() {
    let one = one();
    assert_eq!(refused(&one, 2 * MIB as i64), BadPointer::Unknown(DevicePtr(one.block.0 + 2 * MIB)));
}

fn in_the_middle_of_another() {
    let One { b, s, pool, .. } = one();
    let second = b.pool(4 * MIB, Reuse::empty());
    let middle = DevicePtr(b.rt.stats(second).unwrap().base.0 + 2 * MIB);
    let unmapped = BadPointer::Unmapped { ptr: middle, pool: second };
    assert_eq!(b.rt.free_async(middle, s), Err(FreeError::BadPointer(unmapped)));
    b.malloc(second, 2 * MIB, s);
    let block = b.malloc(second, 2 * MIB, s);
    assert_eq!(b.rt.block_at(block).unwrap().pool, second);
    assert_ne!(pool, second);
}
