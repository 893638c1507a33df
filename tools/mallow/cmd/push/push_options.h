/* SPDX-License-Identifier: MIT
 * push_options.h -- the receiver and the labels of a push, from the command line and the
 * environment.
 * Layer: cmd/push. */
#ifndef MW_TOOL_CMD_PUSH_PUSH_OPTIONS_H
#define MW_TOOL_CMD_PUSH_PUSH_OPTIONS_H

#include <limits.h>
#include <stdbool.h>

#include "cli/options.h"
#include "push/receiver.h"

typedef struct mw_push_options {
	mw_receiver_t *receiver;
	/* Texts that the user gave; "" = not given.  Tags are sorted. */
	mw_identity_t identity;
	mw_tag_t *tags;
	char *texts; /* of the tags */
	char host[HOST_NAME_MAX + 1];
	char *folder; /* of what was pushed (push/progress.h) */
	double retry_seconds;
	bool is_time_only, has_names, is_quiet;
	bool is_several; /* processes may be chosen that have nothing to push */
} mw_push_options_t;

/* Opens the receiver.  The caller calls mw_push_options_release() in both cases. */
int mw_push_options_take(const mw_arguments_t *arguments, mw_push_options_t *out,
			 mw_error_t *error);
void mw_push_options_release(mw_push_options_t *options);

#endif
