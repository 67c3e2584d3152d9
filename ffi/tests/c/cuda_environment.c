/* Says what a pool's first call answers, and whose memory it is: a program that is linked with the runtime alone. */
#include "cuda_check.h"

#include <sys/auxv.h>

int main(int count, char **arguments)
{
    if (count > 1) {
        /* Whether the process has more rights than who started it. */
        printf("%s %lu\n", arguments[1], getauxval(AT_SECURE));
        return 0;
    }
    void *block = NULL;
    pool_t pool = NULL;
    uint64_t used = 0;
    int code = cudaDeviceGetDefaultMemPool(&pool, 0);
    if (code == 0) {
        OK(cudaMallocAsync(&block, 4096, NULL));
        OK(cudaMemPoolGetAttribute(pool, USED_CURRENT, &used));
        OK(cudaFreeAsync(block, NULL));
    }
    printf("%d %" PRIu64 "\n", code, used);
    return 0;
}
