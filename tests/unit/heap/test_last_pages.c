/* SPDX-License-Identifier: MIT
 * The last page of a class stays with its heap, empty or not; but a heap that needs more memory
 * than ever uses those of other classes first. */
#include <stddef.h>

#include "heap/chunk.h"
#include "heap/heap.h"
#include "heap/size_class.h"
#include "test.h"

enum { BLOCKS = 2048, CLASS_BYTES = 48 << 10 };

static void *blocks[BLOCKS];

/* Half a page of every class in turn, as strings do that grow side by side.  Returns the most that
 * was in use. */
static size_t climb(size_t most_bytes) {
	size_t peak_bytes = 0;
	for (unsigned c = 0; mw_class_bytes[c] <= most_bytes; c++) {
		unsigned count = CLASS_BYTES / mw_class_bytes[c];
		if (count > BLOCKS)
			count = BLOCKS;
		for (unsigned i = 0; i < count; i++)
			CHECK((blocks[i] = mw_heap_alloc(mw_class_bytes[c])) != NULL);
		if (peak_bytes < mw_heap_in_use_bytes())
			peak_bytes = mw_heap_in_use_bytes();
		for (unsigned i = 0; i < count; i++)
			mw_heap_free_slow(blocks[i]);
	}
	return peak_bytes;
}

static void growth_takes_empty_pages(void) {
	/* Some 30 classes, of which two have blocks or lists at a time. */
	CHECK(climb(4096) <= 6 * MW_SLICE_BYTES);
	CHECK(climb(4096) <= 6 * MW_SLICE_BYTES);
	mw_chunk_check();
}

int main(void) {
	RUN(growth_takes_empty_pages);
	return 0;
}
