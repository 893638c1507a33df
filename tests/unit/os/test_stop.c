/* SPDX-License-Identifier: MIT
 * test_stop.c -- the other threads stop, as traced ones and by a signal, and go on. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "os/platform/kernel_calls.h"
#include "os/process/stop.h"
#include "os/process/tracer.h"
#include "test.h"

enum { COUNTERS = 6, SLEEPERS = 2, THREADS = COUNTERS + SLEEPERS };

static struct thread {
	pthread_t self;
	_Atomic uint64_t count;      /* steps; of a sleeper: calls that returned EINTR */
	_Atomic uintptr_t low, high; /* addresses between which its stack pointer lies */
} threads[THREADS];
static _Atomic bool is_over;
static int event, set;

static void note_stack(struct thread *thread) {
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	atomic_store(&thread->low, here - 4096);
	atomic_store(&thread->high, here + 4096);
}

static void *count(void *argument) {
	struct thread *thread = argument;
	note_stack(thread);
	while (!atomic_load(&is_over))
		atomic_fetch_add(&thread->count, 1);
	return NULL;
}

static void *sleep_long(void *argument) {
	struct thread *thread = argument;
	struct epoll_event got;
	int result;
	note_stack(thread);
	while ((result = epoll_wait(set, &got, 1, -1)) < 0 && errno == EINTR)
		atomic_fetch_add(&thread->count, 1);
	CHECK_EQ(result, 1);
	return NULL;
}

static void start_threads(void) {
	struct epoll_event want = {.events = EPOLLIN};
	atomic_store(&is_over, false);
	event = eventfd(0, 0);
	set = epoll_create1(0);
	CHECK_EQ(epoll_ctl(set, EPOLL_CTL_ADD, event, &want), 0);
	for (int i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){0};
		CHECK_EQ(pthread_create(&threads[i].self, NULL, i < COUNTERS ? count : sleep_long,
					&threads[i]),
			 0);
		while (atomic_load(&threads[i].high) == 0)
			usleep(100);
	}
	usleep(10000);
}

/* Returns how many calls of the sleepers returned EINTR. */
static uint64_t end_threads(void) {
	uint64_t one = 1, interrupted = 0;
	atomic_store(&is_over, true);
	CHECK_EQ(write(event, &one, sizeof(one)), (long)sizeof(one));
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i].self, NULL);
		interrupted += i < COUNTERS ? 0 : atomic_load(&threads[i].count);
	}
	close(event);
	close(set);
	return interrupted;
}

static uint64_t counts(void) {
	uint64_t sum = 0;
	for (int i = 0; i < COUNTERS; i++)
		sum += atomic_load(&threads[i].count);
	return sum;
}

/* A busy machine may let a thread stop too late: the stop is repeated then. */
static mw_os_stop_t stop_all(void) {
	mw_os_stop_t stop;
	CHECK_EQ(mw_os_stop_begin(&stop), MW_OK);
	while (stop.running > 0) {
		mw_os_stop_end();
		usleep(1000);
		CHECK_EQ(mw_os_stop_begin(&stop), MW_OK);
	}
	return stop;
}

static const mw_os_stopped_t *find(const mw_os_stop_t *stop, const struct thread *thread) {
	for (uint32_t i = 0; i < stop->count; i++)
		if (stop->threads[i].thread_pointer == (uintptr_t)thread->self)
			return &stop->threads[i];
	return NULL;
}

static void stop_and_look(bool is_traced) {
	start_threads();
	mw_os_stop_t stop = stop_all();
	uint64_t before = counts();
	CHECK_EQ(stop.count, THREADS);
	for (int i = 0; i < THREADS; i++) {
		const mw_os_stopped_t *thread = find(&stop, &threads[i]);
		CHECK(thread != NULL);
		CHECK_EQ(thread->is_traced, is_traced);
		CHECK(thread->stack_pointer > threads[i].low &&
		      thread->stack_pointer < threads[i].high);
	}
	usleep(20000);
	CHECK_EQ(counts(), before);
	mw_os_stop_end();
	while (counts() == before)
		usleep(100);
}

static bool refuse_tracing(mw_os_call_t call) {
	return call == MW_OS_TRACE;
}

static void test_traced_threads_stop_and_sleep_on(void) {
	stop_and_look(true);
	stop_all();
	mw_os_stop_end();
	CHECK_EQ(end_threads(), 0);
}

static void test_threads_stop_by_signal_where_tracing_is_refused(void) {
	mw_os_fault_hook = refuse_tracing;
	stop_and_look(false);
	mw_os_fault_hook = NULL;
	end_threads();
}

static bool refuse_odd(mw_os_call_t call) {
	static unsigned calls;
	return call == MW_OS_TRACE && calls++ % 2 == 1;
}

static void test_both_ways_together(void) {
	mw_os_fault_hook = refuse_odd;
	start_threads();
	mw_os_stop_t stop = stop_all();
	uint64_t before = counts();
	unsigned traced = 0;
	for (uint32_t i = 0; i < stop.count; i++)
		traced += stop.threads[i].is_traced;
	CHECK_EQ(stop.count, THREADS);
	CHECK_EQ(traced, THREADS / 2);
	usleep(20000);
	CHECK_EQ(counts(), before);
	mw_os_stop_end();
	mw_os_fault_hook = NULL;
	end_threads();
}

int main(void) {
	RUN(test_traced_threads_stop_and_sleep_on);
	RUN(test_threads_stop_by_signal_where_tracing_is_refused);
	RUN(test_both_ways_together);
	return 0;
}
