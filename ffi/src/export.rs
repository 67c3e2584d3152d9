//! The names that libraries export beside `weir.h`'s: this crate has the functions, and whoever makes a library of them
//! gives them their names, since `libweir_acl.so` has other functions of the same names.

/// Exports functions of this crate under their own names.
#[doc(hidden)]
#[macro_export]
macro_rules! export_functions {
    ($from:path: $(fn $name:ident($($arg:ident: $type:ty),*) $(-> $answer:ty)?;)+) => {
        use $from as functions;
        $(
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, clippy::missing_safety_doc, reason = "the names and the contract are the header's")]
            #[doc = concat!("See the header that declares `", stringify!($name), "`.")]
            pub unsafe extern "C" fn $name($($arg: $type),*) $(-> $answer)? {
                // SAFETY: the arguments are handed on as they came, with the caller's promises about them.
                unsafe { functions::$name($($arg),*) }
            }
        )+
    };
}

/// Exports what kernels of the host driver call: `weir_kernel_bytes` and `weir_kernel_fail` of `weir.h`.
#[macro_export]
macro_rules! export_kernels {
    () => {
        mod kernels {
            use core::ffi::{c_char, c_void};
            use $crate::bindings::weir_kernel;

            $crate::export_functions! { $crate::capi:
                fn weir_kernel_bytes(kernel: *mut weir_kernel, ptr: u64, bytes: u64, access: u32) -> *mut c_void;
                fn weir_kernel_fail(kernel: *mut weir_kernel, message: *const c_char);
            }
        }
    };
}

/// Exports the emulated functions of CANN's interface, which [`acl`](crate::acl) has.
#[macro_export]
macro_rules! export_emulation {
    () => {
        mod emulation {
            use core::ffi::{c_char, c_void};
            use $crate::acl::bindings::*;

            $crate::export_functions! { $crate::acl:
                fn aclInit(config: *const c_char) -> aclError;
                fn aclFinalize() -> aclError;
                fn aclGetRecentErrMsg() -> *const c_char;
                fn aclrtSetDevice(device: i32) -> aclError;
                fn aclrtResetDevice(device: i32) -> aclError;
                fn aclrtSynchronizeDevice() -> aclError;
                fn aclrtCreateContext(context: *mut aclrtContext, device: i32) -> aclError;
                fn aclrtDestroyContext(context: aclrtContext) -> aclError;
                fn aclrtGetMemInfo(attr: aclrtMemAttr::Type, free: *mut usize, total: *mut usize) -> aclError;
                fn aclrtCreateStream(stream: *mut aclrtStream) -> aclError;
                fn aclrtDestroyStream(stream: aclrtStream) -> aclError;
                fn aclrtSynchronizeStream(stream: aclrtStream) -> aclError;
                fn aclrtCreateEvent(event: *mut aclrtEvent) -> aclError;
                fn aclrtDestroyEvent(event: aclrtEvent) -> aclError;
                fn aclrtRecordEvent(event: aclrtEvent, stream: aclrtStream) -> aclError;
                fn aclrtStreamWaitEvent(stream: aclrtStream, event: aclrtEvent) -> aclError;
                fn aclrtQueryEventStatus(event: aclrtEvent, status: *mut aclrtEventRecordedStatus::Type) -> aclError;
                fn aclrtSynchronizeEvent(event: aclrtEvent) -> aclError;
                fn aclrtMemcpy(
                    to: *mut c_void, most: usize, from: *const c_void, bytes: usize, kind: aclrtMemcpyKind::Type
                ) -> aclError;
                fn aclrtMemcpyAsync(
                    to: *mut c_void, most: usize, from: *const c_void, bytes: usize, kind: aclrtMemcpyKind::Type,
                    stream: aclrtStream
                ) -> aclError;
                fn aclrtBinaryGetFunction(
                    binary: aclrtBinHandle, name: *const c_char, function: *mut aclrtFuncHandle
                ) -> aclError;
                fn aclrtLaunchKernel(
                    function: aclrtFuncHandle, blocks: u32, args: *const c_void, bytes: usize, stream: aclrtStream
                ) -> aclError;
                fn aclrtMemPoolCreate(pool: *mut aclrtMemPool, props: *const aclrtMemPoolProps) -> aclError;
                fn aclrtMemPoolDestroy(pool: aclrtMemPool) -> aclError;
                fn aclrtMemPoolSetAttr(
                    pool: aclrtMemPool, attr: aclrtMemPoolAttr::Type, value: *mut c_void
                ) -> aclError;
                fn aclrtMemPoolGetAttr(
                    pool: aclrtMemPool, attr: aclrtMemPoolAttr::Type, value: *mut c_void
                ) -> aclError;
                fn aclrtMemPoolMallocAsync(
                    ptr: *mut *mut c_void, size: usize, pool: aclrtMemPool, stream: aclrtStream
                ) -> aclError;
                fn aclrtMemPoolFreeAsync(ptr: *mut c_void, stream: aclrtStream) -> aclError;
                fn aclrtMemPoolTrimTo(pool: aclrtMemPool, keep: usize) -> aclError;
                fn weir_acl_register_kernel(name: *const c_char, function: weir_acl_kernel) -> aclError;
                fn weir_acl_binary() -> aclrtBinHandle;
            }
        }
    };
}
