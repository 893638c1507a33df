/* SPDX-License-Identifier: MIT
 * blocks.c -- mimalloc's functions that keep no state of their own.  Written for both: the program
 * passes on Debian's libmimalloc.so.2 as well (tests/mimalloc/lib.sh), which lacks a few functions
 * and, named by TEST_REFERENCE, leaves old contents in blocks that mi_rezalloc() grows twice. */
#include <errno.h>
#include <limits.h>
#include <mimalloc.h>
#include <stdlib.h>

#include "test.h"

/* Functions that mimalloc 2.0.9 lacks. */
#pragma weak mi_umalloc
#pragma weak mi_ucalloc
#pragma weak mi_urealloc
#pragma weak mi_ufree
#pragma weak mi_umalloc_aligned
#pragma weak mi_uzalloc_aligned
#pragma weak mi_umalloc_small
#pragma weak mi_uzalloc_small
#pragma weak mi_free_small
#pragma weak mi_process_done
#pragma weak mi_thread_set_in_threadpool

static bool is_filled(const unsigned char *block, size_t bytes, unsigned char byte) {
	while (bytes-- > 0)
		if (block[bytes] != byte)
			return false;
	return true;
}

static bool is_aligned(const void *block, size_t align) {
	return ((uintptr_t)block & (align - 1)) == 0;
}

/* Sizes that overflow, hidden from the compiler's warnings. */
static volatile size_t too_large = (size_t)PTRDIFF_MAX + 1, half = SIZE_MAX / 2 + 1;
/* No powers of two.  Volatile: clang 14 crashes on an alignment that is such a constant. */
static volatile size_t align_0 = 0, align_24 = 24, align_48 = 48;

/* Leaves blocks of all sizes with contents behind, so that zeros are no accident. */
static void dirty(void) {
	enum { BLOCKS = 64 };
	for (size_t size = 1; size <= 300000; size += 1 + size / 2) {
		void *blocks[BLOCKS];
		for (int i = 0; i < BLOCKS; i++) {
			blocks[i] = mi_malloc(size);
			memset(blocks[i], 0xaa, mi_usable_size(blocks[i]));
		}
		for (int i = 0; i < BLOCKS; i++)
			mi_free(blocks[i]);
	}
}

static void sizes(void) {
	for (size_t size = 0; size <= (size_t)8 << 20; size += 1 + size / 3) {
		void *block = mi_malloc(size);
		CHECK(block != NULL);
		CHECK(mi_usable_size(block) >= size);
		CHECK(mi_malloc_size(block) == mi_usable_size(block));
		CHECK(mi_malloc_usable_size(block) == mi_usable_size(block));
		CHECK(mi_good_size(size) >= size);
		CHECK_EQ(mi_malloc_good_size(size), mi_good_size(size));
		CHECK(mi_is_in_heap_region(block));
		CHECK(mi_expand(block, size) == block);
		CHECK(mi_expand(block, mi_usable_size(block) + 1) == NULL);
		memset(block, 0x55, mi_usable_size(block));
		mi_free(block);
	}
	CHECK_EQ(mi_usable_size(NULL), 0);
	CHECK(mi_expand(NULL, 1) == NULL);
	CHECK(mi__expand(NULL, 1) == NULL);
	int local = 0;
	CHECK(!mi_is_in_heap_region(&local) && !mi_is_in_heap_region(NULL));
	CHECK(mi_malloc(too_large) == NULL && mi_zalloc(too_large) == NULL);
	CHECK(mi_calloc(half, 2) == NULL && mi_mallocn(half, 2) == NULL);
	CHECK(mi_calloc(half, 4) == NULL && mi_mallocn(half, 4) == NULL);
	mi_free(NULL);
	mi_free_size(NULL, 5);
	mi_cfree(NULL);
	mi_cfree(&local);
}

static void zeros(void) {
	dirty();
	for (size_t size = 1; size <= 300000; size += 1 + size / 3) {
		unsigned char *blocks[] = {
			mi_zalloc(size),
			mi_calloc(1, size),
			size <= MI_SMALL_SIZE_MAX ? mi_zalloc_small(size) : NULL,
			mi_zalloc_aligned(size, 64),
			mi_calloc_aligned(size, 1, 4096),
			mi_rezalloc(NULL, size),
			mi_recalloc(NULL, size, 1),
		};
		for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
			if (!blocks[i])
				continue;
			CHECK(is_filled(blocks[i], size, 0));
			memset(blocks[i], 0xaa, size);
			mi_free(blocks[i]);
		}
	}
}

/* What a zeroed block gets when it grows is zero, in small steps and in large ones. */
static void zeros_that_grow(size_t align) {
	dirty();
	for (size_t step = 1; step <= 100000; step *= 7) {
		size_t size = 1;
		unsigned char *block = align ? mi_zalloc_aligned(size, align) : mi_zalloc(size);
		for (int i = 0; i < 40; i++) {
			memset(block, 0xbb, size);
			size_t next = size + step;
			block = align ? mi_rezalloc_aligned(block, next, align)
				      : (i % 2 ? mi_rezalloc(block, next)
					       : mi_recalloc(block, next, 1));
			CHECK(block && is_filled(block, size, 0xbb));
			CHECK(is_filled(block + size, next - size, 0));
			CHECK(align == 0 || is_aligned(block, align));
			size = next;
		}
		mi_free(block);
	}
}

static void resizing(void) {
	unsigned char *block = NULL;
	size_t before = 0;
	static const size_t steps[] = {1,       16,    17, 1000, 70000, 4 << 20, 9 << 20,
				       3 << 20, 65000, 32, 800,  10,    0,       5};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		block = i % 2 ? mi_realloc(block, steps[i]) : mi_reallocn(block, 1, steps[i]);
		CHECK(block != NULL); /* also of no bytes */
		CHECK(is_filled(block, before < steps[i] ? before : steps[i], (unsigned char)i));
		before = steps[i];
		memset(block, (int)i + 1, before);
	}
	CHECK(mi_realloc(block, too_large) == NULL); /* the block stays */
	CHECK(mi_reallocn(block, half, 2) == NULL && mi_reallocarray(block, half, 2) == NULL);
	CHECK(mi_recalloc(block, half, 2) == NULL);
	CHECK(is_filled(block, 5, sizeof steps / sizeof *steps));
	block = mi_reallocarray(block, 10, 10);
	CHECK(block && is_filled(block, 5, sizeof steps / sizeof *steps));
	CHECK_EQ(mi_reallocarr(&block, 100, 10), 0);
	CHECK(mi_reallocarr(&block, half, 2) != 0);
	CHECK(mi_reallocarr(NULL, 1, 1) == EINVAL);
	CHECK(mi_reallocf(block, too_large) == NULL); /* frees it */
}

static void aligned(void) {
	for (size_t align = 1; align <= (size_t)1 << 20; align *= 2) {
		for (size_t size = 1; size <= 200000; size = size * 3 + 1) {
			unsigned char *block = mi_malloc_aligned(size, align);
			CHECK(block && is_aligned(block, align) && mi_usable_size(block) >= size);
			memset(block, 7, size);
			block = mi_realloc_aligned(block, size * 2, align);
			CHECK(block && is_aligned(block, align) && is_filled(block, size, 7));
			block = mi_realloc_aligned(block, 1, align);
			CHECK(block && is_aligned(block, align) && *block == 7);
			mi_free_aligned(block, align);
			block = mi_memalign(align, size);
			CHECK(block && is_aligned(block, align));
			mi_free_size_aligned(block, size, align);
			block = mi_malloc_aligned_at(size, align, align * 3);
			CHECK(block && is_aligned(block, align));
			mi_free(block);
		}
		/* Not a multiple of the alignment: mimalloc 2.0.9 misplaces some such blocks. */
		void *block = mi_aligned_alloc(align, align * 2 + 8);
		CHECK(block && is_aligned(block, align));
		block = mi_aligned_recalloc(block, align, 3, align);
		CHECK(block && is_aligned(block, align));
		mi_cfree(block);
	}
	CHECK(mi_malloc_aligned(100, align_0) == NULL && mi_malloc_aligned(100, align_48) == NULL);
	CHECK(mi_malloc_aligned(too_large, 64) == NULL && mi_memalign(align_24, 1) == NULL);
	CHECK(mi_calloc_aligned(half, 2, 64) == NULL);
	void *page = mi_valloc(1), *pages = mi_pvalloc(4097);
	CHECK(is_aligned(page, 4096) && is_aligned(pages, 4096) && mi_usable_size(pages) >= 8192);
	mi_free(page);
	mi_free(pages);
	void *result = &page;
	CHECK_EQ(mi_posix_memalign(&result, 3, 8), EINVAL);
	CHECK_EQ(mi_posix_memalign(&result, sizeof(void *) / 2, 8), EINVAL);
	CHECK_EQ(mi_posix_memalign(NULL, 16, 8), EINVAL);
	CHECK_EQ(mi_posix_memalign(&result, 64, too_large), ENOMEM);
	CHECK(result == &page);
	CHECK_EQ(mi_posix_memalign(&result, 512, 8), 0);
	CHECK(is_aligned(result, 512));
	mi_free(result);
}

static void strings(void) {
	char *copy = mi_strdup("abc");
	CHECK(!strcmp(copy, "abc"));
	mi_free(copy);
	copy = mi_strndup("abcdef", 4);
	CHECK(!strcmp(copy, "abcd"));
	mi_free(copy);
	copy = mi_strndup("abc", 100);
	CHECK(!strcmp(copy, "abc"));
	mi_free(copy);
	CHECK(!mi_strdup(NULL) && !mi_strndup(NULL, 3) && !mi_mbsdup(NULL) && !mi_wcsdup(NULL));
	static const unsigned short wide[] = {'x', 0x1234, 0};
	unsigned short *wide_copy = mi_wcsdup(wide);
	CHECK(!memcmp(wide_copy, wide, sizeof wide));
	mi_free(wide_copy);
	unsigned char *bytes = mi_mbsdup((const unsigned char *)"pq");
	CHECK(!memcmp(bytes, "pq", 3));
	mi_free(bytes);
	char resolved[PATH_MAX];
	CHECK(mi_realpath("/usr/../usr/lib", resolved) == resolved &&
	      !strcmp(resolved, "/usr/lib"));
	copy = mi_realpath("/usr/../usr/lib", NULL);
	CHECK(copy && !strcmp(copy, "/usr/lib"));
	mi_free(copy);
	CHECK(mi_realpath("/nowhere/at/all", NULL) == NULL);
	setenv("TEST_NAME", "value", 1);
	size_t length = 77;
	CHECK_EQ(mi_dupenv_s(&copy, &length, "TEST_NAME"), 0);
	CHECK(!strcmp(copy, "value"));
	CHECK_EQ(length, 5);
	mi_free(copy);
	CHECK_EQ(mi_dupenv_s(&copy, &length, "TEST_NO_SUCH_NAME"), 0);
	CHECK(!copy && length == 0);
	CHECK_EQ(mi_dupenv_s(NULL, &length, "TEST_NAME"), EINVAL);
	CHECK_EQ(mi_dupenv_s(&copy, NULL, NULL), EINVAL);
	unsigned short *nothing = (unsigned short *)resolved;
	CHECK_EQ(mi_wdupenv_s(&nothing, &length, wide), EINVAL);
	CHECK(nothing == NULL && length == 0);
}

static void types(void) {
	struct pair {
		long first, second;
	};
	struct pair *pair = mi_malloc_tp(struct pair);
	struct pair *pairs = mi_calloc_tp(struct pair, 10);
	CHECK(pairs[9].second == 0);
	pairs = mi_reallocn_tp(pairs, struct pair, 20);
	CHECK(mi_usable_size(pairs) >= 20 * sizeof *pairs);
	mi_free(pair);
	mi_free(pairs);
}

static void newer(void) {
	if (!mi_umalloc)
		return;
	size_t before = 1, after = 1;
	unsigned char *block = mi_umalloc(100, &after);
	CHECK_EQ(after, mi_usable_size(block));
	size_t first = after;
	block = mi_urealloc(block, 1000, &before, &after);
	CHECK_EQ(before, first);
	CHECK_EQ(after, mi_usable_size(block));
	block = mi_urealloc(block, 2000, NULL, NULL);
	size_t last = mi_usable_size(block);
	mi_ufree(block, &before);
	CHECK_EQ(before, last);
	block = mi_ucalloc(10, 10, &after);
	CHECK(is_filled(block, 100, 0) && after >= 100);
	mi_ufree(block, NULL);
	block = mi_umalloc_aligned(10, 256, &after);
	CHECK(is_aligned(block, 256) && after >= 10);
	mi_free_small(block);
	block = mi_uzalloc_aligned(10, 256, NULL);
	CHECK(is_aligned(block, 256) && is_filled(block, 10, 0));
	mi_free_small(block);
	mi_free_small(mi_umalloc_small(10, &after));
	mi_free_small(mi_uzalloc_small(10, &after));
	CHECK(mi_ucalloc(half, 2, &after) == NULL && after == 0);
	mi_thread_set_in_threadpool();
	mi_process_done();
	CHECK(mi_is_redirected()); /* mimalloc 2.0.9 says so on Windows only */
	CHECK_EQ(mi_version(), MI_MALLOC_VERSION);
}

static void by_either_name(void) {
	free(mi_malloc(100));
	mi_free(malloc(100));
}

static void zeros_that_grow_plainly(void) {
	zeros_that_grow(0);
}

static void zeros_that_grow_aligned(void) {
	zeros_that_grow(128);
}

int main(void) {
	mi_process_init();
	mi_thread_init();
	RUN(sizes);
	RUN(zeros);
	if (!getenv("TEST_REFERENCE")) {
		RUN(zeros_that_grow_plainly);
		RUN(zeros_that_grow_aligned);
	}
	RUN(resizing);
	RUN(aligned);
	RUN(strings);
	RUN(types);
	RUN(newer);
	mi_collect(false);
	mi_collect(true);
	mi_thread_done();
	RUN(by_either_name);
	return 0;
}
