/* SPDX-License-Identifier: MIT
 * segv.c -- handler of SIGSEGV and SIGBUS, and the program's handler that runs after it. */
#include "os/signal/segv.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "os/platform/arch.h"
#include "os/platform/system_call.h"
#include "os/signal/signal.h"

/* Value of siginfo's si_errno, which Linux leaves 0, for a signal that this handler has seen.
 * Without it, a program's handler that calls the handler it replaced, which is this one, would call
 * it without end. */
#define SEEN 0x6d77

/* What is known of one signal. */
typedef struct fault {
	struct sigaction original; /* action before the first installation */
	/* The program's latest handler and the one before. `current` is changed after the other
	 * entry is written, so that a fault meanwhile finds a complete entry. */
	struct sigaction next[2];
	_Atomic unsigned current;
} fault_t;

static fault_t segv, bus;
static mw_os_segv_handler_t *segv_handler;
static _Atomic(mw_os_bus_handler_t *) bus_handler;

static fault_t *fault_of(int number) {
	return number == SIGBUS ? &bus : &segv;
}

static void to_default(int number, const siginfo_t *info) {
	struct sigaction standard = {.sa_handler = SIG_DFL};
	mw_os_action(number, &standard, NULL);
	/* A signal that the processor raised is raised again when the access is repeated; a signal
	 * that was sent is not. */
	if (info->si_code <= 0)
		mw_system_call(SYS_tgkill, mw_system_call(SYS_getpid), mw_system_call(SYS_gettid),
			       number);
}

static void pass_on(const struct sigaction *next, int number, siginfo_t *info, void *context) {
	bool has_default = !((unsigned)next->sa_flags & SA_SIGINFO) &&
			   (next->sa_handler == SIG_DFL || next->sa_handler == SIG_IGN);
	if (has_default) {
		/* The kernel does not allow a real fault to be ignored. */
		if (next->sa_handler == SIG_DFL || info->si_code > 0)
			to_default(number, info);
		return;
	}
	if ((unsigned)next->sa_flags & SA_RESETHAND) {
		struct sigaction standard = {.sa_handler = SIG_DFL};
		mw_os_action(number, &standard, NULL);
	}
	if ((unsigned)next->sa_flags & SA_SIGINFO)
		next->sa_sigaction(number, info, context);
	else
		next->sa_handler(number);
}

/* Returns true if the access is to be repeated. */
static bool look_at(int number, const siginfo_t *info, const void *context) {
	if (info->si_code <= 0)
		return false;
	if (number == SIGBUS)
		return atomic_load_explicit(&bus_handler,
					    memory_order_relaxed)((uintptr_t)info->si_addr);
	segv_handler((uintptr_t)info->si_addr, mw_os_access_of(context));
	return false;
}

static void on_fault(int number, siginfo_t *info, void *context) {
	int saved_errno = errno;
	fault_t *fault = fault_of(number);
	if (info->si_errno == SEEN) {
		pass_on(&fault->original, number, info, context);
		return;
	}
	info->si_errno = SEEN;
	bool is_done = look_at(number, info, context);
	errno = saved_errno;
	if (is_done)
		return;
	/* Acquire: pairs with the release in install_before(). */
	unsigned current = atomic_load_explicit(&fault->current, memory_order_acquire);
	struct sigaction next = fault->next[current];
	pass_on(&next, number, info, context);
}

static void set_next(fault_t *fault, const struct sigaction *next) {
	unsigned other = !atomic_load_explicit(&fault->current, memory_order_relaxed);
	fault->next[other] = *next;
	/* Release: pairs with the acquire in on_fault(). */
	atomic_store_explicit(&fault->current, other, memory_order_release);
}

/* Installs the library's handler with the mask and flags of the program's. */
static bool install_before(int number, const struct sigaction *next) {
	set_next(fault_of(number), next);
	struct sigaction action = *next;
	action.sa_sigaction = on_fault;
	action.sa_flags = (int)(((unsigned)next->sa_flags & ~(unsigned)SA_RESETHAND) | SA_SIGINFO |
				SA_ONSTACK);
	return mw_os_action(number, &action, NULL) == 0;
}

static bool start(int number) {
	int saved_errno = errno;
	fault_t *fault = fault_of(number);
	bool done = mw_os_action(number, NULL, &fault->original) == 0 &&
		    install_before(number, &fault->original);
	errno = saved_errno;
	return done;
}

bool mw_os_segv_start(mw_os_segv_handler_t *handler) {
	segv_handler = handler;
	return start(SIGSEGV);
}

bool mw_os_bus_start(mw_os_bus_handler_t *handler) {
	mw_os_bus_handler_t *none = NULL;
	return !atomic_compare_exchange_strong_explicit(
		       &bus_handler, &none, handler, memory_order_relaxed, memory_order_relaxed) ||
	       start(SIGBUS);
}

/* Returns whether the signal's action is on_fault(); *now: the action. */
static bool is_ours(int number, struct sigaction *now) {
	return mw_os_action(number, NULL, now) == 0 && ((unsigned)now->sa_flags & SA_SIGINFO) &&
	       now->sa_sigaction == on_fault;
}

void mw_os_segv_renew(void) {
	int saved_errno = errno;
	struct sigaction now;
	if (mw_os_action(SIGSEGV, NULL, &now) == 0 && !is_ours(SIGSEGV, &now))
		install_before(SIGSEGV, &now);
	errno = saved_errno;
}

bool mw_os_segv_next(int signal_number, struct sigaction *next) {
	struct sigaction now;
	if ((signal_number != SIGSEGV && signal_number != SIGBUS) || !is_ours(signal_number, &now))
		return false;
	const fault_t *fault = fault_of(signal_number);
	*next = fault->next[atomic_load_explicit(&fault->current, memory_order_acquire)];
	return true;
}

bool mw_os_segv_set_next(int signal_number, const struct sigaction *next) {
	struct sigaction now;
	if ((signal_number != SIGSEGV && signal_number != SIGBUS) || !is_ours(signal_number, &now))
		return false;
	set_next(fault_of(signal_number), next);
	return true;
}
