//! A stream: one thread that runs its commands in the order of their queueing.

use super::arguments::{Access, Arguments, KernelArg, Lent};
use super::device::Device;
use super::fault::{Fault, lock};
use super::marker::{Mark, Progress};
use core::any::Any;
use core::cell::Cell;
use core::ptr::{NonNull, with_exposed_provenance_mut};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use weir::driver::NativeStream;
use weir::policy::StreamKind;
use weir::units::{Bytes, DevicePtr};

/// As many kernels may be queued on a stream before a launch waits: about what accelerators hold. Without a bound a
/// program that never synchronises would be done with its launches before the first kernel is.
pub(super) const QUEUE: u64 = 1024;

thread_local! {
    /// Whether this thread runs a stream's work.
    static IN_STREAM: Cell<bool> = const { Cell::new(false) };
}

/// A kernel before it runs.
pub(super) type Kernel = Box<dyn FnOnce(&mut Launch<'_>) + Send>;

pub(super) enum Command {
    Kernel(Kernel),
    Wait(Mark),
}

#[derive(Default)]
struct Queue {
    commands: VecDeque<Command>,
    /// How many commands were ever queued: the position of the latest.
    queued: u64,
    /// Per stream, the position up to which a wait for it is queued already.
    followed: HashMap<u64, u64>,
    state: Worker,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Worker {
    #[default]
    Busy,
    /// It sleeps until something is queued.
    Idle,
    /// It ends when the queue is empty; nothing more is queued.
    Closing,
}

pub(super) struct Stream {
    pub(super) id: NativeStream,
    /// The number of the device.
    pub(super) place: usize,
    pub(super) kind: StreamKind,
    device: Arc<Device>,
    progress: Arc<Progress>,
    queue: Mutex<Queue>,
    filled: Condvar,
}

impl Stream {
    pub(super) fn new(id: NativeStream, place: usize, kind: StreamKind, device: Arc<Device>) -> Self {
        Self { id, place, kind, device, progress: Arc::default(), queue: Mutex::default(), filled: Condvar::new() }
    }

    /// Queues a command; `false` where the stream is being destroyed.
    pub(super) fn push(&self, command: Command) -> bool {
        let mut queue = lock(&self.queue);
        if queue.state == Worker::Closing {
            return false;
        }
        queue.commands.push_back(command);
        queue.queued += 1;
        if queue.state == Worker::Idle {
            queue.state = Worker::Busy;
            self.filled.notify_one();
        }
        true
    }

    /// Where the queue is full, waits until half of it has run. A kernel that launches never waits: it might be what it
    /// waits for.
    pub(super) fn make_room(&self) {
        let queued = lock(&self.queue).queued;
        let full = queued.checked_sub(QUEUE).is_some_and(|position| !Mark::new(&self.progress, position).is_complete());
        if full && !IN_STREAM.get() {
            Mark::new(&self.progress, queued - QUEUE / 2).wait(None);
        }
    }

    /// Everything queued so far.
    pub(super) fn mark(&self) -> Mark {
        Mark::new(&self.progress, lock(&self.queue).queued)
    }

    /// Whether the rules of default streams order this stream's later work after `other`'s earlier work.
    pub(super) fn follows(&self, other: &Self) -> bool {
        use StreamKind::{Blocking, Legacy, PerThread};
        matches!((self.kind, other.kind), (Legacy, Blocking | PerThread) | (Blocking | PerThread, Legacy))
    }

    /// Makes what is queued from now on wait for everything that is queued on `other`.
    pub(super) fn follow(&self, other: &Self) {
        let position = lock(&other.queue).queued;
        let known = lock(&self.queue).followed.insert(other.id.0, position);
        let mark = Mark::new(&other.progress, position);
        if known != Some(position) && !mark.is_complete() {
            self.push(Command::Wait(mark));
        }
    }

    /// Forgets a stream that is gone.
    pub(super) fn forget(&self, other: &Self) {
        lock(&self.queue).followed.remove(&other.id.0);
    }

    /// The thread ends when all that is queued is done.
    pub(super) fn close(&self) {
        lock(&self.queue).state = Worker::Closing;
        self.filled.notify_one();
    }

    /// Whether it was closed and all its work is done.
    pub(super) fn is_over(&self) -> bool {
        let queue = lock(&self.queue);
        queue.state == Worker::Closing && Mark::new(&self.progress, queue.queued).is_complete()
    }

    /// The life of the thread.
    pub(super) fn work(&self) {
        IN_STREAM.set(true);
        let mut batch = VecDeque::new();
        while self.next(&mut batch) {
            for command in batch.drain(..) {
                match command {
                    Command::Wait(mark) => {
                        mark.wait(None);
                    }
                    Command::Kernel(kernel) => self.run(kernel),
                }
                self.progress.advance();
            }
        }
    }

    /// Takes everything that is queued; `false` when the stream has ended.
    fn next(&self, batch: &mut VecDeque<Command>) -> bool {
        let mut queue = lock(&self.queue);
        while queue.commands.is_empty() {
            if queue.state == Worker::Closing {
                return false;
            }
            queue.state = Worker::Idle;
            queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        core::mem::swap(batch, &mut queue.commands);
        true
    }

    fn run(&self, kernel: Kernel) {
        if self.device.is_faulted() {
            return;
        }
        let number = self.device.begin_launch();
        let mut launch = Launch { device: &self.device, stream: self.id, number };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| kernel(&mut launch))) {
            launch.fail(&text_of(panic.as_ref()));
        }
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".to_owned())
}

/// A kernel that is running: the way to its device's memory. Whatever it was given stays mapped, and apart from other
/// kernels, until it ends.
pub struct Launch<'d> {
    device: &'d Device,
    stream: NativeStream,
    number: u64,
}

impl Launch<'_> {
    /// The stream that the kernel runs on.
    #[must_use]
    pub fn stream(&self) -> NativeStream {
        self.stream
    }

    /// The bytes of `args`, or `None` after a fault of the device: see [`Fault`].
    pub fn bytes<A: Arguments>(&mut self, args: A) -> Option<Lent<'_, A>> {
        let mut list = Vec::with_capacity(6);
        args.list(&mut list);
        if !self.device.pin(self.number, self.stream, &list) {
            return None;
        }
        // SAFETY: all runs were just pinned without a clash, and stay so until `self` is dropped, which the borrow
        // of `self` outlasts. A second call needs `self` again, when what the first one lent is gone.
        Some(unsafe { args.lend() })
    }

    /// The address of a run of bytes, for kernels written in C. What this kernel was given before may overlap.
    /// `None` after a fault. The address is good until the kernel ends.
    pub fn address(&mut self, ptr: DevicePtr, bytes: Bytes, access: Access) -> Option<NonNull<u8>> {
        let arg = KernelArg { ptr, bytes, access };
        if !self.device.pin(self.number, self.stream, &[arg]) {
            return None;
        }
        NonNull::new(with_exposed_provenance_mut(usize::try_from(ptr.0).ok()?))
    }

    /// Reports that the kernel went wrong: a fault of the device.
    pub fn fail(&mut self, message: &str) {
        self.device.record(Fault::Kernel { stream: self.stream, message: message.to_owned() });
    }
}

impl Drop for Launch<'_> {
    fn drop(&mut self) {
        self.device.unpin(self.number);
    }
}
