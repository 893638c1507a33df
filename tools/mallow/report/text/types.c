/* SPDX-License-Identifier: MIT
 * types.c -- finds sample types and formats their values. */
#include "report/text/types.h"

#include <stdio.h>
#include <string.h>

#include "report/text/pprof_units.h"
#include "report/text/units.h"

int mw_report_find_type(const mw_profile_t *p, const char *name, size_t *type, mw_error_t *error) {
	*type = p->default_type < p->type_count ? p->default_type : 0;
	if (p->type_count == 0)
		return mw_error_set(error, "the profile has no sample types; it is damaged");
	if (name == NULL)
		return 0;
	int found = mw_profile_find_type(p, name);
	if (found >= 0) {
		*type = (size_t)found;
		return 0;
	}
	char have[400] = "";
	for (size_t i = 0, length = 0; i < p->type_count && length < sizeof(have); i++)
		length +=
			(size_t)snprintf(have + length, sizeof(have) - length, "%s%s",
					 i > 0 ? ", " : "", mw_profile_string(p, p->types[i].type));
	return mw_error_set(error, "this profile has no sample type '%s'; it has %s", name, have);
}

bool mw_report_is_empty(const mw_profile_t *p, size_t type) {
	for (size_t i = 0; i < p->sample_count; i++)
		if (mw_profile_values(p, i)[type] != 0)
			return false;
	return true;
}

const char *mw_report_nothing(const mw_profile_t *p, size_t type, int64_t total) {
	if (p->sample_count == 0 && total == 0)
		return "nothing was sampled";
	if (!mw_report_is_empty(p, type))
		return "nothing: the samples have no stacks";
	return total != 0 ? "nothing: what is selected is 0" : "nothing: all values are 0";
}

size_t mw_report_largest_type(const mw_profile_t *p, size_t type, int64_t *sum) {
	size_t largest = 0;
	*sum = 0;
	for (size_t i = 0; i < p->type_count; i++) {
		int64_t total =
			p->types[i].unit == p->types[type].unit ? mw_profile_total(p, i) : 0;
		if (total <= *sum)
			continue;
		largest = i;
		*sum = total;
	}
	return largest;
}

const char *mw_report_value(const mw_profile_t *p, size_t type, int64_t value, char *buffer,
			    size_t size) {
	const char *unit = mw_profile_string(p, p->types[type].unit);
	if (value == 0)
		return "0";
	const char *measured = mw_unit_for_people(value, unit, buffer, size);
	return measured != NULL ? measured : mw_format_count(value, buffer, size);
}
