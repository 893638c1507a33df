/* SPDX-License-Identifier: MIT
 * advise_print.c -- findings in sentences, the largest first, and what was not looked for. */
#include "cmd/advise/advise_print.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "model/memory.h"
#include "model/text.h"
#include "report/text/units.h"

#define COLUMNS 100
#define COLUMNS_MIN 40

static int status_of(const mw_advised_t *a) {
	return a->findings->count > 0 ? MW_EXIT_FINDING : MW_EXIT_FINE;
}

static void print_title(const mw_advised_t *a) {
	const mw_profile_t *p = a->profile;
	char text[MW_SHOW_BYTES];
	mw_text_print(stdout, mw_profile_string(p, p->origin.program));
	if (p->origin.pid != 0)
		printf(" (pid %" PRIu32 ")", p->origin.pid);
	if (a->findings->count == 0)
		fputs(": no findings", stdout);
	else
		printf(": %zu finding%s, the largest first", a->findings->count,
		       a->findings->count == 1 ? "" : "s");
	printf("; %s in use", mw_format_bytes(a->facts->live_bytes, text, sizeof(text)));
	if (a->facts->resident_bytes > 0)
		printf(", %s resident",
		       mw_format_bytes(a->facts->resident_bytes, text, sizeof(text)));
	printf(", %s allocated\n", mw_format_bytes(a->facts->alloc_bytes, text, sizeof(text)));
}

static void print_clean(const char *text, int columns) {
	char *clean = mw_text_clean(mw_xstrdup(text), "");
	fputs("   ", stdout);
	mw_print_wrapped(stdout, clean, 3, 3, columns);
	free(clean);
}

static void print_finding(const mw_advised_t *a, size_t i, int columns) {
	const mw_finding_t *finding = &a->findings->all[i];
	char *command = mw_finding_command(finding, a->target);
	double percent = 100 * finding->share;
	printf("\n%zu. %s: %.*f %% %s\n", i + 1, mw_finding_kind_title(finding->kind),
	       percent < 9.95 ? 1 : 0, percent, mw_finding_of(finding->kind, a->facts));
	print_clean(finding->text, columns);
	fputs("   more: ", stdout);
	mw_text_print(stdout, command);
	putchar('\n');
	free(command);
}

int mw_advised_print(const mw_advised_t *a) {
	int columns = mw_terminal_columns(stdout);
	columns = columns <= 0 || columns > COLUMNS ? COLUMNS : columns;
	columns = columns < COLUMNS_MIN ? COLUMNS_MIN : columns;
	print_title(a);
	for (size_t i = 0; i < a->findings->count; i++)
		print_finding(a, i, columns);
	bool is_first = true;
	for (size_t kind = 0; kind < MW_FINDING_KINDS; kind++) {
		if (a->facts->unanswered[kind] == NULL)
			continue;
		printf("%s   %s: ", is_first ? "\nnot looked for\n" : "",
		       mw_finding_kind_title((mw_finding_kind_t)kind));
		mw_text_print(stdout, a->facts->unanswered[kind]);
		putchar('\n');
		is_first = false;
	}
	return status_of(a);
}

static json_t *finding_json(const mw_advised_t *a, const mw_finding_t *finding) {
	char *command = mw_finding_command(finding, a->target);
	json_t *value = json_object();
	json_object_set_new(value, "kind", json_string(mw_finding_name(finding->kind)));
	json_object_set_new(value, "title", json_string(mw_finding_kind_title(finding->kind)));
	json_object_set_new(value, "share", json_real(finding->share));
	json_object_set_new(value, "of", json_string(mw_finding_of(finding->kind, a->facts)));
	json_object_set_new(value, "bytes", json_integer((json_int_t)finding->bytes));
	json_object_set_new(value, "objects", json_integer((json_int_t)finding->objects));
	if (finding->function != NULL)
		json_object_set_new(value, "function", mw_json_text(finding->function));
	json_object_set_new(value, "text", mw_json_text(finding->text));
	json_object_set_new(value, "command", mw_json_text(command));
	free(command);
	return value;
}

int mw_advised_print_json(const mw_advised_t *a) {
	const mw_profile_t *p = a->profile;
	json_t *findings = json_array(), *unanswered = json_array(), *value = json_object();
	for (size_t i = 0; i < a->findings->count; i++)
		json_array_append_new(findings, finding_json(a, &a->findings->all[i]));
	for (size_t kind = 0; kind < MW_FINDING_KINDS; kind++)
		if (a->facts->unanswered[kind] != NULL)
			json_array_append_new(unanswered,
					      json_pack("{s:s,s:o}", "kind",
							mw_finding_name((mw_finding_kind_t)kind),
							"why",
							mw_json_text(a->facts->unanswered[kind])));
	json_object_set_new(value, "view", json_string("advise"));
	json_object_set_new(value, "program",
			    mw_json_text(mw_profile_string(p, p->origin.program)));
	json_object_set_new(value, "pid", json_integer(p->origin.pid));
	json_object_set_new(value, "time_ns", json_integer(p->time_ns));
	json_object_set_new(value, "live_bytes", json_integer(a->facts->live_bytes));
	json_object_set_new(value, "resident_bytes", json_integer(a->facts->resident_bytes));
	json_object_set_new(value, "alloc_bytes", json_integer(a->facts->alloc_bytes));
	json_object_set_new(value, "cpu_ns",
			    json_integer(a->facts->cpu_is_known ? a->facts->cpu_ns : 0));
	json_object_set_new(value, "findings", findings);
	json_object_set_new(value, "unanswered", unanswered);
	int status = mw_print_json(value);
	return status != MW_EXIT_FINE ? status : status_of(a);
}
