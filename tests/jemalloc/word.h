/* SPDX-License-Identifier: MIT
 * word.h -- reads a 64-bit value by its name among jemalloc's controls. */
#ifndef TEST_JEMALLOC_WORD_H
#define TEST_JEMALLOC_WORD_H

#include <jemalloc/jemalloc.h>
#include <stddef.h>
#include <stdint.h>

#include "test.h"

static inline uint64_t word(const char *name) {
	uint64_t value = 0;
	size_t length = sizeof value;
	CHECK_EQ(mallctl(name, &value, &length, NULL, 0), 0);
	return value;
}

#endif
