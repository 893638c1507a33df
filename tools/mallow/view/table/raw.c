/* SPDX-License-Identifier: MIT
 * raw.c -- `raw` and `comments`: the whole content of a profile. */
#include <inttypes.h>

#include "model/text.h"
#include "view/common/json.h"
#include "view/common/values.h"
#include "view/common/view.h"
#include "view/table/tables.h"

static void print_type(const mw_view_t *v, const mw_value_type_t *type, char between) {
	mw_text_print(v->out, mw_profile_string(v->profile, type->type));
	fputc(between, v->out);
	mw_text_print(v->out, mw_profile_string(v->profile, type->unit));
}

static void print_raw_samples(const mw_view_t *v) {
	const mw_profile_t *p = v->profile;
	fputs("Samples:\n", v->out);
	for (size_t i = 0; i < p->type_count; i++) {
		print_type(v, &p->types[i], '/');
		fprintf(v->out, "%s%s", i == p->default_type ? "[dflt]" : "",
			i + 1 < p->type_count ? " " : "\n");
	}
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_sample_t *s = &p->samples[i];
		for (size_t k = 0; k < p->type_count; k++)
			fprintf(v->out, "%10" PRId64 " ", mw_profile_values(p, i)[k]);
		fputc(':', v->out);
		for (uint32_t k = 0; k < s->depth; k++)
			fprintf(v->out, " %" PRIu32, p->frames[s->frame_first + k]);
		fputc('\n', v->out);
		mw_view_labels(v, s);
	}
}

static void print_raw_location(const mw_view_t *v, uint32_t i) {
	const mw_profile_t *p = v->profile;
	const mw_location_t *l = &p->locations[i];
	fprintf(v->out, "%6" PRIu32 ": 0x%" PRIx64 " M=%" PRIu32, i, l->address, l->mapping);
	for (uint32_t k = 0; k < l->line_count; k++) {
		const mw_line_t *line = &p->lines[l->line_first + k];
		const mw_function_t *f = &p->functions[line->function];
		fputs(k > 0 ? "\n             " : " ", v->out);
		mw_text_print(v->out, mw_profile_string(p, f->name));
		fputc(' ', v->out);
		mw_text_print(v->out, mw_profile_string(p, f->file));
		fprintf(v->out, ":%" PRId64 " s=%" PRId64, line->line, f->start_line);
		if (f->system_name != f->name) {
			fputc('(', v->out);
			mw_text_print(v->out, mw_profile_string(p, f->system_name));
			fputc(')', v->out);
		}
	}
	fputc('\n', v->out);
}

static void add_json_types(mw_json_t *j, const mw_profile_t *p) {
	mw_json_open(j, "types", '[');
	for (size_t i = 0; i < p->type_count; i++) {
		mw_json_open(j, NULL, '{');
		mw_json_add_text(j, "type", mw_profile_string(p, p->types[i].type));
		mw_json_add_text(j, "unit", mw_profile_string(p, p->types[i].unit));
		mw_json_close(j);
	}
	mw_json_close(j);
	mw_json_add_text(j, "period_type", mw_profile_string(p, p->period_type.type));
	mw_json_add_text(j, "period_unit", mw_profile_string(p, p->period_type.unit));
	mw_json_add_number(j, "period", p->period);
	mw_json_add_number(j, "duration_ns", p->duration_ns);
}

static void add_json_samples(mw_json_t *j, const mw_profile_t *p) {
	mw_json_open(j, "samples", '[');
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_sample_t *s = &p->samples[i];
		mw_json_open(j, NULL, '{');
		mw_json_open(j, "values", '[');
		for (size_t k = 0; k < p->type_count; k++)
			mw_json_add_number(j, NULL, mw_profile_values(p, i)[k]);
		mw_json_close(j);
		mw_json_open(j, "locations", '[');
		for (uint32_t k = 0; k < s->depth; k++)
			mw_json_add_number(j, NULL, p->frames[s->frame_first + k]);
		mw_json_close(j);
		mw_json_add_labels(j, p, s);
		mw_json_close(j);
	}
	mw_json_close(j);
}

static void add_json_locations(mw_json_t *j, const mw_profile_t *p) {
	mw_json_open(j, "locations", '[');
	for (size_t i = 1; i < p->location_count; i++) {
		const mw_location_t *l = &p->locations[i];
		mw_json_open(j, NULL, '{');
		mw_json_add_number(j, "id", (int64_t)i);
		mw_json_add_hex(j, "address", l->address);
		mw_json_add_number(j, "mapping", l->mapping);
		mw_json_open(j, "lines", '[');
		for (uint32_t k = 0; k < l->line_count; k++) {
			const mw_line_t *line = &p->lines[l->line_first + k];
			const mw_function_t *f = &p->functions[line->function];
			mw_json_open(j, NULL, '{');
			mw_json_add_text(j, "name", mw_profile_string(p, f->name));
			mw_json_add_text(j, "file", mw_profile_string(p, f->file));
			mw_json_add_number(j, "line", line->line);
			mw_json_add_number(j, "start_line", f->start_line);
			mw_json_close(j);
		}
		mw_json_close(j);
		mw_json_close(j);
	}
	mw_json_close(j);
}

static void add_json_mappings(mw_json_t *j, const mw_profile_t *p) {
	mw_json_open(j, "mappings", '[');
	for (size_t i = 1; i < p->mapping_count; i++) {
		const mw_mapping_t *m = &p->mappings[i];
		mw_json_open(j, NULL, '{');
		mw_json_add_number(j, "id", (int64_t)i);
		mw_json_add_hex(j, "start", m->start);
		mw_json_add_hex(j, "limit", m->limit);
		mw_json_add_hex(j, "offset", m->offset);
		mw_json_add_text(j, "file", mw_profile_string(p, m->path));
		mw_json_add_text(j, "build_id", mw_profile_string(p, m->build_id));
		mw_json_close(j);
	}
	mw_json_close(j);
}

static void add_json_comments(mw_json_t *j, const mw_profile_t *p) {
	mw_json_open(j, "comments", '[');
	for (size_t i = 0; i < p->comment_count; i++)
		mw_json_add_text(j, NULL, mw_profile_string(p, p->comments[i]));
	mw_json_close(j);
}

static int print_json(const mw_view_t *v) {
	mw_json_t j;
	mw_json_begin(&j, v);
	add_json_types(&j, v->profile);
	add_json_samples(&j, v->profile);
	add_json_locations(&j, v->profile);
	add_json_mappings(&j, v->profile);
	add_json_comments(&j, v->profile);
	mw_json_end(&j);
	return 0;
}

int mw_view_raw(const mw_view_t *v, mw_error_t *error) {
	(void)error;
	const mw_profile_t *p = v->profile;
	if (v->json)
		return print_json(v);
	for (size_t i = 0; i < p->comment_count; i++) {
		fputs("Comment: ", v->out);
		mw_text_print(v->out, mw_profile_string(p, p->comments[i]));
		fputc('\n', v->out);
	}
	fputs("PeriodType: ", v->out);
	print_type(v, &p->period_type, ' ');
	fprintf(v->out, "\nPeriod: %" PRId64 "\nTime: %" PRId64 "\n", p->period, p->time_ns);
	print_raw_samples(v);
	fputs("Locations\n", v->out);
	for (size_t i = 1; i < p->location_count; i++)
		print_raw_location(v, (uint32_t)i);
	fputs("Mappings\n", v->out);
	for (size_t i = 1; i < p->mapping_count; i++) {
		const mw_mapping_t *m = &p->mappings[i];
		fprintf(v->out, "%zu: 0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 " ", i, m->start,
			m->limit, m->offset);
		mw_text_print(v->out, mw_profile_string(p, m->path));
		fputc(' ', v->out);
		mw_text_print(v->out, mw_profile_string(p, m->build_id));
		fprintf(v->out, " %s%s%s%s\n", m->has_functions ? "[FN]" : "",
			m->has_filenames ? "[FL]" : "", m->has_line_numbers ? "[LN]" : "",
			m->has_inline_frames ? "[IN]" : "");
	}
	return 0;
}

int mw_view_comments(const mw_view_t *v, mw_error_t *error) {
	(void)error;
	const mw_profile_t *p = v->profile;
	if (v->json) {
		mw_json_t j;
		mw_json_begin(&j, v);
		add_json_comments(&j, p);
		mw_json_end(&j);
		return 0;
	}
	for (size_t i = 0; i < p->comment_count; i++) {
		mw_text_print(v->out, mw_profile_string(p, p->comments[i]));
		fputc('\n', v->out);
	}
	return 0;
}
