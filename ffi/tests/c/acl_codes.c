/* Which code each call of the emulated CANN interface returns, and that nothing is changed by what is refused. */
#include "acl_check.h"

static int runs;

static void count_runs(struct weir_kernel *kernel, uint32_t block, uint32_t blocks, const void *args)
{
    (void)kernel;
    CHECK(block < blocks);
    CHECK(*(const uint32_t *)args == 7);
    runs++;
}

static void fail(struct weir_kernel *kernel, uint32_t block, uint32_t blocks, const void *args)
{
    (void)block;
    (void)blocks;
    (void)args;
    weir_kernel_fail(kernel, "on purpose");
}

static void before_the_beginning(void)
{
    int32_t word = 0;
    aclrtStream stream = NULL;
    CHECK(aclGetRecentErrMsg() == NULL);
    REFUSED(100001, "aclInit", aclrtSetDevice(0));
    REFUSED(100001, "aclInit", aclrtCreateStream(&stream));
    REFUSED(100001, "aclInit", aclrtMemcpy(&word, sizeof word, &word, sizeof word, ACL_MEMCPY_HOST_TO_HOST));
    REFUSED(100001, "aclInit", aclFinalize());
    REFUSED(100003, "/no/such/settings.json", aclInit("/no/such/settings.json"));
    OK(aclInit(NULL));
    REFUSED(100002, "before", aclInit(NULL));
}

static void devices_and_contexts(void)
{
    aclrtContext context = NULL, other = NULL;
    aclrtStream stream = NULL, stranger = NULL;
    aclrtEvent event = NULL;
    aclrtMemPool pool = NULL;
    size_t free_bytes = 1, total = 1;
    const aclrtMemPoolProps props = properties(MIB);

    REFUSED(107002, "aclrtSetDevice", aclrtCreateStream(&stream));
    REFUSED(107002, "aclrtSetDevice", aclrtCreateEvent(&event));
    REFUSED(107002, "aclrtSetDevice", aclrtMemPoolCreate(&pool, &props));
    REFUSED(107002, "aclrtSetDevice", aclrtSynchronizeDevice());
    REFUSED(107002, "aclrtSetDevice", aclrtSynchronizeStream(NULL));
    REFUSED(107002, "aclrtSetDevice", aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
    REFUSED(107001, "no device 1", aclrtSetDevice(1));
    REFUSED(107001, "no device -1", aclrtSetDevice(-1));
    REFUSED(107001, "no device 7", aclrtResetDevice(7));
    REFUSED(107001, "not set", aclrtResetDevice(0));
    REFUSED(100000, "context", aclrtCreateContext(NULL, 0));
    REFUSED(107001, "no device 3", aclrtCreateContext(&context, 3));
    CHECK(context == NULL);

    OK(aclrtCreateContext(&context, 0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtSynchronizeStream(NULL));
    OK(aclrtCreateContext(&other, 0));
    CHECK(other != context);
    /* The other context is current now. */
    REFUSED(107003, "belongs to context", aclrtSynchronizeStream(stream));
    REFUSED(107003, "belongs to context", aclrtDestroyStream(stream));
    OK(aclrtCreateStream(&stranger));
    OK(aclrtDestroyContext(context));
    REFUSED(107017, "no stream", aclrtSynchronizeStream(stream));
    REFUSED(107000, "no context", aclrtDestroyContext(context));
    REFUSED(100000, "context", aclrtDestroyContext(NULL));
    OK(aclrtDestroyContext(other));
    REFUSED(107002, "no current context", aclrtSynchronizeStream(stranger));

    /* References to a device are counted. */
    OK(aclrtSetDevice(0));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtResetDevice(0));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtResetDevice(0));
    REFUSED(107002, "no current context", aclrtSynchronizeStream(stream));
    OK(aclrtSetDevice(0));
    REFUSED(107017, "no stream", aclrtSynchronizeStream(stream));

    REFUSED(100000, "free", aclrtGetMemInfo(ACL_HBM_MEM, NULL, &total));
    REFUSED(100000, "total", aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, NULL));
    REFUSED(207000, "no memory of kind 0", aclrtGetMemInfo(ACL_DDR_MEM, &free_bytes, &total));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
    CHECK(total == 4 * GIB && free_bytes == total);
}

static void streams_and_events(void)
{
    aclrtStream stream = NULL;
    aclrtEvent event = NULL, gone = NULL;
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;

    REFUSED(100000, "stream", aclrtCreateStream(NULL));
    REFUSED(100000, "stream", aclrtDestroyStream(NULL));
    REFUSED(100000, "event", aclrtCreateEvent(NULL));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEvent(&event));
    OK(aclrtCreateEvent(&gone));
    OK(aclrtDestroyEvent(gone));

    REFUSED(100000, "event", aclrtDestroyEvent(NULL));
    REFUSED(100000, "event", aclrtRecordEvent(NULL, stream));
    REFUSED(100000, "event", aclrtStreamWaitEvent(stream, NULL));
    REFUSED(100000, "event", aclrtSynchronizeEvent(NULL));
    REFUSED(100000, "event", aclrtQueryEventStatus(NULL, &status));
    REFUSED(100000, "status", aclrtQueryEventStatus(event, NULL));
    REFUSED(107017, "no event", aclrtDestroyEvent(gone));
    REFUSED(107017, "no event", aclrtRecordEvent(gone, stream));
    REFUSED(107017, "no event", aclrtStreamWaitEvent(stream, gone));
    REFUSED(107017, "no event", aclrtSynchronizeEvent(gone));
    REFUSED(107017, "no event", aclrtQueryEventStatus(gone, &status));
    /* A handle of another kind is none. */
    REFUSED(107017, "no event", aclrtRecordEvent(stream, stream));
    REFUSED(107017, "no stream", aclrtRecordEvent(event, event));
    REFUSED(107017, "no stream", aclrtSynchronizeStream((aclrtStream)&status));

    /* Not recorded: not ready, and nothing waits for it. */
    OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    OK(aclrtStreamWaitEvent(stream, event));
    OK(aclrtSynchronizeEvent(event));
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtSynchronizeEvent(event));
    OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    /* The default stream. */
    OK(aclrtRecordEvent(event, NULL));
    OK(aclrtStreamWaitEvent(NULL, event));
    OK(aclrtSynchronizeDevice());

    OK(aclrtDestroyStream(stream));
    REFUSED(107017, "no stream", aclrtDestroyStream(stream));
    REFUSED(107017, "no stream", aclrtRecordEvent(event, stream));
    REFUSED(107017, "no stream", aclrtStreamWaitEvent(stream, event));
    OK(aclrtDestroyEvent(event));
}

static void making_pools(void)
{
    aclrtMemPool pool = NULL, other = NULL;
    aclrtMemPoolProps props = properties(10);

    REFUSED(100000, "memPool", aclrtMemPoolCreate(NULL, &props));
    REFUSED(100000, "poolProps", aclrtMemPoolCreate(&pool, NULL));
    props.allocType = (aclrtMemAllocationType)1;
    REFUSED(100000, "allocType", aclrtMemPoolCreate(&pool, &props));
    props = properties(10);
    props.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    REFUSED(100000, "location.type", aclrtMemPoolCreate(&pool, &props));
    props = properties(10);
    props.reserved[31] = 1;
    REFUSED(100000, "reserved[31]", aclrtMemPoolCreate(&pool, &props));
    props = properties(10);
    props.location.id = 5;
    REFUSED(107001, "no device 5", aclrtMemPoolCreate(&pool, &props));
    props = properties(4 * GIB + 1);
    REFUSED(107000, "4294967296 B", aclrtMemPoolCreate(&pool, &props));
    props = properties(SIZE_MAX);
    REFUSED(107000, "64 bits", aclrtMemPoolCreate(&pool, &props));
    CHECK(pool == NULL);

    props = properties(1);
    props.handleType = ACL_MEM_HANDLE_TYPE_POSIX;
    REFUSED(100000, "`handleType` is 2", aclrtMemPoolCreate(&pool, &props));
    CHECK(pool == NULL);

    /* The size is rounded up to granules; 0 is all that there is; sums may be larger than the device. */
    props = properties(1);
    OK(aclrtMemPoolCreate(&pool, &props));
    props = properties(0);
    OK(aclrtMemPoolCreate(&other, &props));
    OK(aclrtMemPoolTrimTo(other, 4 * GIB));
    REFUSED(507000, "the pool's size is", aclrtMemPoolTrimTo(other, 4 * GIB + 1));
    OK(aclrtMemPoolTrimTo(pool, 2 * MIB));
    REFUSED(507000, "the pool's size is", aclrtMemPoolTrimTo(pool, 2 * MIB + 1));
    OK(aclrtMemPoolDestroy(pool));
    OK(aclrtMemPoolDestroy(other));

    REFUSED(100000, "memPool", aclrtMemPoolDestroy(NULL));
    REFUSED(507000, "no pool", aclrtMemPoolDestroy(pool));
    REFUSED(507000, "no pool", aclrtMemPoolDestroy((aclrtMemPool)0xDEADBEEF));
}

static void attributes(void)
{
    aclrtMemPool pool = make_pool(64 * MIB), gone = make_pool(MIB);
    uint64_t big = 0;
    OK(aclrtMemPoolDestroy(gone));

    for (int attr = 1; attr <= 8; attr++) {
        CHECK(attribute(pool, (aclrtMemPoolAttr)attr) == 0);
        REFUSED(107000, "value", aclrtMemPoolGetAttr(pool, (aclrtMemPoolAttr)attr, NULL));
        REFUSED(107000, "value", aclrtMemPoolSetAttr(pool, (aclrtMemPoolAttr)attr, NULL));
        REFUSED(100000, "memPool", aclrtMemPoolGetAttr(NULL, (aclrtMemPoolAttr)attr, &big));
        REFUSED(100000, "memPool", aclrtMemPoolSetAttr(NULL, (aclrtMemPoolAttr)attr, &big));
        REFUSED(107000, "no pool", aclrtMemPoolGetAttr(gone, (aclrtMemPoolAttr)attr, &big));
        REFUSED(107000, "no pool", aclrtMemPoolSetAttr(gone, (aclrtMemPoolAttr)attr, &big));
    }
    for (int attr = 1; attr <= 3; attr++) {
        /* A switch has 4 bytes: what is behind them stays. Any number but 0 counts as 1. */
        uint32_t words[2] = {0, 0xabcdabcd};
        set_switch(pool, (aclrtMemPoolAttr)attr, 17);
        OK(aclrtMemPoolGetAttr(pool, (aclrtMemPoolAttr)attr, words));
        CHECK(words[0] == 1 && words[1] == 0xabcdabcd);
        set_switch(pool, (aclrtMemPoolAttr)attr, 0);
        OK(aclrtMemPoolGetAttr(pool, (aclrtMemPoolAttr)attr, words));
        CHECK(words[0] == 0);
    }
    REFUSED(107000, "read only", aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, &big));
    REFUSED(107000, "read only", aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, &big));
    big = 100;
    REFUSED(507000, "0, not 100", aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, &big));
    REFUSED(507000, "0, not 100", aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &big));
    REFUSED(107000, "expected 1 to 8", aclrtMemPoolSetAttr(pool, (aclrtMemPoolAttr)0xff, &big));
    REFUSED(107000, "expected 1 to 8", aclrtMemPoolGetAttr(pool, (aclrtMemPoolAttr)0xff, &big));
    REFUSED(107000, "expected 1 to 8", aclrtMemPoolGetAttr(pool, (aclrtMemPoolAttr)0, &big));
    big = UINT64_MAX;
    OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &big));
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD) == UINT64_MAX);
    OK(aclrtMemPoolDestroy(pool));
}

static void high_marks(void)
{
    aclrtMemPool pool = make_pool(64 * MIB);
    aclrtStream stream = NULL;
    uint64_t zero = 0;
    OK(aclrtCreateStream(&stream));
    void *small = allocate(pool, 1, stream), *large = allocate(pool, 5 * MIB, stream);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 512 + 5 * MIB);
    OK(aclrtMemPoolFreeAsync(large, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 512);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH) == 512 + 5 * MIB);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 2 * MIB);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH) == 8 * MIB);
    OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &zero));
    OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, &zero));
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH) == 512);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH) == 2 * MIB);
    OK(aclrtMemPoolFreeAsync(small, stream));
    OK(aclrtDestroyStream(stream));
    OK(aclrtMemPoolDestroy(pool));
}

static void allocations(void)
{
    aclrtMemPool pool = make_pool(4 * MIB), gone = make_pool(MIB);
    aclrtStream stream = NULL, dead = NULL;
    char mine;
    void *ptr = &mine;
    OK(aclrtMemPoolDestroy(gone));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&dead));
    OK(aclrtDestroyStream(dead));

    REFUSED(100000, "ptr", aclrtMemPoolMallocAsync(NULL, 8, pool, stream));
    REFUSED(100000, "memPool", aclrtMemPoolMallocAsync(&ptr, 8, NULL, stream));
    REFUSED(100000, "stream", aclrtMemPoolMallocAsync(&ptr, 8, pool, NULL));
    OK(aclrtMemPoolMallocAsync(&ptr, 0, pool, stream));
    OK(aclrtMemPoolMallocAsync(&ptr, 0, (aclrtMemPool)0xDEADBEEF, stream));
    REFUSED(507000, "no pool", aclrtMemPoolMallocAsync(&ptr, 8, gone, stream));
    REFUSED(107017, "no stream", aclrtMemPoolMallocAsync(&ptr, 8, pool, dead));
    REFUSED(107000, "64 bits", aclrtMemPoolMallocAsync(&ptr, SIZE_MAX, pool, stream));
    REFUSED(107000, "64 bits", aclrtMemPoolMallocAsync(&ptr, SIZE_MAX - (2u << 20) + 2, pool, stream));
    REFUSED(207001, "", aclrtMemPoolMallocAsync(&ptr, SIZE_MAX - (2u << 20) + 1, pool, stream));
    REFUSED(207001, "limit", aclrtMemPoolMallocAsync(&ptr, 4 * MIB + 1, pool, stream));
    CHECK(ptr == &mine);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH) == 0);

    char *first = (char *)allocate(pool, 2 * MIB, stream), *second = (char *)allocate(pool, MIB + 1, stream);
    REFUSED(207001, "out of memory", aclrtMemPoolMallocAsync(&ptr, MIB, pool, stream));
    CHECK(ptr == &mine);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 3 * MIB + 512);

    REFUSED(100000, "ptr", aclrtMemPoolFreeAsync(NULL, stream));
    REFUSED(507000, "stream", aclrtMemPoolFreeAsync(first, NULL));
    REFUSED(107017, "no stream", aclrtMemPoolFreeAsync(first, dead));
    REFUSED(107000, "inside allocation", aclrtMemPoolFreeAsync(first + 512, stream));
    REFUSED(107000, "in no pool", aclrtMemPoolFreeAsync(&mine, stream));
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 3 * MIB + 512);
    OK(aclrtMemPoolFreeAsync(first, stream));
    REFUSED(107000, "free already", aclrtMemPoolFreeAsync(first, stream));
    /* What is free on the same stream is used at once. */
    CHECK(allocate(pool, 2 * MIB, stream) == first);
    OK(aclrtMemPoolFreeAsync(first, stream));

    /* A pool ends with what is allocated; the pointers are nobody's then. */
    OK(aclrtMemPoolDestroy(pool));
    REFUSED(507000, "no pool", aclrtMemPoolMallocAsync(&ptr, 8, pool, stream));
    OK(aclrtSynchronizeDevice());
    REFUSED(107000, "in no pool", aclrtMemPoolFreeAsync(second, stream));
    OK(aclrtDestroyStream(stream));
}

static void trims(void)
{
    aclrtMemPool pool = make_pool(64 * MIB), gone = make_pool(MIB);
    aclrtStream stream = NULL;
    uint64_t threshold = 64 * MIB;
    OK(aclrtMemPoolDestroy(gone));
    OK(aclrtCreateStream(&stream));
    OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
    void *kept = allocate(pool, 2 * MIB, stream), *freed = allocate(pool, 6 * MIB, stream);
    OK(aclrtMemPoolFreeAsync(freed, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 8 * MIB);

    REFUSED(100000, "memPool", aclrtMemPoolTrimTo(NULL, 0));
    REFUSED(507000, "no pool", aclrtMemPoolTrimTo(gone, 0));
    REFUSED(507000, "the pool's size", aclrtMemPoolTrimTo(pool, 64 * MIB + 1));
    OK(aclrtMemPoolTrimTo(pool, 64 * MIB));
    OK(aclrtMemPoolTrimTo(pool, 8 * MIB));
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 8 * MIB);
    OK(aclrtMemPoolTrimTo(pool, 6 * MIB));
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 6 * MIB);
    /* Less than is in use: what can go goes. */
    OK(aclrtMemPoolTrimTo(pool, 0));
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 2 * MIB);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 2 * MIB);
    OK(aclrtMemPoolFreeAsync(kept, stream));
    OK(aclrtDestroyStream(stream));
    OK(aclrtMemPoolDestroy(pool));
}

static void copies(void)
{
    aclrtMemPool pool = make_pool(4 * MIB);
    aclrtStream stream = NULL;
    uint32_t from[4] = {1, 2, 3, 4}, to[4] = {0, 0, 0, 0};
    const size_t n = sizeof from;
    OK(aclrtCreateStream(&stream));
    char *at = (char *)allocate(pool, 4096, stream);

    REFUSED(100000, "dst", aclrtMemcpy(NULL, n, from, n, ACL_MEMCPY_DEFAULT));
    REFUSED(100000, "src", aclrtMemcpy(at, n, NULL, n, ACL_MEMCPY_DEFAULT));
    REFUSED(107000, "destMax", aclrtMemcpy(at, n - 1, from, n, ACL_MEMCPY_DEFAULT));
    REFUSED(100000, "dst", aclrtMemcpyAsync(NULL, n, from, n, ACL_MEMCPY_DEFAULT, stream));
    REFUSED(100000, "src", aclrtMemcpyAsync(at, n, NULL, n, ACL_MEMCPY_DEFAULT, stream));
    REFUSED(107000, "destMax", aclrtMemcpyAsync(at, n - 1, from, n, ACL_MEMCPY_DEFAULT, stream));
    REFUSED(207000, "host to host", aclrtMemcpyAsync(to, n, from, n, ACL_MEMCPY_HOST_TO_HOST, stream));
    REFUSED(107000, "`kind` is 7", aclrtMemcpyAsync(at, n, from, n, ACL_MEMCPY_INTER_DEVICE_TO_DEVICE, stream));
    REFUSED(107000, "HostToDevice", aclrtMemcpyAsync(at, n, from, n, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    REFUSED(107000, "HostToHost", aclrtMemcpyAsync(to, n, from, n, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    REFUSED(107000, "memory pool", aclrtMemcpyAsync(to, n, from, n, ACL_MEMCPY_DEFAULT, stream));
    REFUSED(107000, "overlap", aclrtMemcpyAsync(at + 8, n, at, n, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    REFUSED(107000, "beyond the end", aclrtMemcpyAsync(at, GIB, from, GIB, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtMemcpyAsync(at, n, from, 0, ACL_MEMCPY_HOST_TO_DEVICE, stream));

    /* There, across, and back: in a stream, and at once. */
    OK(aclrtMemcpyAsync(at, n, from, n, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    from[0] = 99;
    OK(aclrtMemcpyAsync(at + 1024, n, at, n, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    OK(aclrtMemcpyAsync(to, n, at + 1024, n, ACL_MEMCPY_DEFAULT, stream));
    CHECK(to[0] == 1 && to[3] == 4);
    OK(aclrtMemcpy(at + 2048, n, from, n, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy(at, n, at + 2048, n, ACL_MEMCPY_DEVICE_TO_DEVICE));
    OK(aclrtMemcpy(to, n, at, n, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(to[0] == 99 && to[3] == 4);
    memset(to, 0, n);
    OK(aclrtMemcpy(to, n, from, n, ACL_MEMCPY_HOST_TO_HOST));
    CHECK(to[0] == 99);

    OK(aclrtMemPoolFreeAsync(at, stream));
    OK(aclrtDestroyStream(stream));
    OK(aclrtMemPoolDestroy(pool));
}

static void kernels(void)
{
    aclrtMemPool pool = make_pool(4 * MIB);
    aclrtStream stream = NULL;
    aclrtFuncHandle function = NULL;
    const uint32_t seven = 7;
    OK(aclrtCreateStream(&stream));
    void *args = allocate(pool, sizeof seven, stream);
    OK(aclrtMemcpyAsync(args, sizeof seven, &seven, sizeof seven, ACL_MEMCPY_HOST_TO_DEVICE, stream));

    REFUSED(100000, "name", weir_acl_register_kernel(NULL, count_runs));
    REFUSED(100000, "function", weir_acl_register_kernel("count_runs", NULL));
    REFUSED(100000, "UTF-8", weir_acl_register_kernel("\xff", count_runs));
    OK(weir_acl_register_kernel("count_runs", count_runs));
    OK(weir_acl_register_kernel("count_runs", count_runs));
    REFUSED(100031, "count_runs", weir_acl_register_kernel("count_runs", fail));
    REFUSED(100000, "binHandle", aclrtBinaryGetFunction(NULL, "count_runs", &function));
    REFUSED(100000, "kernelName", aclrtBinaryGetFunction(weir_acl_binary(), NULL, &function));
    REFUSED(100000, "funcHandle", aclrtBinaryGetFunction(weir_acl_binary(), "count_runs", NULL));
    REFUSED(107000, "no binary", aclrtBinaryGetFunction(stream, "count_runs", &function));
    REFUSED(100029, "count_run", aclrtBinaryGetFunction(weir_acl_binary(), "count_run", &function));
    CHECK(function == NULL);
    OK(aclrtBinaryGetFunction(weir_acl_binary(), "count_runs", &function));

    REFUSED(100000, "funcHandle", aclrtLaunchKernel(NULL, 1, args, sizeof seven, stream));
    REFUSED(107000, "no kernel", aclrtLaunchKernel(stream, 1, args, sizeof seven, stream));
    REFUSED(107000, "blockDim", aclrtLaunchKernel(function, 0, args, sizeof seven, stream));
    REFUSED(107000, "blockDim", aclrtLaunchKernel(function, 65536, args, sizeof seven, stream));
    REFUSED(107000, "argsData", aclrtLaunchKernel(function, 1, NULL, 0, stream));
    REFUSED(107000, "argsData", aclrtLaunchKernel(function, 1, &seven, sizeof seven, stream));
    REFUSED(107017, "no stream", aclrtLaunchKernel(function, 1, args, sizeof seven, args));
    OK(aclrtLaunchKernel(function, 3, args, sizeof seven, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(runs == 3);
    /* The default stream knows no order with others, so what it uses was waited for. */
    OK(aclrtLaunchKernel(function, 1, args, sizeof seven, NULL));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(runs == 4);

    OK(aclrtMemPoolFreeAsync(args, stream));
    OK(aclrtDestroyStream(stream));
    OK(aclrtMemPoolDestroy(pool));
}

/* A kernel that fails makes the device unusable, until the program begins again. */
static void faults(void)
{
    aclrtMemPool pool = make_pool(4 * MIB);
    aclrtStream stream = NULL;
    aclrtEvent event = NULL;
    aclrtFuncHandle function = NULL;
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    uint32_t word = 0;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEvent(&event));
    OK(weir_acl_register_kernel("fail", fail));
    OK(aclrtBinaryGetFunction(weir_acl_binary(), "fail", &function));
    void *args = allocate(pool, sizeof word, stream);
    OK(aclrtLaunchKernel(function, 1, args, sizeof word, stream));
    OK(aclrtRecordEvent(event, stream));
    REFUSED(507015, "on purpose", aclrtSynchronizeStream(stream));
    REFUSED(507015, "on purpose", aclrtMemcpy(&word, sizeof word, args, sizeof word, ACL_MEMCPY_DEVICE_TO_HOST));
    REFUSED(507015, "on purpose", aclrtMemcpy(args, sizeof word, &word, sizeof word, ACL_MEMCPY_HOST_TO_DEVICE));
    REFUSED(507015, "on purpose",
            aclrtMemcpyAsync(&word, sizeof word, args, sizeof word, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    REFUSED(507015, "on purpose", aclrtSynchronizeDevice());
    REFUSED(507015, "on purpose", aclrtSynchronizeEvent(event));
    REFUSED(507015, "on purpose", aclrtQueryEventStatus(event, &status));
    REFUSED(507015, "on purpose", aclFinalize());

    REFUSED(100037, "before", aclFinalize());
    OK(aclInit(NULL));
    /* Nothing is left of before, handles included. */
    REFUSED(107002, "no current context", aclrtSynchronizeStream(stream));
    OK(aclrtSetDevice(0));
    REFUSED(107017, "no stream", aclrtSynchronizeStream(stream));
    REFUSED(507000, "no pool", aclrtMemPoolDestroy(pool));
    OK(aclrtSynchronizeDevice());
    /* Kernels stay known. */
    OK(aclrtBinaryGetFunction(weir_acl_binary(), "count_runs", &function));
    OK(aclFinalize());
}

int main(void)
{
    setenv("WEIR_HOST_BYTES", "4GiB", 1);
    before_the_beginning();
    devices_and_contexts();
    streams_and_events();
    making_pools();
    attributes();
    high_marks();
    allocations();
    trims();
    copies();
    kernels();
    faults();
    printf("ok\n");
    return 0;
}
