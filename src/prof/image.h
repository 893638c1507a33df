/* SPDX-License-Identifier: MIT
 * image.h -- the profile's tables in private memory, laid out exactly as the state file.
 * Layer: prof.  The image is what the profiler works on and decides by; mirror.h's mapping of the
 * state file only receives.  Writes go to both through a "twin".
 *
 * Each section has a window in the address space: small at first, widened fourfold when it is
 * three quarters full, up to the capacity that the file has from the start.  Windows are reserved
 * without permission, and so without any charge, and opened step by step as entries are taken.
 * All entry points are lock-free but for mw_image_start() and mw_image_widen(); errno is kept. */
#ifndef MW_PROF_IMAGE_H
#define MW_PROF_IMAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/compiler.h"
#include "prof/mirror.h"
#include "state/layout.h"

#define MW_IMAGE_NO_ENTRY UINT64_MAX

/* One entry in the image and in the mirror; mirror is NULL when it is not mirrored. */
typedef struct mw_twin {
	char *image;
	char *mirror;
} mw_twin_t;

/* Reserves the image, smaller where RLIMIT_AS or RLIMIT_FSIZE ask for it.  False: refused.  One
 * caller at a time. */
bool mw_image_start(void);
bool mw_image_exists(void);
mw_state_header_t *mw_image_header(void);
/* Where each section begins, but for its first entries; written by image.c alone, of the growing
 * ones with the gate closed. */
extern char *mw_image_windows[MW_SECTION_COUNT];
/* The header and, as the file has them, the first entries of each section. */
extern char *mw_image_firsts;

/* Byte `start` of a section, where an entry begins. */
MW_ALWAYS_INLINE char *mw_image_at(mw_state_section_id_t section, uint64_t start) {
	return (start < mw_state_first_bytes(section)
			? mw_image_firsts + mw_state_first(section).offset_bytes
			: mw_image_windows[section]) +
	       start;
}

/* For assertions: the section has room for an entry of this index. */
bool mw_image_has_room(mw_state_section_id_t section, uint64_t index);
/* First byte of an entry, which must be taken (or in a section without a count): the index is
 * believed. */
static inline void *mw_image_entry(mw_state_section_id_t section, uint64_t index) {
	MW_ASSERT(mw_image_has_room(section, index));
	return mw_image_at(section, index * mw_state_stride(section));
}
static inline mw_state_live_t *mw_image_live(void) {
	return mw_image_entry(MW_SECTION_LIVE, 0);
}
/* Bytes of a section that are in use, from its beginning. */
uint64_t mw_image_used_bytes(mw_state_section_id_t section);

/* The parts that never grow (header, control, live, events, timeline) lie together at the start. */
uint64_t mw_image_fixed_bytes(void);
bool mw_image_is_growing(mw_state_section_id_t section);
uint64_t mw_image_window_bytes(mw_state_section_id_t section);
/* Has its window any memory?  Not while it has first entries only. */
bool mw_image_is_open(mw_state_section_id_t section);
/* True when a section should be widened soon. */
extern _Atomic bool mw_image_widening_wanted;
MW_ALWAYS_INLINE bool mw_image_wants_widening(void) {
	return atomic_load_explicit(&mw_image_widening_wanted, memory_order_relaxed);
}
/* Widens the sections that are nearly full, and the mirror with them.  The caller holds the control
 * lock, and the gate is closed: entries move. */
void mw_image_widen(void);

/* Keeps all entries where they are until mw_image_release(), so that they can be read outside of
 * the gate; widening waits meanwhile.  False: they are being moved right now.  Any number at a
 * time; async-signal-safe. */
bool mw_image_hold(void);
void mw_image_release(void);
/* In the child of a fork: who held it did not come over. */
void mw_image_forked(void);

/* Makes entries up to `index` usable; the mirror grows along as far as its file system lets it.
 * False: beyond the window, or refused by the kernel. */
bool mw_image_reach(mw_state_section_id_t section, uint64_t index);
/* Takes `count` neighbouring entries (of modules, stacks, frames, records or lives); the first
 * one's index, or MW_IMAGE_NO_ENTRY when the section is full. */
uint64_t mw_image_take(mw_state_section_id_t section, uint64_t count);
/* An entry's two sides; likewise.  `base`: mw_mirror_base(), for who needs several. */
MW_ALWAYS_INLINE mw_twin_t mw_image_twin_of(char *base, mw_state_section_id_t section,
					    uint64_t index) {
	uint64_t stride = mw_state_stride(section), start = index * stride;
	return (mw_twin_t){.image = mw_image_at(section, start),
			   .mirror = mw_mirror_range_of(base, section, start, stride)};
}

static inline mw_twin_t mw_image_twin(mw_state_section_id_t section, uint64_t index) {
	return mw_image_twin_of(mw_mirror_base(), section, index);
}

/* The live section's twin: its fields are addressed by MW_LIVE(). */
static inline mw_twin_t mw_image_live_twin(void) {
	return mw_image_twin(MW_SECTION_LIVE, 0);
}

/* Sets a MW_STATE_*_FULL (or _ENDED, or _LEFT) bit. */
void mw_image_set_flag(uint32_t bit);
/* In the child of a fork, before it has a mirror. */
void mw_image_clear_flag(uint32_t bit);

/* Writes to both sides.  Relaxed: readers of the file live with torn sums of one sample, and what
 * the library reads back is ordered by its own publications (depot slots, free list). */
static inline void mw_twin_add(mw_twin_t twin, size_t offset_bytes, int64_t delta) {
	atomic_fetch_add_explicit((_Atomic int64_t *)(void *)(twin.image + offset_bytes), delta,
				  memory_order_relaxed);
	if (twin.mirror)
		atomic_fetch_add_explicit((_Atomic int64_t *)(void *)(twin.mirror + offset_bytes),
					  delta, memory_order_relaxed);
}

static inline void mw_twin_set64(mw_twin_t twin, size_t offset_bytes, uint64_t value) {
	atomic_store_explicit((_Atomic uint64_t *)(void *)(twin.image + offset_bytes), value,
			      memory_order_relaxed);
	if (twin.mirror)
		atomic_store_explicit((_Atomic uint64_t *)(void *)(twin.mirror + offset_bytes),
				      value, memory_order_relaxed);
}

static inline void mw_twin_set32(mw_twin_t twin, size_t offset_bytes, uint32_t value) {
	atomic_store_explicit((_Atomic uint32_t *)(void *)(twin.image + offset_bytes), value,
			      memory_order_relaxed);
	if (twin.mirror)
		atomic_store_explicit((_Atomic uint32_t *)(void *)(twin.mirror + offset_bytes),
				      value, memory_order_relaxed);
}

/* Both sides of an entry that is about to be read and written. */
static inline void mw_twin_prefetch(mw_twin_t twin) {
	__builtin_prefetch(twin.image, 1);
	__builtin_prefetch(twin.mirror, 1);
}

void mw_twin_copy(mw_twin_t twin, const void *bytes, size_t length);

/* Where a field is, for what takes an offset: of MW_SECTION_LIVE and of an entry of
 * MW_SECTION_STACKS. */
#define MW_LIVE(field) offsetof(mw_state_live_t, field)
#define MW_STACK(field) offsetof(mw_state_stack_t, field)

#endif
