//! Which way each of the vendor's functions goes: the table that the exported functions are made from, and its other
//! half, the functions that are left alone. See [`crate::interpose::ways`].

pub use crate::interpose::ways::{LeftAlone, Way};

/// Calls a macro with each function that is interposed: its way, its name and type, what sees the call, and whether the
/// emulation has it (else it is refused where there is no vendor's library).
#[doc(hidden)]
#[macro_export]
macro_rules! interposed_acl {
    ($each:path) => {
        $each! {
            Pool aclrtMemPoolCreate(pool: *mut Handle, props: *const aclrtMemPoolProps)
                pool_create(pool, props) emulated;
            Pool aclrtMemPoolDestroy(pool: Handle) pool_destroy(pool) emulated;
            Pool aclrtMemPoolSetAttr(pool: Handle, attr: c_uint, value: *mut c_void)
                pool_set(pool, attr, value) emulated;
            Pool aclrtMemPoolGetAttr(pool: Handle, attr: c_uint, value: *mut c_void)
                pool_get(pool, attr, value) emulated;
            Pool aclrtMemPoolMallocAsync(ptr: *mut *mut c_void, size: usize, pool: Handle, stream: Handle)
                pool_malloc(ptr, size, pool, stream) emulated;
            Pool aclrtMemPoolFreeAsync(ptr: *mut c_void, stream: Handle) pool_free(ptr, stream) emulated;
            Pool aclrtMemPoolTrimTo(pool: Handle, keep: usize) pool_trim(pool, keep) emulated;

            BeginsStream aclrtCreateStream(stream: *mut Handle) begins_stream(stream, 0) emulated;
            BeginsStream aclrtCreateStreamWithConfig(stream: *mut Handle, priority: u32, flag: u32)
                begins_stream(stream, flag) lacking;
            BeginsStream aclrtCtxGetCurrentDefaultStream(stream: *mut Handle) names_default_stream(stream) lacking;
            EndsStream aclrtDestroyStream(stream: Handle) ends_stream(stream) emulated;
            Aborts aclrtDestroyStreamForce(stream: Handle) ends_stream_by_force(stream) lacking;
            Aborts aclrtStreamAbort(stream: Handle) aborts_stream(stream) lacking;
            Aborts aclrtStreamStop(stream: Handle) aborts_stream(stream) lacking;
            Aborts aclrtPersistentTaskClean(stream: Handle) aborts_stream(stream) lacking;
            Aborts aclrtDeviceTaskAbort(device: i32, timeout: u32) aborts_device(device) lacking;
            Aborts aclmdlRIAbort(model: Handle) aborts_everywhere() lacking;

            BeginsEvent aclrtCreateEvent(event: *mut Handle) begins_event(event, PLAIN_EVENT) emulated;
            BeginsEvent aclrtCreateEventWithFlag(event: *mut Handle, flag: u32) begins_event(event, flag) lacking;
            BeginsEvent aclrtCreateEventExWithFlag(event: *mut Handle, flag: u32) begins_event(event, flag) lacking;
            EndsEvent aclrtDestroyEvent(event: Handle) ends_event(event) emulated;
            Records aclrtRecordEvent(event: Handle, stream: Handle) records(event, stream) emulated;
            Resets aclrtResetEvent(event: Handle, stream: Handle) resets(event) lacking;
            Waits aclrtStreamWaitEvent(stream: Handle, event: Handle) waits(stream, event) emulated;
            MayGiveUp aclrtStreamWaitEventWithTimeout(stream: Handle, event: Handle, timeout: i32)
                waits_for_a_while(stream, event) lacking;
            MayGiveUp aclrtSetOpWaitTimeout(timeout: u32) limits_waits(timeout) lacking;

            Completes aclrtQueryEventStatus(event: Handle, status: *mut c_uint) queries_event(event, status) emulated;
            Completes aclrtStreamQuery(stream: Handle, status: *mut c_uint) queries_stream(stream, status) lacking;
            Completes aclrtSynchronizeStream(stream: Handle) synchronises_stream(stream) emulated;
            Completes aclrtSynchronizeStreamWithTimeout(stream: Handle, timeout: i32)
                synchronises_stream(stream) lacking;
            Completes aclrtSynchronizeEvent(event: Handle) synchronises_event(event) emulated;
            Completes aclrtSynchronizeEventWithTimeout(event: Handle, timeout: i32) synchronises_event(event) lacking;
            Completes aclrtSynchronizeDevice() synchronises_device() emulated;
            Completes aclrtSynchronizeDeviceWithTimeout(timeout: i32) synchronises_device() lacking;

            Memory aclrtMalloc(ptr: *mut *mut c_void, size: usize, policy: c_uint) allocates() lacking;
            Memory aclrtMallocAlign32(ptr: *mut *mut c_void, size: usize, policy: c_uint) allocates() lacking;
            Memory aclrtMallocCached(ptr: *mut *mut c_void, size: usize, policy: c_uint) allocates() lacking;
            Memory aclrtMallocWithCfg(ptr: *mut *mut c_void, size: usize, policy: c_uint, settings: *mut c_void)
                allocates() lacking;
            Memory aclrtFree(ptr: *mut c_void) frees(ptr) lacking;

            Ends aclrtSetDevice(device: i32) sets_device(device) emulated;
            Ends aclrtResetDevice(device: i32) resets_device(device) emulated;
            Ends aclrtResetDeviceForce(device: i32) resets_device_by_force(device) lacking;
            Ends aclrtDestroyContext(context: Handle) ends_context(context) emulated;
            Ends aclFinalize() finalizes() emulated;

            Captures aclmdlRICaptureBegin(stream: Handle, mode: c_uint) begins_capture() lacking;
            Captures aclmdlRICaptureEnd(stream: Handle, model: *mut Handle) ends_capture() lacking;

            Passes aclInit(settings: *const c_char) passes() emulated;
            Passes aclrtCreateContext(context: *mut Handle, device: i32) passes() emulated;
            Passes aclrtGetMemInfo(attr: c_uint, free: *mut usize, total: *mut usize) passes() emulated;
            Passes aclrtMemcpy(to: *mut c_void, most: usize, from: *const c_void, bytes: usize, kind: c_uint)
                passes() emulated;
            Passes aclrtMemcpyAsync(
                to: *mut c_void, most: usize, from: *const c_void, bytes: usize, kind: c_uint, stream: Handle
            ) passes() emulated;
            Passes aclrtBinaryGetFunction(binary: Handle, name: *const c_char, function: *mut Handle)
                passes() emulated;
            Passes aclrtLaunchKernel(
                function: Handle, blocks: u32, args: *const c_void, bytes: usize, stream: Handle
            ) passes() emulated;
        }
    };
}

macro_rules! names {
    ($($way:ident $name:ident($($arg:ident: $type:ty),*) $role:ident($($given:expr),*) $emulated:ident;)+) => {
        /// Every function that is interposed, and its way.
        pub const INTERPOSED: &[(&str, Way)] = &[$((stringify!($name), Way::$way)),+];
    };
}
interposed_acl!(names);

/// Every other function of the headers that takes a stream or an event.
pub const LEFT_ALONE: &[(&str, LeftAlone)] = {
    use LeftAlone::{Graph, NotTaken, OtherOrder, Settings, Unknown, Work};
    &[
        ("aclrtMemsetAsync", Work),
        ("aclrtMemcpy2dAsync", Work),
        ("aclrtMemcpyAsyncWithCondition", Work),
        ("aclrtMemcpyAsyncWithDesc", Work),
        ("aclrtMemcpyAsyncWithOffset", Work),
        ("aclrtMemcpyBatchAsync", Work),
        ("aclrtLaunchKernelWithConfig", Work),
        ("aclrtLaunchKernelV2", Work),
        ("aclrtLaunchKernelWithHostArgs", Work),
        ("aclrtLaunchCallback", Work),
        ("aclrtLaunchHostFunc", Work),
        ("aclrtReduceAsync", Work),
        ("aclrtRandomNumAsync", Work),
        ("aclrtTaskUpdateAsync", Work),
        ("aclrtCmoAsync", Work),
        ("aclrtCmoAsyncWithDesc", Work),
        ("aclrtGetOverflowStatus", Work),
        ("aclrtResetOverflowStatus", Work),
        ("aclrtGetFloatOverflowStatus", Work),
        ("aclrtResetFloatOverflowStatus", Work),
        ("aclrtNpuGetFloatOverFlowStatus", Work),
        ("aclrtNpuClearFloatOverFlowStatus", Work),
        ("aclrtProfTrace", Work),
        ("aclrtValueWrite", OtherOrder),
        ("aclrtValueWait", OtherOrder),
        ("aclrtRecordNotify", OtherOrder),
        ("aclrtWaitAndResetNotify", OtherOrder),
        ("aclrtCntNotifyRecord", OtherOrder),
        ("aclrtCntNotifyWaitWithTimeout", OtherOrder),
        ("aclrtCntNotifyReset", OtherOrder),
        ("aclrtCmoAsyncWithBarrier", OtherOrder),
        ("aclrtCmoWaitBarrier", OtherOrder),
        ("aclrtSubscribeReport", Settings),
        ("aclrtUnSubscribeReport", Settings),
        ("aclrtStreamGetId", Settings),
        ("aclrtGetEventId", Settings),
        ("aclrtSetStreamFailureMode", Settings),
        ("aclrtSetStreamOverflowSwitch", Settings),
        ("aclrtGetStreamOverflowSwitch", Settings),
        ("aclrtSetStreamAttribute", Settings),
        ("aclrtGetStreamAttribute", Settings),
        ("aclrtSetStreamResLimit", Settings),
        ("aclrtGetStreamResLimit", Settings),
        ("aclrtResetStreamResLimit", Settings),
        ("aclrtUseStreamResInCurrentThread", Settings),
        ("aclrtUnuseStreamResInCurrentThread", Settings),
        ("aclrtAllocatorRegister", Settings),
        ("aclrtAllocatorGetByStream", Settings),
        ("aclrtAllocatorUnregister", Settings),
        ("aclrtSetLabel", Graph),
        ("aclrtSwitchLabelByIndex", Graph),
        ("aclrtActiveStream", Graph),
        ("aclrtSwitchStream", Graph),
        ("aclmdlRIExecuteAsync", Graph),
        ("aclmdlRIBindStream", Graph),
        ("aclmdlRIUnbindStream", Graph),
        ("aclmdlRIEndTask", Graph),
        ("aclmdlRICaptureGetInfo", Graph),
        ("aclmdlRICaptureTaskGrpBegin", Graph),
        ("aclmdlRICaptureTaskGrpEnd", Graph),
        ("aclmdlRICaptureTaskUpdateBegin", Graph),
        ("aclmdlRICaptureTaskUpdateEnd", Graph),
        ("aclrtQueryEvent", NotTaken),
        ("aclrtQueryEventWaitStatus", NotTaken),
        ("aclrtEventElapsedTime", NotTaken),
        ("aclrtEventGetTimestamp", NotTaken),
        ("aclrtIpcGetEventHandle", NotTaken),
        ("aclrtIpcOpenEventHandle", Unknown),
    ]
};
