/* SPDX-License-Identifier: MIT
 * script_memory.c -- the pages that the kernel found readable a short time ago. */
#include "prof/script/script_memory.h"

#include <stdatomic.h>

#include "os/time/ticks.h"
#include "os/unwind/stack.h"

#define KNOWN_LOG2 9u
/* An answer counts for 2^27 ns: the page may be unmapped later. */
#define STAMP_SHIFT 27u
#define STAMP_MASK (MW_SCRIPT_PAGE_BYTES - 1)
/* No process has addresses from here to the kernel's. */
#define ADDRESS_BITS 48u

/* Start of a page, and in its low bits the stamp of the answer; 0: none. Relaxed: an entry is one
 * word, and says nothing about another. */
static _Atomic uint64_t known[1u << KNOWN_LOG2] MW_SPARSE;

void mw_script_memory_begin(mw_script_memory_t *memory) {
	memory->stamp = mw_os_quick_ns() >> STAMP_SHIFT & STAMP_MASK;
	memory->last_page = MW_SCRIPT_NO_PAGE;
}

bool mw_script_memory_ask(mw_script_memory_t *memory, uintptr_t page) {
	if (page < MW_SCRIPT_PAGE_BYTES || page >> ADDRESS_BITS != 0)
		return false;
	uint64_t number = page / MW_SCRIPT_PAGE_BYTES;
	_Atomic uint64_t *entry = &known[(number * 0x9e3779b97f4a7c15u) >> (64 - KNOWN_LOG2)];
	if (MW_UNLIKELY(atomic_load_explicit(entry, memory_order_relaxed) !=
			(page | memory->stamp))) {
		if (!mw_os_is_readable(page))
			return false;
		atomic_store_explicit(entry, page | memory->stamp, memory_order_relaxed);
	}
	memory->last_page = page;
	return true;
}
