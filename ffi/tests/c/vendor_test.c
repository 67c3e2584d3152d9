/*
 * The vendors' drivers through the C interface: the first argument is the vendor's name in small letters, the second a
 * library that does, the third one that lacks a function. WEIR_*_LIBRARY names the second one too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include "api_check.h"
#include "standin.h"

typedef int (*open_fn)(const char *, struct weir_driver_ops *);

static open_fn open_of(const char *vendor)
{
    if (strcmp(vendor, "acl") == 0) {
        return weir_driver_acl;
    }
    return strcmp(vendor, "hip") == 0 ? weir_driver_hip : weir_driver_cuda;
}

/* A function of the stand-in. */
static void *of(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "the stand-in lacks %s\n", name);
        exit(1);
    }
    return found;
}

static void refuses(open_fn open, const char *lacking)
{
    struct weir_driver_ops ops;
    memset(&ops, 0xab, sizeof ops);
    struct weir_driver_ops untouched = ops;
    REFUSED(open(NULL, NULL), WEIR_INVALID_ARGUMENT, "`ops` is null");
    REFUSED(open("/nowhere/lib.so", &ops), WEIR_SYSTEM, "/nowhere/lib.so");
    REFUSED(open("here/lib.so", &ops), WEIR_INVALID_ARGUMENT, "absolute path");
    REFUSED(open("", &ops), WEIR_INVALID_ARGUMENT, "absolute path");
    REFUSED(open("\xff", &ops), WEIR_BAD_NAME, "not UTF-8");
    REFUSED(open(lacking, &ops), WEIR_BAD_DRIVER, "lacks the function");
    CHECK(memcmp(&ops, &untouched, sizeof ops) == 0);
    REFUSED(weir_driver_close(NULL), WEIR_INVALID_ARGUMENT, "`ops` is null");
    REFUSED(weir_driver_close(&ops), WEIR_INVALID_ARGUMENT, "none that weir_driver_cuda");
}

/* A block goes from one stream to the other along an event, and its memory back to the device. */
static void works(const struct weir_driver_ops *ops, void *library)
{
    struct standin_stream *(*make)(unsigned);
    void (*kernel)(struct standin_stream *, uint64_t, uint64_t, int, int);
    *(void **)&make = of(library, "standin_stream");
    *(void **)&kernel = of(library, "standin_kernel");
    weir_runtime runtime = {0};
    weir_stream streams[2];
    struct standin_stream *natives[2];
    weir_event event;
    OK(weir_create_with_driver(NULL, ops, &runtime));
    weir_pool pool = pool_of(runtime, 8 * MIB);
    for (int i = 0; i < 2; i++) {
        natives[i] = make(0);
        OK(weir_stream_register(runtime, 0, WEIR_STREAM_NON_BLOCKING, (uint64_t)(uintptr_t)natives[i], 0, &streams[i]));
    }
    OK(weir_event_create(runtime, &event));
    weir_ptr first = block_of(runtime, pool, 3 * MIB, streams[0]);
    kernel(natives[0], first, 3 * MIB, -1, 5);
    kernel(natives[0], first, 3 * MIB, 5, -1);
    OK(weir_free_async(runtime, first, streams[0]));
    OK(weir_event_record(runtime, event, streams[0]));
    OK(weir_stream_wait_event(runtime, streams[1], event));
    weir_ptr second = block_of(runtime, pool, 3 * MIB, streams[1]);
    CHECK(first == second);
    kernel(natives[1], second, 3 * MIB, 5, 6);
    int complete = 2;
    OK(weir_event_query(runtime, event, &complete));
    CHECK(complete == 0);
    OK(weir_event_synchronize(runtime, event));
    OK(weir_event_query(runtime, event, &complete));
    CHECK(complete == 1);
    OK(weir_free_async(runtime, second, streams[1]));
    OK(weir_device_synchronize(runtime, 0));
    CHECK(stats_of(runtime, pool).reserved == 0);
    OK(weir_verify(runtime));
    /* What host runtimes have is not there. */
    REFUSED(weir_host_fill(runtime, streams[0], second, 0, 1), WEIR_NOT_HOST, "host driver");
    OK(weir_destroy(runtime));
}

int main(int count, char **arguments)
{
    if (count != 4) {
        return 2;
    }
    open_fn open = open_of(arguments[1]);
    void *library = dlopen(arguments[2], RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    refuses(open, arguments[3]);
    for (int round = 0; round < 2; round++) {
        struct weir_driver_ops ops;
        /* By name, and by the environment variable. */
        OK(open(round == 0 ? arguments[2] : NULL, &ops));
        works(&ops, library);
        OK(weir_driver_close(&ops));
        REFUSED(weir_driver_close(&ops), WEIR_INVALID_ARGUMENT, "it was closed");
        weir_runtime runtime;
        REFUSED(weir_create_with_driver(NULL, &ops, &runtime), WEIR_BAD_DRIVER, "`abi` is 0");
    }
    struct standin_left left;
    void (*count_left)(struct standin_left *);
    const char *(*violation)(void);
    *(void **)&count_left = of(library, "standin_left");
    *(void **)&violation = of(library, "standin_violation");
    count_left(&left);
    /* What may be queued is the marker that the end of a stream lays. */
    CHECK(left.reservations + left.handles + left.mappings == 0);
    CHECK(left.events + left.context_uses == 0);
    CHECK(strcmp(violation(), "") == 0);
    puts(failures == 0 ? "ok" : "not ok");
    return failures != 0;
}
