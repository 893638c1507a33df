/* SPDX-License-Identifier: MIT
 * store.h -- the profile's tables in private memory, laid out exactly as the state file.
 * Layer: prof/store, the door of this folder. The profiler reads and decides by the private
 * tables; the published copy (published.h), the mapping of the state file, is only written.
 * Writes go to both copies through mw_both_t.
 *
 * The first entries of all sections lie in a few pages. Further entries lie in segments: a
 * section's first segment holds its first 64 KiB, each further one as much as all before it. A
 * segment is mapped when an entry in it is first taken. A segment never moves and is never
 * unmapped, so a pointer to an entry stays valid for the life of the process. All functions are
 * lock-free but mw_store_start(); errno is kept.
 *
 * Reading order: store, published, state_file (the file's name and lock), table_lock (who may
 * write), event_log (events and timeline), cleanup (files of killed processes), index (hash
 * index, private), count (counters in both copies). */
#ifndef MW_PROF_STORE_STORE_H
#define MW_PROF_STORE_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/compiler.h"
#include "prof/store/published.h"
#include "state/layout.h"

#define MW_STORE_NO_ENTRY UINT64_MAX

/* Pointers to an entry in the private tables and in the published copy. `published` is NULL if the
 * copy does not hold the entry. */
typedef struct mw_both {
	char *table;
	char *published;
} mw_both_t;

/* Reserves the tables; smaller ones if RLIMIT_AS or RLIMIT_FSIZE is set. Returns false if refused.
 * One thread at a time may call it. */
bool mw_store_start(void);
bool mw_store_exists(void);
mw_state_header_t *mw_store_header(void);
/* Address that byte 0 of the section would have if the whole section were mapped contiguously with
 * this segment; NULL: the segment is not mapped. Only store.c writes it. */
extern _Atomic(char *) mw_store_segments[MW_SECTION_COUNT][MW_STORE_SEGMENTS];
/* Address of the header and the first entries of each section, laid out as in the file. */
extern char *mw_store_firsts;
/* true: signal handlers take entries, too (src/cpu). Never reset. */
extern bool mw_store_has_handlers;

/* Returns the bytes of a segment, of which the section may use a part. */
uint64_t mw_store_segment_bytes(mw_state_section_id_t section, unsigned segment);

/* Returns the address of byte `start` of a section, where an entry begins that was reached
 * before. */
MW_ALWAYS_INLINE char *mw_store_at(mw_state_section_id_t section, uint64_t start) {
	if (start < mw_state_first_bytes(section))
		return mw_store_firsts + mw_state_first(section).offset_bytes + start;
	/* Relaxed: a thread that knows the entry's number got it from the thread that mapped the
	 * segment. */
	return atomic_load_explicit(&mw_store_segments[section][mw_store_segment_of(start)],
				    memory_order_relaxed) +
	       start;
}

/* For assertions: returns whether the section has room for an entry of this index. */
bool mw_store_has_room(mw_state_section_id_t section, uint64_t index);
/* Returns the first byte of an entry. The entry must be taken, or belong to a section without a
 * count; the index is not checked. */
MW_ALWAYS_INLINE void *mw_store_private(mw_state_section_id_t section, uint64_t index) {
	MW_ASSERT(mw_store_has_room(section, index));
	return mw_store_at(section, index * mw_state_stride(section));
}
static inline mw_state_live_t *mw_store_live(void) {
	return mw_store_private(MW_SECTION_LIVE, 0);
}
/* Returns the number of bytes in use, from the section's beginning. */
uint64_t mw_store_used_bytes(mw_state_section_id_t section);

/* Calls `see` for each address range of the tables. */
void mw_store_visit(void (*see)(uintptr_t start, uintptr_t limit));
/* Returns the bytes of address space that the tables take. */
uint64_t mw_store_mapped_bytes(void);

/* Makes the entry `index` usable. The published copy grows as well if the file system has room.
 * Returns false if the index exceeds the capacity or the kernel refused. */
bool mw_store_reach(mw_state_section_id_t section, uint64_t index);
/* Takes `count` neighbouring entries of a section that has a count in the live section. Returns the
 * index of the first, or MW_STORE_NO_ENTRY when the section is full. */
uint64_t mw_store_take(mw_state_section_id_t section, uint64_t count);
/* Returns an entry in both copies; the entry must be taken. `base`: result of mw_published_base(),
 * read once for several calls. */
MW_ALWAYS_INLINE mw_both_t mw_store_both_of(char *base, mw_state_section_id_t section,
					    uint64_t index) {
	uint64_t stride = mw_state_stride(section), start = index * stride;
	return (mw_both_t){.table = mw_store_at(section, start),
			   .published = mw_published_range_of(base, section, start, stride)};
}

MW_ALWAYS_INLINE mw_both_t mw_store_both(mw_state_section_id_t section, uint64_t index) {
	return mw_store_both_of(mw_published_base(), section, index);
}

/* MW_SECTION_LIVE in both copies; MW_LIVE() gives the offsets of its fields. */
static inline mw_both_t mw_store_live_both(void) {
	return mw_store_both(MW_SECTION_LIVE, 0);
}

/* Sets a MW_STATE_*_FULL, MW_STATE_ENDED or MW_STATE_QUIT bit. */
void mw_store_set_flag(uint32_t bit);
void mw_store_clear_flag(uint32_t bit);

/* The following functions write to both copies. Relaxed: readers of the file accept sums that are
 * off by one sample. Data that the library itself reads is ordered by other stores (depot slots,
 * free list). */
static inline void mw_both_add(mw_both_t both, size_t offset_bytes, int64_t delta) {
	atomic_fetch_add_explicit((_Atomic int64_t *)(void *)(both.table + offset_bytes), delta,
				  memory_order_relaxed);
	if (both.published)
		atomic_fetch_add_explicit(
			(_Atomic int64_t *)(void *)(both.published + offset_bytes), delta,
			memory_order_relaxed);
}

static inline void mw_both_set64(mw_both_t both, size_t offset_bytes, uint64_t value) {
	atomic_store_explicit((_Atomic uint64_t *)(void *)(both.table + offset_bytes), value,
			      memory_order_relaxed);
	if (both.published)
		atomic_store_explicit((_Atomic uint64_t *)(void *)(both.published + offset_bytes),
				      value, memory_order_relaxed);
}

static inline void mw_both_set32(mw_both_t both, size_t offset_bytes, uint32_t value) {
	atomic_store_explicit((_Atomic uint32_t *)(void *)(both.table + offset_bytes), value,
			      memory_order_relaxed);
	if (both.published)
		atomic_store_explicit((_Atomic uint32_t *)(void *)(both.published + offset_bytes),
				      value, memory_order_relaxed);
}

/* Prefetches both copies of an entry that is about to be read and written. */
static inline void mw_both_prefetch(mw_both_t both) {
	__builtin_prefetch(both.table, 1);
	__builtin_prefetch(both.published, 1);
}

void mw_both_copy(mw_both_t both, const void *bytes, size_t length);

/* Offset of a field of MW_SECTION_LIVE, and of a field of an entry of MW_SECTION_STACKS. */
#define MW_LIVE(field) offsetof(mw_state_live_t, field)
#define MW_STACK(field) offsetof(mw_state_stack_t, field)

#endif
