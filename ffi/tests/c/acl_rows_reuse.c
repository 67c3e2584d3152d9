/*
 * What the tests of CANN's own allocator assert, asked through the public calls, one line a row: reuse.
 * The ids are those of core/tests/cann_rows, which asks the pool itself; the codes are CANN's.
 */
#include "acl_rows.h"

#include <pthread.h>

/* R: which freed memory a stream is given. A stream is held back by a kernel that waits for the program. */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int closed, passed;

static void change(int *what, int value)
{
    pthread_mutex_lock(&lock);
    *what = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void until(const int *what, int value)
{
    pthread_mutex_lock(&lock);
    while (*what != value) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void gate(struct weir_kernel *kernel, uint32_t block, uint32_t blocks, const void *args)
{
    (void)kernel, (void)block, (void)blocks, (void)args;
    until(&closed, 0);
}

static void pass(struct weir_kernel *kernel, uint32_t block, uint32_t blocks, const void *args)
{
    (void)kernel, (void)block, (void)blocks, (void)args;
    change(&passed, 1);
}

static void launch(const char *name, weir_acl_kernel function, aclrtStream stream)
{
    aclrtFuncHandle handle = NULL;
    /* Its arguments are in a pool of their own, and are not looked at. */
    void *args = allocate(make_pool(2 * MIB), 8, stream);
    OK(weir_acl_register_kernel(name, function));
    OK(aclrtBinaryGetFunction(weir_acl_binary(), name, &handle));
    OK(aclrtLaunchKernel(handle, 1, args, 8, stream));
}

/* A pool with this switch on, or none. */
static aclrtMemPool pool_with(int attr)
{
    aclrtMemPool pool = make_pool(64 * MIB);
    if (attr != 0) {
        set_switch(pool, (aclrtMemPoolAttr)attr, 1);
    }
    return pool;
}

/* A block with nothing free beside it in its granule. */
static void *full(aclrtMemPool pool, size_t size, aclrtStream stream)
{
    void *ptr = allocate(pool, size, stream);
    while (reserved(pool) > used(pool)) {
        const size_t rest = reserved(pool) - used(pool);
        allocate(pool, rest < 256 << 10 ? rest : 256 << 10, stream);
    }
    return ptr;
}

static void *freed(aclrtMemPool pool, size_t size, aclrtStream stream)
{
    void *ptr = full(pool, size, stream);
    OK(aclrtMemPoolFreeAsync(ptr, stream));
    return ptr;
}

static void order(aclrtStream later, aclrtStream earlier)
{
    OK(aclrtRecordEvent(event, earlier));
    OK(aclrtStreamWaitEvent(later, event));
}

static void own_memory_needs_no_switch(void)
{
    aclrtMemPool pool = pool_with(2);
    void *ptr = freed(pool, 8, one);
    CHECK(allocate(pool, 5, one) == ptr);
}

static void a_wait_is_inserted(void)
{
    aclrtMemPool pool = pool_with(3);
    void *ptr = full(pool, 8, two);
    change(&closed, 1);
    launch("gate", gate, two);
    OK(aclrtMemPoolFreeAsync(ptr, two));
    OK(aclrtRecordEvent(event, two));
    CHECK(allocate(pool, 5, one) == ptr);
    /* The first stream waits on the device: what it is given runs when the second has passed. */
    change(&passed, 0);
    launch("pass", pass, one);
    CHECK(passed == 0);
    change(&closed, 0);
    until(&passed, 1);
}

static void along_the_event(size_t size)
{
    aclrtMemPool pool = pool_with(1);
    void *ptr = freed(pool, size, one);
    order(two, one);
    CHECK(allocate(pool, size, two) == ptr);
}

static void five_along_the_event(void)
{
    aclrtMemPool pool = pool_with(1);
    void *ptr = freed(pool, 8, one);
    order(two, one);
    CHECK(allocate(pool, 5, two) == ptr);
}

static void before_the_free(size_t size)
{
    aclrtMemPool pool = pool_with(1);
    void *ptr = full(pool, size, one);
    order(two, one);
    OK(aclrtRecordEvent(event, one));
    OK(aclrtMemPoolFreeAsync(ptr, one));
    CHECK(allocate(pool, size, two) != ptr);
}

static void switches_are_off(size_t size)
{
    aclrtMemPool pool = pool_with(0);
    void *ptr = freed(pool, size, one);
    CHECK(allocate(pool, size, two) != ptr);
}

static void same_stream(size_t size)
{
    aclrtMemPool pool = pool_with(0);
    void *ptr = freed(pool, size, one);
    CHECK(allocate(pool, size, one) == ptr);
}

static void when_complete(size_t size)
{
    aclrtMemPool pool = pool_with(2);
    void *ptr = full(pool, size, one);
    change(&closed, 1);
    change(&passed, 0);
    launch("gate", gate, one);
    OK(aclrtMemPoolFreeAsync(ptr, one));
    OK(aclrtRecordEvent(event, one));
    launch("pass", pass, one);
    CHECK(allocate(pool, 2 * MIB, two) != ptr);
    change(&closed, 0);
    until(&passed, 1);
    CHECK(allocate(pool, size, two) == ptr);
}

static void r4(void)
{
    before_the_free(8);
}

static void r5(void)
{
    switches_are_off(2 * MIB);
}

static void r6(void)
{
    same_stream(2 * MIB);
}

static void r7(void)
{
    along_the_event(2 * MIB);
}

static void r8(void)
{
    before_the_free(2 * MIB);
}

static void r9(void)
{
    when_complete(2 * MIB);
}

static void r10(void)
{
    switches_are_off(32);
    same_stream(32);
    along_the_event(32);
    before_the_free(32);
    when_complete(32);
}

static const struct row rows[] = {
    {"R1", "16GiB", "8 freed, 5 on the same stream, switch 2 on", own_memory_needs_no_switch, NULL},
    {"R2", "16GiB", "8 freed, 5 on another stream, switch 3 on", a_wait_is_inserted,
     "a real wait, behind the marker that the next call on the freeing stream lays"},
    {"R3", "16GiB", "free, record, wait: found", five_along_the_event, NULL},
    {"R4", "16GiB", "record, wait, record, free: not found", r4, NULL},
    {"R5", "16GiB", "all off, another stream: other memory", r5, NULL},
    {"R6", "16GiB", "all off, the same stream: the same", r6, NULL},
    {"R7", "16GiB", "switch 1: free, record, wait: the same", r7, NULL},
    {"R8", "16GiB", "switch 1: record, wait, free: other memory", r8, NULL},
    {"R9", "16GiB", "switch 2, another stream: the same memory", r9, "only once the device has passed the free"},
    {"R10", "16GiB", "R5 to R9 with 32 bytes", r10, NULL},
};

int main(void)
{
    return ROWS(rows);
}
