/* SPDX-License-Identifier: MIT
 * harden.h -- every point where the hardened library (libmallow_secure) does more than the plain
 * one. Layer: heap.  This header, harden_fast.h and MW_CLASS_LEAST of size_class.h are all that
 * knows of both: without MW_HARDENED the hooks are what the plain library does there, or nothing.
 * Design: doc/adr/0011-hardened-build.md.
 *
 * Life of a block of up to 64 KiB in the hardened library.  While it is free its first word is the
 * encoded link and its second a tag that goes with it, both made of its address and secrets of the
 * process; the next 16 bytes are filled.  malloc() checks link, tag and fill, and seals the block:
 * it puts a canary right behind the bytes that were asked for and keeps their number, encoded, in
 * the last word of the block, above tiny in a table.  free() checks both, unseals, fills and links.
 * A tiny block goes to its page's list, the younger part of which is held back when it is handed
 * out (mw_harden_hold_back()); another thread's goes to the outbox, where the younger
 * ones stay, too (mw_harden_hold_young()); what its owner cannot push there at once, and what is
 * larger, goes to the thread's quarantine, and what that displaces is freed as in the plain
 * library.  Larger blocks have canary and last word; that they are freed already their page or
 * table knows. */
#ifndef MW_HEAP_HARDEN_H
#define MW_HEAP_HARDEN_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/page.h"
#include "os/map.h"

/* For the size or alignment of a free() that names none. */
#define MW_NO_CLAIM SIZE_MAX

/* What the faces of the API call in the hardened library; see MW_HARDEN_ON below. */

/* malloc() of small sizes where blocks are filled as a whole; NULL: they are not, or the list of
 * free blocks is empty. */
void *mw_harden_alloc_whole(size_t bytes);
/* A block of mw_harden_room(bytes) that the heap made, as the program gets it. */
void *mw_harden_give_out(void *block, size_t bytes) __attribute__((returns_nonnull));
/* Ends the program when `block` is not live, was written past its end, or differs from what the
 * program claims.  NULL is fine.  What mw_harden_free_claimed() leaves over. */
void mw_harden_free_rest(const char *function, void *block, size_t bytes, size_t align);
/* mw_heap_resize(), with the same checks. */
void *mw_harden_resize(void *block, size_t bytes);
/* What the program asked for: all it may use. */
size_t mw_harden_usable_bytes(const void *block);

#ifdef MW_HARDENED

enum { MW_HARDEN_ON = 1 };

/* Drawn at the start of the process.  `address` and `multiplier` are odd, `canary` is even. Hidden:
 * its address would be loaded first, an instruction in each malloc() and free(). */
typedef struct mw_harden_keys {
	_Alignas(MW_CACHE_LINE_BYTES) uint64_t address;
	uint64_t multiplier, tag, canary;
	uint64_t fresh; /* the tag's with a fill: see harden_fast.h */
} mw_harden_keys_t;
extern __attribute__((visibility("hidden"))) mw_harden_keys_t mw_harden_keys;

/* Places of the quarantine: by size, so that what waits in it is at most 448 KiB. */
#define MW_QUARANTINE_SHORT 64u /* tiny blocks: up to 1 KiB */
#define MW_QUARANTINE_SMALL 16u /* up to 8 KiB */
#define MW_QUARANTINE_MEDIUM 4u /* up to 64 KiB */
#define MW_QUARANTINE_SMALL_BYTES 8192u
#define MW_QUARANTINE_PLACES (MW_QUARANTINE_SHORT + MW_QUARANTINE_SMALL + MW_QUARANTINE_MEDIUM)
typedef struct mw_harden_thread {
	uint64_t random;  /* state of the generator; 0: not seeded yet */
	uint32_t place;   /* the same for what waits in quarantine; seeded with the other */
	void *last_fresh; /* of the list carved last */
	void *quarantine[MW_QUARANTINE_PLACES];
} mw_harden_thread_t;

/* Slice 0 is the chunk's metadata; the last one, but for its first page, a guard here. */
#define MW_HARDEN_USABLE_SLICES (~(uint64_t)1 & ~((uint64_t)1 << (MW_CHUNK_SLICES - 1)))

MW_COLD _Noreturn void mw_harden_bad_link(const void *block);

/* Two secrets and the address: odd, as the multiplier is and no block's address. */
static inline uint64_t mw_harden_mix(const void *block) {
	return ((uintptr_t)block ^ mw_harden_keys.address) * mw_harden_keys.multiplier;
}

/* The second word of a free block, which goes with the first.  A sum, where the link is encoded by
 * exclusive or: what the two words have in common does not cancel out. */
static inline uint64_t mw_harden_tag(uint64_t word, uint64_t mix) {
	return (word ^ mw_harden_keys.tag) + mix;
}

/* The next of a list of free blocks.  Whatever is written over a link, its tag tells. */
static inline void *mw_link_get(const void *block) {
	const uint64_t *words = block;
	uint64_t mix = mw_harden_mix(block);
	if (MW_UNLIKELY(words[1] != mw_harden_tag(words[0], mix)))
		mw_harden_bad_link(block);
	return (void *)(words[0] ^ mix);
}

static inline void mw_harden_link(void *block, const void *next, uint64_t mix) {
	uint64_t *words = block, word = (uintptr_t)next ^ mix;
	words[0] = word;
	words[1] = mw_harden_tag(word, mix);
}

static inline void mw_link_set(void *block, const void *next) {
	mw_harden_link(block, next, mw_harden_mix(block));
}

/* What the heap is asked for so that the program gets `bytes`; and back. */
static inline size_t mw_harden_room(size_t bytes) {
	return bytes <= PTRDIFF_MAX ? bytes + sizeof(uint64_t) : bytes;
}
static inline size_t mw_harden_requested(size_t room) {
	return room - sizeof(uint64_t);
}

/* Before the first block: blocks of up to 64 KiB are filled and looked at as a whole.  The fast
 * paths of tiny blocks are left out then: no page says that it is the thread's own, and the fill is
 * another. */
void mw_harden_fill_whole(bool whole);
extern bool mw_harden_is_whole;
static inline bool mw_harden_has_fast_paths(void) {
	return !mw_harden_is_whole;
}

/* Links `count` blocks of the page, from the one of this index on, into a list before `rest`. */
void *mw_harden_carve(mw_page_t *page, uint32_t index, uint32_t count, void *rest);
/* The page's free blocks, `count` of them, are about to be handed out, `fresh` new ones first:
 * those that must wait stay in page->free and page->aged; returns how many, and in *list the
 * others.  The page is the first of its queue, and perhaps the last afterwards. */
uint32_t mw_harden_hold_back(mw_page_t *page, void **list, uint32_t count, uint32_t fresh);
/* The page's free blocks that are not in page->free. */
static inline void *mw_harden_aged(const mw_page_t *page) {
	return page->aged;
}
static inline void mw_harden_forget_aged(mw_page_t *page) {
	page->aged = NULL;
	page->aged_blocks = 0;
}
/* A page that begins: what free() needs of it stands beside its list. */
static inline void mw_harden_start_page(mw_page_t *page) {
	if (page->size_class < MW_TINY_CLASSES)
		page->tiny_bytes = page->block_bytes;
}
/* free() will push blocks of so many bytes onto this list head above tiny. */
static inline void mw_harden_start_stack(mw_list_t *stack, uint32_t block_bytes) {
	stack->block_bytes = block_bytes;
}
/* Of a list of others' blocks that the calling thread freed, `count` of them, the youngest first:
 * a number that nobody can tell stays, all that there are or below MW_HARDEN_OUTBOX_MARGIN. Returns
 * it; *held and *last_held: those, if any, and *list the others. */
uint32_t mw_harden_hold_young(void **list, uint32_t count, void **held, void **last_held);
/* So much longer outboxes are, for that the lists that leave them be as long as the plain
 * library's. */
#define MW_HARDEN_OUTBOX_MARGIN 14u
/* Draws the secrets, once; under the heaps lock. */
void mw_harden_start(void);
/* A thread gets a heap, with this in it: its draws start anywhere. */
void mw_harden_start_thread(mw_harden_thread_t *thread);
/* Frees what the thread's quarantine holds. */
void mw_harden_flush(mw_harden_thread_t *thread);
/* MW_CHUNK_BYTES, aligned to them, somewhere, its guards in place; NULL: no memory. */
void *mw_harden_map_chunk(void);

#else

enum { MW_HARDEN_ON = 0 };

typedef struct mw_harden_thread {
} mw_harden_thread_t;

/* Slice 0 is the chunk's metadata. */
#define MW_HARDEN_USABLE_SLICES (~(uint64_t)1)

static inline void *mw_link_get(const void *block) {
	return *(void *const *)block;
}

static inline void mw_link_set(void *block, void *next) {
	*(void **)block = next;
}

static inline void mw_harden_fill_whole(bool whole) {
	(void)whole;
}

static inline bool mw_harden_has_fast_paths(void) {
	return true;
}

static inline size_t mw_harden_room(size_t bytes) {
	return bytes;
}

static inline size_t mw_harden_requested(size_t room) {
	return room;
}

static inline void *mw_harden_carve(mw_page_t *page, uint32_t index, uint32_t count, void *rest) {
	/* Read once: for all that the compiler knows, a link might change it. */
	size_t block_bytes = page->block_bytes;
	char *first = page->start + index * block_bytes, *block = first;
	for (char *last = first + (count - 1) * block_bytes; block != last; block += block_bytes)
		mw_link_set(block, block + block_bytes);
	mw_link_set(block, rest);
	return first;
}

static inline uint32_t mw_harden_hold_back(mw_page_t *page, void **list, uint32_t count,
					   uint32_t fresh) {
	(void)count, (void)fresh;
	*list = page->free;
	page->free = NULL;
	return 0;
}

static inline void *mw_harden_aged(const mw_page_t *page) {
	(void)page;
	return NULL;
}

static inline void mw_harden_forget_aged(mw_page_t *page) {
	(void)page;
}

static inline void mw_harden_start_page(mw_page_t *page) {
	(void)page;
}

static inline void mw_harden_start_stack(mw_list_t *stack, uint32_t block_bytes) {
	(void)stack, (void)block_bytes;
}

#define MW_HARDEN_OUTBOX_MARGIN 0u
static inline uint32_t mw_harden_hold_young(void **list, uint32_t count, void **held,
					    void **last_held) {
	(void)list, (void)count, (void)last_held;
	*held = NULL;
	return 0;
}

static inline void mw_harden_start(void) {
}

static inline void mw_harden_start_thread(mw_harden_thread_t *thread) {
	(void)thread;
}

static inline void mw_harden_flush(mw_harden_thread_t *thread) {
	(void)thread;
}

static inline void *mw_harden_map_chunk(void) {
	return mw_os_map_aligned(MW_CHUNK_BYTES, MW_CHUNK_BYTES);
}

#endif

#endif
