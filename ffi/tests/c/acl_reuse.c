/*
 * Memory that is used again on another stream: along an event where attribute 1 is set, and not where it is not.
 * Kernels write and check every byte while the first stream is held back, so memory given out too early is seen.
 */
#include "acl_check.h"

#include <pthread.h>

/* Where a stream is held back until the program lets it go. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int closed;
static uint64_t wrong, checked;

static void set_gate(int value)
{
    pthread_mutex_lock(&lock);
    closed = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* A kernel's arguments: a run of bytes, and the value of each. */
struct run {
    uint64_t at;
    uint64_t bytes;
    uint32_t value;
    uint32_t unused;
};

static void gate(struct weir_kernel *kernel, uint32_t block, uint32_t blocks, const void *args)
{
    (void)kernel;
    (void)block;
    (void)blocks;
    (void)args;
    pthread_mutex_lock(&lock);
    while (closed) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void fill(struct weir_kernel *kernel, uint32_t block, uint32_t blocks, const void *args)
{
    (void)block;
    (void)blocks;
    const struct run *run = (const struct run *)args;
    void *bytes = weir_kernel_bytes(kernel, run->at, run->bytes, WEIR_WRITE);
    if (bytes != NULL) {
        memset(bytes, (int)run->value, run->bytes);
    }
}

static void check(struct weir_kernel *kernel, uint32_t block, uint32_t blocks, const void *args)
{
    (void)block;
    (void)blocks;
    const struct run *run = (const struct run *)args;
    const unsigned char *bytes = (const unsigned char *)weir_kernel_bytes(kernel, run->at, run->bytes, WEIR_READ);
    uint64_t bad = bytes == NULL;
    for (uint64_t i = 0; bytes != NULL && i < run->bytes; i++) {
        bad += bytes[i] != run->value;
    }
    pthread_mutex_lock(&lock);
    wrong += bad;
    checked += run->bytes;
    pthread_mutex_unlock(&lock);
}

enum { SIZE = 2 << 20 };

struct bench {
    aclrtMemPool pool;
    /* Arguments of kernels are in a pool of their own, so that they do not change what is measured. */
    aclrtMemPool arguments;
    aclrtStream one, two;
    aclrtEvent event;
    aclrtFuncHandle gate, fill, check;
};

static aclrtFuncHandle kernel(const char *name, weir_acl_kernel function)
{
    aclrtFuncHandle handle = NULL;
    OK(weir_acl_register_kernel(name, function));
    OK(aclrtBinaryGetFunction(weir_acl_binary(), name, &handle));
    return handle;
}

static struct bench begin(size_t size)
{
    struct bench b;
    b.pool = make_pool(size);
    b.arguments = make_pool(64 * MIB);
    OK(aclrtCreateStream(&b.one));
    OK(aclrtCreateStream(&b.two));
    OK(aclrtCreateEvent(&b.event));
    b.gate = kernel("gate", gate);
    b.fill = kernel("fill", fill);
    b.check = kernel("check", check);
    wrong = checked = 0;
    set_gate(1);
    return b;
}

static void end(struct bench *b, uint64_t bytes)
{
    set_gate(0);
    OK(aclrtSynchronizeDevice());
    CHECK(wrong == 0);
    CHECK(checked == bytes);
    OK(aclrtDestroyEvent(b->event));
    OK(aclrtDestroyStream(b->one));
    OK(aclrtDestroyStream(b->two));
    OK(aclrtMemPoolDestroy(b->pool));
    OK(aclrtMemPoolDestroy(b->arguments));
}

static void launch(const struct bench *b, aclrtFuncHandle function, void *at, uint32_t value, aclrtStream stream)
{
    const struct run run = {(uintptr_t)at, SIZE, value, 0};
    void *args = allocate(b->arguments, sizeof run, stream);
    OK(aclrtMemcpyAsync(args, sizeof run, &run, sizeof run, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtLaunchKernel(function, 1, args, sizeof run, stream));
    OK(aclrtMemPoolFreeAsync(args, stream));
}

/* Stream one, held back, uses a block and frees it. */
static void *use_and_free(const struct bench *b)
{
    void *block = allocate(b->pool, SIZE, b->one);
    launch(b, b->gate, block, 0, b->one);
    launch(b, b->fill, block, 0x11, b->one);
    launch(b, b->check, block, 0x11, b->one);
    OK(aclrtMemPoolFreeAsync(block, b->one));
    return block;
}

/* Stream two allocates, and uses what it got; answers its address. */
static void *take_and_use(const struct bench *b)
{
    void *block = allocate(b->pool, SIZE, b->two);
    launch(b, b->fill, block, 0x22, b->two);
    launch(b, b->check, block, 0x22, b->two);
    return block;
}

/* When stream one is done, the block has what stream two wrote: it came second where they share memory. */
static void finish(struct bench *b, void *second)
{
    set_gate(0);
    OK(aclrtSynchronizeStream(b->one));
    launch(b, b->check, second, 0x22, b->two);
    end(b, 3 * (uint64_t)SIZE);
}

static void along_an_event(uint32_t followed)
{
    struct bench b = begin(64 * MIB);
    set_switch(b.pool, ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, followed);
    void *first = use_and_free(&b);
    OK(aclrtRecordEvent(b.event, b.one));
    OK(aclrtStreamWaitEvent(b.two, b.event));
    void *second = take_and_use(&b);
    CHECK((second == first) == (followed != 0));
    CHECK(attribute(b.pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == (followed ? 2 : 4) * MIB);
    CHECK(attribute(b.pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 2 * MIB);
    /* Stream two waits behind stream one, which has not come past its gate. */
    CHECK(checked == 0);
    finish(&b, second);
}

/* The event stands for what was queued before the free. */
static void before_the_free(void)
{
    struct bench b = begin(64 * MIB);
    set_switch(b.pool, ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1);
    void *first = allocate(b.pool, SIZE, b.one);
    OK(aclrtRecordEvent(b.event, b.one));
    OK(aclrtStreamWaitEvent(b.two, b.event));
    launch(&b, b.gate, first, 0, b.one);
    launch(&b, b.fill, first, 0x11, b.one);
    launch(&b, b.check, first, 0x11, b.one);
    OK(aclrtMemPoolFreeAsync(first, b.one));
    void *second = take_and_use(&b);
    CHECK(second != first);
    finish(&b, second);
}

/* Attribute 3: nothing orders the streams, so the second one is made to wait; not before it is set. */
static void by_an_inserted_wait(uint32_t allowed)
{
    struct bench b = begin(64 * MIB);
    set_switch(b.pool, ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES, allowed);
    void *first = use_and_free(&b);
    /* The next call on stream one puts a marker behind the free. */
    OK(aclrtRecordEvent(b.event, b.one));
    void *second = take_and_use(&b);
    CHECK((second == first) == (allowed != 0));
    CHECK(!allowed || checked == 0);
    finish(&b, second);
}

/* What a synchronisation has shown to be done is anybody's, whatever the switches say, where the threshold keeps it. */
static void after_a_synchronisation(void)
{
    struct bench b = begin(64 * MIB);
    uint64_t threshold = 64 * MIB;
    OK(aclrtMemPoolSetAttr(b.pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
    void *first = use_and_free(&b);
    set_gate(0);
    OK(aclrtSynchronizeStream(b.one));
    CHECK(take_and_use(&b) == first);
    end(&b, 2 * (uint64_t)SIZE);
}

/* However often the same memory is released and mapped again: CANN learns nothing from that. */
static void every_synchronisation_releases(void)
{
    struct bench b = begin(64 * MIB);
    set_gate(0);
    for (uint32_t i = 0; i < 8; i++) {
        OK(aclrtMemPoolFreeAsync(allocate(b.pool, SIZE, b.one), b.one));
        CHECK(attribute(b.pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == SIZE);
        OK(aclrtSynchronizeStream(b.one));
        CHECK(attribute(b.pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    }
    end(&b, 0);
}

/* A full pool says what is pending, and gives it out when that is done. */
static void when_the_pool_is_full(void)
{
    struct bench b = begin(SIZE);
    void *first = use_and_free(&b), *second = NULL;
    REFUSED(207001, "2097152 B are freed but pending", aclrtMemPoolMallocAsync(&second, SIZE, b.pool, b.two));
    CHECK(second == NULL);
    set_gate(0);
    OK(aclrtSynchronizeStream(b.one));
    /* The granule may have another address by now. */
    second = take_and_use(&b);
    CHECK(second != NULL && first != NULL);
    end(&b, 2 * (uint64_t)SIZE);
}

static void *work(void *argument)
{
    const struct bench *b = (const struct bench *)argument;
    aclrtStream stream = NULL;
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    for (uint32_t i = 0; i < 40; i++) {
        void *block = allocate(b->pool, SIZE, stream);
        launch(b, b->fill, block, i, stream);
        launch(b, b->check, block, i, stream);
        OK(aclrtMemPoolFreeAsync(block, stream));
        if (i % 8 == 7) {
            OK(aclrtSynchronizeStream(stream));
        }
    }
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(0));
    return NULL;
}

enum { THREADS = 4 };

static void from_several_threads(void)
{
    struct bench b = begin(64 * MIB);
    pthread_t threads[THREADS];
    set_gate(0);
    for (uint32_t attr = 1; attr <= 3; attr++) {
        set_switch(b.pool, (aclrtMemPoolAttr)attr, 1);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, work, &b) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(attribute(b.pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 0);
    end(&b, THREADS * 40 * (uint64_t)SIZE);
}

int main(void)
{
    setenv("WEIR_HOST_BYTES", "1GiB", 1);
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    along_an_event(1);
    along_an_event(0);
    before_the_free();
    by_an_inserted_wait(1);
    by_an_inserted_wait(0);
    after_a_synchronisation();
    every_synchronisation_releases();
    when_the_pool_is_full();
    from_several_threads();
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    printf("ok\n");
    return 0;
}
