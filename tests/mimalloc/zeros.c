/* SPDX-License-Identifier: MIT
 * zeros.c -- random calls of mimalloc's functions that resize and promise zeros, each kind of them
 * in turn with each other, against a shadow: the requested bytes keep their contents, and each byte
 * that a request adds is zero, also where the block had other contents before it became smaller. */
#include <mimalloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "test.h"

enum { BLOCKS = 64, CALLS = 40000, MOST_BYTES = 150000, ALIGN = 64 };

typedef struct {
	unsigned char *block, *shadow;
	size_t bytes; /* requested last */
	bool in_heap;
} place_t;

static place_t places[BLOCKS];
static mi_heap_t *heap;
static uint64_t random_state = 1;

static unsigned draw(unsigned below) {
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % below;
}

static void *resize_in_heap(void *block, size_t bytes) {
	switch (draw(6)) {
	case 0:
		return mi_heap_rezalloc(heap, block, bytes);
	case 1:
		return mi_heap_recalloc(heap, block, bytes, 1);
	case 2:
		return mi_heap_rezalloc_aligned(heap, block, bytes, ALIGN);
	case 3:
		return mi_heap_rezalloc_aligned_at(heap, block, bytes, ALIGN, 0);
	case 4:
		return mi_heap_recalloc_aligned(heap, block, 1, bytes, ALIGN);
	default:
		return mi_heap_recalloc_aligned_at(heap, block, bytes, 1, ALIGN, 0);
	}
}

static void *resize_anywhere(void *block, size_t bytes) {
	switch (draw(8)) {
	case 0:
		return mi_rezalloc(block, bytes);
	case 1:
		return mi_recalloc(block, bytes, 1);
	case 2:
		return mi_rezalloc_aligned(block, bytes, ALIGN);
	case 3:
		return mi_rezalloc_aligned_at(block, bytes, ALIGN, 0);
	case 4:
		return mi_recalloc_aligned(block, 1, bytes, ALIGN);
	case 5:
		return mi_recalloc_aligned_at(block, bytes, 1, ALIGN, 0);
	case 6:
		return mi_aligned_recalloc(block, bytes, 1, ALIGN);
	default:
		return mi_aligned_offset_recalloc(block, 1, bytes, ALIGN, 0);
	}
}

static size_t draw_size(const place_t *place) {
	size_t most = (size_t)1 << (1 + draw(17));
	switch (draw(4)) {
	case 0:
		return draw((unsigned)(most < MOST_BYTES ? most : MOST_BYTES));
	case 1:
		return draw((unsigned)place->bytes + 1);
	default:
		return place->bytes + draw(3) * draw(16);
	}
}

static void resize(place_t *place) {
	size_t before = place->bytes, bytes = draw_size(place);
	if (!place->block)
		place->in_heap = draw(2);
	place->block = place->in_heap ? resize_in_heap(place->block, bytes)
				      : resize_anywhere(place->block, bytes);
	CHECK(place->block && mi_usable_size(place->block) >= bytes);
	for (size_t i = 0; i < bytes; i++) {
		unsigned expected = i < before ? place->shadow[i] : 0;
		if (place->block[i] == expected)
			continue;
		fprintf(stderr, "byte %zu of %zu, of %zu before, is %#x instead of %#x\n", i, bytes,
			before, place->block[i], expected);
		exit(1);
	}
	place->bytes = bytes;
	place->shadow = mi_realloc(place->shadow, bytes);
	for (size_t i = 0; i < bytes; i++)
		place->shadow[i] = place->block[i] = (unsigned char)(1 + draw(255));
}

static void release(place_t *place) {
	mi_free(place->block);
	mi_free(place->shadow);
	*place = (place_t){0};
}

static void what_is_gained_is_zero(void) {
	heap = mi_heap_new();
	for (int i = 0; i < CALLS; i++) {
		place_t *place = &places[draw(BLOCKS)];
		if (draw(8) == 0)
			release(place);
		else
			resize(place);
	}
	for (int i = 0; i < BLOCKS; i++)
		release(&places[i]);
	mi_heap_delete(heap);
}

int main(void) {
	RUN(what_is_gained_is_zero);
	return 0;
}
