/* SPDX-License-Identifier: MIT
 * debug_memory.c -- guards, fill, page fence. */
#include "compat/gperftools/debug/debug_memory.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compat/gperftools/debug/debug_settings.h"
#include "compat/gperftools/gperftools.h"

#define GUARD_BYTES ((size_t)16)
#define FRESH_BYTE 0xab
#define FREED_BYTE 0xcd

/* Never 0, which is what overruns write most often. */
static unsigned char guard_byte(const mw_gpd_block_t *block, size_t i) {
	uint64_t mixed = (uint64_t)(uintptr_t)block->start * 0x9e3779b97f4a7c15u;
	return 0x80 | (unsigned char)(mixed >> (i % 8 * 7));
}

static void fill_guard(const mw_gpd_block_t *block, char *guard, size_t bytes) {
	for (size_t i = 0; i < bytes; i++)
		guard[i] = (char)guard_byte(block, i);
}

static const char *changed_in_guard(const mw_gpd_block_t *block, const char *guard, size_t bytes) {
	for (size_t i = 0; i < bytes; i++)
		if ((unsigned char)guard[i] != guard_byte(block, i))
			return guard + i;
	return NULL;
}

static size_t page_bytes(void) {
	return (size_t)sysconf(_SC_PAGESIZE);
}

static char *fence_of(const mw_gpd_block_t *block) {
	return block->memory + block->mapped_bytes - page_bytes();
}

/* Bytes of the guard behind the block: with a fence, all that lies between. */
static size_t rear_bytes(const mw_gpd_block_t *block) {
	return block->mapped_bytes ? (size_t)(fence_of(block) - (block->start + block->bytes))
				   : GUARD_BYTES;
}

/* The fence begins at the first address behind the block that the alignment allows. */
static bool take_fenced(mw_gpd_block_t *block, size_t align) {
	size_t page = page_bytes(), room;
	size_t unit = align > GUARD_BYTES ? align : GUARD_BYTES;
	if (unit > page || __builtin_add_overflow(block->bytes, unit + GUARD_BYTES + page, &room))
		return false;
	size_t mapped_bytes = (room + page - 1) / page * page;
	char *memory = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	if (memory == MAP_FAILED)
		return false;
	char *fence = memory + mapped_bytes - page;
	if (mprotect(fence, page, mw_gpd_settings()->page_fence_readable ? PROT_READ : PROT_NONE)) {
		munmap(memory, mapped_bytes);
		return false;
	}
	block->memory = memory;
	block->mapped_bytes = mapped_bytes;
	block->start = (char *)((uintptr_t)(fence - block->bytes) & ~(uintptr_t)(unit - 1));
	return true;
}

/* Throws in C++'s functions: no lock is held, and nothing needs to be undone. */
static void *take_from_heap(mw_gpd_kind_t kind, size_t bytes, size_t align) {
	const mw_compat_blocks_t *blocks = &mw_gp_calls()->blocks;
	void *caller = __builtin_return_address(0);
	for (;;) {
		void *block = align <= GUARD_BYTES ? blocks->alloc(bytes)
						   : blocks->alloc_aligned(align, bytes);
		if (block || kind == MW_GPD_MALLOC)
			return block;
		if (!blocks->call_new_handler(caller))
			blocks->throw_bad_alloc(caller);
	}
}

bool mw_gpd_memory_take(mw_gpd_block_t *block, size_t align) {
	bool fenced = mw_gpd_settings()->page_fence && take_fenced(block, align);
	if (!fenced) {
		size_t front = align > GUARD_BYTES ? align : GUARD_BYTES, bytes;
		if (__builtin_add_overflow(block->bytes, front + GUARD_BYTES, &bytes))
			bytes = SIZE_MAX / 2; /* fails as too large a request does */
		block->memory = take_from_heap(block->kind, bytes, align);
		if (!block->memory)
			return false;
		block->mapped_bytes = 0;
		block->start = block->memory + front;
	}
	memset(block->start, FRESH_BYTE, block->bytes);
	fill_guard(block, block->start - GUARD_BYTES, GUARD_BYTES);
	fill_guard(block, block->start + block->bytes, rear_bytes(block));
	return true;
}

const char *mw_gpd_memory_damage(const mw_gpd_block_t *block) {
	const char *changed = changed_in_guard(block, block->start - GUARD_BYTES, GUARD_BYTES);
	return changed ? changed
		       : changed_in_guard(block, block->start + block->bytes, rear_bytes(block));
}

void mw_gpd_memory_close(mw_gpd_block_t *block) {
	block->is_closed =
		block->mapped_bytes && mprotect(block->memory, block->mapped_bytes, PROT_NONE) == 0;
	if (!block->is_closed)
		memset(block->start, FREED_BYTE, block->bytes);
	if (!block->mapped_bytes)
		mw_gp_calls()->set_waiting(block->memory, true);
}

const char *mw_gpd_memory_written(const mw_gpd_block_t *block) {
	if (block->is_closed)
		return NULL;
	for (size_t i = 0; i < block->bytes; i++)
		if ((unsigned char)block->start[i] != FREED_BYTE)
			return block->start + i;
	return NULL;
}

void mw_gpd_memory_give(const mw_gpd_block_t *block) {
	if (!block->mapped_bytes) {
		if (block->state == MW_GPD_FREED)
			mw_gp_calls()->set_waiting(block->memory, false);
		mw_gp_calls()->blocks.free(block->memory);
	} else if (!mw_gpd_settings()->page_fence_never_reclaim)
		munmap(block->memory, block->mapped_bytes);
}
