/* SPDX-License-Identifier: MIT
 * background.c -- a detached thread that takes no signals. */
#include "api/background.h"
#include "api/start.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "heap/background.h"
#include "os/lock.h"

/* Its frames need less than a page; the program's thread-local data has its place here, too. */
#define STACK_BYTES ((size_t)256 << 10)

static void *run(void *unused) {
	(void)unused;
	pthread_setname_np(pthread_self(), "mallow");
	mw_background_run();
}

static bool start_thread(size_t stack_bytes) {
	pthread_attr_t attributes;
	if (pthread_attr_init(&attributes) != 0)
		return false;
	pthread_t thread;
	if (stack_bytes)
		pthread_attr_setstacksize(&attributes, stack_bytes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	mw_api_watch_forks();
	int result = pthread_create(&thread, &attributes, run, NULL);
	pthread_attr_destroy(&attributes);
	return result == 0;
}

void mw_api_start_background(void) {
	/* In the handlers of a fork the child would have a thread that is not there. */
	if (mw_lock_is_forking() || !mw_background_claim())
		return;
	int saved_errno = errno;
	/* A new thread inherits the mask: no signal of the program's ever comes to it. */
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* A program with much thread-local data needs a larger stack: the standard one. */
	if (!start_thread(STACK_BYTES) && !start_thread(0))
		mw_background_refused();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved_errno;
}
