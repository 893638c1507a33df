/* SPDX-License-Identifier: MIT
 * settings.c -- names, ranges and units of the settings. */
#include "cmd/process/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "report/text/units.h"

typedef enum setting_kind { FLAG, SIZE, NUMBER } setting_kind_t;

static const struct {
	const char *name;
	setting_kind_t kind;
	uint64_t standard, min, max;
	const char *unit;
} rows[MW_SETTING_COUNT] = {
#define MW_SETTING(name, kind, standard, min, max, unit, help)                                     \
	{#name, kind, standard, min, max, unit},
#include "state/settings.def"
#undef MW_SETTING
};

const char *mw_setting_name(mw_setting_t setting) {
	return rows[setting].name;
}

uint64_t mw_setting_standard(mw_setting_t setting) {
	return rows[setting].standard;
}

mw_setting_t mw_setting_find(const char *name, size_t length) {
	for (size_t i = 0; i < MW_SETTING_COUNT; i++)
		if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
			return (mw_setting_t)i;
	return MW_SETTING_COUNT;
}

bool mw_setting_parse(mw_setting_t setting, const char *text, uint64_t *value) {
	static const char *const zeros[] = {"off", "false", "0"}, *const ones[] = {"on", "true",
										   "1"};
	*value = 0;
	for (size_t i = 0; i < 3; i++)
		if (strcmp(text, zeros[i]) == 0)
			return true;
	if (rows[setting].kind == FLAG) {
		*value = 1;
		for (size_t i = 0; i < 3; i++)
			if (strcmp(text, ones[i]) == 0)
				return true;
		return false;
	}
	if (rows[setting].kind == SIZE)
		return mw_parse_bytes(text, value) && *value <= rows[setting].max &&
		       (setting != MW_SETTING_request_limit ||
			*value >= MW_REQUEST_LIMIT_MIN_BYTES);
	char *end;
	unsigned long long number = strtoull(text, &end, 10);
	*value = number;
	return *text >= '0' && *text <= '9' && *end == '\0' && number >= rows[setting].min &&
	       number <= rows[setting].max;
}

const char *mw_setting_allowed(mw_setting_t setting, char buffer[MW_SHOW_BYTES]) {
	if (rows[setting].kind == FLAG)
		return "true or false";
	if (setting == MW_SETTING_request_limit) {
		snprintf(buffer, MW_SHOW_BYTES, "off, or bytes from %u to 1T, such as 512K or 2G",
			 MW_REQUEST_LIMIT_MIN_BYTES);
		return buffer;
	}
	if (rows[setting].kind == SIZE)
		return "off, or bytes up to 1T, such as 512K or 2G";
	snprintf(buffer, MW_SHOW_BYTES, "%" PRIu64 " to %" PRIu64 "%s%s", rows[setting].min,
		 rows[setting].max, *rows[setting].unit ? " " : "", rows[setting].unit);
	return buffer;
}

const char *mw_show_setting(mw_setting_t setting, uint64_t value, char buffer[MW_SHOW_BYTES]) {
	if (rows[setting].kind == FLAG)
		return value ? "true" : "false";
	if (rows[setting].kind == SIZE && value == 0)
		return "off";
	if (rows[setting].kind == SIZE)
		return mw_format_bytes((int64_t)value, buffer, MW_SHOW_BYTES);
	snprintf(buffer, MW_SHOW_BYTES, "%" PRIu64 "%s%s", value, *rows[setting].unit ? " " : "",
		 rows[setting].unit);
	return buffer;
}
