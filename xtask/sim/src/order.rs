//! What comes before what: happens-before over single operations, as sets. No positions and no clocks: an operation is a
//! bit, and a stream's past is the set of all operations that whatever it does next comes after.
//!
//! It is fed by the driver's side of the calls, not by what the pool says about them.

use crate::op::DEVICES;
use crate::set::Set;
use weir::id::DeviceId;
use weir::policy::StreamKind;

/// An operation that somebody must come after: a malloc, a kernel, a use, a free, a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) id: u16,
    /// The stream by its number, which is never given out again.
    pub(crate) stream: u32,
}

/// Whose knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The program's: its synchronisations and queries.
    Program,
    /// The pool's own.
    Pool,
}

/// A live stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    native: u64,
    number: u32,
    device: DeviceId,
    kind: StreamKind,
    past: Set,
}

/// What a driver event stands for.
#[derive(Clone, Copy, Debug)]
struct Laid {
    past: Set,
    by: u32,
}

pub(crate) struct Order {
    streams: Vec<Stream>,
    numbers: u32,
    laid: Vec<Option<Laid>>,
    unused: Set,
    /// Complete, and the program saw it.
    pub(crate) seen: Set,
    /// Complete, and the pool may know.
    pub(crate) known: Set,
    /// As `seen`, with what a destroyed stream did whose place was given to another: the most that may count as seen.
    pub(crate) seen_at_most: Set,
    /// The past of destroyed streams, by device.
    gone: [Gone; DEVICES],
    /// The pool may have forgotten an order that it knew, or was never told one: a stream that the legacy default
    /// stream's rules order was destroyed, or an event was used while it was being recorded.
    pub(crate) vague: bool,
}

/// What destroyed streams of one device did, and came after.
#[derive(Clone, Copy, Debug)]
struct Gone {
    all: Set,
    /// Of those that the legacy default stream comes after.
    blocking: Set,
}

impl Gone {
    const NONE: Self = Self { all: Set::NONE, blocking: Set::NONE };
}

fn blocking(kind: StreamKind) -> bool {
    matches!(kind, StreamKind::Blocking | StreamKind::PerThread)
}

impl Order {
    pub(crate) fn new() -> Self {
        Self {
            streams: Vec::new(),
            numbers: 0,
            laid: Vec::new(),
            unused: Set::ALL,
            seen: Set::NONE,
            known: Set::NONE,
            seen_at_most: Set::NONE,
            gone: [Gone::NONE; DEVICES],
            vague: false,
        }
    }

    /// How many more operations can be told apart before [`forget`](Self::forget) must be called.
    pub(crate) fn room(&self) -> usize {
        self.unused.len()
    }

    /// Keeps only the operations that somebody still asks about.
    pub(crate) fn forget(&mut self, asked_about: &Set) {
        self.unused = asked_about.rest();
        let pasts = self.streams.iter_mut().map(|s| &mut s.past);
        let laid = self.laid.iter_mut().flatten().map(|l| &mut l.past);
        for set in pasts.chain(laid) {
            set.keep(asked_about);
        }
        let gone = self.gone.iter_mut().flat_map(|gone| [&mut gone.all, &mut gone.blocking]);
        for set in gone.chain([&mut self.seen, &mut self.known, &mut self.seen_at_most]) {
            set.keep(asked_about);
        }
    }

    pub(crate) fn begin_stream(&mut self, native: u64, device: DeviceId, kind: StreamKind) -> u32 {
        self.numbers += 1;
        self.streams.push(Stream { native, number: self.numbers, device, kind, past: Set::NONE });
        // The new stream may have the place of one, on any device, of which only the pool knew that it was complete.
        for gone in &self.gone {
            let mut complete = gone.all;
            complete.keep(&self.known);
            self.seen_at_most.add(&complete);
        }
        self.numbers
    }

    pub(crate) fn end_stream(&mut self, native: u64) {
        if let Some(at) = self.streams.iter().position(|s| s.native == native) {
            let stream = self.streams.swap_remove(at);
            let gone = &mut self.gone[stream.device.0 as usize];
            gone.all.add(&stream.past);
            if blocking(stream.kind) {
                gone.blocking.add(&stream.past);
            }
            self.vague |= stream.kind != StreamKind::NonBlocking;
        }
    }

    fn stream(&self, native: u64) -> Option<&Stream> {
        self.streams.iter().find(|s| s.native == native)
    }

    fn stream_mut(&mut self, native: u64) -> Option<&mut Stream> {
        self.streams.iter_mut().find(|s| s.native == native)
    }

    /// Whether a device has at most one live stream.
    pub(crate) fn is_alone(&self, device: DeviceId) -> bool {
        self.streams.iter().filter(|stream| stream.device == device).count() <= 1
    }

    /// Whether what is open of the points is one stream's, and each other one of the device comes after it.
    pub(crate) fn is_common(&self, device: DeviceId, points: &[Point]) -> bool {
        let mut open = points.iter().filter(|point| !self.seen.has(point.id));
        let Some(first) = open.clone().next() else { return false };
        let others = || self.streams.iter().filter(|s| s.device == device && s.number != first.stream);
        open.all(|point| point.stream == first.stream && others().all(|s| s.past.has(point.id)))
    }

    /// Whether points are a stream's own, not known to be complete, and no other stream comes after any.
    pub(crate) fn is_untold(&self, stream: u32, points: &[Point]) -> bool {
        let others = || self.streams.iter().filter(|s| s.number != stream);
        let untold = |p: &Point| !self.known.has(p.id) && others().all(|s| !s.past.has(p.id));
        !points.is_empty() && points.iter().all(|point| point.stream == stream && untold(point))
    }

    pub(crate) fn number(&self, native: u64) -> u32 {
        self.stream(native).map_or(0, |s| s.number)
    }

    /// Live streams whose earlier work comes before the stream's next work by the rules of the legacy default stream.
    fn followed<'o>(&'o self, stream: &'o Stream) -> impl Iterator<Item = &'o Stream> {
        let same_device = |other: &&Stream| other.device == stream.device;
        self.streams.iter().filter(same_device).filter(|other| match stream.kind {
            StreamKind::NonBlocking => false,
            StreamKind::Legacy => blocking(other.kind),
            StreamKind::Blocking | StreamKind::PerThread => other.kind == StreamKind::Legacy,
        })
    }

    /// What those rules alone put before whatever the stream does next.
    pub(crate) fn implied(&self, native: u64) -> Set {
        let Some(stream) = self.stream(native) else { return Set::NONE };
        let mut implied = Set::NONE;
        self.followed(stream).for_each(|other| implied.add(&other.past));
        if stream.kind == StreamKind::Legacy {
            implied.add(&self.gone[stream.device.0 as usize].blocking);
        }
        implied
    }

    /// All that whatever the stream does next comes after: its past, and what the legacy default stream implies now.
    pub(crate) fn ahead(&self, native: u64) -> Set {
        let mut ahead = self.past(native);
        ahead.add(&self.implied(native));
        ahead
    }

    /// Whether the rules of the legacy default stream order the stream against any other.
    pub(crate) fn tied(&self, native: u64) -> bool {
        self.stream(native).is_some_and(|s| s.kind == StreamKind::Legacy || self.followed(s).next().is_some())
    }

    /// A free on the stream comes after all that is queued on those that it follows: an operation on each.
    pub(crate) fn add_followed(&mut self, native: u64) -> Vec<Point> {
        let Some(stream) = self.stream(native) else { return Vec::new() };
        let followed: Vec<u64> = self.followed(stream).map(|other| other.native).collect();
        followed.into_iter().map(|native| self.add(native)).collect()
    }

    /// The stream's own past, without what the legacy default stream implies.
    pub(crate) fn past(&self, native: u64) -> Set {
        self.stream(native).map_or(Set::NONE, |s| s.past)
    }

    /// An operation on the stream.
    pub(crate) fn add(&mut self, native: u64) -> Point {
        let id = self.unused.first().expect("there is room for an operation");
        let Some(stream) = self.stream_mut(native) else { return Point { id: 0, stream: 0 } };
        stream.past.insert(id);
        let point = Point { id, stream: stream.number };
        self.unused.remove(id);
        point
    }

    /// An operation on every stream of a device.
    pub(crate) fn add_everywhere(&mut self, device: DeviceId) -> Vec<Point> {
        let natives: Vec<u64> = self.streams.iter().filter(|s| s.device == device).map(|s| s.native).collect();
        natives.into_iter().map(|native| self.add(native)).collect()
    }

    /// Whether an operation comes before whatever the stream does next, as far as the program can tell.
    pub(crate) fn comes_before(&self, point: Point, native: u64) -> bool {
        self.number(native) == point.stream || self.seen.has(point.id) || self.ahead(native).has(point.id)
    }

    pub(crate) fn lay(&mut self, slot: usize, native: u64) {
        let past = self.ahead(native);
        let Some(stream) = self.stream_mut(native) else { return };
        // A record is work of the stream's: what is implied now is implied for good.
        stream.past = past;
        let by = stream.number;
        if self.laid.len() <= slot {
            self.laid.resize(slot + 1, None);
        }
        self.laid[slot] = Some(Laid { past, by });
    }

    fn laid(&self, slot: usize) -> Option<Laid> {
        self.laid.get(slot).copied().flatten()
    }

    pub(crate) fn wait(&mut self, native: u64, slot: usize) {
        let Some(laid) = self.laid(slot) else { return };
        if let Some(stream) = self.stream_mut(native) {
            stream.past.add(&laid.past);
        }
    }

    fn complete(&mut self, past: &Set, whose: Whose) {
        self.known.add(past);
        if whose == Whose::Program {
            self.seen.add(past);
            self.seen_at_most.add(past);
        }
    }

    pub(crate) fn complete_laid(&mut self, slot: usize, whose: Whose) {
        if let Some(laid) = self.laid(slot) {
            self.complete(&laid.past, whose);
        }
    }

    pub(crate) fn complete_stream(&mut self, native: u64, whose: Whose) {
        let past = self.past(native);
        self.complete(&past, whose);
    }

    /// All that is queued on a device is complete, and what that waited for.
    pub(crate) fn complete_device(&mut self, device: DeviceId, whose: Whose) {
        let gone = &self.gone[device.0 as usize];
        if whose == Whose::Program {
            self.seen_at_most.add(&gone.all);
        }
        let mut all = gone.all;
        self.streams.iter().filter(|s| s.device == device).for_each(|s| all.add(&s.past));
        self.complete(&all, whose);
    }

    /// Whether a wait for one of the pool's markers (slots from `first` on) would order the point.
    pub(crate) fn marked(&self, point: Point, first: usize) -> bool {
        let markers = self.laid.iter().skip(first).flatten();
        markers.filter(|laid| laid.by == point.stream).any(|laid| laid.past.has(point.id))
    }
}
