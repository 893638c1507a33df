/* SPDX-License-Identifier: MIT
 * debuginfod.c -- loads libdebuginfod only when it is needed, because that library loads an HTTP
 * client. */
#include "symbol/files/debuginfod.h"

#include <stdlib.h>
#include <unistd.h>

#include "libraries/debuginfo_client.h"

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

int mw_debuginfod_open(const char *build_id) {
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (!is_allowed || urls == NULL || urls[0] == '\0' || build_id[0] == '\0')
		return -1;
	if (mw_debuginfod_load(NULL) != 0)
		return -1;
	debuginfod_client *client = mw_debuginfod.begin();
	if (client == NULL)
		return -1;
	/* Length 0 means that the build-id is hexadecimal text. */
	const unsigned char *text = (const unsigned char *)build_id;
	int fd = mw_debuginfod.find_executable(client, text, 0, NULL);
	if (fd < 0)
		fd = mw_debuginfod.find_debuginfo(client, text, 0, NULL);
	mw_debuginfod.end(client);
	return fd < 0 ? -1 : fd;
}
