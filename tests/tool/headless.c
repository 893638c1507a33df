/* SPDX-License-Identifier: MIT
 * headless.c -- allocates 2000 blocks of 1000 bytes and prints "ready"; then its first thread ends,
 * and another one sleeps in poll(2) until its input ends. Ends with 1 if poll(2) has failed. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"

static void *wait_for_input(void *unused) {
	struct pollfd input = {.fd = 0, .events = POLLIN};
	(void)unused;
	exit(poll(&input, 1, -1) < 0);
}

int main(void) {
	pthread_t other;
	if (allocate() != 0 || pthread_create(&other, NULL, wait_for_input, NULL) != 0 ||
	    write(1, "ready\n", 6) != 6)
		return 1;
	pthread_exit(NULL);
}
