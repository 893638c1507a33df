/* SPDX-License-Identifier: MIT
 * page.h -- chunks, slices and pages: how the heap's memory is cut, and who owns what.
 * Layer: heap.
 *
 * A chunk is 4 MiB (two huge pages), aligned to its size, cut into 64 slices of 64 KiB.  Slice 0
 * holds the metadata: the chunk's own record, an mw_entry_t for each slice, and an mw_page_t for
 * each slice.  Slice 0's are never used, and read as no page's.  The chunk's number determines
 * where in slice 0 the entries and pages begin: at one offset for all chunks they would share few
 * sets of the processor's caches.  A page is the blocks of one size class that start in one slice,
 * or one large block with slices of its own.
 *
 * Run.  Where a slice does not hold a whole number of blocks without waste, a class's pages come in
 * runs of neighbours (mw_class_run_slices): a block may reach into the next slice, but belongs to
 * the page it starts in, so that free() finds its page as it finds any other.  Each page has its
 * own owner and lists; the slices of a run go back together.
 *
 * Owner word.  free() takes its fast path only when the owner word in the slice's entry is the
 * thread pointer of the calling thread.  Every other state of a page (full of tiny blocks, sampled,
 * large, listed) stores MW_OWNER_DIVERT, so that one compare sends them all to the slow path.  A
 * full page of blocks above 1 KiB keeps the owner word, because free() puts such blocks into the
 * thread cache.  The fast path does the same for blocks of all classes: it pushes them onto the
 * list that the entry names.  An entry is a quarter of a cache line: programs that free at random
 * have the entries of many pages in the first-level cache.
 *
 * Ownership of fields: `free`, `used`, `carved`, `next`, `prev`, `state` belong to the owning
 * thread; to the thread that clears the flag ABANDONED of a page without an owner; to the holder of
 * the class's sampled lock in a page of sampled blocks; to the holder of the chunk lock while the
 * slices are free.  Any thread may access `remote`. */
#ifndef MW_HEAP_PAGE_H
#define MW_HEAP_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/record.h"
#include "heap/layout/size_class.h"
#include "os/platform/arch.h"

#define MW_SLICE_SHIFT 16u
#define MW_SLICE_BYTES ((size_t)1 << MW_SLICE_SHIFT)
#define MW_CHUNK_SHIFT 22u
#define MW_CHUNK_BYTES ((size_t)1 << MW_CHUNK_SHIFT)
#define MW_CHUNK_SLICES (MW_CHUNK_BYTES / MW_SLICE_BYTES)
#define MW_PAGE_META_SHIFT 7u

typedef struct mw_heap mw_heap_t;

typedef enum mw_page_kind {
	MW_PAGE_NONE = 0, /* free slice, or never used */
	MW_PAGE_SMALL,    /* blocks of a class */
	MW_PAGE_LARGE,    /* one block */
	MW_PAGE_SAMPLED,  /* sampled blocks of a class and of smaller ones: heap/sample/sampled.h */
	MW_PAGE_INTERIOR, /* not the first slice of a large block or slab: see first_slice */
	MW_PAGE_FREED,    /* was LARGE: kept for the message of a double free */
} mw_page_kind_t;

typedef enum mw_page_state {
	MW_PAGE_QUEUED = 0, /* in its heap's queue of the class */
	MW_PAGE_FULL, /* without a free block: in no list; if of small blocks, without a thread */
	MW_PAGE_ABANDONED, /* without a thread, in the list of its class's pages with free blocks */
	MW_PAGE_LOOSE,     /* in no list */
} mw_page_state_t;

#define MW_OWNER_DIVERT ((uintptr_t)1)
/* Flag beside the thread pointer, whose low bits are 0, in the hardened library: a page of blocks
 * above tiny, which are freed in another way. */
#define MW_OWNER_ABOVE_TINY ((uintptr_t)4)

/* Flag beside the thread pointer of the thread that had the page last: a full page of tiny
 * blocks.  That thread takes the page back when it frees one of its blocks (heap/remote/remote.h).
 */
#define MW_OWNER_FULL ((uintptr_t)2)

/* The list that free() pushes onto: the free blocks of a tiny page, or a thread's tcache list
 * of a class above tiny. */
typedef struct mw_list {
	void *first;
	int32_t room;         /* pushes until free() takes the slow path: the page's `used`; for an
				 tcache list its room, and one */
	uint32_t block_bytes; /* of a tcache list, in the hardened library; a page has `carved`
				 in this place */
} mw_list_t;

/* Everything that the fast path of free() reads of a slice. */
typedef struct mw_entry {
	_Atomic uintptr_t owner; /* relaxed: only the owner's own value decides anything */
	mw_list_t *list;         /* read and written by the owner only */
} mw_entry_t;
/* Sample marks that fit into a page's second cache line. */
#define MW_PAGE_SAMPLE_MARKS 8u

typedef struct mw_page mw_page_t;
struct mw_page {
	/* First cache line: fields that seldom change, and fields that other threads read and
	 * change while the owner works on the second line. */
	char *start; /* first block; in a run not always the start of the slice */
	uint32_t capacity;
	uint32_t block_bytes; /* of the class; see large_bytes for large blocks */
	mw_page_t *next, *prev;
	_Atomic(mw_heap_t *) heap; /* NULL: no thread; only compared with the caller's heap */
	size_t large_bytes;        /* usable bytes of LARGE */
	union {
		struct {
			uint8_t size_class;
			uint8_t kind; /* mw_page_kind_t */
		};
		uint16_t kind_and_class; /* kind above: mw_page_tiny_class() */
	};
	uint8_t state;       /* mw_page_state_t */
	uint8_t slice_count; /* of a run in its first page, else of the page */
	uint8_t first_slice; /* index of the first slice of the run or large block */
	uint8_t run_idle; /* first page of a run: pages of the run without a block, under the lock
			     of the class's abandoned pages */
	bool is_retained; /* without a block, and kept in its queue: see mw_heap_page_emptied() */
	bool zeroed;      /* LARGE, and first page of a run: fresh from the kernel */
	_Atomic uint64_t remote; /* heap/layout/remote_word.h */
	/* Second cache line: fields that the owner's frees change, and fields that are seldom used.
	 */
	_Alignas(MW_CACHE_LINE_BYTES) union {
		struct {
			void *free;      /* list of free blocks, linked through their first word */
			uint32_t used;   /* blocks not in `free`: handed out, in a tcache list,
					    or in `remote` */
			uint32_t carved; /* blocks that were linked, less those in holes */
		};
		mw_list_t list; /* `free` and `used` as a list */
	};
	/* SMALL: the heap that has the page, or had it last; the heap's page count includes the
	 * page. Relaxed: a hint to all but the page's owner. */
	_Atomic(mw_heap_t *) last_heap;
	union {
		struct { /* LARGE */
			mw_record_id_t large_record;
			uint32_t large_asked_bytes; /* hardened library: bytes requested */
			bool is_guarded; /* hardened library: only the block can be accessed */
		};
		uint32_t sample_marks[MW_PAGE_SAMPLE_MARKS]; /* SAMPLED: see sampled.c */
		struct {                                     /* SMALL */
			void *aged; /* tiny, hardened library: a list of free blocks beside `free`,
				     * see mw_harden_hold_back() */
			uint32_t aged_blocks;
			uint32_t tiny_bytes;      /* tiny, hardened library: block_bytes */
			uint32_t used_at_abandon; /* `used` when the page lost its thread */
			uint16_t holes;  /* bit i: kernel page i of the slice is a hole, see holes.h
					  */
			bool is_between; /* blocks are on their way between `free` and holes */
		};
	};
};

typedef struct mw_chunk mw_chunk_t;
typedef struct mw_arena mw_arena_t;
struct mw_chunk {
	/* All fields are under the chunk lock, or the lock of the chunk's arena. */
	uint64_t free_mask;      /* bit i: slice i is free */
	uint64_t dirty_mask;     /* free slices that may hold pages of memory */
	uint64_t purge_due_ns;   /* 0: nothing to purge */
	mw_chunk_t *next, *prev; /* chunks with the same number of free slices */
	mw_chunk_t *purge_next;
	mw_chunk_t *all_next;
	bool purge_listed;
	bool never_purged; /* see os/memory/huge_pages.h */
	/* Bit h: the chunk's 2 MiB number h come as one huge page, of which no part was purged.
	 * Relaxed: carving reads it without the lock. */
	uint8_t huge_halves;
	uint8_t node;         /* of its memory; MW_OS_NUMA_ANY */
	uint8_t listed_under; /* number of free slices when the chunk was put into a list; 0: in
				 none */
	bool is_unmapped;     /* all but slice 0 is unmapped: see mw_chunk_unmap_free() */
	mw_arena_t *
		arena; /* arena that a program made (heap/arena/arena.h); NULL: memory of threads */
	/* Chunk of an arena: slices that may hold other bytes than zero. */
	uint64_t touched_mask;
	/* Chunk of an arena: slices that must be committed before use.  Other chunks, in the
	 * hardened library: free slices without access. */
	uint64_t decommitted_mask;
	uint8_t kind_before; /* value of its entry in mw_address_map before it became a chunk */
	bool muzzy_listed;
	/* Free slices that are not dirty but may hold memory.  Muzzy: the kernel takes the memory
	 * when it needs some.  Pinned, in an arena: the program's hooks purge nothing. */
	uint64_t muzzy_mask, pinned_mask;
	uint64_t muzzy_due_ns;
	mw_chunk_t *muzzy_next;
};

/* Offsets in slice 0: the chunk's record, a byte for each slice (mw_chunk_class()), an entry for
 * each slice, a page for each slice. */
#define MW_CHUNK_CLASSES_OFFSET 128u
#define MW_CHUNK_ENTRIES_OFFSET (MW_CHUNK_CLASSES_OFFSET + MW_CHUNK_SLICES)
#define MW_ENTRY_SHIFT 4u
#define MW_CHUNK_PAGES_OFFSET (MW_CHUNK_ENTRIES_OFFSET + (MW_CHUNK_SLICES << MW_ENTRY_SHIFT))
#define MW_CHUNK_META_BYTES (MW_CHUNK_PAGES_OFFSET + (MW_CHUNK_SLICES << MW_PAGE_META_SHIFT))
/* Entries and pages have MW_CHUNK_PLACES possible places each, one behind the other: the chunk's
 * number selects the place.  Pages of one place lie where entries of another would. */
#define MW_CHUNK_PLACES 4u
#define MW_CHUNK_META_END                                                                          \
	(MW_CHUNK_PAGES_OFFSET + MW_CHUNK_PLACES * (MW_CHUNK_SLICES << MW_PAGE_META_SHIFT))
#define MW_CHUNK_PLACE_MASK (MW_CHUNK_PLACES * MW_CHUNK_SLICES - 1)

_Static_assert(sizeof(mw_page_t) == 1u << MW_PAGE_META_SHIFT, "two cache lines a page");
_Static_assert(sizeof(mw_entry_t) == 1u << MW_ENTRY_SHIFT, "four slices a cache line");
_Static_assert(sizeof(mw_page_t) == 8 * sizeof(mw_entry_t), "mw_page_entry() divides by that");
_Static_assert(sizeof(mw_chunk_t) <= MW_CHUNK_CLASSES_OFFSET, "the chunk's record has room");
_Static_assert(MW_CHUNK_ENTRIES_OFFSET % MW_CACHE_LINE_BYTES == 0, "four entries a cache line");
_Static_assert(MW_CHUNK_META_END <= MW_SLICE_BYTES, "slice 0 holds the metadata");
_Static_assert(MW_CHUNK_SLICES *MW_SLICE_BYTES == MW_CHUNK_BYTES, "the chunk's number is next");
_Static_assert(offsetof(mw_page_t, used) == offsetof(mw_page_t, list.room) &&
		       offsetof(mw_page_t, free) == offsetof(mw_page_t, list.first),
	       "a page's list is its free blocks");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ &&
		       offsetof(mw_page_t, kind) == offsetof(mw_page_t, kind_and_class) + 1,
	       "the kind is the upper half of kind_and_class");

/* One byte for each 4 MiB of the address space; untouched parts are not resident.  Written
 * under the chunk or huge lock.  Read without a lock, by a plain load that folds into the compare:
 * a thread that holds a pointer into a chunk got the pointer after the byte was written. */
enum { MW_MAP_FOREIGN = 0, MW_MAP_CHUNK = 1, MW_MAP_HUGE = 2, MW_MAP_GUARDED = 3 };
/* Hardened library: addresses of blocks of 0 bytes (heap/harden/harden_empty.h). */
enum { MW_MAP_EMPTY = 4 };
#define MW_ADDRESS_BITS MW_OS_ADDRESS_BITS
extern uint8_t mw_address_map[(size_t)1 << (MW_ADDRESS_BITS - MW_CHUNK_SHIFT)];

MW_ALWAYS_INLINE unsigned mw_address_kind(uintptr_t address) {
	return mw_address_map[address >> MW_CHUNK_SHIFT];
}

/* The kind of any word: a wild pointer may hold a value that is no address. */
static inline unsigned mw_word_kind(uintptr_t word) {
	return word >> MW_ADDRESS_BITS ? MW_MAP_FOREIGN : mw_address_kind(word);
}

/* Returns the page of the slice that holds `address`.  One shift and one mask give the byte offset:
 * slice index times 128, and above it the chunk's place. */
static inline mw_page_t *mw_page_of_slice(uintptr_t address) {
	uintptr_t offset = (address >> (MW_SLICE_SHIFT - MW_PAGE_META_SHIFT)) &
			   (MW_CHUNK_PLACE_MASK << MW_PAGE_META_SHIFT);
	return (mw_page_t *)((address & ~(MW_CHUNK_BYTES - 1)) + MW_CHUNK_PAGES_OFFSET + offset);
}

static inline mw_chunk_t *mw_chunk_of(const void *address) {
	return (mw_chunk_t *)((uintptr_t)address & ~(MW_CHUNK_BYTES - 1));
}

/* Returns the page of a chunk's slice. */
static inline mw_page_t *mw_chunk_page(const mw_chunk_t *chunk, unsigned slice) {
	return mw_page_of_slice((uintptr_t)chunk) + slice;
}

/* Returns the class byte of the slice that holds `address`: 1 + size class for a page of tiny
 * blocks, else 0.  Written when a page is made and when it ends.  free() of another thread's block
 * reads it: one cache line serves a whole chunk. */
MW_ALWAYS_INLINE uint8_t *mw_chunk_class(uintptr_t chunk, uintptr_t address) {
	return (uint8_t *)(chunk + MW_CHUNK_CLASSES_OFFSET +
			   (address >> MW_SLICE_SHIFT) % MW_CHUNK_SLICES);
}

static inline unsigned mw_page_slice_index(const mw_page_t *page) {
	return (unsigned)(((uintptr_t)page - MW_CHUNK_PAGES_OFFSET) >> MW_PAGE_META_SHIFT) %
	       MW_CHUNK_SLICES;
}

/* Returns the entry of a page.  An entry is an eighth of a page in size, so its offset is an eighth
 * of the page's: few instructions, as this is inlined in many places. */
static inline mw_entry_t *mw_page_entry(const mw_page_t *page) {
	uintptr_t offset = (uintptr_t)page & (MW_CHUNK_BYTES - 1);
	return (mw_entry_t *)(((uintptr_t)page - offset) + offset / 8 +
			      (MW_CHUNK_ENTRIES_OFFSET - MW_CHUNK_PAGES_OFFSET / 8));
}

/* Returns the page of an entry. */
static inline mw_page_t *mw_entry_page(const mw_entry_t *entry) {
	uintptr_t offset = (uintptr_t)entry & (MW_CHUNK_BYTES - 1);
	return (mw_page_t *)(((uintptr_t)entry - offset) + (offset - MW_CHUNK_ENTRIES_OFFSET) * 8 +
			     MW_CHUNK_PAGES_OFFSET);
}

/* Slices of a huge page: the chunk has two. */
#define MW_HUGE_PAGE_SLICES (MW_CHUNK_SLICES / 2)

/* Returns whether the page lies in a huge page. */
static inline bool mw_page_is_in_huge_page(const mw_page_t *page) {
	unsigned halves = __atomic_load_n(&mw_chunk_of(page)->huge_halves, __ATOMIC_RELAXED);
	return halves >> mw_page_slice_index(page) / MW_HUGE_PAGE_SLICES & 1;
}

/* Returns the first page of the run or large block that the page is part of. */
static inline mw_page_t *mw_page_run(const mw_page_t *page) {
	return (mw_page_t *)(uintptr_t)page - mw_page_slice_index(page) + page->first_slice;
}

/* Returns the page of a large block, whichever of the block's slices `page` describes; any other
 * page as it is. */
static inline mw_page_t *mw_page_first(mw_page_t *page) {
	return page->kind == MW_PAGE_INTERIOR ? mw_page_run(page) : page;
}

/* Bytes in which blocks of the page ever lay.  Owner only. */
static inline size_t mw_page_touched_bytes(const mw_page_t *page) {
	return (size_t)page->carved * page->block_bytes;
}

/* Returns the size class of a page of tiny blocks; MW_TINY_CLASSES or more for any other page. */
static inline unsigned mw_page_tiny_class(const mw_page_t *page) {
	return page->kind_and_class - ((unsigned)MW_PAGE_SMALL << 8);
}

/* Returns whether `block` is the address of one of the page's blocks.  Not for large blocks. */
static inline bool mw_page_of_class_holds(const mw_page_t *page, unsigned size_class,
					  const void *block) {
	uint64_t reciprocal = mw_class_reciprocal[size_class];
	/* One multiplication divides by the block size.  The upper half is the block's number (one
	 * more at most, far from the page).  The lower half tells, within the page, whether there
	 * is a remainder. */
	unsigned __int128 product =
		(unsigned __int128)((uintptr_t)block - (uintptr_t)page->start) * reciprocal;
	return (uint64_t)product < reciprocal && (uint64_t)(product >> 64) < page->capacity;
}

static inline bool mw_page_holds(const mw_page_t *page, const void *block) {
	return mw_page_of_class_holds(page, page->size_class, block);
}

static inline void mw_page_set_class_byte(const mw_page_t *page, uint8_t value) {
	uintptr_t chunk = (uintptr_t)mw_chunk_of(page);
	*mw_chunk_class(chunk, (uintptr_t)mw_page_slice_index(page) << MW_SLICE_SHIFT) = value;
}

/* Sends frees of the page's blocks to the slow path from now on.  No inline function: it is called
 * in many places. */
void mw_page_divert(mw_page_t *page);

#endif
