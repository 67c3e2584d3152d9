//! The vendor's streams and events that this library has seen begin, from the first call on: a handle that is given out
//! again is another stream or event.

use super::front::{Handle, Implied, front};
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use weir::id::{EventId, StreamId};
use weir::policy::StreamKind;

/// An id in one runtime of several that the process may have had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<T> {
    pub(super) world: u64,
    pub(super) id: T,
}

/// A stream of the vendor's.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) context: usize,
    pub(super) device: u32,
    pub(super) kind: Kind,
    /// The thread that it is of, if it is of one: others have another stream under the same handle.
    pub(super) thread: u64,
    /// What tells it from others that had its handle, where the vendor says that.
    identity: Option<u64>,
    /// What the runtime calls it, once it was needed.
    pub(super) id: Mutex<Option<Named<StreamId>>>,
}

impl Stream {
    /// Whether a handle that was this stream's still is, as far as the vendor says.
    fn still_has(&self, handle: Handle) -> bool {
        self.identity.is_none() || front().identity(handle) == self.identity
    }
}

/// Whether a stream's calls run in the order in which they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Ordinary(StreamKind),
    /// Of models, or for other work than the runtime's.
    Special,
}

/// What an event can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uses {
    /// What happens to it happens in this process.
    pub(super) is_local: bool,
    /// Streams wait for it: the vendor may pass over waits for others.
    pub(super) is_waited_for: bool,
    /// It can be asked whether it is complete.
    pub(super) is_asked: bool,
}

/// An event of the vendor's.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) context: usize,
    uses: Uses,
    /// Whether something records it that this library cannot see, from some time on.
    elsewhere: AtomicBool,
    /// What the runtime calls it, once it was needed.
    pub(super) id: Mutex<Option<Named<EventId>>>,
    /// Held while the vendor records, resets or ends it, so that the runtime learns of these in the order in which they
    /// take effect.
    pub(super) turn: Mutex<()>,
}

impl Event {
    /// Whether what happens to it happens in this process, and is seen.
    pub(super) fn is_local(&self) -> bool {
        self.uses.is_local && !self.elsewhere.load(Ordering::SeqCst)
    }

    /// Whether streams wait for it, and for what was seen.
    pub(super) fn is_waited_for(&self) -> bool {
        self.is_local() && self.uses.is_waited_for
    }

    /// Whether it can be asked whether what was seen is complete.
    pub(super) fn is_asked(&self) -> bool {
        self.is_local() && self.uses.is_asked
    }

    /// From now on something records it that is not seen.
    pub(super) fn give_away(&self) {
        self.elsewhere.store(true, Ordering::SeqCst);
    }
}

/// Which stream a handle names: those that exist without having been created are others in each context, or thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    handle: usize,
    context: usize,
    thread: u64,
}

impl Key {
    fn new(stream: Handle, context: usize, implied: Option<Implied>) -> Self {
        match implied {
            None => Self { handle: stream.addr(), context: 0, thread: 0 },
            Some(implied) => Self { handle: stream.addr(), context, thread: implied.thread },
        }
    }
}

#[derive(Default)]
struct Handles {
    streams: HashMap<Key, Arc<Stream>>,
    events: HashMap<usize, Arc<Event>>,
    /// Contexts in which something was named that was not seen to begin.
    distrusted: HashSet<usize>,
}

static HANDLES: Mutex<Option<Handles>> = Mutex::new(None);
/// Whether no event of any context is believed.
static NOTHING_IS_SEEN: AtomicBool = AtomicBool::new(false);

fn with<R>(work: impl FnOnce(&mut Handles) -> R) -> R {
    let mut handles: MutexGuard<'_, Option<Handles>> = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    work(handles.get_or_insert_default())
}

/// Notes a stream that has begun in the thread's context. The answer: one that was there before under its handle, whose
/// end was not seen.
pub(super) fn add_stream(stream: Handle, kind: Kind) -> Option<Arc<Stream>> {
    let context = front().context();
    let key = Key::new(stream, context, None);
    insert_stream(
        key,
        Stream {
            context,
            device: front().device()?,
            kind,
            thread: 0,
            identity: front().identity(stream),
            id: Mutex::default(),
        },
    )
}

fn insert_stream(key: Key, stream: Stream) -> Option<Arc<Stream>> {
    let context = stream.context;
    with(|handles| {
        let old = handles.streams.insert(key, Arc::new(stream));
        if old.is_some() {
            handles.distrusted.insert(context);
        }
        old
    })
}

/// The stream of a handle that may be known already, and is of this kind if it is not.
pub(super) fn find_or_add_stream(stream: Handle, implied: Option<Implied>) -> Option<Arc<Stream>> {
    let context = front().context();
    let key = Key::new(stream, context, implied);
    if let Some(known) = with(|handles| handles.streams.get(&key).cloned()) {
        return Some(known);
    }
    let (kind, thread) = implied.map_or((StreamKind::NonBlocking, 0), |implied| (implied.kind, implied.thread));
    let device = front().device()?;
    let kind = Kind::Ordinary(kind);
    let new = Arc::new(Stream { context, device, kind, thread, identity: None, id: Mutex::default() });
    // Another thread may have been faster.
    Some(with(|handles| Arc::clone(handles.streams.entry(key).or_insert(new))))
}

/// What is known of a handle.
pub(super) enum Found {
    Known(Arc<Stream>),
    /// The stream that had the handle has ended unseen.
    Ended(Arc<Stream>),
    Unknown,
}

/// The stream of a handle. One that was not seen to begin, or to end, makes the context distrusted.
pub(super) fn stream(stream: Handle) -> Found {
    let implied = front().implied(stream);
    if implied.is_some() {
        return find_or_add_stream(stream, implied).map_or(Found::Unknown, Found::Known);
    }
    let key = Key::new(stream, 0, None);
    let Some(known) = with(|handles| handles.streams.get(&key).cloned()) else {
        distrust(front().context());
        return Found::Unknown;
    };
    if known.still_has(stream) {
        return Found::Known(known);
    }
    distrust(known.context);
    // Of several threads, one takes it.
    let taken = with(|handles| match handles.streams.get(&key) {
        Some(found) if Arc::ptr_eq(found, &known) => handles.streams.remove(&key),
        _ => None,
    });
    taken.map_or(Found::Unknown, Found::Ended)
}

/// Takes a stream out: its handle names none from then on.
pub(super) fn take_stream(stream: Handle) -> Found {
    let found = with(|handles| handles.streams.remove(&Key::new(stream, 0, None)));
    match found {
        Some(known) if known.still_has(stream) => Found::Known(known),
        Some(ended) => {
            distrust(ended.context);
            Found::Ended(ended)
        }
        None => {
            if front().implied(stream).is_none() {
                distrust(front().context());
            }
            Found::Unknown
        }
    }
}

/// Puts a stream back that did not end after all.
pub(super) fn put_stream(stream: Handle, found: Arc<Stream>) {
    with(|handles| handles.streams.insert(Key::new(stream, 0, None), found));
}

/// Takes out what a thread has had alone.
pub(super) fn take_thread(thread: u64) -> Vec<Arc<Stream>> {
    with(|handles| handles.streams.extract_if(|key, _| key.thread == thread).map(|(_, stream)| stream).collect())
}

/// Every stream of a context.
pub(super) fn streams_of(context: usize) -> Vec<Arc<Stream>> {
    with(|handles| handles.streams.values().filter(|stream| stream.context == context).cloned().collect())
}

/// Notes an event that has begun. The answer: one that was there before under its handle, whose end was not seen.
pub(super) fn add_event(event: Handle, uses: Uses) -> Option<Arc<Event>> {
    let context = front().context();
    let elsewhere = AtomicBool::new(false);
    let new = Arc::new(Event { context, uses, elsewhere, id: Mutex::default(), turn: Mutex::default() });
    with(|handles| {
        let old = handles.events.insert(event.addr(), new);
        if old.is_some() {
            handles.distrusted.insert(context);
        }
        old
    })
}

/// The event of a handle. One that was not seen to begin makes the context distrusted.
pub(super) fn event(event: Handle) -> Option<Arc<Event>> {
    let known = with(|handles| handles.events.get(&event.addr()).cloned());
    if known.is_none() {
        distrust(front().context());
    }
    known
}

/// Takes an event out: its handle names none from then on.
pub(super) fn take_event(event: Handle) -> Option<Arc<Event>> {
    let known = with(|handles| handles.events.remove(&event.addr()));
    if known.is_none() {
        distrust(front().context());
    }
    known
}

/// Puts an event back that did not end after all.
pub(super) fn put_event(event: Handle, found: Arc<Event>) {
    with(|handles| handles.events.insert(event.addr(), found));
}

/// Believes no event of a context from now on.
fn distrust(context: usize) {
    with(|handles| handles.distrusted.insert(context));
}

/// Believes no event at all from now on.
pub(super) fn distrust_everything() {
    NOTHING_IS_SEEN.store(true, Ordering::SeqCst);
}

pub(super) fn is_distrusted(context: usize) -> bool {
    NOTHING_IS_SEEN.load(Ordering::SeqCst) || with(|handles| handles.distrusted.contains(&context))
}

/// Takes out what belongs to a context that has ended, or is about to: all of it ends with it.
pub(super) fn take_context(context: usize) -> (Vec<Arc<Stream>>, Vec<Arc<Event>>) {
    with(|handles| {
        handles.distrusted.remove(&context);
        let streams = handles.streams.extract_if(|_, stream| stream.context == context);
        let streams = streams.map(|(_, stream)| stream).collect();
        let events = handles.events.extract_if(|_, event| event.context == context);
        (streams, events.map(|(_, event)| event).collect())
    })
}
