/* SPDX-License-Identifier: MIT
 * errors.c -- in place of base/check.c: an error inside of the profiler switches the blob off and
 * goes into the work area and the state file. Nothing is written to the program's stderr, and the
 * program goes on. */
#include "base/check.h"

#include <stdarg.h>
#include <stddef.h>

#include "attach/blob.h"
#include "attach/thread_records.h"
#include "base/fmt.h"
#include "os/platform/system_call.h"

_Atomic uintptr_t mw_fatal_hook;
bool mw_warnings_are_fatal;

static MW_COLD void keep_message(const char *format, va_list args) {
	mw_vfmt(mw_attach_work.message, sizeof mw_attach_work.message, format, args);
}

/* Leads out of the profiler to where the program called it. Locks stay taken, because nothing takes
 * them any more, but for the lock of the slots, which the command's next request takes. */
static _Noreturn MW_COLD void leave_profiler(void) {
	mw_attach_stop(MW_ATTACH_FAILED, MW_ATTACH_REASON_ASSERTION);
	mw_attach_unlock_slots();
	mw_attach_thread_t *thread = mw_attach_entered_thread();
	if (thread->is_inside)
		__builtin_longjmp(thread->jump, 1);
	/* The profiler runs only between mw_attach_begin() and mw_attach_end(). */
	for (;;)
		mw_enter_kernel(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

void mw_fatal(const char *format, ...) {
	va_list args;
	va_start(args, format);
	keep_message(format, args);
	leave_profiler();
}

void mw_fatal_line(const char *message) {
	mw_fatal("%s", message);
}

void mw_warn(const char *format, ...) {
	va_list args;
	va_start(args, format);
	keep_message(format, args);
	va_end(args);
}

void mw_print_line(const char *format, ...) {
	(void)format;
}
