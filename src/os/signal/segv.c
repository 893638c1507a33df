/* SPDX-License-Identifier: MIT
 * segv.c -- handler of SIGSEGV, and the program's handler that runs after it. */
#include "os/signal/segv.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/platform/arch.h"

/* Value of siginfo's si_errno, which Linux leaves 0, for a signal that this handler has seen.
 * Without it, a program's handler that calls the handler it replaced, which is this one, would call
 * it without end. */
#define SEEN 0x6d77

static struct {
	mw_os_segv_handler_t *handler;
	struct sigaction original; /* action before the first installation */
	/* The program's latest handler and the one before. `current` is changed after the other
	 * entry is written, so that a fault meanwhile finds a complete entry. */
	struct sigaction next[2];
	_Atomic unsigned current;
} segv;

static void to_default(int number, const siginfo_t *info) {
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigaction(number, &standard, NULL);
	/* A signal that the processor raised is raised again when the access is repeated; a signal
	 * that was sent is not. */
	if (info->si_code <= 0)
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
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
		sigaction(number, &standard, NULL);
	}
	if ((unsigned)next->sa_flags & SA_SIGINFO)
		next->sa_sigaction(number, info, context);
	else
		next->sa_handler(number);
}

static void on_fault(int number, siginfo_t *info, void *context) {
	int saved_errno = errno;
	if (info->si_errno == SEEN) {
		pass_on(&segv.original, number, info, context);
		return;
	}
	info->si_errno = SEEN;
	if (info->si_code > 0)
		segv.handler((uintptr_t)info->si_addr, mw_os_access_of(context));
	errno = saved_errno;
	/* Acquire: pairs with the release in install_before(). */
	unsigned current = atomic_load_explicit(&segv.current, memory_order_acquire);
	struct sigaction next = segv.next[current];
	pass_on(&next, number, info, context);
}

/* Installs the library's handler with the mask and flags of the program's. */
static bool install_before(const struct sigaction *next) {
	unsigned other = !atomic_load_explicit(&segv.current, memory_order_relaxed);
	segv.next[other] = *next;
	/* Release: pairs with the acquire in on_fault(). */
	atomic_store_explicit(&segv.current, other, memory_order_release);
	struct sigaction action = *next;
	action.sa_sigaction = on_fault;
	action.sa_flags = (int)(((unsigned)next->sa_flags & ~(unsigned)SA_RESETHAND) | SA_SIGINFO |
				SA_ONSTACK);
	return sigaction(SIGSEGV, &action, NULL) == 0;
}

bool mw_os_segv_start(mw_os_segv_handler_t *handler) {
	int saved_errno = errno;
	segv.handler = handler;
	bool done = sigaction(SIGSEGV, NULL, &segv.original) == 0 && install_before(&segv.original);
	errno = saved_errno;
	return done;
}

void mw_os_segv_renew(void) {
	int saved_errno = errno;
	struct sigaction now;
	bool is_ours = sigaction(SIGSEGV, NULL, &now) != 0 ||
		       (((unsigned)now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault);
	if (!is_ours)
		install_before(&now);
	errno = saved_errno;
}
