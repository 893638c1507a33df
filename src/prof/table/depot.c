/* SPDX-License-Identifier: MIT
 * depot.c -- stacks, the tree of their nodes, and the distinct frames. */
#include "prof/table/depot.h"

#include <stddef.h>

#include "prof/store/index.h"
#include "prof/store/store.h"
#include "prof/table/reuse.h"

static struct { mw_index_t stacks, nodes, frames; } depot;

_Atomic uint32_t mw_depot_generation_now;

/* Folds a 128-bit product: each bit of the inputs reaches all of the result. */
static uint64_t fold(uint64_t a, uint64_t b) {
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* ---- frames and nodes: a word each ---- */

static uint32_t append_word(mw_state_section_id_t section, uint64_t word) {
	uint64_t number = mw_reuse_take(section);
	if (number == MW_STORE_NO_ENTRY)
		return 0;
	mw_both_set64(mw_store_both(section, number), 0, word);
	return (uint32_t)number;
}

static uint64_t word_at(mw_state_section_id_t section, uint32_t number) {
	return *(const uint64_t *)mw_store_private(section, number);
}

static bool is_frame(const void *word, uint32_t number) {
	return word_at(MW_SECTION_FRAMES, number) == *(const uint64_t *)word;
}

static uint32_t append_frame(const void *word) {
	return append_word(MW_SECTION_FRAMES, *(const uint64_t *)word);
}

/* A node that is looked for. */
typedef struct node_key {
	uint64_t word;
	bool is_new; /* the search made the node */
} node_key_t;

static bool is_node(const void *key, uint32_t number) {
	return word_at(MW_SECTION_NODES, number) == ((const node_key_t *)key)->word;
}

static uint32_t append_node(uint64_t word) {
	return append_word(MW_SECTION_NODES, word);
}

/* The key is this module's own, so it may be changed. */
static uint32_t append_key(const void *key) {
	node_key_t *node = (node_key_t *)(uintptr_t)key;
	node->is_new = true;
	return append_node(node->word);
}

static uint64_t hash_of_frame(uint64_t frame) {
	return fold(frame, 0xbb67ae8584caa73bu);
}

static uint32_t find_frame(uint64_t frame) {
	const mw_index_kind_t kind = {is_frame, append_frame};
	return mw_index_find(&depot.frames, hash_of_frame(frame), &frame, kind);
}

static uint64_t node_word(uint32_t caller, uint32_t frame) {
	return (uint64_t)frame << MW_NODE_FRAME_SHIFT | caller;
}

static uint64_t hash_of_node(uint64_t word) {
	return fold(word, 0x9e3779b97f4a7c15u);
}

/* Returns the node with this caller and frame; 0: no room. *is_new: the call made the node. */
static uint32_t find_node(uint32_t caller, uint32_t frame, bool *is_new) {
	const mw_index_kind_t kind = {is_node, append_key};
	node_key_t key = {.word = node_word(caller, frame)};
	uint32_t node = mw_index_find(&depot.nodes, hash_of_node(key.word), &key, kind);
	*is_new = key.is_new;
	return node;
}

/* A node that was appended and is not in the index yet. */
typedef struct fresh_node {
	uint64_t word;
	uint32_t number;
} fresh_node_t;

static void list_fresh(const fresh_node_t *node) {
	mw_index_add(&depot.nodes, hash_of_node(node->word), node->number);
}

uint32_t mw_depot_next_frame(uint32_t *node) {
	uint64_t word = word_at(MW_SECTION_NODES, *node);
	*node = (uint32_t)word;
	return (uint32_t)(word >> MW_NODE_FRAME_SHIFT);
}

uint64_t mw_depot_frame(uint32_t number) {
	return word_at(MW_SECTION_FRAMES, number);
}

/* ---- stacks ---- */

static uint64_t frame_at(const mw_depot_path_t *path, unsigned number) {
	return path->outermost[path->inwards * (ptrdiff_t)number];
}

/* The stack's hash: its sum with depth and flags. */
typedef struct stack_key {
	const mw_depot_path_t *path;
	uint64_t hash;
	unsigned flags;
} stack_key_t;

static stack_key_t key_of(const mw_depot_path_t *path) {
	unsigned flags = (path->truncated ? MW_STACK_TRUNCATED : 0) |
			 (path->is_mapping ? MW_STACK_MAPPING : 0);
	uint64_t hash = fold(path->sum ^ path->depth ^ (uint64_t)flags << 32, 0x9e3779b97f4a7c15u);
	/* 0 marks entry 0. */
	return (stack_key_t){.path = path, .hash = hash ? hash : 1, .flags = flags};
}

/* Compares the hash, not the frames: for a known stack, a walk along the nodes would take longer
 * than the rest of the search. */
static bool is_stack(const void *thing, uint32_t number) {
	const stack_key_t *key = thing;
	const mw_state_stack_t *entry = mw_store_private(MW_SECTION_STACKS, number);
	return entry->hash == key->hash && entry->depth == key->path->depth &&
	       entry->flags == key->flags;
}

/* Returns whether `words` more entries fit. The last sixteenth of a section is reserved for the
 * leaves of stacks that are cut. */
static bool has_room(mw_state_section_id_t section, unsigned words) {
	uint64_t capacity = mw_store_header()->sections[section].capacity;
	uint64_t used = mw_store_used_bytes(section) / sizeof(uint64_t) - mw_reuse_left(section);
	return used + words <= capacity - capacity / 16;
}

/* Path of the last new stack, from the outermost frame on. The next new stack usually begins with
 * most of it. Each frame in common saves up to two dozen probes of two indexes. */
static struct last_path {
	/* true: a thread uses the path. A thread that lost the tables' lock may never reset it. */
	_Atomic bool is_taken;
	unsigned count; /* valid entries of `steps` */
	struct step {
		uint64_t frame;
		uint32_t node;
	} steps[MW_STATE_DEPTH_MAX];
} last_path MW_SPARSE;

/* Returns how many frames, counted from the outermost on, the path has in common with the last
 * path. Sets *node to the node of the last common frame. */
static unsigned follow_last(const mw_depot_path_t *path, uint32_t *node) {
	unsigned i = 0;
	for (; i < path->depth && i < last_path.count; i++) {
		if (last_path.steps[i].frame != frame_at(path, i))
			break;
		*node = last_path.steps[i].node;
	}
	return i;
}

static void keep_step(unsigned i, uint64_t frame, uint32_t node) {
	if (i >= MW_STATE_DEPTH_MAX)
		return;
	last_path.steps[i] = (struct step){.frame = frame, .node = node};
	last_path.count = i + 1;
}

/* Most nodes that are appended before they are put into the index. They take 512 bytes of the
 * program's stack. */
#define FRESH_NODES 32u

static void list_all_fresh(const fresh_node_t *fresh, unsigned count) {
	for (unsigned i = 0; i < count; i++)
		list_fresh(&fresh[i]);
}

/* Returns the leaf's node; 0: no room. The node before the frame `first` is new, so all nodes
 * behind it are new, too. They are appended without a search and put into the index afterwards, so
 * that the processor fetches several cache lines of the index at a time. */
static uint32_t append_rest(const mw_depot_path_t *path, unsigned first, uint32_t node, bool keep) {
	fresh_node_t fresh[FRESH_NODES];
	unsigned count = 0;
	for (unsigned i = first; i < path->depth; i++) {
		uint64_t its_frame = frame_at(path, i);
		uint32_t frame = find_frame(its_frame);
		uint64_t word = node_word(node, frame);
		node = frame ? append_node(word) : 0;
		if (node == 0)
			break;
		if (keep)
			keep_step(i, its_frame, node);
		if (count == FRESH_NODES) {
			list_all_fresh(fresh, count);
			count = 0;
		}
		fresh[count++] = (fresh_node_t){.word = word, .number = node};
		mw_index_prefetch(&depot.nodes, hash_of_node(word));
	}
	list_all_fresh(fresh, count);
	return node;
}

/* Returns the leaf's node; 0: no room. `first`: number of frames, from the outermost on, that lead
 * to `node`. */
static uint32_t go_on(const mw_depot_path_t *path, unsigned first, uint32_t node, bool keep) {
	for (unsigned i = first; i < path->depth; i++)
		mw_index_prefetch(&depot.frames, hash_of_frame(frame_at(path, i)));
	for (unsigned i = first; i < path->depth; i++) {
		uint64_t its_frame = frame_at(path, i);
		uint32_t frame = find_frame(its_frame);
		bool is_new = false;
		node = frame ? find_node(node, frame, &is_new) : 0;
		if (node == 0)
			return 0;
		if (keep)
			keep_step(i, its_frame, node);
		if (is_new)
			return append_rest(path, i + 1, node, keep);
	}
	return node;
}

/* Returns the node of the path's leaf; 0: no room. */
static uint32_t leaf_of(const mw_depot_path_t *path) {
	if (path->depth > 1 &&
	    !(has_room(MW_SECTION_NODES, path->depth) && has_room(MW_SECTION_FRAMES, path->depth)))
		return 0;
	/* The last path is in use if this thread took the tables' lock over, or if this code runs
	 * in a signal handler that interrupted the function. Then the search uses the indexes
	 * alone. */
	if (atomic_exchange_explicit(&last_path.is_taken, true, memory_order_acquire))
		return go_on(path, 0, 0, false);
	uint32_t node = 0;
	unsigned known = follow_last(path, &node);
	last_path.count = known;
	node = go_on(path, known, node, true);
	/* Pairs with the exchange. */
	atomic_store_explicit(&last_path.is_taken, false, memory_order_release);
	return node;
}

static uint32_t append_stack(const void *thing) {
	const stack_key_t *key = thing;
	uint32_t node = leaf_of(key->path);
	if (node == 0) {
		mw_store_set_flag(MW_STATE_FRAMES_FULL);
		return 0;
	}
	uint64_t number = mw_reuse_take(MW_SECTION_STACKS);
	if (number == MW_STORE_NO_ENTRY) {
		mw_store_set_flag(MW_STATE_STACKS_FULL);
		return 0;
	}
	mw_state_stack_t head = {.hash = key->hash,
				 .node = node,
				 .depth = (uint16_t)key->path->depth,
				 .flags = (uint16_t)key->flags};
	/* Copies the description only: the counters behind it are zero already. */
	mw_both_copy(mw_store_both(MW_SECTION_STACKS, number), &head, MW_STACK(live_objects_q16));
	return (uint32_t)number;
}

static uint32_t find(const mw_depot_path_t *path) {
	const mw_index_kind_t kind = {is_stack, append_stack};
	stack_key_t key = key_of(path);
	return mw_index_find(&depot.stacks, key.hash, &key, kind);
}

void mw_depot_start(void) {
	last_path.count = 0;
	const mw_state_section_t *sections = mw_store_header()->sections;
	mw_index_start(&depot.stacks, sections[MW_SECTION_STACKS].capacity);
	mw_index_start(&depot.nodes, sections[MW_SECTION_NODES].capacity);
	mw_index_start(&depot.frames, sections[MW_SECTION_FRAMES].capacity);
}

uint32_t mw_depot_find_path(const mw_depot_path_t *path) {
	uint32_t number = find(path);
	/* The leaf alone tells who called malloc, and its node often exists already. */
	if (MW_UNLIKELY(number == 0) && path->depth > 1) {
		uint64_t leaf = frame_at(path, path->depth - 1);
		number = find(&(mw_depot_path_t){.outermost = &leaf,
						 .sum = mw_depot_sum(MW_DEPOT_SUM_START, leaf),
						 .depth = 1,
						 .truncated = true,
						 .is_mapping = path->is_mapping});
	}
	/* The flag covers the index, too: it is full, or the kernel refused memory for a part. */
	if (MW_UNLIKELY(number == 0))
		mw_store_set_flag(MW_STATE_STACKS_FULL);
	return number;
}

uint32_t mw_depot_find(const uint64_t *frames, unsigned depth, bool truncated) {
	if (depth == 0)
		return 0;
	mw_depot_path_t path = {.outermost = &frames[depth - 1],
				.inwards = -1,
				.sum = MW_DEPOT_SUM_START,
				.depth = depth,
				.truncated = truncated};
	for (unsigned i = depth; i-- > 0;)
		path.sum = mw_depot_sum(path.sum, frames[i]);
	return mw_depot_find_path(&path);
}

unsigned mw_depot_depth(uint32_t number) {
	const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, number);
	return stack->depth;
}

static uint64_t hash_of_frame_at(uint32_t number) {
	return hash_of_frame(word_at(MW_SECTION_FRAMES, number));
}

static uint64_t hash_of_node_at(uint32_t number) {
	return hash_of_node(word_at(MW_SECTION_NODES, number));
}

static uint64_t hash_of_stack_at(uint32_t number) {
	const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, number);
	return stack->hash;
}

void mw_depot_keep_only(mw_index_kept_t stacks, mw_index_kept_t nodes, mw_index_kept_t frames) {
	last_path.count = 0;
	mw_index_rebuild(&depot.frames, frames, hash_of_frame_at);
	mw_index_rebuild(&depot.nodes, nodes, hash_of_node_at);
	mw_index_rebuild(&depot.stacks, stacks, hash_of_stack_at);
	uint32_t generation =
		atomic_load_explicit(&mw_depot_generation_now, memory_order_relaxed) + 1;
	/* The tables are quiesced: who holds their lock next sees it. */
	atomic_store_explicit(&mw_depot_generation_now, generation, memory_order_relaxed);
}

/* The first part of each index lies in this module's data and is not passed. */
void mw_depot_visit(void (*see)(uintptr_t start, uintptr_t limit)) {
	mw_index_t *const indexes[] = {&depot.stacks, &depot.nodes, &depot.frames};
	for (unsigned i = 0; i < sizeof indexes / sizeof *indexes; i++)
		mw_index_visit(indexes[i], see);
}
