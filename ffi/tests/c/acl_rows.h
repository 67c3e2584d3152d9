/* What the tables of rows have in common: a device of a size, and the way to run a row. */
#ifndef ACL_ROWS_H
#define ACL_ROWS_H

#include "acl_check.h"

static aclrtStream one, two;
static aclrtEvent event;

/* A device of this size, with two streams and an event. */
static inline void begin(const char *bytes)
{
    setenv("WEIR_HOST_BYTES", bytes, 1);
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&one));
    OK(aclrtCreateStream(&two));
    OK(aclrtCreateEvent(&event));
}

static inline void end(void)
{
    OK(aclFinalize());
}

static inline aclrtMemPool garbage(void)
{
    return (aclrtMemPool)0xDEADBEEF;
}

static inline aclError set(aclrtMemPool pool, aclrtMemPoolAttr attr, uint64_t value)
{
    uint32_t word = (uint32_t)value;
    return attr <= ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES ? aclrtMemPoolSetAttr(pool, attr, &word)
                                                                      : aclrtMemPoolSetAttr(pool, attr, &value);
}

static inline uint64_t used(aclrtMemPool pool)
{
    return attribute(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT);
}

static inline uint64_t reserved(aclrtMemPool pool)
{
    return attribute(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT);
}

/* A row: its id, the device's memory, what is asked, and where weir differs, how. */
struct row {
    const char *id, *device, *says;
    void (*check)(void);
    const char *differs;
};

/* Runs each and prints its line. */
static inline int run_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        begin(row->device);
        row->check();
        end();
        printf("%-4s%-9s%s%s%s\n", row->id, row->differs ? "differs" : "same", row->says, row->differs ? " | " : "",
               row->differs ? row->differs : "");
        fflush(stdout);
    }
    printf("ok\n");
    return 0;
}

#define ROWS(rows) run_rows((rows), sizeof(rows) / sizeof *(rows))

#endif
