/* SPDX-License-Identifier: MIT
 * text_views.c -- `traces`, `collapsed` and `raw`: stack by stack. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/names.h"
#include "view/show.h"
#include "view/tags.h"
#include "view/view.h"

#define SEPARATOR "-----------+-------------------------------------------------------\n"

static void print_frames(const mw_view_t *v, const mw_sample_t *s, const char *value) {
	const mw_profile_t *p = v->profile;
	for (uint32_t i = 0; i < s->depth; i++) {
		uint32_t location = p->frames[s->frame_first + i];
		const mw_location_t *l = &p->locations[location];
		for (uint32_t k = 0; k < l->line_count + (l->line_count == 0); k++) {
			const mw_line_t *line =
				l->line_count > 0 ? &p->lines[l->line_first + k] : NULL;
			char *text = mw_frame_text(p, location, line, v->graph.granularity);
			fprintf(v->out, "%10s   ", value);
			mw_print_clean(v->out, text);
			/* As pprof: all but the outermost of a place were inlined. */
			fprintf(v->out, "%s\n", k + 1 < l->line_count ? " (inline)" : "");
			free(text);
			value = "";
		}
	}
	if (s->depth == 0)
		fprintf(v->out, "%10s   [stack unknown]\n", value);
}

static void print_labels(const mw_view_t *v, const mw_sample_t *s) {
	for (uint32_t i = 0; i < s->label_count; i++) {
		const mw_label_t *label = &v->profile->labels[s->label_first + i];
		char buffer[64];
		fprintf(v->out, "%10s:  ", mw_profile_string(v->profile, label->key));
		mw_print_clean(v->out,
			       mw_tag_value(v->profile, label, v->unit, buffer, sizeof(buffer)));
		fputc('\n', v->out);
	}
}

int mw_view_traces(const mw_view_t *v, mw_error_t *error) {
	(void)error;
	const mw_profile_t *p = v->profile;
	const char *unit = mw_view_unit(v, NULL);
	char value[MW_VALUE_BYTES];
	mw_view_header(v, NULL, unit);
	for (size_t i = 0; i < p->sample_count; i++) {
		const int64_t *values = mw_profile_values(p, i);
		int64_t number = values[v->type];
		if (number == 0)
			continue;
		if (v->graph.is_mean && values[0] > 0)
			number /= values[0];
		fputs(SEPARATOR, v->out);
		print_labels(v, &p->samples[i]);
		print_frames(v, &p->samples[i], mw_view_value(v, unit, number, value));
	}
	fputs(SEPARATOR, v->out);
	return 0;
}

/* ';' and newlines would be taken for something else. */
static void print_folded_name(FILE *out, const char *text) {
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		fputc(c < ' ' || c == 0x7f ? '?' : c == ';' ? ':' : c, out);
	}
}

static void print_folded(const mw_view_t *v, const mw_sample_t *s, int64_t value) {
	const mw_profile_t *p = v->profile;
	const char *before = "";
	for (uint32_t i = s->depth; i > 0; i--) {
		uint32_t location = p->frames[s->frame_first + i - 1];
		const mw_location_t *l = &p->locations[location];
		for (uint32_t k = l->line_count + (l->line_count == 0); k > 0; k--) {
			const mw_line_t *line =
				l->line_count > 0 ? &p->lines[l->line_first + k - 1] : NULL;
			char *text = mw_frame_text(p, location, line, v->graph.granularity);
			fputs(before, v->out);
			print_folded_name(v->out, text);
			before = ";";
			free(text);
		}
	}
	fprintf(v->out, "%s %" PRId64 "\n", s->depth == 0 ? "[stack unknown]" : "", value);
}

int mw_view_collapsed(const mw_view_t *v, mw_error_t *error) {
	(void)error;
	const mw_profile_t *p = v->profile;
	for (size_t i = 0; i < p->sample_count; i++) {
		int64_t value = mw_profile_values(p, i)[v->type];
		if (value != 0)
			print_folded(v, &p->samples[i], value);
	}
	return 0;
}

static void print_raw_samples(const mw_view_t *v) {
	const mw_profile_t *p = v->profile;
	fputs("Samples:\n", v->out);
	for (size_t i = 0; i < p->type_count; i++)
		fprintf(v->out, "%s/%s%s%s", mw_profile_string(p, p->types[i].type),
			mw_profile_string(p, p->types[i].unit),
			i == p->default_type ? "[dflt]" : "", i + 1 < p->type_count ? " " : "\n");
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_sample_t *s = &p->samples[i];
		for (size_t k = 0; k < p->type_count; k++)
			fprintf(v->out, "%10" PRId64 " ", mw_profile_values(p, i)[k]);
		fputc(':', v->out);
		for (uint32_t k = 0; k < s->depth; k++)
			fprintf(v->out, " %" PRIu32, p->frames[s->frame_first + k]);
		fputc('\n', v->out);
		print_labels(v, s);
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
		mw_print_clean(v->out, mw_profile_string(p, f->name));
		fputc(' ', v->out);
		mw_print_clean(v->out, mw_profile_string(p, f->file));
		fprintf(v->out, ":%" PRId64 " s=%" PRId64, line->line, f->start_line);
	}
	fputc('\n', v->out);
}

int mw_view_raw(const mw_view_t *v, mw_error_t *error) {
	(void)error;
	const mw_profile_t *p = v->profile;
	fprintf(v->out, "PeriodType: %s %s\nPeriod: %" PRId64 "\nTime: %" PRId64 "\n",
		mw_profile_string(p, p->period_type.type),
		mw_profile_string(p, p->period_type.unit), p->period, p->time_ns);
	print_raw_samples(v);
	fputs("Locations\n", v->out);
	for (size_t i = 1; i < p->location_count; i++)
		print_raw_location(v, (uint32_t)i);
	fputs("Mappings\n", v->out);
	for (size_t i = 1; i < p->mapping_count; i++) {
		const mw_mapping_t *m = &p->mappings[i];
		fprintf(v->out, "%zu: 0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 " ", i, m->start,
			m->limit, m->offset);
		mw_print_clean(v->out, mw_profile_string(p, m->path));
		fprintf(v->out, " %s\n", mw_profile_string(p, m->build_id));
	}
	return 0;
}

int mw_view_comments(const mw_view_t *v, mw_error_t *error) {
	(void)error;
	const mw_profile_t *p = v->profile;
	for (size_t i = 0; i < p->comment_count; i++) {
		mw_print_clean(v->out, mw_profile_string(p, p->comments[i]));
		fputc('\n', v->out);
	}
	return 0;
}
