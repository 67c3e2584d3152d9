/* See standin.h. */
#define _GNU_SOURCE
#include "standin.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_DEVICES = 4, MAX_RANGES = 64, MAX_HANDLES = 512, MAX_NAMES = 64, MAX_STREAMS = 256, MAX_BLOCKS = 64 };

enum { RECORD, WAIT, KERNEL, CALL };

/* A piece of work in a stream's queue. */
struct work {
    struct work *next;
    int kind;
    /* WAIT: how far another stream must have come. */
    struct standin_stream *other;
    uint64_t position;
    /* KERNEL, CALL: what it uses */
    uint64_t at, bytes;
    /* KERNEL */
    int expected, value;
    /* CALL */
    void (*perform)(void *argument);
    void *argument;
};

struct standin_stream {
    struct standin_context *context;
    struct work *head, **tail;
    uint64_t queued, done;
    /* Destroyed ones stay: their handles are given out again, and their positions go on. */
    int gone;
    int blocking, captured;
    uint64_t id;
};

struct standin_event {
    struct standin_context *context;
    int live;
    struct standin_event *next;
    int was_reset, was_captured;
    /* The latest record; null: never recorded. */
    struct standin_stream *stream;
    uint64_t position;
};

struct range {
    uint64_t base, bytes;
    /* Where the system's mapping begins, which the range is aligned in. */
    void *whole;
    uint64_t whole_bytes;
    /* The device whose memory it holds, counted from 1. */
    unsigned device;
};

struct handle {
    int live;
    unsigned device;
    /* Where it is mapped; 0: nowhere. */
    uint64_t at;
    int with_access;
};

struct failure {
    const char *name;
    uint64_t after, times;
    int code;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct standin_context *current;

static struct {
    unsigned devices;
    uint64_t granule, total, created[MAX_DEVICES];
    int files[MAX_DEVICES];
    struct standin_context contexts[MAX_DEVICES], foreign[MAX_DEVICES];
    struct standin_stream defaults[MAX_DEVICES];
    struct range ranges[MAX_RANGES];
    struct handle handles[MAX_HANDLES];
    struct standin_stream *streams[MAX_STREAMS];
    unsigned stream_count;
    unsigned events, event_limit;
    int reuses_events;
    struct standin_event *spare;
    struct {
        uint64_t at, bytes;
        unsigned device;
    } blocks[MAX_BLOCKS];
    struct failure failure;
    struct {
        const char *name;
        uint64_t calls;
    } names[MAX_NAMES];
    uint64_t calls, ids;
    int version, kind;
    char violation[256];
} world;

int standin_wrong(const char *format, ...)
{
    if (world.violation[0] == 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(world.violation, sizeof world.violation, format, arguments);
        va_end(arguments);
    }
    return STANDIN_INVALID;
}

int standin_begin(const char *name)
{
    pthread_mutex_lock(&lock);
    if (world.devices == 0) {
        pthread_mutex_unlock(&lock);
        standin_setup(2, (uint64_t)2 << 20, (uint64_t)256 << 20);
        pthread_mutex_lock(&lock);
    }
    world.calls++;
    for (unsigned i = 0; i < MAX_NAMES; i++) {
        if (world.names[i].name == NULL || strcmp(world.names[i].name, name) == 0) {
            world.names[i].name = name;
            world.names[i].calls++;
            break;
        }
    }
    struct failure *failure = &world.failure;
    if (failure->times == 0 || (failure->name != NULL && strcmp(failure->name, name) != 0)) {
        return 0;
    }
    if (failure->after > 0) {
        failure->after--;
        return 0;
    }
    failure->times--;
    return failure->code;
}

void standin_end(void)
{
    pthread_mutex_unlock(&lock);
}

unsigned standin_devices(void)
{
    return world.devices;
}

uint64_t standin_granule(void)
{
    return world.granule;
}

uint64_t standin_total(void)
{
    return world.total;
}

struct standin_context *standin_context(unsigned device)
{
    return device < world.devices ? &world.contexts[device] : NULL;
}

struct standin_context *standin_current(void)
{
    return current;
}

void standin_set_current(struct standin_context *context)
{
    current = context;
}

/* ----------------------------------------------------------------------------------------------------------- memory */

static struct range *range_of(uint64_t at, uint64_t bytes)
{
    for (unsigned i = 0; i < MAX_RANGES; i++) {
        struct range *range = &world.ranges[i];
        if (range->bytes != 0 && at >= range->base && bytes <= range->bytes &&
            at - range->base <= range->bytes - bytes) {
            return range;
        }
    }
    return NULL;
}

static struct handle *mapped_at(uint64_t at)
{
    for (unsigned i = 0; i < MAX_HANDLES; i++) {
        struct handle *handle = &world.handles[i];
        if (handle->live && handle->at != 0 && at >= handle->at && at - handle->at < world.granule) {
            return handle;
        }
    }
    return NULL;
}

static int put(uint64_t at, uint64_t bytes, int access, int file, uint64_t from)
{
    int how = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED : MAP_SHARED | MAP_FIXED;
    void *put = mmap((void *)(uintptr_t)at, bytes, access, how, file, (off_t)from);
    return put == MAP_FAILED ? STANDIN_EXHAUSTED : STANDIN_OK;
}

int standin_reserve(uint64_t bytes, uint64_t alignment, uint64_t *base)
{
    struct range *range = NULL;
    for (unsigned i = 0; i < MAX_RANGES && range == NULL; i++) {
        range = world.ranges[i].bytes == 0 ? &world.ranges[i] : NULL;
    }
    if (bytes == 0 || bytes % world.granule != 0) {
        return standin_wrong("reserved %llu bytes, no multiple of the granularity", (unsigned long long)bytes);
    }
    if ((alignment & (alignment - 1)) != 0) {
        return standin_wrong("reserved with an alignment of %llu", (unsigned long long)alignment);
    }
    uint64_t step = alignment > world.granule ? alignment : world.granule;
    void *whole = MAP_FAILED;
    if (range != NULL) {
        whole = mmap(NULL, bytes + step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (whole == MAP_FAILED) {
        return STANDIN_EXHAUSTED;
    }
    uint64_t start = ((uint64_t)(uintptr_t)whole + step - 1) / step * step;
    *range = (struct range){start, bytes, whole, bytes + step, 0};
    *base = start;
    return STANDIN_OK;
}

int standin_release(uint64_t base, uint64_t bytes)
{
    struct range *range = range_of(base, 1);
    if (range == NULL || range->base != base || (bytes != 0 && bytes != range->bytes)) {
        return standin_wrong("released addresses that are no whole range");
    }
    for (uint64_t at = base; at < base + range->bytes; at += world.granule) {
        if (mapped_at(at) != NULL) {
            return standin_wrong("released addresses where memory is mapped");
        }
    }
    munmap(range->whole, range->whole_bytes);
    range->bytes = 0;
    return STANDIN_OK;
}

int standin_create(unsigned device, uint64_t bytes, uint64_t *handle)
{
    if (bytes != world.granule) {
        return standin_wrong("created %llu bytes, not one granule", (unsigned long long)bytes);
    }
    if (world.created[device] + bytes > world.total) {
        return STANDIN_EXHAUSTED;
    }
    for (unsigned i = 0; i < MAX_HANDLES; i++) {
        if (!world.handles[i].live) {
            world.handles[i] = (struct handle){.live = 1, .device = device};
            world.created[device] += bytes;
            *handle = i + 0x1000;
            return STANDIN_OK;
        }
    }
    return STANDIN_EXHAUSTED;
}

static struct handle *handle_of(uint64_t number)
{
    uint64_t place = number - 0x1000;
    return place < MAX_HANDLES && world.handles[place].live ? &world.handles[place] : NULL;
}

int standin_destroy(uint64_t number)
{
    struct handle *handle = handle_of(number);
    if (handle == NULL) {
        return standin_wrong("destroyed a handle that is none");
    }
    if (handle->at != 0) {
        return standin_wrong("destroyed a handle that is mapped");
    }
    off_t from = (off_t)((uint64_t)(handle - world.handles) * world.granule);
    fallocate(world.files[handle->device], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, (off_t)world.granule);
    world.created[handle->device] -= world.granule;
    handle->live = 0;
    return STANDIN_OK;
}

int standin_map(uint64_t at, uint64_t bytes, uint64_t offset, uint64_t number, int with_access)
{
    struct handle *handle = handle_of(number);
    struct range *range = range_of(at, bytes);
    if (handle == NULL || range == NULL || at % world.granule != 0) {
        return standin_wrong("mapped where nothing is reserved, unaligned, or a handle that is none");
    }
    if (offset != 0 || bytes != world.granule) {
        return standin_wrong("mapped a part of a handle");
    }
    if (mapped_at(at) != NULL || handle->at != 0) {
        return standin_wrong("mapped over a mapping, or a handle twice");
    }
    if (range->device != 0 && range->device != handle->device + 1) {
        return standin_wrong("mapped two devices' memory in one range");
    }
    uint64_t from = (uint64_t)(handle - world.handles) * world.granule;
    int access = with_access ? PROT_READ | PROT_WRITE : PROT_NONE;
    if (put(at, bytes, access, world.files[handle->device], from) != STANDIN_OK) {
        return STANDIN_EXHAUSTED;
    }
    range->device = handle->device + 1;
    handle->at = at;
    handle->with_access = with_access;
    return STANDIN_OK;
}

int standin_access(uint64_t at, uint64_t bytes, unsigned device)
{
    struct handle *handle = mapped_at(at);
    if (handle == NULL || handle->at != at || bytes != world.granule || handle->device != device) {
        return standin_wrong("gave access to what is no mapping of the device");
    }
    mprotect((void *)(uintptr_t)at, bytes, PROT_READ | PROT_WRITE);
    handle->with_access = 1;
    return STANDIN_OK;
}

/* Whether work that is queued will use these bytes. */
static int is_in_use(uint64_t at, uint64_t bytes)
{
    for (unsigned i = 0; i < world.stream_count; i++) {
        for (struct work *work = world.streams[i]->head; work != NULL; work = work->next) {
            if (work->kind >= KERNEL && work->at < at + bytes && at < work->at + work->bytes) {
                return 1;
            }
        }
    }
    return 0;
}

int standin_unmap(uint64_t at, uint64_t bytes)
{
    struct handle *handle = mapped_at(at);
    if (handle == NULL || handle->at != at || (bytes != 0 && bytes != world.granule)) {
        return standin_wrong("unmapped what is no whole mapping");
    }
    if (is_in_use(at, world.granule)) {
        return standin_wrong("unmapped memory that queued work uses");
    }
    if (put(at, world.granule, PROT_NONE, -1, 0) != STANDIN_OK) {
        return STANDIN_EXHAUSTED;
    }
    handle->at = 0;
    return STANDIN_OK;
}

/* ---------------------------------------------------------------------------------------------- streams and events */

/* Whether memory is of standin_malloc's. */
static int is_block(uint64_t at, uint64_t bytes)
{
    for (unsigned i = 0; i < MAX_BLOCKS; i++) {
        if (at >= world.blocks[i].at && at + bytes <= world.blocks[i].at + world.blocks[i].bytes) {
            return 1;
        }
    }
    return 0;
}

int standin_may_use(uint64_t begin, uint64_t bytes)
{
    int is_mapped = !is_block(begin, bytes);
    for (uint64_t at = begin; is_mapped && at < begin + bytes;
         at = at / world.granule * world.granule + world.granule) {
        struct handle *handle = mapped_at(at);
        if (handle == NULL || !handle->with_access) {
            standin_wrong("a kernel used memory that is not mapped, or that it may not use");
            return 0;
        }
    }
    return 1;
}

static void run_kernel(const struct work *work)
{
    if (!standin_may_use(work->at, work->bytes)) {
        return;
    }
    unsigned char *bytes = (unsigned char *)(uintptr_t)work->at;
    for (uint64_t i = 0; work->expected >= 0 && i < work->bytes; i++) {
        if (bytes[i] != work->expected) {
            standin_wrong("a kernel found %d where it expected %d", bytes[i], work->expected);
            return;
        }
    }
    if (work->value >= 0) {
        memset(bytes, work->value, work->bytes);
    }
}

/* Whatever is set up anew. */
static int ignores_waits;

void standin_ignore_waits(void)
{
    ignores_waits = 1;
}

/* Works a stream off up to a position, and others as far as it waits for them. A wait is for what was queued before it,
 * so this ends. */
static void run_until(struct standin_stream *stream, uint64_t position)
{
    while (stream->done < position) {
        struct work *work = stream->head;
        if (work->kind == WAIT && !ignores_waits && work->other->done < work->position) {
            run_until(work->other, work->position);
        }
        if (work->kind == KERNEL) {
            run_kernel(work);
        } else if (work->kind == CALL) {
            work->perform(work->argument);
        }
        stream->head = work->next;
        stream->done++;
        if (stream->head == NULL) {
            stream->tail = &stream->head;
        }
        free(work);
    }
}

static void append(struct standin_stream *stream, struct work what)
{
    struct work *work = malloc(sizeof *work);
    if (work == NULL) {
        abort();
    }
    *work = what;
    work->next = NULL;
    *stream->tail = work;
    stream->tail = &work->next;
    stream->queued++;
}

static void append_wait(struct standin_stream *stream, struct standin_stream *other)
{
    if (other != stream && other->done < other->queued) {
        append(stream, (struct work){.kind = WAIT, .other = other, .position = other->queued});
    }
}

/* Queues work. On the default stream it comes after all blocking streams, and they come after it. */
static void queue(struct standin_stream *stream, struct work what)
{
    if (stream->captured) {
        return;
    }
    struct standin_stream *shared = &world.defaults[stream->context->device];
    for (unsigned i = 0; stream == shared && i < world.stream_count; i++) {
        if (world.streams[i]->blocking && world.streams[i]->context == stream->context) {
            append_wait(stream, world.streams[i]);
        }
    }
    if (stream->blocking && shared->context == stream->context) {
        append_wait(stream, shared);
    }
    append(stream, what);
}

static struct standin_stream *add_stream(struct standin_stream *stream, struct standin_context *context);

/* The thread's own default stream, by device. */
static __thread struct standin_stream *own[MAX_DEVICES];

static struct standin_stream *own_stream(struct standin_context *context)
{
    struct standin_stream **place = &own[context->device];
    if (*place == NULL) {
        *place = add_stream(malloc(sizeof **place), context);
        (*place)->blocking = 1;
    }
    return *place;
}

/* The stream of a handle; null and 1 are the current context's default one, 2 is the thread's own. */
static struct standin_stream *stream_of(struct standin_stream *stream)
{
    if ((uintptr_t)stream <= 2) {
        if (current == NULL || current != &world.contexts[current->device]) {
            return NULL;
        }
        return (uintptr_t)stream == 2 ? own_stream(current) : &world.defaults[current->device];
    }
    for (unsigned i = 0; i < world.stream_count; i++) {
        if (world.streams[i] == stream && !stream->gone) {
            return stream;
        }
    }
    return NULL;
}

int standin_queue(struct standin_stream *handle, uint64_t at, uint64_t bytes, void (*perform)(void *), void *argument)
{
    struct standin_stream *stream = stream_of(handle);
    if (stream == NULL) {
        return STANDIN_BAD_HANDLE;
    }
    queue(stream, (struct work){.kind = CALL, .at = at, .bytes = bytes, .perform = perform, .argument = argument});
    return STANDIN_OK;
}

struct standin_context *standin_owner(struct standin_stream *handle)
{
    struct standin_stream *stream = stream_of(handle);
    return stream != NULL ? stream->context : NULL;
}

int standin_event_create(struct standin_event **event)
{
    if (world.events >= world.event_limit) {
        return STANDIN_EXHAUSTED;
    }
    struct standin_event *new = world.reuses_events ? world.spare : NULL;
    if (new != NULL) {
        world.spare = new->next;
    } else {
        new = malloc(sizeof *new);
    }
    if (new == NULL) {
        return STANDIN_EXHAUSTED;
    }
    *new = (struct standin_event){0};
    new->context = current;
    new->live = 1;
    world.events++;
    *event = new;
    return STANDIN_OK;
}

/* Destroyed ones stay, so that a use after that is seen. */
static int is_event(const struct standin_event *event)
{
    if (event == NULL || !event->live) {
        standin_wrong("named an event that is none");
        return 0;
    }
    return 1;
}

int standin_event_destroy(struct standin_event *event)
{
    if (!is_event(event)) {
        return STANDIN_BAD_HANDLE;
    }
    event->live = 0;
    event->next = world.spare;
    world.spare = event;
    world.events--;
    return STANDIN_OK;
}

int standin_record(struct standin_event *event, struct standin_stream *handle)
{
    struct standin_stream *stream = stream_of(handle);
    if (!is_event(event) || stream == NULL) {
        return STANDIN_BAD_HANDLE;
    }
    if (event->context != stream->context) {
        standin_wrong("recorded an event of one context on a stream of another");
        return STANDIN_OTHER_CONTEXT;
    }
    queue(stream, (struct work){.kind = RECORD});
    event->was_captured = stream->captured;
    event->stream = stream->captured ? NULL : stream;
    event->position = stream->queued;
    return STANDIN_OK;
}

int standin_wait(struct standin_stream *handle, struct standin_event *event)
{
    struct standin_stream *stream = stream_of(handle);
    if (!is_event(event) || stream == NULL) {
        return STANDIN_BAD_HANDLE;
    }
    if (event->was_captured) {
        /* The stream joins the capture. */
        stream->captured = 1;
        return STANDIN_OK;
    }
    if (event->stream == NULL && (event->was_reset || world.reuses_events)) {
        return STANDIN_OK;
    }
    if (event->stream == NULL) {
        return standin_wrong("waited for an event that was never recorded");
    }
    queue(stream, (struct work){.kind = WAIT, .other = event->stream, .position = event->position});
    return STANDIN_OK;
}

int standin_event_was_recorded(const struct standin_event *event)
{
    return event->stream != NULL;
}

int standin_event_query(struct standin_event *event)
{
    if (!is_event(event)) {
        return STANDIN_BAD_HANDLE;
    }
    return event->stream != NULL && event->stream->done < event->position ? STANDIN_PENDING : STANDIN_OK;
}

int standin_event_synchronise(struct standin_event *event)
{
    if (!is_event(event)) {
        return STANDIN_BAD_HANDLE;
    }
    if (event->stream != NULL) {
        run_until(event->stream, event->position);
    }
    return STANDIN_OK;
}

int standin_stream_query(struct standin_stream *handle)
{
    struct standin_stream *stream = stream_of(handle);
    if (stream == NULL) {
        return STANDIN_BAD_HANDLE;
    }
    if (stream->captured) {
        return standin_wrong("asked a stream that is captured");
    }
    return stream->done < stream->queued ? STANDIN_PENDING : STANDIN_OK;
}

int standin_stream_synchronise(struct standin_stream *handle)
{
    struct standin_stream *stream = stream_of(handle);
    if (stream == NULL) {
        return STANDIN_BAD_HANDLE;
    }
    if (stream->captured) {
        return standin_wrong("waited for a stream that is captured");
    }
    run_until(stream, stream->queued);
    return STANDIN_OK;
}

static void run_context(const struct standin_context *context)
{
    for (unsigned i = 0; i < world.stream_count; i++) {
        if (context == NULL || world.streams[i]->context == context) {
            run_until(world.streams[i], world.streams[i]->queued);
        }
    }
}

int standin_synchronise(void)
{
    if (current == NULL) {
        return STANDIN_NO_CONTEXT;
    }
    run_context(current);
    return STANDIN_OK;
}

/* -------------------------------------------------------------------------------------------------------- the tests */

static struct standin_stream *add_stream(struct standin_stream *stream, struct standin_context *context)
{
    if (stream == NULL || world.stream_count == MAX_STREAMS) {
        abort();
    }
    *stream = (struct standin_stream){.context = context, .id = ++world.ids};
    stream->tail = &stream->head;
    world.streams[world.stream_count++] = stream;
    return stream;
}

int standin_stream_create(struct standin_stream **stream)
{
    if (current == NULL) {
        return STANDIN_NO_CONTEXT;
    }
    for (unsigned i = world.stream_count; i-- > 0;) {
        if (world.streams[i]->gone) {
            *stream = world.streams[i];
            (*stream)->gone = (*stream)->blocking = (*stream)->captured = 0;
            (*stream)->context = current;
            (*stream)->id = ++world.ids;
            return STANDIN_OK;
        }
    }
    if (world.stream_count == MAX_STREAMS) {
        return STANDIN_EXHAUSTED;
    }
    *stream = add_stream(malloc(sizeof **stream), current);
    return STANDIN_OK;
}

int standin_stream_abort(struct standin_stream *handle)
{
    struct standin_stream *stream = stream_of(handle);
    if (stream == NULL) {
        return STANDIN_BAD_HANDLE;
    }
    while (stream->head != NULL) {
        struct work *work = stream->head;
        stream->head = work->next;
        free(work);
    }
    stream->tail = &stream->head;
    stream->done = stream->queued;
    return STANDIN_OK;
}

int standin_stream_destroy(struct standin_stream *stream)
{
    if (stream == NULL || stream_of(stream) == NULL) {
        return STANDIN_BAD_HANDLE;
    }
    run_until(stream, stream->queued);
    stream->gone = 1;
    return STANDIN_OK;
}

int standin_stream_drop(struct standin_stream *stream)
{
    int result = stream != NULL ? standin_stream_abort(stream) : STANDIN_BAD_HANDLE;
    if (result == STANDIN_OK) {
        stream->gone = 1;
    }
    return result;
}

void standin_stream_blocks(struct standin_stream *stream)
{
    stream->blocking = 1;
}

uint64_t standin_stream_id(struct standin_stream *handle)
{
    struct standin_stream *stream = stream_of(handle);
    return stream != NULL ? stream->id : 0;
}

int standin_capture(struct standin_stream *handle, int on)
{
    struct standin_stream *stream = stream_of(handle);
    if (stream == NULL) {
        return STANDIN_BAD_HANDLE;
    }
    stream->captured = on;
    for (unsigned i = 0; !on && i < world.stream_count; i++) {
        /* The others have joined it. */
        world.streams[i]->captured = 0;
    }
    return STANDIN_OK;
}

int standin_is_captured(struct standin_stream *handle)
{
    struct standin_stream *stream = stream_of(handle);
    return stream != NULL ? stream->captured : -1;
}

unsigned standin_captures(void)
{
    unsigned captures = 0;
    for (unsigned i = 0; i < world.stream_count; i++) {
        captures += world.streams[i]->captured != 0;
    }
    return captures;
}

void standin_context_end(struct standin_context *context)
{
    run_context(context);
    for (unsigned i = 0; i < world.stream_count; i++) {
        struct standin_stream *stream = world.streams[i];
        int is_default = stream == &world.defaults[context->device] || stream == own[context->device];
        stream->gone |= stream->context == context && !is_default;
    }
}

int standin_reset(struct standin_event *event, struct standin_stream *handle)
{
    if (!is_event(event) || stream_of(handle) == NULL) {
        return STANDIN_BAD_HANDLE;
    }
    /* The earliest that it can be: at once. */
    event->stream = NULL;
    event->was_reset = 1;
    return STANDIN_OK;
}

int standin_malloc(uint64_t bytes, uint64_t *at)
{
    uint64_t whole = (bytes + world.granule - 1) / world.granule * world.granule;
    if (current == NULL) {
        return STANDIN_NO_CONTEXT;
    }
    if (bytes == 0) {
        return STANDIN_INVALID;
    }
    for (unsigned i = 0; i < MAX_BLOCKS; i++) {
        if (world.blocks[i].bytes != 0) {
            continue;
        }
        if (world.created[current->device] + whole > world.total) {
            return STANDIN_EXHAUSTED;
        }
        void *made = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made == MAP_FAILED) {
            return STANDIN_EXHAUSTED;
        }
        *at = (uintptr_t)made;
        world.blocks[i].at = *at;
        world.blocks[i].bytes = whole;
        world.blocks[i].device = current->device;
        world.created[current->device] += whole;
        return STANDIN_OK;
    }
    return STANDIN_EXHAUSTED;
}

int standin_free(uint64_t at)
{
    for (unsigned i = 0; i < MAX_BLOCKS; i++) {
        if (at != 0 && world.blocks[i].at == at) {
            if (is_in_use(at, world.blocks[i].bytes)) {
                return standin_wrong("freed memory that queued work uses");
            }
            munmap((void *)(uintptr_t)at, world.blocks[i].bytes);
            world.created[world.blocks[i].device] -= world.blocks[i].bytes;
            world.blocks[i].at = world.blocks[i].bytes = 0;
            return STANDIN_OK;
        }
    }
    return standin_wrong("freed what is no allocation");
}

struct standin_context *standin_foreign(unsigned device)
{
    return device < world.devices ? &world.foreign[device] : NULL;
}

void standin_reuse_events(void)
{
    world.reuses_events = 1;
}

static void forget(void)
{
    for (unsigned i = 0; i < MAX_RANGES; i++) {
        if (world.ranges[i].bytes != 0) {
            munmap(world.ranges[i].whole, world.ranges[i].whole_bytes);
        }
    }
    for (unsigned i = 0; i < world.devices; i++) {
        close(world.files[i]);
    }
    memset(&world, 0, sizeof world);
}

void standin_setup(unsigned devices, uint64_t granule, uint64_t total)
{
    pthread_mutex_lock(&lock);
    forget();
    world.devices = devices < MAX_DEVICES ? devices : MAX_DEVICES;
    world.granule = granule;
    world.total = total;
    world.event_limit = 1000000;
    for (unsigned i = 0; i < world.devices; i++) {
        world.files[i] = memfd_create("standin", MFD_CLOEXEC);
        if (world.files[i] < 0 || ftruncate(world.files[i], (off_t)(MAX_HANDLES * granule)) != 0) {
            abort();
        }
        world.contexts[i].device = i;
        world.foreign[i] = (struct standin_context){i, 1};
        add_stream(&world.defaults[i], &world.contexts[i]);
    }
    current = NULL;
    pthread_mutex_unlock(&lock);
}

void standin_fail(const char *name, uint64_t after, uint64_t times, int code)
{
    pthread_mutex_lock(&lock);
    world.failure = (struct failure){name, after, times, code};
    pthread_mutex_unlock(&lock);
}

uint64_t standin_calls(const char *name)
{
    pthread_mutex_lock(&lock);
    uint64_t calls = name == NULL ? world.calls : 0;
    for (unsigned i = 0; name != NULL && i < MAX_NAMES && world.names[i].name != NULL; i++) {
        calls += strcmp(world.names[i].name, name) == 0 ? world.names[i].calls : 0;
    }
    pthread_mutex_unlock(&lock);
    return calls;
}

void standin_version(int version)
{
    world.version = version;
}

int standin_wanted_version(void)
{
    return world.version;
}

void standin_kind(int kind)
{
    world.kind = kind;
}

int standin_wanted_kind(void)
{
    return world.kind;
}

void standin_event_limit(unsigned limit)
{
    world.event_limit = limit;
}

const char *standin_violation(void)
{
    return world.violation;
}

struct standin_stream *standin_stream(unsigned device)
{
    pthread_mutex_lock(&lock);
    struct standin_stream *stream = add_stream(malloc(sizeof *stream), &world.contexts[device]);
    pthread_mutex_unlock(&lock);
    return stream;
}

struct standin_stream *standin_foreign_stream(unsigned device)
{
    pthread_mutex_lock(&lock);
    struct standin_stream *stream = add_stream(malloc(sizeof *stream), &world.foreign[device]);
    pthread_mutex_unlock(&lock);
    return stream;
}

void standin_make_current(unsigned device)
{
    current = device == 0 ? NULL : &world.contexts[device - 1];
}

unsigned standin_is_current(void)
{
    return current == NULL ? 0 : current->device + 1;
}

void standin_kernel(struct standin_stream *stream, uint64_t at, uint64_t bytes, int expected, int value)
{
    pthread_mutex_lock(&lock);
    stream = (uintptr_t)stream <= 2 ? stream_of(stream) : stream;
    queue(stream, (struct work){.kind = KERNEL, .at = at, .bytes = bytes, .expected = expected, .value = value});
    pthread_mutex_unlock(&lock);
}

void standin_run(void)
{
    pthread_mutex_lock(&lock);
    run_context(NULL);
    pthread_mutex_unlock(&lock);
}

void standin_left(struct standin_left *left)
{
    pthread_mutex_lock(&lock);
    *left = (struct standin_left){.events = world.events};
    for (unsigned i = 0; i < MAX_RANGES; i++) {
        left->reservations += world.ranges[i].bytes != 0;
    }
    for (unsigned i = 0; i < MAX_HANDLES; i++) {
        left->handles += (uint64_t)world.handles[i].live;
        left->mappings += world.handles[i].live && world.handles[i].at != 0;
    }
    for (unsigned i = 0; i < world.devices; i++) {
        left->context_uses += world.contexts[i].uses;
    }
    for (unsigned i = 0; i < world.stream_count; i++) {
        left->queued += world.streams[i]->queued - world.streams[i]->done;
    }
    pthread_mutex_unlock(&lock);
}
