/* SPDX-License-Identifier: MIT
 * live_process.c -- a pid is read, a name is looked for in /proc. */
#include "cmd/outside/live_process.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So many pids are listed where several processes have the name. */
#define PIDS_SHOWN 8

/* Processes that have a name. */
typedef struct named {
	size_t count;
	mw_process_t first;
	int pids[PIDS_SHOWN];
} named_t;

static bool is_number(const char *word) {
	return *word != '\0' && word[strspn(word, "0123456789")] == '\0';
}

/* Returns the pid; 0: no pid is that large. */
static int pid_of(const char *word) {
	errno = 0;
	unsigned long pid = strtoul(word, NULL, 10);
	return errno == 0 && pid <= INT_MAX ? (int)pid : 0;
}

static void add_if_named(named_t *named, int pid, const char *name) {
	mw_process_t process;
	if (pid == getpid() || !mw_process_is_named(pid, name) || !mw_process_read(pid, &process) ||
	    process.zombie || process.is_kernel)
		return;
	if (named->count == 0)
		named->first = process;
	if (named->count < PIDS_SHOWN)
		named->pids[named->count] = pid;
	named->count++;
}

static int find_named(const char *name, named_t *out, mw_error_t *error) {
	const struct dirent *entry;
	*out = (named_t){.count = 0};
	DIR *folder = opendir("/proc");
	if (folder == NULL)
		return mw_error_set(error, "/proc: %s", strerror(errno));
	while ((entry = readdir(folder)) != NULL)
		if (is_number(entry->d_name))
			add_if_named(out, pid_of(entry->d_name), name);
	closedir(folder);
	return 0;
}

static int say_several(const named_t *named, const char *name, mw_error_t *error) {
	char list[PIDS_SHOWN * 12] = "";
	size_t length = 0;
	for (size_t i = 0; i < named->count && i < PIDS_SHOWN; i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%d",
					   i > 0 ? ", " : "", named->pids[i]);
	return mw_error_set(error, "%zu processes have the name '%s'; give one of their pids: %s%s",
			    named->count, name, list, named->count > PIDS_SHOWN ? ", ..." : "");
}

int mw_live_process_find(const char *word, mw_process_t *out, mw_error_t *error) {
	named_t named;
	if (is_number(word)) {
		if (mw_process_read(pid_of(word), out))
			return 0;
		return mw_error_set(error, "pid %s: no such process", word);
	}
	if (find_named(word, &named, error) != 0)
		return -1;
	if (named.count > 1)
		return say_several(&named, word, error);
	if (named.count == 0)
		return mw_error_set(error,
				    "no process has the name '%s'; allowed: the pid of a process "
				    "that runs, or its name",
				    word);
	*out = named.first;
	return 0;
}
