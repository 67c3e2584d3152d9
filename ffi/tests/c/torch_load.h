/* The functions of weir_torch.h as a framework has them: from a library that is opened at run time, by their names. */
#ifndef TORCH_LOAD_H
#define TORCH_LOAD_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir_torch.h"

#define MIB ((size_t)1 << 20)
#define CHECK(what) check((what), #what, __LINE__)
#define OK(call) succeeds((call), #call, __LINE__)

/* What a program calls is `the.weir_torch_malloc` and so on. */
#define LOADED(X)                                                                                                      \
    X(weir_torch_malloc)                                                                                               \
    X(weir_torch_free)                                                                                                 \
    X(weir_torch_record_stream)                                                                                        \
    X(weir_torch_empty_cache)                                                                                          \
    X(weir_torch_npu_empty_cache)                                                                                      \
    X(weir_torch_reset)                                                                                                \
    X(weir_torch_handles)                                                                                              \
    X(weir_torch_stream)                                                                                               \
    X(weir_last_error)                                                                                                 \
    X(weir_pool_get_stats)                                                                                             \
    X(weir_device_synchronize)                                                                                         \
    X(weir_verify)                                                                                                     \
    X(weir_set_pressure)                                                                                               \
    X(weir_host_launch)                                                                                                \
    X(weir_host_fill)                                                                                                  \
    X(weir_host_fault)                                                                                                 \
    X(weir_kernel_bytes)                                                                                               \
    X(weir_kernel_fail)

#define FIELD(name) __typeof__(name) *name;
static struct {
    LOADED(FIELD)
} the;

static int failures;

static inline int check(int holds, const char *what, int line)
{
    if (!holds) {
        __atomic_fetch_add(&failures, 1, __ATOMIC_SEQ_CST);
        fprintf(stderr, "line %d: not so: %s\n", line, what);
    }
    return holds;
}

/* The text of the thread's latest error has this part. */
static inline int says(const char *part)
{
    char text[1024];
    the.weir_last_error(text, sizeof text);
    if (strstr(text, part) == NULL) {
        fprintf(stderr, "no \"%s\" in: %s\n", part, text);
        return 0;
    }
    return 1;
}

static inline void succeeds(int status, const char *call, int line)
{
    if (!check(status == WEIR_OK, call, line)) {
        says("?");
    }
}

static inline void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "there is no %s\n", name);
        exit(2);
    }
    return found;
}

static inline void *open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return library;
}

static inline void load(const char *path)
{
    void *library = open_library(path);
#define FETCH(name) *(void **)&the.name = symbol(library, #name);
    LOADED(FETCH)
}

static inline struct weir_pool_stats stats_of(int device)
{
    struct weir_pool_stats stats;
    weir_runtime runtime = {0};
    weir_pool pool = {0, 0};
    memset(&stats, 0, sizeof stats);
    OK(the.weir_torch_handles(device, &runtime, &pool));
    OK(the.weir_pool_get_stats(runtime, pool, &stats));
    return stats;
}

static inline weir_runtime runtime_of(int device)
{
    weir_runtime runtime = {0};
    OK(the.weir_torch_handles(device, &runtime, NULL));
    return runtime;
}

#endif /* TORCH_LOAD_H */
