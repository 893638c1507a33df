/* SPDX-License-Identifier: MIT
 * web_site.h -- the addresses of the page: its files, what it asks for, what it sends.
 * Layer: cmd/web.  All of them are for those alone who know the secret of http/page_key.h. */
#ifndef MW_TOOL_CMD_WEB_WEB_SITE_H
#define MW_TOOL_CMD_WEB_WEB_SITE_H

#include "cmd/web/web_targets.h"
#include "http/page_key.h"
#include "http/server.h"

/* What the file that opens the browser has behind the address (http/browser.h): it can go then. */
#define MW_WEB_FROM_FILE "&from=file"

typedef struct mw_web_site {
	mw_web_targets_t targets;
	bool has_control; /* the page may start, stop and reset the sampling */
	mw_page_key_t key;
} mw_web_site_t;

/* Answers a request; `context` is the mw_web_site_t. */
void mw_web_site_answer(const mw_http_request_t *request, void *context, mw_http_answer_t *answer);

#endif
