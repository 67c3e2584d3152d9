/**
 * A device of firmware's own: granules in static memory behind a table, and streams that are queues.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#include "weir_driver.h"

enum { BOARD_STREAMS = 2, BOARD_GRANULES = 16, BOARD_GRANULE = 64 * 1024, BOARD_PLACES = 128, BOARD_SLOTS = 24 };

/** Fills the table. There is one board. */
void board_open(struct weir_driver_ops *ops);

/** Queues a kernel that writes `words` words, or one that reads them and counts the wrong ones. 0: the queue is full. */
int board_fill(uint64_t stream, uint64_t at, uint32_t words, uint32_t seed);
int board_check(uint64_t stream, uint64_t at, uint32_t words, uint32_t seed);

/** What the kernels found. */
struct board_found {
    uint32_t compared;
    uint32_t wrong;
    /** Kernels that touched an address where nothing is mapped. */
    uint32_t faults;
};
struct board_found board_found(void);

#endif
