/* SPDX-License-Identifier: MIT
 * image.c -- reservation, growth and twins of the profile's tables. */
#include "prof/image.h"

#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "os/file.h"
#include "os/map.h"
#include "os/proc.h"
#include "os/single.h"
#include "prof/mirror.h"

/* Capacities of the file.  Exact mode on real programs: a compiler or an interpreter has a million
 * live blocks (2^22 leaves room for a server), and some 10^4 stacks of 30 frames each, which
 * share most of them. */
#define RECORDS_LOG2 22
#define STACKS_LOG2 17
#define NODES_LOG2 22
#define FRAMES_LOG2 20
/* Most stacks make objects of one size, which takes none of these. */
#define SIZES_LOG2 19
#define MODULES_LOG2 12
/* A name each; the oldest go first. */
#define THREADS 1024u
/* Surveys: 45 classes; a heap of 4 TiB in one piece is one range, huge blocks are one each. */
#define CLASSES 64u
#define RANGES 1024u
#define TICKS 4096u
#define EVENTS 512u
/* Each step halves the tables; modules, which are few, stop at 2^8. */
#define SHIFT_MAX 10u
#define MODULES_SHIFT_MAX 4u
/* Windows at first: 4.4 MiB, enough for 16 GiB live at T = 512 KiB.  Address space is not free:
 * some programs limit theirs (RLIMIT_AS) after their start. */
#define MODULES_FIRST_BYTES ((uint64_t)128 << 10)
#define STACKS_FIRST_BYTES ((uint64_t)1 << 20)
#define NODES_FIRST_BYTES ((uint64_t)512 << 10)
#define FRAMES_FIRST_BYTES ((uint64_t)256 << 10)
#define RECORDS_FIRST_BYTES ((uint64_t)2 << 20)
#define LIVES_FIRST_BYTES ((uint64_t)256 << 10)
#define SIZES_FIRST_BYTES ((uint64_t)128 << 10)
#define WIDEN_FACTOR 4u
/* Image and mirror together take at most this part of RLIMIT_AS: the limit is the program's. */
#define ADDRESS_SPACE_SHARE 16u
/* A section is opened by half of what it has, so that few system calls open much; within these. */
#define OPEN_STEP_MIN ((uint64_t)16 << 10)
#define OPEN_STEP_MAX ((uint64_t)4 << 20)

char *mw_image_windows[MW_SECTION_COUNT];
char *mw_image_firsts;
_Atomic bool mw_image_widening_wanted;

static struct {
	_Atomic(char *) base; /* of the fixed part */
	uint64_t fixed_bytes;
	uint64_t file_bytes;
	/* Written before base, but for the bytes of the windows, which change with the gate
	 * closed. */
	mw_state_section_t sections[MW_SECTION_COUNT];
	uint64_t window_bytes[MW_SECTION_COUNT];
	_Atomic uint64_t open_bytes[MW_SECTION_COUNT];
	_Atomic uint32_t holders; /* who read entries outside of the gate */
	_Atomic bool widening;
	bool widening_refused[MW_SECTION_COUNT];
} image;

/* The fixed part first, then the sections that grow. */
static const mw_state_section_id_t file_order[MW_SECTION_COUNT] = {
	MW_SECTION_CONTROL, MW_SECTION_LIVE,    MW_SECTION_EVENTS, MW_SECTION_TIMELINE,
	MW_SECTION_THREADS, MW_SECTION_CLASSES, MW_SECTION_RANGES, MW_SECTION_MODULES,
	MW_SECTION_STACKS,  MW_SECTION_NODES,   MW_SECTION_FRAMES, MW_SECTION_LIVES,
	MW_SECTION_SIZES,   MW_SECTION_RECORDS,
};

static const uint64_t first_bytes[MW_SECTION_COUNT] = {
	[MW_SECTION_MODULES] = MODULES_FIRST_BYTES, [MW_SECTION_STACKS] = STACKS_FIRST_BYTES,
	[MW_SECTION_NODES] = NODES_FIRST_BYTES,     [MW_SECTION_FRAMES] = FRAMES_FIRST_BYTES,
	[MW_SECTION_RECORDS] = RECORDS_FIRST_BYTES, [MW_SECTION_LIVES] = LIVES_FIRST_BYTES,
	[MW_SECTION_SIZES] = SIZES_FIRST_BYTES,
};

/* Where the live section counts the entries of a section; 0: it does not. */
static const uint16_t used_offset[MW_SECTION_COUNT] = {
	[MW_SECTION_MODULES] = MW_LIVE(modules_used), [MW_SECTION_STACKS] = MW_LIVE(stacks_used),
	[MW_SECTION_NODES] = MW_LIVE(nodes_used),     [MW_SECTION_FRAMES] = MW_LIVE(frames_used),
	[MW_SECTION_RECORDS] = MW_LIVE(records_used), [MW_SECTION_LIVES] = MW_LIVE(lives_used),
	[MW_SECTION_SIZES] = MW_LIVE(sizes_used),
};

bool mw_image_is_growing(mw_state_section_id_t section) {
	return first_bytes[section] != 0;
}

/* Of a section's own pages, in which the place of its first entries stays empty; 0: there are no
 * others. */
static uint64_t whole_bytes(mw_state_section_id_t section) {
	const mw_state_section_t *s = &image.sections[section];
	if (s->capacity <= mw_state_first(section).entries)
		return 0;
	return mw_round_up(s->capacity * s->stride_bytes, MW_STATE_PAGE_BYTES);
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
		[MW_SECTION_LIVES] = (uint64_t)1 << (STACKS_LOG2 - shift),
		[MW_SECTION_SIZES] = (uint64_t)1 << (SIZES_LOG2 - shift),
		[MW_SECTION_THREADS] = THREADS,
		[MW_SECTION_CLASSES] = CLASSES,
		[MW_SECTION_RANGES] = RANGES,
		[MW_SECTION_TIMELINE] = TICKS,
		[MW_SECTION_EVENTS] = EVENTS,
	};
	uint64_t offset = MW_STATE_FIRSTS_BYTES;
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		mw_state_section_id_t id = file_order[i];
		mw_state_first_t first = mw_state_first(id);
		image.sections[id] =
			(mw_state_section_t){.offset_bytes = offset,
					     .capacity = capacities[id],
					     .stride_bytes = (uint32_t)mw_state_stride(id),
					     .first_entries = first.entries,
					     .first_offset_bytes = first.offset_bytes};
		if (whole_bytes(id) == 0) {
			image.sections[id].offset_bytes = first.offset_bytes;
			image.sections[id].first_entries = 0;
		}
		offset += whole_bytes(id);
		if (!mw_image_is_growing(id))
			image.fixed_bytes = offset;
	}
	image.file_bytes = offset;
}

/* What image and mirror may take of the address space, each. */
static uint64_t address_space_budget(void) {
	uint64_t limit = mw_os_address_space_limit();
	return limit == UINT64_MAX ? UINT64_MAX : limit / ADDRESS_SPACE_SHARE / 2;
}

static uint64_t reserved_bytes(void) {
	uint64_t sum = image.fixed_bytes;
	for (int i = 0; i < MW_SECTION_COUNT; i++)
		if (mw_image_is_growing((mw_state_section_id_t)i))
			sum += image.window_bytes[i];
	return sum;
}

static void choose_windows(unsigned shift) {
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		uint64_t whole = whole_bytes((mw_state_section_id_t)i);
		uint64_t first = first_bytes[i] >> shift;
		image.window_bytes[i] = first != 0 && first < whole ? first : whole;
	}
}

static bool open_section(mw_state_section_id_t section, uint64_t wanted_bytes) {
	uint64_t held = atomic_load_explicit(&image.open_bytes[section], memory_order_relaxed);
	uint64_t step = mw_round_up(held / 2, MW_STATE_PAGE_BYTES);
	if (step < OPEN_STEP_MIN)
		step = OPEN_STEP_MIN;
	if (step > OPEN_STEP_MAX)
		step = OPEN_STEP_MAX;
	uint64_t target = mw_round_up(wanted_bytes, MW_STATE_PAGE_BYTES);
	if (target < held + step)
		target = held + step;
	if (target > image.window_bytes[section])
		target = image.window_bytes[section];
	/* From the section's start: a thread that lost the race opens the same pages again. */
	if (!mw_os_open_range(mw_image_windows[section], target))
		return false;
	while (held < target &&
	       /* Pairs with the acquire in mw_image_reach(). */
	       !atomic_compare_exchange_weak_explicit(&image.open_bytes[section], &held, target,
						      memory_order_release, memory_order_relaxed)) {
	}
	return true;
}

static void release_windows(char *base) {
	if (base)
		mw_os_unmap(base, image.fixed_bytes);
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		if (mw_image_is_growing((mw_state_section_id_t)i) && mw_image_windows[i])
			mw_os_unmap(mw_image_windows[i], image.window_bytes[i]);
		mw_image_windows[i] = NULL;
		atomic_store_explicit(&image.open_bytes[i], 0, memory_order_relaxed);
	}
}

static bool reserve_windows(char *base) {
	if (!base || !mw_os_open_range(base, MW_STATE_FIRSTS_BYTES))
		return false;
	mw_image_firsts = base;
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		mw_state_section_id_t id = (mw_state_section_id_t)i;
		mw_image_windows[i] = mw_image_is_growing(id)
					      ? mw_os_reserve(-1, 0, image.window_bytes[i])
					      : base + image.sections[i].offset_bytes;
		if (!mw_image_windows[i])
			return false;
	}
	return true;
}

static void fill_header(char *base) {
	mw_state_header_t *header = (mw_state_header_t *)(void *)base;
	header->layout_version = MW_STATE_VERSION;
	header->header_bytes = sizeof *header;
	header->file_bytes = image.file_bytes;
	header->section_count = MW_SECTION_COUNT;
	memcpy(header->sections, image.sections, sizeof image.sections);
	mw_state_live_t *live = mw_image_live();
	/* Entry 0 of stacks is "unknown", of the others "none": never handed out. */
	atomic_store_explicit(&live->stacks_used, 1, memory_order_relaxed);
	atomic_store_explicit(&live->nodes_used, 1, memory_order_relaxed);
	atomic_store_explicit(&live->frames_used, 1, memory_order_relaxed);
	atomic_store_explicit(&live->records_used, 1, memory_order_relaxed);
	atomic_store_explicit(&live->lives_used, 1, memory_order_relaxed);
	atomic_store_explicit(&live->sizes_used, 1, memory_order_relaxed);
	live->stat_count = MW_STAT_COUNT;
}

bool mw_image_start(void) {
	uint64_t file_limit = mw_os_file_size_limit(), budget = address_space_budget();
	unsigned shift = 0;
	do
		lay_out(shift);
	while (image.file_bytes > file_limit && shift++ < SHIFT_MAX);
	for (shift = 0; shift <= MODULES_SHIFT_MAX; shift++) {
		choose_windows(shift);
		if (reserved_bytes() > budget && shift < MODULES_SHIFT_MAX)
			continue;
		char *base = mw_os_reserve(-1, 0, image.fixed_bytes);
		if (reserve_windows(base)) {
			fill_header(base);
			/* Pairs with the acquire in base_of(). */
			atomic_store_explicit(&image.base, base, memory_order_release);
			return true;
		}
		release_windows(base);
	}
	return false;
}

static char *base_of(void) {
	/* Pairs with the release in mw_image_start(). */
	return atomic_load_explicit(&image.base, memory_order_acquire);
}

bool mw_image_exists(void) {
	return base_of() != NULL;
}

mw_state_header_t *mw_image_header(void) {
	return (mw_state_header_t *)(void *)base_of();
}

uint64_t mw_image_fixed_bytes(void) {
	return image.fixed_bytes;
}

uint64_t mw_image_window_bytes(mw_state_section_id_t section) {
	return image.window_bytes[section];
}

bool mw_image_is_open(mw_state_section_id_t section) {
	return atomic_load_explicit(&image.open_bytes[section], memory_order_relaxed) != 0;
}

/* ---- widening ---- */

static bool is_nearly_full(mw_state_section_id_t section, uint64_t used_bytes) {
	uint64_t window = image.window_bytes[section];
	return used_bytes > window - window / 4 && window < whole_bytes(section) &&
	       !image.widening_refused[section];
}

/* Takes the section's pages over into a new window; NULL when there is none to be had. */
static char *move_window(mw_state_section_id_t section, uint64_t new_bytes) {
	char *old = mw_image_windows[section], *wide = mw_os_reserve(-1, 0, new_bytes);
	if (!wide)
		return NULL;
	uint64_t old_bytes = image.window_bytes[section];
	uint64_t open = atomic_load_explicit(&image.open_bytes[section], memory_order_relaxed);
	if (mw_os_move(old, open, wide)) {
		if (old_bytes > open)
			mw_os_unmap(old + open, old_bytes - open);
		return wide;
	}
	/* Refused, also where a fork has left the pages in several pieces (before Linux 6.17). */
	mw_os_unmap(wide, new_bytes);
	wide = mw_os_reserve(-1, 0, new_bytes);
	if (wide && mw_os_open_range(wide, open)) {
		memcpy(wide, old, mw_image_used_bytes(section));
		mw_os_unmap(old, old_bytes);
		return wide;
	}
	if (wide)
		mw_os_unmap(wide, new_bytes);
	return NULL;
}

static bool widen_section(mw_state_section_id_t section) {
	uint64_t old_bytes = image.window_bytes[section], whole = whole_bytes(section);
	uint64_t new_bytes = old_bytes * WIDEN_FACTOR < whole ? old_bytes * WIDEN_FACTOR : whole;
	uint64_t budget = address_space_budget();
	if (budget < new_bytes || reserved_bytes() - old_bytes > budget - new_bytes)
		return false;
	char *wide = move_window(section, new_bytes);
	if (!wide)
		return false;
	mw_image_windows[section] = wide;
	image.window_bytes[section] = new_bytes;
	mw_mirror_widen(section, new_bytes);
	return true;
}

bool mw_image_hold(void) {
	/* Sequentially consistent, as in mw_image_widen(): of a reader that comes and a widening
	 * that begins at least one sees the other. */
	atomic_fetch_add_explicit(&image.holders, 1, memory_order_seq_cst);
	if (!atomic_load_explicit(&image.widening, memory_order_seq_cst))
		return true;
	mw_image_release();
	return false;
}

void mw_image_release(void) {
	/* Pairs with the load in mw_image_widen(): what was read was read before. */
	atomic_fetch_sub_explicit(&image.holders, 1, memory_order_release);
}

void mw_image_forked(void) {
	atomic_store_explicit(&image.holders, 0, memory_order_relaxed);
	atomic_store_explicit(&image.widening, false, memory_order_relaxed);
}

static void widen_sections(void) {
	atomic_store_explicit(&mw_image_widening_wanted, false, memory_order_relaxed);
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		mw_state_section_id_t id = (mw_state_section_id_t)i;
		if (mw_image_is_growing(id) && is_nearly_full(id, mw_image_used_bytes(id)))
			image.widening_refused[id] = !widen_section(id);
	}
}

void mw_image_widen(void) {
	atomic_store_explicit(&image.widening, true, memory_order_seq_cst);
	/* Held: the wish stays, and is found at the next sample. */
	if (atomic_load_explicit(&image.holders, memory_order_seq_cst) == 0)
		widen_sections();
	/* Pairs with the load in mw_image_hold(): the entries' new places are known. */
	atomic_store_explicit(&image.widening, false, memory_order_seq_cst);
}

/* ---- entries ---- */

/* Of a ring that counts all it ever held, or of what may have been more than fits. */
static uint64_t capped_entries(mw_state_section_id_t section, const _Atomic uint64_t *written) {
	uint64_t count = atomic_load_explicit(written, memory_order_relaxed);
	uint64_t capacity = image.sections[section].capacity;
	return count < capacity ? count : capacity;
}

static _Atomic uint64_t *used_counter(mw_state_section_id_t section) {
	return (_Atomic uint64_t *)(void *)((char *)mw_image_live() + used_offset[section]);
}

bool mw_image_has_room(mw_state_section_id_t section, uint64_t index) {
	return index < image.sections[section].capacity;
}

uint64_t mw_image_used_bytes(mw_state_section_id_t section) {
	uint64_t entries = image.sections[section].capacity;
	if (used_offset[section])
		entries = atomic_load_explicit(used_counter(section), memory_order_relaxed);
	else if (section == MW_SECTION_TIMELINE)
		entries =
			atomic_load_explicit(&mw_image_live()->ticks_written, memory_order_relaxed);
	else if (section == MW_SECTION_EVENTS)
		entries = capped_entries(section, &mw_image_live()->events_written);
	else if (section == MW_SECTION_THREADS)
		entries = capped_entries(section, &mw_image_live()->threads_written);
	else if (section == MW_SECTION_CLASSES)
		entries = capped_entries(section, &mw_image_live()->classes_used);
	else if (section == MW_SECTION_RANGES)
		entries = capped_entries(section, &mw_image_live()->ranges_used);
	return entries * mw_state_stride(section);
}

bool mw_image_reach(mw_state_section_id_t section, uint64_t index) {
	uint64_t wanted = (index + 1) * mw_state_stride(section);
	if (wanted <= mw_state_first_bytes(section))
		return true;
	if (wanted > image.window_bytes[section])
		return false;
	/* Pairs with the release in open_section(). */
	if (MW_UNLIKELY(wanted >
			atomic_load_explicit(&image.open_bytes[section], memory_order_acquire)) &&
	    !open_section(section, wanted))
		return false;
	mw_mirror_reach(section, wanted);
	return true;
}

/* The image's counter is first + count by now. */
static void count_in_mirror(_Atomic uint64_t *used, uint64_t first, uint64_t count, bool alone) {
	if (alone)
		atomic_store_explicit(used, first + count, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(used, count, memory_order_relaxed);
}

uint64_t mw_image_take(mw_state_section_id_t section, uint64_t count) {
	_Atomic uint64_t *used = used_counter(section);
	uint64_t first = atomic_load_explicit(used, memory_order_relaxed);
	/* As a turn, and the slabs' locks, which such a process does without as well: each record
	 * that is new would wait twice for all stores before it. */
	bool alone = mw_os_is_single_threaded();
	do
		if (!mw_image_reach(section, first + count - 1))
			return MW_IMAGE_NO_ENTRY;
	while (!alone &&
	       !atomic_compare_exchange_weak_explicit(used, &first, first + count,
						      memory_order_relaxed, memory_order_relaxed));
	if (alone)
		atomic_store_explicit(used, first + count, memory_order_relaxed);
	if (MW_UNLIKELY(is_nearly_full(section, (first + count) * mw_state_stride(section))))
		atomic_store_explicit(&mw_image_widening_wanted, true, memory_order_relaxed);
	char *mirror = mw_image_live_twin().mirror;
	if (mirror)
		count_in_mirror((_Atomic uint64_t *)(void *)(mirror + used_offset[section]), first,
				count, alone);
	return first;
}

void mw_image_set_flag(uint32_t bit) {
	mw_twin_t live = mw_image_live_twin();
	_Atomic uint32_t *flags = (_Atomic uint32_t *)(void *)(live.image + MW_LIVE(flags));
	if (atomic_load_explicit(flags, memory_order_relaxed) & bit)
		return;
	atomic_fetch_or_explicit(flags, bit, memory_order_relaxed);
	if (live.mirror)
		atomic_fetch_or_explicit((_Atomic uint32_t *)(void *)(live.mirror + MW_LIVE(flags)),
					 bit, memory_order_relaxed);
}

void mw_image_clear_flag(uint32_t bit) {
	atomic_fetch_and_explicit(&mw_image_live()->flags, ~bit, memory_order_relaxed);
}

void mw_twin_copy(mw_twin_t twin, const void *bytes, size_t length) {
	memcpy(twin.image, bytes, length);
	if (twin.mirror)
		memcpy(twin.mirror, bytes, length);
}
