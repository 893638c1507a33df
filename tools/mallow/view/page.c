/* SPDX-License-Identifier: MIT
 * page.c -- the pages as bytes, split where the data goes. */
#include "view/page.h"

#include <string.h>

/* Global, because link-time optimisation may take assembly and what uses it apart. */
#define LABEL(name) ".globl " #name "\n.hidden " #name "\n" #name ":\n"
/* clang-format off */
#define PAGE(name)                                                                                 \
	__asm__(".pushsection .rodata\n"                                                           \
		LABEL(name##_begin)                                                                \
		".incbin \"" MALLOW_PAGES "/" #name ".html\"\n"                                    \
		LABEL(name##_end)                                                                  \
		".popsection\n");                                                                  \
	extern const char name##_begin[], name##_end[]
/* clang-format on */
PAGE(flame);
PAGE(timeline);
PAGE(weblist);

static const struct {
	const char *name, *begin, *end;
} pages[MW_PAGE_COUNT] = {
	[MW_PAGE_FLAME] = {"flame", flame_begin, flame_end},
	[MW_PAGE_TIMELINE] = {"timeline", timeline_begin, timeline_end},
	[MW_PAGE_WEBLIST] = {"weblist", weblist_begin, weblist_end},
};

/* The word of the pages that stands for the data. */
static const char mark[] = "/*PROFILE*/";

static const char *find_mark(mw_page_t page) {
	return memmem(pages[page].begin, (size_t)(pages[page].end - pages[page].begin), mark,
		      strlen(mark));
}

int mw_page_begin(mw_page_t page, FILE *out, mw_error_t *error) {
	const char *at = find_mark(page);
	if (at == NULL)
		return mw_error_set(error, "%s: the page is damaged; build mallow again",
				    pages[page].name);
	fwrite(pages[page].begin, 1, (size_t)(at - pages[page].begin), out);
	return 0;
}

void mw_page_end(mw_page_t page, FILE *out) {
	const char *at = find_mark(page);
	if (at != NULL)
		fwrite(at + strlen(mark), 1, (size_t)(pages[page].end - at) - strlen(mark), out);
}
