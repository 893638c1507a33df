/* SPDX-License-Identifier: MIT
 * curl.h -- functions of libcurl, which sends HTTP requests (http/client.h).  Layer: libraries. */
#ifndef MW_TOOL_LIBRARIES_CURL_H
#define MW_TOOL_LIBRARIES_CURL_H

#include <curl/curl.h>

#include "model/error.h"

/* F(name): each function that the client calls, without its curl_. */
#define MW_CURL_FUNCTIONS(F)                                                                       \
	F(easy_cleanup)                                                                            \
	F(easy_getinfo)                                                                            \
	F(easy_init)                                                                               \
	F(easy_perform)                                                                            \
	F(easy_reset)                                                                              \
	F(easy_setopt)                                                                             \
	F(easy_strerror)                                                                           \
	F(slist_append)                                                                            \
	F(slist_free_all)

typedef struct mw_curl {
#define MW_CURL_FIELD(name) __typeof__(curl_##name) *name;
	MW_CURL_FUNCTIONS(MW_CURL_FIELD)
#undef MW_CURL_FIELD
} mw_curl_t;

/* All NULL until mw_curl_load() has returned 0. */
extern mw_curl_t mw_curl;

/* Loads the library, once for the process.  0, or -1 with an error that begins with `purpose`, such
 * as "cannot fetch URLs", and says what to install. */
int mw_curl_load(const char *purpose, mw_error_t *error);

#endif
