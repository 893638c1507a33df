/* SPDX-License-Identifier: MIT
 * limits.c -- compares the totals of profiles with limits. */
#include "check/limits.h"

#include <stdlib.h>
#include <string.h>

#include "report/interval.h"

const char *mw_limit_name(mw_limit_kind_t kind) {
	static const char *const names[MW_LIMIT_KINDS] = {"max-peak",         "max-live",
							  "max-growth",       "max-peak-growth",
							  "max-alloc-growth", "leaks"};
	return names[kind];
}

bool mw_limit_parse(const char *text, int64_t *bytes, double *percent) {
	static const char units[] = "KMGT";
	char *end;
	if ((*text < '0' || *text > '9') && *text != '.')
		return false;
	double number = strtod(text, &end);
	/* strtod(3) also accepts hexadecimal numbers and "inf", which are no limits. */
	if (end == text || strspn(text, "0123456789.") != (size_t)(end - text))
		return false;
	if (percent != NULL) {
		*percent = -1;
		if (strcmp(end, "%") == 0) {
			*percent = number;
			return number <= 1e9;
		}
	}
	const char *unit = *end != '\0' ? strchr(units, *end & ~0x20) : NULL;
	if (unit != NULL) {
		for (const char *at = units; at <= unit; at++)
			number *= 1024;
		end++;
		end += *end == 'i';
	}
	end += *end == 'B';
	/* Rejects limits above 2^60 bytes, more than any machine has. */
	if (*end != '\0' || number > 0x1p60)
		return false;
	*bytes = (int64_t)number;
	return true;
}

bool mw_limit_is_growth(mw_limit_kind_t kind) {
	return kind == MW_LIMIT_GROWTH || kind == MW_LIMIT_PEAK_GROWTH ||
	       kind == MW_LIMIT_ALLOC_GROWTH;
}

static bool is_of_whole(mw_limit_kind_t kind) {
	return kind == MW_LIMIT_PEAK || kind == MW_LIMIT_PEAK_GROWTH ||
	       kind == MW_LIMIT_ALLOC_GROWTH;
}

/* Profiles that hold only memory in use name the type "space". */
static const char *type_of(mw_limit_kind_t kind, const mw_profile_t *p) {
	if (kind == MW_LIMIT_PEAK || kind == MW_LIMIT_PEAK_GROWTH)
		return "peak_space";
	if (kind == MW_LIMIT_ALLOC_GROWTH)
		return "alloc_space";
	return mw_profile_find_type(p, "inuse_space") < 0 && mw_profile_find_type(p, "space") >= 0
		       ? "space"
		       : "inuse_space";
}

const mw_profile_t *mw_limit_profile(mw_limit_kind_t kind, const mw_limit_profiles_t *profiles) {
	bool is_whole = is_of_whole(kind);
	if (mw_limit_is_growth(kind))
		return is_whole ? profiles->whole_growth : profiles->live_growth;
	return is_whole ? profiles->whole : profiles->live;
}

static int64_t bytes_of(mw_limit_kind_t kind, const mw_profile_t *p) {
	int type = mw_profile_find_type(p, type_of(kind, p));
	return type < 0 ? 0 : mw_profile_total(p, (size_t)type);
}

static mw_interval_t interval_in(mw_limit_kind_t kind, const mw_profile_t *p) {
	int type = mw_profile_find_type(p, type_of(kind, p));
	return type < 0 ? (mw_interval_t){0, 0} : mw_interval_of_total(p, (size_t)type);
}

int64_t mw_limit_baseline(mw_limit_kind_t kind, const mw_limit_profiles_t *profiles) {
	return bytes_of(kind, is_of_whole(kind) ? profiles->whole_base : profiles->live_base);
}

static mw_interval_t interval_of(const mw_finding_t *finding, const mw_limit_profiles_t *profiles) {
	mw_limit_kind_t kind = finding->kind;
	if (!mw_limit_is_growth(kind))
		return mw_interval_of_total(mw_limit_profile(kind, profiles), finding->stacks.type);
	bool is_whole = is_of_whole(kind);
	const mw_profile_t *now = is_whole ? profiles->whole : profiles->live;
	const mw_profile_t *base = is_whole ? profiles->whole_base : profiles->live_base;
	return mw_interval_of_difference(bytes_of(kind, now), interval_in(kind, now),
					 finding->baseline, interval_in(kind, base));
}

int mw_limit_check(mw_limit_kind_t kind, const mw_limit_profiles_t *profiles, int64_t allowed,
		   mw_finding_t *finding, mw_error_t *error) {
	const mw_profile_t *p = mw_limit_profile(kind, profiles);
	*finding = (mw_finding_t){.kind = kind, .allowed = allowed};
	if (mw_stacks_init(&finding->stacks, p, type_of(kind, p), error) != 0)
		return -1;
	if (mw_limit_is_growth(kind)) {
		finding->baseline = mw_limit_baseline(kind, profiles);
		finding->measured =
			bytes_of(kind, is_of_whole(kind) ? profiles->whole : profiles->live) -
			finding->baseline;
	} else {
		finding->measured = mw_profile_total(p, finding->stacks.type);
	}
	mw_interval_t range = interval_of(finding, profiles);
	finding->low = range.low;
	finding->high = range.high;
	finding->passed = finding->low <= allowed;
	return 0;
}
