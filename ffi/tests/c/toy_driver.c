/*
 * A device for the tests, in C: memory that is really mapped, on one range of addresses; streams that are done with
 * everything at once; a counter for every call.
 */
#define _GNU_SOURCE
#include "toy_driver.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Counts a call; answers the failure that a test asked for, or 0. */
static int begin(struct toy_driver *toy, enum toy_call call, int *code)
{
    toy->calls[call]++;
    if (toy->fail_call != (uint32_t)call) {
        return WEIR_DRIVER_OK;
    }
    toy->fail_call = TOY_CALLS;
    *code = toy->fail_code;
    return toy->fail_status;
}

static int toy_properties(void *ctx, uint32_t device, struct weir_driver_properties *properties, int *code)
{
    int status = begin(ctx, TOY_PROPERTIES, code);
    if (status != WEIR_DRIVER_OK) {
        return status;
    }
    if (device != 0) {
        *code = 19;
        return WEIR_DRIVER_FAILED;
    }
    properties->granularity = TOY_GRANULE;
    properties->alignment = 256;
    properties->total = (uint64_t)TOY_PLACES * TOY_GRANULE;
    properties->capabilities = WEIR_DRIVER_SPARSE_ADDRESSES;
    return WEIR_DRIVER_OK;
}

static int toy_reserve(void *ctx, uint32_t device, uint64_t bytes, uint64_t *base, int *code)
{
    struct toy_driver *toy = ctx;
    int status = begin(toy, TOY_RESERVE, code);
    if (status != WEIR_DRIVER_OK) {
        return status;
    }
    if (device != 0 || toy->base != 0) {
        return WEIR_DRIVER_EXHAUSTED;
    }
    void *found = mmap(NULL, bytes + TOY_GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) {
        return WEIR_DRIVER_EXHAUSTED;
    }
    toy->base = ((uint64_t)(uintptr_t)found + TOY_GRANULE - 1) / TOY_GRANULE * TOY_GRANULE;
    toy->bytes = bytes;
    *base = toy->base;
    return WEIR_DRIVER_OK;
}

static int toy_release(void *ctx, uint32_t device, uint64_t base, uint64_t bytes, int *code)
{
    struct toy_driver *toy = ctx;
    int status = begin(toy, TOY_RELEASE, code);
    if (status != WEIR_DRIVER_OK) {
        return status;
    }
    if (device != 0 || base != toy->base || bytes != toy->bytes || toy->mapped != 0) {
        return WEIR_DRIVER_FAILED;
    }
    munmap((void *)(uintptr_t)base, bytes);
    toy->base = 0;
    return WEIR_DRIVER_OK;
}

static int toy_create(void *ctx, uint32_t device, uint64_t *granule, int *code)
{
    struct toy_driver *toy = ctx;
    int status = begin(toy, TOY_CREATE, code);
    if (status != WEIR_DRIVER_OK) {
        return status;
    }
    for (uint32_t i = 0; device == 0 && i < TOY_PLACES; i++) {
        if (!toy->taken[i]) {
            toy->taken[i] = 1;
            toy->created++;
            *granule = i + 1;
            return WEIR_DRIVER_OK;
        }
    }
    return WEIR_DRIVER_EXHAUSTED;
}

static int toy_destroy(void *ctx, uint32_t device, uint64_t granule, int *code)
{
    struct toy_driver *toy = ctx;
    int status = begin(toy, TOY_DESTROY, code);
    if (status != WEIR_DRIVER_OK) {
        return status;
    }
    if (device != 0 || granule == 0 || granule > TOY_PLACES || !toy->taken[granule - 1]) {
        return WEIR_DRIVER_FAILED;
    }
    toy->taken[granule - 1] = 0;
    toy->created--;
    return WEIR_DRIVER_OK;
}

static int toy_map(void *ctx, uint32_t device, uint64_t at, uint64_t granule, const uint64_t *stream, int *code)
{
    struct toy_driver *toy = ctx;
    int status = begin(toy, TOY_MAP, code);
    uint64_t place = (at - toy->base) / TOY_GRANULE;
    if (status != WEIR_DRIVER_OK) {
        return status;
    }
    if (device != 0 || place >= TOY_PLACES || toy->places[place] != 0 || granule == 0) {
        return WEIR_DRIVER_FAILED;
    }
    off_t from = (off_t)((granule - 1) * TOY_GRANULE);
    void *to = (void *)(uintptr_t)at;
    if (mmap(to, TOY_GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, toy->file, from) == MAP_FAILED) {
        return WEIR_DRIVER_EXHAUSTED;
    }
    toy->places[place] = (uint32_t)granule;
    toy->mapped++;
    toy->last_stream = stream != NULL ? *stream : 0;
    return WEIR_DRIVER_OK;
}

static int toy_unmap(void *ctx, uint32_t device, uint64_t at, const uint64_t *stream, int *code)
{
    struct toy_driver *toy = ctx;
    int status = begin(toy, TOY_UNMAP, code);
    uint64_t place = (at - toy->base) / TOY_GRANULE;
    (void)stream;
    if (status != WEIR_DRIVER_OK) {
        return status;
    }
    if (device != 0 || place >= TOY_PLACES || toy->places[place] == 0) {
        return WEIR_DRIVER_FAILED;
    }
    int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap((void *)(uintptr_t)at, TOY_GRANULE, PROT_NONE, how, -1, 0) == MAP_FAILED) {
        return WEIR_DRIVER_EXHAUSTED;
    }
    toy->places[place] = 0;
    toy->mapped--;
    return WEIR_DRIVER_OK;
}

static int toy_lay(void *ctx, uint32_t slot, uint64_t stream, int *code)
{
    (void)slot;
    (void)stream;
    return begin(ctx, TOY_LAY, code);
}

static int toy_query(void *ctx, const struct weir_driver_target *what, int *complete, int *code)
{
    struct toy_driver *toy = ctx;
    toy->last_target = *what;
    *complete = 1;
    return begin(toy, TOY_QUERY, code);
}

static int toy_wait(void *ctx, uint64_t stream, uint32_t slot, int *code)
{
    (void)slot;
    (void)stream;
    return begin(ctx, TOY_WAIT, code);
}

static int toy_synchronise(void *ctx, const struct weir_driver_target *what, int *code)
{
    struct toy_driver *toy = ctx;
    toy->last_target = *what;
    return begin(toy, TOY_SYNCHRONISE, code);
}

static uint64_t toy_now(void *ctx)
{
    struct toy_driver *toy = ctx;
    toy->calls[TOY_NOW]++;
    return ++toy->clock;
}

int toy_open(struct toy_driver **driver, struct weir_driver_ops *ops)
{
    struct toy_driver *toy = calloc(1, sizeof *toy);
    if (toy == NULL) {
        return -1;
    }
    toy->fail_call = TOY_CALLS;
    toy->file = memfd_create("toy", MFD_CLOEXEC);
    if (toy->file < 0 || ftruncate(toy->file, (off_t)TOY_PLACES * TOY_GRANULE) != 0) {
        toy_close(toy);
        return -1;
    }
    *ops = (struct weir_driver_ops){
        .abi = WEIR_DRIVER_ABI,
        .size = sizeof *ops,
        .ctx = toy,
        .properties = toy_properties,
        .reserve = toy_reserve,
        .release = toy_release,
        .create = toy_create,
        .destroy = toy_destroy,
        .map = toy_map,
        .unmap = toy_unmap,
        .lay = toy_lay,
        .query = toy_query,
        .wait = toy_wait,
        .synchronise = toy_synchronise,
        .now = toy_now,
    };
    *driver = toy;
    return 0;
}

void toy_close(struct toy_driver *toy)
{
    if (toy->file >= 0) {
        close(toy->file);
    }
    free(toy);
}
