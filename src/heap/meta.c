/* SPDX-License-Identifier: MIT
 * meta.c -- bump allocation from mappings of 64 KiB. */
#include "heap/meta.h"

#include "base/bits.h"
#include "base/compiler.h"
#include "os/lock.h"
#include "os/map.h"

/* Some thirty thread heaps; untouched pages of it cost nothing. */
#define REGION_BYTES ((size_t)64 << 10)

static struct {
	mw_lock_t lock;
	char *next, *limit;
	size_t total_bytes;
} meta;

void *mw_meta_alloc(size_t bytes) {
	bytes = mw_round_up(bytes, MW_CACHE_LINE_BYTES);
	void *block = NULL;
	mw_lock_acquire(&meta.lock, MW_RANK_META);
	if ((size_t)(meta.limit - meta.next) < bytes) {
		size_t region =
			mw_round_up(bytes > REGION_BYTES ? bytes : REGION_BYTES, MW_OS_PAGE_BYTES);
		char *base = mw_os_map(region);
		if (base) {
			meta.next = base;
			meta.limit = base + region;
		}
	}
	if ((size_t)(meta.limit - meta.next) >= bytes) {
		block = meta.next;
		meta.next += bytes;
		meta.total_bytes += bytes;
	}
	mw_lock_release(&meta.lock, MW_RANK_META);
	return block;
}

size_t mw_meta_bytes(void) {
	return __atomic_load_n(&meta.total_bytes, __ATOMIC_RELAXED);
}

void mw_meta_fork_prepare(void) {
	mw_lock_fork_acquire(&meta.lock);
}

void mw_meta_fork_release(bool in_child) {
	mw_lock_fork_release(&meta.lock, in_child);
}
