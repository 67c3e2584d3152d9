/* See common.h. SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "common.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int shim_load(const char *library, const char *const *names, size_t count, void *calls, char *text, size_t size)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *why = dlerror();
        snprintf(text, size, "the library `%s` does not load: %s", library, why != NULL ? why : "no reason is given");
        return SHIM_NO_LIBRARY;
    }
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(handle, names[i]);
        if (found == NULL) {
            snprintf(text, size, "the library `%s` lacks the function `%s`: it is too old, or another library", library,
                     names[i]);
            return SHIM_NO_SYMBOL;
        }
        memcpy((char *)calls + i * sizeof found, &found, sizeof found);
    }
    return SHIM_OPENED;
}

int shim_begin(struct shim *shim, uint32_t devices, struct weir_driver_ops *ops)
{
    shim->contexts = calloc(devices > 0 ? devices : 1, sizeof *shim->contexts);
    if (shim->contexts == NULL || pthread_mutex_init(&shim->lock, NULL) != 0) {
        free(shim->contexts);
        shim->vendor.end(shim);
        free(shim);
        return SHIM_NO_MEMORY;
    }
    shim->devices = devices;
    *ops = (struct weir_driver_ops){.abi = WEIR_DRIVER_ABI, .size = sizeof *ops, .ctx = shim};
    shim_fill_memory(ops);
    shim_fill_order(ops);
    return SHIM_OPENED;
}

void *shim_context(struct shim *shim, uint32_t device)
{
    pthread_mutex_lock(&shim->lock);
    void *context = device < shim->devices ? shim->contexts[device] : NULL;
    pthread_mutex_unlock(&shim->lock);
    return context;
}

int shim_only_device(struct shim *shim, uint32_t *device)
{
    uint32_t open = 0;
    pthread_mutex_lock(&shim->lock);
    for (uint32_t i = 0; i < shim->devices; i++) {
        if (shim->contexts[i] != NULL) {
            *device = i;
            open++;
        }
    }
    pthread_mutex_unlock(&shim->lock);
    return open == 1 ? 0 : SHIM_CODE_WHOSE_STREAM;
}

/* Makes a context current, and remembers which one was. */
static int enter_context(struct shim *shim, void *context, struct shim_here *here)
{
    here->context = context;
    here->before = NULL;
    int result = shim->vendor.get_current(&here->before);
    if (result != 0 && result != shim->vendor.no_context) {
        return result;
    }
    if (result != 0) {
        here->before = NULL;
    }
    return here->before == context ? 0 : shim->vendor.set_current(context);
}

int shim_enter(struct shim *shim, uint32_t device, struct shim_here *here)
{
    if (device >= shim->devices) {
        return SHIM_CODE_NO_DEVICE;
    }
    int result = 0;
    pthread_mutex_lock(&shim->lock);
    void *context = shim->contexts[device];
    if (context == NULL) {
        result = shim->vendor.open_device(shim, device, &context);
        shim->contexts[device] = result == 0 ? context : NULL;
    }
    pthread_mutex_unlock(&shim->lock);
    return result != 0 ? result : enter_context(shim, context, here);
}

void shim_leave(struct shim *shim, const struct shim_here *here)
{
    if (here->before == here->context || (here->before == NULL && !shim->vendor.can_unset)) {
        return;
    }
    /* What was done is done, whether this succeeds or not: an error here would say otherwise. */
    (void)shim->vendor.set_current(here->before);
}

int shim_answer(struct shim *shim, int result, int *code)
{
    *code = result;
    switch (result) {
    case 0:
        return WEIR_DRIVER_OK;
    case SHIM_CODE_NO_MEMORY:
        return WEIR_DRIVER_EXHAUSTED;
    case SHIM_CODE_WHOSE_STREAM:
    case SHIM_CODE_NO_SUCH_QUERY:
    case SHIM_CODE_LACKS_MAPPING:
        return WEIR_DRIVER_UNSUPPORTED;
    case SHIM_CODE_NO_DEVICE:
    case SHIM_CODE_OTHER_CONTEXT:
        return WEIR_DRIVER_FAILED;
    default:
        return shim->vendor.status(result);
    }
}

void shim_end(struct shim *shim)
{
    for (uint32_t device = 0; device < shim->devices; device++) {
        struct shim_here here;
        if (shim->contexts[device] == NULL) {
            continue;
        }
        if (enter_context(shim, shim->contexts[device], &here) == 0) {
            for (uint32_t slot = 0; slot < shim->slots; slot++) {
                void *event = shim->events[(size_t)slot * shim->devices + device];
                if (event != NULL) {
                    (void)shim->vendor.destroy_event(event);
                }
            }
            shim_leave(shim, &here);
        }
        shim->vendor.close_device(shim, device);
    }
    pthread_mutex_destroy(&shim->lock);
    free(shim->contexts);
    free(shim->latest);
    free(shim->events);
    shim->vendor.end(shim);
    free(shim);
}

int weir_shim_close(struct weir_driver_ops *ops)
{
    /* Only tables that were filled here have these functions. */
    struct weir_driver_ops ours = {0};
    shim_fill_memory(&ours);
    if (ops->ctx == NULL || ops->properties != ours.properties) {
        return 0;
    }
    shim_end(ops->ctx);
    *ops = (struct weir_driver_ops){0};
    return 1;
}
