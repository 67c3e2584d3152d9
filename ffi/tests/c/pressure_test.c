/*
 * The function that is called before an allocation is refused, on a driver of the program's own and from several
 * threads: what it may do, who else is called when it is changed, and that the end waits for it.
 * Usage: pressure_test; prints "ok" and ends with 0 where everything is as it should be.
 */
#define _POSIX_C_SOURCE 200809L
#include "api_check.h"
#include "toy_driver.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static struct toy_driver *toy;
static weir_runtime runtime;
static weir_pool pool;
static weir_stream stream;
/* The one block, which fills the pool. */
static weir_ptr block;

static void open_full(void)
{
    struct weir_driver_ops ops;
    CHECK(toy_open(&toy, &ops) == 0);
    OK(weir_create_with_driver(NULL, &ops, &runtime));
    OK(weir_stream_register(runtime, 0, WEIR_STREAM_NON_BLOCKING, 1, 0, &stream));
    pool = pool_of(runtime, 4 * TOY_GRANULE);
    block = block_of(runtime, pool, 4 * TOY_GRANULE, stream);
}

static void close_all(void)
{
    OK(weir_verify(runtime));
    OK(weir_destroy(runtime));
    CHECK(toy->base == 0);
    toy_close(toy);
}

/* Tries what might wait for the allocation that it is called for, and then gives the block back. */
static int tries_everything(void *user, weir_pool of, uint32_t device, uint64_t bytes)
{
    weir_runtime other = host_runtime(4 * MIB);
    weir_stream theirs = stream_of(other);
    weir_ptr ptr = 0;
    CHECK(of.id == pool.id && of.runtime == pool.runtime && device == 0 && bytes == 256);
    REFUSED(weir_malloc_async(runtime, pool, 1, stream, &ptr), WEIR_BUSY, "allocating is not possible from within");
    REFUSED(weir_malloc_labelled(runtime, pool, 1, stream, 0, &ptr), WEIR_BUSY, "weir_set_pressure");
    REFUSED(weir_try_malloc_async(runtime, pool, 1, stream, &ptr), WEIR_BUSY, "weir_set_pressure");
    REFUSED(weir_pool_destroy(runtime, pool, WEIR_DESTROY_WITH_LIVE_BLOCKS), WEIR_BUSY, "destroying a pool");
    REFUSED(weir_stream_destroy(runtime, stream), WEIR_BUSY, "destroying a stream");
    REFUSED(weir_destroy(runtime), WEIR_BUSY, "from within a call");
    CHECK(ptr == 0);
    /* Another runtime is another matter. */
    block_of(other, pool_of(other, 0), 1, theirs);
    OK(weir_destroy(other));
    OK(weir_free_async(runtime, block, stream));
    OK(weir_stream_synchronize(runtime, stream));
    OK(weir_pool_trim(runtime, pool, 0, NULL));
    CHECK(toy->created == 0);
    OK(weir_verify(runtime));
    OK(weir_set_pressure(runtime, NULL, NULL));
    return ++*(int *)user;
}

static void test_what_it_may_do(void)
{
    int calls = 0;
    weir_ptr ptr;
    open_full();
    OK(weir_set_pressure(runtime, tries_everything, &calls));
    OK(weir_malloc_async(runtime, pool, 256, stream, &ptr));
    CHECK(calls == 1 && toy->created == 1);
    OK(weir_free_async(runtime, ptr, stream));
    close_all();
}

/* Two functions, each of which must be called with its own user. */
static int of_the_first, of_the_second;
static atomic_int calls_of_first, calls_of_second, toggling;

static int first(void *user, weir_pool of, uint32_t device, uint64_t bytes)
{
    (void)of, (void)device, (void)bytes;
    CHECK(user == &of_the_first);
    calls_of_first++;
    return 0;
}

static int second(void *user, weir_pool of, uint32_t device, uint64_t bytes)
{
    (void)of, (void)device, (void)bytes;
    CHECK(user == &of_the_second);
    calls_of_second++;
    return 0;
}

static int hands_on(void *user, weir_pool of, uint32_t device, uint64_t bytes)
{
    (void)user, (void)of, (void)device, (void)bytes;
    OK(weir_set_pressure(runtime, second, &of_the_second));
    return -1;
}

static int always_says_yes(void *user, weir_pool of, uint32_t device, uint64_t bytes)
{
    (void)of, (void)device, (void)bytes;
    ++*(int *)user;
    return 1;
}

static void test_it_may_change_itself_and_is_not_asked_for_ever(void)
{
    int calls = 0;
    weir_ptr ptr;
    open_full();
    OK(weir_set_pressure(runtime, hands_on, NULL));
    REFUSED(weir_malloc_async(runtime, pool, 1, stream, &ptr), WEIR_OUT_OF_MEMORY, "");
    CHECK(calls_of_second == 1);
    OK(weir_set_pressure(runtime, always_says_yes, &calls));
    REFUSED(weir_malloc_async(runtime, pool, 1, stream, &ptr), WEIR_OUT_OF_MEMORY, "");
    CHECK(calls == 8 && calls_of_second == 1);
    close_all();
}

static void *toggles(void *unused)
{
    (void)unused;
    while (toggling) {
        OK(weir_set_pressure(runtime, first, &of_the_first));
        sched_yield();
        OK(weir_set_pressure(runtime, second, &of_the_second));
        sched_yield();
        OK(weir_set_pressure(runtime, NULL, NULL));
    }
    return NULL;
}

static void *allocates(void *unused)
{
    (void)unused;
    while (calls_of_first < 20 || calls_of_second < 20) {
        weir_ptr ptr;
        REFUSED(weir_malloc_async(runtime, pool, 1, stream, &ptr), WEIR_OUT_OF_MEMORY, "");
        sched_yield();
    }
    return NULL;
}

static void test_a_race(void)
{
    pthread_t toggler, allocators[2];
    open_full();
    calls_of_first = calls_of_second = 0;
    toggling = 1;
    CHECK(pthread_create(&toggler, NULL, toggles, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&allocators[i], NULL, allocates, NULL) == 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(allocators[i], NULL);
    }
    toggling = 0;
    pthread_join(toggler, NULL);
    close_all();
}

static atomic_int entered, may_return, end_status;

static int takes_its_time(void *user, weir_pool of, uint32_t device, uint64_t bytes)
{
    (void)user, (void)of, (void)device, (void)bytes;
    entered = 1;
    while (!may_return) {
        sched_yield();
    }
    CHECK(end_status == -1);
    return 0;
}

static void *is_refused(void *unused)
{
    weir_ptr ptr;
    (void)unused;
    REFUSED(weir_malloc_async(runtime, pool, 1, stream, &ptr), WEIR_OUT_OF_MEMORY, "");
    return NULL;
}

static void *ends(void *unused)
{
    (void)unused;
    end_status = weir_destroy(runtime);
    return NULL;
}

/* No lock is held meanwhile: other threads work on, may change the function, and end the runtime when it returns. */
static void test_others_go_on_and_the_end_waits(void)
{
    pthread_t allocator, ender;
    open_full();
    end_status = -1;
    OK(weir_set_pressure(runtime, takes_its_time, NULL));
    CHECK(pthread_create(&allocator, NULL, is_refused, NULL) == 0);
    while (!entered) {
        sched_yield();
    }
    OK(weir_set_pressure(runtime, NULL, NULL));
    OK(weir_free_async(runtime, block, stream));
    block = block_of(runtime, pool, 4 * TOY_GRANULE, stream);
    CHECK(pthread_create(&ender, NULL, ends, NULL) == 0);
    while (weir_log_flush(runtime) == WEIR_OK) {
        sched_yield();
    }
    CHECK(end_status == -1);
    may_return = 1;
    pthread_join(allocator, NULL);
    pthread_join(ender, NULL);
    CHECK(end_status == WEIR_OK && toy->base == 0);
    toy_close(toy);
}

int main(void)
{
    test_what_it_may_do();
    test_it_may_change_itself_and_is_not_asked_for_ever();
    test_a_race();
    test_others_go_on_and_the_end_waits();
    printf(failures == 0 ? "ok\n" : "failed\n");
    return failures != 0;
}
