/* SPDX-License-Identifier: MIT
 * range_cache.c -- best fit over a few ranges: a linear search of 128 entries costs less than one
 * page fault. */
#include "heap/large/range_cache.h"

char *mw_range_cache_take(mw_range_cache_t *cache, size_t bytes, size_t align, bool *closed) {
	mw_range_t *best = NULL;
	for (unsigned i = 0; i < MW_RANGE_CACHE_PLACES; i++) {
		mw_range_t *range = &cache->places[i];
		/* Only ranges whose front is aligned: no bytes are left over in front. */
		if (range->base && range->bytes >= bytes &&
		    ((uintptr_t)range->base & (align - 1)) == 0 &&
		    (!best || range->bytes < best->bytes))
			best = range;
	}
	if (!best)
		return NULL;
	char *base = best->base;
	*closed = best->is_closed;
	cache->total_bytes -= bytes;
	best->bytes -= bytes;
	best->base = best->bytes ? base + bytes : NULL;
	return base;
}

bool mw_range_cache_take_largest(mw_range_cache_t *cache, size_t min_bytes, mw_range_t *range) {
	mw_range_t *best = NULL;
	for (unsigned i = 0; i < MW_RANGE_CACHE_PLACES; i++)
		if (cache->places[i].base && cache->places[i].bytes >= min_bytes &&
		    (!best || cache->places[i].bytes > best->bytes))
			best = &cache->places[i];
	if (!best)
		return false;
	*range = *best;
	cache->total_bytes -= best->bytes;
	best->base = NULL;
	return true;
}

bool mw_range_cache_take_oldest(mw_range_cache_t *cache, mw_range_t *range) {
	mw_range_t *oldest = NULL;
	for (unsigned i = 0; i < MW_RANGE_CACHE_PLACES; i++)
		if (cache->places[i].base && (!oldest || cache->places[i].due_ns < oldest->due_ns))
			oldest = &cache->places[i];
	if (!oldest)
		return false;
	*range = *oldest;
	cache->total_bytes -= oldest->bytes;
	oldest->base = NULL;
	return true;
}

bool mw_range_cache_put(mw_range_cache_t *cache, const mw_range_t *range, size_t max_total_bytes) {
	if (range->bytes > max_total_bytes || cache->total_bytes > max_total_bytes - range->bytes)
		return false;
	mw_range_t joined = *range;
	mw_range_t *place = NULL;
	for (unsigned i = 0; i < MW_RANGE_CACHE_PLACES; i++) {
		mw_range_t *other = &cache->places[i];
		bool before = other->base && other->base + other->bytes == joined.base;
		bool after = other->base && joined.base + joined.bytes == other->base;
		if (before || after) {
			joined.base = before ? other->base : joined.base;
			joined.bytes += other->bytes;
			joined.is_closed |= other->is_closed;
			other->base = NULL;
		}
		if (!other->base && !place)
			place = other;
	}
	if (!place)
		return false; /* no range was joined, or a place would be free */
	*place = joined;
	cache->total_bytes += range->bytes;
	return true;
}

unsigned mw_range_cache_expire(mw_range_cache_t *cache, uint64_t now_ns, bool all,
			       mw_range_t gone[MW_RANGE_CACHE_GONE], uint64_t *next_due_ns) {
	unsigned count = 0;
	*next_due_ns = UINT64_MAX;
	for (unsigned i = 0; i < MW_RANGE_CACHE_PLACES; i++) {
		mw_range_t *range = &cache->places[i];
		if (!range->base)
			continue;
		if ((all || range->due_ns <= now_ns) && count < MW_RANGE_CACHE_GONE) {
			gone[count++] = *range;
			cache->total_bytes -= range->bytes;
			range->base = NULL;
		} else if (range->due_ns < *next_due_ns) {
			*next_due_ns = range->due_ns;
		}
	}
	return count;
}
