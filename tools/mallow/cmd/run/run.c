/* SPDX-License-Identifier: MIT
 * run.c -- `mallow run`: runs a program with libmallow.so preloaded. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cmd/input/cpu_rate.h"
#include "cmd/input/load.h"
#include "cmd/run/collect_children.h"
#include "cmd/run/run_command.h"
#include "cmd/run/run_leaks.h"
#include "cmd/run/script_settings.h"
#include "live/files/own_allocator.h"
#include "live/files/program.h"
#include "live/library.h"
#include "model/error.h"
#include "model/memory.h"

/* Other allocators whose library names mallow provides; the first word is the value of --as. */
static const struct {
	const char *allocator, *library;
} compat_libraries[] = {
	{"jemalloc", "libjemalloc.so.2"},
	{"gperftools", "libtcmalloc.so.4"},
	{"mimalloc", "libmimalloc.so.2"},
	{"lsan", "liblsan.so.0"},
};

static const char *library_of(const char *allocator) {
	for (size_t i = 0; i < sizeof(compat_libraries) / sizeof(compat_libraries[0]); i++)
		if (strcmp(compat_libraries[i].allocator, allocator) == 0)
			return compat_libraries[i].library;
	return NULL;
}

/* Sets LD_LIBRARY_PATH, so that a program linked with another allocator's library loads mallow's
 * library of that name. */
static int set_library_path(const char *name, mw_error_t *error) {
	char library[PATH_MAX], path[PATH_MAX + 64];
	if (mw_library_find(library, error) != 0)
		return -1;
	*strrchr(library, '/') = '\0';
	snprintf(path, sizeof(path), "%s/mallow/compat/%s", library, name);
	if (access(path, R_OK) != 0)
		return mw_error_set(error,
				    "run: %s: cannot open: %s; install it, or leave out --as", path,
				    strerror(errno));
	*strrchr(path, '/') = '\0';
	const char *others = getenv("LD_LIBRARY_PATH");
	mw_environment_join("LD_LIBRARY_PATH", path, ':', others ? others : "");
	return 0;
}

/* Puts libmallow.so first in LD_PRELOAD: of two libraries with malloc, the first one is used. */
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

/* The library's default rate, for messages only. */
#define DEFAULT_MEAN_BYTES ((uint64_t)512 << 10)
/* At this rate or a finer one, a process publishes its state file at once, because almost every
 * process has samples. */
#define PUBLISH_AT_ONCE_BYTES ((uint64_t)64 << 10)

/* Sets the options of the run and returns T. A process publishes its state file at its first
 * sample, which represents at least T bytes.  The many small processes of a build therefore
 * leave no files.  `cpu_hz`: 0 unless CPU time is profiled. */
static uint64_t set_configuration(const mw_arguments_t *arguments, const char *session,
				  uint32_t cpu_hz) {
	const mw_number_value_t *rate = &arguments->options.rate;
	uint64_t mean_bytes = rate->given ? rate->number : DEFAULT_MEAN_BYTES;
	bool finds_leaks = arguments->options.leaks.given;
	if (arguments->options.exact.given || (finds_leaks && !rate->given))
		mean_bytes = 1;
	char ours[256], cpu[64] = "";
	/* Also a process that allocates little uses CPU time. */
	if (cpu_hz > 0)
		snprintf(cpu, sizeof(cpu), ",prof_cpu:%s%" PRIu32 ",prof_cpu_event:%s",
			 mw_cpu_is_wall(cpu_hz) ? "-" : "", mw_cpu_hz(cpu_hz),
			 mw_cpu_event_word(cpu_hz));
	int used = snprintf(ours, sizeof(ours),
			    "prof:true,prof_keep:true,prof_session:%s,prof_state_min:%" PRIu64 "%s",
			    session,
			    mean_bytes < PUBLISH_AT_ONCE_BYTES || cpu_hz > 0 ? 0 : mean_bytes, cpu);
	if (finds_leaks)
		used += snprintf(ours + used, sizeof(ours) - (size_t)used, ",prof_leak_scan:true");
	/* The caller's MALLOW_CONF may set a rate.  A rate on the command line takes precedence. */
	if (rate->given || mean_bytes == 1)
		snprintf(ours + used, sizeof(ours) - (size_t)used,
			 ",prof_sample:%" PRIu64 ",prof_cost_limit:0", mean_bytes);
	const char *theirs = getenv("MALLOW_CONF");
	/* The last value of an option is used. */
	mw_environment_join("MALLOW_CONF", theirs ? theirs : "", ',', ours);
	return mean_bytes;
}

/* Splits --output into directory and file, and checks before the run that it can be written. */
static int take_output(const char *output, mw_children_t *children, char **to_free,
		       mw_error_t *error) {
	children->directory = ".";
	*to_free = NULL;
	if (!output)
		return 0;
	struct stat info;
	size_t length = strlen(output);
	bool exists = stat(output, &info) == 0;
	char *directory = *to_free = mw_xstrdup(output);
	if (exists ? S_ISDIR(info.st_mode) : output[length - 1] == '/') {
		if (!exists && mkdir(output, 0777) != 0)
			return mw_error_set(error, "run: %s: cannot create: %s", output,
					    strerror(errno));
		while (length > 1 && directory[length - 1] == '/')
			directory[--length] = '\0';
		children->every_process = true;
	} else {
		children->file = output;
		char *slash = strrchr(directory, '/');
		if (!slash)
			strcpy(directory, ".");
		else
			slash[slash == directory] = '\0';
	}
	children->directory = directory;
	if (access(directory, W_OK | X_OK) != 0)
		return mw_error_set(
			error,
			"run: %s: cannot write: %s; set --output to a path that you can write",
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
	mw_children_poll(context, pid);
}

/* Says why the profile will lack most of what the program allocates, if that can be seen before. */
static void look_at_program(const char *name) {
	char path[PATH_MAX];
	mw_own_allocator_t own;
	if (mw_program_find(name, path, sizeof(path)) && mw_own_allocator_find(path, &own))
		mw_complain("run: note: %s brings %s (%s): what that allocates is in no profile; "
			    "build it to use libc's malloc",
			    name, own.name, own.symbol);
}

/* Runs the program and returns its exit status.  If a signal ended the program, this process
 * ends by the same signal.  `suppressions`: of leaks; NULL = no leaks are looked for. */
static int run_program(const mw_arguments_t *arguments, mw_children_t *children,
		       mw_suppressions_t *suppressions, mw_error_t *error) {
	mw_launch_t launch;
	if (!children->is_cpu && !children->as)
		look_at_program(arguments->operands[0]);
	mw_launch_tick_t tick = {.call = on_tick, .context = children};
	if (mw_launch(arguments->operands, &tick, &launch, error) != 0)
		return -1;
	if (launch.exec_errno != 0) {
		mw_complain("run: %s: cannot start: %s", arguments->operands[0],
			    strerror(launch.exec_errno));
		return launch.exec_errno == ENOENT ? MW_EXIT_NOT_FOUND : MW_EXIT_NOT_EXECUTABLE;
	}
	children->launch = &launch;
	bool is_leaking = false;
	if (suppressions)
		is_leaking = mw_run_leaks_show(children, suppressions);
	else
		mw_children_collect(children);
	fflush(stdout);
	if (is_leaking)
		return MW_EXIT_FINDING;
	mw_launch_end_alike(launch.wait_status);
}

/* Reads the files of --suppress.  False: a message was printed. */
static bool take_suppressions(const mw_arguments_t *arguments, bool is_cpu,
			      mw_suppressions_t *suppressions) {
	const mw_list_value_t *files = &arguments->options.suppress;
	bool finds_leaks = arguments->options.leaks.given;
	mw_error_t error = {.text = ""};
	if (finds_leaks && is_cpu)
		mw_error_set(&error, "run: --leaks and --cpu cannot be combined; leave one out");
	else if (files->given && !finds_leaks)
		mw_error_set(&error, "run: --suppress goes with --leaks");
	for (size_t i = 0; i < files->text_count && error.text[0] == '\0'; i++)
		mw_suppressions_read(suppressions, files->texts[i], &error);
	if (error.text[0] == '\0')
		return true;
	mw_complain("%s", error.text);
	mw_suppressions_release(suppressions);
	return false;
}

int mw_cmd_run(const mw_arguments_t *arguments) {
	mw_children_t children = {.held_fd = -1};
	mw_error_t error;
	char session[64];
	char *to_free = NULL;
	const mw_text_value_t *as = &arguments->options.as;
	const char *library = as->given ? library_of(as->text) : NULL;
	if (arguments->options.rate.given && arguments->options.exact.given) {
		mw_complain("run: --rate and --exact cannot be combined: --exact means --rate 1; "
			    "leave one out");
		return MW_EXIT_TROUBLE;
	}
	uint32_t cpu_hz = arguments->options.cpu.given ? MW_CPU_DEFAULT_HZ : 0;
	if (!mw_cpu_rate_take(arguments, NULL, &cpu_hz))
		return MW_EXIT_TROUBLE;
	children.is_cpu = cpu_hz > 0;
	if (children.is_cpu)
		mw_load_choose_cpu();
	mw_suppressions_t suppressions = {0};
	if (!take_suppressions(arguments, children.is_cpu, &suppressions))
		return MW_EXIT_TROUBLE;
	make_session(session, sizeof(session));
	int status = take_output(arguments->options.output.text, &children, &to_free, &error);
	if (status == 0)
		status = library ? set_library_path(library, &error) : set_preload(&error);
	if (status == 0) {
		const mw_option_values_t *options = &arguments->options;
		if (options->scripts.given || options->objects.given)
			mw_script_settings_make(arguments->operands, options->scripts.given,
						options->objects.given, options->quiet.given);
		children.session = session;
		children.program = arguments->operands[0];
		children.as = library;
		children.mean_bytes = set_configuration(arguments, session, cpu_hz);
		status = run_program(arguments, &children,
				     arguments->options.leaks.given ? &suppressions : NULL, &error);
	}
	mw_suppressions_release(&suppressions);
	free(to_free);
	if (status >= 0)
		return status;
	mw_complain("%s", error.text);
	return MW_EXIT_TROUBLE;
}
