/* SPDX-License-Identifier: MIT
 * web_cache.h -- keeps the latest answers about files, so that a view that is shown again does not
 * read its profile again.  Answers to requests that change something are not kept.
 * Layer: cmd/web.  Any thread may call these functions. */
#ifndef MW_TOOL_CMD_WEB_WEB_CACHE_H
#define MW_TOOL_CMD_WEB_WEB_CACHE_H

#include "cmd/web/web_query.h"

/* Bytes of a key; a longer command line is not kept. */
#define MW_WEB_KEY_BYTES 2048

/* Writes the key of a command line about a file: its words, and which state of the file and of the
 * base they are about.  "": the answer must not be kept, because the target is a process or its
 * state file, has changed just now, or the answer depends on other files. */
void mw_web_cache_key(const mw_web_words_t *words, const mw_http_request_t *request,
		      char key[MW_WEB_KEY_BYTES]);
/* Returns a descriptor of the answer, which the caller closes; -1: it is not kept. */
int mw_web_cache_find(const char *key);
/* Keeps the answer, a file in memory.  The caller keeps its own descriptor. */
void mw_web_cache_add(const char *key, int fd);

#endif
