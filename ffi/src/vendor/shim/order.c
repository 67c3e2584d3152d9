/*
 * Markers: which of the vendor's events stands for a slot of weir's, and the calls of the table that order work. See
 * common.h. SPDX-License-Identifier: MIT OR Apache-2.0
 */
#define _POSIX_C_SOURCE 200809L
#include "common.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Room for a slot; the lock is held. */
static int make_room(struct shim *shim, uint32_t slot)
{
    if (slot < shim->slots) {
        return 0;
    }
    size_t old = shim->slots, new = old < 64 ? 64 : old;
    while (new <= slot) {
        new *= 2;
    }
    uint32_t *latest = new < UINT32_MAX ? realloc(shim->latest, new * sizeof *latest) : NULL;
    if (latest == NULL) {
        return SHIM_CODE_NO_MEMORY;
    }
    shim->latest = latest;
    void **events = realloc(shim->events, new * shim->devices * sizeof *events);
    if (events == NULL) {
        return SHIM_CODE_NO_MEMORY;
    }
    shim->events = events;
    memset(latest + old, 0, (new - old) * sizeof *latest);
    memset(events + old * shim->devices, 0, (new - old) * shim->devices * sizeof *events);
    shim->slots = (uint32_t)new;
    return 0;
}

/* The slot's event on a device, which is current. It is never destroyed before the end: another thread may ask it. */
static int event_of(struct shim *shim, uint32_t slot, uint32_t device, void **event)
{
    void *new = NULL;
    for (;;) {
        pthread_mutex_lock(&shim->lock);
        int result = make_room(shim, slot);
        void **place = result == 0 ? &shim->events[(size_t)slot * shim->devices + device] : NULL;
        if (place != NULL && *place == NULL) {
            *place = new;
            new = NULL;
        }
        *event = place != NULL ? *place : NULL;
        pthread_mutex_unlock(&shim->lock);
        if (result != 0 || *event != NULL) {
            if (new != NULL) {
                (void)shim->vendor.destroy_event(new);
            }
            return result;
        }
        /* Without the lock, since a vendor may wait until an event is free. */
        result = shim->vendor.create_event(&new, shim->vendor.event_flags);
        if (result != 0) {
            return result;
        }
    }
}

/* What the slot stands for: 0 where it was never laid. */
static int latest_of(struct shim *shim, uint32_t slot, uint32_t *device, void **event)
{
    pthread_mutex_lock(&shim->lock);
    uint32_t latest = slot < shim->slots ? shim->latest[slot] : 0;
    if (latest != 0) {
        *device = latest - 1;
        *event = shim->events[(size_t)slot * shim->devices + *device];
    }
    pthread_mutex_unlock(&shim->lock);
    return latest != 0;
}

/*
 * Goes to the device of a stream. A default stream (0, and CUDA's 1) does not say of which device it is, and a default
 * stream of each thread (CUDA's 2) is another one for every caller: only who says that it is the caller's means one.
 */
static int enter_stream(struct shim *shim, uint64_t *stream, uint32_t *device, struct shim_here *here)
{
    int result = SHIM_CODE_WHOSE_STREAM;
    if (*stream < 2) {
        result = shim_only_device(shim, device);
    } else if (*stream == SHIM_CALLERS_STREAM) {
        *stream = 2;
        result = shim_only_device(shim, device);
    } else if (*stream > 2) {
        result = shim->vendor.device_of(shim, (void *)(uintptr_t)*stream, device);
    }
    return result != 0 ? result : shim_enter(shim, *device, here);
}

static int lay(void *ctx, uint32_t slot, uint64_t stream, int *code)
{
    struct shim *shim = ctx;
    struct shim_here here;
    uint32_t device = 0;
    void *event = NULL;
    int result = enter_stream(shim, &stream, &device, &here);
    if (result != 0) {
        return shim_answer(shim, result, code);
    }
    result = event_of(shim, slot, device, &event);
    if (result == 0) {
        result = shim->vendor.record_event(event, (void *)(uintptr_t)stream);
    }
    shim_leave(shim, &here);
    if (result == 0) {
        pthread_mutex_lock(&shim->lock);
        shim->latest[slot] = device + 1;
        pthread_mutex_unlock(&shim->lock);
    }
    return shim_answer(shim, result, code);
}

static int wait(void *ctx, uint64_t stream, uint32_t slot, int *code)
{
    struct shim *shim = ctx;
    struct shim_here here;
    uint32_t device = 0, other = 0;
    void *event = NULL;
    int result = enter_stream(shim, &stream, &device, &here);
    if (result != 0) {
        return shim_answer(shim, result, code);
    }
    if (latest_of(shim, slot, &other, &event)) {
        result = shim->vendor.wait_event(shim, (void *)(uintptr_t)stream, event);
    }
    shim_leave(shim, &here);
    return shim_answer(shim, result, code);
}

/* Goes to the device that a question is about. `*event`: what to ask, of a marker that was laid; else null. */
static int enter_target(struct shim *shim, struct weir_driver_target *what, void **event, struct shim_here *here)
{
    uint32_t device = 0;
    switch (what->kind) {
    case WEIR_DRIVER_TARGET_STREAM:
        return enter_stream(shim, &what->id, &device, here);
    case WEIR_DRIVER_TARGET_MARKER:
        *event = NULL;
        here->before = here->context = NULL;
        return latest_of(shim, (uint32_t)what->id, &device, event) ? shim_enter(shim, device, here) : 0;
    default:
        return shim_enter(shim, what->id < shim->devices ? (uint32_t)what->id : shim->devices, here);
    }
}

static int query(void *ctx, const struct weir_driver_target *target, int *complete, int *code)
{
    struct shim *shim = ctx;
    struct weir_driver_target own = *target, *what = &own;
    struct shim_here here;
    void *event = NULL;
    if (what->kind == WEIR_DRIVER_TARGET_DEVICE) {
        return shim_answer(shim, SHIM_CODE_NO_SUCH_QUERY, code);
    }
    int result = enter_target(shim, what, &event, &here);
    if (result != 0) {
        return shim_answer(shim, result, code);
    }
    *complete = 1;
    if (what->kind == WEIR_DRIVER_TARGET_STREAM) {
        result = shim->vendor.query_stream(shim, (void *)(uintptr_t)what->id, complete);
    } else if (event != NULL) {
        result = shim->vendor.query_event(shim, event, complete);
    }
    shim_leave(shim, &here);
    return shim_answer(shim, result, code);
}

static int synchronise(void *ctx, const struct weir_driver_target *target, int *code)
{
    struct shim *shim = ctx;
    struct weir_driver_target own = *target, *what = &own;
    struct shim_here here;
    void *event = NULL;
    int result = enter_target(shim, what, &event, &here);
    if (result != 0) {
        return shim_answer(shim, result, code);
    }
    if (what->kind == WEIR_DRIVER_TARGET_STREAM) {
        result = shim->vendor.synchronise_stream((void *)(uintptr_t)what->id);
    } else if (what->kind == WEIR_DRIVER_TARGET_DEVICE) {
        result = shim->vendor.synchronise_device();
    } else if (event != NULL) {
        result = shim->vendor.synchronise_event(event);
    }
    shim_leave(shim, &here);
    return shim_answer(shim, result, code);
}

static uint64_t now(void *ctx)
{
    struct timespec time;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void shim_fill_order(struct weir_driver_ops *ops)
{
    ops->lay = lay;
    ops->query = query;
    ops->wait = wait;
    ops->synchronise = synchronise;
    ops->now = now;
}
