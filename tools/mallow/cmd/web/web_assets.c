/* SPDX-License-Identifier: MIT
 * web_assets.c -- embeds what `npm run build` in web/ has made. */
#include "cmd/web/web_assets.h"

#include <string.h>

/* The symbols are global, because link-time optimisation may separate this assembly from its
 * users. */
#define LABEL(name) ".globl web_" #name "\n.hidden web_" #name "\nweb_" #name ":\n"
#define EMBED(name, file)                                                                          \
	__asm__(".pushsection .rodata\n" LABEL(name##_begin) ".incbin \"" MALLOW_WEB "/" file      \
							     "\"\n" LABEL(                         \
								     name##_end) ".popsection\n"); \
	extern const char web_##name##_begin[], web_##name##_end[]
EMBED(page, "index.html");
EMBED(script, "app.js");
EMBED(style, "app.css");

static const mw_web_asset_t assets[] = {
	{"", "text/html; charset=utf-8", web_page_begin, web_page_end},
	{"app.js", "text/javascript; charset=utf-8", web_script_begin, web_script_end},
	{"app.css", "text/css; charset=utf-8", web_style_begin, web_style_end},
};

const mw_web_asset_t *mw_web_asset_find(const char *name) {
	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++)
		if (strcmp(name, assets[i].name) == 0)
			return &assets[i];
	return NULL;
}
