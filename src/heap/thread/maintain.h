/* SPDX-License-Identifier: MIT
 * maintain.h -- gives memory back to the kernel: on request, and in the background thread.
 * Layer: heap. */
#ifndef MW_HEAP_THREAD_MAINTAIN_H
#define MW_HEAP_THREAD_MAINTAIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/thread/cached_heap.h"

/* Gives free memory back to the kernel: the calling thread's lists and empty pages, free slices,
 * kept mappings. Returns the bytes that the kernel took. */
MW_COLD size_t mw_heap_trim(void);

/* The body of the background thread (heap/memory/background.h): purges memory that is due, then
 * sleeps until more memory is due or a tool sends a request.  Needs no heap of its own. */
_Noreturn void mw_background_run(void);
/* Turns of the background thread, and how long it slept, since the start. */
typedef struct mw_background_stats {
	uint64_t turns, slept_ns;
} mw_background_stats_t;
mw_background_stats_t mw_background_stats(void);

/* Takes apart cached heaps whose time is over. */
MW_COLD void mw_cached_heaps_maintain_slow(void);
static inline void mw_cached_heaps_maintain(void) {
	if (MW_UNLIKELY(mw_cached_heaps_wait()))
		mw_cached_heaps_maintain_slow();
}

#endif
