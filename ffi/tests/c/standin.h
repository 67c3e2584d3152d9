/*
 * A device on host memory for stand-ins of the vendors' libraries: standin_cuda.c (also HIP) and standin_acl.c give it
 * the vendors' names. Memory is a memfd that is really mapped and unmapped. Streams are queues that are worked off as
 * late as possible: as far as a synchronisation needs, or all of it when a test says so; so whoever relies on order
 * that was never asked for reads other bytes than it wrote.
 *
 * It is strict: what the vendors document as wrong is refused, and the first such call is kept as a violation.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/** How calls of the device end; each vendor has numbers of its own for them. */
enum standin_result {
    STANDIN_OK,
    STANDIN_PENDING,
    /** An argument breaks a rule. */
    STANDIN_INVALID,
    STANDIN_NO_DEVICE,
    STANDIN_NO_CONTEXT,
    /** A stream or an event is not of the current context. */
    STANDIN_OTHER_CONTEXT,
    STANDIN_BAD_HANDLE,
    STANDIN_EXHAUSTED
};

struct standin_event;
struct standin_stream;

/** A context: the one that a device's streams usually are of, or one that the program made. */
struct standin_context {
    unsigned device;
    /** How often it was asked for and not yet given back. */
    unsigned uses;
};

/* ------------------------------------------------------------------------------------------ for the vendors' names */

/** Begins a call: takes the lock. Counts it; answers the code that a test wants, or 0. */
int standin_begin(const char *name);
/** Ends a call. */
void standin_end(void);
/** Keeps what was wrong, and answers STANDIN_INVALID. */
int standin_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

unsigned standin_devices(void);
uint64_t standin_granule(void);
uint64_t standin_total(void);
struct standin_context *standin_context(unsigned device);
/** The calling thread's context, or null. */
struct standin_context *standin_current(void);
void standin_set_current(struct standin_context *context);

int standin_reserve(uint64_t bytes, uint64_t alignment, uint64_t *base);
/** `bytes` 0: whatever it is. */
int standin_release(uint64_t base, uint64_t bytes);
int standin_create(unsigned device, uint64_t bytes, uint64_t *handle);
int standin_destroy(uint64_t handle);
int standin_map(uint64_t at, uint64_t bytes, uint64_t offset, uint64_t handle, int with_access);
int standin_access(uint64_t at, uint64_t bytes, unsigned device);
/** `bytes` 0: whatever is mapped there. */
int standin_unmap(uint64_t at, uint64_t bytes);

int standin_event_create(struct standin_event **event);
int standin_event_destroy(struct standin_event *event);
/** Both must be of the current context. */
int standin_record(struct standin_event *event, struct standin_stream *stream);
int standin_wait(struct standin_stream *stream, struct standin_event *event);
int standin_event_query(struct standin_event *event);
int standin_event_was_recorded(const struct standin_event *event);
int standin_event_synchronise(struct standin_event *event);
int standin_stream_query(struct standin_stream *stream);
int standin_stream_synchronise(struct standin_stream *stream);
/** A stream of the current context. The handle is the one that was given back last. */
int standin_stream_create(struct standin_stream **stream);
/** Gives a stream back: when its work is done, or at once, its work given up. */
int standin_stream_destroy(struct standin_stream *stream);
int standin_stream_drop(struct standin_stream *stream);
/** Gives up a stream's work: whoever waits for it goes on. */
int standin_stream_abort(struct standin_stream *stream);
/** The event stands for nothing: waits for it are passed over. */
int standin_reset(struct standin_event *event, struct standin_stream *stream);
/** Memory outside all ranges; it counts against the device's total. */
int standin_malloc(uint64_t bytes, uint64_t *at);
int standin_free(uint64_t at);
/** The context of a device that programs make for themselves; one at a time. */
struct standin_context *standin_foreign(unsigned device);
/** Queues a call that uses these bytes; it is made once, or never where the stream's work is given up. */
int standin_queue(struct standin_stream *stream, uint64_t at, uint64_t bytes, void (*perform)(void *argument),
                  void *argument);
/** Whether kernels may use these bytes; if not, that is kept as wrong. */
int standin_may_use(uint64_t at, uint64_t bytes);
/** All streams of the current context. */
int standin_synchronise(void);
/** The default stream that all threads share (`1`, and null) orders itself against this one, as CUDA documents. */
void standin_stream_blocks(struct standin_stream *stream);
/** A number that no other stream has had; 0: it is none. */
uint64_t standin_stream_id(struct standin_stream *handle);
/** The stream's calls are captured from now on (1), or no longer (0): nothing is queued. */
int standin_capture(struct standin_stream *handle, int on);
/** Whether it is captured; -1: it is none. */
int standin_is_captured(struct standin_stream *handle);
/** How many streams are. */
unsigned standin_captures(void);
/** All that is in a context ends: its work, streams and events. */
void standin_context_end(struct standin_context *context);
/** The context of a stream; null: it is none. A null stream is the current context's default one. */
struct standin_context *standin_owner(struct standin_stream *stream);

/* -------------------------------------------------------------------------------------------------- for the tests */

/** Begins anew, with so many devices, and forgets whatever is left. */
EXPORT void standin_setup(unsigned devices, uint64_t granule, uint64_t total);
/** After `after` more calls of this name (null: of any), `times` of them fail with this code. */
EXPORT void standin_fail(const char *name, uint64_t after, uint64_t times, int code);
/** How often the function was called; null: all of them. */
EXPORT uint64_t standin_calls(const char *name);
/** The version that the library says it has; 0: one that does. */
EXPORT void standin_version(int version);
EXPORT int standin_wanted_version(void);
/** What a device is: 0 as most; 1 (CUDA) it cannot map memory, (ACL) it has DDR and no HBM; 2 the same, and says so by
 * an error. */
EXPORT void standin_kind(int kind);
EXPORT int standin_wanted_kind(void);
/** How many events there can be. */
EXPORT void standin_event_limit(unsigned limit);
/** New events have the handles of destroyed ones, and waits for events that were never recorded are passed over. */
EXPORT void standin_reuse_events(void);
/** From now on no stream waits for another one: a device that does not keep its promises. */
EXPORT void standin_ignore_waits(void);
/** What was done wrong first; empty: nothing. */
EXPORT const char *standin_violation(void);
/** Streams as the program makes them, in the device's usual context, or in one of the program's own. */
EXPORT struct standin_stream *standin_stream(unsigned device);
EXPORT struct standin_stream *standin_foreign_stream(unsigned device);
/** Makes no context current on this thread, or a device's usual one (counted from 1). */
EXPORT void standin_make_current(unsigned device);
EXPORT unsigned standin_is_current(void);
/** Queues a kernel: it expects `expected` in all bytes, unless below 0, and writes `value`, unless below 0. */
EXPORT void standin_kernel(struct standin_stream *stream, uint64_t at, uint64_t bytes, int expected, int value);
/** The devices do everything that is queued. */
EXPORT void standin_run(void);

/** What is there now. */
struct standin_left {
    uint64_t reservations;
    uint64_t handles;
    uint64_t mappings;
    uint64_t events;
    uint64_t context_uses;
    uint64_t queued;
};
EXPORT void standin_left(struct standin_left *left);

#endif /* STANDIN_H */
