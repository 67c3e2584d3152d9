/*
 * The end of a runtime, from C: what it waits for, who may ask for it, and that a log which is not whole is reported.
 * Usage: end_test LOG; prints "ok" and ends with 0 where everything is as it should be.
 */
#define _POSIX_C_SOURCE 200809L
#include "api_check.h"
#include "toy_driver.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>

static weir_runtime runtime;

/* A driver whose `reserve` tells that it was entered, and returns when it may. */
static struct weir_driver_ops toy_ops;
static atomic_int entered, may_return, tries_to_end;

static int slow_reserve(void *ctx, uint32_t device, uint64_t bytes, uint64_t *base, int *code)
{
    if (tries_to_end) {
        REFUSED(weir_destroy(runtime), WEIR_BUSY, "from within a call");
    }
    entered = 1;
    while (!may_return) {
        sched_yield();
    }
    return toy_ops.reserve(ctx, device, bytes, base, code);
}

static atomic_int pool_status, end_status;

static void *makes_a_pool(void *unused)
{
    struct weir_pool_config config;
    weir_pool pool;
    (void)unused;
    OK(weir_pool_config_init(&config, 0));
    pool_status = weir_pool_create(runtime, &config, &pool);
    return NULL;
}

static void *ends(void *unused)
{
    (void)unused;
    end_status = weir_destroy(runtime);
    return NULL;
}

static void test_calls_in_flight(void)
{
    struct toy_driver *toy;
    struct weir_driver_ops slow;
    pthread_t maker, ender;
    CHECK(toy_open(&toy, &toy_ops) == 0);
    slow = toy_ops;
    slow.reserve = slow_reserve;
    OK(weir_create_with_driver(NULL, &slow, &runtime));
    pool_status = end_status = -1;
    tries_to_end = 1;
    CHECK(pthread_create(&maker, NULL, makes_a_pool, NULL) == 0);
    while (!entered) {
        sched_yield();
    }
    CHECK(pthread_create(&ender, NULL, ends, NULL) == 0);
    while (weir_log_flush(runtime) == WEIR_OK) {
        sched_yield();
    }
    REFUSED(weir_log_flush(runtime), WEIR_BAD_HANDLE, "was destroyed");
    CHECK(end_status == -1 && pool_status == -1);
    may_return = 1;
    pthread_join(ender, NULL);
    CHECK(end_status == WEIR_OK);
    /* The call had ended, and what it made was given back. */
    CHECK(toy->base == 0 && toy->calls[TOY_RESERVE] == 1 && toy->calls[TOY_RELEASE] == 1);
    toy_close(toy);
    pthread_join(maker, NULL);
    CHECK(pool_status == WEIR_OK);
}

static void end_from_here(void *user, weir_stream stream, uint64_t until, uint64_t bytes)
{
    (void)stream, (void)until, (void)bytes;
    *(int *)user = weir_destroy(runtime);
}

static void test_a_callback_may_end_it(void)
{
    struct weir_pool_config config;
    weir_pool pool;
    weir_stream mine, theirs;
    weir_ptr ptr;
    int status = -1;
    OK(weir_create_host(NULL, NULL, &runtime));
    OK(weir_pool_config_init(&config, 0));
    config.reuse = 0;
    OK(weir_pool_create(runtime, &config, &pool));
    OK(weir_stream_create(runtime, 0, 0, &mine));
    OK(weir_stream_create(runtime, 0, 0, &theirs));
    OK(weir_malloc_async(runtime, pool, 4096, theirs, &ptr));
    OK(weir_free_async(runtime, ptr, theirs));
    OK(weir_pool_pending(runtime, pool, mine, end_from_here, &status));
    CHECK(status == WEIR_OK);
    REFUSED(weir_destroy(runtime), WEIR_BAD_HANDLE, "was destroyed");
}

static void ends_its_runtime(struct weir_kernel *kernel, void *unused)
{
    (void)kernel, (void)unused;
    REFUSED(weir_destroy(runtime), WEIR_BUSY, "kernel of its own");
}

static void test_a_kernel_may_not_end_it(void)
{
    weir_stream stream;
    OK(weir_create_host(NULL, NULL, &runtime));
    OK(weir_stream_create(runtime, 0, 0, &stream));
    OK(weir_host_launch(runtime, stream, ends_its_runtime, NULL));
    OK(weir_stream_synchronize(runtime, stream));
    OK(weir_destroy(runtime));
}

static atomic_int working;

/* Works until the runtime is gone; nothing else may refuse anything. */
static void *works(void *unused)
{
    (void)unused;
    for (;;) {
        weir_stream stream;
        weir_pool pool;
        int status = weir_stream_create(runtime, 0, WEIR_STREAM_NON_BLOCKING, &stream);
        if (status == WEIR_OK) {
            status = weir_pool_default(runtime, 0, &pool);
        }
        if (status == WEIR_OK) {
            working++;
            status = weir_stream_destroy(runtime, stream);
        }
        if (status != WEIR_OK) {
            REFUSED(status, WEIR_BAD_HANDLE, "");
            return NULL;
        }
    }
}

static void test_an_end_while_others_work(void)
{
    for (int round = 0; round < 20; round++) {
        pthread_t threads[3];
        working = 0;
        OK(weir_create_host(NULL, NULL, &runtime));
        for (int i = 0; i < 3; i++) {
            CHECK(pthread_create(&threads[i], NULL, works, NULL) == 0);
        }
        while (working <= round) {
            sched_yield();
        }
        OK(weir_destroy(runtime));
        for (int i = 0; i < 3; i++) {
            pthread_join(threads[i], NULL);
        }
    }
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void test_a_log_that_is_not_whole(const char *log)
{
    struct weir_config config;
    struct weir_counters counters;
    OK(weir_config_init(&config));
    config.log_path = "/dev/full";
    OK(weir_create_host(&config, NULL, &runtime));
    OK(weir_mark(runtime, "lost"));
    REFUSED(weir_log_flush(runtime), WEIR_SYSTEM, "\"/dev/full\": No space left on device");
    REFUSED(weir_log_flush(runtime), WEIR_SYSTEM, "records of the log are lost");
    OK(weir_get_counters(runtime, &counters));
    CHECK(counters.records_lost > 0);
    REFUSED(weir_destroy(runtime), WEIR_SYSTEM, "No space left on device");
    REFUSED(weir_destroy(runtime), WEIR_BAD_HANDLE, "was destroyed");

    /* The system's limit is an error too, not the end of the process. */
    config.log_path = log;
    OK(weir_create_host(&config, NULL, &runtime));
    OK(weir_mark(runtime, "kept"));
    OK(weir_log_flush(runtime));
    limit_files(100);
    OK(weir_mark(runtime, "lost"));
    REFUSED(weir_log_flush(runtime), WEIR_SYSTEM, "ulimit -f");
    limit_files(RLIM_INFINITY);
    REFUSED(weir_destroy(runtime), WEIR_SYSTEM, "ulimit -f");
}

static void test_a_device_beyond_the_limit(void)
{
    struct weir_host_config host;
    OK(weir_host_config_init(&host));
    host.total = 4u << 20;
    limit_files((4u << 20) - 1);
    REFUSED(weir_create_host(NULL, &host, &runtime), WEIR_SYSTEM, "4194304 bytes is needed");
    limit_files(4u << 20);
    OK(weir_create_host(NULL, &host, &runtime));
    limit_files(RLIM_INFINITY);
    OK(weir_destroy(runtime));
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: end_test LOG\n");
        return 2;
    }
    test_calls_in_flight();
    test_a_callback_may_end_it();
    test_a_kernel_may_not_end_it();
    test_an_end_while_others_work();
    test_a_log_that_is_not_whole(argv[1]);
    test_a_device_beyond_the_limit();
    printf(failures == 0 ? "ok\n" : "failed\n");
    return failures != 0;
}
