/* SPDX-License-Identifier: MIT
 * chunk_space.c -- slices 1 to 63 of free chunks are unmapped, and mapped again. */
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/memory/chunk.h"
#include "heap/memory/chunk_state.h"
#include "heap/memory/harden_space.h"
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
