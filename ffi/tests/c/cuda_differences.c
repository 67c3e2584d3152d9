/* What the README says of libweir_cuda.so's pools and CUDA's own: prints the name of each row that holds. */
#include "cuda_cases.h"

static void *last;

/* Registered before the first call, so it runs last. */
static void at_exit(void)
{
    OK(cudaFreeAsync(last, a));
    puts("Free when the process exits");
}

static void shared_pools(void)
{
    pool_t made = NULL;
    struct pool_props file = {.type = 1, .handle_types = 1, .location = {1, 0}};
    struct pool_props host = {.type = 1, .location = {2, 0}};
    OK(cudaMemPoolCreate(&made, &file));
    OK(cudaMemPoolCreate(&made, &host));
    CHECK(standin_calls("cuMemPoolCreate") == 2);
    puts("Pools that processes share (`handleTypes`), or on the host");
}

static void what_pools_lack(void)
{
    int flags = 0;
    void *handle = NULL, *at = NULL, *block = allocate(SIZE, a);
    char data[64] = {0};
    const int access[] = {1, 1, 3};
    IS(NOT_SUPPORTED, cudaMemPoolSetAccess(pool, access, 1));
    IS(NOT_SUPPORTED, cudaMemPoolGetAccess(&flags, pool, data));
    IS(NOT_SUPPORTED, cudaMemPoolExportToShareableHandle(&handle, pool, 1, 0));
    IS(NOT_SUPPORTED, cudaMemPoolExportPointer(data, block));
    IS(NOT_SUPPORTED, cudaMemPoolImportPointer(&at, pool, data));
    OK(cudaFreeAsync(block, a));
    puts("`cudaMemPoolSetAccess`, `GetAccess`, `Export...`, `ImportPointer`");
}

static void high_marks(void)
{
    uint64_t zero = 0;
    void *block = allocate(SIZE, a);
    OK(cudaMemPoolSetAttribute(pool, USED_HIGH, &zero));
    CHECK(attribute(pool, USED_HIGH) == SIZE);
    OK(cudaFreeAsync(block, a));
    puts("Reset of a high mark");
}

static void captures(void)
{
    void *graph = NULL, *held = allocate(SIZE, a);
    uint64_t calls = standin_calls("cuMemAllocAsync");
    OK(cudaStreamBeginCapture(a, 0));
    OK(cudaFreeAsync(allocate(SIZE, a), a));
    CHECK(standin_calls("cuMemAllocAsync") == calls + 1);
    puts("Allocation in a capture");
    IS(CAPTURE_UNSUPPORTED, cudaFreeAsync(held, a));
    puts("Free of a pool's memory in a capture");
    OK(cudaStreamEndCapture(a, &graph));
    last = held;
}

int main(void)
{
    atexit(at_exit);
    begin();
    shared_pools();
    what_pools_lack();
    high_marks();
    captures();
    CHECK(strcmp(standin_violation(), "") == 0);
    return 0;
}
