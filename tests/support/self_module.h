/* SPDX-License-Identifier: MIT
 * self_module.h -- the running test as a module of a fake state file, so that addresses of its own
 * functions can be symbolized. */
#ifndef MW_TEST_SELF_MODULE_H
#define MW_TEST_SELF_MODULE_H

#include <stdint.h>

#include "fake_state.h"

typedef struct self_module {
	char path[512];
	char build_id[64]; /* hex */
	uint64_t start, limit, file_offset, bias;
} self_module_t;

/* Ends the test when it cannot be found out. */
void self_module_find(self_module_t *self);

/* The return address of the call, in its caller: a PC as stacks have it. */
uint64_t self_pc(void);

#endif
