/* SPDX-License-Identifier: MIT
 * allocate.h -- allocates enough that the process publishes its state file. */
#ifndef MW_TEST_TOOL_ALLOCATE_H
#define MW_TEST_TOOL_ALLOCATE_H

#include <stdlib.h>
#include <string.h>

/* Returns 0; 1: there is no memory. */
static __attribute__((noinline)) int allocate(void) {
	for (int i = 0; i < 2000; i++) {
		char *volatile block = malloc(1000);
		if (!block)
			return 1;
		memset(block, 'x', 1000);
	}
	return 0;
}

#endif
