/* SPDX-License-Identifier: MIT
 * record.h -- the number by which the heap knows the profiler's record of a sampled block.
 * Layer: heap. */
#ifndef MW_HEAP_RECORD_H
#define MW_HEAP_RECORD_H

#include <stdint.h>

/* 0: the block is not sampled. */
typedef uint32_t mw_record_id_t;

#endif
