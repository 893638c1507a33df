/* SPDX-License-Identifier: MIT
 * test_table_lock.c -- nobody is inside when the tables are quiesced, and no wait lasts forever. */
#include "prof/store/table_lock.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "os/time/clock.h"
#include "test.h"

static mw_table_lock_t lock;
static _Atomic long pairs[2]; /* equal whenever nobody is inside */
static _Atomic int stop;

static void *pass(void *unused) {
	(void)unused;
	while (!stop) {
		mw_tables_enter(&lock);
		pairs[0]++;
		pairs[1]++;
		mw_tables_leave(&lock);
	}
	return NULL;
}

static void closers_find_it_empty(void) {
	enum { THREADS = 6, CLOSES = 3000 };
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, pass, NULL) == 0);
	for (int i = 0; i < CLOSES; i++) {
		bool locked = mw_tables_quiesce(&lock);
		long first = pairs[0];
		CHECK_EQ(pairs[1], first);
		for (int k = 0; k < 50; k++)
			CHECK_EQ(pairs[0], first);
		mw_tables_resume(&lock, locked);
	}
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK_EQ(lock.inside, 0);
	CHECK_EQ(lock.closed, 0);
}

static long in_lock, also_in_lock; /* plain: nothing but the lock orders them */

static void *lock_often(void *unused) {
	(void)unused;
	for (int i = 0; i < 20000; i++) {
		bool locked = mw_tables_lock(&lock);
		CHECK_EQ(in_lock++, also_in_lock++);
		/* A handler that interrupts a sample of its own thread does not wait. */
		bool nested = mw_tables_lock(&lock);
		CHECK(locked && !nested);
		mw_tables_unlock(&lock, nested);
		mw_tables_unlock(&lock, locked);
	}
	return NULL;
}

static void one_thread_holds_the_lock(void) {
	enum { THREADS = 6, CLOSES = 500 };
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, lock_often, NULL) == 0);
	for (int i = 0; i < CLOSES; i++) {
		bool locked = mw_tables_quiesce(&lock);
		CHECK_EQ(in_lock, also_in_lock);
		mw_tables_resume(&lock, locked);
		usleep(20);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK_EQ(in_lock, THREADS * 20000);
	CHECK_EQ(lock.owner, 0);
}

static void *never_unlock(void *unused) {
	(void)unused;
	CHECK(mw_tables_lock(&lock));
	return NULL;
}

/* A handler that left by longjmp never unlocks: the next thread takes the lock over after a while.
 */
static void lost_locks_are_taken_over(void) {
	pthread_t other;
	CHECK(pthread_create(&other, NULL, never_unlock, NULL) == 0);
	CHECK(pthread_join(other, NULL) == 0);
	uint64_t begin = mw_os_monotonic_ns();
	/* Not by the inline function: libc may have noticed that this thread is the only one. */
	CHECK(mw_tables_lock_slowly(&lock));
	uint64_t waited = mw_os_monotonic_ns() - begin;
	CHECK(waited >= 190000000 && waited < 5000000000u);
	mw_tables_unlock(&lock, true);
	CHECK_EQ(lock.owner, 0);
}

static _Atomic int step;

static void wait_for(int wanted) {
	while (step < wanted)
		usleep(100);
}

static void *come_back_late(void *unused) {
	(void)unused;
	bool locked = mw_tables_lock(&lock);
	CHECK(locked);
	step = 1;
	wait_for(2);
	/* It is another thread's by now. */
	uintptr_t owner = lock.owner;
	mw_tables_unlock(&lock, locked);
	CHECK_EQ(lock.owner, owner);
	step = 3;
	return NULL;
}

static void only_the_owner_unlocks(void) {
	pthread_t other;
	mw_table_lock_wait_max_ns = 1000000;
	CHECK(pthread_create(&other, NULL, come_back_late, NULL) == 0);
	wait_for(1);
	CHECK(mw_tables_lock(&lock));
	CHECK_EQ(lock.owner, (uintptr_t)&mw_table_lock_self);
	step = 2;
	wait_for(3);
	CHECK_EQ(lock.owner, (uintptr_t)&mw_table_lock_self);
	mw_tables_unlock(&lock, true);
	CHECK_EQ(lock.owner, 0);
	CHECK(pthread_join(other, NULL) == 0);
	mw_table_lock_wait_max_ns = 200000000;
}

static void *wait_for_lock(void *unused) {
	(void)unused;
	bool locked = mw_tables_lock(&lock);
	CHECK_EQ(step, 5);
	mw_tables_unlock(&lock, locked);
	return NULL;
}

/* The lock changes hands for longer than a thread waits for one owner: no owner loses it. */
static void busy_owners_keep_the_lock(void) {
	enum { CHANGES = 600 };
	const struct timespec millisecond = {.tv_nsec = 1000000};
	uint64_t takeovers = mw_table_lock_takeovers;
	pthread_t waiter;
	char owners[2];
	step = 4;
	lock.owner = (uintptr_t)&owners[0];
	CHECK(pthread_create(&waiter, NULL, wait_for_lock, NULL) == 0);
	for (int i = 0; i < CHANGES; i++) {
		lock.owner = (uintptr_t)&owners[i % 2];
		lock.taken++;
		nanosleep(&millisecond, NULL);
	}
	CHECK_EQ(mw_table_lock_takeovers, takeovers);
	step = 5;
	lock.owner = 0;
	CHECK(pthread_join(waiter, NULL) == 0);
	CHECK_EQ(mw_table_lock_takeovers, takeovers);
}

/* A handler that left by longjmp never passes out: once a fifth of a second, then never again. */
static void lost_ones_are_given_up(void) {
	mw_tables_enter(&lock);
	uint64_t begin = mw_os_monotonic_ns();
	bool locked = mw_tables_quiesce(&lock);
	uint64_t waited = mw_os_monotonic_ns() - begin;
	CHECK(waited >= 190000000 && waited < 5000000000u);
	mw_tables_resume(&lock, locked);
	begin = mw_os_monotonic_ns();
	locked = mw_tables_quiesce(&lock);
	CHECK(mw_os_monotonic_ns() - begin < 150000000);
	mw_tables_resume(&lock, locked);
	/* It does come out after all. */
	mw_tables_leave(&lock);
	mw_tables_resume(&lock, mw_tables_quiesce(&lock));
	mw_tables_reset_lock(&lock);
}

/* A handler that enters while its own thread has quiesced the tables. */
static void nobody_waits_for_themself(void) {
	bool locked = mw_tables_quiesce(&lock);
	uint64_t begin = mw_os_monotonic_ns();
	mw_tables_enter(&lock);
	CHECK(mw_os_monotonic_ns() - begin >= 190000000);
	mw_tables_leave(&lock);
	mw_tables_resume(&lock, locked);
	CHECK_EQ(lock.inside, 0);
}

int main(void) {
	alarm(240);
	RUN(closers_find_it_empty);
	RUN(one_thread_holds_the_lock);
	RUN(lost_locks_are_taken_over);
	RUN(only_the_owner_unlocks);
	RUN(busy_owners_keep_the_lock);
	RUN(lost_ones_are_given_up);
	RUN(nobody_waits_for_themself);
	return 0;
}
