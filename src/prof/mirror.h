/* SPDX-License-Identifier: MIT
 * mirror.h -- the shared mapping of the state file: written, never read back.
 * Layer: prof.  Its blocks are reserved before they are touched; when the file system has no more,
 * the mirror stops growing (MW_STATE_FILE_FULL) and the profile goes on in the image alone.  The
 * mapping's address lies in a page that the kernel wipes in the child of any fork, also one made
 * without the library's handlers: a child cannot write into its parent's file. */
#ifndef MW_PROF_MIRROR_H
#define MW_PROF_MIRROR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "state/layout.h"

/* A file that was just created and is still empty.  `path` is NULL for one without a name. */
typedef struct mw_mirror_file {
	int file;
	const char *path;
	uint64_t device, inode; /* of the path, to know it again */
} mw_mirror_file_t;

/* Sizes, maps and fills the file from the image, its magic last, and publishes it: from then on
 * twins have a second side.  The caller holds the control lock; `freeze` and `thaw` are called
 * around the copying, during which nobody may write to the image. */
mw_result_t mw_mirror_attach(const mw_mirror_file_t *target, void (*freeze)(void),
			     void (*thaw)(void));
/* In the child of a fork: lets go of the parent's file. */
void mw_mirror_drop(void);

/* Makes the first `bytes` of a section writable, if the file system agrees. */
void mw_mirror_reach(mw_state_section_id_t section, uint64_t bytes);
/* Widens a section's window with the image's; with the gate closed. */
void mw_mirror_widen(mw_state_section_id_t section, uint64_t bytes);
/* In the page that is wiped by a fork. */
typedef struct mw_mirror_cell {
	_Atomic(char *) base; /* NULL: no mirror, or not this process's */
} mw_mirror_cell_t;

/* What the functions below look at, several times a sample; written by mirror.c alone. */
typedef struct mw_mirror_view {
	_Atomic(mw_mirror_cell_t *) cell; /* never NULL */
	_Atomic(char *) mapping;          /* while attached; still known after a fork */
	/* Of each section; those of the growing ones are mappings of their own. */
	char *windows[MW_SECTION_COUNT];
	_Atomic uint64_t present_bytes[MW_SECTION_COUNT];
} mw_mirror_view_t;

extern mw_mirror_view_t mw_mirror_view;

MW_ALWAYS_INLINE char *mw_mirror_base(void) {
	/* Both pair with the releases in publish(). */
	mw_mirror_cell_t *cell = atomic_load_explicit(&mw_mirror_view.cell, memory_order_acquire);
	return atomic_load_explicit(&cell->base, memory_order_acquire);
}

static inline bool mw_mirror_exists(void) {
	return mw_mirror_base() != NULL;
}

/* True in a child that was forked without the library's handlers. */
static inline bool mw_mirror_was_wiped(void) {
	return atomic_load_explicit(&mw_mirror_view.mapping, memory_order_acquire) &&
	       !mw_mirror_base();
}

/* `bytes` at `start` of a section; NULL when they are not mirrored.  `base`: mw_mirror_base(), for
 * who needs several. */
static inline char *mw_mirror_range_of(char *base, mw_state_section_id_t section, uint64_t start,
				       uint64_t bytes) {
	if (!base)
		return NULL;
	/* Present from the beginning. */
	if (start < mw_state_first_bytes(section))
		return base + mw_state_first(section).offset_bytes + start;
	/* Pairs with the release in grow(). */
	if (atomic_load_explicit(&mw_mirror_view.present_bytes[section], memory_order_acquire) <
	    start + bytes)
		return NULL;
	return mw_mirror_view.windows[section] + start;
}

static inline char *mw_mirror_range(mw_state_section_id_t section, uint64_t start, uint64_t bytes) {
	return mw_mirror_range_of(mw_mirror_base(), section, start, bytes);
}

#endif
