/* SPDX-License-Identifier: MIT
 * flood.c -- depth-first search with a list of bounded size. When the list is full, blocks are
 * marked but not followed; a later pass over all marked blocks follows them. */
#include "leak/flood.h"

#include <string.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "heap/layout/link.h"
#include "leak/block_index.h"
#include "os/file/page_presence.h"
#include "os/memory/map.h"
#include "os/platform/arch.h"

#define LIST_BLOCKS ((size_t)1 << 19)
/* Blocks from this size on are read where they have memory only. */
#define LARGE_BYTES ((size_t)1 << 20)
/* Bytes of blocks between two calls of `step`. */
#define STEP_BYTES ((uint64_t)4 << 20)

/* A block that is to be followed. */
typedef struct entry {
	mw_leak_block_t block;
	uint32_t holder; /* record of the block, or of the nearest one on the way to it; 0: none */
} entry_t;

static struct {
	entry_t *list; /* LIST_BLOCKS */
	size_t count;
	bool overflowed;
	mw_leak_map_t map; /* REACHED or OWNED: which bit the search sets */
	uint64_t bytes;    /* of blocks, read */
	uint64_t step_at;  /* value of `bytes` at which `step` is due */
	void (*step)(uint64_t block_bytes);
	size_t max_offset_bytes;
	size_t step_bytes;
	/* Addresses of all blocks (mw_leak_index_span()). The start is negated: data of the library
	 * is a root, and the address would hold the first block. */
	uintptr_t minus_start, span;
	uint64_t found_blocks, found_bytes; /* blocks whose bit the search set */
} flood;

bool mw_leak_flood_start(void (*step)(uint64_t block_bytes), size_t max_offset_bytes,
			 size_t step_bytes) {
	flood.step = step;
	flood.max_offset_bytes = max_offset_bytes ? max_offset_bytes : SIZE_MAX;
	flood.step_bytes = step_bytes ? step_bytes : sizeof(uintptr_t);
	uintptr_t start;
	mw_leak_index_span(&start, &flood.span);
	flood.minus_start = -start;
	flood.list = mw_os_map(LIST_BLOCKS * sizeof(entry_t));
	return flood.list != NULL;
}

uint64_t mw_leak_flood_bytes(void) {
	return flood.bytes;
}

/* ---- who holds a block ---- */

typedef struct slot {
	uint64_t bit;
	uint32_t record; /* 0: the slot is empty */
} slot_t;

static struct {
	mw_state_holder_t *of_record; /* NULL: holders are not noted */
	slot_t *slots;                /* records by their block's bit */
	uint64_t slot_mask;
	mw_state_holder_t next; /* of a block that is found now */
	uintptr_t base;         /* address of the next words */
} holders;

bool mw_leak_flood_note_holders(uint64_t records) {
	uint64_t slots = 64;
	while (slots < 2 * records)
		slots *= 2;
	holders.slots = mw_os_map(slots * sizeof(slot_t));
	holders.slot_mask = slots - 1;
	holders.of_record = holders.slots ? mw_os_map(records * sizeof(mw_state_holder_t)) : NULL;
	return holders.of_record != NULL;
}

/* Returns the slot of the bit, or the empty one in its place. */
static slot_t *slot_of(uint64_t bit) {
	/* Fibonacci hashing (Knuth, TAOCP 3, 6.4) */
	uint64_t i = bit * UINT64_C(0x9e3779b97f4a7c15) >> 20;
	while (holders.slots[i & holders.slot_mask].record != 0 &&
	       holders.slots[i & holders.slot_mask].bit != bit)
		i++;
	return &holders.slots[i & holders.slot_mask];
}

void mw_leak_flood_add_record(uint32_t record, uint64_t bit) {
	*slot_of(bit) = (slot_t){.bit = bit, .record = record};
}

void mw_leak_flood_from(const mw_state_holder_t *root, uintptr_t address) {
	holders.next = *root;
	holders.base = address;
}

mw_state_holder_t mw_leak_holder(uint32_t record) {
	return holders.of_record[record];
}

/* Notes who holds a block that was found. Returns who holds the blocks that it leads to. */
static uint32_t note_holder(const mw_leak_block_t *block) {
	if (!holders.of_record || flood.map != MW_LEAK_REACHED)
		return 0;
	uint32_t record = slot_of(block->bit)->record;
	if (record == 0)
		return holders.next.record;
	holders.of_record[record] = holders.next;
	return record;
}

/* ---- the search ---- */

static void visit(uintptr_t word) {
	mw_leak_block_t block;
	if (!mw_leak_index_find(word, &block) || !mw_leak_bit(MW_LEAK_LIVE, block.bit) ||
	    word - block.start > flood.max_offset_bytes)
		return;
	if (flood.map == MW_LEAK_OWNED && mw_leak_bit(MW_LEAK_REACHED, block.bit))
		return;
	if (mw_leak_bit(flood.map, block.bit))
		return;
	mw_leak_bit_set(flood.map, block.bit);
	flood.found_blocks++;
	flood.found_bytes += block.bytes;
	uint32_t holder = note_holder(&block);
	if (flood.count < LIST_BLOCKS)
		flood.list[flood.count++] = (entry_t){block, holder};
	else
		flood.overflowed = true;
}

/* Words at each multiple of step_bytes. */
static MW_NOINLINE void read_unaligned(const char *memory, size_t bytes) {
	for (size_t i = 0; i + sizeof(uintptr_t) <= bytes; i += flood.step_bytes) {
		uintptr_t word;
		memcpy(&word, memory + i, sizeof word);
		word = mw_os_address_of(word);
		if (word + flood.minus_start < flood.span)
			visit(word);
	}
}

static void read_words(const uintptr_t *words, size_t count) {
	if (flood.step_bytes != sizeof(uintptr_t)) {
		read_unaligned((const char *)words, count * sizeof *words);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		uintptr_t word = mw_os_address_of(words[i]);
		/* Most words are numbers. */
		if (word + flood.minus_start < flood.span)
			visit(word);
	}
}

static void read_range(uintptr_t start, uintptr_t limit) {
	flood.bytes += limit - start;
	if (flood.bytes >= flood.step_at) {
		flood.step_at = flood.bytes + STEP_BYTES;
		flood.step(flood.bytes);
	}
	read_words((const uintptr_t *)start, (limit - start) / sizeof(uintptr_t));
}

static void read_block(const mw_leak_block_t *block) {
	uintptr_t start = (block->start + sizeof(uintptr_t) - 1) & ~(sizeof(uintptr_t) - 1);
	uintptr_t limit = block->start + block->bytes;
	/* A list of free blocks that a stopped thread has in hand; a plain link is a word as
	 * others. */
	uintptr_t next = MW_HARDEN_ON ? (uintptr_t)mw_link_peek((const void *)block->start) : 0;
	if (next + flood.minus_start < flood.span)
		visit(next);
	if (block->bytes >= LARGE_BYTES)
		mw_os_visit_present(start, limit, read_range);
	else if (start < limit)
		read_range(start, limit);
}

/* Follows all blocks of the list. */
static void follow(void) {
	while (flood.count > 0) {
		entry_t entry = flood.list[--flood.count];
		holders.next.record = entry.holder;
		read_block(&entry.block);
	}
}

static void read_again(const mw_leak_block_t *block) {
	if (!mw_leak_bit(flood.map, block->bit))
		return;
	read_block(block);
	follow();
}

static void follow_all(void) {
	follow();
	while (flood.overflowed) {
		flood.overflowed = false;
		mw_leak_index_visit(flood.map == MW_LEAK_REACHED, read_again);
	}
}

void mw_leak_flood(const uintptr_t *words, size_t count) {
	flood.map = MW_LEAK_REACHED;
	if (!holders.of_record) {
		read_words(words, count);
		follow_all();
		return;
	}
	/* Blocks that a word leads to are followed before the next word is read. */
	for (size_t i = 0; i < count; i++) {
		holders.next.address = holders.base ? holders.base + i * sizeof *words : 0;
		holders.next.record = 0;
		read_words(&words[i], 1);
		follow_all();
	}
}

/* ---- direct leaks ----
 * Two passes of depth-first search, as in the algorithm for strongly connected components of
 * Kosaraju and Sharir (Computers & Mathematics with Applications 7, 1981). In the first pass, each
 * leaked block that no earlier search visited starts a search. A block that starts one, but that
 * another leaked block leads to without a way back, is visited by a search that starts later: the
 * second pass repeats the searches, the last one first, and who starts one now is direct. Of a
 * cycle that nothing else leads to, that is one block. */

static struct {
	uintptr_t *list; /* blocks that start a search, by their addresses */
	uint64_t count;
} starts;

static void count_leaked(const mw_leak_block_t *block) {
	(void)block;
	starts.count++;
}

static void search_from(const mw_leak_block_t *block) {
	mw_leak_bit_set(MW_LEAK_OWNED, block->bit);
	read_block(block);
	follow_all();
}

static void start_search(const mw_leak_block_t *block) {
	if (mw_leak_bit(MW_LEAK_OWNED, block->bit))
		return;
	starts.list[starts.count++] = block->start;
	search_from(block);
}

bool mw_leak_find_direct(void) {
	flood.map = MW_LEAK_OWNED;
	starts.count = 0;
	mw_leak_index_visit(false, count_leaked);
	if (starts.count == 0)
		return true;
	size_t bytes = mw_round_up(starts.count * sizeof *starts.list, MW_OS_PAGE_BYTES);
	starts.list = mw_os_map(bytes);
	if (!starts.list)
		return false;
	starts.count = 0;
	mw_leak_index_visit(false, start_search);
	mw_leak_map_clear(MW_LEAK_OWNED);
	while (starts.count > 0) {
		mw_leak_block_t block;
		if (!mw_leak_index_find(starts.list[--starts.count], &block) ||
		    mw_leak_bit(MW_LEAK_OWNED, block.bit))
			continue;
		mw_leak_bit_set(MW_LEAK_DIRECT, block.bit);
		search_from(&block);
	}
	mw_os_unmap(starts.list, bytes);
	return true;
}

void mw_leak_count_below(const mw_leak_block_t *block, uint64_t *blocks, uint64_t *bytes) {
	flood.map = MW_LEAK_OWNED;
	flood.found_blocks = flood.found_bytes = 0;
	/* The block itself is not counted. */
	if (!mw_leak_bit(MW_LEAK_OWNED, block->bit))
		search_from(block);
	*blocks = flood.found_blocks;
	*bytes = flood.found_bytes;
}
