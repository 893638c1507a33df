/* SPDX-License-Identifier: MIT
 * demangle.c -- C++ and Rust names through libiberty. */
#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "symbol/symbolize.h"

/* Longer names are shown as they are: compilers make names up to some ten thousand bytes, and
 * unfolding the back references of a hostile one takes exponential time. */
#define MANGLED_LENGTH_MAX 8192

/* C++ and old Rust, or new Rust; anything else is C and stays as it is.  NULL: that. */
static char *demangle(const char *name, int options) {
	bool mangled = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
	if (!mangled || strnlen(name, MANGLED_LENGTH_MAX + 1) > MANGLED_LENGTH_MAX)
		return NULL;
	/* AUTO tries Rust first, and prints all of a C++ name for it; Rust's older names end in a
	 * hash that begins so. */
	int style = name[1] == 'R' || strstr(name, "17h") != NULL ? DMGL_AUTO : DMGL_GNU_V3;
	return cplus_demangle(name, style | DMGL_ANSI | options);
}

char *mw_demangle(const char *name) {
	/* Without DMGL_PARAMS: a table of names is easier to read without signatures. */
	char *readable = demangle(name, DMGL_NO_OPTS);
	return readable != NULL ? readable : mw_xstrdup(name);
}

char *mw_demangle_whole(const char *name) {
	char *readable = demangle(name, DMGL_PARAMS);
	if (readable == NULL)
		return mw_xstrdup(name);
	char *clone = strstr(readable, " [clone ");
	if (clone != NULL)
		*clone = '\0';
	return readable;
}
