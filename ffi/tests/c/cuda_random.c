/*
 * Random programs on streams of every kind, in front of the stand-in, whose streams do nothing until they must: memory
 * that is handed on too early has other bytes in it than a kernel expects. In a second round the vendor's calls fail now
 * and then, the program's and weir's own; what failed was not done. See cuda_cases.h.
 */
#include "cuda_cases.h"

enum { STREAMS = 7, EVENTS = 6, BLOCKS = 24, STEPS = 4000, SEEDS = 12, EDGE = 512 };

static struct block {
    char *at;
    size_t size;
    unsigned owner;
    int value;
} blocks[BLOCKS];

static stream_t streams[STREAMS];
static event_t events[EVENTS];
static uint64_t state;
static unsigned allocations, refusals, reused;
/* Whether calls may fail. */
static int fails;
static char *freed[64];

/* Whether a call was made. */
static int did(int line, int code)
{
    if (!fails) {
        expect(line, "a call", code, 0);
    }
    return code == 0;
}

#define DID(call) did(__LINE__, (call))

static unsigned any(unsigned below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

/* A kernel on the block's stream, which looks at both its ends and writes there. */
static void touch(struct block *block, int fresh)
{
    struct standin_stream *on = (struct standin_stream *)streams[block->owner];
    int before = fresh ? -1 : block->value;
    block->value = (int)any(200);
    standin_kernel(on, (uintptr_t)block->at, EDGE, before, block->value);
    if (block->size > EDGE) {
        standin_kernel(on, (uintptr_t)block->at + block->size - EDGE, EDGE, before, block->value);
    }
}

static void malloc_one(struct block *block)
{
    static const size_t sizes[] = {512, 64 << 10, 300 << 10, 1 << 20, 3 << 20, 5 << 20};
    void *at = NULL;
    block->owner = any(STREAMS);
    block->size = sizes[any(6)];
    int result = cudaMallocAsync(&at, block->size, streams[block->owner]);
    if (result != 0) {
        CHECK(fails || result == OUT_OF_MEMORY);
        refusals++;
        return;
    }
    block->at = at;
    allocations++;
    for (unsigned i = 0; i < 64; i++) {
        reused += freed[i] == block->at;
    }
    touch(block, 1);
}

static void free_one(struct block *block)
{
    static unsigned next;
    touch(block, 0);
    if (!DID(any(20) == 0 ? cudaFree(block->at) : cudaFreeAsync(block->at, streams[block->owner]))) {
        return;
    }
    freed[next++ % 64] = block->at;
    block->at = NULL;
}

/* Another stream goes on with the block, once it comes after what was done. */
static void hand_on(struct block *block)
{
    unsigned to = any(STREAMS), by = any(EVENTS);
    if (DID(cudaEventRecord(events[by], streams[block->owner])) &&
        DID(cudaStreamWaitEvent(streams[to], events[by], 0))) {
        block->owner = to;
        touch(block, 0);
    }
}

static void renew_stream(unsigned which)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        if (blocks[i].at != NULL && blocks[i].owner == which) {
            return;
        }
    }
    if (DID(cudaStreamDestroy(streams[which]))) {
        while (!DID(cudaStreamCreateWithFlags(&streams[which], which < 3 ? NON_BLOCKING : 0))) {
        }
    }
}

static void renew_event(unsigned which)
{
    if (DID(cudaEventDestroy(events[which]))) {
        while (!DID(cudaEventCreate(&events[which]))) {
        }
    }
}

static void capture(stream_t stream)
{
    void *graph = NULL, *at = NULL;
    if (fails) {
        return;
    }
    OK(cudaStreamBeginCapture(stream, 0));
    OK(cudaMallocAsync(&at, SIZE, stream));
    OK(cudaEventRecord(events[any(EVENTS)], stream));
    OK(cudaFreeAsync(at, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    /* What was recorded there is no good any more. */
    for (unsigned i = 0; i < EVENTS; i++) {
        OK(cudaEventRecord(events[i], streams[any(STREAMS)]));
    }
}

static void synchronise(void)
{
    stream_t stream = streams[any(STREAMS)];
    switch (any(6)) {
    case 0:
        (void)DID(cudaDeviceSynchronize());
        break;
    case 1:
        (void)DID(cudaStreamSynchronize(stream));
        break;
    case 2:
        (void)DID(cudaEventSynchronize(events[any(EVENTS)]));
        break;
    case 3:
        standin_run();
        break;
    case 4:
        (void)cudaStreamQuery(stream);
        break;
    default:
        (void)cudaEventQuery(events[any(EVENTS)]);
    }
}

static void change_pool(void)
{
    uint64_t threshold = any(2) ? UINT64_MAX : any(8) * MIB;
    if (any(3) == 0) {
        (void)DID(cudaMemPoolTrimTo(pool, any(16) * MIB));
    } else if (any(2)) {
        set_switch(REUSE_EVENTS + (int)any(3), (int)any(4) > 0);
    } else {
        set_threshold(threshold);
    }
}

static void step(void)
{
    struct block *block = &blocks[any(BLOCKS)];
    unsigned what = any(100), event_of = any(EVENTS);
    if (what < 50) {
        block->at == NULL ? malloc_one(block) : free_one(block);
    } else if (what < 65 && block->at != NULL) {
        hand_on(block);
    } else if (what < 75) {
        (void)DID(cudaEventRecord(events[event_of], streams[any(STREAMS)]));
    } else if (what < 88) {
        (void)DID(cudaStreamWaitEvent(streams[any(STREAMS)], events[event_of], 0));
    } else if (what < 91) {
        synchronise();
    } else if (what < 94) {
        change_pool();
    } else if (what < 96) {
        renew_stream(any(5));
    } else if (what < 98) {
        renew_event(event_of);
    } else if (what < 99) {
        capture(streams[any(3)]);
    }
}

static void set_up(void)
{
    const struct pool_props props = {.type = 1, .location = {1, 0}, .most = 24 * MIB};
    for (unsigned i = 0; i < STREAMS; i++) {
        streams[i] = i < 3 ? make_stream(NON_BLOCKING) : i < 5 ? make_stream(0) : i == 5 ? SHARED_STREAM : OWN_STREAM;
    }
    for (unsigned i = 0; i < EVENTS; i++) {
        events[i] = make_event();
    }
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaDeviceSetMemPool(0, pool));
}

static void tear_down(void)
{
    standin_fail(NULL, 0, 0, 0);
    for (unsigned i = 0; i < BLOCKS; i++) {
        if (blocks[i].at != NULL) {
            free_one(&blocks[i]);
        }
        CHECK(blocks[i].at == NULL);
    }
    CHECK(used() == 0);
    OK(cudaMemPoolDestroy(pool));
    OK(cudaDeviceReset());
    CHECK(left().reservations + left().handles + left().mappings + left().context_uses == 0);
}

static void run_programs(void)
{
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        state = seed;
        set_up();
        for (unsigned i = 0; i < STEPS; i++) {
            if (fails && i % 64 == 63) {
                standin_fail(NULL, any(40), 1 + any(3), any(2) ? OUT_OF_MEMORY : 719);
            }
            step();
            if (strcmp(standin_violation(), "") != 0) {
                fprintf(stderr, "seed %u, step %u\n", seed, i);
                return;
            }
        }
        tear_down();
    }
}

static void kernels_find_what_they_wrote(void)
{
    run_programs();
    /* It was about something. */
    CHECK(allocations > 4 * refusals && reused > allocations / 4);
}

static void they_do_where_calls_fail(void)
{
    fails = 1;
    run_programs();
    CHECK(reused > allocations / 8);
}

static const struct test_case CASES[] = {CASE(kernels_find_what_they_wrote), CASE(they_do_where_calls_fail)};

int main(int count, char **arguments)
{
    return RUN(count, arguments);
}
