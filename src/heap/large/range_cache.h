/* SPDX-License-Identifier: MIT
 * range_cache.h -- address ranges that were freed a moment ago and still have their memory.
 * Layer: heap.  No lock of its own: the holder of MW_RANK_HUGE calls.  Makes no system call. */
#ifndef MW_HEAP_RANGE_CACHE_H
#define MW_HEAP_RANGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most ranges.  Neighbours are joined; a program with a hundred huge blocks that replace each other
 * at random has more than 32 ranges at a time. */
#define MW_RANGE_CACHE_PLACES 128

typedef struct mw_range {
	char *base; /* NULL: the place is empty */
	size_t bytes;
	uint64_t due_ns; /* time at which its memory is to be unmapped */
	bool is_closed;  /* some of it is without access (hardened library) */
} mw_range_t;

typedef struct mw_range_cache {
	mw_range_t places[MW_RANGE_CACHE_PLACES];
	size_t total_bytes;
} mw_range_cache_t;

/* Takes `bytes` off the front of the smallest range that holds them and begins at a multiple of
 * `align`; NULL: none.  `align` is a power of two; both are multiples of a page.  *closed: whether
 * access to some of them must be restored. */
char *mw_range_cache_take(mw_range_cache_t *cache, size_t bytes, size_t align, bool *closed);
/* Takes the largest range of at least `min_bytes`; false: none. */
bool mw_range_cache_take_largest(mw_range_cache_t *cache, size_t min_bytes, mw_range_t *range);
/* Takes the range that is due first; false: the cache is empty. */
bool mw_range_cache_take_oldest(mw_range_cache_t *cache, mw_range_t *range);
/* Adds a range, joined with its neighbours, whose time becomes that of the new range.  False: no
 * place, or more than `max_total_bytes` in all; the caller keeps the range. */
bool mw_range_cache_put(mw_range_cache_t *cache, const mw_range_t *range, size_t max_total_bytes);
/* Most ranges that one call moves: the caller may be on a small stack. */
#define MW_RANGE_CACHE_GONE 16
/* Moves ranges due at `now_ns` (`all`: of every range) to `gone`; returns their number: that of all
 * if it is below MW_RANGE_CACHE_GONE. *next_due_ns: earliest time of the others, UINT64_MAX if
 * there are none. */
unsigned mw_range_cache_expire(mw_range_cache_t *cache, uint64_t now_ns, bool all,
			       mw_range_t gone[MW_RANGE_CACHE_GONE], uint64_t *next_due_ns);

#endif
