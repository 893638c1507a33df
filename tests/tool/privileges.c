/* SPDX-License-Identifier: MIT
 * privileges.c -- a program that allocates, and takes commands from standard input, a letter each:
 * u becomes user and group 65534, d may not be dumped, D may be dumped, a allocates, q ends. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static int allocate(void) {
	int left = 0;
	for (int i = 0; i < 2000; i++)
		left += malloc(10000) != NULL;
	return left;
}

int main(void) {
	char letter;
	int left = 0;
	while (read(0, &letter, 1) == 1 && letter != 'q') {
		if (letter == 'u' && (setgid(65534) != 0 || setuid(65534) != 0))
			return 1;
		if (letter == 'd' || letter == 'D')
			prctl(PR_SET_DUMPABLE, letter == 'D', 0, 0, 0);
		if (letter == 'a')
			left += allocate();
		if (letter != '\n' && write(1, &letter, 1) != 1)
			return 1;
	}
	return left == 1;
}
