/* SPDX-License-Identifier: MIT
 * attach_modules.c private|replaced -- modules that `mallow attach` meets:
 *   private   ./private.so has an allocator of its own behind it (RTLD_DEEPBIND). It has allocated,
 *             and frees the block at the end of input: the slot of free is not bound yet
 *   replaced  ./first.so is loaded. After each line of input it is unloaded, ./second.so is loaded
 * in its place, and allocates; the program says "same" if the address is the same With
 * -DMODULE=NAME it is a module with a function of that name, with -DALLOCATOR the allocator. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef ALLOCATOR

static char pool[65536];
static size_t used;

void *malloc(size_t bytes) {
	void *block = &pool[used];
	used += (bytes + 15) / 16 * 16;
	return block;
}

void free(void *block) {
	if ((char *)block < pool || (char *)block >= pool + sizeof(pool))
		_exit(3);
}

#elif defined(MODULE)

void *MODULE(void *block, size_t bytes);
void *MODULE(void *block, size_t bytes) {
	if (block == NULL)
		return malloc(bytes);
	free(block);
	return NULL;
}

#else

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef void *function_t(void *block, size_t bytes);

static function_t *load(const char *path, const char *name, int flags, void **module) {
	*module = dlopen(path, RTLD_LAZY | flags);
	function_t *function = *module != NULL ? (function_t *)dlsym(*module, name) : NULL;
	if (function == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(1);
	}
	return function;
}

static void say(const char *word) {
	puts(word);
	fflush(stdout);
}

static void use_private(void) {
	void *module;
	char byte;
	function_t *function = load("./private.so", "use", RTLD_DEEPBIND, &module);
	void *block = function(NULL, 100);
	say("ready");
	while (read(0, &byte, 1) > 0)
		continue;
	function(block, 0);
}

static void replace_module(void) {
	void *module;
	char byte;
	function_t *first = load("./first.so", "use_first", 0, &module);
	first(first(NULL, 100), 0);
	say("ready");
	while (read(0, &byte, 1) > 0) {
		dlclose(module);
		function_t *second = load("./second.so", "use_second", 0, &module);
		free(malloc(10)); /* its thread allocates after dlopen() */
		for (int i = 0; i < 1000; i++)
			second(second(NULL, 10000), 0);
		say((void *)first == (void *)second ? "same" : "moved");
	}
}

int main(int argc, char **argv) {
	if (argc > 1 && strcmp(argv[1], "private") == 0)
		use_private();
	else
		replace_module();
	return 0;
}

#endif
