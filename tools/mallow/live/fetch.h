/* SPDX-License-Identifier: MIT
 * fetch.h -- profiles of servers: net/http/pprof's /debug/pprof/..., gperftools' /pprof/...
 * Layer: live.  libcurl is loaded when a URL is given, and not before.  The server is not trusted:
 * what it sends is bounded in size and time, and only http and https are followed. */
#ifndef MW_LIVE_FETCH_H
#define MW_LIVE_FETCH_H

#include <stdbool.h>

#include "model/error.h"
#include "model/profile.h"

typedef struct mw_fetch_options {
	unsigned seconds;        /* how long the server is to collect; 0: as it likes */
	double timeout_seconds;  /* what the answer may take beyond that; 0: a minute */
	const char *authority;   /* file of the certificates to trust, PEM; NULL: SSL_CERT_FILE
				  * and SSL_CERT_DIR, else the system's */
	const char *certificate; /* our own, for servers that ask for one; NULL: none */
	const char *key;         /* of that; NULL: in the same file */
} mw_fetch_options_t;

/* For the rest of this run; texts are borrowed. */
void mw_fetch_configure(const mw_fetch_options_t *options);

/* "http://...", "https://...", "https+insecure://..." (whose certificate is not looked at), or
 * "host:6060/..." where no file has that name. */
bool mw_is_url(const char *text);

/* The URL that is asked for `text`: with a scheme, the place of the heap profile where there is
 * none, and the seconds.  The caller frees it. */
char *mw_fetch_url(const char *text);

/* The body of the answer in a memfd, which the caller closes. */
int mw_fetch(const char *url, int *out_fd, mw_error_t *error);

/* Asks the server that the profile at `url` came from for the functions of locations that have no
 * name: its .../symbol.  0 as well when it knows none. */
int mw_fetch_symbols(const char *url, mw_profile_t *profile, mw_error_t *error);

#endif
