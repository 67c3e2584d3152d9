//! Physical granules, address ranges and what is mapped where, with every argument checked.

use super::order::Order;
use super::pages::Pages;
use super::storage::{Arena, Link, SimDevice, SimGranule, SimPage, SimPiece, SimRange, Stamp};
use super::violation::{SimArena, SimError, Violation};
use crate::driver::{Capabilities, DriverCall, GranuleHandle, Properties};
use crate::id::DeviceId;
use crate::units::{Bytes, DevicePtr, GIB};

/// Addresses of device `d` lie in the `d + 1`-th area of this size, so that an address tells its device.
const AREA: u64 = 1 << 46;

/// How a device of the simulation is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct DeviceConfig {
    /// What [`Driver::properties`](crate::driver::Driver::properties) answers. The granularity is at most 1 GiB.
    pub properties: Properties,
    /// Addresses that can be reserved at one time; at most 64 TiB.
    pub addresses: Bytes,
}

impl DeviceConfig {
    /// A device with granules of 2 MiB, alignment 512 B, cheap addresses and this much memory.
    #[must_use]
    pub const fn new(total: Bytes) -> Self {
        Self {
            properties: Properties {
                granularity: Bytes::mib(2),
                alignment: Bytes(512),
                total,
                capabilities: Capabilities::SPARSE_ADDRESSES,
            },
            addresses: Bytes(AREA),
        }
    }

    fn check(&self) -> Result<(), SimError> {
        let Properties { granularity, alignment, .. } = self.properties;
        let (g, a) = (granularity.0, alignment.0);
        if !g.is_power_of_two() || !a.is_power_of_two() || a > g || g > GIB {
            return Err(SimError::BadProperties { granularity, alignment });
        }
        Ok(())
    }
}

/// Part of one granule's bytes at an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Where the granule's first byte is.
    pub(super) page: u64,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Cuts a run of addresses at the edges of the granules.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spans {
    at: u64,
    end: u64,
    granularity: u64,
}

impl Iterator for Spans {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        if self.at >= self.end {
            return None;
        }
        let page = self.at & !(self.granularity - 1);
        let end = self.end.min(page.saturating_add(self.granularity));
        // Both fit: a granule is at most 1 GiB.
        let (from, to) = ((self.at - page) as u32, (end - page) as u32);
        self.at = end;
        Some(Span { page, from, to })
    }
}

pub(super) struct Memory<'a> {
    devices: &'a mut [SimDevice],
    ranges: &'a mut [SimRange],
    ranges_used: usize,
    pub(super) pages: Pages<'a>,
    pub(super) granules: Arena<'a, SimGranule>,
}

impl<'a> Memory<'a> {
    pub(super) fn new(
        devices: &'a mut [SimDevice],
        ranges: &'a mut [SimRange],
        pages: &'a mut [SimPage],
        granules: &'a mut [SimGranule],
        configs: &[DeviceConfig],
    ) -> Result<Self, SimError> {
        devices.fill(SimDevice::EMPTY);
        ranges.fill(SimRange::EMPTY);
        if configs.len() > devices.len() {
            return Err(SimError::Full(SimArena::Devices));
        }
        for (device, config) in devices.iter_mut().zip(configs) {
            config.check()?;
            *device = SimDevice {
                granularity: config.properties.granularity.0,
                alignment: config.properties.alignment.0,
                total: config.properties.total.0,
                addresses: config.addresses.0.min(AREA),
                capabilities: config.properties.capabilities.bits(),
                ..SimDevice::EMPTY
            };
        }
        Ok(Self { devices, ranges, ranges_used: 0, pages: Pages::new(pages), granules: Arena::new(granules) })
    }

    pub(super) fn device(&self, device: DeviceId) -> Result<&SimDevice, SimError> {
        let found = self.devices.get(device.0 as usize).filter(|d| d.granularity != 0);
        found.ok_or(SimError::UnknownDevice(device))
    }

    fn device_mut(&mut self, device: DeviceId) -> Result<&mut SimDevice, SimError> {
        let found = self.devices.get_mut(device.0 as usize).filter(|d| d.granularity != 0);
        found.ok_or(SimError::UnknownDevice(device))
    }

    pub(super) fn properties(&self, device: DeviceId) -> Result<Properties, SimError> {
        let device = self.device(device)?;
        Ok(Properties {
            granularity: Bytes(device.granularity),
            alignment: Bytes(device.alignment),
            total: Bytes(device.total),
            capabilities: Capabilities::from_bits_truncate(device.capabilities),
        })
    }

    fn aligned(&self, call: DriverCall, device: DeviceId, value: u64) -> Result<(), SimError> {
        let granularity = self.device(device)?.granularity;
        if value != 0 && value & (granularity - 1) == 0 {
            return Ok(());
        }
        let granularity = Bytes(granularity);
        Err(Violation::Misaligned { call, value, granularity }.into())
    }

    /// Reserves the lowest gap, so that an address range that was released comes back soon. One granule stays free
    /// between two ranges: an access that runs over the end of one does not land in the next.
    pub(super) fn reserve(&mut self, device: DeviceId, bytes: Bytes) -> Result<DevicePtr, SimError> {
        self.aligned(DriverCall::Reserve, device, bytes.0)?;
        let (index, base) = self.gap(device, bytes.0)?;
        let used = self.ranges_used + 1;
        let tail = self.ranges.get_mut(index..used).ok_or(SimError::Full(SimArena::Ranges))?;
        tail.rotate_right(1);
        if let Some(range) = tail.first_mut() {
            let (bytes, mapped, device) = (bytes.0, 0, device.0);
            *range = SimRange { base, bytes, mapped, device };
        }
        self.ranges_used = used;
        Ok(DevicePtr(base))
    }

    fn gap(&self, device: DeviceId, bytes: u64) -> Result<(usize, u64), SimError> {
        let SimDevice { granularity, addresses, .. } = *self.device(device)?;
        let start = AREA.saturating_mul(u64::from(device.0) + 1);
        let mut base = start;
        let mut index = 0;
        for range in self.ranges.iter().take(self.ranges_used) {
            if range.device > device.0 || (range.device == device.0 && range.base.saturating_sub(base) > bytes) {
                break;
            }
            if range.device == device.0 {
                base = range.base.saturating_add(range.bytes).saturating_add(granularity);
            }
            index += 1;
        }
        let end = base.checked_add(bytes).ok_or(SimError::Exhausted)?;
        if end - start > addresses {
            return Err(SimError::Exhausted);
        }
        Ok((index, base))
    }

    fn range(&mut self, at: u64) -> Option<(usize, &mut SimRange)> {
        let used = self.ranges.get_mut(..self.ranges_used)?;
        let index = used.partition_point(|range| range.base <= at).checked_sub(1)?;
        let range = used.get_mut(index)?;
        (at - range.base < range.bytes).then_some((index, range))
    }

    /// The index of a range that may be released, as far as this module can tell.
    pub(super) fn releasable(&mut self, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<usize, SimError> {
        self.device(device)?;
        let found = self.range(base.0).map(|(index, range)| (index, *range));
        let Some((index, range)) = found.filter(|(_, range)| (range.base, range.bytes) == (base.0, bytes.0)) else {
            return Err(Violation::UnknownRange { base, bytes }.into());
        };
        owned(DriverCall::Release, device, range.device)?;
        let mapped = range.mapped;
        if mapped != 0 {
            return Err(Violation::ReleaseMapped { base, mapped }.into());
        }
        Ok(index)
    }

    pub(super) fn release(&mut self, index: usize) {
        if let Some(tail) = self.ranges.get_mut(index..self.ranges_used) {
            tail.rotate_left(1);
            self.ranges_used -= 1;
        }
    }

    pub(super) fn create(&mut self, device: DeviceId) -> Result<GranuleHandle, SimError> {
        let limits = self.device_mut(device)?;
        let created = limits.created.saturating_add(limits.granularity);
        if created > limits.total {
            return Err(SimError::Exhausted);
        }
        let link = self.granules.take().ok_or(SimError::Full(SimArena::Granules))?;
        let granule = self.granules.at_mut(link)?;
        *granule = SimGranule {
            generation: granule.generation.wrapping_add(1),
            device: device.0,
            exists: true,
            ..SimGranule::EMPTY
        };
        self.device_mut(device)?.created = created;
        self.handle(link)
    }

    pub(super) fn handle(&self, link: Link) -> Result<GranuleHandle, SimError> {
        let index = link.index().unwrap_or(0) as u64 + 1;
        Ok(GranuleHandle(u64::from(self.granules.at(link)?.generation) << 32 | index))
    }

    /// The granule behind a handle, which belongs to this device.
    pub(super) fn granule(&self, call: DriverCall, device: DeviceId, granule: GranuleHandle) -> Result<Link, SimError> {
        let index = (granule.0 & 0xffff_ffff).checked_sub(1);
        let link = index.map_or(Link::NONE, |index| Link::to(index as usize));
        let generation = (granule.0 >> 32) as u32;
        match self.granules.at(link) {
            Ok(found) if found.exists && found.generation == generation => {
                owned(call, device, found.device)?;
                Ok(link)
            }
            _ => Err(Violation::UnknownGranule { call, granule }.into()),
        }
    }

    /// The granule that may be destroyed, as far as this module can tell.
    pub(super) fn destroyable(&self, device: DeviceId, granule: GranuleHandle) -> Result<Link, SimError> {
        self.device(device)?;
        let link = self.granule(DriverCall::Destroy, device, granule)?;
        match self.granules.at(link)?.at {
            0 => Ok(link),
            at => Err(Violation::DestroyMapped { granule, at: DevicePtr(at) }.into()),
        }
    }

    /// Destroys a granule; the lists in its element are the caller's.
    pub(super) fn destroy(&mut self, device: DeviceId, link: Link) -> Result<(), SimError> {
        self.granules.at_mut(link)?.exists = false;
        self.granules.give(link)?;
        let limits = self.device_mut(device)?;
        limits.created = limits.created.saturating_sub(limits.granularity);
        Ok(())
    }

    /// The granule that may be mapped at `at`, as far as this module can tell.
    pub(super) fn mappable(
        &mut self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
    ) -> Result<Link, SimError> {
        self.aligned(DriverCall::Map, device, at.0)?;
        let link = self.granule(DriverCall::Map, device, granule)?;
        let owner = self.range(at.0).ok_or(Violation::OutsideRange(at))?.1.device;
        owned(DriverCall::Map, device, owner)?;
        let there = self.pages.planned(at.0);
        if there != Link::NONE {
            let there = self.handle(there)?;
            return Err(Violation::DoubleMap { at, there }.into());
        }
        match self.granules.at(link)?.at {
            0 => Ok(link),
            elsewhere => Err(Violation::MappedElsewhere { granule, at: DevicePtr(elsewhere) }.into()),
        }
    }

    /// Plans a mapping that is made by `by`, or at once. The device has it when it
    /// [arrives](super::pages::Pages::arrive).
    pub(super) fn map(
        &mut self,
        device: DeviceId,
        at: DevicePtr,
        link: Link,
        by: Stamp,
        order: &Order<'_>,
    ) -> Result<(), SimError> {
        self.pages.plan(at.0, link, by, order)?;
        let granule = self.granules.at_mut(link)?;
        (granule.at, granule.last) = (at.0, by);
        if let Some((_, range)) = self.range(at.0) {
            range.mapped += 1;
        }
        let limits = self.device_mut(device)?;
        limits.mapped = limits.mapped.saturating_add(limits.granularity);
        Ok(())
    }

    /// The granule that may be unmapped at `at`, as far as this module can tell.
    pub(super) fn mapped_at(&self, device: DeviceId, at: DevicePtr) -> Result<Link, SimError> {
        self.aligned(DriverCall::Unmap, device, at.0)?;
        let link = self.pages.planned(at.0);
        if link == Link::NONE {
            return Err(Violation::NothingMapped(at).into());
        }
        owned(DriverCall::Unmap, device, self.granules.at(link)?.device)?;
        Ok(link)
    }

    /// Ends a mapping as far as calls are concerned. The device loses it when it
    /// [leaves](super::pages::Pages::leave).
    pub(super) fn unmap(&mut self, device: DeviceId, link: Link, by: Stamp) -> Result<(), SimError> {
        let granule = self.granules.at_mut(link)?;
        let at = core::mem::replace(&mut granule.at, 0);
        (granule.was, granule.last) = (at, by);
        self.pages.unplan(at, by)?;
        if let Some((_, range)) = self.range(at) {
            range.mapped = range.mapped.saturating_sub(1);
        }
        let limits = self.device_mut(device)?;
        limits.mapped = limits.mapped.saturating_sub(limits.granularity);
        Ok(())
    }

    /// Cuts `[at, at + bytes)` into parts of granules; `None` where the addresses are no device's.
    pub(super) fn spans(&self, at: u64, bytes: u64) -> Option<Spans> {
        let device = (at / AREA).checked_sub(1).and_then(|index| u32::try_from(index).ok())?;
        let granularity = self.device(DeviceId(device)).ok()?.granularity;
        let end = at.checked_add(bytes)?;
        Some(Spans { at, end, granularity })
    }

    pub(super) fn maps_in_stream_order(&self, device: DeviceId) -> bool {
        let bits = self.device(device).map_or(0, |device| device.capabilities);
        Capabilities::from_bits_truncate(bits).contains(Capabilities::MAP_IN_STREAM_ORDER)
    }

    /// A piece that covers a whole granule.
    pub(super) fn whole(&self, device: DeviceId, piece: SimPiece) -> Result<SimPiece, SimError> {
        let to = self.device(device)?.granularity as u32;
        Ok(SimPiece { from: 0, to, ..piece })
    }
}

fn owned(call: DriverCall, named: DeviceId, owner: u32) -> Result<(), SimError> {
    let owner = DeviceId(owner);
    if named == owner {
        return Ok(());
    }
    Err(Violation::OtherDevice { call, named, owner }.into())
}
