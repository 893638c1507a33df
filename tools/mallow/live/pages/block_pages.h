/* SPDX-License-Identifier: MIT
 * block_pages.h -- tells which kernel pages of a process's blocks were ever touched.
 * Layer: live/pages.  The folder's door; thread_stacks.h has the stacks of threads.  The source is
 * /proc/<pid>/pagemap.  All answers are of the address space that the process had at
 * mw_block_pages_open(): after an exec(2) there are none. */
#ifndef MW_TOOL_LIVE_PAGES_BLOCK_PAGES_H
#define MW_TOOL_LIVE_PAGES_BLOCK_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/error.h"

typedef struct mw_block_pages {
	int pagemap;
	uint64_t pages_left; /* that may still be read, however large blocks say to be */
} mw_block_pages_t;

/* Bytes of the whole kernel pages in a range, by what became of them. */
typedef struct mw_page_bytes {
	uint64_t resident, swapped, untouched;
} mw_page_bytes_t;

int mw_block_pages_open(mw_block_pages_t *pages, int pid, mw_error_t *error);
void mw_block_pages_close(mw_block_pages_t *pages);

/* Counts the pages that lie in the range as a whole.  False: they cannot be read. */
bool mw_block_pages_read(mw_block_pages_t *pages, uint64_t address, uint64_t bytes,
			 mw_page_bytes_t *out);

#endif
