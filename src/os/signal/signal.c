/* SPDX-License-Identifier: MIT
 * signal.c -- one handler for all signals that the library handles. */
#include "os/signal/signal.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "os/platform/system_call.h"
#include "os/signal/segv.h"

static _Atomic(mw_os_handler_t) handlers[_NSIG];

static void enter(int signal_number, siginfo_t *info, void *context) {
	(void)context;
	int saved_errno = errno;
	mw_os_handler_t handler =
		atomic_load_explicit(&handlers[signal_number], memory_order_relaxed);
	if (handler)
		handler(signal_number, info->si_code <= 0);
	errno = saved_errno;
}

static bool is_ours(const struct sigaction *action) {
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == enter;
}

/* The action that the program and this file see: for signals that segv.c handles, the action behind
 * that handler. */
static bool read_action(int signal_number, struct sigaction *now) {
	return mw_os_segv_next(signal_number, now) || mw_os_action(signal_number, NULL, now) == 0;
}

static bool write_action(int signal_number, const struct sigaction *action) {
	return mw_os_segv_set_next(signal_number, action) ||
	       mw_os_action(signal_number, action, NULL) == 0;
}

bool mw_os_signal_take(int signal_number, mw_os_handler_t handler) {
	struct sigaction now,
		action = {.sa_sigaction = enter, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	if (signal_number < 1 || signal_number >= _NSIG)
		return false;
	int saved_errno = errno;
	bool done = read_action(signal_number, &now) &&
		    (is_ours(&now) || (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL));
	if (done) {
		/* Stored before sigaction(2): a signal may arrive at once. */
		atomic_store_explicit(&handlers[signal_number], handler, memory_order_relaxed);
		done = write_action(signal_number, &action);
	}
	errno = saved_errno;
	return done;
}

void mw_os_signal_leave(int signal_number) {
	struct sigaction now, action = {.sa_handler = SIG_DFL};
	int saved_errno = errno;
	if (signal_number >= 1 && signal_number < _NSIG && read_action(signal_number, &now) &&
	    is_ours(&now))
		write_action(signal_number, &action);
	errno = saved_errno;
}

static bool is_free(int signal_number) {
	struct sigaction now;
	return mw_os_action(signal_number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
	       now.sa_handler == SIG_DFL;
}

/* From the top, because programs count from SIGRTMIN; valgrind uses SIGRTMAX. */
int mw_os_signal_find_free(uint64_t blocked) {
	int saved_errno = errno, found = 0;
	for (int number = SIGRTMAX - 1; number >= SIGRTMIN && found == 0; number--)
		if (!(blocked >> (number - 1) & 1) && is_free(number))
			found = number;
	errno = saved_errno;
	return found;
}

int mw_os_signal_find_harmless(uint64_t blocked) {
	int saved_errno = errno, found = 0;
	if (!(blocked >> (SIGURG - 1) & 1) && is_free(SIGURG))
		found = SIGURG;
	else if (!(blocked >> (SIGWINCH - 1) & 1) && is_free(SIGWINCH))
		found = SIGWINCH;
	errno = saved_errno;
	return found;
}

void mw_os_signal_discard(int signal_number) {
	int saved_errno = errno;
	/* A pending signal would end the program with the default action. The kernel discards
	 * pending signals of all threads when a signal becomes ignored. */
	struct sigaction action = {.sa_handler = SIG_IGN};
	mw_os_action(signal_number, &action, NULL);
	action.sa_handler = SIG_DFL;
	mw_os_action(signal_number, &action, NULL);
	errno = saved_errno;
}

MW_COLD bool mw_os_signal_will_run(uint64_t blocked, bool no_restart) {
	int saved_errno = errno;
	uint64_t pending = 0;
	bool will_run = false;
	mw_system_call(SYS_rt_sigpending, &pending, sizeof pending);
	pending &= ~blocked;
	for (int number = 1; pending != 0 && !will_run; number++, pending >>= 1) {
		struct sigaction now;
		will_run = (pending & 1) && mw_os_action(number, NULL, &now) == 0 &&
			   ((now.sa_flags & SA_SIGINFO) ||
			    (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)) &&
			   !(no_restart && (now.sa_flags & SA_RESTART));
	}
	errno = saved_errno;
	return will_run;
}

MW_COLD void mw_os_signal_set_blocked(uint64_t blocked) {
	int saved_errno = errno;
	mw_system_call(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, NULL, sizeof blocked);
	errno = saved_errno;
}

void mw_os_signal_raise(int signal_number) {
	int saved_errno = errno;
	mw_system_call(SYS_tgkill, mw_system_call(SYS_getpid), mw_system_call(SYS_gettid),
		       signal_number);
	errno = saved_errno;
}

/* By the system call: libc's function lets two signals of its own through, whose handlers do not
 * matter here, and takes 128 bytes. */
static void change_mask(const uint64_t *bits, uint64_t *before) {
	int saved_errno = errno;
	mw_system_call(SYS_rt_sigprocmask, SIG_SETMASK, bits, before, sizeof *bits);
	errno = saved_errno;
}

void mw_os_signal_block_all(mw_os_signal_mask_t *before) {
	const uint64_t all = UINT64_MAX;
	change_mask(&all, &before->bits);
}

void mw_os_signal_restore(const mw_os_signal_mask_t *before) {
	change_mask(&before->bits, NULL);
}
