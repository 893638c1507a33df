/* SPDX-License-Identifier: MIT
 * misuse.c -- messages: function, address, what is known of it, size class. */
#include "heap/misuse/misuse.h"

#include "base/check.h"
#include "base/fmt.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"

/* "a sampled block of size class 1024 bytes" */
#define NAME_BYTES 96

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
		mw_fmt(name, NAME_BYTES, "a %s block of %zu bytes",
		       where == MW_MAP_HUGE ? "huge" : "guarded", capacity);
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

void mw_misuse_size(const char *function, const void *block, size_t claimed_bytes, size_t capacity,
		    size_t asked_bytes) {
	char name[NAME_BYTES], asked[NAME_BYTES];
	name_live(name, block, capacity);
	name_asked(asked, asked_bytes);
	show_origin(block);
	mw_fatal("%s(%p): wrong size %zu for %s%s", function, block, claimed_bytes, name, asked);
}

void mw_misuse_align(const char *function, const void *block, size_t align, size_t capacity) {
	char name[NAME_BYTES];
	name_live(name, block, capacity);
	show_origin(block);
	mw_fatal("%s(%p): wrong alignment %zu for %s", function, block, align, name);
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
