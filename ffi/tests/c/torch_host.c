/*
 * weir_torch.h on the host driver, as a framework calls it. Arguments: the library, and which case. The environment is
 * the test's.
 */
#define _GNU_SOURCE
#include "torch_load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 300 };

/* Handles as a framework might have them; the host driver takes any. */
static void *const MAIN = NULL, *const SIDE = (void *)0x5550, *const THIRD = (void *)0x7770;

static weir_stream stream_of(int device, void *handle)
{
    weir_stream stream = {0, 0};
    OK(the.weir_torch_stream(device, handle, &stream));
    return stream;
}

static void synchronise(int device)
{
    OK(the.weir_device_synchronize(runtime_of(device), (uint32_t)device));
}

static void sizes_and_devices(void)
{
    CHECK(the.weir_torch_malloc(0, 0, MAIN) == NULL);
    the.weir_torch_free(NULL, 0, 0, MAIN);
    the.weir_torch_record_stream(NULL, MAIN);
    void *blocks[2];
    for (int device = 0; device < 2; device++) {
        blocks[device] = the.weir_torch_malloc(3 * MIB, device, MAIN);
        CHECK(blocks[device] != NULL);
        struct weir_pool_stats stats = stats_of(device);
        CHECK(stats.live_blocks == 1 && stats.used == 3 * MIB && stats.reserved == 4 * MIB);
    }
    CHECK(blocks[0] != blocks[1]);
    CHECK(runtime_of(0).id != runtime_of(1).id);
    /* In the order of the stream, the memory is there at once; in another one's, it is not. */
    the.weir_torch_free(blocks[0], 3 * MIB, 0, MAIN);
    void *again = the.weir_torch_malloc(3 * MIB, 0, MAIN);
    CHECK(again == blocks[0]);
    the.weir_torch_free(again, 3 * MIB, 0, MAIN);
    void *other = the.weir_torch_malloc(3 * MIB, 0, SIDE);
    CHECK(other != NULL && other != again);
    CHECK(stats_of(1).live_blocks == 1);
    /* What is free goes back, what is live stays. */
    the.weir_torch_empty_cache();
    CHECK(stats_of(0).reserved == 4 * MIB && stats_of(0).live_blocks == 1);
    CHECK(stats_of(1).reserved == 4 * MIB);
    the.weir_torch_free(other, 3 * MIB, 0, SIDE);
    the.weir_torch_free(blocks[1], 3 * MIB, 1, MAIN);
    the.weir_torch_npu_empty_cache(true);
    CHECK(stats_of(0).reserved == 0 && stats_of(1).reserved == 0);
}

/* A kernel that stays on the device until the gate is open, and then finds and leaves its own bytes. */
struct slow {
    atomic_int open;
    void *at;
    int found;
};

static void run_slow(struct weir_kernel *kernel, void *user)
{
    struct slow *slow = user;
    while (!atomic_load(&slow->open)) {
        usleep(1000);
    }
    const unsigned char *bytes = the.weir_kernel_bytes(kernel, (weir_ptr)(uintptr_t)slow->at, MIB, WEIR_READ);
    for (size_t i = 0; bytes != NULL && i < MIB; i++) {
        slow->found += bytes[i] == 7;
    }
}

/* A block that a side stream still reads is freed. Answers whether the main stream got it while that was so. */
static int reuses_under_a_side_stream(int recorded)
{
    struct slow slow = {.open = 0, .at = the.weir_torch_malloc(MIB, 0, MAIN), .found = 0};
    weir_runtime runtime = runtime_of(0);
    OK(the.weir_host_fill(runtime, stream_of(0, MAIN), (weir_ptr)(uintptr_t)slow.at, 7, MIB));
    synchronise(0);
    if (recorded) {
        /* Before the work is queued, as frameworks do it, and so long before that all else is complete by then. */
        the.weir_torch_record_stream(slow.at, SIDE);
        synchronise(0);
    }
    OK(the.weir_host_launch(runtime, stream_of(0, SIDE), run_slow, &slow));
    the.weir_torch_free(slow.at, MIB, 0, MAIN);
    void *next = the.weir_torch_malloc(MIB, 0, MAIN);
    CHECK(next != NULL);
    int same = next == slow.at;
    if (!same) {
        /* Where it is the same, that is the race itself, which the device would report or not. */
        OK(the.weir_host_fill(runtime, stream_of(0, MAIN), (weir_ptr)(uintptr_t)next, 1, MIB));
    }
    atomic_store(&slow.open, 1);
    synchronise(0);
    CHECK(slow.found == (int)MIB);
    /* Once the side stream is known to have passed, the memory is the main stream's again. */
    the.weir_torch_free(next, MIB, 0, MAIN);
    void *first = the.weir_torch_malloc(MIB, 0, MAIN);
    void *second = the.weir_torch_malloc(MIB, 0, MAIN);
    CHECK(same || first == slow.at || second == slow.at);
    the.weir_torch_free(first, MIB, 0, MAIN);
    the.weir_torch_free(second, MIB, 0, MAIN);
    synchronise(0);
    return same;
}

static void recorded_streams(void)
{
    CHECK(reuses_under_a_side_stream(0));
    CHECK(!reuses_under_a_side_stream(1));
    int local = 0;
    the.weir_torch_record_stream(&local, SIDE);
    CHECK(says("no live block begins there"));
    the.weir_torch_free(&local, 1, 0, MAIN);
    CHECK(says("is in no pool"));
}

/* The limit is 8 MiB a device. */
static void limits(void)
{
    CHECK(the.weir_torch_malloc(16 * MIB, 0, MAIN) == NULL);
    CHECK(says("8388608 B"));
    CHECK(the.weir_torch_malloc(SIZE_MAX, 0, MAIN) == NULL);
    CHECK(the.weir_torch_malloc(MIB, -1, MAIN) == NULL);
    CHECK(says("`device` is -1"));
    CHECK(the.weir_torch_malloc(MIB, 64, MAIN) == NULL);
    CHECK(says("`device` is 64"));
    void *first = the.weir_torch_malloc(6 * MIB, 0, MAIN);
    CHECK(first != NULL && the.weir_torch_malloc(6 * MIB, 0, MAIN) == NULL);
    void *elsewhere = the.weir_torch_malloc(6 * MIB, 63, MAIN);
    CHECK(elsewhere != NULL);
    the.weir_torch_free(first, 6 * MIB, 0, MAIN);
    void *again = the.weir_torch_malloc(6 * MIB, 0, MAIN);
    CHECK(again != NULL);
    CHECK(stats_of(0).refused == 3);
    the.weir_torch_free(elsewhere, 6 * MIB, 63, MAIN);
    the.weir_torch_free(again, 6 * MIB, 0, MAIN);
    /* A free that is wrong is said, and changes nothing. */
    the.weir_torch_free(again, 6 * MIB, 0, MAIN);
    CHECK(says("freed"));
    the.weir_torch_free(again, 6 * MIB, 17, MAIN);
    CHECK(says("nothing was allocated on device 17"));
    CHECK(stats_of(0).frees == 2);
}

static pthread_barrier_t barrier;

/* Blocks that one thread makes and another one frees. */
static _Atomic(void *) handed[THREADS];

static void *work(void *argument)
{
    size_t me = (size_t)(uintptr_t)argument;
    int device = (int)(me % 2);
    void *stream = (void *)(uintptr_t)(0x100 * (me + 1));
    pthread_barrier_wait(&barrier);
    /* All of them come first. */
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t bytes = 512 + 4096 * ((me + round) % 97);
        void *block = the.weir_torch_malloc(bytes, device, stream);
        if (!CHECK(block != NULL)) {
            break;
        }
        the.weir_torch_record_stream(block, (void *)(uintptr_t)(0x100 * ((me + 2) % THREADS + 1)));
        void *other = atomic_exchange(&handed[(me + 2) % THREADS], block);
        if (other != NULL) {
            the.weir_torch_free(other, 0, device, stream);
        }
        if (round % 64 == me) {
            the.weir_torch_empty_cache();
        }
    }
    return (void *)(uintptr_t)runtime_of(device).id;
}

static void threads(void)
{
    pthread_t made[THREADS];
    void *runtimes[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&made[i], NULL, work, (void *)(uintptr_t)i) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(made[i], &runtimes[i]);
        CHECK(runtimes[i] == runtimes[i % 2]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        the.weir_torch_free(atomic_load(&handed[i]), 0, (int)(i % 2), MAIN);
    }
    for (int device = 0; device < 2; device++) {
        OK(the.weir_verify(runtime_of(device)));
        struct weir_pool_stats stats = stats_of(device);
        CHECK(stats.live_blocks == 0 && stats.mallocs == THREADS / 2 * ROUNDS && stats.frees == stats.mallocs);
    }
}

static void resets(void)
{
    OK(the.weir_torch_reset());
    void *block = the.weir_torch_malloc(MIB, 1, MAIN);
    weir_runtime before = runtime_of(1);
    CHECK(the.weir_torch_reset() == WEIR_LIVE_BLOCKS);
    CHECK(says("1 blocks are live on device 1"));
    CHECK(runtime_of(1).id == before.id);
    the.weir_torch_free(block, MIB, 1, MAIN);
    /* What the environment says is read anew. */
    setenv("WEIR_TORCH_LIMIT", "2MiB", 1);
    CHECK(the.weir_torch_malloc(3 * MIB, 0, MAIN) == NULL);
    void *large = the.weir_torch_malloc(4 * MIB, 1, MAIN);
    CHECK(large != NULL);
    the.weir_torch_free(large, 4 * MIB, 1, MAIN);
    OK(the.weir_torch_reset());
    CHECK(the.weir_torch_malloc(4 * MIB, 1, MAIN) == NULL);
    CHECK(runtime_of(1).id != before.id);
    CHECK(the.weir_verify(before) == WEIR_BAD_HANDLE);
    OK(the.weir_torch_reset());
}

/* Gives the kept block back, and does what a program may or may not do there. */
static int relieve(void *user, weir_pool pool, uint32_t device, uint64_t bytes)
{
    void **kept = user;
    CHECK(device == 0 && bytes == 6 * MIB && pool.id != 0);
    if (*kept == NULL) {
        return 0;
    }
    the.weir_torch_record_stream(*kept, MAIN);
    CHECK(stats_of(0).live_blocks == 1);
    CHECK(the.weir_torch_malloc(MIB, 1, MAIN) == NULL && says("neither open one nor reset"));
    CHECK(the.weir_torch_reset() == WEIR_BUSY && says("neither open one nor reset"));
    CHECK(the.weir_torch_malloc(MIB, 0, MAIN) == NULL && says("allocating is not possible from within"));
    the.weir_torch_empty_cache();
    the.weir_torch_free(*kept, 6 * MIB, 0, MAIN);
    *kept = NULL;
    return 1;
}

/* The limit is 8 MiB. */
static void pressure(void)
{
    void *kept = the.weir_torch_malloc(6 * MIB, 0, MAIN);
    OK(the.weir_set_pressure(runtime_of(0), relieve, &kept));
    void *made = the.weir_torch_malloc(6 * MIB, 0, MAIN);
    CHECK(made != NULL && kept == NULL);
    /* There is nothing left to give back. */
    CHECK(the.weir_torch_malloc(6 * MIB, 0, MAIN) == NULL);
    the.weir_torch_free(made, 6 * MIB, 0, MAIN);
    OK(the.weir_torch_reset());
}

static atomic_int resetting;

/* Allocates and frees for as long as another thread resets: what is live is never taken away. */
static void *go_on(void *argument)
{
    while (atomic_load(&resetting)) {
        void *block = the.weir_torch_malloc(MIB, 0, argument);
        CHECK(block != NULL);
        the.weir_torch_free(block, MIB, 0, argument);
    }
    return NULL;
}

static void resets_meanwhile(void)
{
    enum { OTHERS = 3, RESETS = 8 };
    pthread_t made[OTHERS];
    int done = 0;
    atomic_store(&resetting, 1);
    for (size_t i = 0; i < OTHERS; i++) {
        CHECK(pthread_create(&made[i], NULL, go_on, (void *)(uintptr_t)(0x100 * i)) == 0);
    }
    while (done < RESETS) {
        /* Opened, so that there is something to end. */
        runtime_of(0);
        int status = the.weir_torch_reset();
        CHECK(status == WEIR_OK || status == WEIR_LIVE_BLOCKS);
        done += status == WEIR_OK;
    }
    atomic_store(&resetting, 0);
    for (size_t i = 0; i < OTHERS; i++) {
        pthread_join(made[i], NULL);
    }
    OK(the.weir_torch_reset());
}

/* What a child of a fork gets. */
static int in_child(void *block)
{
    CHECK(the.weir_torch_malloc(MIB, 0, MAIN) == NULL);
    CHECK(says("was forked from process"));
    the.weir_torch_free(block, MIB, 0, MAIN);
    the.weir_torch_record_stream(block, SIDE);
    the.weir_torch_empty_cache();
    CHECK(the.weir_torch_reset() == WEIR_BUSY);
    return failures;
}

static int passes(int (*child)(void *), void *block)
{
    pid_t made = fork();
    if (made == 0) {
        /* With all that belongs to the end of a process. */
        exit(child(block));
    }
    int status = 1;
    CHECK(waitpid(made, &status, 0) == made);
    return status == 0;
}

static int begins(void *block)
{
    CHECK(the.weir_torch_malloc(MIB, 0, MAIN) != NULL && block == NULL);
    return failures;
}

static void forks(void)
{
    /* Nothing is open yet: each has its own. */
    CHECK(passes(begins, NULL));
    void *block = the.weir_torch_malloc(MIB, 0, MAIN);
    CHECK(passes(in_child, block));
    CHECK(stats_of(0).live_blocks == 1);
    the.weir_torch_free(block, MIB, 0, MAIN);
    CHECK(stats_of(0).live_blocks == 0);
}

/* Two devices' worth of records; nobody flushes. */
static void logs(void)
{
    for (int device = 0; device < 2; device++) {
        void *block = the.weir_torch_malloc(MIB, device, MAIN);
        the.weir_torch_record_stream(block, THIRD);
        the.weir_torch_free(block, MIB, device, MAIN);
    }
    void *block = the.weir_torch_malloc(5 * MIB, 1, THIRD);
    CHECK(block != NULL);
}

/* For settings that are wrong: whether there is memory, and the line in between. */
static void one(void)
{
    void *block = the.weir_torch_malloc(MIB, 0, MAIN);
    puts(block == NULL ? "null" : "memory");
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"devices", sizes_and_devices}, {"record", recorded_streams}, {"limits", limits}, {"threads", threads},
                 {"reset", resets},              {"meanwhile", resets_meanwhile}, {"fork", forks},  {"log", logs},
                 {"pressure", pressure},
                 {"one", one}};
    if (count != 3) {
        return 2;
    }
    load(arguments[1]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(cases[i].name, arguments[2]) == 0) {
            cases[i].run();
            puts(failures == 0 ? "ok" : "not ok");
            return failures != 0;
        }
    }
    return 2;
}
