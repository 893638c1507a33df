/* SPDX-License-Identifier: MIT
 * page_key.h -- who may see a page: who asks for an address with its secret, and from then on the
 * browser, which has the secret in a cookie.
 * Layer: http.  The page stands at "/PLACE/", 64 random bits.  The secret, 128 bits, is the value
 * of ?token= or of a cookie.  The place stays in the browser's address bar; it keeps the cookie
 * from other servers of this machine, because a browser sends a cookie to each port of a host, and
 * only its path tells servers apart. */
#ifndef MW_TOOL_HTTP_PAGE_KEY_H
#define MW_TOOL_HTTP_PAGE_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "http/server.h"

#define MW_HTTP_PLACE_BYTES 17
#define MW_HTTP_SECRET_BYTES 33
/* Bytes of a page's address with its secret. */
#define MW_HTTP_ADDRESS_BYTES (MW_HTTP_ORIGIN_BYTES + 96)

typedef struct mw_page_key {
	char place[MW_HTTP_PLACE_BYTES];
	char secret[MW_HTTP_SECRET_BYTES];
} mw_page_key_t;

/* Draws both.  -1: the kernel gives no random bytes. */
int mw_page_key_draw(mw_page_key_t *key, mw_error_t *error);
/* Writes the address with the secret, for people who paste it into a browser. */
void mw_page_key_address(const mw_page_key_t *key, const mw_http_server_t *server,
			 char address[MW_HTTP_ADDRESS_BYTES]);

/* Returns what follows the place in the path; NULL: the path is another's. */
const char *mw_page_key_path(const mw_page_key_t *key, const mw_http_request_t *request);
/* Whether the request has the secret.  A cookie counts only if the browser says that this page or
 * its user sent the request, as far as it says who did. */
bool mw_page_key_is_known(const mw_page_key_t *key, const mw_http_request_t *request);
/* If the secret was in the address, the answer gives it to the browser as a cookie, which scripts
 * cannot read and other sites cannot use. */
void mw_page_key_remember(const mw_page_key_t *key, const mw_http_request_t *request,
			  mw_http_answer_t *answer);

#endif
