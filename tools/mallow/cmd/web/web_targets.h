/* SPDX-License-Identifier: MIT
 * web_targets.h -- what the page may show: the processes and files of the command line, the files
 * of its directories, or all processes of the user.
 * Layer: cmd/web. */
#ifndef MW_TOOL_CMD_WEB_WEB_TARGETS_H
#define MW_TOOL_CMD_WEB_WEB_TARGETS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"

typedef struct mw_web_targets {
	const char *const *operands; /* none: all processes */
	size_t count;
	const char *store; /* whose services are shown, without a slash at its end; NULL = none */
} mw_web_targets_t;

/* Replaces names of processes by their pids.  Returns -1 with an error for an operand that is
 * neither a process nor a file that can be read. */
int mw_web_targets_check(char **operands, size_t count, mw_error_t *error);
/* Checks the text of --store: a store's URL, or "store:" for the default one.  The caller frees
 * *store, which is NULL if `text` is. */
int mw_web_store_take(const char *text, char **store, mw_error_t *error);
/* Returns whether the page may show the target, by the name that the list has for it. */
bool mw_web_targets_allow(const mw_web_targets_t *targets, const char *target);
/* Returns the list as JSON: {"all": ..., "control": ..., "targets": [...]}.  The caller frees it;
 * NULL: no memory. */
char *mw_web_targets_list(const mw_web_targets_t *targets, bool has_control);

#endif
