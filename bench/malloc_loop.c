/* SPDX-License-Identifier: MIT
 * malloc_loop.c -- the shortest life a block can have, N times over: what a pair of malloc and free
 * costs.  Built with gcc -O2 -fno-builtin; usage: malloc_loop N.  The difference of two N, divided
 * by their distance, is free of start-up. */
#include <stdlib.h>

int main(int argc, char **argv) {
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	for (long i = 0; i < n; i++) {
		void *volatile p = malloc(64);
		free(p);
	}
	return 0;
}
