/* SPDX-License-Identifier: MIT
 * limits.c -- compares the totals of profiles with limits. */
#include "check/limits.h"

#include <stdlib.h>
#include <string.h>

#include "report/interval.h"

const char *mw_limit_name(mw_limit_kind_t kind) {
	static const char *const names[MW_LIMIT_KINDS] = {"max-peak", "max-live", "max-growth",
							  "leaks"};
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

/* Profiles that hold only memory in use name the type "space". */
static const char *type_of(mw_limit_kind_t kind, const mw_profile_t *p) {
	if (kind == MW_LIMIT_PEAK)
		return "peak_space";
	return mw_profile_find_type(p, "inuse_space") < 0 && mw_profile_find_type(p, "space") >= 0
		       ? "space"
		       : "inuse_space";
}

const mw_profile_t *mw_limit_profile(mw_limit_kind_t kind, const mw_limit_profiles_t *profiles) {
	return kind == MW_LIMIT_GROWTH ? profiles->growth
	       : kind == MW_LIMIT_PEAK ? profiles->peak
				       : profiles->live;
}

int64_t mw_limit_live_bytes(const mw_profile_t *p) {
	int type = mw_profile_find_type(p, type_of(MW_LIMIT_LIVE, p));
	return type < 0 ? 0 : mw_profile_total(p, (size_t)type);
}

static mw_interval_t interval_of_live(const mw_profile_t *p) {
	int type = mw_profile_find_type(p, type_of(MW_LIMIT_LIVE, p));
	return type < 0 ? (mw_interval_t){0, 0} : mw_interval_of_total(p, (size_t)type);
}

static mw_interval_t interval_of(const mw_finding_t *finding, const mw_limit_profiles_t *profiles) {
	if (finding->kind == MW_LIMIT_GROWTH)
		return mw_interval_of_difference(
			mw_limit_live_bytes(profiles->live), interval_of_live(profiles->live),
			finding->baseline, interval_of_live(profiles->base));
	return mw_interval_of_total(mw_limit_profile(finding->kind, profiles),
				    finding->stacks.type);
}

int mw_limit_check(mw_limit_kind_t kind, const mw_limit_profiles_t *profiles, int64_t allowed,
		   mw_finding_t *finding, mw_error_t *error) {
	const mw_profile_t *p = mw_limit_profile(kind, profiles);
	*finding = (mw_finding_t){.kind = kind, .allowed = allowed};
	if (mw_stacks_init(&finding->stacks, p, type_of(kind, p), error) != 0)
		return -1;
	if (kind == MW_LIMIT_GROWTH) {
		finding->baseline = mw_limit_live_bytes(profiles->base);
		finding->measured = mw_limit_live_bytes(profiles->live) - finding->baseline;
	} else {
		finding->measured = mw_profile_total(p, finding->stacks.type);
	}
	mw_interval_t range = interval_of(finding, profiles);
	finding->low = range.low;
	finding->high = range.high;
	finding->passed = finding->low <= allowed;
	return 0;
}
