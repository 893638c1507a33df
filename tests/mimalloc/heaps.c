/* SPDX-License-Identifier: MIT
 * heaps.c -- mi_heap_t: blocks apart, freed at once, found and visited; also on Debian's mimalloc
 * 2.0.9, which lacks the functions of later versions. */
#include <errno.h>
#include <mimalloc.h>
#include <pthread.h>
#include <stdlib.h>

#include "test.h"

/* Functions that mimalloc 2.0.9 lacks. */
#pragma weak mi_heap_main
#pragma weak mi_heap_of
#pragma weak mi_any_heap_contains
#pragma weak mi_heap_new_ex
#pragma weak mi_heap_zalloc_small
#pragma weak mi_heap_alloc_new
#pragma weak mi_heap_theap
#pragma weak mi_theap_malloc
#pragma weak mi_theap_zalloc
#pragma weak mi_theap_calloc
#pragma weak mi_theap_realloc
#pragma weak mi_theap_malloc_aligned
#pragma weak mi_theap_get_default
#pragma weak mi_theap_set_default

int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t length);
#pragma weak mallctl

enum { BLOCKS = 2000 };
static const size_t sizes[] = {1, 16, 24, 64, 100, 500, 1024, 1025, 5000, 70000, 3000000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static bool is_filled(const unsigned char *block, size_t bytes, unsigned char byte) {
	while (bytes-- > 0)
		if (block[bytes] != byte)
			return false;
	return true;
}

static unsigned char *filled(mi_heap_t *heap, size_t bytes, unsigned char byte) {
	unsigned char *block = mi_heap_malloc(heap, bytes);
	CHECK(block && (uintptr_t)block % 8 == 0 && mi_usable_size(block) >= bytes);
	return memset(block, byte, bytes);
}

/* ---- allocate, free, destroy ---- */

static void contents(void) {
	mi_heap_t *heap = mi_heap_new();
	static unsigned char *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = filled(heap, sizes[i % (SIZES - 2)], (unsigned char)i);
	for (int i = 0; i < BLOCKS; i++) {
		CHECK(is_filled(blocks[i], sizes[i % (SIZES - 2)], (unsigned char)i));
		if (i % 3 == 0)
			mi_free(blocks[i]);
	}
	for (int i = 0; i < BLOCKS; i += 3)
		blocks[i] = filled(heap, sizes[i % (SIZES - 2)], (unsigned char)i);
	for (int i = 0; i < BLOCKS; i++)
		CHECK(is_filled(blocks[i], sizes[i % (SIZES - 2)], (unsigned char)i));
	mi_heap_destroy(heap);
}

static size_t resident_kib(void) {
	size_t rss = 0;
	mi_process_info(NULL, NULL, NULL, &rss, NULL, NULL, NULL, NULL);
	return rss >> 10;
}

/* A destroyed heap gives its memory up: many generations take the memory of one. */
static void generations(void) {
	size_t before = 0;
	for (int turn = 0; turn < 200; turn++) {
		mi_heap_t *heap = mi_heap_new();
		for (int i = 0; i < 2000; i++)
			filled(heap, 1000, 1);
		filled(heap, 3000000, 1);
		mi_heap_destroy(heap);
		if (turn == 10)
			before = resident_kib();
	}
	mi_collect(true);
	CHECK(resident_kib() < before + 20000);
}

static void deleted(void) {
	mi_heap_t *heap = mi_heap_new();
	unsigned char *block = filled(heap, 100, 7), *large = filled(heap, 3000000, 8);
	mi_heap_delete(heap);
	CHECK(is_filled(block, 100, 7) && is_filled(large, 3000000, 8));
	CHECK(mi_check_owned(block));
	mi_free(block);
	mi_free(large);
	mi_heap_delete(mi_heap_new());
	mi_collect(true);
}

/* ---- sizes, zeros, alignments ---- */

static void zeros(void) {
	mi_heap_t *heap = mi_heap_new();
	for (int turn = 0; turn < 200; turn++)
		mi_free(filled(heap, sizes[turn % SIZES], 0xff));
	for (int i = 0; i < SIZES; i++) {
		unsigned char *block = mi_heap_zalloc(heap, sizes[i]);
		CHECK(is_filled(block, sizes[i], 0));
		memset(block, 0xff, sizes[i]);
		unsigned char *more = mi_heap_calloc(heap, 3, sizes[i]);
		CHECK(is_filled(more, 3 * sizes[i], 0));
		more = mi_heap_rezalloc(heap, more, 10 * sizes[i]);
		CHECK(is_filled(more, 10 * sizes[i], 0));
		/* mimalloc 2.0.9 leaves old contents in a block that grows twice. */
		more = mi_heap_recalloc(heap, more, 20, sizes[i]);
		CHECK(getenv("TEST_REFERENCE") || is_filled(more, 20 * sizes[i], 0));
		CHECK(mi_heap_contains_block(heap, more));
	}
	mi_heap_destroy(heap);
}

static void aligned(void) {
	mi_heap_t *heap = mi_heap_new();
	for (size_t align = 8; align <= 4096; align *= 2) {
		unsigned char *block = mi_heap_malloc_aligned(heap, 100, align);
		CHECK((uintptr_t)block % align == 0);
		memset(block, 5, 100);
		block = mi_heap_realloc_aligned(heap, block, 10000, align);
		CHECK((uintptr_t)block % align == 0 && is_filled(block, 100, 5));
		unsigned char *zero = mi_heap_zalloc_aligned(heap, 300, align);
		CHECK((uintptr_t)zero % align == 0 && is_filled(zero, 300, 0));
		zero = mi_heap_calloc_aligned_at(heap, 2, 150, align, 0);
		CHECK((uintptr_t)zero % align == 0 && is_filled(zero, 300, 0));
	}
	CHECK(mi_heap_malloc_aligned(heap, 100, 3) == NULL);
	mi_heap_destroy(heap);
}

static volatile size_t too_many = SIZE_MAX / 2;

static void resized(void) {
	mi_heap_t *heap = mi_heap_new(), *other = mi_heap_new();
	unsigned char *block = mi_heap_realloc(heap, NULL, 10);
	memset(block, 1, 10);
	for (int i = 0; i < SIZES; i++) {
		block = mi_heap_reallocn(heap, block, 1, sizes[i] + 10);
		CHECK(is_filled(block, 10, 1) && mi_usable_size(block) >= sizes[i] + 10);
	}
	/* A block that moves goes to the heap that is named. */
	block = mi_heap_realloc(other, block, 20);
	CHECK(is_filled(block, 10, 1));
	CHECK(mi_heap_contains_block(other, block));
	CHECK(mi_heap_mallocn(heap, too_many, 3) == NULL);
	CHECK(mi_heap_reallocf(heap, mi_heap_malloc(heap, 5), too_many) == NULL);
	char *text = mi_heap_strdup(heap, "heap"), *part = mi_heap_strndup(heap, "heap", 2);
	CHECK_STR(text, "heap");
	CHECK_STR(part, "he");
	char *path = mi_heap_realpath(heap, "/proc/../", NULL);
	CHECK_STR(path, "/");
	mi_heap_destroy(other);
	mi_heap_destroy(heap);
}

/* ---- whose a block is ---- */

static void owners(void) {
	mi_heap_t *heap = mi_heap_new();
	void *small = mi_heap_malloc(heap, 10), *huge = mi_heap_malloc(heap, 30000000);
	void *plain = mi_malloc(10);
	int local = 0;
	CHECK(mi_heap_contains_block(heap, small) && mi_heap_contains_block(heap, huge));
	CHECK(mi_heap_check_owned(heap, small) && !mi_heap_check_owned(heap, plain));
	CHECK(!mi_heap_contains_block(heap, plain) && mi_check_owned(plain));
	CHECK(!mi_heap_check_owned(heap, &local) && !mi_check_owned(&local));
	CHECK(!mi_check_owned((void *)(uintptr_t)-16));
	if (mi_heap_of) {
		CHECK(mi_heap_of(small) == heap && mi_heap_of(huge) == heap);
		CHECK(mi_heap_of(plain) == mi_heap_main() && mi_heap_of(&local) == NULL);
		CHECK(mi_heap_of(NULL) == NULL && mi_heap_of((char *)small + 1) == NULL);
		CHECK(mi_any_heap_contains(plain) && !mi_any_heap_contains(&local));
	}
	mi_free(plain);
	mi_heap_destroy(heap);
}

static void default_heap(void) {
	mi_heap_t *heap = mi_heap_new(), *backing = mi_heap_get_backing();
	CHECK(mi_heap_get_default() == backing);
	CHECK(mi_heap_set_default(heap) == backing);
	CHECK(mi_heap_get_default() == heap);
	void *block = mi_malloc(50), *mains = mi_heap_malloc(backing, 50);
	CHECK(mi_heap_contains_block(heap, block));
	CHECK(!mi_heap_contains_block(heap, mains));
	CHECK(mi_heap_set_default(backing) == heap);
	void *after = mi_malloc(50);
	CHECK(!mi_heap_contains_block(heap, after));
	mi_free(after);
	mi_free(mains);
	mi_heap_set_default(heap);
	mi_heap_destroy(heap);
	CHECK(mi_heap_get_default() == backing);
	mi_free(mi_malloc(10));
}

/* ---- visits ---- */

typedef struct seen {
	size_t areas, blocks, bytes, limit;
	const mi_heap_t *heap;
	bool frees;
} seen_t;

static bool see(const mi_heap_t *heap, const mi_heap_area_t *area, void *block, size_t bytes,
		void *context) {
	seen_t *seen = context;
	CHECK(heap == seen->heap && area->block_size > 0);
	if (!block) {
		seen->areas++;
		CHECK(area->committed <= area->reserved && area->blocks != NULL);
		return true;
	}
	seen->blocks++;
	seen->bytes += bytes;
	if (seen->frees)
		mi_free(block);
	return seen->blocks != seen->limit;
}

static void visits(void) {
	mi_heap_t *heap = mi_heap_new();
	seen_t none = {.heap = heap};
	/* mimalloc 2.0.9 returns false for a heap without blocks. */
	CHECK(mi_heap_visit_blocks(heap, true, see, &none) || getenv("TEST_REFERENCE"));
	CHECK_EQ(none.blocks, 0);
	void *freed = mi_heap_malloc(heap, 200);
	for (int i = 0; i < 1000; i++)
		filled(heap, 200, 1);
	filled(heap, 3000000, 1);
	filled(heap, 90000, 1);
	mi_free(freed);
	seen_t areas = {.heap = heap}, all = {.heap = heap}, ten = {.heap = heap, .limit = 10};
	CHECK(mi_heap_visit_blocks(heap, false, see, &areas));
	CHECK(areas.areas >= 3 && areas.blocks == 0);
	CHECK(mi_heap_visit_blocks(heap, true, see, &all));
	CHECK_EQ(all.blocks, 1002);
	CHECK(all.bytes >= 200 * 1000 + 3000000 + 90000);
	CHECK(!mi_heap_visit_blocks(heap, true, see, &ten));
	CHECK_EQ(ten.blocks, 10);
	mi_heap_destroy(heap);
}

/* The visitor may free the block that it gets: mallow's promise, not mimalloc's. */
static void freeing_visits(void) {
	mi_heap_t *heap = mi_heap_new();
	for (int i = 0; i < 1000; i++)
		filled(heap, sizes[i % SIZES] % 100000, 1);
	seen_t freed = {.heap = heap, .frees = true}, left = {.heap = heap};
	CHECK(mi_heap_visit_blocks(heap, true, see, &freed));
	CHECK_EQ(freed.blocks, 1000);
	CHECK(mi_heap_visit_blocks(heap, true, see, &left));
	CHECK_EQ(left.blocks, 0);
	CHECK(!mi_heap_visit_blocks(mi_heap_get_backing(), true, see, &left));
	mi_heap_delete(heap);
}

/* ---- threads ---- */

static mi_heap_t *shared;
static void *blocks_of_threads[4][BLOCKS];

static void *use_shared(void *number) {
	void **blocks = blocks_of_threads[(uintptr_t)number];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = filled(shared, sizes[i % 8], (unsigned char)(uintptr_t)number);
	return NULL;
}

static void *free_all(void *unused) {
	(void)unused;
	for (int t = 0; t < 4; t++)
		for (int i = 0; i < BLOCKS; i++) {
			CHECK(is_filled(blocks_of_threads[t][i], sizes[i % 8], (unsigned char)t));
			mi_free(blocks_of_threads[t][i]);
		}
	return NULL;
}

/* As mimalloc 3 allows: any thread allocates from any heap.  The heap was deleted before the last
 * block is freed. */
static void threads(void) {
	pthread_t thread[4];
	shared = mi_heap_new();
	for (uintptr_t t = 0; t < 4; t++)
		CHECK(pthread_create(&thread[t], NULL, use_shared, (void *)t) == 0);
	for (int t = 0; t < 4; t++)
		pthread_join(thread[t], NULL);
	CHECK(pthread_create(&thread[0], NULL, free_all, NULL) == 0);
	mi_heap_delete(shared);
	pthread_join(thread[0], NULL);
	mi_collect(true);
}

/* ---- mimalloc 3 ---- */

static void theaps(void) {
	mi_heap_t *heap = mi_heap_new();
	mi_theap_t *theap = mi_heap_theap(heap), *before = mi_theap_get_default();
	void *block = mi_theap_malloc(theap, 10);
	CHECK(mi_heap_contains_block(heap, block));
	block = mi_theap_realloc(theap, block, 1000);
	CHECK(mi_heap_contains_block(heap, block));
	CHECK(is_filled(mi_theap_zalloc(theap, 100), 100, 0));
	CHECK(is_filled(mi_theap_calloc(theap, 10, 10), 100, 0));
	CHECK((uintptr_t)mi_theap_malloc_aligned(theap, 10, 512) % 512 == 0);
	CHECK(mi_theap_set_default(theap) == before);
	CHECK(mi_heap_of(malloc(10)) == heap);
	CHECK(mi_theap_set_default(before) == theap);
	mi_heap_destroy(heap);
}

static void many(void) {
	enum { MANY = 600 };
	static mi_heap_t *heaps[MANY];
	for (int i = 0; i < MANY; i++) {
		heaps[i] = mi_heap_new();
		CHECK(heaps[i] != NULL);
		filled(heaps[i], 100, 1);
	}
	for (int i = 0; i < MANY; i++)
		mi_heap_destroy(heaps[i]);
}

/* jemalloc's control frees all blocks of the arena, those in the heap's lists as well. */
static void reset_by_number(void) {
	mi_heap_t *heap = mi_heap_new();
	void *block = mi_heap_malloc(heap, 100);
	unsigned number = 0;
	size_t size = sizeof number;
	CHECK(mallctl("arenas.lookup", &number, &size, &block, sizeof block) == 0);
	mi_free(block);
	char name[40];
	snprintf(name, sizeof name, "arena.%u.reset", number);
	CHECK(mallctl(name, NULL, NULL, NULL, 0) == 0);
	seen_t seen = {.heap = heap};
	for (int i = 0; i < 1000; i++)
		filled(heap, 100, 1);
	CHECK(mi_heap_visit_blocks(heap, true, see, &seen));
	CHECK_EQ(seen.blocks, 1000);
	mi_heap_destroy(heap);
}

/* ---- misuse: one line, and the program goes on ---- */

static char said[500];
static int error_seen;

static void hear(const char *text, void *context) {
	(void)context;
	strncat(said, text, sizeof said - strlen(said) - 1);
}

static void note_error(int error, void *context) {
	(void)context;
	error_seen = error;
}

static void misuse(void) {
	mi_register_output(hear, NULL);
	mi_register_error(note_error, NULL);
	mi_option_enable(mi_option_show_errors);
	mi_heap_t *heap = mi_heap_new();
	void *block = mi_heap_malloc(heap, 10);
	mi_heap_delete(heap);
	mi_heap_delete(heap);
	CHECK_STR(said, "mallow: mi_heap_delete: the heap was deleted before\n");
	CHECK_EQ(error_seen, EINVAL);
	mi_free(block);
	said[0] = '\0';
	CHECK(mi_heap_new_in_arena(77) == NULL);
	CHECK_STR(said, "mallow: mi_heap_new_ex: there is no arena 77\n");
	said[0] = '\0';
	CHECK(mi_malloc_aligned(10, 24) == NULL);
	CHECK_STR(said, "mallow: alignment 24 is not a power of two, or offset 0 not a multiple of "
			"it\n");
	said[0] = '\0';
	CHECK(mi_calloc(too_many, 3) == NULL);
	CHECK_STR(said,
		  "mallow: 9223372036854775807 times 3 bytes are more than the largest block\n");
	CHECK_EQ(error_seen, EOVERFLOW);
	mi_heap_destroy(NULL);
	mi_heap_destroy(mi_heap_get_backing());
	mi_free(mi_malloc(10));
	mi_register_error(NULL, NULL);
	mi_register_output(NULL, NULL);
}

int main(void) {
	RUN(contents);
	RUN(generations);
	RUN(deleted);
	RUN(zeros);
	RUN(aligned);
	RUN(resized);
	RUN(owners);
	RUN(default_heap);
	RUN(visits);
	if (getenv("TEST_REFERENCE"))
		return 0;
	RUN(freeing_visits);
	RUN(threads);
	RUN(theaps);
	RUN(reset_by_number);
	RUN(many);
	RUN(misuse);
	return 0;
}
