/* SPDX-License-Identifier: MIT
 * leak_names.c -- runs `pprof --symbols PROGRAM`, which reads the mappings and the addresses, and
 * answers with a line for each address. Both lie in files without names, so that neither side waits
 * for the other. */
#include "compat/leaks/leak_names.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/put.h"
#include "os/platform/loaded_symbol.h"
#include "os/platform/secure_environment.h"
#include "os/platform/system_call.h"

#define LINE_BYTES 64
#define COPY_BYTES 4096

static void put_mappings(int to) {
	char bytes[COPY_BYTES];
	ssize_t length;
	int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	while (file >= 0 && (length = read(file, bytes, sizeof bytes)) > 0)
		mw_put(to, bytes, (size_t)length);
	if (file >= 0)
		close(file);
}

/* A return address may belong to the next function: the byte before it is in the call. */
static void put_addresses(int to, const mw_leaks_group_t *groups, size_t count) {
	char line[LINE_BYTES];
	for (size_t i = 0; i < count; i++)
		for (unsigned frame = 0; frame < groups[i].stack.depth; frame++) {
			size_t length = mw_fmt(line, sizeof line, "0x%lx\n",
					       (unsigned long)groups[i].stack.pcs[frame] - 1);
			mw_put(to, line, length);
		}
}

/* Returns the environment without checks and preloaded libraries; NULL: no memory. */
static char **plain_environment(void) {
	size_t count = 0, used = 0;
	char **all = mw_environment_all();
	while (all[count])
		count++;
	char **plain = malloc((count + 1) * sizeof *plain);
	for (size_t i = 0; i < count && plain; i++)
		if (strncmp(all[i], "HEAPCHECK=", 10) != 0 &&
		    strncmp(all[i], "LD_PRELOAD=", 11) != 0)
			plain[used++] = all[i];
	if (plain)
		plain[used] = NULL;
	return plain;
}

/* Returns whether the program ran and succeeded. */
static bool run(const char *program, bool has_places, int from, int to) {
	char *arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "--symbols",
			     program_invocation_name,
			     has_places ? (char *)(uintptr_t) "--lines" : NULL, NULL};
	posix_spawn_file_actions_t actions;
	pid_t child;
	int status = -1;
	char **plain = plain_environment();
	if (!plain || posix_spawn_file_actions_init(&actions) != 0)
		return false;
	posix_spawn_file_actions_adddup2(&actions, from, 0);
	posix_spawn_file_actions_adddup2(&actions, to, 1);
	/* Messages about missing symbols are no part of a report. */
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	bool began = posix_spawnp(&child, program, &actions, NULL, arguments, plain) == 0;
	while (began && waitpid(child, &status, 0) < 0 && errno == EINTR) {
	}
	posix_spawn_file_actions_destroy(&actions);
	free(plain);
	return began && status == 0;
}

static mw_leaks_names_t read_names(int from) {
	mw_leaks_names_t names = {.text = NULL};
	off_t length = lseek(from, 0, SEEK_END);
	if (length <= 0 || !(names.text = malloc((size_t)length)))
		return names;
	ssize_t got = pread(from, names.text, (size_t)length, 0);
	names.end = names.text + (got > 0 ? got : 0);
	names.next = names.text;
	for (char *at = names.text; (at = memchr(at, '\n', (size_t)(names.end - at))) != NULL;)
		*at = '\0';
	/* A last line without an end is left out. */
	while (names.end > names.text && names.end[-1] != '\0')
		names.end--;
	return names;
}

static void find_program(char program[PATH_MAX]) {
	Dl_info own;
	const char *wanted = mw_environment("PPROF_PATH");
	const char *end = NULL;
	if (!wanted || !*wanted)
		wanted = "pprof";
	else if (mw_fmt(program, PATH_MAX, "%s", wanted) < PATH_MAX)
		return;
	if (mw_os_find_object_of((const void *)(uintptr_t)find_program, &own))
		end = strrchr(own.dli_fname, '/');
	if (end &&
	    mw_fmt(program, PATH_MAX, "%.*s/bin/pprof", (int)(end - own.dli_fname), own.dli_fname) <
		    PATH_MAX &&
	    access(program, X_OK) == 0)
		return;
	mw_fmt(program, PATH_MAX, "pprof");
}

/* A file without a name. Kernels before 3.17 lack memfd_create(2). */
static int open_memory(const char *name) {
	int file = (int)mw_system_call(SYS_memfd_create, name, MFD_CLOEXEC);
	if (file >= 0 || errno != ENOSYS)
		return file;
	char path[] = "/tmp/mallow-XXXXXX";
	file = mkostemp(path, O_CLOEXEC);
	if (file >= 0)
		unlink(path);
	return file;
}

mw_leaks_names_t mw_leaks_names_get(const mw_leaks_group_t *groups, size_t count, bool has_places,
				    char program[PATH_MAX]) {
	mw_leaks_names_t names = {.text = NULL};
	find_program(program);
	/* PATH is the user's, who would have a program of his run with rights that he lacks. */
	if (mw_environment_is_secure() || getuid() != geteuid())
		return names;
	int request = open_memory("addresses");
	int answer = open_memory("names");
	if (request >= 0 && answer >= 0) {
		put_mappings(request);
		put_addresses(request, groups, count);
		lseek(request, 0, SEEK_SET);
		if (run(program, has_places, request, answer))
			names = read_names(answer);
	}
	if (request >= 0)
		close(request);
	if (answer >= 0)
		close(answer);
	return names;
}

const char *mw_leaks_names_next(mw_leaks_names_t *names) {
	if (!names->text || names->next >= names->end)
		return "";
	const char *name = names->next;
	names->next += strlen(name) + 1;
	return name;
}

void mw_leaks_names_free(mw_leaks_names_t *names) {
	free(names->text);
}
