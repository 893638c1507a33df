/* SPDX-License-Identifier: MIT
 * corner_cases.c -- arguments at the edges: zero, odd and huge alignments, sizes that no machine
 * has, products that overflow; and what is promised of errno, of the old block and of the usable
 * size.  Where the standards leave a choice, glibc's is expected. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>

#include "programs.h"

/* Volatile: the compiler may not know what is asked for, or it refuses to compile it. */
static volatile size_t most = SIZE_MAX, half = PTRDIFF_MAX, root = (size_t)1 << 32;

/* Alignments as well: clang 14 warns of odd ones, and ends by a fault on one of 2^63. */
static size_t hidden(size_t value) {
	volatile size_t copy = value;
	return copy;
}

static void must_refuse(void *block) {
	MUST(block == NULL && errno == ENOMEM);
	errno = 0;
}

static void sizes_that_no_machine_has(void) {
	errno = 0;
	for (size_t less = 0; less < 70000; less += less < 40 ? 1 : 997) {
		must_refuse(malloc(most - less));
		must_refuse(malloc(half - less));
		must_refuse(calloc(1, most - less));
		must_refuse(valloc(most - less));
		must_refuse(pvalloc(most - less));
		must_refuse(memalign(64, most - less));
		must_refuse(aligned_alloc(1 << 22, half - less));
	}
	/* 2^47 bytes are all the addresses there are; half of them no memory backs. */
	must_refuse(malloc((size_t)1 << 47));
	must_refuse(malloc((size_t)1 << 46));
	must_refuse(calloc((size_t)1 << 23, (size_t)1 << 23));
	must_refuse(calloc(most / 2, 3));
	must_refuse(calloc(root, root));
	must_refuse(reallocarray(NULL, root, root));
}

/* The compiler does not know that this may free its argument, and so permits that refused blocks
 * are used. */
static void *(*volatile resize)(void *, size_t) = realloc;
static void *(*volatile resize_array)(void *, size_t, size_t) = reallocarray;

static void refusals_leave_the_block(void) {
	static const size_t sizes[] = {1, 100, 1024, 5000, 60000, 70000, 1 << 20, 3 << 20};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char *block = malloc(sizes[i]);
		MUST(block != NULL);
		memset(block, 7, sizes[i]);
		errno = 0;
		for (size_t less = 0; less < 9000; less += 450) {
			must_refuse(resize(block, most - less));
			must_refuse(resize(block, half - less));
		}
		must_refuse(resize_array(block, most / 2, 3));
		must_refuse(resize(block, (size_t)1 << 46));
		for (size_t at = 0; at < sizes[i]; at++)
			MUST(block[at] == 7);
		free(block);
	}
}

static void alignments(void) {
	for (size_t align = 1; align <= (size_t)1 << 30; align *= 2) {
		for (size_t bytes = 0; bytes <= 300000; bytes = bytes * 5 + 1) {
			char *block = memalign(align, bytes);
			MUST(block != NULL && ((uintptr_t)block & (align - 1)) == 0);
			MUST(malloc_usable_size(block) >= bytes);
			memset(block, 1, malloc_usable_size(block));
			block = realloc(block, bytes + 1);
			MUST(block != NULL && (bytes == 0 || block[bytes - 1] == 1));
			free(block);
		}
	}
	errno = 0;
	void *block = memalign(hidden(0), 10);
	MUST(block != NULL);
	free(block);
	block = memalign(hidden(3), 10);
	MUST(block != NULL && ((uintptr_t)block & 3) == 0);
	free(block);
	MUST(errno == 0);
	MUST(memalign(hidden((size_t)1 << 63), 10) == NULL && (errno == EINVAL || errno == ENOMEM));
	MUST(memalign(hidden(((size_t)1 << 63) + 1), 10) == NULL && errno == EINVAL);
	errno = 0;
	must_refuse(memalign(hidden((size_t)1 << 62), 10));
	must_refuse(memalign(hidden((size_t)1 << 47), (size_t)1 << 40));
}

/* errno as glibc: kept, but where there is no memory. */
static void posix_memalign_says_it_by_its_value(void) {
	static const size_t bad[] = {0, 1, 2, 4, 3, 24, 40, SIZE_MAX, (size_t)3 << 40};
	void *mark = &mark, *block = mark;
	errno = 77;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		MUST(posix_memalign(&block, bad[i], 10) == EINVAL && block == mark);
	MUST(errno == 77);
	MUST(posix_memalign(&block, 64, most) == ENOMEM && block == mark && errno == ENOMEM);
	errno = 77;
	MUST(posix_memalign(&block, (size_t)1 << 63, 1) == ENOMEM && block == mark);
	MUST(errno == ENOMEM);
	errno = 77;
	MUST(posix_memalign(&block, 4096, 0) == 0 && block && ((uintptr_t)block & 4095) == 0);
	free(block);
	MUST(errno == 77);
}

static void nothing_asked_for(void) {
	/* Distinct blocks that may be freed, whichever function was asked. */
	void *blocks[] = {malloc(0), calloc(0, 8), calloc(8, 0),    realloc(NULL, 0),
			  valloc(0), pvalloc(0),   memalign(64, 0), reallocarray(NULL, 0, 8)};
	enum { COUNT = sizeof blocks / sizeof *blocks };
	for (int i = 0; i < COUNT; i++) {
		MUST(blocks[i] != NULL);
		for (int k = 0; k < i; k++)
			MUST(blocks[i] != blocks[k]);
	}
	MUST(((uintptr_t)blocks[4] & 4095) == 0 && ((uintptr_t)blocks[5] & 4095) == 0);
	MUST(malloc_usable_size(blocks[5]) >= 4096 || malloc_usable_size(blocks[5]) == 0);
	for (int i = 0; i < COUNT; i++)
		free(blocks[i]);
	MUST(malloc_usable_size(NULL) == 0);
	free(NULL);
	/* As glibc: the block is gone, and NULL is no failure. */
	errno = 0;
	MUST(realloc(malloc(100), 0) == NULL && errno == 0);
}

/* All of the usable size may be written, whatever the size, and zero bytes stay zero in between. */
static void usable_sizes(void) {
	for (size_t bytes = 0; bytes < (size_t)9 << 20; bytes += bytes / 19 + 1) {
		unsigned char *block = malloc(bytes), *next = calloc(1, bytes);
		MUST(block != NULL && next != NULL && malloc_usable_size(block) >= bytes);
		memset(block, 0xff, malloc_usable_size(block));
		for (size_t i = 0; i < bytes; i++)
			MUST(next[i] == 0);
		memset(next, 0xff, malloc_usable_size(next));
		free(block);
		free(next);
	}
}

static void errno_is_kept(void) {
	errno = 77;
	for (size_t bytes = 1; bytes < (size_t)300 << 20; bytes *= 3) {
		char *block = malloc(bytes);
		block = realloc(block, bytes * 2);
		MUST(block != NULL);
		free(block);
		free(calloc(1, bytes));
		free(memalign(1 << 20, bytes));
	}
	malloc_trim(0);
	MUST(errno == 77);
}

int main(void) {
	must_be_mallow();
	sizes_that_no_machine_has();
	refusals_leave_the_block();
	alignments();
	posix_memalign_says_it_by_its_value();
	nothing_asked_for();
	usable_sizes();
	errno_is_kept();
	return 0;
}
