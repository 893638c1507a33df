/* SPDX-License-Identifier: MIT
 * leak.h -- finds blocks that no pointer leads to.
 * Layer: leak, the door of this folder, which uses the heap and the profiler's tables. Reading
 * order: leak (the check), block_index (all blocks), free_blocks (which of them are free), roots
 * (where the search begins), uncopied (more of that), flood (the search), requested (checks that a
 * tool requests).
 *
 * The other threads stop while their registers are noted and the process is copied (clone(2),
 * copy-on-write). The search runs in the copy, and the other threads go on meanwhile. */
#ifndef MW_LEAK_LEAK_H
#define MW_LEAK_LEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "heap/layout/size_class.h"
#include "leak/block_index.h"
#include "leak/roots.h"
#include "os/process/child.h"
#include "os/process/stop.h"
#include "state/layout.h"

typedef struct mw_leak_count {
	uint64_t blocks, bytes; /* usable bytes */
} mw_leak_count_t;

typedef struct mw_leak_sums {
	mw_leak_count_t live;     /* all blocks, reachable or not */
	mw_leak_count_t direct;   /* leaked, and no other leaked block leads there */
	mw_leak_count_t indirect; /* leaked, and another leaked block leads there */
} mw_leak_sums_t;

typedef struct mw_leak_result {
	/* by size class; the last is for larger blocks */
	mw_leak_sums_t classes[MW_CLASS_COUNT + 1];
	uint64_t root_bytes, block_bytes;  /* read */
	uint64_t unread_bytes;             /* of roots that could not be read */
	uint64_t pause_ns, scan_ns;        /* how long threads were stopped; time of the search */
	uint32_t threads, running_threads; /* all; those that could not be stopped */
} mw_leak_result_t;

/* Adds up all size classes. */
mw_leak_sums_t mw_leak_total(const mw_leak_result_t *result);

/* Checks, with the registers of the calling thread in *self, and calls then(context), unless it is
 * NULL, in the copy when the search has ended. MW_ERR_NO_MEMORY: no memory for the
 * copy or in the copy, or the copy was ended; MW_ERR_UNSUPPORTED, MW_ERR_BAD_VALUE: threads cannot
 * be stopped (os/process/stop.h); MW_ERR_IO: another thread checks. The caller holds no lock. */
mw_result_t mw_leak_check(const mw_os_stopped_t *self, const mw_leak_scope_t *scope,
			  void (*then)(void *context), void *context, mw_leak_result_t *result);

/* Copies the process, calls work(context) in the copy, which then ends, and fills in the pause and
 * the threads of *result. Returns the copy's process id without waiting, or a negative mw_result_t
 * as above. One copy at a time: mw_leak_copy_end() is called when it has ended, or is left to a
 * thread (os/process/child.h). */
int32_t mw_leak_copy_begin(const mw_os_stopped_t *self, mw_os_child_kind_t kind,
			   void (*work)(void *context), void *context, mw_leak_result_t *result);
void mw_leak_copy_end(void);
/* Searches; called by the work in the copy. `step` as in flood.h. Fills in what copy_begin() does
 * not. Returns false if there is no memory. */
bool mw_leak_search(mw_leak_result_t *result, const mw_leak_scope_t *scope,
		    void (*step)(uint64_t block_bytes));
/* Exempts the block at the address from checks, with all that it leads to, or not any more. Returns
 * false if it has no record. The caller holds no lock. */
bool mw_leak_exempt(const void *block, bool on);
/* Returns whether a recorded block starts at the address, which may be any word, and the bytes that
 * the program requested. Any thread. */
bool mw_leak_find_recorded(const void *address, size_t *requested_bytes);
/* Visits the live blocks that have a record, whose number is passed: those that are REACHED, or the
 * leaked ones; in the copy, after the search. */
void mw_leak_visit_recorded(bool reached,
			    void (*visit)(uint32_t number, const mw_state_record_t *record,
					  const mw_leak_block_t *block));

#endif
