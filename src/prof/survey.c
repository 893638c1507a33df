/* SPDX-License-Identifier: MIT
 * survey.c -- surveys, for a two hundredth of the time and whenever the heap has grown by an
 * eighth: a program that grows and then idles is known as it is. */
#include "prof/survey.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/compiler.h"
#include "os/clock.h"
#include "prof/depot.h"
#include "prof/image.h"

/* A heap of 100 GiB takes 8 ms to walk, and is then walked every 1.6 s. */
#define REST_FACTOR 200u
#define GROWTH_STEP 8u
#define GROWTH_MIN_BYTES ((size_t)1 << 20)

static struct {
	void (*walk)(const mw_survey_sink_t *sink);
	_Atomic bool busy;
	_Atomic uint64_t next_ns;  /* monotonic */
	_Atomic size_t next_bytes; /* of the heap: take one when it has grown to this */
	uint64_t ranges, classes;  /* of the survey at work */
} survey;

MW_RESIDENT void mw_survey_start(void (*walk)(const mw_survey_sink_t *sink)) {
	survey.walk = walk;
}

void mw_survey_forked(void) {
	atomic_store_explicit(&survey.busy, false, memory_order_relaxed);
	atomic_store_explicit(&survey.next_ns, 0, memory_order_relaxed);
}

static void write_range(uintptr_t start, uintptr_t limit, unsigned kind) {
	uint64_t index = survey.ranges++;
	mw_state_range_t range = {.start = start, .limit = limit, .kind = kind};
	if (index < mw_image_header()->sections[MW_SECTION_RANGES].capacity &&
	    mw_image_reach(MW_SECTION_RANGES, index))
		mw_twin_copy(mw_image_twin(MW_SECTION_RANGES, index), &range, sizeof range);
}

static void write_class(const mw_survey_class_t *from) {
	/* Few of the classes in a small process. */
	if (from->memory_bytes == 0)
		return;
	uint64_t index = survey.classes;
	mw_state_class_t class = {.block_bytes = from->block_bytes,
				  .memory_bytes = from->memory_bytes,
				  .touched_bytes = from->touched_bytes,
				  .used_bytes = from->used_bytes};
	if (index >= mw_image_header()->sections[MW_SECTION_CLASSES].capacity ||
	    !mw_image_reach(MW_SECTION_CLASSES, index))
		return;
	mw_twin_copy(mw_image_twin(MW_SECTION_CLASSES, index), &class, sizeof class);
	survey.classes++;
}

static void write_profiler_range(uintptr_t start, uintptr_t limit) {
	write_range(start, limit, MW_RANGE_PROFILER);
}

static void write_own_ranges(void) {
	uintptr_t start = (uintptr_t)mw_image_header();
	write_range(start, start + mw_image_fixed_bytes(), MW_RANGE_PROFILER);
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		mw_state_section_id_t id = (mw_state_section_id_t)i;
		start = (uintptr_t)mw_image_windows[i];
		if (mw_image_is_growing(id) && mw_image_is_open(id))
			write_range(start, start + mw_image_window_bytes(id), MW_RANGE_PROFILER);
	}
	mw_depot_visit(write_profiler_range);
}

/* The survey's number, odd while it is being written.  Exchanges, so that what is written before
 * stays before and what is written after stays after, without fences, which the thread sanitizer
 * does not know.  Pairs with the readers of the file, who read the number before and after. */
static void mark(mw_twin_t live, uint64_t sequence) {
	size_t offset_bytes = MW_LIVE(survey_sequence);
	atomic_exchange_explicit((_Atomic uint64_t *)(void *)(live.image + offset_bytes), sequence,
				 memory_order_acq_rel);
	if (live.mirror)
		atomic_exchange_explicit((_Atomic uint64_t *)(void *)(live.mirror + offset_bytes),
					 sequence, memory_order_acq_rel);
}

static void write_survey(void) {
	static const mw_survey_sink_t sink = {.range = write_range, .size_class = write_class};
	mw_twin_t live = mw_image_live_twin();
	uint64_t sequence =
		atomic_load_explicit(&mw_image_live()->survey_sequence, memory_order_relaxed);
	mark(live, sequence | 1);
	survey.ranges = survey.classes = 0;
	survey.walk(&sink);
	write_own_ranges();
	mw_twin_set64(live, MW_LIVE(ranges_used), survey.ranges);
	mw_twin_set64(live, MW_LIVE(classes_used), survey.classes);
	mw_twin_set64(live, MW_LIVE(survey_realtime_ns), mw_os_realtime_ns());
	mark(live, (sequence | 1) + 1);
}

void mw_survey_take(bool now) {
	uint64_t begin = mw_os_monotonic_ns();
	if (!survey.walk ||
	    (!now && begin < atomic_load_explicit(&survey.next_ns, memory_order_relaxed)))
		return;
	/* Pairs with the release below. */
	if (atomic_exchange_explicit(&survey.busy, true, memory_order_acquire))
		return;
	write_survey();
	uint64_t end = mw_os_monotonic_ns();
	atomic_store_explicit(&survey.next_ns, end + (end - begin) * REST_FACTOR,
			      memory_order_relaxed);
	atomic_store_explicit(&survey.busy, false, memory_order_release);
}

bool mw_survey_is_due(size_t in_use_bytes) {
	size_t next = atomic_load_explicit(&survey.next_bytes, memory_order_relaxed);
	/* Who raises the mark takes the survey. */
	return survey.walk && in_use_bytes > next &&
	       atomic_compare_exchange_strong_explicit(&survey.next_bytes, &next,
						       in_use_bytes + in_use_bytes / GROWTH_STEP +
							       GROWTH_MIN_BYTES,
						       memory_order_relaxed, memory_order_relaxed);
}
