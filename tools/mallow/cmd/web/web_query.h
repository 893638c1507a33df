/* SPDX-License-Identifier: MIT
 * web_query.h -- makes a command line of a request: the view, and options that are allowed.
 * Layer: cmd/web. */
#ifndef MW_TOOL_CMD_WEB_WEB_QUERY_H
#define MW_TOOL_CMD_WEB_WEB_QUERY_H

#include "cmd/web/web_targets.h"
#include "http/server.h"
#include "http/subprocess.h"

/* A command line, and the texts that its words point to. */
typedef struct mw_web_words {
	mw_http_command_t command;
	size_t count;
	char *made[MW_HTTP_WORDS_MAX]; /* to free */
	size_t made_count;
} mw_web_words_t;

/* Appends a word that outlives the words. */
void mw_web_words_add(mw_web_words_t *words, const char *word);
/* Appends the options of the query, then its target, the value of the key "p".  Returns -1 with an
 * error if the target is not one that the page may show. */
int mw_web_words_add_query(mw_web_words_t *words, const mw_http_request_t *request,
			   const mw_web_targets_t *targets, mw_error_t *error);
/* Appends the value of the key "function", if there is one, and the store of the targets with the
 * question that the query asks: at, within, from, to, kind, service, by. */
int mw_web_words_add_store(mw_web_words_t *words, const mw_http_request_t *request,
			   const mw_web_targets_t *targets, mw_error_t *error);
/* Frees the texts. */
void mw_web_words_release(mw_web_words_t *words);

#endif
