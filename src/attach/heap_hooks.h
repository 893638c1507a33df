/* SPDX-License-Identifier: MIT
 * heap_hooks.h -- what src/prof wants from a heap, where the heap is the program's own.
 * Layer: attach. */
#ifndef MW_ATTACH_HEAP_HOOKS_H
#define MW_ATTACH_HEAP_HOOKS_H

#include <stdint.h>

#include "heap/sample/hooks.h"

/* The profiler's functions, from its start on. */
extern const mw_heap_hooks_t *mw_attach_hooks;

/* Changes when a tool has made a request. */
static inline uint32_t mw_attach_poll_word(void) {
	/* Pairs with the release of the owner of the hooks. */
	_Atomic uint32_t *word = atomic_load_explicit(&mw_heap_poll_word, memory_order_acquire);
	return atomic_load_explicit(word, memory_order_relaxed);
}

#endif
