/* SPDX-License-Identifier: MIT
 * test_sizes.c -- what a stack has allocated by size, against a model; tables that are full. */
#include "prof/table/records.h"
#include "prof_fixture.h"

enum { STACKS = 20, SIZES = 60, TURNS = 40000 };

static mw_record_id_t add(uint32_t stack, uint64_t requested_bytes, uint64_t usable_bytes) {
	mw_sample_t sample = {.stack = stack,
			      .thread_id = 7,
			      .address = 4096,
			      .requested_bytes = requested_bytes,
			      .usable_bytes = usable_bytes,
			      .weight_q16 = 3 * 65536};
	return mw_records_add(&sample);
}

typedef struct sums {
	int64_t objects_q16, bytes, requested_bytes;
	uint64_t samples;
} sums_t;

/* What a reader finds for one size of a stack. */
static sums_t sums_of(char *base, uint32_t number, uint64_t size_bytes) {
	const mw_state_stack_t *stack = stack_entry(base, number);
	sums_t rest = {stack->alloc_objects_q16, stack->alloc_bytes, stack->alloc_requested_bytes,
		       stack->alloc_samples};
	for (uint32_t i = stack->sizes; i != 0; i = size_entry(base, i)->next) {
		CHECK(size_entry(base, i)->next < i);
		sums_t sums = {size_entry(base, i)->objects_q16, size_entry(base, i)->bytes,
			       size_entry(base, i)->requested_bytes, size_entry(base, i)->samples};
		if (size_entry(base, i)->usable_bytes == size_bytes)
			return sums;
		rest.objects_q16 -= sums.objects_q16;
		rest.bytes -= sums.bytes;
		rest.requested_bytes -= sums.requested_bytes;
		rest.samples -= sums.samples;
	}
	return stack->first_size_bytes == size_bytes ? rest : (sums_t){0};
}

static void check_sums(const sums_t *is, const sums_t *model) {
	CHECK_EQ(is->objects_q16, model->objects_q16);
	CHECK_EQ(is->bytes, model->bytes);
	CHECK_EQ(is->requested_bytes, model->requested_bytes);
	CHECK_EQ(is->samples, model->samples);
}

static sums_t model[STACKS + 1][SIZES];

/* 16, 32 ... 480 bytes, 80 KiB, 96 KiB, 128 KiB, 192 KiB ... 16 TiB. */
static uint64_t size_at(unsigned i) {
	if (i < SIZES / 2)
		return 16 * (i + 1);
	return mw_state_size_of(50000 + ((uint64_t)1 << (14 + i - SIZES / 2)));
}

static void sizes_are_those_of_a_model(void) {
	start(1, 0, false);
	CHECK_EQ(mw_store_take(MW_SECTION_STACKS, STACKS), 1);
	char *bases[] = {store_base(), map_state_of(getpid())};
	uint64_t random = 4711;
	for (int turn = 0; turn < TURNS; turn++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		uint32_t stack = 1 + (uint32_t)(random >> 40) % STACKS;
		/* Some stacks make one size only. */
		unsigned size = stack < 5 ? stack : (unsigned)(random >> 20) % SIZES;
		uint64_t usable = size_at(size), requested = usable - 5;
		mw_record_id_t record = add(stack, requested, usable);
		sums_t *sums = &model[stack][size];
		sums->objects_q16 += 3 * 65536;
		sums->bytes += (int64_t)(3 * usable);
		sums->requested_bytes += (int64_t)(3 * requested);
		sums->samples++;
		/* A free takes nothing back. */
		if (turn % 3 == 0)
			mw_records_remove(record, &(mw_release_t){.thread_id = 7});
		if (turn % 1000 != 0)
			continue;
		for (int k = 0; k < 2; k++)
			for (uint32_t s = 1; s <= STACKS; s++)
				for (unsigned i = 0; i < SIZES; i++) {
					sums_t is = sums_of(bases[k], s, size_at(i));
					check_sums(&is, &model[s][i]);
				}
	}
	const mw_state_stack_t *first = mw_store_private(MW_SECTION_STACKS, 1);
	CHECK_EQ(first->sizes, 0);
	CHECK_EQ(first->first_size_bytes, size_at(1));
	/* The sizes stay known, the sums begin anew. */
	mw_prof_reset();
	add(9, 20, 32);
	for (int k = 0; k < 2; k++) {
		sums_t is = sums_of(bases[k], 9, 32), none = sums_of(bases[k], 9, 48);
		check_sums(&is, &(sums_t){3 * 65536, 96, 60, 1});
		check_sums(&none, &(sums_t){0});
	}
}

static void large_sizes_are_rounded_up_to_a_quarter(void) {
	uint64_t last = 0;
	unsigned bounds = 0;
	CHECK_EQ(mw_state_size_of(65536), 65536);
	CHECK_EQ(mw_state_size_of(65537), 81920);
	CHECK_EQ(mw_state_size_of(81920), 81920);
	CHECK_EQ(mw_state_size_of(131072), 131072);
	CHECK_EQ(mw_state_size_of(131073), 163840);
	CHECK_EQ(mw_state_size_of(UINT64_MAX), UINT64_MAX);
	for (uint64_t bytes = 65537; bytes < (uint64_t)1 << 47; bytes += 1 + bytes / 100) {
		uint64_t size = mw_state_size_of(bytes);
		CHECK(size >= bytes && (size - bytes) * 4 <= bytes);
		CHECK_EQ(mw_state_size_of(size), size);
		bounds += size != last;
		last = size;
	}
	CHECK_EQ(bounds, 31 * 4);
}

/* First size above 4 GiB: it has no place in the stack, and waits for the next. */
static void huge_sizes_are_in_the_list(void) {
	start(1, 0, false);
	CHECK_EQ(mw_store_take(MW_SECTION_STACKS, 1), 1);
	uint64_t huge = (uint64_t)5 << 30;
	add(1, huge, huge);
	add(1, huge, huge);
	const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, 1);
	CHECK(stack->sizes != 0);
	sums_t is = sums_of(store_base(), 1, huge);
	check_sums(&is, &(sums_t){6 * 65536, 6 * (int64_t)huge, 6 * (int64_t)huge, 2});
	add(1, 10, 16);
	is = sums_of(store_base(), 1, 16);
	check_sums(&is, &(sums_t){3 * 65536, 48, 30, 1});
}

/* A stack for whose size there was no room says so; others go on. */
static void a_full_table_is_said(void) {
	start(1, 0, false);
	uint64_t capacity = mw_store_header()->sections[MW_SECTION_SIZES].capacity;
	CHECK_EQ(mw_store_take(MW_SECTION_STACKS, 3), 1);
	add(1, 16, 16);
	add(2, 16, 16);
	add(2, 32, 32);
	while (mw_store_take(MW_SECTION_SIZES, 1) != MW_STORE_NO_ENTRY)
		;
	CHECK_EQ(mw_store_live()->sizes_used, capacity);
	add(1, 32, 32);
	add(2, 32, 32);
	const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, 1);
	CHECK_EQ(stack[0].sizes, MW_SIZES_UNKNOWN);
	CHECK_EQ(stack[0].alloc_samples, 2);
	sums_t is = sums_of(store_base(), 2, 32);
	check_sums(&is, &(sums_t){6 * 65536, 192, 192, 2});
	add(0, 48, 48);
	CHECK_EQ(stack[-1].first_size_bytes, 0);
}

int main(void) {
	RUN_IN_CHILD(sizes_are_those_of_a_model);
	RUN_IN_CHILD(large_sizes_are_rounded_up_to_a_quarter);
	RUN_IN_CHILD(huge_sizes_are_in_the_list);
	RUN_IN_CHILD(a_full_table_is_said);
	return 0;
}
