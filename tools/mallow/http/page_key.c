/* SPDX-License-Identifier: MIT
 * page_key.c -- the secret in an address, and in a cookie. */
#include "http/page_key.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define NAME_BYTES 32

static int draw_hex(char *text, size_t bytes_of_text) {
	unsigned char bytes[MW_HTTP_SECRET_BYTES / 2];
	size_t count = bytes_of_text / 2;
	if (getrandom(bytes, count, 0) != (ssize_t)count)
		return -1;
	for (size_t i = 0; i < count; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int mw_page_key_draw(mw_page_key_t *key, mw_error_t *error) {
	if (draw_hex(key->place, sizeof(key->place)) != 0 ||
	    draw_hex(key->secret, sizeof(key->secret)) != 0)
		return mw_error_set(error, "the kernel gives no random bytes for a token");
	return 0;
}

void mw_page_key_address(const mw_page_key_t *key, const mw_http_server_t *server,
			 char address[MW_HTTP_ADDRESS_BYTES]) {
	snprintf(address, MW_HTTP_ADDRESS_BYTES, "%s/%s/?token=%s", mw_http_url(server), key->place,
		 key->secret);
}

/* Whether a text begins with these bytes, in a time that does not depend on where they differ. */
static bool begins_with(const char *text, const char *secret) {
	unsigned char difference = 0;
	size_t length = strlen(secret);
	if (strlen(text) < length)
		return false;
	for (size_t i = 0; i < length; i++)
		difference |= (unsigned char)(text[i] ^ secret[i]);
	return difference == 0;
}

static bool is_secret(const mw_page_key_t *key, const char *text) {
	return text != NULL && begins_with(text, key->secret) &&
	       text[MW_HTTP_SECRET_BYTES - 1] == '\0';
}

const char *mw_page_key_path(const mw_page_key_t *key, const mw_http_request_t *request) {
	const char *path = request->path;
	if (path[0] != '/' || !begins_with(path + 1, key->place) ||
	    path[MW_HTTP_PLACE_BYTES] != '/')
		return NULL;
	return path + MW_HTTP_PLACE_BYTES + 1;
}

/* ---- the cookie ---- */

typedef struct wanted {
	const mw_page_key_t *key;
	char name[NAME_BYTES];
} wanted_t;

/* Two pages on two ports have cookies of two names. */
static void name_cookie(const mw_http_request_t *request, char name[NAME_BYTES]) {
	snprintf(name, NAME_BYTES, "mallow-%u", mw_http_port(request->server));
}

/* Looks at each "name=value" of a Cookie header.  Other servers of the host may have set cookies
 * with this name, too, so that one that is wrong is passed over. */
static bool has_cookie(void *context, const char *header) {
	const wanted_t *wanted = context;
	size_t name = strlen(wanted->name);
	for (const char *at = header; *at != '\0'; at += *at == ';') {
		at += strspn(at, " \t");
		size_t length = strcspn(at, ";");
		if (length == name + MW_HTTP_SECRET_BYTES && at[name] == '=' &&
		    strncmp(at, wanted->name, name) == 0 &&
		    begins_with(at + name + 1, wanted->key->secret))
			return true;
		at += length;
	}
	return false;
}

/* Browsers send a cookie for all pages of its host, whatever their port, and say which it was. */
static bool is_from_another_page(void *context, const char *site) {
	(void)context;
	return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

bool mw_page_key_is_known(const mw_page_key_t *key, const mw_http_request_t *request) {
	wanted_t wanted = {.key = key};
	if (is_secret(key, mw_http_query(request, "token")))
		return true;
	name_cookie(request, wanted.name);
	return mw_http_any_header(request, "Cookie", has_cookie, &wanted) &&
	       !mw_http_any_header(request, "Sec-Fetch-Site", is_from_another_page, NULL);
}

/* The cookie has no Path: the browser takes that of the request, which is right behind a proxy,
 * too. */
void mw_page_key_remember(const mw_page_key_t *key, const mw_http_request_t *request,
			  mw_http_answer_t *answer) {
	char name[NAME_BYTES];
	if (!is_secret(key, mw_http_query(request, "token")))
		return;
	name_cookie(request, name);
	snprintf(answer->cookie, sizeof(answer->cookie), "%s=%s; HttpOnly; SameSite=Strict%s", name,
		 key->secret,
		 strncmp(mw_http_url(request->server), "https:", 6) == 0 ? "; Secure" : "");
}
