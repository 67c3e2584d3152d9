//! Handles: numbers that are given out once in the life of the process, and looked up.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A handle as C has it.
pub(crate) type Raw = *mut c_void;

/// What a handle names; part of it, so that a stream is never taken for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Context = 1,
    Stream = 2,
    Event = 3,
    Pool = 4,
    Function = 5,
    Binary = 6,
}

impl Kind {
    const BITS: u32 = 4;

    /// A handle that nobody has had before.
    pub(crate) fn issue(self) -> usize {
        (NEXT.fetch_add(1, Ordering::Relaxed) << Self::BITS) | self as usize
    }

    /// Whether a handle of this kind was given out, whatever has become of what it named.
    pub(crate) fn was_issued(self, handle: usize) -> bool {
        let kind = handle & ((1 << Self::BITS) - 1);
        kind == self as usize && (1..NEXT.load(Ordering::Relaxed)).contains(&(handle >> Self::BITS))
    }
}

/// The next handle, without its kind.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// A handle for C. It is no address: nothing can be reached through it.
pub(crate) fn to_raw(handle: usize) -> Raw {
    ptr::without_provenance_mut(handle)
}

/// The number that C gave as a handle.
pub(crate) fn from_raw(raw: Raw) -> usize {
    raw.addr()
}

/// Objects by their handles.
pub(crate) struct Table<T> {
    kind: Kind,
    entries: RwLock<BTreeMap<usize, T>>,
}

impl<T> Table<T> {
    pub(crate) const fn new(kind: Kind) -> Self {
        Self { kind, entries: RwLock::new(BTreeMap::new()) }
    }

    /// Keeps an object, and answers its handle.
    pub(crate) fn add(&self, object: T) -> usize {
        let handle = self.kind.issue();
        self.write().insert(handle, object);
        handle
    }

    /// Takes an object out: its handle is stale from then on. Of several threads, one gets it.
    pub(crate) fn take(&self, handle: usize) -> Option<T> {
        self.write().remove(&handle)
    }

    /// Changes an object, if the handle names one.
    pub(crate) fn change(&self, handle: usize, work: impl FnOnce(&mut T)) {
        if let Some(object) = self.write().get_mut(&handle) {
            work(object);
        }
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, BTreeMap<usize, T>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<usize, T>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Copy> Table<T> {
    /// The object of a handle.
    pub(crate) fn get(&self, handle: usize) -> Option<T> {
        self.read().get(&handle).copied()
    }

    /// All handles and objects.
    pub(crate) fn all(&self) -> Vec<(usize, T)> {
        self.read().iter().map(|(handle, object)| (*handle, *object)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_names_its_object_until_it_is_taken_and_nothing_afterwards() {
        let table = Table::new(Kind::Stream);
        let first = table.add('a');
        assert_eq!(table.get(first), Some('a'));
        assert_eq!(table.take(first), Some('a'));
        let second = table.add('b');
        assert_ne!(first, second);
        assert_eq!(table.get(first), None);
        assert_eq!(table.take(first), None);
        assert_eq!(table.all(), vec![(second, 'b')]);
    }

    #[test]
    fn handles_of_two_kinds_differ_and_none_is_null() {
        let (streams, events) = (Table::new(Kind::Stream), Table::<()>::new(Kind::Event));
        let stream = streams.add(());
        assert!(!to_raw(stream).is_null());
        assert!(Kind::Stream.was_issued(stream) && !Kind::Event.was_issued(stream));
        assert!(!Kind::Stream.was_issued(0x7f00_0000_0002) && !Kind::Stream.was_issued(2));
        assert_eq!(events.get(stream), None);
        assert_eq!(from_raw(to_raw(stream)), stream);
    }
}
