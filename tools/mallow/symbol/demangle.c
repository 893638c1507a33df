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

char *mw_demangle(const char *name) {
	/* C++ and old Rust, or new Rust; anything else is C and stays as it is. */
	bool mangled = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
	if (mangled && strnlen(name, MANGLED_LENGTH_MAX + 1) <= MANGLED_LENGTH_MAX) {
		/* Without DMGL_PARAMS: a table of names is easier to read without signatures.
		 * AUTO tries Rust first, which recognises its own. */
		char *readable = cplus_demangle(name, DMGL_AUTO | DMGL_ANSI);
		if (readable != NULL)
			return readable;
	}
	return mw_xstrdup(name);
}
