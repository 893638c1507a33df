/* SPDX-License-Identifier: MIT
 * idle_memory.c -- freed memory goes back to the system while the program sleeps, by resident
 * sizes. argv[1]: "early" (nobody calls again, no thread), "background" (a thread purges what a
 * program that goes up and down was left with), "never" (dirty_decay_ms:-1), "trim" (the same, but
 * malloc_trim() is asked), "threshold" (mallopt() asks for more or less). */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "programs.h"

#define TOTAL_BYTES ((size_t)160 << 20)
#define COUNT_MAX ((size_t)1 << 20)

static void *blocks[COUNT_MAX];

static size_t resident_bytes(void) {
	char text[128];
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;
	MUST(file && fgets(text, sizeof text, file) && sscanf(text, "%*u %zu", &pages) == 1);
	fclose(file);
	return pages * 4096;
}

static size_t fill(size_t from, size_t bytes) {
	size_t count = TOTAL_BYTES / bytes;
	if (count > COUNT_MAX)
		count = COUNT_MAX;
	for (size_t i = from; i < count; i++) {
		blocks[i] = malloc(bytes);
		MUST(blocks[i]);
		memset(blocks[i], 1, bytes);
	}
	return count;
}

static void empty(size_t from, size_t count) {
	for (size_t i = from; i < count; i++)
		free(blocks[i]);
}

static void sleep_ms(unsigned ms) {
	struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000};
	while (nanosleep(&left, &left) != 0)
		;
}

static const size_t sizes[] = {160, 1000, 5000, 30000, 300000, 3000000, 40000000};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Of what was freed at most `share` percent is still resident. */
static void expect_gone(const char *what, size_t floor, size_t peak, size_t left, unsigned share) {
	printf("%s: %zu KiB before, %zu with blocks, %zu afterwards\n", what, floor >> 10,
	       peak >> 10, left >> 10);
	MUST(peak > floor + TOTAL_BYTES / 2);
	MUST(left <= floor + (peak - floor) * share / 100);
}

static void fill_and_empty_once(unsigned share) {
	for (unsigned i = 0; i < SIZES; i++) {
		size_t floor = resident_bytes(), count = fill(0, sizes[i]);
		size_t peak = resident_bytes();
		empty(0, count);
		char what[64];
		snprintf(what, sizeof what, "blocks of %zu bytes", sizes[i]);
		expect_gone(what, floor, peak, resident_bytes(), share);
		/* As another program would begin: what went early was not missed. */
		sleep_ms(1100);
	}
}

static void *free_all(void *count) {
	empty(0, *(size_t *)count);
	return NULL;
}

/* Blocks of a thread that has ended, and blocks freed by another. */
static void across_threads(void) {
	size_t floor = resident_bytes(), count = fill(0, 1000), peak = resident_bytes();
	pthread_t thread;
	MUST(pthread_create(&thread, NULL, free_all, &count) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	sleep_ms(100);
	/* This thread's pages are emptied by others: it sees that when it next needs one. */
	for (int i = 0; i < 70; i++)
		blocks[i] = malloc(1000);
	expect_gone("freed by another thread", floor, peak, resident_bytes(), 15);
	empty(0, 70);
}

static unsigned thread_count(void) {
	unsigned count = 0;
	DIR *tasks = opendir("/proc/self/task");
	MUST(tasks);
	while (readdir(tasks))
		count++;
	closedir(tasks);
	return count - 2;
}

static void up_and_down(const char *what) {
	size_t floor = resident_bytes(), peak = 0;
	for (int turn = 0; turn < 6; turn++) {
		size_t count = fill(0, sizes[turn % 2 ? 1 : 4]);
		peak = resident_bytes();
		empty(0, count);
	}
	/* After a second, and when the thread gets a processor. */
	size_t left = resident_bytes();
	for (int i = 0; i < 6000 && left > floor + (peak - floor) / 10; i++) {
		sleep_ms(10);
		left = resident_bytes();
	}
	expect_gone(what, floor, peak, left, 10);
}

static volatile sig_atomic_t signals;

static void on_signal(int number) {
	signals += number == SIGUSR1;
}

static void background(void) {
	MUST(thread_count() == 1); /* not before there is something to do */
	up_and_down("up and down, a thread purges");
	MUST(thread_count() == 2);
	signal(SIGUSR1, on_signal);
	sigset_t set, old;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	kill(getpid(), SIGUSR1);
	sleep_ms(50);
	MUST(signals == 0); /* the thread did not take it */
	sigprocmask(SIG_SETMASK, &old, NULL);
	MUST(signals == 1);
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0) {
		up_and_down("the same in the child of a fork");
		MUST(thread_count() == 2);
		exit(0);
	}
	int status;
	MUST(waitpid(child, &status, 0) == child && status == 0);
}

static void kept(bool trim) {
	for (unsigned i = 0; i < 5; i++) {
		size_t floor = resident_bytes(), count = fill(0, sizes[i]);
		size_t peak = resident_bytes();
		empty(0, count);
		MUST(resident_bytes() >= peak - (peak - floor) / 10);
		if (!trim)
			continue;
		MUST(malloc_trim(0) == 1 && malloc_trim(0) == 0);
		expect_gone("trimmed", floor, peak, resident_bytes(), 5);
	}
}

/* mallopt() says how much is kept. */
static void threshold(void) {
	MUST(mallopt(M_TRIM_THRESHOLD, 256 << 20) == 1);
	size_t floor = resident_bytes(), count = fill(0, 1000), peak = resident_bytes();
	empty(0, count);
	MUST(resident_bytes() >= peak - (peak - floor) / 10);
	MUST(mallopt(M_TRIM_THRESHOLD, 65536) == 1);
	count = fill(0, 1000);
	empty(0, count);
	/* Huge pages of which less than half was free are asked for again when a quarter more is
	 * free (mw_decay_stayed()). */
	expect_gone("with a small threshold", floor, peak, resident_bytes(), 15);
	MUST(mallopt(M_TRIM_THRESHOLD, -1) == 1);
	kept(false);
}

int main(int argc, char **argv) {
	setvbuf(stdout, NULL, _IOLBF, 0);
	must_be_mallow();
	memset(blocks, 1, sizeof blocks); /* resident from the start */
	const char *mode = argc > 1 ? argv[1] : "early";
	if (strcmp(mode, "early") == 0) {
		fill_and_empty_once(10);
		across_threads();
	} else if (strcmp(mode, "background") == 0) {
		background();
	} else if (strcmp(mode, "threshold") == 0) {
		threshold();
	} else {
		kept(strcmp(mode, "trim") == 0);
	}
	return 0;
}
