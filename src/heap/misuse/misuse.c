/* SPDX-License-Identifier: MIT
 * misuse.c -- messages: function, address, what is known of it, size class. */
#include "heap/misuse/misuse.h"

#include <stdatomic.h>

#include "base/check.h"
#include "base/fmt.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"

/* "a sampled block of size class 1024 bytes" */
#define NAME_BYTES 96
#define LINE_BYTES (3 * NAME_BYTES)

mw_misuse_action_t mw_misuse_on_claim = MW_HARDEN_ON ? MW_MISUSE_ABORT : MW_MISUSE_IGNORE;

static mw_misuse_config_t config;

void mw_misuse_start(const mw_misuse_config_t *wanted) {
	config = *wanted;
	mw_misuse_on_claim = wanted->action;
}

static size_t bytes_of(const mw_page_t *page, const void *block) {
	return page->kind == MW_PAGE_LARGE || page->kind == MW_PAGE_FREED ? page->large_bytes
	       : page->kind == MW_PAGE_SAMPLED ? mw_misuse_sampled_bytes(page, block)
					       : page->block_bytes;
}

static void name_block(char *name, const mw_page_t *page, const void *block) {
	size_t bytes = bytes_of(page, block);
	if (page->kind == MW_PAGE_LARGE || page->kind == MW_PAGE_FREED)
		mw_fmt(name, NAME_BYTES, "a large block of %zu bytes", bytes);
	else
		mw_fmt(name, NAME_BYTES, "a %sblock of size class %zu bytes",
		       page->kind == MW_PAGE_SAMPLED ? "sampled " : "", bytes);
}

static void name_live(char *name, const void *block, size_t capacity) {
	unsigned where = mw_word_kind((uintptr_t)block);
	if (where != MW_MAP_CHUNK)
		mw_fmt(name, NAME_BYTES, "a %sblock of %zu bytes",
		       where == MW_MAP_HUGE    ? "huge "
		       : where == MW_MAP_EMPTY ? ""
					       : "guarded ",
		       capacity);
	else
		name_block(name, mw_page_first(mw_page_of_slice((uintptr_t)block)), block);
}

/* ": 100 bytes were requested", or nothing. */
static void name_asked(char *text, size_t asked_bytes) {
	text[0] = '\0';
	if (asked_bytes != MW_NO_CLAIM)
		mw_fmt(text, NAME_BYTES, ": %zu bytes were requested", asked_bytes);
}

/* Prints where a sampled block was allocated, before the message that ends the program.  Not for
 * huge blocks: that would take the lock of their table, which may be held. */
static void show_origin(const void *block) {
	if (mw_word_kind((uintptr_t)block) != MW_MAP_CHUNK)
		return;
	const mw_page_t *page = mw_page_first(mw_page_of_slice((uintptr_t)block));
	mw_misuse_show_origin(page, block);
}

void mw_misuse_foreign(const char *function, const void *block) {
	mw_fatal("%s(%p): invalid pointer: mallow did not allocate it", function, block);
}

void mw_misuse_dead(const char *function, const void *block, const mw_page_t *page) {
	if (page->kind == MW_PAGE_FREED && block == page->start)
		mw_misuse_double_free(function, block, page);
	mw_fatal("%s(%p): invalid pointer: no live block there (freed before, or never allocated)",
		 function, block);
}

void mw_misuse_empty(const char *function, const void *block) {
	mw_fatal("%s(%p): invalid pointer: no live block of 0 bytes there (freed before, or never "
		 "allocated)",
		 function, block);
}

void mw_misuse_misaligned(const char *function, const void *block, const mw_page_t *page) {
	show_origin(block);
	mw_fatal("%s(%p): invalid pointer: not the start of a block of %s %zu bytes", function,
		 block, page->kind == MW_PAGE_LARGE ? "the large size" : "size class",
		 bytes_of(page, block));
}

void mw_misuse_double_free(const char *function, const void *block, const mw_page_t *page) {
	char name[NAME_BYTES];
	name_block(name, page, block);
	mw_fatal("%s(%p): double free of %s", function, block, name);
}

void mw_misuse_free_again(const mw_page_t *page, const void *block) {
	mw_misuse_double_free(mw_misuse_function(), block, page);
}

void mw_misuse_double_free_huge(const char *function, const void *block, size_t bytes) {
	mw_fatal("%s(%p): double free of a huge block of %zu bytes", function, block, bytes);
}

/* Frames of the warning about a place of the program. */
#define WARNED_DEPTH 8u
/* Places of the program that were warned about.  A place is never taken out, so a search that finds
 * an empty element has seen all places. */
#define WARNED_PLACES 64u
static _Atomic uint64_t warned[WARNED_PLACES]; /* relaxed: no other data depends on a place */

/* Returns whether the place is new, and enters it.  A full table says so, once. */
static bool is_new_place(uint64_t place) {
	for (unsigned i = 0; i < WARNED_PLACES; i++) {
		uint64_t found = 0;
		if (atomic_compare_exchange_strong_explicit(&warned[i], &found, place,
							    memory_order_relaxed,
							    memory_order_relaxed)) {
			if (i == WARNED_PLACES - 1)
				mw_warn("on_misuse:warn: %u places were named; no more are",
					WARNED_PLACES);
			return i < WARNED_PLACES - 1;
		}
		if (found == place)
			return false;
	}
	return false;
}

/* A place is the frame that called the library; where no stack can be taken, the function. */
static void warn_once(const char *function, const char *line) {
	uint64_t pcs[WARNED_DEPTH];
	unsigned depth = config.take_stack ? config.take_stack(pcs, WARNED_DEPTH, false) : 0;
	if (!is_new_place(depth > 0 ? pcs[0] : (uintptr_t)function))
		return;
	mw_warn("%s", line);
	char name[512];
	for (unsigned i = 0; i < depth; i++) {
		config.name_place(pcs[i], name, sizeof name);
		mw_warn("  #%u %s", i, name);
	}
}

static void report_claim(const char *function, const void *block, const char *line) {
	if (mw_misuse_on_claim == MW_MISUSE_IGNORE)
		return;
	if (mw_misuse_on_claim == MW_MISUSE_WARN) {
		warn_once(function, line);
		return;
	}
	show_origin(block);
	mw_fatal("%s", line);
}

void mw_misuse_size(const char *function, const void *block, size_t claimed_bytes, size_t capacity,
		    size_t asked_bytes) {
	char name[NAME_BYTES], asked[NAME_BYTES], line[LINE_BYTES];
	name_live(name, block, capacity);
	name_asked(asked, asked_bytes);
	mw_fmt(line, sizeof line, "%s(%p): wrong size %zu for %s%s", function, block, claimed_bytes,
	       name, asked);
	report_claim(function, block, line);
}

void mw_misuse_align(const char *function, const void *block, size_t align, size_t capacity) {
	char name[NAME_BYTES], line[LINE_BYTES];
	name_live(name, block, capacity);
	mw_fmt(line, sizeof line, "%s(%p): wrong alignment %zu for %s", function, block, align,
	       name);
	report_claim(function, block, line);
}

void mw_misuse_past_end(const char *function, const void *block, size_t capacity,
			size_t asked_bytes) {
	char name[NAME_BYTES], asked[NAME_BYTES];
	name_live(name, block, capacity);
	name_asked(asked, asked_bytes);
	show_origin(block);
	mw_fatal("%s(%p): written past the end of %s%s", function, block, name, asked);
}

void mw_misuse_after_free(const void *block, const mw_page_t *page) {
	char name[NAME_BYTES];
	name_block(name, page, block);
	mw_fatal("%p: written to after it was freed: %s", block, name);
}

#ifdef MW_HARDENED
void mw_harden_bad_link(const void *block) {
	mw_misuse_after_free(block, mw_page_first(mw_page_of_slice((uintptr_t)block)));
}
#endif
