/*
 * What the shims to the vendors' drivers have in common: the library and its symbols, the devices and the threads'
 * contexts, and an event for each of weir's marker slots. What differs is in `struct shim_vendor`.
 *
 * Several threads may be in any of the functions at once. What the vendors ask for is in cuda.c and acl.c; the lock
 * here guards the tables of this part only, and is held across no call of a vendor's but the first about a device.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WEIR_SHIM_COMMON_H
#define WEIR_SHIM_COMMON_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "weir_driver.h"

/** How opening a vendor's driver went; `VendorError` in mod.rs. */
enum shim_opened {
    SHIM_OPENED = 0,
    /** The library does not load. */
    SHIM_NO_LIBRARY = 1,
    /** The library lacks a function. */
    SHIM_NO_SYMBOL = 2,
    /** The library is too old, or too new. */
    SHIM_WRONG_VERSION = 3,
    /** The vendor refused to begin. */
    SHIM_REFUSED = 4,
    /** The host has no memory left. */
    SHIM_NO_MEMORY = 5
};

/** Codes of the shims' own, beside the vendors', which are 0 or greater. */
enum shim_code {
    /** The host has no memory left. */
    SHIM_CODE_NO_MEMORY = -1,
    /** There is no such device. */
    SHIM_CODE_NO_DEVICE = -2,
    /** The stream is none of a context that weir uses: the device's primary (CUDA, HIP) or default (ACL) one. */
    SHIM_CODE_OTHER_CONTEXT = -3,
    /** A default stream, and it cannot be told of which device or thread. */
    SHIM_CODE_WHOSE_STREAM = -4,
    /** The vendor has no such question. */
    SHIM_CODE_NO_SUCH_QUERY = -5,
    /** The device lacks what a pool needs. */
    SHIM_CODE_LACKS_MAPPING = -6
};

/**
 * Instead of a stream's handle: CUDA's default stream of the thread that calls (2), from a caller who makes sure that this
 * is the thread that is meant.
 */
#define SHIM_CALLERS_STREAM ((UINT64_C(1) << 63) | 2)

struct shim;

/** What a vendor calls things. Where all spell a call alike it is the vendor's own function. */
struct shim_vendor {
    /** Binds a device: `*context` is what is current on a thread that works on it. */
    int (*open_device)(struct shim *shim, uint32_t device, void **context);
    void (*close_device)(struct shim *shim, uint32_t device);
    /** Frees what the shim's own part holds, but for the struct. */
    void (*end)(struct shim *shim);
    /** The open device that a stream is of. */
    int (*device_of)(struct shim *shim, void *stream, uint32_t *device);
    int (*query_stream)(struct shim *shim, void *stream, int *complete);
    int (*query_event)(struct shim *shim, void *event, int *complete);
    int (*wait_event)(struct shim *shim, void *stream, void *event);
    /** One of `enum weir_driver_status` for a code that is not 0. */
    int (*status)(int code);

    /* About the memory of a device, which is open and current. */
    int (*describe)(struct shim *shim, uint32_t device, uint64_t *granule, uint64_t *total);
    int (*reserve)(struct shim *shim, uint32_t device, uint64_t bytes, uint64_t *base);
    int (*release)(struct shim *shim, uint32_t device, uint64_t base, uint64_t bytes);
    int (*create)(struct shim *shim, uint32_t device, uint64_t *granule);
    int (*destroy)(struct shim *shim, uint32_t device, uint64_t granule);
    int (*map)(struct shim *shim, uint32_t device, uint64_t at, uint64_t granule);
    int (*unmap)(struct shim *shim, uint32_t device, uint64_t at);

    /** The calling thread's context; `no_context` is the code that means that it has none. */
    int (*get_current)(void **context);
    int (*set_current)(void *context);
    int no_context;
    /** Whether a thread can be left without a context. */
    int can_unset;

    int (*create_event)(void **event, unsigned int flags);
    unsigned int event_flags;
    int (*destroy_event)(void *event);
    int (*record_event)(void *event, void *stream);
    int (*synchronise_event)(void *event);
    int (*synchronise_stream)(void *stream);
    int (*synchronise_device)(void);
};

/** An opened driver; the first part of each shim's own struct. */
struct shim {
    struct shim_vendor vendor;
    pthread_mutex_t lock;
    /** One context per device; null: not opened yet. */
    void **contexts;
    uint32_t devices;
    /** Per slot one event for each device, made when it is first laid there, and used again from then on. */
    void **events;
    /** Per slot the device of its latest lay, counted from 1; 0: never laid. */
    uint32_t *latest;
    uint32_t slots;
};

/** A thread's context while a shim works in another one. */
struct shim_here {
    void *context;
    void *before;
};

/**
 * Loads a library and stores the address of the function `names[i]` at the i-th place of `calls`. The library stays
 * loaded: drivers start threads of their own, which may outlive every use of ours.
 */
int shim_load(const char *library, const char *const *names, size_t count, void *calls, char *text, size_t size);

/** Prepares the common part of a shim for so many devices, and fills the table. Frees the shim where that fails. */
int shim_begin(struct shim *shim, uint32_t devices, struct weir_driver_ops *ops);

/** Destroys the events, closes the devices and frees the shim. No other thread is in it any more. */
void shim_end(struct shim *shim);

/** Makes a device's context current on this thread; what was current comes back with `shim_leave`. */
int shim_enter(struct shim *shim, uint32_t device, struct shim_here *here);
void shim_leave(struct shim *shim, const struct shim_here *here);

/** The context of an open device, or null. */
void *shim_context(struct shim *shim, uint32_t device);

/** The one device that is open; SHIM_CODE_WHOSE_STREAM where there are none or several. */
int shim_only_device(struct shim *shim, uint32_t *device);

/** Stores a code for weir and answers its status. */
int shim_answer(struct shim *shim, int result, int *code);

/** The functions of the table about memory (memory.c), and those that order work and tell the time (order.c). */
void shim_fill_memory(struct weir_driver_ops *ops);
void shim_fill_order(struct weir_driver_ops *ops);

/**
 * What mod.rs calls. Opens a vendor's driver and fills the table; where that fails, `text` says why, in `size` bytes at
 * most. One of `enum shim_opened`.
 */
int weir_shim_cuda(const char *library, struct weir_driver_ops *ops, char *text, size_t size);
int weir_shim_hip(const char *library, struct weir_driver_ops *ops, char *text, size_t size);
int weir_shim_acl(const char *library, struct weir_driver_ops *ops, char *text, size_t size);

/** Ends what one of the above opened, and empties the table. 0: the table is none of theirs, and nothing was done. */
int weir_shim_close(struct weir_driver_ops *ops);

#endif /* WEIR_SHIM_COMMON_H */
