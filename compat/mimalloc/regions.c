/* SPDX-License-Identifier: MIT
 * regions.c -- memory that the program reserves or provides (mimalloc calls it an arena), and heaps
 * whose blocks lie there.  A region is cut into units of 4 MiB, the chunks of heaps; blocks of more
 * than 2 MiB take units of their own.  Only heaps made for a region use it. */
#include <errno.h>
#include <stdatomic.h>

#include "base/bits.h"
#include "compat/mimalloc/mi_heap.h"
#include "heap/layout/page.h"
#include "os/memory/huge_pages.h"
#include "os/memory/map.h"
#include "os/memory/numa.h"

#define UNIT_BYTES MW_CHUNK_BYTES
#define REGIONS_MAX 256
#define GIB_SHIFT 30

typedef struct region {
	mw_extent_hooks_t
		hooks; /* must be the first field: a hook finds the region by the table's address */
	char *base;
	size_t units;
	bool is_pinned;          /* its memory is never given back to the kernel */
	mi_commit_fun_t *commit; /* the program's; NULL: its memory can always be used */
	void *commit_argument;
	_Atomic bool taken[]; /* by unit */
} region_t;

/* Index: arena id minus one.  No region ever ends. */
static struct {
	_Atomic(region_t *) by_id[REGIONS_MAX];
	_Atomic int count;
} regions;

static region_t *region_of(mi_arena_id_t id) {
	return id > 0 && id <= REGIONS_MAX ? regions.by_id[id - 1] : NULL;
}

/* ---- the hooks of a region: they run while no lock of the heap is held ---- */

static region_t *region_of_hooks(mw_extent_hooks_t *hooks) {
	return (region_t *)hooks;
}

static size_t units_for(size_t bytes) {
	return (bytes + UNIT_BYTES - 1) / UNIT_BYTES;
}

/* Takes these units, or none of them. */
static bool take_run(region_t *region, size_t first, size_t units) {
	for (size_t i = 0; i < units; i++) {
		if (!atomic_exchange(&region->taken[first + i], true))
			continue;
		while (i-- > 0)
			region->taken[first + i] = false;
		return false;
	}
	return true;
}

static void *take(mw_extent_hooks_t *hooks, void *wanted, size_t bytes, size_t align, bool *zeroed,
		  bool *committed, unsigned arena) {
	(void)wanted;
	(void)arena;
	region_t *region = region_of_hooks(hooks);
	size_t units = units_for(bytes);
	*zeroed = false;
	*committed = region->commit == NULL;
	for (size_t i = 0; i + units <= region->units; i++) {
		char *start = region->base + i * UNIT_BYTES;
		if ((uintptr_t)start % align == 0 && take_run(region, i, units))
			return start;
	}
	return NULL;
}

static bool commit(mw_extent_hooks_t *hooks, void *base, size_t bytes, size_t offset, size_t length,
		   unsigned arena) {
	(void)bytes;
	(void)arena;
	region_t *region = region_of_hooks(hooks);
	bool is_zero = false;
	return region->commit && !region->commit(true, (char *)base + offset, length, &is_zero,
						 region->commit_argument);
}

static bool purge(mw_extent_hooks_t *hooks, void *base, size_t bytes, size_t offset, size_t length,
		  unsigned arena) {
	(void)bytes;
	(void)arena;
	region_t *region = region_of_hooks(hooks);
	return region->is_pinned || region->commit || !mw_os_purge((char *)base + offset, length);
}

static bool give(mw_extent_hooks_t *hooks, void *base, size_t bytes, bool committed,
		 unsigned arena) {
	(void)committed;
	region_t *region = region_of_hooks(hooks);
	purge(hooks, base, bytes, 0, bytes, arena);
	size_t first = (size_t)((char *)base - region->base) / UNIT_BYTES;
	for (size_t i = 0; i < units_for(bytes); i++)
		region->taken[first + i] = false;
	return false;
}

/* ---- make ---- */

/* Returns the id of a new region; 0: the table is full. */
static mi_arena_id_t add_region(void *start, size_t size, bool is_pinned, mi_commit_fun_t *function,
				void *argument) {
	size_t skipped = mw_round_up((uintptr_t)start, UNIT_BYTES) - (uintptr_t)start;
	size_t units = start && size > skipped ? (size - skipped) / UNIT_BYTES : 0;
	bool is_reachable = !(((uintptr_t)start + size - 1) >> MW_ADDRESS_BITS);
	if (units == 0 || !is_reachable || regions.count >= REGIONS_MAX)
		return 0;
	region_t *region = mw_mi_calls()->alloc_metadata(sizeof *region + units);
	if (!region)
		return 0;
	region->hooks = (mw_extent_hooks_t){
		.alloc = take, .dalloc = give, .commit = commit, .purge_forced = purge};
	region->base = (char *)start + skipped;
	region->units = units;
	region->is_pinned = is_pinned;
	region->commit = function;
	region->commit_argument = argument;
	int index = regions.count++;
	if (index >= REGIONS_MAX) {
		regions.count = REGIONS_MAX;
		return 0;
	}
	regions.by_id[index] = region;
	return index + 1;
}

static bool tell_id(mi_arena_id_t id, mi_arena_id_t *arena_id) {
	if (arena_id)
		*arena_id = id;
	return id != 0;
}

bool mi_manage_memory(void *start, size_t size, bool is_committed, bool is_pinned, bool is_zero,
		      int numa_node, bool exclusive, mi_commit_fun_t *commit_fun,
		      void *commit_fun_arg, mi_arena_id_t *arena_id) {
	(void)is_zero;
	(void)numa_node;
	(void)exclusive;
	bool must_commit = !is_committed && !commit_fun;
	if (must_commit && start &&
	    !mw_os_unprotect((void *)mw_os_whole_pages((uintptr_t)start),
			     size & -mw_os_page_bytes()))
		start = NULL;
	mi_arena_id_t id = add_region(start, size, is_pinned, commit_fun, commit_fun_arg);
	if (id == 0)
		mw_mi_error(EINVAL,
			    "mi_manage_os_memory: %zu bytes at %p cannot be used: they must "
			    "contain an aligned unit of 4 MiB, and at most %d regions can exist",
			    size, start, REGIONS_MAX);
	return tell_id(id, arena_id);
}

bool mi_manage_os_memory_ex(void *start, size_t size, bool is_committed, bool is_large,
			    bool is_zero, int numa_node, bool exclusive, mi_arena_id_t *arena_id) {
	return mi_manage_memory(start, size, is_committed, is_large, is_zero, numa_node, exclusive,
				NULL, NULL, arena_id);
}

bool mi_manage_os_memory(void *start, size_t size, bool is_committed, bool is_large, bool is_zero,
			 int numa_node) {
	return mi_manage_os_memory_ex(start, size, is_committed, is_large, is_zero, numa_node,
				      false, NULL);
}

static int refuse(const char *function, size_t size) {
	mw_mi_error(ENOMEM, "%s: no memory for %zu bytes", function, size);
	return ENOMEM;
}

static int keep_mapping(void *base, size_t size, bool is_pinned, mi_arena_id_t *arena_id,
			const char *function) {
	if (tell_id(add_region(base, size, is_pinned, NULL, NULL), arena_id))
		return 0;
	mw_os_unmap(base, size);
	return refuse(function, size);
}

int mi_reserve_os_memory_ex(size_t size, bool do_commit, bool allow_large, bool exclusive,
			    mi_arena_id_t *arena_id) {
	(void)do_commit; /* the kernel gives pages when they are touched */
	(void)exclusive;
	static const char function[] = "mi_reserve_os_memory";
	tell_id(0, arena_id);
	if (size > PTRDIFF_MAX)
		return refuse(function, size);
	size = mw_round_up(size, UNIT_BYTES);
	void *base = size ? mw_os_map_aligned(size, UNIT_BYTES) : NULL;
	if (!base)
		return refuse(function, size);
	if (allow_large)
		mw_os_huge_pages_advise(base, size, MW_OS_HUGE_PAGES_UNKNOWN);
	return keep_mapping(base, size, false, arena_id, function);
}

int mi_reserve_os_memory(size_t size, bool do_commit, bool allow_large) {
	return mi_reserve_os_memory_ex(size, do_commit, allow_large, false, NULL);
}

/* Reserves `pages` times 1 GiB from the huge pages of 2 MiB that the administrator reserved. */
int mi_reserve_huge_os_pages_at_ex(size_t pages, int numa_node, size_t timeout_msecs,
				   bool exclusive, mi_arena_id_t *arena_id) {
	(void)timeout_msecs;
	(void)exclusive;
	static const char function[] = "mi_reserve_huge_os_pages";
	tell_id(0, arena_id);
	if (pages == 0)
		return 0;
	if (pages > PTRDIFF_MAX >> GIB_SHIFT)
		return refuse(function, SIZE_MAX);
	size_t size = pages << GIB_SHIFT;
	void *base = mw_os_map_aligned(size, UNIT_BYTES);
	if (!base)
		return refuse(function, size);
	if (numa_node >= 0)
		mw_os_numa_prefer(base, size, (unsigned)numa_node);
	bool lost = false;
	if (mw_os_huge_pages_from_pool(base, size, &lost))
		return keep_mapping(base, size, true, arena_id, function);
	if (!lost)
		mw_os_unmap(base, size);
	return refuse(function, size);
}

int mi_reserve_huge_os_pages_at(size_t pages, int numa_node, size_t timeout_msecs) {
	return mi_reserve_huge_os_pages_at_ex(pages, numa_node, timeout_msecs, false, NULL);
}

int mi_reserve_huge_os_pages_interleave(size_t pages, size_t numa_nodes, size_t timeout_msecs) {
	(void)numa_nodes;
	return mi_reserve_huge_os_pages_at(pages, -1, timeout_msecs);
}

int mi_reserve_huge_os_pages(size_t pages, double max_secs, size_t *pages_reserved) {
	(void)max_secs;
	int error = mi_reserve_huge_os_pages_at(pages, -1, 0);
	if (pages_reserved)
		*pages_reserved = error ? 0 : pages;
	return error;
}

/* ---- use ---- */

void *mi_arena_area(mi_arena_id_t arena_id, size_t *size) {
	const region_t *region = region_of(arena_id);
	if (size)
		*size = region ? region->units * UNIT_BYTES : 0;
	return region ? region->base : NULL;
}

bool mi_arena_contains(mi_arena_id_t arena_id, const void *p) {
	const region_t *region = region_of(arena_id);
	return region && (uintptr_t)p - (uintptr_t)region->base < region->units * UNIT_BYTES;
}

size_t mi_arena_min_alignment(void) {
	return UNIT_BYTES;
}

size_t mi_arena_min_size(void) {
	return UNIT_BYTES;
}

mi_heap_t *mi_heap_new_ex(int heap_tag, bool allow_destroy, mi_arena_id_t arena_id) {
	region_t *region = region_of(arena_id);
	if (arena_id != 0 && !region) {
		mw_mi_error(EINVAL, "mi_heap_new_ex: there is no arena %d", arena_id);
		return NULL;
	}
	return mw_mi_heap_make(region ? &region->hooks : NULL, heap_tag, allow_destroy);
}

mi_heap_t *mi_heap_new_in_arena(mi_arena_id_t arena_id) {
	return mi_heap_new_ex(0, true, arena_id);
}

void mi_arenas_print(void) {
	for (mi_arena_id_t id = 1; region_of(id); id++) {
		region_t *region = region_of(id);
		size_t taken = 0;
		for (size_t i = 0; i < region->units; i++)
			taken += region->taken[i];
		mw_mi_print("arena %d: %p, %zu of %zu units of 4 MiB in use%s\n", id,
			    (void *)region->base, taken, region->units,
			    region->is_pinned ? ", never purged" : "");
	}
}

void mi_debug_show_arenas(bool show_inuse, bool show_abandoned, bool show_purge) {
	(void)show_inuse;
	(void)show_abandoned;
	(void)show_purge;
	mi_arenas_print();
}
