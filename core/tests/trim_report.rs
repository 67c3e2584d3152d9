//! What a trim says that it could not release, and on which streams that waits.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, MIB};
use weir::Trimmed;
use weir::error::PendingOn;
use weir::id::{PoolId, StreamId};
use weir::policy::{Attribute, Reuse, UseUntil};
use weir::units::Bytes;

fn pool(b: &Bench) -> PoolId {
    let pool = b.pool(0, Reuse::all());
    b.rt.set_attribute(pool, Attribute::ReleaseThreshold, u64::MAX).unwrap();
    pool
}

/// A stream whose work does not end.
fn busy(b: &Bench) -> StreamId {
    let stream = b.stream();
    b.pause(stream);
    b.work(stream);
    stream
}

fn trim(b: &Bench, pool: PoolId) -> Trimmed {
    let trimmed = b.rt.trim_to(pool, Bytes::ZERO).unwrap();
    assert_eq!(trimmed.reserved.get(), b.reserved(pool));
    let named = trimmed.pending_on.iter().flatten().count();
    assert_eq!(named, (trimmed.pending_streams as usize).min(4), "as many as there is room for, from the front on");
    assert!(trimmed.pending_on.iter().take(named).all(Option::is_some));
    trimmed
}

fn on(trimmed: &Trimmed) -> Vec<(StreamId, u64)> {
    trimmed.pending_on.iter().flatten().map(|on| (on.stream, on.bytes.get())).collect()
}

#[test]
fn with_nothing_pending_no_stream_is_named() {
    let b = Bench::new(1);
    let (s, pool) = (b.stream(), pool(&b));
    assert_eq!(trim(&b, pool), Trimmed::default());
    let _live = b.malloc(pool, 3 * MIB, s);
    let gone = b.malloc(pool, 8 * MIB, s);
    b.free(gone, s);
    b.rt.synchronize_stream(s).unwrap();
    let trimmed = trim(&b, pool);
    assert_eq!((trimmed.live, trimmed.pending, trimmed.partial), (Bytes(3 * MIB), Bytes::ZERO, Bytes(MIB)));
    assert_eq!((trimmed.pending_streams, trimmed.pending_on), (0, [None; 4]));
}

#[test]
fn one_stream_is_named_with_the_position_that_frees_it() {
    let b = Bench::new(1);
    let (s, t, pool) = (b.stream(), busy(&b), pool(&b));
    let blocks = [b.malloc(pool, 4 * MIB, t), b.malloc(pool, 6 * MIB, t)];
    let done = b.malloc(pool, 2 * MIB, s);
    b.free(done, s);
    b.rt.synchronize_stream(s).unwrap();
    blocks.iter().for_each(|&block| b.free(block, t));
    let mut until = None;
    b.rt.pending(pool, s, |on| until = Some(on.until)).unwrap();
    let trimmed = trim(&b, pool);
    assert_eq!((trimmed.reserved, trimmed.pending), (Bytes(10 * MIB), Bytes(10 * MIB)));
    let only = PendingOn { stream: t, until: until.unwrap(), bytes: Bytes(10 * MIB) };
    assert_eq!((trimmed.pending_streams, trimmed.pending_on), (1, [Some(only), None, None, None]));
    // What the report says is to be done helps.
    b.resume(t);
    b.rt.synchronize_stream(t).unwrap();
    assert_eq!(trim(&b, pool), Trimmed::default());
}

#[test]
fn of_several_streams_the_four_that_hold_most_are_named() {
    let b = Bench::new(1);
    let pool = pool(&b);
    let streams: Vec<_> = (0..6).map(|_| busy(&b)).collect();
    let sizes = [6, 12, 2, 8, 10, 4];
    let blocks: Vec<_> = streams.iter().zip(sizes).map(|(&s, size)| b.malloc(pool, size * MIB, s)).collect();
    streams.iter().zip(blocks).for_each(|(&s, block)| b.free(block, s));
    let trimmed = trim(&b, pool);
    assert_eq!((trimmed.pending, trimmed.pending_streams), (Bytes(42 * MIB), 6));
    let most = [(1, 12), (4, 10), (3, 8), (0, 6)].map(|(at, size): (usize, u64)| (streams[at], size * MIB));
    assert_eq!(on(&trimmed), most);
}

#[test]
fn only_granules_that_are_free_as_a_whole_are_pending() {
    let b = Bench::new(1);
    let (s, t, pool) = (b.stream(), busy(&b), pool(&b));
    // The first granule stays in part use; of the second one half is complete, and t has the other.
    let blocks = [MIB, MIB, MIB, MIB].map(|size| b.malloc(pool, size, s));
    b.free(blocks[2], s);
    b.rt.synchronize_stream(s).unwrap();
    b.free(blocks[1], t);
    b.free(blocks[3], t);
    let trimmed = trim(&b, pool);
    assert_eq!((trimmed.live, trimmed.pending, trimmed.partial), (Bytes(MIB), Bytes(2 * MIB), Bytes(MIB)));
    assert_eq!((trimmed.pending_streams, on(&trimmed)), (1, vec![(t, MIB)]));
}

#[test]
fn what_several_streams_hold_counts_with_each() {
    let b = Bench::new(1);
    let (s, t, u, pool) = (busy(&b), busy(&b), busy(&b), pool(&b));
    let (shared, own) = (b.malloc(pool, 4 * MIB, s), b.malloc(pool, 2 * MIB, u));
    b.rt.record_use(shared, t, UseUntil::Free).unwrap();
    b.free(shared, s);
    b.free(own, u);
    let trimmed = trim(&b, pool);
    assert_eq!((trimmed.pending, trimmed.pending_streams), (Bytes(6 * MIB), 3));
    let mut named = on(&trimmed);
    named[..2].sort();
    assert_eq!(named, [(s, 4 * MIB), (t, 4 * MIB), (u, 2 * MIB)]);
}

/// More users than a block has places for: it waits for what was queued on every stream.
#[test]
fn a_block_of_many_users_names_them_all() {
    let b = Bench::new(1);
    let pool = pool(&b);
    let streams: Vec<_> = (0..5).map(|_| busy(&b)).collect();
    let block = b.malloc(pool, 4 * MIB, streams[0]);
    streams.iter().skip(1).for_each(|&user| b.rt.record_use(block, user, UseUntil::Free).unwrap());
    b.free(block, streams[0]);
    let trimmed = trim(&b, pool);
    assert_eq!((trimmed.pending, trimmed.pending_streams), (Bytes(4 * MIB), 5));
    assert!(on(&trimmed).iter().all(|&(_, bytes)| bytes == 4 * MIB), "{trimmed:?}");
}
