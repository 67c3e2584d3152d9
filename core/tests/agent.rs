//! The agent: messages as CANN's host writes them, executed on a book of granules.

use std::collections::BTreeMap;
use weir::agent::{Book, Claim, Done, MESSAGE_BYTES, Memory, Message, Operation, Place, Refusal, execute};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr};

const GRANULE: Bytes = Bytes::mib(2);
const DEVICE: DeviceId = DeviceId(3);
const POOL: u64 = 0x7f00_1234_5678;
const BASE: u64 = 0x1000_0000_0000;

/// Frames and where they are mapped; a double map, or an unmap of nothing, fails the test.
#[derive(Debug, Default)]
struct Frames {
    free: Vec<u64>,
    mapped: BTreeMap<u64, u64>,
}

impl Frames {
    fn new(count: u64) -> Self {
        Self { free: (0..count).rev().collect(), mapped: BTreeMap::new() }
    }
}

impl Memory for Frames {
    fn left(&self) -> usize {
        self.free.len()
    }
    fn take(&mut self) -> Option<u64> {
        self.free.pop()
    }
    fn give(&mut self, frame: u64) {
        assert!(!self.mapped.values().any(|mapped| *mapped == frame), "frame {frame} is mapped");
        self.free.push(frame);
    }
    fn map(&mut self, at: DevicePtr, frame: u64) {
        assert_eq!(self.mapped.insert(at.0, frame), None, "{at:?} was mapped");
    }
    fn unmap(&mut self, at: DevicePtr) {
        assert!(self.mapped.remove(&at.0).is_some(), "{at:?} was not mapped");
    }
}

fn at(granule: u64) -> DevicePtr {
    DevicePtr(BASE + granule * GRANULE.0)
}

fn message(operation: Operation, granule: u64, count: u64) -> Message {
    Message { size: Bytes(count * GRANULE.0), va: at(granule), pool: POOL, device: DEVICE, operation }
}

fn send(book: &mut Book<'_, Frames>, message: Message) -> Result<Done, Refusal> {
    execute(&message.to_bytes(), DEVICE, book)
}

/// Sends a malloc or a free of some granules.
fn malloc(book: &mut Book<'_, Frames>, claim: Claim, granule: u64, count: u64) -> Result<Done, Refusal> {
    send(book, message(Operation::Malloc(claim), granule, count))
}

fn free(book: &mut Book<'_, Frames>, granule: u64, count: u64) -> Result<Done, Refusal> {
    send(book, message(Operation::Free, granule, count))
}

fn mapped(book: &Book<'_, Frames>) -> Vec<(u64, u64)> {
    book.memory().mapped.iter().map(|(at, frame)| ((at - BASE) / GRANULE.0, *frame)).collect()
}

/// The layout, byte by byte, as it is documented.
#[test]
fn a_message_is_forty_bytes_in_the_documented_places() {
    let message = Message {
        size: Bytes(0x0000_0000_0040_0000),
        va: DevicePtr(0x0000_0c00_0020_0000),
        pool: 0x1122_3344_5566_7788,
        device: DeviceId(5),
        operation: Operation::Malloc(Claim::Internal),
    };
    let expected: [u8; MESSAGE_BYTES] = [
        0, 0, 0x40, 0, 0, 0, 0, 0, // size
        0, 0, 0x20, 0, 0, 0x0c, 0, 0, // va
        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, // pool
        5, 0, 0, 0, // device
        0, 0, 0, 0, // malloc
        1, 0, 0, 0, // INTERNAL
        0, 0, 0, 0,
    ];
    assert_eq!(message.to_bytes(), expected);
    assert_eq!(Message::from_bytes(&expected), Ok(message));
    let free = Message { operation: Operation::Free, ..message };
    assert_eq!(free.to_bytes()[28..40], [1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]);
    // What is reserved, and a free's sub-command, say nothing.
    let mut odd = free.to_bytes();
    odd[32..].fill(0xff);
    assert_eq!(Message::from_bytes(&odd), Ok(free));
}

/// Rows K1 to K3 of CANN's tests: malloc and free are executed, operation 3 fails.
#[test]
fn unknown_operations_are_refused() {
    let mut places = [Place::EMPTY; 4];
    let mut book = Book::new(&mut places, Frames::new(4), GRANULE);
    assert_eq!(malloc(&mut book, Claim::Fresh, 0, 1), Ok(Done::Done));
    assert_eq!(free(&mut book, 0, 1), Ok(Done::Done));
    let good = message(Operation::Malloc(Claim::Fresh), 1, 1).to_bytes();
    for number in [2_i32, 3, -1, i32::MAX] {
        let mut bytes = good;
        bytes[28..32].copy_from_slice(&number.to_le_bytes());
        assert_eq!(execute(&bytes, DEVICE, &mut book), Err(Refusal::UnknownOperation(number)));
    }
    for number in [3_i32, 4, 0xffff, -1] {
        let mut bytes = good;
        bytes[32..36].copy_from_slice(&number.to_le_bytes());
        assert_eq!(execute(&bytes, DEVICE, &mut book), Err(Refusal::UnknownClaim(number)));
    }
    for length in [0, 39, 41] {
        assert_eq!(execute(&vec![0; length], DEVICE, &mut book), Err(Refusal::Length(length)));
    }
    assert_eq!(execute(&good, DeviceId(0), &mut book), Err(Refusal::OtherDevice(DEVICE)));
    assert_eq!(mapped(&book), [(0, 0)], "a refused message changed something");
}

#[test]
fn ranges_are_whole_granules() {
    let mut places = [Place::EMPTY; 4];
    let mut book = Book::new(&mut places, Frames::new(4), GRANULE);
    let good = message(Operation::Malloc(Claim::Fresh), 0, 1);
    for (va, size) in [
        (at(0), Bytes(0)),
        (at(0), Bytes(GRANULE.0 / 2)),
        (DevicePtr(BASE + 512), GRANULE),
        (DevicePtr(u64::MAX - GRANULE.0 + 1), GRANULE),
        (at(0), Bytes(u64::MAX - GRANULE.0 + 1)),
    ] {
        assert_eq!(
            send(&mut book, Message { va, size, ..good }),
            Err(Refusal::BadRange { va, size }),
            "{va:?} {size:?}"
        );
    }
}

/// A free keeps the memory where it is; a malloc there takes it as it is, one elsewhere moves it when nothing else is left.
#[test]
fn what_was_freed_is_kept_until_it_is_needed_elsewhere() {
    let mut places = [Place::EMPTY; 2];
    let mut book = Book::new(&mut places, Frames::new(2), GRANULE);
    assert_eq!(malloc(&mut book, Claim::Fresh, 0, 1), Ok(Done::Done));
    assert_eq!(free(&mut book, 0, 1), Ok(Done::Done));
    assert_eq!(mapped(&book), [(0, 0)]);
    assert_eq!(book.held(POOL), (Bytes(0), GRANULE));
    assert_eq!(malloc(&mut book, Claim::Standard, 0, 1), Ok(Done::Done));
    assert_eq!(mapped(&book), [(0, 0)], "it was moved");
    assert_eq!(free(&mut book, 0, 1), Ok(Done::Done));
    // Fresh memory first, then what is kept.
    assert_eq!(malloc(&mut book, Claim::Fresh, 5, 1), Ok(Done::Done));
    assert_eq!(mapped(&book), [(0, 0), (5, 1)]);
    assert_eq!(malloc(&mut book, Claim::Fresh, 6, 1), Ok(Done::Done));
    assert_eq!(mapped(&book), [(5, 1), (6, 0)]);
    assert_eq!(malloc(&mut book, Claim::Fresh, 7, 1), Err(Refusal::Exhausted));
    // Its memory went elsewhere, but the addresses are still the host's to give.
    assert_eq!(free(&mut book, 5, 1), Ok(Done::Done));
    assert_eq!(malloc(&mut book, Claim::Standard, 0, 1), Ok(Done::Done));
    assert_eq!(mapped(&book), [(0, 1), (6, 0)]);
}

#[test]
fn a_malloc_before_its_free_is_refused_or_waits_as_it_says() {
    let mut places = [Place::EMPTY; 4];
    let mut book = Book::new(&mut places, Frames::new(4), GRANULE);
    assert_eq!(malloc(&mut book, Claim::Fresh, 0, 2), Ok(Done::Done));
    assert_eq!(malloc(&mut book, Claim::Standard, 1, 2), Err(Refusal::InUse(at(1))));
    assert_eq!(malloc(&mut book, Claim::Fresh, 1, 2), Err(Refusal::InUse(at(1))));
    assert_eq!(malloc(&mut book, Claim::Internal, 1, 2), Ok(Done::Retry));
    assert_eq!(mapped(&book), [(0, 0), (1, 1)], "what waits has changed something");
    assert_eq!(free(&mut book, 0, 2), Ok(Done::Done));
    assert_eq!(malloc(&mut book, Claim::Internal, 1, 2), Ok(Done::Done));
    assert_eq!(mapped(&book), [(0, 0), (1, 1), (2, 2)]);
    // Freed already, never there, and another pool's.
    assert_eq!(free(&mut book, 0, 2), Err(Refusal::NotLive(at(0))));
    assert_eq!(free(&mut book, 3, 1), Err(Refusal::NotLive(at(3))));
    let other = Message { pool: POOL + 1, ..message(Operation::Free, 1, 1) };
    assert_eq!(send(&mut book, other), Err(Refusal::NotLive(at(1))));
    let other = Message { pool: POOL + 1, ..message(Operation::Malloc(Claim::Internal), 1, 1) };
    assert_eq!(send(&mut book, other), Err(Refusal::InUse(at(1))));
    assert_eq!(book.held(POOL), (Bytes(2 * GRANULE.0), GRANULE));
}

/// What is kept inside the range itself is not counted as memory for the rest of it.
#[test]
fn a_malloc_that_does_not_fit_changes_nothing() {
    let mut places = [Place::EMPTY; 3];
    let mut book = Book::new(&mut places, Frames::new(3), GRANULE);
    assert_eq!(malloc(&mut book, Claim::Fresh, 0, 1), Ok(Done::Done));
    assert_eq!(malloc(&mut book, Claim::Fresh, 4, 2), Ok(Done::Done));
    assert_eq!(free(&mut book, 4, 1), Ok(Done::Done));
    let before = (mapped(&book), book.held(POOL));
    assert_eq!(malloc(&mut book, Claim::Fresh, 2, 3), Err(Refusal::Exhausted));
    assert_eq!((mapped(&book), book.held(POOL)), before);
    assert_eq!(malloc(&mut book, Claim::Fresh, 2, 1), Ok(Done::Done));
}

#[test]
fn trims_and_the_end_of_a_pool_give_memory_back() {
    let mut places = [Place::EMPTY; 8];
    let mut book = Book::new(&mut places, Frames::new(8), GRANULE);
    assert_eq!(malloc(&mut book, Claim::Fresh, 0, 6), Ok(Done::Done));
    assert_eq!(free(&mut book, 0, 4), Ok(Done::Done));
    assert_eq!(book.trim(POOL + 1, Bytes::ZERO), Bytes::ZERO);
    assert_eq!(book.trim(POOL, Bytes(5 * GRANULE.0)), Bytes(5 * GRANULE.0));
    assert_eq!(book.trim(POOL, Bytes::ZERO), Bytes(2 * GRANULE.0), "live memory stays");
    assert_eq!(mapped(&book).iter().map(|(at, _)| *at).collect::<Vec<_>>(), [4, 5]);
    book.end(POOL);
    assert_eq!((mapped(&book), book.memory().left()), (vec![], 8));
}
