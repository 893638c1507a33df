/* SPDX-License-Identifier: MIT
 * test_lock.c -- mutual exclusion with many more threads than cores, and the rank check. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/lock.h"
#include "test.h"

static mw_lock_t lock;
static long counter; /* not atomic: lost updates show */

static void *count(void *unused) {
	(void)unused;
	for (int i = 0; i < 100000; i++) {
		mw_lock_acquire(&lock, MW_RANK_CHUNKS);
		counter++;
		mw_lock_release(&lock, MW_RANK_CHUNKS);
	}
	return NULL;
}

static void test_no_update_is_lost(void) {
	pthread_t threads[8];
	for (int i = 0; i < 8; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, count, NULL), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(counter, 800000);
	CHECK_EQ(atomic_load(&lock.state), 0);
}

static void test_wrong_order_ends_the_program(void) {
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		static mw_lock_t low, high;
		close(STDERR_FILENO);
		mw_lock_acquire(&high, MW_RANK_CHUNKS);
		mw_lock_acquire(&low, MW_RANK_HEAPS);
		_exit(0);
	}
	int status;
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void) {
	RUN(test_no_update_is_lost);
	RUN(test_wrong_order_ends_the_program);
	return 0;
}
