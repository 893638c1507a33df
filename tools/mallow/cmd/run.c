/* SPDX-License-Identifier: MIT
 * run.c -- `mallow run`: a program with libmallow.so in front of its malloc. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/harvest.h"
#include "live/library.h"
#include "model/alloc.h"
#include "model/error.h"

/* For programs that ask for another library by name: ours of that name comes first. */
static int set_library_path(const char *as, mw_error_t *error) {
	char library[PATH_MAX], path[PATH_MAX + 64];
	if (mw_library_find(library, error) != 0)
		return -1;
	*strrchr(library, '/') = '\0';
	snprintf(path, sizeof(path), "%s/mallow/compat/lib%s.so.2", library, as);
	if (access(path, R_OK) != 0)
		return mw_error_set(error, "run: %s: %s; install it, or leave out --as", path,
				    strerror(errno));
	*strrchr(path, '/') = '\0';
	const char *others = getenv("LD_LIBRARY_PATH");
	mw_environment_join("LD_LIBRARY_PATH", path, ':', others ? others : "");
	return 0;
}

/* Ours goes first: of two libraries with a malloc the first wins. */
static int set_preload(mw_error_t *error) {
	char library[PATH_MAX];
	if (mw_library_find(library, error) != 0)
		return -1;
	if (strpbrk(library, ": "))
		return mw_error_set(error,
				    "run: %s: LD_PRELOAD cannot hold a path with blanks or colons; "
				    "set MALLOW_LIB to a copy or a link without them",
				    library);
	const char *others = getenv("LD_PRELOAD");
	mw_environment_join("LD_PRELOAD", library, ':', others ? others : "");
	return 0;
}

/* What the library samples at when nobody says anything; only for messages. */
#define DEFAULT_MEAN_BYTES ((uint64_t)512 << 10)
/* At a finer rate, every process has samples, and publishes its state file at once. */
#define PUBLISH_AT_ONCE_BYTES ((uint64_t)64 << 10)

/* Returns T.  A process publishes its state file at its first sample, whose estimate is T bytes at
 * least, so that the many small processes of a build leave none behind. */
static uint64_t set_configuration(const mw_arguments_t *arguments, const char *session) {
	const mw_option_value_t *rate = mw_argument(arguments, "rate");
	uint64_t mean_bytes = rate->given ? rate->number : DEFAULT_MEAN_BYTES;
	if (mw_argument(arguments, "exact")->given)
		mean_bytes = 1;
	char ours[256];
	int used = snprintf(ours, sizeof(ours),
			    "prof:true,prof_keep:true,prof_session:%s,prof_state_min:%" PRIu64,
			    session, mean_bytes < PUBLISH_AT_ONCE_BYTES ? 0 : mean_bytes);
	/* Their MALLOW_CONF may have a rate. */
	if (rate->given || mean_bytes == 1)
		snprintf(ours + used, sizeof(ours) - (size_t)used, ",prof_sample:%" PRIu64,
			 mean_bytes);
	const char *theirs = getenv("MALLOW_CONF");
	/* Later wins. */
	mw_environment_join("MALLOW_CONF", theirs ? theirs : "", ',', ours);
	return mean_bytes;
}

/* Splits --output, and makes sure that it can be written before hours of a run depend on it. */
static int take_output(const char *output, mw_harvest_t *harvest, char **to_free,
		       mw_error_t *error) {
	harvest->directory = ".";
	*to_free = NULL;
	if (!output)
		return 0;
	struct stat info;
	size_t length = strlen(output);
	bool exists = stat(output, &info) == 0;
	char *directory = *to_free = mw_xstrdup(output);
	if (exists ? S_ISDIR(info.st_mode) : output[length - 1] == '/') {
		if (!exists && mkdir(output, 0777) != 0)
			return mw_error_set(error, "run: %s: %s", output, strerror(errno));
		while (length > 1 && directory[length - 1] == '/')
			directory[--length] = '\0';
		harvest->every_process = true;
	} else {
		harvest->file = output;
		char *slash = strrchr(directory, '/');
		if (!slash)
			strcpy(directory, ".");
		else
			slash[slash == directory] = '\0';
	}
	harvest->directory = directory;
	if (access(directory, W_OK | X_OK) != 0)
		return mw_error_set(error, "run: %s: %s; give --output a place that can be written",
				    directory, strerror(errno));
	return 0;
}

static void make_session(char *session, size_t size) {
	uint64_t number = 0;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)session;
	snprintf(session, size, "run-%016" PRIx64, number);
}

static void on_tick(void *context, int pid) {
	mw_harvest_tick(context, pid);
}

/* Returns the status to end with; an end by a signal does not come back. */
static int run_program(const mw_arguments_t *arguments, mw_harvest_t *harvest, mw_error_t *error) {
	mw_launch_t launch;
	mw_launch_tick_t tick = {.call = on_tick, .context = harvest};
	if (mw_launch(arguments->operands, &tick, &launch, error) != 0)
		return -1;
	if (launch.exec_errno != 0) {
		mw_complain("run: %s: %s", arguments->operands[0], strerror(launch.exec_errno));
		return launch.exec_errno == ENOENT ? MW_EXIT_NOT_FOUND : MW_EXIT_NOT_EXECUTABLE;
	}
	harvest->launch = &launch;
	mw_harvest(harvest);
	fflush(stdout);
	mw_launch_end_alike(launch.wait_status);
}

int mw_cmd_run(const mw_arguments_t *arguments) {
	mw_harvest_t harvest = {.held_fd = -1};
	mw_error_t error;
	char session[64];
	char *to_free = NULL;
	const mw_option_value_t *as = mw_argument(arguments, "as");
	if (mw_argument(arguments, "rate")->given && mw_argument(arguments, "exact")->given) {
		mw_complain("run: --rate and --exact exclude each other; --exact is --rate 1");
		return MW_EXIT_TROUBLE;
	}
	make_session(session, sizeof(session));
	int status =
		take_output(mw_argument(arguments, "output")->text, &harvest, &to_free, &error);
	if (status == 0)
		status = as->given ? set_library_path(as->text, &error) : set_preload(&error);
	if (status == 0) {
		harvest.session = session;
		harvest.program = arguments->operands[0];
		harvest.as = as->given ? as->text : NULL;
		harvest.mean_bytes = set_configuration(arguments, session);
		status = run_program(arguments, &harvest, &error);
	}
	free(to_free);
	if (status >= 0)
		return status;
	mw_complain("%s", error.text);
	return MW_EXIT_TROUBLE;
}
