/* SPDX-License-Identifier: MIT
 * free_blocks.h -- tells the index which blocks are free: those in free lists of pages, in
 * delayed lists, in the lists of threads and of cached heaps, in remote-free caches and in the
 * quarantine.
 * Layer: leak. In a copy of the process: see block_index.h. */
#ifndef MW_LEAK_FREE_BLOCKS_H
#define MW_LEAK_FREE_BLOCKS_H

#include <stdint.h>

/* Marks free blocks that pages and heaps list. */
void mw_leak_free_blocks(void);
/* Marks free blocks in the lists of the thread with this thread pointer; the memory may be gone. */
void mw_leak_free_blocks_of_thread(uintptr_t thread_pointer);

#endif
