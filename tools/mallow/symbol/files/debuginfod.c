/* SPDX-License-Identifier: MIT
 * debuginfod.c -- loads libdebuginfod only when it is needed, because that library loads an HTTP
 * client. */
#include "symbol/files/debuginfod.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_allowed;

void mw_debuginfod_allow(bool allowed) {
	is_allowed = allowed;
	if (!allowed)
		unsetenv("DEBUGINFOD_URLS"); /* libdw asks servers only if this variable is set */
	else if (isatty(STDERR_FILENO))
		setenv("DEBUGINFOD_PROGRESS", "1", 0);
}

bool mw_debuginfod_is_allowed(void) {
	return is_allowed;
}

typedef debuginfod_client *begin_t(void);
typedef int find_t(debuginfod_client *client, const unsigned char *build_id, int length,
		   char **path);
typedef void end_t(debuginfod_client *client);

/* Returns a function of the library; NULL = it has none of that name. */
static void *function_of(void *library, const char *name) {
	return library != NULL ? dlsym(library, name) : NULL;
}

int mw_debuginfod_open(const char *build_id) {
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (!is_allowed || urls == NULL || urls[0] == '\0' || build_id[0] == '\0')
		return -1;
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	begin_t *begin;
	find_t *find_executable, *find_debuginfo;
	end_t *end;
	/* The way that POSIX describes to convert an object pointer to a function pointer. */
	*(void **)&begin = function_of(library, "debuginfod_begin");
	*(void **)&find_executable = function_of(library, "debuginfod_find_executable");
	*(void **)&find_debuginfo = function_of(library, "debuginfod_find_debuginfo");
	*(void **)&end = function_of(library, "debuginfod_end");
	if (begin == NULL || find_executable == NULL || find_debuginfo == NULL || end == NULL)
		return -1;
	debuginfod_client *client = begin();
	if (client == NULL)
		return -1;
	/* Length 0 means that the build-id is hexadecimal text. */
	const unsigned char *text = (const unsigned char *)build_id;
	int fd = find_executable(client, text, 0, NULL);
	if (fd < 0)
		fd = find_debuginfo(client, text, 0, NULL);
	end(client);
	return fd < 0 ? -1 : fd;
}
