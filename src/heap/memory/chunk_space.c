/* SPDX-License-Identifier: MIT
 * chunk_space.c -- the memory of chunks, as the kernel has it: slices 1 to 63 of free chunks are
 * unmapped, and mapped again; how much of a chunk was touched. */
#include <stddef.h>
#include <stdint.h>

#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/slices.h"
#include "heap/memory/chunk.h"
#include "heap/memory/chunk_state.h"
#include "heap/memory/harden_space.h"
#include "os/file/file.h"
#include "os/memory/map.h"

/* Each unmapped chunk is a mapping of its own; a process may have 65,530 (vm.max_map_count). */
#define UNMAPPED_MAX 8192u
/* Chunks tried when one is to be mapped again: a try that meets other memory costs a system call.
 */
#define REMAP_TRIES 8u

static char *slices_of(mw_chunk_t *chunk) {
	return (char *)chunk + MW_SLICE_BYTES;
}

static void append(mw_chunk_t *chunk) {
	chunk->next = NULL;
	if (mw_chunks.unmapped_first)
		mw_chunks.unmapped_last->next = chunk;
	else
		mw_chunks.unmapped_first = chunk;
	mw_chunks.unmapped_last = chunk;
	mw_chunks.unmapped_count++;
}

static mw_chunk_t *pop(void) {
	mw_chunk_t *chunk = mw_chunks.unmapped_first;
	mw_chunks.unmapped_first = chunk->next;
	mw_chunks.unmapped_count--;
	return chunk;
}

/* Returns a chunk all of whose slices are free; NULL: none.  Huge pages of the pool cannot be cut.
 */
static mw_chunk_t *find_free(void) {
	enum { FREE_SLICES = MW_CHUNK_SLICES - 1 - MW_HARDEN_ON };
	mw_chunk_t *chunk = mw_chunks.by_free[FREE_SLICES];
	while (chunk && chunk->never_purged)
		chunk = chunk->next;
	return chunk;
}

/* Takes the chunk's slices out of all masks.  The chunk may stay in the lists of chunks to be
 * purged, where it is found to have no slice. */
static void withdraw(mw_chunk_t *chunk) {
	mw_chunks_unlist(chunk);
	mw_chunks_count_dirty(-__builtin_popcountll(chunk->dirty_mask));
	mw_chunks_count_muzzy(-__builtin_popcountll(chunk->muzzy_mask));
	chunk->free_mask = chunk->dirty_mask = chunk->muzzy_mask = chunk->decommitted_mask = 0;
	mw_chunks_list(chunk);
	/* Relaxed: heap walks read it without the lock. */
	__atomic_store_n(&chunk->is_unmapped, true, __ATOMIC_RELAXED);
	mw_chunks.chunk_count--;
}

size_t mw_chunk_unmap_free(void) {
	size_t total = 0;
	mw_chunk_t *chunk;
	mw_chunks_acquire();
	while (mw_chunks.unmapped_count < UNMAPPED_MAX && (chunk = find_free()) != NULL) {
		withdraw(chunk);
		/* fork() waits for the unmapping, as for purging. */
		mw_chunks.purging++;
		mw_chunks_release();
		/* If the kernel refuses, the memory is purged and the chunk lost; the kernel would
		 * refuse the next chunk, too. */
		bool done = mw_os_unmap(slices_of(chunk), MW_CHUNK_BYTES - MW_SLICE_BYTES);
		mw_chunks_acquire();
		mw_chunks.purging--;
		append(chunk);
		if (!done)
			break;
		total += MW_CHUNK_BYTES - MW_SLICE_BYTES;
	}
	mw_chunks_release();
	return total;
}

mw_chunk_t *mw_chunk_remap(void) {
	for (unsigned tries = 0; mw_chunks.unmapped_first && tries < REMAP_TRIES; tries++) {
		mw_chunk_t *chunk = pop();
		if (mw_os_map_at(slices_of(chunk), MW_CHUNK_BYTES - MW_SLICE_BYTES)) {
			mw_harden_guard_chunk(chunk);
			__atomic_store_n(&chunk->is_unmapped, false, __ATOMIC_RELAXED);
			return chunk;
		}
		append(chunk);
	}
	return NULL;
}

#define SLICE_PAGES (MW_SLICE_BYTES / MW_OS_PAGE_BYTES)
/* Of each sixteen slices, so many at their start are looked at. */
#define SLICES_AT_ONCE 4u
#define SLICES_STEP 16u
/* Fewer pages in use say nothing. */
#define PAGES_MIN (SLICES_AT_ONCE * SLICE_PAGES)
#define HOLDS_MEMORY ((uint64_t)3 << 62) /* resident, or in swap */

typedef struct touched {
	unsigned in_use, present; /* pages */
} touched_t;

/* Counts slices [first, first + SLICES_AT_ONCE). */
static MW_COLD bool count(int file, const mw_chunk_t *chunk, unsigned first, touched_t *touched) {
	uint64_t pages[SLICES_AT_ONCE * SLICE_PAGES];
	uint64_t number = (uintptr_t)chunk / MW_OS_PAGE_BYTES + first * SLICE_PAGES;
	if (mw_os_read_at(file, pages, sizeof pages, number * sizeof *pages) != sizeof pages)
		return false;
	for (unsigned i = 0; i < SLICES_AT_ONCE * SLICE_PAGES; i++) {
		unsigned slice = first + (unsigned)(i / SLICE_PAGES);
		if (slice == 0 || chunk->free_mask >> slice & 1)
			continue;
		touched->in_use++;
		touched->present += (pages[i] & HOLDS_MEMORY) != 0;
	}
	return true;
}

/* Not by mincore(2): a filter of system calls may end a program that calls it. */
bool mw_chunks_are_little_touched(void) {
	const mw_chunk_t *chunk = mw_chunks.newest_without_huge_pages;
	touched_t touched = {0};
	/* Larger pages of the kernel are too few to tell. */
	if (!chunk || chunk->is_unmapped || mw_os_page_bytes() != MW_OS_PAGE_BYTES)
		return mw_chunks.little_touched;
	int file = mw_os_open(MW_OS_NO_DIRECTORY, "/proc/self/pagemap", MW_OS_READ);
	if (file < 0)
		return mw_chunks.little_touched;
	bool read = true;
	for (unsigned first = 0; read && first < MW_CHUNK_SLICES; first += SLICES_STEP)
		read = count(file, chunk, first, &touched);
	mw_os_close(file);
	if (read && touched.in_use >= PAGES_MIN)
		mw_chunks.little_touched = touched.present < touched.in_use / 2;
	return mw_chunks.little_touched;
}

MW_COLD void mw_chunk_split_huge(const mw_page_t *page) {
	mw_chunk_t *chunk = mw_chunk_of(page);
	mw_chunks_acquire();
	unsigned split =
		mw_chunks_split_halves(chunk, mw_slices_mask(mw_page_slice_index(page), 1));
	mw_chunks_release();
	mw_chunks_keep_split(chunk, split);
}

bool mw_chunk_purges_early(void) {
	return __atomic_load_n(&mw_chunks.decay.early, __ATOMIC_RELAXED);
}
