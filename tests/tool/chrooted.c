/* SPDX-License-Identifier: MIT
 * chrooted.c [ROOT] -- changes its root, as daemons do after their start, if one is named; then its
 * heap grows by 3 MiB that it keeps and 2 MB that nothing leads to, in blocks. Prints "ready", and
 * sleeps in a system call until its input ends. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"

static char *volatile kept;

static __attribute__((noinline)) int keep(void) {
	kept = malloc(3 << 20);
	if (!kept)
		return 1;
	memset(kept, 'x', 3 << 20);
	return 0;
}

int main(int argc, char **argv) {
	struct pollfd input = {.fd = 0, .events = POLLIN};
	if (argc > 1 && (chroot(argv[1]) != 0 || chdir("/") != 0))
		return 1;
	if (keep() != 0 || allocate() != 0 || write(1, "ready\n", 6) != 6)
		return 1;
	while (poll(&input, 1, -1) < 0)
		continue;
	return 0;
}
