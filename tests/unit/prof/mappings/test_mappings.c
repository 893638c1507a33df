/* SPDX-License-Identifier: MIT
 * test_mappings.c -- counters of stacks after maps, partial unmaps and remaps; changes that arrive
 * late or that a signal handler leaves; many threads; a reset; a switch off. */
#include "prof/mappings/mappings.h"

#include <pthread.h>

#include "prof/control/control.h"
#include "prof/table/depot.h"
#include "prof/table/records.h"
#include "prof_fixture.h"

enum { PAGE = 4096 };

static uint64_t frames_of(unsigned who) {
	return 0x10000 + who;
}

static mw_mapping_change_t mapped(uint64_t start, uint64_t pages) {
	return (mw_mapping_change_t){.start = start * PAGE,
				     .limit = (start + pages) * PAGE,
				     .number = mw_mappings_next_number()};
}

static mw_mapping_change_t unmapped(uint64_t start, uint64_t pages) {
	return (mw_mapping_change_t){.gone_start = start * PAGE,
				     .gone_limit = (start + pages) * PAGE,
				     .gone_before = mw_mappings_next_number()};
}

static void change(const mw_mapping_change_t *what, unsigned who) {
	uint64_t frame = frames_of(who);
	mw_tables_enter(&mw_control_table_lock);
	mw_mappings_change(what, &(mw_mapping_stack_t){.frames = &frame, .depth = 1},
			   &mw_control_table_lock);
	mw_tables_leave(&mw_control_table_lock);
}

static void map(uint64_t start, uint64_t pages, unsigned who) {
	mw_mapping_change_t what = mapped(start, pages);
	change(&what, who);
}

static void unmap(uint64_t start, uint64_t pages) {
	mw_mapping_change_t what = unmapped(start, pages);
	change(&what, 0);
}

static const mw_state_stack_t *stack_of(unsigned who) {
	uint64_t frame = frames_of(who);
	return mw_store_private(MW_SECTION_STACKS, mw_mappings_stack(&frame, 1, false));
}

static void counts(unsigned who, int64_t ranges, int64_t pages, int64_t all_ranges,
		   int64_t all_pages) {
	const mw_state_stack_t *stack = stack_of(who);
	CHECK_EQ(stack->live_objects_q16, ranges * 65536);
	CHECK_EQ(stack->live_bytes, pages * PAGE);
	CHECK_EQ(stack->alloc_objects_q16, all_ranges * 65536);
	CHECK_EQ(stack->alloc_bytes, all_pages * PAGE);
}

static void begin(void) {
	start(1 << 20, 0, false);
	mw_mappings_set(true);
	CHECK(mw_control_need_tables());
}

static void parts_are_taken_from_their_stack(void) {
	begin();
	map(100, 10, 1);
	counts(1, 1, 10, 1, 10);
	CHECK_EQ(stack_of(1)->flags, MW_STACK_MAPPING);
	unmap(103, 2); /* in the middle */
	counts(1, 2, 8, 1, 10);
	unmap(98, 4); /* the beginning */
	counts(1, 2, 6, 1, 10);
	unmap(109, 7); /* the end */
	counts(1, 2, 5, 1, 10);
	map(104, 3, 2); /* over the hole and a part of the upper rest */
	counts(1, 2, 3, 1, 10);
	counts(2, 1, 3, 1, 3);
	unmap(0, 1000);
	counts(1, 0, 0, 1, 10);
	counts(2, 0, 0, 1, 3);
	/* The heap's sums know nothing of it, nor does the heap's stack of the same frames. */
	uint64_t frame = frames_of(1);
	const mw_state_stack_t *heap =
		mw_store_private(MW_SECTION_STACKS, mw_depot_find(&frame, 1, false));
	CHECK(heap != stack_of(1) && heap->alloc_bytes == 0);
	CHECK_EQ(mw_store_live()->alloc_bytes, 0);
}

static void a_remap_moves_to_the_new_stack(void) {
	begin();
	map(100, 10, 1);
	mw_mapping_change_t moved = unmapped(100, 10);
	moved.start = 500 * PAGE;
	moved.limit = 540 * PAGE;
	moved.number = mw_mappings_next_number();
	change(&moved, 2);
	counts(1, 0, 0, 1, 10);
	counts(2, 1, 40, 1, 40);
	/* In place, and smaller. */
	moved = unmapped(500, 40);
	moved.start = 500 * PAGE;
	moved.limit = 505 * PAGE;
	moved.number = mw_mappings_next_number();
	change(&moved, 3);
	counts(2, 0, 0, 1, 40);
	counts(3, 1, 5, 1, 5);
}

/* Thread A unmaps, thread B maps the same addresses, and B's change comes first. */
static void late_changes_do_not_hit_newer_mappings(void) {
	begin();
	map(100, 10, 1);
	mw_mapping_change_t late = unmapped(100, 10);
	map(104, 2, 2);
	change(&late, 0);
	counts(1, 0, 0, 1, 10);
	counts(2, 1, 2, 1, 2);
	/* A map that comes late leaves out what a newer one has. */
	mw_mapping_change_t late_map = mapped(100, 10);
	map(106, 2, 3);
	change(&late_map, 4);
	counts(2, 0, 0, 1, 2);
	counts(3, 1, 2, 1, 2);
	counts(4, 2, 8, 2, 8);
}

static void segments_are_detached_as_a_whole(void) {
	begin();
	mw_mapping_change_t attach = mapped(100, 10);
	attach.kind = MW_MAPPING_SHM;
	change(&attach, 1);
	unmap(100, 2);
	map(105, 1, 2);
	counts(1, 2, 7, 1, 10);
	mw_mapping_change_t detach = {.gone_start = 100 * PAGE,
				      .gone_before = mw_mappings_next_number(),
				      .kind = MW_MAPPING_SHM,
				      .detaches = true};
	change(&detach, 0);
	counts(1, 0, 0, 1, 10);
	counts(2, 1, 1, 1, 1);
}

static void postponed_changes_come_with_the_next(void) {
	begin();
	uint64_t deep[200];
	for (unsigned i = 0; i < 200; i++)
		deep[i] = frames_of(7);
	mw_mapping_change_t what = mapped(100, 10);
	mw_mappings_postpone(&what, &(mw_mapping_stack_t){.frames = deep, .depth = 200});
	counts(1, 0, 0, 0, 0);
	uint64_t frame = frames_of(1);
	what = mapped(200, 3);
	mw_mappings_postpone(&what, &(mw_mapping_stack_t){.frames = &frame, .depth = 1});
	unmap(0, 105);
	counts(1, 1, 3, 1, 3);
	int64_t live = 0;
	for (uint64_t i = 0; i < mw_store_live()->stacks_used; i++) {
		const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, i);
		live += stack->flags & MW_STACK_MAPPING ? stack->live_bytes : 0;
	}
	CHECK_EQ(live, (5 + 3) * PAGE);
	/* There is room for sixteen. */
	CHECK_EQ(mw_mappings_lost(), 0);
	for (unsigned i = 0; i < 17; i++) {
		what = mapped(300 + i, 1);
		frame = frames_of(2);
		mw_mappings_postpone(&what, &(mw_mapping_stack_t){.frames = &frame, .depth = 1});
	}
	CHECK_EQ(mw_mappings_lost(), 1);
	unmap(0, 1);
	counts(2, 16, 16, 16, 16);
}

static void postpone(const mw_mapping_change_t *what, unsigned who) {
	uint64_t frame = frames_of(who);
	mw_mappings_postpone(what, &(mw_mapping_stack_t){.frames = &frame, .depth = 1});
}

/* A handler's changes may lie in any order: while the holder empties places, handlers fill them. */
static void postponed_changes_are_applied_by_age(void) {
	begin();
	mw_mapping_change_t map_1 = mapped(100, 10), unmap_1 = unmapped(100, 10);
	mw_mapping_change_t map_2 = mapped(100, 4), unmap_2 = unmapped(102, 2);
	postpone(&unmap_2, 0);
	postpone(&unmap_1, 0);
	postpone(&map_2, 2);
	postpone(&map_1, 1);
	unmap(0, 1);
	counts(1, 0, 0, 1, 10);
	counts(2, 1, 2, 1, 4);
	CHECK_EQ(mw_mappings_lost(), 0);
}

static void a_reset_forgets(void) {
	begin();
	map(100, 10, 1);
	mw_control_reset();
	counts(1, 0, 0, 0, 0);
	unmap(100, 5);
	counts(1, 0, 0, 0, 0);
	map(200, 2, 1);
	unmap(100, 5);
	counts(1, 1, 2, 1, 2);
}

static unsigned seen;

static void see(uintptr_t first, uintptr_t limit, uint32_t stack) {
	CHECK(first < limit && stack != 0);
	seen++;
}

static void off_forgets_ranges(void) {
	begin();
	map(100, 10, 1);
	map(200, 10, 2);
	mw_mappings_visit(see, 10);
	CHECK_EQ(seen, 2);
	mw_mappings_set(false);
	CHECK_EQ(mw_mappings_are_used(), 0);
	counts(1, 0, 0, 1, 10);
	mw_mappings_visit(see, 10);
	CHECK_EQ(seen, 2);
	mw_mappings_set(true);
	unmap(100, 10);
	counts(1, 0, 0, 1, 10);
}

enum { THREADS = 4, ROUNDS = 20000 };

static void *churn(void *number) {
	unsigned who = (unsigned)(uintptr_t)number;
	for (unsigned i = 0; i < ROUNDS; i++) {
		map(who * 1000 + i % 100 * 4, 4, who);
		unmap(who * 1000 + i % 100 * 4 + i % 3, 1 + i % 2);
	}
	return NULL;
}

static void threads_do_not_disturb_each_other(void) {
	begin();
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (unsigned who = 1; who <= THREADS; who++) {
		CHECK_EQ(stack_of(who)->alloc_bytes, (int64_t)ROUNDS * 4 * PAGE);
		CHECK_EQ(stack_of(who)->live_bytes, stack_of(1)->live_bytes);
		CHECK(stack_of(who)->live_bytes > 200 * PAGE);
	}
	CHECK_EQ(mw_mappings_lost(), 0);
	unmap(0, 100000);
	for (unsigned who = 1; who <= THREADS; who++)
		counts(who, 0, 0, ROUNDS, (int64_t)ROUNDS * 4);
}

int main(void) {
	RUN_IN_CHILD(parts_are_taken_from_their_stack);
	RUN_IN_CHILD(a_remap_moves_to_the_new_stack);
	RUN_IN_CHILD(late_changes_do_not_hit_newer_mappings);
	RUN_IN_CHILD(segments_are_detached_as_a_whole);
	RUN_IN_CHILD(postponed_changes_come_with_the_next);
	RUN_IN_CHILD(postponed_changes_are_applied_by_age);
	RUN_IN_CHILD(a_reset_forgets);
	RUN_IN_CHILD(off_forgets_ranges);
	RUN_IN_CHILD(threads_do_not_disturb_each_other);
	return 0;
}
