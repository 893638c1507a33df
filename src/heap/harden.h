/* SPDX-License-Identifier: MIT
 * harden.h -- every point where the hardened library (libmallow_secure) does more than the plain
 * one. Layer: heap.  This header and harden_fast.h are the only ones that know of both: without
 * MW_HARDENED the hooks are what the plain library does there, or nothing.  Design:
 * doc/adr/0011-hardened-build.md.
 *
 * Life of a block of up to 64 KiB in the hardened library.  While it is free its first word is the
 * encoded link and its second a tag, both made of its address and secrets of the process; the rest
 * of its first bytes is filled.  mw_harden_give_out() checks tag and fill, puts a canary right
 * behind the bytes that were asked for, and keeps their number, encoded, in the last word of the
 * block.  mw_harden_free() checks both, fills, tags, and puts the block into the thread's
 * quarantine; what that displaces is freed as in the plain library.  Larger blocks have canary and
 * last word; that they are freed already their page or table knows. */
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

/* A block of mw_harden_room(bytes) that the heap made, as the program gets it. */
void *mw_harden_give_out(void *block, size_t bytes) __attribute__((returns_nonnull));
/* Ends the program when `block` is not live, was written past its end, or differs from what the
 * program claims.  NULL is fine. */
void mw_harden_free(const char *function, void *block, size_t bytes, size_t align);
/* The same after mw_harden_free_block() did nothing. */
void mw_harden_free_rest(const char *function, void *block, size_t bytes, size_t align);
/* mw_heap_resize(), with the same checks. */
void *mw_harden_resize(void *block, size_t bytes);
/* What the program asked for: all it may use. */
size_t mw_harden_usable_bytes(const void *block);

#ifdef MW_HARDENED

enum { MW_HARDEN_ON = 1 };

/* Drawn at the start of the process, never 0 afterwards. */
typedef struct mw_harden_keys {
	_Alignas(MW_CACHE_LINE_BYTES) uint64_t address;
	uint64_t multiplier, tag, canary;
} mw_harden_keys_t;
extern mw_harden_keys_t mw_harden_keys;

/* Places of the quarantine: by size, so that what waits in it is at most 448 KiB. */
#define MW_QUARANTINE_SHORT 64u /* tiny blocks: up to 1 KiB */
#define MW_QUARANTINE_SMALL 16u /* up to 8 KiB */
#define MW_QUARANTINE_MEDIUM 4u /* up to 64 KiB */
#define MW_QUARANTINE_SMALL_BYTES 8192u
#define MW_QUARANTINE_PLACES (MW_QUARANTINE_SHORT + MW_QUARANTINE_SMALL + MW_QUARANTINE_MEDIUM)
typedef struct mw_harden_thread {
	uint64_t random; /* state of the generator; 0: not seeded yet */
	uint32_t place;  /* the same for places of the quarantine; seeded with the other */
	void *quarantine[MW_QUARANTINE_PLACES];
} mw_harden_thread_t;

/* Slice 0 is the chunk's metadata; the last one a guard here. */
#define MW_HARDEN_USABLE_SLICES (~(uint64_t)1 & ~((uint64_t)1 << (MW_CHUNK_SLICES - 1)))

MW_COLD _Noreturn void mw_harden_bad_link(const void *block);

/* Two secrets and the address; the multiplication spreads each bit of the sum upwards, the shift
 * brings the upper half down. */
static inline uint64_t mw_harden_mix(const void *block) {
	uint64_t mixed = ((uintptr_t)block ^ mw_harden_keys.address) * mw_harden_keys.multiplier;
	return mixed ^ mixed >> 32;
}

/* Whether a decoded link may be an address of ours, or NULL. */
static inline bool mw_link_is_block(uint64_t next) {
	return (next & ~(((uint64_t)1 << MW_ADDRESS_BITS) - MW_BLOCK_ALIGN)) == 0;
}

/* The next of a list of free blocks.  A link that was written over decodes to 64 random bits, which
 * are an aligned address once in 2^21. */
static inline void *mw_link_get(const void *block) {
	uint64_t next = *(const uint64_t *)block ^ mw_harden_mix(block);
	if (MW_UNLIKELY(!mw_link_is_block(next)))
		mw_harden_bad_link(block);
	return (void *)next;
}

static inline void mw_link_set(void *block, const void *next) {
	*(uint64_t *)block = (uintptr_t)next ^ mw_harden_mix(block);
}

/* What the heap is asked for so that the program gets `bytes`; and back. */
static inline size_t mw_harden_room(size_t bytes) {
	return bytes <= PTRDIFF_MAX ? bytes + sizeof(uint64_t) : bytes;
}
static inline size_t mw_harden_requested(size_t room) {
	return room - sizeof(uint64_t);
}

/* Links `count` blocks of the page, from the one of this index on, into a list before `rest`. */
void *mw_harden_carve(mw_page_t *page, uint32_t index, uint32_t count, void *rest);
/* Draws the secrets, once; under the heaps lock. */
void mw_harden_start(void);
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

static inline size_t mw_harden_room(size_t bytes) {
	return bytes;
}

static inline size_t mw_harden_requested(size_t room) {
	return room;
}

static inline void *mw_harden_carve(mw_page_t *page, uint32_t index, uint32_t count, void *rest) {
	char *first = page->start + (size_t)index * page->block_bytes, *block = first;
	for (uint32_t i = 1; i < count; i++, block += page->block_bytes)
		mw_link_set(block, block + page->block_bytes);
	mw_link_set(block, rest);
	return first;
}

static inline void mw_harden_start(void) {
}

static inline void mw_harden_flush(mw_harden_thread_t *thread) {
	(void)thread;
}

static inline void *mw_harden_map_chunk(void) {
	return mw_os_map_aligned(MW_CHUNK_BYTES, MW_CHUNK_BYTES);
}

#endif

#endif
