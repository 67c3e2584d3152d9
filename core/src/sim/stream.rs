//! The life of a stream, and what comes before its next operation.

use super::queue::tied;
use super::state::State;
use super::storage::{Link, SimStream};
use super::violation::{SimArena, SimError};
use crate::driver::NativeStream;
use crate::id::DeviceId;
use crate::policy::StreamKind;

impl State<'_> {
    pub(super) fn create_stream(&mut self, device: DeviceId, kind: StreamKind) -> Result<NativeStream, SimError> {
        self.memory.device(device)?;
        let full = SimError::Full(SimArena::Streams);
        let streams = &self.queue.streams;
        let legacy = |s: &&SimStream| s.exists && s.kind == kind && s.device == device.0;
        if kind == StreamKind::Legacy
            && let Some(there) = streams.iter().find(legacy)
        {
            return Err(SimError::LegacyExists(NativeStream(u64::from(there.handle) + 1)));
        }
        // A place is given away only when the host knows all its work to be complete: its numbers then stand for
        // both tenants.
        let order = &self.order;
        let mut places = streams.iter().enumerate();
        let place = places.find(|(slot, s)| !s.exists && order.host_knows(*slot, s.last));
        let (slot, old) = place.map(|(slot, s)| (slot, *s)).ok_or(full)?;
        let handle = streams.iter().position(|s| s.tenant == Link::NONE).ok_or(full)?;
        self.order.begin(slot)?;
        *self.queue.stream_mut(slot)? = SimStream {
            device: device.0,
            handle: handle as u32,
            kind,
            exists: true,
            host_version: self.order.version(),
            ..old
        };
        self.queue.stream_mut(handle)?.tenant = Link::to(slot);
        self.queue.high = self.queue.high.max(slot + 1);
        Ok(self.queue.native(slot))
    }

    /// The handle is free at once; what is queued runs on.
    pub(super) fn destroy_stream(&mut self, stream: NativeStream) -> Result<(), SimError> {
        let slot = self.queue.place(stream)?;
        let place = self.queue.stream_mut(slot)?;
        place.exists = false;
        place.paused = false;
        let handle = place.handle as usize;
        self.queue.stream_mut(handle)?.tenant = Link::NONE;
        Ok(())
    }

    pub(super) fn pause(&mut self, stream: NativeStream) -> Result<(), SimError> {
        let slot = self.queue.place(stream)?;
        self.queue.stream_mut(slot)?.paused = true;
        Ok(())
    }

    pub(super) fn resume(&mut self, stream: NativeStream) -> Result<(), SimError> {
        let slot = self.queue.place(stream)?;
        self.queue.stream_mut(slot)?.paused = false;
        self.queued()
    }

    /// Prepares a stream for its next operation: room in the queue, and what the host knows by now.
    pub(super) fn approach(&mut self, stream: NativeStream) -> Result<usize, SimError> {
        let slot = self.queue.place(stream)?;
        while self.queue.ops.is_full() {
            let (slot, op) = self.queue.oldest()?.ok_or(SimError::Full(SimArena::Ops))?;
            self.squeezed += 1;
            self.perform(slot, op)?;
        }
        let version = self.order.version();
        let place = self.queue.stream_mut(slot)?;
        if place.host_version != version {
            place.host_version = version;
            self.order.after_host(slot)?;
        }
        Ok(slot)
    }

    /// Adds the order that the legacy rule gives to the next operation. It must be queued then: others take it for
    /// granted that what a stream comes after is what its last operation comes after.
    pub(super) fn tie(&mut self, slot: usize) -> Result<(), SimError> {
        let stream = *self.queue.stream(slot)?;
        if stream.kind == StreamKind::NonBlocking {
            return Ok(());
        }
        for (other, before) in self.queue.streams.iter().take(self.queue.high).enumerate() {
            if tied(&stream, before) && !self.order.before(other, before.last, slot) {
                self.order.after_stream(slot, other, before.last)?;
            }
        }
        Ok(())
    }

    /// Both.
    pub(super) fn arrive(&mut self, stream: NativeStream) -> Result<usize, SimError> {
        let slot = self.approach(stream)?;
        self.tie(slot)?;
        Ok(slot)
    }
}
