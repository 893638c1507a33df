/* SPDX-License-Identifier: MIT
 * fetch.h -- downloads profiles from servers: net/http/pprof's /debug/pprof/..., gperftools'
 * /pprof/...
 * Layer: live. libcurl is loaded only when a URL is given.  The server is not trusted: the size
 * and time of its answer are limited, and only http and https redirections are followed. */
#ifndef MW_TOOL_LIVE_FETCH_H
#define MW_TOOL_LIVE_FETCH_H

#include <stdbool.h>

#include "model/error.h"
#include "model/profile.h"

typedef struct mw_fetch_options {
	unsigned seconds;       /* how long the server collects; 0 = the server's default */
	double timeout_seconds; /* additional time for all answers; 0 = a minute */
	/* PEM file with the certificates to trust; NULL = SSL_CERT_FILE and SSL_CERT_DIR, or
	 * else the system's. */
	const char *authority;
	const char *certificate; /* client certificate for servers that ask for one; NULL = none */
	/* Private key of `certificate`; NULL = in the file of the certificate. */
	const char *key;
} mw_fetch_options_t;

/* Sets options for the rest of this run.  Texts are borrowed. */
void mw_fetch_configure(const mw_fetch_options_t *options);

/* True for "http://...", "https://...", "https+insecure://..." (whose certificate is not
 * checked), and "host:6060/..." if no file has that name. */
bool mw_is_url(const char *text);

/* Returns the URL that is requested for `text`: with a scheme, with the path of the heap profile
 * if `text` has no path, and with the seconds.  The caller frees it. */
char *mw_fetch_url(const char *text);

/* Downloads into a memfd, which the caller closes. */
int mw_fetch(const char *url, int *out_fd, mw_error_t *error);

/* Asks the server of the profile at `url` for the functions of locations without a name, at
 * .../symbol.  Returns 0 also if the server knows no names. */
int mw_fetch_symbols(const char *url, mw_profile_t *profile, mw_error_t *error);

#endif
