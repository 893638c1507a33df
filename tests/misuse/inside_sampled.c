/* SPDX-License-Identifier: MIT
 * inside_sampled.c -- frees an address inside a sampled block; run with prof_sample:1. */
#include "misuse.h"

int main(void) {
	char *block = malloc(64);
	announce(block + 16);
	free(block + 16);
	return 0;
}
