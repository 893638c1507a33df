/* SPDX-License-Identifier: MIT
 * test_fork.c -- the heap's fork handlers: what may be done between them, and what a child knows.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/core/resize.h"
#include "heap/stats/stats.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "os/lock/lock.h"
#include "test.h"

static pthread_barrier_t barrier;

/* Has a heap until the test is over. */
static void *wait_with_a_heap(void *unused) {
	(void)unused;
	void *block = mw_heap_alloc(100);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	mw_fast_free(block);
	mw_heap_thread_end();
	return NULL;
}

/* As another library's handlers do that run after this one's prepare handler. */
static void allocate_all_kinds(void) {
	for (size_t bytes = 1; bytes < (size_t)16 << 20; bytes *= 2) {
		char *block = mw_heap_alloc(bytes);
		CHECK(block != NULL);
		block = mw_heap_resize(block, bytes * 3);
		CHECK(block != NULL);
		mw_fast_free(block);
	}
	mw_heap_trim();
}

static uint64_t live_threads(void) {
	uint64_t stats[MW_STAT_COUNT];
	mw_heap_stats(stats);
	return stats[MW_STAT_live_threads];
}

static void test_fork_with_threads(void) {
	pthread_t thread;
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, 2), 0);
	CHECK_EQ(pthread_create(&thread, NULL, wait_with_a_heap, NULL), 0);
	mw_fast_free(mw_heap_alloc(100));
	pthread_barrier_wait(&barrier);
	CHECK_EQ(live_threads(), 2);

	mw_heap_fork_prepare();
	mw_lock_fork_begin();
	allocate_all_kinds();
	pid_t pid = fork();
	allocate_all_kinds();
	mw_lock_fork_end();
	if (pid == 0) {
		mw_heap_fork_child();
		CHECK_EQ(live_threads(), 1);
		allocate_all_kinds();
		_exit(0);
	}
	mw_heap_fork_parent();
	CHECK_EQ(live_threads(), 2);
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	allocate_all_kinds();
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	CHECK_EQ(live_threads(), 1);
}

int main(void) {
	RUN(test_fork_with_threads);
	return 0;
}
