/* SPDX-License-Identifier: MIT
 * records.c -- free list, sequence numbers and counters. */
#include "prof/records.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/compiler.h"
#include "prof/count.h"
#include "prof/image.h"
#include "prof/lives.h"
#include "prof/parts.h"
#include "prof/peak.h"
#include "prof/sampler.h"
#include "prof/sizes.h"

#define RECORD(field) offsetof(mw_state_record_t, field)

/* The first of the free records of each part (prof/parts.h); each leads to the next by its reserved
 * word, in the image only. */
static struct { _Alignas(MW_CACHE_LINE_BYTES) uint32_t record; } first_free[MW_STACK_PARTS];

static uint64_t *link_of(uint32_t record) {
	mw_state_record_t *entry = mw_image_entry(MW_SECTION_RECORDS, record);
	return &entry->reserved;
}

static uint32_t pop_free(unsigned part) {
	uint32_t record = first_free[part].record;
	if (record != 0)
		first_free[part].record = (uint32_t)*link_of(record);
	return record;
}

static void push_free(uint32_t record, unsigned part) {
	*link_of(record) = first_free[part].record;
	first_free[part].record = record;
}

/* A new one; another part's if there are no more.  0: none. */
static MW_NOINLINE uint64_t take_record(void) {
	uint64_t record = mw_image_take(MW_SECTION_RECORDS, 1);
	if (record != MW_IMAGE_NO_ENTRY)
		return record;
	record = 0;
	for (unsigned part = 0; part < MW_STACK_PARTS && record == 0; part++)
		record = pop_free(part);
	return record;
}

static uint32_t generation(void) {
	return atomic_load_explicit(&mw_image_live()->generation, memory_order_relaxed);
}

/* ---- records ---- */

/* The words of a record that take two fields each. */
static uint64_t state_word(uint32_t sequence, uint32_t stack) {
	return (uint64_t)stack << 32 | sequence;
}
_Static_assert(RECORD(sequence) == 0 && RECORD(stack) == 4 && RECORD(thread_id) == 48 &&
		       RECORD(generation) == 52 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "two a word");

/* Release: after whatever was written before. */
static inline void set_word(char *entry, size_t offset, uint64_t value) {
	atomic_store_explicit((_Atomic uint64_t *)(void *)(entry + offset), value,
			      memory_order_release);
}

/* One side.  Odd while being written: readers of the file load the number with acquire before and
 * after, so that each word has to come after the odd one. */
static inline void write_record(char *entry, const mw_sample_t *sample, uint32_t sequence,
				uint32_t its_generation) {
	atomic_store_explicit((_Atomic uint32_t *)(void *)entry, sequence | 1,
			      memory_order_relaxed);
	set_word(entry, RECORD(address), sample->address);
	set_word(entry, RECORD(requested_bytes), sample->requested_bytes);
	set_word(entry, RECORD(usable_bytes), sample->usable_bytes);
	set_word(entry, RECORD(weight_q16), sample->weight_q16);
	set_word(entry, RECORD(time_ns), sample->time_ns);
	set_word(entry, RECORD(thread_id), (uint64_t)its_generation << 32 | sample->thread_id);
	set_word(entry, 0, state_word((sequence | 1) + 1, sample->stack));
}

static uint32_t sequence_of(const char *image) {
	return ((const mw_state_record_t *)(const void *)image)->sequence;
}

/* 0: the records are full. */
static mw_record_id_t make_record(char *base, const mw_sample_t *sample) {
	uint64_t record = pop_free(mw_parts_of(sample->stack));
	if (MW_UNLIKELY(record == 0))
		record = take_record();
	if (MW_UNLIKELY(record == 0)) {
		mw_image_set_flag(MW_STATE_RECORDS_FULL);
		return 0;
	}
	mw_twin_t twin = mw_image_twin_of(base, MW_SECTION_RECORDS, record);
	uint32_t sequence = sequence_of(twin.image), its_generation = generation();
	write_record(twin.image, sample, sequence, its_generation);
	if (twin.mirror)
		write_record(twin.mirror, sample, sequence, its_generation);
	return (mw_record_id_t)record;
}

/* One word says that it is free, so it needs no odd number in between. */
static void free_record(mw_record_id_t record, mw_twin_t twin, unsigned part) {
	uint64_t word = state_word((sequence_of(twin.image) | 1) + 1, MW_RECORD_FREE);
	set_word(twin.image, 0, word);
	if (twin.mirror)
		set_word(twin.mirror, 0, word);
	push_free(record, part);
}

/* ---- counters ---- */

/* What one sample adds to the counters, in the order they stand in. */
typedef struct amounts {
	mw_os_pair_t objects_bytes;  /* objects in 1/65536 */
	mw_os_pair_t requested_zero; /* bytes; objects of 0 requested bytes */
} amounts_t;

_Static_assert(MW_STACK(live_bytes) == MW_STACK(live_objects_q16) + 8 &&
		       MW_STACK(live_requested_bytes) == MW_STACK(live_bytes) + 8 &&
		       MW_STACK(live_zero_objects_q16) == MW_STACK(live_requested_bytes) + 8 &&
		       MW_STACK(alloc_bytes) == MW_STACK(alloc_objects_q16) + 8 &&
		       MW_STACK(alloc_requested_bytes) == MW_STACK(alloc_bytes) + 8 &&
		       MW_STACK(alloc_zero_objects_q16) == MW_STACK(alloc_requested_bytes) + 8 &&
		       MW_STACK(alloc_samples) == MW_STACK(live_samples) + 8 &&
		       MW_STACK(live_objects_q16) % 16 == 0 &&
		       MW_STACK(alloc_objects_q16) % 16 == 0 && MW_STACK(live_samples) % 16 == 0 &&
		       sizeof(mw_state_stack_t) % 16 == 0,
	       "pairs");
_Static_assert(MW_LIVE(live_bytes) == MW_LIVE(live_objects_q16) + 8 &&
		       MW_LIVE(live_bytes) % 16 == 0 &&
		       MW_LIVE(alloc_objects_q16) == MW_LIVE(live_bytes) + 8 &&
		       MW_LIVE(alloc_bytes) == MW_LIVE(alloc_objects_q16) + 8 &&
		       MW_LIVE(samples) == MW_LIVE(alloc_bytes) + 8,
	       "pairs");

static inline amounts_t amounts_of(uint64_t weight_q16, uint64_t usable_bytes,
				   uint64_t requested_bytes) {
	int64_t objects_q16 = (int64_t)weight_q16;
	int64_t bytes = mw_sampler_weigh(weight_q16, usable_bytes);
	int64_t requested = mw_sampler_weigh(weight_q16, requested_bytes);
	return (amounts_t){.objects_bytes = {objects_q16, bytes},
			   .requested_zero = {requested, requested_bytes == 0 ? objects_q16 : 0}};
}

static inline amounts_t taken_back(amounts_t a) {
	return (amounts_t){.objects_bytes = -a.objects_bytes, .requested_zero = -a.requested_zero};
}

MW_ALWAYS_INLINE void add_made(mw_sides_t stack, amounts_t a) {
	mw_sides_add_pair(stack, MW_STACK(alloc_objects_q16), a.objects_bytes);
	mw_sides_add_pair(stack, MW_STACK(alloc_requested_bytes), a.requested_zero);
}

MW_ALWAYS_INLINE void add_live(mw_sides_t stack, amounts_t delta) {
	mw_peak_keep(stack.image, stack.mirror,
		     atomic_load_explicit(&mw_image_live()->peak_number, memory_order_relaxed));
	mw_sides_add_pair(stack, MW_STACK(live_objects_q16), delta.objects_bytes);
	mw_sides_add_pair(stack, MW_STACK(live_requested_bytes), delta.requested_zero);
}

MW_ALWAYS_INLINE void add_sampled(mw_sides_t stack, amounts_t a) {
	add_made(stack, a);
	add_live(stack, a);
	mw_sides_add_pair(stack, MW_STACK(live_samples), (mw_os_pair_t){1, 1});
}

MW_ALWAYS_INLINE void add_freed(mw_sides_t stack, amounts_t taken) {
	add_live(stack, taken);
	mw_sides_add_pair(stack, MW_STACK(live_samples), (mw_os_pair_t){-1, 0});
}

/* A stack beyond the end of a full mirror is summed in the mirror's "unknown", so that the file's
 * stacks still add up to its totals.  False: it has a place of its own. */
static inline bool is_unknown_to_file(mw_twin_t stack, mw_twin_t live, mw_sides_t *unknown) {
	if (MW_LIKELY(stack.mirror != NULL) || !live.mirror)
		return false;
	char *side = mw_mirror_range(MW_SECTION_STACKS, 0, sizeof(mw_state_stack_t));
	*unknown = (mw_sides_t){.image = side, .mirror = side};
	return side != NULL;
}

/* ---- samples ---- */

/* There is no record by which it could be taken back. */
static MW_COLD void count_made(mw_twin_t stack, mw_twin_t live, const amounts_t *amounts) {
	mw_sides_t unknown;
	add_made(mw_sides_of(stack), *amounts);
	mw_sides_add(mw_sides_of(stack), MW_STACK(alloc_samples), 1);
	if (is_unknown_to_file(stack, live, &unknown)) {
		add_made(unknown, *amounts);
		mw_sides_add(unknown, MW_STACK(alloc_samples), 1);
	}
	mw_sides_add(mw_sides_of(live), MW_LIVE(alloc_objects_q16), amounts->objects_bytes[0]);
	mw_sides_add_pair(mw_sides_of(live), MW_LIVE(alloc_bytes),
			  (mw_os_pair_t){amounts->objects_bytes[1], 1});
}

/* The process's: objects by themselves, then two pairs. */
static inline void count_sampled(mw_twin_t stack, mw_twin_t live, amounts_t a) {
	int64_t objects_q16 = a.objects_bytes[0], bytes = a.objects_bytes[1];
	mw_sides_t unknown, all = mw_sides_of(live);
	add_sampled(mw_sides_of(stack), a);
	if (MW_UNLIKELY(is_unknown_to_file(stack, live, &unknown)))
		add_sampled(unknown, a);
	mw_sides_add(all, MW_LIVE(live_objects_q16), objects_q16);
	mw_sides_add_pair(all, MW_LIVE(live_bytes), (mw_os_pair_t){bytes, objects_q16});
	mw_sides_add_pair(all, MW_LIVE(alloc_bytes), (mw_os_pair_t){bytes, 1});
	mw_peak_notice(live);
}

mw_record_id_t mw_records_add(const mw_sample_t *sample) {
	mw_sizes_count(sample);
	char *base = mw_mirror_base();
	mw_record_id_t record = make_record(base, sample);
	mw_twin_t stack = mw_image_twin_of(base, MW_SECTION_STACKS, sample->stack);
	mw_twin_t live = mw_image_twin_of(base, MW_SECTION_LIVE, 0);
	amounts_t amounts =
		amounts_of(sample->weight_q16, sample->usable_bytes, sample->requested_bytes);
	if (MW_LIKELY(record != 0))
		count_sampled(stack, live, amounts);
	else
		count_made(stack, live, &amounts);
	return record;
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
static inline void count_freed(char *base, uint32_t number, const mw_state_record_t *entry,
			       const mw_release_t *release) {
	amounts_t amounts =
		amounts_of(entry->weight_q16, entry->usable_bytes, entry->requested_bytes);
	amounts_t taken = taken_back(amounts);
	mw_twin_t stack = mw_image_twin_of(base, MW_SECTION_STACKS, number);
	mw_twin_t live = mw_image_twin_of(base, MW_SECTION_LIVE, 0);
	mw_sides_t unknown, all = mw_sides_of(live);
	add_freed(mw_sides_of(stack), taken);
	if (MW_UNLIKELY(is_unknown_to_file(stack, live, &unknown)))
		add_freed(unknown, taken);
	mw_sides_add(all, MW_LIVE(live_objects_q16), taken.objects_bytes[0]);
	/* Whole pairs also where one of the two stays: a word just stored by itself would hold up
	 * the load of the pair at the next sample. */
	mw_sides_add_pair(all, MW_LIVE(live_bytes), (mw_os_pair_t){taken.objects_bytes[1], 0});
	mw_life_t life = {
		.objects_q16 = amounts.objects_bytes[0],
		.lifetime_ns =
			release->time_ns > entry->time_ns ? release->time_ns - entry->time_ns : 0,
		.other_thread = release->thread_id != entry->thread_id,
		.temporary = release->temporary,
	};
	mw_lives_count(base, stack, &life);
}

uint64_t mw_records_remove(mw_record_id_t record, const mw_release_t *release) {
	char *base = mw_mirror_base();
	mw_twin_t twin = mw_image_twin_of(base, MW_SECTION_RECORDS, record);
	const mw_state_record_t *entry = (const mw_state_record_t *)(const void *)twin.image;
	/* Read once: a thread whose turn was taken over (gate.h) may free the record meanwhile, and
	 * what says so is no stack's number. */
	uint32_t stack = __atomic_load_n(&entry->stack, __ATOMIC_RELAXED);
	/* The heap finds double frees itself; a stray number may do no harm here. */
	if (MW_UNLIKELY(record == 0) || MW_UNLIKELY(stack == MW_RECORD_FREE))
		return 0;
	if (MW_LIKELY(entry->generation == generation()))
		count_freed(base, stack, entry, release);
	free_record(record, twin, mw_parts_of(stack));
	return entry->address;
}

uint64_t mw_records_allocated_bytes(void) {
	return (uint64_t)atomic_load_explicit(&mw_image_live()->alloc_bytes, memory_order_relaxed);
}
