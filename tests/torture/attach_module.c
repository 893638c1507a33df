/* SPDX-License-Identifier: MIT
 * attach_module.c -- a module that attach_events.c loads and unloads: it calls malloc and free
 * through slots of its own. */
#include <stdlib.h>
#include <string.h>

void *module_make(size_t bytes);
void module_drop(void *block);

void *module_make(size_t bytes) {
	void *block = malloc(bytes);
	if (block != NULL)
		memset(block, (int)bytes, bytes);
	return block;
}

void module_drop(void *block) {
	free(block);
}
