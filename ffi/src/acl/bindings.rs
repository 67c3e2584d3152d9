//! The emulated CANN interface as `cargo xtask bindgen` read it from `include/acl`; do not edit.
// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::bindings::weir_kernel;

pub const ACL_ERROR_RT_PARAM_INVALID: u32 = 107000;
pub const ACL_ERROR_RT_INVALID_DEVICEID: u32 = 107001;
pub const ACL_ERROR_RT_CONTEXT_NULL: u32 = 107002;
pub const ACL_ERROR_RT_STREAM_CONTEXT: u32 = 107003;
pub const ACL_ERROR_RT_ADDR_UNALIGNED: u32 = 107008;
pub const ACL_ERROR_RT_INVALID_HANDLE: u32 = 107017;
pub const ACL_ERROR_RT_WAIT_TIMEOUT: u32 = 107019;
pub const ACL_ERROR_RT_FEATURE_NOT_SUPPORT: u32 = 207000;
pub const ACL_ERROR_RT_MEMORY_ALLOCATION: u32 = 207001;
pub const ACL_ERROR_RT_RESOURCE_ALLOC_FAIL: u32 = 207005;
pub const ACL_ERROR_RT_NO_EVENT_RESOURCE: u32 = 207007;
pub const ACL_ERROR_RT_NO_STREAM_RESOURCE: u32 = 207008;
pub const ACL_ERROR_RT_INTERNAL_ERROR: u32 = 507000;
pub const ACL_ERROR_RT_AICORE_EXCEPTION: u32 = 507015;
pub const ACL_ERROR_RT_AICPU_EXCEPTION: u32 = 507018;
pub const ACL_ERROR_RT_DRV_INTERNAL_ERROR: u32 = 507899;
/// What functions return: 0, or why not. 1xxxxx: the program's mistake; 2xxxxx: no resources; 5xxxxx: the rest.
pub type aclError = ::core::ffi::c_int;
/// Handles. Here they are numbers that are never given out twice, not addresses: a stale one is refused.
pub type aclrtContext = *mut ::core::ffi::c_void;
pub type aclrtStream = *mut ::core::ffi::c_void;
pub type aclrtEvent = *mut ::core::ffi::c_void;
/// Done.
pub const ACL_SUCCESS: ::core::ffi::c_int = 0;
/// A pointer is null that must not be, or a field of a struct has a value that it cannot have.
pub const ACL_ERROR_INVALID_PARAM: ::core::ffi::c_int = 100000;
/// aclInit was not called.
pub const ACL_ERROR_UNINITIALIZE: ::core::ffi::c_int = 100001;
/// aclInit was called before, without aclFinalize since.
pub const ACL_ERROR_REPEAT_INITIALIZE: ::core::ffi::c_int = 100002;
/// A file cannot be used.
pub const ACL_ERROR_INVALID_FILE: ::core::ffi::c_int = 100003;
/// No kernel has this name.
pub const ACL_ERROR_KERNEL_NOT_FOUND: ::core::ffi::c_int = 100029;
/// Another kernel has this name.
pub const ACL_ERROR_KERNEL_ALREADY_REGISTERED: ::core::ffi::c_int = 100031;
/// aclFinalize was called before, without aclInit since.
pub const ACL_ERROR_REPEAT_FINALIZE: ::core::ffi::c_int = 100037;
/// A defect of the library.
pub const ACL_ERROR_INTERNAL_ERROR: ::core::ffi::c_int = 500000;
unsafe extern "C" {
    /** Makes the device the thread's: its default context, made at the first call, becomes the current one. Each call counts
 one reference to the device.*/
    pub fn aclrtSetDevice(deviceId: i32) -> aclError;
}
unsafe extern "C" {
    /// Gives one reference back; at the last one the default context ends, with its streams. Pools stay.
    pub fn aclrtResetDevice(deviceId: i32) -> aclError;
}
unsafe extern "C" {
    /// Waits for all that is queued on the device of the current context.
    pub fn aclrtSynchronizeDevice() -> aclError;
}
unsafe extern "C" {
    /// A context of its own, which becomes the thread's current one.
    pub fn aclrtCreateContext(context: *mut aclrtContext, deviceId: i32) -> aclError;
}
unsafe extern "C" {
    /// Ends a context of aclrtCreateContext: finishes and destroys its streams. A default context is refused.
    pub fn aclrtDestroyContext(context: aclrtContext) -> aclError;
}
pub mod aclrtMemAttr {
    /// Kinds of memory. The emulated device has one, HBM.
    pub type Type = ::core::ffi::c_uint;
    pub const ACL_DDR_MEM: Type = 0;
    pub const ACL_HBM_MEM: Type = 1;
    pub const ACL_DDR_MEM_HUGE: Type = 2;
    pub const ACL_DDR_MEM_NORMAL: Type = 3;
    pub const ACL_HBM_MEM_HUGE: Type = 4;
    pub const ACL_HBM_MEM_NORMAL: Type = 5;
    pub const ACL_DDR_MEM_P2P_HUGE: Type = 6;
    pub const ACL_DDR_MEM_P2P_NORMAL: Type = 7;
    pub const ACL_HBM_MEM_P2P_HUGE: Type = 8;
    pub const ACL_HBM_MEM_P2P_NORMAL: Type = 9;
    pub const ACL_HBM_MEM_HUGE1G: Type = 10;
    pub const ACL_HBM_MEM_P2P_HUGE1G: Type = 11;
    pub const ACL_MEM_NORMAL: Type = 12;
    pub const ACL_MEM_HUGE: Type = 13;
    pub const ACL_MEM_HUGE1G: Type = 14;
    pub const ACL_MEM_P2P_NORMAL: Type = 15;
    pub const ACL_MEM_P2P_HUGE: Type = 16;
    pub const ACL_MEM_P2P_HUGE1G: Type = 17;
}
unsafe extern "C" {
    /// Physical memory of the current context's device, in bytes. ACL_ERROR_RT_FEATURE_NOT_SUPPORT unless HBM is meant.
    pub fn aclrtGetMemInfo(
        attr: aclrtMemAttr::Type,
        free: *mut usize,
        total: *mut usize,
    ) -> aclError;
}
unsafe extern "C" {
    /// A stream of the current context.
    pub fn aclrtCreateStream(stream: *mut aclrtStream) -> aclError;
}
unsafe extern "C" {
    /// Finishes what is queued, then ends the stream.
    pub fn aclrtDestroyStream(stream: aclrtStream) -> aclError;
}
unsafe extern "C" {
    /** Waits for all that is queued on the stream (null: the current context's default stream). Pools then release what
 stands above their thresholds.*/
    pub fn aclrtSynchronizeStream(stream: aclrtStream) -> aclError;
}
pub mod aclrtEventRecordedStatus {
    /// What aclrtQueryEventStatus answers.
    pub type Type = ::core::ffi::c_uint;
    pub const ACL_EVENT_RECORDED_STATUS_NOT_READY: Type = 0;
    pub const ACL_EVENT_RECORDED_STATUS_COMPLETE: Type = 1;
}
unsafe extern "C" {
    /// An event.
    pub fn aclrtCreateEvent(event: *mut aclrtEvent) -> aclError;
}
unsafe extern "C" {
    /// Ends an event; waits that were queued on it keep what they took.
    pub fn aclrtDestroyEvent(event: aclrtEvent) -> aclError;
}
unsafe extern "C" {
    /// From now on the event stands for all that is queued on the stream (null: the default stream) so far.
    pub fn aclrtRecordEvent(event: aclrtEvent, stream: aclrtStream) -> aclError;
}
unsafe extern "C" {
    /** What is queued on the stream (null: the default stream) from now on comes after what the event stands for. An event
 that was never recorded adds nothing.*/
    pub fn aclrtStreamWaitEvent(stream: aclrtStream, event: aclrtEvent) -> aclError;
}
unsafe extern "C" {
    /// Asks without waiting. An event that was never recorded is not ready.
    pub fn aclrtQueryEventStatus(
        event: aclrtEvent,
        status: *mut aclrtEventRecordedStatus::Type,
    ) -> aclError;
}
unsafe extern "C" {
    /// Waits for what the event stands for. Pools then release what stands above their thresholds.
    pub fn aclrtSynchronizeEvent(event: aclrtEvent) -> aclError;
}
pub mod aclrtMemcpyKind {
    /// The direction of a copy; ACL_MEMCPY_DEFAULT: by the addresses.
    pub type Type = ::core::ffi::c_uint;
    pub const ACL_MEMCPY_HOST_TO_HOST: Type = 0;
    pub const ACL_MEMCPY_HOST_TO_DEVICE: Type = 1;
    pub const ACL_MEMCPY_DEVICE_TO_HOST: Type = 2;
    pub const ACL_MEMCPY_DEVICE_TO_DEVICE: Type = 3;
    pub const ACL_MEMCPY_DEFAULT: Type = 4;
    pub const ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE: Type = 5;
    pub const ACL_MEMCPY_INNER_DEVICE_TO_DEVICE: Type = 6;
    pub const ACL_MEMCPY_INTER_DEVICE_TO_DEVICE: Type = 7;
}
unsafe extern "C" {
    /// Copies at once, without regard to any stream. The addresses decide the direction, not `kind`.
    pub fn aclrtMemcpy(
        dst: *mut ::core::ffi::c_void,
        destMax: usize,
        src: *const ::core::ffi::c_void,
        count: usize,
        kind: aclrtMemcpyKind::Type,
    ) -> aclError;
}
unsafe extern "C" {
    /** Copies in the order of the stream (null: the default stream).

 Host memory may be used again, or read, when the call returns: all of it counts as not locked in place, for which a
 copy to the device takes its bytes at once, and a copy from the device returns when it is done.*/
    pub fn aclrtMemcpyAsync(
        dst: *mut ::core::ffi::c_void,
        destMax: usize,
        src: *const ::core::ffi::c_void,
        count: usize,
        kind: aclrtMemcpyKind::Type,
        stream: aclrtStream,
    ) -> aclError;
}
/// A binary with kernels; see weir_acl_binary in weir_acl.h.
pub type aclrtBinHandle = *mut ::core::ffi::c_void;
/// A kernel.
pub type aclrtFuncHandle = *mut ::core::ffi::c_void;
unsafe extern "C" {
    /// The kernel of a name. ACL_ERROR_KERNEL_NOT_FOUND where there is none.
    pub fn aclrtBinaryGetFunction(
        binHandle: aclrtBinHandle,
        kernelName: *const ::core::ffi::c_char,
        funcHandle: *mut aclrtFuncHandle,
    ) -> aclError;
}
unsafe extern "C" {
    /** Queues a kernel. `argsData` is the device address of its arguments, `argsSize` bytes, which are read when the stream
 has come to it. `blockDim`, 1 to 65535, is on how many cores it would run.*/
    pub fn aclrtLaunchKernel(
        funcHandle: aclrtFuncHandle,
        blockDim: u32,
        argsData: *const ::core::ffi::c_void,
        argsSize: usize,
        stream: aclrtStream,
    ) -> aclError;
}
pub mod aclrtMemLocationType {
    /// Where memory is.
    pub type Type = ::core::ffi::c_uint;
    pub const ACL_MEM_LOCATION_TYPE_HOST: Type = 0;
    pub const ACL_MEM_LOCATION_TYPE_DEVICE: Type = 1;
    pub const ACL_MEM_LOCATION_TYPE_UNREGISTERED: Type = 2;
    pub const ACL_MEM_LOCATION_TYPE_MANAGED: Type = 3;
    pub const ACL_MEM_LOCATION_TYPE_HOST_NUMA: Type = 4;
}
/// A place for memory: first which, then what kind.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct aclrtMemLocation {
    pub id: u32,
    pub type_: aclrtMemLocationType::Type,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of aclrtMemLocation"][::core::mem::size_of::<aclrtMemLocation>() - 8usize];
    [
        "Alignment of aclrtMemLocation",
    ][::core::mem::align_of::<aclrtMemLocation>() - 4usize];
    [
        "Offset of field: aclrtMemLocation::id",
    ][::core::mem::offset_of!(aclrtMemLocation, id) - 0usize];
    [
        "Offset of field: aclrtMemLocation::type_",
    ][::core::mem::offset_of!(aclrtMemLocation, type_) - 4usize];
};
pub mod aclrtMemAllocationType {
    /// How physical memory is held.
    pub type Type = ::core::ffi::c_uint;
    pub const ACL_MEM_ALLOCATION_TYPE_PINNED: Type = 0;
}
pub mod aclrtMemHandleType {
    /// How physical memory would be shared with other processes.
    pub type Type = ::core::ffi::c_uint;
    pub const ACL_MEM_HANDLE_TYPE_NONE: Type = 0;
    pub const ACL_MEM_HANDLE_TYPE_POSIX: Type = 2;
}
/// A pool.
pub type aclrtMemPool = *mut ::core::ffi::c_void;
pub mod aclrtMemPoolAttr {
    /// What can be asked of a pool and set. The size of a value is that of its type: there is no other check.
    pub type Type = ::core::ffi::c_uint;
    /// uint32_t, 0 or not 0, first 0. Memory freed on other streams is used again along events.
    pub const ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES: Type = 1;
    /// uint32_t, 0 or not 0, first 0. Memory freed on other streams is used again when the device has come that far.
    pub const ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC: Type = 2;
    /// uint32_t, 0 or not 0, first 0. Streams are made to wait for each other, so that memory can be used again.
    pub const ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES: Type = 3;
    /// uint64_t, first 0. Reserved bytes that a synchronisation keeps; UINT64_MAX: all.
    pub const ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD: Type = 4;
    /// uint64_t, read only. Physical bytes that the pool holds.
    pub const ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT: Type = 5;
    /// uint64_t. The most of it; only 0 can be set, which resets it.
    pub const ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH: Type = 6;
    /// uint64_t, read only. Bytes that are allocated.
    pub const ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT: Type = 7;
    /// uint64_t. The most of it; only 0 can be set, which resets it.
    pub const ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH: Type = 8;
}
/// How a pool is made.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct aclrtMemPoolProps {
    /// ACL_MEM_ALLOCATION_TYPE_PINNED.
    pub allocType: aclrtMemAllocationType::Type,
    /// ACL_MEM_HANDLE_TYPE_NONE.
    pub handleType: aclrtMemHandleType::Type,
    /// The device, of type ACL_MEM_LOCATION_TYPE_DEVICE.
    pub location: aclrtMemLocation,
    /// The most physical bytes, rounded up to whole granules of 2 MiB; 0: all that the device has.
    pub maxSize: usize,
    /// Zero.
    pub reserved: [::core::ffi::c_uchar; 32usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
#[cfg(target_pointer_width = "64")]
const _: () = {
    ["Size of aclrtMemPoolProps"][::core::mem::size_of::<aclrtMemPoolProps>() - 56usize];
    [
        "Alignment of aclrtMemPoolProps",
    ][::core::mem::align_of::<aclrtMemPoolProps>() - 8usize];
    [
        "Offset of field: aclrtMemPoolProps::allocType",
    ][::core::mem::offset_of!(aclrtMemPoolProps, allocType) - 0usize];
    [
        "Offset of field: aclrtMemPoolProps::handleType",
    ][::core::mem::offset_of!(aclrtMemPoolProps, handleType) - 4usize];
    [
        "Offset of field: aclrtMemPoolProps::location",
    ][::core::mem::offset_of!(aclrtMemPoolProps, location) - 8usize];
    [
        "Offset of field: aclrtMemPoolProps::maxSize",
    ][::core::mem::offset_of!(aclrtMemPoolProps, maxSize) - 16usize];
    [
        "Offset of field: aclrtMemPoolProps::reserved",
    ][::core::mem::offset_of!(aclrtMemPoolProps, reserved) - 24usize];
};
unsafe extern "C" {
    /** A pool. No physical memory is taken. 100000 for null or a field that cannot be, 107000 for more than the device has,
 107001 for a device that does not exist, 107002 without a current context.*/
    pub fn aclrtMemPoolCreate(
        memPool: *mut aclrtMemPool,
        poolProps: *const aclrtMemPoolProps,
    ) -> aclError;
}
unsafe extern "C" {
    /** Ends a pool, with all that is still allocated from it: the memory goes back when what is queued on the device by now
 is done. 507000 for what is no pool (any more).*/
    pub fn aclrtMemPoolDestroy(memPool: aclrtMemPool) -> aclError;
}
unsafe extern "C" {
    /** Sets an attribute. 107000 for a null value, what is no pool, no attribute, or read only; 507000 for a high mark that
 is set to anything but 0.*/
    pub fn aclrtMemPoolSetAttr(
        memPool: aclrtMemPool,
        attr: aclrtMemPoolAttr::Type,
        value: *mut ::core::ffi::c_void,
    ) -> aclError;
}
unsafe extern "C" {
    /// Reads an attribute. 107000 for a null value, what is no pool, or no attribute.
    pub fn aclrtMemPoolGetAttr(
        memPool: aclrtMemPool,
        attr: aclrtMemPoolAttr::Type,
        value: *mut ::core::ffi::c_void,
    ) -> aclError;
}
unsafe extern "C" {
    /** Allocates, for work that is queued on the stream from now on. A size of 0 succeeds and leaves `*ptr` alone. 207001
 when the pool is exhausted, 507000 for what is no pool, 107000 for a size of more than 2^64 bytes less a granule of 2 MiB. The default stream
 (null) cannot allocate: 100000.*/
    pub fn aclrtMemPoolMallocAsync(
        ptr: *mut *mut ::core::ffi::c_void,
        size: usize,
        memPool: aclrtMemPool,
        stream: aclrtStream,
    ) -> aclError;
}
unsafe extern "C" {
    /** Frees, after what is queued on the stream so far. 107000 for what is not the start of an allocation, 507000 for a
 null stream.*/
    pub fn aclrtMemPoolFreeAsync(
        ptr: *mut ::core::ffi::c_void,
        stream: aclrtStream,
    ) -> aclError;
}
unsafe extern "C" {
    /** Gives physical memory back until `minBytesToKeep` are left, or only what is in use and what unfinished work may still
 use. 507000 for what is no pool, and for more than the pool's size.*/
    pub fn aclrtMemPoolTrimTo(memPool: aclrtMemPool, minBytesToKeep: usize) -> aclError;
}
unsafe extern "C" {
    /** Begins. `configPath` is null, or a file of settings in JSON, which must exist and is not interpreted here.

 ACL_ERROR_REPEAT_INITIALIZE when it was called before (nothing is changed); ACL_ERROR_INVALID_FILE for a file that
 cannot be read; ACL_ERROR_INVALID_PARAM or ACL_ERROR_INVALID_FILE for a bad WEIR_HOST_BYTES or WEIR_LOG, with one
 line on the standard error stream.*/
    pub fn aclInit(configPath: *const ::core::ffi::c_char) -> aclError;
}
unsafe extern "C" {
    /** Ends: waits for the calls that other threads are in, finishes what is queued, destroys what is left, and completes the
 log. One call is enough for any number of aclInit. The program may begin again. ACL_ERROR_INVALID_FILE, with one line
 on the standard error stream, where the log that WEIR_LOG names is not whole; everything has ended all the same.*/
    pub fn aclFinalize() -> aclError;
}
unsafe extern "C" {
    /** What was wrong in the latest call on this thread that returned an error, with the numbers, or null. The text is taken
 by this call, and is good until the thread's next call of it.*/
    pub fn aclGetRecentErrMsg() -> *const ::core::ffi::c_char;
}
/** A kernel: called once for each of `blocks` cores, one after the other, with the bytes of its arguments. No call of
 this library but weir_kernel_bytes and weir_kernel_fail; no C++ exception may leave it.*/
pub type weir_acl_kernel = ::core::option::Option<
    unsafe extern "C" fn(
        kernel: *mut weir_kernel,
        block: u32,
        blocks: u32,
        args: *const ::core::ffi::c_void,
    ),
>;
unsafe extern "C" {
    /** Makes a function known as a kernel of this name, before or after aclInit, for the life of the process.
 ACL_ERROR_KERNEL_ALREADY_REGISTERED where the name stands for another function.*/
    pub fn weir_acl_register_kernel(
        name: *const ::core::ffi::c_char,
        function: weir_acl_kernel,
    ) -> aclError;
}
unsafe extern "C" {
    /// The binary that all registered kernels are in, for aclrtBinaryGetFunction.
    pub fn weir_acl_binary() -> aclrtBinHandle;
}
