/* SPDX-License-Identifier: MIT
 * published.h -- the published copy: the shared mapping of the state file, written and never
 * read back.
 * Layer: prof/store. Blocks of the file are reserved before they are touched. When the file
 * system has no more, the copy stops growing (MW_STATE_FILE_FULL) and the profile goes on in the
 * private tables alone, until mw_published_complete() succeeds. The mapping's address lies in a
 * page that the kernel wipes in the child of any fork, also of one without the library's handlers:
 * a child cannot write into its parent's file. Segments are those of store.h; a mapped segment
 * never moves. */
#ifndef MW_PROF_STORE_PUBLISHED_H
#define MW_PROF_STORE_PUBLISHED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "state/layout.h"

/* A file that was just created and is empty. `path`: NULL if the file has no name. */
typedef struct mw_published_file {
	int file;
	const char *path;
	uint64_t device, inode; /* of the file at the path, to recognise it */
} mw_published_file_t;

/* Sizes, maps and fills the file from the private tables, with the magic last, and publishes it.
 * From then on writes go to both copies. The caller holds the control lock. `freeze` and `thaw` are
 * called before and after copying; no thread may write to the tables in between. */
mw_result_t mw_published_attach(const mw_published_file_t *target, void (*freeze)(void),
				void (*thaw)(void));
/* Returns whether the file system refused blocks, so that the copy does not grow. */
bool mw_published_is_full(void);
/* Copies what a full file system did not take, if it has room now. From then on the copy grows
 * again, and MW_STATE_FILE_FULL is cleared. Returns false if there is still too little room. As for
 * mw_published_attach(). */
bool mw_published_complete(void (*freeze)(void), void (*thaw)(void));
/* Returns whether the file was cut or its pages were taken: a write into the copy raised SIGBUS,
 * and there is no copy since. */
bool mw_published_is_lost(void);
/* Forgets a lost copy, so that another file can be attached. Its addresses stay mapped, because a
 * thread may still hold one. As for mw_published_attach(). */
void mw_published_abandon(void (*freeze)(void), void (*thaw)(void));
/* Called in the child of a fork: unmaps the parent's file. */
void mw_published_drop(void);
/* Called in a copy of the process that works for it: writes to the process's file, whose mapping
 * `base` is (mw_published_base() before the copy was made). */
void mw_published_reopen(char *base);

/* Makes the first `bytes` of a section writable, if the file system has room. */
void mw_published_reach(mw_state_section_id_t section, uint64_t bytes);
/* Segment 0 holds the bytes of a section below 1 << MW_STORE_SEGMENT_LOG2. Segment k > 0 begins at
 * 1 << (MW_STORE_SEGMENT_LOG2 + k - 1) and holds that many bytes. The size of entries divides that
 * of a segment. */
#define MW_STORE_SEGMENT_LOG2 16u
#define MW_STORE_SEGMENTS 14u
/* Returns the segment that contains byte `start` of a section. */
MW_ALWAYS_INLINE unsigned mw_store_segment_of(uint64_t start) {
	return 63u - (unsigned)__builtin_clzll(start >> (MW_STORE_SEGMENT_LOG2 - 1) | 1);
}

static inline uint64_t mw_store_segment_start(unsigned segment) {
	return segment == 0 ? 0 : (uint64_t)1 << (MW_STORE_SEGMENT_LOG2 + segment - 1);
}

/* Lies in the page that the kernel wipes in a forked child. */
typedef struct mw_published_cell {
	_Atomic(char *) base; /* NULL: there is no published copy, or the copy is the parent's */
} mw_published_cell_t;

/* Read by the functions below several times per sample; only published.c writes it. */
typedef struct mw_published_view {
	_Atomic(mw_published_cell_t *) cell; /* never NULL */
	_Atomic(char *) mapping; /* start of the mapping while there is a copy; a forked child still
				    knows it */
	/* as mw_store_segments */
	_Atomic(char *) segments[MW_SECTION_COUNT][MW_STORE_SEGMENTS];
	/* For each section the number of bytes, from its beginning, that can be written. */
	_Atomic uint64_t present_bytes[MW_SECTION_COUNT];
} mw_published_view_t;

extern mw_published_view_t mw_published_view;

MW_ALWAYS_INLINE char *mw_published_base(void) {
	/* Both loads pair with the releases in publish(). */
	mw_published_cell_t *cell =
		atomic_load_explicit(&mw_published_view.cell, memory_order_acquire);
	return atomic_load_explicit(&cell->base, memory_order_acquire);
}

static inline bool mw_published_exists(void) {
	return mw_published_base() != NULL;
}

/* Returns true in a child that was forked without the library's handlers. */
static inline bool mw_published_was_wiped(void) {
	/* Most processes have a base, which answers the question alone. */
	return MW_UNLIKELY(!mw_published_base()) &&
	       atomic_load_explicit(&mw_published_view.mapping, memory_order_acquire) &&
	       !mw_published_base();
}

/* Returns the address of an entry's `bytes` at `start` of a section; NULL: the copy does not hold
 * them. `base`: result of mw_published_base(), read once for several calls. */
MW_ALWAYS_INLINE char *mw_published_range_of(char *base, mw_state_section_id_t section,
					     uint64_t start, uint64_t bytes) {
	if (!base)
		return NULL;
	/* The first entries are always present. */
	if (start < mw_state_first_bytes(section))
		return base + mw_state_first(section).offset_bytes + start;
	/* Pairs with the release in grow(). */
	if (atomic_load_explicit(&mw_published_view.present_bytes[section], memory_order_acquire) <
	    start + bytes)
		return NULL;
	return atomic_load_explicit(
		       &mw_published_view.segments[section][mw_store_segment_of(start)],
		       memory_order_relaxed) +
	       start;
}

static inline char *mw_published_range(mw_state_section_id_t section, uint64_t start,
				       uint64_t bytes) {
	return mw_published_range_of(mw_published_base(), section, start, bytes);
}

#endif
