/* SPDX-License-Identifier: MIT
 * test_index.c -- an index finds its entries in all of its parts, and adds each once. */
#include "prof/store/index.h"

#include "test.h"

/* Fills all parts of an index for 8192 entries to half of the last one. */
#define THINGS 8192u

static mw_index_t things_index;
static uint64_t things[THINGS + 1]; /* by number, from 1 on */
static uint32_t appended;

static bool is_thing(const void *thing, uint32_t number) {
	return things[number] == *(const uint64_t *)thing;
}

static uint32_t append_thing(const void *thing) {
	if (appended == THINGS)
		return 0;
	things[++appended] = *(const uint64_t *)thing;
	return appended;
}

static uint32_t find_thing(uint64_t thing) {
	const mw_index_kind_t kind = {is_thing, append_thing};
	return mw_index_find(&things_index, thing * 0x9e3779b97f4a7c15u, &thing, kind);
}

static void start_anew(void) {
	things_index = (mw_index_t)MW_INDEX_OF_8192;
	appended = 0;
}

static unsigned parts_made(void) {
	uintptr_t start;
	unsigned parts = 0;
	while (parts <= things_index.last && mw_index_part(&things_index, parts, &start) != 0)
		parts++;
	return parts;
}

/* After each new thing some of the earlier ones are looked for: they lie in any part. */
static void things_are_found_in_all_parts(void) {
	start_anew();
	for (uint32_t i = 1; i <= THINGS; i++) {
		CHECK_EQ(find_thing(i * 3), i);
		CHECK_EQ(find_thing((i / 2 + 1) * 3), i / 2 + 1);
	}
	CHECK_EQ(appended, THINGS);
	CHECK_EQ(parts_made(), things_index.last + 1);
	for (uint32_t i = 1; i <= THINGS; i++)
		CHECK_EQ(find_thing(i * 3), i);
	CHECK_EQ(appended, THINGS);
}

/* As long as the first part has room no other is made. */
static void few_things_take_one_part(void) {
	start_anew();
	for (uint32_t i = 1; i <= 64; i++)
		CHECK_EQ(find_thing(i), i);
	CHECK_EQ(parts_made(), 1);
}

static void things_without_room_are_0(void) {
	start_anew();
	for (uint32_t i = 1; i <= THINGS; i++)
		CHECK(find_thing(i) != 0);
	CHECK_EQ(find_thing(THINGS + 1), 0);
	CHECK_EQ(find_thing(7), 7);
}

/* As things_are_found_in_all_parts(), of things that are known to be new. */
static void added_things_are_found(void) {
	start_anew();
	for (uint32_t i = 1; i <= THINGS; i++) {
		uint64_t thing = i * 3;
		mw_index_add(&things_index, thing * 0x9e3779b97f4a7c15u, append_thing(&thing));
		CHECK_EQ(find_thing((i / 2 + 1) * 3), i / 2 + 1);
	}
	for (uint32_t i = 1; i <= THINGS; i++)
		CHECK_EQ(find_thing(i * 3), i);
	CHECK_EQ(appended, THINGS);
	CHECK_EQ(parts_made(), things_index.last + 1);
}

int main(void) {
	RUN(few_things_take_one_part);
	RUN(things_are_found_in_all_parts);
	RUN(added_things_are_found);
	RUN(things_without_room_are_0);
	return 0;
}
