//! What comes before what: happens-before over single operations, as sets. No positions and no clocks: an operation is a
//! bit, and a stream's past is the set of all operations that whatever it does next comes after.
//!
//! It is fed by the driver's side of the calls, not by what the pool says about them.

use crate::set::Set;
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
    /// The past of destroyed streams.
    gone: Set,
    /// Of those that the legacy default stream comes after.
    gone_blocking: Set,
    /// A stream that the legacy default stream comes after was destroyed: the pool may forget that order.
    pub(crate) vague: bool,
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
            gone: Set::NONE,
            gone_blocking: Set::NONE,
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
        for set in [&mut self.seen, &mut self.known, &mut self.seen_at_most, &mut self.gone, &mut self.gone_blocking] {
            set.keep(asked_about);
        }
    }

    pub(crate) fn begin_stream(&mut self, native: u64, kind: StreamKind) -> u32 {
        self.numbers += 1;
        self.streams.push(Stream { native, number: self.numbers, kind, past: Set::NONE });
        // The new stream may have the place of one of which only the pool knew that it was complete.
        let mut complete = self.gone;
        complete.keep(&self.known);
        self.seen_at_most.add(&complete);
        self.numbers
    }

    pub(crate) fn end_stream(&mut self, native: u64) {
        if let Some(at) = self.streams.iter().position(|s| s.native == native) {
            let stream = self.streams.swap_remove(at);
            self.gone.add(&stream.past);
            if blocking(stream.kind) {
                self.gone_blocking.add(&stream.past);
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

    pub(crate) fn number(&self, native: u64) -> u32 {
        self.stream(native).map_or(0, |s| s.number)
    }

    /// All that whatever the stream does next comes after: its past, and what the legacy default stream implies now.
    pub(crate) fn ahead(&self, native: u64) -> Set {
        let Some(stream) = self.stream(native) else { return Set::NONE };
        let mut ahead = stream.past;
        match stream.kind {
            StreamKind::NonBlocking => {}
            StreamKind::Legacy => {
                ahead.add(&self.gone_blocking);
                self.streams.iter().filter(|s| blocking(s.kind)).for_each(|s| ahead.add(&s.past));
            }
            StreamKind::Blocking | StreamKind::PerThread => {
                let legacy = self.streams.iter().filter(|s| s.kind == StreamKind::Legacy);
                legacy.for_each(|s| ahead.add(&s.past));
            }
        }
        ahead
    }

    /// Whether the rules of the legacy default stream order the stream against any other.
    pub(crate) fn tied(&self, native: u64) -> bool {
        let kind = self.stream(native).map_or(StreamKind::NonBlocking, |s| s.kind);
        match kind {
            StreamKind::NonBlocking => false,
            StreamKind::Legacy => true,
            StreamKind::Blocking | StreamKind::PerThread => self.streams.iter().any(|s| s.kind == StreamKind::Legacy),
        }
    }

    /// What those rules alone put before whatever the stream does next.
    pub(crate) fn implied(&self, native: u64) -> Set {
        if self.tied(native) { self.ahead(native) } else { Set::NONE }
    }

    /// The stream's own past, without that.
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

    /// An operation on every stream.
    pub(crate) fn add_everywhere(&mut self) -> Vec<Point> {
        let natives: Vec<u64> = self.streams.iter().map(|s| s.native).collect();
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

    pub(crate) fn complete_everything(&mut self, whose: Whose) {
        let mut all = self.gone;
        self.streams.iter().for_each(|s| all.add(&s.past));
        self.complete(&all, whose);
    }

    /// Whether a wait for one of the pool's markers (slots from `first` on) would order the point.
    pub(crate) fn marked(&self, point: Point, first: usize) -> bool {
        let markers = self.laid.iter().skip(first).flatten();
        markers.filter(|laid| laid.by == point.stream).any(|laid| laid.past.has(point.id))
    }
}
