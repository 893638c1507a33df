/* SPDX-License-Identifier: MIT
 * records.c -- free list, sequence numbers and counters. */
#include "prof/records.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/compiler.h"
#include "prof/count.h"
#include "prof/image.h"
#include "prof/lives.h"
#include "prof/peak.h"
#include "prof/sampler.h"

#define RECORD(field) offsetof(mw_state_record_t, field)
#define STACK(field) offsetof(mw_state_stack_t, field)

/* The first of the free records; each leads to the next by its reserved word, in the image only. */
static uint32_t first_free;

static uint64_t *link_of(uint32_t record) {
	mw_state_record_t *entry = mw_image_entry(MW_SECTION_RECORDS, record);
	return &entry->reserved;
}

static uint32_t pop_free(void) {
	uint32_t record = first_free;
	if (record != 0)
		first_free = (uint32_t)*link_of(record);
	return record;
}

static void push_free(uint32_t record) {
	*link_of(record) = first_free;
	first_free = record;
}

/* Odd while being written.  The fence keeps what follows from being seen before; readers of the
 * file load the number with acquire before and after. */
static void write_begin(mw_twin_t twin) {
	uint32_t sequence =
		atomic_load_explicit((_Atomic uint32_t *)(void *)twin.image, memory_order_relaxed);
	mw_twin_set32(twin, RECORD(sequence), sequence | 1);
	atomic_thread_fence(memory_order_release);
}

static void write_end(mw_twin_t twin) {
	uint32_t sequence =
		atomic_load_explicit((_Atomic uint32_t *)(void *)twin.image, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	mw_twin_set32(twin, RECORD(sequence), sequence + 1);
}

/* A stack beyond the end of a full mirror is summed in the mirror's "unknown", so that the file's
 * stacks still add up to its totals. */
static inline mw_twin_t stack_twin(uint32_t number) {
	mw_twin_t twin = mw_image_twin(MW_SECTION_STACKS, number);
	if (!twin.mirror)
		twin.mirror = mw_mirror_range(MW_SECTION_STACKS, 0, sizeof(mw_state_stack_t));
	return twin;
}

/* What one sample adds to the counters. */
typedef struct amounts {
	int64_t objects_q16, bytes, requested;
	bool zero_request;
} amounts_t;

static amounts_t amounts_of(uint64_t weight_q16, uint64_t usable_bytes, uint64_t requested_bytes) {
	return (amounts_t){.objects_q16 = (int64_t)weight_q16,
			   .bytes = mw_sampler_weigh(weight_q16, usable_bytes),
			   .requested = mw_sampler_weigh(weight_q16, requested_bytes),
			   .zero_request = requested_bytes == 0};
}

MW_ALWAYS_INLINE void count_allocated_of_stack(char *stack, const amounts_t *amounts) {
	mw_count(stack, STACK(alloc_objects_q16), amounts->objects_q16);
	mw_count(stack, STACK(alloc_bytes), amounts->bytes);
	mw_count(stack, STACK(alloc_requested_bytes), amounts->requested);
	mw_count(stack, STACK(alloc_samples), 1);
	if (amounts->zero_request)
		mw_count(stack, STACK(alloc_zero_objects_q16), amounts->objects_q16);
}

MW_ALWAYS_INLINE void count_allocated_of_all(char *live, const amounts_t *amounts) {
	mw_count(live, MW_LIVE(alloc_objects_q16), amounts->objects_q16);
	mw_count(live, MW_LIVE(alloc_bytes), amounts->bytes);
	mw_count(live, MW_LIVE(samples), 1);
}

static void count_allocated(mw_twin_t stack, mw_twin_t live, const amounts_t *amounts) {
	count_allocated_of_stack(stack.image, amounts);
	count_allocated_of_all(live.image, amounts);
	if (stack.mirror)
		count_allocated_of_stack(stack.mirror, amounts);
	if (live.mirror)
		count_allocated_of_all(live.mirror, amounts);
}

/* `sign` is 1 for an allocation, -1 for a free. */
MW_ALWAYS_INLINE void count_live_of_stack(char *stack, const amounts_t *amounts, int64_t sign) {
	mw_count(stack, STACK(live_objects_q16), sign * amounts->objects_q16);
	mw_count(stack, STACK(live_bytes), sign * amounts->bytes);
	mw_count(stack, STACK(live_requested_bytes), sign * amounts->requested);
	mw_count(stack, STACK(live_samples), sign);
	if (amounts->zero_request)
		mw_count(stack, STACK(live_zero_objects_q16), sign * amounts->objects_q16);
}

MW_ALWAYS_INLINE void count_live_of_all(char *live, const amounts_t *amounts, int64_t sign) {
	mw_count(live, MW_LIVE(live_objects_q16), sign * amounts->objects_q16);
	mw_count(live, MW_LIVE(live_bytes), sign * amounts->bytes);
}

static void count_live(mw_twin_t stack, mw_twin_t live, const amounts_t *amounts, int64_t sign) {
	uint32_t peak_number =
		atomic_load_explicit(&mw_image_live()->peak_number, memory_order_relaxed);
	mw_peak_keep(stack.image, peak_number);
	if (stack.mirror)
		mw_peak_keep(stack.mirror, peak_number);
	count_live_of_stack(stack.image, amounts, sign);
	count_live_of_all(live.image, amounts, sign);
	if (stack.mirror)
		count_live_of_stack(stack.mirror, amounts, sign);
	if (live.mirror)
		count_live_of_all(live.mirror, amounts, sign);
}

static uint32_t generation(void) {
	return atomic_load_explicit(&mw_image_live()->generation, memory_order_relaxed);
}

mw_record_id_t mw_records_add(const mw_sample_t *sample) {
	amounts_t amounts =
		amounts_of(sample->weight_q16, sample->usable_bytes, sample->requested_bytes);
	mw_twin_t stack = stack_twin(sample->stack), live = mw_image_live_twin();
	count_allocated(stack, live, &amounts);
	uint64_t record = pop_free();
	if (record == 0)
		record = mw_image_take(MW_SECTION_RECORDS, 1);
	if (record == MW_IMAGE_NO_ENTRY) {
		mw_image_set_flag(MW_STATE_RECORDS_FULL);
		return 0;
	}
	mw_twin_t twin = mw_image_twin(MW_SECTION_RECORDS, record);
	write_begin(twin);
	mw_twin_set32(twin, RECORD(stack), sample->stack);
	mw_twin_set64(twin, RECORD(address), sample->address);
	mw_twin_set64(twin, RECORD(requested_bytes), sample->requested_bytes);
	mw_twin_set64(twin, RECORD(usable_bytes), sample->usable_bytes);
	mw_twin_set64(twin, RECORD(weight_q16), sample->weight_q16);
	mw_twin_set64(twin, RECORD(time_ns), sample->time_ns);
	mw_twin_set32(twin, RECORD(thread_id), sample->thread_id);
	mw_twin_set32(twin, RECORD(generation), generation());
	write_end(twin);
	count_live(stack, live, &amounts, 1);
	mw_peak_notice(live);
	return (mw_record_id_t)record;
}

bool mw_records_look(mw_record_id_t record, mw_sample_t *sample) {
	const mw_state_record_t *entry = mw_image_entry(MW_SECTION_RECORDS, record);
	*sample = (mw_sample_t){
		.stack = entry->stack,
		.thread_id = entry->thread_id,
		.address = entry->address,
		.requested_bytes = entry->requested_bytes,
		.usable_bytes = entry->usable_bytes,
		.weight_q16 = entry->weight_q16,
		.time_ns = entry->time_ns,
	};
	return record != 0 && entry->stack != MW_RECORD_FREE && entry->generation == generation();
}

/* Takes the sample out of what is live, and counts its life. */
static void count_freed(const mw_state_record_t *entry, const mw_release_t *release) {
	amounts_t amounts =
		amounts_of(entry->weight_q16, entry->usable_bytes, entry->requested_bytes);
	mw_twin_t stack = stack_twin(entry->stack), live = mw_image_live_twin();
	mw_life_t life = {
		.objects_q16 = amounts.objects_q16,
		.lifetime_ns =
			release->time_ns > entry->time_ns ? release->time_ns - entry->time_ns : 0,
		.other_thread = release->thread_id != entry->thread_id,
		.temporary = release->temporary,
	};
	count_live(stack, live, &amounts, -1);
	mw_lives_count(entry->stack, &life);
}

void mw_records_remove(mw_record_id_t record, const mw_release_t *release) {
	mw_twin_t twin = mw_image_twin(MW_SECTION_RECORDS, record);
	const mw_state_record_t *entry = (const mw_state_record_t *)(const void *)twin.image;
	if (record == 0 || entry->stack == MW_RECORD_FREE)
		return; /* the heap finds double frees itself; a stray number may do no harm here */
	if (entry->generation == generation())
		count_freed(entry, release);
	write_begin(twin);
	mw_twin_set32(twin, RECORD(stack), MW_RECORD_FREE);
	write_end(twin);
	push_free(record);
}

static void clear_stack(uint64_t number) {
	static const size_t counters[] = {
		STACK(live_objects_q16),      STACK(live_bytes),
		STACK(live_requested_bytes),  STACK(live_zero_objects_q16),
		STACK(alloc_objects_q16),     STACK(alloc_bytes),
		STACK(alloc_requested_bytes), STACK(alloc_zero_objects_q16),
		STACK(live_samples),          STACK(alloc_samples),
		STACK(peak_objects_q16),      STACK(peak_bytes),
	};
	mw_twin_t twin = mw_image_twin(MW_SECTION_STACKS, number);
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		mw_twin_set64(twin, counters[i], 0);
	mw_twin_set32(twin, STACK(peak_number), 0);
}

void mw_records_reset(void) {
	mw_state_live_t *live = mw_image_live();
	mw_twin_t twin = mw_image_live_twin();
	mw_twin_set32(twin, MW_LIVE(generation), generation() + 1);
	uint64_t stacks = atomic_load_explicit(&live->stacks_used, memory_order_relaxed);
	for (uint64_t i = 0; i < stacks; i++)
		clear_stack(i);
	mw_twin_set64(twin, MW_LIVE(live_objects_q16), 0);
	mw_twin_set64(twin, MW_LIVE(live_bytes), 0);
	mw_twin_set64(twin, MW_LIVE(alloc_objects_q16), 0);
	mw_twin_set64(twin, MW_LIVE(alloc_bytes), 0);
	mw_twin_set64(twin, MW_LIVE(samples), 0);
	mw_twin_set32(twin, MW_LIVE(peak_number), 0);
	mw_twin_set64(twin, MW_LIVE(peak_bytes), 0);
	mw_twin_set64(twin, MW_LIVE(peak_realtime_ns), 0);
	mw_lives_reset();
}

uint64_t mw_records_allocated_bytes(void) {
	return (uint64_t)atomic_load_explicit(&mw_image_live()->alloc_bytes, memory_order_relaxed);
}
