/*
 * The stand-in for libcuda.so.1 with what programs call, and the pools' driver does not: to be compiled instead of
 * standin_cuda.c, which is a part of it.
 */
#include "standin_cuda.c"

#define CUDA(name, arguments, ...) CALL(name, name, arguments, __VA_ARGS__)

CUDA(cuCtxGetDevice, (int *device), int result = has_context() ? SUCCESS : INVALID_CONTEXT; if (result == SUCCESS) {
    *device = (int)standin_current()->device;
})

CUDA(cuCtxCreate_v2, (void **made, unsigned flags, int device),
     struct standin_context *found = flags == 0 ? standin_foreign((unsigned)device) : NULL;
     int result = found != NULL ? SUCCESS : INVALID_VALUE; if (found != NULL) {
         standin_set_current(found);
         *made = found;
     })

CUDA(cuCtxDestroy_v2, (void *context), int result = context != NULL ? SUCCESS : INVALID_CONTEXT;
     if (context != NULL) { standin_context_end(context); })

CUDA(cuDevicePrimaryCtxGetState, (int device, unsigned *flags, int *active),
     struct standin_context *found = standin_context((unsigned)device);
     int result = found != NULL ? SUCCESS : INVALID_DEVICE; *flags = 0; *active = found != NULL && found->uses > 0;)

CUDA(cuDevicePrimaryCtxReset_v2, (int device), struct standin_context *found = standin_context((unsigned)device);
     int result = found != NULL ? SUCCESS : INVALID_DEVICE; if (found != NULL) { standin_context_end(found); })

static int make_stream(struct standin_stream **stream, unsigned flags)
{
    int result = !has_context() ? INVALID_CONTEXT : flags > 1 ? INVALID_VALUE : code(standin_stream_create(stream));
    if (result == SUCCESS && flags == 0) {
        standin_stream_blocks(*stream);
    }
    return result;
}

CUDA(cuStreamCreate, (struct standin_stream * *stream, unsigned flags), int result = make_stream(stream, flags);)

CUDA(cuStreamCreateWithPriority, (struct standin_stream * *stream, unsigned flags, int priority), (void)priority;
     int result = make_stream(stream, flags);)

CUDA(cuStreamDestroy_v2, (struct standin_stream * stream), int result = code(standin_stream_destroy(stream));)

CUDA(cuStreamGetId, (struct standin_stream * stream, unsigned long long *id), *id = standin_stream_id(stream);
     int result = *id != 0 ? SUCCESS : INVALID_HANDLE;)

CUDA(cuStreamIsCapturing, (struct standin_stream * stream, int *status),
     int found = standin_is_captured(stream), result = found < 0 ? INVALID_HANDLE : SUCCESS; *status = found > 0;)

CUDA(cuStreamBeginCapture_v2, (struct standin_stream * stream, int mode),
     int result = mode == 0 ? code(standin_capture(stream, 1)) : INVALID_VALUE;)

CUDA(cuStreamEndCapture, (struct standin_stream * stream, void **graph), *graph = NULL;
     int result = code(standin_capture(stream, 0));)

struct ipc_handle {
    char bytes[64];
};

CUDA(cuIpcOpenEventHandle, (struct standin_event * *event, struct ipc_handle handle), (void)handle;
     int result = code(standin_event_create(event));)

CUDA(cuEventRecordWithFlags, (struct standin_event * event, struct standin_stream *stream, unsigned flags),
     int result = flags > 1 ? INVALID_VALUE : code(standin_record(event, stream));)

CUDA(cuGraphAddEventRecordNode, (void **node, void *graph, const void *before, size_t count, void *event), (void)graph;
     (void)before; (void)count; int result = event != NULL ? SUCCESS : INVALID_VALUE; *node = event;)

struct launch {
    unsigned shape[8];
    struct standin_stream *stream;
    const struct {
        int id, pad;
        struct standin_event *event;
        void *rest[7];
    } *attributes;
    unsigned count;
};

/* The kernel does nothing, but for the events that its attributes name. */
CUDA(cuLaunchKernelEx, (const struct launch *config, void *function, void **arguments, void **extra), (void)function;
     (void)arguments; (void)extra; int result = SUCCESS; for (unsigned i = 0; i < config->count; i++) {
         if (config->attributes[i].id == 7 || config->attributes[i].id == 12) {
             result = code(standin_record(config->attributes[i].event, config->stream));
         }
     })

CUDA(cuMemAlloc_v2, (address * at, size_t bytes), uint64_t found = 0;
     int result = ALLOWED != SUCCESS ? 900
                  : !has_context()   ? INVALID_CONTEXT
                                     : code(standin_malloc(bytes, &found));
     *at = found;)

CUDA(cuMemFree_v2, (address at), int result = at == 0 ? SUCCESS : code(standin_synchronise());
     if (at != 0 && result == SUCCESS) { result = code(standin_free(at)); })

/* The vendor's own pools: no more than that each call gets what it needs. */
static int default_pools[4], other_pool;

static int is_pool(const void *pool)
{
    int known = pool == &other_pool;
    for (unsigned i = 0; i < standin_devices(); i++) {
        known |= pool == &default_pools[i];
    }
    if (!known) {
        standin_wrong("the vendor was given a pool that is none of its own");
    }
    return known;
}

CUDA(cuMemAllocAsync, (address * at, size_t bytes, struct standin_stream *stream), uint64_t found = 0;
     int result = standin_owner(stream) == NULL ? INVALID_HANDLE : code(standin_malloc(bytes, &found)); *at = found;)

CUDA(cuMemAllocFromPoolAsync, (address * at, size_t bytes, void *pool, struct standin_stream *stream),
     uint64_t found = 0;
     int result = !is_pool(pool) || standin_owner(stream) == NULL ? INVALID_VALUE : code(standin_malloc(bytes, &found));
     *at = found;)

CUDA(cuMemFreeAsync, (address at, struct standin_stream *stream),
     int result = standin_is_captured(stream) > 0 ? SUCCESS : code(standin_stream_synchronise(stream));
     if (result == SUCCESS) { result = code(standin_free(at)); })

CUDA(cuMemPoolCreate, (void **pool, const void *what), int result = what != NULL ? SUCCESS : INVALID_VALUE;
     *pool = &other_pool;)

CUDA(cuMemPoolDestroy, (void *pool), int result = is_pool(pool) ? SUCCESS : INVALID_VALUE;)

CUDA(cuMemPoolSetAttribute, (void *pool, int attribute, void *value), (void)attribute; (void)value;
     int result = is_pool(pool) ? SUCCESS : INVALID_VALUE;)

CUDA(cuMemPoolGetAttribute, (void *pool, int attribute, void *value), (void)attribute; (void)value;
     int result = is_pool(pool) ? SUCCESS : INVALID_VALUE;)

CUDA(cuMemPoolTrimTo, (void *pool, size_t keep), (void)keep; int result = is_pool(pool) ? SUCCESS : INVALID_VALUE;)

CUDA(cuMemPoolSetAccess, (void *pool, const void *access, size_t count), (void)access; (void)count;
     int result = is_pool(pool) ? SUCCESS : INVALID_VALUE;)

CUDA(cuMemPoolGetAccess, (int *flags, void *pool, void *location), (void)location; *flags = 3;
     int result = is_pool(pool) ? SUCCESS : INVALID_VALUE;)

CUDA(cuMemPoolExportToShareableHandle, (void *handle, void *pool, int kind, unsigned long long flags), (void)handle;
     (void)kind; (void)flags; int result = is_pool(pool) ? SUCCESS : INVALID_VALUE;)

CUDA(cuMemPoolExportPointer, (void *data, address at), (void)data; (void)at; int result = SUCCESS;)

CUDA(cuMemPoolImportPointer, (address * at, void *pool, void *data), (void)data; *at = 0;
     int result = is_pool(pool) ? SUCCESS : INVALID_VALUE;)

static void *current_pool = &default_pools[0];

CUDA(cuDeviceGetDefaultMemPool, (void **pool, int device), *pool = &default_pools[device]; int result = SUCCESS;)

CUDA(cuDeviceGetMemPool, (void **pool, int device), (void)device; *pool = current_pool; int result = SUCCESS;)

CUDA(cuDeviceSetMemPool, (int device, void *pool), (void)device; int result = is_pool(pool) ? SUCCESS : INVALID_VALUE;
     current_pool = pool;)

/* The same with a default stream of each thread's own. */
#define OWN(stream) ((stream) == NULL ? (struct standin_stream *)2 : (stream))

CUDA(cuStreamWaitEvent_ptsz, (struct standin_stream * stream, struct standin_event *event, unsigned flags),
     int result = flags == 0 ? code(standin_wait(OWN(stream), event)) : INVALID_VALUE;)

CUDA(cuEventRecord_ptsz, (struct standin_event * event, struct standin_stream *stream),
     int result = code(standin_record(event, OWN(stream)));)

CUDA(cuStreamQuery_ptsz, (struct standin_stream * stream), int result = code(standin_stream_query(OWN(stream)));)

CUDA(cuStreamSynchronize_ptsz, (struct standin_stream * stream),
     int result = code(standin_stream_synchronise(OWN(stream)));)
