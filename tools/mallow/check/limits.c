/* SPDX-License-Identifier: MIT
 * limits.c -- compares sums with limits. */
#include "check/limits.h"

#include <stdlib.h>
#include <string.h>

#include "report/interval.h"

const char *mw_limit_name(mw_limit_kind_t kind) {
	static const char *const names[MW_LIMIT_KINDS] = {"max-peak", "max-live", "max-growth"};
	return names[kind];
}

bool mw_limit_parse(const char *text, int64_t *bytes, double *percent) {
	static const char units[] = "KMGT";
	char *end;
	if ((*text < '0' || *text > '9') && *text != '.')
		return false;
	double number = strtod(text, &end);
	/* Hexadecimal and infinity are numbers to strtod(3). */
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
	/* 2^60: more than any machine has. */
	if (*end != '\0' || number > 0x1p60)
		return false;
	*bytes = (int64_t)number;
	return true;
}

/* Profiles that know only of what is in use call it "space". */
static const char *type_of(mw_limit_kind_t kind, const mw_profile_t *p) {
	if (kind == MW_LIMIT_PEAK)
		return "peak_space";
	return mw_profile_find_type(p, "inuse_space") < 0 && mw_profile_find_type(p, "space") >= 0
		       ? "space"
		       : "inuse_space";
}

static void set_interval(mw_finding_t *finding, const mw_profile_t *p) {
	const mw_stacks_t *stacks = &finding->stacks;
	mw_interval_types_t types;
	double variance = 0;
	finding->low = finding->high = finding->measured;
	if (finding->kind == MW_LIMIT_GROWTH || !mw_interval_types_find(p, stacks->type, &types))
		return;
	for (size_t i = 0; i < stacks->count; i++)
		variance += stacks->stacks[i].variance;
	mw_interval_t range = mw_interval_of(finding->measured, variance);
	finding->low = range.low;
	finding->high = range.high;
}

/* The peak is the last maximum that passed the one before by a twentieth: what is in use may be
 * more by as much, and is the peak then. */
static int take_live_if_more(mw_stacks_t *stacks, const mw_profile_t *p, mw_error_t *error) {
	mw_stacks_t live;
	if (mw_profile_find_type(p, type_of(MW_LIMIT_LIVE, p)) < 0)
		return 0;
	if (mw_stacks_init(&live, p, type_of(MW_LIMIT_LIVE, p), error) != 0) {
		mw_stacks_release(stacks);
		return -1;
	}
	if (live.total <= stacks->total) {
		mw_stacks_release(&live);
		return 0;
	}
	mw_stacks_release(stacks);
	*stacks = live;
	return 0;
}

int mw_limit_check(mw_limit_kind_t kind, const mw_profile_t *p, int64_t allowed, int64_t baseline,
		   mw_finding_t *finding, mw_error_t *error) {
	*finding = (mw_finding_t){.kind = kind, .allowed = allowed, .baseline = baseline};
	if (mw_stacks_init(&finding->stacks, p, type_of(kind, p), error) != 0)
		return -1;
	if (kind == MW_LIMIT_PEAK && take_live_if_more(&finding->stacks, p, error) != 0)
		return -1;
	finding->measured = finding->stacks.total;
	finding->passed = finding->measured <= allowed;
	set_interval(finding, p);
	return 0;
}
