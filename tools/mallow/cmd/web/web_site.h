/* SPDX-License-Identifier: MIT
 * web_site.h -- the addresses of the page: its files, what it asks for, what it sends.
 * Layer: cmd/web.  All addresses begin with a secret token; who does not know it sees nothing. */
#ifndef MW_TOOL_CMD_WEB_WEB_SITE_H
#define MW_TOOL_CMD_WEB_WEB_SITE_H

#include "cmd/web/web_targets.h"
#include "http/server.h"

#define MW_WEB_TOKEN_BYTES 33

typedef struct mw_web_site {
	mw_web_targets_t targets;
	bool has_control; /* the page may start, stop and reset the sampling */
	char token[MW_WEB_TOKEN_BYTES];
} mw_web_site_t;

/* Draws the token.  -1: the kernel gives no random bytes. */
int mw_web_site_make_token(mw_web_site_t *site, mw_error_t *error);
/* Answers a request; `context` is the mw_web_site_t. */
void mw_web_site_answer(const mw_http_request_t *request, void *context, mw_http_answer_t *answer);

#endif
