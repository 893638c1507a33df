/* SPDX-License-Identifier: MIT
 * sort.c -- qsort() for arrays that are mostly in order.
 *
 * libdw sorts the rows of each line table that it reads, which are in order within each function
 * and mostly between them; libc's merge sort compares all of them log2(n) times, which was a fifth
 * of the time that names take.  This one stands before libc's in the command's processes, libraries
 * included.  It is the same top-down merge sort, stable, but halves that follow each other are left
 * as they are: n - 1 comparisons for what is in order, n more than libc's at worst.  Arrays of
 * anything but what has the size of a pointer go to libc. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int compare_t(const void *, const void *);
/* Whatever the caller's items are: pointers in libdw. */
typedef uintptr_t __attribute__((may_alias)) item_t;

typedef struct order {
	compare_t *compare;
} order_t;

static int compare_by(const void *a, const void *b, void *order) {
	return ((const order_t *)order)->compare(a, b);
}

/* Two sorted parts, [0, middle) and [middle, count), of which the first does not end before the
 * second starts.  `spare` has room for the first. */
static void merge(item_t *items, size_t middle, size_t count, item_t *spare, compare_t *compare) {
	memcpy(spare, items, middle * sizeof(*items));
	size_t left = 0, right = middle, next = 0;
	while (left < middle && right < count)
		items[next++] =
			compare(&spare[left], &items[right]) <= 0 ? spare[left++] : items[right++];
	memcpy(&items[next], &spare[left], (middle - left) * sizeof(*items));
}

/* Recursion: log2(count) deep. */
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
