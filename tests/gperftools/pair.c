/* SPDX-License-Identifier: MIT
 * pair.c -- ARGUMENT pairs of malloc and free, or with -DTC of tc_malloc and tc_free. */
#include <gperftools/tcmalloc.h>

#include <stdlib.h>

#ifdef TC
#define malloc tc_malloc
#define free tc_free
#endif

int main(int count, char **arguments) {
	long pairs = count > 1 ? atol(arguments[1]) : 1;
	for (long i = 0; i < pairs; i++) {
		void *block = malloc(64);
		__asm__ volatile("" : : "r"(block) : "memory");
		free(block);
	}
	return 0;
}
