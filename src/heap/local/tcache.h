/* SPDX-License-Identifier: MIT
 * tcache.h -- limits of the lists that free() makes of blocks for the thread's own reuse.
 * Layer: heap.  Owner thread only.
 *
 * Above tiny, free() pushes blocks of any page onto the list that malloc() pops: the blocks freed
 * last are in the processor's cache.  Blocks of tiny classes go to their pages if the thread owns
 * the page; blocks of other pages go into a bin (heap/remote/remote.h), which has the class's
 * limit. Blocks in a list are missing in their pages, so the limit starts low.  It doubles when a
 * list overflowed and then ran empty: a longer list would have saved both. */
#ifndef MW_HEAP_TCACHE_H
#define MW_HEAP_TCACHE_H

#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/local/batch.h"
#include "heap/local/heap.h"

/* First and highest limit of a class: blocks and bytes, whichever is less; at least one block. */
#define MW_TCACHE_FIRST_BLOCKS 8u
#define MW_TCACHE_FIRST_BYTES (32u << 10)
#define MW_TCACHE_MAX_BLOCKS 64u
#define MW_TCACHE_MAX_BYTES (1u << 20)
/* All limits of a thread together, beyond those at first: at most so many bytes, and at most this
 * part of the most pages that its heap ever had. */
#define MW_TCACHE_GROWTH_BYTES ((size_t)4 << 20)
#define MW_TCACHE_GROWTH_PART 8u

/* Settings for each new thread, from the options: those of jemalloc's thread caches. */
typedef struct mw_tcache_config {
	bool off;
	size_t max_bytes;                   /* larger classes have no list */
	uint32_t first_blocks, most_blocks; /* up to MW_TCACHE_LIMIT */
} mw_tcache_config_t;
#define MW_TCACHE_LIMIT 255u                /* tcache_limit[] has elements of one byte */
extern mw_tcache_config_t mw_tcache_config; /* set before threads exist */

/* Address of the pointer to the first block of the class's tcache list. */
void **mw_tcache_first(unsigned size_class);
/* Blocks in a list of free blocks of one class; ends the program when the list has no end. */
uint32_t mw_tcache_count_list(const void *list);
/* Blocks in the calling thread's tcache list. */
static inline uint32_t mw_tcache_count(unsigned size_class) {
	return mw_tcache_count_list(*mw_tcache_first(size_class));
}

/* A refill put `count` blocks onto the list.  Does nothing for tiny classes. */
MW_ALWAYS_INLINE void mw_tcache_filled(const mw_heap_t *heap, unsigned size_class, uint32_t count) {
	if (size_class >= MW_TINY_CLASSES)
		mw_tcache_of(size_class)->room =
			heap->tcache_limit[size_class] + 1 - (int32_t)count;
}

/* Blocks on the list of a class above tiny. */
MW_ALWAYS_INLINE uint32_t mw_tcache_length(const mw_heap_t *heap, unsigned size_class) {
	return (uint32_t)(heap->tcache_limit[size_class] + 1 - mw_tcache_of(size_class)->room);
}

/* Sets the first limits of all lists, which are empty; 0 while the thread is bound to an arena. */
void mw_tcache_start(mw_heap_t *heap);
/* Gives the lists of a new thread their settings and first limits. */
static inline void mw_tcache_configure(mw_heap_t *heap) {
	heap->tcache_off = mw_tcache_config.off;
	heap->tcache_max_bytes = mw_tcache_config.max_bytes;
	mw_tcache_start(heap);
}
/* The program sets the limit of all classes from `least` to `most` bytes.  The limit no longer
 * changes by itself.  The lists are empty. */
MW_COLD void mw_tcache_set_limit(mw_heap_t *heap, size_t least_bytes, size_t most_bytes,
				 size_t blocks);

/* The bin of a tiny class. */
static inline mw_remote_bin_t *mw_remote_bin(mw_heap_t *heap, unsigned size_class) {
	return &heap->remote.bins[1 + size_class];
}

/* Blocks in the bin. */
static inline uint32_t mw_remote_bin_length(mw_heap_t *heap, unsigned size_class) {
	return heap->tcache_limit[size_class] - (uint32_t)mw_remote_bin(heap, size_class)->room;
}

/* Makes the bin empty, with room for as many blocks as the class's limit says. */
static inline void mw_remote_bin_start(mw_heap_t *heap, unsigned size_class) {
	*mw_remote_bin(heap, size_class) =
		(mw_remote_bin_t){.room = heap->tcache_limit[size_class]};
}

/* Doubles the limit of a class whose list overflowed and ran empty, as far as the bounds allow. */
MW_COLD void mw_tcache_grow(mw_heap_t *heap, unsigned size_class);

/* Called at a refill of the class. */
static inline void mw_tcache_ran_empty(mw_heap_t *heap, unsigned size_class) {
	if (MW_UNLIKELY(heap->overflowed >> size_class & 1))
		mw_tcache_grow(heap, size_class);
}

#endif
