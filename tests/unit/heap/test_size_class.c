/* SPDX-License-Identifier: MIT
 * test_size_class.c -- the tables against the rule they come from. */
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "test.h"

static void test_sizes_follow_the_rule(void) {
	unsigned c = 0;
	for (uint32_t bytes = 16; bytes <= 128; bytes += 16)
		CHECK_EQ(mw_class_bytes[c++], bytes);
	for (uint32_t base = 128; base < MW_SMALL_MAX_BYTES; base *= 2)
		for (uint32_t step = 1; step <= 4; step++)
			CHECK_EQ(mw_class_bytes[c++], base + base / 4 * step);
	CHECK_EQ(c, MW_CLASS_COUNT);
	CHECK_EQ(mw_class_bytes[MW_CLASS_COUNT - 1], MW_SMALL_MAX_BYTES);
	CHECK_EQ(mw_class_bytes[MW_TINY_CLASSES - 1], MW_TINY_MAX_BYTES);
}

/* A run is the fewest slices that waste at most one part in eight, or that leave nothing over. */
static void test_runs_waste_little(void) {
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		size_t run_bytes = mw_class_run_slices[c] * (size_t)65536;
		size_t over = run_bytes % mw_class_bytes[c];
		CHECK(over * 8 < run_bytes);
		if (mw_class_run_slices[c] > 1)
			CHECK_EQ(over, 0);
	}
}

static void test_every_size_gets_the_smallest_class(void) {
	for (size_t bytes = 0; bytes <= MW_SMALL_MAX_BYTES; bytes++) {
		unsigned c = mw_class_of(bytes);
		CHECK(c < MW_CLASS_COUNT);
		CHECK(mw_class_bytes[c] >= bytes);
		if (c > MW_CLASS_LEAST)
			CHECK(mw_class_bytes[c - 1] < (bytes ? bytes : 1));
		if (bytes <= MW_TINY_MAX_BYTES)
			CHECK_EQ(mw_class_of_tiny[bytes], c);
		if (bytes > 128)
			CHECK_EQ(mw_class_computed(bytes), c);
	}
}

static void test_multiples_are_told_from_others(void) {
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		for (uint32_t offset = 0; offset < 2 * MW_SMALL_MAX_BYTES; offset++) {
			CHECK_EQ(mw_class_divides(c, offset), offset % mw_class_bytes[c] == 0);
			CHECK_EQ(mw_class_index(c, offset), offset / mw_class_bytes[c]);
		}
}

/* Addresses before the page, in it, behind it, and with upper bits that no address has. */
static void test_a_page_tells_its_blocks(void) {
	static const uint64_t far[] = {0, (uint64_t)1 << 32, (uint64_t)1 << 48, (uint64_t)1 << 63};
	const int64_t reach = 2 * (int64_t)MW_SMALL_MAX_BYTES;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		int64_t bytes = mw_class_bytes[c], capacity = (int64_t)MW_SLICE_BYTES / bytes;
		uintptr_t start = (uintptr_t)1 << 40;
		mw_page_t page = {.start = (char *)start,
				  .capacity = (uint32_t)capacity,
				  .size_class = (uint8_t)c};
		for (int64_t offset = -reach; offset < reach; offset++) {
			bool starts = offset % bytes == 0 && offset >= 0;
			for (unsigned i = 0; i < sizeof far / sizeof far[0]; i++) {
				uintptr_t address = start + (uintptr_t)offset + far[i];
				CHECK_EQ(mw_page_holds(&page, (void *)address),
					 starts && i == 0 && offset / bytes < capacity);
			}
		}
	}
}

int main(void) {
	RUN(test_sizes_follow_the_rule);
	RUN(test_runs_waste_little);
	RUN(test_every_size_gets_the_smallest_class);
	RUN(test_multiples_are_told_from_others);
	RUN(test_a_page_tells_its_blocks);
	return 0;
}
