/* What the tests of the C interface have in common. C11 and C++17; may be used on several threads. */
#ifndef API_CHECK_H
#define API_CHECK_H

#include <stdio.h>
#include <string.h>

#include "weir.h"

#define MIB ((uint64_t)1 << 20)

static int failures;

#define OK(call) expect((call), WEIR_OK, "", #call, __LINE__)
#define REFUSED(call, status, part) expect((call), (status), (part), #call, __LINE__)
#define CHECK(what) check((what), #what, __LINE__)

static inline void check(int holds, const char *what, int line)
{
    if (!holds) {
        __atomic_fetch_add(&failures, 1, __ATOMIC_SEQ_CST);
        fprintf(stderr, "line %d: not so: %s\n", line, what);
    }
}

/* The text of the thread's latest error. */
static inline const char *text(void)
{
    static __thread char buffer[1024];
    weir_last_error(buffer, sizeof buffer);
    return buffer;
}

/* A call answers this status, and an error's text has this part. */
static inline void expect(int status, int wanted, const char *part, const char *call, int line)
{
    if (status != wanted || (wanted != WEIR_OK && strstr(text(), part) == NULL)) {
        __atomic_fetch_add(&failures, 1, __ATOMIC_SEQ_CST);
        fprintf(stderr, "line %d: %s: %s, expected %s with \"%s\": %s\n", line, call, weir_status_name(status),
                weir_status_name(wanted), part, text());
    }
}

static inline weir_runtime host_runtime(uint64_t total)
{
    weir_runtime runtime = {0};
    struct weir_host_config host;
    OK(weir_host_config_init(&host));
    host.total = total;
    OK(weir_create_host(NULL, &host, &runtime));
    return runtime;
}

/* A pool of these settings; null: the defaults. */
static inline weir_pool pool_with(weir_runtime runtime, uint64_t limit, const struct weir_pool_config *settings)
{
    weir_pool pool;
    struct weir_pool_config config;
    memset(&pool, 0, sizeof pool);
    OK(weir_pool_config_init(&config, 0));
    if (settings != NULL) {
        config = *settings;
    }
    config.limit = limit;
    OK(weir_pool_create(runtime, &config, &pool));
    return pool;
}

static inline weir_pool pool_of(weir_runtime runtime, uint64_t limit)
{
    return pool_with(runtime, limit, NULL);
}

static inline weir_stream stream_of(weir_runtime runtime)
{
    weir_stream stream;
    memset(&stream, 0, sizeof stream);
    OK(weir_stream_create(runtime, 0, WEIR_STREAM_NON_BLOCKING, &stream));
    return stream;
}

static inline weir_ptr block_of(weir_runtime runtime, weir_pool pool, uint64_t bytes, weir_stream stream)
{
    weir_ptr ptr = 0;
    OK(weir_malloc_async(runtime, pool, bytes, stream, &ptr));
    return ptr;
}

static inline struct weir_pool_stats stats_of(weir_runtime runtime, weir_pool pool)
{
    struct weir_pool_stats stats;
    memset(&stats, 0, sizeof stats);
    OK(weir_pool_get_stats(runtime, pool, &stats));
    return stats;
}

static inline struct weir_counters counters_of(weir_runtime runtime)
{
    struct weir_counters counters;
    memset(&counters, 0, sizeof counters);
    OK(weir_get_counters(runtime, &counters));
    return counters;
}

#endif /* API_CHECK_H */
