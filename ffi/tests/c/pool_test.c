/*
 * The settings of a pool that say where memory comes from and when it goes, in C and C++.
 * Usage: pool_test; prints "ok" and ends with 0 where everything is as it should be.
 */
#define _POSIX_C_SOURCE 200809L
#include "api_check.h"

#include <sched.h>

static struct weir_pool_config defaults(void)
{
    struct weir_pool_config config;
    memset(&config, 0xff, sizeof config);
    OK(weir_pool_config_init(&config, 0));
    return config;
}

static void test_numbers(void)
{
    weir_runtime runtime = host_runtime(64 * MIB);
    struct weir_pool_config config = defaults();
    weir_pool pool;
    CHECK(config.growth_step == 0 && config.addresses == 0 && config.reserved == 0);
    CHECK(config.release == WEIR_RELEASE_HYSTERESIS && config.blocking == WEIR_BLOCKING_NEVER);
    config.release = 2;
    REFUSED(weir_pool_create(runtime, &config, &pool), WEIR_INVALID_ARGUMENT,
            "`weir_pool_config.release` is 2, expected 0 to 1");
    config = defaults();
    config.blocking = UINT32_MAX;
    REFUSED(weir_pool_create(runtime, &config, &pool), WEIR_INVALID_ARGUMENT,
            "`weir_pool_config.blocking` is 4294967295, expected 0 to 1");
    config = defaults();
    config.reserved = 9;
    REFUSED(weir_pool_create(runtime, &config, &pool), WEIR_INVALID_ARGUMENT,
            "`weir_pool_config.reserved` is 9, expected 0");
    config = defaults();
    config.size -= 8;
    REFUSED(weir_pool_create(runtime, &config, &pool), WEIR_INVALID_ARGUMENT, "weir_pool_config_init");
    config = defaults();
    config.addresses = UINT32_MAX;
    REFUSED(weir_pool_create(runtime, &config, &pool), WEIR_DRIVER_ERROR, "`reserve` failed");
    OK(weir_verify(runtime));
    OK(weir_destroy(runtime));
}

static void test_addresses(void)
{
    weir_runtime runtime = host_runtime(64 * MIB);
    struct weir_pool_config config = defaults();
    config.addresses = 3;
    CHECK(stats_of(runtime, pool_with(runtime, 64 * MIB, &config)).range == 192 * MIB);
    /* The host driver's addresses are cheap: 1 and half of log2 of 32 granules, rounded up. */
    CHECK(stats_of(runtime, pool_of(runtime, 64 * MIB)).range == 256 * MIB);
    OK(weir_destroy(runtime));
}

/* Allocates, frees and synchronises; answers how many granules were made. */
static uint64_t rounds(weir_runtime runtime, weir_pool pool, weir_stream stream, int count)
{
    uint64_t before = counters_of(runtime).create;
    for (int i = 0; i < count; i++) {
        OK(weir_free_async(runtime, block_of(runtime, pool, 16 * MIB, stream), stream));
        OK(weir_stream_synchronize(runtime, stream));
    }
    return counters_of(runtime).create - before;
}

static void test_release(void)
{
    weir_runtime runtime = host_runtime(64 * MIB);
    weir_stream stream = stream_of(runtime);
    struct weir_pool_config config = defaults();
    weir_pool keeps = pool_of(runtime, 32 * MIB), always;
    struct weir_pool_stats stats;
    /* Three rounds make again what the one before released; then the pool has learnt it. */
    CHECK(rounds(runtime, keeps, stream, 4) == 4 * 8);
    CHECK(rounds(runtime, keeps, stream, 20) == 0);
    stats = stats_of(runtime, keeps);
    CHECK(stats.thrash == 3 * 16 * MIB && stats.kept >= 16 * MIB && stats.reserved == 16 * MIB);
    /* Nothing is used any more: when the last round that used something is forgotten, all goes. */
    for (int i = 0; i < 9; i++) {
        OK(weir_stream_synchronize(runtime, stream));
    }
    stats = stats_of(runtime, keeps);
    CHECK(stats.thrash == 3 * 16 * MIB && stats.kept == 0 && stats.reserved == 0);

    config.release = WEIR_RELEASE_ALWAYS;
    always = pool_with(runtime, 32 * MIB, &config);
    CHECK(rounds(runtime, always, stream, 20) == 20 * 8);
    stats = stats_of(runtime, always);
    CHECK(stats.thrash == 19 * 16 * MIB && stats.kept == 0 && stats.reserved == 0);
    OK(weir_destroy(runtime));
}

static void test_growth(void)
{
    weir_runtime runtime = host_runtime(64 * MIB);
    weir_stream stream = stream_of(runtime);
    struct weir_pool_config config = defaults();
    weir_pool frugal = pool_of(runtime, 20 * MIB), eager;
    block_of(runtime, frugal, MIB, stream);
    CHECK(stats_of(runtime, frugal).reserved == 2 * MIB);
    config.growth_step = 16 * MIB - 1;
    eager = pool_with(runtime, 20 * MIB, &config);
    block_of(runtime, eager, MIB, stream);
    CHECK(stats_of(runtime, eager).reserved == 16 * MIB);
    block_of(runtime, eager, 14 * MIB, stream);
    CHECK(stats_of(runtime, eager).reserved == 16 * MIB);
    /* The limit leaves two granules of the step. */
    block_of(runtime, eager, 4 * MIB, stream);
    CHECK(stats_of(runtime, eager).reserved == 20 * MIB);
    OK(weir_destroy(runtime));
}

static void waits_for_a_flag(struct weir_kernel *kernel, void *user)
{
    (void)kernel;
    while (!__atomic_load_n((int *)user, __ATOMIC_SEQ_CST)) {
        sched_yield();
    }
}

static void sets_a_flag(struct weir_kernel *kernel, void *user)
{
    (void)kernel;
    __atomic_store_n((int *)user, 1, __ATOMIC_SEQ_CST);
}

/* A pool that may block waits for the work that helps, and for no other. */
static void test_blocking(uint32_t blocking)
{
    weir_runtime runtime = host_runtime(64 * MIB);
    weir_stream mine = stream_of(runtime), theirs = stream_of(runtime), held = stream_of(runtime);
    struct weir_pool_config config = defaults();
    int done = 0, may_end = 0;
    weir_pool pool;
    weir_ptr large, small, ptr;
    config.reuse = 0;
    config.blocking = blocking;
    pool = pool_with(runtime, 8 * MIB, &config);
    large = block_of(runtime, pool, 6 * MIB, theirs);
    small = block_of(runtime, pool, 2 * MIB, held);
    OK(weir_host_launch(runtime, held, waits_for_a_flag, &may_end));
    OK(weir_host_launch(runtime, theirs, sets_a_flag, &done));
    OK(weir_free_async(runtime, small, held));
    OK(weir_free_async(runtime, large, theirs));
    if (blocking == WEIR_BLOCKING_NEVER) {
        REFUSED(weir_malloc_async(runtime, pool, 6 * MIB, mine, &ptr), WEIR_OUT_OF_MEMORY, "6291456 B requested");
        CHECK(counters_of(runtime).synchronise == 0);
    } else {
        OK(weir_malloc_async(runtime, pool, 6 * MIB, mine, &ptr));
        CHECK(__atomic_load_n(&done, __ATOMIC_SEQ_CST) == 1 && ptr == large);
        CHECK(counters_of(runtime).synchronise == 1);
    }
    __atomic_store_n(&may_end, 1, __ATOMIC_SEQ_CST);
    OK(weir_destroy(runtime));
}

/* A trim names the streams whose work holds what it leaves. */
static void test_trim(void)
{
    weir_runtime runtime = host_runtime(64 * MIB);
    weir_stream streams[3] = {stream_of(runtime), stream_of(runtime), stream_of(runtime)};
    const uint64_t sizes[3] = {4 * MIB, 2 * MIB, 10 * MIB};
    weir_pool pool = pool_of(runtime, 32 * MIB);
    struct weir_trimmed trimmed;
    weir_ptr blocks[3];
    int may_end = 0;
    memset(&trimmed, 0xff, sizeof trimmed);
    OK(weir_pool_trim(runtime, pool, 0, &trimmed));
    CHECK(trimmed.pending == 0 && trimmed.pending_streams == 0 && trimmed.pending_on[0].bytes == 0);
    for (int i = 0; i < 3; i++) {
        blocks[i] = block_of(runtime, pool, sizes[i], streams[i]);
        OK(weir_host_launch(runtime, streams[i], waits_for_a_flag, &may_end));
    }
    for (int i = 0; i < 3; i++) {
        OK(weir_free_async(runtime, blocks[i], streams[i]));
    }
    OK(weir_pool_trim(runtime, pool, 0, &trimmed));
    CHECK(trimmed.reserved == 16 * MIB && trimmed.pending == 16 * MIB && trimmed.pending_streams == 3);
    CHECK(trimmed.pending_on[0].stream.id == streams[2].id && trimmed.pending_on[0].bytes == sizes[2]);
    CHECK(trimmed.pending_on[1].stream.id == streams[0].id && trimmed.pending_on[1].bytes == sizes[0]);
    CHECK(trimmed.pending_on[2].stream.id == streams[1].id && trimmed.pending_on[2].bytes == sizes[1]);
    CHECK(trimmed.pending_on[3].bytes == 0 && trimmed.pending_on[0].until > 0);
    __atomic_store_n(&may_end, 1, __ATOMIC_SEQ_CST);
    /* The handle is good for what the report is for. */
    OK(weir_stream_synchronize(runtime, trimmed.pending_on[0].stream));
    OK(weir_pool_trim(runtime, pool, 0, &trimmed));
    CHECK(trimmed.reserved <= 6 * MIB && trimmed.pending_streams <= 2);
    OK(weir_destroy(runtime));
}

/* What the program can do without, and what it was asked. */
struct spare {
    weir_runtime runtime;
    weir_stream stream;
    weir_ptr blocks[2];
    int left;
    int calls;
    weir_pool pool;
    uint32_t device;
    uint64_t bytes;
};

static int frees_one(void *user, weir_pool pool, uint32_t device, uint64_t bytes)
{
    struct spare *spare = (struct spare *)user;
    spare->calls++;
    spare->pool = pool;
    spare->device = device;
    spare->bytes = bytes;
    if (spare->left == 0) {
        return 0;
    }
    OK(weir_free_async(spare->runtime, spare->blocks[--spare->left], spare->stream));
    return 1;
}

static void test_pressure(void)
{
    weir_runtime runtime = host_runtime(64 * MIB);
    weir_pool pool = pool_of(runtime, 8 * MIB);
    weir_stream stream = stream_of(runtime);
    struct spare spare;
    weir_ptr ptr = 0;
    memset(&spare, 0, sizeof spare);
    spare.runtime = runtime;
    spare.stream = stream;
    while (spare.left < 2) {
        spare.blocks[spare.left++] = block_of(runtime, pool, 4 * MIB, stream);
    }
    REFUSED(weir_malloc_async(runtime, pool, 8 * MIB - 100, stream, &ptr), WEIR_OUT_OF_MEMORY, "");
    OK(weir_set_pressure(runtime, frees_one, &spare));
    REFUSED(weir_try_malloc_async(runtime, pool, 8 * MIB, stream, &ptr), WEIR_BUSY, "");
    CHECK(spare.calls == 0 && ptr == 0);
    /* One block is not enough, so it is asked again. */
    OK(weir_malloc_async(runtime, pool, 8 * MIB - 100, stream, &ptr));
    CHECK(spare.calls == 2 && spare.left == 0 && ptr == spare.blocks[0]);
    CHECK(spare.pool.id == pool.id && spare.pool.runtime == pool.runtime);
    CHECK(spare.device == 0 && spare.bytes == 8 * MIB);
    /* Nothing is left to give. */
    REFUSED(weir_malloc_async(runtime, pool, MIB, stream, &ptr), WEIR_OUT_OF_MEMORY, "1048576 B requested");
    CHECK(spare.calls == 3 && spare.bytes == MIB);
    OK(weir_set_pressure(runtime, NULL, NULL));
    REFUSED(weir_malloc_async(runtime, pool, MIB, stream, &ptr), WEIR_OUT_OF_MEMORY, "1048576 B requested");
    CHECK(spare.calls == 3);
    OK(weir_verify(runtime));
    OK(weir_destroy(runtime));
    REFUSED(weir_set_pressure(runtime, frees_one, &spare), WEIR_BAD_HANDLE, "was destroyed");
}

int main(void)
{
    test_numbers();
    test_addresses();
    test_release();
    test_growth();
    test_blocking(WEIR_BLOCKING_NEVER);
    test_blocking(WEIR_BLOCKING_WHEN_EXHAUSTED);
    test_trim();
    test_pressure();
    printf(failures == 0 ? "ok\n" : "failed\n");
    return failures != 0;
}
