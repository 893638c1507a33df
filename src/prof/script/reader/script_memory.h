/* SPDX-License-Identifier: MIT
 * script_memory.h -- reads of an interpreter's memory: aligned, and in readable pages only.
 * Layer: prof/script/reader. A pointer may be anything: a thread may be interrupted while it
 * changes the chain of frames, or another thread may have ended the interpreter. The kernel is
 * asked about each page, and the answer is kept for an eighth of a second. Async-signal-safe, no
 * locks. */
#ifndef MW_PROF_SCRIPT_MEMORY_H
#define MW_PROF_SCRIPT_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

typedef struct mw_script_memory {
	uint64_t stamp; /* of answers that are still right; not 0 */
} mw_script_memory_t;

#define MW_SCRIPT_PAGE_BYTES 4096u

#define MW_SCRIPT_KNOWN_LOG2 9u
/* Pages that were found readable: start of the page, and in its low bits the stamp of the answer;
 * 0: none. Relaxed: an entry is one word, and says nothing about another. */
extern _Atomic uint64_t mw_script_known_pages[1u << MW_SCRIPT_KNOWN_LOG2];

static inline _Atomic uint64_t *mw_script_known_page(uintptr_t page) {
	return &mw_script_known_pages[page * 0x9e3779b97f4a7c15u >> (64 - MW_SCRIPT_KNOWN_LOG2)];
}

void mw_script_memory_begin(mw_script_memory_t *memory);
/* Asks the kernel about the page that begins at `page`. */
MW_NOINLINE bool mw_script_memory_ask(const mw_script_memory_t *memory, uintptr_t page);

/* Takes a few instructions if the page is known, since a walk reads four pages for each frame. */
static inline bool mw_script_page_is_readable(const mw_script_memory_t *memory, uintptr_t page) {
	uint64_t known = atomic_load_explicit(mw_script_known_page(page), memory_order_relaxed);
	return MW_LIKELY(known == (page | memory->stamp)) || mw_script_memory_ask(memory, page);
}

/* Returns whether `bytes` > 0 at the address can be read, as words of 8 bytes. */
static inline bool mw_script_is_readable(const mw_script_memory_t *memory, uintptr_t address,
					 size_t bytes) {
	uintptr_t first = address & ~(uintptr_t)(MW_SCRIPT_PAGE_BYTES - 1);
	uintptr_t last = (address + bytes - 1) & ~(uintptr_t)(MW_SCRIPT_PAGE_BYTES - 1);
	if (MW_UNLIKELY(address % sizeof(uintptr_t) != 0) || MW_UNLIKELY(last < first))
		return false;
	for (uintptr_t page = first;; page += MW_SCRIPT_PAGE_BYTES) {
		if (!mw_script_page_is_readable(memory, page))
			return false;
		if (MW_LIKELY(page == last))
			return true;
	}
}

/* The following functions read at an address that was found readable.  It need not be aligned, as
 * memory that changed meanwhile may have any address. */
static inline uintptr_t mw_script_word(uintptr_t address) {
	uintptr_t word;
	__builtin_memcpy(&word, (const void *)address, sizeof(word));
	return word;
}
static inline uint32_t mw_script_word32(uintptr_t address) {
	uint32_t word;
	__builtin_memcpy(&word, (const void *)address, sizeof(word));
	return word;
}
static inline uint8_t mw_script_byte(uintptr_t address) {
	return *(const uint8_t *)address;
}

#endif
