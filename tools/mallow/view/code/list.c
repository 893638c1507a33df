/* SPDX-License-Identifier: MIT
 * list.c -- `list RE`: source of the matching functions with the values of each line. */
#include <inttypes.h>
#include <string.h>

#include "report/text/names.h"
#include "view/code/listing.h"
#include "view/code/listings.h"
#include "view/common/json.h"
#include "view/common/values.h"
#include "view/common/view.h"

/* Prints a line.  A narrow terminal gets only cum, and as much of the source as fits. */
static void print_line(const mw_view_t *v, const mw_listed_function_t *f,
		       const mw_listed_line_t *line, const char *unit) {
	char flat_text[MW_VALUE_BYTES], cum_text[MW_VALUE_BYTES], reason[128];
	snprintf(reason, sizeof(reason), "   (%s; see --source-path)", f->missing);
	const char *text = line->text != NULL ? line->text : reason;
	const char *flat = line->flat != 0 ? mw_view_value(v, unit, line->flat, flat_text) : ".";
	const char *cum = line->cum != 0 ? mw_view_value(v, unit, line->cum, cum_text) : ".";
	if (mw_room_of(v->columns) == MW_ROOM_ALL) {
		fprintf(v->out, "%10s %10s %6" PRId64 ":%s\n", flat, cum, line->number, text);
		return;
	}
	text += strspn(text, " \t");
	int used = fprintf(v->out, "%10s %" PRId64 ":", cum, line->number);
	size_t room = v->columns > used ? (size_t)(v->columns - used) : 0;
	fprintf(v->out, "%.*s\n", (int)mw_text_prefix(text, room), text);
}

static void print_function(const mw_view_t *v, const mw_listed_function_t *f, const char *unit) {
	char flat[MW_VALUE_BYTES], cum[MW_VALUE_BYTES], percent[MW_VALUE_BYTES];
	mw_view_routine(v, mw_profile_string(v->profile, f->name),
			mw_profile_string(v->profile, f->file));
	fprintf(v->out, "%10s %10s (flat, cum) %s of Total\n",
		mw_view_value(v, unit, f->flat, flat), mw_view_value(v, unit, f->cum, cum),
		mw_view_percent(f->cum, v->total, percent));
	for (size_t i = 0; i < f->line_count; i++)
		print_line(v, f, &f->lines[i], unit);
}

static void print_json(const mw_view_t *v, const mw_listing_t *listing) {
	mw_json_t j;
	mw_json_begin(&j, v);
	mw_json_open(&j, "functions", '[');
	for (size_t i = 0; i < listing->count; i++) {
		const mw_listed_function_t *f = &listing->functions[i];
		mw_json_open(&j, NULL, '{');
		mw_json_add_text(&j, "name", mw_profile_string(v->profile, f->name));
		mw_json_add_text(&j, "file", mw_profile_string(v->profile, f->file));
		mw_json_add_number(&j, "flat", f->flat);
		mw_json_add_number(&j, "cum", f->cum);
		mw_json_open(&j, "lines", '[');
		for (size_t k = 0; k < f->line_count; k++) {
			mw_json_open(&j, NULL, '{');
			mw_json_add_number(&j, "line", f->lines[k].number);
			mw_json_add_number(&j, "flat", f->lines[k].flat);
			mw_json_add_number(&j, "cum", f->lines[k].cum);
			if (f->lines[k].text != NULL)
				mw_json_add_text(&j, "text", f->lines[k].text);
			mw_json_close(&j);
		}
		mw_json_close(&j);
		mw_json_close(&j);
	}
	mw_json_end(&j);
}

int mw_view_list(const mw_view_t *v, mw_error_t *error) {
	mw_listing_t listing;
	if (mw_listing_make(v, &listing, error) != 0)
		return -1;
	if (v->json) {
		print_json(v, &listing);
	} else {
		mw_view_header(v, NULL, listing.unit);
		for (size_t i = 0; i < listing.count; i++)
			print_function(v, &listing.functions[i], listing.unit);
	}
	mw_listing_release(&listing);
	return 0;
}
