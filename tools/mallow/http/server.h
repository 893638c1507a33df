/* SPDX-License-Identifier: MIT
 * server.h -- a small HTTP server: hands requests to a function and sends the answers.
 * Layer: http.  The folder's door.  subprocess.h answers a request by the output of a subcommand of
 * mallow in a process of its own, so that requests do not share state and may wait.  page_key.h and
 * browser.h keep a page's secret.  The server is libmicrohttpd with a thread for each connection.
 */
#ifndef MW_TOOL_HTTP_SERVER_H
#define MW_TOOL_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "http/access.h"
#include "model/error.h"

/* Most bytes of a request's body. */
#define MW_HTTP_BODY_BYTES ((size_t)1 << 20)

typedef struct mw_http_server mw_http_server_t;

typedef struct mw_http_request {
	const char *method; /* "GET", "HEAD" or "POST" */
	const char *path;   /* decoded, without the query */
	const char *body;   /* of a POST; ends in a 0 */
	size_t body_bytes;
	void *query; /* for mw_http_query() */
	int client;  /* its socket, which tells when the client has gone */
	const mw_http_server_t *server;
} mw_http_request_t;

/* Returns the value of a key of the query, decoded; NULL: it is not there. */
const char *mw_http_query(const mw_http_request_t *request, const char *key);
/* Returns whether the function returns true for the value of a header of this name, of which a
 * request may have several. */
typedef bool mw_http_value_check_t(void *context, const char *value);
bool mw_http_any_header(const mw_http_request_t *request, const char *name,
			mw_http_value_check_t *is_wanted, void *context);

/* An answer.  fd >= 0: the content is that of the file, from its start, and the server closes it.
 * Otherwise it is `text`, which the server frees. */
typedef struct mw_http_answer {
	unsigned status; /* such as 200 */
	const char *type;
	int fd;
	char *text;
	size_t text_bytes;
	const char *policy; /* Content-Security-Policy; NULL: none */
	char file_name[64]; /* under which a browser saves the answer; "": it shows it */
	char cookie[128];   /* Set-Cookie; "": none */
} mw_http_answer_t;

/* Returns whether a page of this server sent the request, as far as the browser says; requests
 * without an origin are not from a page. */
bool mw_http_is_own_origin(const mw_http_request_t *request);
/* Returns whether the request has the server's password, if there is one.  The handler asks, and
 * answers 401, upon which a browser asks its user. */
bool mw_http_is_admitted(const mw_http_request_t *request);

/* Tells that the client knows the page's secret: its connection is not evicted for those of clients
 * who do not (connections.h). */
void mw_http_trust(const mw_http_request_t *request);

/* Answers with a text, which is copied. */
void mw_http_say(mw_http_answer_t *answer, unsigned status, const char *type, const char *text);

/* Called in a thread of its own for each request. */
typedef void mw_http_handler_t(const mw_http_request_t *request, void *context,
			       mw_http_answer_t *answer);

typedef struct mw_http_config {
	/* "HOST:PORT", a numeric address or "localhost"; port 0: a free one. */
	const char *address;
	mw_http_handler_t *handler;
	void *context; /* for the handler */
	/* Who may come from where; NULL: everybody, without TLS. */
	const mw_http_access_t *access;
} mw_http_config_t;

/* Listens.  With `access` an address beyond loopback is an error unless it is guarded.  On loopback
 * requests whose Host is neither an address of loopback nor that of the proxy are refused: pages of
 * other sites cannot reach the server through the user's browser.  Returns NULL with an error. */
mw_http_server_t *mw_http_start(const mw_http_config_t *config, mw_error_t *error);
/* "http://127.0.0.1:6060", or the address behind the proxy */
const char *mw_http_url(const mw_http_server_t *server);
/* The port that the server listens on. */
unsigned mw_http_port(const mw_http_server_t *server);
/* Waits for running requests, and ends. */
void mw_http_stop(mw_http_server_t *server);

#endif
