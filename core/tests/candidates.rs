//! What a malloc would find: every free block, and how it stands to the stream.
#![cfg(feature = "sim")]

mod pool_support;

use pool_support::{Bench, MIB};
use weir::error::{MallocError, Point};
use weir::id::{PoolId, StreamId};
use weir::policy::Reuse;
use weir::trace::Source;
use weir::units::{Bytes, Seq};
use weir::{Access, Candidate, Outlook};

fn seen(b: &Bench, pool: PoolId, bytes: u64, stream: StreamId) -> (Outlook, Vec<Candidate>) {
    let mut all = Vec::new();
    let outlook = b.rt.candidates(pool, Bytes(bytes), stream, |candidate| all.push(candidate)).expect("admitted");
    (outlook, all)
}

/// Two blocks freed on another stream, the first before an event that the asking stream waits for.
#[test]
fn each_block_says_what_keeps_the_stream_from_it() {
    for reuse in [Reuse::EVENT, Reuse::empty()] {
        let b = Bench::new(3);
        let (mine, other, e, pool) = (b.stream(), b.stream(), b.event(), b.pool(64 * MIB, reuse));
        let blocks: Vec<_> = (0..3).map(|_| b.malloc(pool, 4 * MIB, other)).collect();
        b.free(blocks[0], other);
        b.rt.record(e, other).unwrap();
        b.rt.wait(mine, e).unwrap();
        b.free(blocks[2], other);
        let (outlook, all) = seen(&b, pool, 3 * MIB, mine);
        assert_eq!(
            all.iter().map(|c| (c.offset, c.size)).collect::<Vec<_>>(),
            [(Bytes(0), Bytes::mib(4)), (Bytes::mib(8), Bytes::mib(4))]
        );
        // Three mallocs, the free; then the record, and the second free.
        let freed = |seq| Point { stream: other, seq: Seq(seq) };
        let expected = match reuse {
            Reuse::EVENT => Access::Usable(Source::Event),
            _ => Access::EventsOff(freed(4)),
        };
        assert_eq!(all[0].access, expected);
        assert_eq!(all[1].access, Access::Unordered(freed(6)));
        assert_eq!((all[0].unreached, all[1].unreached), (u32::from(reuse.is_empty()), 1));
        assert_eq!(outlook.taken, (reuse == Reuse::EVENT).then_some((Bytes(0), Source::Event)));
        assert_eq!((outlook.headroom, outlook.reuse), (Bytes::mib(52), reuse));
        // Nothing has changed: the malloc finds what was foretold.
        let ptr = b.malloc(pool, 3 * MIB, mine);
        assert_eq!(ptr == blocks[0], reuse == Reuse::EVENT);
    }
}

#[test]
fn a_marker_behind_a_free_can_be_waited_for() {
    let b = Bench::new(4);
    let (mine, other, pool) = (b.stream(), b.stream(), b.pool(8 * MIB, Reuse::INTERNAL));
    let block = b.malloc(pool, 8 * MIB, other);
    b.free(block, other);
    let access = |b: &Bench| seen(b, pool, 8 * MIB, mine).1[0].access;
    assert!(matches!(access(&b), Access::Unordered(_)));
    // The next call on the stream lays it.
    let event = b.event();
    b.rt.record(event, other).unwrap();
    assert!(matches!(access(&b), Access::Marked(_)));
    assert_eq!(b.malloc(pool, 8 * MIB, mine), block);
    assert_eq!(b.sources(pool, Source::Internal), 1);
}

#[test]
fn more_blocks_than_one_look_takes_come_in_order() {
    let b = Bench::new(5);
    let (stream, pool) = (b.stream(), b.pool(64 * MIB, Reuse::empty()));
    let blocks: Vec<_> = (0..200).map(|_| b.malloc(pool, 4096, stream)).collect();
    blocks.iter().step_by(2).for_each(|block| b.free(*block, stream));
    let (_, all) = seen(&b, pool, 8192, stream);
    assert!(all.is_sorted_by(|one, two| one.offset < two.offset));
    // And what is left of the granule behind the last block.
    assert_eq!(all.iter().filter(|candidate| candidate.size == Bytes(4096)).count(), 100);
    assert!(all.iter().all(|candidate| matches!(candidate.access, Access::Usable(_))));
}

#[test]
fn what_is_refused_without_a_search_is_refused_here() {
    let b = Bench::new(6);
    let (stream, pool) = (b.stream(), b.pool(8 * MIB, Reuse::empty()));
    let ask = |bytes| b.rt.candidates(pool, Bytes(bytes), stream, |_| {});
    assert!(matches!(ask(0), Err(MallocError::ZeroSize)));
    assert!(matches!(ask(9 * MIB), Err(MallocError::AboveLimit { .. })));
    let (outlook, all) = seen(&b, pool, 5 * MIB, stream);
    assert!(all.is_empty() && outlook.taken.is_none());
    assert_eq!((outlook.to_map, outlook.movable, outlook.headroom), (Some(Bytes::mib(6)), Bytes(0), Bytes::mib(8)));
}
