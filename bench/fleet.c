/* SPDX-License-Identifier: MIT
 * fleet.c -- how long a store's answers take, and how many profiles a second it takes in
 * (bench/fleet.sh).
 * usage: fleet STORE_URL ask SERVICE FROM_S UNTIL_S | fleet STORE_URL hours FROM_S UNTIL_S |
 *        fleet STORE_URL put PROCESSES ROUNDS STACKS */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "model/memory.h"
#include "store/backend.h"
#include "store/clickhouse/clickhouse.h"

#define SECOND_NS INT64_C(1000000000)
#define TRIES 3

static mw_error_t error;
static const mw_backend_t *backend;
static void *self;

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double processor_seconds(void) {
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

/* Seconds of processor time that the server has had, whose PID is in FLEET_SERVER.  They say more
 * than the time of the answer where others use the machine. */
static double server_seconds(void) {
	char path[64], line[1024];
	unsigned long user = 0, system = 0;
	const char *pid = getenv("FLEET_SERVER");
	snprintf(path, sizeof(path), "/proc/%s/stat", pid != NULL ? pid : "self");
	FILE *file = fopen(path, "r");
	if (file != NULL && fgets(line, sizeof(line), file) != NULL)
		sscanf(strrchr(line, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		       &user, &system);
	if (file != NULL)
		fclose(file);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void must(int result) {
	if (result == 0)
		return;
	fprintf(stderr, "fleet: %s\n", error.text);
	exit(2);
}

typedef struct question {
	mw_range_t range;
	const char *service;
	mw_batch_t *batch; /* of the samples that were read last */
	size_t rows;
} question_t;

static void ask_services(question_t *q) {
	mw_service_row_t *services;
	must(backend->services(self, &q->range, &services, &q->rows, &error));
	for (size_t i = 0; i < q->rows; i++)
		free(services[i].service);
	free(services);
}

static void ask_timeline(question_t *q) {
	mw_point_t *points;
	must(backend->timeline(self, &q->range, 900 * SECOND_NS, &points, &q->rows, &error));
	free(points);
}

static void ask_samples(question_t *q, mw_sum_t sum) {
	int64_t other[MW_VALUES] = {0};
	mw_counted_t counted = {0};
	mw_batch_free(q->batch);
	q->batch = mw_batch_new();
	must(backend->samples(self, &q->range, sum, MW_VALUE_NOW_AMOUNT, 20000, q->batch, other,
			      &counted, &error));
	q->rows = q->batch->sample_count;
}

static void ask_newest(question_t *q) {
	ask_samples(q, MW_SUM_NEWEST);
}

static void ask_sum(question_t *q) {
	ask_samples(q, MW_SUM_ALL);
}

static void ask_stacks(question_t *q) {
	ask_samples(q, MW_SUM_NEWEST);
	double begin = now();
	must(backend->stacks(self, q->batch, &error));
	printf("  (stacks and names of these: %.3f s)\n", now() - begin);
	q->rows = q->batch->location_count;
}

static void ask_holders(question_t *q) {
	mw_service_row_t *services;
	must(backend->holders(self, &q->range, q->batch->frames,
			      q->batch->frame_count < 5 ? q->batch->frame_count : 5, &services,
			      &q->rows, &error));
	for (size_t i = 0; i < q->rows; i++)
		free(services[i].service);
	free(services);
}

/* Prints the least of some tries. */
static void measure(const char *name, question_t *q, void (*ask)(question_t *q)) {
	double least = 1e9, server = server_seconds();
	for (int i = 0; i < TRIES; i++) {
		double begin = now();
		ask(q);
		if (now() - begin < least)
			least = now() - begin;
	}
	printf("%-48s %7zu rows %7.3f s; server %6.3f s of processor time\n", name, q->rows, least,
	       (server_seconds() - server) / TRIES);
	fflush(stdout);
}

static void ask(char **argv) {
	int64_t from_ns = atoll(argv[1]) * SECOND_NS, until_ns = atoll(argv[2]) * SECOND_NS;
	question_t one = {.range = {.service = argv[0],
				    .kind = MW_KIND_HEAP,
				    .from_ns = from_ns,
				    .until_ns = until_ns}};
	question_t all = {
		.range = {.kind = MW_KIND_HEAP, .from_ns = from_ns, .until_ns = until_ns}};
	measure("timeline of a service", &one, ask_timeline);
	measure("timeline of the fleet", &all, ask_timeline);
	measure("services, newest profiles of the range", &all, ask_services);
	measure("sum of a service", &one, ask_sum);
	measure("sum of the fleet", &all, ask_sum);
	/* What is asked most: the newest profiles of 40 minutes. */
	one.range.from_ns = all.range.from_ns = until_ns - 2400 * SECOND_NS;
	measure("services, newest profiles of 40 minutes", &all, ask_services);
	measure("newest of a service", &one, ask_newest);
	measure("newest of a service, with stacks and names", &one, ask_stacks);
	measure("newest of the fleet", &all, ask_newest);
	all.batch = one.batch;
	one.batch = NULL;
	measure("who holds 5 locations, fleet", &all, ask_holders);
	mw_batch_free(all.batch);
}

/* A profile of a made-up process, whose stacks are those of its program and some of its own. */
static mw_profile_t *make_profile(unsigned process, unsigned round, unsigned stacks) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	uint32_t mapping = mw_profile_add_mapping(
		p, &(mw_mapping_t){.start = 0x400000,
				   .limit = 0x40000000,
				   .path = mw_profile_intern(p, "/usr/bin/made"),
				   .build_id = mw_profile_intern(p, "00112233445566778899")});
	for (unsigned i = 0; i < stacks; i++) {
		uint32_t frames[20];
		unsigned own = i < stacks * 9 / 10 ? 0 : process * 7919;
		for (unsigned k = 0; k < 20; k++) {
			unsigned number = k > 8 ? k : (i + own) * 8 + k;
			frames[k] =
				mw_profile_add_location(p, mapping, 0x400000 + 16 * number, false);
			char name[64];
			snprintf(name, sizeof(name), "made_function_%u", number % 5000);
			mw_function_t function = {.name = mw_profile_intern(p, name),
						  .file = mw_profile_intern(p, "made.c")};
			mw_line_t line = {mw_profile_add_function(p, &function), number % 900};
			mw_profile_set_lines(p, frames[k], &line, 1);
		}
		const int64_t values[] = {round + i, 64 * (round + i), i + 1, (i + 1) * 4096};
		mw_profile_add_sample(p, frames, 20, values, NULL, 0);
	}
	return p;
}

/* Puts a profile of each of some processes, each round. */
static void put(unsigned processes, unsigned rounds, unsigned stacks) {
	struct timespec t;
	uint64_t number;
	clock_gettime(CLOCK_REALTIME, &t);
	for (unsigned round = 0; round < rounds; round++) {
		double spent = 0, processor = 0, server = server_seconds();
		for (unsigned i = 0; i < processes; i++) {
			char instance[32];
			mw_put_t put = {.kind = MW_KIND_HEAP, .period = 524288};
			bool may_retry;
			snprintf(instance, sizeof(instance), "host:%u:1", i);
			put.identity = (mw_identity_t){.service = "made",
						       .instance = instance,
						       .host = "host",
						       .version = "1",
						       .build_id = "00112233445566778899"};
			put.time_ns = (t.tv_sec + round) * SECOND_NS + i;
			number = mw_row_hash((uint64_t)put.time_ns, &i, sizeof(i));
			put.number = number;
			mw_profile_t *p = make_profile(i, round, stacks);
			put.profile = p;
			double begin = now(), processor_begin = processor_seconds();
			mw_batch_t *batch = mw_batch_of(p, put.kind);
			must(backend->put(self, &put, batch, &may_retry, &error));
			mw_batch_free(batch);
			spent += now() - begin;
			processor += processor_seconds() - processor_begin;
			mw_profile_free(p);
		}
		printf("round %u: %u puts of %u stacks in %.2f s, %.0f a minute; client %.1f ms, "
		       "server %.1f ms of processor time a put\n",
		       round, processes, stacks, spent, 60 * processes / spent,
		       1e3 * processor / processes, 1e3 * (server_seconds() - server) / processes);
	}
}

int main(int argc, char **argv) {
	static const mw_store_options_t options = {.timeout_seconds = 600};
	mw_store_t *store;
	if (argc < 5) {
		fprintf(stderr, "usage: see bench/fleet.c\n");
		return 2;
	}
	if (strcmp(argv[2], "hours") == 0) {
		uint64_t made;
		double begin = now(), server = server_seconds();
		must(mw_clickhouse_add_hours(argv[1], &options, atoll(argv[3]) * SECOND_NS,
					     atoll(argv[4]) * SECOND_NS, &made, &error));
		printf("%" PRIu64 " hours added up in %.2f s; server %.2f s of processor time\n",
		       made, now() - begin, server_seconds() - server);
		return 0;
	}
	must(mw_store_open(argv[1], &options, true, &store, &error));
	backend = mw_store_backend(store, &self);
	if (strcmp(argv[2], "ask") == 0 && argc == 6)
		ask(argv + 3);
	else if (strcmp(argv[2], "put") == 0 && argc == 6)
		put((unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]), (unsigned)atoi(argv[5]));
	mw_store_close(store);
	return 0;
}
