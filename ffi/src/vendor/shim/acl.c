/*
 * Ascend's ACL runtime (libascendcl.so of CANN) as a driver of weir's.
 *
 * What is unlike CUDA: in a location the number comes before the type, and `pinned` is 0; a reservation's alignment and
 * a mapping's offset are 0, and a handle is mapped whole; the owner may read and write as soon as it is mapped; a
 * release and an unmap take no size. An event's status is 1 where it is complete, a stream's is 0; an event that was
 * never recorded counts as not complete, which is why the slots know whether they were laid (order.c).
 *
 * Events are made by aclrtCreateEventExWithFlag: the plain kinds may not be recorded again. An event takes one of the
 * device's ids from its record until it is complete and no longer waited for (1023 on some products, 65535 on others);
 * where none is left, a record waits.
 *
 * Threads: ACL allows any call on any thread that has a context; a stream and an event may only be used where their own
 * is current. Each function makes the device's default context current, the one that all threads get from
 * aclrtSetDevice, and puts back what was. aclrtSetDevice itself counts its callers, so it is called once a device.
 * A thread that had no context keeps that one: ACL cannot take it away again.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include "acl_calls.h"
#include "common.h"

#include <stdio.h>
#include <stdlib.h>

struct acl {
    struct shim shim;
    struct calls calls;
    /* Per device: the kind of its memory, how much there is, its granularity, and how often it was set and could not be
     * reset. */
    struct {
        int attribute;
        unsigned owed;
        size_t total;
        size_t granule;
    } devices[];
};

static struct physical pinned_on(const struct acl *acl, uint32_t device)
{
    return (struct physical){HANDLE_NONE, TYPE_PINNED, acl->devices[device].attribute, {device, LOCATION_DEVICE}, 0};
}

/* Finds out what memory the current device has. Products without HBM, which have DDR, say so or have none of it. */
static int learn_memory(struct acl *acl, uint32_t device)
{
    size_t unused = 0, total = 0;
    int result = acl->calls.memory_info(HBM_MEMORY, &unused, &total);
    int lacks_it = result == 0 ? total == 0 : result == ERROR_PARAM_INVALID || result == ERROR_FEATURE_NOT_SUPPORT;
    acl->devices[device].attribute = lacks_it ? DDR_HUGE : HBM_HUGE;
    if (lacks_it) {
        result = acl->calls.memory_info(DDR_MEMORY, &unused, &total);
    }
    acl->devices[device].total = total;
    struct physical what = pinned_on(acl, device);
    return result != 0 ? result
                       : acl->calls.granularity(&what, GRANULARITY_RECOMMENDED, &acl->devices[device].granule);
}

static int open_device(struct shim *shim, uint32_t device, void **context)
{
    struct acl *acl = (struct acl *)shim;
    void *before = NULL, *found = NULL;
    int result = acl->calls.get_current(&before);
    if (result == ERROR_CONTEXT_NULL) {
        before = NULL;
        result = 0;
    }
    if (result == 0) {
        result = acl->calls.set_device((int32_t)device);
    }
    if (result != 0) {
        return result;
    }
    result = acl->calls.get_current(&found);
    result = result != 0 ? result : learn_memory(acl, device);
    if (before != NULL) {
        (void)acl->calls.set_current(before);
    }
    if (result != 0) {
        acl->devices[device].owed += acl->calls.reset_device((int32_t)device) != 0;
        return result;
    }
    *context = found;
    return 0;
}

static void close_device(struct shim *shim, uint32_t device)
{
    (void)((struct acl *)shim)->calls.reset_device((int32_t)device);
}

/* ACL does not say which context a stream is of, only whether it is the current one: so each device is asked, unless
 * there is just one, and then the call itself tells. */
static int device_of(struct shim *shim, void *stream, uint32_t *device)
{
    struct acl *acl = (struct acl *)shim;
    int result = shim_only_device(shim, device);
    for (uint32_t i = 0; result != 0 && i < shim->devices; i++) {
        struct shim_here here;
        int status = 0;
        if (shim_context(shim, i) == NULL) {
            continue;
        }
        result = shim_enter(shim, i, &here);
        if (result != 0) {
            return result;
        }
        result = acl->calls.stream_query(stream, &status);
        shim_leave(shim, &here);
        if (result != ERROR_STREAM_CONTEXT) {
            *device = i;
            return result;
        }
    }
    return result != 0 ? SHIM_CODE_OTHER_CONTEXT : 0;
}

static int query_stream(struct shim *shim, void *stream, int *complete)
{
    int status = 0, result = ((struct acl *)shim)->calls.stream_query(stream, &status);
    *complete = result == 0 && status == STREAM_COMPLETE;
    return result;
}

static int query_event(struct shim *shim, void *event, int *complete)
{
    int status = 0, result = ((struct acl *)shim)->calls.event_query(event, &status);
    *complete = result == 0 && status == EVENT_COMPLETE;
    return result;
}

static int wait_event(struct shim *shim, void *stream, void *event)
{
    return ((struct acl *)shim)->calls.stream_wait(stream, event);
}

static int status(int code)
{
    switch (code) {
    case ERROR_BAD_ALLOC:
    case ERROR_MEMORY_ALLOCATION:
    case ERROR_RESOURCE_ALLOC_FAIL:
    case ERROR_NO_EVENT_RESOURCE:
        return WEIR_DRIVER_EXHAUSTED;
    case ERROR_API_NOT_SUPPORT:
    case ERROR_FEATURE_NOT_SUPPORT:
        return WEIR_DRIVER_UNSUPPORTED;
    case ERROR_STREAM_SYNC_TIMEOUT:
    case ERROR_EVENT_SYNC_TIMEOUT:
        return WEIR_DRIVER_TIMED_OUT;
    default:
        return WEIR_DRIVER_FAILED;
    }
}

static int describe(struct shim *shim, uint32_t device, uint64_t *granule, uint64_t *total)
{
    const struct acl *acl = (struct acl *)shim;
    *granule = acl->devices[device].granule;
    *total = acl->devices[device].total;
    return 0;
}

static int reserve(struct shim *shim, uint32_t device, uint64_t bytes, uint64_t *base)
{
    void *found = NULL;
    (void)device;
    int result = ((struct acl *)shim)->calls.reserve(&found, bytes, 0, NULL, HUGE_PAGES);
    *base = (uintptr_t)found;
    return result;
}

static int release(struct shim *shim, uint32_t device, uint64_t base, uint64_t bytes)
{
    (void)device;
    (void)bytes;
    return ((struct acl *)shim)->calls.release((void *)(uintptr_t)base);
}

static int create(struct shim *shim, uint32_t device, uint64_t *granule)
{
    struct acl *acl = (struct acl *)shim;
    struct physical what = pinned_on(acl, device);
    void *handle = NULL;
    int result = acl->calls.create(&handle, acl->devices[device].granule, &what, 0);
    *granule = (uintptr_t)handle;
    return result;
}

static int destroy(struct shim *shim, uint32_t device, uint64_t granule)
{
    (void)device;
    return ((struct acl *)shim)->calls.destroy((void *)(uintptr_t)granule);
}

static int map(struct shim *shim, uint32_t device, uint64_t at, uint64_t granule)
{
    struct acl *acl = (struct acl *)shim;
    return acl->calls.map((void *)(uintptr_t)at, acl->devices[device].granule, 0, (void *)(uintptr_t)granule, 0);
}

static int unmap(struct shim *shim, uint32_t device, uint64_t at)
{
    (void)device;
    return ((struct acl *)shim)->calls.unmap((void *)(uintptr_t)at);
}

/* aclFinalize is the program's: it would end ACL for all of the process, and for good. */
static void end(struct shim *shim)
{
    struct acl *acl = (struct acl *)shim;
    for (uint32_t device = 0; device < shim->devices; device++) {
        for (; acl->devices[device].owed > 0; acl->devices[device].owed--) {
            close_device(shim, device);
        }
    }
}

/* Checks the version, and begins, unless the program did. */
static int begin(const struct calls *calls, uint32_t *devices, char *text, size_t size)
{
    int32_t major = 0, minor = 0, patch = 0;
    const char *call = "aclrtGetVersion";
    int result = calls->get_version(&major, &minor, &patch);
    if (result == 0 && major != INTERFACE) {
        snprintf(text, size, "the ACL interface is version %d.%d.%d, and %d is the one that is known", (int)major,
                 (int)minor, (int)patch, INTERFACE);
        return SHIM_WRONG_VERSION;
    }
    if (result == 0) {
        call = "aclInit";
        result = calls->init(NULL);
        result = result == ERROR_REPEAT_INITIALIZE ? 0 : result;
    }
    if (result == 0) {
        call = "aclrtGetDeviceCount";
        result = calls->device_count(devices);
    }
    if (result != 0) {
        snprintf(text, size, "ACL refused to begin: %s failed with code %d", call, result);
        return SHIM_REFUSED;
    }
    return SHIM_OPENED;
}

int weir_shim_acl(const char *library, struct weir_driver_ops *ops, char *text, size_t size)
{
    struct calls calls;
    uint32_t devices = 0;
    int opened = shim_load(library, SYMBOLS, COUNT, &calls, text, size);
    if (opened == SHIM_OPENED) {
        opened = begin(&calls, &devices, text, size);
    }
    if (opened != SHIM_OPENED) {
        return opened;
    }
    struct acl *acl = calloc(1, sizeof *acl + devices * sizeof acl->devices[0]);
    if (acl == NULL) {
        return SHIM_NO_MEMORY;
    }
    acl->calls = calls;
    acl->shim.vendor = (struct shim_vendor){
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
        .no_context = ERROR_CONTEXT_NULL,
        .create_event = calls.event_create,
        .event_flags = EVENT_SYNC | EVENT_PROGRESS,
        .destroy_event = calls.event_destroy,
        .record_event = calls.event_record,
        .synchronise_event = calls.event_synchronise,
        .synchronise_stream = calls.stream_synchronise,
        .synchronise_device = calls.synchronise,
    };
    return shim_begin(&acl->shim, devices, ops);
}
