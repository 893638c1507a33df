/* SPDX-License-Identifier: MIT
 * test_schedule.c -- moments of pushes are spread over hosts and the period, and survive a clock
 * that jumps; waits after failures. */
#include "agent/schedule.h"
#include "test.h"

#define SECOND 1000000000ull
#define PERIOD (900 * SECOND)
#define BUCKETS 60

/* Ten thousand hosts with the same process: no minute of the period has twice its share. */
static void test_spread(void) {
	unsigned counts[BUCKETS] = {0};
	for (int host = 0; host < 10000; host++) {
		char name[32];
		snprintf(name, sizeof(name), "host-%d", host);
		mw_schedule_t schedule;
		mw_schedule_init(&schedule, name, PERIOD);
		uint64_t moment = mw_schedule_moment(&schedule, 7, 0);
		CHECK(moment > 0 && moment <= PERIOD);
		counts[(moment - 1) / (PERIOD / BUCKETS)]++;
		mw_schedule_release(&schedule);
	}
	for (int i = 0; i < BUCKETS; i++)
		CHECK(counts[i] > 80 && counts[i] < 2 * 10000 / BUCKETS);
}

/* Processes of one host, too, also if their keys are consecutive. */
static void test_spread_of_processes(void) {
	unsigned counts[10] = {0};
	mw_schedule_t schedule;
	mw_schedule_init(&schedule, "host", PERIOD);
	for (uint64_t key = 1; key <= 1000; key++)
		counts[(mw_schedule_moment(&schedule, key, 0) - 1) / (PERIOD / 10)]++;
	for (int i = 0; i < 10; i++)
		CHECK(counts[i] > 60 && counts[i] < 150);
	mw_schedule_release(&schedule);
}

/* Counts how often each of three processes is due while the clock goes by steps. */
static void run(mw_schedule_t *schedule, uint64_t from, uint64_t until, uint64_t step,
		unsigned counts[4]) {
	for (uint64_t now = from; now < until; now += step) {
		uint64_t key;
		while (mw_schedule_take(schedule, now, &key)) {
			CHECK(key >= 1 && key <= 3);
			counts[key]++;
		}
	}
}

static mw_schedule_t three(uint64_t now) {
	mw_schedule_t schedule;
	mw_schedule_init(&schedule, "host", PERIOD);
	for (uint64_t key = 1; key <= 3; key++)
		mw_schedule_add(&schedule, key, now);
	mw_schedule_add(&schedule, 2, now + SECOND);
	CHECK_EQ(schedule.count, 3);
	return schedule;
}

static void test_each_once_a_period(void) {
	unsigned counts[4] = {0};
	mw_schedule_t schedule = three(123 * SECOND);
	run(&schedule, 123 * SECOND, 123 * SECOND + 10 * PERIOD, SECOND, counts);
	for (int i = 1; i <= 3; i++)
		CHECK_EQ(counts[i], 10);
	mw_schedule_release(&schedule);
}

static void test_jump_forward(void) {
	unsigned counts[4] = {0};
	mw_schedule_t schedule = three(0);
	uint64_t after = 1000 * PERIOD + 5;
	uint64_t key;
	while (mw_schedule_take(&schedule, after, &key))
		counts[key]++;
	for (int i = 1; i <= 3; i++)
		CHECK_EQ(counts[i], 1);
	run(&schedule, after, after + PERIOD, SECOND, counts);
	for (int i = 1; i <= 3; i++)
		CHECK_EQ(counts[i], 2);
	mw_schedule_release(&schedule);
}

static void test_jump_back(void) {
	unsigned counts[4] = {0};
	mw_schedule_t schedule = three(1000 * PERIOD);
	CHECK(mw_schedule_wait_ns(&schedule, 3 * PERIOD) <= PERIOD);
	run(&schedule, 3 * PERIOD, 4 * PERIOD + SECOND, SECOND, counts);
	for (int i = 1; i <= 3; i++)
		CHECK(counts[i] == 1 || counts[i] == 2);
	mw_schedule_release(&schedule);
}

static void test_wait(void) {
	mw_schedule_t schedule = three(0);
	uint64_t now = 0, key;
	for (int i = 0; i < 30; i++) {
		uint64_t wait = mw_schedule_wait_ns(&schedule, now);
		CHECK(wait > 0 && wait <= PERIOD);
		CHECK(!mw_schedule_take(&schedule, now + wait - 1, &key));
		now += wait;
		CHECK_EQ(mw_schedule_wait_ns(&schedule, now), 0);
		CHECK(mw_schedule_take(&schedule, now, &key));
	}
	for (key = 1; key <= 3; key++)
		mw_schedule_remove(&schedule, key);
	mw_schedule_remove(&schedule, 99);
	CHECK(mw_schedule_wait_ns(&schedule, now) == UINT64_MAX);
	CHECK(!mw_schedule_take(&schedule, now + 10 * PERIOD, &key));
	mw_schedule_release(&schedule);
}

static void test_hasten(void) {
	mw_schedule_t schedule = three(0);
	uint64_t key;
	mw_schedule_hasten(&schedule, 9, 60 * SECOND, 5);
	CHECK(mw_schedule_has(&schedule, 9));
	CHECK(mw_schedule_wait_ns(&schedule, 5) <= 60 * SECOND);
	mw_schedule_hasten(&schedule, 9, 0, 5);
	CHECK(mw_schedule_take(&schedule, 5, &key) && key == 9);
	CHECK(!mw_schedule_take(&schedule, 5, &key) || key != 9);
	mw_schedule_set_period(&schedule, 10 * SECOND, 5);
	CHECK(mw_schedule_wait_ns(&schedule, 5) <= 10 * SECOND);
	mw_schedule_release(&schedule);
}

static void test_backoff(void) {
	mw_backoff_t backoff = {.first_ns = SECOND, .most_ns = 600 * SECOND};
	CHECK_EQ(mw_backoff_wait_ns(&backoff, 0), 0);
	uint64_t now = 1000 * SECOND, longest = SECOND;
	for (int i = 0; i < 100; i++) {
		mw_backoff_fail(&backoff, now, (uint64_t)i * 0x9e3779b97f4a7c15u);
		uint64_t wait = mw_backoff_wait_ns(&backoff, now);
		CHECK(wait <= longest && wait >= longest / 2);
		/* The clock jumps back: no longer wait than the longest. */
		CHECK(mw_backoff_wait_ns(&backoff, 0) <= 600 * SECOND);
		backoff.until_ns = now + wait;
		now += wait;
		CHECK_EQ(mw_backoff_wait_ns(&backoff, now), 0);
		longest = 2 * longest < 600 * SECOND ? 2 * longest : 600 * SECOND;
		if (longest > 512 * SECOND)
			longest = 600 * SECOND;
	}
	mw_backoff_succeed(&backoff);
	CHECK_EQ(mw_backoff_wait_ns(&backoff, now), 0);
	mw_backoff_fail(&backoff, now, 0);
	CHECK_EQ(mw_backoff_wait_ns(&backoff, now), SECOND);
}

int main(void) {
	test_spread();
	test_spread_of_processes();
	test_each_once_a_period();
	test_jump_forward();
	test_jump_back();
	test_wait();
	test_hasten();
	test_backoff();
	return 0;
}
