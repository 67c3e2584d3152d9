//! The steps that make and destroy streams, events and pools.

use crate::bench::GRANULE;
use crate::op::{self, BLOCKS, Live, Shape};
use crate::oracle;
use crate::order::Point;
use crate::world::{Done, PoolPlace, Stream, World, refusal};
use weir::error::{OrderError, PoolError};
use weir::id::DeviceId;
use weir::policy::{Blocking, Destroy, Growth, PoolConfig, Preference, Release, Reuse, StreamKind, Tuning};
use weir::units::Bytes;
use weir::{PoolStats, StreamConfig};

fn tuning(shape: Shape) -> Tuning {
    let step = Bytes(u64::from(shape.step) * GRANULE);
    Tuning {
        growth: if shape.step > 0 { Growth::Eager(step) } else { Growth::Frugal },
        release: if shape.always { Release::Always } else { Release::Hysteresis },
        blocking: if shape.blocks { Blocking::WhenExhausted } else { Blocking::Never },
        ..Tuning::DEFAULT
    }
}

impl World<'_> {
    pub(crate) fn create_stream(&mut self, place: u8, device: u8, kind: op::Kind) -> Done {
        if self.stream(place).is_some() || device >= self.devices {
            return Ok(());
        }
        let device = DeviceId(u32::from(device));
        let kind = match kind {
            op::Kind::NonBlocking => StreamKind::NonBlocking,
            op::Kind::Blocking => StreamKind::Blocking,
            op::Kind::Legacy => StreamKind::Legacy,
        };
        // Full, or a second legacy stream.
        let Ok(native) = self.sim().create_stream_of_kind(device, kind) else { return Ok(()) };
        match self.rt.create_stream(StreamConfig { kind, ..StreamConfig::new(device, native) }) {
            Ok(id) => {
                let number = self.oracle().order.begin_stream(native.0, device, kind);
                self.streams[usize::from(place)] = Some(Stream { id, native, number, device });
                Ok(())
            }
            Err(error) => {
                let _ = self.sim().destroy_stream(native);
                match error {
                    OrderError::ArenaFull(_) => Ok(()),
                    error => self.allow("create stream", Err(error)),
                }
            }
        }
    }

    /// Tells first what the program still owes: kernels of this stream that no free need come after otherwise.
    pub(crate) fn destroy_stream(&mut self, place: u8) -> Done {
        let Some(stream) = self.stream(place) else { return Ok(()) };
        for at in 0..BLOCKS {
            let Some(block) = &self.blocks[at] else { continue };
            if block.open.iter().any(|&(on, _)| on == place) {
                self.tell_now(at, place)?;
            }
            let point = self.block_ended(at, place, stream);
            if let (Some(point), Some(block)) = (point, &mut self.blocks[at]) {
                block.told.push(point);
            }
        }
        self.rt.destroy_stream(stream.id).map_err(|error| refusal("destroy stream", error))?;
        self.sim().destroy_stream(stream.native).map_err(|error| refusal("destroy the device's stream", error))?;
        self.oracle().order.end_stream(stream.native.0);
        self.streams[usize::from(place)] = None;
        Ok(())
    }

    /// A stream that may use the block until it is freed ends: what it did counts.
    fn block_ended(&mut self, at: usize, place: u8, stream: Stream) -> Option<Point> {
        let block = self.blocks[at].as_mut()?;
        let before = block.until.len();
        block.until.retain(|&until| until != (place, stream.number));
        block.crowded |= block.until.len() < before;
        (block.until.len() < before).then(|| self.oracle().order.add(stream.native.0))
    }

    pub(crate) fn create_event(&mut self, place: u8) -> Done {
        if self.event(place).is_none() {
            let event = self.rt.create_event().map_err(|error| refusal("create event", error))?;
            self.events[usize::from(place)] = Some(event);
        }
        Ok(())
    }

    pub(crate) fn destroy_event(&mut self, place: u8) -> Done {
        match self.events[usize::from(place)].take() {
            Some(event) => self.rt.destroy_event(event).map_err(|error| refusal("destroy event", error)),
            None => Ok(()),
        }
    }

    pub(crate) fn create_pool(&mut self, place: u8, shape: Shape) -> Done {
        if self.pool(place).is_some() || shape.device >= self.devices {
            return Ok(());
        }
        let device = DeviceId(u32::from(shape.device));
        let limit = (u64::from(shape.limit) * GRANULE).min(self.total);
        let threshold = if shape.threshold == u8::MAX { u64::MAX } else { u64::from(shape.threshold) * GRANULE };
        let config = PoolConfig {
            limit: Bytes(limit),
            threshold: Bytes(threshold),
            reuse: Reuse::from_bits_truncate(shape.reuse),
            preference: if shape.wait_first { Preference::WaitFirst } else { Preference::GrowFirst },
            small_limit: Some(if shape.classes { Bytes(GRANULE / 8) } else { Bytes::ZERO }),
            tuning: tuning(shape),
            ..PoolConfig::new(device)
        };
        match self.rt.create_pool(config) {
            Ok(id) => {
                let PoolStats { base, range, .. } = self.stats(id)?;
                self.oracle().pools.push(oracle::Pool {
                    device,
                    base: base.0,
                    range: range.0,
                    limit,
                    threshold,
                    reuse: config.reuse,
                    small: if shape.classes { GRANULE / 8 } else { 0 },
                    asked: config.reuse.contains(Reuse::OPPORTUNISTIC),
                    dying: false,
                    memory: Default::default(),
                    leaving: Vec::new(),
                });
                self.pools[usize::from(place)] = Some(PoolPlace { id, device, base: base.0, limit });
                Ok(())
            }
            // Destroyed pools keep their places until their work is complete.
            Err(PoolError::ArenaFull(_)) => Ok(()),
            Err(PoolError::Driver(_)) if self.faults => Ok(()),
            Err(error) => Err(refusal("create pool", error)),
        }
    }

    pub(crate) fn destroy_pool(&mut self, place: u8, live: Live) -> Done {
        let Some(pool) = self.pool(place) else { return Ok(()) };
        let blocks = self.blocks.iter().flatten().filter(|block| block.pool == place).count();
        let at = self.oracle().pool_at(pool.base);
        if live == Live::Abandon {
            self.tell_elsewhere(place, pool)?;
        }
        if blocks == 0 || live == Live::Abandon {
            self.keep_counts(pool)?;
            if let Some(at) = at {
                self.oracle().end_pool(at, blocks > 0);
            }
        }
        let how = if live == Live::Abandon { Destroy::WithLiveBlocks } else { Destroy::IfEmpty };
        match self.rt.destroy_pool(pool.id, how) {
            Ok(()) => {
                self.pools[usize::from(place)] = None;
                self.blocks.iter_mut().filter(|b| b.as_ref().is_some_and(|b| b.pool == place)).for_each(|b| *b = None);
                Ok(())
            }
            Err(PoolError::LiveBlocks { count, .. }) if count == blocks as u64 && blocks > 0 => Ok(()),
            Err(error) => Err(refusal("destroy pool", error)),
        }
    }

    /// A pool that is destroyed with live blocks waits for its device. What other devices' streams do there is told.
    fn tell_elsewhere(&mut self, place: u8, pool: PoolPlace) -> Done {
        for at in 0..BLOCKS {
            let Some(block) = self.blocks[at].as_ref().filter(|block| block.pool == place) else { continue };
            let users: Vec<u8> = block.open.iter().map(|&(on, _)| on).collect();
            for on in users {
                if self.stream(on).is_some_and(|stream| stream.device != pool.device) {
                    self.tell_now(at, on)?;
                }
            }
        }
        Ok(())
    }

    fn keep_counts(&mut self, pool: PoolPlace) -> Done {
        let stats = self.stats(pool.id)?;
        for (mine, theirs) in self.tally.by_source.iter_mut().zip(stats.by_source) {
            *mine += theirs;
        }
        Ok(())
    }
}
