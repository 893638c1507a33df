/* SPDX-License-Identifier: MIT
 * background_thread.c -- starts a detached thread with all signals blocked. */
#include "api/process/background_thread.h"
#include "api/process/start.h"
#include "heap/thread/maintain.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/memory/background.h"
#include "os/file/proc.h"
#include "os/lock/lock.h"
#include "os/platform/libc_calls.h"
#include "os/platform/system_call.h"

/* The thread's frames need less than a page. The stack also holds the program's thread-local
 * data. */
#define STACK_BYTES ((size_t)256 << 10)

static void *run(void *unused) {
	(void)unused;
	mw_os_set_thread_name("mallow");
	mw_background_run();
}

static bool start_thread(size_t stack_bytes) {
	const mw_libc_calls_t *libc = &mw_libc_calls;
	pthread_attr_t attributes;
	mw_libc_calls_find();
	if (!libc->pthread_create || pthread_attr_init(&attributes) != 0)
		return false;
	pthread_t thread;
	if (stack_bytes && libc->pthread_attr_setstacksize)
		libc->pthread_attr_setstacksize(&attributes, stack_bytes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	mw_api_need_fork_handlers();
	int result = libc->pthread_create(&thread, &attributes, run, NULL);
	pthread_attr_destroy(&attributes);
	return result == 0;
}

void mw_api_start_background(void) {
	/* During a fork, the child would count on a thread that it does not have. */
	if (mw_lock_is_forking() || !mw_background_claim())
		return;
	int saved_errno = errno;
	/* The new thread inherits this signal mask and so never receives the program's signals. */
	uint64_t all = UINT64_MAX, before;
	mw_system_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
	/* The small stack is refused if the program has much thread-local data: use the default
	 * size. */
	if (!start_thread(STACK_BYTES) && !start_thread(0))
		mw_background_refused();
	mw_system_call(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
	errno = saved_errno;
}
