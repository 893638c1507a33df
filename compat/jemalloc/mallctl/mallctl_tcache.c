/* SPDX-License-Identifier: MIT
 * mallctl_tcache.c -- the calling thread's tcache lists, shown as jemalloc's thread caches:
 * whether free() may add blocks to them, of which sizes, and how many. */
#include <errno.h>
#include <string.h>

#include "compat/jemalloc/mallctl/mallctl_row.h"
#include "heap/local/tcache.h"
#include "heap/thread/thread.h"

/* Longest text, as in jemalloc. */
#define SETTINGS_BYTES 1000u

/* Frees the blocks of all lists and resets the lists' limits. */
static void restart(mw_heap_t *heap) {
	mw_heap_take_rate();
	mw_tcache_start(heap);
}

int mw_ctl_at_thread_tcache_enabled(mw_ctl_call_t *call) {
	mw_heap_t *heap = mw_heap_self();
	if (!heap)
		return EAGAIN;
	bool before = !heap->tcache_off;
	if (call->writing && before != (call->value != 0)) {
		heap->tcache_off = before;
		restart(heap);
	}
	call->value = before;
	return 0;
}

/* The option's value, which applies to new threads. */
int mw_ctl_at_tcache_max(mw_ctl_call_t *call) {
	call->value = mw_tcache_config.max_bytes < MW_SMALL_MAX_BYTES ? mw_tcache_config.max_bytes
								      : MW_SMALL_MAX_BYTES;
	return 0;
}

int mw_ctl_at_thread_tcache_max(mw_ctl_call_t *call) {
	mw_heap_t *heap = mw_heap_self();
	if (!heap)
		return EAGAIN;
	size_t before = heap->tcache_max_bytes < MW_SMALL_MAX_BYTES ? heap->tcache_max_bytes
								    : MW_SMALL_MAX_BYTES;
	if (call->writing) {
		heap->tcache_max_bytes = call->value;
		restart(heap);
	}
	call->value = before;
	return 0;
}

/* new: a size; old: how many blocks of its class free() may add to the list. */
int mw_ctl_at_ncached_max(mw_ctl_call_t *call) {
	const mw_heap_t *heap = mw_heap_self();
	if (!heap)
		return EAGAIN;
	if (!call->writing || call->value > MW_SMALL_MAX_BYTES)
		return EINVAL;
	call->value = heap->tcache_limit[mw_class_of(call->value)];
	return 0;
}

/* Reads a number that `end` follows. Returns the position after `end`. */
static const char *read_number(const char *text, char end, uint64_t *number) {
	const char *digit = text;
	for (*number = 0; *digit >= '0' && *digit <= '9' && digit - text < 18; digit++)
		*number = *number * 10 + (uint64_t)(*digit - '0');
	return digit > text && *digit == end ? digit + 1 : NULL;
}

/* Parses "8-128:1|160-160:11": first and last size, and number of blocks. */
static bool read_settings(const char *text, mw_heap_t *heap) {
	while (*text) {
		uint64_t least, most, blocks;
		const char *next = read_number(text, '-', &least);
		next = next ? read_number(next, ':', &most) : NULL;
		const char *end = next ? read_number(next, '|', &blocks) : NULL;
		if (next && !end && (end = read_number(next, '\0', &blocks)) != NULL)
			end--;
		if (!end || least > most)
			return false;
		if (heap)
			mw_tcache_set_limit(heap, least, most, blocks);
		text = end;
	}
	return true;
}

int mw_ctl_at_ncached_max_write(mw_ctl_call_t *call) {
	const char *text = (const char *)(uintptr_t)call->value;
	mw_heap_t *heap = mw_heap_self();
	if (!heap)
		return EAGAIN;
	/* Applies all of the text or nothing. */
	if (!call->writing || !text || strnlen(text, SETTINGS_BYTES) == SETTINGS_BYTES ||
	    !read_settings(text, NULL))
		return EINVAL;
	mw_heap_take_rate();
	read_settings(text, heap);
	return 0;
}
