/*
 * Where weir's pools differ from CANN's on purpose, one line a difference: the README's table has the same names.
 *
 * Kernels really use the memory, and are held back where it matters that they have not run.
 */
#include "acl_check.h"

#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int closed;

static aclrtMemPool pool;
static aclrtStream one, two;
static void *arguments;

static void set_gate(int value)
{
    pthread_mutex_lock(&lock);
    closed = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Holds its stream back, then writes the block whose address and size are its arguments. */
static void use(struct weir_kernel *kernel, uint32_t block, uint32_t blocks, const void *args)
{
    const uint64_t *run = (const uint64_t *)args;
    (void)block;
    (void)blocks;
    pthread_mutex_lock(&lock);
    while (closed) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    void *bytes = weir_kernel_bytes(kernel, run[0], run[1], WEIR_WRITE);
    if (bytes != NULL) {
        memset(bytes, 7, run[1]);
    }
}

static void use_on(aclrtStream stream, void *ptr, uint64_t bytes)
{
    aclrtFuncHandle function = NULL;
    const uint64_t run[2] = {(uint64_t)(uintptr_t)ptr, bytes};
    OK(aclrtMemcpy(arguments, sizeof run, run, sizeof run, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtBinaryGetFunction(weir_acl_binary(), "use", &function));
    OK(aclrtLaunchKernel(function, 1, arguments, sizeof run, stream));
}

static uint64_t used(void)
{
    return attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT);
}

static uint64_t reserved(void)
{
    return attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT);
}

static void set(aclrtMemPoolAttr attr, uint64_t value)
{
    OK(aclrtMemPoolSetAttr(pool, attr, &value));
}

/* Sizes are rounded to 512 bytes. */
static void sizes(void)
{
    void *first = allocate(pool, 1, one);
    CHECK(used() == 512);
    void *second = allocate(pool, 513, one);
    CHECK(used() == 512 + 1024);
    CHECK((char *)second - (char *)first == 512);
    CHECK(reserved() == 2 * MIB);
}

static void exhaustion(void)
{
    void *ptr = NULL;
    allocate(pool, 60 * MIB, one);
    REFUSED(207001, "out of memory", aclrtMemPoolMallocAsync(&ptr, 8 * MIB, pool, one));
    CHECK(ptr == NULL && used() == 60 * MIB);
}

static void trim_below(void)
{
    void *first = allocate(pool, 4 * MIB, one), *second = allocate(pool, 4 * MIB, one);
    set(ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
    OK(aclrtMemPoolFreeAsync(second, one));
    OK(aclrtSynchronizeStream(one));
    CHECK(reserved() == 8 * MIB);
    OK(aclrtMemPoolTrimTo(pool, 0));
    CHECK(reserved() == 4 * MIB && used() == 4 * MIB);
    OK(aclrtMemPoolFreeAsync(first, one));
}

static void trim_above(void)
{
    OK(aclrtMemPoolTrimTo(pool, 64 * MIB));
    REFUSED(507000, "the pool's size is", aclrtMemPoolTrimTo(pool, 64 * MIB + 1));
}

static void high_marks(void)
{
    void *first = allocate(pool, 4 * MIB, one), *second = allocate(pool, 4 * MIB, one);
    OK(aclrtMemPoolFreeAsync(second, one));
    OK(aclrtSynchronizeStream(one));
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH) == 8 * MIB);
    set(ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, 0);
    set(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, 0);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH) == 4 * MIB);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH) == 4 * MIB);
    OK(aclrtMemPoolFreeAsync(first, one));
}

static void threshold(void)
{
    set(ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
    CHECK(attribute(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD) == UINT64_MAX);
    void *ptr = allocate(pool, 64 * MIB, one);
    OK(aclrtMemPoolFreeAsync(ptr, one));
    OK(aclrtSynchronizeStream(one));
    CHECK(reserved() == 64 * MIB);
}

static void opportunistic(void)
{
    set_switch(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC, 1);
    void *first = allocate(pool, 4 * MIB, one);
    set_gate(1);
    use_on(one, first, 4 * MIB);
    OK(aclrtMemPoolFreeAsync(first, one));
    void *second = allocate(pool, 4 * MIB, two);
    CHECK(second != first);
    set_gate(0);
    /* Nothing of the program's tells when it is done: the pool asks, each time that it looks for memory. */
    void *third = NULL;
    for (int i = 0; i < 10000 && third != first; i++) {
        usleep(100);
        /* Where the kernel takes its time, all that was tried so far waits for it, up to the pool's size. */
        third = NULL;
        if (aclrtMemPoolMallocAsync(&third, 4 * MIB, pool, two) == ACL_SUCCESS && third != first) {
            OK(aclrtMemPoolFreeAsync(third, one));
        }
    }
    CHECK(third == first);
}

static void freeing_stream(void)
{
    aclrtEvent event = NULL;
    void *first = allocate(pool, 4 * MIB, one);
    OK(aclrtCreateEvent(&event));
    OK(aclrtRecordEvent(event, one));
    OK(aclrtStreamWaitEvent(two, event));
    set_gate(1);
    use_on(two, first, 4 * MIB);
    OK(aclrtMemPoolFreeAsync(first, two));
    void *other = allocate(pool, 4 * MIB, one);
    CHECK(other != first);
    CHECK(allocate(pool, 4 * MIB, two) == first);
    set_gate(0);
}

static void live_blocks(void)
{
    size_t before = 0, now = 0, total = 0;
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
    void *first = allocate(pool, 4 * MIB, one);
    set_gate(1);
    use_on(one, first, 4 * MIB);
    OK(aclrtMemPoolDestroy(pool));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &now, &total));
    CHECK(now == before - 4 * MIB);
    set_gate(0);
    OK(aclrtSynchronizeDevice());
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &now, &total));
    CHECK(now == before);
    pool = make_pool(64 * MIB);
}

static void handle_type(void)
{
    aclrtMemPool made = NULL;
    aclrtMemPoolProps props = properties(64 * MIB);
    props.handleType = ACL_MEM_HANDLE_TYPE_POSIX;
    REFUSED(100000, "`handleType` is 2", aclrtMemPoolCreate(&made, &props));
    CHECK(made == NULL);
}

static const struct {
    const char *name;
    void (*holds)(void);
} DIFFERENCES[] = {
    {"Rounding", sizes},
    {"Exhaustion", exhaustion},
    {"Trim below what is used", trim_below},
    {"Trim above the pool's size", trim_above},
    {"Reset of a high mark", high_marks},
    {"Threshold above the pool's size", threshold},
    {"Opportunistic reuse", opportunistic},
    {"Free on another stream", freeing_stream},
    {"Destruction with live blocks", live_blocks},
    {"Handle type", handle_type},
};

int main(void)
{
    OK(weir_acl_register_kernel("use", use));
    for (size_t i = 0; i < sizeof DIFFERENCES / sizeof DIFFERENCES[0]; i++) {
        OK(aclInit(NULL));
        OK(aclrtSetDevice(0));
        OK(aclrtCreateStream(&one));
        OK(aclrtCreateStream(&two));
        aclrtMemPool places = make_pool(2 * MIB);
        arguments = allocate(places, 512, one);
        pool = make_pool(64 * MIB);
        DIFFERENCES[i].holds();
        OK(aclFinalize());
        puts(DIFFERENCES[i].name);
    }
    return 0;
}
