/* The part of CUDA's interfaces that tests of libweir_cuda.so use, declared as CUDA's headers do, and what they share. */
#ifndef CUDA_CHECK_H
#define CUDA_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    UNLOADING = 4,
    INVALID_DEVICE = 101,
    NOT_READY = 600,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900
};

enum { NON_BLOCKING = 1, INTERPROCESS = 4, RECORD_EXTERNAL = 1 };

enum {
    REUSE_EVENTS = 1,
    REUSE_OPPORTUNISTIC,
    REUSE_INTERNAL,
    THRESHOLD,
    RESERVED_CURRENT,
    RESERVED_HIGH,
    USED_CURRENT,
    USED_HIGH
};

typedef struct stream *stream_t;
typedef struct event *event_t;
typedef struct pool *pool_t;
typedef void *context_t;

#define SHARED_STREAM ((stream_t)1)
#define OWN_STREAM ((stream_t)2)

struct pool_props {
    int type, handle_types;
    struct {
        int type, id;
    } location;
    void *security;
    size_t most;
    unsigned short usage;
    unsigned char reserved[54];
};

struct launch_attribute {
    int id, pad;
    event_t event;
    void *rest[7];
};

struct launch_config {
    unsigned shape[8];
    stream_t stream;
    const struct launch_attribute *attributes;
    unsigned count;
};

struct ipc_handle {
    char bytes[64];
};

int cudaSetDevice(int device);
int cudaDeviceReset(void);
int cudaDeviceSynchronize(void);
int cudaThreadSynchronize(void);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
int cudaStreamCreate(stream_t *stream);
int cudaStreamCreateWithFlags(stream_t *stream, unsigned flags);
int cudaStreamCreateWithPriority(stream_t *stream, unsigned flags, int priority);
int cudaStreamDestroy(stream_t stream);
int cudaStreamWaitEvent(stream_t stream, event_t event, unsigned flags);
int cudaStreamWaitEvent_ptsz(stream_t stream, event_t event, unsigned flags);
int cudaStreamQuery(stream_t stream);
int cudaStreamSynchronize(stream_t stream);
int cudaStreamSynchronize_ptsz(stream_t stream);
int cudaStreamBeginCapture(stream_t stream, int mode);
int cudaStreamEndCapture(stream_t stream, void **graph);
int cudaEventCreate(event_t *event);
int cudaEventCreateWithFlags(event_t *event, unsigned flags);
int cudaEventDestroy(event_t event);
int cudaEventRecord(event_t event, stream_t stream);
int cudaEventRecord_ptsz(event_t event, stream_t stream);
int cudaEventRecordWithFlags(event_t event, stream_t stream, unsigned flags);
int cudaEventQuery(event_t event);
int cudaEventSynchronize(event_t event);
int cudaIpcOpenEventHandle(event_t *event, struct ipc_handle handle);
int cudaGraphAddEventRecordNode(void **node, void *graph, void *const *before, size_t count, event_t event);
int cudaLaunchKernelExC(const struct launch_config *config, const void *function, void **arguments);
int cudaMalloc(void **at, size_t bytes);
int cudaFree(void *at);
int cudaMallocAsync(void **at, size_t bytes, stream_t stream);
int cudaMallocAsync_ptsz(void **at, size_t bytes, stream_t stream);
int cudaMallocFromPoolAsync(void **at, size_t bytes, pool_t pool, stream_t stream);
int cudaFreeAsync(void *at, stream_t stream);
int cudaFreeAsync_ptsz(void *at, stream_t stream);
int cudaMemPoolCreate(pool_t *pool, const struct pool_props *props);
int cudaMemPoolDestroy(pool_t pool);
int cudaMemPoolSetAttribute(pool_t pool, int attribute, void *value);
int cudaMemPoolGetAttribute(pool_t pool, int attribute, void *value);
int cudaMemPoolTrimTo(pool_t pool, size_t keep);
int cudaMemPoolSetAccess(pool_t pool, const void *access, size_t count);
int cudaMemPoolGetAccess(int *flags, pool_t pool, void *location);
int cudaMemPoolExportToShareableHandle(void *handle, pool_t pool, int kind, unsigned flags);
int cudaMemPoolExportPointer(void *data, void *at);
int cudaMemPoolImportPointer(void **at, pool_t pool, void *data);
int cudaDeviceGetDefaultMemPool(pool_t *pool, int device);
int cudaDeviceGetMemPool(pool_t *pool, int device);
int cudaDeviceSetMemPool(int device, pool_t pool);

int cuInit(unsigned flags);
int cuCtxSynchronize(void);
int cuCtxGetCurrent(context_t *context);
int cuCtxSetCurrent(context_t context);
int cuCtxCreate_v2(context_t *context, unsigned flags, int device);
int cuCtxDestroy_v2(context_t context);
int cuDevicePrimaryCtxReset_v2(int device);
int cuStreamCreate(stream_t *stream, unsigned flags);
int cuStreamDestroy_v2(stream_t stream);
int cuStreamWaitEvent(stream_t stream, event_t event, unsigned flags);
int cuStreamSynchronize(stream_t stream);
int cuEventCreate(event_t *event, unsigned flags);
int cuEventDestroy_v2(event_t event);
int cuEventRecord(event_t event, stream_t stream);
int cuEventSynchronize(event_t event);
int cuMemAllocAsync(void **at, size_t bytes, stream_t stream);
int cuMemAllocFromPoolAsync(void **at, size_t bytes, pool_t pool, stream_t stream);
int cuMemFreeAsync(void *at, stream_t stream);
int cuMemFree_v2(void *at);
int cuMemPoolCreate(pool_t *pool, const struct pool_props *props);
int cuMemPoolDestroy(pool_t pool);
int cuMemPoolGetAttribute(pool_t pool, int attribute, void *value);
int cuMemPoolTrimTo(pool_t pool, size_t keep);
int cuDeviceGetDefaultMemPool(pool_t *pool, int device);

static inline void expect(int line, const char *call, int found, int wanted)
{
    if (found != wanted) {
        fprintf(stderr, "line %d: %s returned %d, expected %d\n", line, call, found, wanted);
        exit(1);
    }
}

#define OK(call) expect(__LINE__, #call, (call), 0)
#define IS(code, call) expect(__LINE__, #call, (call), (code))

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition);                                      \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
