/*
 * A stand-in for libascendcl.so: ACL's names on the device of standin.c, with the rules that CANN's documentation
 * states and with its codes. Nothing here was taken from a vendor.
 */
#include "standin.h"

enum {
    SUCCESS = 0,
    UNINITIALIZE = 100001,
    REPEAT_INITIALIZE = 100002,
    PARAM_INVALID = 107000,
    INVALID_DEVICE = 107001,
    CONTEXT_NULL = 107002,
    STREAM_CONTEXT = 107003,
    INVALID_HANDLE = 107017,
    MEMORY_ALLOCATION = 207001,
    NO_EVENT_RESOURCE = 207007,
    NO_STREAM_RESOURCE = 207008,
    STREAM_SYNC_TIMEOUT = 507046
};

struct location {
    uint32_t id;
    int type;
};

struct properties {
    int handle_type, allocation_type, attribute;
    struct location location;
    uint64_t reserve;
};

static int initialized;

static int code(int result)
{
    switch (result) {
    case STANDIN_OK:
        return SUCCESS;
    case STANDIN_NO_DEVICE:
        return INVALID_DEVICE;
    case STANDIN_NO_CONTEXT:
        return CONTEXT_NULL;
    case STANDIN_OTHER_CONTEXT:
        return STREAM_CONTEXT;
    case STANDIN_BAD_HANDLE:
        return INVALID_HANDLE;
    case STANDIN_EXHAUSTED:
        return MEMORY_ALLOCATION;
    default:
        return PARAM_INVALID;
    }
}

/* A function of ACL's, with a body that answers a code. It runs under the lock of the device. */
#define CALL(name, arguments, ...)                                                                                     \
    EXPORT int name arguments;                                                                                         \
    EXPORT int name arguments                                                                                          \
    {                                                                                                                  \
        int failed = standin_begin(#name);                                                                             \
        if (failed != 0) {                                                                                             \
            standin_end();                                                                                             \
            return failed;                                                                                             \
        }                                                                                                              \
        __VA_ARGS__                                                                                                    \
        standin_end();                                                                                                 \
        return result;                                                                                                 \
    }

/* The code of a call that needs a context: 0 where there is one. */
static int context(void)
{
    if (!initialized) {
        return UNINITIALIZE;
    }
    return standin_current() != NULL && standin_current()->uses > 0 ? SUCCESS : CONTEXT_NULL;
}

/* The same, and the stream must be of it. */
static int context_of(struct standin_stream *stream)
{
    int result = context();
    if (result != SUCCESS) {
        return result;
    }
    struct standin_context *owner = standin_owner(stream);
    if (owner == NULL) {
        return INVALID_HANDLE;
    }
    return owner == standin_current() ? SUCCESS : STREAM_CONTEXT;
}

static int asks_for_memory(const struct properties *what)
{
    int kind = standin_wanted_kind() == 0 ? 4 : 2;
    return what != NULL && what->handle_type == 0 && what->allocation_type == 0 && what->attribute == kind &&
           what->location.type == 1 && what->location.id < standin_devices() && what->reserve == 0;
}

CALL(aclrtGetVersion, (int32_t * major, int32_t *minor, int32_t *patch), int result = SUCCESS;
     *major = standin_wanted_version() != 0 ? standin_wanted_version() : 1; *minor = 13; *patch = 0;)

CALL(aclInit, (const char *config), int result = initialized ? REPEAT_INITIALIZE : SUCCESS; (void)config;
     initialized = 1;)

CALL(aclrtGetDeviceCount, (uint32_t * count), int result = initialized ? SUCCESS : UNINITIALIZE;
     *count = standin_devices();)

CALL(aclrtSetDevice, (int32_t device), struct standin_context *found = standin_context((unsigned)device);
     int result = !initialized ? UNINITIALIZE : found == NULL ? INVALID_DEVICE : SUCCESS; if (result == SUCCESS) {
         found->uses++;
         standin_set_current(found);
     })

CALL(aclrtResetDevice, (int32_t device), struct standin_context *found = standin_context((unsigned)device);
     int result = INVALID_DEVICE; if (found == NULL || found->uses == 0) {
         standin_wrong("reset a device that was not set");
     } else {
         found->uses--;
         result = SUCCESS;
     })

CALL(aclrtGetCurrentContext, (void **current), int result = context(); if (result == SUCCESS) {
    *current = standin_current();
})

CALL(aclrtSetCurrentContext, (void *current), int result = current != NULL ? SUCCESS : PARAM_INVALID;
     if (current == NULL) {
         standin_wrong("set no context");
     } else { standin_set_current(current); })

CALL(aclrtSynchronizeDevice, (void), int result = context(); if (result == SUCCESS) {
    result = code(standin_synchronise());
})

CALL(aclrtGetMemInfo, (int attribute, size_t *bytes, size_t *total), int result = context(); *bytes = 0;
     /* One kind of memory alone; not a whole number of granules, as on a real device. */
     *total = attribute == (standin_wanted_kind() == 0) ? standin_total() + standin_granule() / 2 : 0;
     if (attribute == 1 && standin_wanted_kind() == 2) { result = PARAM_INVALID; })

CALL(aclrtMemGetAllocationGranularity, (struct properties * what, int option, size_t *bytes),
     int result = asks_for_memory(what) && (option == 0 || option == 1) ? context() : PARAM_INVALID;
     *bytes = option == 1 ? standin_granule() : standin_granule() / 4;)

CALL(aclrtReserveMemAddress, (void **base, size_t bytes, size_t alignment, void *at, uint64_t flags),
     uint64_t found = 0;
     int result = context(); if (base == NULL || alignment != 0 || at != NULL || flags != 1) {
         result = code(standin_wrong("reserved with an alignment, at an address, or without huge pages"));
     } else if (result == SUCCESS) {
         result = code(standin_reserve(bytes, 0, &found));
         *base = (void *)(uintptr_t)found;
     })

CALL(aclrtReleaseMemAddress, (void *base), int result = context(); if (result == SUCCESS) {
    result = code(standin_release((uintptr_t)base, 0));
})

CALL(aclrtMallocPhysical, (void **handle, size_t bytes, const struct properties *what, uint64_t flags),
     uint64_t found = 0;
     int result = context(); if (handle == NULL || flags != 0 || !asks_for_memory(what)) {
         result = code(standin_wrong("created something else than huge pages of a device"));
     } else if (result == SUCCESS) {
         result = code(standin_create(what->location.id, bytes, &found));
         *handle = (void *)(uintptr_t)found;
     })

CALL(aclrtFreePhysical, (void *handle), int result = context(); if (result == SUCCESS) {
    result = code(standin_destroy((uintptr_t)handle));
})

CALL(aclrtMapMem, (void *at, size_t bytes, size_t offset, void *handle, uint64_t flags), int result = context();
     if (flags != 0) {
         result = code(standin_wrong("mapped with flags"));
     } else if (result == SUCCESS) { result = code(standin_map((uintptr_t)at, bytes, offset, (uintptr_t)handle, 1)); })

CALL(aclrtUnmapMem, (void *at), int result = context(); if (result == SUCCESS) {
    result = code(standin_unmap((uintptr_t)at, 0));
})

CALL(aclrtCreateEventExWithFlag, (struct standin_event * *event, uint32_t flags), int result = context();
     if (flags != 3) {
         result = code(standin_wrong("created an event that cannot be both waited for and asked"));
     } else if (result == SUCCESS) {
         result = standin_event_create(event) == STANDIN_OK ? SUCCESS : NO_EVENT_RESOURCE;
     })

CALL(aclrtDestroyEvent, (struct standin_event * event), int result = context(); if (result == SUCCESS) {
    result = code(standin_event_destroy(event));
})

CALL(aclrtRecordEvent, (struct standin_event * event, struct standin_stream *stream), int result = context_of(stream);
     if (result == SUCCESS) { result = code(standin_record(event, stream)); })

CALL(aclrtQueryEventStatus, (struct standin_event * event, int *status), int result = context();
     if (result == SUCCESS) {
         int answer = standin_event_query(event);
         /* 1 is complete; an event that was never recorded is not. */
         *status = answer == STANDIN_OK && standin_event_was_recorded(event);
         result = answer == STANDIN_PENDING ? SUCCESS : code(answer);
     })

CALL(aclrtSynchronizeEvent, (struct standin_event * event), int result = context(); if (result == SUCCESS) {
    result = code(standin_event_synchronise(event));
})

CALL(aclrtStreamWaitEvent, (struct standin_stream * stream, struct standin_event *event),
     int result = context_of(stream); if (result == SUCCESS) { result = code(standin_wait(stream, event)); })

CALL(aclrtStreamQuery, (struct standin_stream * stream, int *status), int result = context_of(stream);
     if (result == SUCCESS) {
         int answer = standin_stream_query(stream);
         /* 0 is complete. */
         *status = answer == STANDIN_PENDING;
         result = answer == STANDIN_PENDING ? SUCCESS : code(answer);
     })

CALL(aclrtSynchronizeStream, (struct standin_stream * stream), int result = context_of(stream);
     if (result == SUCCESS) { result = code(standin_stream_synchronise(stream)); })

/* ----------------------------------------------------------------- what programs call, and the pools' driver does not */

EXPORT const char *aclGetRecentErrMsg(void);
EXPORT const char *aclGetRecentErrMsg(void)
{
    return "the stand-in has no texts";
}

CALL(aclFinalize, (void), int result = initialized ? SUCCESS : UNINITIALIZE; initialized = 0;)

CALL(aclrtGetDevice, (int32_t * device), int result = context(); if (result == SUCCESS) {
    *device = (int32_t)standin_current()->device;
})

/* Whoever has set it. */
CALL(aclrtResetDeviceForce, (int32_t device), struct standin_context *found = standin_context((unsigned)device);
     int result = found != NULL && found->uses > 0 ? SUCCESS : INVALID_DEVICE; if (result == SUCCESS) {
         standin_context_end(found);
         found->uses = 0;
     })

CALL(aclrtCreateContext, (void **made, int32_t device), struct standin_context *found = standin_foreign((unsigned)device);
     int result = found != NULL ? SUCCESS : INVALID_DEVICE; if (result == SUCCESS) {
         standin_set_current(found);
         *made = found;
     })

CALL(aclrtDestroyContext, (void *context), int result = context != NULL ? SUCCESS : PARAM_INVALID;)

CALL(aclrtCreateStream, (struct standin_stream * *stream), int result = context(); if (result == SUCCESS) {
    result = standin_stream_create(stream) == STANDIN_OK ? SUCCESS : NO_STREAM_RESOURCE;
})

CALL(aclrtCreateStreamWithConfig, (struct standin_stream * *stream, uint32_t priority, uint32_t flag),
     int result = priority < 8 && flag < 0x40 ? context() : PARAM_INVALID; if (result == SUCCESS) {
         result = standin_stream_create(stream) == STANDIN_OK ? SUCCESS : NO_STREAM_RESOURCE;
     })

CALL(aclrtDestroyStream, (struct standin_stream * stream), int result = context_of(stream); if (result == SUCCESS) {
    result = code(standin_stream_destroy(stream));
})

CALL(aclrtDestroyStreamForce, (struct standin_stream * stream), int result = context_of(stream);
     if (result == SUCCESS) { result = code(standin_stream_drop(stream)); })

CALL(aclrtStreamAbort, (struct standin_stream * stream), int result = context_of(stream); if (result == SUCCESS) {
    result = code(standin_stream_abort(stream));
})

CALL(aclrtCreateEvent, (struct standin_event * *event), int result = context(); if (result == SUCCESS) {
    result = standin_event_create(event) == STANDIN_OK ? SUCCESS : NO_EVENT_RESOURCE;
})

CALL(aclrtCreateEventWithFlag, (struct standin_event * *event, uint32_t flag),
     int result = flag < 0x80 ? context() : PARAM_INVALID; if (result == SUCCESS) {
         result = standin_event_create(event) == STANDIN_OK ? SUCCESS : NO_EVENT_RESOURCE;
     })

CALL(aclrtResetEvent, (struct standin_event * event, struct standin_stream *stream), int result = context_of(stream);
     if (result == SUCCESS) { result = code(standin_reset(event, stream)); })

/* One that waits for a while: it gives up at once, and the stream goes on. */
CALL(aclrtStreamWaitEventWithTimeout, (struct standin_stream * stream, struct standin_event *event, int32_t timeout),
     int result = event != NULL && timeout >= 0 ? context_of(stream) : PARAM_INVALID;)

CALL(aclrtSetOpWaitTimeout, (uint32_t timeout), int result = context(); (void)timeout;)

/* Within a time limit of 0 only what is done already is there. */
CALL(aclrtSynchronizeStreamWithTimeout, (struct standin_stream * stream, int32_t timeout),
     int result = context_of(stream); if (result == SUCCESS && timeout == 0) {
         result = standin_stream_query(stream) == STANDIN_OK ? SUCCESS : STREAM_SYNC_TIMEOUT;
     } else if (result == SUCCESS) { result = code(standin_stream_synchronise(stream)); })

CALL(aclrtSynchronizeEventWithTimeout, (struct standin_event * event, int32_t timeout), int result = context();
     if (result == SUCCESS && timeout == 0) {
         result = standin_event_query(event) == STANDIN_OK ? SUCCESS : STREAM_SYNC_TIMEOUT;
     } else if (result == SUCCESS) { result = code(standin_event_synchronise(event)); })

CALL(aclrtSynchronizeDeviceWithTimeout, (int32_t timeout), int result = timeout == 0 ? STREAM_SYNC_TIMEOUT : context();
     if (result == SUCCESS) { result = code(standin_synchronise()); })

CALL(aclrtMalloc, (void **at, size_t bytes, int policy), uint64_t found = 0;
     int result = at != NULL && policy >= 0 ? context() : PARAM_INVALID; if (result == SUCCESS) {
         result = code(standin_malloc(bytes, &found));
         *at = (void *)(uintptr_t)found;
     })

CALL(aclrtFree, (void *at), int result = context(); if (result == SUCCESS) {
    result = code(standin_free((uintptr_t)at));
})

/* A capture of all streams; nothing is queued differently. */
static int capturing;

CALL(aclmdlRICaptureBegin, (struct standin_stream * stream, int mode),
     int result = mode >= 0 && !capturing ? context_of(stream) : PARAM_INVALID; capturing = result == SUCCESS;)

CALL(aclmdlRICaptureEnd, (struct standin_stream * stream, void **model),
     int result = capturing ? context_of(stream) : PARAM_INVALID; *model = NULL; capturing = 0;)

CALL(aclmdlRICaptureGetInfo, (struct standin_stream * stream, int *status, void **model),
     int result = context_of(stream); *status = capturing; *model = NULL;)

/* Pools, on a product that has none: whoever gets here went past libweir_acl.so. */
enum { FEATURE_NOT_SUPPORT = 207000 };

CALL(aclrtMemPoolCreate, (void **pool, const void *what), int result = FEATURE_NOT_SUPPORT; (void)pool; (void)what;)

CALL(aclrtMemPoolDestroy, (void *pool), int result = FEATURE_NOT_SUPPORT; (void)pool;)

CALL(aclrtMemPoolSetAttr, (void *pool, int attr, void *value), int result = FEATURE_NOT_SUPPORT; (void)pool;
     (void)attr; (void)value;)

CALL(aclrtMemPoolGetAttr, (void *pool, int attr, void *value), int result = FEATURE_NOT_SUPPORT; (void)pool;
     (void)attr; (void)value;)

CALL(aclrtMemPoolMallocAsync, (void **at, size_t bytes, void *pool, void *stream), int result = FEATURE_NOT_SUPPORT;
     (void)at; (void)bytes; (void)pool; (void)stream;)

CALL(aclrtMemPoolFreeAsync, (void *at, void *stream), int result = FEATURE_NOT_SUPPORT; (void)at; (void)stream;)

CALL(aclrtMemPoolTrimTo, (void *pool, size_t keep), int result = FEATURE_NOT_SUPPORT; (void)pool; (void)keep;)
