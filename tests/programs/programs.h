/* SPDX-License-Identifier: MIT
 * programs.h -- what the programs of this folder share.  Each is run with libmallow preloaded and
 * ends with status 0 when all is well; else it says what is not and where. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);    \
			_Exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* A test of another malloc would prove nothing. */
static inline void must_be_mallow(void) {
	char line[4096];
	int found = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	MUST(maps != NULL);
	while (!found && fgets(line, sizeof(line), maps))
		found = strstr(line, "/libmallow") != NULL; /* whichever build */
	fclose(maps);
	MUST(found);
}

#endif
