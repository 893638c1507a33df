/* SPDX-License-Identifier: MIT
 * receiver.h -- where profiles are pushed to: a store, Pyroscope, or a receiver of OpenTelemetry.
 * Layer: push.  The folder's door. read_process.h reads the profiles of a process, delta.h
 * subtracts what was pushed before, progress.h keeps that between pushes, retry.h says when to try
 * again, secret.h reads passwords; encode/ writes the requests.
 *
 *   dir:///PATH, clickhouse://...          stores (store/profile_store.h)
 *   pyroscope+http://HOST[:PORT][/PATH]    also pyroscope+https://
 *   otlp+http://HOST[:PORT][/PATH]         also otlp+https://
 *
 * "https+insecure" in the place of https: the server's certificate is not checked. */
#ifndef MW_TOOL_PUSH_RECEIVER_H
#define MW_TOOL_PUSH_RECEIVER_H

#include "http/client.h"
#include "model/error.h"
#include "push/retry.h"
#include "store/profile_store.h"

typedef struct mw_receiver mw_receiver_t;

/* Texts are borrowed for the time of mw_receiver_open(). */
typedef struct mw_receiver_options {
	const char *token;      /* sent as "Authorization: Bearer"; NULL = none */
	const char *user;       /* with `password`; NULL = none */
	const char *password;   /* NULL = none */
	const char *tenant;     /* sent as "X-Scope-OrgID"; NULL = none */
	mw_client_tls_t tls;    /* borrowed until mw_receiver_close() */
	double timeout_seconds; /* for each answer; 0 = a minute */
} mw_receiver_options_t;

/* -1: it is no URL of a receiver, or has a password in it, which the message does not show. */
int mw_receiver_check(const char *url, mw_error_t *error);

/* Opens a receiver; nothing is sent yet.  -1: the URL is none, or has a password in it; the message
 * does not show it.  The caller calls mw_receiver_close(). */
int mw_receiver_open(const char *url, const mw_receiver_options_t *options, mw_receiver_t **out,
		     mw_error_t *error);
void mw_receiver_close(mw_receiver_t *receiver); /* NULL is allowed */

/* The URL, for messages: it holds no secret. */
const char *mw_receiver_url(const mw_receiver_t *receiver);
/* The URL and the tenant: what names those that get the profiles (push/progress.h). */
const char *mw_receiver_name(const mw_receiver_t *receiver);
/* True if a secret would cross a network unencrypted: http:// beyond this machine. */
bool mw_receiver_is_open(const mw_receiver_t *receiver);

typedef enum mw_send_result {
	MW_SEND_DONE,  /* the receiver has the profile, or the profile has no sample of the kind */
	MW_SEND_AGAIN, /* status 429 or 5xx, no connection, or a store that is busy */
	MW_SEND_REFUSED, /* the receiver will not take it */
} mw_send_result_t;

/* Sends a profile once.  `error` is filled in unless the result is DONE.
 * *retry_after_seconds, with AGAIN: what the receiver asks for; -1 = nothing. */
mw_send_result_t mw_receiver_send(mw_receiver_t *receiver, const mw_put_t *put,
				  long *retry_after_seconds, mw_error_t *error);

/* Sends a profile, and again while the result is AGAIN and `retry` permits. */
mw_send_result_t mw_receiver_deliver(mw_receiver_t *receiver, const mw_put_t *put,
				     mw_retry_t *retry, mw_error_t *error);

#endif
