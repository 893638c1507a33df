/* SPDX-License-Identifier: MIT
 * stacks_text.c -- prints one paragraph for each stack. */
#include <inttypes.h>
#include <string.h>

#include "model/text.h"
#include "report/interval.h"
#include "report/row_sums.h"
#include "report/stacks.h"
#include "report/text/names.h"
#include "report/text/types.h"
#include "report/text/units.h"
#include "symbol/symbolize.h"

/* Most sizes and threads that are shown. */
#define SHARES_SHOWN 4

typedef struct printer {
	FILE *out;
	const mw_profile_t *profile;
	const mw_report_options_t *options;
	const mw_stacks_t *stacks;
} printer_t;

static const char *bytes(int64_t value, char buffer[32]) {
	return mw_format_bytes(value, buffer, 32);
}

static const char *objects(int64_t count, char buffer[32]) {
	return mw_format_counted(count, "object", buffer, 32);
}

static double percent(int64_t part, int64_t whole) {
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

static int64_t value_of(const printer_t *r, const mw_stack_t *stack, const char *type) {
	return mw_stack_value(r->profile, stack, type);
}

static void print_first_line(const printer_t *r, size_t number, const mw_stack_t *stack) {
	char text[32], low[32], high[32];
	size_t type = r->stacks->type;
	fprintf(r->out, "#%zu  %s, %.1f%%", number + 1,
		mw_report_value(r->profile, type, stack->values[type], text, sizeof(text)),
		percent(stack->values[type], r->stacks->total));
	mw_interval_types_t interval;
	if (mw_interval_types_find(r->profile, type, &interval) && stack->spread.variance > 0) {
		mw_interval_t range = mw_interval_of(stack->values[type], &stack->spread);
		fprintf(r->out, " (95 in 100: %s .. %s)",
			mw_report_value(r->profile, type, range.low, low, sizeof(low)),
			mw_report_value(r->profile, type, range.high, high, sizeof(high)));
	}
	fputc('\n', r->out);
}

static void print_sums(const printer_t *r, const mw_stack_t *stack) {
	char a[32], b[32], c[32];
	int64_t space = value_of(r, stack, "inuse_space");
	int64_t asked = value_of(r, stack, "inuse_requested");
	int64_t peak = value_of(r, stack, "peak_space");
	if (space >= 0) {
		fprintf(r->out, "    in use     %s in %s", bytes(space, a),
			objects(value_of(r, stack, "inuse_objects"), b));
		if (asked >= 0 && space > 0)
			fprintf(r->out, "; requested %s, %.1f%% is rounding", bytes(asked, c),
				percent(space - asked, space));
		fputc('\n', r->out);
	}
	int64_t pinned = value_of(r, stack, "pinned_space");
	if (pinned > 0)
		fprintf(r->out, "    pins       %s that are free beside it in pages\n",
			bytes(pinned, a));
	if (peak >= 0)
		fprintf(r->out, "    at peak    %s in %s\n", bytes(peak, a),
			objects(value_of(r, stack, "peak_objects"), b));
	if (value_of(r, stack, "alloc_space") >= 0)
		fprintf(r->out, "    allocated  %s in %s\n",
			bytes(value_of(r, stack, "alloc_space"), a),
			objects(value_of(r, stack, "alloc_objects"), b));
}

static void print_life(const printer_t *r, const mw_stack_t *stack) {
	char a[32], b[32];
	int64_t freed = value_of(r, stack, "freed_objects");
	if (freed <= 0)
		return;
	fprintf(r->out, "    freed      %s after %s on average", objects(freed, a),
		mw_format_nanoseconds(value_of(r, stack, "lifetime") / freed, b, sizeof(b)));
	int64_t elsewhere = value_of(r, stack, "freed_elsewhere");
	int64_t temporary = value_of(r, stack, "temporary_objects");
	if (elsewhere > 0)
		fprintf(r->out, "; %.1f%% by another thread", percent(elsewhere, freed));
	if (temporary > 0)
		fprintf(r->out, "; %.1f%% temporary", percent(temporary, freed));
	fputc('\n', r->out);
}

void mw_stack_print_shares(FILE *out, const mw_stack_t *stack, mw_share_kind_t kind,
			   const char *title) {
	int64_t whole = 0, shown = 0;
	size_t shares = stack->share_counts[kind], limit = shares;
	bool by_objects = kind == MW_SHARE_LIFETIMES;
	if (!by_objects && limit > SHARES_SHOWN + 1)
		limit = SHARES_SHOWN;
	for (size_t i = 0; i < shares; i++) {
		const mw_share_t *share = &stack->shares[kind][i];
		whole += by_objects ? share->objects : share->bytes;
	}
	if (shares == 0)
		return;
	fprintf(out, "    %-10s ", title);
	for (size_t i = 0; i < limit; i++) {
		const mw_share_t *share = &stack->shares[kind][i];
		int64_t value = by_objects ? share->objects : share->bytes;
		char text[32];
		shown += value;
		fprintf(out, "%s%.0f%% ", i > 0 ? ", " : "", percent(value, whole));
		mw_text_print(out, share->name != NULL ? share->name : bytes(share->number, text));
		/* Threads may share a name, so the id is shown, too. */
		if (kind == MW_SHARE_THREADS)
			fprintf(out, " (%" PRId64 ")", share->number);
	}
	if (limit < shares)
		fprintf(out, ", %.0f%% in %zu more", percent(whole - shown, whole), shares - limit);
	fputc('\n', out);
}

static void print_frame(FILE *out, const mw_profile_t *p, uint32_t location, bool by_line,
			int columns) {
	const mw_location_t *l = &p->locations[location];
	char name[4200], place[4200];
	for (uint32_t k = 0; k < l->line_count; k++) {
		const mw_line_t *line = &p->lines[l->line_first + k];
		const mw_function_t *f = &p->functions[line->function];
		if (f->name == 0)
			continue;
		mw_row_t row = {
			.name = mw_profile_string(p, f->name), .file = f->file, .line = line->line};
		mw_row_place(p, &row, by_line, columns > 0, place, sizeof(place));
		size_t room = columns > 60 ? (size_t)columns - 40 : 0;
		if (room == 0)
			mw_short_name(mw_profile_string(p, f->name), name, sizeof(name));
		else
			mw_fit_name(mw_profile_string(p, f->name), room, name, sizeof(name));
		fputs("      ", out);
		mw_text_print(out, name);
		if (place[0])
			fputs("  ", out);
		mw_text_print(out, place);
		fputc('\n', out);
	}
	if (l->line_count == 0) {
		mw_location_name(p, location, name, sizeof(name));
		fputs("      ", out);
		mw_text_print(out, name);
		fputc('\n', out);
	}
}

void mw_stack_print_frames(FILE *out, const mw_profile_t *p, const mw_sample_t *sample,
			   bool by_line, int columns) {
	for (uint32_t i = 0; i < sample->depth; i++)
		print_frame(out, p, p->frames[sample->frame_first + i], by_line, columns);
}

int mw_report_print_stacks(FILE *out, const mw_profile_t *profile,
			   const mw_report_options_t *options, mw_error_t *error) {
	mw_stacks_t stacks;
	if (mw_stacks_init(&stacks, profile, options->sample_type, error) != 0)
		return -1;
	printer_t r = {.out = out, .profile = profile, .options = options, .stacks = &stacks};
	size_t limit = options->row_limit, shown = 0;
	for (; shown < stacks.count && (limit == 0 || shown < limit); shown++) {
		const mw_stack_t *stack = &stacks.stacks[shown];
		const mw_sample_t *sample = &profile->samples[stack->sample];
		print_first_line(&r, shown, stack);
		print_sums(&r, stack);
		mw_stack_print_shares(out, stack, MW_SHARE_SIZES, "sizes");
		mw_stack_print_shares(out, stack, MW_SHARE_MADE_SIZES, "all sizes");
		mw_stack_print_shares(out, stack, MW_SHARE_THREADS, "threads");
		mw_stack_print_shares(out, stack, MW_SHARE_AGES, "ages");
		print_life(&r, stack);
		mw_stack_print_shares(out, stack, MW_SHARE_LIFETIMES, "lifetimes");
		mw_stack_print_frames(out, profile, sample, options->by_line, options->columns);
		fputc('\n', out);
	}
	if (shown < stacks.count)
		fprintf(out, "... and %zu more stacks\n", stacks.count - shown);
	if (stacks.count == 0)
		fprintf(out, "%s\n", mw_report_nothing(profile, stacks.type, stacks.total));
	mw_stacks_release(&stacks);
	return 0;
}
