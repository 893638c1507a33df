/* SPDX-License-Identifier: MIT
 * tick.c -- the handler of the signal of timers and events. */
#include "os/signal/tick.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "os/platform/system_call.h"
#include "os/signal/signal.h"

static mw_os_tick_handler_t *tick_handler;

static void enter(int signal_number, siginfo_t *info, void *context) {
	(void)signal_number;
	int saved_errno = errno;
	mw_os_tick_t tick = {.is_event = info->si_code == POLL_IN, .context = context};
	if (info->si_code == SI_TIMER) {
		tick.thread_id = (uint32_t)info->si_value.sival_int;
		tick.missed = info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0;
	}
	if (tick.is_event || info->si_code == SI_TIMER)
		tick_handler(&tick);
	errno = saved_errno;
}

static bool is_ours(const struct sigaction *action) {
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == enter;
}

static int find(uint64_t blocked, bool is_of_events) {
	int number = is_of_events ? 0 : mw_os_signal_find_free(blocked);
	return number != 0 ? number : mw_os_signal_find_harmless(blocked);
}

int mw_os_tick_take(mw_os_tick_handler_t *handler, uint64_t blocked, bool is_of_events) {
	int saved_errno = errno;
	struct sigaction action = {.sa_sigaction = enter,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	sigfillset(&action.sa_mask);
	/* Stored before sigaction(2): a signal may arrive at once. */
	tick_handler = handler;
	int number = find(blocked, is_of_events);
	if (number == 0)
		number = find(0, is_of_events);
	if (number != 0 && mw_os_action(number, &action, NULL) != 0)
		number = 0;
	errno = saved_errno;
	return number;
}

bool mw_os_tick_is_ours(int signal_number) {
	int saved_errno = errno;
	struct sigaction now;
	bool result = mw_os_action(signal_number, NULL, &now) == 0 && is_ours(&now);
	errno = saved_errno;
	return result;
}

void mw_os_tick_leave(int signal_number) {
	if (!mw_os_tick_is_ours(signal_number))
		return;
	mw_os_signal_discard(signal_number);
}

/* The program's own timers have values of its own, or the addresses or numbers of theirs. */
MW_COLD bool mw_os_tick_was_waited(int signal_number, const siginfo_t *info) {
	uint32_t thread_id = (uint32_t)info->si_value.sival_int;
	bool is_timer = info->si_code == SI_TIMER &&
			(thread_id == 0 || thread_id == (uint32_t)mw_system_call(SYS_gettid));
	return (is_timer || info->si_code == POLL_IN) && mw_os_tick_is_ours(signal_number);
}

MW_COLD void mw_os_tick_drop_pending(uint64_t blocked) {
	const struct timespec none = {0};
	int saved_errno = errno;
	uint64_t pending = 0;
	mw_system_call(SYS_rt_sigpending, &pending, sizeof pending);
	pending &= ~blocked;
	for (int number = 1; pending != 0; number++, pending >>= 1) {
		uint64_t one = UINT64_C(1) << (number - 1);
		if ((pending & 1) && mw_os_tick_is_ours(number))
			while (mw_system_call(SYS_rt_sigtimedwait, &one, NULL, &none, sizeof one) >
			       0)
				continue;
	}
	errno = saved_errno;
}
