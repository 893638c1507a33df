/* SPDX-License-Identifier: MIT
 * test_sort.c -- the command's qsort(): in order, stable, few comparisons of what is in order, and
 * arrays of other items as by libc. */
#include <stddef.h>
#include <stdint.h>

#include "test.h"

enum { COUNT = 3000 };

typedef struct row {
	uint32_t address, number;
} row_t;

static row_t rows[COUNT];
static const row_t *pointers[COUNT];
static size_t comparisons;

static uint64_t random_state;

/* splitmix64 */
static uint64_t draw(void) {
	uint64_t z = random_state += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static int by_address(const void *a, const void *b) {
	const row_t *x = *(const row_t *const *)a, *y = *(const row_t *const *)b;
	comparisons++;
	return (x->address > y->address) - (x->address < y->address);
}

/* Runs of ascending addresses of up to `run` rows each, each from anywhere; 0: one run. */
static void fill(size_t count, size_t run) {
	uint32_t address = 0;
	for (size_t i = 0; i < count; i++) {
		address = run && draw() % run == 0 ? (uint32_t)(draw() % 1000)
						   : address + (uint32_t)(draw() % 3);
		rows[i] = (row_t){.address = address, .number = (uint32_t)i};
		pointers[i] = &rows[i];
	}
	comparisons = 0;
}

static void check_sorted(size_t count) {
	uint64_t numbers = 0;
	for (size_t i = 0; i < count; i++) {
		numbers += pointers[i]->number;
		if (i == 0)
			continue;
		const row_t *before = pointers[i - 1], *after = pointers[i];
		CHECK(before->address < after->address ||
		      (before->address == after->address && before->number < after->number));
	}
	CHECK_EQ(numbers, count ? count * (count - 1) / 2 : 0);
}

static void rows_come_in_order(void) {
	for (random_state = 1; random_state < 400; random_state++) {
		uint64_t seed = random_state;
		size_t count = draw() % (seed % 8 == 0 ? COUNT : 40);
		fill(count, draw() % 60);
		qsort(pointers, count, sizeof(*pointers), by_address);
		check_sorted(count);
		random_state = seed;
	}
}

static void what_is_in_order_is_looked_at_once(void) {
	fill(COUNT, 0);
	qsort(pointers, COUNT, sizeof(*pointers), by_address);
	check_sorted(COUNT);
	/* Sanitizers have a qsort() of their own, before the command's. */
	CHECK(TEST_UNDER_SANITIZER || comparisons == COUNT - 1);
}

static int by_byte(const void *a, const void *b) {
	return *(const unsigned char *)a - *(const unsigned char *)b;
}

/* Items of 1 to 24 bytes, at odd addresses, too: the first byte is the key, the others say so. */
static void other_items_are_sorted(void) {
	static unsigned char bytes[1 + 200 * 24];
	for (size_t size = 1; size <= 24; size++) {
		for (size_t i = 0; i < 200; i++)
			memset(bytes + 1 + i * size, (int)(draw() % 256), size);
		qsort(bytes + 1, 200, size, by_byte);
		for (size_t i = 0; i < 200; i++) {
			const unsigned char *item = bytes + 1 + i * size;
			for (size_t k = 1; k < size; k++)
				CHECK_EQ(item[k], item[0]);
			CHECK(i == 0 || item[-(ptrdiff_t)size] <= item[0]);
		}
	}
}

int main(void) {
	RUN(rows_come_in_order);
	RUN(what_is_in_order_is_looked_at_once);
	RUN(other_items_are_sorted);
	return 0;
}
