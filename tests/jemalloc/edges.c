/* SPDX-License-Identifier: MIT
 * edges.c -- rare uses of jemalloc's interface on mallow: extent hooks that hand out dirty memory
 * or allocate while another thread forks; a thread's counters where blocks change threads. */
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "word.h"

static unsigned create(extent_hooks_t *hooks) {
	unsigned arena = 0;
	size_t length = sizeof arena;
	CHECK_EQ(mallctl("arenas.create", &arena, &length, (void *)&hooks, sizeof hooks), 0);
	return arena;
}

static int call_arena(unsigned arena, const char *verb) {
	char name[64];
	snprintf(name, sizeof name, "arena.%u.%s", arena, verb);
	return mallctl(name, NULL, NULL, NULL, 0);
}

/* ---- extents that are not zero ---- */

static int dirt;

static void *hand_out_dirt(extent_hooks_t *hooks, void *wanted, size_t bytes, size_t align,
			   bool *zero, bool *commit, unsigned arena) {
	enum { DIRTY_BYTES = 65536 };
	(void)hooks, (void)arena;
	if (wanted)
		return NULL;
	char *map = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	CHECK(map != MAP_FAILED);
	char *base = (char *)(((uintptr_t)map + align - 1) & ~(align - 1));
	memset(base, dirt, bytes < DIRTY_BYTES ? bytes : DIRTY_BYTES);
	*zero = false;
	*commit = true;
	return base;
}

static bool unmap(extent_hooks_t *hooks, void *base, size_t bytes, bool committed, unsigned arena) {
	(void)hooks, (void)committed, (void)arena;
	return munmap(base, bytes) != 0;
}

static void use_dirty_extents(void) {
	enum { BLOCKS = 100 };
	static extent_hooks_t hooks = {.alloc = hand_out_dirt, .dalloc = unmap};
	unsigned arena = create(&hooks);
	void *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = mallocx(100, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
		CHECK(blocks[i]);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	CHECK_EQ(call_arena(arena, "destroy"), 0);
	/* None of the arena's blocks, which are unmapped, is handed out again. */
	for (size_t bytes = 8; bytes <= 1024; bytes += 8)
		for (int i = 0; i < BLOCKS; i++) {
			void *block = malloc(bytes);
			memset(block, 1, bytes);
			free(block);
		}
}

static void extents_may_be_dirty(void) {
	for (dirt = 1; dirt < 256; dirt = dirt * 2 + 2)
		use_dirty_extents();
}

/* ---- a purge hook that allocates ---- */

static volatile bool stop;

static bool purge(extent_hooks_t *hooks, void *base, size_t bytes, size_t offset, size_t length,
		  unsigned arena) {
	enum { LINES = 40, LINE_BYTES = 100000 };
	(void)hooks, (void)bytes, (void)arena;
	void *lines[LINES];
	for (int i = 0; i < LINES; i++)
		lines[i] = malloc(LINE_BYTES);
	for (int i = 0; i < LINES; i++)
		free(lines[i]);
	return madvise((char *)base + offset, length, MADV_DONTNEED) != 0;
}

static void *purge_all_the_time(void *arena) {
	enum { BLOCKS = 50 };
	while (!stop) {
		void *blocks[BLOCKS];
		for (int i = 0; i < BLOCKS; i++)
			blocks[i] = mallocx(40000, MALLOCX_ARENA(*(unsigned *)arena) |
							   MALLOCX_TCACHE_NONE);
		for (int i = 0; i < BLOCKS; i++)
			free(blocks[i]);
		CHECK_EQ(call_arena(*(unsigned *)arena, "purge"), 0);
	}
	return NULL;
}

static void forks_wait_for_purge_hooks(void) {
	enum { FORKS = 100 };
	static extent_hooks_t hooks = {.alloc = hand_out_dirt, .purge_forced = purge};
	unsigned arena = create(&hooks);
	pthread_t purger;
	CHECK_EQ(pthread_create(&purger, NULL, purge_all_the_time, &arena), 0);
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();
		if (child == 0) {
			void *block = mallocx(40000, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
			_exit(block && call_arena(arena, "purge") == 0 ? 0 : 1);
		}
		int status;
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
	stop = true;
	CHECK_EQ(pthread_join(purger, NULL), 0);
}

/* ---- counters of threads ---- */

enum { PASSED = 50000 };
static void *passed[PASSED];
static uint64_t freed_bytes;

static void *free_passed(void *unused) {
	(void)unused;
	free(malloc(10));
	for (int i = 0; i < PASSED; i++)
		free(passed[i]);
	CHECK_EQ(mallctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
	freed_bytes = word("thread.deallocated");
	return NULL;
}

/* A flush sends all blocks back; each counts as freed, for the thread that freed it or for the one
 * that made it. */
static void pass_blocks(size_t bytes) {
	uint64_t made = word("thread.allocated"), freed = word("thread.deallocated");
	for (int i = 0; i < PASSED; i++)
		passed[i] = malloc(bytes);
	pthread_t other;
	CHECK_EQ(pthread_create(&other, NULL, free_passed, NULL), 0);
	CHECK_EQ(pthread_join(other, NULL), 0);
	made = word("thread.allocated") - made;
	freed = word("thread.deallocated") - freed + freed_bytes;
	/* The hardened library holds some blocks back. */
	CHECK_NEAR((double)freed / (double)made, 1, 0.02);
}

static void passed_blocks_count_as_freed(void) {
	static const size_t sizes[] = {16, 100, 1000, 10000};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		pass_blocks(sizes[i]);
}

/* ---- a thread of a child that has the thread pointer of one that is gone ---- */

enum { LEFT = 8 };
static void *left[LEFT];
static pthread_barrier_t made_all;

static void *make_and_wait(void *unused) {
	for (int i = 0; i < LEFT; i++)
		left[i] = malloc(1500);
	pthread_barrier_wait(&made_all);
	pause();
	return unused;
}

static void *count_and_free(void *unused) {
	uint64_t *counter;
	size_t length = sizeof counter;
	free(malloc(1500));
	CHECK_EQ(mallctl("thread.allocatedp", (void *)&counter, &length, NULL, 0), 0);
	for (int i = 0; i < LEFT; i++)
		free(left[i]);
	return unused;
}

static void children_free_blocks_of_gone_threads(void) {
	pthread_t thread;
	CHECK_EQ(pthread_barrier_init(&made_all, NULL, 2), 0);
	CHECK_EQ(pthread_create(&thread, NULL, make_and_wait, NULL), 0);
	pthread_barrier_wait(&made_all);
	pid_t child = fork();
	if (child == 0) {
		bool good = pthread_create(&thread, NULL, count_and_free, NULL) == 0 &&
			    pthread_join(thread, NULL) == 0;
		_exit(good ? 0 : 1);
	}
	int status;
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

int main(void) {
	alarm(240);
	RUN(passed_blocks_count_as_freed);
	RUN(extents_may_be_dirty);
	RUN(forks_wait_for_purge_hooks);
	RUN(children_free_blocks_of_gone_threads);
	return 0;
}
