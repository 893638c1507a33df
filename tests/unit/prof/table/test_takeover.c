/* SPDX-License-Identifier: MIT
 * test_takeover.c -- threads lose the lock of the tables in the middle of a sample, thousands of
 * times, while the tables grow: what they do when they run again harms nobody. */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "prof/control/control.h"
#include "prof/table/depot.h"
#include "prof/table/records.h"
#include "prof_fixture.h"

/* WANTED is reached in seconds where nothing else runs; a busy machine ends with fewer. */
enum {
	THREADS = 6,
	TAKEOVERS_WANTED = 3000,
	TAKEOVERS_LEAST = 100,
	SECONDS_MAX = 40,
	HELD = 1 << 15
};

static _Atomic int stop;
static _Atomic uint64_t next_stack;

/* Stops the thread wherever it is, for longer than others wait for it. */
static void sleep_in_handler(int unused) {
	(void)unused;
	nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
}

static mw_sample_t make_sample(uint64_t address) {
	uint64_t number = next_stack++;
	uint64_t frames[8];
	for (unsigned i = 0; i < 8; i++)
		frames[i] = (number >> 3 * i) + 1;
	return (mw_sample_t){.stack = mw_depot_find(frames, 8, false),
			     .address = address,
			     .requested_bytes = 10,
			     .usable_bytes = 16 + number % 7 * 16,
			     .weight_q16 = 65536,
			     .time_ns = 1};
}

static void *sample(void *argument) {
	static mw_record_id_t held[THREADS][HELD];
	mw_record_id_t *records = held[(size_t)argument];
	for (uint64_t i = 0; !stop; i++) {
		mw_record_id_t *record = &records[i % HELD];
		bool locked = mw_tables_lock(&mw_control_table_lock);
		if (*record)
			mw_records_remove(*record, &(mw_release_t){.time_ns = 2});
		mw_sample_t sample = make_sample(i + 1);
		*record = mw_records_add(&sample);
		mw_tables_unlock(&mw_control_table_lock, locked);
		if (i % 256 == 0)
			mw_control_maintain(0, 0);
	}
	return NULL;
}

static void late_threads_do_no_harm(void) {
	start(1, 0, false);
	CHECK(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = sleep_in_handler}, NULL) == 0);
	mw_table_lock_wait_max_ns = 100000;
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, sample, (void *)i) == 0);
	time_t begin = time(NULL);
	for (unsigned i = 0; mw_table_lock_takeovers < TAKEOVERS_WANTED &&
			     time(NULL) - begin < SECONDS_MAX * TEST_SLOWNESS;
	     i++) {
		CHECK(pthread_kill(threads[i % THREADS], SIGUSR1) == 0);
		nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
	}
	stop = 1;
	for (size_t i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	const mw_state_live_t *live = mw_store_live();
	printf("# %lu taken over, %lu records, %lu stacks\n",
	       (unsigned long)mw_table_lock_takeovers, (unsigned long)live->records_used,
	       (unsigned long)live->stacks_used);
	CHECK(mw_table_lock_takeovers >= TAKEOVERS_LEAST);
	CHECK(live->stacks_used > 1000 && live->records_used > 1000);
}

int main(void) {
	RUN_IN_CHILD(late_threads_do_no_harm);
	return 0;
}
