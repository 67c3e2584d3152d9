/*
 * The part of CUDA's driver interface, and of HIP's, that cuda.c calls: layouts, numbers, and one table of functions
 * with two columns of names. SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WEIR_SHIM_CUDA_CALLS_H
#define WEIR_SHIM_CUDA_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* CUmemLocation, CUmemAllocationProp and CUmemAccessDesc of cuda.h 10.2 and later; the type comes before the number.
 * HIP's have that layout from 6.0 on; in 5.2 the location came before the types. */
struct location {
    int type;
    int id;
};

struct allocation {
    int type;
    int handle_types;
    struct location location;
    void *handle_data;
    unsigned char flags[8];
};

struct access {
    struct location location;
    int flags;
};

/* Where pointers have 64 bits, as on every machine that these devices are for. */
_Static_assert(sizeof(void *) != 8 || sizeof(struct allocation) == 32, "CUmemAllocationProp");
_Static_assert(sizeof(struct access) == 12, "CUmemAccessDesc");

enum {
    TYPE_PINNED = 1,
    LOCATION_DEVICE = 1,
    ACCESS_READ_WRITE = 3,
    GRANULARITY_RECOMMENDED = 1,
    EVENT_DISABLE_TIMING = 2,
    ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT = 102,
    ERROR_OUT_OF_MEMORY = 2,
    ERROR_NOT_READY = 600,
    ERROR_NOT_SUPPORTED = 801
};

/* Each call: its place in `struct calls`, its arguments, its name in CUDA (with the version that dlsym needs), in HIP.
 * hipCtxSynchronize is not implemented; hipStreamGetCtx does not exist, and the device says as much. */
#define CALLS(X)                                                                                                       \
    X(version, (int *version), "cuDriverGetVersion", "hipRuntimeGetVersion")                                           \
    X(init, (unsigned int flags), "cuInit", "hipInit")                                                                 \
    X(device_count, (int *count), "cuDeviceGetCount", "hipGetDeviceCount")                                             \
    X(device_get, (int *device, int ordinal), "cuDeviceGet", "hipDeviceGet")                                           \
    X(device_attribute, (int *value, int attribute, int device), "cuDeviceGetAttribute", "hipDeviceGetAttribute")      \
    X(device_total, (size_t *bytes, int device), "cuDeviceTotalMem_v2", "hipDeviceTotalMem")                           \
    X(retain, (void **context, int device), "cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain")                   \
    X(release, (int device), "cuDevicePrimaryCtxRelease_v2", "hipDevicePrimaryCtxRelease")                             \
    X(get_current, (void **context), "cuCtxGetCurrent", "hipCtxGetCurrent")                                            \
    X(set_current, (void *context), "cuCtxSetCurrent", "hipCtxSetCurrent")                                             \
    X(synchronise, (void), "cuCtxSynchronize", "hipDeviceSynchronize")                                                 \
    X(granularity, (size_t *bytes, const struct allocation *what, int option), "cuMemGetAllocationGranularity",        \
      "hipMemGetAllocationGranularity")                                                                                \
    X(reserve, (uint64_t * base, size_t bytes, size_t alignment, uint64_t at, unsigned long long flags),               \
      "cuMemAddressReserve", "hipMemAddressReserve")                                                                   \
    X(address_free, (uint64_t base, size_t bytes), "cuMemAddressFree", "hipMemAddressFree")                            \
    X(create, (uint64_t * handle, size_t bytes, const struct allocation *what, unsigned long long flags),              \
      "cuMemCreate", "hipMemCreate")                                                                                   \
    X(destroy, (uint64_t handle), "cuMemRelease", "hipMemRelease")                                                     \
    X(map, (uint64_t at, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags), "cuMemMap",          \
      "hipMemMap")                                                                                                     \
    X(set_access, (uint64_t at, size_t bytes, const struct access *access, size_t count), "cuMemSetAccess",            \
      "hipMemSetAccess")                                                                                               \
    X(unmap, (uint64_t at, size_t bytes), "cuMemUnmap", "hipMemUnmap")                                                 \
    X(event_create, (void **event, unsigned int flags), "cuEventCreate", "hipEventCreateWithFlags")                    \
    X(event_destroy, (void *event), "cuEventDestroy_v2", "hipEventDestroy")                                            \
    X(event_record, (void *event, void *stream), "cuEventRecord", "hipEventRecord")                                    \
    X(event_query, (void *event), "cuEventQuery", "hipEventQuery")                                                     \
    X(event_synchronise, (void *event), "cuEventSynchronize", "hipEventSynchronize")                                   \
    X(stream_owner, (void *stream, void *owner), "cuStreamGetCtx", "hipStreamGetDevice")                               \
    X(stream_wait, (void *stream, void *event, unsigned int flags), "cuStreamWaitEvent", "hipStreamWaitEvent")         \
    X(stream_query, (void *stream), "cuStreamQuery", "hipStreamQuery")                                                 \
    X(stream_synchronise, (void *stream), "cuStreamSynchronize", "hipStreamSynchronize")

struct calls {
#define FIELD(name, arguments, cuda, hip) int(*name) arguments;
    CALLS(FIELD)
};

#define CUDA(name, arguments, cuda, hip) cuda,
#define HIP(name, arguments, cuda, hip) hip,

enum { COUNT = sizeof(struct calls) / sizeof(int (*)(void)) };

/* What else the two differ in. */
static const struct column {
    const char *const names[COUNT];
    const char *vendor;
    /* How a version is written, what major and minor are multiplied by in it, and the least that is known to do. */
    int major, minor, least;
    /* The attribute that says whether memory can be mapped; 0: asking for the granularity tells. */
    int mapping_attribute;
    /* Whether a stream's owner is named by its device's number, not by its context. */
    int owner_is_device;
} CUDA_COLUMN = {{CALLS(CUDA)}, "CUDA", 1000, 10, 10020, ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT, 0},
  HIP_COLUMN = {{CALLS(HIP)}, "HIP", 10000000, 100000, 60000000, 0, 1};

#endif /* WEIR_SHIM_CUDA_CALLS_H */
