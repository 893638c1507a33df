/* SPDX-License-Identifier: MIT
 * interface.c -- calls the functions that all sanitizers have. What it prints is the same with
 * gcc's own library. */
#include <sanitizer/common_interface_defs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of <sanitizer/allocator_interface.h>, which gcc does not install. */
size_t __sanitizer_get_estimated_allocated_size(size_t bytes);
int __sanitizer_get_ownership(const volatile void *block);
size_t __sanitizer_get_allocated_size(const volatile void *block);
size_t __sanitizer_get_current_allocated_bytes(void);
size_t __sanitizer_get_heap_size(void);
size_t __sanitizer_get_free_bytes(void);
size_t __sanitizer_get_unmapped_bytes(void);
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
					      void (*on_free)(const volatile void *));

/* volatile: for the compiler, malloc() and free() call nothing of this file. */
static volatile int mallocs, frees;
static volatile size_t malloc_bytes;

static void on_malloc(const volatile void *block, size_t bytes) {
	mallocs += block != NULL;
	malloc_bytes += bytes;
}

static void on_free(const volatile void *block) {
	frees += block != NULL;
}

static void on_death(void) {
	puts("death callback");
	fflush(stdout);
}

int a_variable = 3;

static void blocks(void) {
	char *volatile block = malloc(1000), *volatile other = malloc(17);
	printf("estimated %zu\n", __sanitizer_get_estimated_allocated_size(1000));
	printf("owned %d %d\n", __sanitizer_get_ownership(block), __sanitizer_get_ownership(other));
	printf("sizes %zu %zu\n", __sanitizer_get_allocated_size(block),
	       __sanitizer_get_allocated_size(other));
	printf("heap %d\n",
	       __sanitizer_get_heap_size() >= __sanitizer_get_current_allocated_bytes());
	(void)__sanitizer_get_free_bytes();
	(void)__sanitizer_get_unmapped_bytes();
	free(block);
	free(other);
}

/* gcc's library says that NULL and freed blocks are blocks, ends the program for other addresses,
 * and adds sums up late. */
static void more_than_theirs(void) {
	char *volatile block = malloc(1000);
	printf("others %d %d %d %d %zu\n", __sanitizer_get_ownership(NULL),
	       __sanitizer_get_ownership(block + 8), __sanitizer_get_ownership(&a_variable),
	       __sanitizer_get_ownership((void *)4096), __sanitizer_get_allocated_size(NULL));
	free(block);
	printf("freed %d\n", __sanitizer_get_ownership(block));
	size_t before = __sanitizer_get_current_allocated_bytes();
	char *volatile large = malloc(100000);
	size_t full = __sanitizer_get_current_allocated_bytes();
	free(large);
	size_t after = __sanitizer_get_current_allocated_bytes();
	printf("allocated %d %d\n", full >= before + 100000, after < full);
}

static void hooks(void) {
	printf("hooks %d\n", __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0);
	int mallocs_before = mallocs, frees_before = frees;
	size_t bytes_before = malloc_bytes;
	for (int i = 0; i < 100; i++) {
		void *volatile block = malloc(50);
		free(block);
	}
	int mallocs_after = mallocs, frees_after = frees;
	printf("hooks called %d %d %zu\n", mallocs_after - mallocs_before,
	       frees_after - frees_before, malloc_bytes - bytes_before);
}

static void names(void) {
	char text[1000], path[1000];
	void *offset = NULL;
	__sanitizer_symbolize_pc((char *)(void *)names + 1, "%f in %s:%l, %%", text, sizeof text);
	char *slash = strrchr(text, '/');
	printf("symbol %.8s %s\n", text, slash ? slash : "?");
	__sanitizer_symbolize_pc((char *)(void *)names + 1, "%F|%n|%S", text, 9);
	printf("cut '%s'\n", text);
	__sanitizer_symbolize_global(&a_variable, "%g", text, sizeof text);
	printf("global %s\n", text);
	int known =
		__sanitizer_get_module_and_offset_for_pc((void *)names, path, sizeof path, &offset);
	slash = strrchr(path, '/');
	printf("module %d %s %d\n", known, slash ? slash : path, offset != NULL);
	printf("no module %d\n",
	       __sanitizer_get_module_and_offset_for_pc((void *)8, path, sizeof path, &offset));
	__sanitizer_print_stack_trace();
}

static __attribute__((noinline)) void lose(void) {
	for (int i = 0; i < 3; i++) {
		char *volatile block = malloc(100);
		memset(block, 0, 100);
		block = NULL;
	}
}

/* Overwrites what calls have left on the stack and in registers. */
static __attribute__((noinline)) void scrub(void) {
	char volatile rest[4000];
	memset((void *)(uintptr_t)rest, 0, sizeof rest);
}

int main(int argc, char **argv) {
	(void)argv;
	blocks();
	if (getenv("MORE"))
		more_than_theirs();
	hooks();
	names();
	__sanitizer_report_error_summary("a summary");
	int first = __sanitizer_acquire_crash_state();
	printf("crash state %d %d\n", first, __sanitizer_acquire_crash_state());
	__sanitizer_set_death_callback(on_death);
	__sanitizer_set_report_path("report");
	printf("path %d\n", strstr(__sanitizer_get_report_path(), "report") != NULL);
	fflush(stdout);
	if (argc > 1)
		lose();
	scrub();
	return 0;
}
