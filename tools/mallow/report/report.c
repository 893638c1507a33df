/* SPDX-License-Identifier: MIT
 * report.c -- prints the flat/cum table as text. */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "model/text.h"
#include "report/interval.h"
#include "report/row_sums.h"
#include "report/stacks.h"
#include "report/text/names.h"
#include "report/text/resident_text.h"
#include "report/text/style.h"
#include "report/text/types.h"
#include "report/text/units.h"
#include "state/layout.h"

/* Columns that the five numbers of a row and the following gap take. */
#define NUMBERS_WIDTH 44
/* Columns of a range, for example "1023 KiB .. 1.02 MiB". */
#define RANGE_WIDTH 22
/* Fewest columns of a name, however narrow the terminal is. */
#define NAME_WIDTH_MIN 16
/* Longest name that is printed: compilers make names of up to about ten thousand bytes. */
#define NAME_BYTES_MAX 16384
/* Fewest columns of a name on a terminal with room for one number. */
#define NARROW_NAME_WIDTH 8
/* Columns of the command line in the header, enough to tell processes apart. */
#define COMMAND_WIDTH_MAX 160

typedef struct printer {
	FILE *out;
	const mw_profile_t *profile;
	const mw_report_options_t *options;
	size_t type;
	bool is_bytes;
	bool has_interval; /* intervals were requested, and the profile allows them */
} printer_t;

static const char *format_value(const printer_t *r, int64_t value, char *buffer, size_t size) {
	return mw_report_value(r->profile, r->type, value, buffer, size);
}

static double percent(int64_t part, int64_t whole) {
	return whole != 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

static const char *describe_type(const char *type) {
	static const char *const known[][2] = {
		{"inuse_space", "bytes in use"},
		{"inuse_objects", "objects in use"},
		{"alloc_space", "bytes allocated so far, including freed ones"},
		{"alloc_objects", "objects allocated so far, including freed ones"},
		{"peak_space", "bytes in use at the peak"},
		{"peak_objects", "objects in use at the peak"},
		{"inuse_requested", "bytes in use, as requested"},
		{"alloc_requested", "bytes allocated so far, as requested"},
		{"inuse_samples", "samples of objects in use"},
		{"alloc_samples", "samples taken"},
		{"freed_objects", "objects freed"},
		{"freed_elsewhere", "objects freed by another thread"},
		{"temporary_objects", "objects freed before their thread allocated again"},
		{"lifetime", "total lifetime of freed objects"},
		{"pinned_space", "free bytes that blocks in use keep resident"},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(type, known[i][0]) == 0)
			return known[i][1];
	return NULL;
}

static void print_command(const printer_t *r, const char *program) {
	const char *args = mw_profile_string(r->profile, r->profile->origin.args);
	if (*args == '\0' || strcmp(args, program) == 0)
		return;
	/* The command line is cut to one line. */
	size_t width = COMMAND_WIDTH_MAX;
	if (r->options->columns > 9 + NAME_WIDTH_MIN && (size_t)r->options->columns - 9 < width)
		width = (size_t)r->options->columns - 9;
	size_t shown = mw_text_prefix(args, width);
	if (args[shown] != '\0')
		shown = mw_text_prefix(args, width - 3);
	char command[4 * COMMAND_WIDTH_MAX + 4];
	snprintf(command, sizeof(command), "%.*s%s", (int)shown, args,
		 args[shown] != '\0' ? "..." : "");
	fprintf(r->out, "Command: ");
	mw_text_print(r->out, command);
	fprintf(r->out, "\n");
}

static void print_program(const printer_t *r) {
	const mw_profile_t *p = r->profile;
	const char *program = mw_profile_string(p, p->origin.program);
	if (*program == '\0' && p->mapping_count > 1) {
		program = mw_profile_string(p, p->mappings[1].path);
		const char *slash = strrchr(program, '/');
		program = slash != NULL ? slash + 1 : program;
	}
	if (*program == '\0')
		return;
	fputs("Program: ", r->out);
	mw_text_print(r->out, program);
	if (p->origin.pid != 0)
		fprintf(r->out, " (pid %" PRIu32 ")", p->origin.pid);
	fprintf(r->out, "\n");
	print_command(r, program);
}

/* Formats the profile's time.  False: it is not known. */
static bool format_time(const mw_profile_t *p, char *text, size_t size) {
	time_t seconds = (time_t)(p->time_ns / 1000000000);
	struct tm local;
	return p->time_ns > 0 && localtime_r(&seconds, &local) != NULL &&
	       strftime(text, size, "%Y-%m-%d %H:%M:%S", &local) > 0;
}

static void print_time(const printer_t *r) {
	const mw_profile_t *p = r->profile;
	char text[64];
	if (!format_time(p, text, sizeof(text)))
		return;
	fprintf(r->out, "Time:    %s", text);
	double covered = (double)p->duration_ns / 1e9;
	if (covered >= 3600)
		fprintf(r->out, ", covering %.1f h", covered / 3600);
	else if (covered >= 1)
		fprintf(r->out, ", covering %.*f s", covered < 10 ? 1 : 0, covered);
	else if (covered > 0)
		fprintf(r->out, ", covering %.1f ms", covered * 1e3);
	fprintf(r->out, "\n");
}

/* Says what all of the process's memory is used for: the table has malloc's alone. */
static void print_resident(const printer_t *r) {
	const mw_profile_t *p = r->profile;
	char text[MW_RESIDENT_TEXT_BYTES];
	if (p->origin.base_time_ns != 0)
		return;
	mw_resident_print(r->out,
			  mw_resident_text(&p->origin.resident, mw_arenas_of_profile(p), text),
			  r->options->columns, "Memory:  ", "         ");
	if (!mw_resident_asks_who_mapped(&p->origin.resident))
		return;
	if (mw_profile_find_type(p, "inuse_mapped") >= 0)
		fputs("         --sample-type inuse_mapped shows who mapped memory past malloc\n",
		      r->out);
	else
		fputs("         MALLOW_CONF=prof_mappings:true names who maps memory past malloc\n",
		      r->out);
}

/* Says how the process ended.  The profile's time is the time of the last write, which an
 * allocating process does at least ten times a second. */
static void print_end(const printer_t *r) {
	char text[64];
	if (r->profile->origin.killed && (r->profile->origin.flags & MW_STATE_ATTACHED))
		fprintf(r->out, "Ended:   at %s, or later if it was idle then\n",
			format_time(r->profile, text, sizeof(text)) ? text : "an unknown time");
	else if (r->profile->origin.killed)
		fprintf(r->out,
			"Ended:   killed at %s, or later if it was idle then; it did not call "
			"exit\n",
			format_time(r->profile, text, sizeof(text)) ? text : "an unknown time");
}

/* Returns the type that counts objects where this type counts bytes, or the reverse; -1 = none. */
static int companion(const printer_t *r) {
	static const char *const pairs[][2] = {{"inuse_space", "inuse_objects"},
					       {"alloc_space", "alloc_objects"},
					       {"peak_space", "peak_objects"},
					       {"space", "objects"}};
	const char *type = mw_profile_string(r->profile, r->profile->types[r->type].type);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		for (int k = 0; k < 2; k++)
			if (strcmp(type, pairs[i][k]) == 0)
				return mw_profile_find_type(r->profile, pairs[i][!k]);
	return -1;
}

static int64_t zero_requests(const printer_t *r, int objects_type) {
	const mw_profile_t *p = r->profile;
	int64_t sum = 0;
	for (size_t i = 0; objects_type >= 0 && i < p->sample_count; i++) {
		int64_t value = mw_profile_values(p, i)[objects_type];
		if (mw_profile_is_zero_request(p, &p->samples[i]) &&
		    __builtin_add_overflow(sum, value, &sum))
			return INT64_MAX;
	}
	return sum;
}

static const char *plural(int64_t count) {
	return count == 1 ? "" : "s";
}

static void print_total(const printer_t *r, const mw_sums_t *sums) {
	char first[32], second[32];
	int other = companion(r);
	int objects_type = r->is_bytes ? other : (int)r->type;
	int64_t objects =
		objects_type >= 0 ? mw_profile_total(r->profile, (size_t)objects_type) : 0;
	fprintf(r->out, "Total:   ");
	if (r->is_bytes && objects_type >= 0 && r->profile->period == 1)
		fprintf(r->out, "%s (%" PRId64 " bytes) in %" PRId64 " object%s",
			mw_format_bytes(sums->total, first, sizeof(first)), sums->total, objects,
			plural(objects));
	else if (r->is_bytes && objects_type >= 0)
		fprintf(r->out, "%s in %s object%s",
			mw_format_bytes(sums->total, first, sizeof(first)),
			mw_format_count(objects, second, sizeof(second)), plural(objects));
	else if (other >= 0)
		fprintf(r->out, "%s object%s of %s together",
			mw_format_count(objects, first, sizeof(first)), plural(objects),
			mw_format_bytes(mw_profile_total(r->profile, (size_t)other), second,
					sizeof(second)));
	else
		fprintf(r->out, "%s", format_value(r, sums->total, first, sizeof(first)));
	fprintf(r->out, ", from %zu stack%s\n", sums->stack_count,
		plural((int64_t)sums->stack_count));
	int64_t zero = zero_requests(r, objects_type);
	if (zero > 0)
		fprintf(r->out, "         of these, %s object%s came from requests for 0 bytes\n",
			mw_format_count(zero, first, sizeof(first)), plural(zero));
}

static void print_rate(const printer_t *r) {
	const mw_profile_t *p = r->profile;
	const char *unit = mw_profile_string(p, p->period_type.unit);
	if (p->period <= 0 || strcmp(unit, "bytes") != 0)
		return;
	if (p->period == 1) {
		fprintf(r->out, "T:       1 (exact: every allocation is recorded)\n");
		return;
	}
	char rate[32], count[32];
	const char *type = mw_profile_string(p, p->types[r->type].type);
	uint64_t samples = strncmp(type, "alloc_", 6) == 0 ? p->origin.alloc_samples
			   /* The samples at the peak are not kept. */
			   : strncmp(type, "peak_", 5) == 0 ? 0
							    : p->origin.live_samples;
	fprintf(r->out, "T:       %s between samples on average",
		mw_format_bytes(p->period, rate, sizeof(rate)));
	if (samples > 0 && samples < INT64_MAX)
		fprintf(r->out, "; estimated from %s sample%s",
			mw_format_count((int64_t)samples, count, sizeof(count)),
			plural((int64_t)samples));
	fprintf(r->out, "\n");
}

/* Prints the interval of the peak's total.  Samples at the peak are not kept, so a row has no
 * interval, and the total's variance is at most T times the bytes. */
static void print_peak(const printer_t *r, const mw_sums_t *sums) {
	const mw_profile_t *p = r->profile;
	char text[32], total[32];
	int64_t gap = p->origin.peak_gap_bytes;
	if (strncmp(mw_profile_string(p, p->types[r->type].type), "peak_", 5) != 0)
		return;
	if (r->is_bytes && p->period > 1 && sums->total > 0)
		fprintf(r->out, "         within %s of the truth in 95 of 100 cases\n",
			mw_format_bytes((int64_t)(MW_INTERVAL_QUANTILE *
						  sqrt((double)p->period * (double)sums->total)),
					text, sizeof(text)));
	if (gap != 0 && (p->origin.flags & MW_STATE_FILE_FULL) == 0)
		fprintf(r->out,
			"         the process ran while mallow read it: its peak holds %s %s than "
			"its stacks\n",
			mw_format_bytes(gap < 0 ? -gap : gap, total, sizeof(total)),
			gap < 0 ? "less" : "more");
}

/* Notes that the process held far more memory at its peak, which the table below does not show. */
static void print_higher_peak(const printer_t *r, const mw_sums_t *sums) {
	const mw_profile_t *p = r->profile;
	const char *type = mw_profile_string(p, p->types[r->type].type);
	int peak_type = mw_profile_find_type(p, "peak_space");
	char text[32];
	if (strcmp(type, "inuse_space") != 0 || peak_type < 0)
		return;
	int64_t peak = mw_profile_total(p, (size_t)peak_type);
	if (peak / 2 > sums->total)
		fprintf(r->out, "Peak:    %s; --peak-space shows the stacks that held it\n",
			mw_format_bytes(peak, text, sizeof(text)));
}

static void print_range(const printer_t *r, int64_t value, const mw_spread_t *spread,
			const char *between, int width) {
	char low[32], high[32], text[80];
	mw_interval_t range = mw_interval_of(value, spread);
	snprintf(text, sizeof(text), "%s%s%s", format_value(r, range.low, low, sizeof(low)),
		 between, format_value(r, range.high, high, sizeof(high)));
	fprintf(r->out, "%*s", width, text);
}

static void print_total_range(const printer_t *r, const mw_sums_t *sums) {
	if (!r->has_interval || r->profile->period == 1)
		return;
	fprintf(r->out, "         in 95 of 100 cases between ");
	print_range(r, sums->total, &sums->spread, " and ", 0);
	fputc('\n', r->out);
}

static void print_flags(const printer_t *r) {
	static const struct {
		uint32_t flag;
		const char *text;
	} known[] = {
		{MW_STATE_ATTACHED,
		 "'mallow attach' began the profile: what was allocated before is not in it"},
		{MW_STATE_FILE_FULL, "the file system was full: the profile is incomplete"},
		{MW_STATE_STACKS_FULL,
		 "too many different stacks: newer ones count as [stack unknown]"},
		{MW_STATE_FRAMES_FULL,
		 "too many different frames: newer stacks are cut to their leaf"},
		{MW_STATE_RECORDS_FULL, "too many live samples: values in use are too low"},
		{MW_STATE_MODULES_FULL, "too many loaded libraries: some functions have no name"},
		{MW_STATE_LIMITED,
		 "busy threads were sampled at several times T, to bound the cost "
		 "(prof_cost_limit)"},
		{MW_STATE_FORGOT,
		 "stacks that were not used any more count as [stack unknown] here"},
	};
	/* A stack that is taken out has no memory in use. */
	uint32_t flags = r->profile->origin.flags;
	if (strncmp(mw_profile_string(r->profile, r->profile->types[r->type].type), "alloc_", 6))
		flags &= ~(uint32_t)MW_STATE_FORGOT;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if ((flags & known[i].flag) != 0)
			fprintf(r->out, "Note:    %s\n", known[i].text);
	char pauses[160];
	if (mw_format_pauses(r->profile, pauses, sizeof(pauses))[0] != '\0')
		fprintf(r->out, "Note:    %s\n", pauses);
}

/* Returns whether the bytes are what malloc rounded the requests up to.  Other profilers count
 * requests. */
static bool counts_usable(const printer_t *r) {
	const char *type = mw_profile_string(r->profile, r->profile->types[r->type].type);
	return r->profile->origin.version != 0 &&
	       (strcmp(type, "inuse_space") == 0 || strcmp(type, "alloc_space") == 0 ||
		strcmp(type, "peak_space") == 0);
}

static void print_header(const printer_t *r, const mw_sums_t *sums) {
	const char *type = mw_profile_string(r->profile, r->profile->types[r->type].type);
	const char *meaning = describe_type(type);
	print_program(r);
	print_time(r);
	print_end(r);
	if (!mw_profile_is_cpu_type(r->profile, r->type))
		print_resident(r);
	fputs("Type:    ", r->out);
	mw_text_print(r->out, type);
	fprintf(r->out, "%s%s%s%s\n", meaning != NULL ? " (" : "",
		meaning != NULL && counts_usable(r) ? "usable " : "",
		meaning != NULL ? meaning : "", meaning != NULL ? ")" : "");
	print_total(r, sums);
	print_total_range(r, sums);
	print_peak(r, sums);
	print_higher_peak(r, sums);
	print_rate(r);
	print_flags(r);
	fprintf(r->out, "\n");
}

/* Returns the columns of numbers that the terminal has room for.  A table with intervals has all
 * of them. */
static mw_room_t room_of(const printer_t *r) {
	return r->has_interval ? MW_ROOM_ALL : mw_room_of(r->options->columns);
}

static size_t numbers_width(const printer_t *r) {
	static const size_t widths[] = {
		[MW_ROOM_ALL] = NUMBERS_WIDTH, [MW_ROOM_TWO] = 23, [MW_ROOM_ONE] = 12};
	return widths[room_of(r)] + (r->has_interval ? RANGE_WIDTH + 2 : 0);
}

static void print_row_name(const printer_t *r, const mw_row_t *row) {
	char place[4200], name[NAME_BYTES_MAX];
	mw_row_place(r->profile, row, r->options->by_line, r->options->columns > 0, place,
		     sizeof(place));
	if (r->options->columns > 0) {
		size_t columns = (size_t)r->options->columns, numbers = numbers_width(r);
		size_t room = room_of(r) == MW_ROOM_ONE ? NARROW_NAME_WIDTH : NAME_WIDTH_MIN;
		size_t place_width = place[0] != '\0' ? mw_text_width(place) + 2 : 0;
		if (columns > numbers + room)
			room = columns - numbers;
		mw_fit_name(row->name, room, name, sizeof(name));
		/* A row of a function is identified by its name, a row of a line by its place. */
		if (mw_text_width(name) + place_width > room && !r->options->by_line)
			place[0] = '\0';
		else if (mw_text_width(name) + place_width > room)
			mw_fit_name(row->name,
				    room > place_width + NAME_WIDTH_MIN ? room - place_width
									: NAME_WIDTH_MIN,
				    name, sizeof(name));
	} else {
		mw_short_name(row->name, name, sizeof(name));
	}
	mw_text_print(r->out, name);
	if (place[0] != '\0') {
		fputs("  ", r->out);
		mw_text_print(r->out, place);
	}
}

static void print_heads(const printer_t *r) {
	fputs(mw_style(MW_STYLE_HEAD), r->out);
	if (room_of(r) == MW_ROOM_ONE)
		fprintf(r->out, "%10s  ", r->options->sort_by_cum ? "cum" : "flat");
	else if (room_of(r) == MW_ROOM_TWO)
		fprintf(r->out, "%10s %10s  ", "flat", "cum");
	else
		fprintf(r->out, "%10s %6s %6s %10s %6s  ", "flat", "flat%", "sum%", "cum", "cum%");
	if (r->has_interval)
		fprintf(r->out, "%*s  ", RANGE_WIDTH, "95% of flat");
	fprintf(r->out, "%s%s\n", r->options->by_line ? "function and line" : "function",
		mw_style(MW_STYLE_PLAIN));
}

static void print_numbers(const printer_t *r, const mw_row_t *row, int64_t flat_sum,
			  int64_t total) {
	char flat_text[32], cum_text[32];
	const char *flat = format_value(r, row->flat, flat_text, sizeof(flat_text));
	const char *cum = format_value(r, row->cum, cum_text, sizeof(cum_text));
	if (room_of(r) == MW_ROOM_ONE)
		fprintf(r->out, "%10s  ", r->options->sort_by_cum ? cum : flat);
	else if (room_of(r) == MW_ROOM_TWO)
		fprintf(r->out, "%10s %10s  ", flat, cum);
	else
		fprintf(r->out, "%10s %5.1f%% %5.1f%% %10s %5.1f%%  ", flat,
			percent(row->flat, total), percent(flat_sum, total), cum,
			percent(row->cum, total));
	if (r->has_interval) {
		print_range(r, row->flat, &row->flat_spread, " .. ", RANGE_WIDTH);
		fputs("  ", r->out);
	}
}

static void print_table(const printer_t *r, const mw_sums_t *sums) {
	size_t limit = r->options->row_limit, shown = 0;
	int64_t flat_sum = 0;
	char flat[32];
	print_heads(r);
	size_t count = sums->row_count;
	while (r->options->only_flat && count > 0 && sums->rows[count - 1].flat == 0)
		count--;
	for (; shown < count && (limit == 0 || shown < limit); shown++) {
		const mw_row_t *row = &sums->rows[shown];
		if (__builtin_add_overflow(flat_sum, row->flat, &flat_sum))
			flat_sum = INT64_MAX;
		fputs(mw_style(mw_style_of_share(row->flat, sums->total)), r->out);
		print_numbers(r, row, flat_sum, sums->total);
		print_row_name(r, row);
		fprintf(r->out, "%s\n", mw_style(MW_STYLE_PLAIN));
	}
	size_t left = count - shown;
	if (left > 0) {
		int64_t rest = 0;
		for (size_t i = shown; i < count; i++)
			if (__builtin_add_overflow(rest, sums->rows[i].flat, &rest))
				rest = INT64_MAX;
		const char *value = format_value(r, rest, flat, sizeof(flat));
		if (room_of(r) == MW_ROOM_ALL)
			fprintf(r->out, "%10s %5.1f%%%25s", value, percent(rest, sums->total), "");
		else
			fprintf(r->out, "%10s", value);
		fprintf(r->out, "  ... in %zu more %s%s\n", left,
			r->options->by_line ? "line" : "function", plural((int64_t)left));
	}
	if (sums->row_count == 0)
		fprintf(r->out, "%*s%s\n", (int)numbers_width(r), "",
			mw_report_nothing(r->profile, r->type, sums->total));
}

int mw_report_print(FILE *out, const mw_profile_t *profile, const mw_report_options_t *options,
		    mw_error_t *error) {
	static const mw_report_options_t defaults;
	printer_t r = {.out = out, .profile = profile};
	r.options = options != NULL ? options : &defaults;
	if (mw_report_find_type(profile, r.options->sample_type, &r.type, error) != 0)
		return -1;
	r.is_bytes = strcmp(mw_profile_string(profile, profile->types[r.type].unit), "bytes") == 0;
	mw_interval_types_t types;
	r.has_interval = r.options->intervals && mw_interval_types_find(profile, r.type, &types);
	if (r.options->intervals && !r.has_interval)
		return mw_error_set(error,
				    "--interval: this profile does not store the number of samples "
				    "of this sample type; choose inuse_* or alloc_* of a live "
				    "process, a state file or a dump that mallow wrote");
	mw_sums_t sums;
	mw_sums_init(&sums, profile, r.type, r.options->by_line, r.options->sort_by_cum);
	int result = 0;
	if (!r.options->no_header)
		print_header(&r, &sums);
	if (r.options->stacks)
		result = mw_report_print_stacks(out, profile, r.options, error);
	else
		print_table(&r, &sums);
	mw_sums_release(&sums);
	return result;
}
