/* SPDX-License-Identifier: MIT
 * sort.c -- qsort() for arrays that are mostly ordered.
 * libdw sorts the rows of each line table that it reads.  They are ordered within each function
 * and mostly between functions. libc's merge sort still makes n log2(n) comparisons, which took
 * a fifth of the time that names need.  This function replaces libc's in the command's
 * processes, libraries included.  It is a stable top-down merge sort, too, but it leaves two
 * halves that follow each other unchanged: n - 1 comparisons for an ordered array, at worst n
 * more than libc.  It handles arrays whose items have the size of a pointer; libc sorts all
 * others. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int compare_t(const void *, const void *);
/* An item of the caller; libdw sorts pointers. */
typedef uintptr_t __attribute__((may_alias)) item_t;

typedef struct order {
	compare_t *compare;
} order_t;

static int compare_by(const void *a, const void *b, void *order) {
	return ((const order_t *)order)->compare(a, b);
}

/* Merges two sorted parts, [0, middle) and [middle, count), whose ranges of values overlap.
 * `spare` has room for the first part. */
static void merge(item_t *items, size_t middle, size_t count, item_t *spare, compare_t *compare) {
	memcpy(spare, items, middle * sizeof(*items));
	size_t left = 0, right = middle, next = 0;
	while (left < middle && right < count)
		items[next++] =
			compare(&spare[left], &items[right]) <= 0 ? spare[left++] : items[right++];
	memcpy(&items[next], &spare[left], (middle - left) * sizeof(*items));
}

/* Recursive; the depth is log2(count). */
static void sort(item_t *items, size_t count, item_t *spare, compare_t *compare) {
	if (count < 2)
		return;
	size_t middle = count / 2;
	sort(items, middle, spare, compare);
	sort(items + middle, count - middle, spare, compare);
	if (compare(&items[middle - 1], &items[middle]) > 0)
		merge(items, middle, count, spare, compare);
}

static bool is_of_items(const void *base, size_t item_bytes) {
	return item_bytes == sizeof(item_t) && (uintptr_t)base % _Alignof(item_t) == 0;
}

void qsort(void *base, size_t count, size_t item_bytes, compare_t *compare) {
	item_t *spare =
		is_of_items(base, item_bytes) ? malloc((count / 2 + 1) * sizeof(item_t)) : NULL;
	if (spare)
		sort(base, count, spare, compare);
	else
		qsort_r(base, count, item_bytes, compare_by, &(order_t){compare});
	free(spare);
}
