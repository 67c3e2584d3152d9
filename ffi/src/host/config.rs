//! How a host device is made.

use core::time::Duration;
use weir::units::{Bytes, GIB, KIB, MIB};

/// The physical memory that a host device has unless its configuration says otherwise. It is sparse: only what is
/// written takes memory of the machine.
pub const DEFAULT_TOTAL: Bytes = Bytes(64 * GIB);

/// The settings of a [`HostDriver`](super::HostDriver).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Number of devices, at least one. They are alike.
    pub devices: u32,
    /// Physical memory of each; rounded down to whole granules, at least one.
    pub total: Bytes,
    /// Size of a granule: a power of two and a multiple of the page size. Default 2 MiB.
    pub granularity: Bytes,
    /// Alignment and rounding of blocks: a power of two that divides the granularity. Default 512 B.
    pub alignment: Bytes,
    /// How long a synchronisation waits before it answers "timed out". Default: for ever.
    pub patience: Option<Duration>,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            devices: 1,
            total: DEFAULT_TOTAL,
            granularity: Bytes(2 * MIB),
            alignment: Bytes(KIB / 2),
            patience: None,
        }
    }
}

impl HostConfig {
    /// The defaults with this much physical memory.
    #[must_use]
    pub fn with_total(total: Bytes) -> Self {
        Self { total, ..Self::default() }
    }

    /// What is wrong with these settings, if anything.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let (granule, block) = (self.granularity.0, self.alignment.0);
        if self.devices == 0 {
            return Err("devices is 0: at least one device is needed");
        }
        if !granule.is_power_of_two() || granule < 4 * KIB {
            return Err("granularity must be a power of two of at least 4096 bytes");
        }
        if !block.is_power_of_two() || block > granule {
            return Err("alignment must be a power of two no larger than the granularity");
        }
        if self.total.0 < granule {
            return Err("total is smaller than one granule");
        }
        if self.total.0 / granule >= u64::from(u32::MAX) || i64::try_from(self.total.0).is_err() {
            return Err("total has more granules than 32 bits can count");
        }
        Ok(())
    }
}
