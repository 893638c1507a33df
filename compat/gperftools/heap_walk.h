/* SPDX-License-Identifier: MIT
 * heap_walk.h -- what a walk of the heap finds: ranges, pages and free memory by size.
 * Layer: compat/gperftools. No lock is held while a function of the program is called. */
#ifndef MW_COMPAT_GPERFTOOLS_HEAP_WALK_H
#define MW_COMPAT_GPERFTOOLS_HEAP_WALK_H

#include <stdint.h>

/* Returns the number of pages and large blocks in use. */
uint64_t mw_gp_page_count(void);
/* Returns the bytes of the blocks of a size class. */
uint64_t mw_gp_class_bytes(unsigned size_class);

/* Runs of free slices of a chunk by their length in slices; a chunk has fewer than MW_GP_RUNS. */
#define MW_GP_RUNS 64
typedef struct mw_gp_run {
	uint64_t free, unmapped; /* numbers of runs; of the second the memory was given back */
} mw_gp_run_t;
typedef struct mw_gp_runs {
	mw_gp_run_t by_length[MW_GP_RUNS];
	unsigned sizes; /* lengths that occur */
	uint64_t free_bytes, unmapped_bytes;
} mw_gp_runs_t;
void mw_gp_runs(mw_gp_runs_t *runs);

#endif
