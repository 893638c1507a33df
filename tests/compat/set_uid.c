/* SPDX-License-Identifier: MIT
 * set_uid.c -- loses a block by each interface, for programs that run with other rights than their
 * caller's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static void lose(size_t bytes) {
	memset(malloc(bytes), 1, bytes);
}

int main(int argc, char **argv) {
	char *volatile clean = malloc(4096);
	lose(argc > 1 ? (size_t)atol(argv[1]) : 300);
	memset(clean, 0, 4096);
	free(clean);
	printf("user %u, effective %u\n", (unsigned)getuid(), (unsigned)geteuid());
	return 0;
}
