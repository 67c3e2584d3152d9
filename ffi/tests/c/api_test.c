/*
 * The C interface, from C: what it refuses and how, and that it works on a driver of the program's own.
 * Usage: api_test LOG; prints "ok" and ends with 0 where everything is as it should be.
 */
#define _POSIX_C_SOURCE 200809L
#include "api_check.h"
#include "toy_driver.h"

#include <stdlib.h>

static void kernel_never(struct weir_kernel *kernel, void *user)
{
    (void)kernel;
    (void)user;
    abort();
}

static void test_texts(void)
{
    char small[8];
    CHECK(weir_version() == 0x000100);
    CHECK(strcmp(weir_status_name(WEIR_OUT_OF_MEMORY), "WEIR_OUT_OF_MEMORY") == 0);
    CHECK(strcmp(weir_status_name(-1), "unknown status") == 0);
    CHECK(strcmp(weir_status_name(1000), "unknown status") == 0);
    for (int i = WEIR_OK; i <= WEIR_INTERNAL; i++) {
        CHECK(strncmp(weir_status_name(i), "WEIR_", 5) == 0);
    }
    CHECK(weir_last_error(small, sizeof small) == 0 && small[0] == 0);
    REFUSED(weir_config_init(NULL), WEIR_INVALID_ARGUMENT, "`config` is null");
    memset(small, 'x', sizeof small);
    CHECK(weir_last_error(small, 4) == strlen("`config` is null"));
    CHECK(strcmp(small, "`co") == 0 && small[4] == 'x');
    CHECK(weir_last_error(NULL, 100) == strlen("`config` is null"));
    CHECK(weir_last_error(small, 0) == strlen("`config` is null"));
}

static void test_create(void)
{
    weir_runtime runtime = {77};
    weir_pool pool;
    struct weir_config config;
    struct weir_host_config host;
    struct weir_pool_config wanted;
    REFUSED(weir_create_host(NULL, NULL, NULL), WEIR_INVALID_ARGUMENT, "`runtime` is null");
    OK(weir_config_init(&config));
    config.size = 3;
    REFUSED(weir_create_host(&config, NULL, &runtime), WEIR_INVALID_ARGUMENT, "weir_config_init");
    OK(weir_config_init(&config));
    config.streams = 65537;
    REFUSED(weir_create_host(&config, NULL, &runtime), WEIR_INVALID_ARGUMENT, "65537");
    OK(weir_config_init(&config));
    config.streams = 65536;
    config.events = 1048576;
    REFUSED(weir_create_host(&config, NULL, &runtime), WEIR_SYSTEM, "the capacities in weir_config need");
    OK(weir_config_init(&config));
    config.log_path = "/nowhere/at/all.log";
    REFUSED(weir_create_host(&config, NULL, &runtime), WEIR_SYSTEM, "/nowhere/at/all.log");
    OK(weir_host_config_init(&host));
    host.granularity = 3000;
    REFUSED(weir_create_host(NULL, &host, &runtime), WEIR_INVALID_ARGUMENT, "granularity");
    setenv("WEIR_HOST_BYTES", "lots", 1);
    REFUSED(weir_create_host(NULL, NULL, &runtime), WEIR_INVALID_ARGUMENT, "WEIR_HOST_BYTES is \"lots\"");
    CHECK(runtime.id == 77);
    setenv("WEIR_HOST_BYTES", "8M", 1);
    OK(weir_create_host(NULL, NULL, &runtime));
    OK(weir_pool_config_init(&wanted, 0));
    wanted.limit = 10u << 20;
    REFUSED(weir_pool_create(runtime, &wanted, &pool), WEIR_ABOVE_LIMIT, "8388608");
    wanted.device = 1;
    REFUSED(weir_pool_create(runtime, &wanted, &pool), WEIR_INVALID_ARGUMENT, "device 1 does not exist: there are 1");
    REFUSED(weir_pool_default(runtime, 7, &pool), WEIR_INVALID_ARGUMENT, "device 7 does not exist");
    REFUSED(weir_device_synchronize(runtime, 7), WEIR_INVALID_ARGUMENT, "device 7 does not exist");
    OK(weir_destroy(runtime));
    unsetenv("WEIR_HOST_BYTES");
}

static void test_handles(void)
{
    weir_runtime a = host_runtime(64u << 20), b = host_runtime(64u << 20), none = {0}, never = {1u << 30};
    weir_pool pool = pool_of(a, 0), no_pool = {0}, odd_pool = pool;
    weir_stream stream = stream_of(a), gone = stream_of(a), other = stream_of(b);
    weir_event event, dead;
    weir_ptr ptr = 5;
    uint64_t value;
    int complete;
    weir_stream not_stream;
    odd_pool.id++;
    OK(weir_event_create(a, &event));
    OK(weir_event_create(a, &dead));
    not_stream.id = event.id;
    not_stream.runtime = event.runtime;
    REFUSED(weir_event_record(a, event, not_stream), WEIR_BAD_HANDLE, "is no stream");
    not_stream.id = pool.id;
    REFUSED(weir_stream_synchronize(a, not_stream), WEIR_BAD_HANDLE, "is no stream");
    not_stream = stream;
    not_stream.runtime = 0;
    REFUSED(weir_stream_synchronize(a, not_stream), WEIR_BAD_HANDLE, "is not of runtime");
    REFUSED(weir_malloc_async(none, pool, 1, stream, &ptr), WEIR_BAD_HANDLE, "runtime 0 was never created");
    REFUSED(weir_malloc_async(never, pool, 1, stream, &ptr), WEIR_BAD_HANDLE, "was never created");
    REFUSED(weir_malloc_async(a, no_pool, 1, stream, &ptr), WEIR_BAD_HANDLE, "pool handle is 0");
    REFUSED(weir_malloc_async(a, odd_pool, 1, stream, &ptr), WEIR_BAD_HANDLE, "was never created");
    REFUSED(weir_malloc_async(b, pool, 1, other, &ptr), WEIR_BAD_HANDLE, "is not of runtime");
    REFUSED(weir_malloc_async(a, pool, 1, other, &ptr), WEIR_BAD_HANDLE, "stream handle");
    OK(weir_stream_destroy(a, gone));
    REFUSED(weir_malloc_async(a, pool, 1, gone, &ptr), WEIR_BAD_HANDLE, "was destroyed");
    REFUSED(weir_stream_destroy(a, gone), WEIR_BAD_HANDLE, "was destroyed");
    REFUSED(weir_host_launch(a, gone, kernel_never, NULL), WEIR_BAD_HANDLE, "stream");
    OK(weir_event_destroy(a, dead));
    REFUSED(weir_event_record(a, dead, stream), WEIR_BAD_HANDLE, "was destroyed");
    REFUSED(weir_stream_wait_event(a, stream, dead), WEIR_BAD_HANDLE, "was destroyed");
    REFUSED(weir_event_query(b, event, &complete), WEIR_BAD_HANDLE, "event handle");
    REFUSED(weir_event_query(a, event, NULL), WEIR_INVALID_ARGUMENT, "`complete` is null");
    CHECK(ptr == 5);
    OK(weir_pool_destroy(a, pool, WEIR_DESTROY_IF_EMPTY));
    REFUSED(weir_pool_get_attribute(a, pool, 5, &value), WEIR_BAD_HANDLE, "was destroyed");
    OK(weir_destroy(b));
    REFUSED(weir_destroy(b), WEIR_BAD_HANDLE, "was destroyed");
    REFUSED(weir_stream_synchronize(b, other), WEIR_BAD_HANDLE, "was destroyed");
    OK(weir_destroy(a));
}

/* However many runtimes there were, no handle of one is good for another. */
static void test_many_runtimes(void)
{
    struct weir_config config;
    struct weir_host_config host;
    weir_runtime first, next = {0};
    weir_stream stream, mine;
    weir_pool pool, own;
    struct weir_pool_config wanted;
    weir_ptr ptr;
    OK(weir_config_init(&config));
    config.streams = config.events = config.markers = config.pools = config.labels = 4;
    config.blocks = config.granules = 16;
    OK(weir_host_config_init(&host));
    host.total = 4u << 20;
    OK(weir_pool_config_init(&wanted, 0));
    OK(weir_create_host(&config, &host, &first));
    OK(weir_stream_create(first, 0, 0, &stream));
    OK(weir_pool_create(first, &wanted, &pool));
    for (int i = 0; i < 4096; i++) {
        if (next.id != 0) {
            OK(weir_destroy(next));
        }
        OK(weir_create_host(&config, &host, &next));
    }
    OK(weir_stream_create(next, 0, 0, &mine));
    OK(weir_pool_create(next, &wanted, &own));
    REFUSED(weir_malloc_async(next, pool, 100, mine, &ptr), WEIR_BAD_HANDLE, "is not of runtime");
    REFUSED(weir_malloc_async(next, own, 100, stream, &ptr), WEIR_BAD_HANDLE, "is not of runtime");
    OK(weir_destroy(next));
    OK(weir_destroy(first));
}

static void test_memory(void)
{
    weir_runtime runtime = host_runtime(64u << 20);
    weir_pool pool = pool_of(runtime, 8u << 20);
    weir_stream stream = stream_of(runtime);
    weir_ptr first, second, third;
    struct weir_block block;
    struct weir_trimmed trimmed;
    struct weir_pool_stats stats;
    uint32_t label;
    REFUSED(weir_malloc_async(runtime, pool, 0, stream, &first), WEIR_ZERO_SIZE, "zero bytes");
    REFUSED(weir_malloc_async(runtime, pool, 9u << 20, stream, &first), WEIR_ABOVE_LIMIT, "8388608");
    REFUSED(weir_malloc_async(runtime, pool, UINT64_MAX, stream, &first), WEIR_ABOVE_LIMIT, "18446744073709551615");
    REFUSED(weir_malloc_async(runtime, pool, 8, stream, NULL), WEIR_INVALID_ARGUMENT, "`ptr` is null");
    OK(weir_label(runtime, "layer 3", &label));
    OK(weir_mark(runtime, "a mark is no label"));
    REFUSED(weir_malloc_labelled(runtime, pool, 1000, stream, label + 1, &first), WEIR_INVALID_ARGUMENT, "weir_label");
    OK(weir_malloc_labelled(runtime, pool, 1000, stream, label, &first));
    OK(weir_malloc_async(runtime, pool, 3u << 20, stream, &second));
    REFUSED(weir_malloc_async(runtime, pool, 4u << 20, stream, &third), WEIR_OUT_OF_MEMORY, "4194304 B requested");
    OK(weir_block_at(runtime, first, &block));
    CHECK(block.start == first && block.given == 1024 && block.asked == 1000 && block.label == label);
    CHECK(block.pool.id == pool.id && block.allocation == 1);
    REFUSED(weir_block_at(runtime, 4096, &block), WEIR_BAD_POINTER, "0x1000");
    REFUSED(weir_free_async(runtime, 4096, stream), WEIR_BAD_POINTER, "in no pool");
    REFUSED(weir_free_async(runtime, 0, stream), WEIR_BAD_POINTER, "0x0");
    REFUSED(weir_free_async(runtime, second + 512, stream), WEIR_BAD_POINTER, "inside allocation 2");
    OK(weir_record_use(runtime, second, stream, WEIR_USE_NOW));
    REFUSED(weir_record_use(runtime, second, stream, 2), WEIR_INVALID_ARGUMENT, "`until` is 2");
    REFUSED(weir_pool_destroy(runtime, pool, WEIR_DESTROY_IF_EMPTY), WEIR_LIVE_BLOCKS, "2 blocks of 3146752 B are live");
    OK(weir_free_async(runtime, second, stream));
    REFUSED(weir_free_async(runtime, second, stream), WEIR_DOUBLE_FREE, "allocation 2");
    OK(weir_try_free_async(runtime, first, stream));
    OK(weir_try_malloc_async(runtime, pool, 512, stream, &third));
    OK(weir_pool_get_stats(runtime, pool, &stats));
    CHECK(stats.used == 512 && stats.requested == 512 && stats.live_blocks == 1 && stats.mallocs == 3);
    CHECK(stats.refused == 4 && stats.reserved == 6u << 20 && stats.used <= stats.used_high);
    OK(weir_free_async(runtime, third, stream));
    OK(weir_pool_trim(runtime, pool, 0, NULL));
    OK(weir_stream_synchronize(runtime, stream));
    OK(weir_pool_trim(runtime, pool, 0, &trimmed));
    CHECK(trimmed.reserved == 0 && trimmed.live == 0 && trimmed.pending == 0);
    REFUSED(weir_label(runtime, NULL, &label), WEIR_INVALID_ARGUMENT, "`name` is null");
    REFUSED(weir_label(runtime, "\xff\xfe", &label), WEIR_BAD_NAME, "UTF-8");
    REFUSED(weir_mark(runtime, "a name of more than sixty-four bytes is too long for a label or a mark"), WEIR_BAD_NAME,
            "at most 64");
    OK(weir_verify(runtime));
    OK(weir_destroy(runtime));
}

static void test_attributes(void)
{
    weir_runtime runtime = host_runtime(64u << 20);
    weir_pool pool = pool_of(runtime, 0), usual, again;
    weir_stream stream = stream_of(runtime);
    struct weir_pool_config config;
    uint64_t value = 0;
    weir_ptr ptr;
    for (uint32_t i = 1; i <= 3; i++) {
        OK(weir_pool_get_attribute(runtime, pool, i, &value));
        CHECK(value == 1);
        OK(weir_pool_set_attribute(runtime, pool, i, 0));
        OK(weir_pool_get_attribute(runtime, pool, i, &value));
        CHECK(value == 0);
    }
    OK(weir_pool_set_attribute(runtime, pool, WEIR_ATTR_RELEASE_THRESHOLD, UINT64_MAX));
    OK(weir_malloc_async(runtime, pool, 4096, stream, &ptr));
    OK(weir_free_async(runtime, ptr, stream));
    OK(weir_stream_synchronize(runtime, stream));
    OK(weir_pool_get_attribute(runtime, pool, WEIR_ATTR_RESERVED_MEM_CURRENT, &value));
    CHECK(value == 2u << 20);
    OK(weir_pool_get_attribute(runtime, pool, WEIR_ATTR_USED_MEM_HIGH, &value));
    CHECK(value == 4096);
    OK(weir_pool_set_attribute(runtime, pool, WEIR_ATTR_USED_MEM_HIGH, 0));
    OK(weir_pool_get_attribute(runtime, pool, WEIR_ATTR_USED_MEM_HIGH, &value));
    CHECK(value == 0);
    REFUSED(weir_pool_set_attribute(runtime, pool, WEIR_ATTR_USED_MEM_HIGH, 9), WEIR_READ_ONLY, "not 9");
    REFUSED(weir_pool_set_attribute(runtime, pool, WEIR_ATTR_USED_MEM_CURRENT, 0), WEIR_READ_ONLY, "attribute 7");
    REFUSED(weir_pool_get_attribute(runtime, pool, 0, &value), WEIR_INVALID_ARGUMENT, "expected 1 to 8");
    REFUSED(weir_pool_get_attribute(runtime, pool, 9, &value), WEIR_INVALID_ARGUMENT, "`attribute` is 9");
    OK(weir_pool_config_init(&config, 0));
    config.reuse = 8;
    REFUSED(weir_pool_create(runtime, &config, &usual), WEIR_INVALID_ARGUMENT, "reuse");
    config.reuse = 7;
    config.preference = 5;
    REFUSED(weir_pool_create(runtime, &config, &usual), WEIR_INVALID_ARGUMENT, "preference");
    config.size = 0;
    REFUSED(weir_pool_create(runtime, &config, &usual), WEIR_INVALID_ARGUMENT, "weir_pool_config_init");
    OK(weir_pool_default(runtime, 0, &usual));
    OK(weir_pool_default(runtime, 0, &again));
    CHECK(usual.id == again.id && usual.id != pool.id);
    REFUSED(weir_pool_destroy(runtime, pool, 3), WEIR_INVALID_ARGUMENT, "`how` is 3");
    OK(weir_destroy(runtime));
}

static void count_pending(void *user, weir_stream stream, uint64_t until, uint64_t bytes)
{
    uint64_t *found = (uint64_t *)user;
    found[0]++;
    found[1] = stream.id;
    found[2] = until;
    found[3] = bytes;
}

static void test_pending(void)
{
    weir_runtime runtime = host_runtime(64u << 20);
    weir_pool pool = pool_of(runtime, 4u << 20);
    weir_stream mine = stream_of(runtime), theirs = stream_of(runtime);
    uint64_t found[4] = {0, 0, 0, 0};
    weir_ptr ptr;
    for (uint32_t i = 1; i <= 3; i++) {
        OK(weir_pool_set_attribute(runtime, pool, i, 0));
    }
    OK(weir_malloc_async(runtime, pool, 4u << 20, theirs, &ptr));
    OK(weir_free_async(runtime, ptr, theirs));
    REFUSED(weir_malloc_async(runtime, pool, 512, mine, &ptr), WEIR_OUT_OF_MEMORY, "4194304 B until stream");
    REFUSED(weir_pool_pending(runtime, pool, mine, NULL, NULL), WEIR_INVALID_ARGUMENT, "`fn` is null");
    OK(weir_pool_pending(runtime, pool, mine, count_pending, found));
    CHECK(found[0] == 1 && found[1] == theirs.id && found[2] == 2 && found[3] == 4u << 20);
    OK(weir_stream_synchronize(runtime, theirs));
    OK(weir_malloc_async(runtime, pool, 512, mine, &ptr));
    /* Live memory and an unfinished log do not keep a runtime from ending. */
    OK(weir_destroy(runtime));
}

struct kernel_notes {
    weir_ptr ptr;
    struct weir_kernel *kept;
    int was_null;
};

static void kernel_beyond(struct weir_kernel *kernel, void *user)
{
    struct kernel_notes *notes = (struct kernel_notes *)user;
    notes->kept = kernel;
    notes->was_null = weir_kernel_bytes(kernel, notes->ptr, 4096, 7) == NULL &&
                      weir_kernel_bytes(kernel, notes->ptr, 64u << 20, WEIR_READ) == NULL;
}

static void kernel_complains(struct weir_kernel *kernel, void *user)
{
    weir_kernel_fail(kernel, (const char *)user);
}

static void test_host(void)
{
    weir_runtime runtime = host_runtime(64u << 20);
    weir_pool pool = pool_of(runtime, 0);
    weir_stream stream = stream_of(runtime), odd;
    struct kernel_notes notes = {0, NULL, 0};
    char buffer[256], bytes[16], back[32];
    uint64_t resident = 0;
    int faulted = 0;
    weir_ptr ptr;
    REFUSED(weir_stream_create(runtime, 0, 9, &odd), WEIR_INVALID_ARGUMENT, "`kind` is 9");
    REFUSED(weir_stream_create(runtime, 4, 0, &odd), WEIR_INVALID_ARGUMENT, "device 4");
    REFUSED(weir_stream_register(runtime, 0, 0, 1, 0, &odd), WEIR_INVALID_ARGUMENT, "weir_stream_create");
    REFUSED(weir_host_launch(runtime, stream, NULL, NULL), WEIR_INVALID_ARGUMENT, "`fn` is null");
    OK(weir_malloc_async(runtime, pool, 4096, stream, &ptr));
    memcpy(bytes, "abcdefghijklmnop", sizeof bytes);
    OK(weir_host_copy_to_device(runtime, stream, ptr, bytes, sizeof bytes));
    memset(bytes, 0, sizeof bytes);
    OK(weir_host_copy(runtime, stream, ptr + 16, ptr, 16));
    OK(weir_host_fill(runtime, stream, ptr + 4, '-', 2));
    OK(weir_host_copy_to_host(runtime, stream, back, ptr, sizeof back));
    REFUSED(weir_host_copy_to_host(runtime, stream, NULL, ptr, 1), WEIR_INVALID_ARGUMENT, "`to` is null");
    REFUSED(weir_host_copy_to_device(runtime, stream, ptr, NULL, 1), WEIR_INVALID_ARGUMENT, "`from` is null");
    REFUSED(weir_host_copy_to_device(runtime, stream, ptr, bytes, UINT64_MAX), WEIR_INVALID_ARGUMENT, "`bytes`");
    OK(weir_stream_synchronize(runtime, stream));
    CHECK(memcmp(back, "abcd--ghijklmnopabcdefghijklmnop", sizeof back) == 0);
    OK(weir_host_resident(runtime, 0, &resident));
    CHECK(resident > 0 && resident <= 2u << 20);

    notes.ptr = ptr;
    OK(weir_host_launch(runtime, stream, kernel_beyond, &notes));
    REFUSED(weir_stream_synchronize(runtime, stream), WEIR_DRIVER_ERROR, "synchronise");
    CHECK(notes.was_null);
    OK(weir_host_fault(runtime, 0, &faulted, buffer, sizeof buffer));
    CHECK(faulted == 1 && strstr(buffer, "no memory is mapped") != NULL);
    OK(weir_host_clear_fault(runtime, 0));
    CHECK(weir_kernel_bytes(notes.kept, ptr, 1, WEIR_READ) == NULL);
    CHECK(strstr(text(), "`kernel`") != NULL);
    CHECK(weir_kernel_bytes(NULL, ptr, 1, WEIR_READ) == NULL);
    OK(weir_host_fault(runtime, 0, &faulted, NULL, 0));
    CHECK(faulted == 0);
    OK(weir_host_launch(runtime, stream, kernel_complains, (void *)"wrong sum"));
    REFUSED(weir_device_synchronize(runtime, 0), WEIR_DRIVER_ERROR, "device 0 has a fault: a kernel on stream");
    OK(weir_host_fault(runtime, 0, &faulted, buffer, sizeof buffer));
    CHECK(faulted == 1 && strstr(buffer, "wrong sum") != NULL);
    REFUSED(weir_host_fault(runtime, 9, &faulted, NULL, 0), WEIR_INVALID_ARGUMENT, "device 9");
    /* A faulted device makes the end report a failure, and the runtime is gone all the same. */
    REFUSED(weir_destroy(runtime), WEIR_DRIVER_ERROR, "wrong sum");
    REFUSED(weir_destroy(runtime), WEIR_BAD_HANDLE, "was destroyed");
}

struct log_notes {
    uint64_t pages;
    uint64_t bytes;
};

static void take_page(void *user, const uint8_t *page, size_t length)
{
    struct log_notes *notes = (struct log_notes *)user;
    notes->pages++;
    notes->bytes += page != NULL ? length : 0;
}

/* A driver of our own, and a log that goes to a file and to a function. */
static void test_table(const char *log)
{
    struct toy_driver *toy;
    struct weir_driver_ops ops, bad;
    struct weir_config config;
    struct weir_counters counters;
    struct log_notes notes = {0, 0};
    weir_runtime runtime;
    weir_pool pool;
    weir_stream stream, same;
    weir_ptr ptr, other;
    CHECK(toy_open(&toy, &ops) == 0);
    REFUSED(weir_create_with_driver(NULL, NULL, &runtime), WEIR_INVALID_ARGUMENT, "`ops` is null");
    bad = ops;
    bad.unmap = NULL;
    REFUSED(weir_create_with_driver(NULL, &bad, &runtime), WEIR_BAD_DRIVER, "`unmap` is null");
    OK(weir_config_init(&config));
    config.log_path = log;
    config.log_fn = take_page;
    config.log_user = &notes;
    OK(weir_create_with_driver(&config, &ops, &runtime));
    pool = pool_of(runtime, 16 * TOY_GRANULE);
    REFUSED(weir_stream_create(runtime, 0, 0, &stream), WEIR_NOT_HOST, "host driver");
    OK(weir_stream_register(runtime, 0, WEIR_STREAM_NON_BLOCKING, 42, 0, &stream));
    REFUSED(weir_stream_register(runtime, 0, WEIR_STREAM_NON_BLOCKING, 42, 0, &same), WEIR_EXISTS, "stream");
    REFUSED(weir_host_launch(runtime, stream, kernel_beyond, NULL), WEIR_NOT_HOST, "host driver");
    OK(weir_mark(runtime, "begin"));
    OK(weir_malloc_async(runtime, pool, 3 * TOY_GRANULE, stream, &ptr));
    /* New granules are mapped at once, for every stream. */
    CHECK(toy->created == 3 && toy->mapped == 3 && toy->last_stream == 0);
    memset((void *)(uintptr_t)ptr, 7, 3 * TOY_GRANULE);
    toy->fail_call = TOY_MAP;
    toy->fail_status = WEIR_DRIVER_FAILED;
    toy->fail_code = 4711;
    REFUSED(weir_malloc_async(runtime, pool, TOY_GRANULE, stream, &other), WEIR_DRIVER_ERROR, "`map` failed with code 4711");
    OK(weir_verify(runtime));
    OK(weir_free_async(runtime, ptr, stream));
    OK(weir_malloc_async(runtime, pool, 3 * TOY_GRANULE, stream, &other));
    CHECK(other == ptr && toy->created == 3);
    OK(weir_free_async(runtime, other, stream));
    OK(weir_stream_synchronize(runtime, stream));
    CHECK(toy->created == 0 && toy->mapped == 0);
    OK(weir_get_counters(runtime, &counters));
    CHECK(counters.create == toy->calls[TOY_CREATE] && counters.failed == 1 && counters.synchronise == 1);
    CHECK(counters.map == 3 && toy->calls[TOY_MAP] == 4 && counters.unmap == toy->calls[TOY_UNMAP]);
    OK(weir_log_flush(runtime));
    CHECK(notes.pages > 0 && notes.bytes > 0);
    OK(weir_destroy(runtime));
    CHECK(toy->base == 0);
    toy_close(toy);
    printf("pages=%llu bytes=%llu\n", (unsigned long long)notes.pages, (unsigned long long)notes.bytes);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: api_test LOG\n");
        return 2;
    }
    test_texts();
    test_create();
    test_handles();
    test_many_runtimes();
    test_memory();
    test_attributes();
    test_pending();
    test_host();
    test_table(argv[1]);
    printf(failures == 0 ? "ok\n" : "failed\n");
    return failures != 0;
}
