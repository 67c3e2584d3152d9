/*
 * weir.h - a stream-ordered memory pool for accelerators, for programs in C and C++.
 *
 * Memory is allocated and freed in the order of the streams that use it, without stopping the host. A runtime holds
 * pools, streams and events of one driver: the host driver (Linux memory as a device, so that everything runs without
 * hardware), a vendor's (CUDA, HIP, ACL), or a table of functions of the program's own (weir_driver.h).
 *
 * Rules that hold everywhere:
 *
 *  - Functions return WEIR_OK (0) or another number of `enum weir_status`. `weir_last_error` then has the whole story,
 *    with the numbers. After an error the state is what it was, and outputs are not written.
 *  - Handles are numbers in a struct, never addresses. A handle that was never given out, whose object is gone, that is
 *    of another kind, or that belongs to another runtime is refused; it is never mistaken for another object.
 *  - Pointers that must not be null are checked. A null output that may be left out says so.
 *  - All functions may be called from several threads at once. A callback may call them too, unless it says otherwise.
 *    No C++ exception may leave a callback.
 *  - Sizes are bytes.
 *
 * The archive for bare metal (`cargo xtask libs --target`) allocates nothing and has no texts: it has the functions that
 * need neither an operating system nor a heap. Missing there: weir_last_error, weir_create_host, weir_create_with_driver
 * (weir_create_static takes its place), the vendors' drivers, weir_pool_pending, weir_stream_create, and all of the host
 * driver. weir_destroy answers WEIR_BUSY there while another call is in the runtime. Interrupt handlers may call
 * weir_try_malloc_async and weir_try_free_async, and no other function.
 *
 * Link with libweir.a (add -lpthread -ldl -lm where the system's C library keeps these apart) or with libweir.so.
 *
 * The header is C11 and C++17. SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef WEIR_H
#define WEIR_H

#include <stddef.h>
#include <stdint.h>

#include "weir_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What functions return. The numbers are stable; new ones may be added at the end. */
enum weir_status {
    /** Done. */
    WEIR_OK = 0,
    /** A null pointer, or a number that the function does not know. */
    WEIR_INVALID_ARGUMENT = 1,
    /** A handle names nothing: it never did, its object is gone, or it belongs to another runtime. */
    WEIR_BAD_HANDLE = 2,
    /** A device pointer is not the start of a live block. */
    WEIR_BAD_POINTER = 3,
    /** The block was freed before. */
    WEIR_DOUBLE_FREE = 4,
    /** Zero bytes were asked for. */
    WEIR_ZERO_SIZE = 5,
    /** More was asked for than the pool, or the device, may ever hold. */
    WEIR_ABOVE_LIMIT = 6,
    /** Nothing helped: the text says what is used, free and pending, and what would release it. */
    WEIR_OUT_OF_MEMORY = 7,
    /** The pool's range of addresses has no hole that is long enough. */
    WEIR_NO_ADDRESS_RANGE = 8,
    /** Stream and pool are on different devices. */
    WEIR_OTHER_DEVICE = 9,
    /** The stream is being captured. */
    WEIR_CAPTURING = 10,
    /** One of the capacities that the runtime was created with is used up. */
    WEIR_CAPACITY = 11,
    /** A driver call failed; what was begun was undone. */
    WEIR_DRIVER_ERROR = 12,
    /** A synchronisation ran into the driver's time limit. */
    WEIR_TIMED_OUT = 13,
    /** Live blocks are left in the pool. */
    WEIR_LIVE_BLOCKS = 14,
    /** The attribute is read only, or a high mark, which can only be set to 0. */
    WEIR_READ_ONLY = 15,
    /** Something of that key is there already. */
    WEIR_EXISTS = 16,
    /** A name is too long, or no UTF-8. */
    WEIR_BAD_NAME = 17,
    /** A driver table or what it says of its device makes no sense. */
    WEIR_BAD_DRIVER = 18,
    /** The call needs the host driver, and the runtime has another. */
    WEIR_NOT_HOST = 19,
    /** The operating system refused a file, a thread or memory. */
    WEIR_SYSTEM = 20,
    /** The lock is taken (`try` functions), or the call would wait for itself: see weir_destroy, weir_set_pressure. */
    WEIR_BUSY = 21,
    /** The bookkeeping contradicted itself; the runtime refuses further calls. A defect of weir. */
    WEIR_CORRUPT = 22,
    /** A defect of weir was caught at the edge of the library. */
    WEIR_INTERNAL = 23
};

/** A runtime: pools, streams and events of one driver. */
typedef struct weir_runtime {
    uint64_t id;
} weir_runtime;

/** A pool of device memory. */
typedef struct weir_pool {
    uint64_t id;
    /** The runtime that it belongs to. */
    uint64_t runtime;
} weir_pool;

/** A stream of work on a device. */
typedef struct weir_stream {
    uint64_t id;
    /** The runtime that it belongs to. */
    uint64_t runtime;
} weir_stream;

/** An event that is recorded on streams. */
typedef struct weir_event {
    uint64_t id;
    /** The runtime that it belongs to. */
    uint64_t runtime;
} weir_event;

/** An address of a device; 0 is none. On the host driver it is an address of this process. */
typedef uint64_t weir_ptr;

/* ------------------------------------------------------------------------------------------------ errors, version */

/** The library's version: major * 65536 + minor * 256 + patch. */
uint32_t weir_version(void);

/** A status by its name in this header, such as "WEIR_OUT_OF_MEMORY"; "unknown status" for other numbers. */
const char *weir_status_name(int status);

/**
 * Copies the text of the latest error on this thread, cut to `size` - 1 bytes, with a 0 behind it. The answer is the
 * length of the whole text without the 0, also when nothing is copied (`buffer` null or `size` 0). UTF-8. Without an
 * error so far it is empty; a call that succeeds does not change it.
 */
size_t weir_last_error(char *buffer, size_t size);

/* --------------------------------------------------------------------------------------------------- create, destroy */

/** Gets each finished page of the log, of at most 4096 bytes. May not call weir about the same runtime. */
typedef void (*weir_log_fn)(void *user, const uint8_t *page, size_t length);

/** How a runtime is made: how many of each it can hold, and where its log goes. */
struct weir_config {
    /** sizeof(struct weir_config); `weir_config_init` sets it. */
    uint32_t size;
    /** Zero. */
    uint32_t reserved;
    /** Streams at once, at most 65536. */
    uint64_t streams;
    /** Events at once. */
    uint64_t events;
    /** Markers of weir's own at once. */
    uint64_t markers;
    /** Pools at once. */
    uint64_t pools;
    /** Blocks at once: live, free and unmapped runs together. */
    uint64_t blocks;
    /** Granules of physical memory at once. */
    uint64_t granules;
    /** Names of labels and marks. */
    uint64_t labels;
    /** Pages of the log that may wait to be written. Only taken where there is a log. */
    uint64_t pages;
    /** File that the log is written to, made anew; null: none. */
    const char *log_path;
    /** Function that gets the log's pages; null: none. */
    weir_log_fn log_fn;
    /** Handed to `log_fn`. */
    void *log_user;
};

/** The defaults: 64 streams, 256 events, 256 markers, 16 pools, 65536 blocks and granules, 1024 labels, no log. */
int weir_config_init(struct weir_config *config);

/** How the host driver's devices are made. They are alike. */
struct weir_host_config {
    /** sizeof(struct weir_host_config); `weir_host_config_init` sets it. */
    uint32_t size;
    /** Number of devices. */
    uint32_t devices;
    /** Physical memory of each. 0: what the environment variable WEIR_HOST_BYTES says (a number of bytes, or one with
     * KiB, MiB, GiB, TiB (or K, M, G, T; units of 1024) or kB, MB, GB, TB (units of 1000) behind it, in upper or lower
     * case), or 64 GiB where it is not set. Only what is written takes memory of the machine. */
    uint64_t total;
    /** Size of a granule: a power of two and a multiple of the page size. */
    uint64_t granularity;
    /** Alignment and rounding of blocks: a power of two that divides the granularity. */
    uint64_t alignment;
    /** Nanoseconds that a synchronisation waits before it times out. 0: for ever. */
    uint64_t patience;
};

/** The defaults: one device, `total` 0, granules of 2 MiB, blocks of 512 bytes, no time limit. */
int weir_host_config_init(struct weir_host_config *config);

/** Makes a runtime on the host driver. Either configuration may be null: the defaults. Linux only. */
int weir_create_host(const struct weir_config *config, const struct weir_host_config *host, weir_runtime *runtime);

/** Makes a runtime on a driver of the program's own. `config` may be null: the defaults. The table is copied. */
int weir_create_with_driver(const struct weir_config *config, const struct weir_driver_ops *ops,
                            weir_runtime *runtime);

/** Bytes of a runtime beside its arenas, and what aligning them may take. Part of WEIR_STORAGE_BYTES. */
#define WEIR_RUNTIME_BYTES 10752
/** Kinds of free blocks that are kept apart. Part of WEIR_STORAGE_BYTES. */
#define WEIR_STORAGE_KINDS(streams, pools)                                                                             \
    (16 * (pools) > 5 * (pools) + 2 * (streams) ? 16 * (pools) : 5 * (pools) + 2 * (streams))
/** Bytes for each of these kinds. Part of WEIR_STORAGE_BYTES. */
#define WEIR_STORAGE_KIND(blocks)                                                                                      \
    (32 + ((blocks) <= 2048 ? 672 : (blocks) <= 65536 ? (blocks) / 2 + (blocks) / 6 : 21504))

/**
 * Bytes of storage that a runtime of these capacities takes on bare metal, log and all: a little more than it needs on any
 * machine. Constant where its arguments are: `static uint64_t storage[WEIR_STORAGE_BYTES(...) / 8 + 1];`
 */
#define WEIR_STORAGE_BYTES(streams, events, markers, pools, blocks, granules, labels, pages)                           \
    (WEIR_RUNTIME_BYTES + 152 * (streams) + (8 * (streams) + 8) * ((streams) + 2 * (events) + (markers) + 32) +        \
     64 * (events) + 40 * (markers) + 384 * (pools) + 8 * (pools) * (streams) +                                        \
     WEIR_STORAGE_KINDS(streams, pools) * WEIR_STORAGE_KIND(blocks) + 72 * (blocks) + 40 * (granules) +                \
     80 * (labels) + 4096 * (pages))

/**
 * Bare metal only: makes a runtime in `bytes` bytes at `storage`, which are the runtime's alone until weir_destroy. There
 * is no default for `config`, whose `log_path` must be null. WEIR_CAPACITY: the storage is too small for the capacities
 * (WEIR_STORAGE_BYTES is enough), or four runtimes are there already.
 */
int weir_create_static(void *storage, size_t bytes, const struct weir_config *config,
                       const struct weir_driver_ops *ops, weir_runtime *runtime);

/**
 * Waits for the calls about the runtime that other threads are in (later ones answer WEIR_BAD_HANDLE) and for the
 * devices' work, gives all memory back, ends the host streams and writes the rest of the log. When it returns, no
 * function of the program's (driver, log) is called any more. The runtime and all its handles are gone then, also where
 * the answer says that something of this failed, or WEIR_SYSTEM that the log is not whole. Nothing was done only after
 * WEIR_BAD_HANDLE, and after WEIR_BUSY: it was called from where it would wait for itself, a kernel of the runtime's or a
 * function that a call about the runtime is in, such as the driver's.
 */
int weir_destroy(weir_runtime runtime);

/**
 * Ends the current page of the log and writes everything. WEIR_SYSTEM where records were lost since the runtime was
 * made; the text says how many and why.
 */
int weir_log_flush(weir_runtime runtime);

/** Checks the whole bookkeeping. WEIR_CORRUPT: the text names what is wrong. Takes time linear in the blocks. */
int weir_verify(weir_runtime runtime);

/** Driver calls that succeeded, and what weir did of its own accord, since the runtime was made. */
struct weir_counters {
    uint64_t create;
    uint64_t destroy;
    uint64_t map;
    uint64_t unmap;
    /** Markers of weir's own. */
    uint64_t mark;
    /** Queries for reuse. */
    uint64_t query;
    /** Waits that weir inserted. */
    uint64_t wait;
    uint64_t synchronise;
    /** Driver calls that failed. */
    uint64_t failed;
    /** Records of the log that were lost. */
    uint64_t records_lost;
};

/** Reads the counters. */
int weir_get_counters(weir_runtime runtime, struct weir_counters *counters);

/* ----------------------------------------------------------------------------------------------- the vendors' drivers */

/**
 * Opens CUDA's driver interface (version 10.2 or later) and fills the table, which then goes to weir_create_with_driver
 * and in the end to weir_driver_close. Linux only. Tried on stand-ins of the vendors' libraries, not on hardware.
 *
 * `library`: an absolute path, or a file name that the system's loader looks for, of the vendor's library. Null: what the
 * environment variable WEIR_CUDA_LIBRARY says, and where that is not set, "libcuda.so.1". It stays loaded.
 *
 * One table drives all of the vendor's devices, by the vendor's numbers. The program makes its streams with the vendor's
 * functions, in the device's primary context, and registers them (weir_stream_register) with the handle as `native`;
 * streams of other contexts are refused where a call names them. The default stream (0) is understood while one device
 * alone is in use, CUDA's default stream of each thread not at all. A pool's memory is for its own device only.
 *
 * WEIR_SYSTEM: the library does not load. WEIR_BAD_DRIVER: it lacks a function, or its version does not do.
 * WEIR_DRIVER_ERROR: the vendor refused, often because there is no device. The text names the library, the function, the
 * versions, or the vendor's code. Codes below 0 in later errors are weir's own: -1 no memory on the host, -2 no such
 * device, -3 a stream of another context, -4 a default stream of nobody knows which device or thread, -5 a device was
 * asked whether it is complete, -6 the device cannot map memory.
 */
int weir_driver_cuda(const char *library, struct weir_driver_ops *ops);

/** The same for HIP (version 6.0 or later): WEIR_HIP_LIBRARY, "libamdhip64.so", alone or with .7 or .6 behind it. */
int weir_driver_hip(const char *library, struct weir_driver_ops *ops);

/**
 * The same for Ascend's ACL (interface version 1, CANN 8 or 9): WEIR_ACL_LIBRARY, "libascendcl.so". Streams are those of
 * a device's default context, which aclrtSetDevice makes. aclInit is called where the program did not, aclFinalize never.
 * A thread without a context has the default one after a call.
 */
int weir_driver_acl(const char *library, struct weir_driver_ops *ops);

/**
 * Closes what one of the above opened, after weir_destroy: destroys its events, lets go of its contexts, and empties the
 * table. Once for each table, however often it was copied. WEIR_INVALID_ARGUMENT: it is none of theirs, or is empty.
 */
int weir_driver_close(struct weir_driver_ops *ops);

/* ------------------------------------------------------------------------------------------------------------- pools */

/** Reuse that can be switched off: bits of `weir_pool_config.reuse`, attributes 1 to 3 of a pool. */
enum weir_reuse {
    /** Along the events that the program recorded and waited for. */
    WEIR_REUSE_EVENT = 1,
    /** Where the driver, asked without waiting, says that a free is complete. */
    WEIR_REUSE_OPPORTUNISTIC = 2,
    /** By making the stream wait on the device for another stream's free. */
    WEIR_REUSE_INTERNAL = 4
};

/** What comes first when nothing free is usable at once. */
enum weir_preference {
    /** Mapping new memory, as in CUDA. */
    WEIR_GROW_FIRST = 0,
    /** Waiting on the device, as in CANN. */
    WEIR_WAIT_FIRST = 1
};

/** What a synchronisation does with memory above the release threshold. */
enum weir_release {
    /** It gives it back; but where the same bytes were given back and mapped again for three rounds, the pool keeps what
     * recent rounds needed until demand falls. A round is the time between two synchronisations. */
    WEIR_RELEASE_HYSTERESIS = 0,
    /** It gives it back every time, as in CUDA and CANN. */
    WEIR_RELEASE_ALWAYS = 1
};

/** What comes before a refusal when memory was freed, but its work is not finished. */
enum weir_blocking {
    /** Nothing: an allocation never waits on the host. */
    WEIR_BLOCKING_NEVER = 0,
    /** The host waits for the work that holds most back, as long as that helps. A kernel of the host driver may not
     * allocate from such a pool: it might wait for itself. */
    WEIR_BLOCKING_WHEN_EXHAUSTED = 1
};

/** How a pool is made. */
struct weir_pool_config {
    /** sizeof(struct weir_pool_config); `weir_pool_config_init` sets it. */
    uint32_t size;
    /** The device whose memory the pool maps. */
    uint32_t device;
    /** The most physical memory that the pool may hold; rounded up to whole granules. 0: the device's total. */
    uint64_t limit;
    /** Reserved bytes that are kept at a synchronisation. More may be kept: see `release`. */
    uint64_t threshold;
    /** Bits of `enum weir_reuse`. */
    uint32_t reuse;
    /** One of `enum weir_preference`. */
    uint32_t preference;
    /** Requests up to this size are packed apart from larger ones. UINT64_MAX: an eighth of a granule. */
    uint64_t small_limit;
    /** The pool grows by at least this many bytes, in whole granules, as far as the limit and the device allow: fewer,
     * larger growths. 0: by no more than a request needs. */
    uint64_t growth_step;
    /** One of `enum weir_release`. */
    uint32_t release;
    /** One of `enum weir_blocking`. */
    uint32_t blocking;
    /** How many times its limit the pool reserves as addresses. 0: as many as whole granules need in the worst case
     * where the device's addresses are cheap (WEIR_DRIVER_SPARSE_ADDRESSES), 1 elsewhere. */
    uint32_t addresses;
    /** Zero. */
    uint32_t reserved;
};

/** The defaults: limit = the device's total, threshold 0, all reuse, growing first and by what is needed, release with
 * hysteresis, no blocking, addresses as the device has them. */
int weir_pool_config_init(struct weir_pool_config *config, uint32_t device);

/** Makes a pool. */
int weir_pool_create(weir_runtime runtime, const struct weir_pool_config *config, weir_pool *pool);

/** The device's default pool, made on first use. */
int weir_pool_default(weir_runtime runtime, uint32_t device, weir_pool *pool);

/** What to do with blocks that are live when their pool is destroyed. */
enum weir_destroy_how {
    /** Refuse with WEIR_LIVE_BLOCKS. */
    WEIR_DESTROY_IF_EMPTY = 0,
    /** Take everything queued on the device's streams as their last use. */
    WEIR_DESTROY_WITH_LIVE_BLOCKS = 1
};

/** Destroys a pool. `how` is one of `enum weir_destroy_how`. */
int weir_pool_destroy(weir_runtime runtime, weir_pool pool, uint32_t how);

/** The attributes of a pool; the numbers are those of CUDA and CANN. */
enum weir_pool_attribute {
    /** WEIR_REUSE_EVENT: 0 or 1. */
    WEIR_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
    /** WEIR_REUSE_OPPORTUNISTIC: 0 or 1. */
    WEIR_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
    /** WEIR_REUSE_INTERNAL: 0 or 1. */
    WEIR_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
    /** Reserved bytes that are kept at a synchronisation. UINT64_MAX: nothing is ever released. */
    WEIR_ATTR_RELEASE_THRESHOLD = 4,
    /** Mapped physical bytes. Read only. */
    WEIR_ATTR_RESERVED_MEM_CURRENT = 5,
    /** The most of that since the last reset. Setting it to 0 resets it to the current value. */
    WEIR_ATTR_RESERVED_MEM_HIGH = 6,
    /** Bytes in live blocks. Read only. */
    WEIR_ATTR_USED_MEM_CURRENT = 7,
    /** The most of that since the last reset. Setting it to 0 resets it to the current value. */
    WEIR_ATTR_USED_MEM_HIGH = 8
};

/** Reads an attribute, one of `enum weir_pool_attribute`. */
int weir_pool_get_attribute(weir_runtime runtime, weir_pool pool, uint32_t attribute, uint64_t *value);

/** Sets an attribute, one of `enum weir_pool_attribute`. */
int weir_pool_set_attribute(weir_runtime runtime, weir_pool pool, uint32_t attribute, uint64_t value);

/** Freed bytes that the work of one stream holds. */
struct weir_pending_on {
    /** The stream. Synchronising it up to `until` lets them go. */
    weir_stream stream;
    /** The position that they wait for. */
    uint64_t until;
    /** How many bytes; 0: there is no such stream, and nothing else here counts. */
    uint64_t bytes;
};

/** What a trim reached. */
struct weir_trimmed {
    /** Reserved bytes afterwards, and what holds them: */
    uint64_t reserved;
    /** Bytes in live blocks. */
    uint64_t live;
    /** Freed bytes whose work is not complete. */
    uint64_t pending;
    /** Free bytes in granules that are used in part. */
    uint64_t partial;
    /** How many streams hold pending bytes. */
    uint64_t pending_streams;
    /** The four of them that hold most, most first. Bytes that several streams hold count with each. */
    struct weir_pending_on pending_on[4];
};

/** Gives free granules back until at most `keep` bytes are reserved, or no more can go. `trimmed` may be null. */
int weir_pool_trim(weir_runtime runtime, weir_pool pool, uint64_t keep, struct weir_trimmed *trimmed);

/** The kinds of memory that an allocation was made of: places in `weir_pool_stats.reuse`. */
enum weir_source {
    /** Freed on the same stream. */
    WEIR_SOURCE_SAME_STREAM = 0,
    /** Known to be complete on the device. */
    WEIR_SOURCE_SETTLED = 1,
    /** Ordered along the program's events. */
    WEIR_SOURCE_EVENT = 2,
    /** The driver, asked, said that it is complete. */
    WEIR_SOURCE_OPPORTUNISTIC = 3,
    /** A wait was inserted. */
    WEIR_SOURCE_INTERNAL = 4,
    /** New granules were mapped. */
    WEIR_SOURCE_GROW = 5,
    /** How many there are. */
    WEIR_SOURCES = 6
};

/** What a pool holds and did. */
struct weir_pool_stats {
    /** The pool's range of addresses: where it begins, and its size. */
    weir_ptr base;
    uint64_t range;
    /** Bytes in live blocks, as rounded up, and the most of them since the last reset. */
    uint64_t used;
    uint64_t used_high;
    /** Mapped physical bytes, and the most of them since the last reset. */
    uint64_t reserved;
    uint64_t reserved_high;
    /** Bytes in live blocks as they were asked for, and the most of them. */
    uint64_t requested;
    uint64_t requested_high;
    /** Number of live blocks. */
    uint64_t live_blocks;
    /** Allocations that succeeded, frees that succeeded, allocations that were refused. */
    uint64_t mallocs;
    uint64_t frees;
    uint64_t refused;
    /** Bytes that a synchronisation gave back and that were mapped again before the next. */
    uint64_t thrash;
    /** Bytes that a synchronisation leaves beyond the threshold, where so many are reserved: see
     * WEIR_RELEASE_HYSTERESIS. */
    uint64_t kept;
    /** Allocations by `enum weir_source`. */
    uint64_t reuse[WEIR_SOURCES];
};

/** Reads a pool's statistics. */
int weir_pool_get_stats(weir_runtime runtime, weir_pool pool, struct weir_pool_stats *stats);

/** Gets, for one stream, how many freed bytes its work holds, and the position that they wait for. May call anything. */
typedef void (*weir_pending_fn)(void *user, weir_stream stream, uint64_t until, uint64_t bytes);

/** Names every stream that holds freed bytes which `stream` may not use yet. */
int weir_pool_pending(weir_runtime runtime, weir_pool pool, weir_stream stream, weir_pending_fn fn, void *user);

/**
 * Told that an allocation of `bytes` (as rounded up) from this pool is about to be refused, so that the program can give
 * memory back, in the pool or elsewhere on the device. Answers nonzero where it did: everything is tried again then, and
 * the function is called again where that is not enough, at most 8 times in one allocation. 0: the allocation is refused.
 *
 * It runs on the thread that allocates, and no lock of weir's is held: it may do whatever may be done there. Only two
 * things about the same runtime answer WEIR_BUSY: to allocate, for which it would be called in turn, and to destroy a
 * pool, a stream or the runtime, which would wait for the allocation that it is called for.
 */
typedef int (*weir_pressure_fn)(void *user, weir_pool pool, uint32_t device, uint64_t bytes);

/**
 * Sets the function that is called before an allocation is refused, in place of the one before; null: none. The
 * `try` functions do not call it. It may be called on several threads at once.
 *
 * It may be set at any time, also from within the function itself. An allocation that begins afterwards calls the new
 * one. One that another thread is in at that moment may still call the old one, with the `user` that was set with it, so
 * what that points to must stay until such allocations have returned; weir_destroy waits for them.
 */
int weir_set_pressure(weir_runtime runtime, weir_pressure_fn fn, void *user);

/* ------------------------------------------------------------------------------------------------- streams and events */

/** How a stream orders itself against others of its device. */
enum weir_stream_kind {
    /** Ordered only by events. */
    WEIR_STREAM_NON_BLOCKING = 0,
    /** Waits for the legacy default stream's work and is waited for by it. */
    WEIR_STREAM_BLOCKING = 1,
    /** The legacy default stream. */
    WEIR_STREAM_LEGACY = 2,
    /** A thread's own default stream: as WEIR_STREAM_BLOCKING. */
    WEIR_STREAM_PER_THREAD = 3
};

/** Makes a stream of the host driver: a thread that runs kernels. `kind` is one of `enum weir_stream_kind`. */
int weir_stream_create(weir_runtime runtime, uint32_t device, uint32_t kind, weir_stream *stream);

/**
 * Makes a stream of the program's own driver known. `native` is the number by which the driver's functions are told of
 * it, `context` an identity of the driver's (0 if it has none): the same three may not be registered twice.
 */
int weir_stream_register(weir_runtime runtime, uint32_t device, uint32_t kind, uint64_t native, uint64_t context,
                         weir_stream *stream);

/**
 * Finishes what is queued on a host stream and ends it, or forgets a registered one. Meanwhile nothing more can be
 * queued on it, and its work still counts as the device's.
 */
int weir_stream_destroy(weir_runtime runtime, weir_stream stream);

/** Waits on the host for everything queued on the stream. Memory above the pools' thresholds is given back then, as
 * `enum weir_release` says. */
int weir_stream_synchronize(weir_runtime runtime, weir_stream stream);

/** Waits on the host for everything queued on the device's streams, and gives memory back as above. */
int weir_device_synchronize(weir_runtime runtime, uint32_t device);

/** Makes an event. */
int weir_event_create(weir_runtime runtime, weir_event *event);

/** Destroys an event. Waits that took it keep what they took. */
int weir_event_destroy(weir_runtime runtime, weir_event event);

/** Makes the event stand for everything queued on the stream so far. */
int weir_event_record(weir_runtime runtime, weir_event event, weir_stream stream);

/** Makes what is queued on the stream from now on wait for what the event stands for now. */
int weir_stream_wait_event(weir_runtime runtime, weir_stream stream, weir_event event);

/** Asks, without waiting. `*complete`: 1 or 0. */
int weir_event_query(weir_runtime runtime, weir_event event, int *complete);

/** Waits on the host for what the event stands for, and gives memory back as above. */
int weir_event_synchronize(weir_runtime runtime, weir_event event);

/* ------------------------------------------------------------------------------------------------------------- memory */

/** Allocates in the order of the stream: what is queued on it from now on may use the memory. */
int weir_malloc_async(weir_runtime runtime, weir_pool pool, uint64_t bytes, weir_stream stream, weir_ptr *ptr);

/** The same, under a label, which the log shows: a number that weir_label gave out, or 0 for none. */
int weir_malloc_labelled(weir_runtime runtime, weir_pool pool, uint64_t bytes, weir_stream stream, uint32_t label,
                         weir_ptr *ptr);

/** The same as weir_malloc_async, but WEIR_BUSY instead of waiting for the lock. */
int weir_try_malloc_async(weir_runtime runtime, weir_pool pool, uint64_t bytes, weir_stream stream, weir_ptr *ptr);

/**
 * Frees in the order of the stream: after what is queued on it so far, the memory is nobody's. Makes no driver call, so
 * it may be called wherever the program runs.
 */
int weir_free_async(weir_runtime runtime, weir_ptr ptr, weir_stream stream);

/** The same, but WEIR_BUSY instead of waiting for the lock. */
int weir_try_free_async(weir_runtime runtime, weir_ptr ptr, weir_stream stream);

/** When a use of another stream counts from. */
enum weir_use_until {
    /** What was queued on the stream before this call. */
    WEIR_USE_NOW = 0,
    /** Whatever is queued on the stream until the block is freed. */
    WEIR_USE_FREE = 1
};

/** Notes that another stream uses a block: reuse waits for that too. `until` is one of `enum weir_use_until`. */
int weir_record_use(weir_runtime runtime, weir_ptr ptr, weir_stream stream, uint32_t until);

/** A live block. */
struct weir_block {
    /** Its pool. */
    weir_pool pool;
    /** Where it begins. */
    weir_ptr start;
    /** Its size, and the size that was asked for. */
    uint64_t given;
    uint64_t asked;
    /** Counts the runtime's allocations from 1; never used again. */
    uint64_t allocation;
    /** Its label; 0 is none. */
    uint32_t label;
    /** Zero. */
    uint32_t reserved;
};

/** The live block that starts at an address. WEIR_BAD_POINTER: there is none. */
int weir_block_at(weir_runtime runtime, weir_ptr ptr, struct weir_block *block);

/** A number for a name (UTF-8, at most 64 bytes), to be given to allocations. The same name has the same number. */
int weir_label(weir_runtime runtime, const char *name, uint32_t *label);

/** Writes a mark such as "step 12" into the log. */
int weir_mark(weir_runtime runtime, const char *name);

/* ---------------------------------------------------------------------------------------------------- the host driver */

/** A kernel that is running. Known to the kernel's function only, and only until it returns. */
struct weir_kernel;

/**
 * A kernel: runs on the stream's thread when everything queued before it is done. It may allocate, free and queue, but
 * not synchronise, and not destroy its stream: it would wait for itself. weir_destroy of its runtime is refused.
 */
typedef void (*weir_kernel_fn)(struct weir_kernel *kernel, void *user);

/** Queues a kernel. What `user` points to must stay until it has run. */
int weir_host_launch(weir_runtime runtime, weir_stream stream, weir_kernel_fn fn, void *user);

/** What a kernel does with bytes. */
enum weir_access {
    /** It only reads them. */
    WEIR_READ = 0,
    /** It writes them, and may read them too. */
    WEIR_WRITE = 1
};

/**
 * Inside a kernel: the bytes of device memory at `ptr`, to be used until the kernel returns. Null, and the device has a
 * fault, where they are not all mapped, or where a kernel that runs at the same time is in the way. `access` is one of
 * `enum weir_access`.
 */
void *weir_kernel_bytes(struct weir_kernel *kernel, weir_ptr ptr, uint64_t bytes, uint32_t access);

/** Inside a kernel: reports that it went wrong, which is a fault of the device. A null message is none. */
void weir_kernel_fail(struct weir_kernel *kernel, const char *message);

/** Queues a copy to the device. The bytes are taken before the call returns. */
int weir_host_copy_to_device(weir_runtime runtime, weir_stream stream, weir_ptr to, const void *from, uint64_t bytes);

/** Queues a copy to the host. `to` must stay until the stream has come to it. */
int weir_host_copy_to_host(weir_runtime runtime, weir_stream stream, void *to, weir_ptr from, uint64_t bytes);

/** Queues a copy within a device. The two runs may not overlap. */
int weir_host_copy(weir_runtime runtime, weir_stream stream, weir_ptr to, weir_ptr from, uint64_t bytes);

/** Queues a fill with one byte's value. */
int weir_host_fill(weir_runtime runtime, weir_stream stream, weir_ptr to, uint8_t value, uint64_t bytes);

/**
 * Whether a device has a fault: `*faulted` is 1 or 0, and its text is copied as by `weir_last_error` (`buffer` may be
 * null). A device with a fault runs no more kernels, and synchronisations fail.
 */
int weir_host_fault(weir_runtime runtime, uint32_t device, int *faulted, char *buffer, size_t size);

/** Makes a device usable again after a fault. */
int weir_host_clear_fault(weir_runtime runtime, uint32_t device);

/** Bytes of the machine's memory that a device takes now. */
int weir_host_resident(weir_runtime runtime, uint32_t device, uint64_t *bytes);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_H */
