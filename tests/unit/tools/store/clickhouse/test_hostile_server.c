/* SPDX-License-Identifier: MIT
 * test_hostile_server.c -- a server that answers anything: each question fails with one line, or
 * gets what the answer says; none crashes, and none takes memory without end. */
#include <inttypes.h>

#include "store/clickhouse/clickhouse.h"
#include "store_model.h"
#include "store_proxy.h"

static model_t model = {.random = 20261130};
static proxy_t proxy;
static mw_error_t error;
static const mw_backend_t *backend = &mw_clickhouse_backend;
static void *store;
static char answer[8192];

/* Gives this answer to all requests from now on. */
static void answer_with(const char *status, const void *body, size_t length) {
	int head = snprintf(answer, sizeof(answer), "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n",
			    status, length);
	CHECK((size_t)head + length <= sizeof(answer));
	memcpy(answer + head, body, length);
	proxy.answer = answer;
	proxy.answer_length = (size_t)head + length;
}

static const mw_store_options_t options = {.timeout_seconds = 20, .password = "s3cret"};

/* A store whose tables are there. */
static void open_store(void) {
	char url[256];
	const unsigned char format[] = {1, 0, 0, 0};
	const mw_range_t range = {.kind = MW_KIND_HEAP, .until_ns = INT64_MAX};
	mw_point_t *points;
	size_t count;
	snprintf(url, sizeof(url), "clickhouse://me@127.0.0.1:%d/db", proxy.port);
	CHECK(backend->open(url, &options, true, &store, &error) == 0);
	answer_with("200 OK", format, sizeof(format));
	backend->timeline(store, &range, 1000, &points, &count, &error);
	free(points);
}

/* Asks everything.  Returns how many calls have failed. */
static int ask_all(void) {
	static model_put_t *put;
	const mw_range_t range = {.kind = MW_KIND_HEAP, .until_ns = INT64_MAX};
	const uint64_t ids[] = {1, 2};
	const char *builds[] = {"00aa"};
	bool has[1], may_retry;
	int64_t other[MW_VALUES] = {0};
	mw_counted_t counted = {0};
	mw_point_t *points;
	mw_service_row_t *services;
	size_t count;
	int failed = 0;
	mw_batch_t *batch = mw_batch_new();
	if (put == NULL)
		put = model_add(&model, MODEL_NOON_NS, 5);
	failed += backend->put(store, &put->put, put->batch, &may_retry, &error) != 0;
	failed += backend->samples(store, &range, MW_SUM_ALL, 0, 10, batch, other, &counted,
				   &error) != 0;
	mw_batch_add_sample(batch, 7, other);
	failed += backend->stacks(store, batch, &error) != 0;
	failed += backend->names(store, batch, &error) != 0;
	failed += backend->timeline(store, &range, 1000, &points, &count, &error) != 0;
	free(points);
	for (int i = 0; i < 2; i++) {
		failed += (i == 0 ? backend->services(store, &range, &services, &count, &error)
				  : backend->holders(store, &range, ids, 2, &services, &count,
						     &error)) != 0;
		for (size_t k = 0; k < count; k++)
			free(services[k].service);
		free(services);
	}
	failed += backend->has_symbols(store, builds, 1, has, &error) != 0;
	failed += backend->drop_day(store, 20000, &error) != 0;
	mw_batch_free(batch);
	return failed;
}

enum { CALLS = 9 };

static void failures(void) {
	static const struct {
		const char *status, *body;
		bool may_retry;
	} cases[] = {
		{"500 Internal", "Code: 252, e.displayText() = DB::Exception: Too many parts",
		 true},
		{"500 Internal", "Code: 62, e.displayText() = DB::Exception: Syntax error", false},
		{"404 Not Found", "Code: 60, e.displayText() = DB::Exception: no table", false},
		{"500 Internal", "Code: 99999999999999999999", false},
		{"500 Internal", "", true},
		{"503 Busy", "<html>\x1b[31m\r\n</html>", true},
		{"429 Slow", "", true},
		{"403 Forbidden", "Code: 193, DB::Exception: Wrong password, e.what() = x", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool may_retry = false;
		model_put_t *put = &model.puts[0];
		answer_with(cases[i].status, cases[i].body, strlen(cases[i].body));
		CHECK_EQ(ask_all(), CALLS);
		CHECK(backend->put(store, &put->put, put->batch, &may_retry, &error) != 0);
		CHECK_EQ(may_retry, cases[i].may_retry);
		CHECK(strchr(error.text, '\x1b') == NULL && strchr(error.text, '\n') == NULL);
		CHECK(strstr(error.text, "s3cret") == NULL);
	}
	CHECK(strstr(error.text, "Wrong password") != NULL);
	CHECK(strstr(error.text, "e.what") == NULL);
}

/* Counts of more rows and elements than there are bytes. */
static void huge_counts(void) {
	unsigned char bytes[64];
	memset(bytes, 0xff, sizeof(bytes));
	for (size_t length = 1; length < sizeof(bytes); length++) {
		answer_with("200 OK", bytes, length);
		CHECK(ask_all() >= 3);
	}
	static const char *const texts[] = {
		"1\t2\n", "1\t2\t3\t4\t5\n1", "x",
		"\n\n\n", "1\t2\t3\t4\t5",    "99999999999999999999\t1\t1\t1\t1\n"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		answer_with("200 OK", texts[i], strlen(texts[i]));
		CHECK(ask_all() >= 3);
	}
}

static void random_answers(void) {
	unsigned char bytes[512];
	int failed = 0;
	for (int round = 0; round < 60; round++) {
		size_t length = model_random(&model) % sizeof(bytes);
		for (size_t i = 0; i < length; i++)
			bytes[i] = model_random(&model) % 3
					   ? (unsigned char)(model_random(&model) % 4)
					   : (unsigned char)model_random(&model);
		answer_with("200 OK", bytes, length);
		failed += ask_all();
	}
	CHECK(failed > 60);
}

/* A server that is none: it closes at once. */
static void no_answer(void) {
	bool may_retry = false;
	proxy.answer_length = 0;
	CHECK_EQ(ask_all(), CALLS);
	CHECK(backend->put(store, &model.puts[0].put, model.puts[0].batch, &may_retry, &error) !=
	      0);
	CHECK(may_retry);
	CHECK(strstr(error.text, "cannot") != NULL && strstr(error.text, "wait_end") == NULL);
}

static void urls(void) {
	static const char *const wrong[] = {
		"clickhouse://me:s3cret@host:8123/db", "clickhouse://host:8123",
		"clickhouse://host:8123/a;b",          "clickhouse:///db",
		"clickhouse://host:8123/db/more/",     "clickhouse://ho st/db",
		"clickhouse://host\r\nX: y/db",        "clickhouse://host:8123/db?x=1",
	};
	void *opened;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK(backend->open(wrong[i], &options, true, &opened, &error) != 0);
		CHECK(strstr(error.text, "s3cret") == NULL);
	}
	static const char *const right[] = {"clickhouse://host/db", "clickhouse://u@[::1]:1/db/",
					    "clickhouses://host.example:8443/d_1"};
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		CHECK(backend->open(right[i], &options, true, &opened, &error) == 0);
		backend->close(opened);
	}
}

int main(void) {
	RUN(urls);
	proxy_start(&proxy);
	open_store();
	RUN(failures);
	RUN(huge_counts);
	RUN(random_answers);
	RUN(no_answer);
	backend->close(store);
	proxy_stop(&proxy);
	model_forget(&model);
	return 0;
}
