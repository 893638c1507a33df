/* SPDX-License-Identifier: MIT
 * test_split_stack.c -- walks over a stack in pieces (-fsplit-stack), through __morestack. */
#include <stdint.h>

#include "prof/unwind/unwind.h"
#include "test.h"

enum { DEPTH = 40 };

static uint64_t pcs[MW_UNWIND_DEPTH_MAX];
static mw_unwind_result_t result;

/* Frames of 3 KB: none of the pieces holds more than a few. */
__attribute__((noipa)) static int descend(int depth) {
	volatile char room[3000];
	room[depth] = 1;
	if (depth == 0)
		result = mw_unwind_capture(pcs, MW_UNWIND_DEPTH_MAX);
	else
		room[0] = (char)descend(depth - 1);
	return room[depth];
}

static unsigned frames_in(const void *function, uint64_t bytes) {
	unsigned count = 0;
	for (unsigned i = 0; i < result.depth; i++)
		count += pcs[i] - (uint64_t)(uintptr_t)function < bytes;
	return count;
}

static void test_pieces(void) {
	for (unsigned i = 0; i < 3; i++) {
		CHECK_EQ(descend(DEPTH), 1);
		CHECK(!result.truncated);
		CHECK(frames_in((const void *)descend, 300) >= DEPTH + 1);
		/* The frames of __morestack between the pieces are there too. */
		CHECK(result.depth > DEPTH + 4);
		CHECK(frames_in((const void *)test_pieces, 600) >= 1);
	}
}

int main(void) {
	mw_unwind_start();
	RUN(test_pieces);
	return 0;
}
