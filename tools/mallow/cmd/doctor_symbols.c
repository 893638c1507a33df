/* SPDX-License-Identifier: MIT
 * doctor_symbols.c -- files whose functions have no names, and the package that has them. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/doctor.h"
#include "model/alloc.h"

/* Files that are named; libraries without symbols come in dozens. */
#define FILES_NAMED 8

typedef struct counts {
	size_t all, nameless, lineless;
} counts_t;

/* The first line a program prints, without a shell; false: none. */
static bool ask(const char *const argv[], char *line, size_t size) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	pid_t pid = fork();
	if (pid == 0) {
		int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (dup2(ends[1], STDOUT_FILENO) >= 0 && dup2(nowhere, STDERR_FILENO) >= 0)
			execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(ends[1]);
	FILE *out = fdopen(ends[0], "r");
	bool got = out != NULL && fgets(line, (int)size, out) != NULL;
	if (out != NULL)
		fclose(out);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0)
		;
	return got;
}

/* "redis-server: /usr/bin/redis-server" and "redis-server-dbgsym"; false: no package of dpkg's. */
static bool find_debug_package(const char *path, char *package, size_t size) {
	char line[PATH_MAX];
	/* Packages know some files by the names they had before /lib became /usr/lib. */
	char other[PATH_MAX];
	bool is_usr = strncmp(path, "/usr/", 5) == 0;
	snprintf(other, sizeof(other), "%s%s", is_usr ? "" : "/usr", is_usr ? path + 4 : path);
	const char *const owner[] = {"dpkg-query", "-S", path, NULL};
	const char *const former[] = {"dpkg-query", "-S", other, NULL};
	if (!ask(owner, line, sizeof(line)) && !ask(former, line, sizeof(line)))
		return false;
	line[strcspn(line, ":,")] = '\0';
	/* libc6's is older than the scheme of names. */
	snprintf(package, size, "%.100s%s", line, strcmp(line, "libc6") == 0 ? "-dbg" : "-dbgsym");
	return true;
}

static void say_file(mw_doctor_t *doctor, const char *path, const counts_t *counts) {
	char package[128];
	bool found = find_debug_package(path, package, sizeof(package));
	mw_doctor_say(doctor, counts->nameless > 0 ? MW_HEALTH_FINDING : MW_HEALTH_NOTE, "symbols",
		      "%s: %zu of %zu frames have no %s; %s%s%s", path,
		      counts->nameless > 0 ? counts->nameless : counts->lineless, counts->all,
		      counts->nameless > 0 ? "name" : "line",
		      found ? "install " : "build it with -g, or keep its debug file",
		      found ? package : "", found ? ", or pass --symbolize=debuginfod" : "");
}

void mw_doctor_look_at_symbols(mw_doctor_t *doctor, const mw_profile_t *profile) {
	counts_t *counts = mw_xcalloc(profile->mapping_count, sizeof(*counts));
	for (size_t i = 1; i < profile->location_count; i++) {
		const mw_location_t *location = &profile->locations[i];
		counts_t *of = &counts[location->mapping];
		of->all++;
		if (location->line_count == 0)
			of->nameless++;
		else if (profile->lines[location->line_first].line == 0)
			of->lineless++;
	}
	size_t named = 0;
	for (size_t i = 1; i < profile->mapping_count; i++) {
		const char *path = mw_profile_string(profile, profile->mappings[i].path);
		/* The kernel's own ([vdso]) has no debug file. */
		if (path[0] != '/' || counts[i].nameless + counts[i].lineless == 0)
			continue;
		if (named++ < FILES_NAMED)
			say_file(doctor, path, &counts[i]);
	}
	if (named > FILES_NAMED)
		mw_doctor_say(doctor, MW_HEALTH_NOTE, "symbols", "and %zu files more",
			      named - FILES_NAMED);
	if (named == 0 && profile->location_count > 1)
		mw_doctor_say(doctor, MW_HEALTH_FINE, "symbols", "all frames have names and lines");
	free(counts);
}
