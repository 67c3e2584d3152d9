/*
 * acl/acl_rt.h - devices, contexts, streams, events, copies and kernels of CANN's runtime interface, as far as weir
 * emulates it on its host driver.
 *
 * Written for weir from CANN's public documentation; names, numbers and layouts are CANN's. C11 and C++17.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WEIR_ACL_RT_H
#define WEIR_ACL_RT_H

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------------------------- devices and contexts */

/**
 * Makes the device the thread's: its default context, made at the first call, becomes the current one. Each call counts
 * one reference to the device.
 */
aclError aclrtSetDevice(int32_t deviceId);

/** Gives one reference back; at the last one the default context ends, with its streams. Pools stay. */
aclError aclrtResetDevice(int32_t deviceId);

/** Waits for all that is queued on the device of the current context. */
aclError aclrtSynchronizeDevice(void);

/** A context of its own, which becomes the thread's current one. */
aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId);

/** Ends a context of aclrtCreateContext: finishes and destroys its streams. A default context is refused. */
aclError aclrtDestroyContext(aclrtContext context);

/** Kinds of memory. The emulated device has one, HBM. */
typedef enum aclrtMemAttr {
    ACL_DDR_MEM,
    ACL_HBM_MEM,
    ACL_DDR_MEM_HUGE,
    ACL_DDR_MEM_NORMAL,
    ACL_HBM_MEM_HUGE,
    ACL_HBM_MEM_NORMAL,
    ACL_DDR_MEM_P2P_HUGE,
    ACL_DDR_MEM_P2P_NORMAL,
    ACL_HBM_MEM_P2P_HUGE,
    ACL_HBM_MEM_P2P_NORMAL,
    ACL_HBM_MEM_HUGE1G,
    ACL_HBM_MEM_P2P_HUGE1G,
    ACL_MEM_NORMAL,
    ACL_MEM_HUGE,
    ACL_MEM_HUGE1G,
    ACL_MEM_P2P_NORMAL,
    ACL_MEM_P2P_HUGE,
    ACL_MEM_P2P_HUGE1G
} aclrtMemAttr;

/** Physical memory of the current context's device, in bytes. ACL_ERROR_RT_FEATURE_NOT_SUPPORT unless HBM is meant. */
aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total);

/* ----------------------------------------------------------------------------------------------- streams and events */

/** A stream of the current context. */
aclError aclrtCreateStream(aclrtStream *stream);

/** Finishes what is queued, then ends the stream. */
aclError aclrtDestroyStream(aclrtStream stream);

/**
 * Waits for all that is queued on the stream (null: the current context's default stream). Pools then release what
 * stands above their thresholds.
 */
aclError aclrtSynchronizeStream(aclrtStream stream);

/** What aclrtQueryEventStatus answers. */
typedef enum aclrtEventRecordedStatus {
    ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
    ACL_EVENT_RECORDED_STATUS_COMPLETE = 1
} aclrtEventRecordedStatus;

/** An event. */
aclError aclrtCreateEvent(aclrtEvent *event);

/** Ends an event; waits that were queued on it keep what they took. */
aclError aclrtDestroyEvent(aclrtEvent event);

/** From now on the event stands for all that is queued on the stream (null: the default stream) so far. */
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

/**
 * What is queued on the stream (null: the default stream) from now on comes after what the event stands for. An event
 * that was never recorded adds nothing.
 */
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/** Asks without waiting. An event that was never recorded is not ready. */
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status);

/** Waits for what the event stands for. Pools then release what stands above their thresholds. */
aclError aclrtSynchronizeEvent(aclrtEvent event);

/* ----------------------------------------------------------------------------------------------------------- copies */

/** The direction of a copy; ACL_MEMCPY_DEFAULT: by the addresses. */
typedef enum aclrtMemcpyKind {
    ACL_MEMCPY_HOST_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_DEVICE_TO_DEVICE,
    ACL_MEMCPY_DEFAULT,
    ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE,
    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE,
    ACL_MEMCPY_INTER_DEVICE_TO_DEVICE
} aclrtMemcpyKind;

/** Copies at once, without regard to any stream. The addresses decide the direction, not `kind`. */
aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind);

/**
 * Copies in the order of the stream (null: the default stream).
 *
 * Host memory may be used again, or read, when the call returns: all of it counts as not locked in place, for which a
 * copy to the device takes its bytes at once, and a copy from the device returns when it is done.
 */
aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream);

/* ---------------------------------------------------------------------------------------------------------- kernels */

/** A binary with kernels; see weir_acl_binary in weir_acl.h. */
typedef void *aclrtBinHandle;

/** A kernel. */
typedef void *aclrtFuncHandle;

/** The kernel of a name. ACL_ERROR_KERNEL_NOT_FOUND where there is none. */
aclError aclrtBinaryGetFunction(const aclrtBinHandle binHandle, const char *kernelName, aclrtFuncHandle *funcHandle);

/**
 * Queues a kernel. `argsData` is the device address of its arguments, `argsSize` bytes, which are read when the stream
 * has come to it. `blockDim`, 1 to 65535, is on how many cores it would run.
 */
aclError aclrtLaunchKernel(aclrtFuncHandle funcHandle, uint32_t blockDim, const void *argsData, size_t argsSize,
                           aclrtStream stream);

/* --------------------------------------------------------------------------------------------- what memory is where */

/** Where memory is. */
typedef enum aclrtMemLocationType {
    ACL_MEM_LOCATION_TYPE_HOST = 0,
    ACL_MEM_LOCATION_TYPE_DEVICE = 1,
    ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2,
    ACL_MEM_LOCATION_TYPE_MANAGED = 3,
    ACL_MEM_LOCATION_TYPE_HOST_NUMA = 4
} aclrtMemLocationType;

/** A place for memory: first which, then what kind. */
typedef struct aclrtMemLocation {
    uint32_t id;
    aclrtMemLocationType type;
} aclrtMemLocation;

/** How physical memory is held. */
typedef enum aclrtMemAllocationType {
    ACL_MEM_ALLOCATION_TYPE_PINNED = 0
} aclrtMemAllocationType;

/** How physical memory would be shared with other processes. */
typedef enum aclrtMemHandleType {
    ACL_MEM_HANDLE_TYPE_NONE = 0,
    ACL_MEM_HANDLE_TYPE_POSIX = 2
} aclrtMemHandleType;

WEIR_ACL_CHECK(sizeof(aclrtMemLocation) == 8, "aclrtMemLocation has 8 bytes");
WEIR_ACL_CHECK(offsetof(aclrtMemLocation, id) == 0, "aclrtMemLocation.id comes first");
WEIR_ACL_CHECK(offsetof(aclrtMemLocation, type) == 4, "aclrtMemLocation.type comes second");

#ifdef __cplusplus
}
#endif

#include "acl_rt_memory_soma.h"

#endif
