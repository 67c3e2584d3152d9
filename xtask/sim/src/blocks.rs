//! The steps that concern blocks: malloc, kernels, uses and free, with what the program owes the pool for each.

use crate::failure::{Failure, Kind};
use crate::op::Until;
use crate::oracle::{Kept, PLACES, distinct};
use crate::world::{Block, Done, PoolPlace, Stream, World, refusal};
use weir::error::MallocError;
use weir::policy::UseUntil;
use weir::units::{Bytes, DevicePtr};

impl World<'_> {
    pub(crate) fn malloc(&mut self, place: u8, pool: u8, stream: u8, bytes: u32, write: bool) -> Done {
        let (Some(from), Some(on)) = (self.pool(pool), self.stream(stream)) else { return Ok(()) };
        if self.blocks[usize::from(place)].is_some() || bytes == 0 {
            return Ok(());
        }
        if from.device != on.device {
            return self.malloc_elsewhere(from, on, bytes);
        }
        {
            let mut oracle = self.oracle();
            let size = u64::from(bytes).next_multiple_of(oracle.unit().get());
            let Some(at) = oracle.pool_at(from.base) else {
                return Err(Failure::new(Kind::Refusal, "a live pool's range was released"));
            };
            oracle.begin_malloc(at, on.native.0, size);
        }
        match self.rt.malloc_async(from.id, Bytes(u64::from(bytes)), on.id) {
            Ok(ptr) => self.keep(place, (pool, stream), on, ptr, write),
            Err(error) => {
                self.tally.refused += 1;
                self.refused(from, error)
            }
        }
    }

    /// A pool's memory is given to streams of its own device only.
    fn malloc_elsewhere(&self, from: PoolPlace, on: Stream, bytes: u32) -> Done {
        match self.rt.malloc_async(from.id, Bytes(u64::from(bytes)), on.id) {
            Err(MallocError::OtherDevice { stream, pool }) if (stream, pool) == (on.id, from.id) => Ok(()),
            Ok(ptr) => {
                Err(Failure::new(Kind::Unsafe, format!("a stream of device {} got {ptr} of another", on.device)))
            }
            Err(error) => Err(refusal("malloc from another device's pool", error)),
        }
    }

    /// A malloc succeeded: the block is written.
    fn keep(&mut self, place: u8, (pool, owner): (u8, u8), on: Stream, ptr: DevicePtr, write: bool) -> Done {
        let Some(block) = self.rt.block_at(ptr) else {
            return Err(Failure::new(Kind::Refusal, format!("{ptr} was given out and is not known")));
        };
        let given = block.given;
        let (kept, malloc) = {
            let mut oracle = self.oracle();
            let kept = oracle.end_malloc(ptr.0, given.0);
            (kept, oracle.order.add(on.native.0))
        };
        self.tags += 1;
        let tag = self.tags;
        if write {
            // What is wrong with it is kept by the simulation.
            let _ = self.sim().access_write_tag(on.native, ptr, given, tag);
        }
        self.tally.mallocs += 1;
        let open = vec![(owner, malloc)];
        let Kept { points: told, crowded } = kept;
        let mut users: Vec<u32> = told.iter().map(|point| point.stream).collect();
        users.sort_unstable();
        users.dedup();
        let until = Vec::new();
        let tag = write.then_some(tag);
        let block = Block { pool, owner, ptr, given, tag, malloc, open, told, until, users, crowded };
        self.blocks[usize::from(place)] = Some(block);
        Ok(())
    }

    fn refused(&mut self, pool: PoolPlace, error: MallocError) -> Done {
        match error {
            MallocError::OutOfMemory(_) | MallocError::NoAddressRange { .. } => {
                let reserved = self.stats(pool.id)?.reserved.get();
                let device_free = self.total - self.sim().created(pool.device).get();
                let addresses = matches!(error, MallocError::NoAddressRange { .. });
                self.oracle().end_refused(reserved, device_free, addresses);
                Ok(())
            }
            MallocError::AboveLimit { requested, limit } if requested > limit && limit.0 == pool.limit => {
                self.oracle().end_failed();
                Ok(())
            }
            MallocError::Driver(_) if self.faults => {
                self.oracle().end_failed();
                Ok(())
            }
            error => Err(refusal("malloc", error)),
        }
    }

    pub(crate) fn kernel(&mut self, place: u8, on: u8) -> Done {
        let Some(stream) = self.stream(on) else { return Ok(()) };
        let Some(block) = &self.blocks[usize::from(place)] else { return Ok(()) };
        let Some(tag) = block.tag.filter(|_| self.may_use(block, stream) && block.open.len() <= 6) else {
            return Ok(());
        };
        let _ = self.sim().access_read_expect(stream.native, block.ptr, block.given, tag);
        self.tally.kernels += 1;
        // A stream that was announced until the free needs no more telling.
        if block.until.contains(&(on, stream.number)) {
            return Ok(());
        }
        let point = self.oracle().order.add(stream.native.0);
        if let Some(block) = &mut self.blocks[usize::from(place)] {
            block.open.retain(|&(other, p)| other != on || p.stream != stream.number);
            block.open.push((on, point));
        }
        Ok(())
    }

    pub(crate) fn tell_use(&mut self, place: u8, on: u8, until: Until) -> Done {
        let at = usize::from(place);
        let (Some(stream), Some(block)) = (self.stream(on), &self.blocks[at]) else { return Ok(()) };
        if until == Until::Now {
            return self.tell_now(at, on);
        }
        if block.until.contains(&(on, stream.number)) {
            return Ok(());
        }
        let told = self.rt.record_use(block.ptr, stream.id, UseUntil::Free);
        told.map_err(|error| refusal("record use", error))?;
        if let Some(block) = &mut self.blocks[at] {
            block.until.push((on, stream.number));
            block.note_user(stream.number);
            block.open.retain(|&(other, _)| other != on);
        }
        Ok(())
    }

    /// Tells the pool that the stream uses the block, as far as it was queued by now.
    pub(crate) fn tell_now(&mut self, at: usize, on: u8) -> Done {
        let (Some(stream), Some(block)) = (self.stream(on), &self.blocks[at]) else { return Ok(()) };
        let told = self.rt.record_use(block.ptr, stream.id, UseUntil::Now);
        told.map_err(|error| refusal("record use", error))?;
        let point = self.oracle().order.add(stream.native.0);
        if let Some(block) = &mut self.blocks[at] {
            block.told.retain(|p| p.stream != stream.number);
            block.told.push(point);
            block.note_user(stream.number);
            block.open.retain(|&(other, _)| other != on);
        }
        Ok(())
    }

    /// Frees a block on any stream; what that stream does not come after is told first.
    pub(crate) fn free(&mut self, place: u8, on: u8) -> Done {
        let at = usize::from(place);
        let (Some(stream), Some(block)) = (self.stream(on), &self.blocks[at]) else { return Ok(()) };
        let native = stream.native.0;
        let open: Vec<u8> = {
            let order = &self.oracle().order;
            let unordered = block.open.iter().filter(|(_, point)| !order.comes_before(*point, native));
            unordered.map(|&(on, _)| on).collect()
        };
        for user in open {
            self.tell_now(at, user)?;
        }
        let Some(block) = self.blocks[at].take() else { return Ok(()) };
        self.oracle().quiet = true;
        let freed = self.rt.free_async(block.ptr, stream.id);
        self.oracle().quiet = false;
        freed.map_err(|error| refusal("free", error))?;
        let until: Vec<Stream> = block.until.iter().filter_map(|&(on, _)| self.stream(on)).collect();
        let mut oracle = self.oracle();
        let order = &mut oracle.order;
        let mut points = block.told;
        points.extend(until.iter().map(|s| order.add(s.native.0)));
        let past = order.past(native);
        points.retain(|p| p.stream != stream.number && !past.has(p.id) && !order.seen.has(p.id));
        points.push(order.add(native));
        // The legacy stream's rules order work, and a free is none: what it comes after by them alone is kept.
        points.extend(order.add_followed(native));
        let streams = points.iter().map(|point| point.stream).collect();
        // Of what the pool may have seen it need not keep a point.
        let vague = points.iter().any(|point| order.seen_at_most.has(point.id));
        let crowded = vague || block.crowded || block.users.len() > PLACES - 1 || distinct(streams) > PLACES;
        oracle.freed(block.ptr.0, points, crowded);
        Ok(())
    }
}

impl Block {
    fn note_user(&mut self, number: u32) {
        if !self.users.contains(&number) {
            self.users.push(number);
        }
    }
}
