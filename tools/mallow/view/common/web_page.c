/* SPDX-License-Identifier: MIT
 * web_page.c -- embeds the web pages; each is divided at the place of its data.  Text in SVG. */
#include "view/common/web_page.h"

#include <string.h>

#include "model/text.h"

/* The symbols are global, because link-time optimisation may separate this assembly from its
 * users. */
#define LABEL(name) ".globl " #name "\n.hidden " #name "\n" #name ":\n"
/* clang-format off */
#define EMBED(folder, name, ending)                                                                \
	__asm__(".pushsection .rodata\n"                                                           \
		LABEL(name##_begin)                                                                \
		".incbin \"" folder "/" #name "." ending "\"\n"                                    \
		LABEL(name##_end)                                                                  \
		".popsection\n");                                                                  \
	extern const char name##_begin[], name##_end[]
#define PAGE(folder, name) EMBED(folder, name, "html")
#define VIEWS(folder) MALLOW_PAGES "/" folder
/* clang-format on */
PAGE(MALLOW_WEB, flame);
PAGE(VIEWS("picture"), timeline);
PAGE(VIEWS("code"), weblist);
EMBED(VIEWS("common"), pan, "js");

static const struct {
	const char *name, *begin, *end;
} pages[MW_WEB_PAGE_COUNT] = {
	[MW_WEB_PAGE_FLAME] = {"flame", flame_begin, flame_end},
	[MW_WEB_PAGE_TIMELINE] = {"timeline", timeline_begin, timeline_end},
	[MW_WEB_PAGE_WEBLIST] = {"weblist", weblist_begin, weblist_end},
};

/* Text of a page that the data replaces. */
static const char mark[] = "/*PROFILE*/";

static const char *find_mark(mw_web_page_t page) {
	return memmem(pages[page].begin, (size_t)(pages[page].end - pages[page].begin), mark,
		      strlen(mark));
}

int mw_web_page_begin(mw_web_page_t page, FILE *out, mw_error_t *error) {
	const char *at = find_mark(page);
	if (at == NULL)
		return mw_error_set(error, "%s: the built-in page is damaged; build mallow again",
				    pages[page].name);
	fwrite(pages[page].begin, 1, (size_t)(at - pages[page].begin), out);
	return 0;
}

void mw_web_page_end(mw_web_page_t page, FILE *out) {
	const char *at = find_mark(page);
	if (at != NULL)
		fwrite(at + strlen(mark), 1, (size_t)(pages[page].end - at) - strlen(mark), out);
}

size_t mw_web_page_svg_script(const char **text) {
	*text = pan_begin;
	return (size_t)(pan_end - pan_begin);
}

void mw_svg_text(FILE *out, const char *text) {
	for (; *text != '\0'; text += mw_text_character(text).bytes) {
		mw_character_t c = mw_text_character(text);
		if (c.code == '<' || c.code == '&')
			fputs(c.code == '<' ? "&lt;" : "&amp;", out);
		else if (c.is_control || !c.is_utf8)
			fputc('?', out);
		else
			fwrite(text, 1, c.bytes, out);
	}
}
