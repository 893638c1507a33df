/* SPDX-License-Identifier: MIT
 * exit.c -- replaces _exit(2) and _Exit(3), by which forked children end. Handlers of exit(3) do
 * not run then, so without this the state file would look like that of a killed process. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/platform/system_call.h"
#include "prof/prof.h"

typedef void exit_t(int status);

static _Atomic(exit_t *) next_exit;
/* An array, so that it does not lie with the strings, which most processes never read. */
static const char name[] = "_exit";

/* Runs at start-up and not in _exit(): a signal handler may call _exit(), and dlsym(3) takes the
 * loader's lock. */
__attribute__((constructor)) static MW_RESIDENT void find_next(void) {
	exit_t *next;
	*(void **)&next = dlsym(RTLD_NEXT, name);
	atomic_store_explicit(&next_exit, next, memory_order_relaxed);
}

MW_EXPORT _Noreturn void _exit(int status) {
	mw_prof_leave();
	exit_t *next = atomic_load_explicit(&next_exit, memory_order_relaxed);
	if (next)
		next(status);
	for (;;)
		mw_system_call(SYS_exit_group, status);
}

MW_EXPORT _Noreturn void _Exit(int status) {
	_exit(status);
}
