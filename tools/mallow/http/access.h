/* SPDX-License-Identifier: MIT
 * access.h -- what a server needs to be reached from other machines: a password, TLS, or the
 * address of a proxy that has both. Layer: http. */
#ifndef MW_TOOL_HTTP_ACCESS_H
#define MW_TOOL_HTTP_ACCESS_H

#include <stdbool.h>

#include "model/error.h"

#define MW_HTTP_PASSWORD_BYTES 256
#define MW_HTTP_ORIGIN_BYTES 300

/* Names of files, and the address of the page behind a proxy; each may be NULL. */
typedef struct mw_http_access_files {
	const char *password, *certificate;
	const char *key; /* NULL: in the certificate's file */
	const char *base_url;
} mw_http_access_files_t;

/* Zero: a server on loopback, without a password. */
typedef struct mw_http_access {
	char password[MW_HTTP_PASSWORD_BYTES]; /* "": none */
	char *certificate, *key;               /* PEM; NULL: no TLS */
	char base_url[MW_HTTP_ORIGIN_BYTES];   /* without a '/' at its end; "": no proxy */
	char origin[MW_HTTP_ORIGIN_BYTES];     /* of base_url: "https://host:port" */
} mw_http_access_t;

/* Reads the files.  A file with a password or a key that other users can read is an error.
 * mw_http_access_release() afterwards, also after an error. */
int mw_http_access_read(const mw_http_access_files_t *files, mw_http_access_t *access,
			mw_error_t *error);
void mw_http_access_release(mw_http_access_t *access);

/* Whether the server may listen beyond loopback. */
bool mw_http_access_is_guarded(const mw_http_access_t *access);
/* Whether this is the password, which a request sends; `sent` may be NULL.  Takes a time that does
 * not depend on where the two differ. */
bool mw_http_access_is_password(const mw_http_access_t *access, const char *sent);
/* Whether a Host header names the proxy's address. */
bool mw_http_access_is_host(const mw_http_access_t *access, const char *host);

#endif
