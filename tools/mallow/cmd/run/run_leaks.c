/* SPDX-License-Identifier: MIT
 * run_leaks.c -- shows the leak checks in the state files of a run's processes. */
#include "cmd/run/run_leaks.h"

#include <stdlib.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "cmd/input/leak_check_request.h"
#include "cmd/input/load.h"
#include "cmd/leaks/leaks_text.h"
#include "formats/write.h"
#include "model/memory.h"
#include "view/select/wrappers.h"

#define STACKS_SHOWN 10

typedef struct run_leaks {
	const mw_children_t *children;
	mw_suppressions_t *suppressions;
	bool is_found, has_program;
} run_leaks_t;

/* Writes the profile to the file that the user named for the program, or into the directory.
 * Returns the file's name, or NULL; the caller frees it. */
static char *write_profile(const run_leaks_t *r, const mw_target_t *target, bool is_program,
			   const mw_profile_t *profile) {
	const mw_children_t *children = r->children;
	bool is_file = is_program && children->file != NULL;
	mw_error_t error;
	if (!is_file && (!children->every_process || profile->sample_count == 0))
		return NULL;
	char *path = is_file ? mw_xstrdup(children->file)
			     : mw_profile_path(children->directory,
					       mw_profile_string(profile, profile->origin.program),
					       (unsigned)target->pid, mw_now_ns(), ".leaks.pb.gz");
	if (mw_write_profile(profile, path, mw_format_of_name(path), MW_GZIP_BY_NAME, &error) == 0)
		return path;
	mw_complain("%s", error.text);
	free(path);
	return NULL;
}

static void see(void *context, const mw_target_t *target, bool is_program) {
	run_leaks_t *r = context;
	mw_snapshot_t *snapshot;
	mw_error_t error;
	r->has_program |= is_program;
	if (mw_check_read(target, &snapshot, &error) != 0) {
		/* Other processes may have left by _exit(2), as shells do. */
		if (is_program)
			mw_complain("no leak check: the program did not call exit(3), or the check "
				    "failed");
		return;
	}
	mw_profile_t *profile = mw_profile_of_leaks(snapshot, NULL);
	mw_load_names(target, NULL, MW_LOAD_SYMBOLS, profile);
	mw_suppress(r->suppressions, profile, true);
	const mw_leak_report_t report = {
		.check = &snapshot->leak_check,
		.profile = profile,
		.row_limit = STACKS_SHOWN,
		.columns = mw_terminal_columns(stderr),
		.sampled = snapshot->leak_count,
		.suppressions = r->suppressions,
	};
	bool is_found = mw_leaks_are_found(&report);
	r->is_found |= is_found;
	char *written = write_profile(r, target, is_program, profile);
	/* The file has whole stacks, and no names of ranges. */
	mw_profile_name_ranges(profile);
	mw_wrappers_cut(profile, MW_WRAPPERS_ALL, NULL);
	mw_interpreters_fold(profile, NULL);
	if ((is_found || is_program) && mw_leaks_print_text(stderr, &report, &error) != 0)
		mw_complain("%s", error.text);
	if (written != NULL)
		mw_complain("profile of leaks written: %s", written);
	free(written);
	mw_profile_free(profile);
	mw_snapshot_free(snapshot);
}

bool mw_run_leaks_show(const mw_children_t *children, mw_suppressions_t *suppressions) {
	run_leaks_t r = {.children = children, .suppressions = suppressions};
	mw_children_visit(children, see, &r);
	if (!r.has_program)
		mw_complain("no leak check: the program left no state file; it never loaded "
			    "libmallow.so, or allocated nothing");
	return r.is_found;
}
