/* SPDX-License-Identifier: MIT
 * lsan_report.c -- the report has LeakSanitizer's form, which editors and scripts read. */
#include "compat/lsan/lsan_report.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fmt.h"
#include "base/put.h"
#include "base/wildcard.h"
#include "compat/leaks/leak_names.h"
#include "compat/lsan/lsan_suppress.h"
#include "compat/lsan/sanitizer.h"

#define LINE_BYTES 2048
#define RULE "-----------------------------------------------------"

/* The file that reports go to, and its name without ".PID"; "": it has none. */
static int report_file = 2;
static char report_path[PATH_MAX];

#define print mw_lsan_print

void mw_lsan_print(const char *format, ...) {
	char line[LINE_BYTES];
	va_list args;
	va_start(args, format);
	size_t length = mw_vfmt(line, sizeof line, format, args);
	va_end(args);
	mw_put(report_file, line, length < sizeof line ? length : sizeof line - 1);
	if (__sanitizer_on_print)
		__sanitizer_on_print(line);
}

/* ---- suppressions ---- */

/* Finds a suppression that matches a word of the name: module, function or place. */
static mw_lsan_suppression_t *find_suppression(const char *name) {
	char word[LINE_BYTES];
	for (const char *at = name; *at;) {
		size_t length = strcspn(at, "\t");
		mw_fmt(word, sizeof word, "%.*s", (int)length, at);
		for (mw_lsan_suppression_t *s = mw_lsan_suppressions(); s; s = s->next)
			if (mw_wildcard_matches(s->pattern, word))
				return s;
		at += length + (at[length] == '\t');
	}
	return NULL;
}

static void exempt(const mw_leaks_t *leaks, const mw_leaks_group_t *group,
		   mw_lsan_suppression_t *suppression) {
	for (size_t i = group->first; i < group->first + group->count; i++) {
		const mw_leaks_block_t *block = &leaks->blocks[i];
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): the record's address is a number. */
		const void *address = (const void *)(uintptr_t)block->address;
		mallow_compat_calls()->ignore_leak(address, 1);
		suppression->blocks++;
		suppression->bytes += block->bytes;
	}
}

bool mw_lsan_suppress(const mw_leaks_t *leaks) {
	size_t count;
	bool found = false;
	char program[PATH_MAX];
	if (!mw_lsan_suppressions() || leaks->count == 0)
		return false;
	mw_leaks_group_t *groups = mw_leaks_group(leaks, true, &count);
	mw_leaks_names_t names = mw_leaks_names_get(groups, groups ? count : 0, true, program);
	for (size_t i = 0; groups && i < count; i++) {
		mw_lsan_suppression_t *suppression = NULL;
		for (unsigned frame = 0; frame < groups[i].stack.depth; frame++) {
			const char *name = mw_leaks_names_next(&names);
			suppression = suppression ? suppression : find_suppression(name);
		}
		if (suppression)
			exempt(leaks, &groups[i], suppression);
		found |= suppression != NULL;
	}
	mw_leaks_names_free(&names);
	free(groups);
	return found;
}

static void print_suppressions(void) {
	bool any = false;
	for (const mw_lsan_suppression_t *s = mw_lsan_suppressions(); s; s = s->next)
		any |= s->blocks > 0;
	if (!any)
		return;
	print(RULE "\nSuppressions used:\n  count      bytes template\n");
	for (const mw_lsan_suppression_t *s = mw_lsan_suppressions(); s; s = s->next)
		if (s->blocks > 0)
			print("%7lu %10lu %.400s\n", (unsigned long)s->blocks,
			      (unsigned long)s->bytes, s->pattern);
	print(RULE "\n\n");
}

/* ---- leaks ---- */

/* Prints a line for the function at the address, and one for each that it was inlined into.
 * `prefix`: left out where a path begins with it. */
static void print_frame(const char *prefix, unsigned *number, uint64_t pc, const char *name) {
	size_t strip = strlen(prefix), module = strcspn(name, "\t");
	name += module + (name[module] == '\t');
	do {
		size_t function = strcspn(name, "\t");
		const char *place = name + function + (name[function] == '\t');
		size_t length = strcspn(place, "\t");
		const char *rest = place + length + (place[length] == '\t');
		const char *shown = place;
		if (strip > 0 && strncmp(place, prefix, strip) == 0)
			shown += strip;
		print("    #%u 0x%lx in %.*s %.*s\n", (*number)++, (unsigned long)pc,
		      function ? (int)function : 9, function ? name : "<unknown>",
		      (int)(place + length - shown), shown);
		name = rest;
	} while (*name);
}

static void print_objects(const mw_leaks_t *leaks, const mw_leaks_group_t *group) {
	print("Objects leaked above:\n");
	for (size_t i = group->first; i < group->first + group->count; i++)
		print("0x%lx (%lu bytes)\n", (unsigned long)leaks->blocks[i].address,
		      (unsigned long)leaks->blocks[i].bytes);
	print("\n");
}

static void print_groups(const mw_lsan_options_t *options, const mw_leaks_t *leaks,
			 const mw_leaks_group_t *groups, size_t shown) {
	char program[PATH_MAX];
	mw_leaks_names_t names = {.text = NULL};
	if (options->symbolize)
		names = mw_leaks_names_get(groups, shown, true, program);
	for (size_t i = 0; i < shown; i++) {
		const mw_compat_stack_t *stack = &groups[i].stack;
		unsigned number = 0;
		print("%s leak of %lu byte(s) in %lu object(s) allocated from:\n",
		      groups[i].is_direct ? "Direct" : "Indirect",
		      (unsigned long)stack->inuse_bytes, (unsigned long)stack->inuse_objects);
		for (unsigned frame = 0; frame < stack->depth; frame++)
			print_frame(options->strip_path_prefix, &number, stack->pcs[frame] - 1,
				    mw_leaks_names_next(&names));
		print("\n");
		if (options->report_objects)
			print_objects(leaks, &groups[i]);
	}
	mw_leaks_names_free(&names);
}

static void print_leaks(const mw_lsan_options_t *options, const mw_leaks_t *leaks) {
	size_t count;
	mw_leaks_group_t *groups = mw_leaks_group(leaks, true, &count);
	if (!groups)
		count = 0;
	size_t shown = count;
	if (options->max_leaks > 0 && (size_t)options->max_leaks < shown)
		shown = (size_t)options->max_leaks;
	print("\n=================================================================\n");
	print("==%d==ERROR: LeakSanitizer: detected memory leaks\n\n", (int)getpid());
	if (shown < count)
		print("The %zu top leak(s):\n", shown);
	print_groups(options, leaks, groups, shown);
	if (shown < count)
		print("Omitting %zu more leak(s).\n", count - shown);
	free(groups);
}

void mw_lsan_print_stack(const uint64_t *pcs, unsigned depth) {
	char program[PATH_MAX];
	unsigned number = 0;
	mw_leaks_group_t group = {.stack = {.depth = depth}};
	memcpy(group.stack.pcs, pcs, depth * sizeof *pcs);
	mw_leaks_names_t names = mw_leaks_names_get(&group, 1, true, program);
	for (unsigned frame = 0; frame < depth; frame++)
		print_frame("", &number, pcs[frame] - 1, mw_leaks_names_next(&names));
	print("\n");
	mw_leaks_names_free(&names);
}

/* ---- where reports go ---- */

void mw_lsan_report_set_file(int file) {
	report_file = file;
	report_path[0] = '\0';
}

void mw_lsan_report_set_path(const char *path) {
	mw_lsan_report_set_file(path && strcmp(path, "stdout") == 0 ? 1 : 2);
	if (path && strcmp(path, "stdout") != 0 && strcmp(path, "stderr") != 0)
		mw_fmt(report_path, sizeof report_path, "%s", path);
}

const char *mw_lsan_report_path(void) {
	static char path[PATH_MAX + 16];
	mw_fmt(path, sizeof path, report_path[0] ? "%s.%d" : "%s", report_path, (int)getpid());
	return path;
}

/* Opens the file of the path, once. */
static void open_report(void) {
	if (report_file != 2 || !report_path[0])
		return;
	int file = mw_put_open(mw_lsan_report_path(), false, 0660);
	if (file < 0)
		print("ERROR: Can't open file: %.400s\n", mw_lsan_report_path());
	else
		report_file = file;
}

void mw_lsan_report(const mw_lsan_options_t *options, const mw_leaks_t *leaks) {
	open_report();
	if (leaks->count > 0)
		print_leaks(options, leaks);
	if (options->print_suppressions)
		print_suppressions();
	if (leaks->count > 0)
		print("SUMMARY: LeakSanitizer: %lu byte(s) leaked in %zu allocation(s).\n",
		      (unsigned long)leaks->bytes, leaks->count);
}
