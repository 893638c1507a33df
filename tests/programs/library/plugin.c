/* SPDX-License-Identifier: MIT
 * plugin.c -- allocates and frees, itself and through libc. */
#include <stdlib.h>
#include <string.h>

void *plugin_copy(const char *text);
void plugin_drop(void *block);
void *plugin_free_function(void);

void *plugin_copy(const char *text) {
	return strdup(text);
}

void plugin_drop(void *block) {
	free(block);
}

void *plugin_free_function(void) {
	void (*function)(void *) = free;
	return *(void **)&function;
}
