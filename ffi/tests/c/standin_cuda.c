/*
 * A stand-in for libcuda.so.1, and with STANDIN_HIP for libamdhip64.so: the vendor's names on the device of standin.c,
 * with the rules that the vendor's documentation states and with its codes. Nothing here was taken from a vendor.
 */
#include "standin.h"

#ifdef STANDIN_HIP
#define NAME(cuda, hip) hip
/* 6.1, as HIP writes it. */
#define VERSION 60100000
/* HIP declares addresses and handles as pointers. */
typedef void *address;
typedef void *allocation_handle;
#else
#define NAME(cuda, hip) cuda
#define VERSION 12080
typedef unsigned long long address;
typedef unsigned long long allocation_handle;
#endif

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_READY = 600
};

struct location {
    int type, id;
};

struct properties {
    int type, handle_types;
    struct location location;
    void *handle_data;
    unsigned char flags[8];
};

struct access {
    struct location location;
    int flags;
};

static int initialized;

static int code(int result)
{
    switch (result) {
    case STANDIN_OK:
        return SUCCESS;
    case STANDIN_PENDING:
        return NOT_READY;
    case STANDIN_NO_DEVICE:
        return INVALID_DEVICE;
    case STANDIN_NO_CONTEXT:
        return INVALID_CONTEXT;
    case STANDIN_OTHER_CONTEXT:
    case STANDIN_BAD_HANDLE:
        return INVALID_HANDLE;
    case STANDIN_EXHAUSTED:
        return OUT_OF_MEMORY;
    default:
        return INVALID_VALUE;
    }
}

#define TEXT(name) #name
#define TEXT_OF(name) TEXT(name)
/* A function of the vendor's, with a body that answers a code. It runs under the lock of the device. */
#define CALL(cuda, hip, arguments, ...)                                                                                \
    EXPORT int NAME(cuda, hip) arguments;                                                                              \
    EXPORT int NAME(cuda, hip) arguments                                                                               \
    {                                                                                                                  \
        int failed = standin_begin(TEXT_OF(NAME(cuda, hip)));                                                          \
        if (failed != 0) {                                                                                             \
            standin_end();                                                                                             \
            return failed;                                                                                             \
        }                                                                                                              \
        __VA_ARGS__                                                                                                    \
        standin_end();                                                                                                 \
        return result;                                                                                                 \
    }

/* CUDA calls on a thread without a context that need one are wrong; HIP always has one. */
static int has_context(void)
{
    return standin_current() != NULL && standin_current()->uses > 0;
}

static int asks_for_memory(const struct properties *what)
{
    return what != NULL && what->type == 1 && what->handle_types == 0 && what->location.type == 1 &&
           what->location.id >= 0 && (unsigned)what->location.id < standin_devices();
}

#ifdef STANDIN_HIP
#define ALLOWED SUCCESS
#else
/* How the thread takes captures of other streams: 0 and 1 forbid calls that CUDA calls unsafe, 2 does not. */
static __thread int capture_mode;

/* The code of a call that may end a capture: 0 where it does not. */
static int allowed(const char *name)
{
    if (standin_captures() == 0 || capture_mode == 2) {
        return SUCCESS;
    }
    standin_wrong("%s during a capture", name);
    return 900;
}
#define ALLOWED allowed(__func__)
#endif

CALL(cuDriverGetVersion, hipRuntimeGetVersion, (int *version), int result = SUCCESS;
     *version = standin_wanted_version() != 0 ? standin_wanted_version() : VERSION;)

CALL(cuInit, hipInit, (unsigned flags), int result = flags == 0 ? SUCCESS : INVALID_VALUE; initialized = 1;)

CALL(cuDeviceGetCount, hipGetDeviceCount, (int *count), int result = initialized ? SUCCESS : NOT_INITIALIZED;
     *count = (int)standin_devices();)

CALL(cuDeviceGet, hipDeviceGet, (int *device, int ordinal),
     int result = ordinal >= 0 && (unsigned)ordinal < standin_devices() ? SUCCESS : INVALID_DEVICE; *device = ordinal;)

CALL(cuDeviceGetAttribute, hipDeviceGetAttribute, (int *value, int attribute, int device),
     /* Whether memory can be mapped, and whether there are pools. */
     int is_known = attribute == 102 || attribute == 115;
     int result = is_known && standin_context((unsigned)device) != NULL ? SUCCESS : INVALID_VALUE;
     *value = standin_wanted_kind() == 0;)

CALL(cuDeviceTotalMem_v2, hipDeviceTotalMem, (size_t * bytes, int device),
     int result = standin_context((unsigned)device) != NULL ? SUCCESS : INVALID_DEVICE;
     /* Not a whole number of granules, as on a real device. */
     *bytes = standin_total() + standin_granule() / 2;)

CALL(cuDevicePrimaryCtxRetain, hipDevicePrimaryCtxRetain, (void **context, int device),
     struct standin_context *found = standin_context((unsigned)device);
     int result = found != NULL ? SUCCESS : INVALID_DEVICE; if (found != NULL) {
         found->uses++;
         *context = found;
     })

CALL(cuDevicePrimaryCtxRelease_v2, hipDevicePrimaryCtxRelease, (int device),
     struct standin_context *found = standin_context((unsigned)device); int result = SUCCESS;
     if (found == NULL || found->uses == 0) {
         standin_wrong("released a primary context that was not retained");
         result = INVALID_CONTEXT;
     } else { found->uses--; })

CALL(cuCtxGetCurrent, hipCtxGetCurrent, (void **context), int result = SUCCESS; *context = standin_current();)

CALL(cuCtxSetCurrent, hipCtxSetCurrent, (void *context), int result = SUCCESS; standin_set_current(context);)

CALL(cuCtxSynchronize, hipDeviceSynchronize, (void),
     int result = has_context() ? code(standin_synchronise()) : INVALID_CONTEXT;)

CALL(cuMemGetAllocationGranularity, hipMemGetAllocationGranularity,
     (size_t * bytes, const struct properties *what, int option),
     int result = asks_for_memory(what) && (option == 0 || option == 1) ? SUCCESS : INVALID_VALUE;
     /* The least that can be mapped may be less than what is recommended. */
     *bytes = option == 1 ? standin_granule() : standin_granule() / 4;)

CALL(cuMemAddressReserve, hipMemAddressReserve,
     (address * base, size_t bytes, size_t alignment, address at, unsigned long long flags), uint64_t found = 0;
     int result = INVALID_VALUE; if (base == NULL || at != 0 || flags != 0) {
         standin_wrong("reserved with flags, or at an address");
     } else {
         result = code(standin_reserve(bytes, alignment, &found));
         *base = (address)found;
     })

CALL(cuMemAddressFree, hipMemAddressFree, (address base, size_t bytes),
     int result = bytes == 0 ? code(standin_wrong("released no bytes")) : code(standin_release((uint64_t)base, bytes));)

CALL(cuMemCreate, hipMemCreate,
     (allocation_handle * handle, size_t bytes, const struct properties *what, unsigned long long flags),
     uint64_t found = 0;
     int result = ALLOWED; if (handle == NULL || flags != 0 || !asks_for_memory(what)) {
         result = code(standin_wrong("created something else than pinned memory of a device"));
     } else if (result == SUCCESS) {
         result = code(standin_create((unsigned)what->location.id, bytes, &found));
         *handle = (allocation_handle)found;
     })

CALL(cuMemRelease, hipMemRelease, (allocation_handle handle), int result = code(standin_destroy((uint64_t)handle));)

CALL(cuMemMap, hipMemMap,
     (address at, size_t bytes, size_t offset, allocation_handle handle, unsigned long long flags),
     int result = flags != 0 ? code(standin_wrong("mapped with flags"))
                             : code(standin_map((uint64_t)at, bytes, offset, (uint64_t)handle, 0));)

CALL(cuMemSetAccess, hipMemSetAccess, (address at, size_t bytes, const struct access *access, size_t count),
     int result = INVALID_VALUE; if (access == NULL || count != 1 || access->location.type != 1 || access->flags != 3) {
         standin_wrong("gave something else than the right to read and write to a device");
     } else { result = code(standin_access((uint64_t)at, bytes, (unsigned)access->location.id)); })

CALL(cuMemUnmap, hipMemUnmap, (address at, size_t bytes),
     int result = ALLOWED; if (result == SUCCESS) {
         result = bytes == 0 ? code(standin_wrong("unmapped no bytes")) : code(standin_unmap((uint64_t)at, bytes));
     })

CALL(cuEventCreate, hipEventCreateWithFlags, (struct standin_event **event, unsigned flags),
     int result = !has_context() ? INVALID_CONTEXT
                  : flags > 7    ? INVALID_VALUE
                                 : code(standin_event_create(event));)

CALL(cuEventDestroy_v2, hipEventDestroy, (struct standin_event * event),
     int result = code(standin_event_destroy(event));)

CALL(cuEventRecord, hipEventRecord, (struct standin_event * event, struct standin_stream *stream),
     int result = code(standin_record(event, stream));)

CALL(cuEventQuery, hipEventQuery, (struct standin_event * event),
     int result = ALLOWED != SUCCESS ? 900 : code(standin_event_query(event));)

CALL(cuEventSynchronize, hipEventSynchronize, (struct standin_event * event),
     int result = code(standin_event_synchronise(event));)

#ifdef STANDIN_HIP
CALL(cuStreamGetDevice, hipStreamGetDevice, (struct standin_stream * stream, int *device),
     struct standin_context *owner = standin_owner(stream); int result = owner != NULL ? SUCCESS : INVALID_HANDLE;
     if (owner != NULL) { *device = (int)owner->device; })
#else
CALL(cuStreamGetCtx, hipStreamGetCtx, (struct standin_stream * stream, void **context),
     struct standin_context *owner = standin_owner(stream); int result = owner != NULL ? SUCCESS : INVALID_HANDLE;
     if (owner != NULL) { *context = owner; })
#endif

CALL(cuStreamWaitEvent, hipStreamWaitEvent,
     (struct standin_stream * stream, struct standin_event *event, unsigned flags),
     int result = flags == 0 ? code(standin_wait(stream, event)) : INVALID_VALUE;)

CALL(cuStreamQuery, hipStreamQuery, (struct standin_stream * stream), int result = code(standin_stream_query(stream));)

CALL(cuStreamSynchronize, hipStreamSynchronize, (struct standin_stream * stream),
     int result = code(standin_stream_synchronise(stream));)

#ifndef STANDIN_HIP
CALL(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (int *mode), int before = capture_mode;
     int result = SUCCESS; capture_mode = *mode; *mode = before;)
#endif
