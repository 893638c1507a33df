/* SPDX-License-Identifier: MIT
 * libc_archive.c -- the same functions and variables by name, in archives. */
#include "os/platform/libc_calls.h"

/* glibc 2.35 and 2.32 have them. Weak: in a static program only if something else needs it. */
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));
extern char __libc_single_threaded __attribute__((weak));

static const char has_threads = 0;

mw_libc_calls_t mw_libc_calls;
const char *mw_os_single_threaded = &has_threads;

/* The section that cmake/own_text.cmake moves other objects' code to. */
__attribute__((section("mallow_text"))) void mw_libc_calls_find(void) {
	mw_libc_calls = (mw_libc_calls_t){
#define MEMBER(name) .name = (name),
		MW_LIBC_CALL_LIST(MEMBER)
#undef MEMBER
	};
	if (&__libc_single_threaded)
		mw_os_single_threaded = &__libc_single_threaded;
}
