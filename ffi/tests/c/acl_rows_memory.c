/*
 * What the tests of CANN's own allocator assert, asked through the public calls, one line a row: allocations and trims.
 * The ids are those of core/tests/cann_rows, which asks the pool itself; the codes are CANN's.
 * Sizes that are no whole number of granules (2 MiB) are scaled up where reserved bytes count.
 */
#include "acl_rows.h"

/* M: allocating and freeing. */

static void one_byte(void)
{
    aclrtMemPool pool = make_pool(10 * GIB);
    void *ptr = allocate(pool, 1, one);
    CHECK(used(pool) == 512);
    OK(aclrtMemPoolFreeAsync(ptr, one));
    CHECK(used(pool) == 0);
    OK(aclrtMemPoolDestroy(pool));
}

static void fresh_memory(void)
{
    aclrtMemPool pool = make_pool(64);
    CHECK(reserved(pool) == 0);
    allocate(pool, 8, one);
    CHECK(reserved(pool) == 2 * MIB);
}

static void freed_and_ended(void)
{
    aclrtMemPool pool = make_pool(64);
    OK(aclrtMemPoolFreeAsync(allocate(pool, 8, one), one));
    OK(aclrtMemPoolDestroy(pool));
}

static void one_by_one(void)
{
    aclrtMemPool pool = make_pool(10 * GIB);
    OK(aclrtMemPoolFreeAsync(allocate(pool, 2 * MIB, one), one));
    OK(aclrtMemPoolFreeAsync(allocate(pool, 16 * MIB, one), one));
    OK(aclrtMemPoolFreeAsync(allocate(pool, 10 * GIB - 18 * MIB, one), one));
    CHECK(used(pool) == 0 && reserved(pool) <= 10 * GIB);
}

static void free_of_null(void)
{
    REFUSED(100000, "ptr", aclrtMemPoolFreeAsync(NULL, one));
}

static void free_without_stream(void)
{
    aclrtMemPool pool = make_pool(2 * MIB);
    void *ptr = allocate(pool, 2 * MIB, one);
    REFUSED(507000, "stream", aclrtMemPoolFreeAsync(ptr, NULL));
    CHECK(used(pool) == 2 * MIB);
    OK(aclrtMemPoolDestroy(pool));
}

static void ended_without_a_free(void)
{
    aclrtMemPool pool = make_pool(64 * MIB);
    allocate(pool, 6 << 10, one);
    OK(aclrtMemPoolDestroy(pool));
}

static void free_of_foreign_memory(void)
{
    char *foreign = (char *)malloc(64);
    CHECK(foreign != NULL);
    foreign[63] = 7;
    REFUSED(107000, "in no pool", aclrtMemPoolFreeAsync(foreign, one));
    OK(aclrtSynchronizeStream(one));
    CHECK(foreign[63] == 7);
    free(foreign);
}

static void free_after_a_synchronisation(void)
{
    aclrtMemPool pool = make_pool(GIB);
    void *ptr = allocate(pool, GIB, one);
    OK(aclrtSynchronizeStream(one));
    OK(aclrtMemPoolFreeAsync(ptr, one));
    OK(aclrtSynchronizeStream(one));
    CHECK(used(pool) == 0 && reserved(pool) == 0);
    OK(aclrtMemPoolDestroy(pool));
}

static void size_zero(void)
{
    char mine;
    void *ptr = &mine;
    aclrtMemPool pool = make_pool(2 * MIB);
    OK(aclrtMemPoolMallocAsync(&ptr, 0, pool, one));
    CHECK(ptr == &mine && used(pool) == 0 && reserved(pool) == 0);
}

static void more_is_free(void)
{
    aclrtMemPool pool = make_pool(2 * MIB);
    void *ptr = allocate(pool, 8, one);
    const uint64_t before = reserved(pool) - used(pool);
    OK(aclrtMemPoolFreeAsync(ptr, one));
    CHECK(reserved(pool) - used(pool) == before + 512);
}

static void still_reserved(void)
{
    aclrtMemPool pool = make_pool(10 * GIB);
    allocate(pool, 2 * GIB, one);
    OK(aclrtMemPoolFreeAsync(allocate(pool, 3 * GIB, one), one));
    CHECK(used(pool) == 2 * GIB && reserved(pool) == 5 * GIB);
}

/* T: giving memory back. */

/* A pool with a live and a freed block, all of it still reserved. */
struct half {
    aclrtMemPool pool;
    void *live, *freed;
};

static struct half half(size_t size, size_t live, size_t freed_bytes)
{
    struct half h;
    h.pool = make_pool(size);
    OK(set(h.pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, size));
    h.live = allocate(h.pool, live, one);
    h.freed = allocate(h.pool, freed_bytes, one);
    return h;
}

static aclrtMemPool half_free(size_t size, size_t live, size_t freed_bytes)
{
    const struct half h = half(size, live, freed_bytes);
    OK(aclrtMemPoolFreeAsync(h.freed, one));
    OK(aclrtSynchronizeStream(one));
    CHECK(used(h.pool) == live && reserved(h.pool) == live + freed_bytes);
    return h.pool;
}

static void trimmed(aclrtMemPool pool, size_t keep, uint64_t left)
{
    OK(aclrtMemPoolTrimTo(pool, keep));
    CHECK(reserved(pool) == left);
}

static void t1(void)
{
    trimmed(half(1000 * MIB, 200 * MIB, 300 * MIB).pool, 400 * MIB, 500 * MIB);
}

static void t2(void)
{
    trimmed(half_free(1000 * MIB, 200 * MIB, 300 * MIB), 400 * MIB, 400 * MIB);
}

static aclrtMemPool t3_pool(void)
{
    return half_free(20 * MIB, 4 * MIB, 6 * MIB);
}

static void t3(void)
{
    t3_pool();
}

static void t4(void)
{
    trimmed(t3_pool(), 12 * MIB, 10 * MIB);
}

static void t5(void)
{
    trimmed(t3_pool(), 20 * MIB, 10 * MIB);
}

static void t6(void)
{
    aclrtMemPool pool = t3_pool();
    REFUSED(507000, "the pool's size", aclrtMemPoolTrimTo(pool, 24 * MIB));
    CHECK(reserved(pool) == 10 * MIB);
}

static void t7(void)
{
    trimmed(half_free(100 * MIB, 20 * MIB, 30 * MIB), 0, 20 * MIB);
}

static void t8(void)
{
    trimmed(half_free(100 * MIB, 20 * MIB, 30 * MIB), 20 * MIB, 20 * MIB);
}

static void t9(void)
{
    trimmed(half(100 * MIB, 40 * MIB, 60 * MIB).pool, 5 * MIB, 100 * MIB);
}

static void t10(void)
{
    aclrtMemPool first = t3_pool(), second = half_free(20 * MIB, 4 * MIB, 6 * MIB);
    trimmed(second, 0, 4 * MIB);
    CHECK(reserved(first) == 10 * MIB);
}

static void t11(void)
{
    const struct half h = half(100 * MIB, 20 * MIB, 30 * MIB);
    OK(aclrtMemPoolFreeAsync(h.freed, one));
    OK(aclrtSynchronizeStream(one));
    trimmed(h.pool, 40 * MIB, 40 * MIB);
    trimmed(h.pool, 0, 20 * MIB);
    OK(aclrtMemPoolFreeAsync(h.live, one));
    OK(aclrtMemPoolDestroy(h.pool));
}

static void t12(void)
{
    aclrtMemPool pool = make_pool(10 * GIB);
    trimmed(pool, 5 * GIB, 0);
    trimmed(pool, GIB, 0);
}

static void t13(void)
{
    REFUSED(100000, "memPool", aclrtMemPoolTrimTo(NULL, 5 * GIB));
}

static void t14(void)
{
    REFUSED(507000, "the pool's size", aclrtMemPoolTrimTo(make_pool(5 * GIB), 10 * GIB));
}

static void t15(void)
{
    trimmed(make_pool(2 * MIB), 0, 0);
    REFUSED(507000, "no pool", aclrtMemPoolTrimTo(garbage(), 0));
}

static aclrtMemPool before_sync(uint64_t threshold)
{
    aclrtMemPool pool = make_pool(10 * GIB);
    OK(set(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, threshold));
    allocate(pool, 2 * GIB, one);
    OK(aclrtMemPoolFreeAsync(allocate(pool, 3 * GIB, one), one));
    CHECK(reserved(pool) == 5 * GIB);
    return pool;
}

static void t16(void)
{
    aclrtMemPool pool = before_sync(0);
    OK(aclrtSynchronizeStream(one));
    CHECK(reserved(pool) == 2 * GIB);
}

static void t17(void)
{
    aclrtMemPool pool = before_sync(GIB);
    OK(aclrtRecordEvent(event, one));
    OK(aclrtSynchronizeEvent(event));
    CHECK(reserved(pool) == 2 * GIB);
}

static void t18(void)
{
    aclrtMemPool pool = before_sync(3 * GIB);
    OK(aclrtSynchronizeDevice());
    CHECK(reserved(pool) == 3 * GIB);
}

static void t19(void)
{
    aclrtMemPool pool = half_free(6 * GIB, 2 * GIB, 3 * GIB), other = make_pool(6 * GIB);
    allocate(other, 4 * GIB, one);
    CHECK(reserved(pool) == 2 * GIB);
}

static void t20(void)
{
    aclrtMemPool pool = t3_pool();
    OK(aclrtDestroyStream(one));
    OK(aclrtMemPoolDestroy(pool));
}

static const struct row rows[] = {
    {"M1", "16GiB", "1 byte allocated and freed, the pool ends", one_byte, "the byte takes 512 B, not 2 MiB"},
    {"M2", "16GiB", "8 of a new pool: fresh memory", fresh_memory, NULL},
    {"M3", "16GiB", "M2's block is freed, the pool ends", freed_and_ended, NULL},
    {"M4", "16GiB", "2 MB, 16 MB, 10 GB less 18 MB", one_by_one, NULL},
    {"M5", "16GiB", "free of null: 100000", free_of_null, NULL},
    {"M6", "16GiB", "free without a stream: 507000; the pool ends", free_without_stream, NULL},
    {"M7", "16GiB", "6 KB allocated, the pool ends", ended_without_a_free, NULL},
    {"M8", "16GiB", "free of memory in no pool", free_of_foreign_memory,
     "107000, and nothing is freed: CANN takes any address for memory of aclrtMalloc"},
    {"M10", "16GiB", "a synchronous free, then the pool ends", free_after_a_synchronisation,
     "there is no aclrtFree: a free after a synchronisation is at once"},
    {"M11", "16GiB", "a size above 0 is allocated", fresh_memory, NULL},
    {"M12", "16GiB", "size 0: success, nothing happens", size_zero, NULL},
    {"M13", "16GiB", "a pointer is freed", freed_and_ended, NULL},
    {"M14", "16GiB", "8 allocated and freed: more is free", more_is_free, NULL},
    {"M15", "16GiB", "2 and 3 GB, 3 freed: 5 reserved", still_reserved, NULL},
    {"T1", "16GiB", "500 live, trim to 400", t1, "succeeds, and releases what it can"},
    {"T2", "16GiB", "300 freed, trim to 400: exactly 400", t2, NULL},
    {"T3", "16GiB", "2 live, 3 freed: 2 used, 5 reserved", t3, NULL},
    {"T4", "16GiB", "T3, trim to 6: 5 stay", t4, NULL},
    {"T5", "16GiB", "T3, trim to the pool's size: 5 stay", t5, NULL},
    {"T6", "16GiB", "T3, trim to more: 507000", t6, NULL},
    {"T7", "16GiB", "20 live, 30 freed, trim to 0", t7, "succeeds, and releases what it can"},
    {"T8", "16GiB", "T7, trim to 20: exactly 20", t8, NULL},
    {"T9", "16GiB", "wholly live, trim", t9, "succeeds, with nothing to release"},
    {"T10", "16GiB", "a second pool by itself", t10, NULL},
    {"T11", "16GiB", "then the live block is freed, the pool ends", t11, NULL},
    {"T12", "16GiB", "an empty pool: nothing to do", t12, NULL},
    {"T13", "16GiB", "trim of null: 100000", t13, NULL},
    {"T14", "16GiB", "5 GB pool, trim to 10 GB: 507000", t14, NULL},
    {"T15", "16GiB", "trim to 0; no pool: 507000", t15, NULL},
    {"T16", "16GiB", "threshold 0, stream synchronised: 2 GB", t16, NULL},
    {"T17", "16GiB", "threshold 1, event synchronised: 2 GB", t17, NULL},
    {"T18", "16GiB", "threshold 3, device synchronised: 3 GB", t18, NULL},
    {"T19", "6GiB", "the device is full: pools are trimmed to 2 GB", t19, "by another pool's malloc"},
    {"T20", "16GiB", "the stream ends, then the pool", t20, NULL},
};

int main(void)
{
    return ROWS(rows);
}
