//! What a user chooses: reuse switches, thresholds, limits, and the numbered attributes that CUDA and CANN share.

use crate::id::DeviceId;
use crate::units::Bytes;

bitflags::bitflags! {
    /// The three reuse switches of a pool (CUDA and CANN attributes 1, 2 and 3). Same-stream and settled reuse
    /// cannot be switched off.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Reuse: u8 {
        /// Attribute 1: reuse across streams along the events that the program recorded and waited for.
        const EVENT = 1;
        /// Attribute 2: ask the driver, without waiting, whether a free is complete, and reuse only what is. (CANN does
        /// not ask.)
        const OPPORTUNISTIC = 2;
        /// Attribute 3: make the stream wait on the device for another stream's free, behind the marker that the first
        /// call on that stream after the free lays. (CANN blocks a worker of the device instead.)
        const INTERNAL = 4;
    }
}

impl Default for Reuse {
    /// All three on, as CUDA.
    fn default() -> Self {
        Self::all()
    }
}

/// What comes first when nothing free is usable at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Preference {
    /// Map new memory, wait only where the limit is reached (CUDA).
    #[default]
    GrowFirst,
    /// Insert a wait, map new memory only where none is possible (CANN).
    WaitFirst,
}

/// How much a pool grows at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Growth {
    /// By the granules that a request needs, the free ones of the pool being moved first.
    #[default]
    Frugal,
    /// By at least this many bytes, in whole granules, as far as the limit and the device allow: fewer, larger growths.
    Eager(Bytes),
}

/// What a synchronisation does with memory above the release threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Release {
    /// Releases it, but where the same bytes were released and created again for three rounds, keeps what recent rounds
    /// needed until demand falls.
    #[default]
    Hysteresis,
    /// Releases it at every synchronisation, as CUDA and CANN do.
    Always,
}

/// What comes before a refusal when memory was freed, but its work is not finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Blocking {
    /// Nothing: the call never waits on the host.
    #[default]
    Never,
    /// The host waits for the work that holds most back, as long as that helps.
    WhenExhausted,
}

/// The settings of a pool that seldom need to be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Tuning {
    /// How much the pool grows at a time. Default: frugally.
    pub growth: Growth,
    /// Whether it releases at every synchronisation. Default: with hysteresis.
    pub release: Release,
    /// Whether a malloc may wait on the host before it is refused. Default: never.
    pub blocking: Blocking,
    /// How many times its limit a pool reserves as addresses, at least 1. Default (`None`): on devices with
    /// [`SPARSE_ADDRESSES`](crate::driver::Capabilities::SPARSE_ADDRESSES) 1 + half of log2 of its granules, rounded up,
    /// which is what whole granules need in the worst case (Robson 1974); elsewhere 1.
    pub addresses: Option<u32>,
}

impl Tuning {
    /// The defaults.
    pub const DEFAULT: Self =
        Self { growth: Growth::Frugal, release: Release::Hysteresis, blocking: Blocking::Never, addresses: None };
}

impl Default for Tuning {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// How a pool is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PoolConfig {
    /// The device whose memory the pool maps.
    pub device: DeviceId,
    /// The most physical memory the pool may hold; rounded up to whole granules. Zero: the device's total.
    pub limit: Bytes,
    /// Reserved bytes kept at a synchronisation. Default 0.
    pub threshold: Bytes,
    /// Reuse switches. Default: all on.
    pub reuse: Reuse,
    /// Whether growing or waiting comes first. Default: growing.
    pub preference: Preference,
    /// Requests up to this size are packed apart from larger ones, so that they do not pin whole granules of theirs.
    /// Default: an eighth of a granule (`None`).
    pub small_limit: Option<Bytes>,
    /// What seldom needs to be chosen.
    pub tuning: Tuning,
}

impl PoolConfig {
    /// The defaults for `device`: limit = its total, threshold 0, every switch on.
    #[must_use]
    pub const fn new(device: DeviceId) -> Self {
        Self {
            device,
            limit: Bytes::ZERO,
            threshold: Bytes::ZERO,
            reuse: Reuse::all(),
            preference: Preference::GrowFirst,
            small_limit: None,
            tuning: Tuning::DEFAULT,
        }
    }
}

/// The numbered attributes of a pool; the numbers are those of `CUmemPool_attribute` and `aclrtMemPoolAttr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u32)]
pub enum Attribute {
    /// 1: [`Reuse::EVENT`], 0 or 1 (any other value counts as 1).
    ReuseFollowEventDependencies = 1,
    /// 2: [`Reuse::OPPORTUNISTIC`].
    ReuseAllowOpportunistic = 2,
    /// 3: [`Reuse::INTERNAL`].
    ReuseAllowInternalDependencies = 3,
    /// 4: reserved bytes kept at a synchronisation. `u64::MAX`: never release.
    ReleaseThreshold = 4,
    /// 5: mapped physical bytes now. Read only.
    ReservedMemCurrent = 5,
    /// 6: the most of 5 since the last reset. Only 0 may be set: it resets to the current value.
    ReservedMemHigh = 6,
    /// 7: bytes in live blocks now. Read only.
    UsedMemCurrent = 7,
    /// 8: the most of 7 since the last reset. Only 0 may be set: it resets to the current value.
    UsedMemHigh = 8,
}

impl Attribute {
    /// The attribute of this number, if there is one.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::ReuseFollowEventDependencies,
            2 => Self::ReuseAllowOpportunistic,
            3 => Self::ReuseAllowInternalDependencies,
            4 => Self::ReleaseThreshold,
            5 => Self::ReservedMemCurrent,
            6 => Self::ReservedMemHigh,
            7 => Self::UsedMemCurrent,
            8 => Self::UsedMemHigh,
            _ => return None,
        })
    }

    /// The switch behind attributes 1 to 3.
    #[must_use]
    pub const fn switch(self) -> Option<Reuse> {
        match self {
            Self::ReuseFollowEventDependencies => Some(Reuse::EVENT),
            Self::ReuseAllowOpportunistic => Some(Reuse::OPPORTUNISTIC),
            Self::ReuseAllowInternalDependencies => Some(Reuse::INTERNAL),
            _ => None,
        }
    }
}

/// How a stream orders itself against others of its context, as in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum StreamKind {
    /// Ordered only by events. Also every CANN stream.
    #[default]
    NonBlocking,
    /// Waits for the legacy default stream's work and is waited for by it.
    Blocking,
    /// The legacy default stream: comes after all earlier work of the blocking streams of its context, and before
    /// their later work.
    Legacy,
    /// A thread's own default stream: behaves as [`Blocking`](Self::Blocking).
    PerThread,
}

/// Whether a stream's calls are being captured into a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Capture {
    /// They are: allocation is refused with a named error, and no driver call is made there.
    Active,
    /// They run.
    None,
}

/// What to do with blocks that are live when their pool is destroyed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Destroy {
    /// Refuse while any block is live.
    #[default]
    IfEmpty,
    /// Take the heads of all the device's streams as their points; the memory goes back once those are complete.
    WithLiveBlocks,
}

/// When a recorded use of another stream counts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum UseUntil {
    /// What was queued on the stream before this call.
    #[default]
    Now,
    /// Whatever is queued on the stream until the block is freed: the conservative form, for callers that may
    /// announce a use before they launch it (PyTorch's `record_stream`).
    Free,
}

#[cfg(feature = "defmt")]
impl defmt::Format for Reuse {
    fn format(&self, f: defmt::Formatter<'_>) {
        crate::trace::format_flags!(
            f, *self, "Reuse(", EVENT "EVENT", OPPORTUNISTIC "OPPORTUNISTIC", INTERNAL "INTERNAL"
        );
    }
}
