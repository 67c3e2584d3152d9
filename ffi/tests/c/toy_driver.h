/* What a test may ask of the toy driver. */
#ifndef TOY_DRIVER_H
#define TOY_DRIVER_H

#include "weir_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TOY_GRANULE = 65536, TOY_PLACES = 1024 };

/* The calls by number, in the order of the table. */
enum toy_call {
    TOY_PROPERTIES,
    TOY_RESERVE,
    TOY_RELEASE,
    TOY_CREATE,
    TOY_DESTROY,
    TOY_MAP,
    TOY_UNMAP,
    TOY_LAY,
    TOY_QUERY,
    TOY_WAIT,
    TOY_SYNCHRONISE,
    TOY_NOW,
    TOY_CALLS
};

struct toy_driver {
    uint64_t calls[TOY_CALLS];
    /* The next call of this kind fails with this status and code; TOY_CALLS: none does. */
    uint32_t fail_call;
    int fail_status;
    int fail_code;
    /* Granules that exist, and that are mapped. */
    uint32_t created;
    uint32_t mapped;
    /* One range at a time: its address and size. */
    uint64_t base;
    uint64_t bytes;
    /* Physical memory: a file in memory, and which of its places are granules. */
    int file;
    uint8_t taken[TOY_PLACES];
    /* What is mapped where: granule number or 0. */
    uint32_t places[TOY_PLACES];
    uint64_t clock;
    /* The stream that the last map was for, and the target of the last query or synchronisation. */
    uint64_t last_stream;
    struct weir_driver_target last_target;
};

/* Makes a driver and fills in its table. Returns 0, or -1 where the system refuses. */
int toy_open(struct toy_driver **driver, struct weir_driver_ops *ops);

/* Gives everything back. */
void toy_close(struct toy_driver *driver);

#ifdef __cplusplus
}
#endif

#endif /* TOY_DRIVER_H */
