/* SPDX-License-Identifier: MIT
 * pair.c KIND PAIRS -- pairs of an allocation and a free of 64 bytes: "malloc", "main" (the main
 * heap), "heap" (one of the program's own); with "calls" behind it, allocations only. */
#include <mimalloc.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
	const char *kind = count > 2 ? arguments[1] : "malloc";
	long pairs = count > 2 ? atol(arguments[2]) : 1;
	mi_heap_t *main_heap = mi_heap_get_backing(), *heap = mi_heap_new();
	bool frees = strstr(kind, "calls") == NULL;
	mi_heap_t *from = strstr(kind, "heap") ? heap : strstr(kind, "main") ? main_heap : NULL;
	for (long i = 0; i < pairs; i++) {
		void *block = from ? mi_heap_malloc(from, 64) : mi_malloc(64);
		__asm__ volatile("" : : "r"(block) : "memory");
		if (frees)
			mi_free(block);
	}
	return 0;
}
