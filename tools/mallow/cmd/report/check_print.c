/* SPDX-License-Identifier: MIT
 * check_print.c -- prints results as text, JSON, and JUnit's XML. */
#include "cmd/report/check_print.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print.h"
#include "cmd/report/report_json.h"
#include "model/memory.h"
#include "model/text.h"
#include "report/text/names.h"
#include "report/text/style.h"
#include "report/text/units.h"
#include "symbol/symbolize.h"

bool mw_check_passed(const mw_check_t *c) {
	for (size_t i = 0; i < c->count; i++)
		if (!c->findings[i].passed)
			return false;
	return true;
}

static size_t shown_stacks(const mw_check_t *c, const mw_finding_t *f) {
	if (f->passed)
		return 0;
	return f->stacks.count < c->stacks_max ? f->stacks.count : c->stacks_max;
}

/* Prints "12.3 MiB in use, 0 B allowed". */
static void print_sentence(FILE *out, const mw_finding_t *f) {
	static const char *const what[MW_LIMIT_KINDS] = {"at the peak",
							 "in use",
							 "more in use than in the baseline",
							 "more at the peak than in the baseline",
							 "more allocated than in the baseline",
							 "leaked"};
	char a[MW_SHOW_BYTES], b[MW_SHOW_BYTES], c[MW_SHOW_BYTES];
	fprintf(out, "%s: %s %s", mw_limit_name(f->kind),
		mw_format_bytes(f->measured, a, sizeof(a)), what[f->kind]);
	if (mw_limit_is_growth(f->kind))
		fprintf(out, " (%s)", mw_format_bytes(f->baseline, c, sizeof(c)));
	fprintf(out, ", %s allowed", mw_format_bytes(f->allowed, b, sizeof(b)));
	if (f->low != f->high)
		fprintf(out, " (estimated; in 95 of 100 cases %s .. %s)",
			mw_format_bytes(f->low, a, sizeof(a)),
			mw_format_bytes(f->high, b, sizeof(b)));
	if (f->passed && f->measured > f->allowed)
		fputs("; more than allowed, but not for certain: a finer --rate tells", out);
}

/* Fewest columns of a name beside a file. */
enum { NAME_COLUMNS_MIN = 24 };

/* Prints a frame in at most `columns` columns; 0 = no limit. */
static void print_frame(FILE *out, const mw_profile_t *p, uint32_t location, const mw_line_t *line,
			int columns) {
	char name[512], fitted[512], place[512] = "";
	const char *shown = NULL;
	if (line == NULL) {
		shown = mw_location_name(p, location, name, sizeof(name));
	} else {
		const mw_function_t *f = &p->functions[line->function];
		shown = mw_profile_string(p, f->name);
		if (f->file != 0 && line->line > 0)
			snprintf(place, sizeof(place), "  %s:%" PRId64,
				 mw_profile_string(p, f->file), line->line);
		else if (f->file != 0)
			snprintf(place, sizeof(place), "  %s", mw_profile_string(p, f->file));
	}
	if (columns > 0) {
		size_t room = columns > 4 ? (size_t)columns - 4 : 1, width = mw_text_width(place);
		if (mw_text_width(shown) + width > room) {
			width = width + NAME_COLUMNS_MIN > room ? 0 : width;
			mw_fit_name(shown, room - width, fitted, sizeof(fitted));
			shown = fitted;
			if (width == 0)
				place[0] = '\0';
		}
	}
	fputs("    ", out);
	mw_text_print(out, shown);
	mw_text_print(out, place);
	fputc('\n', out);
}

static void print_stack(FILE *out, const mw_profile_t *p, const mw_stacks_t *stacks,
			const mw_stack_t *stack, int columns) {
	char bytes[MW_SHOW_BYTES];
	int64_t value = stack->values[stacks->type];
	const mw_sample_t *s = &p->samples[stack->sample];
	fprintf(out, "  %s", mw_format_bytes(value, bytes, sizeof(bytes)));
	if (stacks->total > 0)
		fprintf(out, " (%.1f%%)", 100.0 * (double)value / (double)stacks->total);
	fputs(", allocated from\n", out);
	for (uint32_t i = 0; i < s->depth; i++) {
		uint32_t location = p->frames[s->frame_first + i];
		const mw_location_t *l = &p->locations[location];
		if (l->line_count == 0)
			print_frame(out, p, location, NULL, columns);
		for (uint32_t k = 0; k < l->line_count; k++)
			print_frame(out, p, location, &p->lines[l->line_first + k], columns);
	}
}

static void print_stacks(FILE *out, const mw_check_t *c, size_t number) {
	const mw_finding_t *f = &c->findings[number];
	size_t shown = shown_stacks(c, f);
	for (size_t i = 0; i < shown; i++)
		print_stack(out, c->profiles[number], &f->stacks, &f->stacks.stacks[i], c->columns);
	if (!f->passed && f->stacks.count > shown)
		fprintf(out, "  and %zu more stack%s\n", f->stacks.count - shown,
			f->stacks.count - shown == 1 ? "" : "s");
}

void mw_check_print_text(FILE *out, const mw_check_t *c) {
	char bytes[MW_SHOW_BYTES], count[MW_SHOW_BYTES];
	for (size_t i = 0; i < c->count; i++) {
		bool passed = c->findings[i].passed;
		fprintf(out, "%s%s%s  ", mw_style(passed ? MW_STYLE_GOOD : MW_STYLE_BAD),
			passed ? "ok    " : "FAILED", mw_style(MW_STYLE_PLAIN));
		print_sentence(out, &c->findings[i]);
		fputc('\n', out);
		print_stacks(out, c, i);
	}
	for (size_t i = 0; i < c->suppressions->count; i++) {
		const mw_suppression_t *s = &c->suppressions->rows[i];
		fprintf(out, "suppressed  %s in %s object%s by ",
			mw_format_bytes(s->bytes, bytes, sizeof(bytes)),
			mw_format_count(s->objects, count, sizeof(count)),
			s->objects == 1 ? "" : "s");
		mw_text_print(out, s->pattern);
		fputc('\n', out);
	}
	for (size_t i = 0; i < c->known_count; i++)
		fprintf(out, "left out    %s in %s object%s: %s\n",
			mw_format_bytes(c->known[i].bytes, bytes, sizeof(bytes)),
			mw_format_count(c->known[i].objects, count, sizeof(count)),
			c->known[i].objects == 1 ? "" : "s", c->known[i].what);
	if (c->known_count > 0)
		fputs("            (by intention; --no-default-suppressions counts it)\n", out);
}

static json_t *finding_json(const mw_check_t *c, size_t number) {
	const mw_finding_t *f = &c->findings[number];
	const mw_profile_t *p = c->profiles[number];
	json_t *stacks = json_array();
	for (size_t i = 0; i < shown_stacks(c, f); i++) {
		const mw_stack_t *stack = &f->stacks.stacks[i];
		json_array_append_new(stacks,
				      json_pack("{s:I,s:o}", "bytes",
						(json_int_t)stack->values[f->stacks.type], "frames",
						mw_frames_json(p, &p->samples[stack->sample])));
	}
	json_t *value = json_pack("{s:s,s:b,s:I,s:I,s:[I,I],s:I,s:o}", "name",
				  mw_limit_name(f->kind), "passed", (int)f->passed, "measured",
				  (json_int_t)f->measured, "allowed", (json_int_t)f->allowed,
				  "interval", (json_int_t)f->low, (json_int_t)f->high,
				  "stack_count", (json_int_t)f->stacks.count, "stacks", stacks);
	if (mw_limit_is_growth(f->kind))
		json_object_set_new(value, "baseline", json_integer(f->baseline));
	return value;
}

void mw_check_print_json(FILE *out, const mw_check_t *c) {
	json_t *limits = json_array(), *suppressions = json_array(), *known = json_array();
	for (size_t i = 0; i < c->count; i++)
		json_array_append_new(limits, finding_json(c, i));
	for (size_t i = 0; i < c->suppressions->count; i++) {
		const mw_suppression_t *s = &c->suppressions->rows[i];
		json_array_append_new(suppressions, json_pack("{s:o,s:I,s:I}", "pattern",
							      mw_json_text(s->pattern), "bytes",
							      (json_int_t)s->bytes, "objects",
							      (json_int_t)s->objects));
	}
	for (size_t i = 0; i < c->known_count; i++)
		json_array_append_new(known, json_pack("{s:s,s:I,s:I}", "name", c->known[i].what,
						       "bytes", (json_int_t)c->known[i].bytes,
						       "objects", (json_int_t)c->known[i].objects));
	json_t *value = json_pack("{s:o,s:b,s:o,s:o,s:o}", "profile", mw_json_text(c->name),
				  "passed", (int)mw_check_passed(c), "limits", limits,
				  "suppressions", suppressions, "kept_by_libraries", known);
	mw_json_print(out, value);
}

/* XML 1.0 has no control characters, and readers may expect another encoding for bytes outside
 * of ASCII. Both become '?'. */
static void print_xml(FILE *out, const char *text) {
	for (; *text != '\0'; text += mw_text_character(text).bytes) {
		mw_character_t c = mw_text_character(text);
		bool is_shown = c.code == '\n' || (!c.is_control && c.code < 0x7f);
		if (c.code == '<' || c.code == '>' || c.code == '&' || c.code == '"')
			fprintf(out, "&#%" PRIu32 ";", c.code);
		else
			fputc(is_shown ? *text : '?', out);
	}
}

/* Writes the text of `print` about a finding as XML. */
static void print_xml_of(FILE *out, const mw_check_t *c, size_t number, bool stacks) {
	char *text = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&text, &length);
	if (memory == NULL)
		return;
	if (stacks)
		print_stacks(memory, c, number);
	else
		print_sentence(memory, &c->findings[number]);
	fclose(memory);
	print_xml(out, text);
	free(text);
}

void mw_check_print_junit(FILE *out, const mw_check_t *c) {
	size_t failed = 0;
	for (size_t i = 0; i < c->count; i++)
		failed += !c->findings[i].passed;
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites tests=\"%zu\" failures=\"%zu\">\n"
		"<testsuite name=\"mallow check ",
		c->count, failed);
	print_xml(out, c->name);
	fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n", c->count, failed);
	for (size_t i = 0; i < c->count; i++) {
		fputs("<testcase classname=\"mallow.check\" name=\"", out);
		print_xml(out, mw_limit_name(c->findings[i].kind));
		fputs("\">", out);
		if (!c->findings[i].passed) {
			fputs("<failure message=\"", out);
			print_xml_of(out, c, i, false);
			fputs("\">", out);
			print_xml_of(out, c, i, true);
			fputs("</failure>", out);
		}
		fputs("</testcase>\n", out);
	}
	fputs("</testsuite>\n</testsuites>\n", out);
}
