/* SPDX-License-Identifier: MIT
 * hardened.c -- what libmallow_secure does beside looking for misuse (tests/misuse): guards, random
 * places, order and quarantine, fill.  The parts that are random are looked at in several
 * processes: each child is this program again. */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs.h"

/* A block that another thread allocated comes back after so many later ones at the earliest. */
enum { WAIT = 8, REMOTE_BLOCKS = 600 };
/* Threads get few of such blocks at a time, and so look often for those that others freed. */
enum { REMOTE_BYTES = 1000 };
enum { CHUNK_BYTES = 4 << 20, SLICE_BYTES = 64 << 10, CHILDREN = 8, BLOCKS = 200, BYTES = 100 };

/* Signal that ended a child which reads that byte; 0: it could be read. */
static int signal_of_reading(const volatile char *address) {
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL);
		(void)*address;
		_exit(0);
	}
	int status;
	MUST(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void chunks_are_guarded(void) {
	char *block = malloc(BYTES);
	char *chunk = (char *)((uintptr_t)block & ~(uintptr_t)(CHUNK_BYTES - 1));
	MUST(signal_of_reading(block) == 0);
	/* Behind the metadata, and at the end. */
	MUST(signal_of_reading(chunk + SLICE_BYTES - 1) == SIGSEGV);
	MUST(signal_of_reading(chunk + CHUNK_BYTES - 1) == SIGSEGV);
	free(block);
}

static void freed_blocks_wait(void) {
	void *blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(BYTES);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	/* Of so many free ones those that were freed last come last. */
	for (int i = 0; i < BLOCKS / 2; i++) {
		void *block = malloc(BYTES);
		MUST(block != blocks[BLOCKS - 1]);
		blocks[i] = block;
	}
	for (int i = 0; i < BLOCKS / 2; i++)
		free(blocks[i]);
}

/* Blocks of one thread that another frees, in turns with who allocates. */
static void *remote_blocks[REMOTE_BLOCKS];
static pthread_barrier_t turn;

static void make_remote(void) {
	for (int i = 0; i < REMOTE_BLOCKS; i++)
		MUST(remote_blocks[i] = malloc(REMOTE_BYTES));
}

/* Of the blocks freed so far none of the last WAIT comes back. */
static void take_one(int freed) {
	void *block = malloc(REMOTE_BYTES);
	for (int i = freed > WAIT ? freed - WAIT : 0; i < freed; i++)
		MUST(block != remote_blocks[i]);
}

static void *make_and_stay(void *argument) {
	(void)argument;
	make_remote();
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	return NULL;
}

/* Who frees allocates, too. */
static void remote_blocks_wait(void) {
	pthread_t thread;
	MUST(pthread_create(&thread, NULL, make_and_stay, NULL) == 0);
	pthread_barrier_wait(&turn);
	for (int i = 0; i < REMOTE_BLOCKS; i++) {
		free(remote_blocks[i]);
		take_one(i + 1);
	}
	pthread_barrier_wait(&turn);
	MUST(pthread_join(thread, NULL) == 0);
}

static void *free_in_turns(void *argument) {
	(void)argument;
	/* A thread that neither allocates nor frees much has no lists: its blocks return to their
	 * pages at once.
	 */
	free(malloc(1));
	for (int i = 0; i < REMOTE_BLOCKS; i++) {
		free(remote_blocks[i]);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

/* The thread that made the blocks allocates while another one frees them. */
static void own_blocks_freed_by_another_thread_wait(void) {
	pthread_t thread;
	make_remote();
	MUST(pthread_create(&thread, NULL, free_in_turns, NULL) == 0);
	for (int i = 0; i < REMOTE_BLOCKS; i++) {
		pthread_barrier_wait(&turn);
		take_one(i + 1);
		pthread_barrier_wait(&turn);
	}
	MUST(pthread_join(thread, NULL) == 0);
}

static void freed_blocks_are_filled(void) {
	static const char secret[] = "what nobody may read afterwards";
	char *block = malloc(BYTES);
	memcpy(block, secret, sizeof secret);
	char *volatile stale = block;
	free(block);
	for (size_t i = 0; i + 8 <= sizeof secret; i += 8)
		MUST(memcmp(stale + i, secret + i, 8) != 0);
}

/* A child: where its first chunk lies, and at which block of the page it begins. */
static int print_places(void) {
	char *block = malloc(BYTES);
	printf("%p\n", (void *)block);
	return 0;
}

static void places_differ(const char *program) {
	uintptr_t places[CHILDREN];
	unsigned chunks = 0, slices = 0, offsets = 0;
	for (int i = 0; i < CHILDREN; i++) {
		char command[512];
		snprintf(command, sizeof command, "%s places", program);
		FILE *child = popen(command, "r");
		void *place;
		MUST(child && fscanf(child, "%p", &place) == 1 && pclose(child) == 0);
		places[i] = (uintptr_t)place;
		chunks += i > 0 && places[i] / CHUNK_BYTES != places[0] / CHUNK_BYTES;
		slices += i > 0 && places[i] % CHUNK_BYTES / SLICE_BYTES !=
					   places[0] % CHUNK_BYTES / SLICE_BYTES;
		offsets += i > 0 && places[i] % SLICE_BYTES != places[0] % SLICE_BYTES;
	}
	/* One of 23 million places, and one of some 30: not all of seven are alike. */
	MUST(chunks == CHILDREN - 1);
	MUST(offsets > 0);
	/* One of 62: the first slice that a chunk's pages come from. */
	MUST(slices > 0);
}

/* In how many of 400 steps fresh blocks go up to the next neighbour: one in four, and chance. */
static void neighbours_are_not_next(void) {
	enum { STEPS = 400, MOST = 180 };
	static char *fresh[STEPS + 1];
	for (int i = 0; i <= STEPS; i++)
		MUST(fresh[i] = malloc(BYTES));
	int next = 0;
	for (int i = 0; i < STEPS; i++) {
		ptrdiff_t step = fresh[i + 1] - fresh[i];
		next += step > 0 && step <= BYTES + 32;
	}
	MUST(next < MOST);
	for (int i = 0; i <= STEPS; i++)
		free(fresh[i]);
}

int main(int argc, char **argv) {
	if (argc > 1)
		return print_places();
	must_be_mallow();
	neighbours_are_not_next();
	chunks_are_guarded();
	freed_blocks_wait();
	MUST(pthread_barrier_init(&turn, NULL, 2) == 0);
	remote_blocks_wait();
	own_blocks_freed_by_another_thread_wait();
	freed_blocks_are_filled();
	places_differ(argv[0]);
	return 0;
}
