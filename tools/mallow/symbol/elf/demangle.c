/* SPDX-License-Identifier: MIT
 * demangle.c -- demangles C++ and Rust names with libiberty. */
#include "symbol/elf/demangle.h"

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

/* Longest name that is demangled.  Compilers make names of up to about ten thousand bytes;
 * unfolding the back references of a hostile name takes exponential time. */
#define MANGLED_LENGTH_MAX 8192

/* Demangles C++ and Rust names.  NULL: the name is a C name. */
static char *demangle(const char *name, int options) {
	bool mangled = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
	if (!mangled || strnlen(name, MANGLED_LENGTH_MAX + 1) > MANGLED_LENGTH_MAX)
		return NULL;
	/* DMGL_AUTO tries Rust first, and takes longer for C++. Legacy Rust names end in a hash
	 * that begins with "17h". */
	int style = name[1] == 'R' || strstr(name, "17h") != NULL ? DMGL_AUTO : DMGL_GNU_V3;
	return cplus_demangle(name, style | DMGL_ANSI | options);
}

char *mw_demangle(const char *name) {
	/* DMGL_PARAMS is off, because tables are easier to read without signatures. */
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
