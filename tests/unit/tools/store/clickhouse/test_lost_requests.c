/* SPDX-License-Identifier: MIT
 * test_lost_requests.c -- a put whose connection is cut at some request, or whose server is killed
 * then, is counted once when it is tried again; nothing else is lost.
 * Needs a server, MALLOW_TEST_STORE=clickhouse://127.0.0.1:PORT.  MALLOW_TEST_CUTS is how many puts
 * are cut; each MALLOW_TEST_RESTARTS-th kills the server by the command MALLOW_TEST_RESTART. */
#include <inttypes.h>

#include "store/clickhouse/clickhouse.h"
#include "store_model.h"
#include "store_proxy.h"

#define CUTS 12
/* The most requests that a put has. */
#define REQUESTS 7

static model_t model;
static proxy_t proxy;
static mw_error_t error;
static const mw_backend_t *backend = &mw_clickhouse_backend;
static void *direct, *cut;
static const mw_range_t all = {.kind = MW_KIND_HEAP, .until_ns = INT64_MAX};

static const mw_store_options_t options = {.timeout_seconds = 60};

static const char *url_of(int port) {
	static char url[256];
	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%d/lost_%d", port, (int)getpid());
	return url;
}

static void *open_at(int port) {
	void *store;
	CHECK(backend->open(url_of(port), &options, true, &store, &error) == 0);
	return store;
}

/* All sums are those of the puts so far. */
static void check_sums(void) {
	mw_counted_t counted = {0}, want_counted;
	int64_t other[MW_VALUES] = {0};
	mw_batch_t *got = mw_batch_new();
	mw_batch_t *want = model_sums(&model, &all, MW_SUM_ALL, &want_counted);
	if (backend->samples(direct, &all, MW_SUM_ALL, 1, SIZE_MAX, got, other, &counted, &error) !=
		    0 ||
	    backend->stacks(direct, got, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	CHECK_EQ(counted.profiles, want_counted.profiles);
	CHECK_EQ(got->sample_count, want->sample_count);
	for (size_t i = 0; i < want->sample_count; i++) {
		const mw_row_sample_t *sample = mw_batch_sample(got, want->samples[i].stack);
		CHECK(sample != NULL && mw_batch_stack(got, sample->stack) != NULL);
		for (int v = 0; v < MW_VALUES; v++)
			CHECK_EQ(sample->values[v], want->samples[i].values[v]);
	}
	for (size_t i = 0; i < got->frame_count; i++)
		CHECK(mw_batch_location(got, got->frames[i]) != NULL);
	for (int v = 0; v < MW_VALUES; v++)
		CHECK_EQ(counted.totals[v], want_counted.totals[v]);
	mw_batch_free(got);
	mw_batch_free(want);
}

/* A put that is cut, and tried again until it succeeds.  Returns how many times it was cut. */
static int cut_put(bool may_restart, bool keeps_memory) {
	model_put_t *p =
		model_add(&model, MODEL_NOON_NS + (int64_t)(model_random(&model) % 1000), 12);
	bool may_retry = false;
	int failed = 0;
	while (p->put.kind != MW_KIND_HEAP) {
		mw_profile_free(p->profile);
		mw_batch_free(p->batch);
		model.count--;
		p = model_add(&model, MODEL_NOON_NS, 12);
	}
	/* The second attempt is cut, too, in one of two cases. */
	int attempts = 1 + (int)(model_random(&model) % 2);
	for (int i = 0; i < attempts; i++) {
		proxy.cut = may_restart ? PROXY_RESTART : model_random(&model) % PROXY_RESTART;
		proxy.within_bytes = model_random(&model) % 900;
		proxy.cut_at = proxy.requests + 1 + (int)(model_random(&model) % REQUESTS);
		int result = backend->put(cut, &p->put, p->batch, &may_retry, &error);
		proxy.cut_at = 0;
		if (result == 0)
			break;
		failed++;
		if (!may_retry)
			fprintf(stderr, "%s\n", error.text);
		CHECK(may_retry);
		/* Another process, which knows nothing of what was sent. */
		if (!keeps_memory) {
			backend->close(cut);
			cut = open_at(proxy.port);
		}
	}
	if (backend->put(cut, &p->put, p->batch, &may_retry, &error) != 0) {
		fprintf(stderr, "put: %s\n", error.text);
		exit(1);
	}
	return failed;
}

/* Hours are added up, and the connection is cut meanwhile: what is left of a run has no effect. */
static void cut_hours(void) {
	uint64_t made;
	proxy.cut = model_random(&model) % PROXY_RESTART;
	proxy.within_bytes = 300 + model_random(&model) % 600;
	proxy.cut_at = proxy.requests + 2 + (int)(model_random(&model) % 4);
	mw_clickhouse_add_hours(url_of(proxy.port), &options, 0, INT64_MAX, &made, &error);
	proxy.cut_at = 0;
}

static int number_of(const char *name, int otherwise) {
	const char *text = getenv(name);
	return text != NULL ? atoi(text) : otherwise;
}

static void lost_requests(void) {
	int cuts = number_of("MALLOW_TEST_CUTS", CUTS), failed = 0;
	int restarts = number_of("MALLOW_TEST_RESTARTS", 0);
	for (int i = 0; i < cuts; i++) {
		failed += cut_put(restarts != 0 && i % restarts == 0, i % 3 != 0);
		if (i % 5 == 0)
			cut_hours();
		if (i % 5 == 0 || i + 1 == cuts)
			check_sums();
	}
	printf("%d attempts of %d puts were cut\n", failed, cuts);
	CHECK(failed > cuts / 4);
}

int main(void) {
	const char *server = getenv("MALLOW_TEST_STORE"), *seed = getenv("MALLOW_TEST_SEED");
	if (server == NULL) {
		printf("not run: MALLOW_TEST_STORE names no server\n");
		return 0;
	}
	CHECK(strncmp(server, "clickhouse://127.0.0.1:", 23) == 0);
	proxy.server_port = atoi(server + 23);
	proxy.restart = getenv("MALLOW_TEST_RESTART");
	model.random = seed != NULL ? strtoull(seed, NULL, 10) : 1000003 * (uint64_t)getpid();
	printf("seed %" PRIu64 "\n", model.random);
	proxy_start(&proxy);
	direct = open_at(proxy.server_port);
	cut = open_at(proxy.port);
	RUN(lost_requests);
	backend->close(direct);
	backend->close(cut);
	proxy_stop(&proxy);
	model_forget(&model);
	return 0;
}
