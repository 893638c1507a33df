/* SPDX-License-Identifier: MIT
 * depot.c -- stacks, the tree of their nodes, and the distinct frames. */
#include "prof/depot.h"

#include <stddef.h>

#include "prof/image.h"
#include "prof/index.h"

static struct { mw_index_t stacks, nodes, frames; } depot;

/* Folds a 128-bit product: each bit of the inputs reaches all of the result. */
static uint64_t fold(uint64_t a, uint64_t b) {
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* ---- frames and nodes: a word each ---- */

static uint32_t append_word(mw_state_section_id_t section, uint64_t word) {
	uint64_t number = mw_image_take(section, 1);
	if (number == MW_IMAGE_NO_ENTRY)
		return 0;
	mw_twin_set64(mw_image_twin(section, number), 0, word);
	return (uint32_t)number;
}

static uint64_t word_at(mw_state_section_id_t section, uint32_t number) {
	return *(const uint64_t *)mw_image_entry(section, number);
}

static bool is_frame(const void *word, uint32_t number) {
	return word_at(MW_SECTION_FRAMES, number) == *(const uint64_t *)word;
}

static uint32_t append_frame(const void *word) {
	return append_word(MW_SECTION_FRAMES, *(const uint64_t *)word);
}

static bool is_node(const void *word, uint32_t number) {
	return word_at(MW_SECTION_NODES, number) == *(const uint64_t *)word;
}

static uint32_t append_node(const void *word) {
	return append_word(MW_SECTION_NODES, *(const uint64_t *)word);
}

static uint32_t find_frame(uint64_t frame) {
	const mw_index_kind_t kind = {is_frame, append_frame};
	return mw_index_find(&depot.frames, fold(frame, 0xbb67ae8584caa73bu), &frame, kind);
}

static uint32_t find_node(uint32_t caller, uint32_t frame) {
	const mw_index_kind_t kind = {is_node, append_node};
	uint64_t word = (uint64_t)frame << MW_NODE_FRAME_SHIFT | caller;
	return mw_index_find(&depot.nodes, fold(word, 0x9e3779b97f4a7c15u), &word, kind);
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

/* A stack as it is asked for. */
typedef struct path {
	const uint64_t *frames;
	uint64_t hash;
	unsigned depth, flags;
} path_t;

static uint64_t hash_of(const uint64_t *frames, unsigned depth, unsigned flags) {
	/* Odd constants with irregular bits (of the fractions of sqrt 2 and sqrt 3). */
	uint64_t hash = 0x6a09e667f3bcc909u ^ depth ^ (uint64_t)flags << 32;
	for (unsigned i = 0; i < depth; i++)
		hash = fold(hash ^ frames[i], 0xbb67ae8584caa73bu) + i;
	hash = fold(hash, 0x9e3779b97f4a7c15u);
	return hash ? hash : 1; /* 0 marks entry 0 */
}

/* By the hash alone: a walk along the nodes would cost a known stack more than all else here. */
static bool is_stack(const void *thing, uint32_t number) {
	const path_t *path = thing;
	const mw_state_stack_t *entry = mw_image_entry(MW_SECTION_STACKS, number);
	return entry->hash == path->hash && entry->depth == path->depth &&
	       entry->flags == path->flags;
}

/* For a whole stack.  The last sixteenth is for leaves alone. */
static bool has_room(mw_state_section_id_t section, unsigned words) {
	uint64_t bytes = mw_image_window_bytes(section);
	return mw_image_used_bytes(section) + words * sizeof(uint64_t) <= bytes - bytes / 16;
}

/* The path of the last new stack, from the outermost frame on: the next one begins with most of it,
 * and each frame of which that is so saves up to two dozen probes of two indexes. */
static struct last_path {
	_Atomic bool is_taken; /* also by whoever never gave it back: see gate.h */
	unsigned count;        /* steps that are known */
	struct step {
		uint64_t frame;
		uint32_t node;
	} steps[MW_STATE_DEPTH_MAX];
} last_path MW_SPARSE;

/* Of the frames from the outermost on, those that the last path began with; *node: the last one's.
 */
static unsigned follow_last(const path_t *path, uint32_t *node) {
	unsigned i = 0;
	for (; i < path->depth && i < last_path.count; i++) {
		if (last_path.steps[i].frame != path->frames[path->depth - 1 - i])
			break;
		*node = last_path.steps[i].node;
	}
	return i;
}

/* The leaf's node; 0: no room.  `first`: frames from the outermost on that lead to `node`. */
static uint32_t go_on(const path_t *path, unsigned first, uint32_t node, bool keep) {
	for (unsigned i = first; i < path->depth; i++) {
		uint64_t its_frame = path->frames[path->depth - 1 - i];
		uint32_t frame = find_frame(its_frame);
		node = frame ? find_node(node, frame) : 0;
		if (node == 0)
			return 0;
		if (keep && i < MW_STATE_DEPTH_MAX) {
			last_path.steps[i] = (struct step){.frame = its_frame, .node = node};
			last_path.count = i + 1;
		}
	}
	return node;
}

/* From the outermost frame to the leaf; 0: no room. */
static uint32_t leaf_of(const path_t *path) {
	if (path->depth > 1 &&
	    !(has_room(MW_SECTION_NODES, path->depth) && has_room(MW_SECTION_FRAMES, path->depth)))
		return 0;
	/* Two threads where a turn was taken over, or a handler that interrupts one. */
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
	const path_t *path = thing;
	uint32_t node = leaf_of(path);
	if (node == 0) {
		mw_image_set_flag(MW_STATE_FRAMES_FULL);
		return 0;
	}
	uint64_t number = mw_image_take(MW_SECTION_STACKS, 1);
	if (number == MW_IMAGE_NO_ENTRY) {
		mw_image_set_flag(MW_STATE_STACKS_FULL);
		return 0;
	}
	mw_state_stack_t head = {.hash = path->hash,
				 .node = node,
				 .depth = (uint16_t)path->depth,
				 .flags = (uint16_t)path->flags};
	/* Only the description: the counters behind it are zero. */
	mw_twin_copy(mw_image_twin(MW_SECTION_STACKS, number), &head, MW_STACK(live_objects_q16));
	return (uint32_t)number;
}

static uint32_t find(const uint64_t *frames, unsigned depth, unsigned flags) {
	const mw_index_kind_t kind = {is_stack, append_stack};
	path_t path = {.frames = frames,
		       .hash = hash_of(frames, depth, flags),
		       .depth = depth,
		       .flags = flags};
	return mw_index_find(&depot.stacks, path.hash, &path, kind);
}

void mw_depot_start(void) {
	last_path.count = 0;
	const mw_state_section_t *sections = mw_image_header()->sections;
	mw_index_start(&depot.stacks, sections[MW_SECTION_STACKS].capacity);
	mw_index_start(&depot.nodes, sections[MW_SECTION_NODES].capacity);
	mw_index_start(&depot.frames, sections[MW_SECTION_FRAMES].capacity);
}

uint32_t mw_depot_find(const uint64_t *frames, unsigned depth, bool truncated) {
	if (depth == 0)
		return 0;
	uint32_t number = find(frames, depth, truncated ? MW_STACK_TRUNCATED : 0);
	/* The leaf alone says who called malloc; it is often there already. */
	if (number == 0 && depth > 1)
		number = find(frames, 1, MW_STACK_TRUNCATED);
	/* Also when the index has no room, or no memory for more. */
	if (number == 0)
		mw_image_set_flag(MW_STATE_STACKS_FULL);
	return number;
}

unsigned mw_depot_depth(uint32_t number) {
	const mw_state_stack_t *stack = mw_image_entry(MW_SECTION_STACKS, number);
	return stack->depth;
}

/* The first parts lie in this module's data. */
void mw_depot_visit(void (*see)(uintptr_t start, uintptr_t limit)) {
	mw_index_t *const indexes[] = {&depot.stacks, &depot.nodes, &depot.frames};
	for (unsigned i = 0; i < sizeof indexes / sizeof *indexes; i++)
		for (unsigned part = 1; part <= indexes[i]->last; part++) {
			uintptr_t start;
			uint64_t bytes = mw_index_part(indexes[i], part, &start);
			if (bytes)
				see(start, start + bytes);
		}
}
