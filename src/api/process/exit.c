/* SPDX-License-Identifier: MIT
 * exit.c -- replaces _exit(2) and _Exit(3), by which forked children end. Handlers of exit(3) do
 * not run then, so without this the state file would look like that of a killed process. */
#include <stdlib.h>
#include <unistd.h>

#include "api/process/next_calls.h"
#include "base/compiler.h"
#include "os/platform/system_call.h"
#include "prof/prof.h"

typedef void exit_t(int status);

MW_EXPORT _Noreturn void _exit(int status) {
	mw_prof_leave();
	exit_t *next;
	*(void **)&next = mw_next_call(MW_NEXT_EXIT);
	if (next)
		next(status);
	for (;;)
		mw_system_call(SYS_exit_group, status);
}

MW_EXPORT _Noreturn void _Exit(int status) {
	_exit(status);
}
