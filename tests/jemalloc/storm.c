/* SPDX-License-Identifier: MIT
 * storm.c -- threads that allocate, free each other's blocks and come and go, while the controls of
 * the profile are used all the time: log, recent allocations and their number, dumps, hooks,
 * resets. What is written in between must be whole. */
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { THREADS = 4, SLOTS = 512, ROUNDS = 100 };

static _Atomic(void *) slots[SLOTS];
static _Atomic int stop;
static _Atomic unsigned long told, told_freed;

static void *short_life(void *seed) {
	free(malloc((size_t)seed % 5000));
	return NULL;
}

static void *churn(void *seed) {
	unsigned state = (unsigned)(size_t)seed;
	for (unsigned long i = 0; !atomic_load(&stop); i++) {
		state = state * 1103515245 + 12345;
		void *block = malloc(state % 97 == 0 ? 100000 : state % 700);
		free(atomic_exchange(&slots[state >> 8 & (SLOTS - 1)], block));
		if (i % 5000 == 0) {
			pthread_t other;
			CHECK_EQ(pthread_create(&other, NULL, short_life, (void *)(size_t)state),
				 0);
			CHECK_EQ(pthread_join(other, NULL), 0);
		}
	}
	return NULL;
}

static void on_sample(const void *block, size_t size, void **pcs, unsigned depth, size_t usable) {
	CHECK(block && usable >= size && (depth == 0 || pcs[0]));
	atomic_fetch_add(&told, 1);
	free(malloc(100));
}

static void on_free(const void *block, size_t usable) {
	CHECK(block && usable > 0);
	atomic_fetch_add(&told_freed, 1);
}

static char text[1 << 20];
static size_t text_length;

static void collect(void *context, const char *part) {
	size_t length = strlen(part);
	(void)context;
	CHECK(text_length + length < sizeof text);
	memcpy(text + text_length, part, length + 1);
	text_length += length;
}

static void check_recent(void) {
	struct {
		void (*write)(void *, const char *);
		void *context;
	} to = {collect, NULL};
	text_length = 0;
	CHECK_EQ(mallctl("experimental.prof_recent.alloc_dump", NULL, NULL, &to, sizeof to), 0);
	CHECK(strncmp(text, "{\"sample_interval\":", 19) == 0);
	CHECK_STR(text + text_length - 2, "]}");
}

static void set_recent(ssize_t max) {
	CHECK_EQ(mallctl("experimental.prof_recent.alloc_max", NULL, NULL, &max, sizeof max), 0);
}

static void check_file(const char *path, const char *end) {
	static char content[1 << 20];
	FILE *file = fopen(path, "r");
	CHECK(file);
	/* Its last megabyte: on a slow machine a log has many. */
	CHECK_EQ(fseek(file, 0, SEEK_END), 0);
	long all = ftell(file), most = sizeof content - 1;
	CHECK_EQ(fseek(file, all > most ? all - most : 0, SEEK_SET), 0);
	size_t length = fread(content, 1, sizeof content - 1, file);
	fclose(file);
	content[length] = '\0';
	CHECK(length > strlen(end));
	CHECK(strstr(content, end));
}

static void one_round(unsigned round) {
	const char *log = "storm.json", *dump = "storm.heap";
	CHECK_EQ(mallctl("prof.log_start", NULL, NULL, (void *)&log, sizeof log), 0);
	set_recent(round % 7 * 10 + 1);
	check_recent();
	CHECK_EQ(mallctl("prof.dump", NULL, NULL, (void *)&dump, sizeof dump), 0);
	check_file(dump, "MAPPED_LIBRARIES:\n");
	if (round % 10 == 0) {
		CHECK_EQ(mallctl("prof.reset", NULL, NULL, NULL, 0), 0);
		pid_t child = fork();
		if (child == 0) {
			free(malloc(1000));
			_exit(0);
		}
		int status;
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	if (round % 3 == 0)
		set_recent(0);
	CHECK_EQ(mallctl("prof.log_stop", NULL, NULL, NULL, 0), 0);
	check_file(log, "]}");
}

static void set_hook(const char *name, void *hook) {
	CHECK_EQ(mallctl(name, NULL, NULL, &hook, sizeof hook), 0);
}

int main(void) {
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, churn, (void *)(i * 7919 + 1)), 0);
	for (unsigned round = 0; round < ROUNDS; round++) {
		bool watched = round % 2;
		set_hook("experimental.hooks.prof_sample",
			 watched ? (void *)(size_t)on_sample : NULL);
		set_hook("experimental.hooks.prof_sample_free",
			 watched ? (void *)(size_t)on_free : NULL);
		one_round(round);
	}
	atomic_store(&stop, 1);
	for (size_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	CHECK(told > 0 && told_freed > 0);
	printf("ok %d rounds, told of %lu samples and %lu frees\n", ROUNDS, told, told_freed);
	return 0;
}
