/* SPDX-License-Identifier: MIT
 * attach_epoll.c -- sleeps in epoll_wait(2) until the end of standard input; any error of the call,
 * EINTR too, ends the program with status 1. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

int main(void) {
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);
	char *block = malloc(1000);
	char byte;
	if (epoll < 0 || block == NULL || epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event) != 0)
		return 2;
	puts("ready");
	fflush(stdout);
	do {
		if (epoll_wait(epoll, &event, 1, -1) < 0) {
			perror("epoll_wait");
			return 1;
		}
		free(block);
		block = malloc(1000);
	} while (read(0, &byte, 1) > 0);
	free(block);
	return 0;
}
