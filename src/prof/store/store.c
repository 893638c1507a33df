/* SPDX-License-Identifier: MIT
 * store.c -- capacities and segments of the profile's tables. */
#include "prof/store/store.h"

#include <string.h>

#include "base/bits.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/memory/map.h"
#include "os/platform/single.h"
#include "prof/store/published.h"
#include "state/stats.h"

/* Capacities of the file.  Exact mode on real programs: a compiler or an interpreter has a million
 * live blocks (2^22 leaves room for a server), and some 10^4 stacks of 30 frames each, which
 * share most of them. */
#define RECORDS_LOG2 22
#define STACKS_LOG2 17
#define NODES_LOG2 22
#define FRAMES_LOG2 20
/* Most stacks allocate objects of one size, which takes no entry of this section. */
#define SIZES_LOG2 19
#define MODULES_LOG2 12
/* Each entry has the name of one thread; the oldest entries are overwritten. */
#define THREADS 1024u
/* Size classes of a heap walk; there are 45. Address ranges: a heap of 4 TiB in one piece is one
 * range, and each huge block is one. */
#define CLASSES 64u
#define RANGES 1024u
#define TICKS 4096u
/* A stack has an entry for each thread that ran it. */
#define CPU_LOG2 17
#define LEAKS_LOG2 20
/* Chunks of a heap of 64 GiB. */
#define CHUNKS_LOG2 14
#define EVENTS 512u
/* Interpreted functions on sampled stacks: a large program has 10^5 functions, of which one in ten
 * is on one. Their names and files take 60 bytes each on average. */
#define FUNCTIONS_LOG2 16
#define TEXTS_LOG2 20
/* Each step halves the tables. Modules, which are few, stop at 2^8. */
#define SHIFT_MAX 10u
#define MODULES_SHIFT_MAX 4u
/* Private tables and published copy together take at most this share of RLIMIT_AS, because the
 * limit is meant for the program. */
#define ADDRESS_SPACE_SHARE 16u

_Atomic(char *) mw_store_segments[MW_SECTION_COUNT][MW_STORE_SEGMENTS];
char *mw_store_firsts;
bool mw_store_has_handlers;

static struct {
	_Atomic(char *) base; /* address of the header and the first entries */
	uint64_t file_bytes;
	mw_state_section_t sections[MW_SECTION_COUNT]; /* written before `base` */
	_Atomic uint64_t mapped_bytes;
} store;

/* The sections in the file's order: smallest first. */
static const mw_state_section_id_t file_order[MW_SECTION_COUNT] = {
	MW_SECTION_CONTROL, MW_SECTION_LIVE,      MW_SECTION_EVENTS,     MW_SECTION_TIMELINE,
	MW_SECTION_THREADS, MW_SECTION_CLASSES,   MW_SECTION_RANGES,     MW_SECTION_MODULES,
	MW_SECTION_STACKS,  MW_SECTION_NODES,     MW_SECTION_FRAMES,     MW_SECTION_LIFETIMES,
	MW_SECTION_SIZES,   MW_SECTION_CPU,       MW_SECTION_LEAK_CHECK, MW_SECTION_LEAKS,
	MW_SECTION_CHUNKS,  MW_SECTION_FUNCTIONS, MW_SECTION_TEXTS,      MW_SECTION_RECORDS,
};

/* Offset in the live section of the number of entries of each section; 0: not counted there. */
static const uint16_t used_offset[MW_SECTION_COUNT] = {
	[MW_SECTION_MODULES] = MW_LIVE(modules_used),
	[MW_SECTION_STACKS] = MW_LIVE(stacks_used),
	[MW_SECTION_NODES] = MW_LIVE(nodes_used),
	[MW_SECTION_FRAMES] = MW_LIVE(frames_used),
	[MW_SECTION_RECORDS] = MW_LIVE(records_used),
	[MW_SECTION_LIFETIMES] = MW_LIVE(lifetimes_used),
	[MW_SECTION_SIZES] = MW_LIVE(sizes_used),
	[MW_SECTION_CPU] = MW_LIVE(cpu_used),
	[MW_SECTION_FUNCTIONS] = MW_LIVE(functions_used),
	[MW_SECTION_TEXTS] = MW_LIVE(texts_used),
};

/* Returns the bytes of the pages that a section has for itself, with room for the first entries,
 * which is not used; 0: it has no such pages. */
static uint64_t whole_bytes(mw_state_section_id_t section) {
	const mw_state_section_t *s = &store.sections[section];
	if (s->capacity <= mw_state_first(section).entries)
		return 0;
	return mw_round_up(s->capacity * s->stride_bytes, MW_STATE_ALIGN_BYTES);
}

static void lay_out(unsigned shift) {
	unsigned modules_shift = shift < MODULES_SHIFT_MAX ? shift : MODULES_SHIFT_MAX;
	const uint64_t capacities[MW_SECTION_COUNT] = {
		[MW_SECTION_CONTROL] = 1,
		[MW_SECTION_LIVE] = 1,
		[MW_SECTION_MODULES] = (uint64_t)1 << (MODULES_LOG2 - modules_shift),
		[MW_SECTION_STACKS] = (uint64_t)1 << (STACKS_LOG2 - shift),
		[MW_SECTION_NODES] = (uint64_t)1 << (NODES_LOG2 - shift),
		[MW_SECTION_FRAMES] = (uint64_t)1 << (FRAMES_LOG2 - shift),
		[MW_SECTION_RECORDS] = (uint64_t)1 << (RECORDS_LOG2 - shift),
		[MW_SECTION_LIFETIMES] = (uint64_t)1 << (STACKS_LOG2 - shift),
		[MW_SECTION_SIZES] = (uint64_t)1 << (SIZES_LOG2 - shift),
		[MW_SECTION_CPU] = (uint64_t)1 << (CPU_LOG2 - shift),
		[MW_SECTION_LEAK_CHECK] = 1,
		[MW_SECTION_LEAKS] = (uint64_t)1 << (LEAKS_LOG2 - shift),
		[MW_SECTION_CHUNKS] = (uint64_t)1 << (CHUNKS_LOG2 - shift),
		[MW_SECTION_FUNCTIONS] = (uint64_t)1 << (FUNCTIONS_LOG2 - shift),
		[MW_SECTION_TEXTS] = (uint64_t)1 << (TEXTS_LOG2 - shift),
		[MW_SECTION_THREADS] = THREADS,
		[MW_SECTION_CLASSES] = CLASSES,
		[MW_SECTION_RANGES] = RANGES,
		[MW_SECTION_TIMELINE] = TICKS,
		[MW_SECTION_EVENTS] = EVENTS,
	};
	uint64_t offset = mw_round_up(MW_STATE_FIRSTS_BYTES, MW_STATE_ALIGN_BYTES);
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		mw_state_section_id_t id = file_order[i];
		mw_state_first_t first = mw_state_first(id);
		store.sections[id] =
			(mw_state_section_t){.offset_bytes = offset,
					     .capacity = capacities[id],
					     .stride_bytes = (uint32_t)mw_state_stride(id),
					     .first_entries = first.entries,
					     .first_offset_bytes = first.offset_bytes};
		if (whole_bytes(id) == 0) {
			store.sections[id].offset_bytes = first.offset_bytes;
			store.sections[id].first_entries = 0;
		}
		offset += whole_bytes(id);
	}
	store.file_bytes = offset;
}

/* Returns the most address space for the private tables; the published copy may take as much. */
static uint64_t address_space_budget(void) {
	uint64_t limit = mw_os_address_space_limit();
	return limit == UINT64_MAX ? UINT64_MAX : limit / ADDRESS_SPACE_SHARE / 2;
}

uint64_t mw_store_segment_bytes(mw_state_section_id_t section, unsigned segment) {
	uint64_t start = mw_store_segment_start(segment), whole = whole_bytes(section);
	uint64_t bytes = (uint64_t)1 << (MW_STORE_SEGMENT_LOG2 + (segment ? segment - 1 : 0));
	return whole <= start ? 0 : whole - start < bytes ? whole - start : bytes;
}

/* Counts bytes that are about to be mapped. Returns false if the tables would exceed their
 * budget. */
static bool is_within_budget(uint64_t bytes) {
	uint64_t mapped =
		atomic_fetch_add_explicit(&store.mapped_bytes, bytes, memory_order_relaxed) + bytes;
	if (mapped <= address_space_budget())
		return true;
	atomic_fetch_sub_explicit(&store.mapped_bytes, bytes, memory_order_relaxed);
	return false;
}

/* Maps memory, readable and writable. It is not resident until it is written. NULL: refused. */
static char *map(uint64_t bytes) {
	char *base = mw_os_reserve(-1, 0, bytes);
	if (!base || mw_os_open_range(base, bytes))
		return base;
	mw_os_unmap(base, bytes);
	return NULL;
}

static MW_COLD bool make_segment(mw_state_section_id_t section, unsigned segment) {
	uint64_t bytes = mw_store_segment_bytes(section, segment);
	if (!is_within_budget(bytes))
		return false;
	char *base = map(bytes), *others = NULL;
	bool is_first = base && atomic_compare_exchange_strong_explicit(
					/* Pairs with the acquire in mw_store_reach(). */
					&mw_store_segments[section][segment], &others,
					base - mw_store_segment_start(segment),
					memory_order_release, memory_order_relaxed);
	if (is_first)
		return true;
	atomic_fetch_sub_explicit(&store.mapped_bytes, bytes, memory_order_relaxed);
	if (base)
		mw_os_unmap(base, bytes); /* no other thread knows the mapping */
	return base != NULL;
}

static void fill_header(char *base) {
	mw_state_header_t *header = (mw_state_header_t *)(void *)base;
	header->layout_version = MW_STATE_VERSION;
	header->header_bytes = sizeof *header;
	header->file_bytes = store.file_bytes;
	header->section_count = MW_SECTION_COUNT;
	memcpy(header->sections, store.sections, sizeof store.sections);
	mw_state_live_t *live = mw_store_live();
	/* Entry 0 of stacks means "unknown", entry 0 of the other sections "none". It is never
	 * taken. */
	atomic_store_explicit(&live->stacks_used, 1, memory_order_relaxed);
	atomic_store_explicit(&live->nodes_used, 1, memory_order_relaxed);
	atomic_store_explicit(&live->frames_used, 1, memory_order_relaxed);
	atomic_store_explicit(&live->records_used, 1, memory_order_relaxed);
	atomic_store_explicit(&live->lifetimes_used, 1, memory_order_relaxed);
	atomic_store_explicit(&live->sizes_used, 1, memory_order_relaxed);
	live->stat_count = MW_STAT_COUNT;
}

bool mw_store_start(void) {
	uint64_t file_limit = mw_os_file_size_limit();
	unsigned shift = 0;
	do
		lay_out(shift);
	while (store.file_bytes > file_limit && shift++ < SHIFT_MAX);
	char *base = is_within_budget(MW_STATE_FIRSTS_BYTES) ? map(MW_STATE_FIRSTS_BYTES) : NULL;
	if (!base)
		return false;
	mw_store_firsts = base;
	fill_header(base);
	/* Pairs with the acquire in base_of(). */
	atomic_store_explicit(&store.base, base, memory_order_release);
	return true;
}

static char *base_of(void) {
	/* Pairs with the release in mw_store_start(). */
	return atomic_load_explicit(&store.base, memory_order_acquire);
}

bool mw_store_exists(void) {
	return base_of() != NULL;
}

mw_state_header_t *mw_store_header(void) {
	return (mw_state_header_t *)(void *)base_of();
}

uint64_t mw_store_mapped_bytes(void) {
	return atomic_load_explicit(&store.mapped_bytes, memory_order_relaxed);
}

void mw_store_visit(void (*see)(uintptr_t start, uintptr_t limit)) {
	uintptr_t start = (uintptr_t)mw_store_firsts;
	see(start, start + MW_STATE_FIRSTS_BYTES);
	/* Each word is less than a segment's start, by what the segments before it hold: it may be
	 * any address. */
	see((uintptr_t)mw_store_segments, (uintptr_t)mw_store_segments + sizeof mw_store_segments);
	for (int i = 0; i < MW_SECTION_COUNT; i++)
		for (unsigned k = 0; k < MW_STORE_SEGMENTS; k++) {
			start = (uintptr_t)atomic_load_explicit(&mw_store_segments[i][k],
								memory_order_relaxed);
			if (start == 0)
				continue;
			start += mw_store_segment_start(k);
			see(start, start + mw_store_segment_bytes((mw_state_section_id_t)i, k));
		}
}

/* ---- entries ---- */

/* Returns the number of entries in use, for a section whose counter may exceed its capacity. */
static uint64_t capped_entries(mw_state_section_id_t section, const _Atomic uint64_t *written) {
	uint64_t count = atomic_load_explicit(written, memory_order_relaxed);
	uint64_t capacity = store.sections[section].capacity;
	return count < capacity ? count : capacity;
}

static _Atomic uint64_t *used_counter(mw_state_section_id_t section) {
	return (_Atomic uint64_t *)(void *)((char *)mw_store_live() + used_offset[section]);
}

bool mw_store_has_room(mw_state_section_id_t section, uint64_t index) {
	return index < store.sections[section].capacity;
}

uint64_t mw_store_used_bytes(mw_state_section_id_t section) {
	uint64_t entries = store.sections[section].capacity;
	/* Acquire: pairs with the release in mw_store_take(). */
	if (used_offset[section])
		entries = atomic_load_explicit(used_counter(section), memory_order_acquire);
	else if (section == MW_SECTION_TIMELINE)
		entries =
			atomic_load_explicit(&mw_store_live()->ticks_written, memory_order_relaxed);
	else if (section == MW_SECTION_EVENTS)
		entries = capped_entries(section, &mw_store_live()->events_written);
	else if (section == MW_SECTION_THREADS)
		entries = capped_entries(section, &mw_store_live()->threads_written);
	else if (section == MW_SECTION_CLASSES)
		entries = capped_entries(section, &mw_store_live()->classes_used);
	else if (section == MW_SECTION_RANGES)
		entries = capped_entries(section, &mw_store_live()->ranges_used);
	else if (section == MW_SECTION_LEAK_CHECK || section == MW_SECTION_LEAKS ||
		 section == MW_SECTION_CHUNKS)
		entries = 0; /* in the file only */
	return entries * mw_state_stride(section);
}

bool mw_store_reach(mw_state_section_id_t section, uint64_t index) {
	uint64_t stride = mw_state_stride(section), start = index * stride;
	if (start < mw_state_first_bytes(section))
		return true;
	if (!mw_store_has_room(section, index))
		return false;
	unsigned segment = mw_store_segment_of(start);
	/* Pairs with the release in make_segment(). */
	if (MW_UNLIKELY(!atomic_load_explicit(&mw_store_segments[section][segment],
					      memory_order_acquire)) &&
	    !make_segment(section, segment))
		return false;
	mw_published_reach(section, start + stride);
	return true;
}

/* Counts in the published copy. The private counter is first + count already. */
static void count_in_published(_Atomic uint64_t *used, uint64_t first, uint64_t count, bool alone) {
	if (alone)
		atomic_store_explicit(used, first + count, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(used, count, memory_order_relaxed);
}

uint64_t mw_store_take(mw_state_section_id_t section, uint64_t count) {
	_Atomic uint64_t *used = used_counter(section);
	uint64_t first = atomic_load_explicit(used, memory_order_relaxed);
	/* In a process with one thread the counter is raised without a locked instruction, which
	 * would wait for all earlier stores. A signal handler in between would take the same
	 * entries. */
	bool alone = mw_os_is_single_threaded() && !mw_store_has_handlers;
	do
		if (!mw_store_reach(section, first + count - 1))
			return MW_STORE_NO_ENTRY;
	while (!alone &&
	       /* Pairs with the acquire loads of the count: the segments are mapped. */
	       !atomic_compare_exchange_weak_explicit(used, &first, first + count,
						      memory_order_release, memory_order_relaxed));
	if (alone)
		atomic_store_explicit(used, first + count, memory_order_relaxed);
	char *published = mw_store_live_both().published;
	if (published)
		count_in_published((_Atomic uint64_t *)(void *)(published + used_offset[section]),
				   first, count, alone);
	return first;
}

void mw_store_set_flag(uint32_t bit) {
	mw_both_t live = mw_store_live_both();
	_Atomic uint32_t *flags = (_Atomic uint32_t *)(void *)(live.table + MW_LIVE(flags));
	if (atomic_load_explicit(flags, memory_order_relaxed) & bit)
		return;
	atomic_fetch_or_explicit(flags, bit, memory_order_relaxed);
	if (live.published)
		atomic_fetch_or_explicit(
			(_Atomic uint32_t *)(void *)(live.published + MW_LIVE(flags)), bit,
			memory_order_relaxed);
}

void mw_store_clear_flag(uint32_t bit) {
	mw_both_t live = mw_store_live_both();
	atomic_fetch_and_explicit((_Atomic uint32_t *)(void *)(live.table + MW_LIVE(flags)), ~bit,
				  memory_order_relaxed);
	if (live.published)
		atomic_fetch_and_explicit(
			(_Atomic uint32_t *)(void *)(live.published + MW_LIVE(flags)), ~bit,
			memory_order_relaxed);
}

void mw_both_copy(mw_both_t both, const void *bytes, size_t length) {
	memcpy(both.table, bytes, length);
	if (both.published)
		memcpy(both.published, bytes, length);
}
