/* SPDX-License-Identifier: MIT
 * extent.c -- calls of a program's extent hooks, and hooks that ask the kernel. */
#include "heap/arena/extent.h"

#include "heap/layout/page.h"
#include "os/memory/map.h"

MW_TLS unsigned mw_extent_in_hook;

/* ---- the kernel's ---- */

static void *kernel_alloc(mw_extent_hooks_t *hooks, void *wanted, size_t bytes, size_t align,
			  bool *zeroed, bool *committed, unsigned arena) {
	(void)hooks;
	(void)arena;
	if (align < mw_os_page_bytes())
		align = mw_os_page_bytes();
	*zeroed = *committed = true;
	return wanted ? mw_os_map_at(wanted, bytes) : mw_os_map_aligned(bytes, align);
}

static bool kernel_dalloc(mw_extent_hooks_t *hooks, void *base, size_t bytes, bool committed,
			  unsigned arena) {
	(void)hooks;
	(void)committed;
	(void)arena;
	mw_os_unmap(base, bytes);
	return false;
}

static void kernel_destroy(mw_extent_hooks_t *hooks, void *base, size_t bytes, bool committed,
			   unsigned arena) {
	kernel_dalloc(hooks, base, bytes, committed, arena);
}

static bool kernel_commit(mw_extent_hooks_t *hooks, void *base, size_t bytes, size_t offset,
			  size_t length, unsigned arena) {
	(void)hooks;
	(void)base;
	(void)bytes;
	(void)offset;
	(void)length;
	(void)arena;
	return false; /* mapped memory is always committed */
}

static bool kernel_decommit(mw_extent_hooks_t *hooks, void *base, size_t bytes, size_t offset,
			    size_t length, unsigned arena) {
	return !kernel_commit(hooks, base, bytes, offset, length, arena);
}

static bool kernel_purge(mw_extent_hooks_t *hooks, void *base, size_t bytes, size_t offset,
			 size_t length, unsigned arena) {
	(void)hooks;
	(void)bytes;
	(void)arena;
	return !mw_os_purge((char *)base + offset, length);
}

static bool kernel_split(mw_extent_hooks_t *hooks, void *base, size_t bytes, size_t first_bytes,
			 size_t second_bytes, bool committed, unsigned arena) {
	(void)committed;
	return kernel_commit(hooks, base, bytes, first_bytes, second_bytes, arena);
}

static bool kernel_merge(mw_extent_hooks_t *hooks, void *first, size_t first_bytes, void *second,
			 size_t second_bytes, bool committed, unsigned arena) {
	(void)second;
	(void)committed;
	return kernel_commit(hooks, first, first_bytes, first_bytes, second_bytes, arena);
}

mw_extent_hooks_t mw_extent_default_hooks = {
	.alloc = kernel_alloc,
	.dalloc = kernel_dalloc,
	.destroy = kernel_destroy,
	.commit = kernel_commit,
	.decommit = kernel_decommit,
	.purge_lazy = kernel_purge,
	.purge_forced = kernel_purge,
	.split = kernel_split,
	.merge = kernel_merge,
};

/* ---- calls ---- */

bool mw_extent_unmap(mw_extent_hooks_t *hooks, unsigned arena, const mw_extent_t *extent) {
	mw_extent_in_hook++;
	bool refused =
		!hooks->dalloc || hooks->dalloc(hooks, extent->base, extent->bytes, true, arena);
	mw_extent_in_hook--;
	return !refused;
}

void mw_extent_destroy(mw_extent_hooks_t *hooks, unsigned arena, const mw_extent_t *extent) {
	mw_extent_in_hook++;
	if (hooks->destroy)
		hooks->destroy(hooks, extent->base, extent->bytes, true, arena);
	mw_extent_in_hook--;
}

bool mw_extent_commit(mw_extent_hooks_t *hooks, unsigned arena, const mw_extent_t *extent,
		      size_t offset, size_t length) {
	mw_extent_in_hook++;
	bool refused = !hooks->commit ||
		       hooks->commit(hooks, extent->base, extent->bytes, offset, length, arena);
	mw_extent_in_hook--;
	return !refused;
}

/* Returns whether the heap can use memory that a hook gave: aligned, and within the address map. */
static bool is_usable(const void *base, size_t bytes, size_t align) {
	uintptr_t start = (uintptr_t)base;
	return start % align == 0 && start >> MW_ADDRESS_BITS == 0 &&
	       (start + bytes - 1) >> MW_ADDRESS_BITS == 0 && start + bytes > start;
}

void *mw_extent_map(mw_extent_hooks_t *hooks, unsigned arena, size_t bytes, size_t align,
		    bool *zeroed) {
	bool committed = true;
	*zeroed = false;
	mw_extent_in_hook++;
	mw_extent_t extent = {
		.base = hooks->alloc(hooks, NULL, bytes, align, zeroed, &committed, arena),
		.bytes = bytes,
	};
	mw_extent_in_hook--;
	if (!extent.base)
		return NULL;
	if (is_usable(extent.base, bytes, align) &&
	    (committed || mw_extent_commit(hooks, arena, &extent, 0, bytes)))
		return extent.base;
	mw_extent_unmap(hooks, arena, &extent);
	return NULL;
}

mw_extent_purged_t mw_extent_purge(mw_extent_hooks_t *hooks, unsigned arena,
				   const mw_extent_t *extent, size_t offset, size_t length) {
	void *base = extent->base;
	size_t bytes = extent->bytes;
	mw_extent_purged_t result = MW_EXTENT_KEPT;
	mw_extent_in_hook++;
	if (hooks->decommit && !hooks->decommit(hooks, base, bytes, offset, length, arena))
		result = MW_EXTENT_DECOMMITTED;
	else if (hooks->purge_forced &&
		 !hooks->purge_forced(hooks, base, bytes, offset, length, arena))
		result = MW_EXTENT_ZERO;
	else if (hooks->purge_lazy && !hooks->purge_lazy(hooks, base, bytes, offset, length, arena))
		result = MW_EXTENT_LAZY;
	mw_extent_in_hook--;
	return result;
}
