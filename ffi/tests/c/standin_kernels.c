/*
 * What `cargo xtask gpu` needs of CUDA's driver interface beside standin_cuda.c, on the device of standin.c: modules,
 * kernels, callbacks, plain memory and the vendor's pools. Kernels are known by their names and done in C, as late as
 * all work of the stand-in's; their text is looked at only as far as that it names them.
 *
 * The environment says what device it is, for programs that run whole: STANDIN_GRANULE, and with it STANDIN_GRANULES
 * and STANDIN_DEVICES; STANDIN_NONE: there is none. STANDIN_SPOIL lets every so manieth fill write something else,
 * STANDIN_NO_WAITS lets no stream wait for another one: the suite must see both. STANDIN_NO_POOLS takes the vendor's
 * pools away. What was done wrong is said when the process ends.
 *
 * Linked before other stand-ins: what both have is taken from here (the linker's `-z muldefs`).
 */
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_SUPPORTED = 801
};

static uint64_t setting(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    return text == NULL ? usual : strtoull(text, NULL, 10);
}

__attribute__((constructor)) static void begin(void)
{
    uint64_t granule = setting("STANDIN_GRANULE", 0);
    if (granule != 0) {
        standin_setup((unsigned)setting("STANDIN_DEVICES", 1), granule, granule * setting("STANDIN_GRANULES", 128));
    }
    if (setting("STANDIN_NO_WAITS", 0) != 0) {
        standin_ignore_waits();
    }
    if (setting("STANDIN_NONE", 0) != 0) {
        standin_fail("cuInit", 0, 1, NO_DEVICE);
    }
}

__attribute__((destructor)) static void end(void)
{
    if (standin_violation()[0] != 0) {
        fprintf(stderr, "stand-in: %s\n", standin_violation());
    }
}

static int code(int result)
{
    switch (result) {
    case STANDIN_OK:
        return SUCCESS;
    case STANDIN_EXHAUSTED:
        return OUT_OF_MEMORY;
    case STANDIN_BAD_HANDLE:
    case STANDIN_OTHER_CONTEXT:
        return INVALID_HANDLE;
    default:
        return INVALID_VALUE;
    }
}

/* As in standin_cuda.c: a function of the vendor's under the device's lock. */
#define CALL(name, arguments, ...)                                                                                     \
    EXPORT int name arguments;                                                                                         \
    EXPORT int name arguments                                                                                          \
    {                                                                                                                  \
        int result = standin_begin(#name);                                                                             \
        if (result == 0) {                                                                                             \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
        standin_end();                                                                                                 \
        return result;                                                                                                 \
    }

CALL(cuDeviceGetName, (char *name, int size, int device),
     result = size > 8 && standin_context((unsigned)device) != NULL ? SUCCESS : INVALID_VALUE;
     if (result == SUCCESS) { memcpy(name, "stand-in", 9); })

/* ---------------------------------------------------------------------------------------------------------- kernels */

enum kernel { FILL, CHECK, HOLD };

static const char *const NAMES[] = {"weir_fill", "weir_check", "weir_hold"};
static const char *const TEXTS[] = {".entry weir_fill(", ".entry weir_check(", ".entry weir_hold("};

/* The only module that there is, and its functions. */
static int module;
static int loaded;
static enum kernel functions[] = {FILL, CHECK, HOLD};

CALL(cuModuleLoadData, (void **made, const void *text),
     loaded = standin_current() != NULL;
     for (unsigned i = 0; i < 3; i++) { loaded = loaded && strstr(text, TEXTS[i]) != NULL; }
     *made = &module; result = loaded ? SUCCESS : INVALID_VALUE;)

CALL(cuModuleGetFunction, (void **function, void *of, const char *name), result = NOT_FOUND;
     for (unsigned i = 0; i < 3 && of == &module && loaded; i++) {
         if (strcmp(name, NAMES[i]) == 0) {
             *function = &functions[i];
             result = SUCCESS;
         }
     })

/* A launch: its parameters, in order. */
struct launch {
    enum kernel kernel;
    uint64_t parameters[4];
};

static uint64_t fills;

static uint64_t word_of(uint64_t first, uint64_t index)
{
    return first + index * UINT64_C(0x9e3779b97f4a7c15);
}

static unsigned char byte_of(uint64_t first, uint64_t offset)
{
    return (unsigned char)(word_of(first, offset / 8) >> (offset % 8 * 8));
}

static void fill(unsigned char *at, uint64_t bytes, uint64_t first)
{
    uint64_t spoil = setting("STANDIN_SPOIL", 0);
    first += spoil != 0 && ++fills % spoil == 0;
    for (uint64_t i = 0; i < bytes; i++) {
        uint64_t word = word_of(first, i / 8);
        if (i % 8 == 0 && bytes - i >= 8) {
            memcpy(at + i, &word, 8);
            i += 7;
        } else {
            at[i] = byte_of(first, i);
        }
    }
}

static unsigned differences(const unsigned char *at, uint64_t bytes, uint64_t first)
{
    unsigned found = 0;
    for (uint64_t i = 0; i < bytes; i++) {
        uint64_t word = word_of(first, i / 8);
        if (i % 8 == 0 && bytes - i >= 8) {
            found += memcmp(at + i, &word, 8) != 0;
            i += 7;
        } else {
            found += at[i] != byte_of(first, i);
        }
    }
    return found;
}

static uint32_t *word_at(uint64_t at)
{
    return (uint32_t *)(uintptr_t)at;
}

static void run(void *argument)
{
    struct launch *launch = argument;
    uint64_t at = launch->parameters[0], bytes = launch->parameters[1], first = launch->parameters[2];
    switch (launch->kernel) {
    case FILL:
        if (standin_may_use(at, bytes)) {
            fill((unsigned char *)(uintptr_t)at, bytes, first);
        }
        break;
    case CHECK:
        if (standin_may_use(at, bytes)) {
            *word_at(launch->parameters[3]) += differences((unsigned char *)(uintptr_t)at, bytes, first);
        } else {
            ++*word_at(launch->parameters[3]);
        }
        break;
    case HOLD:
        /* Whoever needs it to be over now would wait for ever, or for as long as it may take. */
        *word_at(first) += *word_at(at) == 0;
        break;
    }
    free(launch);
}

CALL(cuLaunchKernel,
     (void *function, unsigned blocks, unsigned y, unsigned z, unsigned threads, unsigned ty, unsigned tz,
      unsigned shared, struct standin_stream *stream, void **parameters, void **extra),
     struct launch *launch = malloc(sizeof *launch); enum kernel *kernel = function;
     if (launch == NULL || kernel < functions || kernel > &functions[2] || blocks == 0 || threads == 0 ||
         threads > 1024 || y != 1 || z != 1 || ty != 1 || tz != 1 || shared != 0 || extra != NULL) {
         free(launch);
         result = code(standin_wrong("launched what is no kernel, or with more than one dimension"));
     } else {
         launch->kernel = *kernel;
         for (unsigned i = 0; i < (*kernel == CHECK ? 4u : 3u); i++) {
             memcpy(&launch->parameters[i], parameters[i], 8);
         }
         uint64_t bytes = *kernel == HOLD ? 0 : launch->parameters[1];
         result = code(standin_queue(stream, launch->parameters[0], bytes, run, launch));
         if (result != SUCCESS) {
             free(launch);
         }
     })

/* What is called on the host, and with what. */
struct callback {
    void (*call)(void *);
    void *argument;
};

static void call_back(void *argument)
{
    struct callback callback = *(struct callback *)argument;
    free(argument);
    callback.call(callback.argument);
}

CALL(cuLaunchHostFunc, (struct standin_stream * stream, void (*call)(void *), void *argument),
     struct callback *callback = malloc(sizeof *callback); if (callback == NULL) { abort(); }
     *callback = (struct callback){call, argument};
     result = code(standin_queue(stream, 0, 0, call_back, callback));
     if (result != SUCCESS) { free(callback); })

/* ---------------------------------------------------------------------------------------------- streams and memory */

CALL(cuStreamCreate, (struct standin_stream * *stream, unsigned flags),
     result = flags > 1 ? INVALID_VALUE : code(standin_stream_create(stream));)

CALL(cuStreamDestroy_v2, (struct standin_stream * stream), result = code(standin_stream_destroy(stream));)

CALL(cuMemAlloc_v2, (uint64_t * at, size_t bytes), result = code(standin_malloc(bytes, at));)

CALL(cuMemHostAlloc, (void **at, size_t bytes, unsigned flags), *at = flags > 7 ? NULL : calloc(1, bytes);
     result = *at == NULL ? INVALID_VALUE : SUCCESS;)

CALL(cuMemHostGetDevicePointer_v2, (uint64_t * at, void *host, unsigned flags), *at = (uintptr_t)host;
     result = flags != 0 ? INVALID_VALUE : SUCCESS;)

CALL(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes),
     result = standin_may_use(from, bytes) ? SUCCESS : INVALID_VALUE;
     if (result == SUCCESS) { memcpy(to, (void *)(uintptr_t)from, bytes); })

CALL(cuMemsetD32_v2, (uint64_t at, unsigned value, size_t count),
     result = standin_may_use(at, count * 4) ? SUCCESS : INVALID_VALUE;
     for (size_t i = 0; result == SUCCESS && i < count; i++) { word_at(at)[i] = value; })

/* ----------------------------------------------------------------------------------------------- the vendor's pools */

/* It reuses nothing, and counts: a pool that is easily beaten, with addresses alone. */
struct pool {
    uint64_t threshold, held, high;
};

static struct pool usual;
static struct pool *chosen = &usual;
static uint64_t next_address = UINT64_C(1) << 46;

/* Of each address that was given out, the size and the pool. */
struct block {
    struct block *next;
    struct pool *pool;
    uint64_t at, bytes;
};

static struct block *blocks;

CALL(cuMemPoolCreate, (struct pool * *pool, const int *properties), result = INVALID_VALUE;
     if (setting("STANDIN_NO_POOLS", 0) != 0) {
         result = NOT_SUPPORTED;
     } else if (properties[0] == 1 && properties[1] == 0 && properties[2] == 1) {
         *pool = calloc(1, sizeof **pool);
         result = *pool == NULL ? OUT_OF_MEMORY : SUCCESS;
     })

CALL(cuMemPoolDestroy, (struct pool * pool),
     if (pool->held != 0 || pool == chosen) { standin_wrong("destroyed a pool in use"); } free(pool);)

CALL(cuMemPoolSetAttribute, (struct pool * pool, int attribute, uint64_t *value),
     result = attribute == 4 ? SUCCESS : INVALID_VALUE; pool->threshold = *value;)

CALL(cuMemPoolGetAttribute, (struct pool * pool, int attribute, uint64_t *value),
     result = attribute == 6 ? SUCCESS : INVALID_VALUE; *value = pool->high;)

CALL(cuDeviceGetDefaultMemPool, (struct pool * *pool, int device),
     result = standin_context((unsigned)device) != NULL ? SUCCESS : INVALID_VALUE; *pool = &usual;)

CALL(cuDeviceSetMemPool, (int device, struct pool *pool),
     result = standin_context((unsigned)device) != NULL ? SUCCESS : INVALID_VALUE; chosen = pool;)

CALL(cuMemAllocAsync, (uint64_t * at, size_t bytes, struct standin_stream *stream),
     struct block *block = malloc(sizeof *block); if (block == NULL || standin_owner(stream) == NULL || bytes == 0) {
         free(block);
         result = INVALID_VALUE;
     } else {
         uint64_t whole = (bytes + 511) / 512 * 512;
         *block = (struct block){blocks, chosen, next_address, whole};
         blocks = block;
         next_address += whole;
         chosen->held += whole;
         chosen->high = chosen->held > chosen->high ? chosen->held : chosen->high;
         *at = block->at;
     })

CALL(cuMemFreeAsync, (uint64_t at, struct standin_stream *stream), result = INVALID_VALUE;
     for (struct block **place = &blocks; *place != NULL && standin_owner(stream) != NULL; place = &(*place)->next) {
         struct block *block = *place;
         if (block->at == at) {
             block->pool->held -= block->bytes;
             *place = block->next;
             free(block);
             result = SUCCESS;
             break;
         }
     })
