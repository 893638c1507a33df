/* SPDX-License-Identifier: MIT
 * subprocess.h -- answers a request by the output of this command with other arguments.
 * Layer: http. */
#ifndef MW_TOOL_HTTP_SUBPROCESS_H
#define MW_TOOL_HTTP_SUBPROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "http/server.h"

/* Most words of a command line, with the NULL that ends it. */
#define MW_HTTP_WORDS_MAX 32

typedef struct mw_http_command {
	/* argv[0] chooses the command: "mallow", "jeprof" (cmd/compat). */
	const char *words[MW_HTTP_WORDS_MAX];
	/* File for the standard input, from its start; -1: none. */
	int input;
	/* Takes a time that the client chooses.  Such commands leave room for others. */
	bool is_long;
} mw_http_command_t;

/* Instead of a descriptor: so many commands run that this one does not. `error` says so. */
#define MW_HTTP_BUSY (-2)

/* Runs the command and waits for its end.  Returns its output as a file in memory, positioned at
 * its start.  -1: `error` has the command's last message.  If the client goes away meanwhile, or
 * ends its half of the connection, the command is ended (-1).  At most 16 commands run at once, and
 * 16 more that are long; others wait up to ten seconds for one of the 16 to end. */
int mw_http_run(const mw_http_request_t *request, const mw_http_command_t *command,
		mw_error_t *error);
/* Waits so many seconds, in the place of a long command.  Returns 0; MW_HTTP_BUSY; -1: the client
 * has gone, or the server ends. */
int mw_http_wait(const mw_http_request_t *request, unsigned seconds, mw_error_t *error);
/* The server ends: sends SIGTERM to the commands that run, and starts no others. */
void mw_http_end_commands(void);

/* Returns a file in memory with these bytes, positioned at its start; -1 with an error. */
int mw_http_memory_file(const char *bytes, size_t length, mw_error_t *error);

#endif
