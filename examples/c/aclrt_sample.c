/*
 * The sample of CANN's page on stream-ordered memory allocation, as a program that runs: memory for two inputs, an
 * output and the kernel's arguments comes from a pool and goes back to it in the order of a stream, without a
 * synchronisation before the frees.
 *
 * It needs no NPU: weir emulates the device with memory and threads of the machine, and the kernel is a C function.
 *
 *   gcc -std=c11 -I target/weir/include aclrt_sample.c target/weir/lib/libweir.a -lpthread -ldl -lm -o aclrt_sample
 *
 * WEIR_LOG=sample.log keeps the log of what happened to memory: cargo xtask viz sample.log
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/weir_acl.h"

/* What the kernel is given: three device addresses. */
typedef struct {
    void *input_x;
    void *input_y;
    void *output_z;
} ArgsInfo;

enum { DEVICE = 0, CORES = 2, LANES = 2 };

static void try_call(const char *call, aclError code)
{
    if (code != ACL_SUCCESS) {
        const char *text = aclGetRecentErrMsg();
        fprintf(stderr, "%s: error %d: %s\n", call, code, text != NULL ? text : "no text");
        exit(1);
    }
}

#define TRY(call) try_call(#call, (call))

/* z = x + y on LANES numbers; each core adds its share. */
static void add_custom(struct weir_kernel *kernel, uint32_t block, uint32_t blocks, const void *args)
{
    const ArgsInfo *info = (const ArgsInfo *)args;
    const size_t bytes = LANES * sizeof(uint32_t);
    const void *x = weir_kernel_bytes(kernel, (uintptr_t)info->input_x, bytes, WEIR_READ);
    const void *y = weir_kernel_bytes(kernel, (uintptr_t)info->input_y, bytes, WEIR_READ);
    void *z = weir_kernel_bytes(kernel, (uintptr_t)info->output_z, bytes, WEIR_WRITE);
    if (x == NULL || y == NULL || z == NULL) {
        return;
    }
    for (uint32_t i = block; i < LANES; i += blocks) {
        ((uint32_t *)z)[i] = ((const uint32_t *)x)[i] + ((const uint32_t *)y)[i];
    }
}

static uint64_t attribute(aclrtMemPool pool, aclrtMemPoolAttr attr)
{
    uint64_t value = 0;
    TRY(aclrtMemPoolGetAttr(pool, attr, &value));
    return value;
}

static void print_pool(aclrtMemPool pool, const char *when)
{
    printf("%-24s used=%" PRIu64 " used_high=%" PRIu64 " reserved=%" PRIu64 " reserved_high=%" PRIu64 "\n", when,
           attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT), attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH),
           attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT),
           attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH));
}

int main(void)
{
    aclrtContext context;
    aclrtStream stream;
    aclrtMemPool pool;
    aclrtFuncHandle add;
    aclrtMemPoolProps props;

    TRY(aclInit(NULL));
    TRY(aclrtSetDevice(DEVICE));
    TRY(aclrtCreateContext(&context, DEVICE));
    TRY(aclrtCreateStream(&stream));

    /* A pool of 14 GB. Nothing is taken of it yet. */
    memset(&props, 0, sizeof props);
    props.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    props.handleType = ACL_MEM_HANDLE_TYPE_NONE;
    props.location.id = DEVICE;
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    props.maxSize = (size_t)14 << 30;
    TRY(aclrtMemPoolCreate(&pool, &props));

    TRY(weir_acl_register_kernel("add_custom", add_custom));
    TRY(aclrtBinaryGetFunction(weir_acl_binary(), "add_custom", &add));
    print_pool(pool, "before");

    /* Allocations: three of 8 bytes, one of 24. */
    void *x = NULL, *y = NULL, *z = NULL, *args = NULL;
    const uint32_t host_x[LANES] = {40, 1000000000}, host_y[LANES] = {2, 2000000000};
    uint32_t host_z[LANES] = {0, 0};
    TRY(aclrtMemPoolMallocAsync(&x, sizeof host_x, pool, stream));
    TRY(aclrtMemPoolMallocAsync(&y, sizeof host_y, pool, stream));
    TRY(aclrtMemPoolMallocAsync(&z, sizeof host_z, pool, stream));
    TRY(aclrtMemPoolMallocAsync(&args, sizeof(ArgsInfo), pool, stream));
    printf("addresses from x on: y=%+td z=%+td args=%+td\n", (char *)y - (char *)x, (char *)z - (char *)x,
           (char *)args - (char *)x);
    print_pool(pool, "after four allocations");

    /* The inputs, the arguments, the kernel, and its result, all in the stream's order. */
    const ArgsInfo info = {x, y, z};
    TRY(aclrtMemcpyAsync(x, sizeof host_x, host_x, sizeof host_x, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    TRY(aclrtMemcpyAsync(y, sizeof host_y, host_y, sizeof host_y, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    TRY(aclrtMemcpyAsync(args, sizeof info, &info, sizeof info, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    TRY(aclrtLaunchKernel(add, CORES, args, sizeof info, stream));
    TRY(aclrtMemcpyAsync(host_z, sizeof host_z, z, sizeof host_z, ACL_MEMCPY_DEVICE_TO_HOST, stream));

    /* What is queued on the stream so far may still use them. */
    TRY(aclrtMemPoolFreeAsync(args, stream));
    TRY(aclrtMemPoolFreeAsync(x, stream));
    TRY(aclrtMemPoolFreeAsync(y, stream));
    TRY(aclrtMemPoolFreeAsync(z, stream));
    print_pool(pool, "after four frees");

    TRY(aclrtSynchronizeStream(stream));
    print_pool(pool, "after synchronisation");

    for (int i = 0; i < LANES; i++) {
        if (host_z[i] != host_x[i] + host_y[i]) {
            fprintf(stderr, "lane %d: %" PRIu32 " + %" PRIu32 " is not %" PRIu32 "\n", i, host_x[i], host_y[i],
                    host_z[i]);
            return 1;
        }
    }
    printf("result checked: %" PRIu32 " %" PRIu32 "\n", host_z[0], host_z[1]);

    TRY(aclrtMemPoolDestroy(pool));
    TRY(aclrtDestroyStream(stream));
    TRY(aclrtDestroyContext(context));
    TRY(aclrtResetDevice(DEVICE));
    TRY(aclFinalize());
    return 0;
}
