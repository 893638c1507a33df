/* SPDX-License-Identifier: MIT
 * attach_loading.c -- loads ./slow.so, and says "ready". Then it allocates in that module until its
 * input ends. With -DLINKED it is linked with it. With -DMODULE it is that module: its relocation
 * begins with the word "relocating", and ends 0.3 s later; so long the pages are open that the
 * dynamic linker closes then. */
#include <sys/syscall.h>

#ifdef MODULE

#include <stdlib.h>

/* A module that is not relocated cannot call a function of another one. */
static long call(long number, long a, long b, long c) {
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static void nothing(void) {
}

static void (*choose(void))(void) {
	long pause[2] = {0, 300000000};
	call(SYS_write, 1, (long)"relocating\n", 11);
	while (call(SYS_nanosleep, (long)pause, (long)pause, 0) != 0)
		continue;
	return nothing;
}

/* The linker calls choose() while it relocates. */
static void chosen(void) __attribute__((ifunc("choose")));

void *allocate_in_module(void);
void *allocate_in_module(void) {
	/* A slot in pages that stay open; those of the calls are in pages that are closed. */
	static void *(*volatile allocator)(size_t) = malloc;
	chosen();
	void *volatile block = malloc(10000);
	free(block);
	return allocator(10000);
}

#else

#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef LINKED
void *allocate_in_module(void);
#endif

int main(void) {
	struct pollfd input = {.fd = 0, .events = POLLIN};
#ifdef LINKED
	void *(*allocate)(void) = allocate_in_module;
#else
	void *module = dlopen("./slow.so", RTLD_NOW);
	void *(*allocate)(void) =
		module ? (void *(*)(void))dlsym(module, "allocate_in_module") : NULL;
	if (!allocate) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
#endif
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, 1) == 0)
		for (int i = 0; i < 100; i++)
			free(allocate());
	return 0;
}

#endif
