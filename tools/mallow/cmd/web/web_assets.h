/* SPDX-License-Identifier: MIT
 * web_assets.h -- the files of the page, which are part of the command.
 * Layer: cmd/web. */
#ifndef MW_TOOL_CMD_WEB_WEB_ASSETS_H
#define MW_TOOL_CMD_WEB_WEB_ASSETS_H

#include <stddef.h>

typedef struct mw_web_asset {
	const char *name; /* in the URL, behind the page's place */
	const char *type;
	const char *begin, *end;
} mw_web_asset_t;

/* Returns the file of this name; NULL: there is none.  The empty name is that of the page. */
const mw_web_asset_t *mw_web_asset_find(const char *name);

#endif
