/* SPDX-License-Identifier: MIT
 * captured.h -- a stack that a test took, and what is on it. */
#ifndef MW_TEST_CAPTURED_H
#define MW_TEST_CAPTURED_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/unwind/unwind.h"
#include "state/layout.h"

typedef struct captured {
	uint64_t pcs[MW_UNWIND_DEPTH_MAX];
	mw_unwind_result_t result;
} captured_t;

/* No function that is asked for is longer. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { FUNCTION_BYTES_MAX = 3000 };
#else
enum { FUNCTION_BYTES_MAX = 1000 };
#endif

/* Is `pc`, a frame's, in the first `bytes` of `function`? */
static inline bool is_in(uint64_t pc, const void *function, uint64_t bytes) {
	return (pc & ~MW_FRAME_EXACT) - (uint64_t)(uintptr_t)function < bytes;
}

static inline bool returns_into(uint64_t pc, const void *function) {
	return is_in(pc, function, FUNCTION_BYTES_MAX);
}

static inline bool holds(const captured_t *stack, const void *function) {
	for (unsigned i = 0; i < stack->result.depth; i++)
		if (returns_into(stack->pcs[i], function))
			return true;
	return false;
}

#endif
