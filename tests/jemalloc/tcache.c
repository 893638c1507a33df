/* SPDX-License-Identifier: MIT
 * tcache.c -- controls of the lists of blocks that a thread freed, and that they act. */
#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdbool.h>

#include "test.h"
#include "word.h"

enum { BYTES = 8192 };

static void set(const char *name, const void *value, size_t bytes) {
	CHECK_EQ(mallctl(name, NULL, NULL, (void *)value, bytes), 0);
}

static size_t most_of(size_t bytes) {
	size_t most = 0, length = sizeof most;
	CHECK_EQ(mallctl("thread.tcache.ncached_max.read_sizeclass", &most, &length, &bytes,
			 sizeof bytes),
		 0);
	return most;
}

static int write_most(const char *settings) {
	return mallctl("thread.tcache.ncached_max.write", NULL, NULL, &settings, sizeof settings);
}

static uint64_t free_beside(void *block) {
	struct {
		uint64_t free_count, capacity, bytes;
	} use;
	size_t length = sizeof use;
	CHECK_EQ(mallctl("experimental.utilization.batch_query", &use, &length, &block,
			 sizeof block),
		 0);
	return use.free_count;
}

/* Does a block that is freed go to its page at once, where others see it?  Three of them, as two
 * at least lie in one page. */
static bool goes_to_its_page(void) {
	void *blocks[3];
	CHECK_EQ(mallctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
	for (int i = 0; i < 3; i++)
		blocks[i] = malloc(BYTES);
	int i = (uintptr_t)blocks[0] >> 16 == (uintptr_t)blocks[1] >> 16 ? 1 : 2;
	int other = i == 1 || (uintptr_t)blocks[0] >> 16 == (uintptr_t)blocks[2] >> 16 ? 0 : 1;
	uint64_t before = free_beside(blocks[other]);
	free(blocks[i]);
	uint64_t after = free_beside(blocks[other]);
	for (int j = 0; j < 3; j++)
		if (j != i)
			free(blocks[j]);
	return after > before;
}

static void lists_can_be_switched_off(void) {
	bool on = false;
	CHECK(!goes_to_its_page());
	size_t first = most_of(BYTES);
	CHECK(first > 0);
	set("thread.tcache.enabled", &on, sizeof on);
	CHECK_EQ(most_of(BYTES), 0);
	CHECK(goes_to_its_page());
	on = true;
	set("thread.tcache.enabled", &on, sizeof on);
	CHECK_EQ(most_of(BYTES), first);
}

static void sizes_are_bounded(void) {
	uint64_t before = word("thread.tcache.max"), most = 4096;
	CHECK_EQ(before, word("arenas.tcache_max"));
	set("thread.tcache.max", &most, sizeof most);
	CHECK_EQ(word("thread.tcache.max"), 4096);
	CHECK(most_of(4096) > 0);
	CHECK_EQ(most_of(BYTES), 0);
	CHECK(goes_to_its_page());
	set("thread.tcache.max", &before, sizeof before);
	CHECK(most_of(BYTES) > 0);
	CHECK(!goes_to_its_page());
}

static void lengths_are_set(void) {
	CHECK_EQ(write_most("8-128:1|160-4096:11|8192-8192:0"), 0);
	CHECK_EQ(most_of(100), 1);
	CHECK_EQ(most_of(4096), 11);
	CHECK_EQ(most_of(BYTES), 0);
	static const char *const wrong[] = {
		"8", "8-", "8-9", "8-9:", "9-8:1", "8-9:1,", "a-b:c", "8-9:1|x"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK_EQ(write_most(wrong[i]), EINVAL);
	CHECK_EQ(write_most(NULL), EINVAL);
	CHECK_EQ(most_of(100), 1);
	size_t most, length = sizeof most, bytes = (size_t)1 << 20;
	CHECK_EQ(mallctl("thread.tcache.ncached_max.read_sizeclass", &most, &length, &bytes,
			 sizeof bytes),
		 EINVAL);
	CHECK_EQ(mallctl("thread.tcache.ncached_max.read_sizeclass", &most, &length, NULL, 0),
		 EINVAL);
}

/* Checks that what another thread set is that thread's own. */
static void *in_thread(void *first_of_100) {
	CHECK_EQ(most_of(100), *(const size_t *)first_of_100);
	CHECK(most_of(BYTES) > 0);
	return NULL;
}

int main(int argc, char **argv) {
	if (argc > 1) { /* what the options say */
		printf("%zu %zu %zu\n", most_of(100), most_of(2048), most_of(BYTES));
		return 0;
	}
	(void)argv;
	size_t first_of_100 = most_of(100);
	CHECK(first_of_100 != 1); /* the length that lengths_are_set() sets */
	RUN(lists_can_be_switched_off);
	RUN(sizes_are_bounded);
	RUN(lengths_are_set);
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, in_thread, &first_of_100), 0);
	pthread_join(thread, NULL);
	return 0;
}
