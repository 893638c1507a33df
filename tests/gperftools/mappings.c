/* SPDX-License-Identifier: MIT
 * mappings.c -- maps, unmaps and remaps memory in ways that heap profiles with HEAP_PROFILE_MMAP
 * must tell apart: parts that are unmapped, mappings over others, remaps, the data segment, shared
 * memory, also in threads, children and signal handlers.
 * Usage: mappings [PART...] */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gperftools_test.h"

#define KIB ((size_t)1024)
#define STEP __attribute__((noinline)) static

static char *map(size_t bytes) {
	char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(base != MAP_FAILED);
	return base;
}

STEP char *map_whole(void) {
	char *base = map(1040 * KIB);
	return base;
}

STEP char *map_cut(void) {
	char *base = map(2080 * KIB);
	return base;
}

STEP char *map_freed(void) {
	char *base = map(304 * KIB);
	return base;
}

STEP char *map_covered(void) {
	char *base = map(640 * KIB);
	return base;
}

STEP void map_over(char *base) {
	char *over =
		mmap64(base, 128 * KIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(over == base);
}

STEP char *remap(char *base, size_t bytes, size_t new_bytes) {
	char *moved = mremap(base, bytes, new_bytes, MREMAP_MAYMOVE);
	CHECK(moved != MAP_FAILED);
	return moved;
}

STEP char *extend_data(void) {
	char *before = sbrk(96 * KIB);
	CHECK(before != (char *)-1);
	return before;
}

STEP char *attach(int segment) {
	char *base = shmat(segment, NULL, 0);
	CHECK(base != (char *)-1);
	return base;
}

static void use_maps(void) {
	map_whole()[0] = 1;
	char *cut = map_cut();
	CHECK(munmap(cut, 16 * KIB) == 0);
	CHECK(munmap(cut + 512 * KIB, 256 * KIB) == 0);
	for (int i = 0; i < 5; i++)
		CHECK(munmap(map_freed(), 304 * KIB) == 0);
	remap(map(208 * KIB), 208 * KIB, 416 * KIB)[415 * KIB] = 1;
}

static void use_fixed(void) {
	map_over(map_covered() + 64 * KIB);
}

static void use_data_segment(void) {
	extend_data()[0] = 1;
	CHECK(sbrk(-(long)(32 * KIB)) != (char *)-1);
	CHECK(sbrk(0) != (char *)-1);
}

static void use_segments(void) {
	int segment = shmget(IPC_PRIVATE, 160 * KIB, IPC_CREAT | 0600);
	CHECK(segment >= 0);
	attach(segment)[0] = 1;
	char *other = attach(segment);
	CHECK(shmdt(other) == 0);
	CHECK(shmctl(segment, IPC_RMID, NULL) == 0);
}

/* Results and errno are those of the system calls. */
static void fail_calls(void) {
	errno = 0;
	CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	CHECK(errno == EINVAL);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 12345, 0) == MAP_FAILED && errno == EBADF);
	CHECK(munmap((void *)1, 4096) == -1 && errno == EINVAL);
	CHECK(mremap((void *)4096, 4096, 8192, 0) == MAP_FAILED && errno == EFAULT);
	CHECK(shmat(-1, NULL, 0) == (void *)-1 && errno == EINVAL);
	CHECK(shmdt((void *)4096) == -1 && errno == EINVAL);
	CHECK(sbrk((long)1 << 46) == (void *)-1 && errno == ENOMEM);
	errno = 77;
	char *base = map(4096);
	CHECK(munmap(base, 4096) == 0 && errno == 77);
}

enum { ROUNDS = 2000 };

static void *churn(void *unused) {
	for (int i = 0; i < ROUNDS; i++)
		CHECK(munmap(map(64 * KIB), 64 * KIB) == 0);
	return unused;
}

static void use_threads(void) {
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, churn, NULL) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static volatile sig_atomic_t handled;
static timer_t timer;

/* The next tick is that much after the end of the handler: the interrupted code goes on between two
 * ticks, on a slow machine, too. */
static void start_timer(void) {
	struct itimerspec soon = {.it_value = {.tv_nsec = 50000}};
	CHECK(timer_settime(timer, 0, &soon, NULL) == 0);
}

static void on_tick(int number) {
	(void)number;
	int saved_errno = errno;
	munmap(map(32 * KIB), 32 * KIB);
	handled++;
	start_timer();
	errno = saved_errno;
}

/* Handlers interrupt mmap, malloc and samples. */
static void use_handlers(void) {
	struct sigaction action = {.sa_handler = on_tick};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	start_timer();
	for (int i = 0; i < 20 * ROUNDS || handled < 200; i++) {
		free(malloc(1000 + (size_t)i % 5000));
		CHECK(munmap(map(16 * KIB), 16 * KIB) == 0);
	}
	/* The last tick's handler would set the timer. */
	CHECK(signal(SIGALRM, SIG_IGN) != SIG_ERR);
	CHECK(timer_delete(timer) == 0);
}

/* A child of fork(2), while other threads map. */
static void use_children(void) {
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, churn, NULL) == 0);
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();
		if (child == 0) {
			munmap(map_freed(), 304 * KIB);
			map_whole();
			_exit(0);
		}
		int status;
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	CHECK(pthread_join(thread, NULL) == 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{"maps", use_maps},         {"fixed", use_fixed},       {"data", use_data_segment},
	{"segments", use_segments}, {"failures", fail_calls},   {"threads", use_threads},
	{"handlers", use_handlers}, {"children", use_children},
};

int main(int count, char **arguments) {
	for (int i = 1; i < count; i++)
		for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
			if (strcmp(arguments[i], parts[k].name) == 0)
				parts[k].run();
	return 0;
}
