/*
 * acl/acl_rt_memory_soma.h - stream-ordered memory pools of CANN's runtime interface, as weir has them.
 *
 * Names, numbers and layouts are CANN's. The behaviour is that of its documentation, and better where that is a defect:
 *
 *  - Sizes are rounded up to 512 bytes, not to 2 MiB.
 *  - Memory is never given to a stream before its last use is ordered before what that stream does next.
 *  - A pool that is exhausted answers ACL_ERROR_RT_MEMORY_ALLOCATION (207001), which nothing else does.
 *  - aclrtMemPoolTrimTo below what is in use releases what it can, and succeeds.
 *  - A high mark that is reset stands at the current value, not at 0.
 *  - A threshold may be above the pool's size: UINT64_MAX releases nothing at synchronisations.
 *  - A handle type other than none is refused (100000): pools are not shared with other processes.
 *  - A free counts on the stream that frees, not on the one that allocated.
 *  - aclrtMemPoolFreeAsync refuses an address that is in no pool (107000). CANN takes any for memory of aclrtMalloc, and
 *    succeeds.
 *  - Attribute 2 gives memory out once the device has passed its free, not before. Attribute 3 queues a real wait of
 *    one stream for the other, behind the first call on that other stream after the free, and blocks nothing on the
 *    device.
 *  - A pool that is destroyed keeps the memory of what is allocated until the work that is queued is done.
 *  - A full device makes the next aclrtMemPoolMallocAsync take back what other pools do not use. The emulation has no
 *    aclrtMalloc and no aclrtFree: a pool's memory is freed in stream order only.
 *  - A handle is never given out again, so that none is mistaken for a later pool, stream or event.
 *
 * Written for weir from CANN's public documentation. C11 and C++17. SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WEIR_ACL_RT_MEMORY_SOMA_H
#define WEIR_ACL_RT_MEMORY_SOMA_H

#include "acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A pool. */
typedef void *aclrtMemPool;

/** What can be asked of a pool and set. The size of a value is that of its type: there is no other check. */
typedef enum aclrtMemPoolAttr {
    /** uint32_t, 0 or not 0, first 0. Memory freed on other streams is used again along events. */
    ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES = 0x1,
    /** uint32_t, 0 or not 0, first 0. Memory freed on other streams is used again when the device has come that far. */
    ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC = 0x2,
    /** uint32_t, 0 or not 0, first 0. Streams are made to wait for each other, so that memory can be used again. */
    ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 0x3,
    /** uint64_t, first 0. Reserved bytes that a synchronisation keeps; UINT64_MAX: all. */
    ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD = 0x4,
    /** uint64_t, read only. Physical bytes that the pool holds. */
    ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT = 0x5,
    /** uint64_t. The most of it; only 0 can be set, which resets it. */
    ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH = 0x6,
    /** uint64_t, read only. Bytes that are allocated. */
    ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT = 0x7,
    /** uint64_t. The most of it; only 0 can be set, which resets it. */
    ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH = 0x8
} aclrtMemPoolAttr;

/** How a pool is made. */
typedef struct {
    /** ACL_MEM_ALLOCATION_TYPE_PINNED. */
    aclrtMemAllocationType allocType;
    /** ACL_MEM_HANDLE_TYPE_NONE. */
    aclrtMemHandleType handleType;
    /** The device, of type ACL_MEM_LOCATION_TYPE_DEVICE. */
    aclrtMemLocation location;
    /** The most physical bytes, rounded up to whole granules of 2 MiB; 0: all that the device has. */
    size_t maxSize;
    /** Zero. */
    unsigned char reserved[32];
} aclrtMemPoolProps;

#if SIZE_MAX == UINT64_MAX
WEIR_ACL_CHECK(sizeof(aclrtMemPoolProps) == 56, "aclrtMemPoolProps has 56 bytes");
WEIR_ACL_CHECK(offsetof(aclrtMemPoolProps, allocType) == 0, "offset of allocType");
WEIR_ACL_CHECK(offsetof(aclrtMemPoolProps, handleType) == 4, "offset of handleType");
WEIR_ACL_CHECK(offsetof(aclrtMemPoolProps, location) == 8, "offset of location");
WEIR_ACL_CHECK(offsetof(aclrtMemPoolProps, maxSize) == 16, "offset of maxSize");
WEIR_ACL_CHECK(offsetof(aclrtMemPoolProps, reserved) == 24, "offset of reserved");
#endif

/**
 * A pool. No physical memory is taken. 100000 for null or a field that cannot be, 107000 for more than the device has,
 * 107001 for a device that does not exist, 107002 without a current context.
 */
aclError aclrtMemPoolCreate(aclrtMemPool *memPool, const aclrtMemPoolProps *poolProps);

/**
 * Ends a pool, with all that is still allocated from it: the memory goes back when what is queued on the device by now
 * is done. 507000 for what is no pool (any more).
 */
aclError aclrtMemPoolDestroy(const aclrtMemPool memPool);

/**
 * Sets an attribute. 107000 for a null value, what is no pool, no attribute, or read only; 507000 for a high mark that
 * is set to anything but 0.
 */
aclError aclrtMemPoolSetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value);

/** Reads an attribute. 107000 for a null value, what is no pool, or no attribute. */
aclError aclrtMemPoolGetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value);

/**
 * Allocates, for work that is queued on the stream from now on. A size of 0 succeeds and leaves `*ptr` alone. 207001
 * when the pool is exhausted, 507000 for what is no pool, 107000 for a size of more than 2^64 bytes less a granule of 2 MiB. The default stream
 * (null) cannot allocate: 100000.
 */
aclError aclrtMemPoolMallocAsync(void **ptr, size_t size, aclrtMemPool memPool, aclrtStream stream);

/**
 * Frees, after what is queued on the stream so far. 107000 for what is not the start of an allocation, 507000 for a
 * null stream.
 */
aclError aclrtMemPoolFreeAsync(void *ptr, aclrtStream stream);

/**
 * Gives physical memory back until `minBytesToKeep` are left, or only what is in use and what unfinished work may still
 * use. 507000 for what is no pool, and for more than the pool's size.
 */
aclError aclrtMemPoolTrimTo(aclrtMemPool memPool, size_t minBytesToKeep);

#ifdef __cplusplus
}
#endif

#endif
