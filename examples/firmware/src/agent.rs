//! The device's end of the pool's messages: a ring of them for each stream, and the agent that executes them.
//!
//! The host's end ([`Board`](crate::board::Board) as a driver) writes 40 bytes into the stream's ring and queues a piece of
//! work that stands for them. When the stream comes to it, this end takes the bytes out and executes them on granules of
//! its own. What stands in the ring is all that the two ends share.

use crate::machine::{GRANULE, Machine, place};
use crate::streams::STREAMS;
use weir::agent::{self, Book, Claim, Done, MESSAGE_BYTES, Memory, Message, Operation, Place, Refusal};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr};

/// Granules of the agent's own: the machine's last ones.
pub const FRAMES: usize = 4;

/// The device whose maps go by way of the agent.
pub const DEVICE: DeviceId = DeviceId(1);

/// By what the host's end calls itself in messages.
const HOST: u64 = 0x7765_6972;

/// Messages that can wait in a ring.
const DEPTH: usize = 16;

/// Messages in the order of one stream.
#[derive(Debug)]
struct Ring {
    slots: [[u8; MESSAGE_BYTES]; DEPTH],
    /// Counts what was put in and taken out.
    sent: u32,
    taken: u32,
}

impl Ring {
    const EMPTY: Self = Self { slots: [[0; MESSAGE_BYTES]; DEPTH], sent: 0, taken: 0 };

    fn send(&mut self, bytes: [u8; MESSAGE_BYTES]) -> Option<()> {
        if self.sent.wrapping_sub(self.taken) as usize >= DEPTH {
            return None;
        }
        *self.slots.get_mut(self.sent as usize % DEPTH)? = bytes;
        self.sent = self.sent.wrapping_add(1);
        Some(())
    }

    fn first(&self) -> Option<&[u8; MESSAGE_BYTES]> {
        let some = self.sent != self.taken;
        self.slots.get(self.taken as usize % DEPTH).filter(|_| some)
    }
}

/// What the agent did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Messages that it executed.
    pub executed: u32,
    /// Messages that it refused, and why the latest.
    pub refused: u32,
    /// The latest refusal.
    pub latest: Option<Refusal>,
    /// How often a message had to wait for another stream.
    pub waited: u32,
}

/// Frames of the machine, the agent's among them.
#[derive(Debug)]
struct Frames<'m, M> {
    machine: &'m M,
    /// One bit a frame that is taken.
    taken: u32,
}

impl<M: Machine> Memory for Frames<'_, M> {
    fn left(&self) -> usize {
        FRAMES.saturating_sub(self.taken.count_ones() as usize)
    }
    fn take(&mut self) -> Option<u64> {
        let free = self.taken.trailing_ones();
        if free as usize >= FRAMES {
            return None;
        }
        self.taken |= 1 << free;
        Some(u64::from(free))
    }
    fn give(&mut self, frame: u64) {
        self.taken &= !(1 << frame);
    }
    fn map(&mut self, at: DevicePtr, frame: u64) {
        if let Some((place, _)) = place(at.0) {
            self.machine.map(place, M::FRAMES - FRAMES + frame as usize);
        }
    }
    fn unmap(&mut self, at: DevicePtr) {
        if let Some((place, _)) = place(at.0) {
            self.machine.unmap(place);
        }
    }
}

/// Both rings' ends and the agent. On this board one processor plays both parts.
#[derive(Debug)]
pub(crate) struct Agent<'m, M> {
    rings: [Ring; STREAMS],
    book: Book<'m, Frames<'m, M>>,
    pub(crate) served: Served,
}

impl<'m, M: Machine> Agent<'m, M> {
    pub(crate) fn new(machine: &'m M, places: &'m mut [Place]) -> Self {
        let book = Book::new(places, Frames { machine, taken: 0 }, Bytes(GRANULE));
        Self { rings: [const { Ring::EMPTY }; STREAMS], book, served: Served::default() }
    }

    /// The host's end: puts bytes into a stream's ring. `None`: it is full.
    pub(crate) fn send(&mut self, stream: usize, bytes: [u8; MESSAGE_BYTES]) -> Option<()> {
        self.rings.get_mut(stream)?.send(bytes)
    }

    /// The device's end: executes the first message of a stream; whether the stream can go on.
    pub(crate) fn serve(&mut self, stream: usize) -> bool {
        let Some(ring) = self.rings.get_mut(stream) else { return true };
        let Some(bytes) = ring.first() else { return true };
        match agent::execute(bytes, DEVICE, &mut self.book) {
            Ok(Done::Retry) => {
                self.served.waited += 1;
                return false;
            }
            Ok(Done::Done) => self.served.executed += 1,
            Err(refusal) => {
                self.served.refused += 1;
                self.served.latest = Some(refusal);
            }
        }
        ring.taken = ring.taken.wrapping_add(1);
        true
    }

    /// The message that maps or frees one granule.
    pub(crate) fn message(at: DevicePtr, operation: Operation) -> Message {
        Message { size: Bytes(GRANULE), va: at, pool: HOST, device: DEVICE, operation }
    }

    /// What happens at once: a map.
    pub(crate) fn map_now(&mut self, at: DevicePtr) -> bool {
        let message = Self::message(at, Operation::Malloc(Claim::Fresh));
        agent::execute(&message.to_bytes(), DEVICE, &mut self.book) == Ok(Done::Done)
    }

    /// What happens at once: an unmap, after which nothing is there.
    pub(crate) fn unmap_now(&mut self, at: DevicePtr) -> bool {
        let message = Self::message(at, Operation::Free);
        let done = agent::execute(&message.to_bytes(), DEVICE, &mut self.book) == Ok(Done::Done);
        self.book.drop_kept(at);
        done
    }

    /// What was kept at an address goes back.
    pub(crate) fn forget(&mut self, at: DevicePtr) {
        self.book.drop_kept(at);
    }

    /// The host has so many granules left: what is kept beyond goes back.
    pub(crate) fn limit(&mut self, granules: u64) {
        let _ = self.book.trim(HOST, Bytes(granules * GRANULE));
    }
}
