/* SPDX-License-Identifier: MIT
 * record.h -- what the heap keeps for the profiler: a number for each sampled block, and a few
 * words for each thread. Layer: heap.  heap/sample/hooks.h says who writes them. */
#ifndef MW_HEAP_RECORD_H
#define MW_HEAP_RECORD_H

#include <stdbool.h>
#include <stdint.h>

/* The number of the profiler's record of a block; 0: the block is not sampled. */
typedef uint32_t mw_record_id_t;

/* The hooks' own state of one thread. */
typedef struct mw_hook_thread {
	uint32_t rate; /* number of the rate of this generation that the thread draws by: 0 .. 15 */
	/* The sample just taken changed `rate`: all countdowns are drawn anew. */
	bool rate_changed;
	uint64_t words[12]; /* opaque to the heap: random numbers, generation */
} mw_hook_thread_t;

#endif
