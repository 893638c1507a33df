/* SPDX-License-Identifier: MIT
 * poller.c -- allocates 2000 blocks of 1000 bytes, prints "ready", and sleeps in a system call
 * until its input ends. Nothing in it leads to door(), which prints "entered" and ends the program.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"

void door(void);

/* Any register and any stack may be there. */
__attribute__((used, noinline)) void door(void) {
	if (write(1, "entered\n", 8) != 8)
		_exit(4);
	_exit(3);
}

int main(void) {
	struct pollfd input = {.fd = 0, .events = POLLIN};
	if (allocate() != 0 || write(1, "ready\n", 6) != 6)
		return 1;
	while (poll(&input, 1, -1) < 0)
		continue;
	return 0;
}
