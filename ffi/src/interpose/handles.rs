//! The vendor's streams and events that this library has seen begin, from the first call on: a handle that is given out
//! again is another stream or event.

use super::vendor::{self, Handle};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use weir::id::{EventId, StreamId};

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
    /// What the runtime calls it, once it was needed.
    pub(super) id: Mutex<Option<Named<StreamId>>>,
}

/// Whether a stream's calls run in the order in which they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Ordinary,
    /// Of models, or for other work than the runtime's.
    Special,
}

/// An event of the vendor's.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) context: usize,
    pub(super) flags: u32,
    /// What the runtime calls it, once it was needed.
    pub(super) id: Mutex<Option<Named<EventId>>>,
    /// Held while the vendor records, resets or ends it, so that the runtime learns of these in the order in which they
    /// take effect.
    pub(super) turn: Mutex<()>,
}

/// The flags of an event that was made without any.
pub const PLAIN_EVENT: u32 = SYNC | PROGRESS;
const SYNC: u32 = 0x1;
const PROGRESS: u32 = 0x2;
const EXTERNAL: u32 = 0x20;
const IPC: u32 = 0x40;

impl Event {
    /// Whether what happens to it happens in this process.
    pub(super) fn is_local(&self) -> bool {
        self.flags & (EXTERNAL | IPC) == 0
    }

    /// Whether streams wait for it: the vendor may pass over waits for others.
    pub(super) fn is_waited_for(&self) -> bool {
        self.is_local() && self.flags & SYNC != 0
    }

    /// Whether it can be asked whether it is complete.
    pub(super) fn is_asked(&self) -> bool {
        self.is_local() && self.flags & (SYNC | PROGRESS) != 0
    }
}

#[derive(Default)]
struct Handles {
    /// By handle; the null handle, which is another stream in each context, by handle and context.
    streams: HashMap<(usize, usize), Arc<Stream>>,
    events: HashMap<usize, Arc<Event>>,
    /// Contexts in which something was named that was not seen to begin.
    distrusted: HashSet<usize>,
}

static HANDLES: Mutex<Option<Handles>> = Mutex::new(None);

fn with<R>(work: impl FnOnce(&mut Handles) -> R) -> R {
    let mut handles: MutexGuard<'_, Option<Handles>> = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    work(handles.get_or_insert_default())
}

/// The thread's context, or 0 where it has none.
pub(super) fn context() -> usize {
    let mut context: Handle = core::ptr::null_mut();
    match vendor::get_context(&mut context) {
        0 => context.addr(),
        _ => 0,
    }
}

/// The device of the thread's context.
pub(super) fn device() -> Option<u32> {
    let mut device = -1;
    (vendor::get_device(&mut device) == 0).then(|| u32::try_from(device).ok()).flatten()
}

fn key(stream: Handle, context: usize) -> (usize, usize) {
    (stream.addr(), if stream.is_null() { context } else { 0 })
}

/// Notes a stream that has begun in the thread's context. The answer: one that was there before under its handle, whose
/// end was not seen.
pub(super) fn add_stream(stream: Handle, kind: Kind) -> Option<Arc<Stream>> {
    let (context, device) = (context(), device()?);
    let new = Arc::new(Stream { context, device, kind, id: Mutex::default() });
    let key = key(stream, context);
    with(|handles| {
        let old = handles.streams.insert(key, new);
        if old.is_some() {
            handles.distrusted.insert(context);
        }
        old
    })
}

/// Notes a stream that may be known already.
pub(super) fn find_or_add_stream(stream: Handle) -> Option<Arc<Stream>> {
    let context = context();
    let known = with(|handles| handles.streams.get(&key(stream, context)).cloned());
    if known.is_none() {
        add_stream(stream, Kind::Ordinary);
        return with(|handles| handles.streams.get(&key(stream, context)).cloned());
    }
    known
}

/// The stream of a handle. One that was not seen to begin makes the context distrusted.
pub(super) fn stream(stream: Handle) -> Option<Arc<Stream>> {
    if stream.is_null() {
        return find_or_add_stream(stream);
    }
    let context = context();
    with(|handles| {
        let found = handles.streams.get(&key(stream, context)).cloned();
        if found.is_none() {
            handles.distrusted.insert(context);
        }
        found
    })
}

/// Takes a stream out: its handle names none from then on.
pub(super) fn take_stream(stream: Handle) -> Option<Arc<Stream>> {
    let context = context();
    with(|handles| {
        let found = handles.streams.remove(&key(stream, context));
        if found.is_none() {
            handles.distrusted.insert(context);
        }
        found
    })
}

/// Puts a stream back that did not end after all.
pub(super) fn put_stream(stream: Handle, found: Arc<Stream>) {
    let key = key(stream, found.context);
    with(|handles| handles.streams.insert(key, found));
}

/// Every stream of a context, and its handle.
pub(super) fn streams_of(context: usize) -> Vec<(usize, Arc<Stream>)> {
    with(|handles| {
        let all = handles.streams.iter().filter(|(_, stream)| stream.context == context);
        all.map(|((handle, _), stream)| (*handle, Arc::clone(stream))).collect()
    })
}

/// Notes an event that has begun. The answer: one that was there before under its handle, whose end was not seen.
pub(super) fn add_event(event: Handle, flags: u32) -> Option<Arc<Event>> {
    let context = context();
    let new = Arc::new(Event { context, flags, id: Mutex::default(), turn: Mutex::default() });
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
        distrust(context());
    }
    known
}

/// Takes an event out: its handle names none from then on.
pub(super) fn take_event(event: Handle) -> Option<Arc<Event>> {
    let known = with(|handles| handles.events.remove(&event.addr()));
    if known.is_none() {
        distrust(context());
    }
    known
}

/// Puts an event back that did not end after all.
pub(super) fn put_event(event: Handle, found: Arc<Event>) {
    with(|handles| handles.events.insert(event.addr(), found));
}

/// Believes no event of a context from now on.
pub(super) fn distrust(context: usize) {
    with(|handles| handles.distrusted.insert(context));
}

pub(super) fn is_distrusted(context: usize) -> bool {
    with(|handles| handles.distrusted.contains(&context))
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
