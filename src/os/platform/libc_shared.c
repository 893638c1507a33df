/* SPDX-License-Identifier: MIT
 * libc_shared.c -- looks up functions and variables of libc at run time, so that one library loads
 * with any glibc from 2.17 on. */
#include "os/platform/libc_calls.h"

#include <string.h>

#include "os/platform/loaded_symbol.h"

enum {
#define NUMBER(name) MW_CALL_##name,
	MW_LIBC_CALL_LIST(NUMBER)
#undef NUMBER
		MW_CALL_single_threaded,
	MW_CALLS
};

/* An array of arrays: pointers to strings would be relocated at each start. */
static const char names[MW_CALLS][sizeof "pthread_attr_setstacksize"] = {
#define NAME(name) [MW_CALL_##name] = #name,
	MW_LIBC_CALL_LIST(NAME)
#undef NAME
		[MW_CALL_single_threaded] = "__libc_single_threaded", /* 2.32 */
};

static const char has_threads = 0;

mw_libc_calls_t mw_libc_calls;
const char *mw_os_single_threaded = &has_threads;

void mw_libc_calls_find(void) {
	void *found[MW_CALLS];
	bool all = mw_os_single_threaded != &has_threads;
	_Static_assert(sizeof mw_libc_calls == MW_CALL_single_threaded * sizeof *found,
		       "a pointer for each function");
	memcpy(found, &mw_libc_calls, sizeof mw_libc_calls);
	found[MW_CALL_single_threaded] =
		mw_os_single_threaded == &has_threads ? NULL : (void *)mw_os_single_threaded;
	for (unsigned i = 0; i < MW_CALL_single_threaded; i++)
		all &= found[i] != NULL;
	if (all)
		return;
	mw_os_find_symbols(*names, sizeof *names, MW_CALLS, found, false);
	memcpy(&mw_libc_calls, found, sizeof mw_libc_calls);
	if (found[MW_CALL_single_threaded])
		mw_os_single_threaded = found[MW_CALL_single_threaded];
}
