/* SPDX-License-Identifier: MIT
 * harden.c -- tags, canaries, fill, quarantine, lists that begin anywhere, and guarded chunks.
 * Part of libmallow_secure only (harden.h says what a block goes through). */
#include "heap/harden.h"

#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "heap/guarded.h"
#include "heap/harden_fast.h"
#include "heap/heap_page.h"
#include "heap/huge.h"
#include "heap/lookup.h"
#include "heap/misuse.h"
#include "heap/outbox.h"
#include "heap/queue.h"
#include "os/proc.h"

mw_harden_keys_t mw_harden_keys;

void mw_harden_start(void) {
	if (mw_harden_keys.multiplier)
		return;
	uint64_t seeds[2];
	mw_os_random(seeds, sizeof seeds);
	mw_rng_t rng;
	mw_rng_init(&rng, seeds[0]);
	mw_harden_keys.address = (mw_rng_next(&rng) ^ seeds[1]) | 1;
	mw_harden_keys.multiplier = mw_rng_next(&rng) | 1;
	mw_harden_keys.tag = mw_rng_next(&rng);
	mw_harden_keys.fresh = mw_harden_keys.tag ^ mw_harden_fold(MW_HARDEN_FILL, MW_HARDEN_FILL);
	mw_harden_keys.canary = (mw_rng_next(&rng) ^ seeds[1]) & ~(uint64_t)1;
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

void mw_harden_start_thread(mw_harden_thread_t *thread) {
	if (thread->random != 0) /* of a thread before */
		return;
	draw_below(&thread->random, 1);
	thread->place = (uint32_t)thread->random;
}

bool mw_harden_is_whole;

void mw_harden_fill_whole(bool whole) {
	mw_harden_is_whole = whole;
}

/* Unlike the other fill, so that mw_harden_alloc_tiny() leaves such blocks over. */
#define WHOLE_FILL 0xde

/* Of a free block, before it is linked: all that is not link and tag, or the first of it. */
static void fill(char *block, size_t capacity) {
	if (MW_UNLIKELY(mw_harden_is_whole))
		memset(block + 16, WHOLE_FILL, capacity - 16);
	else
		mw_harden_fill(block);
}

static MW_NOINLINE bool is_untouched_whole(const char *block, size_t capacity) {
	for (size_t i = 16; i < capacity; i++)
		if ((unsigned char)block[i] != WHOLE_FILL)
			return false;
	return true;
}

static bool is_untouched(const char *block, size_t capacity) {
	return MW_UNLIKELY(mw_harden_is_whole) ? is_untouched_whole(block, capacity)
					       : mw_harden_is_untouched(block);
}

/* From a random block upwards, around the end.  Not in any order: objects that a program made one
 * after another would lie apart, and walking over them would take three times as long (Python's
 * collector of cycles over 1.5 million objects). */
void *mw_harden_carve(mw_page_t *page, uint32_t index, uint32_t count, void *rest) {
	mw_harden_thread_t *thread = &mw_thread.heap->harden;
	uint32_t place = draw_below(&thread->random, count);
	size_t bytes = page->block_bytes;
	char *base = page->start + index * bytes, *end = base + count * bytes;
	char *first = base + place * bytes, *block = first;
	for (uint32_t i = 1; i < count; i++) {
		char *next = block + bytes == end ? base : block + bytes;
		fill(block, bytes);
		mw_link_set(block, next);
		block = next;
	}
	fill(block, bytes);
	mw_link_set(block, rest);
	thread->last_fresh = block;
	return first;
}

/* Ends a list after its first `count` blocks, and returns the last of these; *rest: the others. */
static void *split(void *list, uint32_t count, void **rest) {
	void *last = list;
	for (uint32_t i = 1; i < count; i++)
		last = mw_link_get(last);
	*rest = mw_link_get(last);
	mw_link_set(last, NULL);
	return last;
}

/* A page that has as many free ones stays where it is. */
#define LONG_BLOCKS (2 * MW_LIST_BLOCKS)

/* How many blocks must be freed after one before it may come back. */
MW_ALWAYS_INLINE uint32_t draw_held(mw_harden_thread_t *thread) {
	enum { FEWEST = 6, MORE_BITS = 3 };
	_Static_assert(FEWEST + (1 << MORE_BITS) <= MW_HARDEN_OUTBOX_MARGIN,
		       "a list that is taken is not empty");
	return FEWEST + (mw_harden_next_place(thread) >> (32 - MORE_BITS));
}

/* A page that has few left goes behind the others of its class: its blocks would come in short
 * lists, each half of what is left.  There it gathers more. */
static MW_NOINLINE uint32_t queue_behind(mw_page_t *page, uint32_t left) {
	mw_page_queue_t *queue = &mw_thread.heap->queues[page->size_class];
	mw_queue_remove(queue, page);
	mw_queue_append(queue, page);
	return left;
}

MW_ALWAYS_INLINE uint32_t queued(mw_page_t *page, uint32_t left) {
	return left < LONG_BLOCKS && page->next ? queue_behind(page, left) : left;
}

/* Of those that have waited since the page was here the last time the youngest stay as well: so
 * many. */
static MW_NOINLINE uint32_t hold_aged(mw_page_t *page, void **list, uint32_t stay, uint32_t held) {
	page->aged_blocks = stay;
	split(page->aged, stay, list);
	return queued(page, held);
}

/* The page's blocks are above tiny, fresh in part or as a whole, or none have waited. */
static MW_NOINLINE uint32_t hold_first(mw_page_t *page, void **list, uint32_t count,
				       uint32_t fresh) {
	if (fresh > 0 && fresh < count) {
		/* Fresh blocks come before what is free already. */
		*list = page->free;
		split(mw_thread.heap->harden.last_fresh, 1, &page->free);
		return count - fresh;
	}
	if (page->size_class >= MW_TINY_CLASSES || count < 2 || fresh == count) {
		*list = page->free ? page->free : page->aged;
		page->free = NULL;
		mw_harden_forget_aged(page);
		return 0;
	}
	uint32_t held = draw_held(&mw_thread.heap->harden);
	if (held > count / 2)
		held = count / 2;
	page->aged = page->free;
	page->free = NULL;
	return hold_aged(page, list, held, held);
}

/* The quarantine of tiny blocks that their owner frees.  Of what is free the younger half stays, up
 * to a number that nobody can tell, so that a block comes back only when that many were freed after
 * it, or its page has few others.  page->free has the block freed last at its front; what stayed
 * when the page was here the last time is apart, in page->aged, as all of page->free is younger: if
 * that is enough, no list need be walked.  No frame for that. */
uint32_t mw_harden_hold_back(mw_page_t *page, void **list, uint32_t count, uint32_t fresh) {
	void *aged = page->aged;
	if (!aged || MW_UNLIKELY(fresh > 0) || MW_UNLIKELY(count < 2))
		return hold_first(page, list, count, fresh);
	uint32_t held = draw_held(&mw_thread.heap->harden), young = count - page->aged_blocks;
	if (held > count / 2)
		held = count / 2;
	if (MW_UNLIKELY(young < held))
		return hold_aged(page, list, held - young, held);
	*list = aged;
	page->aged = page->free;
	page->aged_blocks = young;
	page->free = NULL;
	return queued(page, young);
}

/* The same of others' tiny blocks: what goes back to their threads has waited here. */
uint32_t mw_harden_hold_young(void **list, uint32_t count, void **held, void **last_held) {
	uint32_t stay = draw_held(&mw_thread.heap->harden);
	if (stay > count)
		stay = count;
	*held = *list;
	*last_held = split(*list, stay, list);
	return stay;
}

static bool has_slack(size_t capacity) {
	return capacity > MW_TINY_MAX_BYTES && capacity <= MW_SMALL_MAX_BYTES;
}

static void seal(char *block, size_t capacity, size_t bytes, uint64_t canary) {
	if (has_slack(capacity))
		mw_harden_seal_slack(block, capacity, bytes, canary);
	else
		mw_harden_seal(block, capacity, bytes, canary);
}

/* Of a block that becomes free. */
MW_ALWAYS_INLINE void unseal(char *block, size_t capacity, size_t bytes) {
	if (has_slack(capacity))
		mw_harden_store(block + bytes, MW_HARDEN_FILL);
	else
		mw_harden_unseal(block, capacity);
}

/* Of a block that is not as seal() left it; `bytes`: what is found of its size, or MW_NO_CLAIM.  A
 * free one has no seal: unseal() saw to that. */
static MW_COLD _Noreturn void bad_seal(const char *function, const void *block, size_t capacity,
				       size_t bytes) {
	const uint64_t *words = block;
	if (capacity <= MW_SMALL_MAX_BYTES &&
	    words[1] == mw_harden_tag(words[0], mw_harden_mix(block)))
		mw_misuse_double_free(function, block, mw_lookup_page(function, block));
	mw_misuse_past_end(function, block, capacity, bytes);
}

/* A live block's bytes that were asked for; ends the program when it is free, was never handed out,
 * or was written past its end.  Whether it is free, its seal alone tells: its first line need not
 * be fetched for that. */
static size_t check_seal(const char *function, const char *block, size_t capacity,
			 uint64_t canary) {
	if (has_slack(capacity)) {
		size_t bytes = mw_harden_requested(capacity) - *mw_slack_of(block);
		if (MW_UNLIKELY(bytes > capacity ||
				mw_harden_load(block + bytes) != mw_harden_seal_for(bytes, canary)))
			bad_seal(function, block, capacity, bytes);
		return bytes;
	}
	uint64_t found = mw_harden_seal_of(block, capacity);
	uint64_t bytes = mw_harden_sealed_bytes(found, canary);
	if (MW_UNLIKELY(bytes > mw_harden_requested(capacity)))
		bad_seal(function, block, capacity, MW_NO_CLAIM);
	if (MW_UNLIKELY(!mw_harden_is_sealed(block, bytes, found)))
		bad_seal(function, block, capacity, bytes);
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

MW_ALWAYS_INLINE void *give_out(void *block, size_t capacity, size_t bytes) {
	if (MW_LIKELY(capacity <= MW_SMALL_MAX_BYTES)) {
		/* Its link was looked at when it was taken from its list. */
		if (MW_UNLIKELY(!is_untouched(block, capacity)))
			mw_harden_bad_link(block);
		/* Neither link nor tag is the program's to see. */
		mw_harden_store_fill(block);
	}
	seal(block, capacity, bytes, mw_harden_canary(mw_harden_mix(block)));
	return block;
}

void *mw_harden_give_out(void *block, size_t bytes) {
	/* A guarded block has its own ways. */
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_GUARDED))
		return block;
	return give_out(block, capacity_of(block), bytes);
}

void *mw_harden_alloc_whole(size_t bytes) {
	if (MW_LIKELY(!mw_harden_is_whole))
		return NULL;
	size_t room = mw_harden_room(bytes);
	void *block = mw_fast_alloc(room);
	/* What is listed is of the class: its page need not be looked at. */
	return MW_LIKELY(block != NULL) ? give_out(block, mw_class_bytes[mw_class_of(room)], bytes)
					: NULL;
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

/* What the program asked for; ends it when the block is not live, or was written past its end. */
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

/* NULL, large, huge and sampled blocks; what is no block. */
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
	if (capacity <= MW_SMALL_MAX_BYTES) {
		unseal(block, capacity, asked_bytes);
		fill(block, capacity);
	}
	/* No quarantine: a sample ends when its block is freed, not when it is reused. */
	mw_heap_free_slow(block);
}

/* A block of an ordinary page that is as it must be. */
MW_ALWAYS_INLINE void retire(const mw_page_t *page, void *block, size_t asked_bytes) {
	mw_heap_t *heap = mw_thread.heap;
	unseal(block, page->block_bytes, asked_bytes);
	fill(block, page->block_bytes);
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

/* What the program claims of the block that it frees. */
typedef struct claims {
	size_t bytes, align; /* MW_NO_CLAIM: nothing */
} claims_t;
static const claims_t no_claims = {MW_NO_CLAIM, MW_NO_CLAIM};

/* A block above tiny, of an ordinary page in the chunk, if it is as it must be; false: nothing was
 * done.  No frame for these. */
MW_ALWAYS_INLINE bool free_above_tiny(char *block, uintptr_t chunk, size_t capacity,
				      claims_t claims) {
	uint64_t mix = mw_harden_mix(block);
	size_t asked_bytes = mw_harden_live_stack(block, chunk, capacity, mw_harden_canary(mix));
	if (MW_UNLIKELY(asked_bytes == MW_NO_CLAIM) ||
	    MW_UNLIKELY(!mw_harden_claims_hold(block, asked_bytes, claims.bytes, claims.align)))
		return false;
	mw_harden_store(block + asked_bytes, MW_HARDEN_FILL);
	mw_harden_fill(block);
	mw_harden_link(block, NULL, mix);
	mw_harden_release(mw_harden_swap(&mw_thread.quick_heap->harden, block, capacity));
	return true;
}

/* mw_outbox_add() of a block whose seal was right, and which so is not there already. */
MW_ALWAYS_INLINE void add_to_outbox(mw_heap_t *heap, unsigned size_class, char *block,
				    uint64_t mix) {
	mw_outbox_t *outbox = &heap->outbox[size_class];
	/* Computed once: gcc would do it again for each field. */
	__asm__("" : "+r"(outbox));
	if (MW_UNLIKELY(--outbox->room < 0)) {
		mw_outbox_add_slow(heap, size_class, block);
		return;
	}
	mw_harden_link(block, outbox->first, mix);
	outbox->first = block;
}

/* The same of a tiny one of a full page, or of another thread's. */
MW_ALWAYS_INLINE bool free_tiny(char *block, const mw_page_t *page, claims_t claims) {
	mw_heap_t *heap = mw_thread.quick_heap;
	size_t capacity = page->block_bytes;
	uint64_t mix = mw_harden_mix(block);
	size_t asked_bytes = mw_harden_live_tiny(block, capacity, mw_harden_canary(mix));
	if (MW_UNLIKELY(asked_bytes == MW_NO_CLAIM) ||
	    MW_UNLIKELY(!mw_harden_claims_hold(block, asked_bytes, claims.bytes, claims.align)))
		return false;
	mw_harden_unseal(block, capacity);
	mw_harden_fill(block);
	if (MW_LIKELY(atomic_load_explicit(&page->heap, memory_order_relaxed) != heap)) {
		/* No place of the quarantine: see mw_harden_hold_young(). */
		add_to_outbox(heap, page->size_class, block, mix);
	} else {
		mw_harden_link(block, NULL, mix);
		mw_harden_release(mw_harden_swap(&heap->harden, block, 0));
	}
	return true;
}

/* Of other threads' pages and full ones; false, as above, also for what is of no ordinary page. */
MW_ALWAYS_INLINE bool free_of_class(char *block, mw_place_in_chunk_t place, claims_t claims) {
	const mw_page_t *page = mw_fast_page(place);
	/* A chunk's own record is no page: its kind reads as none. */
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
	return owner == ((uintptr_t)__builtin_thread_pointer() | MW_OWNER_STACK);
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

/* Most are blocks of full pages, of other threads', and above tiny. */
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
		block = mw_harden_alloc_stack(bytes);
	if (MW_LIKELY(block != NULL))
		return block;
	block = mw_heap_alloc_slow(mw_harden_room(bytes));
	return block ? mw_harden_give_out(block, bytes) : NULL;
}

static void *resize_guarded(void *block, size_t bytes) {
	size_t held_bytes = mw_guarded_usable_bytes("realloc", block);
	if (mw_fast_keeps(held_bytes, bytes))
		return block;
	void *moved = alloc(bytes);
	if (!moved)
		return bytes <= held_bytes ? block : NULL;
	memcpy(moved, block, held_bytes < bytes ? held_bytes : bytes);
	mw_heap_free_slow(block);
	return moved;
}

/* Of a block that moves to a size that it was looked at for; NULL: no memory, and none to be
 * spared by leaving it. */
static void *move(void *block, size_t capacity, size_t old_bytes, size_t bytes) {
	void *moved = alloc(bytes);
	if (MW_UNLIKELY(!moved)) {
		if (mw_harden_room(bytes) > capacity)
			return NULL;
		/* A smaller size needs no memory: the block stays. */
		seal(block, capacity, bytes, mw_harden_canary(mw_harden_mix(block)));
		return block;
	}
	return memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
}

/* What most calls are about: an ordinary block. */
static void *resize_ordinary(mw_page_t *page, void *block, size_t bytes) {
	size_t capacity = page->block_bytes;
	uint64_t canary = mw_harden_canary(mw_harden_mix(block));
	size_t old_bytes = check_seal("realloc", block, capacity, canary);
	if (mw_fast_keeps(capacity, mw_harden_room(bytes))) {
		seal(block, capacity, bytes, canary);
		return block;
	}
	void *moved = move(block, capacity, old_bytes, bytes);
	if (moved && moved != block)
		retire(page, block, old_bytes);
	return moved;
}

void *mw_harden_resize(void *block, size_t bytes) {
	if (MW_UNLIKELY(mw_word_kind((uintptr_t)block) == MW_MAP_GUARDED))
		return resize_guarded(block, bytes);
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
	size_t metadata =
		mw_round_up(MW_SLACK_TABLE_OFFSET + MW_SLACK_TABLE_BYTES, MW_OS_PAGE_BYTES);
	mw_os_protect_none(chunk + metadata, MW_SLICE_BYTES - metadata);
	mw_os_protect_none(chunk + MW_CHUNK_BYTES - MW_SLICE_BYTES + MW_OS_PAGE_BYTES,
			   MW_SLICE_BYTES - MW_OS_PAGE_BYTES);
	return chunk;
}
