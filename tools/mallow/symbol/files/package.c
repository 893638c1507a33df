/* SPDX-License-Identifier: MIT
 * package.c -- asks dpkg for the package that owns a file. */
#include "symbol/files/package.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads the first line that a program prints; no shell is used.  False: there is none. */
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
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return got;
}

/* dpkg-query prints "redis-server: /usr/bin/redis-server". */
static bool find(const char *path, char *package, size_t size) {
	char line[PATH_MAX];
	/* Packages list some files by their paths before /lib became /usr/lib. */
	char other[PATH_MAX];
	bool is_usr = strncmp(path, "/usr/", 5) == 0;
	snprintf(other, sizeof(other), "%s%s", is_usr ? "" : "/usr", is_usr ? path + 4 : path);
	const char *const owner[] = {"dpkg-query", "-S", path, other, NULL};
	if (!ask(owner, line, sizeof(line)))
		return false;
	line[strcspn(line, ":,")] = '\0';
	if (strchr(line, ' ') != NULL) /* "diversion by ... from" */
		return false;
	/* libc6's debug package has an older form of name. */
	snprintf(package, size, "%.100s%s", line, strcmp(line, "libc6") == 0 ? "-dbg" : "-dbgsym");
	return true;
}

bool mw_debug_package_of(const char *path, char *package, size_t size) {
	/* Answers are remembered, because added profiles share most files. */
	static struct {
		char path[256], package[128];
		bool found;
	} known[8];
	static unsigned next;
	if (path[0] != '/' || strlen(path) >= sizeof(known[0].path))
		return false;
	unsigned i = 0;
	while (i < 8 && strcmp(known[i].path, path) != 0)
		i++;
	if (i == 8) {
		i = next++ % 8;
		snprintf(known[i].path, sizeof(known[i].path), "%s", path);
		known[i].found = find(path, known[i].package, sizeof(known[i].package));
	}
	snprintf(package, size, "%s", known[i].package);
	return known[i].found;
}
