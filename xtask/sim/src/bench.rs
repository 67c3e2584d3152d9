//! What a program runs on: a simulated device, a pool runtime on it, and where both live.

use crate::op::{DEVICES, EVENTS, POOLS};
use crate::oracle::Oracle;
use crate::random::Random;
use crate::watch::Watch;
use std::cell::RefCell;
use weir::driver::{Capabilities, Driver};
use weir::id::DeviceId;
use weir::sim::{DeviceConfig, Sim};
use weir::trace::{Sink, SinkError};
use weir::units::{Bytes, MIB};
use weir::{Capacities, Local};
use weir_heap::{HeapArenas, HeapSim, SimCapacities};

pub(crate) const GRANULE: u64 = 2 * MIB;

/// Streams of the runtime: more than the program has at once, since destroyed ones keep their places for a while.
const STREAMS: usize = 12;
const SIM_STREAMS: usize = 20;
const BLOCKS: usize = 256;
/// Ranges at once: pools, and destroyed ones that still hold memory.
const RANGES: usize = POOLS + 3;

/// How a program's surroundings are made; all of it from the program's seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Surroundings {
    pub(crate) seed: u64,
    pub(crate) devices: u8,
    /// Physical memory of each device in granules.
    pub(crate) granules: u8,
    pub(crate) markers: u8,
    pub(crate) capabilities: u32,
    /// Of 1,000 driver calls so many fail.
    pub(crate) faults: u16,
}

impl Surroundings {
    pub(crate) fn new(seed: u64, faults: u16) -> Self {
        let mut random = Random::new(seed ^ 0x5bd1_e995);
        let sparse = Capabilities::SPARSE_ADDRESSES;
        let capabilities = match random.below(8) {
            0 => Capabilities::empty(),
            1 => sparse | Capabilities::MAP_IN_STREAM_ORDER,
            _ => sparse,
        };
        Self {
            seed,
            devices: random.pick(&[1, 1, 1, 2, 2, 3]).unwrap_or(1),
            granules: random.pick(&[6, 9, 12, 16, 24]).unwrap_or(12),
            markers: random.pick(&[2, 4, 8, 16]).unwrap_or(8),
            capabilities: capabilities.bits(),
            faults,
        }
    }
}

/// Where the log's pages go.
pub(crate) enum Store {
    Nowhere,
    Kept(Vec<u8>),
    File(std::io::BufWriter<std::fs::File>),
}

impl Sink for Store {
    fn page(&mut self, page: &[u8]) -> Result<(), SinkError> {
        match self {
            Self::Nowhere => Ok(()),
            Self::Kept(bytes) => {
                bytes.extend_from_slice(page);
                Ok(())
            }
            Self::File(file) => std::io::Write::write_all(file, page).map_err(|_| SinkError),
        }
    }
}

/// The runtime under test.
pub(crate) type Pool<'a> = Local<'a, Watch<'a>, Store>;

/// Storage for a simulated device and a runtime.
pub(crate) struct Boxes {
    sim: HeapSim,
    arenas: HeapArenas,
}

impl Boxes {
    pub(crate) fn new(surroundings: &Surroundings, pages: usize) -> Self {
        let (granules, markers) = (usize::from(surroundings.granules), usize::from(surroundings.markers));
        let devices = usize::from(surroundings.devices);
        let all_granules = granules * devices;
        Self {
            sim: HeapSim::new(SimCapacities {
                devices,
                ranges: RANGES,
                pages: all_granules * 2 + 2,
                granules: all_granules,
                streams: SIM_STREAMS,
                markers: EVENTS + markers,
                ops: 1000,
                pieces: 4000,
            }),
            arenas: HeapArenas::new(Capacities {
                streams: STREAMS,
                events: EVENTS,
                markers,
                pools: RANGES,
                blocks: BLOCKS,
                granules: all_granules + 1,
                labels: 0,
                pages,
            }),
        }
    }

    /// A fresh runtime on a fresh device.
    pub(crate) fn lend(&mut self, surroundings: &Surroundings, store: Store, judges: bool) -> Pool<'_> {
        let mut config = DeviceConfig::new(Bytes(u64::from(surroundings.granules) * GRANULE));
        config.properties.capabilities = Capabilities::from_bits_truncate(surroundings.capabilities);
        let configs = [config; DEVICES];
        let configs = &configs[..usize::from(surroundings.devices)];
        let sim = Sim::new(self.sim.lend(), configs, surroundings.seed).expect("the storage is large enough");
        let properties = sim.properties(DeviceId(0)).expect("the device is there");
        if surroundings.faults > 0 {
            sim.fail_rate(surroundings.seed, surroundings.faults);
        }
        let oracle = Oracle::new(EVENTS, properties, judges, surroundings.faults == 0);
        let watch = Watch { sim, oracle: RefCell::new(oracle) };
        Local::new(self.arenas.lend(), watch, store)
    }
}
