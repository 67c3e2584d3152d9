/*
 * A stand-in for libcudart.so: the runtime's names, each of which gives the thread its device's primary context and
 * calls the driver by an address that it asked for, as the vendor's does. Nothing here was taken from a vendor.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* The name of an error that every runtime has in it. */
EXPORT const char *cudaGetErrorName(int error);
EXPORT const char *cudaGetErrorName(int error)
{
    static const char unloading[] = "cudaErrorCudartUnloading";
    return error == 4 ? unloading : "cudaErrorUnknown";
}

static __thread int device, latest;
static void *contexts[4];

/* One of the driver's functions; they take what the runtime's do. */
static int (*driver(const char *name))()
{
    int (*function)() = NULL;
    *(void **)&function = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
    return function;
}

static int kept(int code)
{
    latest = code != 0 && code != 600 ? code : latest;
    return code;
}

/* Makes the device's context the thread's, where the thread has none of it. */
static int bind(void)
{
    void *current = NULL;
    int found = -1, result = driver("cuInit")(0);
    if (result == 0) {
        result = driver("cuCtxGetCurrent")(&current);
    }
    if (result == 0 && current != NULL) {
        driver("cuCtxGetDevice")(&found);
    }
    if (result != 0 || found == device) {
        return result;
    }
    if (contexts[device] == NULL) {
        result = driver("cuDevicePrimaryCtxRetain")(&contexts[device], device);
    }
    return result != 0 ? result : driver("cuCtxSetCurrent")(contexts[device]);
}

#define CALLS(name, to, types, ...)                                                                                    \
    EXPORT int name types;                                                                                             \
    EXPORT int name types                                                                                              \
    {                                                                                                                  \
        int result = bind();                                                                                           \
        return kept(result != 0 ? result : driver(to)(__VA_ARGS__));                                                   \
    }

EXPORT int cudaSetDevice(int number);
EXPORT int cudaSetDevice(int number)
{
    if (number < 0 || number > 1) {
        return kept(101);
    }
    device = number;
    return 0;
}

EXPORT int cudaGetDevice(int *number);
EXPORT int cudaGetDevice(int *number)
{
    *number = device;
    return 0;
}

EXPORT int cudaRuntimeGetVersion(int *version);
EXPORT int cudaRuntimeGetVersion(int *version)
{
    *version = 12080;
    return 0;
}

EXPORT int cudaGetLastError(void);
EXPORT int cudaGetLastError(void)
{
    int code = latest;
    latest = 0;
    return code;
}

EXPORT int cudaPeekAtLastError(void);
EXPORT int cudaPeekAtLastError(void)
{
    return latest;
}

EXPORT int cudaDeviceReset(void);
EXPORT int cudaDeviceReset(void)
{
    int result = bind();
    if (result == 0) {
        result = driver("cuDevicePrimaryCtxReset_v2")(device);
        driver("cuDevicePrimaryCtxRelease_v2")(device);
        driver("cuCtxSetCurrent")(NULL);
        contexts[device] = NULL;
    }
    return kept(result);
}

CALLS(cudaDeviceSynchronize, "cuCtxSynchronize", (void), )
CALLS(cudaThreadSynchronize, "cuCtxSynchronize", (void), )
CALLS(cudaStreamCreate, "cuStreamCreate", (void **stream), stream, 0)
CALLS(cudaStreamCreateWithFlags, "cuStreamCreate", (void **stream, unsigned flags), stream, flags)
CALLS(cudaStreamCreateWithPriority, "cuStreamCreateWithPriority", (void **stream, unsigned flags, int priority), stream,
      flags, priority)
CALLS(cudaStreamDestroy, "cuStreamDestroy_v2", (void *stream), stream)
CALLS(cudaStreamWaitEvent, "cuStreamWaitEvent", (void *stream, void *event, unsigned flags), stream, event, flags)
CALLS(cudaStreamWaitEvent_ptsz, "cuStreamWaitEvent_ptsz", (void *stream, void *event, unsigned flags), stream, event,
      flags)
CALLS(cudaStreamQuery, "cuStreamQuery", (void *stream), stream)
CALLS(cudaStreamQuery_ptsz, "cuStreamQuery_ptsz", (void *stream), stream)
CALLS(cudaStreamSynchronize, "cuStreamSynchronize", (void *stream), stream)
CALLS(cudaStreamSynchronize_ptsz, "cuStreamSynchronize_ptsz", (void *stream), stream)
CALLS(cudaStreamBeginCapture, "cuStreamBeginCapture_v2", (void *stream, int mode), stream, mode)
CALLS(cudaStreamEndCapture, "cuStreamEndCapture", (void *stream, void **graph), stream, graph)
CALLS(cudaEventCreate, "cuEventCreate", (void **event), event, 0)
CALLS(cudaEventCreateWithFlags, "cuEventCreate", (void **event, unsigned flags), event, flags)
CALLS(cudaEventDestroy, "cuEventDestroy_v2", (void *event), event)
CALLS(cudaEventRecord, "cuEventRecord", (void *event, void *stream), event, stream)
CALLS(cudaEventRecord_ptsz, "cuEventRecord_ptsz", (void *event, void *stream), event, stream)
CALLS(cudaEventRecordWithFlags, "cuEventRecordWithFlags", (void *event, void *stream, unsigned flags), event, stream,
      flags)
CALLS(cudaEventQuery, "cuEventQuery", (void *event), event)
CALLS(cudaEventSynchronize, "cuEventSynchronize", (void *event), event)
CALLS(cudaGraphAddEventRecordNode, "cuGraphAddEventRecordNode",
      (void **node, void *graph, const void *before, size_t count, void *event), node, graph, before, count, event)
CALLS(cudaLaunchKernelExC, "cuLaunchKernelEx", (const void *config, void *function, void **arguments), config, function,
      arguments, NULL)
CALLS(cudaMalloc, "cuMemAlloc_v2", (void **at, size_t bytes), at, bytes)
CALLS(cudaFree, "cuMemFree_v2", (void *at), at)
CALLS(cudaMallocAsync, "cuMemAllocAsync", (void **at, size_t bytes, void *stream), at, bytes, stream)
CALLS(cudaMallocFromPoolAsync, "cuMemAllocFromPoolAsync", (void **at, size_t bytes, void *pool, void *stream), at, bytes,
      pool, stream)
CALLS(cudaFreeAsync, "cuMemFreeAsync", (void *at, void *stream), at, stream)
CALLS(cudaMallocAsync_ptsz, "cuMemAllocAsync", (void **at, size_t bytes, void *stream), at, bytes,
      stream != NULL ? stream : (void *)2)
CALLS(cudaFreeAsync_ptsz, "cuMemFreeAsync", (void *at, void *stream), at, stream != NULL ? stream : (void *)2)
CALLS(cudaMemPoolCreate, "cuMemPoolCreate", (void **pool, const void *what), pool, what)
CALLS(cudaMemPoolDestroy, "cuMemPoolDestroy", (void *pool), pool)
CALLS(cudaMemPoolSetAttribute, "cuMemPoolSetAttribute", (void *pool, int attribute, void *value), pool, attribute, value)
CALLS(cudaMemPoolGetAttribute, "cuMemPoolGetAttribute", (void *pool, int attribute, void *value), pool, attribute, value)
CALLS(cudaMemPoolTrimTo, "cuMemPoolTrimTo", (void *pool, size_t keep), pool, keep)
CALLS(cudaMemPoolSetAccess, "cuMemPoolSetAccess", (void *pool, const void *access, size_t count), pool, access, count)
CALLS(cudaMemPoolGetAccess, "cuMemPoolGetAccess", (int *flags, void *pool, void *location), flags, pool, location)
CALLS(cudaMemPoolExportToShareableHandle, "cuMemPoolExportToShareableHandle",
      (void *handle, void *pool, int kind, unsigned flags), handle, pool, kind, (unsigned long long)flags)
CALLS(cudaMemPoolExportPointer, "cuMemPoolExportPointer", (void *data, void *at), data, at)
CALLS(cudaMemPoolImportPointer, "cuMemPoolImportPointer", (void **at, void *pool, void *data), at, pool, data)
CALLS(cudaDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", (void **pool, int number), pool, number)
CALLS(cudaDeviceGetMemPool, "cuDeviceGetMemPool", (void **pool, int number), pool, number)
CALLS(cudaDeviceSetMemPool, "cuDeviceSetMemPool", (int number, void *pool), number, pool)

/* The handle goes by value. */
struct handle {
    char bytes[64];
};

EXPORT int cudaIpcOpenEventHandle(void **event, struct handle handle);
EXPORT int cudaIpcOpenEventHandle(void **event, struct handle handle)
{
    int (*open)(void **, struct handle) = (int (*)(void **, struct handle))driver("cuIpcOpenEventHandle");
    int result = bind();
    return kept(result != 0 ? result : open(event, handle));
}
