//! Pools: making, settings, and the end.

use super::{Lock, Runtime, State};
use crate::arena::Link;
use crate::block::{self, Block};
use crate::driver::{Capabilities, Driver, DriverError, Properties};
use crate::error::{Arena, ArenaFull, OrderError, PoolError, Unusable};
use crate::free_index::Tenant;
use crate::id::{DeviceId, MAX_DEVICES, PoolId};
use crate::order::Users;
use crate::plant::{self, Plant};
use crate::policy::{Attribute, Destroy, PoolConfig, Tuning};
use crate::pool::{Device, PoolSlot, Standing};
use crate::trace::{Record, Sink, Verb};
use crate::units::{Bytes, DevicePtr, log2};

/// Why a device could not be looked up.
pub(super) enum DeviceError {
    Driver(DriverError),
    Full(ArenaFull),
    Unusable(Unusable),
}

impl From<Unusable> for DeviceError {
    fn from(unusable: Unusable) -> Self {
        Self::Unusable(unusable)
    }
}

impl From<DeviceError> for OrderError {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Driver(error) => Self::Driver(error),
            DeviceError::Full(full) => Self::ArenaFull(full),
            DeviceError::Unusable(unusable) => Self::Unusable(unusable),
        }
    }
}

impl From<DeviceError> for PoolError {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Driver(error) => Self::Driver(error),
            DeviceError::Full(full) => Self::ArenaFull(full),
            DeviceError::Unusable(unusable) => Self::Unusable(unusable),
        }
    }
}

/// A pool's range and limits, worked out from what was asked for and what the device has.
struct Shape {
    limit: u64,
    range: u64,
    small_limit: u64,
}

impl Shape {
    fn new(config: &PoolConfig, device: &Properties) -> Result<Self, PoolError> {
        let (granularity, alignment) = (device.granularity, device.alignment);
        let sound = granularity.0.is_power_of_two() && alignment.0.is_power_of_two() && alignment <= granularity;
        // More than half of all addresses cannot be a device.
        if !sound || device.total < granularity || device.total.0 > u64::MAX / 2 {
            return Err(PoolError::BadProperties { granularity, alignment, total: device.total });
        }
        let limit = match config.limit {
            Bytes::ZERO => device.total.round_down(granularity),
            limit if limit <= device.total => {
                let rounded = limit.round_up(granularity).ok_or(PoolError::Overflow { limit })?;
                rounded.min(device.total.round_down(granularity))
            }
            limit => limit.round_up(granularity).ok_or(PoolError::Overflow { limit })?,
        };
        if limit > device.total || limit == Bytes::ZERO {
            return Err(PoolError::LimitAboveDevice { limit, total: device.total });
        }
        let factor = match config.tuning.addresses {
            Some(times) => u64::from(times).max(1),
            None if device.capabilities.contains(Capabilities::SPARSE_ADDRESSES) => {
                address_factor(limit.units(granularity))
            }
            None => 1,
        };
        Ok(Self {
            limit: limit.0,
            range: limit.0.saturating_mul(factor) & !granularity.0.wrapping_sub(1),
            small_limit: config.small_limit.map_or(granularity.0 / 8, |bytes| bytes.0.min(granularity.0 / 2)),
        })
    }
}

/// How many times the limit is reserved as addresses: 1 + half of log2 of the number of granules, which is what a pool of
/// whole granules needs in the worst case (Robson 1974), rounded up.
fn address_factor(granules: u64) -> u64 {
    u64::from(log2(granules)).div_ceil(2).saturating_add(1)
}

impl<'a, D: Driver, S: Sink, L: Lock<State<'a>>> Runtime<'a, D, S, L> {
    /// Looks a device up once.
    pub(super) fn know_device(&self, id: DeviceId) -> Result<Properties, DeviceError> {
        let known = self.enter(|state| Ok::<_, Unusable>(state.facts.device(id).map(|d| d.properties)))?;
        if let Some(properties) = known {
            return Ok(properties);
        }
        let properties = self.note_failure(self.driver.properties(id)).map_err(DeviceError::Driver)?;
        self.enter(|state| {
            if state.facts.device(id).is_none() {
                let device = Device { id, properties, default_pool: None, streams: 0, burst: 0 };
                let full = DeviceError::Full(ArenaFull { arena: Arena::Devices, capacity: MAX_DEVICES });
                state.facts.devices.push(device).map_err(|_| full)?;
            }
            Ok(properties)
        })
    }

    /// Makes a pool: reserves a range of addresses; no physical memory is taken. O(pools).
    ///
    /// # Errors
    /// See [`PoolError`]; nothing is left behind.
    pub fn create_pool(&self, config: PoolConfig) -> Result<PoolId, PoolError> {
        let refused = |error: PoolError| {
            // A lock that cannot be had only loses the record.
            let _ = self.commit(|state| state.refuse_pool(Verb::CreatePool, None, error));
            error
        };
        let shape = self
            .know_device(config.device)
            .map_err(PoolError::from)
            .and_then(|properties| Ok((Shape::new(&config, &properties)?, properties)));
        let (shape, properties) = shape.map_err(refused)?;
        let slot = self.enter(|state| state.claim_pool()).map_err(refused)?;
        let base = match self.driver.reserve(config.device, Bytes(shape.range)) {
            Ok(base) => base,
            Err(error) => {
                self.commit(|state| {
                    state.note_driver_failure(error);
                    state.facts.pool_mut(slot).standing = Standing::Vacant;
                })?;
                return Err(refused(error.into()));
            }
        };
        let made = self.commit(|state| state.found_pool(slot, base, &shape, config, &properties))?;
        made.map_err(|error| {
            if !matches!(error, PoolError::BadRange { .. }) {
                // The range must not stay behind; if the driver keeps it, that is its last word. One that is no range of
                // its own is left alone: it may be another pool's.
                let _ = self.note_failure(self.driver.release(config.device, base, Bytes(shape.range)));
            }
            refused(error)
        })
    }

    /// The device's default pool, made at the first call with the default settings.
    ///
    /// # Errors
    /// As [`create_pool`](Self::create_pool).
    pub fn default_pool(&self, device: DeviceId) -> Result<PoolId, PoolError> {
        if let Err(error) = self.know_device(device) {
            let error = PoolError::from(error);
            return Err(self.commit(|state| state.refuse_pool(Verb::CreatePool, None, error))?);
        }
        let current = |state: &mut State<'a>| {
            let pool = state.facts.device(device).and_then(|d| d.default_pool)?;
            state.facts.find_pool(pool).is_ok().then_some(pool)
        };
        if let Some(pool) = self.enter(|state| Ok::<_, PoolError>(current(state)))? {
            return Ok(pool);
        }
        let pool = self.create_pool(PoolConfig::new(device))?;
        let kept = self.commit(|state| match current(state) {
            // Another thread was faster.
            Some(first) => first,
            None => {
                if let Some(device) = state.facts.device_mut(device) {
                    device.default_pool = Some(pool);
                }
                pool
            }
        })?;
        if kept != pool {
            self.destroy_pool(pool, Destroy::IfEmpty)?;
        }
        Ok(kept)
    }

    /// Ends a pool. Its id is stale at once; its memory goes back as soon as the work on it is known to be complete, at the
    /// latest with the next synchronisation of the device. O(blocks of the pool).
    ///
    /// # Errors
    /// Live blocks are left and `how` does not allow that, or the id is not live.
    pub fn destroy_pool(&self, pool: PoolId, how: Destroy) -> Result<(), PoolError> {
        let slot = self.enter(|state| {
            let closed = state.close_pool(pool, L::SHARED);
            closed.map_err(|error| state.refuse_pool(Verb::DestroyPool, Some(pool), error))
        })?;
        while self.commit(|state| state.facts.pool(slot).pins > 0)? {
            L::relax();
        }
        self.commit(|state| {
            let ended = state.end_pool(pool, slot, how);
            ended.map_err(|error| state.refuse_pool(Verb::DestroyPool, Some(pool), error))
        })??;
        Ok(self.give_back(slot)?)
    }

    /// Gives a destroyed pool's range back once nothing is mapped in it and no call in flight names it.
    pub(super) fn bury(&self, slot: usize) -> Result<(), Unusable> {
        let empty = self.commit(|state| {
            let pool = state.facts.pool_mut(slot);
            let empty = pool.standing == Standing::Dying && pool.reserved == 0 && pool.coming == 0 && pool.pins == 0;
            if empty {
                pool.standing = Standing::Leaving;
            }
            empty.then_some((pool.device, DevicePtr(pool.base), Bytes(pool.range)))
        })?;
        let Some((device, base, range)) = empty else { return Ok(()) };
        let released = self.driver.release(device, base, range);
        self.commit(|state| match released {
            Ok(()) => state.forget_pool(slot),
            Err(error) => {
                state.note_driver_failure(error);
                state.facts.pool_mut(slot).standing = Standing::Dying;
            }
        })
    }

    /// Reads an attribute.
    ///
    /// # Errors
    /// The id is not live.
    pub fn attribute(&self, pool: PoolId, attribute: Attribute) -> Result<u64, PoolError> {
        self.enter(|state| {
            let found = state.facts.find_pool(pool);
            let slot = found.map_err(|bad| state.refuse_pool(Verb::Attribute, Some(pool), bad.into()))?;
            Ok(state.facts.pool(slot).attribute(attribute))
        })
    }

    /// Sets an attribute: a switch (0 or not 0), the threshold, or a high mark's reset (0) to its current value.
    ///
    /// # Errors
    /// See [`PoolError`]; nothing is changed then.
    pub fn set_attribute(&self, pool: PoolId, attribute: Attribute, value: u64) -> Result<(), PoolError> {
        self.enter(|state| {
            let set = state.set_attribute(pool, attribute, value);
            set.map_err(|error| state.refuse_pool(Verb::Attribute, Some(pool), error))
        })
    }
}

impl PoolSlot {
    fn attribute(&self, attribute: Attribute) -> u64 {
        match attribute {
            Attribute::ReuseFollowEventDependencies
            | Attribute::ReuseAllowOpportunistic
            | Attribute::ReuseAllowInternalDependencies => {
                u64::from(attribute.switch().is_some_and(|switch| self.reuse.contains(switch)))
            }
            Attribute::ReleaseThreshold => self.threshold,
            Attribute::ReservedMemCurrent => self.reserved,
            Attribute::ReservedMemHigh => self.reserved_high,
            Attribute::UsedMemCurrent => self.used,
            Attribute::UsedMemHigh => self.used_high,
        }
    }
}

impl State<'_> {
    /// A slot for a pool whose range is about to be reserved.
    fn claim_pool(&mut self) -> Result<usize, PoolError> {
        let full = ArenaFull { arena: Arena::Pools, capacity: self.facts.pools.len() };
        let vacant = self.facts.pools.iter().find(|(_, p)| p.standing == Standing::Vacant && p.pins == 0);
        let (slot, _) = vacant.ok_or(full)?;
        if self.facts.blocks.room() == 0 {
            return Err(self.facts.blocks.full().into());
        }
        self.facts.pool_mut(slot).standing = Standing::Coming;
        Ok(slot)
    }

    /// Whether the driver gave a range that no pool can live in: not aligned, wrapping, or not its own.
    fn is_bad_range(&self, slot: usize, base: DevicePtr, shape: &Shape, device: &Properties) -> bool {
        let Some(end) = base.0.checked_add(shape.range) else { return true };
        let meets = |pool: &PoolSlot| {
            !matches!(pool.standing, Standing::Vacant | Standing::Coming)
                && base.0 < pool.base.saturating_add(pool.range)
                && pool.base < end
        };
        let taken = self.facts.pools.iter().any(|(other, pool)| other != slot && meets(pool));
        base.0 == 0 || !Bytes(base.0).is_whole(device.granularity) || taken
    }

    /// The range is reserved: the pool begins as one hole.
    fn found_pool(
        &mut self,
        slot: usize,
        base: DevicePtr,
        shape: &Shape,
        config: PoolConfig,
        device: &Properties,
    ) -> Result<PoolId, PoolError> {
        let hole = Block::new(slot, base.0, shape.range, block::State::Hole);
        if self.is_bad_range(slot, base, shape, device) {
            self.facts.pool_mut(slot).standing = Standing::Vacant;
            return Err(PoolError::BadRange { base, bytes: Bytes(shape.range) });
        }
        let added = self.facts.blocks.add(hole);
        let pool = self.facts.pool_mut(slot);
        let Ok(first) = added else {
            pool.standing = Standing::Vacant;
            return Err(self.facts.blocks.full().into());
        };
        *pool = PoolSlot {
            generation: pool.generation.wrapping_add(1),
            standing: Standing::Live,
            device: config.device,
            reuse: config.reuse,
            preference: config.preference,
            maps_in_order: device.capabilities.contains(Capabilities::MAP_IN_STREAM_ORDER),
            base: base.0,
            range: shape.range,
            limit: shape.limit,
            threshold: config.threshold.0,
            small_limit: shape.small_limit,
            tuning: config.tuning,
            kept: config.threshold.0,
            granularity: device.granularity.0,
            alignment: device.alignment.0,
            first: Link::to(first),
            ..<PoolSlot as crate::arena::Empty>::EMPTY
        };
        self.facts.mind_markers(config.device);
        self.facts.index.open(slot, device.alignment.0);
        self.facts.index.insert(&mut self.facts.blocks, first, Tenant::Present);
        let id = self.facts.pool_id(slot);
        self.log.forget_pool(id);
        self.record(Record::PoolCreated { pool: id });
        if config.tuning != Tuning::DEFAULT {
            self.record(Record::PoolTuned { pool: id, tuning: config.tuning });
        }
        Ok(id)
    }

    /// Calls that begin from now on find the pool stale. On one thread a call in flight that is under this one would be
    /// waited for in vain.
    fn close_pool(&mut self, id: PoolId, shared: bool) -> Result<usize, PoolError> {
        let slot = self.facts.find_pool(id)?;
        let pool = self.facts.pool_mut(slot);
        if pool.pins > 0 && !shared {
            return Err(Unusable::Busy.into());
        }
        self.facts.set_standing(slot, Standing::Closing);
        Ok(slot)
    }

    /// No call in flight names the pool any more.
    fn end_pool(&mut self, id: PoolId, slot: usize, how: Destroy) -> Result<(), PoolError> {
        let (live_blocks, used) = (self.facts.pool(slot).live_blocks(), self.facts.pool(slot).used);
        if live_blocks > 0 && how == Destroy::IfEmpty {
            self.facts.set_standing(slot, Standing::Live);
            return Err(PoolError::LiveBlocks { count: live_blocks, bytes: Bytes(used) });
        }
        if live_blocks > 0 {
            self.abandon_live(slot);
        }
        self.facts.set_standing(slot, Standing::Dying);
        self.record(Record::PoolDestroyed { pool: id, leaked: Bytes(used) });
        Ok(())
    }

    /// Frees what is live: nobody knows who uses it, so it waits for everything on the device, and on the others where a
    /// use by one of those is recorded.
    fn abandon_live(&mut self, slot: usize) {
        let device = self.facts.pool(slot).device;
        let elsewhere = |block: &Block| {
            let mut uses = self.facts.order.all_marks(&block.points());
            block.points().wants_epoch_at_free()
                || uses.any(|mark| self.facts.order.stream(mark.stream).device != device)
        };
        let first = self.facts.pool(slot).first;
        let told = self.facts.blocks.walk(first).any(|(_, b)| b.state() == block::State::Live && elsewhere(b));
        let users = if told && !plant::on(Plant::AbandonedElsewhere) { Users::Anywhere } else { Users::Of(device) };
        let points = self.facts.order.points_of_everything(users);
        let mut at = self.facts.pool(slot).first;
        for _ in 0..self.facts.blocks.in_use() {
            let Some(found) = at.slot() else { break };
            let block = *self.facts.blocks.get(found);
            at = block.next;
            if block.state() != block::State::Live {
                continue;
            }
            self.facts.set_points(found, points);
            self.facts.pool_mut(slot).take_used(block.size, block.asked());
            let merged = self.facts.settle_free(found);
            at = self.facts.blocks.get(merged).next;
        }
        self.facts.order.drop_points(&points);
    }

    /// The range is given back: nothing is left of the pool.
    fn forget_pool(&mut self, slot: usize) {
        let mut at = self.facts.pool(slot).first;
        for _ in 0..self.facts.blocks.in_use() {
            let Some(found) = at.slot() else { break };
            at = self.facts.blocks.get(found).next;
            self.facts.blocks.remove(found);
        }
        self.facts.index.close(slot);
        let generation = self.facts.pool(slot).generation;
        *self.facts.pool_mut(slot) = PoolSlot { generation, ..<PoolSlot as crate::arena::Empty>::EMPTY };
    }

    fn set_attribute(&mut self, id: PoolId, attribute: Attribute, value: u64) -> Result<(), PoolError> {
        let slot = self.facts.find_pool(id)?;
        let pool = self.facts.pool_mut(slot);
        let device = pool.device;
        match attribute {
            Attribute::ReuseFollowEventDependencies
            | Attribute::ReuseAllowOpportunistic
            | Attribute::ReuseAllowInternalDependencies => {
                if let Some(switch) = attribute.switch() {
                    pool.reuse.set(switch, value != 0);
                }
            }
            Attribute::ReleaseThreshold => (pool.threshold, pool.kept) = (value, value),
            Attribute::ReservedMemCurrent | Attribute::UsedMemCurrent => return Err(PoolError::ReadOnly(attribute)),
            Attribute::ReservedMemHigh | Attribute::UsedMemHigh if value != 0 => {
                return Err(PoolError::OnlyReset { attribute, value });
            }
            Attribute::ReservedMemHigh => pool.reserved_high = pool.reserved,
            Attribute::UsedMemHigh => pool.used_high = pool.used,
        }
        self.facts.mind_markers(device);
        self.log.forget_pool(id);
        self.record(Record::AttributeSet { pool: id, attribute, value });
        Ok(())
    }
}
