/* SPDX-License-Identifier: MIT
 * start.c -- start-up, thread exit, fork.
 *
 * The first allocation may come before any constructor has run, from the dynamic linker; libc's own
 * start-up has then not set `environ`.  So start-up has two halves: what malloc needs, at the first
 * slow path; options and profiler as soon as the environment is there, at the latest in our
 * constructor. */
#include "api/start.h"

#include <pthread.h>
#include <stddef.h>

#include "heap/heap.h"

bool mw_api_started;

static pthread_key_t thread_end_key;

/* glibc runs key destructors up to four times over, so a heap that another destructor's allocation
 * made again is ended too. */
static void thread_end(void *heap) {
	(void)heap;
	mw_heap_thread_end();
}

static void on_thread(mw_heap_t *heap) {
	pthread_setspecific(thread_end_key, heap);
}

static void fork_prepare(void) {
	mw_heap_fork_prepare();
}

static void fork_parent(void) {
	mw_heap_fork_parent();
}

static void fork_child(void) {
	mw_heap_fork_child();
}

void mw_api_start(void) {
	/* At once: what follows may allocate. */
	mw_api_started = true;
	if (pthread_key_create(&thread_end_key, thread_end) == 0)
		mw_heap_on_thread = on_thread;
}

__attribute__((constructor)) static void start_rest(void) {
	if (!mw_api_started)
		mw_api_start();
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}
