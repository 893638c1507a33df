/* SPDX-License-Identifier: MIT
 * timeline_axis.c -- round times below a timeline, and the trend of its values. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "report/text/units.h"
#include "view/picture/timeline.h"

#define SECOND_NS ((int64_t)1000000000)
#define DAY_SECONDS 86400

/* Round steps of a time axis in seconds. */
static const double steps[] = {
	0.001,
	0.002,
	0.005,
	0.01,
	0.02,
	0.05,
	0.1,
	0.2,
	0.5,
	1,
	2,
	5,
	10,
	15,
	30,
	60,
	2 * 60,
	5 * 60,
	10 * 60,
	15 * 60,
	30 * 60,
	3600,
	2 * 3600,
	3 * 3600,
	6 * 3600,
	12 * 3600,
	DAY_SECONDS,
	2 * DAY_SECONDS,
	7 * DAY_SECONDS,
	28 * DAY_SECONDS,
	364 * DAY_SECONDS,
};

static int64_t span_of(const mw_series_t *s) {
	return s->moments[s->count - 1].time_ns - s->moments[0].time_ns;
}

int64_t mw_series_tick_step(const mw_series_t *s, int most) {
	int64_t span = span_of(s);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (span / most <= (int64_t)(steps[i] * 1e9))
			return (int64_t)(steps[i] * 1e9);
	return span / most;
}

/* Returns the offset of local time, so that midnight and full hours are local. */
static int64_t zone_ns(int64_t time_ns) {
	time_t seconds = (time_t)(time_ns / SECOND_NS);
	struct tm local;
	return localtime_r(&seconds, &local) != NULL ? local.tm_gmtoff * SECOND_NS : 0;
}

int64_t mw_series_tick_first(const mw_series_t *s, int64_t step_ns) {
	int64_t first = s->moments[0].time_ns, local = first + zone_ns(first);
	int64_t past = local % step_ns;
	past += past < 0 ? step_ns : 0;
	return past == 0 ? first : first + (step_ns - past);
}

const char *mw_series_tick_text(int64_t time_ns, int64_t step_ns, char *buffer, size_t size) {
	time_t seconds = (time_t)(time_ns / SECOND_NS);
	const char *format = step_ns >= DAY_SECONDS * SECOND_NS ? "%Y-%m-%d"
			     : step_ns >= 60 * SECOND_NS        ? "%H:%M"
								: "%H:%M:%S";
	struct tm local;
	if (localtime_r(&seconds, &local) == NULL || strftime(buffer, size, format, &local) == 0) {
		snprintf(buffer, size, "?");
		return buffer;
	}
	size_t used = strlen(buffer);
	int64_t rest_ns = time_ns % SECOND_NS;
	int digits = step_ns >= SECOND_NS   ? 0
		     : step_ns >= 100000000 ? 1
		     : step_ns >= 10000000  ? 2
					    : 3;
	for (int i = digits; i < 9; i++)
		rest_ns /= 10;
	if (digits > 0 && rest_ns >= 0)
		snprintf(buffer + used, size - used, ".%0*d", digits, (int)rest_ns);
	return buffer;
}

/* Least squares of the values over time, relative to the means. */
bool mw_series_slope(const mw_series_t *s, double *per_second) {
	double time_mean = 0, value_mean = 0, above = 0, below = 0;
	for (size_t i = 0; i < s->count; i++) {
		time_mean +=
			(double)(s->moments[i].time_ns - s->moments[0].time_ns) / (double)s->count;
		value_mean += (double)s->moments[i].value / (double)s->count;
	}
	for (size_t i = 0; i < s->count; i++) {
		double time = (double)(s->moments[i].time_ns - s->moments[0].time_ns) - time_mean;
		above += time * ((double)s->moments[i].value - value_mean);
		below += time * time;
	}
	if (s->count < 3 || !(below > 0))
		return false;
	*per_second = above / below * 1e9;
	return isfinite(*per_second);
}

/* Computes the standard error of the slope from what the line leaves over. */
static bool slope_error(const mw_series_t *s, double per_second, double *error) {
	double time_mean = 0, value_mean = 0, rest = 0, below = 0;
	for (size_t i = 0; i < s->count; i++) {
		time_mean += (double)(s->moments[i].time_ns - s->moments[0].time_ns) / 1e9 /
			     (double)s->count;
		value_mean += (double)s->moments[i].value / (double)s->count;
	}
	for (size_t i = 0; i < s->count; i++) {
		double time =
			(double)(s->moments[i].time_ns - s->moments[0].time_ns) / 1e9 - time_mean;
		double left = (double)s->moments[i].value - value_mean - per_second * time;
		rest += left * left;
		below += time * time;
	}
	*error = sqrt(rest / (double)(s->count - 2) / below);
	return isfinite(*error);
}

/* Mean of the values from `from_ns` to `until_ns`: a value holds until the next moment. */
static double mean_between(const mw_series_t *s, int64_t from_ns, int64_t until_ns) {
	double sum = 0;
	for (size_t i = 0; i < s->count; i++) {
		int64_t begin = s->moments[i].time_ns;
		int64_t end = i + 1 < s->count ? s->moments[i + 1].time_ns : until_ns;
		begin = begin > from_ns ? begin : from_ns;
		end = end < until_ns ? end : until_ns;
		if (end > begin)
			sum += (double)(end - begin) * (double)s->moments[i].value;
	}
	return sum / (double)(until_ns - from_ns);
}

/* Neighbouring moments of a long series are alike, so its error is that of the means of this many
 * parts. */
#define PARTS 8u

/* Returns whether the slope exceeds its error: whether a series without growth would have one as
 * steep in less than 5 of 100 cases (Student's t). */
static bool is_certain(const mw_series_t *s) {
	/* Quantiles 0.975 for 1 to 14 degrees of freedom. */
	static const double quantiles[] = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
					   2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145};
	mw_moment_t parts[2 * PARTS];
	mw_series_t few = {.moments = parts, .count = s->count};
	int64_t first = s->moments[0].time_ns, span = span_of(s);
	if (s->count <= 2 * PARTS)
		few.moments = s->moments;
	else
		few.count = PARTS;
	for (size_t i = 0; i < few.count && few.moments == parts; i++) {
		int64_t from = first + span / PARTS * (int64_t)i;
		parts[i].time_ns = from;
		parts[i].value = (int64_t)mean_between(s, from, from + span / PARTS);
	}
	double slope, error;
	return mw_series_slope(&few, &slope) && slope_error(&few, slope, &error) &&
	       fabs(slope) > quantiles[few.count - 3] * error;
}

bool mw_series_trend(const mw_series_t *s, char *buffer, size_t size) {
	static const struct {
		double longest_seconds, seconds;
		const char *name;
	} units[] = {{120, 1, "s"}, {2 * 3600, 60, "min"}, {5 * DAY_SECONDS, 3600, "h"}};
	double slope, span = (double)span_of(s) / 1e9, seconds = DAY_SECONDS;
	const char *name = "day";
	for (size_t i = sizeof(units) / sizeof(units[0]); i-- > 0;)
		if (span <= units[i].longest_seconds) {
			seconds = units[i].seconds;
			name = units[i].name;
		}
	if (!mw_series_slope(s, &slope) || fabs(slope * seconds) >= 0x1p62 || !is_certain(s))
		return false;
	char value[48];
	int64_t change = (int64_t)(slope * seconds);
	snprintf(buffer, size, "%s%s/%s", change > 0 ? "+" : "",
		 mw_series_value(s, change, value, sizeof(value)), name);
	return true;
}

const char *mw_series_value(const mw_series_t *s, int64_t value, char *buffer, size_t size) {
	return strcmp(s->unit, "bytes") == 0 ? mw_format_bytes(value, buffer, size)
					     : mw_format_count(value, buffer, size);
}
