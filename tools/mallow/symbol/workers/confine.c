/* SPDX-License-Identifier: MIT
 * confine.c -- forks a process with limits and passes its output on. */
#include "symbol/workers/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns a number of /proc/self/statm in bytes.  Columns: size, resident, shared, text,
 * library, data. */
static size_t bytes_of(unsigned column) {
	unsigned long pages[6] = {0};
	FILE *statm = fopen("/proc/self/statm", "re");
	for (size_t i = 0; statm != NULL && i <= column; i++)
		if (fscanf(statm, "%lu", &pages[i]) != 1)
			break;
	if (statm != NULL)
		fclose(statm);
	return (size_t)pages[column] * (size_t)sysconf(_SC_PAGESIZE);
}

size_t mw_resident_bytes(void) {
	return bytes_of(1);
}

void mw_confine_memory(size_t more_bytes) {
	struct rlimit limit;
	rlim_t bytes = bytes_of(5) + more_bytes;
	if (getrlimit(RLIMIT_DATA, &limit) == 0 && bytes < limit.rlim_cur) {
		limit.rlim_cur = bytes;
		setrlimit(RLIMIT_DATA, &limit);
	}
}

/* An error message is written last, after a NUL. No view writes a NUL. */
static _Noreturn void run(mw_confined_work_t *work, const void *context, int fd) {
	FILE *out = fdopen(fd, "w");
	mw_error_t error = {.text = ""};
	if (out == NULL)
		_exit(2);
	mw_confine_memory(MW_CONFINED_BYTES);
	int result = work(context, out, &error);
	fputc('\0', out);
	if (result != 0)
		fputs(error.text, out);
	_exit(fclose(out) == 0 ? result != 0 : 2);
}

/* Passes on the output before the NUL, and puts the rest into `text`. */
static void pass_on(int fd, FILE *out, char *text, size_t size) {
	char buffer[65536], *end = NULL;
	size_t used = 0;
	ssize_t got;
	while ((got = read(fd, buffer, sizeof(buffer))) > 0 || (got < 0 && errno == EINTR)) {
		const char *from = buffer;
		if (got < 0)
			continue;
		if (end == NULL) {
			end = memchr(buffer, '\0', (size_t)got);
			from = end != NULL ? end + 1 : buffer + got;
			fwrite(buffer, 1, (size_t)(end != NULL ? end - buffer : got), out);
		}
		size_t rest = (size_t)(buffer + got - from);
		rest = rest < size - 1 - used ? rest : size - 1 - used;
		memcpy(text + used, from, rest);
		used += rest;
	}
	text[used] = '\0';
}

int mw_confine(mw_confined_work_t *work, const void *context, const char *what, FILE *out,
	       mw_error_t *error) {
	int ends[2], status = 0;
	char text[sizeof(error->text)];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return mw_error_set(error, "%s: cannot make a pipe: %s; raise ulimit -n", what,
				    strerror(errno));
	fflush(NULL); /* otherwise both processes would write the buffered output */
	pid_t worker = fork();
	if (worker == 0) {
		close(ends[0]);
		run(work, context, ends[1]);
	}
	close(ends[1]);
	if (worker < 0) {
		close(ends[0]);
		return mw_error_set(error, "%s: cannot start a process: %s; end some processes",
				    what, strerror(errno));
	}
	pass_on(ends[0], out, text, sizeof(text));
	close(ends[0]);
	while (waitpid(worker, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		return mw_error_set(error, "%s", text);
	return mw_error_set(error,
			    "%s: a file of the program is damaged, or needs more than 4 GiB to "
			    "read; choose functions of another file",
			    what);
}
