/* SPDX-License-Identifier: MIT
 * loader_storm.c SECONDS FOLDER -- four threads load and unload plugins and keep blocks that these
 * allocate; eight threads allocate meanwhile. Thread i loads FOLDER/alpha-i.so and FOLDER/beta-i.so
 * in turns, each of which often comes to lie where the other was. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOADERS = 4, ALLOCATORS = 8, KEPT = 64, PATH_BYTES = 512, BLOCK_BYTES = 200 };

typedef void *allocate_fn(size_t bytes);

static const char *folder;
static atomic_bool is_over;
static atomic_ulong loads;
static void *kept[LOADERS][2][KEPT];

static void *load(const char *name, int thread) {
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "%s/%s-%d.so", folder, name, thread);
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		fprintf(stderr, "FAILED: %s\n", dlerror());
		exit(1);
	}
	atomic_fetch_add(&loads, 1);
	return handle;
}

/* Two callers of one form each, so that a stack tells which plugin it has to have. */
#define CALLER(caller, plugin)                                                                     \
	__attribute__((noinline)) static void caller(int thread, void **blocks) {                  \
		allocate_fn *allocate;                                                             \
		void *handle = load(plugin, thread);                                               \
		*(void **)&allocate = dlsym(handle, "storm_" plugin);                              \
		for (int i = 0; i < KEPT; i++) {                                                   \
			free(blocks[i]);                                                           \
			blocks[i] = allocate(BLOCK_BYTES);                                         \
		}                                                                                  \
		dlclose(handle);                                                                   \
	}
CALLER(call_alpha, "alpha")
CALLER(call_beta, "beta")

static void *load_and_unload(void *number) {
	int thread = (int)(size_t)number;
	while (!is_over) {
		call_alpha(thread, kept[thread][0]);
		call_beta(thread, kept[thread][1]);
	}
	return NULL;
}

static void *allocate_here(void *unused) {
	void *blocks[KEPT] = {NULL};
	while (!is_over)
		for (int i = 0; i < KEPT; i++) {
			free(blocks[i]);
			blocks[i] = malloc(BLOCK_BYTES);
		}
	return unused;
}

int main(int count, char **arguments) {
	pthread_t threads[LOADERS + ALLOCATORS];
	if (count != 3)
		return 2;
	folder = arguments[2];
	for (size_t i = 0; i < LOADERS + ALLOCATORS; i++)
		pthread_create(&threads[i], NULL, i < LOADERS ? load_and_unload : allocate_here,
			       (void *)i);
	sleep((unsigned)atoi(arguments[1]));
	is_over = true;
	for (size_t i = 0; i < LOADERS + ALLOCATORS; i++)
		pthread_join(threads[i], NULL);
	printf("%lu loads\n", loads);
	return 0;
}
