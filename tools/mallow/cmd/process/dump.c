/* SPDX-License-Identifier: MIT
 * dump.c -- `mallow dump`: profiles as files for other tools, once or at intervals. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cmd/input/selected_processes.h"
#include "cmd/process/dump_pattern.h"
#include "cmd/process/process_commands.h"
#include "live/control.h"
#include "live/process/process.h"
#include "model/memory.h"

typedef struct dump_job {
	const mw_arguments_t *arguments;
	/* Directory for names that the command makes up; NULL = the current directory. */
	const char *directory;
	bool one_file; /* --output names the file itself */
	/* --output is a pattern (dump_pattern.h), and this many dumps have names by it. */
	bool is_pattern;
	uint64_t *number;
} dump_job_t;

static const char *suffix_of(mw_format_t format) {
	return format == MW_FORMAT_PROTO ? ".pb.gz" : ".heap";
}

static unsigned pid_of(const mw_target_t *target, const mw_profile_t *profile) {
	return target->is_state ? (unsigned)target->pid : profile->origin.pid;
}

static char *own_name(const dump_job_t *job, const mw_target_t *target, const mw_profile_t *profile,
		      mw_format_t format) {
	return mw_profile_path(job->directory, mw_profile_string(profile, profile->origin.program),
			       pid_of(target, profile), mw_now_ns(), suffix_of(format));
}

/* Notes modules whose functions have no names, because a file for another machine should contain
 * them. */
static void say_nameless(const mw_profile_t *p, const char *path) {
	size_t nameless = 0;
	for (size_t i = 1; i < p->location_count; i++)
		nameless += p->locations[i].line_count == 0;
	if (nameless > 0)
		mw_complain(
			"note: %s: %zu of %zu code addresses have no function name, and will have "
			"none on another machine; 'mallow doctor PID' says what to install",
			path, nameless, p->location_count - 1);
}

static int dump_target(const mw_target_t *target, const void *context, mw_error_t *error) {
	const dump_job_t *job = context;
	const mw_arguments_t *arguments = job->arguments;
	const char *path = job->one_file ? arguments->options.output.text : NULL;
	const char *format_name = arguments->options.format.text;
	bool symbols = !arguments->options.no_symbols.given;
	mw_format_t format = path ? mw_format_of_name(path) : MW_FORMAT_PROTO;
	if (format_name && mw_format_parse(format_name, &format) != 0)
		return mw_error_set(error, "dump: unknown format '%s'", format_name);
	/* The other text formats cannot hold names. */
	symbols = symbols && (format == MW_FORMAT_PROTO || format == MW_FORMAT_SYMBOLIZED);
	bool bundle = arguments->options.bundle.given;
	if (bundle && !(symbols && format == MW_FORMAT_PROTO))
		return mw_error_set(error, "dump: --bundle writes a profile.proto with names; "
					   "leave out --no-symbols and other formats");
	bool labels = bundle || arguments->options.labels.given;
	mw_profile_t *profile;
	if (mw_load(target, symbols ? MW_LOAD_SYMBOLS_NOTES : MW_LOAD_NO_SYMBOLS,
		    labels ? MW_LOAD_SPLIT : MW_LOAD_STACKS, &profile, error) != 0)
		return -1;
	char *name = NULL;
	if (job->is_pattern)
		name = mw_dump_pattern_expand(path, profile, pid_of(target, profile),
					      ++*job->number);
	else if (path == NULL)
		name = own_name(job, target, profile, format);
	path = name ? name : path;
	int result = mw_write_profile(profile, path, format, MW_GZIP_BY_NAME, error);
	if (result == 0 && strcmp(path, "-") != 0)
		mw_complain("profile written: %s", path);
	if (result == 0 && bundle)
		say_nameless(profile, path);
	mw_show_flags(stderr, "mallow: note: ", profile->origin.flags);
	free(name);
	mw_profile_free(profile);
	return result;
}

/* Asks the process to write a dump itself, at its option dump_name. */
static int request_dump(const mw_target_t *target, const void *context, mw_error_t *error) {
	(void)context;
	mw_request_t request = {.kind = MW_REQUEST_DUMP};
	mw_reply_t reply;
	char found[MW_STATE_DUMP_PATH_BYTES + PATH_MAX], shown[sizeof(found)];
	if (mw_control_send(target, &request, MW_REQUEST_WAIT_SECONDS, &reply, error) != 0)
		return -1;
	if (reply.outcome == MW_OUTCOME_PENDING)
		mw_complain("pid %d: requested; the process has not written the dump yet%s%s",
			    target->pid, reply.why.text[0] != '\0' ? ": " : "", reply.why.text);
	else if (reply.last_dump[0]) {
		if (strncmp(reply.last_dump, MW_STATE_PATH_CUT, strlen(MW_STATE_PATH_CUT)) == 0)
			snprintf(found, sizeof(found), "%s", reply.last_dump);
		else
			mw_process_file(target->pid, reply.last_dump, found, sizeof(found));
		mw_complain("pid %d: the process wrote %s", target->pid,
			    mw_show_text(found, shown, sizeof(shown)));
	} else
		return mw_error_set(error,
				    "pid %d: the process could not write the dump; 'mallow set %d "
				    "dump_name=PATTERN' chooses another place",
				    target->pid, target->pid);
	return MW_EXIT_FINE;
}

static void pause_seconds(double seconds) {
	struct timespec pause = {.tv_sec = (time_t)seconds,
				 .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
	while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
		;
}

/* Decides where files go.  False: a message was printed. */
static bool choose_place(const mw_arguments_t *arguments, bool repeated, dump_job_t *job) {
	static uint64_t number;
	const char *output = arguments->options.output.text;
	bool several = mw_selects_several(arguments);
	struct stat info;
	*job = (dump_job_t){.arguments = arguments, .number = &number};
	if (!output)
		return true;
	if (stat(output, &info) == 0 && S_ISDIR(info.st_mode)) {
		job->directory = output;
		return true;
	}
	job->one_file = true;
	job->is_pattern = mw_dump_pattern_is(output);
	if (!mw_dump_pattern_check("dump", output))
		return false;
	if ((!repeated || mw_dump_pattern_splits_times(output)) &&
	    (!several || mw_dump_pattern_splits_processes(output)))
		return true;
	mw_complain("dump: --output %s is not a directory; several dumps need a directory, a "
		    "pattern with %%p or %%n (processes) and %%t or %%n (times), or no --output",
		    output);
	return false;
}

/* Returns an option that was given and means nothing to a process that writes the dump itself;
 * NULL: there is none. */
static const char *not_for_process(const mw_arguments_t *arguments) {
	const struct {
		bool given;
		const char *name;
	} options[] = {
		{arguments->options.output.given, "--output"},
		{arguments->options.format.given, "--format"},
		{arguments->options.cpu.given, "--cpu"},
		{arguments->options.no_symbols.given, "--no-symbols"},
		{arguments->options.symbolize.given, "--symbolize"},
		{arguments->options.bundle.given, "--bundle"},
		{arguments->options.labels.given, "--labels"},
		{arguments->options.every.given, "--every"},
		{arguments->options.count.given, "--count"},
	};
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].given)
			return options[i].name;
	return NULL;
}

int mw_cmd_dump(const mw_arguments_t *arguments) {
	if (arguments->options.cpu.given)
		mw_load_choose_cpu();
	const mw_seconds_value_t *every = &arguments->options.every;
	const mw_number_value_t *count = &arguments->options.count;
	const char *unused =
		arguments->options.in_process.given ? not_for_process(arguments) : NULL;
	if (unused != NULL) {
		mw_complain("dump: --in-process and %s exclude each other: the process writes "
			    "the dump in its own way; 'mallow set PID dump_name=PATTERN' chooses "
			    "the place",
			    unused);
		return MW_EXIT_TROUBLE;
	}
	if (arguments->options.in_process.given)
		return mw_on_selected(arguments, request_dump, NULL);
	mw_load_take_options(arguments);
	mw_load_take_fetch_options(arguments);
	if (every->given && every->seconds < 1) {
		mw_complain("dump: --every %s is too short: names of dumps differ by whole "
			    "seconds; give 1 or more",
			    every->text);
		return MW_EXIT_TROUBLE;
	}
	dump_job_t job;
	if (!choose_place(arguments, every->given, &job))
		return MW_EXIT_TROUBLE;
	int status = mw_on_selected(arguments, dump_target, &job);
	/* Repeats until the process ends, which is no error after the first dump. */
	for (uint64_t i = 1; every->given && status == MW_EXIT_FINE; i++) {
		if (count->given && i >= count->number)
			break;
		pause_seconds(every->seconds);
		if (mw_on_selected(arguments, dump_target, &job) != MW_EXIT_FINE)
			break;
	}
	return status;
}
