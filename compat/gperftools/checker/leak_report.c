/* SPDX-License-Identifier: MIT
 * leak_report.c -- messages as in gperftools 2.16, which scripts may search for. */
#include "compat/gperftools/checker/leak_report.h"

#include <errno.h>
#include <mallow/mallow.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/put.h"
#include "compat/gperftools/profile/heap_profiler.h"
#include "compat/gperftools/variables.h"
#include "compat/leaks/leak_names.h"
#include "os/platform/secure_environment.h"

typedef struct groups {
	mw_leaks_group_t *all;
	size_t count;
} groups_t;

static mw_leaks_names_t name_frames(const groups_t *groups, size_t shown) {
	char program[PATH_MAX];
	mw_leaks_names_t names = mw_leaks_names_get(groups->all, shown, false, program);
	if (names.text)
		return names;
	mw_gp_log(-2, "*** WARNING: Cannot convert addresses to symbols in output below.");
	mw_gp_log(-2, "*** Reason: Cannot find '%.400s' (is PPROF_PATH set correctly?)", program);
	mw_gp_log(-2, "*** If you cannot fix this, try running pprof directly.");
	return names;
}

static void print_stacks(const groups_t *groups, size_t shown, bool names_frames) {
	mw_leaks_names_t names = {.text = NULL};
	if (names_frames)
		names = name_frames(groups, shown);
	for (size_t i = 0; i < shown; i++) {
		const mw_compat_stack_t *stack = &groups->all[i].stack;
		mw_gp_log(-2, "Leak of %ld bytes in %ld objects allocated from:",
			  (long)stack->inuse_bytes, (long)stack->inuse_objects);
		for (unsigned frame = 0; frame < stack->depth; frame++)
			mw_gp_log(-2, "\t@ %lx %.400s", (unsigned long)stack->pcs[frame],
				  mw_leaks_names_next(&names));
	}
	mw_leaks_names_free(&names);
}

static void write_piece(void *context, const char *text, size_t length) {
	int *file = context;
	while (length > 0 && *file >= 0) {
		long written = mw_put(*file, text, length);
		if (written < 0 && errno != EINTR) {
			close(*file);
			*file = -1;
		}
		if (written > 0) {
			text += written;
			length -= (size_t)written;
		}
	}
}

static void write_file(const char *path, const groups_t *groups) {
	int file = mw_put_open(path, false, 0644);
	mw_compat_stack_t *stacks = malloc((groups->count + 1) * sizeof *stacks);
	for (size_t i = 0; i < groups->count && stacks; i++)
		stacks[i] = groups->all[i].stack;
	if (stacks)
		mw_gp_profile_stacks(stacks, groups->count, write_piece, &file);
	free(stacks);
	if (file >= 0 && close(file) == 0 && stacks)
		return;
	mw_gp_log(-2, "Failed dumping filtered heap profile to %.400s", path);
	mw_gp_log(-2, "Could not write pprof profile to %.400s", path);
}

static void print_advice(const mw_gp_checker_settings_t *settings, const char *path) {
	const char *program = mw_environment("PPROF_PATH");
	mw_gp_log(-2, "\n\nIf the preceding stack traces are not enough to find the leaks, "
		      "try running THIS shell command:\n");
	mw_gp_log(-2,
		  "%s %.150s \"%.200s\" --inuse_objects --lines --heapcheck  "
		  "--edgefraction=1e-10 --nodefraction=1e-10 --gv\n",
		  program && *program ? program : "pprof", program_invocation_name, path);
	if (!settings->tries_unaligned)
		mw_gp_log(-2, "If you are still puzzled about why the leaks are there, try "
			      "rerunning this program with HEAP_CHECK_TEST_POINTER_ALIGNMENT=1 "
			      "and/or with HEAP_CHECK_MAX_POINTER_OFFSET=-1");
}

void mw_gp_leaks_report(const mw_gp_checker_settings_t *settings, const char *name,
			const mw_leaks_t *leaks, bool names_frames) {
	char path[PATH_MAX];
	mallow_ignore_begin();
	groups_t groups;
	groups.all = mw_leaks_group(leaks, false, &groups.count);
	if (!groups.all)
		groups.count = 0;
	size_t shown = groups.count;
	if (settings->max_leaks > 0 && (uint64_t)settings->max_leaks < shown)
		shown = (size_t)settings->max_leaks;
	mw_gp_log(-2, "Leak check %.200s detected leaks of %zu bytes in %zu objects", name,
		  (size_t)leaks->bytes, leaks->count);
	mw_gp_log(-2, "The %zu largest leaks:", shown);
	print_stacks(&groups, shown, names_frames);
	for (size_t i = 0; i < leaks->count && settings->shows_addresses; i++)
		mw_gp_log(-2, "leaked %zu byte object 0x%lx", (size_t)leaks->blocks[i].bytes,
			  (unsigned long)leaks->blocks[i].address);
	mw_fmt(path, sizeof path, "%s.%.200s-end.heap", settings->prefix, name);
	write_file(path, &groups);
	print_advice(settings, path);
	free(groups.all);
	mallow_ignore_end();
}
