/* SPDX-License-Identifier: MIT
 * test_resize.c -- where realloc puts a block: room for a quarter more when it grew by little, its
 * own class when it changed by much, and what there is when memory is short. */
#include <string.h>

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/core/resize.h"
#include "heap/memory/limit.h"
#include "heap/sample/hooks.h"
#include "quiet_hooks.h"
#include "test.h"

#define LIMIT_BYTES ((size_t)64 << 20)

static const mw_heap_hooks_t hooks = {
	.thread_start = quiet_thread,
	.draw_objects = quiet_draw_objects,
	.draw_bytes = quiet_draw_bytes,
	.poll = quiet_thread,
	.grew = quiet_grew,
};

static unsigned char *resize(unsigned char *block, size_t bytes) {
	unsigned char *resized = mw_heap_resize(block, bytes);
	CHECK(resized != NULL);
	return resized;
}

/* Through every class that would be 43 moves. */
static void growing_by_a_byte(void) {
	unsigned char *block = mw_heap_alloc(16);
	unsigned moves = 0;
	for (unsigned i = 0; i < 16; i++)
		block[i] = (unsigned char)(i + 1);
	for (size_t bytes = 17; bytes <= MW_SMALL_MAX_BYTES; bytes++) {
		unsigned char *resized = resize(block, bytes);
		moves += resized != block;
		block = resized;
		CHECK_EQ(block[bytes - 2], (unsigned char)(bytes - 1));
		block[bytes - 1] = (unsigned char)bytes;
		size_t usable_bytes = mw_heap_usable_bytes(block);
		CHECK(usable_bytes >= bytes && usable_bytes <= bytes * 10 / 7 + 2 * MW_BLOCK_ALIGN);
	}
	for (size_t i = 0; i < MW_SMALL_MAX_BYTES; i++)
		CHECK_EQ(block[i], (unsigned char)(i + 1));
	CHECK_EQ(moves, 24 - MW_CLASS_LEAST);
	mw_fast_free(block);
}

static void check_resized(size_t from, size_t to, size_t usable_bytes) {
	unsigned char *block = mw_heap_alloc(from);
	size_t kept = from < to ? from : to;
	memset(block, 7, from);
	block = resize(block, to);
	CHECK_EQ(mw_heap_usable_bytes(block), usable_bytes);
	for (size_t i = 0; i < kept; i++)
		CHECK_EQ(block[i], 7);
	mw_fast_free(block);
}

static void which_class(void) {
	check_resized(2560, 2561, 3584); /* a quarter more would be 3200 */
	check_resized(2560, 3199, 3584);
	check_resized(448, 449, 640);
	check_resized(1000, 1025, 1280);
	check_resized(100, 1000, 1024);
	check_resized(100, 5000, 5120);
	check_resized(4096, 2048, 4096); /* half is used */
	check_resized(4096, 2047, 2048);
	check_resized(4096, 20, 32);
	check_resized(57344, 57345, 65536); /* with a quarter more it would be a large block */
	check_resized(65536, 65537, 69632);
}

/* Where nothing is left for the quarter more, a block that there is must do. */
static void without_memory(void) {
	unsigned char *block = mw_heap_alloc(2560), *next = NULL;
	void **chain = NULL;
	mw_limit_set(SIZE_MAX, LIMIT_BYTES);
	/* Pages of the class that holds it, to the last block; none of the next one. */
	for (void **more; (more = mw_heap_alloc(3072)) != NULL; chain = more) {
		*more = chain;
		next = (unsigned char *)more;
	}
	CHECK(next != NULL);
	chain = *chain;
	mw_fast_free(next);
	block = resize(block, 2600);
	CHECK(block == next);
	CHECK_EQ(mw_heap_usable_bytes(block), 3072);
	mw_limit_set(SIZE_MAX, SIZE_MAX);
	mw_fast_free(block);
	while (chain) {
		void **after = *chain;
		mw_fast_free(chain);
		chain = after;
	}
}

int main(void) {
	mw_heap_set_hooks(&hooks);
	RUN(without_memory); /* first: no blocks of other classes are left over */
	RUN(growing_by_a_byte);
	RUN(which_class);
	return 0;
}
