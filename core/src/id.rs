//! Identities: opaque, 64 bits wide, with a generation, so that a destroyed object's id never names its successor.

use core::fmt;

macro_rules! generational {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[repr(transparent)]
        pub struct $name(u64);

        impl $name {
            /// The id as one number, for a C interface or a log. Zero is never a live id.
            #[must_use]
            pub const fn raw(self) -> u64 {
                self.0
            }

            /// The id that [`raw`](Self::raw) gave out. Any number is accepted; calls refuse what is not live.
            #[must_use]
            pub const fn from_raw(raw: u64) -> Self {
                Self(raw)
            }

            pub(crate) const fn new(slot: usize, generation: u32) -> Self {
                Self(((generation as u64) << 32) | (slot as u64 & 0xffff_ffff))
            }

            pub(crate) const fn slot(self) -> usize {
                (self.0 & 0xffff_ffff) as usize
            }

            pub(crate) const fn generation(self) -> u32 {
                (self.0 >> 32) as u32
            }
        }

        impl fmt::Display for $name {
            /// `slot` or, from the second tenant on, `slot.generation`.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.generation() {
                    0 | 1 => write!(f, "{}", self.slot()),
                    n => write!(f, "{}.{n}", self.slot()),
                }
            }
        }
    };
}

generational!(
    /// A stream that the runtime knows.
    StreamId
);
generational!(
    /// An event that the runtime knows.
    EventId
);
generational!(
    /// A pool.
    PoolId
);

/// A device by its ordinal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct DeviceId(pub u32);

/// Devices that one runtime can serve.
pub const MAX_DEVICES: usize = 16;

/// An allocation: counts successful mallocs of one runtime from 1, never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AllocId(pub u64);

/// A name given to allocations, interned once. Zero is "no label".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LabelId(pub u32);

impl LabelId {
    /// No label.
    pub const NONE: Self = Self(0);
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for AllocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
