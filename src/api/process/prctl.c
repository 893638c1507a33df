/* SPDX-License-Identifier: MIT
 * prctl.c -- replaces prctl(2) to learn that the program is about to forbid itself system
 * calls, that its memory must not be dumped any more, or which process may trace it.
 *
 * A seccomp(2) filter may end the program at a system call that is not in its list. The library
 * cannot ask the kernel whether such a filter exists, because the question is itself such a call.
 * An unprivileged process must call prctl(PR_SET_NO_NEW_PRIVS) before it sets a filter; libseccomp
 * does so, too. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "api/process/next_calls.h"
#include "api/process/start.h"
#include "base/compiler.h"
#include "cpu/cpu.h"
#include "os/platform/system_call.h"
#include "os/process/tracer.h"
#include "prof/prof.h"
#include "state/cpu_source.h"

/* Returns false if the filter only makes calls fail: the library handles failures. */
static bool may_kill(const struct sock_fprog *program) {
	if (!program || !program->filter)
		return false;
	for (unsigned i = 0; i < program->len; i++) {
		unsigned code = program->filter[i].code;
		unsigned action = program->filter[i].k & SECCOMP_RET_ACTION_FULL;
		if (BPF_CLASS(code) == BPF_RET &&
		    (BPF_RVAL(code) != BPF_K || action == SECCOMP_RET_KILL_PROCESS ||
		     action == SECCOMP_RET_KILL_THREAD || action == SECCOMP_RET_TRAP))
			return true;
	}
	return false;
}

/* true: the program set a filter that may end it */
static _Atomic bool is_lethal;

/* Samples of CPU time end before a filter may forbid the calls of their signals. */
static void confine(bool confined) {
	if (confined && mw_cpu_wants_threads())
		mw_cpu_start(0, MW_CPU_BY_TIMER);
	mw_prof_confine(confined);
}

/* Reads the call's arguments. PR_SET_NO_NEW_PRIVS: the library expects a filter that may end the
 * program. A filter that only makes calls fail ends this expectation. */
static MW_NOINLINE void look(int option, const unsigned long *arguments) {
	if (option == PR_SET_NO_NEW_PRIVS) {
		confine(true);
		return;
	}
	bool kills = arguments[0] != SECCOMP_MODE_FILTER ||
		     may_kill((const struct sock_fprog *)arguments[1]); // NOLINT
	/* Relaxed: a program sets filters one after the other. */
	if (kills)
		atomic_store_explicit(&is_lethal, true, memory_order_relaxed);
	confine(atomic_load_explicit(&is_lethal, memory_order_relaxed));
}

MW_ALWAYS_INLINE int call_next(int option, const unsigned long *arguments) {
	int (*next)(int, ...);
	*(void **)&next = mw_next_call(MW_NEXT_PRCTL);
	return next ? next(option, arguments[0], arguments[1], arguments[2], arguments[3])
		    : (int)mw_system_call(SYS_prctl, option, arguments[0], arguments[1],
					  arguments[2], arguments[3]);
}

/* A thread that is stopped in the kernel here may answer a tool: many are, because a thread stops
 * where it leaves the kernel. */
MW_EXPORT MW_WAITS int prctl(int option, ...) {
	unsigned long arguments[4];
	va_list list;
	va_start(list, option);
	for (unsigned i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS) {
		if (!mw_api_started)
			mw_api_start();
		look(option, arguments);
	}
	int result = call_next(option, arguments);
	if (option == PR_SET_PTRACER && result == 0)
		mw_os_tracer_note_permitted(arguments[0]);
	if (option == PR_SET_DUMPABLE && result == 0 && arguments[0] != 1)
		mw_prof_hide();
	return result;
}
