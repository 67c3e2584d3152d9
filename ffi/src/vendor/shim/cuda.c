/*
 * CUDA's driver interface, and HIP's, as a driver of weir's. The two differ in names, not in shape: `enum` values and
 * struct layouts are the same, and device addresses and handles, which CUDA declares as numbers and HIP as pointers,
 * are passed alike where pointers have 64 bits. So there is one table of calls with two columns of names.
 *
 * Threads: both vendors allow any call on any thread at any time. What a call is about is the thread's current context,
 * so each function makes the device's retained primary context current and puts back what was. It is set rather than
 * pushed: HIP's pop leaves the pushed device behind, and where the thread is there already, nothing needs to be done.
 *
 * Memory is shared by all contexts of a device, but a stream has one, and cuCtxSynchronize waits for one only. That is
 * why streams of other contexts are refused: weir takes a device's synchronisation to cover all of its streams.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include "common.h"
#include "cuda_calls.h"

#include <stdio.h>
#include <stdlib.h>

/* A mapping without access that could not be undone: gone as soon as an unmap succeeds. */
struct leftover {
    struct leftover *next;
    uint64_t at, bytes, granule;
};

struct cuda {
    struct shim shim;
    struct calls calls;
    const struct column *column;
    pthread_mutex_t lock;
    struct leftover *leftovers;
    /* Per device: its handle and its granularity. */
    struct {
        int handle;
        size_t granule;
    } devices[];
};

static struct allocation pinned_on(const struct cuda *cuda, uint32_t device)
{
    return (struct allocation){.type = TYPE_PINNED, .location = {LOCATION_DEVICE, cuda->devices[device].handle}};
}

static int open_device(struct shim *shim, uint32_t device, void **context)
{
    struct cuda *cuda = (struct cuda *)shim;
    int handle = 0, maps = 1, result = cuda->calls.device_get(&handle, (int)device);
    if (result == 0 && cuda->column->mapping_attribute != 0) {
        result = cuda->calls.device_attribute(&maps, cuda->column->mapping_attribute, handle);
    }
    if (result != 0 || !maps) {
        return result != 0 ? result : SHIM_CODE_LACKS_MAPPING;
    }
    cuda->devices[device].handle = handle;
    struct allocation what = pinned_on(cuda, device);
    result = cuda->calls.granularity(&cuda->devices[device].granule, &what, GRANULARITY_RECOMMENDED);
    return result != 0 ? result : cuda->calls.retain(context, handle);
}

static void close_device(struct shim *shim, uint32_t device)
{
    struct cuda *cuda = (struct cuda *)shim;
    (void)cuda->calls.release(cuda->devices[device].handle);
}

static int device_of(struct shim *shim, void *stream, uint32_t *device)
{
    struct cuda *cuda = (struct cuda *)shim;
    union {
        void *context;
        int device;
    } owner = {NULL};
    int result = cuda->calls.stream_owner(stream, &owner);
    for (uint32_t i = 0; result == 0 && i < shim->devices; i++) {
        void *context = shim_context(shim, i);
        int same = cuda->column->owner_is_device ? owner.device == cuda->devices[i].handle : owner.context == context;
        if (context != NULL && same) {
            *device = i;
            return 0;
        }
    }
    return result != 0 ? result : SHIM_CODE_OTHER_CONTEXT;
}

/* An answer of CUDA's: success is completion. */
static int completion(int result, int *complete)
{
    *complete = result == 0;
    return result == ERROR_NOT_READY ? 0 : result;
}

static int query_stream(struct shim *shim, void *stream, int *complete)
{
    return completion(((struct cuda *)shim)->calls.stream_query(stream), complete);
}

static int query_event(struct shim *shim, void *event, int *complete)
{
    return completion(((struct cuda *)shim)->calls.event_query(event), complete);
}

static int wait_event(struct shim *shim, void *stream, void *event)
{
    return ((struct cuda *)shim)->calls.stream_wait(stream, event, 0);
}

static int status(int code)
{
    switch (code) {
    case ERROR_OUT_OF_MEMORY:
        return WEIR_DRIVER_EXHAUSTED;
    case ERROR_NOT_SUPPORTED:
        return WEIR_DRIVER_UNSUPPORTED;
    default:
        return WEIR_DRIVER_FAILED;
    }
}

static int describe(struct shim *shim, uint32_t device, uint64_t *granule, uint64_t *total)
{
    struct cuda *cuda = (struct cuda *)shim;
    size_t bytes = 0;
    int result = cuda->calls.device_total(&bytes, cuda->devices[device].handle);
    *granule = cuda->devices[device].granule;
    *total = bytes;
    return result;
}

static int reserve(struct shim *shim, uint32_t device, uint64_t bytes, uint64_t *base)
{
    struct cuda *cuda = (struct cuda *)shim;
    return cuda->calls.reserve(base, bytes, cuda->devices[device].granule, 0, 0);
}

/* Unmaps what is left over in these addresses, or of this granule (0: of none). */
static int clear_leftovers(struct cuda *cuda, uint64_t at, uint64_t bytes, uint64_t granule)
{
    int result = 0;
    pthread_mutex_lock(&cuda->lock);
    struct leftover **place = &cuda->leftovers;
    while (result == 0 && *place != NULL) {
        struct leftover *left = *place;
        if (left->at - at >= bytes && (granule == 0 || left->granule != granule)) {
            place = &left->next;
            continue;
        }
        result = cuda->calls.unmap(left->at, left->bytes);
        if (result == 0) {
            *place = left->next;
            free(left);
        }
    }
    pthread_mutex_unlock(&cuda->lock);
    return result;
}

static int release(struct shim *shim, uint32_t device, uint64_t base, uint64_t bytes)
{
    struct cuda *cuda = (struct cuda *)shim;
    (void)device;
    int result = clear_leftovers(cuda, base, bytes, 0);
    return result != 0 ? result : cuda->calls.address_free(base, bytes);
}

static int create(struct shim *shim, uint32_t device, uint64_t *granule)
{
    struct cuda *cuda = (struct cuda *)shim;
    struct allocation what = pinned_on(cuda, device);
    return cuda->calls.create(granule, cuda->devices[device].granule, &what, 0);
}

static int destroy(struct shim *shim, uint32_t device, uint64_t granule)
{
    struct cuda *cuda = (struct cuda *)shim;
    (void)device;
    int result = clear_leftovers(cuda, 0, 0, granule);
    return result != 0 ? result : cuda->calls.destroy(granule);
}

/* Maps, and lets the device read and write, which a mapping alone does not; both or neither. */
static int map(struct shim *shim, uint32_t device, uint64_t at, uint64_t granule)
{
    struct cuda *cuda = (struct cuda *)shim;
    size_t bytes = cuda->devices[device].granule;
    struct access access = {{LOCATION_DEVICE, cuda->devices[device].handle}, ACCESS_READ_WRITE};
    int result = clear_leftovers(cuda, at, bytes, granule);
    /* Taken before it is needed, so that nothing is left to fail but the vendor. */
    struct leftover *left = result == 0 ? malloc(sizeof *left) : NULL;
    if (left == NULL) {
        return result != 0 ? result : SHIM_CODE_NO_MEMORY;
    }
    result = cuda->calls.map(at, bytes, 0, granule, 0);
    if (result == 0) {
        result = cuda->calls.set_access(at, bytes, &access, 1);
        if (result != 0 && cuda->calls.unmap(at, bytes) != 0) {
            pthread_mutex_lock(&cuda->lock);
            *left = (struct leftover){cuda->leftovers, at, bytes, granule};
            cuda->leftovers = left;
            pthread_mutex_unlock(&cuda->lock);
            return result;
        }
    }
    free(left);
    return result;
}

static int unmap(struct shim *shim, uint32_t device, uint64_t at)
{
    struct cuda *cuda = (struct cuda *)shim;
    return cuda->calls.unmap(at, cuda->devices[device].granule);
}

static void end(struct shim *shim)
{
    struct cuda *cuda = (struct cuda *)shim;
    while (cuda->leftovers != NULL) {
        struct leftover *left = cuda->leftovers;
        cuda->leftovers = left->next;
        free(left);
    }
    pthread_mutex_destroy(&cuda->lock);
}

/* Checks the version, and begins. */
static int begin(const struct calls *calls, const struct column *column, int *devices, char *text, size_t size)
{
    int found = 0, result = calls->version(&found);
    if (result == 0 && found < column->least) {
        snprintf(text, size, "the %s driver is version %d.%d, and at least %d.%d is needed", column->vendor,
                 found / column->major, found % column->major / column->minor, column->least / column->major,
                 column->least % column->major / column->minor);
        return SHIM_WRONG_VERSION;
    }
    result = result != 0 ? result : calls->init(0);
    result = result != 0 ? result : calls->device_count(devices);
    if (result != 0) {
        snprintf(text, size, "the %s driver refused to begin, with code %d", column->vendor, result);
        return SHIM_REFUSED;
    }
    return SHIM_OPENED;
}

static int open_column(const struct column *column, const char *library, struct weir_driver_ops *ops, char *text,
                       size_t size)
{
    struct calls calls;
    int devices = 0;
    int opened = shim_load(library, column->names, COUNT, &calls, text, size);
    opened = opened != SHIM_OPENED ? opened : begin(&calls, column, &devices, text, size);
    if (opened != SHIM_OPENED) {
        return opened;
    }
    uint32_t count = devices > 0 ? (uint32_t)devices : 0;
    struct cuda *cuda = calloc(1, sizeof *cuda + count * sizeof cuda->devices[0]);
    if (cuda == NULL) {
        return SHIM_NO_MEMORY;
    }
    cuda->calls = calls;
    cuda->column = column;
    cuda->shim.vendor = (struct shim_vendor){
        .open_device = open_device,
        .close_device = close_device,
        .end = end,
        .device_of = device_of,
        .query_stream = query_stream,
        .query_event = query_event,
        .wait_event = wait_event,
        .status = status,
        .describe = describe,
        .reserve = reserve,
        .release = release,
        .create = create,
        .destroy = destroy,
        .map = map,
        .unmap = unmap,
        .get_current = calls.get_current,
        .set_current = calls.set_current,
        .can_unset = 1,
        .create_event = calls.event_create,
        .event_flags = EVENT_DISABLE_TIMING,
        .destroy_event = calls.event_destroy,
        .record_event = calls.event_record,
        .synchronise_event = calls.event_synchronise,
        .synchronise_stream = calls.stream_synchronise,
        .synchronise_device = calls.synchronise,
    };
    (void)pthread_mutex_init(&cuda->lock, NULL);
    return shim_begin(&cuda->shim, count, ops);
}

int weir_shim_cuda(const char *library, struct weir_driver_ops *ops, char *text, size_t size)
{
    return open_column(&CUDA_COLUMN, library, ops, text, size);
}

int weir_shim_hip(const char *library, struct weir_driver_ops *ops, char *text, size_t size)
{
    return open_column(&HIP_COLUMN, library, ops, text, size);
}
