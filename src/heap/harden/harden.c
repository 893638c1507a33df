/* SPDX-License-Identifier: MIT
 * harden.c -- seals, canaries, fill and quarantine.  Part of libmallow_secure only (harden.h
 * describes the life of a block). */
#include "heap/harden/harden.h"

#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/core/free.h"
#include "heap/core/lookup.h"
#include "heap/core/resize.h"
#include "heap/harden/harden_empty.h"
#include "heap/harden/harden_fast.h"
#include "heap/layout/harden_block.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "heap/local/counts.h"
#include "heap/local/harden_lists.h"
#include "heap/local/heap.h"
#include "heap/memory/chunk.h"
#include "heap/misuse/guarded.h"
#include "heap/misuse/misuse.h"
#include "heap/thread/flush.h"
#include "heap/thread/shed.h"
#include "os/file/proc.h"

static MW_NOINLINE bool is_untouched_whole(const char *block, size_t capacity) {
	const uint64_t word = UINT64_MAX / 0xff * MW_HARDEN_WHOLE_FILL;
	const mw_harden_pair_t whole = {word, word};
	mw_harden_pair_t changed = {0, 0};
	/* Blocks are aligned to 16, and capacities are multiples of 16. */
	for (size_t i = 16; i < capacity; i += 16)
		changed |= *(const mw_harden_pair_t *)(const void *)(block + i) ^ whole;
	return (changed[0] | changed[1]) == 0;
}

static bool is_untouched(const char *block, size_t capacity) {
	return MW_UNLIKELY(mw_harden_is_whole)
		       ? is_untouched_whole(block, capacity)
		       : mw_harden_is_untouched(block) && mw_harden_is_wiped(block, capacity);
}

static bool has_slack(size_t capacity) {
	return capacity > MW_TINY_MAX_BYTES && capacity <= MW_SMALL_MAX_BYTES;
}

/* A large block has no seal, so that the closed page behind it begins as early as possible.  Its
 * page knows the requested bytes, and every byte behind these is a canary. */
static mw_page_t *large_page(const void *block, size_t capacity) {
	return capacity > MW_SMALL_MAX_BYTES && mw_word_kind((uintptr_t)block) == MW_MAP_CHUNK
		       ? mw_page_of_slice((uintptr_t)block)
		       : NULL;
}

/* No byte of the word is 0: the end of a string always shows. */
static uint64_t filler(const void *block) {
	return mw_harden_canary(mw_harden_mix(block)) | UINT64_MAX / 0xff;
}

/* Bytes up to the next multiple of 8, and at most up to the end. */
static size_t odd_bytes(const char *at, const char *end) {
	size_t odd = -(uintptr_t)at % sizeof(uint64_t);
	return odd < (size_t)(end - at) ? odd : (size_t)(end - at);
}

/* A large block ends with a kernel page, so its last part is a multiple of 8. */
static void seal_large(mw_page_t *page, char *block, size_t bytes) {
	page->large_asked_bytes = (uint32_t)bytes;
	uint64_t word = filler(block);
	char *at = block + bytes, *end = block + page->large_bytes;
	size_t odd = odd_bytes(at, end);
	memcpy(at, (char *)&word + ((uintptr_t)at & 7), odd);
	for (at += odd; at < end; at += sizeof word)
		mw_harden_store(at, word);
}

static bool is_large_sealed(const mw_page_t *page, const char *block) {
	uint64_t word = filler(block), changed = 0;
	const char *at = block + page->large_asked_bytes, *end = block + page->large_bytes;
	size_t odd = odd_bytes(at, end);
	if (memcmp(at, (char *)&word + ((uintptr_t)at & 7), odd) != 0)
		return false;
	for (at += odd; at < end; at += sizeof word)
		changed |= mw_harden_load(at) ^ word;
	return changed == 0;
}

static void seal(char *block, size_t capacity, size_t bytes, uint64_t canary) {
	mw_page_t *large = large_page(block, capacity);
	if (MW_UNLIKELY(large != NULL))
		seal_large(large, block, bytes);
	else if (has_slack(capacity))
		mw_harden_seal_slack(block, capacity, bytes, canary);
	else
		mw_harden_seal(block, capacity, bytes, canary);
}

/* Overwrites the seal of a block that becomes free. */
MW_ALWAYS_INLINE void unseal(char *block, size_t capacity, size_t bytes) {
	if (has_slack(capacity))
		mw_harden_store(block + bytes, MW_HARDEN_FILL);
	else
		mw_harden_unseal(block, capacity);
}

/* Ends the program: the block is not as seal() left it.  `bytes`: size read from the seal, or
 * MW_NO_CLAIM.  A free block has no seal, as unseal() overwrote it. */
static MW_COLD _Noreturn void bad_seal(const char *function, const void *block, size_t capacity,
				       size_t bytes) {
	const uint64_t *words = block;
	if (capacity <= MW_SMALL_MAX_BYTES &&
	    words[1] == mw_harden_tag(words[0], mw_harden_mix(block)))
		mw_misuse_double_free(function, block, mw_lookup_page(function, block));
	mw_misuse_past_end(function, block, capacity, bytes);
}

/* Returns the bytes that the program requested.  Ends the program when the block is free, was never
 * handed out, or was written past its end.  The seal alone tells whether the block is free, so the
 * block's first cache line is not fetched. */
static size_t check_seal(const char *function, const char *block, size_t capacity,
			 uint64_t canary) {
	const mw_page_t *large = large_page(block, capacity);
	if (MW_UNLIKELY(large != NULL)) {
		if (MW_UNLIKELY(!is_large_sealed(large, block)))
			bad_seal(function, block, capacity, large->large_asked_bytes);
		return large->large_asked_bytes;
	}
	if (has_slack(capacity)) {
		size_t bytes = mw_harden_asked_bytes(*mw_slack_of(block), capacity);
		uint64_t seal = mw_harden_seal_for(bytes, canary);
		if (MW_UNLIKELY(bytes == MW_NO_CLAIM))
			bad_seal(function, block, capacity, MW_NO_CLAIM);
		if (MW_UNLIKELY(!mw_harden_is_sealed_at(block + bytes,
							block + capacity - sizeof seal, seal)))
			bad_seal(function, block, capacity, bytes);
		return bytes;
	}
	uint64_t found = mw_harden_seal_of(block, capacity);
	uint64_t bytes = mw_harden_sealed_bytes(found, canary);
	if (MW_UNLIKELY(bytes > mw_harden_requested(capacity)))
		bad_seal(function, block, capacity, MW_NO_CLAIM);
	if (MW_UNLIKELY(!mw_harden_is_sealed(block, capacity, bytes, found)))
		bad_seal(function, block, capacity, bytes);
	return bytes;
}

/* Returns the capacity of a block that the heap has just made. */
MW_ALWAYS_INLINE size_t capacity_of(void *block) {
	/* The memory before a huge block belongs to no chunk and may hold anything. */
	if (MW_LIKELY(mw_address_kind((uintptr_t)block) == MW_MAP_CHUNK)) {
		const mw_page_t *page = mw_page_of_slice((uintptr_t)block);
		if (MW_LIKELY(page->kind == MW_PAGE_SMALL))
			return page->block_bytes;
	}
	return mw_lookup_bytes("malloc", block);
}

MW_ALWAYS_INLINE void *give_out(void *block, size_t capacity, size_t bytes) {
	if (MW_LIKELY(capacity <= MW_SMALL_MAX_BYTES)) {
		/* The block's link was checked when the block was taken from its list. */
		if (MW_UNLIKELY(!is_untouched(block, capacity)))
			mw_harden_bad_link(block);
		/* The program must not see link and tag. */
		mw_harden_store_fill(block);
	}
	seal(block, capacity, bytes, mw_harden_canary(mw_harden_mix(block)));
	return block;
}

void *mw_harden_give_out(void *block, size_t bytes) {
	/* A guarded block is neither sealed nor filled. */
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_GUARDED))
		return block;
	return give_out(block, capacity_of(block), bytes);
}

void *mw_harden_alloc_whole(size_t bytes) {
	if (MW_LIKELY(!mw_harden_is_whole))
		return NULL;
	size_t room = mw_harden_room(bytes);
	void *block = mw_fast_alloc(room);
	/* All blocks of a list have its class, so the page is not read. */
	return MW_LIKELY(block != NULL) ? give_out(block, mw_class_bytes[mw_class_of(room)], bytes)
					: NULL;
}

/* Returns the page if `block` is the start of a block of an ordinary one; else NULL. */
MW_ALWAYS_INLINE mw_page_t *ordinary_page(const void *block) {
	uintptr_t address = (uintptr_t)block;
	if (MW_UNLIKELY(mw_word_kind(address) != MW_MAP_CHUNK))
		return NULL;
	/* The chunk's own record is no page: its kind reads as none. */
	mw_page_t *page = mw_page_of_slice(address);
	return MW_LIKELY(page->kind == MW_PAGE_SMALL && mw_page_holds(page, block)) ? page : NULL;
}

/* Returns the bytes that the program requested.  Ends the program when the block is not live, or
 * was written past its end. */
static size_t check_any(const char *function, const void *block, size_t *capacity) {
	*capacity = mw_lookup_bytes(function, block);
	return check_seal(function, block, *capacity, mw_harden_canary(mw_harden_mix(block)));
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

bool mw_harden_make_room(mw_heap_t *heap) {
	bool any = mw_chunk_free_waiting(), blocks = false;
	for (unsigned i = 0; i < MW_QUARANTINE_PLACES; i++)
		blocks |= heap->harden.quarantine[i] != NULL;
	if (!blocks)
		return any;
	mw_harden_flush(&heap->harden);
	/* The tcache lists above tiny now hold blocks of the quarantine. */
	mw_heap_flush_tcache(heap);
	mw_heap_release_pages(heap);
	return true;
}

/* Frees NULL, large, huge and sampled blocks, and handles pointers that are not blocks. */
static MW_NOINLINE void free_special(const char *function, void *block, size_t bytes,
				     size_t align) {
	if (!block)
		return;
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_GUARDED)) {
		if (bytes != MW_NO_CLAIM || align != MW_NO_CLAIM) {
			size_t held_bytes = mw_guarded_usable_bytes(function, block);
			check_claims(function, block, held_bytes, held_bytes, bytes, align);
		}
		mw_heap_free_slow(block);
		return;
	}
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_EMPTY)) {
		check_claims(function, block, 0, 0, bytes, align);
		mw_harden_empty_free(function, block);
		return;
	}
	size_t capacity, asked_bytes = check_any(function, block, &capacity);
	check_claims(function, block, capacity, asked_bytes, bytes, align);
	if (capacity <= MW_SMALL_MAX_BYTES) {
		unseal(block, capacity, asked_bytes);
		mw_harden_fill_free(block, capacity);
	}
	/* No quarantine: a sample ends when its block is freed, not when it is reused. */
	mw_heap_free_slow(block);
}

/* Puts a checked block of an ordinary page into the quarantine. */
MW_ALWAYS_INLINE void retire(const mw_page_t *page, void *block, size_t asked_bytes) {
	mw_heap_t *heap = mw_thread.heap;
	unseal(block, page->block_bytes, asked_bytes);
	mw_harden_fill_free(block, page->block_bytes);
	mw_link_set(block, NULL);
	if (MW_LIKELY(heap != NULL)) {
		if (MW_UNLIKELY(!mw_thread.quick_heap))
			mw_heap_counts_freed(heap, page->block_bytes);
		mw_harden_release(mw_harden_swap(&heap->harden, block, page->block_bytes));
	} else {
		mw_heap_free_slow(block);
	}
}

static MW_NOINLINE void free_checked(const char *function, void *block, size_t bytes,
				     size_t align) {
	const mw_page_t *page = ordinary_page(block);
	if (MW_UNLIKELY(!page)) {
		free_special(function, block, bytes, align);
		return;
	}
	size_t capacity = page->block_bytes;
	uint64_t canary = mw_harden_canary(mw_harden_mix(block));
	size_t asked_bytes = check_seal(function, block, capacity, canary);
	check_claims(function, block, capacity, asked_bytes, bytes, align);
	retire(page, block, asked_bytes);
}

/* Size and alignment that the program claims for the block that it frees. */
typedef struct claims {
	size_t bytes, align; /* MW_NO_CLAIM: the program states none */
} claims_t;
static const claims_t no_claims = {MW_NO_CLAIM, MW_NO_CLAIM};

/* Frees a block above tiny of an ordinary page in the chunk.  False: a word of the block is wrong,
 * and nothing was done.  Needs no stack frame. */
MW_ALWAYS_INLINE bool free_above_tiny(char *block, uintptr_t chunk, size_t capacity,
				      claims_t claims) {
	uint64_t mix = mw_harden_mix(block);
	size_t asked_bytes =
		mw_harden_live_above_tiny(block, chunk, capacity, mw_harden_canary(mix));
	if (MW_UNLIKELY(asked_bytes == MW_NO_CLAIM) ||
	    MW_UNLIKELY(!mw_harden_claims_hold(block, asked_bytes, claims.bytes, claims.align)))
		return false;
	mw_harden_store(block + asked_bytes, MW_HARDEN_FILL);
	mw_harden_fill(block, capacity);
	mw_harden_link(block, NULL, mix);
	mw_harden_release(mw_harden_swap(&mw_thread.quick_heap->harden, block, capacity));
	return true;
}

/* Frees a tiny block of a full page or of another thread's page.  False: a word of the block is
 * wrong. */
MW_ALWAYS_INLINE bool free_tiny(char *block, const mw_page_t *page, claims_t claims) {
	mw_heap_t *heap = mw_thread.quick_heap;
	size_t capacity = page->block_bytes;
	uint64_t mix = mw_harden_mix(block);
	size_t asked_bytes = mw_harden_live_tiny(block, capacity, mw_harden_canary(mix));
	if (MW_UNLIKELY(asked_bytes == MW_NO_CLAIM) ||
	    MW_UNLIKELY(!mw_harden_claims_hold(block, asked_bytes, claims.bytes, claims.align)))
		return false;
	mw_harden_fill_tiny(block, capacity);
	mw_harden_link(block, NULL, mix);
	mw_harden_release(mw_harden_swap(&heap->harden, block, 0));
	return true;
}

/* Frees a block of a full page or of another thread's page.  False: a word of the block is wrong,
 * or its page is not an ordinary one. */
MW_ALWAYS_INLINE bool free_of_class(char *block, mw_place_in_chunk_t place, claims_t claims) {
	const mw_page_t *page = mw_fast_page(place);
	/* The chunk's own record is no page: its kind reads as none. */
	unsigned size_class = mw_page_tiny_class(page);
	if (MW_UNLIKELY(size_class >= MW_CLASS_COUNT) || MW_UNLIKELY(!mw_thread.quick_heap) ||
	    MW_UNLIKELY(mw_harden_is_whole) || MW_UNLIKELY((uintptr_t)block >> MW_ADDRESS_BITS))
		return false;
	return MW_LIKELY(size_class < MW_TINY_CLASSES)
		       ? free_tiny(block, page, claims)
		       : free_above_tiny(block, place.chunk, page->block_bytes, claims);
}

MW_ALWAYS_INLINE bool is_own_above_tiny(mw_place_in_chunk_t place) {
	uintptr_t owner = atomic_load_explicit(&mw_fast_entry(place)->owner, memory_order_relaxed);
	return owner == ((uintptr_t)__builtin_thread_pointer() | MW_OWNER_ABOVE_TINY);
}

static MW_NOINLINE void free_others(char *block, mw_place_in_chunk_t place) {
	if (MW_UNLIKELY(!free_of_class(block, place, no_claims)))
		mw_harden_free_outside(block);
}

void mw_harden_free_diverted(char *block, mw_place_in_chunk_t place) {
	if (!is_own_above_tiny(place))
		free_others(block, place);
	else if (MW_UNLIKELY(!free_above_tiny(block, place.chunk, mw_fast_list(place)->block_bytes,
					      no_claims)))
		mw_harden_free_outside(block);
}

void mw_harden_free_outside(char *block) {
	free_checked("free", block, MW_NO_CLAIM, MW_NO_CLAIM);
}

/* Most blocks that come here are above tiny, or of full pages or other threads' pages. */
void mw_harden_free_rest(const char *function, void *block, size_t bytes, size_t align) {
	mw_place_in_chunk_t place = mw_fast_place_of(block);
	claims_t claims = {bytes, align};
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) != MW_MAP_CHUNK) ||
	    MW_UNLIKELY(!free_of_class(block, place, claims)))
		free_checked(function, block, bytes, align);
}

static void *alloc(size_t bytes) {
	void *block = mw_harden_alloc_tiny(bytes);
	if (!block)
		block = mw_harden_alloc_above_tiny(bytes);
	if (MW_LIKELY(block != NULL))
		return block;
	block = mw_heap_alloc_slow(mw_harden_room(bytes));
	return block ? mw_harden_give_out(block, bytes) : NULL;
}

static void *resize_guarded(void *block, size_t bytes) {
	size_t held_bytes = mw_guarded_usable_bytes("realloc", block);
	if (bytes <= held_bytes && bytes >= held_bytes / 2)
		return block;
	void *moved = alloc(bytes);
	if (!moved)
		return bytes <= held_bytes ? block : NULL;
	memcpy(moved, block, held_bytes < bytes ? held_bytes : bytes);
	mw_heap_free_slow(block);
	return moved;
}

/* Moves a checked block to a block of another size. NULL: there is no memory, and the block cannot
 * stay where it is. */
static void *move(void *block, size_t capacity, size_t old_bytes, size_t bytes) {
	void *moved = alloc(bytes);
	if (MW_UNLIKELY(!moved)) {
		if (bytes >
		    (large_page(block, capacity) ? capacity : mw_harden_requested(capacity)))
			return NULL;
		/* A smaller size needs no memory: the block stays. */
		seal(block, capacity, bytes, mw_harden_canary(mw_harden_mix(block)));
		return block;
	}
	return memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
}

/* Resizes an ordinary block, the most common case. */
static void *resize_ordinary(mw_page_t *page, void *block, size_t bytes) {
	size_t capacity = page->block_bytes;
	uint64_t canary = mw_harden_canary(mw_harden_mix(block));
	size_t old_bytes = check_seal("realloc", block, capacity, canary);
	if (mw_heap_shrink_stays(capacity, mw_harden_room(bytes))) {
		seal(block, capacity, bytes, canary);
		return block;
	}
	void *moved = move(block, capacity, old_bytes, bytes);
	if (moved && moved != block)
		retire(page, block, old_bytes);
	return moved;
}

static void *resize_empty(void *block, size_t bytes) {
	mw_harden_empty_check("realloc", block);
	void *moved = alloc(bytes);
	if (moved)
		mw_harden_empty_free("realloc", block);
	return moved;
}

void *mw_harden_resize(void *block, size_t bytes) {
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_GUARDED))
		return resize_guarded(block, bytes);
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_EMPTY))
		return resize_empty(block, bytes);
	mw_page_t *page = ordinary_page(block);
	if (MW_LIKELY(page != NULL))
		return resize_ordinary(page, block, bytes);
	size_t capacity, old_bytes = check_any("realloc", block, &capacity);
	void *same = mw_heap_resize_in_place(block, mw_harden_room(bytes), &capacity);
	if (same) {
		size_t now = mw_lookup_bytes("realloc", same);
		seal(same, now, bytes, mw_harden_canary(mw_harden_mix(same)));
		return same;
	}
	void *moved = move(block, capacity, old_bytes, bytes);
	if (moved && moved != block)
		mw_harden_free_rest("realloc", block, MW_NO_CLAIM, MW_NO_CLAIM);
	return moved;
}

size_t mw_harden_usable_bytes(const void *block) {
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_GUARDED))
		return mw_guarded_usable_bytes("malloc_usable_size", block);
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_EMPTY)) {
		mw_harden_empty_check("malloc_usable_size", block);
		return 0;
	}
	size_t capacity;
	return check_any("malloc_usable_size", block, &capacity);
}
