/* See board.h. Everything runs in one thread; nothing here needs a C library. */
#include "board.h"

#include <stddef.h>

/* Where the device's addresses begin; the processor has nothing there. */
static const uint64_t space = UINT64_C(1) << 36;

/* Past what a marker stands for: a stream, and how many pieces of work it had been given. */
struct position {
    uint32_t stream;
    uint32_t count;
};

enum kind { FILL, CHECK, WAIT };

struct work {
    enum kind kind;
    uint64_t at;
    uint32_t words;
    uint32_t seed;
    struct position position;
};

enum { DEPTH = 32 };

struct stream {
    struct work queue[DEPTH];
    uint32_t queued;
    uint32_t done;
};

static uint32_t memory[BOARD_GRANULES][BOARD_GRANULE / 4];
static struct {
    struct stream streams[BOARD_STREAMS];
    struct position slots[BOARD_SLOTS];
    /* The granule at each place, from 1 on; 0 for none. */
    uint8_t mapped[BOARD_PLACES];
    /* Which granules exist. */
    uint8_t exists[BOARD_GRANULES];
    /* Places that are reserved, from the first on. */
    uint32_t reserved;
    struct board_found found;
    uint64_t time;
} board;

static uint32_t *word_at(uint64_t at) {
    uint64_t offset = at - space;
    if (at < space || offset >= (uint64_t)BOARD_PLACES * BOARD_GRANULE)
        return NULL;
    uint8_t granule = board.mapped[offset / BOARD_GRANULE];
    return granule == 0 ? NULL : &memory[granule - 1][offset % BOARD_GRANULE / 4];
}

static int reached(struct position position) {
    return (int32_t)(board.streams[position.stream].done - position.count) >= 0;
}

static void run(const struct work *work) {
    for (uint32_t index = 0; index < work->words; index++) {
        uint32_t *word = word_at(work->at + 4 * (uint64_t)index);
        uint32_t expected = (work->seed << 20) ^ (index * UINT32_C(2654435761));
        if (word == NULL) {
            board.found.faults++;
            return;
        }
        if (work->kind == FILL) {
            *word = expected;
        } else {
            board.found.compared++;
            board.found.wrong += *word != expected;
        }
    }
}

/* One piece of work of each stream; 0 where nothing could go on. */
static int step(void) {
    int some = 0;
    for (uint32_t index = 0; index < BOARD_STREAMS; index++) {
        struct stream *stream = &board.streams[index];
        if (stream->done == stream->queued)
            continue;
        const struct work *work = &stream->queue[stream->done % DEPTH];
        if (work->kind == WAIT && !reached(work->position))
            continue;
        if (work->kind != WAIT)
            run(work);
        stream->done++;
        some = 1;
    }
    return some;
}

static int push(uint64_t stream, struct work work) {
    if (stream >= BOARD_STREAMS || board.streams[stream].queued - board.streams[stream].done == DEPTH)
        return 0;
    struct stream *to = &board.streams[stream];
    to->queue[to->queued++ % DEPTH] = work;
    return 1;
}

int board_fill(uint64_t stream, uint64_t at, uint32_t words, uint32_t seed) {
    struct work work = {.kind = FILL, .at = at, .words = words, .seed = seed};
    return push(stream, work);
}

int board_check(uint64_t stream, uint64_t at, uint32_t words, uint32_t seed) {
    struct work work = {.kind = CHECK, .at = at, .words = words, .seed = seed};
    return push(stream, work);
}

struct board_found board_found(void) { return board.found; }

static int complete(const struct weir_driver_target *what) {
    switch (what->kind) {
    case WEIR_DRIVER_TARGET_STREAM:
        return what->id < BOARD_STREAMS && board.streams[what->id].done == board.streams[what->id].queued;
    case WEIR_DRIVER_TARGET_MARKER:
        return what->id < BOARD_SLOTS && reached(board.slots[what->id]);
    default:
        for (uint32_t index = 0; index < BOARD_STREAMS; index++)
            if (board.streams[index].done != board.streams[index].queued)
                return 0;
        return 1;
    }
}

static int properties(void *ctx, uint32_t device, struct weir_driver_properties *out, int *code) {
    (void)ctx, (void)code;
    if (device != 0)
        return WEIR_DRIVER_FAILED;
    out->granularity = BOARD_GRANULE;
    out->alignment = 512;
    out->total = (uint64_t)BOARD_GRANULES * BOARD_GRANULE;
    out->capabilities = 0;
    return WEIR_DRIVER_OK;
}

static int reserve(void *ctx, uint32_t device, uint64_t bytes, uint64_t *base, int *code) {
    (void)ctx, (void)device, (void)code;
    uint64_t places = bytes / BOARD_GRANULE;
    if (places > BOARD_PLACES - board.reserved)
        return WEIR_DRIVER_EXHAUSTED;
    *base = space + (uint64_t)board.reserved * BOARD_GRANULE;
    board.reserved += (uint32_t)places;
    return WEIR_DRIVER_OK;
}

static int release(void *ctx, uint32_t device, uint64_t base, uint64_t bytes, int *code) {
    (void)ctx, (void)device, (void)code;
    /* Only the latest range's addresses are used again: one pool at a time is all that this program has. */
    if ((base - space) / BOARD_GRANULE + bytes / BOARD_GRANULE == board.reserved)
        board.reserved -= (uint32_t)(bytes / BOARD_GRANULE);
    return WEIR_DRIVER_OK;
}

static int create(void *ctx, uint32_t device, uint64_t *granule, int *code) {
    (void)ctx, (void)device, (void)code;
    for (uint32_t index = 0; index < BOARD_GRANULES; index++) {
        if (!board.exists[index]) {
            board.exists[index] = 1;
            *granule = index + 1;
            return WEIR_DRIVER_OK;
        }
    }
    return WEIR_DRIVER_EXHAUSTED;
}

static int destroy(void *ctx, uint32_t device, uint64_t granule, int *code) {
    (void)ctx, (void)device, (void)code;
    if (granule == 0 || granule > BOARD_GRANULES || !board.exists[granule - 1])
        return WEIR_DRIVER_FAILED;
    board.exists[granule - 1] = 0;
    return WEIR_DRIVER_OK;
}

static int map(void *ctx, uint32_t device, uint64_t at, uint64_t granule, const uint64_t *stream, int *code) {
    (void)ctx, (void)device, (void)stream, (void)code;
    uint64_t place = (at - space) / BOARD_GRANULE;
    if (at < space || place >= board.reserved || board.mapped[place] != 0)
        return WEIR_DRIVER_FAILED;
    board.mapped[place] = (uint8_t)granule;
    return WEIR_DRIVER_OK;
}

static int unmap(void *ctx, uint32_t device, uint64_t at, const uint64_t *stream, int *code) {
    (void)ctx, (void)device, (void)stream, (void)code;
    uint64_t place = (at - space) / BOARD_GRANULE;
    if (at < space || place >= board.reserved || board.mapped[place] == 0)
        return WEIR_DRIVER_FAILED;
    board.mapped[place] = 0;
    return WEIR_DRIVER_OK;
}

static int lay(void *ctx, uint32_t marker, uint64_t stream, int *code) {
    (void)ctx, (void)code;
    if (marker >= BOARD_SLOTS || stream >= BOARD_STREAMS)
        return WEIR_DRIVER_FAILED;
    board.slots[marker].stream = (uint32_t)stream;
    board.slots[marker].count = board.streams[stream].queued;
    return WEIR_DRIVER_OK;
}

static int query(void *ctx, const struct weir_driver_target *what, int *is_complete, int *code) {
    (void)ctx, (void)code;
    *is_complete = complete(what);
    return WEIR_DRIVER_OK;
}

static int wait(void *ctx, uint64_t stream, uint32_t marker, int *code) {
    (void)ctx, (void)code;
    struct work work = {.kind = WAIT};
    if (marker >= BOARD_SLOTS)
        return WEIR_DRIVER_FAILED;
    work.position = board.slots[marker];
    return push(stream, work) ? WEIR_DRIVER_OK : WEIR_DRIVER_EXHAUSTED;
}

static int synchronise(void *ctx, const struct weir_driver_target *what, int *code) {
    (void)ctx, (void)code;
    while (!complete(what))
        if (!step())
            return WEIR_DRIVER_TIMED_OUT;
    return WEIR_DRIVER_OK;
}

/* Each look at the clock is a microsecond later. */
static uint64_t now(void *ctx) {
    (void)ctx;
    return board.time += 1000;
}

void board_open(struct weir_driver_ops *ops) {
    ops->abi = WEIR_DRIVER_ABI;
    ops->size = sizeof *ops;
    ops->ctx = NULL;
    ops->properties = properties;
    ops->reserve = reserve;
    ops->release = release;
    ops->create = create;
    ops->destroy = destroy;
    ops->map = map;
    ops->unmap = unmap;
    ops->lay = lay;
    ops->query = query;
    ops->wait = wait;
    ops->synchronise = synchronise;
    ops->now = now;
}
