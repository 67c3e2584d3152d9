/*
 * The calls of the table about memory: to the device's context, the vendor's own function, and back. See common.h.
 *
 * Both vendors map and unmap at once, on the host, whatever streams are doing; so the stream that weir names is not
 * looked at, and the capability to map in its order is not claimed. SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include "common.h"

/** Alignment of blocks: what both vendors' own pools give at least. */
#define ALIGNMENT 512u

static int properties(void *ctx, uint32_t device, struct weir_driver_properties *properties, int *code)
{
    struct shim *shim = ctx;
    struct shim_here here;
    uint64_t granule = 0, total = 0;
    int result = shim_enter(shim, device, &here);
    if (result == 0) {
        result = shim->vendor.describe(shim, device, &granule, &total);
        shim_leave(shim, &here);
    }
    /* A power of two that blocks fit in, or the device is none for a pool. */
    if (result == 0 && (granule < ALIGNMENT || (granule & (granule - 1)) != 0 || total < granule)) {
        result = SHIM_CODE_LACKS_MAPPING;
    }
    if (result == 0) {
        *properties = (struct weir_driver_properties){
            .granularity = granule,
            .alignment = ALIGNMENT,
            .total = total - total % granule,
            .capabilities = WEIR_DRIVER_SPARSE_ADDRESSES,
        };
    }
    return shim_answer(shim, result, code);
}

static int reserve(void *ctx, uint32_t device, uint64_t bytes, uint64_t *base, int *code)
{
    struct shim *shim = ctx;
    struct shim_here here;
    int result = shim_enter(shim, device, &here);
    if (result == 0) {
        result = shim->vendor.reserve(shim, device, bytes, base);
        shim_leave(shim, &here);
    }
    return shim_answer(shim, result, code);
}

static int release(void *ctx, uint32_t device, uint64_t base, uint64_t bytes, int *code)
{
    struct shim *shim = ctx;
    struct shim_here here;
    int result = shim_enter(shim, device, &here);
    if (result == 0) {
        result = shim->vendor.release(shim, device, base, bytes);
        shim_leave(shim, &here);
    }
    return shim_answer(shim, result, code);
}

static int create(void *ctx, uint32_t device, uint64_t *granule, int *code)
{
    struct shim *shim = ctx;
    struct shim_here here;
    int result = shim_enter(shim, device, &here);
    if (result == 0) {
        result = shim->vendor.create(shim, device, granule);
        shim_leave(shim, &here);
    }
    return shim_answer(shim, result, code);
}

static int destroy(void *ctx, uint32_t device, uint64_t granule, int *code)
{
    struct shim *shim = ctx;
    struct shim_here here;
    int result = shim_enter(shim, device, &here);
    if (result == 0) {
        result = shim->vendor.destroy(shim, device, granule);
        shim_leave(shim, &here);
    }
    return shim_answer(shim, result, code);
}

static int map(void *ctx, uint32_t device, uint64_t at, uint64_t granule, const uint64_t *stream, int *code)
{
    struct shim *shim = ctx;
    struct shim_here here;
    (void)stream;
    int result = shim_enter(shim, device, &here);
    if (result == 0) {
        result = shim->vendor.map(shim, device, at, granule);
        shim_leave(shim, &here);
    }
    return shim_answer(shim, result, code);
}

static int unmap(void *ctx, uint32_t device, uint64_t at, const uint64_t *stream, int *code)
{
    struct shim *shim = ctx;
    struct shim_here here;
    (void)stream;
    int result = shim_enter(shim, device, &here);
    if (result == 0) {
        result = shim->vendor.unmap(shim, device, at);
        shim_leave(shim, &here);
    }
    return shim_answer(shim, result, code);
}

void shim_fill_memory(struct weir_driver_ops *ops)
{
    ops->properties = properties;
    ops->reserve = reserve;
    ops->release = release;
    ops->create = create;
    ops->destroy = destroy;
    ops->map = map;
    ops->unmap = unmap;
}
