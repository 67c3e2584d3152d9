//! Every function of CANN's headers that takes a stream or an event, and which way it goes through `libweir_acl.so`.
//!
//! `cargo test -p weir-ffi --test acl_functions -- --nocapture` prints one line a function.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use weir_ffi::interpose::acl::ways::{INTERPOSED, LEFT_ALONE, LeftAlone, Way};

/// What has a parameter of type `aclrtStream`, `aclrtEvent` or a pointer to one in `acl_rt.h`, `acl_rt_allocator.h` and
/// `acl_rt_memory_soma.h` of CANN 9, with the functions of models under construction and capture (`aclmdlRI...`). The
/// headers of models, operators and media (`acl_mdl.h`, `acl_op.h`, `acl_dvpp.h`) take streams too, to queue work there.
const HEADERS: &str = "
    aclrtSubscribeReport aclrtLaunchCallback aclrtUnSubscribeReport aclrtSetStreamFailureMode aclrtCreateEvent
    aclrtCreateEventWithFlag aclrtCreateEventExWithFlag aclrtDestroyEvent aclrtRecordEvent aclrtResetEvent
    aclrtQueryEvent aclrtQueryEventStatus aclrtQueryEventWaitStatus aclrtSynchronizeEvent
    aclrtSynchronizeEventWithTimeout aclrtEventElapsedTime aclrtEventGetTimestamp aclrtStreamGetId aclrtMemcpyAsync
    aclrtMemcpyAsyncWithCondition aclrtMemcpy2dAsync aclrtMemsetAsync aclrtCreateStream aclrtCreateStreamWithConfig
    aclrtDestroyStream aclrtDestroyStreamForce aclrtSynchronizeStream aclrtSynchronizeStreamWithTimeout
    aclrtStreamQuery aclrtStreamWaitEvent aclrtStreamWaitEventWithTimeout aclrtSetStreamOverflowSwitch
    aclrtGetStreamOverflowSwitch aclrtGetOverflowStatus aclrtResetOverflowStatus aclrtLaunchKernel aclrtCmoAsync
    aclrtStreamAbort aclrtMemcpyAsyncWithDesc aclrtMemcpyAsyncWithOffset aclrtLaunchKernelWithConfig aclrtValueWrite
    aclrtValueWait aclrtSetStreamAttribute aclrtGetStreamAttribute aclrtRecordNotify aclrtWaitAndResetNotify
    aclrtGetEventId aclrtCtxGetCurrentDefaultStream aclrtReduceAsync aclrtGetStreamResLimit aclrtSetStreamResLimit
    aclrtResetStreamResLimit aclrtUseStreamResInCurrentThread aclrtUnuseStreamResInCurrentThread aclrtSetLabel
    aclrtSwitchLabelByIndex aclrtActiveStream aclrtSwitchStream aclrtCmoAsyncWithBarrier aclrtCmoWaitBarrier
    aclrtMemcpyBatchAsync aclmdlRIExecuteAsync aclmdlRICaptureBegin aclmdlRICaptureGetInfo aclmdlRICaptureEnd
    aclmdlRICaptureTaskGrpBegin aclmdlRICaptureTaskGrpEnd aclmdlRICaptureTaskUpdateBegin aclmdlRICaptureTaskUpdateEnd
    aclmdlRIBindStream aclmdlRIEndTask aclmdlRIUnbindStream aclrtAllocatorRegister aclrtAllocatorGetByStream
    aclrtAllocatorUnregister aclrtProfTrace aclrtLaunchKernelV2 aclrtLaunchKernelWithHostArgs
    aclrtGetFloatOverflowStatus aclrtResetFloatOverflowStatus aclrtNpuGetFloatOverFlowStatus
    aclrtNpuClearFloatOverFlowStatus aclrtLaunchHostFunc aclrtRandomNumAsync aclrtStreamStop aclrtTaskUpdateAsync
    aclrtCmoAsyncWithDesc aclrtCntNotifyRecord aclrtCntNotifyWaitWithTimeout aclrtCntNotifyReset
    aclrtPersistentTaskClean aclrtIpcGetEventHandle aclrtIpcOpenEventHandle
    aclrtMemPoolMallocAsync aclrtMemPoolFreeAsync
";

/// What has neither, and is interposed for its effect on all of them, or because the emulation has it.
const OTHERS: &str = "
    aclInit aclFinalize aclrtSetDevice aclrtResetDevice aclrtResetDeviceForce aclrtCreateContext aclrtDestroyContext
    aclrtSynchronizeDevice aclrtSynchronizeDeviceWithTimeout aclrtDeviceTaskAbort aclmdlRIAbort aclrtSetOpWaitTimeout
    aclrtMalloc aclrtMallocAlign32 aclrtMallocCached aclrtMallocWithCfg aclrtFree aclrtGetMemInfo aclrtMemcpy
    aclrtBinaryGetFunction aclrtMemPoolCreate aclrtMemPoolDestroy aclrtMemPoolSetAttr aclrtMemPoolGetAttr
    aclrtMemPoolTrimTo
";

fn names(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

#[test]
fn every_function_goes_one_way() {
    let seen: BTreeMap<&str, Way> = INTERPOSED.iter().copied().collect();
    let alone: BTreeMap<&str, LeftAlone> = LEFT_ALONE.iter().copied().collect();
    assert_eq!((seen.len(), alone.len()), (INTERPOSED.len(), LEFT_ALONE.len()), "each once");
    for name in names(HEADERS) {
        match (seen.get(name), alone.get(name)) {
            (Some(way), None) => println!("{name}: seen, {way:?}"),
            (None, Some(why)) => println!("{name}: left alone, {why:?}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    let all: BTreeSet<&str> = seen.keys().chain(alone.keys()).copied().collect();
    assert_eq!(all, names(HEADERS).union(&names(OTHERS)).copied().collect());
}

/// By its name a function makes, ends, records, resets or gives up something: it must not be left alone.
#[test]
fn what_changes_order_by_its_name_is_seen() {
    for (name, why) in LEFT_ALONE {
        let streams_or_events = name.contains("Stream") || name.contains("Event");
        let changes = ["Create", "Destroy", "Record", "Abort", "Force", "WaitEvent", "Synchronize"];
        let found = changes.iter().find(|word| streams_or_events && name.contains(*word));
        assert!(found.is_none(), "{name} is left alone ({why:?})");
        assert!(!name.contains("Reset") || !name.contains("Event"), "{name} is left alone ({why:?})");
    }
}

/// The classes of the most important ones, stated once more.
#[test]
fn the_ways_are_these() {
    let ways: BTreeMap<&str, Way> = INTERPOSED.iter().copied().collect();
    for (way, text) in [
        (Way::BeginsStream, "aclrtCreateStream aclrtCreateStreamWithConfig aclrtCtxGetCurrentDefaultStream"),
        (Way::EndsStream, "aclrtDestroyStream"),
        (
            Way::Aborts,
            "aclrtDestroyStreamForce aclrtStreamAbort aclrtStreamStop aclrtPersistentTaskClean aclrtDeviceTaskAbort
             aclmdlRIAbort",
        ),
        (Way::BeginsEvent, "aclrtCreateEvent aclrtCreateEventWithFlag aclrtCreateEventExWithFlag"),
        (Way::EndsEvent, "aclrtDestroyEvent"),
        (Way::Records, "aclrtRecordEvent"),
        (Way::Resets, "aclrtResetEvent"),
        (Way::Waits, "aclrtStreamWaitEvent"),
        (Way::MayGiveUp, "aclrtStreamWaitEventWithTimeout aclrtSetOpWaitTimeout"),
        (
            Way::Completes,
            "aclrtQueryEventStatus aclrtStreamQuery aclrtSynchronizeStream aclrtSynchronizeStreamWithTimeout
             aclrtSynchronizeEvent aclrtSynchronizeEventWithTimeout aclrtSynchronizeDevice
             aclrtSynchronizeDeviceWithTimeout",
        ),
        (Way::Memory, "aclrtMalloc aclrtMallocAlign32 aclrtMallocCached aclrtMallocWithCfg aclrtFree"),
        (Way::Ends, "aclrtSetDevice aclrtResetDevice aclrtResetDeviceForce aclrtDestroyContext aclFinalize"),
    ] {
        let of_way: BTreeSet<&str> = ways.iter().filter(|(_, found)| **found == way).map(|(name, _)| *name).collect();
        assert_eq!(of_way, names(text), "{way:?}");
    }
}
