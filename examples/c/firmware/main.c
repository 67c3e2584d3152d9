/*
 * Firmware in C: a runtime in static storage over a driver of one's own, without an allocator and without a C library.
 * `cargo xtask firmware --c --run` builds it for a Cortex-M4F and boots it in QEMU.
 */
#include <stddef.h>
#include <stdint.h>

#include "board.h"
#include "weir.h"

/* How much the runtime can hold. Events and markers together are the board's slots. */
enum { STREAMS = 2, EVENTS = 8, MARKERS = 16, POOLS = 1, BLOCKS = 64, GRANULES = 16, LABELS = 4, PAGES = 2 };

_Static_assert(EVENTS + MARKERS <= BOARD_SLOTS, "the board has a slot for each event and marker");

enum { BYTES = WEIR_STORAGE_BYTES(STREAMS, EVENTS, MARKERS, POOLS, BLOCKS, GRANULES, LABELS, PAGES) };
static uint64_t storage[BYTES / 8 + 1];

static volatile uint32_t *const uart = (volatile uint32_t *)0x40004000;

static void send(const uint8_t *bytes, size_t length) {
    for (size_t index = 0; index < length; index++) {
        while (uart[1] & 1)
            ;
        uart[0] = bytes[index];
    }
}

static void say(const char *text) {
    size_t length = 0;
    while (text[length] != 0)
        length++;
    send((const uint8_t *)text, length);
}

static void say_number(uint32_t number) {
    uint8_t digits[10];
    size_t count = 0;
    do {
        digits[count++] = (uint8_t)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count > 0)
        send(&digits[--count], 1);
}

static uint32_t checks, failed;

static void holds(int holds, const char *what) {
    checks++;
    if (!holds) {
        failed++;
        say("failed: ");
        say(what);
        say("\n");
    }
}

#define OK(call) holds((call) == WEIR_OK, #call)
#define IS(call, status) holds((call) == (status), #call " is " #status)

/* The log goes along the serial line. */
static void page(void *user, const uint8_t *bytes, size_t length) {
    (void)user;
    send(bytes, length);
}

static weir_runtime runtime;
static weir_pool pool;
static weir_stream producer, consumer;

static void open_runtime(void) {
    struct weir_driver_ops ops;
    struct weir_config config;
    board_open(&ops);
    OK(weir_config_init(&config));
    config.streams = STREAMS;
    config.events = EVENTS;
    config.markers = MARKERS;
    config.pools = POOLS;
    config.blocks = BLOCKS;
    config.granules = GRANULES;
    config.labels = LABELS;
    config.pages = PAGES;
    config.log_fn = page;
    /* What does not fit is refused, and what the macro says does fit. */
    IS(weir_create_static(storage, BYTES / 2, &config, &ops, &runtime), WEIR_CAPACITY);
    IS(weir_create_static(NULL, BYTES, &config, &ops, &runtime), WEIR_INVALID_ARGUMENT);
    OK(weir_create_static(storage, BYTES, &config, &ops, &runtime));
    OK(weir_stream_register(runtime, 0, WEIR_STREAM_NON_BLOCKING, 0, 0, &producer));
    OK(weir_stream_register(runtime, 0, WEIR_STREAM_NON_BLOCKING, 1, 0, &consumer));
    struct weir_pool_config pool_config;
    OK(weir_pool_config_init(&pool_config, 0));
    pool_config.release = WEIR_RELEASE_ALWAYS;
    OK(weir_pool_create(runtime, &pool_config, &pool));
}

/* Two streams hand a block to and fro along events. */
static void hand_over(void) {
    enum { ROUNDS = 20, WORDS = 5000 };
    weir_event filled, read;
    OK(weir_event_create(runtime, &filled));
    OK(weir_event_create(runtime, &read));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        weir_ptr block = 0;
        OK(weir_malloc_async(runtime, pool, 4 * WORDS, producer, &block));
        holds(board_fill(0, block, WORDS, round), "a kernel");
        OK(weir_event_record(runtime, filled, producer));
        OK(weir_stream_wait_event(runtime, consumer, filled));
        holds(board_check(1, block, WORDS, round), "a kernel");
        OK(weir_free_async(runtime, block, consumer));
        OK(weir_event_record(runtime, read, consumer));
        OK(weir_stream_wait_event(runtime, producer, read));
        if (round % 4 == 3)
            OK(weir_stream_synchronize(runtime, producer));
    }
    OK(weir_device_synchronize(runtime, 0));
    struct board_found found = board_found();
    holds(found.compared == ROUNDS * WORDS, "every word arrived");
    holds(found.wrong == 0 && found.faults == 0, "no word is wrong");
    struct weir_pool_stats stats;
    OK(weir_pool_get_stats(runtime, pool, &stats));
    holds(stats.mallocs == ROUNDS && stats.reserved_high == BOARD_GRANULE, "one granule served all");
    OK(weir_event_destroy(runtime, filled));
    OK(weir_event_destroy(runtime, read));
}

/* More than there is; memory that was given back. */
static void limits(void) {
    weir_ptr most = 0, more = 0;
    uint64_t reserved = 1;
    OK(weir_malloc_async(runtime, pool, (uint64_t)BOARD_GRANULES * BOARD_GRANULE, producer, &most));
    IS(weir_malloc_async(runtime, pool, 1, producer, &more), WEIR_OUT_OF_MEMORY);
    IS(weir_try_malloc_async(runtime, pool, 0, producer, &more), WEIR_ZERO_SIZE);
    IS(weir_malloc_async(runtime, pool, 1, (weir_stream){0, 0}, &more), WEIR_BAD_HANDLE);
    OK(weir_free_async(runtime, most, producer));
    OK(weir_device_synchronize(runtime, 0));
    OK(weir_pool_get_attribute(runtime, pool, WEIR_ATTR_RESERVED_MEM_CURRENT, &reserved));
    holds(reserved == 0, "all was released");
    uint32_t before = board_found().faults;
    holds(board_fill(0, most, 1, 0), "a kernel");
    OK(weir_device_synchronize(runtime, 0));
    holds(board_found().faults == before + 1, "a kernel that touches released memory faults");
    OK(weir_verify(runtime));
}

static void close_runtime(void) {
    struct weir_counters counters;
    OK(weir_get_counters(runtime, &counters));
    holds(counters.create == counters.destroy && counters.create >= BOARD_GRANULES, "granules were given back");
    OK(weir_pool_destroy(runtime, pool, WEIR_DESTROY_IF_EMPTY));
    OK(weir_destroy(runtime));
    IS(weir_verify(runtime), WEIR_BAD_HANDLE);
}

int main(void) {
    uart[4] = 16;
    uart[2] = 1;
    say("weir in C\n");
    open_runtime();
    hand_over();
    limits();
    close_runtime();
    say("weir: ");
    say_number(checks);
    say(" checks, ");
    say_number(failed);
    say(" failed\n");
    return checks > 0 && failed == 0 ? 0 : 1;
}
