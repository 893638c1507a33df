/* SPDX-License-Identifier: MIT
 * script_memory.c -- the pages that the kernel found readable a short time ago. */
#include "prof/script/reader/script_memory.h"

#include "os/time/ticks.h"
#include "os/unwind/stack.h"

/* An answer counts for 2^27 ns: the page may be unmapped later. */
#define STAMP_SHIFT 27u
#define STAMP_MASK (MW_SCRIPT_PAGE_BYTES - 1)
/* No process has addresses from here to the kernel's. */
#define ADDRESS_BITS 48u

_Atomic uint64_t mw_script_known_pages[1u << MW_SCRIPT_KNOWN_LOG2] MW_SPARSE;

void mw_script_memory_begin(mw_script_memory_t *memory) {
	/* Odd, so that the entry of no page fits none. */
	memory->stamp = (mw_os_quick_ns() >> STAMP_SHIFT << 1 | 1) & STAMP_MASK;
}

bool mw_script_memory_ask(const mw_script_memory_t *memory, uintptr_t page) {
	if (page < MW_SCRIPT_PAGE_BYTES || page >> ADDRESS_BITS != 0 || !mw_os_is_readable(page))
		return false;
	atomic_store_explicit(mw_script_known_page(page), page | memory->stamp,
			      memory_order_relaxed);
	return true;
}
