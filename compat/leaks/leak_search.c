/* SPDX-License-Identifier: MIT
 * leak_search.c -- a copy of the process finds the blocks, and writes them into shared memory. */
#include "compat/leaks/leak_search.h"

#include <errno.h>
#include <mallow/mallow.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Records that other threads may add between the count and the copy. */
#define SPARE_RECORDS 65536u

mw_leaks_snapshot_t *mw_leaks_snapshot_take(void) {
	const mw_compat_calls_t *calls = mallow_compat_calls();
	uint32_t room = calls->record_sequences(NULL, 0);
	mallow_ignore_begin();
	mw_leaks_snapshot_t *snapshot = malloc(sizeof *snapshot + room * sizeof(uint32_t));
	mallow_ignore_end();
	if (!snapshot)
		return NULL;
	uint32_t count = calls->record_sequences(snapshot->sequences, room);
	snapshot->count = count < room ? count : room;
	return snapshot;
}

void mw_leaks_snapshot_free(mw_leaks_snapshot_t *snapshot) {
	free(snapshot);
}

typedef struct search {
	const mw_leaks_snapshot_t *since;
	mw_leaks_block_t *blocks; /* shared */
	size_t room;
	_Atomic size_t *count; /* shared */
} search_t;

static void found(void *context, const mw_compat_leak_t *leak) {
	const search_t *search = context;
	const mw_leaks_snapshot_t *since = search->since;
	bool is_earlier = since && leak->record < since->count &&
			  since->sequences[leak->record] == leak->sequence;
	if (is_earlier || *search->count >= search->room)
		return;
	search->blocks[(*search->count)++] = (mw_leaks_block_t){
		.address = leak->address,
		.bytes = leak->requested_bytes,
		.stack = leak->stack,
		.is_direct = leak->is_direct,
	};
}

static int by_stack(const void *left, const void *right) {
	const mw_leaks_block_t *a = left, *b = right;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->is_direct != b->is_direct)
		return a->is_direct ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static void *map_shared(size_t bytes) {
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* `shared` begins with the count. */
static int find_in(char *shared, size_t room, const mw_leak_scope_t *scope,
		   const mw_leaks_snapshot_t *since, mw_leaks_t *leaks) {
	search_t search = {since, (mw_leaks_block_t *)(void *)shared + 1, room,
			   (_Atomic size_t *)(void *)shared};
	mw_compat_leak_check_t check = {.scope = *scope, .found = found, .context = &search};
	int error = mallow_compat_calls()->check_leaks(&check);
	if (error != 0)
		return error;
	const mw_leak_sums_t *sums = &check.sums;
	leaks->blocks = search.blocks;
	leaks->count = *search.count;
	leaks->live_blocks = sums->live.blocks - sums->direct.blocks - sums->indirect.blocks;
	leaks->live_bytes = sums->live.bytes - sums->direct.bytes - sums->indirect.bytes;
	for (size_t i = 0; i < leaks->count; i++)
		leaks->bytes += leaks->blocks[i].bytes;
	mallow_ignore_begin();
	qsort(leaks->blocks, leaks->count, sizeof *leaks->blocks, by_stack);
	mallow_ignore_end();
	return 0;
}

int mw_leaks_find(const mw_leak_scope_t *scope, const mw_leaks_snapshot_t *since,
		  mw_leaks_t *leaks) {
	size_t room = mallow_compat_calls()->record_sequences(NULL, 0) + SPARE_RECORDS;
	size_t bytes = (room + 1) * sizeof(mw_leaks_block_t);
	char *shared = map_shared(bytes);
	*leaks = (mw_leaks_t){.mapped_bytes = bytes};
	int error = shared ? find_in(shared, room, scope, since, leaks) : ENOMEM;
	if (error != 0 && shared)
		munmap(shared, bytes);
	return error;
}

void mw_leaks_free(mw_leaks_t *leaks) {
	munmap(leaks->blocks - 1, leaks->mapped_bytes);
}

/* ---- groups ---- */

static int by_bytes(const void *left, const void *right) {
	const mw_compat_stack_t *a = &((const mw_leaks_group_t *)left)->stack;
	const mw_compat_stack_t *b = &((const mw_leaks_group_t *)right)->stack;
	if (a->inuse_bytes != b->inuse_bytes)
		return a->inuse_bytes < b->inuse_bytes ? 1 : -1;
	return (a->inuse_objects < b->inuse_objects) - (a->inuse_objects > b->inuse_objects);
}

static int by_kind(const void *left, const void *right) {
	const mw_leaks_group_t *a = left, *b = right;
	return a->is_direct != b->is_direct ? (a->is_direct ? -1 : 1) : by_bytes(left, right);
}

/* Begins a group with the counts zero. */
static mw_leaks_group_t begin_group(const mw_leaks_block_t *block, size_t first) {
	mw_leaks_group_t group = {.is_direct = block->is_direct, .first = first};
	mw_compat_stack_t *stack = &group.stack;
	if (!mallow_compat_calls()->stack_at(block->stack, stack))
		stack->depth = 0;
	stack->inuse_objects = stack->inuse_bytes = stack->alloc_objects = stack->alloc_bytes = 0;
	stack->is_mapping = false;
	return group;
}

static bool begins_group(const mw_leaks_t *leaks, size_t i, bool splits_kinds) {
	const mw_leaks_block_t *block = &leaks->blocks[i];
	return i == 0 || block->stack != block[-1].stack ||
	       (splits_kinds && block->is_direct != block[-1].is_direct);
}

mw_leaks_group_t *mw_leaks_group(const mw_leaks_t *leaks, bool splits_kinds, size_t *count) {
	*count = 0;
	for (size_t i = 0; i < leaks->count; i++)
		*count += begins_group(leaks, i, splits_kinds);
	mw_leaks_group_t *groups = *count ? malloc(*count * sizeof *groups) : NULL;
	if (!groups)
		return NULL;
	mw_leaks_group_t *group = groups - 1;
	for (size_t i = 0; i < leaks->count; i++) {
		const mw_leaks_block_t *block = &leaks->blocks[i];
		if (begins_group(leaks, i, splits_kinds))
			*++group = begin_group(block, i);
		group->stack.inuse_objects = ++group->stack.alloc_objects;
		group->stack.inuse_bytes = group->stack.alloc_bytes += (int64_t)block->bytes;
		group->count++;
	}
	qsort(groups, *count, sizeof *groups, splits_kinds ? by_kind : by_bytes);
	return groups;
}
