/* SPDX-License-Identifier: MIT
 * programs.h -- what the programs of this folder share.  Each is run with libmallow preloaded and
 * ends with status 0 when all is well; else it says what is not and where. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef __GLIBC__ /* what musl's headers lack, and libmallow has */
void *pvalloc(size_t bytes);
int malloc_trim(size_t pad_bytes);
#endif
#ifndef sigev_notify_thread_id /* glibc has no name for it */
#define sigev_notify_thread_id _sigev_un._tid
#endif

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

/* From counters that lag behind by some pages a processor. */
static inline long resident_kib(void) {
	long pages = 0, resident = 0;
	FILE *statm = fopen("/proc/self/statm", "r");
	MUST(statm && fscanf(statm, "%ld %ld", &pages, &resident) == 2);
	fclose(statm);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

#endif
