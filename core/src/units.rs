//! Quantities that cross a module edge. No bare integers: a byte count cannot be mistaken for an address.

use core::fmt;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// Zero of this quantity.
            pub const ZERO: Self = Self(0);

            /// The plain number.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }
        }
    };
}

quantity!(
    /// A size in bytes.
    Bytes
);
quantity!(
    /// A device virtual address in bytes. Zero is never a valid address.
    DevicePtr
);
quantity!(
    /// A position in one stream: a counter that every allocator call on that stream advances.
    /// Zero comes before every call.
    Seq
);
quantity!(
    /// A point in time in nanoseconds from an origin of the driver's choice; monotonic.
    Nanos
);

/// The logarithm of a number, rounded down; of 0 it is 0. Not `ilog2`, which panics there, and holds on to that wherever the
/// compiler does not look inside.
#[inline]
pub(crate) const fn log2(number: u64) -> u32 {
    (u64::BITS - 1).saturating_sub(number.leading_zeros())
}

/// One kibibyte, mebibyte and gibibyte in bytes.
pub const KIB: u64 = 1 << 10;
/// 2^20 bytes.
pub const MIB: u64 = 1 << 20;
/// 2^30 bytes.
pub const GIB: u64 = 1 << 30;

impl Bytes {
    /// `n` KiB.
    #[must_use]
    pub const fn kib(n: u64) -> Self {
        Self(n * KIB)
    }

    /// `n` MiB.
    #[must_use]
    pub const fn mib(n: u64) -> Self {
        Self(n * MIB)
    }

    /// `n` GiB.
    #[must_use]
    pub const fn gib(n: u64) -> Self {
        Self(n * GIB)
    }

    /// This size rounded up to a multiple of `unit` (a power of two), or `None` on overflow.
    #[must_use]
    pub const fn round_up(self, unit: Bytes) -> Option<Bytes> {
        let mask = unit.0.wrapping_sub(1);
        match self.0.checked_add(mask) {
            Some(sum) => Some(Bytes(sum & !mask)),
            None => None,
        }
    }

    /// This size rounded down to a multiple of `unit` (a power of two).
    #[must_use]
    pub const fn round_down(self, unit: Bytes) -> Bytes {
        Bytes(self.0 & !unit.0.wrapping_sub(1))
    }

    /// How many whole `unit`s (a power of two) this size has. No division: a small processor does that in software.
    pub(crate) const fn units(self, unit: Bytes) -> u64 {
        self.0 >> (unit.0.trailing_zeros() % u64::BITS)
    }

    /// Whether this size is a multiple of `unit` (a power of two).
    pub(crate) const fn is_whole(self, unit: Bytes) -> bool {
        self.0 & unit.0.wrapping_sub(1) == 0
    }
}

impl fmt::Display for Bytes {
    /// Prints the exact count: `2097152 B`. Units are for people's tools, not for messages that tests compare.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for DevicePtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
