/* SPDX-License-Identifier: MIT
 * fork_stdio.c -- forks while other threads use stdio, whose locks are taken in any order with
 * those of malloc: a thread reads lines, and getline(3) resizes its buffer with the stream locked;
 * another one writes all streams, and waits for each stream with the list of streams locked; a
 * third one opens and closes streams; fork(2) takes the list's lock and malloc's.  At the end one
 * thread calls exit(3), which also writes all streams, while forks and writes go on.  A child uses
 * streams, too.
 *
 * No thread reads or opens a stream during exit(3): glibc takes the buffer away from each stream
 * there, after two tries without its lock, and a thread that is filling the buffer then writes
 * behind the one byte that replaces it, with any malloc. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs.h"

/* Without fork(2)'s handlers of the list's lock, three rounds of ten forks hang each time. */
enum { ROUNDS = 5, FORKS = 10, LINES = 64, MOST_BYTES = 40000 };

static char path[] = "/tmp/mallow-lines-XXXXXX";
static atomic_int forks;
static atomic_bool is_ending;
static atomic_int resting; /* threads that use no stream any more */
enum { STREAM_USERS = 3 };

/* Does not return once the process is ending. */
static void rest_at_end(void) {
	if (!atomic_load(&is_ending))
		return;
	atomic_fetch_add(&resting, 1);
	for (;;)
		pause();
}

/* Lines that get longer, so that each reader's buffer grows again and again. */
static void write_lines(void) {
	int file = mkstemp(path);
	MUST(file >= 0);
	FILE *lines = fdopen(file, "w");
	MUST(lines != NULL);
	for (int i = 0; i < LINES; i++)
		fprintf(lines, "%0*d\n", i * MOST_BYTES / LINES + 1, i);
	MUST(fclose(lines) == 0);
}

static void read_lines(FILE *lines) {
	char *line = NULL;
	size_t room = 0;
	int count = 0;
	rewind(lines);
	while (getline(&line, &room, lines) > 0)
		count++;
	MUST(count == LINES);
	free(line);
}

static void *reader(void *unused) {
	(void)unused;
	FILE *lines = fopen(path, "r");
	MUST(lines != NULL);
	for (;;) {
		rest_at_end();
		read_lines(lines);
	}
	return NULL;
}

static void *writer(void *unused) {
	(void)unused;
	for (;;)
		fflush(NULL);
	return NULL;
}

static void *opener(void *unused) {
	(void)unused;
	for (;;) {
		rest_at_end();
		FILE *file = fopen("/dev/null", "w");
		MUST(file != NULL);
		fprintf(file, "%d", 1);
		MUST(fclose(file) == 0);
	}
	return NULL;
}

/* The child has one thread: no lock may be left to a thread that it lacks. */
_Noreturn static void child(void) {
	FILE *lines = fopen(path, "r");
	MUST(lines != NULL);
	read_lines(lines);
	fflush(NULL);
	MUST(fclose(lines) == 0);
	_exit(0);
}

static void must_end_well(pid_t pid) {
	int status;
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void *forker(void *unused) {
	(void)unused;
	for (;;) {
		pid_t pid = fork();
		MUST(pid >= 0);
		if (pid == 0)
			child();
		must_end_well(pid);
		atomic_fetch_add(&forks, 1);
	}
	return NULL;
}

/* exit() runs the handlers and writes the streams while other threads write them and fork. */
_Noreturn static void round_of_threads(void) {
	void *(*const starts[])(void *) = {reader, reader, writer, opener, forker};
	for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++) {
		pthread_t thread;
		MUST(pthread_create(&thread, NULL, starts[i], NULL) == 0);
	}
	while (atomic_load(&forks) < FORKS)
		usleep(1000);
	atomic_store(&is_ending, true);
	while (atomic_load(&resting) < STREAM_USERS)
		usleep(1000);
	exit(0);
}

int main(void) {
#ifndef FORK_STDIO_LINKED
	must_be_mallow();
#endif
	write_lines();
	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = fork();
		MUST(pid >= 0);
		if (pid == 0)
			round_of_threads();
		must_end_well(pid);
	}
	MUST(unlink(path) == 0);
	return 0;
}
