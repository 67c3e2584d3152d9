//! weir as it is measured: a runtime for one thread, on a device that does nothing.

use crate::churn::{Allocator, Host, Refused};
use crate::idle::{DEVICE, GRANULE, Idle};
use std::cell::Cell;
use std::fmt::Debug;
use weir::driver::NativeStream;
use weir::id::{EventId, PoolId, StreamId};
use weir::policy::{PoolConfig, StreamKind};
use weir::trace::{NullSink, Sink};
use weir::units::{Bytes, DevicePtr};
use weir::{Capacities, Local, StreamConfig};
use weir_ffi::arenas::HeapArenas;

/// What a runtime is made with.
pub(crate) struct Setting {
    pub(crate) capacities: Capacities,
    /// The pool's limit.
    pub(crate) bytes: u64,
    pub(crate) kinds: Vec<StreamKind>,
    pub(crate) events: usize,
    pub(crate) device: Idle,
}

impl Setting {
    /// A pool of `bytes` on one stream, with room for `blocks` blocks; everything else as by default, and no log.
    pub(crate) fn new(blocks: usize, bytes: u64) -> Self {
        let defaults = Capacities::default();
        let capacities = Capacities {
            blocks: blocks.max(defaults.blocks),
            granules: (bytes / GRANULE + 8) as usize,
            pages: 0,
            ..defaults
        };
        Self { capacities, bytes, kinds: vec![StreamKind::NonBlocking], events: 0, device: Idle::default() }
    }

    /// The same with so many streams and events.
    pub(crate) fn streams(mut self, streams: usize, events: usize) -> Self {
        self.capacities.streams = self.capacities.streams.max(streams);
        self.capacities.events = self.capacities.events.max(events);
        Self { kinds: vec![StreamKind::NonBlocking; streams], events, ..self }
    }
}

/// A pool with its streams and events, which lives as long as the program.
pub(crate) struct Pool<S: Sink = NullSink> {
    pub(crate) runtime: Local<'static, Idle, S>,
    pub(crate) pool: PoolId,
    pub(crate) streams: Vec<StreamId>,
    pub(crate) events: Vec<EventId>,
    /// It was made to grow by more than it needs.
    grown: Cell<bool>,
}

impl<S: Sink> Pool<S> {
    pub(crate) fn new(setting: Setting, sink: S) -> Result<Self, String> {
        let Setting { capacities, bytes, kinds, events, device } = setting;
        let arenas = Box::leak(Box::new(HeapArenas::new(capacities)));
        let runtime = Local::new(arenas.lend(), device, sink);
        let stream = |(n, kind)| {
            let native = NativeStream(n as u64 + 1);
            runtime.create_stream(StreamConfig { device: DEVICE, native, kind, context: 0 }).map_err(text)
        };
        let streams = kinds.into_iter().enumerate().map(stream).collect::<Result<Vec<_>, _>>()?;
        let events = (0..events).map(|_| runtime.create_event().map_err(text)).collect::<Result<_, _>>()?;
        let limit = Bytes(bytes.next_multiple_of(GRANULE) + GRANULE);
        // Nothing is released: the other allocators keep what they have, too.
        let config = PoolConfig { limit, threshold: Bytes(u64::MAX), ..PoolConfig::new(DEVICE) };
        let pool = runtime.create_pool(config).map_err(text)?;
        Ok(Self { runtime, pool, streams, events, grown: Cell::new(false) })
    }

    /// Maps `bytes` and leaves them free: where reuse is measured, the pool grows before.
    pub(crate) fn grow(&self, bytes: u64) -> Result<(), String> {
        self.grown.set(true);
        let all = self.malloc(bytes, 0)?;
        self.free(all, 0)
    }

    pub(crate) fn stream(&self, number: usize) -> Result<StreamId, String> {
        self.streams.get(number).copied().ok_or_else(|| format!("no stream {number}"))
    }

    pub(crate) fn event(&self, number: usize) -> Result<EventId, String> {
        self.events.get(number).copied().ok_or_else(|| format!("no event {number}"))
    }

    pub(crate) fn malloc(&self, size: u64, stream: usize) -> Result<DevicePtr, String> {
        self.runtime.malloc_async(self.pool, Bytes(size), self.stream(stream)?).map_err(text)
    }

    pub(crate) fn free(&self, block: DevicePtr, stream: usize) -> Result<(), String> {
        self.runtime.free_async(block, self.stream(stream)?).map_err(text)
    }

    pub(crate) fn record(&self, event: usize, stream: usize) -> Result<(), String> {
        self.runtime.record(self.event(event)?, self.stream(stream)?).map_err(text)
    }

    pub(crate) fn wait(&self, stream: usize, event: usize) -> Result<(), String> {
        self.runtime.wait(self.stream(stream)?, self.event(event)?).map_err(text)
    }
}

/// What went wrong, for people.
pub(crate) fn text(error: impl Debug) -> String {
    format!("weir refused: {error:?}")
}

/// A pool as an allocator among others.
pub(crate) struct Weir<S: Sink = NullSink> {
    pub(crate) pool: Pool<S>,
    /// The stream of the calls that follow.
    stream: StreamId,
}

impl<S: Sink> Weir<S> {
    /// On the pool's first stream.
    pub(crate) fn new(pool: Pool<S>) -> Result<Self, String> {
        Ok(Self { stream: pool.stream(0)?, pool })
    }
}

impl<S: Sink> Allocator for Weir<S> {
    type Block = DevicePtr;

    fn malloc(&mut self, size: u64) -> Option<DevicePtr> {
        self.pool.runtime.malloc_async(self.pool.pool, Bytes(size), self.stream).ok()
    }

    fn free(&mut self, block: DevicePtr) -> Result<(), Refused> {
        self.pool.runtime.free_async(block, self.stream).map_err(|_| Refused)
    }

    fn peak(&self) -> Option<u64> {
        let stats = self.pool.runtime.stats(self.pool.pool).ok()?;
        (!self.pool.grown.get()).then_some(stats.reserved_high.0)
    }

    fn on(&mut self, stream: usize) {
        if let Some(stream) = self.pool.streams.get(stream) {
            self.stream = *stream;
        }
    }

    fn record(&mut self, event: usize) -> Result<(), Refused> {
        let event = self.pool.events.get(event).ok_or(Refused)?;
        self.pool.runtime.record(*event, self.stream).map_err(|_| Refused)
    }

    fn wait(&mut self, event: usize) -> Result<(), Refused> {
        let event = self.pool.events.get(event).ok_or(Refused)?;
        self.pool.runtime.wait(self.stream, *event).map_err(|_| Refused)
    }

    fn synchronise(&mut self, what: Host) -> Result<(), Refused> {
        let done = match what {
            Host::Stream => self.pool.runtime.synchronize_stream(self.stream),
            Host::Device => self.pool.runtime.synchronize_device(DEVICE),
        };
        done.map_err(|_| Refused)
    }
}
