/*
 * Two streams share a pool: one writes a block, the other reads and frees it, and the first gets it back along an event,
 * without the host ever waiting in between. The kernels check the bytes, so a wrong order would be seen.
 *
 *   gcc -std=c11 -I target/weir/include two_streams.c target/weir/lib/libweir.a -lpthread -ldl -lm -o two_streams
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir.h"

enum { ROUNDS = 50, BLOCK = 1 << 20 };

/* What a kernel is about: the block, the value that its bytes have or get, and whether they were right. */
struct job {
    weir_ptr ptr;
    unsigned char value;
    int right;
};

static void die(const char *call)
{
    char text[512];
    weir_last_error(text, sizeof text);
    fprintf(stderr, "%s: %s\n", call, text);
    exit(1);
}

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        if ((call) != WEIR_OK) {                                                                                       \
            die(#call);                                                                                                \
        }                                                                                                              \
    } while (0)

static void write_block(struct weir_kernel *kernel, void *user)
{
    struct job *job = (struct job *)user;
    void *bytes = weir_kernel_bytes(kernel, job->ptr, BLOCK, WEIR_WRITE);
    if (bytes != NULL) {
        memset(bytes, job->value, BLOCK);
    }
}

static void check_block(struct weir_kernel *kernel, void *user)
{
    struct job *job = (struct job *)user;
    const unsigned char *bytes = (const unsigned char *)weir_kernel_bytes(kernel, job->ptr, BLOCK, WEIR_READ);
    job->right = bytes != NULL;
    for (size_t i = 0; job->right && i < BLOCK; i++) {
        job->right = bytes[i] == job->value;
    }
}

static void print_stats(weir_runtime runtime, weir_pool pool)
{
    static const char *const names[WEIR_SOURCES] = {"same_stream",   "settled",  "event",
                                                    "opportunistic", "internal", "grow"};
    struct weir_pool_stats stats;
    TRY(weir_pool_get_stats(runtime, pool, &stats));
    printf("mallocs=%" PRIu64 " frees=%" PRIu64 " used_high=%" PRIu64 " reserved_high=%" PRIu64, stats.mallocs,
           stats.frees, stats.used_high, stats.reserved_high);
    for (int i = 0; i < WEIR_SOURCES; i++) {
        printf(" %s=%" PRIu64, names[i], stats.reuse[i]);
    }
    printf("\n");
}

int main(void)
{
    static struct job jobs[ROUNDS];
    weir_runtime runtime;
    weir_pool pool;
    weir_stream producer, consumer;
    weir_event written, freed;
    struct weir_pool_config config;

    TRY(weir_create_host(NULL, NULL, &runtime));
    TRY(weir_pool_config_init(&config, 0));
    config.limit = 64u << 20;
    config.reuse = WEIR_REUSE_EVENT;
    TRY(weir_pool_create(runtime, &config, &pool));
    TRY(weir_stream_create(runtime, 0, WEIR_STREAM_NON_BLOCKING, &producer));
    TRY(weir_stream_create(runtime, 0, WEIR_STREAM_NON_BLOCKING, &consumer));
    TRY(weir_event_create(runtime, &written));
    TRY(weir_event_create(runtime, &freed));

    for (int i = 0; i < ROUNDS; i++) {
        jobs[i].value = (unsigned char)(i + 1);
        TRY(weir_malloc_async(runtime, pool, BLOCK, producer, &jobs[i].ptr));
        TRY(weir_host_launch(runtime, producer, write_block, &jobs[i]));
        TRY(weir_event_record(runtime, written, producer));
        TRY(weir_stream_wait_event(runtime, consumer, written));
        TRY(weir_host_launch(runtime, consumer, check_block, &jobs[i]));
        TRY(weir_free_async(runtime, jobs[i].ptr, consumer));
        TRY(weir_event_record(runtime, freed, consumer));
        TRY(weir_stream_wait_event(runtime, producer, freed));
    }
    TRY(weir_stream_synchronize(runtime, consumer));
    TRY(weir_verify(runtime));

    int wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        wrong += !jobs[i].right;
    }
    print_stats(runtime, pool);
    printf("rounds=%d wrong=%d\n", ROUNDS, wrong);
    TRY(weir_pool_destroy(runtime, pool, WEIR_DESTROY_IF_EMPTY));
    TRY(weir_destroy(runtime));
    return wrong != 0;
}
