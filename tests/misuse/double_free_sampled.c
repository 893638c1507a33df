/* SPDX-License-Identifier: MIT
 * double_free_sampled.c -- frees a sampled block twice; run with prof_sample:1. */
#include "misuse.h"

int main(void) {
	void *block = malloc(64);
	announce(block);
	free(block);
	free(block);
	return 0;
}
