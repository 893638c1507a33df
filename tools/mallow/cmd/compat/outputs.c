/* SPDX-License-Identifier: MIT
 * outputs.c -- pprof's commands: where they write, and which program shows the result. */
#include "cmd/compat/outputs.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cli/terminal.h"
#include "cmd/profile/view.h"

const mw_output_row_t mw_outputs[] = {
#define MW_OUTPUT(name, kind, view, format, programs, help) {name, view, format, programs, help},
#include "cmd/compat/outputs.def"
#undef MW_OUTPUT
/* The views of mallow that pprof does not have. */
#define MW_VIEW(name, operands, min, max, print, flags, type, summary, ...)                        \
	{#name, #name, NULL, NULL, summary},
#define MW_VIEW_LIVE MW_VIEW
#define MW_VIEW_DIFF MW_VIEW
#include "cmd/profile/views.def"
#undef MW_VIEW_DIFF
#undef MW_VIEW_LIVE
#undef MW_VIEW
};
const size_t mw_output_count = sizeof(mw_outputs) / sizeof(mw_outputs[0]);

const mw_output_row_t *mw_output_row_find(const char *name) {
	for (size_t i = 0; i < mw_output_count; i++)
		if (strcmp(mw_outputs[i].name, name) == 0 && strcmp(name, "diff") != 0)
			return &mw_outputs[i];
	return NULL;
}

bool mw_output_has_pattern(const mw_output_row_t *row) {
	return strncmp(mw_subcommand_find(row->view)->operands, "RE", 2) == 0;
}

/* Finds the first free name in the series "profile001.svg". */
static bool free_name(const char *format, char *name, size_t size) {
	for (int number = 1; number < 1000; number++) {
		snprintf(name, size, "profile%03d.%s", number, format);
		if (access(name, F_OK) != 0 && errno == ENOENT)
			return true;
	}
	mw_complain("all of profile001.%s to profile999.%s exist; give --output FILE", format,
		    format);
	return false;
}

/* Makes the name of a new file for another program. */
static bool temporary_name(const char *format, char *name, size_t size) {
	const char *directory = getenv("PPROF_TMPDIR");
	if (directory == NULL)
		directory = getenv("TMPDIR");
	int length = snprintf(name, size, "%s/mallow.XXXXXX.%s",
			      directory != NULL ? directory : "/tmp", format);
	int fd = length > 0 && (size_t)length < size ? mkstemps(name, (int)strlen(format) + 1) : -1;
	if (fd < 0) {
		mw_complain("%s: cannot create: %s; set TMPDIR to a directory that you can write",
			    name, strerror(errno));
		return false;
	}
	close(fd);
	return true;
}

/* Starts a program that shows a file.  The program may run on after the command ends. */
static int show(const mw_output_row_t *row, const char *path) {
	extern char **environ;
	char programs[128], *rest = programs, *program;
	snprintf(programs, sizeof(programs), "%s", row->programs);
	while ((program = strsep(&rest, " ")) != NULL) {
		char file[4096];
		snprintf(file, sizeof(file), "%s", path);
		char *argv[] = {program, file, NULL};
		pid_t pid;
		if (posix_spawnp(&pid, program, NULL, NULL, argv, environ) == 0)
			return MW_EXIT_FINE;
	}
	mw_complain("%s: none of the programs %s is installed; the picture is in %s", row->name,
		    row->programs, path);
	return MW_EXIT_TROUBLE;
}

static bool is_text(const char *format) {
	return format == NULL || strcmp(format, "dot") == 0;
}

int mw_output_make(const mw_output_row_t *row, mw_arguments_t *arguments, mw_profile_t *profile,
		   size_t base_first) {
	char name[4096] = "";
	bool has_path = arguments->options.output.given;
	if (!has_path && row->programs != NULL) {
		if (!temporary_name(row->format, name, sizeof(name)))
			return MW_EXIT_TROUBLE;
	} else if (!has_path && !is_text(row->format) && mw_stdout_is_terminal()) {
		if (!free_name(row->format, name, sizeof(name)))
			return MW_EXIT_TROUBLE;
		fprintf(stderr, "Generating report in %s\n", name);
	}
	if (name[0] != '\0' && !mw_arguments_set(arguments, "output", name))
		return MW_EXIT_TROUBLE;
	if (row->format != NULL && !mw_arguments_set(arguments, "format", row->format))
		return MW_EXIT_TROUBLE;
	mw_error_t error;
	if (mw_view_show(arguments, profile, base_first, &error) != 0) {
		mw_complain("%s", error.text);
		return MW_EXIT_TROUBLE;
	}
	return row->programs != NULL && !has_path ? show(row, name) : MW_EXIT_FINE;
}
