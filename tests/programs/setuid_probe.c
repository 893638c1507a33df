/* SPDX-License-Identifier: MIT
 * setuid_probe.c -- linked to libmallow.a: allocates enough for a state file, then tells its pid
 * and waits for a line.  tests/real/setuid.sh runs it as itself and as a set-uid program. */
#include <sys/auxv.h>
#include <unistd.h>

#include "programs.h"

int main(void) {
	char line[8];
	for (int i = 0; i < 4000; i++) {
		char *block = malloc(4096);
		MUST(block != NULL);
		block[0] = 1;
		/* Half of them stay: live bytes are what a profile would show. */
		if (i % 2)
			free(block);
	}
	printf("%d %lu\n", (int)getpid(), getauxval(AT_SECURE));
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) == NULL;
}
