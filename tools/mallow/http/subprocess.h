/* SPDX-License-Identifier: MIT
 * subprocess.h -- answers a request by the output of this command with other arguments.
 * Layer: http. */
#ifndef MW_TOOL_HTTP_SUBPROCESS_H
#define MW_TOOL_HTTP_SUBPROCESS_H

#include <stddef.h>

#include "http/server.h"

/* Most words of a command line, with the NULL that ends it. */
#define MW_HTTP_WORDS_MAX 32

typedef struct mw_http_command {
	/* argv[0] chooses the command: "mallow", "jeprof" (cmd/compat). */
	const char *words[MW_HTTP_WORDS_MAX];
	/* File for the standard input, from its start; -1: none. */
	int input;
} mw_http_command_t;

/* Runs the command and waits for its end.  Returns its output as a file in memory, positioned at
 * its start.  -1: `error` has the command's last message. */
int mw_http_run(const mw_http_command_t *command, mw_error_t *error);
/* Waits so many seconds, or until mw_http_end_commands(). */
void mw_http_wait(unsigned seconds);
/* The server ends: sends SIGTERM to the commands that run, and starts no others. */
void mw_http_end_commands(void);

/* Returns a file in memory with these bytes, positioned at its start; -1 with an error. */
int mw_http_memory_file(const char *bytes, size_t length, mw_error_t *error);

#endif
