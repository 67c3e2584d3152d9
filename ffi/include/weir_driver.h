/*
 * weir_driver.h - a device driver for weir, written in C.
 *
 * Fill in a `struct weir_driver_ops` and give it to `weir_create_with_driver` (weir.h). The functions mirror the Rust
 * trait `weir::driver::Driver` one by one.
 *
 * What every function owes:
 *
 *  - It returns WEIR_DRIVER_OK (0) or one of the other codes of `enum weir_driver_status`. With an error it may store a
 *    number of its own through `code`, which is never null; weir shows it in error texts and in the log. Zero is stored
 *    there before the call.
 *  - It is all or nothing: after an error the device is as before, and outputs are not looked at.
 *  - weir holds no lock while it calls, so several threads may call at once if the program calls weir from several.
 *    A function may block, but may not call weir about the same runtime.
 *  - Pointers given to it are good until it returns.
 *
 * The header is C11 and C++17. SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WEIR_DRIVER_H
#define WEIR_DRIVER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of `struct weir_driver_ops` that this header describes. */
#define WEIR_DRIVER_ABI 1u

/** What a driver function returns. Any other number counts as WEIR_DRIVER_FAILED with that number as its code. */
enum weir_driver_status {
    /** Done. */
    WEIR_DRIVER_OK = 0,
    /** The device has no physical memory, addresses or mappings left. */
    WEIR_DRIVER_EXHAUSTED = 1,
    /** A synchronisation ran into its time limit. */
    WEIR_DRIVER_TIMED_OUT = 2,
    /** The call or an argument is not supported. */
    WEIR_DRIVER_UNSUPPORTED = 3,
    /** Anything else. */
    WEIR_DRIVER_FAILED = 4
};

/** What a device can do beyond the minimum; bits of `weir_driver_properties.capabilities`. */
enum weir_driver_capability {
    /** Map and unmap take effect in the order of the stream that is named, not at once. */
    WEIR_DRIVER_MAP_IN_STREAM_ORDER = 1,
    /** Addresses are cheap: ranges of many times a pool's limit can be reserved. */
    WEIR_DRIVER_SPARSE_ADDRESSES = 2
};

/** What a device's memory looks like. Constant over the device's life. Sizes in bytes. */
struct weir_driver_properties {
    /** Size of the smallest piece of physical memory that is mapped (a granule); a power of two. */
    uint64_t granularity;
    /** Alignment and rounding of blocks; a power of two that divides the granularity. */
    uint64_t alignment;
    /** Physical memory in all: at least one granule. */
    uint64_t total;
    /** Bits of `enum weir_driver_capability`. */
    uint32_t capabilities;
    /** Zero. */
    uint32_t reserved;
};

/** What a query or a synchronisation is about. */
enum weir_driver_target_kind {
    /** Everything queued on stream `id` so far. */
    WEIR_DRIVER_TARGET_STREAM = 0,
    /** The latest lay of marker slot `id`. A slot that was never laid is complete. */
    WEIR_DRIVER_TARGET_MARKER = 1,
    /** Everything queued on every stream of device `id` so far. */
    WEIR_DRIVER_TARGET_DEVICE = 2
};

/** The target of a query or a synchronisation. */
struct weir_driver_target {
    /** One of `enum weir_driver_target_kind`. */
    uint32_t kind;
    /** Zero. */
    uint32_t reserved;
    /** A stream as the program named it to weir, a marker slot, or a device's ordinal. */
    uint64_t id;
};

/**
 * A driver: its functions and one pointer that each of them is given. All functions must be there. weir copies the
 * table; what `ctx` points to must live until the runtime is destroyed.
 */
struct weir_driver_ops {
    /** WEIR_DRIVER_ABI. */
    uint32_t abi;
    /** sizeof(struct weir_driver_ops). */
    uint32_t size;
    /** Handed to every function as it is; may be null. */
    void *ctx;

    /** Describes a device. An error: there is no such device. */
    int (*properties)(void *ctx, uint32_t device, struct weir_driver_properties *properties, int *code);

    /**
     * Reserves `bytes` of device addresses without memory behind them. `bytes` is a multiple of the granularity, and
     * `*base` must be aligned to it and not 0. The range may not go beyond the last address, nor overlap one that is
     * still reserved.
     */
    int (*reserve)(void *ctx, uint32_t device, uint64_t bytes, uint64_t *base, int *code);

    /** Gives a whole range back; nothing is mapped in it any more. */
    int (*release)(void *ctx, uint32_t device, uint64_t base, uint64_t bytes, int *code);

    /** Creates one granule of physical memory. `*granule` is a number of the driver's choice. */
    int (*create)(void *ctx, uint32_t device, uint64_t *granule, int *code);

    /** Destroys a granule that is not mapped. */
    int (*destroy)(void *ctx, uint32_t device, uint64_t granule, int *code);

    /**
     * Maps a granule at `at`, readable and writable by the device. `at` is aligned to the granularity and inside a
     * reserved range, and nothing is mapped there. `stream` points to the stream that the memory is for, or is null;
     * only drivers with WEIR_DRIVER_MAP_IN_STREAM_ORDER need it.
     */
    int (*map)(void *ctx, uint32_t device, uint64_t at, uint64_t granule, const uint64_t *stream, int *code);

    /** Unmaps the granule at `at`, which no unfinished work uses. `stream` as for `map`. */
    int (*unmap)(void *ctx, uint32_t device, uint64_t at, const uint64_t *stream, int *code);

    /**
     * Lays a marker (an event of the device) behind everything queued on the stream so far. The slot may have been laid
     * before, even on another stream, and even if it is not complete: waits that took it keep what they took.
     */
    int (*lay)(void *ctx, uint32_t slot, uint64_t stream, int *code);

    /** Asks, without waiting. `*complete`: 1 where all of it is complete, 0 where some of it is not; no other number. */
    int (*query)(void *ctx, const struct weir_driver_target *what, int *complete, int *code);

    /** Makes whatever is queued on the stream from now on wait, on the device, for the latest lay of the slot. */
    int (*wait)(void *ctx, uint64_t stream, uint32_t slot, int *code);

    /** Waits on the host. */
    int (*synchronise)(void *ctx, const struct weir_driver_target *what, int *code);

    /** Reads a monotonic clock, in nanoseconds. It must be harmless wherever the program frees memory. */
    uint64_t (*now)(void *ctx);
};

#ifdef __cplusplus
}
#endif

#endif /* WEIR_DRIVER_H */
