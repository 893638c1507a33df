/* SPDX-License-Identifier: MIT
 * debug_stacks.c -- a hash table with one entry a distinct stack. */
#include "compat/gperftools/debug/debug_stacks.h"

#include <string.h>
#include <sys/mman.h>

#include "compat/gperftools/gperftools.h"

#define PIECE_BYTES ((size_t)1 << 20) /* memory is mapped in pieces */
#define BUCKETS 65536u

typedef struct held {
	struct held *next;
	uint64_t hash;
	mw_gpd_stack_t stack; /* last: memory ends behind the deepest frame */
} held_t;

static held_t *buckets[BUCKETS];

void *mw_gpd_take_memory(size_t bytes) {
	static char *next, *end;
	bytes = (bytes + 15) & ~(size_t)15;
	if ((size_t)(end - next) < bytes) {
		void *piece = mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (piece == MAP_FAILED)
			return NULL;
		next = piece;
		end = next + PIECE_BYTES;
	}
	void *taken = next;
	next += bytes;
	return taken;
}

void mw_gpd_stack_take(mw_gpd_stack_t *stack, void *caller) {
	uint64_t pcs[MW_GPD_DEPTH_MAX + 8];
	unsigned depth = mw_gp_calls()->capture(pcs, MW_GPD_DEPTH_MAX + 8, false), first = 0;
	/* An interrupted instruction is one byte below where a call would return to. */
	while (first < depth && pcs[first] - (uintptr_t)caller > 1)
		first++;
	if (first == depth)
		first = 0;
	stack->depth = depth - first < MW_GPD_DEPTH_MAX ? depth - first : MW_GPD_DEPTH_MAX;
	memcpy(stack->pcs, pcs + first, stack->depth * sizeof *pcs);
}

/* FNV-1a, by words. */
static uint64_t hash_of(const mw_gpd_stack_t *stack) {
	uint64_t hash = 0xcbf29ce484222325u;
	for (unsigned i = 0; i < stack->depth; i++)
		hash = (hash ^ stack->pcs[i]) * 0x100000001b3u;
	return hash;
}

const mw_gpd_stack_t *mw_gpd_stack_hold(const mw_gpd_stack_t *stack) {
	uint64_t hash = hash_of(stack);
	size_t pcs_bytes = stack->depth * sizeof stack->pcs[0];
	held_t **bucket = &buckets[(hash ^ hash >> 32) % BUCKETS];
	for (held_t *held = *bucket; held; held = held->next)
		if (held->hash == hash && held->stack.depth == stack->depth &&
		    memcmp(held->stack.pcs, stack->pcs, pcs_bytes) == 0)
			return &held->stack;
	held_t *held = mw_gpd_take_memory(offsetof(held_t, stack.pcs) + pcs_bytes);
	if (!held)
		return NULL;
	held->hash = hash;
	held->stack.depth = stack->depth;
	memcpy(held->stack.pcs, stack->pcs, pcs_bytes);
	held->next = *bucket;
	*bucket = held;
	return &held->stack;
}
