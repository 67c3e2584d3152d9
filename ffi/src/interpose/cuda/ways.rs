//! Which way each of the vendor's functions goes: the table that the exported functions are made from, and its other
//! half, the functions that are left alone. See [`crate::interpose::ways`].

pub use crate::interpose::ways::{LeftAlone, Way};

/// Calls a macro with each function that is interposed: its way, its name and type, and what sees the call.
#[doc(hidden)]
#[macro_export]
macro_rules! interposed_cuda {
    ($each:path) => {
        $each! {
            /* Pools: the runtime's names, then the driver's. */
            Pool cudaMallocAsync(ptr: *mut *mut c_void, size: usize, stream: Handle)
                malloc_async(ptr, size, shared(stream));
            Pool cudaMallocAsync_ptsz(ptr: *mut *mut c_void, size: usize, stream: Handle)
                malloc_async(ptr, size, own(stream));
            Pool cudaMallocFromPoolAsync(ptr: *mut *mut c_void, size: usize, pool: Handle, stream: Handle)
                malloc_from(ptr, size, pool, shared(stream));
            Pool cudaMallocFromPoolAsync_ptsz(ptr: *mut *mut c_void, size: usize, pool: Handle, stream: Handle)
                malloc_from(ptr, size, pool, own(stream));
            Pool cudaFreeAsync(ptr: *mut c_void, stream: Handle) free_async(ptr, shared(stream));
            Pool cudaFreeAsync_ptsz(ptr: *mut c_void, stream: Handle) free_async(ptr, own(stream));
            Pool cudaMemPoolCreate(pool: *mut Handle, props: *const PoolProps) pool_create(pool, props);
            Pool cudaMemPoolDestroy(pool: Handle) pool_destroy(pool);
            Pool cudaMemPoolSetAttribute(pool: Handle, attr: c_uint, value: *mut c_void) pool_set(pool, attr, value);
            Pool cudaMemPoolGetAttribute(pool: Handle, attr: c_uint, value: *mut c_void) pool_get(pool, attr, value);
            Pool cudaMemPoolTrimTo(pool: Handle, keep: usize) pool_trim(pool, keep);
            Pool cudaMemPoolSetAccess(pool: Handle, access: *const c_void, count: usize) pool_lacks(pool);
            Pool cudaMemPoolGetAccess(flags: *mut c_int, pool: Handle, location: *const c_void) pool_lacks(pool);
            Pool cudaMemPoolExportToShareableHandle(made: *mut c_void, pool: Handle, kind: c_uint, flags: c_uint)
                pool_lacks(pool);
            Pool cudaMemPoolExportPointer(data: *mut c_void, ptr: *mut c_void) pointer_lacks(ptr);
            Pool cudaMemPoolImportPointer(ptr: *mut *mut c_void, pool: Handle, data: *mut c_void) pool_lacks(pool);
            Pool cudaDeviceGetDefaultMemPool(pool: *mut Handle, device: c_int) default_pool(pool, numbered(device));
            Pool cudaDeviceGetMemPool(pool: *mut Handle, device: c_int) current_pool(pool, numbered(device));
            Pool cudaDeviceSetMemPool(device: c_int, pool: Handle) set_pool(pool, numbered(device));
            Pool cudaMemGetDefaultMemPool(pool: *mut Handle, location: *const Location, kind: c_int)
                default_pool_at(pool, location, kind);
            Pool cudaMemGetMemPool(pool: *mut Handle, location: *const Location, kind: c_int)
                current_pool_at(pool, location, kind);
            Pool cudaMemSetMemPool(location: *const Location, kind: c_int, pool: Handle)
                set_pool_at(location, kind, pool);
            Pool cuMemAllocAsync(ptr: *mut *mut c_void, size: usize, stream: Handle)
                malloc_async(ptr, size, shared(stream));
            Pool cuMemAllocAsync_ptsz(ptr: *mut *mut c_void, size: usize, stream: Handle)
                malloc_async(ptr, size, own(stream));
            Pool cuMemAllocFromPoolAsync(ptr: *mut *mut c_void, size: usize, pool: Handle, stream: Handle)
                malloc_from(ptr, size, pool, shared(stream));
            Pool cuMemAllocFromPoolAsync_ptsz(ptr: *mut *mut c_void, size: usize, pool: Handle, stream: Handle)
                malloc_from(ptr, size, pool, own(stream));
            Pool cuMemFreeAsync(ptr: *mut c_void, stream: Handle) free_async(ptr, shared(stream));
            Pool cuMemFreeAsync_ptsz(ptr: *mut c_void, stream: Handle) free_async(ptr, own(stream));
            Pool cuMemPoolCreate(pool: *mut Handle, props: *const PoolProps) pool_create(pool, props);
            Pool cuMemPoolDestroy(pool: Handle) pool_destroy(pool);
            Pool cuMemPoolSetAttribute(pool: Handle, attr: c_uint, value: *mut c_void) pool_set(pool, attr, value);
            Pool cuMemPoolGetAttribute(pool: Handle, attr: c_uint, value: *mut c_void) pool_get(pool, attr, value);
            Pool cuMemPoolTrimTo(pool: Handle, keep: usize) pool_trim(pool, keep);
            Pool cuMemPoolSetAccess(pool: Handle, access: *const c_void, count: usize) pool_lacks(pool);
            Pool cuMemPoolGetAccess(flags: *mut c_int, pool: Handle, location: *const c_void) pool_lacks(pool);
            Pool cuMemPoolExportToShareableHandle(made: *mut c_void, pool: Handle, kind: c_uint, flags: c_ulonglong)
                pool_lacks(pool);
            Pool cuMemPoolExportPointer(data: *mut c_void, ptr: *mut c_void) pointer_lacks(ptr);
            Pool cuMemPoolImportPointer(ptr: *mut *mut c_void, pool: Handle, data: *mut c_void) pool_lacks(pool);
            Pool cuDeviceGetDefaultMemPool(pool: *mut Handle, device: c_int) default_pool(pool, handled(device));
            Pool cuDeviceGetMemPool(pool: *mut Handle, device: c_int) current_pool(pool, handled(device));
            Pool cuDeviceSetMemPool(device: c_int, pool: Handle) set_pool(pool, handled(device));
            Pool cuMemGetDefaultMemPool(pool: *mut Handle, location: *const Location, kind: c_int)
                default_pool_at(pool, location, kind);
            Pool cuMemGetMemPool(pool: *mut Handle, location: *const Location, kind: c_int)
                current_pool_at(pool, location, kind);
            Pool cuMemSetMemPool(location: *const Location, kind: c_int, pool: Handle)
                set_pool_at(location, kind, pool);

            /* Streams. */
            BeginsStream cudaStreamCreate(stream: *mut Handle) begins_stream(stream, 0);
            BeginsStream cudaStreamCreateWithFlags(stream: *mut Handle, flags: c_uint) begins_stream(stream, flags);
            BeginsStream cudaStreamCreateWithPriority(stream: *mut Handle, flags: c_uint, priority: c_int)
                begins_stream(stream, flags);
            BeginsStream cuStreamCreate(stream: *mut Handle, flags: c_uint) begins_stream(stream, flags);
            BeginsStream cuStreamCreateWithPriority(stream: *mut Handle, flags: c_uint, priority: c_int)
                begins_stream(stream, flags);
            BeginsStream cuGreenCtxStreamCreate(stream: *mut Handle, context: Handle, flags: c_uint, priority: c_int)
                begins_special_stream(stream);
            EndsStream cudaStreamDestroy(stream: Handle) ends_stream(stream);
            EndsStream cuStreamDestroy(stream: Handle) ends_stream(stream);
            EndsStream cuStreamDestroy_v2(stream: Handle) ends_stream(stream);
            Waits cudaStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) waits(shared(stream), event);
            Waits cudaStreamWaitEvent_ptsz(stream: Handle, event: Handle, flags: c_uint) waits(own(stream), event);
            Waits cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) waits(shared(stream), event);
            Waits cuStreamWaitEvent_ptsz(stream: Handle, event: Handle, flags: c_uint) waits(own(stream), event);
            Completes cudaStreamQuery(stream: Handle) queries_stream(shared(stream));
            Completes cudaStreamQuery_ptsz(stream: Handle) queries_stream(own(stream));
            Completes cuStreamQuery(stream: Handle) queries_stream(shared(stream));
            Completes cuStreamQuery_ptsz(stream: Handle) queries_stream(own(stream));
            Completes cudaStreamSynchronize(stream: Handle) synchronises_stream(shared(stream));
            Completes cudaStreamSynchronize_ptsz(stream: Handle) synchronises_stream(own(stream));
            Completes cuStreamSynchronize(stream: Handle) synchronises_stream(shared(stream));
            Completes cuStreamSynchronize_ptsz(stream: Handle) synchronises_stream(own(stream));

            /* Events. */
            BeginsEvent cudaEventCreate(event: *mut Handle) begins_event(event, 0);
            BeginsEvent cudaEventCreateWithFlags(event: *mut Handle, flags: c_uint) begins_event(event, flags);
            BeginsEvent cuEventCreate(event: *mut Handle, flags: c_uint) begins_event(event, flags);
            BeginsEvent cudaIpcOpenEventHandle(event: *mut Handle, handle: IpcHandle) begins_foreign_event(event);
            BeginsEvent cuIpcOpenEventHandle(event: *mut Handle, handle: IpcHandle) begins_foreign_event(event);
            BeginsEvent cudaEventCreateFromEGLSync(event: *mut Handle, sync: Handle, flags: c_uint)
                begins_foreign_event(event);
            BeginsEvent cuEventCreateFromEGLSync(event: *mut Handle, sync: Handle, flags: c_uint)
                begins_foreign_event(event);
            EndsEvent cudaEventDestroy(event: Handle) ends_event(event);
            EndsEvent cuEventDestroy(event: Handle) ends_event(event);
            EndsEvent cuEventDestroy_v2(event: Handle) ends_event(event);
            Records cudaEventRecord(event: Handle, stream: Handle) records(event, shared(stream), 0);
            Records cudaEventRecord_ptsz(event: Handle, stream: Handle) records(event, own(stream), 0);
            Records cuEventRecord(event: Handle, stream: Handle) records(event, shared(stream), 0);
            Records cuEventRecord_ptsz(event: Handle, stream: Handle) records(event, own(stream), 0);
            Records cudaEventRecordWithFlags(event: Handle, stream: Handle, flags: c_uint)
                records(event, shared(stream), flags);
            Records cudaEventRecordWithFlags_ptsz(event: Handle, stream: Handle, flags: c_uint)
                records(event, own(stream), flags);
            Records cuEventRecordWithFlags(event: Handle, stream: Handle, flags: c_uint)
                records(event, shared(stream), flags);
            Records cuEventRecordWithFlags_ptsz(event: Handle, stream: Handle, flags: c_uint)
                records(event, own(stream), flags);
            Records cuCtxRecordEvent(context: Handle, event: Handle) records_context(event);
            Records cuGreenCtxRecordEvent(context: Handle, event: Handle) records_context(event);
            Completes cudaEventQuery(event: Handle) queries_event(event);
            Completes cuEventQuery(event: Handle) queries_event(event);
            Completes cudaEventSynchronize(event: Handle) synchronises_event(event);
            Completes cuEventSynchronize(event: Handle) synchronises_event(event);

            /* Graphs that record events. */
            GivesAway cudaGraphAddEventRecordNode(
                node: *mut Handle, graph: Handle, before: *const Handle, count: usize, event: Handle
            ) gives_away(event);
            GivesAway cudaGraphEventRecordNodeSetEvent(node: Handle, event: Handle) gives_away(event);
            GivesAway cudaGraphExecEventRecordNodeSetEvent(graph: Handle, node: Handle, event: Handle)
                gives_away(event);
            GivesAway cudaGraphNodeSetParams(node: Handle, params: *const c_void) gives_away_in(params);
            GivesAway cudaGraphExecNodeSetParams(graph: Handle, node: Handle, params: *const c_void)
                gives_away_in(params);
            GivesAway cudaGraphAddNode_v2(
                node: *mut Handle, graph: Handle, before: *const Handle, edges: *const c_void, count: usize,
                params: *const c_void
            ) gives_away_in(params);
            GivesAway cuGraphAddEventRecordNode(
                node: *mut Handle, graph: Handle, before: *const Handle, count: usize, event: Handle
            ) gives_away(event);
            GivesAway cuGraphEventRecordNodeSetEvent(node: Handle, event: Handle) gives_away(event);
            GivesAway cuGraphExecEventRecordNodeSetEvent(graph: Handle, node: Handle, event: Handle)
                gives_away(event);
            GivesAway cuGraphNodeSetParams(node: Handle, params: *const c_void) gives_away_in(params);
            GivesAway cuGraphExecNodeSetParams(graph: Handle, node: Handle, params: *const c_void)
                gives_away_in(params);
            GivesAway cuGraphAddNode_v2(
                node: *mut Handle, graph: Handle, before: *const Handle, edges: *const c_void, count: usize,
                params: *const c_void
            ) gives_away_in(params);
            GivesAway cuGraphAddNode(
                node: *mut Handle, graph: Handle, before: *const Handle, count: usize, params: *const c_void
            ) gives_away_in(params);
            GivesAway cudaGraphAddNode(
                node: *mut Handle, graph: Handle, before: *const Handle, fourth: usize, fifth: *const c_void,
                sixth: *const c_void
            ) gives_away_in(node_params(fifth, sixth));

            /* Launches that record events. */
            GivesAway cudaLaunchKernelExC(config: *const LaunchConfig, function: *const c_void, args: *mut *mut c_void)
                launches(config);
            GivesAway cudaLaunchKernelExC_ptsz(
                config: *const LaunchConfig, function: *const c_void, args: *mut *mut c_void
            ) launches(config);
            GivesAway cuLaunchKernelEx(
                config: *const LaunchConfig, function: Handle, args: *mut *mut c_void, extra: *mut *mut c_void
            ) launches(config);
            GivesAway cuLaunchKernelEx_ptsz(
                config: *const LaunchConfig, function: Handle, args: *mut *mut c_void, extra: *mut *mut c_void
            ) launches(config);
            GivesAway cudaGraphKernelNodeSetAttribute(node: Handle, attr: c_int, value: *const Handle)
                sets_attribute(attr, value);
            GivesAway cuGraphKernelNodeSetAttribute(node: Handle, attr: c_int, value: *const Handle)
                sets_attribute(attr, value);

            /* Devices and contexts. */
            Completes cudaDeviceSynchronize() synchronises_device();
            Completes cudaThreadSynchronize() synchronises_device();
            Completes cuCtxSynchronize() synchronises_device();
            Completes cuCtxSynchronize_v2(context: Handle) synchronises_context(context);
            Ends cudaDeviceReset() resets_device();
            Ends cudaThreadExit() resets_device();
            Ends cuDevicePrimaryCtxReset(device: c_int) resets_primary(device);
            Ends cuDevicePrimaryCtxReset_v2(device: c_int) resets_primary(device);
            Ends cuCtxDestroy(context: Handle) ends_context(context);
            Ends cuCtxDestroy_v2(context: Handle) ends_context(context);

            /* Memory outside pools. */
            Memory cudaMalloc(ptr: *mut *mut c_void, size: usize) allocates();
            Memory cudaMallocPitch(ptr: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) allocates();
            Memory cudaMalloc3D(ptr: *mut c_void, extent: Extent) allocates();
            Memory cuMemAlloc_v2(ptr: *mut *mut c_void, size: usize) allocates();
            Memory cuMemAllocPitch_v2(
                ptr: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize, element: c_uint
            ) allocates();
            Memory cuMemCreate(made: *mut c_ulonglong, size: usize, what: *const c_void, flags: c_ulonglong)
                allocates();
            Memory cudaFree(ptr: *mut c_void) frees(ptr);
            Memory cuMemFree_v2(ptr: *mut c_void) frees(ptr);

            /* Errors. */
            Errors cudaGetLastError() takes_error();
            Errors cudaPeekAtLastError() looks_at_error();
        }
    };
}

macro_rules! names {
    ($($way:ident $name:ident($($arg:ident: $type:ty),*) $role:ident($($given:expr),*);)+) => {
        /// Every function that is interposed, and its way.
        pub const INTERPOSED: &[(&str, Way)] = &[$((stringify!($name), Way::$way)),+];
    };
}
interposed_cuda!(names);

/// Every other function of the headers that takes a stream or an event. Its variants (`_v2`, `_ptsz`) go the same way.
pub const LEFT_ALONE: &[(&str, LeftAlone)] = {
    use LeftAlone::{Graph, NotTaken, OtherOrder, Settings, Work};
    &[
        ("cuGraphAddEventWaitNode", Graph),
        ("cuGraphEventRecordNodeGetEvent", Graph),
        ("cuGraphEventWaitNodeGetEvent", Graph),
        ("cuGraphEventWaitNodeSetEvent", Graph),
        ("cuGraphExecEventWaitNodeSetEvent", Graph),
        ("cuGraphLaunch", Graph),
        ("cuGraphUpload", Graph),
        ("cuStreamBeginCapture", Graph),
        ("cuStreamBeginCaptureToGraph", Graph),
        ("cuStreamEndCapture", Graph),
        ("cuStreamGetCaptureInfo", Graph),
        ("cuStreamIsCapturing", Graph),
        ("cuStreamUpdateCaptureDependencies", Graph),
        ("cudaGraphAddEventWaitNode", Graph),
        ("cudaGraphEventRecordNodeGetEvent", Graph),
        ("cudaGraphEventWaitNodeGetEvent", Graph),
        ("cudaGraphEventWaitNodeSetEvent", Graph),
        ("cudaGraphExecEventWaitNodeSetEvent", Graph),
        ("cudaGraphLaunch", Graph),
        ("cudaGraphUpload", Graph),
        ("cudaStreamBeginCapture", Graph),
        ("cudaStreamBeginCaptureToGraph", Graph),
        ("cudaStreamEndCapture", Graph),
        ("cudaStreamGetCaptureInfo", Graph),
        ("cudaStreamIsCapturing", Graph),
        ("cudaStreamUpdateCaptureDependencies", Graph),
        ("cuEventElapsedTime", NotTaken),
        ("cuIpcGetEventHandle", NotTaken),
        ("cudaEventElapsedTime", NotTaken),
        ("cudaIpcGetEventHandle", NotTaken),
        ("cuCtxWaitEvent", OtherOrder),
        ("cuGraphicsMapResources", OtherOrder),
        ("cuGraphicsUnmapResources", OtherOrder),
        ("cuGreenCtxWaitEvent", OtherOrder),
        ("cuSignalExternalSemaphoresAsync", OtherOrder),
        ("cuStreamBatchMemOp", OtherOrder),
        ("cuStreamWaitValue32", OtherOrder),
        ("cuStreamWaitValue64", OtherOrder),
        ("cuStreamWriteValue32", OtherOrder),
        ("cuStreamWriteValue64", OtherOrder),
        ("cuWaitExternalSemaphoresAsync", OtherOrder),
        ("cudaGraphicsMapResources", OtherOrder),
        ("cudaGraphicsUnmapResources", OtherOrder),
        ("cudaSignalExternalSemaphoresAsync", OtherOrder),
        ("cudaWaitExternalSemaphoresAsync", OtherOrder),
        ("cuStreamCopyAttributes", Settings),
        ("cuStreamGetAttribute", Settings),
        ("cuStreamGetCtx", Settings),
        ("cuStreamGetDevice", Settings),
        ("cuStreamGetFlags", Settings),
        ("cuStreamGetGreenCtx", Settings),
        ("cuStreamGetId", Settings),
        ("cuStreamGetPriority", Settings),
        ("cuStreamSetAttribute", Settings),
        ("cudaStreamCopyAttributes", Settings),
        ("cudaStreamGetAttribute", Settings),
        ("cudaStreamGetDevice", Settings),
        ("cudaStreamGetFlags", Settings),
        ("cudaStreamGetId", Settings),
        ("cudaStreamGetPriority", Settings),
        ("cudaStreamSetAttribute", Settings),
        ("cuLaunchCooperativeKernel", Work),
        ("cuLaunchGridAsync", Work),
        ("cuLaunchHostFunc", Work),
        ("cuLaunchKernel", Work),
        ("cuMemBatchDecompressAsync", Work),
        ("cuMemDiscardAndPrefetchBatchAsync", Work),
        ("cuMemDiscardBatchAsync", Work),
        ("cuMemMapArrayAsync", Work),
        ("cuMemPrefetchAsync", Work),
        ("cuMemPrefetchBatchAsync", Work),
        ("cuMemcpy2DAsync", Work),
        ("cuMemcpy3DAsync", Work),
        ("cuMemcpy3DBatchAsync", Work),
        ("cuMemcpy3DPeerAsync", Work),
        ("cuMemcpyAsync", Work),
        ("cuMemcpyAtoHAsync", Work),
        ("cuMemcpyBatchAsync", Work),
        ("cuMemcpyDtoDAsync", Work),
        ("cuMemcpyDtoHAsync", Work),
        ("cuMemcpyHtoAAsync", Work),
        ("cuMemcpyHtoDAsync", Work),
        ("cuMemcpyPeerAsync", Work),
        ("cuMemsetD16Async", Work),
        ("cuMemsetD2D16Async", Work),
        ("cuMemsetD2D32Async", Work),
        ("cuMemsetD2D8Async", Work),
        ("cuMemsetD32Async", Work),
        ("cuMemsetD8Async", Work),
        ("cuStreamAddCallback", Work),
        ("cuStreamAttachMemAsync", Work),
        ("cudaLaunchCooperativeKernel", Work),
        ("cudaLaunchHostFunc", Work),
        ("cudaLaunchKernel", Work),
        ("cudaMemDiscardAndPrefetchBatchAsync", Work),
        ("cudaMemDiscardBatchAsync", Work),
        ("cudaMemPrefetchAsync", Work),
        ("cudaMemPrefetchBatchAsync", Work),
        ("cudaMemcpy2DAsync", Work),
        ("cudaMemcpy2DFromArrayAsync", Work),
        ("cudaMemcpy2DToArrayAsync", Work),
        ("cudaMemcpy3DAsync", Work),
        ("cudaMemcpy3DBatchAsync", Work),
        ("cudaMemcpy3DPeerAsync", Work),
        ("cudaMemcpyAsync", Work),
        ("cudaMemcpyBatchAsync", Work),
        ("cudaMemcpyFromArrayAsync", Work),
        ("cudaMemcpyFromSymbolAsync", Work),
        ("cudaMemcpyPeerAsync", Work),
        ("cudaMemcpyToArrayAsync", Work),
        ("cudaMemcpyToSymbolAsync", Work),
        ("cudaMemset2DAsync", Work),
        ("cudaMemset3DAsync", Work),
        ("cudaMemsetAsync", Work),
        ("cudaStreamAddCallback", Work),
        ("cudaStreamAttachMemAsync", Work),
    ]
};
