//! Memory for a simulated device.

use weir::sim::{SimArenas, SimDevice, SimGranule, SimMarker, SimOp, SimPage, SimPiece, SimRange, SimStream};

/// How much a simulation can hold; see [`SimArenas`] for what each is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimCapacities {
    /// Devices.
    pub devices: usize,
    /// Reserved ranges of addresses.
    pub ranges: usize,
    /// Entries of the page tables.
    pub pages: usize,
    /// Granules of physical memory.
    pub granules: usize,
    /// Streams.
    pub streams: usize,
    /// Markers and events.
    pub markers: usize,
    /// Operations that are queued and have not run.
    pub ops: usize,
    /// Remembered accesses and tags.
    pub pieces: usize,
}

/// Boxed slices, to be lent to one simulation after the other.
#[derive(Debug)]
pub struct HeapSim {
    devices: Box<[SimDevice]>,
    ranges: Box<[SimRange]>,
    pages: Box<[SimPage]>,
    granules: Box<[SimGranule]>,
    streams: Box<[SimStream]>,
    markers: Box<[SimMarker]>,
    host_clock: Box<[u64]>,
    stream_clocks: Box<[u64]>,
    marker_clocks: Box<[u64]>,
    ops: Box<[SimOp]>,
    pieces: Box<[SimPiece]>,
}

fn slots<T: Clone>(empty: T, count: usize) -> Box<[T]> {
    vec![empty; count].into()
}

impl HeapSim {
    /// Memory of these capacities.
    ///
    /// # Panics
    /// The sizes overflow the address space.
    #[must_use]
    pub fn new(capacities: SimCapacities) -> Self {
        let SimCapacities { devices, ranges, pages, granules, streams, markers, ops, pieces } = capacities;
        Self {
            devices: slots(SimDevice::EMPTY, devices),
            ranges: slots(SimRange::EMPTY, ranges),
            pages: slots(SimPage::EMPTY, pages),
            granules: slots(SimGranule::EMPTY, granules),
            streams: slots(SimStream::EMPTY, streams),
            markers: slots(SimMarker::EMPTY, markers),
            host_clock: slots(0, streams),
            stream_clocks: slots(0, streams * streams),
            marker_clocks: slots(0, streams * markers),
            ops: slots(SimOp::EMPTY, ops),
            pieces: slots(SimPiece::EMPTY, pieces),
        }
    }

    /// Lends it; a simulation clears what an earlier one left.
    pub fn lend(&mut self) -> SimArenas<'_> {
        SimArenas {
            devices: &mut self.devices,
            ranges: &mut self.ranges,
            pages: &mut self.pages,
            granules: &mut self.granules,
            streams: &mut self.streams,
            markers: &mut self.markers,
            host_clock: &mut self.host_clock,
            stream_clocks: &mut self.stream_clocks,
            marker_clocks: &mut self.marker_clocks,
            ops: &mut self.ops,
            pieces: &mut self.pieces,
        }
    }
}
