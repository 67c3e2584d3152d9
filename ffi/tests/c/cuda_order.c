/* What libweir_cuda.so learns of order, and what it does not. See cuda_cases.h. */
#include "cuda_cases.h"

#include <pthread.h>

/* ------------------------------------------------------------------------------------------------------------ events */

static void a_stream_gets_its_own_memory_again(void)
{
    CHECK(gets(a, freed_on(a)));
}

static void a_wait_hands_on(void)
{
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    CHECK(gets(b, block));
}

static void no_wait_hands_on_nothing(void)
{
    CHECK(!gets(b, freed_on(a)));
}

static void waits_chain_under_both_interfaces_names(void)
{
    stream_t c = NULL;
    event_t second = NULL;
    OK(cuStreamCreate(&c, NON_BLOCKING));
    OK(cuEventCreate(&second, 0));
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    OK(cuStreamWaitEvent(c, event, 0));
    OK(cuEventRecord(second, c));
    OK(cudaStreamWaitEvent(b, second, 0));
    CHECK(gets(b, block));
    /* And all of it with the driver's alone. */
    OK(cuMemAllocAsync(&block, SIZE, c));
    kernel(c, block, -1, 1);
    kernel(c, block, 1, -1);
    OK(cuMemFreeAsync(block, c));
    OK(cuEventRecord(second, c));
    OK(cuStreamWaitEvent(a, second, 0));
    CHECK(gets(a, block));
    OK(cuEventDestroy_v2(second));
    OK(cuStreamDestroy_v2(c));
}

static void a_record_before_the_free_covers_nothing(void)
{
    OK(cudaEventRecord(event, a));
    void *block = freed_on(a);
    OK(cudaStreamWaitEvent(b, event, 0));
    CHECK(!gets(b, block));
}

static void a_record_that_fails_changes_nothing(void)
{
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    standin_fail("cuEventRecord", 0, 1, 719);
    IS(719, cudaEventRecord(event, b));
    OK(cudaStreamWaitEvent(b, event, 0));
    CHECK(gets(b, block));
}

static void a_wait_that_fails_teaches_nothing(void)
{
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    standin_fail("cuStreamWaitEvent", 0, 1, 719);
    IS(719, cudaStreamWaitEvent(b, event, 0));
    CHECK(!gets(b, block));
}

static void the_same_handle_again_is_another_event(void)
{
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    OK(cudaEventDestroy(event));
    CHECK(make_event() == event);
    OK(cudaStreamWaitEvent(b, event, 0));
    CHECK(!gets(b, block));
    /* It is as good as any. */
    block = freed_on(a);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    CHECK(gets(b, block));
}

static void an_event_that_ended_unseen_is_noticed(void)
{
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    OK(round_it("cuEventDestroy_v2")(event));
    CHECK(make_event() == event);
    OK(cudaStreamWaitEvent(b, event, 0));
    CHECK(!gets(b, block));
}

static void an_unknown_event_ends_all_trust(void)
{
    event_t unknown = NULL;
    OK(round_it("cuEventCreate")(&unknown, 0));
    OK(cudaEventRecord(unknown, a));
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    CHECK(!gets(b, block));
    /* The device is still believed. */
    OK(cudaDeviceSynchronize());
    CHECK(gets(b, block));
}

static void events_of_other_processes_teach_nothing(void)
{
    event_t shared = NULL, opened = NULL;
    struct ipc_handle handle = {{0}};
    OK(cudaEventCreateWithFlags(&shared, INTERPROCESS | 2));
    OK(cudaIpcOpenEventHandle(&opened, handle));
    event_t both[] = {shared, opened};
    for (int i = 0; i < 2; i++) {
        void *block = freed_on(a);
        OK(cudaEventRecord(both[i], a));
        OK(cudaStreamWaitEvent(b, both[i], 0));
        CHECK(!gets(b, block));
    }
    /* They are known, so others are believed. */
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    CHECK(gets(b, block));
}

static void events_that_graphs_record_teach_nothing(void)
{
    void *node = NULL;
    event_t second = make_event();
    OK(cudaGraphAddEventRecordNode(&node, NULL, NULL, 0, event));
    OK(cudaEventRecordWithFlags(second, a, RECORD_EXTERNAL));
    event_t both[] = {event, second};
    for (int i = 0; i < 2; i++) {
        void *block = freed_on(a);
        OK(cudaEventRecord(both[i], a));
        OK(cudaStreamWaitEvent(b, both[i], 0));
        CHECK(!gets(b, block));
    }
}

static void events_that_launches_record_teach_nothing(void)
{
    /* A priority, a programmatic event, and the launch's completion. */
    event_t second = make_event();
    const struct launch_attribute attributes[] = {{.id = 8}, {.id = 7, .event = event}, {.id = 12, .event = second}};
    const struct launch_config config = {.stream = b, .attributes = attributes, .count = 3};
    stream_t c = make_stream(NON_BLOCKING);
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    OK(cudaEventRecord(second, a));
    OK(cudaLaunchKernelExC(&config, NULL, NULL));
    OK(cudaStreamWaitEvent(c, event, 0));
    OK(cudaStreamWaitEvent(c, second, 0));
    CHECK(!gets(c, block));
}

/* ---------------------------------------------------------------------------------------------------- default streams */

static void the_shared_default_stream_orders_blocking_streams(void)
{
    stream_t blocking = NULL, other = make_stream(0);
    OK(cudaStreamCreate(&blocking));
    void *block = freed_on(NULL);
    CHECK(!gets(a, block));
    CHECK(gets(blocking, block));
    block = freed_on(blocking);
    CHECK(!gets(other, block));
    CHECK(gets(SHARED_STREAM, block));
    /* Only with work on the default stream in between do blocking streams come after each other. */
    block = freed_on(blocking);
    OK(cudaEventRecord(event, NULL));
    OK(cudaStreamWaitEvent(other, event, 0));
    CHECK(gets(other, block));
}

static void the_default_stream_is_one_under_both_its_handles(void)
{
    CHECK(gets(SHARED_STREAM, freed_on(NULL)));
}

static void *on_another_thread(void *block)
{
    void *found = NULL;
    OK(cudaSetDevice(0));
    OK(cudaMallocAsync_ptsz(&found, SIZE, NULL));
    kernel(OWN_STREAM, found, -1, 4);
    kernel(OWN_STREAM, found, 4, -1);
    int same = found == block;
    OK(cudaFreeAsync_ptsz(found, NULL));
    return same ? block : NULL;
}

static void *thread(void *(*run)(void *), void *argument)
{
    pthread_t made;
    void *answer = NULL;
    CHECK(pthread_create(&made, NULL, run, argument) == 0 && pthread_join(made, &answer) == 0);
    return answer;
}

static void each_thread_has_a_default_stream_of_its_own(void)
{
    void *block = NULL, *found = NULL;
    OK(cudaMallocAsync_ptsz(&block, SIZE, NULL));
    kernel(OWN_STREAM, block, -1, 1);
    kernel(OWN_STREAM, block, 1, -1);
    OK(cudaFreeAsync_ptsz(block, NULL));
    CHECK(thread(on_another_thread, block) == NULL);
    /* Under its other handle, and by events. */
    OK(cudaMallocAsync(&found, SIZE, OWN_STREAM));
    CHECK(found == block);
    OK(cudaFreeAsync(found, OWN_STREAM));
    OK(cudaEventRecord_ptsz(event, NULL));
    OK(cudaStreamWaitEvent(a, event, 0));
    CHECK(gets(a, block));
    block = freed_on(a);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent_ptsz(NULL, event, 0));
    CHECK(gets(OWN_STREAM, block));
}

static void a_threads_default_stream_can_be_waited_for(void)
{
    void *block = freed_on(OWN_STREAM);
    CHECK(!gets(a, block));
    OK(cudaStreamSynchronize_ptsz(NULL));
    CHECK(gets(a, block));
}

static void a_threads_default_stream_orders_itself_against_the_shared_one(void)
{
    void *block = freed_on(OWN_STREAM);
    CHECK(gets(NULL, block));
}

static void threads_come_and_go(void)
{
    for (int i = 0; i < 200; i++) {
        (void)thread(on_another_thread, NULL);
        if (i % 32 == 31) {
            OK(cudaDeviceSynchronize());
        }
    }
    CHECK(is_pooled(a) && used() == 0);
    uint64_t calls = standin_calls("cuMemAllocAsync");
    (void)thread(on_another_thread, NULL);
    CHECK(standin_calls("cuMemAllocAsync") == calls);
}

/* -------------------------------------------------------------------------------------------------------- completion */

static void a_query_that_says_complete_is_believed(void)
{
    set_switch(REUSE_OPPORTUNISTIC, 0);
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    IS(NOT_READY, cudaEventQuery(event));
    CHECK(!gets(b, block));
    standin_run();
    CHECK(!gets(b, block));
    OK(cudaEventQuery(event));
    CHECK(gets(b, block));
}

static void a_stream_that_says_complete_is_believed(void)
{
    set_switch(REUSE_OPPORTUNISTIC, 0);
    void *block = freed_on(a);
    IS(NOT_READY, cudaStreamQuery(a));
    CHECK(!gets(b, block));
    /* The first answer may come with a marker of weir's, which the device has not come to. */
    for (int i = 0; i < 2; i++) {
        standin_run();
        OK(cudaStreamQuery(a));
    }
    CHECK(gets(b, block));
}

static void a_stream_that_is_complete_says_nothing_of_the_default_stream(void)
{
    stream_t c = make_stream(0), d = make_stream(0);
    set_switch(REUSE_OPPORTUNISTIC, 0);
    OK(cudaEventRecord(event, c));
    OK(cudaStreamSynchronize(c));
    /* What c does next comes after all this, but it does nothing. */
    void *block = freed_on(d);
    OK(cudaEventRecord(event, NULL));
    OK(cudaStreamWaitEvent(NULL, event, 0));
    OK(cudaStreamQuery(c));
    CHECK(!gets(b, block));
}

static int stream_sync(void)
{
    return cudaStreamSynchronize(a);
}

static int event_sync(void)
{
    return cudaEventSynchronize(event);
}

static int driver_stream_sync(void)
{
    return cuStreamSynchronize(a);
}

static int driver_event_sync(void)
{
    return cuEventSynchronize(event);
}

static void every_synchronisation_tells_and_releases(void)
{
    int (*const all[])(void) = {stream_sync,       event_sync,           cudaDeviceSynchronize, driver_stream_sync,
                                driver_event_sync, cudaThreadSynchronize, cuCtxSynchronize};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        stream_t fresh = make_stream(NON_BLOCKING);
        set_threshold(UINT64_MAX);
        void *block = freed_on(a);
        OK(cudaEventRecord(event, a));
        OK(all[i]());
        CHECK(allocate(SIZE, fresh) == block);
        OK(cudaFreeAsync(block, a));
        OK(cudaEventRecord(event, a));
        set_threshold(0);
        CHECK(reserved() > 0);
        OK(all[i]());
        CHECK(reserved() == 0);
    }
}

static void a_synchronisation_that_fails_teaches_nothing(void)
{
    void *block = freed_on(a);
    standin_fail("cuStreamSynchronize", 0, 1, 719);
    IS(719, cudaStreamSynchronize(a));
    standin_fail("cuCtxSynchronize", 0, 1, 719);
    IS(719, cudaDeviceSynchronize());
    CHECK(!gets(b, block));
}

static void weir_asks_the_device_itself(void)
{
    /* Markers are laid where there are two streams. */
    OK(cudaFreeAsync(allocate(512, b), b));
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    standin_run();
    CHECK(gets(b, block));
}

static void weir_asks_about_a_threads_default_stream_too(void)
{
    OK(cudaFreeAsync(allocate(512, b), b));
    void *block = freed_on(OWN_STREAM);
    OK(cudaEventRecord(event, OWN_STREAM));
    CHECK(!gets(b, block));
    standin_run();
    CHECK(gets(b, block));
    /* Where there is no more, the one waits for the other. */
    void *large = allocate(200 * MIB, OWN_STREAM);
    kernel(OWN_STREAM, large, -1, 1);
    kernel(OWN_STREAM, large, 1, -1);
    OK(cudaFreeAsync(large, OWN_STREAM));
    OK(cudaEventRecord(event, OWN_STREAM));
    CHECK(allocate(200 * MIB, b) == large);
    kernel(b, large, -1, 2);
    OK(cudaFreeAsync(large, b));
    OK(cudaEventRecord(event, b));
    CHECK(allocate(200 * MIB, OWN_STREAM) == large);
    kernel(OWN_STREAM, large, -1, 3);
    kernel(OWN_STREAM, large, 3, -1);
}

static void the_pool_grows_before_a_stream_is_made_to_wait(void)
{
    uint64_t waits = standin_calls("cuStreamWaitEvent");
    OK(cudaFreeAsync(allocate(512, b), b));
    void *held = allocate(250 * MIB, a);
    kernel(a, held, -1, 1);
    OK(cudaFreeAsync(held, a));
    /* The marker comes with the stream's next call. */
    OK(cudaEventRecord(event, a));
    CHECK(!gets(b, held) && standin_calls("cuStreamWaitEvent") == waits);
    /* Where it cannot grow, one waits for the other. */
    CHECK(allocate(200 * MIB, b) != NULL);
    CHECK(standin_calls("cuStreamWaitEvent") == waits + 1);
}

/* ----------------------------------------------------------------------------------------------------------- streams */

static void the_same_handle_again_is_another_stream(void)
{
    void *block = freed_on(a);
    OK(cudaStreamDestroy(a));
    CHECK(make_stream(NON_BLOCKING) == a);
    set_switch(REUSE_OPPORTUNISTIC, 0);
    CHECK(!gets(a, block));
}

static void a_stream_that_could_not_be_destroyed_goes_on(void)
{
    standin_fail("cuStreamDestroy_v2", 0, 1, 719);
    IS(719, cudaStreamDestroy(a));
    CHECK(is_pooled(a));
    OK(cudaStreamDestroy(a));
}

static void a_stream_that_ended_unseen_is_noticed(void)
{
    stream_t again = NULL;
    void *block = freed_on(a);
    OK(round_it("cuStreamDestroy_v2")(a));
    OK(round_it("cuStreamCreate")(&again, NON_BLOCKING));
    CHECK(again == a);
    /* The driver has another number for it. */
    CHECK(!is_pooled(a));
    CHECK(!gets(b, block));
    OK(cudaEventRecord(event, b));
    OK(cudaDeviceSynchronize());
    CHECK(gets(b, block));
}

static void a_stream_that_ended_unseen_is_noticed_when_its_handle_ends_again(void)
{
    stream_t again = NULL;
    (void)freed_on(a);
    OK(round_it("cuStreamDestroy_v2")(a));
    OK(round_it("cuStreamCreate")(&again, NON_BLOCKING));
    OK(cudaStreamDestroy(again));
    /* A marker on it would say nothing about the stream that freed. */
    CHECK(!is_pooled(b));
    OK(cudaDeviceSynchronize());
    CHECK(is_pooled(b));
}

static void an_unknown_stream_ends_all_trust(void)
{
    stream_t unknown = NULL;
    OK(round_it("cuStreamCreate")(&unknown, NON_BLOCKING));
    CHECK(!is_pooled(unknown));
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    CHECK(!gets(b, block));
    /* It may free what the pool has: it is waited for. */
    void *other = allocate(SIZE, a);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(unknown, event, 0));
    kernel(unknown, other, -1, 4);
    uint64_t before = used();
    OK(cudaFreeAsync(other, unknown));
    OK(cudaStreamQuery(unknown));
    CHECK(used() < before);
}

static void streams_of_other_contexts_go_to_the_vendor(void)
{
    context_t before = NULL, context = NULL;
    OK(cuCtxGetCurrent(&before));
    OK(cuCtxCreate_v2(&context, 0, 0));
    stream_t other = NULL;
    OK(cuStreamCreate(&other, NON_BLOCKING));
    OK(cuCtxSetCurrent(before));
    CHECK(!is_pooled(other));
    CHECK(is_pooled(a));
    OK(cuCtxDestroy_v2(context));
}

static void a_stream_that_finds_no_room_goes_to_the_vendor(void)
{
    stream_t more[160];
    int pooled = 0;
    for (int i = 0; i < 160; i++) {
        more[i] = make_stream(NON_BLOCKING);
        pooled += is_pooled(more[i]);
        OK(cudaStreamSynchronize(more[i]));
    }
    CHECK(pooled > 100 && pooled < 160);
    CHECK(is_pooled(more[0]) && !is_pooled(more[159]));
    /* It may free what the pool has, and there is room when another is destroyed. */
    void *block = allocate(SIZE, more[0]);
    uint64_t before = used();
    OK(cudaFreeAsync(block, more[159]));
    CHECK(used() < before);
    OK(cudaStreamDestroy(more[0]));
    OK(cudaDeviceSynchronize());
    CHECK(is_pooled(more[159]));
}

/* ---------------------------------------------------------------------------------------------------------- captures */

static void captured_streams_go_to_the_vendor(void)
{
    void *graph = NULL, *held = allocate(SIZE, a);
    void *block = freed_on(a);
    uint64_t calls = standin_calls("cuMemAllocAsync");
    OK(cudaStreamBeginCapture(a, 0));
    void *captured = allocate(SIZE, a), *from_pool = NULL;
    OK(cudaMallocFromPoolAsync(&from_pool, SIZE, pool, a));
    CHECK(standin_calls("cuMemAllocAsync") == calls + 2);
    OK(cudaFreeAsync(captured, a));
    OK(cudaFreeAsync(from_pool, a));
    IS(CAPTURE_UNSUPPORTED, cudaFreeAsync(held, a));
    /* What is recorded in a capture says nothing outside it. */
    OK(cudaEventRecord(event, a));
    OK(cudaStreamEndCapture(a, &graph));
    OK(cudaStreamWaitEvent(b, event, 0));
    OK(cudaStreamBeginCapture(a, 0));
    OK(cudaStreamEndCapture(a, &graph));
    CHECK(!gets(b, block));
    OK(cudaFreeAsync(held, a));
    CHECK(is_pooled(a));
}

static void a_stream_that_joins_a_capture_is_captured(void)
{
    void *graph = NULL, *block = freed_on(a);
    OK(cudaStreamBeginCapture(a, 0));
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    CHECK(!is_pooled(b));
    OK(cudaStreamEndCapture(a, &graph));
    CHECK(!gets(b, block));
}

/* CUDA ends a capture where any thread makes an unsafe call meanwhile; weir's own are none. */
static void other_streams_go_on_during_a_capture(void)
{
    void *graph = NULL;
    OK(cudaFreeAsync(allocate(512, b), b));
    (void)freed_on(a);
    OK(cudaStreamBeginCapture(a, 0));
    /* It grows, and asks for markers. */
    CHECK(is_pooled(b));
    void *large = allocate(64 * MIB, b);
    OK(cudaFreeAsync(large, b));
    OK(cudaStreamEndCapture(a, &graph));
}

/* ----------------------------------------------------------------------------------------------------------- threads */

/* Threads with a stream each hand blocks round by way of events that all of them use. */
static event_t ring[4];
static unsigned refused;

static void *turn_round(void *argument)
{
    size_t number = *(size_t *)argument;
    OK(cudaSetDevice(0));
    stream_t mine = make_stream(number % 2);
    for (int i = 0; i < 300; i++) {
        void *block = NULL;
        OK(cudaStreamWaitEvent(mine, ring[(number + (size_t)i) % 4], 0));
        if (cudaMallocAsync(&block, SIZE, i % 5 == 4 ? NULL : mine) != 0) {
            __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
            OK(cudaStreamSynchronize(mine));
            continue;
        }
        stream_t on = i % 5 == 4 ? SHARED_STREAM : mine;
        kernel(on, block, -1, (int)number);
        kernel(on, block, (int)number, -1);
        OK(cudaFreeAsync(block, on));
        OK(cudaEventRecord(ring[number], on));
        if (i % 32 == 31) {
            OK(i % 64 == 31 ? cudaStreamSynchronize(mine) : cudaEventSynchronize(ring[number]));
        }
        if (i % 70 == 69) {
            OK(cudaStreamDestroy(mine));
            mine = make_stream(number % 2);
        }
    }
    return NULL;
}

static void threads_do_not_get_each_others_memory(void)
{
    pthread_t threads[4];
    size_t numbers[4];
    for (size_t i = 0; i < 4; i++) {
        ring[i] = make_event();
    }
    for (size_t i = 0; i < 4; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, turn_round, &numbers[i]) == 0);
    }
    for (size_t i = 0; i < 4; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(refused < 600 && used() == 0);
}

static const struct test_case CASES[] = {
    CASE(a_stream_gets_its_own_memory_again),
    CASE(a_wait_hands_on),
    CASE(no_wait_hands_on_nothing),
    CASE(waits_chain_under_both_interfaces_names),
    CASE(a_record_before_the_free_covers_nothing),
    CASE(a_record_that_fails_changes_nothing),
    CASE(a_wait_that_fails_teaches_nothing),
    CASE(the_same_handle_again_is_another_event),
    CASE(an_event_that_ended_unseen_is_noticed),
    CASE(an_unknown_event_ends_all_trust),
    CASE(events_of_other_processes_teach_nothing),
    CASE(events_that_graphs_record_teach_nothing),
    CASE(events_that_launches_record_teach_nothing),
    CASE(the_shared_default_stream_orders_blocking_streams),
    CASE(the_default_stream_is_one_under_both_its_handles),
    CASE(each_thread_has_a_default_stream_of_its_own),
    CASE(a_threads_default_stream_can_be_waited_for),
    CASE(a_threads_default_stream_orders_itself_against_the_shared_one),
    CASE(threads_come_and_go),
    CASE(a_query_that_says_complete_is_believed),
    CASE(a_stream_that_says_complete_is_believed),
    CASE(a_stream_that_is_complete_says_nothing_of_the_default_stream),
    CASE(every_synchronisation_tells_and_releases),
    CASE(a_synchronisation_that_fails_teaches_nothing),
    CASE(weir_asks_the_device_itself),
    CASE(weir_asks_about_a_threads_default_stream_too),
    CASE(the_pool_grows_before_a_stream_is_made_to_wait),
    CASE(the_same_handle_again_is_another_stream),
    CASE(a_stream_that_could_not_be_destroyed_goes_on),
    CASE(a_stream_that_ended_unseen_is_noticed),
    CASE(a_stream_that_ended_unseen_is_noticed_when_its_handle_ends_again),
    CASE(an_unknown_stream_ends_all_trust),
    CASE(streams_of_other_contexts_go_to_the_vendor),
    CASE(a_stream_that_finds_no_room_goes_to_the_vendor),
    CASE(captured_streams_go_to_the_vendor),
    CASE(a_stream_that_joins_a_capture_is_captured),
    CASE(other_streams_go_on_during_a_capture),
    CASE(threads_do_not_get_each_others_memory),
};

int main(int count, char **arguments)
{
    return RUN(count, arguments);
}
