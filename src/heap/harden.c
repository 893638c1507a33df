/* SPDX-License-Identifier: MIT
 * harden.c -- tags, canaries, fill, quarantine, lists that begin anywhere, and guarded chunks.
 * Part of libmallow_secure only (harden.h says what a block goes through). */
#include "heap/harden.h"

#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "heap/guarded.h"
#include "heap/harden_fast.h"
#include "heap/huge.h"
#include "heap/lookup.h"
#include "heap/misuse.h"
#include "os/proc.h"

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
	mw_harden_thread_t *thread = &mw_thread.heap->harden;
	bool seeded = thread->random != 0;
	uint32_t place = draw_below(&thread->random, count);
	if (MW_UNLIKELY(!seeded))
		thread->place = (uint32_t)thread->random;
	char *base = page->start + (size_t)index * page->block_bytes;
	void *next = rest;
	for (uint32_t i = 0; i < count; i++) {
		char *block = base + (size_t)place * page->block_bytes;
		mw_link_set(block, next);
		/* Never filled: nothing to check but that it was not written to. */
		mw_harden_store(block + sizeof(uint64_t), ~mw_harden_tag(mw_harden_mix(block)));
		next = block;
		place = (place ? place : count) - 1;
	}
	return next;
}

/* A live block's bytes that were asked for; ends the program when canary or last word are not what
 * mw_harden_seal() wrote. */
MW_ALWAYS_INLINE size_t check_seal(const char *function, const char *block, size_t capacity,
				   uint64_t canary) {
	uint64_t bytes = mw_harden_sealed_bytes(block, capacity, canary);
	if (MW_UNLIKELY(bytes > capacity - sizeof(uint64_t)))
		mw_misuse_past_end(function, block, capacity, MW_NO_CLAIM);
	if (MW_UNLIKELY(!mw_harden_is_sealed(block, capacity, bytes, canary)))
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
	if (MW_LIKELY(capacity <= MW_SMALL_MAX_BYTES)) {
		if (MW_UNLIKELY(!mw_harden_is_untouched(block, capacity, mw_harden_tag(mix))))
			mw_harden_bad_link(block);
		/* Neither link nor tag is the program's to see. */
		mw_harden_store(block, MW_HARDEN_FILL);
		mw_harden_store((char *)block + sizeof(uint64_t), MW_HARDEN_FILL);
	}
	mw_harden_seal(block, capacity, bytes, mw_harden_canary(mix));
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
		check_live(function, block, mw_lookup_page(function, block), mw_harden_tag(mix));
	return check_seal(function, block, *capacity, mw_harden_canary(mix));
}

MW_ALWAYS_INLINE void check_claims(const char *function, const void *block, size_t capacity,
				   size_t asked_bytes, size_t bytes, size_t align) {
	if (MW_UNLIKELY(bytes != MW_NO_CLAIM && bytes != asked_bytes))
		mw_misuse_size(function, block, bytes, capacity, asked_bytes);
	if (MW_UNLIKELY(align != MW_NO_CLAIM && (uintptr_t)block & (align - 1)))
		mw_misuse_align(function, block, align, capacity);
}

void mw_harden_flush(mw_harden_thread_t *thread) {
	for (unsigned i = 0; i < MW_QUARANTINE_PLACES; i++) {
		void *block = thread->quarantine[i];
		thread->quarantine[i] = NULL;
		mw_harden_release(block);
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
		mw_harden_fill(block, capacity, mw_harden_tag(mw_harden_mix(block)));
	/* No quarantine: a sample ends when its block is freed, not when it is reused. */
	mw_heap_free_slow(block);
}

void mw_harden_free_rest(const char *function, void *block, size_t bytes, size_t align) {
	const mw_page_t *page = ordinary_page(block);
	mw_heap_t *heap = mw_thread.heap;
	if (MW_UNLIKELY(!page || !heap)) {
		free_special(function, block, bytes, align);
		return;
	}
	uint64_t mix = mw_harden_mix(block), tag = mw_harden_tag(mix);
	size_t capacity = page->block_bytes;
	check_live(function, block, page, tag);
	size_t asked_bytes = check_seal(function, block, capacity, mw_harden_canary(mix));
	check_claims(function, block, capacity, asked_bytes, bytes, align);
	mw_harden_fill(block, capacity, tag);
	mw_harden_release(mw_harden_swap(&heap->harden, block, capacity));
}

/* Nothing but tail calls, so that no register need be saved. */
void mw_harden_free(const char *function, void *block, size_t bytes, size_t align) {
	if (MW_UNLIKELY(!mw_harden_free_block(block, bytes, align)))
		mw_harden_free_rest(function, block, bytes, align);
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

/* What most calls are: an ordinary block that keeps its place.  False: it is none, or moves. */
MW_ALWAYS_INLINE bool resize_ordinary(void *block, size_t bytes) {
	const mw_page_t *page = ordinary_page(block);
	if (!page || !mw_fast_keeps(page->block_bytes, mw_harden_room(bytes)))
		return false;
	uint64_t mix = mw_harden_mix(block), canary = mw_harden_canary(mix);
	check_live("realloc", block, page, mw_harden_tag(mix));
	check_seal("realloc", block, page->block_bytes, canary);
	mw_harden_seal(block, page->block_bytes, bytes, canary);
	return true;
}

void *mw_harden_resize(void *block, size_t bytes) {
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_GUARDED))
		return resize_guarded(block, bytes);
	size_t capacity, room = mw_harden_room(bytes);
	if (MW_LIKELY(resize_ordinary(block, bytes)))
		return block;
	size_t old_bytes = check_any("realloc", block, &capacity);
	void *same = mw_heap_resize_in_place(block, room, &capacity);
	if (same) {
		size_t now = mw_lookup_bytes("realloc", same);
		mw_harden_seal(same, now, bytes, mw_harden_canary(mw_harden_mix(same)));
		return same;
	}
	void *moved = mw_heap_alloc(room);
	if (!moved) {
		if (room > capacity)
			return NULL;
		/* A smaller size needs no memory: the block stays. */
		mw_harden_seal(block, capacity, bytes, mw_harden_canary(mw_harden_mix(block)));
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
