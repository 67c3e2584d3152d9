//! CUDA's driver interface as far as kernels, streams and the vendor's pool need it: one table, filled at run time.

use crate::error::GpuError;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::mem::{size_of, transmute_copy};
use weir_ffi::vendor::{Vendor, load};

/// What most calls answer; 0 is success.
pub(crate) type Code = c_int;
/// `CUcontext`, `CUstream`, `CUevent`, `CUmodule`, `CUfunction`, `CUmemoryPool`.
pub(crate) type Handle = *mut c_void;

/// The only code that is no failure.
pub(crate) const SUCCESS: Code = 0;
/// `CUDA_ERROR_STUB_LIBRARY` and `CUDA_ERROR_NO_DEVICE`: there is nothing to run on.
pub(crate) const NOTHING_THERE: [Code; 2] = [34, 100];

/// `CUmemPoolProps` of cuda.h 11.2 and later.
#[repr(C)]
pub(crate) struct PoolProperties {
    pub(crate) allocation: c_int,
    pub(crate) handle_types: c_int,
    pub(crate) location_type: c_int,
    pub(crate) location_id: c_int,
    pub(crate) security: *mut c_void,
    /// 64 bytes that must be 0; later versions have given meanings to some.
    pub(crate) reserved: [u64; 8],
}

const _: () = assert!(size_of::<*mut c_void>() != 8 || size_of::<PoolProperties>() == 88, "CUmemPoolProps");

macro_rules! table {
    ($(#[$about:meta])* $table:ident: $($field:ident $name:literal ($($type:ty),*);)+) => {
        $(#[$about])*
        #[derive(Clone, Copy)]
        pub(crate) struct $table {
            $(pub(crate) $field: unsafe extern "C" fn($($type),*) -> Code,)+
        }

        impl $table {
            /// The functions of a library; else the name of one that it lacks.
            pub(crate) fn of(library: Handle) -> Result<Self, &'static CStr> {
                Ok(Self {
                    $($field: {
                        let found = symbol(library, $name)?;
                        // SAFETY: `cuda.h` declares the function of this name with these arguments and that answer, and
                        // a function pointer has the size of the address that was found.
                        unsafe { transmute_copy(&found) }
                    },)+
                })
            }
        }
    };
}

table! {
    /// What the suite cannot do without.
    Calls:
    init c"cuInit" (c_uint);
    version c"cuDriverGetVersion" (*mut c_int);
    device_count c"cuDeviceGetCount" (*mut c_int);
    device_get c"cuDeviceGet" (*mut c_int, c_int);
    device_name c"cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_total c"cuDeviceTotalMem_v2" (*mut usize, c_int);
    device_attribute c"cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    retain c"cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    set_current c"cuCtxSetCurrent" (Handle);
    synchronise c"cuCtxSynchronize" ();
    stream_create c"cuStreamCreate" (*mut Handle, c_uint);
    stream_destroy c"cuStreamDestroy_v2" (Handle);
    stream_synchronise c"cuStreamSynchronize" (Handle);
    stream_wait c"cuStreamWaitEvent" (Handle, Handle, c_uint);
    event_create c"cuEventCreate" (*mut Handle, c_uint);
    event_destroy c"cuEventDestroy_v2" (Handle);
    event_record c"cuEventRecord" (Handle, Handle);
    launch_host c"cuLaunchHostFunc" (Handle, unsafe extern "C" fn(*mut c_void), *mut c_void);
    module_load c"cuModuleLoadData" (*mut Handle, *const c_void);
    module_function c"cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    launch c"cuLaunchKernel" (
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
    );
    malloc c"cuMemAlloc_v2" (*mut u64, usize);
    host_malloc c"cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    host_address c"cuMemHostGetDevicePointer_v2" (*mut u64, *mut c_void, c_uint);
    copy_out c"cuMemcpyDtoH_v2" (*mut c_void, u64, usize);
    set c"cuMemsetD32_v2" (u64, c_uint, usize);
}

table! {
    /// The vendor's pool: driver 11.2 and later.
    PoolCalls:
    create c"cuMemPoolCreate" (*mut Handle, *const PoolProperties);
    destroy c"cuMemPoolDestroy" (Handle);
    get c"cuMemPoolGetAttribute" (Handle, c_int, *mut c_void);
    set c"cuMemPoolSetAttribute" (Handle, c_int, *mut c_void);
    default c"cuDeviceGetDefaultMemPool" (*mut Handle, c_int);
    choose c"cuDeviceSetMemPool" (c_int, Handle);
    malloc c"cuMemAllocAsync" (*mut u64, usize, Handle);
    free c"cuMemFreeAsync" (u64, Handle);
}

fn symbol(library: Handle, name: &'static CStr) -> Result<Handle, &'static CStr> {
    // SAFETY: a handle of a library that stays loaded, and a C string.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    if found.is_null() { Err(name) } else { Ok(found) }
}

/// Loads the vendor's library. That the usual one is not there is no fault; that one that was named is not, is.
pub(crate) fn library() -> Result<Handle, GpuError> {
    let named = std::env::var_os(Vendor::Cuda.variable()).is_some();
    load(Vendor::Cuda).map_err(|error| match error {
        weir_ffi::vendor::VendorError::Library(text) if !named => GpuError::None(text),
        other => GpuError::Failed(other.to_string()),
    })
}

/// A call's answer as a result that names the call.
pub(crate) fn done(call: &str, code: Code) -> Result<(), GpuError> {
    if code == SUCCESS { Ok(()) } else { Err(GpuError::Failed(format!("{call} failed with code {code}"))) }
}
