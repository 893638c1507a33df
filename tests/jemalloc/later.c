/* SPDX-License-Identifier: MIT
 * later.c -- what jemalloc 5.3.1 does and 5.3.0, Debian's, does not; on mallow alone. */
#include <jemalloc/jemalloc.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "word.h"

static void names_of_threads_are_checked(void) {
	const char *bad = "a\nb", *none = NULL;
	CHECK_EQ(mallctl("thread.prof.name", NULL, NULL, (void *)&bad, sizeof bad), EINVAL);
	CHECK_EQ(mallctl("thread.prof.name", NULL, NULL, (void *)&none, sizeof none), EINVAL);
}

static const char *name_of(unsigned arena) {
	static char text[64];
	char name[64], *to = text;
	size_t length = sizeof to;
	snprintf(name, sizeof name, "arena.%u.name", arena);
	CHECK_EQ(mallctl(name, (void *)&to, &length, NULL, 0), 0);
	return text;
}

static void arenas_have_names(void) {
	unsigned arena;
	size_t length = sizeof arena;
	char expected[64], name[64];
	const char *own = "own", *empty = "";
	CHECK_STR(name_of(0), "auto_0");
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(mallctl("arenas.create", &arena, &length, NULL, 0), 0);
		snprintf(expected, sizeof expected, "manual_%u", arena);
		CHECK_STR(name_of(arena), expected);
	}
	snprintf(name, sizeof name, "arena.%u.name", arena);
	CHECK_EQ(mallctl(name, NULL, NULL, (void *)&own, sizeof own), 0);
	CHECK_STR(name_of(arena), "own");
	CHECK_EQ(mallctl(name, NULL, NULL, (void *)&empty, sizeof empty), 0);
	CHECK_STR(name_of(arena), "");
	snprintf(name, sizeof name, "arena.%u.destroy", arena);
	CHECK_EQ(mallctl(name, NULL, NULL, NULL, 0), 0);
	/* Its number is given out again, the name is not. */
	unsigned next;
	CHECK_EQ(mallctl("arenas.create", &next, &length, NULL, 0), 0);
	snprintf(expected, sizeof expected, "manual_%u", next);
	CHECK_STR(name_of(next), expected);
}

/* The highest between two looks, to within a few lists of small blocks. */
static void peaks_between_looks_count(void) {
	enum { COUNT = 20000, BYTES = 128 };
	static void *blocks[COUNT];
	CHECK_EQ(mallctl("thread.peak.reset", NULL, NULL, NULL, 0), 0);
	CHECK_EQ(word("thread.peak.read"), 0);
	free(malloc(10 << 20));
	CHECK_EQ(word("thread.peak.read"), 10 << 20);
	free(malloc(1 << 20));
	CHECK_EQ(word("thread.peak.read"), 10 << 20);
	void *kept = malloc(1 << 20);
	CHECK_EQ(mallctl("thread.peak.reset", NULL, NULL, NULL, 0), 0);
	CHECK_EQ(word("thread.peak.read"), 0);
	free(malloc(2 << 20));
	CHECK_EQ(word("thread.peak.read"), 2 << 20);
	free(kept);
	CHECK_EQ(mallctl("thread.peak.reset", NULL, NULL, NULL, 0), 0);
	for (int i = 0; i < COUNT; i++)
		blocks[i] = malloc(BYTES);
	for (int i = 0; i < COUNT; i++)
		free(blocks[i]);
	uint64_t peak = word("thread.peak.read"), true_peak = (uint64_t)COUNT * BYTES;
	CHECK(peak <= true_peak + (64 << 10) && peak + (128 << 10) >= true_peak);
}

static void *look_at_peak(void *unused) {
	(void)unused;
	CHECK_EQ(mallctl("thread.peak.reset", NULL, NULL, NULL, 0), 0);
	free(malloc(3 << 20));
	CHECK_EQ(word("thread.peak.read"), 3 << 20);
	return NULL;
}

static void *wait_a_little(void *unused) {
	(void)unused;
	free(malloc(5000));
	return NULL;
}

static unsigned thread_lines(void) {
	char path[64], line[4096];
	const char *name = path;
	unsigned count = 0;
	snprintf(path, sizeof path, "/tmp/mallow_later.%d.heap", getpid());
	CHECK_EQ(mallctl("prof.dump", NULL, NULL, (void *)&name, sizeof name), 0);
	FILE *file = fopen(path, "r");
	CHECK(file);
	while (fgets(line, sizeof line, file) && line[0] != '@')
		count += strncmp(line, "  t", 3) == 0 && line[3] != '*';
	fclose(file);
	unlink(path);
	return count;
}

/* Lines of threads that have nothing live and are gone would only pile up. */
static void dead_threads_leave_dumps(void) {
	for (int i = 0; i < 300; i++) {
		pthread_t thread;
		CHECK_EQ(pthread_create(&thread, NULL, wait_a_little, NULL), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
	void *kept = malloc(5000);
	CHECK_EQ(mallctl("prof.reset", NULL, NULL, NULL, 0), 0);
	CHECK(thread_lines() <= 2);
	void *more = malloc(1 << 20);
	unsigned lines = thread_lines();
	CHECK(lines >= 1 && lines <= 2);
	free(kept);
	free(more);
}

static void end_with_seven(const char *message) {
	_exit(strstr(message, "zero_realloc") ? 7 : strstr(message, "infallible_new") ? 8 : 9);
}

/* Not declared: this is C. */
void *_Znwm(size_t bytes);

static int status_of(void (*act)(void)) {
	fflush(NULL);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		CHECK(freopen("/dev/null", "w", stderr));
		void (*hook)(const char *) = end_with_seven;
		CHECK_EQ(mallctl("experimental.hooks.safety_check_abort", NULL, NULL, (void *)&hook,
				 sizeof hook),
			 0);
		act();
		_exit(3);
	}
	int status;
	CHECK_EQ(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *volatile sink;

static void resize_to_nothing(void) {
	void *block = malloc(100);
	sink = realloc(block, 0);
}

static void ask_for_too_much(void) {
	volatile size_t bytes = (size_t)1 << 62;
	sink = _Znwm(bytes);
}

/* With zero_realloc:abort and experimental_infallible_new:true. */
static void aborts_are_told(void) {
	CHECK_EQ(status_of(resize_to_nothing), 7);
	CHECK_EQ(status_of(ask_for_too_much), 8);
}

/* jemalloc has four arenas per CPU for threads, here there is one.  A program that goes over the
 * arenas below the number that it reads meets no error. */
static void arenas_of_threads_are_counted(void) {
	unsigned count = 0;
	size_t length = sizeof count;
	CHECK_EQ(mallctl("opt.narenas", &count, &length, NULL, 0), 0);
	CHECK_EQ(length, sizeof count);
	CHECK_EQ(count, 1);
	for (unsigned i = 0; i < count; i++) {
		char name[64];
		bool is_initialized = false;
		snprintf(name, sizeof name, "arena.%u.purge", i);
		CHECK_EQ(mallctl(name, NULL, NULL, NULL, 0), 0);
		snprintf(name, sizeof name, "arena.%u.initialized", i);
		length = sizeof is_initialized;
		CHECK_EQ(mallctl(name, &is_initialized, &length, NULL, 0), 0);
		CHECK(is_initialized);
	}
}

int main(void) {
	arenas_of_threads_are_counted();
	names_of_threads_are_checked();
	arenas_have_names();
	peaks_between_looks_count();
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, look_at_peak, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	dead_threads_leave_dumps();
	aborts_are_told();
	puts("ok");
	return 0;
}
