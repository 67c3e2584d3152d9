/*
 * weir_torch.h on a stand-in of a vendor's library, as a framework calls it. Arguments: weir's library, the stand-in,
 * and the vendor's name in small letters. The stand-in is loaded already, as a framework has it.
 */
#define _GNU_SOURCE
#include "torch_load.h"

#include "standin.h"

enum { GRANULE = 2 << 20 };

#define SHIM(X)                                                                                                        \
    X(standin_setup) X(standin_fail) X(standin_violation) X(standin_stream) X(standin_foreign_stream)                  \
    X(standin_kernel) X(standin_run) X(standin_left)
static struct {
    SHIM(FIELD)
} device;

static void *stream(unsigned number)
{
    return device.standin_stream(number);
}

static uint64_t address(void *block)
{
    return (uint64_t)(uintptr_t)block;
}

/* Every device's default stream is 0. */
static void default_streams(void)
{
    void *blocks[2], *more[2];
    for (int i = 0; i < 2; i++) {
        blocks[i] = the.weir_torch_malloc(3 * MIB, i, NULL);
        CHECK(blocks[i] != NULL);
        /* With a second stream, markers are laid on the default one. */
        more[i] = the.weir_torch_malloc(MIB, i, stream((unsigned)i));
        CHECK(more[i] != NULL);
    }
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 2; i++) {
            the.weir_torch_free(blocks[i], 3 * MIB, i, NULL);
            void *again = the.weir_torch_malloc(3 * MIB, i, NULL);
            CHECK(again == blocks[i]);
        }
    }
    for (int i = 0; i < 2; i++) {
        the.weir_torch_free(blocks[i], 3 * MIB, i, NULL);
        the.weir_torch_free(more[i], MIB, i, NULL);
    }
    the.weir_torch_empty_cache();
    CHECK(stats_of(0).reserved == 0 && stats_of(1).reserved == 0);
    CHECK(strcmp(device.standin_violation(), "") == 0);
}

/* The side stream reads a block that is freed meanwhile; the device works the main stream off first. */
static const char *side_stream(int recorded)
{
    device.standin_setup(2, GRANULE, 16 * GRANULE);
    struct standin_stream *main_stream = device.standin_stream(0), *side = device.standin_stream(0);
    void *block = the.weir_torch_malloc(MIB, 0, main_stream);
    device.standin_kernel(main_stream, address(block), MIB, -1, 5);
    device.standin_run();
    if (recorded) {
        /* Before the work is queued, as frameworks do it, and so long before that all else is complete by then. */
        the.weir_torch_record_stream(block, side);
        OK(the.weir_device_synchronize(runtime_of(0), 0));
    }
    device.standin_kernel(side, address(block), MIB, 5, -1);
    the.weir_torch_free(block, MIB, 0, main_stream);
    void *next = the.weir_torch_malloc(MIB, 0, main_stream);
    CHECK(next != NULL);
    device.standin_kernel(main_stream, address(next), MIB, -1, 9);
    device.standin_run();
    the.weir_torch_free(next, MIB, 0, main_stream);
    OK(the.weir_torch_reset());
    return device.standin_violation();
}

static void other_streams(const char *vendor)
{
    void *own = stream(0), *other = stream(1), *foreign = device.standin_foreign_stream(0);
    CHECK(the.weir_torch_malloc(MIB, 0, other) == NULL);
    CHECK(says("is not usable on device 0"));
    if (strcmp(vendor, "hip") != 0) {
        /* HIP knows devices only. */
        CHECK(the.weir_torch_malloc(MIB, 0, foreign) == NULL);
    }
    if (strcmp(vendor, "acl") != 0) {
        /* A default stream of each thread. */
        CHECK(the.weir_torch_malloc(MIB, 0, (void *)2) == NULL);
    }
    void *elsewhere = the.weir_torch_malloc(MIB, 1, other);
    CHECK(elsewhere != NULL);
    /* A use that cannot be waited for: the block is never given out again. */
    void *block = the.weir_torch_malloc(MIB, 0, own);
    the.weir_torch_record_stream(block, other);
    CHECK(says("the block will stay taken"));
    the.weir_torch_free(block, MIB, 0, own);
    CHECK(says("stays taken"));
    CHECK(stats_of(0).live_blocks == 1 && stats_of(1).live_blocks == 1);
    void *next = the.weir_torch_malloc(MIB, 0, own);
    CHECK(next != NULL && next != block);
    the.weir_torch_free(next, MIB, 0, own);
    the.weir_torch_free(elsewhere, MIB, 1, other);
    CHECK(the.weir_torch_reset() == WEIR_LIVE_BLOCKS);
    /* Freed once more, it is the program's own word. */
    the.weir_torch_free(block, MIB, 0, own);
    CHECK(stats_of(0).live_blocks == 0);
}

/* A vendor that refuses is said, and the next call succeeds. */
static void refusals(void)
{
    void *own = stream(0);
    device.standin_fail(NULL, 0, 1000, 2);
    CHECK(the.weir_torch_malloc(MIB, 0, own) == NULL);
    device.standin_fail(NULL, 0, 0, 0);
    void *block = the.weir_torch_malloc(MIB, 0, own);
    CHECK(block != NULL);
    the.weir_torch_free(block, MIB, 0, own);
    /* More than the device has. */
    CHECK(the.weir_torch_malloc(17 * (size_t)GRANULE, 0, own) == NULL);
}

int main(int count, char **arguments)
{
    if (count != 4) {
        return 2;
    }
    void *library = open_library(arguments[2]);
#define FETCH_DEVICE(name) *(void **)&device.name = symbol(library, #name);
    SHIM(FETCH_DEVICE)
    load(arguments[1]);
    device.standin_setup(2, GRANULE, 16 * GRANULE);
    default_streams();
    OK(the.weir_torch_reset());
    /* Unsafe where the side stream is not recorded: so the device would have seen it. */
    CHECK(strstr(side_stream(0), "found 9 where it expected 5") != NULL);
    CHECK(strcmp(side_stream(1), "") == 0);
    other_streams(arguments[3]);
    OK(the.weir_torch_reset());
    refusals();
    OK(the.weir_torch_reset());
    struct standin_left left;
    device.standin_left(&left);
    CHECK(left.reservations + left.handles + left.mappings + left.events + left.context_uses == 0);
    CHECK(strcmp(device.standin_violation(), "") == 0);
    puts(failures == 0 ? "ok" : "not ok");
    return failures != 0;
}
