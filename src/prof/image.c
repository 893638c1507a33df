/* SPDX-License-Identifier: MIT
 * image.c -- reservation, growth and twins of the profile's tables. */
#include "prof/image.h"

#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "os/file.h"
#include "os/map.h"
#include "os/proc.h"
#include "prof/mirror.h"

/* Capacities at shift 0.  Exact mode on real programs: a compiler or an interpreter has a million
 * live blocks (2^22 leaves room for a server), and some 10^4 stacks of 30 frames each. */
#define RECORDS_LOG2 22
#define STACKS_LOG2 17
#define FRAMES_LOG2 22
#define MODULES_LOG2 12
#define TICKS 4096u
#define EVENTS 512u
/* Each step halves the tables; modules, which are few, stop at 2^8. */
#define SHIFT_MAX 10u
#define MODULES_SHIFT_MAX 4u
/* Image and mirror together take at most this part of RLIMIT_AS: the limit is the program's. */
#define ADDRESS_SPACE_SHARE 16u
/* A section is opened by half of what it has, so that few system calls open much; within these. */
#define OPEN_STEP_MIN ((uint64_t)16 << 10)
#define OPEN_STEP_MAX ((uint64_t)4 << 20)

static struct {
	_Atomic(char *) base;
	mw_state_section_t sections[MW_SECTION_COUNT]; /* written before base */
	uint64_t bytes;
	_Atomic uint64_t open_bytes[MW_SECTION_COUNT];
} image;

/* Where the live section counts the entries of a section; 0: it does not. */
static const uint16_t used_offset[MW_SECTION_COUNT] = {
	[MW_SECTION_MODULES] = MW_LIVE(modules_used),
	[MW_SECTION_STACKS] = MW_LIVE(stacks_used),
	[MW_SECTION_FRAMES] = MW_LIVE(frames_used),
	[MW_SECTION_RECORDS] = MW_LIVE(records_used),
};

static uint64_t lay_out(unsigned shift) {
	unsigned modules_shift = shift < MODULES_SHIFT_MAX ? shift : MODULES_SHIFT_MAX;
	const struct {
		uint64_t capacity;
		size_t stride;
	} plan[MW_SECTION_COUNT] = {
		[MW_SECTION_CONTROL] = {1, sizeof(mw_state_control_t)},
		[MW_SECTION_LIVE] = {1, sizeof(mw_state_live_t)},
		[MW_SECTION_MODULES] = {(uint64_t)1 << (MODULES_LOG2 - modules_shift),
					sizeof(mw_state_module_t)},
		[MW_SECTION_STACKS] = {(uint64_t)1 << (STACKS_LOG2 - shift),
				       sizeof(mw_state_stack_t)},
		[MW_SECTION_FRAMES] = {(uint64_t)1 << (FRAMES_LOG2 - shift), sizeof(uint64_t)},
		[MW_SECTION_RECORDS] = {(uint64_t)1 << (RECORDS_LOG2 - shift),
					sizeof(mw_state_record_t)},
		[MW_SECTION_TIMELINE] = {TICKS, sizeof(mw_state_tick_t)},
		[MW_SECTION_EVENTS] = {EVENTS, sizeof(mw_state_event_t)},
	};
	uint64_t offset = MW_STATE_PAGE_BYTES;
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		image.sections[i] = (mw_state_section_t){.offset_bytes = offset,
							 .capacity = plan[i].capacity,
							 .stride_bytes = (uint32_t)plan[i].stride};
		offset += mw_round_up(plan[i].capacity * plan[i].stride, MW_STATE_PAGE_BYTES);
	}
	return offset;
}

static uint64_t section_bytes(mw_state_section_id_t section) {
	const mw_state_section_t *s = &image.sections[section];
	return mw_round_up(s->capacity * s->stride_bytes, MW_STATE_PAGE_BYTES);
}

static bool open_section(char *base, mw_state_section_id_t section, uint64_t wanted_bytes) {
	uint64_t held = atomic_load_explicit(&image.open_bytes[section], memory_order_relaxed);
	uint64_t step = mw_round_up(held / 2, MW_STATE_PAGE_BYTES);
	if (step < OPEN_STEP_MIN)
		step = OPEN_STEP_MIN;
	if (step > OPEN_STEP_MAX)
		step = OPEN_STEP_MAX;
	uint64_t target = mw_round_up(wanted_bytes, MW_STATE_PAGE_BYTES);
	if (target < held + step)
		target = held + step;
	uint64_t whole = section_bytes(section);
	if (target > whole)
		target = whole;
	/* From the section's start: a thread that lost the race opens the same pages again. */
	if (!mw_os_open_range(base + image.sections[section].offset_bytes, target))
		return false;
	while (held < target &&
	       /* Pairs with the acquire in mw_image_reach(). */
	       !atomic_compare_exchange_weak_explicit(&image.open_bytes[section], &held, target,
						      memory_order_release, memory_order_relaxed)) {
	}
	return true;
}

/* What every image has from the start: header, control, live, and the first entry of stacks
 * ("unknown") and records ("none"), which are never handed out. */
static bool open_basics(char *base) {
	if (!mw_os_open_range(base, MW_STATE_PAGE_BYTES))
		return false;
	for (int i = 0; i < MW_SECTION_COUNT; i++)
		if (!open_section(base, (mw_state_section_id_t)i, MW_STATE_PAGE_BYTES))
			return false;
	mw_state_header_t *header = (mw_state_header_t *)(void *)base;
	header->layout_version = MW_STATE_VERSION;
	header->header_bytes = sizeof *header;
	header->file_bytes = image.bytes;
	header->section_count = MW_SECTION_COUNT;
	memcpy(header->sections, image.sections, sizeof image.sections);
	mw_state_live_t *live = (void *)(base + image.sections[MW_SECTION_LIVE].offset_bytes);
	atomic_store_explicit(&live->stacks_used, 1, memory_order_relaxed);
	atomic_store_explicit(&live->records_used, 1, memory_order_relaxed);
	live->stat_count = MW_STAT_COUNT;
	return true;
}

bool mw_image_start(void) {
	uint64_t space = mw_os_address_space_limit(), file_limit = mw_os_file_size_limit();
	uint64_t budget = space == UINT64_MAX ? UINT64_MAX : space / ADDRESS_SPACE_SHARE / 2;
	if (budget > file_limit)
		budget = file_limit;
	for (unsigned shift = 0; shift <= SHIFT_MAX; shift++) {
		image.bytes = lay_out(shift);
		if (image.bytes > budget && shift < SHIFT_MAX)
			continue;
		char *base = mw_os_reserve(-1, image.bytes);
		if (!base)
			continue;
		if (open_basics(base)) {
			/* Pairs with the acquire in mw_image_exists() and mw_image_twin(). */
			atomic_store_explicit(&image.base, base, memory_order_release);
			return true;
		}
		for (int i = 0; i < MW_SECTION_COUNT; i++)
			atomic_store_explicit(&image.open_bytes[i], 0, memory_order_relaxed);
		mw_os_unmap(base, image.bytes);
	}
	return false;
}

/* Pairs with the release in mw_image_start(). */
static char *base_of(void) {
	return atomic_load_explicit(&image.base, memory_order_acquire);
}

bool mw_image_exists(void) {
	return base_of() != NULL;
}

mw_state_header_t *mw_image_header(void) {
	return (mw_state_header_t *)(void *)base_of();
}

mw_state_live_t *mw_image_live(void) {
	return mw_image_entry(MW_SECTION_LIVE, 0);
}

void *mw_image_entry(mw_state_section_id_t section, uint64_t index) {
	const mw_state_section_t *s = &image.sections[section];
	MW_ASSERT(index < s->capacity);
	return base_of() + s->offset_bytes + index * s->stride_bytes;
}

static _Atomic uint64_t *used_counter(mw_state_section_id_t section) {
	return (_Atomic uint64_t *)(void *)((char *)mw_image_live() + used_offset[section]);
}

uint64_t mw_image_used_bytes(mw_state_section_id_t section) {
	uint64_t entries = image.sections[section].capacity;
	if (used_offset[section])
		entries = atomic_load_explicit(used_counter(section), memory_order_relaxed);
	else if (section == MW_SECTION_TIMELINE)
		entries =
			atomic_load_explicit(&mw_image_live()->ticks_written, memory_order_relaxed);
	return entries * image.sections[section].stride_bytes;
}

bool mw_image_reach(mw_state_section_id_t section, uint64_t index) {
	const mw_state_section_t *s = &image.sections[section];
	if (index >= s->capacity)
		return false;
	uint64_t wanted = (index + 1) * s->stride_bytes;
	/* Pairs with the release in open_section(). */
	if (MW_UNLIKELY(wanted >
			atomic_load_explicit(&image.open_bytes[section], memory_order_acquire)) &&
	    !open_section(base_of(), section, wanted))
		return false;
	mw_mirror_reach(section, wanted);
	return true;
}

uint64_t mw_image_take(mw_state_section_id_t section, uint64_t count) {
	_Atomic uint64_t *used = used_counter(section);
	uint64_t first = atomic_load_explicit(used, memory_order_relaxed);
	do
		if (!mw_image_reach(section, first + count - 1))
			return MW_IMAGE_NO_ENTRY;
	while (!atomic_compare_exchange_weak_explicit(used, &first, first + count,
						      memory_order_relaxed, memory_order_relaxed));
	char *mirror = mw_image_live_twin().mirror;
	if (mirror)
		atomic_fetch_add_explicit(
			(_Atomic uint64_t *)(void *)(mirror + used_offset[section]), count,
			memory_order_relaxed);
	return first;
}

mw_twin_t mw_image_twin(mw_state_section_id_t section, uint64_t index) {
	const mw_state_section_t *s = &image.sections[section];
	uint64_t start = index * s->stride_bytes;
	return (mw_twin_t){.image = base_of() + s->offset_bytes + start,
			   .mirror = mw_mirror_range(section, start, s->stride_bytes)};
}

mw_twin_t mw_image_live_twin(void) {
	return mw_image_twin(MW_SECTION_LIVE, 0);
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
