/* SPDX-License-Identifier: MIT
 * harden.c -- tags, canaries, fill, quarantine, lists that begin anywhere, and guarded chunks.
 * Part of libmallow_secure only (harden.h says what a block goes through). */
#include "heap/harden.h"

#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "heap/fast.h"
#include "heap/guarded.h"
#include "heap/huge.h"
#include "heap/lookup.h"
#include "heap/misuse.h"
#include "os/proc.h"

/* Read as a pointer it is no address of a program, so what follows a stale one ends there. */
#define FILL_WORD UINT64_C(0xdfdfdfdfdfdfdfdf)
/* Of a longer block the first bytes are filled and checked: that is where stale pointers to objects
 * lead, and each further line costs two cache misses. */
#define FILL_MAX_BYTES 256u
/* Low bits of the last word that hold no size: any write to its first two bytes shows. */
#define SIZE_SHIFT 16u

mw_harden_keys_t mw_harden_keys;

void mw_harden_start(void) {
	if (mw_harden_keys.multiplier)
		return;
	uint64_t seeds[2];
	mw_os_random(seeds, sizeof seeds);
	mw_rng_t rng;
	mw_rng_init(&rng, seeds[0]);
	mw_harden_keys.address = mw_rng_next(&rng) ^ seeds[1];
	mw_harden_keys.multiplier = mw_rng_next(&rng) | 1;
	mw_harden_keys.tag = mw_rng_next(&rng);
	mw_harden_keys.canary = mw_rng_next(&rng) ^ seeds[1];
}

static uint64_t load(const char *at) {
	uint64_t word;
	memcpy(&word, at, sizeof word);
	return word;
}

static void store(char *at, uint64_t word) {
	memcpy(at, &word, sizeof word);
}

/* What is written at a block follows from the same mixed address, computed once a call. */
static uint64_t tag_of(uint64_t mix) {
	return mix ^ mw_harden_keys.tag;
}

/* Its first byte is not 0: the commonest overrun, a string's end, always shows. */
static uint64_t canary_of(uint64_t mix) {
	return (mix ^ mw_harden_keys.canary) | 1;
}

void mw_harden_bad_link(const void *block) {
	mw_misuse_after_free(block, mw_page_first(mw_page_of_slice((uintptr_t)block)));
}

/* Small numbers (up to 2^32) of no bias that matters: the high half of a 64-bit product. */
static uint32_t draw_below(uint64_t *state, uint32_t limit) {
	if (MW_UNLIKELY(*state == 0))
		*state = (mw_harden_mix(state) ^ mw_harden_keys.canary) | 1;
	/* xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators"). */
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	uint64_t random = *state * 0x2545f4914f6cdd1du >> 32;
	return (uint32_t)(random * limit >> 32);
}

/* From a random block upwards, around the end.  Not in any order: objects that a program made one
 * after another would lie apart, and walking over them would take three times as long (Python's
 * collector of cycles over 1.5 million objects). */
void *mw_harden_carve(mw_page_t *page, uint32_t index, uint32_t count, void *rest) {
	uint64_t *random = &mw_thread.heap->harden.random;
	uint32_t place = draw_below(random, count);
	char *base = page->start + (size_t)index * page->block_bytes;
	void *next = rest;
	for (uint32_t i = 0; i < count; i++) {
		char *block = base + (size_t)place * page->block_bytes;
		mw_link_set(block, next);
		/* Never filled: nothing to check but that it was not written to. */
		store(block + sizeof(uint64_t), ~tag_of(mw_harden_mix(block)));
		next = block;
		place = (place ? place : count) - 1;
	}
	return next;
}

/* Blocks are aligned to 16: two words at a time, and as the compiler sees fit. */
typedef uint64_t pair_t __attribute__((vector_size(16), may_alias));
static const pair_t fill_pair = {FILL_WORD, FILL_WORD};

static size_t filled_pairs(size_t capacity) {
	return (capacity < FILL_MAX_BYTES ? capacity : FILL_MAX_BYTES) / sizeof(pair_t);
}

MW_ALWAYS_INLINE void fill(void *block, size_t capacity, uint64_t tag) {
	pair_t *pairs = block;
	pairs[0] = (pair_t){FILL_WORD, tag};
	for (size_t i = 1; i < filled_pairs(capacity); i++) {
		pairs[i] = fill_pair;
		/* Else the compiler sees a memset() and makes it `rep stos`, whose start alone
		 * takes 30 cycles. */
		__asm__("" : "+r"(i));
	}
}

MW_ALWAYS_INLINE void check_free_block(void *block, size_t capacity, uint64_t tag) {
	pair_t *pairs = block;
	uint64_t found = pairs[0][1];
	if (found == tag) {
		pair_t wrong = {0, 0};
		for (size_t i = 1; i < filled_pairs(capacity); i++)
			wrong |= pairs[i] ^ fill_pair;
		if (MW_UNLIKELY(wrong[0] | wrong[1]))
			mw_harden_bad_link(block);
	} else if (MW_UNLIKELY(found != ~tag)) {
		mw_harden_bad_link(block);
	}
	/* Neither link nor tag is the program's to see, and the tag must not be taken for one. */
	pairs[0] = fill_pair;
}

MW_ALWAYS_INLINE void seal(char *block, size_t capacity, size_t bytes, uint64_t canary) {
	store(block + bytes, canary);
	store(block + capacity - sizeof(uint64_t), canary ^ (uint64_t)bytes << SIZE_SHIFT);
}

/* The bytes that were asked for; ends the program when canary or last word are not what seal()
 * wrote. */
MW_ALWAYS_INLINE size_t check_seal(const char *function, const char *block, size_t capacity,
				   uint64_t canary) {
	size_t most = capacity - sizeof(uint64_t);
	uint64_t last = load(block + most) ^ canary;
	size_t bytes = last >> SIZE_SHIFT;
	if (MW_UNLIKELY((last & ((1u << SIZE_SHIFT) - 1)) || bytes > most))
		mw_misuse_past_end(function, block, capacity, MW_NO_CLAIM);
	uint64_t wrong = load(block + bytes) ^ canary;
	size_t gap = most - bytes;
	if (gap < sizeof(uint64_t))
		wrong &= ((uint64_t)1 << (gap * 8)) - 1;
	if (MW_UNLIKELY(wrong))
		mw_misuse_past_end(function, block, capacity, bytes);
	return bytes;
}

/* Of a block that the heap has just made. */
MW_ALWAYS_INLINE size_t capacity_of(void *block) {
	/* A huge block's chunk is none of ours: what lies there may be anything. */
	if (MW_LIKELY(mw_address_kind((uintptr_t)block) == MW_MAP_CHUNK)) {
		const mw_page_t *page = mw_page_of_slice((uintptr_t)block);
		if (MW_LIKELY(page->kind == MW_PAGE_SMALL))
			return page->block_bytes;
	}
	return mw_lookup_bytes("malloc", block);
}

void *mw_harden_give_out(void *block, size_t bytes) {
	/* A guarded block has its own ways. */
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_GUARDED))
		return block;
	size_t capacity = capacity_of(block);
	uint64_t mix = mw_harden_mix(block);
	if (MW_LIKELY(capacity <= MW_SMALL_MAX_BYTES))
		check_free_block(block, capacity, tag_of(mix));
	seal(block, capacity, bytes, canary_of(mix));
	return block;
}

/* The page when `block` is the start of a block of an ordinary one; else NULL. */
MW_ALWAYS_INLINE mw_page_t *ordinary_page(const void *block) {
	uintptr_t address = (uintptr_t)block;
	if (MW_UNLIKELY(mw_word_kind(address) != MW_MAP_CHUNK))
		return NULL;
	/* A chunk's own record is no page: its kind reads as none. */
	mw_page_t *page = mw_page_of_slice(address);
	return MW_LIKELY(page->kind == MW_PAGE_SMALL && mw_page_holds(page, block)) ? page : NULL;
}

/* Of a block with tags: ends the program when it is free. */
MW_ALWAYS_INLINE void check_live(const char *function, const void *block, const mw_page_t *page,
				 uint64_t tag) {
	uint64_t found = ((const uint64_t *)block)[1];
	if (MW_UNLIKELY(found == tag))
		mw_misuse_double_free(function, block, page);
	if (MW_UNLIKELY(found == ~tag))
		mw_misuse_dead(function, block, page);
}

/* What the program asked for; ends it when the block is not live, or was written past its end. */
static size_t check_any(const char *function, const void *block, size_t *capacity) {
	uint64_t mix = mw_harden_mix(block);
	*capacity = mw_lookup_bytes(function, block);
	if (*capacity <= MW_SMALL_MAX_BYTES)
		check_live(function, block, mw_lookup_page(function, block), tag_of(mix));
	return check_seal(function, block, *capacity, canary_of(mix));
}

MW_ALWAYS_INLINE void check_claims(const char *function, const void *block, size_t capacity,
				   size_t asked_bytes, size_t bytes, size_t align) {
	if (MW_UNLIKELY(bytes != MW_NO_CLAIM && bytes != asked_bytes))
		mw_misuse_size(function, block, bytes, capacity, asked_bytes);
	if (MW_UNLIKELY(align != MW_NO_CLAIM && (uintptr_t)block & (align - 1)))
		mw_misuse_align(function, block, align, capacity);
}

/* A random place, so that nobody can tell when the block will come back. */
MW_ALWAYS_INLINE void *swap_into_quarantine(mw_harden_thread_t *thread, void *block,
					    size_t capacity) {
	uint32_t first = 0, places = MW_QUARANTINE_SHORT;
	if (MW_UNLIKELY(capacity > MW_QUARANTINE_SHORT_BYTES)) {
		bool small = capacity <= MW_QUARANTINE_SMALL_BYTES;
		first = MW_QUARANTINE_SHORT + (small ? 0 : MW_QUARANTINE_SMALL);
		places = small ? MW_QUARANTINE_SMALL : MW_QUARANTINE_MEDIUM;
	}
	/* Knuth's linear congruential generator (MMIX): its upper bits are enough here, and it is
	 * two instructions.  The state starts as a secret. */
	thread->random = thread->random * 6364136223846793005u + 1442695040888963407u;
	void **place = &thread->quarantine[first + ((thread->random >> 32) & (places - 1))];
	void *displaced = *place;
	*place = block;
	return displaced;
}

void mw_harden_flush(mw_harden_thread_t *thread) {
	for (unsigned i = 0; i < MW_QUARANTINE_PLACES; i++) {
		void *block = thread->quarantine[i];
		thread->quarantine[i] = NULL;
		mw_fast_free(block);
	}
}

/* NULL, large, huge and sampled blocks, and those of threads without a heap; what is no block. */
static MW_NOINLINE void free_special(const char *function, void *block, size_t bytes,
				     size_t align) {
	if (!block)
		return;
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_GUARDED)) {
		mw_heap_free_slow(block);
		return;
	}
	size_t capacity, asked_bytes = check_any(function, block, &capacity);
	check_claims(function, block, capacity, asked_bytes, bytes, align);
	if (capacity <= MW_SMALL_MAX_BYTES)
		fill(block, capacity, tag_of(mw_harden_mix(block)));
	/* No quarantine: a sample ends when its block is freed, not when it is reused. */
	mw_heap_free_slow(block);
}

/* Nothing but tail calls, so that no register need be saved. */
void mw_harden_free(const char *function, void *block, size_t bytes, size_t align) {
	const mw_page_t *page = ordinary_page(block);
	mw_heap_t *heap = mw_thread.heap;
	if (MW_UNLIKELY(!page || !heap)) {
		free_special(function, block, bytes, align);
		return;
	}
	uint64_t mix = mw_harden_mix(block), tag = tag_of(mix);
	size_t capacity = page->block_bytes;
	check_live(function, block, page, tag);
	size_t asked_bytes = check_seal(function, block, capacity, canary_of(mix));
	check_claims(function, block, capacity, asked_bytes, bytes, align);
	fill(block, capacity, tag);
	mw_fast_free(swap_into_quarantine(&heap->harden, block, capacity));
}

static void *resize_guarded(void *block, size_t bytes) {
	size_t held_bytes = mw_guarded_usable_bytes("realloc", block);
	if (mw_fast_keeps(held_bytes, bytes))
		return block;
	void *moved = mw_heap_alloc(mw_harden_room(bytes));
	if (!moved)
		return bytes <= held_bytes ? block : NULL;
	mw_harden_give_out(moved, bytes);
	memcpy(moved, block, held_bytes < bytes ? held_bytes : bytes);
	mw_heap_free_slow(block);
	return moved;
}

void *mw_harden_resize(void *block, size_t bytes) {
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_GUARDED))
		return resize_guarded(block, bytes);
	size_t capacity, room = mw_harden_room(bytes);
	size_t old_bytes = check_any("realloc", block, &capacity);
	void *same = mw_heap_resize_in_place(block, room, &capacity);
	if (same) {
		size_t now = mw_lookup_bytes("realloc", same);
		seal(same, now, bytes, canary_of(mw_harden_mix(same)));
		return same;
	}
	void *moved = mw_heap_alloc(room);
	if (!moved) {
		if (room > capacity)
			return NULL;
		/* A smaller size needs no memory: the block stays. */
		seal(block, capacity, bytes, canary_of(mw_harden_mix(block)));
		return block;
	}
	mw_harden_give_out(moved, bytes);
	memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
	mw_harden_free("realloc", block, MW_NO_CLAIM, MW_NO_CLAIM);
	return moved;
}

size_t mw_harden_usable_bytes(const void *block) {
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_GUARDED))
		return mw_guarded_usable_bytes("malloc_usable_size", block);
	size_t capacity;
	return check_any("malloc_usable_size", block, &capacity);
}

/* Chunks lie at random places of a window of 64 GiB, itself at a random place: far from each other,
 * yet in few of the kernel's page tables and in few pages of the address map. */
#define WINDOW_CHUNKS 16384u
/* A try that meets something else costs a system call; then the window is too full. */
#define TRIES 8u
/* Where the kernel puts neither program, heap nor libraries: 4 to 96 TiB. */
#define LOWEST_CHUNK ((uint64_t)1 << (42 - MW_CHUNK_SHIFT))
#define CHUNK_PLACES ((uint32_t)(23 * LOWEST_CHUNK))

/* Under the chunk lock. */
static struct {
	uint64_t window; /* its first chunk's number; 0: none yet */
	uint64_t random;
} places;

static void *map_somewhere(void) {
	for (unsigned windows = 0; windows < 2; windows++) {
		if (places.window == 0)
			places.window = LOWEST_CHUNK + draw_below(&places.random, CHUNK_PLACES);
		for (unsigned tries = 0; tries < TRIES; tries++) {
			uint64_t number = places.window + draw_below(&places.random, WINDOW_CHUNKS);
			void *chunk =
				mw_os_map_at((void *)(number << MW_CHUNK_SHIFT), MW_CHUNK_BYTES);
			if (chunk)
				return chunk;
		}
		places.window = 0;
	}
	/* Little address space is left, or may be used: wherever there is room. */
	return mw_os_map_aligned(MW_CHUNK_BYTES, MW_CHUNK_BYTES);
}

void *mw_harden_map_chunk(void) {
	char *chunk = map_somewhere();
	if (!chunk)
		return NULL;
	/* Refused, when the kernel's table of mappings is full, they are lost: what they would
	 * cover is not used either way. */
	size_t metadata = mw_round_up(MW_CHUNK_SLICES << MW_PAGE_META_SHIFT, MW_OS_PAGE_BYTES);
	mw_os_protect_none(chunk + metadata, MW_SLICE_BYTES - metadata);
	mw_os_protect_none(chunk + MW_CHUNK_BYTES - MW_SLICE_BYTES, MW_SLICE_BYTES);
	return chunk;
}
