/*
 * Cases of libweir_cuda.so preloaded in front of the stand-ins, whose streams do nothing until they must. Each case is a
 * process of its own: the argument is its name; without one the names are printed.
 *
 * A block is freed on one stream, behind kernels that write and check it. Whether another stream gets it is what most
 * cases are about; the kernels of both find out whether that was right.
 */
#ifndef CUDA_CASES_H
#define CUDA_CASES_H

#include "cuda_check.h"
#include "standin.h"

#include <dlfcn.h>

static const size_t SIZE = 3 * MIB;

static pool_t pool;
/* Streams that nothing but events orders. */
static stream_t a, b;
static event_t event;

static inline void kernel(stream_t stream, const void *at, int expected, int value)
{
    standin_kernel((struct standin_stream *)stream, (uintptr_t)at, SIZE, expected, value);
}

static inline stream_t make_stream(unsigned flags)
{
    stream_t made = NULL;
    OK(cudaStreamCreateWithFlags(&made, flags));
    return made;
}

static inline event_t make_event(void)
{
    event_t made = NULL;
    OK(cudaEventCreate(&made));
    return made;
}

static inline uint64_t attribute(pool_t of, int which)
{
    uint64_t value = 0;
    OK(cudaMemPoolGetAttribute(of, which, &value));
    return value;
}

static inline void set_threshold(uint64_t bytes)
{
    OK(cudaMemPoolSetAttribute(pool, THRESHOLD, &bytes));
}

static inline void set_switch(int which, int on)
{
    OK(cudaMemPoolSetAttribute(pool, which, &on));
}

static inline void begin(void)
{
    OK(cudaSetDevice(0));
    a = make_stream(NON_BLOCKING);
    b = make_stream(NON_BLOCKING);
    event = make_event();
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    set_threshold(UINT64_MAX);
    standin_reuse_events();
}

static inline void *allocate(size_t size, stream_t stream)
{
    void *ptr = NULL;
    OK(cudaMallocAsync(&ptr, size, stream));
    CHECK(ptr != NULL);
    return ptr;
}

/* A block that work on the stream uses, freed behind that. */
static inline void *freed_on(stream_t on)
{
    void *block = allocate(SIZE, on);
    kernel(on, block, -1, 1);
    kernel(on, block, 1, -1);
    OK(cudaFreeAsync(block, on));
    return block;
}

/* Whether a stream gets this block; it uses what it gets. */
static inline int gets(stream_t on, const void *block)
{
    void *found = allocate(SIZE, on);
    kernel(on, found, -1, 2);
    kernel(on, found, 2, -1);
    return found == block;
}

static inline uint64_t used(void)
{
    return attribute(pool, USED_CURRENT);
}

static inline uint64_t reserved(void)
{
    return attribute(pool, RESERVED_CURRENT);
}

/* Whether memory that a stream gets comes from the pool. */
static inline int is_pooled(stream_t on)
{
    uint64_t before = used();
    void *block = allocate(SIZE, on);
    int pooled = used() > before;
    kernel(on, block, -1, 3);
    kernel(on, block, 3, -1);
    OK(cudaFreeAsync(block, on));
    CHECK(used() == before);
    return pooled;
}

/* One of the driver's functions, round the library. */
static inline int (*round_it(const char *name))()
{
    int (*function)() = NULL;
    *(void **)&function = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
    CHECK(function != NULL);
    return function;
}

static inline struct standin_left left(void)
{
    struct standin_left found;
    standin_left(&found);
    return found;
}

struct test_case {
    const char *name;
    void (*run)(void);
};

#define CASE(name) {#name, name}

static inline int run_cases(const struct test_case *cases, size_t many, int count, char **arguments)
{
    for (size_t i = 0; i < many; i++) {
        if (count < 2) {
            puts(cases[i].name);
        } else if (strcmp(arguments[1], cases[i].name) == 0) {
            begin();
            cases[i].run();
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

#define RUN(count, arguments) run_cases(CASES, sizeof CASES / sizeof CASES[0], count, arguments)

#endif
