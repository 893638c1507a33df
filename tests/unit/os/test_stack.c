/* SPDX-License-Identifier: MIT
 * test_stack.c -- windows on the thread's own stack and on others, whose edges are unmapped. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#include "os/platform/kernel_calls.h"
#include "os/unwind/stack.h"
#include "test.h"

enum { PAGE = 4096, PAGES = 4 };

static uintptr_t here(void) {
	return (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)7;
}

/* PAGES readable pages with an unmapped one on each side. */
static uintptr_t guarded(void) {
	char *pages = mmap(NULL, (PAGES + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	CHECK(mprotect(pages + PAGE, PAGES * PAGE, PROT_READ | PROT_WRITE) == 0);
	memset(pages + PAGE, 0x5a, PAGES * PAGE);
	return (uintptr_t)pages + PAGE;
}

static unsigned probes, probe_limit;

static bool count_probe(mw_os_call_t call) {
	return call == MW_OS_PROBE && probes++ >= probe_limit;
}

static void test_readable(void) {
	uintptr_t pages = guarded();
	errno = 4711;
	CHECK(mw_os_is_readable(here()));
	CHECK(mw_os_is_readable(pages));
	CHECK(mw_os_is_readable(pages + PAGES * PAGE - 8));
	CHECK(!mw_os_is_readable(pages - 8));
	CHECK(!mw_os_is_readable(pages + PAGES * PAGE));
	CHECK(!mw_os_is_readable(8));
	CHECK(!mw_os_is_readable((uintptr_t)1 << 63));
	CHECK(!mw_os_is_readable(UINTPTR_MAX - 7));
	CHECK_EQ(errno, 4711);
}

static void test_own(void) {
	mw_stack_window_t window;
	/* Not the address of a variable: a sanitizer may keep those elsewhere. */
	uintptr_t value, sp = here();
	errno = 4711;
	CHECK(mw_os_stack_open(&window, sp));
	CHECK(window.is_own);
	CHECK_EQ(window.lo, sp);
	CHECK(mw_os_stack_load(&window, sp, &value));
	CHECK_EQ(value, *(const uintptr_t *)sp);
	/* The top word, and what is not inside. */
	CHECK(mw_os_stack_load(&window, window.hi - 8, &value));
	CHECK(!mw_os_stack_load(&window, window.hi - 7, &value));
	CHECK(!mw_os_stack_load(&window, window.hi, &value));
	CHECK(!mw_os_stack_load(&window, sp - 8, &value));
	CHECK(!mw_os_stack_load(&window, UINTPTR_MAX, &value));
	CHECK(!mw_os_stack_load(&window, UINTPTR_MAX - 7, &value));
	CHECK(!mw_os_stack_load(&window, 0, &value));
	/* Known now: nothing is asked any more. */
	probes = probe_limit = 0;
	mw_os_fault_hook = count_probe;
	CHECK(mw_os_stack_open(&window, sp));
	CHECK(window.is_own);
	CHECK_EQ(probes, 0);
	mw_os_fault_hook = NULL;
	CHECK_EQ(errno, 4711);
}

static void test_foreign(void) {
	uintptr_t pages = guarded(), end = pages + PAGES * PAGE, value;
	mw_stack_window_t window;
	CHECK(mw_os_stack_open(&window, pages + 16));
	CHECK(!window.is_own);
	CHECK_EQ(window.lo, pages + 16);
	CHECK(!mw_os_stack_load(&window, pages + 8, &value));
	CHECK(mw_os_stack_load(&window, pages + 16, &value));
	CHECK_EQ(value, 0x5a5a5a5a5a5a5a5a);
	/* Across the edge of a page, to the last word, and not beyond. */
	CHECK(mw_os_stack_load(&window, pages + PAGE - 4, &value));
	CHECK(mw_os_stack_load(&window, end - 8, &value));
	CHECK_EQ(window.hi, end);
	CHECK(!mw_os_stack_load(&window, end - 4, &value));
	CHECK(!mw_os_stack_load(&window, end, &value));
	CHECK(!mw_os_stack_load(&window, end + ((uintptr_t)1 << 30), &value));
	CHECK_EQ(window.hi, end);
	/* Nothing is remembered of it. */
	CHECK(munmap((void *)(pages + PAGE), PAGE) == 0);
	CHECK(mw_os_stack_open(&window, pages));
	CHECK_EQ(window.hi, pages + PAGE);
	CHECK(!mw_os_stack_load(&window, pages + PAGE, &value));
	/* Stack pointers that point nowhere. */
	CHECK(!mw_os_stack_open(&window, pages + PAGE));
	CHECK(!mw_os_stack_load(&window, pages + PAGE, &value));
	CHECK(!mw_os_stack_open(&window, 0));
	CHECK(!mw_os_stack_open(&window, UINTPTR_MAX - 7));
	CHECK(!mw_os_stack_open(&window, (uintptr_t)1 << 47));
}

/* The kernel's answers stop at the nth: the window is smaller, and what it says still holds. */
static void *sweep(void *argument) {
	uintptr_t pages = guarded(), value;
	mw_stack_window_t window;
	mw_os_fault_hook = count_probe;
	for (probe_limit = 0; probe_limit <= PAGES + 1; probe_limit++) {
		probes = 0;
		unsigned readable = 0;
		if (mw_os_stack_open(&window, pages))
			while (readable < PAGES * PAGE &&
			       mw_os_stack_load(&window, pages + readable, &value))
				readable += 8;
		/* An own stack is looked for first, in vain. */
		CHECK(readable <= probe_limit * PAGE);
	}
	mw_os_fault_hook = NULL;
	return argument;
}

static void test_failing_kernel(void) {
	sweep(NULL);
}

/* A thread's own stack is found from its top, however it was made and wherever sp is in it. */
static void *look_from_thread(void *argument) {
	mw_stack_window_t window;
	char room[100000];
	__asm__ volatile("" ::"r"(room) : "memory");
	uintptr_t sp = (uintptr_t)room & ~(uintptr_t)7, value;
	CHECK(mw_os_stack_open(&window, sp));
	CHECK(window.is_own);
	for (uintptr_t at = sp; at + 8 <= window.hi; at += PAGE)
		CHECK(mw_os_stack_load(&window, at, &value));
	uintptr_t pages = guarded();
	CHECK(mw_os_stack_open(&window, pages));
	CHECK(!window.is_own);
	CHECK(munmap((void *)(pages - PAGE), (PAGES + 2) * PAGE) == 0);
	return argument;
}

static void run_thread(const pthread_attr_t *attributes, void *(*function)(void *)) {
	pthread_t thread;
	CHECK(pthread_create(&thread, attributes, function, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

static void test_threads(void) {
	enum { ROOM = 1 << 20 };
	pthread_attr_t attributes;
	run_thread(NULL, look_from_thread);
	CHECK(pthread_attr_init(&attributes) == 0);
	CHECK(pthread_attr_setstacksize(&attributes, (size_t)64 << 20) == 0);
	run_thread(&attributes, look_from_thread);
	void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(room != MAP_FAILED);
	CHECK(pthread_attr_setstack(&attributes, room, ROOM) == 0);
	run_thread(&attributes, look_from_thread);
	CHECK(munmap(room, ROOM) == 0);
	CHECK(pthread_attr_destroy(&attributes) == 0);
	run_thread(NULL, sweep);
}

/* So deep that it is not found at once: foreign at first, then remembered piece by piece. */
static void *look_from_depth(void *argument) {
	enum { DEPTH = 6 << 20 };
	char room[DEPTH];
	__asm__ volatile("" ::"r"(room) : "memory");
	uintptr_t sp = (uintptr_t)room & ~(uintptr_t)7, value;
	mw_stack_window_t window;
	unsigned opens = 0;
	do {
		CHECK(mw_os_stack_open(&window, sp));
		CHECK(mw_os_stack_load(&window, sp, &value));
		CHECK(++opens < 100);
	} while (!window.is_own);
	CHECK(opens > 1);
	return argument;
}

static void test_depth(void) {
	pthread_attr_t attributes;
	CHECK(pthread_attr_init(&attributes) == 0);
	CHECK(pthread_attr_setstacksize(&attributes, (size_t)8 << 20) == 0);
	run_thread(&attributes, look_from_depth);
	CHECK(pthread_attr_destroy(&attributes) == 0);
}

int main(void) {
	mw_os_stack_start();
	RUN(test_readable);
	RUN(test_own);
	RUN(test_foreign);
	RUN(test_failing_kernel);
	RUN(test_threads);
	RUN(test_depth);
	return 0;
}
