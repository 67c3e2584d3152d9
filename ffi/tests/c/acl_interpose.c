/*
 * Pools of libweir_acl.so in front of a vendor's library: the stand-in, whose streams do nothing until they must. Each
 * case is a process of its own: the argument is its name; without one the names are printed.
 *
 * A block is freed on one stream, behind kernels that write and check it. Whether another stream gets it is what each
 * case is about; the kernels of both find out whether that was right.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acl_check.h"
#include "acl_vendor.h"
#include "standin.h"

static const size_t SIZE = 3 * MIB;

static aclrtMemPool pool;
static aclrtStream a, b;
static aclrtEvent event;

static void kernel(aclrtStream stream, const void *at, int expected, int value)
{
    standin_kernel((struct standin_stream *)stream, (uintptr_t)at, SIZE, expected, value);
}

static aclrtStream stream(void)
{
    aclrtStream made = NULL;
    OK(aclrtCreateStream(&made));
    return made;
}

static aclrtEvent make_event(void)
{
    aclrtEvent made = NULL;
    OK(aclrtCreateEvent(&made));
    return made;
}

static void set_threshold(uint64_t bytes)
{
    OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &bytes));
}

static void begin(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    a = stream();
    b = stream();
    event = make_event();
    pool = make_pool(64 * MIB);
    set_switch(pool, ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1);
    set_threshold(UINT64_MAX);
    standin_reuse_events();
}

/* A block that work on the stream uses, freed behind that. */
static void *freed_on(aclrtStream on)
{
    void *block = allocate(pool, SIZE, on);
    kernel(on, block, -1, 1);
    kernel(on, block, 1, -1);
    OK(aclrtMemPoolFreeAsync(block, on));
    return block;
}

/* Whether a stream gets this block; it uses what it gets. */
static int gets(aclrtStream on, const void *block)
{
    void *found = allocate(pool, SIZE, on);
    kernel(on, found, -1, 2);
    kernel(on, found, 2, -1);
    return found == block;
}

static uint64_t used(void)
{
    return attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT);
}

static uint64_t reserved(void)
{
    return attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT);
}

/* Whether memory that a stream gets comes from the pool. */
static int is_pooled(aclrtStream on)
{
    uint64_t before = used();
    void *block = allocate(pool, SIZE, on);
    int pooled = used() > before;
    kernel(on, block, -1, 3);
    kernel(on, block, 3, -1);
    OK(aclrtMemPoolFreeAsync(block, on));
    CHECK(used() == before);
    return pooled;
}

/* The vendor's own function, round the library. */
static aclError round_it(const char *name, void *argument)
{
    aclError (*function)(void *);
    *(void **)&function = dlsym(dlopen("libascendcl.so", RTLD_NOW), name);
    CHECK(function != NULL);
    return function(argument);
}

/* ------------------------------------------------------------------------------------------------------------ events */

static void a_wait_hands_on(void)
{
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    CHECK(gets(b, block));
}

static void no_wait_hands_on_nothing(void)
{
    CHECK(!gets(b, freed_on(a)));
}

static void waits_chain(void)
{
    aclrtStream c = stream();
    aclrtEvent second = make_event();
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(c, event));
    OK(aclrtRecordEvent(second, c));
    OK(aclrtStreamWaitEvent(b, second));
    CHECK(gets(b, block));
}

static void the_default_stream_counts(void)
{
    aclrtEvent second = make_event();
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(NULL, event));
    OK(aclrtRecordEvent(second, NULL));
    OK(aclrtStreamWaitEvent(b, second));
    CHECK(gets(b, block));
}

static void a_record_before_the_free_covers_nothing(void)
{
    OK(aclrtRecordEvent(event, a));
    void *block = freed_on(a);
    OK(aclrtStreamWaitEvent(b, event));
    CHECK(!gets(b, block));
}

static void a_reset_is_forgotten(void)
{
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtResetEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    CHECK(!gets(b, block));
}

static void a_record_that_is_not_followed_is_forgotten(void)
{
    aclrtStream special = NULL;
    OK(aclrtCreateStreamWithConfig(&special, 0, STREAM_PERSISTENT));
    CHECK(!is_pooled(special));
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtRecordEvent(event, special));
    OK(aclrtStreamWaitEvent(b, event));
    CHECK(!gets(b, block));
}

static void a_record_that_fails_changes_nothing(void)
{
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    standin_fail("aclrtRecordEvent", 0, 1, 507899);
    CHECK(aclrtRecordEvent(event, b) == 507899);
    OK(aclrtStreamWaitEvent(b, event));
    CHECK(gets(b, block));
}

static void a_wait_that_fails_teaches_nothing(void)
{
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    standin_fail("aclrtStreamWaitEvent", 0, 1, 507899);
    CHECK(aclrtStreamWaitEvent(b, event) == 507899);
    CHECK(!gets(b, block));
}

static void the_same_handle_again_is_another_event(void)
{
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtDestroyEvent(event));
    CHECK(make_event() == event);
    OK(aclrtStreamWaitEvent(b, event));
    CHECK(!gets(b, block));
    /* It is as good as any. */
    block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    CHECK(gets(b, block));
}

static void an_event_that_ended_unseen_is_noticed(void)
{
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(round_it("aclrtDestroyEvent", event));
    CHECK(make_event() == event);
    OK(aclrtStreamWaitEvent(b, event));
    CHECK(!gets(b, block));
}

static void an_unknown_event_ends_all_trust(void)
{
    aclrtEvent unknown = NULL;
    OK(round_it("aclrtCreateEvent", &unknown));
    OK(aclrtRecordEvent(unknown, a));
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    CHECK(!gets(b, block));
    /* The device is still believed. */
    OK(aclrtSynchronizeDevice());
    CHECK(gets(b, block));
}

static void an_unknown_stream_ends_all_trust(void)
{
    aclrtStream unknown = NULL;
    OK(round_it("aclrtCreateStream", &unknown));
    CHECK(!is_pooled(unknown));
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    CHECK(!gets(b, block));
    /* It may free what the pool has: it is waited for. */
    void *other = allocate(pool, SIZE, a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(unknown, event));
    kernel(unknown, other, -1, 4);
    uint64_t before = used();
    int status = 1;
    OK(aclrtMemPoolFreeAsync(other, unknown));
    OK(aclrtStreamQuery(unknown, &status));
    CHECK(used() < before && status == 0);
}

static void events_of_other_processes_teach_nothing(void)
{
    aclrtEvent shared = NULL;
    OK(aclrtCreateEventWithFlag(&shared, EVENT_SYNC | EVENT_IPC));
    void *block = freed_on(a);
    OK(aclrtRecordEvent(shared, a));
    OK(aclrtStreamWaitEvent(b, shared));
    CHECK(!gets(b, block));
}

static void a_wait_with_a_limit_teaches_nothing(void)
{
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEventWithTimeout(b, event, 1));
    CHECK(!gets(b, block));
}

static void waits_with_a_common_limit_teach_nothing(void)
{
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    OK(aclrtSetOpWaitTimeout(5));
    CHECK(!is_pooled(b));
    OK(aclrtSynchronizeDevice());
    CHECK(gets(b, block));
    OK(aclrtSetOpWaitTimeout(0));
    block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    CHECK(!gets(b, block));
}

static void a_wait_is_inserted_before_the_pool_grows(void)
{
    set_switch(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 1);
    /* Markers are laid where there are two streams, and the pool knows of b from its first call on. */
    OK(aclrtRecordEvent(event, b));
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    CHECK(gets(b, block));
    CHECK(standin_calls("aclrtStreamWaitEvent") == 1);
}

static void weirs_own_waits_must_not_end_early_either(void)
{
    set_switch(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 1);
    OK(aclrtSetOpWaitTimeout(5));
    OK(aclrtSynchronizeDevice());
    OK(aclrtRecordEvent(event, b));
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    CHECK(!gets(b, block));
    CHECK(standin_calls("aclrtStreamWaitEvent") == 0);
}

static void captures_teach_nothing(void)
{
    void *held = allocate(pool, SIZE, a);
    void *block = freed_on(a), *found = NULL, *model = NULL;
    OK(aclmdlRICaptureBegin(a, 0));
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    REFUSED(207000, "captured", aclrtMemPoolMallocAsync(&found, SIZE, pool, a));
    REFUSED(207000, "captured", aclrtMemPoolFreeAsync(held, a));
    OK(aclmdlRICaptureEnd(a, &model));
    CHECK(!gets(b, block));
    /* What was recorded in a capture says nothing after it either. */
    OK(aclrtStreamWaitEvent(b, event));
    CHECK(!gets(b, block));
    OK(aclrtMemPoolFreeAsync(held, a));
}

/* -------------------------------------------------------------------------------------------------------- completion */

static void a_query_that_says_complete_is_believed(void)
{
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK(!gets(b, block));
    standin_run();
    OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK(gets(b, block));
}

static void a_stream_that_says_complete_is_believed(void)
{
    int status = 0;
    void *block = freed_on(a);
    OK(aclrtStreamQuery(a, &status));
    CHECK(status == 1);
    CHECK(!gets(b, block));
    /* The first answer may come with a marker of weir's, which the device has not come to. */
    for (int i = 0; i < 2; i++) {
        standin_run();
        OK(aclrtStreamQuery(a, &status));
        CHECK(status == 0);
    }
    CHECK(gets(b, block));
}

static aclError stream_sync(void)
{
    return aclrtSynchronizeStream(a);
}

static aclError stream_sync_with(void)
{
    return aclrtSynchronizeStreamWithTimeout(a, -1);
}

static aclError event_sync(void)
{
    return aclrtSynchronizeEvent(event);
}

static aclError event_sync_with(void)
{
    return aclrtSynchronizeEventWithTimeout(event, -1);
}

static aclError device_sync_with(void)
{
    return aclrtSynchronizeDeviceWithTimeout(-1);
}

static void every_synchronisation_tells_and_releases(void)
{
    aclError (*const all[])(void) = {stream_sync,     stream_sync_with,        event_sync,
                                     event_sync_with, aclrtSynchronizeDevice, device_sync_with};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        aclrtStream fresh = stream();
        set_threshold(UINT64_MAX);
        void *block = freed_on(a);
        OK(aclrtRecordEvent(event, a));
        OK(all[i]());
        CHECK(allocate(pool, SIZE, fresh) == block);
        OK(aclrtMemPoolFreeAsync(block, a));
        OK(aclrtRecordEvent(event, a));
        set_threshold(0);
        CHECK(reserved() > 0);
        OK(all[i]());
        CHECK(reserved() == 0);
    }
    /* Each was the vendor's own call, once. */
    CHECK(standin_calls("aclrtSynchronizeEvent") == 2 && standin_calls("aclrtSynchronizeDevice") == 2);
    CHECK(standin_calls("aclrtSynchronizeEventWithTimeout") == 2);
    CHECK(standin_calls("aclrtSynchronizeDeviceWithTimeout") == 2);
    CHECK(standin_calls("aclrtSynchronizeStreamWithTimeout") == 2);
}

static void a_synchronisation_that_runs_out_of_time_teaches_nothing(void)
{
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    CHECK(aclrtSynchronizeStreamWithTimeout(a, 0) == 507046);
    CHECK(aclrtSynchronizeEventWithTimeout(event, 0) == 507046);
    CHECK(aclrtSynchronizeDeviceWithTimeout(0) == 507046);
    CHECK(!gets(b, block));
}

/* ----------------------------------------------------------------------------------------------------------- streams */

static void the_same_handle_again_is_another_stream(void)
{
    void *block = freed_on(a);
    OK(aclrtDestroyStream(a));
    CHECK(stream() == a);
    CHECK(!gets(a, block));
}

static void a_stream_that_could_not_be_destroyed_goes_on(void)
{
    standin_fail("aclrtDestroyStream", 0, 1, 507899);
    CHECK(aclrtDestroyStream(a) == 507899);
    CHECK(is_pooled(a));
    OK(aclrtDestroyStream(a));
}

static void a_stream_that_ended_unseen_is_noticed(void)
{
    void *block = freed_on(a);
    OK(round_it("aclrtDestroyStreamForce", a));
    CHECK(stream() == a);
    CHECK(!is_pooled(a));
    OK(aclrtSynchronizeDevice());
    CHECK(gets(a, block));
}

/* The block is freed on c, a comes after c, and b after a; then a's work is given up, its wait for c too. */
static void given_up(aclError (*give_up)(aclrtStream), int wait_first)
{
    aclrtStream c = stream();
    aclrtEvent second = make_event();
    void *block = freed_on(c);
    OK(aclrtRecordEvent(event, c));
    OK(aclrtStreamWaitEvent(a, event));
    OK(aclrtRecordEvent(second, a));
    if (wait_first) {
        OK(aclrtStreamWaitEvent(b, second));
    }
    OK(give_up(a));
    if (!wait_first) {
        OK(aclrtStreamWaitEvent(b, second));
    }
    CHECK(!is_pooled(b));
    /* That b is done says nothing about c, whose memory must not be released. */
    set_threshold(0);
    OK(aclrtSynchronizeStream(b));
    set_threshold(UINT64_MAX);
    CHECK(!is_pooled(b));
    OK(aclrtSynchronizeDevice());
    CHECK(gets(b, block));
}

static void an_abort_ends_what_was_believed(void)
{
    given_up(aclrtStreamAbort, 0);
}

/* Work on c still uses the block when b, which waited for it by way of a, frees it: a was given up. */
static void frees_after_an_abort(void)
{
    aclrtStream c = stream();
    aclrtEvent second = make_event();
    void *block = allocate(pool, SIZE, c);
    kernel(c, block, -1, 1);
    kernel(c, block, 1, -1);
    OK(aclrtRecordEvent(event, c));
    OK(aclrtStreamWaitEvent(a, event));
    OK(aclrtRecordEvent(second, a));
    OK(aclrtStreamWaitEvent(b, second));
    OK(aclrtStreamAbort(a));
    OK(aclrtMemPoolFreeAsync(block, b));
}

static void a_trim_after_an_abort_takes_nothing_that_is_in_use(void)
{
    frees_after_an_abort();
    OK(aclrtMemPoolTrimTo(pool, 0));
}

static void a_pool_that_ends_after_an_abort_takes_nothing_that_is_in_use(void)
{
    frees_after_an_abort();
    OK(aclrtMemPoolDestroy(pool));
}

static void a_pool_ends_after_streams_that_are_not_followed(void)
{
    aclrtStream special = NULL;
    OK(aclrtCreateStreamWithConfig(&special, 0, STREAM_PERSISTENT));
    void *block = allocate(pool, SIZE, a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(special, event));
    kernel(special, block, -1, 1);
    kernel(special, block, 1, -1);
    OK(aclrtSynchronizeStream(a));
    OK(aclrtMemPoolDestroy(pool));
    OK(aclrtSynchronizeStream(a));
    OK(aclrtSynchronizeStream(b));
}

static void an_abort_ends_what_was_queued(void)
{
    given_up(aclrtStreamAbort, 1);
}

static void an_end_by_force_does_too(void)
{
    given_up(aclrtDestroyStreamForce, 1);
    /* The end was seen, so the handle that is given out again does not end all trust. */
    aclrtStream again = stream();
    CHECK(again == a && is_pooled(b));
    void *block = freed_on(b);
    OK(aclrtRecordEvent(event, b));
    OK(aclrtStreamWaitEvent(again, event));
    CHECK(gets(again, block));
}

/* As above, and b ends: weir's own marker behind its wait for a is what would tell, when weir looks for room. */
static void what_weir_asks_itself_is_not_believed_after_an_abort(void)
{
    aclrtStream c = stream();
    aclrtEvent second = make_event();
    void *live = allocate(pool, 512, a);
    OK(aclrtMemPoolFreeAsync(allocate(pool, 512, b), b));
    void *block = freed_on(c);
    /* With these three, as many as are followed. */
    for (int i = 3; i < 128; i++) {
        aclrtStream other = stream();
        CHECK(is_pooled(other));
        OK(aclrtSynchronizeStream(other));
    }
    kernel(c, block, -1, 1);
    kernel(c, block, 1, -1);
    OK(aclrtRecordEvent(event, c));
    OK(aclrtStreamWaitEvent(a, event));
    OK(aclrtRecordEvent(second, a));
    OK(aclrtStreamWaitEvent(b, second));
    OK(aclrtStreamAbort(a));
    OK(aclrtDestroyStream(b));
    /* One more, for which there is room if b is known to be done. */
    CHECK(stream() == b && live != NULL);
    OK(aclrtMemPoolDestroy(pool));
}

static void streams_of_other_contexts_go_to_the_vendor(void)
{
    aclrtContext before = NULL, context = NULL;
    OK(aclrtGetCurrentContext(&before));
    OK(aclrtCreateContext(&context, 0));
    aclrtStream other = stream();
    CHECK(!is_pooled(other));
    OK(aclrtSetCurrentContext(before));
    void *block = NULL;
    REFUSED(107003, "another context", aclrtMemPoolMallocAsync(&block, SIZE, pool, other));
    CHECK(block == NULL);
    CHECK(is_pooled(a));
}

static void a_stream_that_finds_no_room_goes_to_the_vendor(void)
{
    aclrtStream more[160];
    int pooled = 0;
    for (int i = 0; i < 160; i++) {
        more[i] = stream();
        pooled += is_pooled(more[i]);
        OK(aclrtSynchronizeStream(more[i]));
    }
    CHECK(pooled > 100 && pooled < 160);
    CHECK(is_pooled(more[0]) && !is_pooled(more[159]));
    /* It may free what the pool has, and makes room when it is destroyed. */
    void *block = allocate(pool, SIZE, more[0]);
    uint64_t before = used();
    OK(aclrtMemPoolFreeAsync(block, more[159]));
    CHECK(used() < before);
    OK(aclrtDestroyStream(more[0]));
    OK(aclrtSynchronizeDevice());
    CHECK(is_pooled(more[159]));
}

/* ------------------------------------------------------------------------------------------------------------ memory */

static void the_vendors_malloc_gets_what_pools_do_not_use(void)
{
    void *block = NULL;
    aclrtMemPool large = make_pool(200 * MIB);
    uint64_t keep = UINT64_MAX;
    OK(aclrtMemPoolSetAttr(large, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &keep));
    void *held = allocate(large, 190 * MIB, a);
    CHECK(aclrtMalloc(&block, 100 * MIB, 0) == 207001);
    OK(aclrtMemPoolFreeAsync(held, a));
    OK(aclrtSynchronizeStream(a));
    CHECK(attribute(large, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 190 * MIB);
    uint64_t calls = standin_calls("aclrtMalloc");
    OK(aclrtMalloc(&block, 100 * MIB, 0));
    CHECK(standin_calls("aclrtMalloc") == calls + 2);
    CHECK(attribute(large, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    OK(aclrtFree(block));
}

static void what_work_may_still_use_is_not_trimmed(void)
{
    void *block = NULL;
    aclrtMemPool large = make_pool(200 * MIB);
    void *held = allocate(large, 190 * MIB, a);
    kernel(a, held, -1, 1);
    OK(aclrtMemPoolFreeAsync(held, a));
    CHECK(aclrtMalloc(&block, 100 * MIB, 0) == 207001);
}

static void the_vendors_free_knows_a_pools_memory(void)
{
    void *block = allocate(pool, SIZE, a);
    kernel(a, block, -1, 1);
    kernel(a, block, 1, -1);
    REFUSED(107000, "not the start", aclrtFree((char *)block + 512));
    standin_fail("aclrtSynchronizeDevice", 0, 1, 507899);
    CHECK(aclrtFree(block) == 507899);
    CHECK(used() == SIZE);
    OK(aclrtFree(block));
    CHECK(used() == 0);
    REFUSED(107000, "not the start", aclrtFree(block));
    CHECK(gets(b, block));
}

static void memory_of_the_vendors_is_freed_in_order(void)
{
    void *block = NULL;
    OK(aclrtMalloc(&block, SIZE, 0));
    kernel(a, block, -1, 1);
    OK(aclrtMemPoolFreeAsync(block, a));
    CHECK(standin_calls("aclrtFree") == 1);
}

static void a_pool_that_ends_keeps_what_unseen_streams_use(void)
{
    void *block = allocate(pool, SIZE, a);
    OK(aclrtSynchronizeStream(a));
    aclrtStream c = stream();
    /* Nothing has told of this stream. */
    kernel(c, block, -1, 1);
    kernel(c, block, 1, -1);
    OK(aclrtMemPoolDestroy(pool));
    OK(aclrtSynchronizeStream(a));
    OK(aclrtSynchronizeStream(b));
    CHECK(strcmp(standin_violation(), "") == 0);
    REFUSED(507000, "no pool", aclrtMemPoolTrimTo(pool, 0));
}

/* -------------------------------------------------------------------------------------------------------------- ends */

static struct standin_left left(void)
{
    struct standin_left found;
    standin_left(&found);
    return found;
}

static void the_last_reset_ends_the_pools(void)
{
    void *block = freed_on(a);
    (void)block;
    OK(aclrtSetDevice(0));
    OK(aclrtResetDevice(0));
    CHECK(is_pooled(a));
    OK(aclrtResetDevice(0));
    REFUSED(507000, "no pool", aclrtMemPoolDestroy(pool));
    CHECK(left().reservations + left().handles + left().mappings + left().context_uses == 0);
    /* And again. */
    OK(aclrtSetDevice(0));
    a = stream();
    pool = make_pool(64 * MIB);
    CHECK(is_pooled(a));
}

static void the_end_gives_everything_back(void)
{
    CHECK(is_pooled(a));
    OK(aclrtResetDevice(0));
    OK(aclrtSetDevice(0));
    pool = make_pool(64 * MIB);
    CHECK(left().context_uses == 2);
    OK(aclFinalize());
    CHECK(left().reservations + left().handles + left().mappings == 0);
    /* The program's own. */
    CHECK(left().context_uses == 1);
    REFUSED(507000, "no pool", aclrtMemPoolDestroy(pool));
}

static void the_other_device_goes_on(void)
{
    aclrtContext first = NULL;
    OK(aclrtGetCurrentContext(&first));
    OK(aclrtSetDevice(1));
    aclrtStream c = stream();
    aclrtEvent there = make_event();
    aclrtMemPoolProps props = properties(64 * MIB);
    aclrtMemPool other = NULL, here = pool;
    props.location.id = 1;
    OK(aclrtMemPoolCreate(&other, &props));
    pool = other;
    CHECK(is_pooled(c));
    OK(aclrtRecordEvent(there, c));
    OK(aclrtSynchronizeDevice());
    OK(aclrtSetCurrentContext(first));
    pool = here;
    CHECK(is_pooled(a));
    OK(aclrtResetDevice(1));
    REFUSED(507000, "no pool", aclrtMemPoolDestroy(other));
    void *block = freed_on(a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    CHECK(gets(b, block));
    OK(aclrtResetDevice(0));
    CHECK(left().reservations + left().handles + left().mappings + left().context_uses == 0);
}

static void a_reset_by_force_leaves_nothing_behind(void)
{
    aclrtContext first = NULL;
    aclrtMemPoolProps props = properties(64 * MIB);
    OK(aclrtGetCurrentContext(&first));
    props.location.id = 1;
    for (int i = 0; i < 3; i++) {
        aclrtMemPool there = NULL;
        OK(aclrtSetDevice(1));
        OK(aclrtMemPoolCreate(&there, &props));
        OK(aclrtFree(allocate(there, SIZE, stream())));
        OK(aclrtSetCurrentContext(first));
        OK(aclrtResetDeviceForce(1));
        REFUSED(507000, "no pool", aclrtMemPoolDestroy(there));
        CHECK(is_pooled(a) && left().context_uses == 2);
    }
    OK(aclFinalize());
    CHECK(left().reservations + left().handles + left().mappings == 0);
}

static void *let_go(void *barrier)
{
    pthread_barrier_wait(barrier);
    OK(aclrtResetDevice(0));
    return NULL;
}

static void two_resets_at_once_end_the_pools(void)
{
    pthread_barrier_t barrier;
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
    OK(aclrtResetDevice(0));
    for (int i = 0; i < 40; i++) {
        pthread_t threads[2];
        OK(aclrtSetDevice(0));
        OK(aclrtSetDevice(0));
        pool = make_pool(8 * MIB);
        for (int j = 0; j < 2; j++) {
            CHECK(pthread_create(&threads[j], NULL, let_go, &barrier) == 0);
        }
        for (int j = 0; j < 2; j++) {
            CHECK(pthread_join(threads[j], NULL) == 0);
        }
        CHECK(left().reservations + left().context_uses == 0);
        REFUSED(507000, "no pool", aclrtMemPoolDestroy(pool));
    }
}

/* Threads with a stream each hand blocks round by way of events that all of them use. */
static aclrtEvent ring[4];
static aclrtContext shared;
static unsigned refused;

static void *turn_round(void *argument)
{
    size_t own = *(size_t *)argument;
    OK(aclrtSetCurrentContext(shared));
    aclrtStream mine = stream();
    for (int i = 0; i < 300; i++) {
        void *block = NULL;
        OK(aclrtStreamWaitEvent(mine, ring[(own + (size_t)i) % 4]));
        if (aclrtMemPoolMallocAsync(&block, SIZE, pool, mine) != ACL_SUCCESS) {
            __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
            OK(aclrtSynchronizeStream(mine));
            continue;
        }
        kernel(mine, block, -1, (int)own);
        kernel(mine, block, (int)own, -1);
        OK(aclrtMemPoolFreeAsync(block, mine));
        OK(aclrtRecordEvent(ring[own], mine));
        if (i % 32 == 31) {
            OK(i % 64 == 31 ? aclrtSynchronizeStream(mine) : aclrtSynchronizeEvent(ring[own]));
        }
        if (i % 50 == 49) {
            OK(aclrtResetEvent(ring[own], mine));
        }
        if (i % 70 == 69) {
            OK(aclrtDestroyStream(mine));
            mine = stream();
        }
    }
    return NULL;
}

static void threads_do_not_get_each_others_memory(void)
{
    pthread_t threads[4];
    size_t numbers[4];
    OK(aclrtGetCurrentContext(&shared));
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

static void *without_context(void *unused)
{
    void *block = NULL;
    aclrtMemPool other = NULL;
    const aclrtMemPoolProps props = properties(8 * MIB);
    REFUSED(107002, "no current context", aclrtMemPoolCreate(&other, &props));
    REFUSED(107002, "no current context", aclrtMemPoolMallocAsync(&block, SIZE, pool, a));
    return unused;
}

static void calls_are_checked_as_the_emulation_does(void)
{
    void *block = NULL;
    aclrtMemPool other = NULL;
    aclrtMemPoolProps props = properties(8 * MIB);
    REFUSED(100000, "memPool", aclrtMemPoolCreate(NULL, &props));
    REFUSED(100000, "poolProps", aclrtMemPoolCreate(&other, NULL));
    props.location.id = 7;
    REFUSED(107001, "no device 7", aclrtMemPoolCreate(&other, &props));
    props = properties(GIB);
    REFUSED(107000, "268435456 B", aclrtMemPoolCreate(&other, &props));
    props = properties(0);
    props.handleType = ACL_MEM_HANDLE_TYPE_POSIX;
    REFUSED(100000, "`handleType` is 2", aclrtMemPoolCreate(&other, &props));
    REFUSED(100000, "stream", aclrtMemPoolMallocAsync(&block, SIZE, pool, NULL));
    REFUSED(100000, "memPool", aclrtMemPoolMallocAsync(&block, SIZE, NULL, a));
    REFUSED(507000, "no pool", aclrtMemPoolMallocAsync(&block, SIZE, (aclrtMemPool)0xDEADBEEF, a));
    REFUSED(207001, "the pool's limit", aclrtMemPoolMallocAsync(&block, 65 * MIB, pool, a));
    REFUSED(107000, "granules", aclrtMemPoolMallocAsync(&block, SIZE_MAX, pool, a));
    OK(aclrtMemPoolMallocAsync(&block, 0, pool, a));
    CHECK(block == NULL);
    REFUSED(107017, "no stream", aclrtMemPoolMallocAsync(&block, SIZE, pool, (aclrtStream)0x1230));
    REFUSED(100000, "ptr", aclrtMemPoolFreeAsync(NULL, a));
    block = allocate(pool, SIZE, a);
    REFUSED(507000, "stream", aclrtMemPoolFreeAsync(block, NULL));
    OK(aclrtMemPoolFreeAsync(block, a));
    REFUSED(107000, "", aclrtMemPoolFreeAsync(block, a));
    REFUSED(507000, "the pool's size", aclrtMemPoolTrimTo(pool, 64 * MIB + 1));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, without_context, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void a_child_cannot_go_on(void)
{
    pid_t child = fork();
    if (child == 0) {
        void *block = NULL;
        aclrtMemPool other = NULL;
        const aclrtMemPoolProps props = properties(8 * MIB);
        REFUSED(207000, "forked", aclrtMemPoolCreate(&other, &props));
        REFUSED(207000, "forked", aclrtMemPoolMallocAsync(&block, SIZE, pool, a));
        /* The vendor's own are passed on. */
        OK(aclrtRecordEvent(event, a));
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(is_pooled(a));
}

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} CASES[] = {
    CASE(a_wait_hands_on),
    CASE(no_wait_hands_on_nothing),
    CASE(waits_chain),
    CASE(the_default_stream_counts),
    CASE(a_record_before_the_free_covers_nothing),
    CASE(a_reset_is_forgotten),
    CASE(a_record_that_is_not_followed_is_forgotten),
    CASE(a_record_that_fails_changes_nothing),
    CASE(a_wait_that_fails_teaches_nothing),
    CASE(the_same_handle_again_is_another_event),
    CASE(an_event_that_ended_unseen_is_noticed),
    CASE(an_unknown_event_ends_all_trust),
    CASE(an_unknown_stream_ends_all_trust),
    CASE(events_of_other_processes_teach_nothing),
    CASE(a_wait_with_a_limit_teaches_nothing),
    CASE(waits_with_a_common_limit_teach_nothing),
    CASE(a_wait_is_inserted_before_the_pool_grows),
    CASE(weirs_own_waits_must_not_end_early_either),
    CASE(captures_teach_nothing),
    CASE(a_query_that_says_complete_is_believed),
    CASE(a_stream_that_says_complete_is_believed),
    CASE(every_synchronisation_tells_and_releases),
    CASE(a_synchronisation_that_runs_out_of_time_teaches_nothing),
    CASE(the_same_handle_again_is_another_stream),
    CASE(a_stream_that_could_not_be_destroyed_goes_on),
    CASE(a_stream_that_ended_unseen_is_noticed),
    CASE(an_abort_ends_what_was_believed),
    CASE(an_abort_ends_what_was_queued),
    CASE(a_trim_after_an_abort_takes_nothing_that_is_in_use),
    CASE(a_pool_that_ends_after_an_abort_takes_nothing_that_is_in_use),
    CASE(a_pool_ends_after_streams_that_are_not_followed),
    CASE(an_end_by_force_does_too),
    CASE(what_weir_asks_itself_is_not_believed_after_an_abort),
    CASE(streams_of_other_contexts_go_to_the_vendor),
    CASE(a_stream_that_finds_no_room_goes_to_the_vendor),
    CASE(the_vendors_malloc_gets_what_pools_do_not_use),
    CASE(what_work_may_still_use_is_not_trimmed),
    CASE(the_vendors_free_knows_a_pools_memory),
    CASE(memory_of_the_vendors_is_freed_in_order),
    CASE(a_pool_that_ends_keeps_what_unseen_streams_use),
    CASE(the_last_reset_ends_the_pools),
    CASE(the_end_gives_everything_back),
    CASE(the_other_device_goes_on),
    CASE(a_reset_by_force_leaves_nothing_behind),
    CASE(two_resets_at_once_end_the_pools),
    CASE(threads_do_not_get_each_others_memory),
    CASE(calls_are_checked_as_the_emulation_does),
    CASE(a_child_cannot_go_on),
};

int main(int count, char **arguments)
{
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        if (count < 2) {
            puts(CASES[i].name);
        } else if (strcmp(arguments[1], CASES[i].name) == 0) {
            begin();
            CASES[i].run();
            standin_run();
            if (strcmp(standin_violation(), "") != 0) {
                fprintf(stderr, "%s\n", standin_violation());
                return 1;
            }
            puts("ok");
        }
    }
    return 0;
}
