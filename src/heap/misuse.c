/* SPDX-License-Identifier: MIT
 * misuse.c -- messages: address, what is known of it, size class. */
#include "heap/misuse.h"

#include "base/check.h"

void mw_misuse_foreign(const char *function, const void *block) {
	mw_fatal("%s(%p): invalid pointer: mallow did not allocate it", function, block);
}

void mw_misuse_dead(const char *function, const void *block, const mw_page_t *page) {
	if (page->kind == MW_PAGE_FREED && block == page->start)
		mw_fatal("%s(%p): double free of a large block of %zu bytes", function, block,
			 page->large_bytes);
	mw_fatal("%s(%p): invalid pointer: no live block there (freed before, or never allocated)",
		 function, block);
}

void mw_misuse_misaligned(const char *function, const void *block, const mw_page_t *page) {
	size_t bytes = page->kind == MW_PAGE_LARGE ? page->large_bytes : page->block_bytes;
	mw_fatal("%s(%p): invalid pointer: not the start of a block of %s %zu bytes", function,
		 block, page->kind == MW_PAGE_LARGE ? "the large size" : "size class", bytes);
}

void mw_misuse_double_free(const void *block, const mw_page_t *page) {
	mw_fatal("free(%p): double free of a %sblock of size class %u bytes", block,
		 page->kind == MW_PAGE_SAMPLED ? "sampled " : "", page->block_bytes);
}

void mw_misuse_double_free_huge(const void *block, size_t bytes) {
	mw_fatal("free(%p): double free of a huge block of %zu bytes", block, bytes);
}
