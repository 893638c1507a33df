/* SPDX-License-Identifier: MIT
 * parse.c -- command lines against the table of options.
 * Unlike getopt_long(3), a complaint names what would have been allowed, and names are not
 * abbreviated: an option added later must not change what a script meant. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/options.h"
#include "state/layout.h"

static const unsigned whole_unit_shift[] = {['k'] = 10, ['m'] = 20, ['g'] = 30, ['t'] = 40};

/* The shift of a unit such as "K", "KB" or "KiB"; false: no such unit. */
static bool parse_unit(const char *unit, unsigned *out_shift) {
	*out_shift = 0;
	if (*unit == '\0' || strcmp(unit, "B") == 0)
		return true;
	unsigned char letter = (unsigned char)(*unit | 0x20);
	if (letter >= sizeof(whole_unit_shift) / sizeof(whole_unit_shift[0]) ||
	    whole_unit_shift[letter] == 0)
		return false;
	*out_shift = whole_unit_shift[letter];
	return unit[1] == '\0' || strcmp(unit + 1, "B") == 0 || strcmp(unit + 1, "iB") == 0;
}

bool mw_parse_bytes(const char *text, uint64_t *out_bytes) {
	if (*text < '0' || *text > '9')
		return false;
	char *unit;
	errno = 0;
	unsigned long long number = strtoull(text, &unit, 10);
	unsigned shift;
	if (errno != 0 || !parse_unit(unit, &shift))
		return false;
	if (number == 0 || number > MW_STATE_MEAN_BYTES_MAX >> shift)
		return false;
	*out_bytes = (uint64_t)number << shift;
	return true;
}

static bool is_choice(const char *choices, const char *text) {
	size_t length = strlen(text);
	for (const char *choice = choices; length > 0; choice++) {
		const char *end = strchrnul(choice, '|');
		if ((size_t)(end - choice) == length && memcmp(choice, text, length) == 0)
			return true;
		if (*end == '\0')
			return false;
		choice = end;
	}
	return false;
}

static bool parse_count(const char *text, uint64_t *out) {
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || number == 0)
		return false;
	*out = number;
	return true;
}

static bool parse_seconds(const char *text, double *out) {
	char *end;
	double seconds = strtod(text, &end);
	if (end == text)
		return false;
	static const struct {
		char letter;
		double seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && *end; i++)
		if (*end == units[i].letter && end[1] == '\0') {
			seconds *= units[i].seconds;
			end++;
		}
	/* A year: nobody waits longer, and the product with 1e9 stays far from overflow. */
	if (*end != '\0' || !(seconds >= 0 && seconds <= 366 * 86400.0))
		return false;
	*out = seconds;
	return true;
}

static bool set_value(const mw_subcommand_t *subcommand, const mw_option_t *option,
		      mw_option_value_t *value, const char *text) {
	bool good = true;
	const char *allowed = "";
	value->given = true;
	value->text = text;
	switch (option->kind) {
	case MW_OPTION_FLAG:
		break;
	case MW_OPTION_TEXT:
		good = *text != '\0';
		allowed = "a text that is not empty";
		break;
	case MW_OPTION_BYTES:
		good = mw_parse_bytes(text, &value->number);
		allowed = "bytes from 1 to 1T, such as 524288, 512K or 4M";
		break;
	case MW_OPTION_COUNT:
		good = parse_count(text, &value->number);
		allowed = "a whole number from 1";
		break;
	case MW_OPTION_SECONDS:
		good = parse_seconds(text, &value->seconds);
		allowed = "seconds, or a time such as 0.5, 90s, 10m, 2h or 1d, up to 366d";
		break;
	case MW_OPTION_CHOICE:
		good = is_choice(option->choices, text);
		allowed = option->choices;
		break;
	}
	if (!good)
		mw_complain("%s: --%s does not take '%s'; allowed: %s", subcommand->name,
			    option->name, text, allowed);
	return good;
}

static void complain_unknown(const mw_subcommand_t *subcommand, const char *word) {
	char allowed[512] = "";
	size_t used = 0;
	for (const mw_option_t *option = subcommand->options; option->name; option++) {
		int wrote =
			snprintf(allowed + used, sizeof(allowed) - used, "--%s%s%s, ", option->name,
				 option->value ? " " : "", option->value ? option->value : "");
		used += (size_t)wrote;
	}
	mw_complain("%s: unknown option '%s'; allowed: %s--help", subcommand->name, word, allowed);
}

/* By long name, `length` bytes of it. */
static const mw_option_t *find_long(const mw_subcommand_t *subcommand, const char *name,
				    size_t length) {
	for (const mw_option_t *option = subcommand->options; option->name; option++)
		if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
			return option;
	return NULL;
}

static const mw_option_t *find_short(const mw_subcommand_t *subcommand, char letter) {
	for (const mw_option_t *option = subcommand->options; option->name; option++)
		if (option->letter != 0 && option->letter == letter)
			return option;
	return NULL;
}

/* Takes the option at argv[*index] and, when it has one, its value.  False: complained. */
static bool take_option(mw_arguments_t *out, int argc, char **argv, int *index) {
	const char *word = argv[*index];
	const mw_subcommand_t *subcommand = out->subcommand;
	const mw_option_t *option;
	const char *value = NULL;
	if (word[1] == '-') {
		size_t length = strcspn(word + 2, "=");
		option = find_long(subcommand, word + 2, length);
		if (word[2 + length] == '=')
			value = word + 2 + length + 1;
	} else {
		option = find_short(subcommand, word[1]);
		if (word[2] != '\0')
			value = word + 2;
	}
	if (!option || (option->kind == MW_OPTION_FLAG && value && word[1] != '-')) {
		complain_unknown(subcommand, word);
		return false;
	}
	if (option->kind == MW_OPTION_FLAG && value) {
		mw_complain("%s: --%s takes no value", subcommand->name, option->name);
		return false;
	}
	if (option->kind != MW_OPTION_FLAG && !value) {
		if (*index + 1 >= argc) {
			mw_complain("%s: --%s needs a value: %s", subcommand->name, option->name,
				    option->choices ? option->choices : option->value);
			return false;
		}
		value = argv[++*index];
	}
	return set_value(subcommand, option, &out->values[option - subcommand->options], value);
}

static bool check_operand_count(const mw_arguments_t *arguments) {
	const mw_subcommand_t *subcommand = arguments->subcommand;
	if (arguments->help)
		return true;
	if (arguments->operand_count < subcommand->operands_min) {
		mw_complain("%s: too few arguments; usage: mallow %s %s", subcommand->name,
			    subcommand->name, subcommand->operands);
		return false;
	}
	if (arguments->operand_count > subcommand->operands_max) {
		mw_complain("%s: does not take '%s'; usage: mallow %s [OPTION]... %s",
			    subcommand->name, arguments->operands[subcommand->operands_max],
			    subcommand->name, subcommand->operands);
		return false;
	}
	return true;
}

bool mw_arguments_parse(mw_arguments_t *out, const mw_subcommand_t *subcommand, int argc,
			char **argv) {
	*out = (mw_arguments_t){.subcommand = subcommand, .operands = argv};
	bool options_end = false;
	for (int i = 0; i < argc; i++) {
		char *word = argv[i];
		/* "-" alone is an operand, as everywhere. */
		if (options_end || word[0] != '-' || word[1] == '\0') {
			/* Never ahead of i: operands are moved towards the front. */
			out->operands[out->operand_count++] = word;
			if (subcommand->ends_at_operand)
				options_end = true;
		} else if (strcmp(word, "--") == 0) {
			options_end = true;
		} else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			out->help = true;
		} else if (!take_option(out, argc, argv, &i)) {
			return false;
		}
	}
	out->operands[out->operand_count] = NULL;
	return check_operand_count(out);
}

const mw_option_value_t *mw_argument(const mw_arguments_t *arguments, const char *name) {
	const mw_option_t *option = find_long(arguments->subcommand, name, strlen(name));
	if (!option) {
		/* A slip of ours, not of the user: the first test of the subcommand meets it. */
		fprintf(stderr, "mallow: %s has no option %s\n", arguments->subcommand->name, name);
		abort();
	}
	return &arguments->values[option - arguments->subcommand->options];
}
