/* SPDX-License-Identifier: MIT
 * records.c -- the records' free list and sequence numbers, and the counters of stacks and of the
 * process. */
#include "prof/table/records.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/compiler.h"
#include "prof/sample/sampler.h"
#include "prof/store/count.h"
#include "prof/store/store.h"
#include "prof/table/lifetimes.h"
#include "prof/table/peak.h"
#include "prof/table/sizes.h"

#define RECORD(field) offsetof(mw_state_record_t, field)

/* Index of the first free record. Each free record leads to the next by its reserved word, in the
 * private tables only. In a record of a sample the word says whether the block is exempt. */
static _Atomic uint32_t first_free;

static _Atomic uint64_t *link_of(uint32_t record) {
	mw_state_record_t *entry = mw_store_private(MW_SECTION_RECORDS, record);
	return (_Atomic uint64_t *)&entry->reserved;
}

/* The words are atomic because a thread that lost the tables' lock (table_lock.h) may run here at
 * the same time. Each stored word is then still the number of a record. Two samples may share a
 * record, and one of them stays counted as live when its block is freed. */
static uint32_t pop_free(void) {
	uint32_t record = atomic_load_explicit(&first_free, memory_order_relaxed);
	if (record == 0)
		return 0;
	uint32_t next = (uint32_t)atomic_load_explicit(link_of(record), memory_order_relaxed);
	atomic_store_explicit(&first_free, next, memory_order_relaxed);
	/* A record that was free for long is in no cache when the next sample takes it. */
	__builtin_prefetch(link_of(next), 1);
	return record;
}

static void push_free(uint32_t record) {
	atomic_store_explicit(link_of(record),
			      atomic_load_explicit(&first_free, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&first_free, record, memory_order_relaxed);
}

/* Returns the number of a record that was never used; 0: there is none. */
static MW_NOINLINE uint64_t take_record(void) {
	uint64_t record = mw_store_take(MW_SECTION_RECORDS, 1);
	return record != MW_STORE_NO_ENTRY ? record : 0;
}

static uint32_t generation(void) {
	return atomic_load_explicit(&mw_store_live()->generation, memory_order_relaxed);
}

/* ---- records ---- */

/* Returns the record's first word, which holds two fields. */
static uint64_t state_word(uint32_t sequence, uint32_t stack) {
	return (uint64_t)stack << 32 | sequence;
}
_Static_assert(RECORD(sequence) == 0 && RECORD(stack) == 4 && RECORD(thread_id) == 48 &&
		       RECORD(generation) == 52 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "two a word");

/* Stores a word with release, so that a reader sees all words that were stored before it. */
static inline void set_word(char *entry, size_t offset, uint64_t value) {
	atomic_store_explicit((_Atomic uint64_t *)(void *)(entry + offset), value,
			      memory_order_release);
}

/* Writes one copy of a record. The sequence number is odd meanwhile. A reader of the file loads the
 * number with acquire before and after the other words, so each word is stored after the odd
 * number. */
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

static uint32_t sequence_of(const char *table) {
	return ((const mw_state_record_t *)(const void *)table)->sequence;
}

/* Writes a record of the sample and returns its number; 0: the records are full. */
static mw_record_id_t make_record(char *base, const mw_sample_t *sample) {
	uint64_t record = pop_free();
	if (MW_UNLIKELY(record == 0))
		record = take_record();
	if (MW_UNLIKELY(record == 0)) {
		mw_store_set_flag(MW_STATE_RECORDS_FULL);
		return 0;
	}
	mw_both_t both = mw_store_both_of(base, MW_SECTION_RECORDS, record);
	uint32_t sequence = sequence_of(both.table), its_generation = generation();
	write_record(both.table, sample, sequence, its_generation);
	if (both.published)
		write_record(both.published, sample, sequence, its_generation);
	return (mw_record_id_t)record;
}

/* One store marks the record as free, so no odd sequence number is needed meanwhile. */
static void free_record(mw_record_id_t record, mw_both_t both) {
	uint64_t word = state_word((sequence_of(both.table) | 1) + 1, MW_RECORD_FREE);
	set_word(both.table, 0, word);
	if (both.published)
		set_word(both.published, 0, word);
	push_free(record);
}

/* ---- counters ---- */

/* Amounts that one sample adds, in pairs of neighbouring counters. */
typedef struct amounts {
	mw_os_pair_t objects_bytes;  /* objects in 1/65536 */
	mw_os_pair_t requested_zero; /* requested bytes; objects with requests for 0 bytes */
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

static inline amounts_t negated(amounts_t a) {
	return (amounts_t){.objects_bytes = -a.objects_bytes, .requested_zero = -a.requested_zero};
}

MW_ALWAYS_INLINE void add_made(mw_sides_t stack, amounts_t a) {
	mw_sides_add_pair(stack, MW_STACK(alloc_objects_q16), a.objects_bytes);
	mw_sides_add_pair(stack, MW_STACK(alloc_requested_bytes), a.requested_zero);
}

MW_ALWAYS_INLINE void add_live(mw_sides_t stack, amounts_t delta, bool is_peak) {
	if (!is_peak)
		mw_peak_keep(
			stack.table, stack.published,
			atomic_load_explicit(&mw_store_live()->peak_number, memory_order_relaxed));
	mw_sides_add_pair(stack, MW_STACK(live_objects_q16), delta.objects_bytes);
	mw_sides_add_pair(stack, MW_STACK(live_requested_bytes), delta.requested_zero);
}

MW_ALWAYS_INLINE void add_sampled(mw_sides_t stack, amounts_t a, bool is_peak) {
	add_made(stack, a);
	add_live(stack, a, is_peak);
	mw_sides_add_pair(stack, MW_STACK(live_samples), (mw_os_pair_t){1, 1});
}

MW_ALWAYS_INLINE void add_freed(mw_sides_t stack, amounts_t taken) {
	add_live(stack, taken, false);
	mw_sides_add_pair(stack, MW_STACK(live_samples), (mw_os_pair_t){-1, 0});
}

/* Returns whether a full published copy lacks the stack. The copy's stack 0, "unknown", sums such
 * stacks, so that the file's stacks still add up to its totals; *unknown is its entry. */
static inline bool is_unknown_to_file(mw_both_t stack, mw_both_t live, mw_sides_t *unknown) {
	if (MW_LIKELY(stack.published != NULL) || !live.published)
		return false;
	char *side = mw_published_range(MW_SECTION_STACKS, 0, sizeof(mw_state_stack_t));
	*unknown = (mw_sides_t){.table = side, .published = side};
	return side != NULL;
}

/* ---- samples ---- */

/* Counts a sample without a record as allocated only, because nothing could subtract it later. */
static MW_COLD void count_made(mw_both_t stack, mw_both_t live, const amounts_t *amounts) {
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

/* Adds a sample to the counters of its stack and of the process. */
static inline void count_sampled(mw_both_t stack, mw_both_t live, amounts_t a, uint64_t time_ns) {
	int64_t objects_q16 = a.objects_bytes[0], bytes = a.objects_bytes[1];
	mw_sides_t unknown, all = mw_sides_of(live);
	bool is_peak = mw_peak_is_passed(live, bytes);
	add_sampled(mw_sides_of(stack), a, is_peak);
	if (MW_UNLIKELY(is_unknown_to_file(stack, live, &unknown)))
		add_sampled(unknown, a, is_peak);
	mw_sides_add(all, MW_LIVE(live_objects_q16), objects_q16);
	mw_sides_add_pair(all, MW_LIVE(live_bytes), (mw_os_pair_t){bytes, objects_q16});
	mw_sides_add_pair(all, MW_LIVE(alloc_bytes), (mw_os_pair_t){bytes, 1});
	if (is_peak)
		mw_peak_rise(live, time_ns);
}

mw_record_id_t mw_records_add(const mw_sample_t *sample) {
	mw_sizes_count(sample);
	char *base = mw_published_base();
	mw_record_id_t record = make_record(base, sample);
	mw_both_t stack = mw_store_both_of(base, MW_SECTION_STACKS, sample->stack);
	mw_both_t live = mw_store_both_of(base, MW_SECTION_LIVE, 0);
	amounts_t amounts =
		amounts_of(sample->weight_q16, sample->usable_bytes, sample->requested_bytes);
	if (MW_LIKELY(record != 0))
		count_sampled(stack, live, amounts, sample->time_ns);
	else
		count_made(stack, live, &amounts);
	return record;
}

bool mw_records_read(mw_record_id_t record, mw_sample_t *sample) {
	const mw_state_record_t *entry = mw_store_private(MW_SECTION_RECORDS, record);
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

/* Subtracts the sample from the live counters and counts its lifetime. */
static inline void count_freed(char *base, uint32_t number, const mw_state_record_t *entry,
			       const mw_release_t *release) {
	amounts_t amounts =
		amounts_of(entry->weight_q16, entry->usable_bytes, entry->requested_bytes);
	amounts_t taken = negated(amounts);
	mw_both_t stack = mw_store_both_of(base, MW_SECTION_STACKS, number);
	mw_both_t live = mw_store_both_of(base, MW_SECTION_LIVE, 0);
	mw_sides_t unknown, all = mw_sides_of(live);
	add_freed(mw_sides_of(stack), taken);
	if (MW_UNLIKELY(is_unknown_to_file(stack, live, &unknown)))
		add_freed(unknown, taken);
	mw_sides_add(all, MW_LIVE(live_objects_q16), taken.objects_bytes[0]);
	/* Stores the whole pair although one counter stays: the processor would delay the load of
	 * the pair at the next sample if one of its words had been stored alone. */
	mw_sides_add_pair(all, MW_LIVE(live_bytes), (mw_os_pair_t){taken.objects_bytes[1], 0});
	mw_lifetime_t lifetimes = {
		.objects_q16 = amounts.objects_bytes[0],
		.lifetime_ns =
			release->time_ns > entry->time_ns ? release->time_ns - entry->time_ns : 0,
		.other_thread = release->thread_id != entry->thread_id,
		.temporary = release->temporary,
	};
	mw_lifetimes_count(base, stack, &lifetimes);
}

uint64_t mw_records_remove(mw_record_id_t record, const mw_release_t *release) {
	char *base = mw_published_base();
	mw_both_t both = mw_store_both_of(base, MW_SECTION_RECORDS, record);
	const mw_state_record_t *entry = (const mw_state_record_t *)(const void *)both.table;
	/* The stack's number is read once: a thread that lost the tables' lock (table_lock.h) may
	 * free the record meanwhile and store MW_RECORD_FREE, which is no stack's number. */
	uint32_t stack = __atomic_load_n(&entry->stack, __ATOMIC_RELAXED);
	/* The heap detects double frees. A wrong number is ignored here. */
	if (MW_UNLIKELY(record == 0) || MW_UNLIKELY(stack == MW_RECORD_FREE))
		return 0;
	if (MW_LIKELY(entry->generation == generation()))
		count_freed(base, stack, entry, release);
	free_record(record, both);
	return entry->address;
}

uint64_t mw_records_allocated_bytes(void) {
	return (uint64_t)atomic_load_explicit(&mw_store_live()->alloc_bytes, memory_order_relaxed);
}
