/* SPDX-License-Identifier: MIT
 * remote_free.c -- `remote_free COUNT [sized]`: main frees COUNT blocks of 64 bytes that another
 * thread made, which sleeps meanwhile.  scripts/count_remote.sh counts free_all()'s instructions.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* C++'s `operator delete(void *, std::size_t)`: of the preloaded library, or of libstdc++. */
extern void _ZdlPvm(void *block, size_t bytes);

enum { BYTES = 64 };
static pthread_barrier_t barrier;
static void **blocks;
static size_t count;

static void *make_all(void *unused) {
	(void)unused;
	for (size_t i = 0; i < count; i++)
		blocks[i] = malloc(BYTES);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

__attribute__((noinline)) void free_all(void) {
	for (size_t i = 0; i < count; i++)
		free(blocks[i]);
}

__attribute__((noinline)) void delete_all(void) {
	for (size_t i = 0; i < count; i++)
		_ZdlPvm(blocks[i], BYTES);
}

int main(int argc, char **argv) {
	pthread_t thread;
	if (argc < 2 || (count = strtoul(argv[1], NULL, 10)) == 0) {
		fprintf(stderr, "usage: remote_free COUNT [sized]\n");
		return 2;
	}
	blocks = calloc(count, sizeof *blocks);
	pthread_barrier_init(&barrier, NULL, 2);
	if (!blocks || pthread_create(&thread, NULL, make_all, NULL) != 0)
		return 1;
	pthread_barrier_wait(&barrier);
	if (argc > 2 && strcmp(argv[2], "sized") == 0)
		delete_all();
	else
		free_all();
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	free(blocks);
	return 0;
}
