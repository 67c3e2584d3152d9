//! The facts that judgement reads: order, blocks, sizes, granules and pools side by side, so that none knows another.

use crate::arena::Slots;
use crate::block::Block;
use crate::blocks::Blocks;
use crate::error::BadId;
use crate::free_index::FreeIndex;
use crate::granule::Granules;
use crate::id::{DeviceId, LabelId, MAX_DEVICES, PoolId, StreamId};
use crate::name::Names;
use crate::order::Order;
use crate::pool::{self, Device, PoolSlot, Standing};
use crate::trace::{Definitions, Record};
use crate::units::{Bytes, DevicePtr};

/// All facts.
pub(crate) struct Facts<'a> {
    pub(crate) order: Order<'a>,
    pub(crate) blocks: Blocks<'a>,
    pub(crate) index: FreeIndex<'a>,
    pub(crate) granules: Granules<'a>,
    pub(crate) pools: Slots<'a, PoolSlot>,
    pub(crate) devices: &'a mut heapless::Vec<Device, MAX_DEVICES>,
    pub(crate) names: Names<'a>,
}

impl Facts<'_> {
    #[inline]
    pub(crate) fn pool(&self, slot: usize) -> &PoolSlot {
        self.pools.get(slot)
    }

    #[inline]
    pub(crate) fn pool_mut(&mut self, slot: usize) -> &mut PoolSlot {
        self.pools.get_mut(slot)
    }

    /// The whole granules inside a block.
    pub(crate) fn granules_inside(&self, block: &Block) -> Option<(u64, u64)> {
        self.pool(block.pool()).whole_granules(block.at, block.end())
    }

    pub(crate) fn device(&self, id: DeviceId) -> Option<&Device> {
        self.devices.iter().find(|d| d.id == id)
    }

    pub(crate) fn device_mut(&mut self, id: DeviceId) -> Option<&mut Device> {
        self.devices.iter_mut().find(|d| d.id == id)
    }

    #[inline]
    pub(crate) fn pool_id(&self, slot: usize) -> PoolId {
        PoolId::new(slot, self.pool(slot).generation)
    }

    /// The slot of a live pool.
    pub(crate) fn find_pool(&self, id: PoolId) -> Result<usize, BadId> {
        pool::find(&self.pools, id)
    }

    /// A stream of the device came or went.
    pub(crate) fn count_streams(&mut self, id: DeviceId, count: impl FnOnce(u32) -> u32) {
        if let Some(device) = self.device_mut(id) {
            device.streams = count(device.streams);
        }
        self.mind_markers(id);
    }

    /// A pool begins or ceases to be one.
    pub(crate) fn set_standing(&mut self, slot: usize, standing: Standing) {
        let pool = self.pool_mut(slot);
        pool.standing = standing;
        let device = pool.device;
        self.mind_markers(device);
    }

    /// Tells a device's streams whether frees and uses on them want markers behind them. Called where that may change, so
    /// that a malloc need not ask every pool. O(pools + streams).
    #[cold]
    pub(crate) fn mind_markers(&mut self, device: DeviceId) {
        let marked = self.wants_markers(device);
        self.order.mind_markers(device, marked);
    }

    /// Whether frees and uses on the device want markers behind them.
    pub(crate) fn wants_markers(&self, device: DeviceId) -> bool {
        let Some(slot) = self.device(device) else { return false };
        let wanted = || self.pools.iter().any(|(_, p)| p.device == device && p.wants_markers());
        slot.burst > 0 || (slot.streams >= 2 && wanted())
    }

    #[cold]
    pub(crate) fn strayed(&self) -> bool {
        self.order.strayed()
            || self.blocks.strayed()
            || self.index.strayed()
            || self.granules.strayed()
            || self.pools.strayed()
    }
}

impl Definitions for Facts<'_> {
    fn stream(&self, stream: StreamId) -> Option<Record<'_>> {
        if stream.slot() >= self.order.width() {
            return None;
        }
        let slot = self.order.stream(stream.slot());
        Some(Record::StreamDef { stream, device: slot.device, kind: slot.kind })
    }

    fn pool(&self, pool: PoolId) -> Option<Record<'_>> {
        if pool.slot() >= self.pools.len() {
            return None;
        }
        let slot = self.pool(pool.slot());
        let known = slot.standing != Standing::Vacant;
        known.then(|| Record::PoolDef {
            pool,
            base: DevicePtr(slot.base),
            range: Bytes(slot.range),
            config: slot.config(),
        })
    }

    fn device(&self, device: DeviceId) -> Option<Record<'_>> {
        Facts::device(self, device).map(|d| Record::DeviceDef { device, properties: d.properties })
    }

    fn label(&self, label: LabelId) -> Option<Record<'_>> {
        self.names.get(label).map(|name| Record::LabelDef { label, name })
    }
}
