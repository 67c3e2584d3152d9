//! Every function of CUDA's headers that takes a stream or an event, and which way it goes through `libweir_cuda.so`.
//!
//! `cargo test -p weir-ffi --test cuda_functions -- --nocapture` prints one line a function.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use weir_ffi::interpose::cuda::ways::{INTERPOSED, LEFT_ALONE, LeftAlone, Way};

/// What has a parameter of type `cudaStream_t`, `cudaEvent_t`, `CUstream`, `CUevent` or a pointer to one in
/// `cuda_runtime_api.h` and `cuda.h` of CUDA 12.8 and 13.0, under each name that a program is compiled to call: with the
/// default stream of each thread (`_ptsz`), and with the version that the headers put in its place.
const HEADERS: &str = "
    cuCtxRecordEvent cuCtxWaitEvent cuEventCreate cuEventDestroy cuEventDestroy_v2 cuEventElapsedTime
    cuEventElapsedTime_v2 cuEventQuery cuEventRecord cuEventRecordWithFlags cuEventRecordWithFlags_ptsz
    cuEventRecord_ptsz cuEventSynchronize cuGraphAddEventRecordNode cuGraphAddEventWaitNode
    cuGraphEventRecordNodeGetEvent cuGraphEventRecordNodeSetEvent cuGraphEventWaitNodeGetEvent
    cuGraphEventWaitNodeSetEvent cuGraphExecEventRecordNodeSetEvent cuGraphExecEventWaitNodeSetEvent cuGraphLaunch
    cuGraphLaunch_ptsz cuGraphUpload cuGraphUpload_ptsz cuGraphicsMapResources cuGraphicsMapResources_ptsz
    cuGraphicsUnmapResources cuGraphicsUnmapResources_ptsz cuGreenCtxRecordEvent cuGreenCtxStreamCreate
    cuGreenCtxWaitEvent cuIpcGetEventHandle cuIpcOpenEventHandle cuLaunchCooperativeKernel
    cuLaunchCooperativeKernel_ptsz cuLaunchGridAsync cuLaunchHostFunc cuLaunchHostFunc_ptsz cuLaunchKernel
    cuLaunchKernel_ptsz cuMemAllocAsync cuMemAllocAsync_ptsz cuMemAllocFromPoolAsync cuMemAllocFromPoolAsync_ptsz
    cuMemBatchDecompressAsync cuMemBatchDecompressAsync_ptsz cuMemDiscardAndPrefetchBatchAsync
    cuMemDiscardAndPrefetchBatchAsync_ptsz cuMemDiscardBatchAsync cuMemDiscardBatchAsync_ptsz cuMemFreeAsync
    cuMemFreeAsync_ptsz cuMemMapArrayAsync cuMemMapArrayAsync_ptsz cuMemPrefetchAsync cuMemPrefetchAsync_ptsz
    cuMemPrefetchAsync_v2 cuMemPrefetchAsync_v2_ptsz cuMemPrefetchBatchAsync cuMemPrefetchBatchAsync_ptsz
    cuMemcpy2DAsync cuMemcpy2DAsync_v2 cuMemcpy2DAsync_v2_ptsz cuMemcpy3DAsync cuMemcpy3DAsync_v2
    cuMemcpy3DAsync_v2_ptsz cuMemcpy3DBatchAsync cuMemcpy3DBatchAsync_ptsz cuMemcpy3DBatchAsync_v2
    cuMemcpy3DBatchAsync_v2_ptsz cuMemcpy3DPeerAsync cuMemcpy3DPeerAsync_ptsz cuMemcpyAsync cuMemcpyAsync_ptsz
    cuMemcpyAtoHAsync cuMemcpyAtoHAsync_v2 cuMemcpyAtoHAsync_v2_ptsz cuMemcpyBatchAsync cuMemcpyBatchAsync_ptsz
    cuMemcpyBatchAsync_v2 cuMemcpyBatchAsync_v2_ptsz cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2 cuMemcpyDtoDAsync_v2_ptsz
    cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2 cuMemcpyDtoHAsync_v2_ptsz cuMemcpyHtoAAsync cuMemcpyHtoAAsync_v2
    cuMemcpyHtoAAsync_v2_ptsz cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2 cuMemcpyHtoDAsync_v2_ptsz cuMemcpyPeerAsync
    cuMemcpyPeerAsync_ptsz cuMemsetD16Async cuMemsetD16Async_ptsz cuMemsetD2D16Async cuMemsetD2D16Async_ptsz
    cuMemsetD2D32Async cuMemsetD2D32Async_ptsz cuMemsetD2D8Async cuMemsetD2D8Async_ptsz cuMemsetD32Async
    cuMemsetD32Async_ptsz cuMemsetD8Async cuMemsetD8Async_ptsz cuSignalExternalSemaphoresAsync
    cuSignalExternalSemaphoresAsync_ptsz cuStreamAddCallback cuStreamAddCallback_ptsz cuStreamAttachMemAsync
    cuStreamAttachMemAsync_ptsz cuStreamBatchMemOp cuStreamBatchMemOp_ptsz cuStreamBatchMemOp_v2
    cuStreamBatchMemOp_v2_ptsz cuStreamBeginCapture cuStreamBeginCaptureToGraph cuStreamBeginCaptureToGraph_ptsz
    cuStreamBeginCapture_ptsz cuStreamBeginCapture_v2 cuStreamBeginCapture_v2_ptsz cuStreamCopyAttributes
    cuStreamCopyAttributes_ptsz cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy cuStreamDestroy_v2
    cuStreamEndCapture cuStreamEndCapture_ptsz cuStreamGetAttribute cuStreamGetAttribute_ptsz cuStreamGetCaptureInfo
    cuStreamGetCaptureInfo_ptsz cuStreamGetCaptureInfo_v2 cuStreamGetCaptureInfo_v2_ptsz cuStreamGetCaptureInfo_v3
    cuStreamGetCaptureInfo_v3_ptsz cuStreamGetCtx cuStreamGetCtx_ptsz cuStreamGetCtx_v2 cuStreamGetCtx_v2_ptsz
    cuStreamGetDevice cuStreamGetDevice_ptsz cuStreamGetFlags cuStreamGetFlags_ptsz cuStreamGetGreenCtx cuStreamGetId
    cuStreamGetId_ptsz cuStreamGetPriority cuStreamGetPriority_ptsz cuStreamIsCapturing cuStreamIsCapturing_ptsz
    cuStreamQuery cuStreamQuery_ptsz cuStreamSetAttribute cuStreamSetAttribute_ptsz cuStreamSynchronize
    cuStreamSynchronize_ptsz cuStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_ptsz
    cuStreamUpdateCaptureDependencies_v2 cuStreamUpdateCaptureDependencies_v2_ptsz cuStreamWaitEvent
    cuStreamWaitEvent_ptsz cuStreamWaitValue32 cuStreamWaitValue32_ptsz cuStreamWaitValue32_v2
    cuStreamWaitValue32_v2_ptsz cuStreamWaitValue64 cuStreamWaitValue64_ptsz cuStreamWaitValue64_v2
    cuStreamWaitValue64_v2_ptsz cuStreamWriteValue32 cuStreamWriteValue32_ptsz cuStreamWriteValue32_v2
    cuStreamWriteValue32_v2_ptsz cuStreamWriteValue64 cuStreamWriteValue64_ptsz cuStreamWriteValue64_v2
    cuStreamWriteValue64_v2_ptsz cuWaitExternalSemaphoresAsync cuWaitExternalSemaphoresAsync_ptsz cudaEventCreate
    cudaEventCreateWithFlags cudaEventDestroy cudaEventElapsedTime cudaEventElapsedTime_v2 cudaEventQuery
    cudaEventRecord cudaEventRecordWithFlags cudaEventRecordWithFlags_ptsz cudaEventRecord_ptsz cudaEventSynchronize
    cudaFreeAsync cudaFreeAsync_ptsz cudaGraphAddEventRecordNode cudaGraphAddEventWaitNode
    cudaGraphEventRecordNodeGetEvent cudaGraphEventRecordNodeSetEvent cudaGraphEventWaitNodeGetEvent
    cudaGraphEventWaitNodeSetEvent cudaGraphExecEventRecordNodeSetEvent cudaGraphExecEventWaitNodeSetEvent
    cudaGraphLaunch cudaGraphLaunch_ptsz cudaGraphUpload cudaGraphUpload_ptsz cudaGraphicsMapResources
    cudaGraphicsUnmapResources cudaIpcGetEventHandle cudaIpcOpenEventHandle cudaLaunchCooperativeKernel
    cudaLaunchCooperativeKernel_ptsz cudaLaunchHostFunc cudaLaunchHostFunc_ptsz cudaLaunchKernel cudaLaunchKernel_ptsz
    cudaMallocAsync cudaMallocAsync_ptsz cudaMallocFromPoolAsync cudaMallocFromPoolAsync_ptsz
    cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz cudaMemDiscardBatchAsync
    cudaMemDiscardBatchAsync_ptsz cudaMemPrefetchAsync cudaMemPrefetchAsync_ptsz cudaMemPrefetchAsync_v2
    cudaMemPrefetchAsync_v2_ptsz cudaMemPrefetchBatchAsync cudaMemPrefetchBatchAsync_ptsz cudaMemcpy2DAsync
    cudaMemcpy2DAsync_ptsz cudaMemcpy2DFromArrayAsync cudaMemcpy2DFromArrayAsync_ptsz cudaMemcpy2DToArrayAsync
    cudaMemcpy2DToArrayAsync_ptsz cudaMemcpy3DAsync cudaMemcpy3DAsync_ptsz cudaMemcpy3DBatchAsync
    cudaMemcpy3DBatchAsync_ptsz cudaMemcpy3DPeerAsync cudaMemcpy3DPeerAsync_ptsz cudaMemcpyAsync cudaMemcpyAsync_ptsz
    cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz cudaMemcpyFromArrayAsync cudaMemcpyFromArrayAsync_ptsz
    cudaMemcpyFromSymbolAsync cudaMemcpyFromSymbolAsync_ptsz cudaMemcpyPeerAsync cudaMemcpyToArrayAsync
    cudaMemcpyToArrayAsync_ptsz cudaMemcpyToSymbolAsync cudaMemcpyToSymbolAsync_ptsz cudaMemset2DAsync
    cudaMemset2DAsync_ptsz cudaMemset3DAsync cudaMemset3DAsync_ptsz cudaMemsetAsync cudaMemsetAsync_ptsz
    cudaSignalExternalSemaphoresAsync cudaSignalExternalSemaphoresAsync_ptsz cudaSignalExternalSemaphoresAsync_v2
    cudaSignalExternalSemaphoresAsync_v2_ptsz cudaStreamAddCallback cudaStreamAddCallback_ptsz
    cudaStreamAttachMemAsync cudaStreamAttachMemAsync_ptsz cudaStreamBeginCapture cudaStreamBeginCaptureToGraph
    cudaStreamBeginCaptureToGraph_ptsz cudaStreamBeginCapture_ptsz cudaStreamCopyAttributes
    cudaStreamCopyAttributes_ptsz cudaStreamCreate cudaStreamCreateWithFlags cudaStreamCreateWithPriority
    cudaStreamDestroy cudaStreamEndCapture cudaStreamEndCapture_ptsz cudaStreamGetAttribute
    cudaStreamGetAttribute_ptsz cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_ptsz cudaStreamGetCaptureInfo_v2
    cudaStreamGetCaptureInfo_v2_ptsz cudaStreamGetCaptureInfo_v3 cudaStreamGetCaptureInfo_v3_ptsz cudaStreamGetDevice
    cudaStreamGetDevice_ptsz cudaStreamGetFlags cudaStreamGetFlags_ptsz cudaStreamGetId cudaStreamGetId_ptsz
    cudaStreamGetPriority cudaStreamGetPriority_ptsz cudaStreamIsCapturing cudaStreamIsCapturing_ptsz cudaStreamQuery
    cudaStreamQuery_ptsz cudaStreamSetAttribute cudaStreamSetAttribute_ptsz cudaStreamSynchronize
    cudaStreamSynchronize_ptsz cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_ptsz
    cudaStreamUpdateCaptureDependencies_v2 cudaStreamUpdateCaptureDependencies_v2_ptsz cudaStreamWaitEvent
    cudaStreamWaitEvent_ptsz cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz
    cudaWaitExternalSemaphoresAsync_v2 cudaWaitExternalSemaphoresAsync_v2_ptsz
";

/// What has none of them, or is in other headers, and is interposed for its effect on order, or because of the pools.
const OTHERS: &str = "
    cuCtxDestroy cuCtxDestroy_v2 cuCtxSynchronize cuCtxSynchronize_v2 cuDeviceGetDefaultMemPool cuDeviceGetMemPool
    cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2 cuDeviceSetMemPool cuEventCreateFromEGLSync cuGraphAddNode
    cuGraphAddNode_v2 cuGraphExecNodeSetParams cuGraphKernelNodeSetAttribute cuGraphNodeSetParams cuLaunchKernelEx
    cuLaunchKernelEx_ptsz cuMemAllocPitch_v2 cuMemAlloc_v2 cuMemCreate cuMemFree_v2 cuMemGetDefaultMemPool
    cuMemGetMemPool cuMemPoolCreate cuMemPoolDestroy cuMemPoolExportPointer cuMemPoolExportToShareableHandle
    cuMemPoolGetAccess cuMemPoolGetAttribute cuMemPoolImportPointer cuMemPoolSetAccess cuMemPoolSetAttribute
    cuMemPoolTrimTo cuMemSetMemPool cudaDeviceGetDefaultMemPool cudaDeviceGetMemPool cudaDeviceReset
    cudaDeviceSetMemPool cudaDeviceSynchronize cudaEventCreateFromEGLSync cudaFree cudaGetLastError cudaGraphAddNode
    cudaGraphAddNode_v2 cudaGraphExecNodeSetParams cudaGraphKernelNodeSetAttribute cudaGraphNodeSetParams
    cudaLaunchKernelExC cudaLaunchKernelExC_ptsz cudaMalloc cudaMalloc3D cudaMallocPitch cudaMemGetDefaultMemPool
    cudaMemGetMemPool cudaMemPoolCreate cudaMemPoolDestroy cudaMemPoolExportPointer cudaMemPoolExportToShareableHandle
    cudaMemPoolGetAccess cudaMemPoolGetAttribute cudaMemPoolImportPointer cudaMemPoolSetAccess cudaMemPoolSetAttribute
    cudaMemPoolTrimTo cudaMemSetMemPool cudaPeekAtLastError cudaThreadExit cudaThreadSynchronize
";

fn names(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

/// A name without what tells its variants apart.
fn base(name: &str) -> &str {
    let name = name.strip_suffix("_ptsz").unwrap_or(name);
    match name.rsplit_once("_v") {
        Some((base, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    }
}

#[test]
fn every_function_goes_one_way() {
    let seen: BTreeMap<&str, Way> = INTERPOSED.iter().copied().collect();
    let alone: BTreeMap<&str, LeftAlone> = LEFT_ALONE.iter().copied().collect();
    assert_eq!((seen.len(), alone.len()), (INTERPOSED.len(), LEFT_ALONE.len()), "each once");
    for name in names(HEADERS) {
        match (seen.get(name), alone.get(base(name))) {
            (Some(way), None) => println!("{name}: seen, {way:?}"),
            (None, Some(why)) => println!("{name}: left alone, {why:?}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    let interposed: BTreeSet<&str> = seen.keys().copied().collect();
    let left: BTreeSet<&str> = names(HEADERS).difference(&interposed).map(|name| base(name)).collect();
    assert_eq!(alone.keys().copied().collect::<BTreeSet<_>>(), left);
    let others: BTreeSet<&str> = interposed.difference(&names(HEADERS)).copied().collect();
    assert_eq!(others, names(OTHERS));
}

/// By its name a function makes, ends, records or waits for something: it must not be left alone.
#[test]
fn what_changes_order_by_its_name_is_seen() {
    for (name, why) in LEFT_ALONE {
        let streams_or_events = name.contains("Stream") || name.contains("Event");
        let changes = ["Create", "Destroy", "StreamWaitEvent", "Synchronize", "EventRecordWith", "NodeSetEvent"];
        let found = changes.iter().find(|word| streams_or_events && name.contains(*word));
        let waits = ["cudaGraphEventWaitNodeSetEvent", "cuGraphEventWaitNodeSetEvent"];
        let waits_only = waits.contains(name) || name.ends_with("GraphExecEventWaitNodeSetEvent");
        assert!(found.is_none() || waits_only, "{name} is left alone ({why:?})");
        assert!(!name.ends_with("EventRecord") && !name.contains("Reset"), "{name} is left alone ({why:?})");
    }
}

/// Whoever calls it with the default stream of each thread calls another function.
#[test]
fn each_variant_of_what_is_seen_is_seen() {
    let seen: BTreeSet<&str> = INTERPOSED.iter().map(|(name, _)| *name).collect();
    let bases: BTreeSet<&str> = seen.iter().map(|name| base(name)).collect();
    for name in names(HEADERS) {
        assert!(seen.contains(name) || !bases.contains(base(name)), "{name}");
    }
}

/// The classes of the most important ones, stated once more.
#[test]
fn the_ways_are_these() {
    let ways: BTreeMap<&str, Way> = INTERPOSED.iter().copied().collect();
    for (way, text) in [
        (
            Way::BeginsStream,
            "cudaStreamCreate cudaStreamCreateWithFlags cudaStreamCreateWithPriority cuStreamCreate
             cuStreamCreateWithPriority cuGreenCtxStreamCreate",
        ),
        (Way::EndsStream, "cudaStreamDestroy cuStreamDestroy cuStreamDestroy_v2"),
        (
            Way::BeginsEvent,
            "cudaEventCreate cudaEventCreateWithFlags cuEventCreate cudaIpcOpenEventHandle cuIpcOpenEventHandle
             cudaEventCreateFromEGLSync cuEventCreateFromEGLSync",
        ),
        (Way::EndsEvent, "cudaEventDestroy cuEventDestroy cuEventDestroy_v2"),
        (
            Way::Records,
            "cudaEventRecord cudaEventRecord_ptsz cudaEventRecordWithFlags cudaEventRecordWithFlags_ptsz cuEventRecord
             cuEventRecord_ptsz cuEventRecordWithFlags cuEventRecordWithFlags_ptsz cuCtxRecordEvent
             cuGreenCtxRecordEvent",
        ),
        (Way::Waits, "cudaStreamWaitEvent cudaStreamWaitEvent_ptsz cuStreamWaitEvent cuStreamWaitEvent_ptsz"),
        (
            Way::Completes,
            "cudaStreamQuery cudaStreamQuery_ptsz cuStreamQuery cuStreamQuery_ptsz cudaStreamSynchronize
             cudaStreamSynchronize_ptsz cuStreamSynchronize cuStreamSynchronize_ptsz cudaEventQuery cuEventQuery
             cudaEventSynchronize cuEventSynchronize cudaDeviceSynchronize cudaThreadSynchronize cuCtxSynchronize
             cuCtxSynchronize_v2",
        ),
        (
            Way::Ends,
            "cudaDeviceReset cudaThreadExit cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2 cuCtxDestroy
             cuCtxDestroy_v2",
        ),
    ] {
        let of_way: BTreeSet<&str> = ways.iter().filter(|(_, found)| **found == way).map(|(name, _)| *name).collect();
        assert_eq!(of_way, names(text), "{way:?}");
    }
}
