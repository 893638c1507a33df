/* SPDX-License-Identifier: MIT
 * connection.c -- requests to one ClickHouse server. */
#include "store/clickhouse/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "http/client.h"
#include "model/memory.h"
#include "store/clickhouse/clickhouse.h"

#define TIMEOUT_SECONDS 30.0
/* Limits of one query: memory of the server, the query's own bytes, the answer. */
#define SERVER_BYTES_MAX (UINT64_C(4) << 30)
#define QUERY_BYTES_MAX ((size_t)64 << 20)
#define ANSWER_BYTES_MAX ((size_t)512 << 20)
#define STATUS_FINE 200
#define PURPOSE "cannot use ClickHouse"
/* The server's own message, without what follows it. */
#define MESSAGE_CHARACTERS 200

#define ALLOWED "allowed: clickhouse://[USER@]HOST:PORT/DATABASE, or clickhouses:// for TLS"

/* Returns the part of the URL, and moves *at behind it. */
static char *cut(const char **at, size_t length, size_t behind) {
	char *part = mw_xcalloc(length + 1, 1);
	memcpy(part, *at, length);
	*at += length + behind;
	return part;
}

/* Host and port: what a name, an address or an IPv6 address in brackets is made of. */
static bool is_host(const char *host) {
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_:[]";
	return host[0] != '\0' && host[strspn(host, letters)] == '\0';
}

int mw_clickhouse_parse(const char *url, const mw_store_options_t *options, mw_clickhouse_t *out,
			mw_error_t *error) {
	bool is_tls = strncmp(url, MW_STORE_CLICKHOUSE_TLS, strlen(MW_STORE_CLICKHOUSE_TLS)) == 0;
	const char *at = strstr(url, "://");
	*out = (mw_clickhouse_t){.timeout_seconds = TIMEOUT_SECONDS};
	if (at == NULL)
		return mw_error_set(error, "%s: no URL of ClickHouse; " ALLOWED, url);
	/* The URL is not repeated: it holds the password. */
	if (mw_store_url_has_password(url))
		return mw_error_set(error, "the URL of ClickHouse holds a password, which others "
					   "see in the list of processes; give it in a file or the "
					   "environment");
	at += strlen("://");
	size_t authority = strcspn(at, "/?#");
	const char *user_end = memchr(at, '@', authority);
	if (user_end != NULL) {
		authority -= (size_t)(user_end - at) + 1;
		out->user = cut(&at, (size_t)(user_end - at), 1);
	}
	char *host = cut(&at, authority, at[authority] == '/');
	size_t name = strcspn(at, "/");
	out->database = cut(&at, name, at[name] == '/');
	if (!is_host(host) || *at != '\0' || !mw_sql_is_name(out->database)) {
		free(host);
		mw_clickhouse_release(out);
		return mw_error_set(error,
				    "%s: no URL of ClickHouse; " ALLOWED
				    ", the database of letters, digits and _",
				    url);
	}
	size_t size = strlen(host) + 32;
	bool has_port =
		strchr(host, ']') != NULL ? strstr(host, "]:") != NULL : strchr(host, ':') != NULL;
	out->address = mw_xcalloc(size, 1);
	snprintf(out->address, size, "%s://%s%s", is_tls ? "https" : "http", host,
		 has_port ? "" : (is_tls ? ":8443" : ":8123"));
	free(host);
	if (options->user != NULL) {
		free(out->user);
		out->user = mw_xstrdup(options->user);
	}
	if (options->password != NULL)
		out->password = mw_xstrdup(options->password);
	if (options->timeout_seconds > 0)
		out->timeout_seconds = options->timeout_seconds;
	return 0;
}

void mw_clickhouse_release(mw_clickhouse_t *self) {
	mw_client_close(self->client);
	if (self->password != NULL)
		explicit_bzero(self->password, strlen(self->password));
	free(self->address);
	free(self->database);
	free(self->user);
	free(self->password);
	free(self->known);
	*self = (mw_clickhouse_t){0};
}

/* Returns "Name: value", or NULL without a value. */
static char *header_of(const char *name, const char *value) {
	if (value == NULL)
		return NULL;
	size_t size = strlen(name) + strlen(value) + 3;
	char *header = mw_xcalloc(size, 1);
	snprintf(header, size, "%s: %s", name, value);
	return header;
}

/* True for failures of the server that pass: it is out of time, memory or disk, has too many
 * queries or parts to merge, or does not reach other servers.  The numbers are those of its
 * ErrorCodes. */
static bool is_passing(long status, int code) {
	static const int passing[] = {74,  75,  76,  159, 173, 202, 209, 210, 225, 236, 241,
				      242, 243, 252, 279, 285, 286, 319, 394, 425, 439, 999};
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (code == passing[i])
			return true;
	return code == 0 && (status == 429 || status >= 500);
}

/* Makes an error of the server's "Code: 60, e.displayText() = DB::Exception: TEXT, e.what() = ...".
 */
static int set_refusal(mw_clickhouse_t *self, long status, mw_answer_t *out, mw_error_t *error) {
	static const char number[] = "Code: ", text[] = "DB::Exception: ";
	const char *message = out->body;
	if (strncmp(message, number, strlen(number)) == 0)
		out->code = (int)strtol(message + strlen(number), NULL, 10);
	self->may_retry = is_passing(status, out->code);
	const char *begin = strstr(message, text);
	if (begin != NULL)
		message = begin + strlen(text);
	size_t length = strcspn(message, "\n");
	const char *end = strstr(message, ", e.what()");
	if (end != NULL && (size_t)(end - message) < length)
		length = (size_t)(end - message);
	if (length > MESSAGE_CHARACTERS)
		length = MESSAGE_CHARACTERS;
	return mw_error_set(error, "%s: ClickHouse refuses (status %ld, code %d): %.*s",
			    self->address, status, out->code, (int)length, message);
}

/* Sends to a server by a connection of the request's own.  libcurl sends a request again of itself
 * if the connection was used before and is closed without an answer: rows would be there twice. */
static mw_client_result_t send_once(const mw_client_request_t *request, mw_client_answer_t *answer,
				    mw_error_t *error) {
	mw_client_t *client = mw_client_open(PURPOSE, error);
	mw_client_result_t result = MW_CLIENT_FAILED;
	if (client != NULL)
		result = mw_client_send(client, request, answer, error);
	mw_client_close(client);
	return result;
}

/* Sends to a server by the connection of the request before. */
static mw_client_result_t send_again(mw_clickhouse_t *self, const mw_client_request_t *request,
				     mw_client_answer_t *answer, mw_error_t *error) {
	if (self->client == NULL)
		self->client = mw_client_open(PURPOSE, error);
	if (self->client == NULL)
		return MW_CLIENT_FAILED;
	return mw_client_send(self->client, request, answer, error);
}

/* Makes an error of the client's, which begins with the URL: its settings tell nobody anything. */
static int set_failure(const mw_clickhouse_t *self, const char *url, const mw_error_t *failure,
		       mw_error_t *error) {
	size_t length = strlen(url);
	bool has_url = strncmp(failure->text, url, length) == 0 &&
		       strncmp(failure->text + length, ": ", strlen(": ")) == 0;
	return mw_error_set(error, "%s: %s", self->address,
			    has_url ? failure->text + length + strlen(": ") : failure->text);
}

typedef struct request {
	const char *database; /* NULL = none */
	const char *query;    /* in the URL; NULL = it is the body */
	const void *body;
	size_t body_bytes;
	bool may_be_sent_twice;
} request_t;

/* Sends one request. */
static int send_request(mw_clickhouse_t *self, const request_t *request, mw_answer_t *out,
			mw_error_t *error) {
	char *user = header_of("X-ClickHouse-User", self->user);
	char *key = header_of("X-ClickHouse-Key", self->password);
	const char *headers[4] = {"Expect:"};
	size_t used = 1;
	if (user != NULL)
		headers[used++] = user;
	if (key != NULL)
		headers[used++] = key;
	mw_sql_t url = {0};
	/* With wait_end_of_query a failure in the midst of an answer has a status of its own. */
	mw_sql_add(&url,
		   "%s/?wait_end_of_query=1&insert_distributed_sync=1&max_execution_time=%ld"
		   "&max_memory_usage=%llu&max_query_size=%zu&max_ast_elements=10000000"
		   "&max_expanded_ast_elements=10000000",
		   self->address, (long)self->timeout_seconds + 1,
		   (unsigned long long)SERVER_BYTES_MAX, QUERY_BYTES_MAX);
	if (request->database != NULL)
		mw_sql_add(&url, "&database=%s", request->database);
	if (request->query != NULL) {
		mw_sql_add(&url, "&query=");
		for (const char *c = request->query; *c != '\0'; c++)
			mw_sql_add(&url, *c == ' ' ? "%%20" : "%c", *c);
	}
	const mw_client_request_t sent = {
		.url = url.text,
		.method = "POST",
		.headers = headers,
		.body = request->body,
		.body_bytes = request->body_bytes,
		.timeout_seconds = self->timeout_seconds,
		.answer_bytes_max = ANSWER_BYTES_MAX,
		.answer_fd = -1,
		.verb = "ask ClickHouse",
	};
	mw_client_answer_t answer = {0};
	mw_error_t failure;
	*out = (mw_answer_t){0};
	mw_client_result_t result = request->may_be_sent_twice
					    ? send_again(self, &sent, &answer, &failure)
					    : send_once(&sent, &answer, &failure);
	self->may_retry = result == MW_CLIENT_LOST || result == MW_CLIENT_TIMED_OUT;
	out->body = answer.text != NULL ? answer.text : mw_xstrdup("");
	out->length = answer.text != NULL ? answer.bytes : 0;
	int failed =
		result != MW_CLIENT_ANSWERED ? set_failure(self, url.text, &failure, error) : 0;
	if (failed == 0 && answer.status != STATUS_FINE)
		failed = set_refusal(self, answer.status, out, error);
	mw_sql_free(&url);
	if (key != NULL)
		explicit_bzero(key, strlen(key));
	free(user);
	free(key);
	return failed;
}

/* Sends a query that was put together, and frees it. */
static int send_query(mw_clickhouse_t *self, mw_sql_t *sql, request_t request, mw_answer_t *out,
		      mw_error_t *error) {
	int result;
	*out = (mw_answer_t){0};
	self->may_retry = false;
	if (sql->is_refused || sql->length > QUERY_BYTES_MAX) {
		out->body = mw_xstrdup("");
		result = mw_error_set(error,
				      "a text of the question is longer than %d bytes, or all of "
				      "it is longer than %zu",
				      MW_SQL_LITERAL_BYTES_MAX, QUERY_BYTES_MAX);
	} else {
		request.body = sql->text;
		request.body_bytes = sql->length;
		result = send_request(self, &request, out, error);
	}
	mw_sql_free(sql);
	return result;
}

int mw_clickhouse_query(mw_clickhouse_t *self, mw_sql_t *sql, mw_answer_t *out, mw_error_t *error) {
	const request_t request = {.database = self->database, .may_be_sent_twice = true};
	return send_query(self, sql, request, out, error);
}

int mw_clickhouse_do(mw_clickhouse_t *self, mw_sql_t *sql, mw_error_t *error) {
	const request_t request = {.database = self->database};
	mw_answer_t answer;
	int result = send_query(self, sql, request, &answer, error);
	free(answer.body);
	return result;
}

int mw_clickhouse_create_database(mw_clickhouse_t *self, mw_error_t *error) {
	const request_t request = {0};
	mw_sql_t sql = {0};
	mw_answer_t answer;
	mw_sql_add(&sql, "CREATE DATABASE IF NOT EXISTS %s", self->database);
	int result = send_query(self, &sql, request, &answer, error);
	free(answer.body);
	return result;
}

int mw_clickhouse_insert(mw_clickhouse_t *self, const char *table, const char *columns,
			 const mw_row_bytes_t *rows, mw_error_t *error) {
	mw_sql_t sql = {0};
	mw_answer_t answer;
	mw_sql_add(&sql, "INSERT INTO %s %s FORMAT RowBinary", table, columns);
	const request_t request = {.database = self->database,
				   .query = sql.text,
				   .body = rows->bytes,
				   .body_bytes = rows->length};
	int result = send_request(self, &request, &answer, error);
	mw_sql_free(&sql);
	free(answer.body);
	return result;
}

int mw_clickhouse_bad_answer(const mw_clickhouse_t *self, mw_error_t *error) {
	return mw_error_set(error,
			    "%s: the answer is cut, or not what was wanted; check that this is "
			    "the HTTP port of a ClickHouse server",
			    self->address);
}

int mw_clickhouse_random(uint64_t *out, mw_error_t *error) {
	*out = 0;
	while (*out == 0)
		if (getrandom(out, sizeof(*out), 0) != (ssize_t)sizeof(*out))
			return mw_error_set(error, "no random numbers: %s", strerror(errno));
	return 0;
}
