/* SPDX-License-Identifier: MIT
 * attach_outside.c -- samples, writes the profile, prints the table. */
#include "cmd/outside/attach_outside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cli/pager.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "cmd/input/load.h"
#include "cmd/outside/outside_profile.h"
#include "cmd/outside/outside_session.h"
#include "formats/write.h"
#include "model/memory.h"
#include "report/report.h"
#include "report/text/units.h"
#include "view/select/wrappers.h"

#define DEFAULT_SECONDS 30.0
#define DEFAULT_ROWS 20

static char *choose_path(const char *output, const mw_outside_session_t *session) {
	struct stat info;
	bool is_directory = output != NULL && stat(output, &info) == 0 && S_ISDIR(info.st_mode);
	if (output != NULL && !is_directory)
		return mw_xstrdup(output);
	return mw_profile_path(is_directory ? output : NULL, session->process.name,
			       (unsigned)session->process.pid, mw_now_ns(), ".pb.gz");
}

/* Before the time is spent. */
static bool can_write(const char *output) {
	struct stat info;
	char *folder = mw_xstrdup(output != NULL ? output : "."), *slash = strrchr(folder, '/');
	if (output != NULL && (stat(output, &info) != 0 || !S_ISDIR(info.st_mode))) {
		if (slash == NULL)
			*folder = '\0';
		else
			slash[1] = '\0';
	}
	bool can = access(*folder != '\0' ? folder : ".", W_OK | X_OK) == 0;
	if (!can)
		mw_complain("attach: %s: cannot write: %s", output != NULL ? output : folder,
			    strerror(errno));
	free(folder);
	return can;
}

static int print_table(const mw_arguments_t *arguments, mw_profile_t *profile, mw_error_t *error) {
	const mw_number_value_t *top = &arguments->options.top;
	int live = mw_profile_find_type(profile, "inuse_space");
	const mw_report_options_t options = {
		.sample_type = live >= 0 && mw_profile_total(profile, (size_t)live) == 0
				       ? "alloc_space"
				       : NULL,
		.row_limit = top->given ? (size_t)top->number : DEFAULT_ROWS,
		.columns = mw_terminal_columns(stdout),
	};
	mw_wrappers_cut(profile, MW_WRAPPERS_ALL, NULL);
	mw_interpreters_fold(profile, NULL);
	return mw_report_print(stdout, profile, &options, error);
}

static void say_result(const mw_outside_session_t *session, const mw_profile_t *profile,
		       const char *path) {
	char texts[2][MW_SHOW_BYTES], duration[MW_SHOW_BYTES];
	static const char *const types[2] = {"alloc_space", "inuse_space"};
	for (int i = 0; i < 2; i++) {
		int type = mw_profile_find_type(profile, types[i]);
		mw_format_bytes(type < 0 ? 0 : mw_profile_total(profile, (size_t)type), texts[i],
				MW_SHOW_BYTES);
	}
	mw_complain("pid %d: %s allocated in %s, of which %s are still live; %.0f calls a second, "
		    "%.2g %% of its CPU time; profile written: %s",
		    session->process.pid, texts[0],
		    mw_show_duration((uint64_t)profile->duration_ns, duration), texts[1],
		    session->result.calls_per_second, session->result.share * 100, path);
}

int mw_attach_outside(const mw_arguments_t *arguments) {
	const mw_seconds_value_t *limit = &arguments->options.for_time;
	const char *output = arguments->options.output.text;
	mw_outside_session_t session;
	mw_error_t error;
	if (!can_write(output))
		return MW_EXIT_TROUBLE;
	if (mw_outside_session(arguments, limit->given ? limit->seconds : DEFAULT_SECONDS, 0,
			       &session, &error) != 0) {
		mw_complain("%s", error.text);
		return MW_EXIT_TROUBLE;
	}
	mw_outside_session_notes(&session);
	mw_profile_t *profile = mw_outside_profile(&session, false);
	bool is_alive = session.result.end != MW_OUTSIDE_ENDED;
	mw_load_symbols(profile, is_alive ? profile->origin.pid : 0, true);
	char *path = choose_path(output, &session);
	int status =
		mw_write_profile(profile, path, mw_format_of_name(path), MW_GZIP_BY_NAME, &error);
	if (status == 0) {
		say_result(&session, profile, path);
		status = print_table(arguments, profile, &error);
	}
	if (status != 0)
		mw_complain("%s", error.text);
	free(path);
	mw_profile_free(profile);
	mw_outside_session_release(&session);
	return status == 0 ? MW_EXIT_FINE : MW_EXIT_TROUBLE;
}
