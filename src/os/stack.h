/* SPDX-License-Identifier: MIT
 * stack.h -- which bytes of a stack may be read.
 * Layer: os.  Async-signal-safe: no locks, no allocation, no files; errno kept.
 *
 * A window is a range of addresses known to be readable.  On the stack the kernel or pthread_create
 * made for the calling thread it reaches to that stack's top; such a stack lives as long as its
 * thread, so what was found once is kept per thread.  On any other stack (sigaltstack, coroutines)
 * it starts as one page and is extended page by page while a walk needs it, each page being asked
 * of the kernel: nothing is remembered, hence nothing can go stale.  Reasoning: doc/unwinding.md.
 */
#ifndef MW_OS_STACK_H
#define MW_OS_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

typedef struct mw_stack_window {
	uintptr_t lo; /* readable: [lo, hi) */
	uintptr_t hi;
	bool is_own; /* hi is the stack's top: there is nothing to extend to */
} mw_stack_window_t;

/* Checks that the kernel answers the question this module asks.  Once, before threads. */
void mw_os_stack_start(void);

/* Opens a window on the stack that `sp` points into, with `lo` = sp.  False when sp is not
 * readable; the window is then empty. */
bool mw_os_stack_open(mw_stack_window_t *window, uintptr_t sp);

/* Extends a window of a foreign stack so that it holds [address, address + 8); false if it cannot.
 */
bool mw_os_stack_extend(mw_stack_window_t *window, uintptr_t address);

/* True when the kernel can read the 8 bytes at `address`. */
bool mw_os_is_readable(uintptr_t address);

/* Reads one word; false, without touching it, when it is not in the window. */
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
