/* SPDX-License-Identifier: MIT
 * push.c -- `mallow push`: sends profiles of processes and files to where others read them. */
#include "cli/complain.h"
#include "cmd/input/load.h"
#include "cmd/input/selected_processes.h"
#include "cmd/push/push_command.h"
#include "cmd/push/push_options.h"
#include "cmd/push/push_target.h"

int mw_cmd_push(const mw_arguments_t *arguments) {
	mw_push_options_t options;
	mw_error_t error;
	int status = MW_EXIT_TROUBLE;
	mw_load_take_options(arguments);
	mw_load_take_fetch_options(arguments);
	if (mw_push_options_take(arguments, &options, &error) == 0) {
		if (mw_receiver_is_open(options.receiver))
			mw_complain("note: %s: the secret is sent without encryption; use https",
				    mw_receiver_url(options.receiver));
		status = mw_on_selected(arguments, mw_push_target, &options);
	} else
		mw_complain("%s", error.text);
	mw_push_options_release(&options);
	return status;
}
