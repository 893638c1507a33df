/* SPDX-License-Identifier: MIT
 * next_calls.c -- looks up the next definitions of the functions that libmallow.so replaces. */
#include "api/process/next_calls.h"

#include <stddef.h>

#include "os/platform/loaded_symbol.h"

_Atomic(void *) mw_next_calls[MW_NEXT_CALLS];

/* An array of arrays, so that it does not lie with the strings, which most processes never read. */
static const char names[][sizeof "__register_atfork"] = {
	[MW_NEXT_EXIT] = "_exit",
	[MW_NEXT_FORK] = "fork",
	[MW_NEXT_DAEMON] = "daemon",
	[MW_NEXT_FORKPTY] = "forkpty",
#ifdef __GLIBC__
	[MW_NEXT_REGISTER_ATFORK] = "__register_atfork",
#else
	[MW_NEXT_REGISTER_ATFORK] = "pthread_atfork",
#endif
	[MW_NEXT_PRCTL] = "prctl",
	[MW_NEXT_MMAP] = "mmap",
	[MW_NEXT_MMAP64] = "mmap64",
	[MW_NEXT_MUNMAP] = "munmap",
	[MW_NEXT_MREMAP] = "mremap",
	[MW_NEXT_SBRK] = "sbrk",
	[MW_NEXT_SHMAT] = "shmat",
	[MW_NEXT_SHMDT] = "shmdt",
	[MW_NEXT_SIGWAITINFO] = "sigwaitinfo",
	[MW_NEXT_SIGTIMEDWAIT] = "sigtimedwait",
	[MW_NEXT_SIGNALFD] = "signalfd",
};
_Static_assert(sizeof names / sizeof *names == MW_NEXT_CALLS, "each function has its name");

void *mw_next_call_now(mw_next_call_t which) {
	void *function = mw_next_call(which);
	if (!function) {
		mw_os_find_symbols(names[which], 0, 1, &function, true);
		atomic_store_explicit(&mw_next_calls[which], function, memory_order_relaxed);
	}
	return function;
}

__attribute__((constructor)) static void find_all(void) {
	void *found[MW_NEXT_CALLS];
	for (unsigned which = 0; which < MW_NEXT_CALLS; which++)
		found[which] = mw_next_call(which);
	mw_os_find_symbols(*names, sizeof *names, MW_NEXT_CALLS, found, true);
	for (unsigned which = 0; which < MW_NEXT_CALLS; which++)
		atomic_store_explicit(&mw_next_calls[which], found[which], memory_order_relaxed);
}
