/* SPDX-License-Identifier: MIT
 * own_state.h -- the calling process's own state file, mapped. */
#ifndef MALLOW_TESTS_OWN_STATE_H
#define MALLOW_TESTS_OWN_STATE_H

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

/* The number behind the pid says when the process started: a dead one may have had the same pid.
 * The pid namespace is behind it. */
static inline const char *own_state_newest(const glob_t *found) {
	const char *newest = NULL;
	unsigned long long latest = 0;
	for (size_t i = 0; i < found->gl_pathc; i++) {
		const char *path = found->gl_pathv[i];
		unsigned long long start = strtoull(strchr(strrchr(path, '/'), '.') + 1, NULL, 10);
		if (start >= latest) {
			latest = start;
			newest = path;
		}
	}
	return newest;
}

/* To be read and written; ends the test where there is none. */
static inline char *own_state_map(void) {
	char pattern[64];
	glob_t found;
	snprintf(pattern, sizeof pattern, "/dev/shm/mallow-%u/%d.*", geteuid(), (int)getpid());
	CHECK(glob(pattern, 0, NULL, &found) == 0);
	int file = open(own_state_newest(&found), O_RDWR);
	struct stat status;
	CHECK(file >= 0 && fstat(file, &status) == 0);
	globfree(&found);
	char *base =
		mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(base != MAP_FAILED);
	close(file);
	return base;
}

#endif
