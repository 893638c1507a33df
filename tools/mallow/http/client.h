/* SPDX-License-Identifier: MIT
 * client.h -- sends one HTTP request by libcurl, which is loaded with the first.
 * Layer: http.  The server is not trusted: size and time of its answer are limited, and requests
 * and redirections go to http and https only.  Not safe for threads. */
#ifndef MW_TOOL_HTTP_CLIENT_H
#define MW_TOOL_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"

/* Scheme for a server whose certificate is not checked. */
#define MW_HTTPS_INSECURE "https+insecure://"

typedef struct mw_client_tls {
	/* PEM file with the certificates to trust; NULL = $SSL_CERT_FILE and $SSL_CERT_DIR, or
	 * else the system's. */
	const char *authority;
	const char *certificate; /* client certificate for servers that ask for one; NULL = none */
	/* Private key of `certificate`; NULL = in the file of the certificate. */
	const char *key;
} mw_client_tls_t;

/* Texts and bytes are borrowed for the time of the call. */
typedef struct mw_client_request {
	const char *url; /* http://, https:// or https+insecure:// */
	/* "GET", "PUT", ...; NULL = POST if there is a body, else GET. */
	const char *method;
	/* Lines "Name: value", ended by NULL; NULL = none.  A header with a line end or another
	 * control character is refused.  Secrets belong here: headers are in no message. */
	const char *const *headers;
	const void *body; /* NULL = none */
	size_t body_bytes;
	mw_client_tls_t tls;
	double timeout_seconds;  /* for the whole request */
	double limit_seconds;    /* the time that the message names; 0 = timeout_seconds */
	unsigned redirects_max;  /* 0 = redirections are answers as others */
	size_t answer_bytes_max; /* larger answers are an error */
	int answer_fd;           /* the body goes there; -1: into memory */
	/* Opens a connection of its own.  On a kept one libcurl sends a request once more by itself
	 * if the server closes the connection without an answer. */
	bool is_sent_once;
	const char *verb; /* for messages "cannot VERB: ..."; NULL = "fetch" */
} mw_client_request_t;

typedef enum mw_client_result {
	MW_CLIENT_ANSWERED,  /* with any status */
	MW_CLIENT_LOST,      /* no connection, or it ended before the answer; another try may do */
	MW_CLIENT_TIMED_OUT, /* no whole answer in time; another try may do */
	MW_CLIENT_FAILED,    /* another try would fail, too: certificates, too large an answer */
} mw_client_result_t;

typedef struct mw_client_answer {
	long status;              /* 200, 404, ...; 0 without an answer */
	long retry_after_seconds; /* header Retry-After; -1 = none */
	/* Body; a NUL follows.  NULL if it went to answer_fd.  mw_client_answer_release() frees. */
	char *text;
	size_t bytes;
} mw_client_answer_t;

/* A connection that is kept open between requests. */
typedef struct mw_client mw_client_t;

/* `purpose` begins the message where libcurl is not installed: "cannot fetch URLs".  NULL: `error`
 * says why. */
mw_client_t *mw_client_open(const char *purpose, mw_error_t *error);
void mw_client_close(mw_client_t *client); /* NULL is allowed */

/* Sends a request and waits for the answer.  `error` is filled in for all results but ANSWERED.
 * The caller calls mw_client_answer_release() whatever the result. */
mw_client_result_t mw_client_send(mw_client_t *client, const mw_client_request_t *request,
				  mw_client_answer_t *answer, mw_error_t *error);
void mw_client_answer_release(mw_client_answer_t *answer);

#endif
