/* SPDX-License-Identifier: MIT
 * leak_search.c -- a copy of the process finds the blocks, and writes them into shared memory. */
#include "compat/gperftools/checker/leak_search.h"

#include <errno.h>
#include <mallow/mallow.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "compat/gperftools/gperftools.h"

/* Records that other threads may add between the count and the copy. */
#define SPARE_RECORDS 65536u

mw_gp_snapshot_t *mw_gp_snapshot_take(void) {
	const mw_compat_calls_t *calls = mw_gp_calls();
	uint32_t room = calls->record_sequences(NULL, 0);
	mallow_ignore_begin();
	mw_gp_snapshot_t *snapshot = malloc(sizeof *snapshot + room * sizeof(uint32_t));
	mallow_ignore_end();
	if (!snapshot)
		return NULL;
	uint32_t count = calls->record_sequences(snapshot->sequences, room);
	snapshot->count = count < room ? count : room;
	return snapshot;
}

void mw_gp_snapshot_free(mw_gp_snapshot_t *snapshot) {
	free(snapshot);
}

typedef struct search {
	const mw_gp_snapshot_t *since;
	mw_gp_leak_t *blocks; /* shared */
	size_t room;
	_Atomic size_t *count; /* shared */
} search_t;

static void found(void *context, const mw_compat_leak_t *leak) {
	const search_t *search = context;
	const mw_gp_snapshot_t *since = search->since;
	bool is_earlier = since && leak->record < since->count &&
			  since->sequences[leak->record] == leak->sequence;
	if (is_earlier || *search->count >= search->room)
		return;
	search->blocks[(*search->count)++] = (mw_gp_leak_t){
		.address = leak->address, .bytes = leak->requested_bytes, .stack = leak->stack};
}

static int by_stack(const void *left, const void *right) {
	const mw_gp_leak_t *a = left, *b = right;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static int by_bytes(const void *left, const void *right) {
	const mw_compat_stack_t *a = left, *b = right;
	if (a->inuse_bytes != b->inuse_bytes)
		return a->inuse_bytes < b->inuse_bytes ? 1 : -1;
	return (a->inuse_objects < b->inuse_objects) - (a->inuse_objects > b->inuse_objects);
}

/* Describes the stack of a block, with the counts zero. */
static mw_compat_stack_t stack_of(uint64_t number) {
	mw_compat_stack_t stack;
	if (!mw_gp_calls()->stack_at(number, &stack))
		stack.depth = 0;
	stack.inuse_objects = stack.inuse_bytes = stack.alloc_objects = stack.alloc_bytes = 0;
	stack.is_mapping = false;
	return stack;
}

/* Sums the blocks up by stack. Returns false if there is no memory. */
static bool sum_up(mw_gp_leaks_t *leaks) {
	qsort(leaks->blocks, leaks->objects, sizeof *leaks->blocks, by_stack);
	size_t stacks = 0;
	for (size_t i = 0; i < leaks->objects; i++)
		stacks += i == 0 || leaks->blocks[i].stack != leaks->blocks[i - 1].stack;
	leaks->stacks = malloc((stacks ? stacks : 1) * sizeof *leaks->stacks);
	if (!leaks->stacks)
		return false;
	mw_compat_stack_t *stack = leaks->stacks - 1;
	for (size_t i = 0; i < leaks->objects; i++) {
		if (i == 0 || leaks->blocks[i].stack != leaks->blocks[i - 1].stack)
			*++stack = stack_of(leaks->blocks[i].stack);
		stack->inuse_objects = ++stack->alloc_objects;
		stack->inuse_bytes = stack->alloc_bytes += (int64_t)leaks->blocks[i].bytes;
		leaks->bytes += leaks->blocks[i].bytes;
	}
	leaks->stack_count = stacks;
	qsort(leaks->stacks, stacks, sizeof *leaks->stacks, by_bytes);
	return true;
}

static void *map_shared(size_t bytes) {
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* `shared` begins with the count. */
static int find_in(char *shared, size_t room, const mw_leak_scope_t *scope,
		   const mw_gp_snapshot_t *since, mw_gp_leaks_t *leaks) {
	search_t search = {since, (mw_gp_leak_t *)(void *)shared + 1, room,
			   (_Atomic size_t *)(void *)shared};
	mw_compat_leak_check_t check = {.scope = *scope, .found = found, .context = &search};
	int error = mw_gp_calls()->check_leaks(&check);
	if (error != 0)
		return error;
	const mw_leak_sums_t *sums = &check.sums;
	leaks->blocks = search.blocks;
	leaks->objects = *search.count;
	leaks->live_objects = sums->live.blocks - sums->direct.blocks - sums->indirect.blocks;
	leaks->live_bytes = sums->live.bytes - sums->direct.bytes - sums->indirect.bytes;
	mallow_ignore_begin();
	error = sum_up(leaks) ? 0 : ENOMEM;
	mallow_ignore_end();
	return error;
}

int mw_gp_leaks_find(const mw_leak_scope_t *scope, const mw_gp_snapshot_t *since,
		     mw_gp_leaks_t *leaks) {
	size_t room = mw_gp_calls()->record_sequences(NULL, 0) + SPARE_RECORDS;
	size_t bytes = (room + 1) * sizeof(mw_gp_leak_t);
	char *shared = map_shared(bytes);
	*leaks = (mw_gp_leaks_t){.mapped_bytes = bytes};
	int error = shared ? find_in(shared, room, scope, since, leaks) : ENOMEM;
	if (error != 0 && shared)
		munmap(shared, bytes);
	return error;
}

void mw_gp_leaks_free(mw_gp_leaks_t *leaks) {
	free(leaks->stacks);
	munmap(leaks->blocks - 1, leaks->mapped_bytes);
}
