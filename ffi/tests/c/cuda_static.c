/*
 * A program that loads an extension, which is linked with the shared runtime, while it runs. With standin_cudart.c it
 * has the runtime linked statically too. It prints whether the extension's stream got memory by way of an event.
 */
#include "cuda_cases.h"

#ifdef EXTENSION
int extension(void);
int extension(void)
{
    begin();
    void *block = freed_on(a);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    int found = gets(b, block);
    CHECK(is_pooled(a));
    standin_run();
    CHECK(strcmp(standin_violation(), "") == 0);
    return found;
}
#else
const char *cudaGetErrorName(int error);

int main(int count, char **arguments)
{
    int (*extension)(void) = NULL;
#ifdef STATIC
    void *own = NULL;
    OK(cudaMallocAsync(&own, SIZE, NULL));
    OK(cudaFreeAsync(own, NULL));
    CHECK(cudaGetErrorName(4) != NULL);
#endif
    if (count > 1) {
        *(void **)&extension = dlsym(dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL), "extension");
        CHECK(extension != NULL);
        printf("%d\n", extension());
    }
    return 0;
}
#endif
