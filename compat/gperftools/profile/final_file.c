/* SPDX-License-Identifier: MIT
 * final_file.c -- HEAP_PROFILE_FINAL: the last file also when the process ends by _exit(2) or by
 * SIGTERM. */
#include "compat/gperftools/profile/final_file.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "compat/gperftools/gperftools.h"
#include "compat/gperftools/profile/heap_profiler.h"
#include "os/platform/secure_environment.h"

static struct {
	/* The child of vfork(2) runs in its parent's memory and ends by _exit(2). */
	pid_t process;
	_Atomic int signal; /* that ends the process once the file is written; 0: none */
} final;

/* Signal handlers may call _exit(2), too: they must neither allocate where they interrupted an
 * allocation, nor wait for the thread that they interrupted. */
static void on_leave(void) {
	if (getpid() == final.process && !mw_gp_calls()->is_interrupted())
		mw_gp_profiler_finish(false);
}

static void end_by(int number) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, number);
	signal(number, SIG_DFL);
	raise(number);
	/* Ends the process here. */
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* A thread of the profiler's own writes the file. Until a child of fork(2) has one, the signal ends
 * the child without a file. */
static void on_signal(int number) {
	int saved_errno = errno;
	final.signal = number;
	if (!mw_gp_profiler_wake_helper())
		end_by(number);
	errno = saved_errno;
}

void mw_gp_final_serve(void) {
	int number = final.signal;
	if (number == 0)
		return;
	mw_gp_profiler_finish(true);
	end_by(number);
}

/* A program that handles or ignores the signal keeps its way. */
static bool take_term(void) {
	struct sigaction before, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	return sigaction(SIGTERM, NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
	       sigaction(SIGTERM, &action, NULL) == 0;
}

bool mw_gp_final_start(void) {
	const char *text = mw_environment("HEAP_PROFILE_FINAL");
	bool needs_helper = false;
	final.process = getpid();
	while (text && *text) {
		size_t length = strcspn(text, ",");
		if (length == strlen("_exit") && strncmp(text, "_exit", length) == 0)
			mw_gp_calls()->at_leave(on_leave);
		else if (length == strlen("SIGTERM") && strncmp(text, "SIGTERM", length) == 0)
			needs_helper |= take_term();
		else
			mw_warn("HEAP_PROFILE_FINAL: '%.*s' is not _exit or SIGTERM; it is "
				"ignored",
				(int)(length < 100 ? length : 100), text);
		text += length;
		text += *text == ',';
	}
	return needs_helper;
}

void mw_gp_final_forked(void) {
	final.process = getpid();
	final.signal = 0;
}
