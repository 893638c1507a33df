/* SPDX-License-Identifier: MIT
 * test_gate.c -- nobody is inside when the gate has been closed, and no wait is for ever. */
#include "prof/gate.h"

#include <pthread.h>
#include <unistd.h>

#include "os/clock.h"
#include "test.h"

static mw_gate_t gate;
static _Atomic long pairs[2]; /* equal whenever nobody is inside */
static _Atomic int stop;

static void *pass(void *unused) {
	(void)unused;
	while (!stop) {
		mw_gate_enter(&gate);
		pairs[0]++;
		pairs[1]++;
		mw_gate_leave(&gate);
	}
	return NULL;
}

static void closers_find_it_empty(void) {
	enum { THREADS = 6, CLOSES = 3000 };
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, pass, NULL) == 0);
	for (int i = 0; i < CLOSES; i++) {
		bool turn = mw_gate_close(&gate);
		long first = pairs[0];
		CHECK_EQ(pairs[1], first);
		for (int k = 0; k < 50; k++)
			CHECK_EQ(pairs[0], first);
		mw_gate_open(&gate, turn);
	}
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK_EQ(gate.inside, 0);
	CHECK_EQ(gate.closed, 0);
}

static long in_turns, also_in_turns; /* plain: nothing but the turns orders them */

static void *take_turns(void *unused) {
	(void)unused;
	for (int i = 0; i < 20000; i++) {
		bool turn = mw_gate_take_turn(&gate);
		CHECK_EQ(in_turns++, also_in_turns++);
		/* A handler that interrupts its own thread's turn does not wait for it. */
		bool nested = mw_gate_take_turn(&gate);
		CHECK(turn && !nested);
		mw_gate_end_turn(&gate, nested);
		mw_gate_end_turn(&gate, turn);
	}
	return NULL;
}

static void turns_are_one_at_a_time(void) {
	enum { THREADS = 6, CLOSES = 500 };
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, take_turns, NULL) == 0);
	for (int i = 0; i < CLOSES; i++) {
		bool turn = mw_gate_close(&gate);
		CHECK_EQ(in_turns, also_in_turns);
		mw_gate_open(&gate, turn);
		usleep(20);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK_EQ(in_turns, THREADS * 20000);
	CHECK_EQ(gate.turn, 0);
}

static void *never_end_a_turn(void *unused) {
	(void)unused;
	CHECK(mw_gate_take_turn(&gate));
	return NULL;
}

/* A handler that left by longjmp never ends its turn: the next takes it over after a while. */
static void lost_turns_are_taken_over(void) {
	pthread_t other;
	CHECK(pthread_create(&other, NULL, never_end_a_turn, NULL) == 0);
	CHECK(pthread_join(other, NULL) == 0);
	uint64_t begin = mw_os_monotonic_ns();
	/* Not by the inline function: libc may have noticed that this thread is the only one. */
	CHECK(mw_gate_wait_turn(&gate));
	uint64_t waited = mw_os_monotonic_ns() - begin;
	CHECK(waited >= 190000000 && waited < 5000000000u);
	mw_gate_end_turn(&gate, true);
	CHECK_EQ(gate.turn, 0);
}

/* A handler that left by longjmp never passes out: once a fifth of a second, then never again. */
static void lost_ones_are_given_up(void) {
	mw_gate_enter(&gate);
	uint64_t begin = mw_os_monotonic_ns();
	bool turn = mw_gate_close(&gate);
	uint64_t waited = mw_os_monotonic_ns() - begin;
	CHECK(waited >= 190000000 && waited < 5000000000u);
	mw_gate_open(&gate, turn);
	begin = mw_os_monotonic_ns();
	turn = mw_gate_close(&gate);
	CHECK(mw_os_monotonic_ns() - begin < 150000000);
	mw_gate_open(&gate, turn);
	/* It does come out after all. */
	mw_gate_leave(&gate);
	mw_gate_open(&gate, mw_gate_close(&gate));
	mw_gate_reset(&gate);
}

/* A handler that enters while its own thread holds the gate. */
static void nobody_waits_for_themself(void) {
	bool turn = mw_gate_close(&gate);
	uint64_t begin = mw_os_monotonic_ns();
	mw_gate_enter(&gate);
	CHECK(mw_os_monotonic_ns() - begin >= 190000000);
	mw_gate_leave(&gate);
	mw_gate_open(&gate, turn);
	CHECK_EQ(gate.inside, 0);
}

int main(void) {
	alarm(60);
	RUN(closers_find_it_empty);
	RUN(turns_are_one_at_a_time);
	RUN(lost_turns_are_taken_over);
	RUN(lost_ones_are_given_up);
	RUN(nobody_waits_for_themself);
	return 0;
}
