//! The edge to the device: a dozen calls that any backend provides.
//!
//! A driver is called without any lock of weir's held, possibly from several threads at once. Every call is
//! all-or-nothing: after an `Err` the device is as before.

use crate::id::{DeviceId, PoolId};
use crate::units::{Bytes, DevicePtr, Nanos};
use core::fmt;

bitflags::bitflags! {
    /// What a device's driver can do beyond the minimum.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Capabilities: u32 {
        /// Map and unmap take effect in the order of the stream that is named, not at once.
        const MAP_IN_STREAM_ORDER = 1;
        /// Addresses are cheap: ranges of many times the limit can be reserved.
        const SPARSE_ADDRESSES = 2;
    }
}

/// What a device's memory looks like. Constant over the device's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Properties {
    /// Size of the smallest piece of physical memory that is mapped; a power of two (2 MiB on most devices).
    pub granularity: Bytes,
    /// Alignment and rounding of blocks; a power of two that divides the granularity (512 B by default).
    pub alignment: Bytes,
    /// Physical memory of the device in all.
    pub total: Bytes,
    /// What the driver can do beyond the minimum.
    pub capabilities: Capabilities,
}

/// A stream as the driver knows it: a vendor handle, or an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NativeStream(pub u64);

/// A piece of physical memory of one granule as the driver knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct GranuleHandle(pub u64);

/// A driver event by the slot number that weir gives it. The runtime's events come first (slots `0..events`), weir's
/// own markers after them (`events..events + markers`). Laying a slot again replaces what it stood for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MarkerSlot(pub u32);

/// What a query or a synchronisation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Target {
    /// Everything queued on the stream so far.
    Stream(NativeStream),
    /// The latest lay of this slot.
    Marker(MarkerSlot),
    /// Everything queued on every stream of the device so far.
    Device(DeviceId),
}

/// The answer to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub enum Completion {
    /// All of it is complete on the device.
    Complete,
    /// Some of it is not.
    Pending,
}

/// Which driver call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum DriverCall {
    /// [`Driver::properties`].
    Properties = 0,
    /// [`Driver::reserve`].
    Reserve = 1,
    /// [`Driver::release`].
    Release = 2,
    /// [`Driver::create`].
    Create = 3,
    /// [`Driver::destroy`].
    Destroy = 4,
    /// [`Driver::map`].
    Map = 5,
    /// [`Driver::unmap`].
    Unmap = 6,
    /// [`Driver::lay`].
    Lay = 7,
    /// [`Driver::query`].
    Query = 8,
    /// [`Driver::wait`].
    Wait = 9,
    /// [`Driver::synchronise`].
    Synchronise = 10,
}

impl DriverCall {
    /// All calls, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Properties,
        Self::Reserve,
        Self::Release,
        Self::Create,
        Self::Destroy,
        Self::Map,
        Self::Unmap,
        Self::Lay,
        Self::Query,
        Self::Wait,
        Self::Synchronise,
    ];
}

/// A driver call failed; nothing was changed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct DriverError {
    /// The call.
    pub call: DriverCall,
    /// The driver's own code; 0 where it has none.
    pub code: i32,
    /// What kind of failure it is, as far as it decides what weir does next.
    pub kind: DriverErrorKind,
}

/// Kinds of failure that make a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum DriverErrorKind {
    /// The device has no physical memory, addresses or mappings left.
    Exhausted = 0,
    /// A synchronisation ran into its time limit.
    TimedOut = 1,
    /// The call or an argument is not supported.
    Unsupported = 2,
    /// Anything else.
    Failed = 3,
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "driver call `{}` failed with code {} ({:?})", self.call.name(), self.code, self.kind)
    }
}

/// A device driver. See the module's page for what every implementation owes.
pub trait Driver {
    /// What the device's memory looks like.
    ///
    /// # Errors
    /// The device does not exist.
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError>;

    /// Reserves `bytes` of addresses (a multiple of the granularity, aligned to it) without memory behind them.
    ///
    /// # Errors
    /// No such range is left.
    fn reserve(&self, device: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError>;

    /// Gives a whole range back; nothing is mapped in it any more.
    ///
    /// # Errors
    /// The driver refused; the range stays reserved.
    fn release(&self, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<(), DriverError>;

    /// Creates one granule of physical memory.
    ///
    /// # Errors
    /// [`DriverErrorKind::Exhausted`]: the device is full.
    fn create(&self, device: DeviceId) -> Result<GranuleHandle, DriverError>;

    /// Destroys a granule that is not mapped.
    ///
    /// # Errors
    /// The driver refused; the granule still exists.
    fn destroy(&self, device: DeviceId, granule: GranuleHandle) -> Result<(), DriverError>;

    /// Maps a granule at `at` (aligned to the granularity, inside a reserved range, nothing mapped there), readable
    /// and writable by the device. `stream` is the stream the memory is for; drivers with
    /// [`Capabilities::MAP_IN_STREAM_ORDER`] map in its order, others at once.
    ///
    /// # Errors
    /// Nothing was mapped.
    fn map(
        &self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        stream: Option<NativeStream>,
    ) -> Result<(), DriverError>;

    /// Unmaps the granule at `at`, which no unfinished work uses. Where a stream is named (only drivers with
    /// [`Capabilities::MAP_IN_STREAM_ORDER`] see that), work queued before on that stream, and what it comes after, may
    /// still use it: it is unmapped when the stream comes to it.
    ///
    /// # Errors
    /// The granule is still mapped.
    fn unmap(&self, device: DeviceId, at: DevicePtr, stream: Option<NativeStream>) -> Result<(), DriverError>;

    /// Lays a marker behind everything queued on the stream so far. The slot may have been laid before, even on
    /// another stream, and even if it is not complete: waits that took it keep what they took.
    ///
    /// # Errors
    /// The slot stands for what it stood for before.
    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError>;

    /// Asks, without waiting.
    ///
    /// # Errors
    /// Nothing was learnt.
    fn query(&self, what: Target) -> Result<Completion, DriverError>;

    /// Makes whatever is queued on `stream` from now on wait, on the device, for the latest lay of `marker`.
    ///
    /// # Errors
    /// No wait was queued.
    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError>;

    /// Waits on the host.
    ///
    /// # Errors
    /// Nothing was learnt; [`DriverErrorKind::TimedOut`] where the driver has a time limit.
    fn synchronise(&self, what: Target) -> Result<(), DriverError>;

    /// Reads a monotonic clock. The only call made from [`free_async`](crate::Runtime::free_async): it must be
    /// harmless in a host callback.
    fn now(&self) -> Nanos;

    /// A malloc is about to be refused: the embedder may give memory back, in the pool or elsewhere on the device. It may
    /// call the runtime, but for another malloc. Called without any lock; [`OnPressure`] makes a closure of it.
    fn pressure(&self, pressure: Pressure) -> Relief {
        let _ = pressure;
        Relief::Nothing
    }
}

/// What a malloc lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Pressure {
    /// The pool that has nothing for it.
    pub pool: PoolId,
    /// The device whose memory it is.
    pub device: DeviceId,
    /// The size that was asked for, rounded up to the alignment.
    pub bytes: Bytes,
}

/// What was done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Relief {
    /// Nothing: the malloc is refused.
    Nothing,
    /// Something was given back: the malloc tries everything again.
    Some,
}

/// A driver with a callback for [`Driver::pressure`].
#[derive(Clone, Copy, Debug)]
pub struct OnPressure<D, F> {
    /// The driver.
    pub driver: D,
    /// The callback.
    pub relieve: F,
}

/// Hands calls of a driver on to another one, inside `impl Driver for ...`: those that are named, or all but
/// [`Driver::pressure`].
///
/// ```
/// use weir::driver::{Driver, DriverError, Relief, Pressure, Target};
/// # use weir::driver::{Completion, GranuleHandle, MarkerSlot, NativeStream, Properties};
///
/// /// A driver that answers no question.
/// struct Silent<D>(D);
///
/// impl<D: Driver> Driver for Silent<D> {
///     weir::hand_on! { self => self.0; properties reserve release create destroy map unmap lay wait synchronise now }
///     fn query(&self, _: Target) -> Result<Completion, DriverError> {
///         Ok(Completion::Pending)
///     }
///     fn pressure(&self, pressure: Pressure) -> Relief {
///         self.0.pressure(pressure)
///     }
/// }
/// ```
#[macro_export]
macro_rules! hand_on {
    ($this:ident => $driver:expr) => {
        $crate::hand_on! {
            $this => $driver;
            properties reserve release create destroy map unmap lay query wait synchronise now
        }
    };
    ($this:ident => $driver:expr; $($call:ident)+) => {
        $($crate::hand_on! { @$call $this $driver })+
    };
    (@properties $this:ident $driver:expr) => {
        fn properties(
            &$this,
            device: $crate::id::DeviceId,
        ) -> ::core::result::Result<$crate::driver::Properties, $crate::driver::DriverError> {
            $driver.properties(device)
        }
    };
    (@reserve $this:ident $driver:expr) => {
        fn reserve(
            &$this,
            device: $crate::id::DeviceId,
            bytes: $crate::units::Bytes,
        ) -> ::core::result::Result<$crate::units::DevicePtr, $crate::driver::DriverError> {
            $driver.reserve(device, bytes)
        }
    };
    (@release $this:ident $driver:expr) => {
        fn release(
            &$this,
            device: $crate::id::DeviceId,
            base: $crate::units::DevicePtr,
            bytes: $crate::units::Bytes,
        ) -> ::core::result::Result<(), $crate::driver::DriverError> {
            $driver.release(device, base, bytes)
        }
    };
    (@create $this:ident $driver:expr) => {
        fn create(
            &$this,
            device: $crate::id::DeviceId,
        ) -> ::core::result::Result<$crate::driver::GranuleHandle, $crate::driver::DriverError> {
            $driver.create(device)
        }
    };
    (@destroy $this:ident $driver:expr) => {
        fn destroy(
            &$this,
            device: $crate::id::DeviceId,
            granule: $crate::driver::GranuleHandle,
        ) -> ::core::result::Result<(), $crate::driver::DriverError> {
            $driver.destroy(device, granule)
        }
    };
    (@map $this:ident $driver:expr) => {
        fn map(
            &$this,
            device: $crate::id::DeviceId,
            at: $crate::units::DevicePtr,
            granule: $crate::driver::GranuleHandle,
            stream: ::core::option::Option<$crate::driver::NativeStream>,
        ) -> ::core::result::Result<(), $crate::driver::DriverError> {
            $driver.map(device, at, granule, stream)
        }
    };
    (@unmap $this:ident $driver:expr) => {
        fn unmap(
            &$this,
            device: $crate::id::DeviceId,
            at: $crate::units::DevicePtr,
            stream: ::core::option::Option<$crate::driver::NativeStream>,
        ) -> ::core::result::Result<(), $crate::driver::DriverError> {
            $driver.unmap(device, at, stream)
        }
    };
    (@lay $this:ident $driver:expr) => {
        fn lay(
            &$this,
            marker: $crate::driver::MarkerSlot,
            stream: $crate::driver::NativeStream,
        ) -> ::core::result::Result<(), $crate::driver::DriverError> {
            $driver.lay(marker, stream)
        }
    };
    (@query $this:ident $driver:expr) => {
        fn query(
            &$this,
            what: $crate::driver::Target,
        ) -> ::core::result::Result<$crate::driver::Completion, $crate::driver::DriverError> {
            $driver.query(what)
        }
    };
    (@wait $this:ident $driver:expr) => {
        fn wait(
            &$this,
            stream: $crate::driver::NativeStream,
            marker: $crate::driver::MarkerSlot,
        ) -> ::core::result::Result<(), $crate::driver::DriverError> {
            $driver.wait(stream, marker)
        }
    };
    (@synchronise $this:ident $driver:expr) => {
        fn synchronise(
            &$this,
            what: $crate::driver::Target,
        ) -> ::core::result::Result<(), $crate::driver::DriverError> {
            $driver.synchronise(what)
        }
    };
    (@now $this:ident $driver:expr) => {
        fn now(&$this) -> $crate::units::Nanos {
            $driver.now()
        }
    };
}

impl<D: Driver + ?Sized> Driver for &D {
    hand_on!(self => (**self));
    fn pressure(&self, pressure: Pressure) -> Relief {
        (**self).pressure(pressure)
    }
}

impl<D: Driver, F: Fn(Pressure) -> Relief> Driver for OnPressure<D, F> {
    hand_on!(self => self.driver);
    fn pressure(&self, pressure: Pressure) -> Relief {
        (self.relieve)(pressure)
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Capabilities {
    fn format(&self, f: defmt::Formatter<'_>) {
        crate::trace::format_flags!(
            f, *self, "Capabilities(", MAP_IN_STREAM_ORDER "MAP_IN_STREAM_ORDER", SPARSE_ADDRESSES "SPARSE_ADDRESSES"
        );
    }
}
