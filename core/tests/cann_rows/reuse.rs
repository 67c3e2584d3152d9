//! R: which freed memory a stream is given.

use crate::Verdict::{Differs, Nothing, Same};
use crate::pool_support::{Bench, DEVICE, MIB};
use crate::{Row, device};
use weir::id::{EventId, PoolId, StreamId};
use weir::policy::{PoolConfig, Preference, Reuse};
use weir::trace::Source;
use weir::units::{Bytes, DevicePtr, KIB};

const NO_CALLBACKS: &str =
    "CANN's pool listens to its runtime by callbacks; weir is told of records and waits by the calls themselves";

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "R1",
        says: "8 freed on stream 0, 5 for stream 0, opportunistic on: found, no wait",
        verdict: Same(own_memory_needs_no_switch),
    },
    Row {
        id: "R2",
        says: "8 freed on stream 1, 5 for stream 0, internal on: found, by a dependency",
        verdict: Differs(
            a_wait_is_inserted,
            "the dependency is a real wait of one stream for the other; CANN blocks a worker on the device. It needs a \
             marker, which is laid with the first call on stream 1 after the free",
        ),
    },
    Row { id: "R3", says: "free, record, wait: the event search finds it", verdict: Same(along_the_event) },
    Row {
        id: "R4",
        says: "record, wait, record, free: the event search finds nothing",
        verdict: Same(the_wait_was_for_an_earlier_record),
    },
    Row { id: "R5", says: "all switches off: another stream gets other memory", verdict: Same(switches_off) },
    Row { id: "R6", says: "all switches off: the same stream gets the same", verdict: Same(same_stream) },
    Row { id: "R7", says: "event on: free, record, wait, the same memory", verdict: Same(event_on) },
    Row { id: "R8", says: "event on: record, wait, free, other memory", verdict: Same(recorded_before_the_free) },
    Row {
        id: "R9",
        says: "opportunistic on: another stream gets the same memory",
        verdict: Differs(
            opportunistic_on,
            "only once the device has passed the free: the driver is asked. CANN hands it out without asking, and the \
             program fails, or computes on bytes in use",
        ),
    },
    Row { id: "R10", says: "R5 to R9 with 32 bytes: rounding prevents nothing", verdict: Same(small_requests) },
    Row { id: "R11", says: "a null callback is taken as none", verdict: Nothing(NO_CALLBACKS) },
    Row { id: "R12", says: "a callback of no known kind is refused", verdict: Nothing(NO_CALLBACKS) },
];

/// Two streams, an event and a pool that waits before it grows, as CANN's do.
struct Two {
    b: Bench,
    s: [StreamId; 2],
    e: EventId,
    pool: PoolId,
}

fn two(reuse: Reuse) -> Two {
    let b = device(Bytes::mib(64), Bytes::mib(2));
    let s = [b.stream(), b.stream()];
    let config = PoolConfig { reuse, preference: Preference::WaitFirst, ..PoolConfig::new(DEVICE) };
    let (e, pool) = (b.event(), b.rt.create_pool(config).unwrap());
    Two { b, s, e, pool }
}

impl Two {
    /// A block, with nothing free beside it in its granule: what weir can have for nothing it takes first.
    fn block(&self, size: u64, stream: usize) -> DevicePtr {
        let block = self.b.malloc(self.pool, size, self.s[stream]);
        // Small requests, so that they go beside a small one.
        let rest = || self.b.reserved(self.pool) - self.b.used(self.pool);
        while rest() > 0 {
            self.b.malloc(self.pool, rest().min(256 * KIB), self.s[stream]);
        }
        block
    }

    /// A block that was allocated and freed on a stream.
    fn freed(&self, size: u64, stream: usize) -> DevicePtr {
        let block = self.block(size, stream);
        self.b.free(block, self.s[stream]);
        block
    }

    fn record(&self, stream: usize) {
        self.b.rt.record(self.e, self.s[stream]).unwrap();
    }

    fn wait(&self, stream: usize) {
        self.b.rt.wait(self.s[stream], self.e).unwrap();
    }

    /// Another block, and what it came from.
    fn next(&self, size: u64, stream: usize) -> (DevicePtr, Source) {
        let before = Source::ALL.map(|source| self.b.sources(self.pool, source));
        let block = self.b.malloc(self.pool, size, self.s[stream]);
        let from = Source::ALL.into_iter().find(|&s| self.b.sources(self.pool, s) > before[s as usize]);
        (block, from.expect("it came from somewhere"))
    }
}

fn own_memory_needs_no_switch() {
    let two = two(Reuse::OPPORTUNISTIC);
    let block = two.freed(8, 0);
    assert_eq!(two.next(5, 0), (block, Source::SameStream));
}

fn a_wait_is_inserted() {
    let two = two(Reuse::INTERNAL);
    let [_, s1] = two.s;
    let block = two.block(8, 1);
    two.b.pause(s1);
    two.b.work(s1);
    two.b.free(block, s1);
    two.record(1);
    assert_eq!(two.next(5, 0), (block, Source::Internal));
    assert_eq!(two.b.rt.counters().wait, 1);
    two.b.resume(s1);
    two.b.sim().run_all();
    two.b.check();
}

fn along_the_event() {
    let two = two(Reuse::EVENT);
    let block = two.freed(8, 0);
    two.record(0);
    two.wait(1);
    assert_eq!(two.next(5, 1), (block, Source::Event));
}

fn the_wait_was_for_an_earlier_record() {
    let two = two(Reuse::EVENT);
    let block = two.b.malloc(two.pool, 2 * MIB, two.s[0]);
    two.record(0);
    two.wait(1);
    two.record(0);
    two.b.free(block, two.s[0]);
    let (next, from) = two.next(2 * MIB, 1);
    assert_eq!((next == block, from), (false, Source::Grow));
}

fn other_stream(size: u64) {
    let two = two(Reuse::empty());
    let block = two.freed(size, 0);
    assert_ne!(two.next(size, 1).0, block);
}

fn own_stream(size: u64) {
    let two = two(Reuse::empty());
    let block = two.freed(size, 0);
    assert_eq!(two.next(size, 0), (block, Source::SameStream));
}

fn by_event(size: u64) {
    let two = two(Reuse::EVENT);
    let block = two.freed(size, 0);
    two.record(0);
    two.wait(1);
    assert_eq!(two.next(size, 1), (block, Source::Event));
}

fn before_the_free(size: u64) {
    let two = two(Reuse::EVENT);
    let block = two.block(size, 0);
    two.record(0);
    two.wait(1);
    two.b.free(block, two.s[0]);
    assert_ne!(two.next(size, 1).0, block);
}

fn when_complete(size: u64) {
    let two = two(Reuse::OPPORTUNISTIC);
    let block = two.block(size, 0);
    two.b.pause(two.s[0]);
    two.b.work(two.s[0]);
    two.b.free(block, two.s[0]);
    let early = two.b.malloc(two.pool, 2 * MIB, two.s[1]);
    assert_ne!(early, block, "stream 0 still works");
    two.b.resume(two.s[0]);
    two.b.sim().run_all();
    assert_eq!(two.next(size, 1), (block, Source::Opportunistic));
}

fn switches_off() {
    other_stream(2 * MIB);
}

fn same_stream() {
    own_stream(2 * MIB);
}

fn event_on() {
    by_event(2 * MIB);
}

fn recorded_before_the_free() {
    before_the_free(2 * MIB);
}

fn opportunistic_on() {
    when_complete(2 * MIB);
}

fn small_requests() {
    [other_stream, own_stream, by_event, before_the_free, when_complete].into_iter().for_each(|row| row(32));
}
