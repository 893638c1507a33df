/* SPDX-License-Identifier: MIT
 * test_lock.c -- mutual exclusion with many more threads than cores, and the rank check. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/lock/lock.h"
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

/* Holds it until somebody has waited for it so long that it sleeps. */
static void *take_once(void *held) {
	mw_lock_acquire(held, MW_RANK_CHUNKS);
	mw_lock_release(held, MW_RANK_CHUNKS);
	return NULL;
}

static void test_waiting_is_counted(void) {
	static mw_lock_t own;
	mw_lock_stats_t stats = {0};
	for (int i = 0; i < 10; i++) {
		mw_lock_acquire(&own, MW_RANK_CHUNKS);
		mw_lock_release(&own, MW_RANK_CHUNKS);
	}
	mw_lock_add_stats(&own, &stats);
	CHECK_EQ(stats.takes, 10);
	CHECK_EQ(stats.owner_switches, 1);
	CHECK_EQ(stats.sleeps + stats.spins + stats.wait_ns + stats.most_waiting, 0);
	mw_lock_acquire(&own, MW_RANK_CHUNKS);
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, take_once, &own), 0);
	/* 2: somebody sleeps. */
	while (atomic_load(&own.waiting) < 2 || atomic_load(&own.state) != 2)
		usleep(100);
	mw_lock_release(&own, MW_RANK_CHUNKS);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	stats = (mw_lock_stats_t){0};
	mw_lock_add_stats(&own, &stats);
	CHECK_EQ(stats.takes, 13);
	CHECK_EQ(stats.owner_switches, 3);
	CHECK_EQ(stats.sleeps + stats.spins, 2);
	CHECK(stats.sleeps >= 1 && stats.wait_ns >= stats.most_wait_ns && stats.most_wait_ns > 0);
	CHECK_EQ(stats.most_waiting, 2);
	mw_lock_reset_stats(&own, MW_RANK_CHUNKS);
	stats = (mw_lock_stats_t){0};
	mw_lock_add_stats(&own, &stats);
	CHECK_EQ(stats.takes + stats.sleeps + stats.wait_ns + stats.most_waiting, 0);
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
	RUN(test_waiting_is_counted);
	RUN(test_wrong_order_ends_the_program);
	return 0;
}
