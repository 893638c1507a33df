/* SPDX-License-Identifier: MIT
 * json.c -- writes commas, quotes and brackets. */
#include "view/common/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/check.h"
#include "model/text.h"

void mw_view_json_text(FILE *out, const char *text) {
	fputc('"', out);
	while (*text != '\0') {
		mw_character_t c = mw_text_character(text);
		if (!c.is_utf8 || c.is_order)
			fputc('?', out);
		else if (c.is_control || c.code == '<')
			fprintf(out, "\\u%04" PRIx32, c.code);
		else {
			if (*text == '"' || *text == '\\')
				fputc('\\', out);
			fwrite(text, 1, c.bytes, out);
		}
		text += c.bytes;
	}
	fputc('"', out);
}

/* Depth of a row: each row is a line of its own. */
#define ROW_DEPTH 2

static void print_key(mw_json_t *j, const char *key) {
	bool *has_member = &j->has_member[j->depth > 0 ? j->depth - 1 : 0];
	if (j->depth > 0 && *has_member)
		fputs(j->depth == ROW_DEPTH && key == NULL ? "," : ", ", j->out);
	if (j->depth == ROW_DEPTH && key == NULL)
		fputs("\n  ", j->out);
	*has_member = true;
	if (key == NULL)
		return;
	mw_view_json_text(j->out, key);
	fputs(": ", j->out);
}

void mw_json_open(mw_json_t *j, const char *key, char opener) {
	print_key(j, key);
	MW_ASSERT(j->depth < MW_JSON_DEPTH_MAX);
	fputc(opener, j->out);
	j->closers[j->depth] = opener == '{' ? '}' : ']';
	j->has_member[j->depth++] = false;
}

void mw_json_close(mw_json_t *j) {
	j->depth--;
	if (j->depth + 1 == ROW_DEPTH && j->closers[j->depth] == ']')
		fputc('\n', j->out);
	fputc(j->closers[j->depth], j->out);
}

void mw_json_add_text(mw_json_t *j, const char *key, const char *text) {
	print_key(j, key);
	mw_view_json_text(j->out, text);
}

void mw_json_add_number(mw_json_t *j, const char *key, int64_t number) {
	print_key(j, key);
	fprintf(j->out, "%" PRId64, number);
}

/* JSON has no infinity. */
void mw_json_add_real(mw_json_t *j, const char *key, double number) {
	print_key(j, key);
	if (isfinite(number))
		fprintf(j->out, "%.9g", number);
	else
		fputs("null", j->out);
}

void mw_json_add_hex(mw_json_t *j, const char *key, uint64_t number) {
	print_key(j, key);
	fprintf(j->out, "\"0x%" PRIx64 "\"", number);
}

void mw_json_add_flag(mw_json_t *j, const char *key, bool is_set) {
	if (!is_set)
		return;
	print_key(j, key);
	fputs("true", j->out);
}

/* Writes which process and moment the values are of, and how accurate they are. */
static void add_origin(mw_json_t *j, const mw_view_t *v) {
	const mw_profile_t *p = v->profile;
	if (!v->graph.is_mean)
		mw_json_add_number(j, "selected", mw_profile_total(p, v->type));
	if (v->low < v->high && !v->graph.is_mean) {
		print_key(j, "interval");
		fprintf(j->out, "[%" PRId64 ", %" PRId64 "]", v->low, v->high);
	}
	if (p->origin.pid != 0)
		mw_json_add_number(j, "pid", p->origin.pid);
	if (p->time_ns > 0)
		mw_json_add_number(j, "time_ns", p->time_ns);
	if (p->period > 0 && strcmp(mw_profile_string(p, p->period_type.unit), "bytes") == 0)
		mw_json_add_number(j, "mean_bytes", p->period);
}

void mw_json_begin(mw_json_t *j, const mw_view_t *v) {
	const mw_profile_t *p = v->profile;
	*j = (mw_json_t){.out = v->out};
	mw_json_open(j, NULL, '{');
	mw_json_add_text(j, "view", v->name);
	mw_json_add_text(j, "program", mw_profile_string(p, p->origin.program));
	mw_json_add_text(j, "type", mw_profile_string(p, p->types[v->type].type));
	mw_json_add_text(j, "unit", mw_profile_string(p, p->types[v->type].unit));
	mw_json_add_number(j, "total", v->total);
	add_origin(j, v);
}

void mw_json_end(mw_json_t *j) {
	while (j->depth > 0)
		mw_json_close(j);
	fputc('\n', j->out);
}

void mw_json_add_label(mw_json_t *j, const mw_profile_t *p, const mw_label_t *label) {
	mw_json_add_text(j, "key", mw_profile_string(p, label->key));
	if (label->text != 0)
		mw_json_add_text(j, "tag", mw_profile_string(p, label->text));
	else
		mw_json_add_number(j, "tag", label->number);
	if (label->text == 0 && label->unit != 0)
		mw_json_add_text(j, "unit", mw_profile_string(p, label->unit));
}

void mw_json_add_labels(mw_json_t *j, const mw_profile_t *p, const mw_sample_t *s) {
	mw_json_open(j, "labels", '[');
	for (uint32_t i = 0; i < s->label_count; i++) {
		mw_json_open(j, NULL, '{');
		mw_json_add_label(j, p, &p->labels[s->label_first + i]);
		mw_json_close(j);
	}
	mw_json_close(j);
}
