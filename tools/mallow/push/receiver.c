/* SPDX-License-Identifier: MIT
 * receiver.c -- opens receivers by their URL, and sends requests by HTTP. */
#include "push/receiver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/memory.h"
#include "push/encode/message.h"
#include "push/encode/otlp.h"
#include "push/encode/pyroscope.h"

#define TIMEOUT_SECONDS 60.0
/* Receivers answer with a line. */
#define ANSWER_MAX ((size_t)1 << 20)
/* Words of a receiver that a message shows. */
#define WORDS_MAX 200
#define PYROSCOPE "pyroscope+"
#define OTLP "otlp+"
#define ALLOWED                                                                                    \
	"dir:///PATH, clickhouse://[USER@]HOST:PORT/DATABASE, pyroscope+http(s)://HOST, "          \
	"otlp+http(s)://HOST"

typedef enum protocol {
	PROTOCOL_STORE,
	PROTOCOL_PYROSCOPE,
	PROTOCOL_OTLP,
} protocol_t;

struct mw_receiver {
	protocol_t protocol;
	char *url;
	char *name;          /* URL and tenant */
	mw_store_t *store;   /* of PROTOCOL_STORE; the rest is of the others */
	mw_client_t *client; /* NULL until the first request */
	char *place;         /* URL of requests */
	char *authorization; /* header lines; NULL = none */
	char *tenant;
	mw_client_tls_t tls;
	double timeout_seconds;
};

static bool begins_with(const char *text, const char *start) {
	return strncmp(text, start, strlen(start)) == 0;
}

/* Returns the URL behind "pyroscope+" or "otlp+"; NULL: it has neither. */
static const char *http_url(const char *url, protocol_t *protocol) {
	const char *rest = NULL;
	if (begins_with(url, PYROSCOPE)) {
		*protocol = PROTOCOL_PYROSCOPE;
		rest = url + strlen(PYROSCOPE);
	} else if (begins_with(url, OTLP)) {
		*protocol = PROTOCOL_OTLP;
		rest = url + strlen(OTLP);
	}
	if (rest != NULL && (begins_with(rest, "http://") || begins_with(rest, "https://") ||
			     begins_with(rest, MW_HTTPS_INSECURE)))
		return rest;
	return NULL;
}

/* Refuses what would be a secret on the command line, without showing it. */
static int check_secrets(const char *url, mw_error_t *error) {
	if (!mw_store_url_has_password(url))
		return 0;
	return mw_error_set(error,
			    "%.*s://...@: a URL has no password, because all users can read it; "
			    "give it with --password-file FILE or MALLOW_PUSH_PASSWORD",
			    (int)(strstr(url, "://") - url), url);
}

static int check_http(const char *shown, const char *url, mw_error_t *error) {
	const char *host = strstr(url, "://") + 3;
	size_t length = strcspn(host, "/?#");
	if (memchr(host, '@', length) != NULL)
		return mw_error_set(error, "--to does not take a user in '%s'; use --user NAME",
				    shown);
	if (host[length + strcspn(host + length, "?#")] != '\0')
		return mw_error_set(error, "--to does not take '?' or '#' in a URL; allowed: %s",
				    ALLOWED);
	for (const char *at = host; *at != '\0'; at++)
		if ((unsigned char)*at <= ' ' || *at == 127)
			length = 0;
	if (length == 0)
		return mw_error_set(error, "--to does not take '%s'; allowed: %s", shown, ALLOWED);
	return 0;
}

/* Returns the URL with the path that the protocol has below the server's address. */
static char *request_url(const char *url, protocol_t protocol) {
	const char *path = protocol == PROTOCOL_OTLP ? MW_OTLP_PATH : MW_PYROSCOPE_PATH;
	size_t length = strlen(url), tail = strlen(path);
	while (length > 0 && url[length - 1] == '/')
		length--;
	bool has_path = length >= tail && strncmp(url + length - tail, path, tail) == 0;
	char *place = mw_xcalloc(length + tail + 1, 1);
	memcpy(place, url, length);
	if (!has_path)
		memcpy(place + length, path, tail);
	return place;
}

static char *joined(const char *before, const char *text) {
	size_t size = strlen(before) + strlen(text) + 1;
	char *line = mw_xcalloc(size, 1);
	snprintf(line, size, "%s%s", before, text);
	return line;
}

static void free_secret(char *text) {
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

static char *basic_authorization(const char *user, const char *password) {
	mw_message_t base64 = {0};
	char *before = joined(user, ":"), *pair = joined(before, password);
	mw_message_base64(&base64, pair, strlen(pair));
	mw_message_append(&base64, "", 1);
	char *line = joined("Authorization: Basic ", (const char *)base64.bytes);
	explicit_bzero(base64.bytes, base64.length);
	mw_message_release(&base64);
	free_secret(pair);
	free(before);
	return line;
}

static int take_options(mw_receiver_t *r, const mw_receiver_options_t *options, mw_error_t *error) {
	r->tls = options->tls;
	r->timeout_seconds =
		options->timeout_seconds > 0 ? options->timeout_seconds : TIMEOUT_SECONDS;
	if (options->token != NULL && options->user != NULL)
		return mw_error_set(error, "a token and a user name do not go together; give one");
	if (options->token == NULL && (options->user != NULL) != (options->password != NULL))
		return mw_error_set(error, options->user != NULL
						   ? "--user needs a password: --password-file "
						     "FILE or MALLOW_PUSH_PASSWORD"
						   : "a password needs --user NAME");
	if (options->token != NULL)
		r->authorization = joined("Authorization: Bearer ", options->token);
	else if (options->user != NULL)
		r->authorization = basic_authorization(options->user, options->password);
	if (options->tenant != NULL)
		r->tenant = joined("X-Scope-OrgID: ", options->tenant);
	return 0;
}

static int open_store(mw_receiver_t *r, const mw_receiver_options_t *options, mw_error_t *error) {
	const mw_store_options_t store = {
		.user = options->user,
		.password = options->password,
		.timeout_seconds =
			options->timeout_seconds > 0 ? options->timeout_seconds : TIMEOUT_SECONDS,
	};
	if (options->token != NULL || options->tenant != NULL)
		return mw_error_set(error, "%s: a store takes neither a token nor a tenant",
				    r->url);
	return mw_store_open(r->url, &store, true, &r->store, error);
}

int mw_receiver_check(const char *url, mw_error_t *error) {
	protocol_t protocol;
	const char *http = http_url(url, &protocol);
	if (check_secrets(url, error) != 0)
		return -1;
	if (http == NULL && !mw_store_is_url(url))
		return mw_error_set(error, "--to does not take '%s'; allowed: %s", url, ALLOWED);
	return http != NULL ? check_http(url, http, error) : 0;
}

int mw_receiver_open(const char *url, const mw_receiver_options_t *options, mw_receiver_t **out,
		     mw_error_t *error) {
	protocol_t protocol = PROTOCOL_STORE;
	const char *http = http_url(url, &protocol);
	*out = NULL;
	if (mw_receiver_check(url, error) != 0)
		return -1;
	mw_receiver_t *r = mw_xcalloc(1, sizeof(*r));
	r->protocol = protocol;
	r->url = mw_xstrdup(url);
	char *before = joined(url, options->tenant != NULL ? " " : "");
	r->name = joined(before, options->tenant != NULL ? options->tenant : "");
	free(before);
	r->place = http != NULL ? request_url(http, protocol) : NULL;
	if ((http != NULL ? take_options : open_store)(r, options, error) != 0) {
		mw_receiver_close(r);
		return -1;
	}
	*out = r;
	return 0;
}

void mw_receiver_close(mw_receiver_t *r) {
	if (r == NULL)
		return;
	mw_store_close(r->store);
	mw_client_close(r->client);
	free_secret(r->authorization);
	free(r->tenant);
	free(r->place);
	free(r->url);
	free(r->name);
	free(r);
}

const char *mw_receiver_url(const mw_receiver_t *r) {
	return r->url;
}

const char *mw_receiver_name(const mw_receiver_t *r) {
	return r->name;
}

bool mw_receiver_is_open(const mw_receiver_t *r) {
	static const char *const local[] = {"127.", "localhost", "[::1]"};
	if (r->authorization == NULL || !begins_with(r->place, "http://"))
		return false;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		if (begins_with(r->place + strlen("http://"), local[i]))
			return false;
	return true;
}

/* Writes the body of the request.  Returns 1, 0 if there is nothing to send, or -1. */
static int make_body(const mw_receiver_t *r, const mw_put_t *put, mw_message_t *body,
		     mw_error_t *error) {
	if (r->protocol == PROTOCOL_PYROSCOPE)
		return mw_pyroscope_request(put, body, error);
	mw_message_t plain = {0};
	int result = mw_otlp_request(put, &plain);
	if (result == 1 && mw_message_gzip(body, plain.bytes, plain.length, error) != 0)
		result = -1;
	mw_message_release(&plain);
	return result;
}

static mw_send_result_t judge(const mw_receiver_t *r, const mw_client_answer_t *answer,
			      mw_error_t *error) {
	const char *words = answer->text;
	int shown = (int)strcspn(words, "\r\n");
	if (answer->status >= 200 && answer->status < 300) {
		mw_error_t why;
		if (r->protocol != PROTOCOL_OTLP ||
		    mw_otlp_answer(answer->text, answer->bytes, &why) == 0)
			return MW_SEND_DONE;
		mw_error_set(error, "%s: %s", r->url, why.text);
		return MW_SEND_REFUSED;
	}
	bool may_retry = answer->status == 429 || answer->status >= 500;
	const char *hint = answer->status == 413 ? "; raise the receiver's limit of sizes"
			   : answer->status == 401 || answer->status == 403
				   ? "; see --token-file, --user and --tenant"
				   : "";
	mw_error_set(error, "%s: the receiver answered with status %ld%s%.*s%s", r->url,
		     answer->status, shown > 0 ? ": " : "", shown < WORDS_MAX ? shown : WORDS_MAX,
		     words, hint);
	return may_retry ? MW_SEND_AGAIN : MW_SEND_REFUSED;
}

static mw_send_result_t post(mw_receiver_t *r, const mw_message_t *body, long *retry_after_seconds,
			     mw_error_t *error) {
	const char *headers[5];
	size_t count = 0;
	headers[count++] = r->protocol == PROTOCOL_OTLP ? "Content-Type: application/x-protobuf"
							: "Content-Type: application/json";
	/* The profile in the JSON is compressed already. */
	if (r->protocol == PROTOCOL_OTLP)
		headers[count++] = "Content-Encoding: gzip";
	if (r->authorization != NULL)
		headers[count++] = r->authorization;
	if (r->tenant != NULL)
		headers[count++] = r->tenant;
	headers[count] = NULL;
	const mw_client_request_t request = {
		.url = r->place,
		.headers = headers,
		.body = body->bytes,
		.body_bytes = body->length,
		.tls = r->tls,
		.timeout_seconds = r->timeout_seconds,
		.answer_bytes_max = ANSWER_MAX,
		.answer_fd = -1,
		.is_sent_once = true,
		.verb = "push",
	};
	mw_client_answer_t answer;
	if (r->client == NULL)
		r->client = mw_client_open("cannot push", error);
	if (r->client == NULL)
		return MW_SEND_REFUSED;
	mw_send_result_t result = MW_SEND_REFUSED;
	switch (mw_client_send(r->client, &request, &answer, error)) {
	case MW_CLIENT_ANSWERED:
		*retry_after_seconds = answer.retry_after_seconds;
		result = judge(r, &answer, error);
		break;
	case MW_CLIENT_LOST:
	case MW_CLIENT_TIMED_OUT:
		result = MW_SEND_AGAIN;
		break;
	case MW_CLIENT_FAILED:
		break;
	}
	mw_client_answer_release(&answer);
	return result;
}

mw_send_result_t mw_receiver_send(mw_receiver_t *r, const mw_put_t *put, long *retry_after_seconds,
				  mw_error_t *error) {
	*retry_after_seconds = -1;
	if (mw_identity_check(&put->identity, error) != 0)
		return MW_SEND_REFUSED;
	if (r->protocol == PROTOCOL_STORE) {
		bool may_retry = false;
		if (mw_store_put(r->store, put, &may_retry, error) == 0)
			return MW_SEND_DONE;
		return may_retry ? MW_SEND_AGAIN : MW_SEND_REFUSED;
	}
	mw_message_t body = {0};
	mw_send_result_t result = MW_SEND_REFUSED;
	int made = make_body(r, put, &body, error);
	if (made == 0)
		result = MW_SEND_DONE;
	else if (made > 0)
		result = post(r, &body, retry_after_seconds, error);
	mw_message_release(&body);
	return result;
}

static void pause_seconds(double seconds) {
	struct timespec pause = {.tv_sec = (time_t)seconds,
				 .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
	while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
		;
}

mw_send_result_t mw_receiver_deliver(mw_receiver_t *r, const mw_put_t *put, mw_retry_t *retry,
				     mw_error_t *error) {
	for (;;) {
		long retry_after_seconds;
		double seconds;
		mw_send_result_t result = mw_receiver_send(r, put, &retry_after_seconds, error);
		if (result != MW_SEND_AGAIN || !mw_retry_next(retry, retry_after_seconds, &seconds))
			return result;
		pause_seconds(seconds);
	}
}
