/* SPDX-License-Identifier: MIT
 * undisturbed.c BLOCKS -- sleeps in epoll_wait(), nanosleep() and poll() in turns, until a line
 * comes or standard input ends; then says how many calls returned EINTR.  BLOCKS: of its heap,
 * which an answer walks.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static atomic_bool is_over;
static void **volatile blocks;

static void *await_line(void *unused) {
	char byte;
	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
	atomic_store(&is_over, true);
	return unused;
}

int main(int argc, char **argv) {
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	const struct timespec time = {.tv_nsec = 300000000};
	pthread_t thread;
	struct epoll_event event;
	int set = epoll_create1(0), calls = 0, interrupted = 0;
	blocks = calloc(count + 1, sizeof(*blocks));
	for (size_t i = 0; i < count; i++)
		memset(blocks[i] = malloc(40), 'x', 40);
	if (pthread_create(&thread, NULL, await_line, NULL) != 0 || write(1, "ready\n", 6) != 6)
		return 2;
	for (; !atomic_load(&is_over); calls++) {
		int result = calls % 3 == 0   ? nanosleep(&time, NULL)
			     : calls % 3 == 1 ? poll(NULL, 0, 300)
					      : epoll_wait(set, &event, 1, 300);
		interrupted += result < 0 && errno == EINTR;
	}
	printf("%d of %d calls returned EINTR\n", interrupted, calls);
	return interrupted != 0;
}
