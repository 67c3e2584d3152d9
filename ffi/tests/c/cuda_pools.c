/* libweir_cuda.so's pools, and the vendor's memory beside them. See cuda_cases.h. */
#include "cuda_cases.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static struct pool_props properties(size_t most)
{
    return (struct pool_props){.type = 1, .location = {1, 0}, .most = most};
}

static pool_t make_pool(size_t most)
{
    pool_t made = NULL;
    const struct pool_props props = properties(most);
    OK(cudaMemPoolCreate(&made, &props));
    CHECK(made != NULL);
    return made;
}

static void *allocate_from(pool_t from, size_t size, stream_t stream)
{
    void *ptr = NULL;
    OK(cudaMallocFromPoolAsync(&ptr, size, from, stream));
    CHECK(ptr != NULL);
    return ptr;
}

static int get_switch(pool_t of, int which)
{
    int value[2] = {-1, -1};
    OK(cudaMemPoolGetAttribute(of, which, value));
    /* It is an int, and no more is written. */
    CHECK(value[1] == -1);
    return value[0];
}

/* -------------------------------------------------------------------------------------------------------- attributes */

static void attributes_begin_as_cudas(void)
{
    pool_t made = make_pool(0);
    CHECK(get_switch(made, REUSE_EVENTS) == 1 && get_switch(made, REUSE_OPPORTUNISTIC) == 1);
    CHECK(get_switch(made, REUSE_INTERNAL) == 1);
    for (int which = THRESHOLD; which <= USED_HIGH; which++) {
        CHECK(attribute(made, which) == 0);
    }
}

static void attributes_are_set_and_read(void)
{
    pool_t made = make_pool(0);
    for (int which = REUSE_EVENTS; which <= REUSE_INTERNAL; which++) {
        int off = 0;
        OK(cudaMemPoolSetAttribute(made, which, &off));
        CHECK(get_switch(made, which) == 0);
    }
    uint64_t value = 7 * MIB;
    OK(cudaMemPoolSetAttribute(made, THRESHOLD, &value));
    CHECK(attribute(made, THRESHOLD) == 7 * MIB);
    IS(INVALID_VALUE, cudaMemPoolSetAttribute(made, RESERVED_CURRENT, &value));
    IS(INVALID_VALUE, cudaMemPoolSetAttribute(made, USED_CURRENT, &value));
    IS(INVALID_VALUE, cudaMemPoolSetAttribute(made, RESERVED_HIGH, &value));
    IS(INVALID_VALUE, cudaMemPoolSetAttribute(made, USED_HIGH, &value));
    IS(INVALID_VALUE, cudaMemPoolSetAttribute(made, 0, &value));
    IS(INVALID_VALUE, cudaMemPoolGetAttribute(made, 9, &value));
    IS(INVALID_VALUE, cudaMemPoolGetAttribute(made, THRESHOLD, NULL));
    IS(INVALID_VALUE, cuMemPoolGetAttribute(made, 9, &value));
}

static void bytes_are_counted(void)
{
    pool_t made = make_pool(0);
    void *first = allocate_from(made, 1000, a), *second = allocate_from(made, 4 * MIB, a);
    CHECK(attribute(made, USED_CURRENT) == 1024 + 4 * MIB && attribute(made, USED_HIGH) == 1024 + 4 * MIB);
    CHECK(attribute(made, RESERVED_CURRENT) == 6 * MIB && attribute(made, RESERVED_HIGH) == 6 * MIB);
    OK(cudaFreeAsync(second, a));
    CHECK(attribute(made, USED_CURRENT) == 1024 && attribute(made, USED_HIGH) == 1024 + 4 * MIB);
    OK(cudaStreamSynchronize(a));
    CHECK(attribute(made, RESERVED_CURRENT) == 2 * MIB && attribute(made, RESERVED_HIGH) == 6 * MIB);
    uint64_t zero = 0;
    OK(cudaMemPoolSetAttribute(made, USED_HIGH, &zero));
    OK(cudaMemPoolSetAttribute(made, RESERVED_HIGH, &zero));
    CHECK(attribute(made, USED_HIGH) == 1024 && attribute(made, RESERVED_HIGH) == 2 * MIB);
    OK(cudaFreeAsync(first, a));
}

static void a_threshold_is_kept_at_synchronisations(void)
{
    set_threshold(4 * MIB);
    void *block = allocate(16 * MIB, a);
    OK(cudaFreeAsync(block, a));
    CHECK(reserved() == 16 * MIB);
    OK(cudaStreamSynchronize(a));
    CHECK(reserved() == 4 * MIB);
    set_threshold(0);
    OK(cudaDeviceSynchronize());
    CHECK(reserved() == 0);
}

static void trims_release_what_is_not_in_use(void)
{
    void *held = allocate(4 * MIB, a), *block = allocate(16 * MIB, a);
    OK(cudaFreeAsync(block, a));
    OK(cudaStreamSynchronize(a));
    CHECK(reserved() == 20 * MIB);
    OK(cudaMemPoolTrimTo(pool, 10 * MIB));
    CHECK(reserved() == 10 * MIB);
    OK(cuMemPoolTrimTo(pool, 0));
    CHECK(reserved() == 4 * MIB);
    /* More than there is: nothing to do. */
    OK(cudaMemPoolTrimTo(pool, (size_t)1 << 40));
    OK(cudaFreeAsync(held, a));
}

/* ------------------------------------------------------------------------------------------------------------- pools */

static void a_device_has_a_default_pool_and_a_current_one(void)
{
    pool_t found = NULL, by_driver = NULL, made = make_pool(0);
    OK(cudaDeviceGetMemPool(&found, 0));
    OK(cuDeviceGetDefaultMemPool(&by_driver, 0));
    CHECK(found == pool && by_driver == pool);
    OK(cudaDeviceSetMemPool(0, made));
    OK(cudaDeviceGetMemPool(&found, 0));
    CHECK(found == made);
    void *block = allocate(SIZE, a);
    CHECK(attribute(made, USED_CURRENT) == SIZE && used() == 0);
    OK(cudaFreeAsync(block, a));
    OK(cudaDeviceGetDefaultMemPool(&found, 0));
    CHECK(found == pool);
    /* The end of the current one makes the default one current. */
    OK(cudaMemPoolDestroy(made));
    OK(cudaDeviceGetMemPool(&found, 0));
    CHECK(found == pool && is_pooled(a));
    /* The vendor would take it for an address. */
    IS(INVALID_VALUE, cudaMemPoolDestroy(made));
    IS(INVALID_VALUE, cudaMallocFromPoolAsync(&block, SIZE, made, a));
    IS(INVALID_VALUE, cudaDeviceSetMemPool(0, made));
    IS(INVALID_VALUE, cudaMemPoolSetAccess(made, &found, 1));
    IS(INVALID_VALUE, cudaMemPoolDestroy(pool));
    IS(INVALID_DEVICE, cudaDeviceGetDefaultMemPool(&found, 7));
    IS(INVALID_DEVICE, cudaDeviceGetMemPool(&found, -1));
    IS(INVALID_VALUE, cudaDeviceGetMemPool(NULL, 0));
}

static void each_device_has_its_own(void)
{
    pool_t there = NULL, here = pool;
    OK(cudaSetDevice(1));
    stream_t c = make_stream(NON_BLOCKING);
    OK(cudaDeviceGetDefaultMemPool(&there, 1));
    CHECK(there != here);
    IS(INVALID_VALUE, cudaDeviceSetMemPool(0, there));
    pool = there;
    CHECK(is_pooled(c) && is_pooled(NULL) && is_pooled(OWN_STREAM));
    /* A stream says of which device memory is, whatever the thread's is. */
    pool = here;
    CHECK(is_pooled(a));
    OK(cudaSetDevice(0));
    CHECK(is_pooled(NULL));
    pool = there;
    CHECK(is_pooled(c));
    /* Another device's stream allocates from a pool and frees. */
    void *block = allocate_from(there, SIZE, a);
    CHECK(used() == SIZE);
    kernel(a, block, -1, 5);
    OK(cudaFreeAsync(block, a));
    CHECK(used() == 0);
    CHECK(strcmp(standin_violation(), "") == 0);
}

static void a_pool_has_a_limit(void)
{
    void *block = NULL;
    pool_t small = make_pool(8 * MIB);
    IS(OUT_OF_MEMORY, cudaMallocFromPoolAsync(&block, 9 * MIB, small, a));
    CHECK(block == NULL);
    IS(OUT_OF_MEMORY, cudaPeekAtLastError());
    IS(OUT_OF_MEMORY, cudaGetLastError());
    OK(cudaGetLastError());
    IS(OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&block, 9 * MIB, small, a));
    OK(cudaGetLastError());
    void *held = allocate_from(small, 8 * MIB, a);
    IS(OUT_OF_MEMORY, cudaMallocFromPoolAsync(&block, 512, small, a));
    OK(cudaFreeAsync(held, a));
    struct pool_props props = properties((size_t)1 << 40);
    IS(INVALID_VALUE, cudaMemPoolCreate(&small, &props));
    props = properties(0);
    props.location.id = 7;
    IS(INVALID_DEVICE, cudaMemPoolCreate(&small, &props));
    IS(INVALID_VALUE, cudaMemPoolCreate(&small, NULL));
    IS(INVALID_VALUE, cudaMemPoolCreate(NULL, &(struct pool_props){.type = 1, .location = {1, 0}}));
}

static void a_pool_ends_with_its_last_block(void)
{
    pool_t made = make_pool(0);
    void *first = allocate_from(made, SIZE, a), *second = allocate_from(made, SIZE, a);
    kernel(a, first, -1, 1);
    uint64_t handles = left().handles, ranges = left().reservations;
    OK(cudaMemPoolDestroy(made));
    CHECK(left().handles == handles);
    kernel(a, second, -1, 2);
    kernel(a, second, 2, -1);
    OK(cudaFreeAsync(first, a));
    IS(INVALID_VALUE, cudaFreeAsync(first, a));
    OK(cudaFreeAsync(second, a));
    OK(cudaStreamSynchronize(a));
    CHECK(left().handles == handles - 3 && left().reservations == ranges - 1);
}

static void the_vendor_has_pools_that_are_shared(void)
{
    pool_t shared = NULL, current = NULL;
    void *block = NULL, *handle = NULL;
    struct pool_props props = properties(0);
    props.handle_types = 1;
    OK(cudaMemPoolCreate(&shared, &props));
    uint64_t calls = standin_calls("cuMemAllocFromPoolAsync"), value = 0;
    block = allocate_from(shared, SIZE, a);
    OK(cudaFreeAsync(block, a));
    CHECK(standin_calls("cuMemAllocFromPoolAsync") == calls + 1 && standin_calls("cuMemFreeAsync") == 1);
    OK(cudaMemPoolSetAttribute(shared, THRESHOLD, &value));
    OK(cudaMemPoolTrimTo(shared, 0));
    OK(cudaMemPoolSetAccess(shared, &props, 1));
    OK(cudaMemPoolExportToShareableHandle(&handle, shared, 1, 0));
    /* As the current one too. */
    OK(cudaDeviceSetMemPool(0, shared));
    OK(cudaDeviceGetMemPool(&current, 0));
    CHECK(current == shared && !is_pooled(a));
    OK(cudaDeviceSetMemPool(0, pool));
    CHECK(is_pooled(a));
    OK(cudaMemPoolDestroy(shared));
}

static void what_pools_lack_has_a_code(void)
{
    int flags = 0;
    void *handle = NULL;
    struct pool_props props = properties(0);
    IS(NOT_SUPPORTED, cudaMemPoolSetAccess(pool, &props, 1));
    IS(NOT_SUPPORTED, cudaGetLastError());
    IS(NOT_SUPPORTED, cudaMemPoolGetAccess(&flags, pool, &props.location));
    IS(NOT_SUPPORTED, cudaMemPoolExportToShareableHandle(&handle, pool, 1, 0));
}

/* ------------------------------------------------------------------------------------------------------------ memory */

static void nothing_and_nowhere_are_the_vendors(void)
{
    void *block = NULL;
    uint64_t calls = standin_calls("cuMemAllocAsync");
    IS(INVALID_VALUE, cudaMallocAsync(&block, 0, a));
    CHECK(standin_calls("cuMemAllocAsync") == calls + 1);
    IS(INVALID_VALUE, cudaMallocFromPoolAsync(NULL, SIZE, pool, a));
}

static void bad_frees_are_refused(void)
{
    char *block = allocate(SIZE, a);
    IS(INVALID_VALUE, cudaFreeAsync(block + 512, a));
    IS(INVALID_VALUE, cudaFree(block + 512));
    OK(cudaFreeAsync(block, a));
    IS(INVALID_VALUE, cudaFreeAsync(block, a));
    IS(INVALID_VALUE, cudaFree(block));
}

static void the_vendors_malloc_gets_what_pools_do_not_use(void)
{
    void *block = NULL, *held = allocate(190 * MIB, a);
    IS(OUT_OF_MEMORY, cudaMalloc(&block, 100 * MIB));
    OK(cudaFreeAsync(held, a));
    OK(cudaStreamSynchronize(a));
    CHECK(reserved() == 190 * MIB);
    OK(cudaMalloc(&block, 100 * MIB));
    CHECK(reserved() == 0);
    OK(cudaFree(block));
}

static void the_vendors_frees_know_a_pools_memory(void)
{
    int (*const all[])(void *) = {cudaFree, cuMemFree_v2};
    for (int i = 0; i < 2; i++) {
        void *block = allocate(SIZE, a);
        kernel(a, block, -1, 1);
        kernel(a, block, 1, -1);
        standin_fail("cuCtxSynchronize", 0, 1, 719);
        IS(719, all[i](block));
        CHECK(used() == SIZE);
        OK(all[i](block));
        CHECK(used() == 0);
        CHECK(gets(b, block));
        OK(cudaFree(block));
    }
}

static void memory_of_the_vendors_is_freed_in_order(void)
{
    void *block = NULL;
    OK(cudaMalloc(&block, SIZE));
    kernel(a, block, -1, 1);
    OK(cudaFreeAsync(block, a));
    CHECK(standin_calls("cuMemFreeAsync") == 1);
    OK(cudaMalloc(&block, SIZE));
    OK(cudaFree(block));
    OK(cudaFree(NULL));
}

/* -------------------------------------------------------------------------------------------------------------- ends */

static void a_reset_without_pools_forgets_what_was_there(void)
{
    OK(cudaSetDevice(1));
    stream_t there = make_stream(NON_BLOCKING);
    event_t other = make_event();
    OK(cudaDeviceReset());
    CHECK(make_stream(NON_BLOCKING) == there && make_event() != NULL && other != NULL);
    OK(cudaDeviceGetDefaultMemPool(&pool, 1));
    CHECK(is_pooled(there));
    stream_t second = make_stream(NON_BLOCKING);
    set_threshold(UINT64_MAX);
    event = make_event();
    void *block = freed_on(there);
    OK(cudaEventRecord(event, there));
    OK(cudaStreamWaitEvent(second, event, 0));
    CHECK(gets(second, block));
}

static void a_reset_ends_the_devices_pools(void)
{
    pool_t stale = make_pool(0);
    (void)freed_on(a);
    (void)allocate(SIZE, a);
    OK(cudaDeviceReset());
    CHECK(left().reservations + left().handles + left().mappings + left().context_uses == 0);
    /* And again. */
    begin();
    CHECK(is_pooled(a) && pool != stale);
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    CHECK(gets(b, block));
    OK(cuDevicePrimaryCtxReset_v2(0));
    CHECK(left().reservations + left().handles + left().mappings == 0);
}

static void the_other_device_goes_on(void)
{
    pool_t here = pool, there = NULL;
    stream_t c = NULL;
    OK(cudaSetDevice(1));
    c = make_stream(NON_BLOCKING);
    OK(cudaDeviceGetDefaultMemPool(&there, 1));
    (void)allocate_from(there, SIZE, c);
    OK(cudaDeviceReset());
    OK(cudaSetDevice(0));
    CHECK(pool == here && is_pooled(a));
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    CHECK(gets(b, block));
    OK(cudaDeviceReset());
    CHECK(left().reservations + left().handles + left().mappings + left().context_uses == 0);
}

static void a_child_cannot_go_on(void)
{
    pid_t child = fork();
    if (child == 0) {
        void *block = NULL;
        pool_t other = NULL;
        const struct pool_props props = properties(0);
        IS(NOT_INITIALIZED, cudaMemPoolCreate(&other, &props));
        IS(NOT_INITIALIZED, cudaMallocAsync(&block, SIZE, a));
        IS(NOT_INITIALIZED, cudaGetLastError());
        /* The vendor's own are passed on. */
        OK(cudaEventRecord(event, a));
        /* Its end is not the parent's. */
        exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(is_pooled(a));
}

static void *held_at_exit;

/* As an object with static storage does, that holds memory. Registered before the first call, so it runs last. */
static void frees_at_exit(void)
{
    uint64_t calls = standin_calls(NULL);
    void *block = NULL;
    if (held_at_exit == NULL) {
        return;
    }
    OK(cudaFreeAsync(held_at_exit, a));
    OK(cudaFree(held_at_exit));
    IS(UNLOADING, cudaMallocAsync(&block, SIZE, a));
    IS(UNLOADING, cudaMemPoolTrimTo(pool, 0));
    if (standin_calls(NULL) != calls) {
        fprintf(stderr, "the driver was called at the end of the process\n");
        _exit(1);
    }
}

static void nothing_is_asked_of_the_driver_at_exit(void)
{
    held_at_exit = allocate(SIZE, a);
    CHECK(is_pooled(OWN_STREAM));
}

static const struct test_case CASES[] = {
    CASE(attributes_begin_as_cudas),
    CASE(attributes_are_set_and_read),
    CASE(bytes_are_counted),
    CASE(a_threshold_is_kept_at_synchronisations),
    CASE(trims_release_what_is_not_in_use),
    CASE(a_device_has_a_default_pool_and_a_current_one),
    CASE(each_device_has_its_own),
    CASE(a_pool_has_a_limit),
    CASE(a_pool_ends_with_its_last_block),
    CASE(the_vendor_has_pools_that_are_shared),
    CASE(what_pools_lack_has_a_code),
    CASE(nothing_and_nowhere_are_the_vendors),
    CASE(bad_frees_are_refused),
    CASE(the_vendors_malloc_gets_what_pools_do_not_use),
    CASE(the_vendors_frees_know_a_pools_memory),
    CASE(memory_of_the_vendors_is_freed_in_order),
    CASE(a_reset_without_pools_forgets_what_was_there),
    CASE(a_reset_ends_the_devices_pools),
    CASE(the_other_device_goes_on),
    CASE(a_child_cannot_go_on),
    CASE(nothing_is_asked_of_the_driver_at_exit),
};

int main(int count, char **arguments)
{
    atexit(frees_at_exit);
    return RUN(count, arguments);
}
