/* SPDX-License-Identifier: MIT
 * stack.h -- finds which bytes of a stack may be read.
 * Layer: os/unwind, the door of this folder. The folder answers the unwinder's questions to the
 * system; it may use src/base, os/platform and os/memory. Reading order: stack (which memory may be
 * read), object (which loaded object contains an address), object_loaded.c (objects loaded after
 * program start), object_table (these before glibc 2.35), roomy_stack (for work that takes more
 * than a small stack has).
 *
 * Async-signal-safe: no locks, no allocation, no files; errno kept.
 *
 * A window is a range of readable addresses. On the calling thread's own stack, made by the kernel
 * or pthread_create, the window reaches to the stack's top. That stack lives as long as the thread,
 * so its readable range is cached per thread. On any other stack (sigaltstack, coroutines) the
 * window starts as one page. A walk extends it page by page and asks the kernel about each page; no
 * result is cached, because such a stack may be unmapped at any time. Reasons:
 * doc/internals/unwinding.md. */
#ifndef MW_OS_STACK_H
#define MW_OS_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

typedef struct mw_stack_window {
	uintptr_t lo; /* readable: [lo, hi) */
	uintptr_t hi;
	bool is_own; /* true: hi is the top of the thread's own stack, beyond which the window is
			never extended */
} mw_stack_window_t;

/* Checks that the kernel answers probes of addresses. Called once, before threads exist. */
void mw_os_stack_start(void);

/* Opens a window on the stack that `sp` points into, with `lo` = sp. Returns false if sp is not
 * readable; the window is then empty. */
bool mw_os_stack_open(mw_stack_window_t *window, uintptr_t sp);

/* Extends a window of a foreign stack so that it contains [address, address + 8). Returns false if
 * these bytes are not readable. */
bool mw_os_stack_extend(mw_stack_window_t *window, uintptr_t address);

/* Returns whether the kernel can read the 8 bytes at `address`. */
bool mw_os_is_readable(uintptr_t address);

/* Reads one word. Returns false, without an access, if the window does not contain it. */
MW_ALWAYS_INLINE bool mw_os_stack_load(mw_stack_window_t *window, uintptr_t address,
				       uintptr_t *value) {
	if (MW_UNLIKELY(address < window->lo || address > UINTPTR_MAX - sizeof(*value)))
		return false;
	if (MW_UNLIKELY(address + sizeof(*value) > window->hi) &&
	    !mw_os_stack_extend(window, address))
		return false;
	memcpy(value, (const void *)address, sizeof(*value));
	return true;
}

#endif
