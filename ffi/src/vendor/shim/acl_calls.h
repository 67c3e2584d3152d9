/*
 * The part of ACL's interface that acl.c calls: layouts, numbers and functions, by acl_rt.h of CANN 8 and 9.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WEIR_SHIM_ACL_CALLS_H
#define WEIR_SHIM_ACL_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* aclrtMemLocation and aclrtPhysicalMemProp of acl_rt.h. */
struct location {
    uint32_t id;
    int type;
};

struct physical {
    int handle_type;
    int allocation_type;
    int attribute;
    struct location location;
    uint64_t reserve;
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct physical) == 32, "aclrtPhysicalMemProp");

enum {
    HANDLE_NONE = 0,
    TYPE_PINNED = 0,
    LOCATION_DEVICE = 1,
    DDR_MEMORY = 0,
    HBM_MEMORY = 1,
    DDR_HUGE = 2,
    HBM_HUGE = 4,
    HUGE_PAGES = 1,
    GRANULARITY_RECOMMENDED = 1,
    EVENT_SYNC = 1,
    EVENT_PROGRESS = 2,
    EVENT_COMPLETE = 1,
    STREAM_COMPLETE = 0,
    /* The interface whose layouts these are. */
    INTERFACE = 1
};

enum {
    ERROR_REPEAT_INITIALIZE = 100002,
    ERROR_PARAM_INVALID = 107000,
    ERROR_CONTEXT_NULL = 107002,
    ERROR_STREAM_CONTEXT = 107003,
    ERROR_BAD_ALLOC = 200000,
    ERROR_API_NOT_SUPPORT = 200001,
    ERROR_FEATURE_NOT_SUPPORT = 207000,
    ERROR_MEMORY_ALLOCATION = 207001,
    ERROR_RESOURCE_ALLOC_FAIL = 207005,
    ERROR_NO_EVENT_RESOURCE = 207007,
    ERROR_STREAM_SYNC_TIMEOUT = 507046,
    ERROR_EVENT_SYNC_TIMEOUT = 507047
};

#define CALLS(X)                                                                                                       \
    X(get_version, (int32_t * major, int32_t *minor, int32_t *patch), "aclrtGetVersion")                               \
    X(init, (const char *config), "aclInit")                                                                           \
    X(device_count, (uint32_t * count), "aclrtGetDeviceCount")                                                         \
    X(set_device, (int32_t device), "aclrtSetDevice")                                                                  \
    X(reset_device, (int32_t device), "aclrtResetDevice")                                                              \
    X(get_current, (void **context), "aclrtGetCurrentContext")                                                         \
    X(set_current, (void *context), "aclrtSetCurrentContext")                                                          \
    X(synchronise, (void), "aclrtSynchronizeDevice")                                                                   \
    X(memory_info, (int attribute, size_t *free, size_t *total), "aclrtGetMemInfo")                                    \
    X(granularity, (struct physical * what, int option, size_t *bytes), "aclrtMemGetAllocationGranularity")            \
    X(reserve, (void **base, size_t bytes, size_t alignment, void *at, uint64_t flags), "aclrtReserveMemAddress")      \
    X(release, (void *base), "aclrtReleaseMemAddress")                                                                 \
    X(create, (void **handle, size_t bytes, const struct physical *what, uint64_t flags), "aclrtMallocPhysical")       \
    X(destroy, (void *handle), "aclrtFreePhysical")                                                                    \
    X(map, (void *at, size_t bytes, size_t offset, void *handle, uint64_t flags), "aclrtMapMem")                       \
    X(unmap, (void *at), "aclrtUnmapMem")                                                                              \
    X(event_create, (void **event, unsigned int flags), "aclrtCreateEventExWithFlag")                                  \
    X(event_destroy, (void *event), "aclrtDestroyEvent")                                                               \
    X(event_record, (void *event, void *stream), "aclrtRecordEvent")                                                   \
    X(event_query, (void *event, int *status), "aclrtQueryEventStatus")                                                \
    X(event_synchronise, (void *event), "aclrtSynchronizeEvent")                                                       \
    X(stream_wait, (void *stream, void *event), "aclrtStreamWaitEvent")                                                \
    X(stream_query, (void *stream, int *status), "aclrtStreamQuery")                                                   \
    X(stream_synchronise, (void *stream), "aclrtSynchronizeStream")

struct calls {
#define FIELD(name, arguments, symbol) int(*name) arguments;
    CALLS(FIELD)
};

enum { COUNT = sizeof(struct calls) / sizeof(int (*)(void)) };

#define SYMBOL(name, arguments, symbol) symbol,
static const char *const SYMBOLS[COUNT] = {CALLS(SYMBOL)};

#endif /* WEIR_SHIM_ACL_CALLS_H */
