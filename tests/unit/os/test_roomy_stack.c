/* SPDX-License-Identifier: MIT
 * test_roomy_stack.c -- the library's stack is used on, although functions do not return from it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "os/unwind/roomy_stack.h"
#include "test.h"

enum { JUMPS = 30, WAIT_SECONDS = 60 };

static sigjmp_buf away;
static _Atomic int calls;
static _Atomic bool is_inside, may_go;

static void count(void *unused) {
	(void)unused;
	calls++;
}

static void jump(void *unused) {
	(void)unused;
	siglongjmp(away, 1);
}

static void end_thread(void *unused) {
	pthread_exit(unused);
}

static void call_again(void *is_called) {
	*(bool *)is_called = mw_os_call_with_room(count, NULL);
}

static void wait_inside(void *unused) {
	(void)unused;
	is_inside = true;
	while (!may_go)
		usleep(1000);
}

static void in_thread(void *(*work)(void *)) {
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

/* volatile: kept over the jump. */
static void *jump_out(void *unused) {
	volatile int jumps = 0;
	for (; jumps < JUMPS; jumps++)
		if (sigsetjmp(away, 1) == 0)
			CHECK(!mw_os_call_with_room(jump, NULL));
		else if (jumps == 0)
			CHECK(mw_os_call_with_room(count, NULL));
	return unused;
}

static void a_thread_that_jumped_out_comes_again(void) {
	calls = 0;
	in_thread(jump_out);
	CHECK(calls >= 1);
}

static void *call_nested(void *unused) {
	bool is_called = true;
	CHECK(mw_os_call_with_room(call_again, &is_called));
	CHECK(!is_called);
	CHECK(mw_os_call_with_room(count, NULL));
	return unused;
}

static void one_use_at_a_time_in_a_thread(void) {
	calls = 0;
	in_thread(call_nested);
	CHECK_EQ(calls, 1);
}

static void *wait_in_call(void *unused) {
	CHECK(mw_os_call_with_room(wait_inside, NULL));
	return unused;
}

static void *call_beside(void *unused) {
	CHECK(!mw_os_call_with_room(count, NULL));
	may_go = true;
	return unused;
}

static void *call_alone(void *unused) {
	CHECK(mw_os_call_with_room(count, NULL));
	return unused;
}

static void one_use_at_a_time(void) {
	calls = 0;
	pthread_t waiting;
	CHECK(pthread_create(&waiting, NULL, wait_in_call, NULL) == 0);
	while (!is_inside)
		usleep(1000);
	in_thread(call_beside);
	pthread_join(waiting, NULL);
	in_thread(call_alone);
	CHECK_EQ(calls, 1);
}

static void *end_inside(void *unused) {
	mw_os_call_with_room(end_thread, NULL);
	return unused;
}

static void *call_until_done(void *unused) {
	for (int i = 0; i < WAIT_SECONDS * 10 && !mw_os_call_with_room(count, NULL); i++)
		usleep(100000);
	return unused;
}

static void a_thread_ended_inside(void) {
	calls = 0;
	in_thread(end_inside);
	in_thread(call_until_done);
	CHECK_EQ(calls, 1);
}

int main(void) {
	RUN(one_use_at_a_time);
	RUN(one_use_at_a_time_in_a_thread);
	/* A sanitizer takes the end of a thread for an overflow of the stack that it began on. */
	if (!TEST_UNDER_SANITIZER)
		RUN(a_thread_ended_inside);
	/* The last one: it uses up what stacks there are. */
	RUN(a_thread_that_jumped_out_comes_again);
	return 0;
}
