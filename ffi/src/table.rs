//! A driver given as a table of C functions (`weir_driver.h`): how firmware and other languages bring their own device.

use crate::bindings::{
    WEIR_DRIVER_ABI, weir_driver_ops, weir_driver_properties, weir_driver_status, weir_driver_target,
    weir_driver_target_kind,
};
use core::ffi::{c_int, c_void};
use core::fmt;
use core::mem::size_of;
use core::ptr;
use weir::driver::{
    Capabilities, Completion, Driver, DriverCall, DriverError, DriverErrorKind, GranuleHandle, MarkerSlot,
    NativeStream, Properties, Target,
};
use weir::id::DeviceId;
use weir::units::{Bytes, DevicePtr, Nanos};

/// A table of functions cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableError {
    /// Its version is not this library's.
    Version {
        /// The version it states.
        found: u32,
        /// The version that this library knows.
        expected: u32,
    },
    /// It is not as long as that version's table: its `size` field was not set, or was made for another machine.
    Size {
        /// The size it states, in bytes.
        found: u32,
        /// The size that this library knows.
        expected: u32,
    },
    /// This function is null.
    Missing(&'static str),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { found, expected } => {
                write!(f, "driver table: `abi` is {found}, expected {expected} (WEIR_DRIVER_ABI)")
            }
            Self::Size { found, expected } => {
                write!(f, "driver table: `size` is {found}, expected {expected} (sizeof(struct weir_driver_ops))")
            }
            Self::Missing(name) => write!(f, "driver table: function `{name}` is null"),
        }
    }
}

impl core::error::Error for TableError {}

type Code<'a> = &'a mut c_int;

/// The table with every function known to be there.
struct Functions {
    properties: unsafe extern "C" fn(*mut c_void, u32, *mut weir_driver_properties, *mut c_int) -> c_int,
    reserve: unsafe extern "C" fn(*mut c_void, u32, u64, *mut u64, *mut c_int) -> c_int,
    release: unsafe extern "C" fn(*mut c_void, u32, u64, u64, *mut c_int) -> c_int,
    create: unsafe extern "C" fn(*mut c_void, u32, *mut u64, *mut c_int) -> c_int,
    destroy: unsafe extern "C" fn(*mut c_void, u32, u64, *mut c_int) -> c_int,
    map: unsafe extern "C" fn(*mut c_void, u32, u64, u64, *const u64, *mut c_int) -> c_int,
    unmap: unsafe extern "C" fn(*mut c_void, u32, u64, *const u64, *mut c_int) -> c_int,
    lay: unsafe extern "C" fn(*mut c_void, u32, u64, *mut c_int) -> c_int,
    query: unsafe extern "C" fn(*mut c_void, *const weir_driver_target, *mut c_int, *mut c_int) -> c_int,
    wait: unsafe extern "C" fn(*mut c_void, u64, u32, *mut c_int) -> c_int,
    synchronise: unsafe extern "C" fn(*mut c_void, *const weir_driver_target, *mut c_int) -> c_int,
    now: unsafe extern "C" fn(*mut c_void) -> u64,
}

/// A driver made of C functions.
pub struct TableDriver {
    functions: Functions,
    ctx: *mut c_void,
}

// SAFETY: whoever made it promised that the functions may be called from any thread (`TableDriver::new`); `ctx` is only
// handed to them.
unsafe impl Send for TableDriver {}
// SAFETY: the same promise covers calls from several threads at once.
unsafe impl Sync for TableDriver {}

impl fmt::Debug for TableDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableDriver").field("ctx", &self.ctx).finish_non_exhaustive()
    }
}

impl TableDriver {
    /// Takes a copy of the table after checking it.
    ///
    /// # Safety
    /// The functions do what `weir_driver.h` says for as long as the driver lives, from any thread, several at once.
    ///
    /// # Errors
    /// A version or a size that this library does not know, or a null function, by name.
    pub unsafe fn new(ops: &weir_driver_ops) -> Result<Self, TableError> {
        let (found, expected) = (ops.abi, WEIR_DRIVER_ABI);
        if found != expected {
            return Err(TableError::Version { found, expected });
        }
        let (found, expected) = (ops.size, size_of::<weir_driver_ops>() as u32);
        if found != expected {
            return Err(TableError::Size { found, expected });
        }
        let missing = TableError::Missing;
        let functions = Functions {
            properties: ops.properties.ok_or(missing("properties"))?,
            reserve: ops.reserve.ok_or(missing("reserve"))?,
            release: ops.release.ok_or(missing("release"))?,
            create: ops.create.ok_or(missing("create"))?,
            destroy: ops.destroy.ok_or(missing("destroy"))?,
            map: ops.map.ok_or(missing("map"))?,
            unmap: ops.unmap.ok_or(missing("unmap"))?,
            lay: ops.lay.ok_or(missing("lay"))?,
            query: ops.query.ok_or(missing("query"))?,
            wait: ops.wait.ok_or(missing("wait"))?,
            synchronise: ops.synchronise.ok_or(missing("synchronise"))?,
            now: ops.now.ok_or(missing("now"))?,
        };
        Ok(Self { functions, ctx: ops.ctx })
    }

    /// Makes one call and turns what it returns into an outcome.
    fn call(
        &self,
        call: DriverCall,
        work: impl FnOnce(&Functions, *mut c_void, Code<'_>) -> c_int,
    ) -> Result<(), DriverError> {
        let mut code = 0;
        let status = work(&self.functions, self.ctx, &mut code);
        outcome(call, status, code)
    }
}

fn outcome(call: DriverCall, status: c_int, code: c_int) -> Result<(), DriverError> {
    use weir_driver_status as s;
    let kind = match u32::try_from(status) {
        Ok(s::WEIR_DRIVER_OK) => return Ok(()),
        Ok(s::WEIR_DRIVER_EXHAUSTED) => DriverErrorKind::Exhausted,
        Ok(s::WEIR_DRIVER_TIMED_OUT) => DriverErrorKind::TimedOut,
        Ok(s::WEIR_DRIVER_UNSUPPORTED) => DriverErrorKind::Unsupported,
        Ok(s::WEIR_DRIVER_FAILED) => DriverErrorKind::Failed,
        _ => {
            return Err(DriverError { call, code: status, kind: DriverErrorKind::Failed });
        }
    };
    Err(DriverError { call, code, kind })
}

fn target(what: Target) -> weir_driver_target {
    use weir_driver_target_kind as k;
    let (kind, id) = match what {
        Target::Stream(stream) => (k::WEIR_DRIVER_TARGET_STREAM, stream.0),
        Target::Marker(slot) => (k::WEIR_DRIVER_TARGET_MARKER, u64::from(slot.0)),
        Target::Device(device) => (k::WEIR_DRIVER_TARGET_DEVICE, u64::from(device.0)),
    };
    weir_driver_target { kind, reserved: 0, id }
}

/// A pointer to the stream's number, or null.
fn named(stream: Option<&NativeStream>) -> *const u64 {
    stream.map_or(ptr::null(), |s| &raw const s.0)
}

impl Driver for TableDriver {
    fn properties(&self, device: DeviceId) -> Result<Properties, DriverError> {
        let mut found = weir_driver_properties { granularity: 0, alignment: 0, total: 0, capabilities: 0, reserved: 0 };
        self.call(DriverCall::Properties, |f, ctx, code| {
            // SAFETY: a function of the table; both pointers are to locals that outlive the call.
            unsafe { (f.properties)(ctx, device.0, &raw mut found, code) }
        })?;
        Ok(Properties {
            granularity: Bytes(found.granularity),
            alignment: Bytes(found.alignment),
            total: Bytes(found.total),
            capabilities: Capabilities::from_bits_truncate(found.capabilities),
        })
    }

    fn reserve(&self, device: DeviceId, bytes: Bytes) -> Result<DevicePtr, DriverError> {
        let mut base = 0;
        self.call(DriverCall::Reserve, |f, ctx, code| {
            // SAFETY: a function of the table; both pointers are to locals that outlive the call.
            unsafe { (f.reserve)(ctx, device.0, bytes.0, &raw mut base, code) }
        })?;
        Ok(DevicePtr(base))
    }

    fn release(&self, device: DeviceId, base: DevicePtr, bytes: Bytes) -> Result<(), DriverError> {
        self.call(DriverCall::Release, |f, ctx, code| {
            // SAFETY: a function of the table; `code` outlives the call.
            unsafe { (f.release)(ctx, device.0, base.0, bytes.0, code) }
        })
    }

    fn create(&self, device: DeviceId) -> Result<GranuleHandle, DriverError> {
        let mut granule = 0;
        self.call(DriverCall::Create, |f, ctx, code| {
            // SAFETY: a function of the table; both pointers are to locals that outlive the call.
            unsafe { (f.create)(ctx, device.0, &raw mut granule, code) }
        })?;
        Ok(GranuleHandle(granule))
    }

    fn destroy(&self, device: DeviceId, granule: GranuleHandle) -> Result<(), DriverError> {
        self.call(DriverCall::Destroy, |f, ctx, code| {
            // SAFETY: a function of the table; `code` outlives the call.
            unsafe { (f.destroy)(ctx, device.0, granule.0, code) }
        })
    }

    fn map(
        &self,
        device: DeviceId,
        at: DevicePtr,
        granule: GranuleHandle,
        stream: Option<NativeStream>,
    ) -> Result<(), DriverError> {
        self.call(DriverCall::Map, |f, ctx, code| {
            // SAFETY: a function of the table; `stream` and `code` outlive the call.
            unsafe { (f.map)(ctx, device.0, at.0, granule.0, named(stream.as_ref()), code) }
        })
    }

    fn unmap(&self, device: DeviceId, at: DevicePtr, stream: Option<NativeStream>) -> Result<(), DriverError> {
        self.call(DriverCall::Unmap, |f, ctx, code| {
            // SAFETY: a function of the table; `stream` and `code` outlive the call.
            unsafe { (f.unmap)(ctx, device.0, at.0, named(stream.as_ref()), code) }
        })
    }

    fn lay(&self, marker: MarkerSlot, stream: NativeStream) -> Result<(), DriverError> {
        self.call(DriverCall::Lay, |f, ctx, code| {
            // SAFETY: a function of the table; `code` outlives the call.
            unsafe { (f.lay)(ctx, marker.0, stream.0, code) }
        })
    }

    fn query(&self, what: Target) -> Result<Completion, DriverError> {
        let what = target(what);
        let mut complete = 0;
        self.call(DriverCall::Query, |f, ctx, code| {
            // SAFETY: a function of the table; all pointers are to locals that outlive the call.
            unsafe { (f.query)(ctx, &raw const what, &raw mut complete, code) }
        })?;
        match complete {
            0 => Ok(Completion::Pending),
            1 => Ok(Completion::Complete),
            // Better an error than memory that is given away too early.
            code => Err(DriverError { call: DriverCall::Query, code, kind: DriverErrorKind::Failed }),
        }
    }

    fn wait(&self, stream: NativeStream, marker: MarkerSlot) -> Result<(), DriverError> {
        self.call(DriverCall::Wait, |f, ctx, code| {
            // SAFETY: a function of the table; `code` outlives the call.
            unsafe { (f.wait)(ctx, stream.0, marker.0, code) }
        })
    }

    fn synchronise(&self, what: Target) -> Result<(), DriverError> {
        let what = target(what);
        self.call(DriverCall::Synchronise, |f, ctx, code| {
            // SAFETY: a function of the table; both pointers are to locals that outlive the call.
            unsafe { (f.synchronise)(ctx, &raw const what, code) }
        })
    }

    fn now(&self) -> Nanos {
        // SAFETY: a function of the table.
        Nanos(unsafe { (self.functions.now)(self.ctx) })
    }
}
