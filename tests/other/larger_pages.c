/* SPDX-License-Identifier: MIT
 * larger_pages.c -- a preloaded library by which the kernel's pages have PAGE_BYTES. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/auxv.h>

unsigned long getauxval(unsigned long type) {
	static unsigned long (*next)(unsigned long);
	if (type == AT_PAGESZ)
		return PAGE_BYTES;
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "getauxval");
	return next(type);
}
