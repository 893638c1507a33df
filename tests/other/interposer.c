/* SPDX-License-Identifier: MIT
 * interposer.c -- a preloaded library that replaces the function REPLACED of libc and allocates in
 * it, as wrappers for networks, time or file systems do.  Compiled for one function at a time, by
 * tests/other/interposers.sh:
 *   KIND 1  each call of the program allocates; calls from within do not
 *   KIND 2  the first call allocates with a lock held while it looks up libc's function; what
 *           malloc calls must not lead here again
 * Arguments and result are passed on as words, which suits all functions without floating point. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

typedef long function_t(long, long, long, long, long, long, long);

/* The headers declare many of these functions in other ways. */
function_t replacement __asm__(TEXT(REPLACED));
static function_t *original;

static void look_up(void) {
	*(void **)&original = dlsym(RTLD_NEXT, TEXT(REPLACED));
}

static void allocate(void) {
	void *volatile block = malloc(100);
	if (block)
		*(char *)block = 1;
	free(block);
}

#if KIND == 1
static __thread int is_inside;
static void prepare(void) {
	if (!original)
		look_up();
	if (is_inside)
		return;
	is_inside = 1;
	allocate();
	is_inside = 0;
}
#else
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void prepare(void) {
	if (__atomic_load_n(&original, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&lock);
	if (!original) {
		allocate();
		look_up();
	}
	pthread_mutex_unlock(&lock);
}
#endif

long replacement(long a, long b, long c, long d, long e, long f, long g) {
	prepare();
	return original(a, b, c, d, e, f, g);
}
