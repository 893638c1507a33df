/* SPDX-License-Identifier: MIT
 * meta.c -- bump allocation from mappings of 64 KiB. */
#include "heap/memory/meta.h"

#include "base/bits.h"
#include "base/compiler.h"
#include "os/lock/lock.h"
#include "os/memory/map.h"

/* Some thirty thread heaps; untouched pages are not resident. */
#define REGION_BYTES ((size_t)64 << 10)
/* Most mappings that heap walks list: enough for 4,000 threads.  They count the rest as other
 * memory. */
#define REGIONS_KNOWN 256u

static struct {
	/* Apart from words that each call for a larger block reads, such as
	 * mw_background_state. */
	_Alignas(MW_CACHE_LINE_BYTES) mw_lock_t lock;
	char *next, *limit;
	size_t total_bytes;
	unsigned region_count;
	struct region {
		char *base;
		size_t bytes;
	} first_region;
} meta;

/* Most processes have one region. */
static MW_SPARSE struct region more_regions[REGIONS_KNOWN - 1];

static struct region *region_at(unsigned number) {
	return number == 0 ? &meta.first_region : &more_regions[number - 1];
}

static void remember_region(char *base, size_t bytes) {
	if (meta.region_count == REGIONS_KNOWN)
		return;
	*region_at(meta.region_count++) = (struct region){.base = base, .bytes = bytes};
}

void *mw_meta_alloc(size_t bytes) {
	bytes = mw_round_up(bytes, MW_CACHE_LINE_BYTES);
	void *block = NULL;
	mw_lock_acquire(&meta.lock, MW_RANK_META);
	if ((size_t)(meta.limit - meta.next) < bytes) {
		size_t region =
			mw_round_up(bytes > REGION_BYTES ? bytes : REGION_BYTES, MW_OS_PAGE_BYTES);
		char *base = mw_os_map(region);
		if (base) {
			remember_region(base, region);
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

bool mw_meta_region(unsigned number, uintptr_t *start, uintptr_t *limit) {
	mw_lock_acquire(&meta.lock, MW_RANK_META);
	bool found = number < meta.region_count;
	if (found) {
		const struct region *region = region_at(number);
		*start = (uintptr_t)region->base;
		*limit = *start + region->bytes;
	}
	mw_lock_release(&meta.lock, MW_RANK_META);
	return found;
}

size_t mw_meta_bytes(void) {
	return __atomic_load_n(&meta.total_bytes, __ATOMIC_RELAXED);
}

mw_lock_t *mw_meta_lock(void) {
	return &meta.lock;
}

void mw_meta_fork_prepare(void) {
	mw_lock_fork_acquire(&meta.lock);
}

void mw_meta_fork_release(bool in_child) {
	mw_lock_fork_release(&meta.lock, in_child);
}
