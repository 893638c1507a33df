/* SPDX-License-Identifier: MIT
 * cpu_outside.c -- uses CPU time as it is told to.  A letter on standard input is a command, and
 * one line on standard output its answer:
 * b MS    MS milliseconds in heavy() and a third of that in light(), in turns
 * t MS    a new thread with the name "worker!" uses MS milliseconds in in_thread()
 * k MS    MS milliseconds, most of it in the kernel, in copy_zeros()
 * m MS    MS milliseconds of malloc and free in allocate()
 * d MS    MS milliseconds below 64 KiB of stack
 * c MS    a forked child uses MS milliseconds in in_child()
 * e       executes itself
 * q       ends
 * The answer has the microseconds of CPU time that it took, and the number of system calls that
 * returned EINTR so far: a thread waits all the time. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Atomic unsigned long interrupted;
static volatile unsigned long number;

static long long used_us(void) {
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

/* Computes until the thread has used so much CPU time. */
__attribute__((always_inline)) static inline void spin_until(long long end_us) {
	do
		for (int step = 0; step < 10000; step++)
			number = number * 31 + 7;
	while (used_us() < end_us);
}

__attribute__((noinline)) static void heavy(long long end_us) {
	spin_until(end_us);
}

__attribute__((noinline)) static void light(long long end_us) {
	spin_until(end_us);
}

__attribute__((noinline)) static void in_turns(long long us) {
	long long at = used_us();
	for (long long done = 0; done < us; done += 3000) {
		heavy(at += 3000);
		light(at += 1000);
	}
}

__attribute__((noinline)) static void in_child(long long us) {
	spin_until(used_us() + us);
}

static void *in_thread(void *argument) {
	long long begin = used_us();
	pthread_setname_np(pthread_self(), "worker!");
	spin_until(begin + *(long long *)argument);
	*(long long *)argument = used_us() - begin;
	return NULL;
}

__attribute__((noinline)) static void copy_zeros(long long us) {
	static char bytes[1 << 20];
	int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (long long end = used_us() + us; used_us() < end;)
		if (read(zeros, bytes, sizeof(bytes)) < 0)
			abort();
	close(zeros);
}

__attribute__((noinline)) static void deep(int levels, long long us) {
	char volatile room[8 << 10];
	memset((char *)room, levels, sizeof(room));
	if (levels > 0)
		deep(levels - 1, us);
	else
		spin_until(used_us() + us);
	number += (unsigned long)room[levels];
}

__attribute__((noinline)) static void allocate(long long us) {
	static void *volatile blocks[64];
	for (long long end = used_us() + us; used_us() < end;)
		for (int i = 0; i < 1000; i++) {
			free(blocks[i % 64]);
			blocks[i % 64] = malloc(100 + (size_t)i);
		}
}

static void *wait_always(void *argument) {
	(void)argument;
	for (;;)
		if (poll(NULL, 0, 10) < 0 && errno == EINTR)
			interrupted++;
	return NULL;
}

static void obey(char command, long long us, char **words) {
	long long begin = used_us(), in_others = 0;
	pthread_t thread;
	if (command == 'b')
		in_turns(us);
	if (command == 'k')
		copy_zeros(us);
	if (command == 'm')
		allocate(us);
	if (command == 'd')
		deep(8, us);
	if (command == 't') {
		in_others = us;
		pthread_create(&thread, NULL, in_thread, &in_others);
		pthread_join(thread, NULL);
	}
	if (command == 'c') {
		pid_t child = fork();
		if (child == 0) {
			in_child(us);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	if (command == 'e')
		execv("/proc/self/exe", words);
	printf("%lld %lu\n", used_us() - begin + in_others, interrupted);
}

int main(int argc, char **argv) {
	char line[64];
	pthread_t thread;
	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	pthread_create(&thread, NULL, wait_always, NULL);
	puts("ready");
	while (fgets(line, sizeof(line), stdin) != NULL && line[0] != 'q')
		obey(line[0], atoll(line + 1) * 1000, argv);
	return 0;
}
