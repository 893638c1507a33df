/* SPDX-License-Identifier: MIT
 * asleep_together.c COUNT -- COUNT threads sleep in epoll_wait(), nanosleep() and poll(). For each
 * line it says how many calls have returned EINTR so far; it ends with its input.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static atomic_int interrupted;

static void *sleep_on(void *number) {
	const struct timespec hours = {.tv_sec = 36000};
	struct epoll_event event;
	int set = epoll_create1(0);
	/* A thread that allocates has its timer at once. The compiler may leave out a block that
	 * nothing can see. */
	void *volatile block = malloc(100);
	free(block);
	for (size_t kind = (size_t)number % 3;;) {
		int result = kind == 0   ? nanosleep(&hours, NULL)
			     : kind == 1 ? poll(NULL, 0, -1)
					 : epoll_wait(set, &event, 1, -1);
		interrupted += result < 0 && errno == EINTR;
	}
	return number;
}

int main(int argc, char **argv) {
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	char line[8];
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 262144);
	for (size_t i = 0; i < count; i++) {
		pthread_t thread;
		if (pthread_create(&thread, &attributes, sleep_on, (void *)i) != 0)
			return 2;
	}
	puts("ready");
	do {
		printf("interrupted: %d\n", interrupted);
		fflush(stdout);
	} while (fgets(line, sizeof(line), stdin) != NULL);
	return 0;
}
