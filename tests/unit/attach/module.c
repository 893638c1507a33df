/* SPDX-License-Identifier: MIT
 * module.c -- a module that test_attach loads. */
#include <stddef.h>
#include <stdlib.h>

void *module_allocate(size_t bytes);
void module_release(void *block);

void *module_allocate(size_t bytes) {
	return malloc(bytes);
}

void module_release(void *block) {
	free(block);
}
