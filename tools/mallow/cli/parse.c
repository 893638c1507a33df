/* SPDX-License-Identifier: MIT
 * parse.c -- parses command lines by the option table.
 * Unlike getopt_long(3), the parser names the allowed values in its messages.  It does not
 * accept abbreviated names, because an option added later would change their meaning in scripts;
 * under the names of jeprof and pprof it accepts what they accept. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/options.h"
#include "cli/suggest.h"
#include "model/memory.h"
#include "state/layout.h"

static const unsigned whole_unit_shift[] = {['k'] = 10, ['m'] = 20, ['g'] = 30, ['t'] = 40};

/* Fills in the power of two of a unit: "K", "KB" or "KiB" gives 10.  False: no unit is called
 * so. */
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

static bool is_choice(const char *choices, const char *text, size_t length) {
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

static bool are_choices(const char *choices, const char *text) {
	for (;; text++) {
		size_t length = strcspn(text, ":");
		if (!is_choice(choices, text, length))
			return false;
		text += length;
		if (*text == '\0')
			return true;
	}
}

static bool parse_number(const char *text, uint64_t *out) {
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (errno != 0 || *text < '0' || *text > '9' || *end != '\0')
		return false;
	*out = number;
	return true;
}

bool mw_parse_seconds(const char *text, double *out) {
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
	/* A year is the longest useful wait, and its product with 1e9 does not overflow. */
	if (*end != '\0' || !(seconds >= 0 && seconds <= 366 * 86400.0))
		return false;
	*out = seconds;
	return true;
}

static bool parse_fraction(const char *text, double *out) {
	char *end;
	double number = strtod(text, &end);
	/* Numbers above 1e18 are rejected, so that products with 64-bit values stay finite. */
	if (end == text || *end != '\0' || !(number >= 0 && number <= 1e18))
		return false;
	*out = number;
	return true;
}

static bool parse_switch(const char *text, uint64_t *out) {
	static const char *const on[] = {"true", "t", "yes", "y", "1"};
	static const char *const off[] = {"false", "f", "no", "n", "0"};
	for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++) {
		*out = strcmp(text, on[i]) == 0;
		if (*out || strcmp(text, off[i]) == 0)
			return true;
	}
	return false;
}

/* A place for the value of an option, of the type that belongs to its kind. */
typedef union place {
	void *any;
	mw_text_value_t *text;
	mw_flag_value_t *flag;
	mw_list_value_t *list;
	mw_number_value_t *number;
	mw_seconds_value_t *seconds;
	mw_fraction_value_t *fraction;
} place_t;

static void add_text(mw_list_value_t *list, const char *text) {
	list->texts = mw_grow(list->texts, &list->text_capacity, list->text_count + 1,
			      sizeof(*list->texts));
	list->texts[list->text_count++] = text;
}

static bool set_switch(const mw_option_t *option, place_t place, const char *text) {
	uint64_t is_on = 0;
	bool good = parse_switch(text, &is_on);
	/* A switch set to false counts as not given, except --trim, which is on by default. */
	place.text->given = is_on != 0 || strcmp(option->name, "trim") == 0;
	if (option->value_at != 0)
		place.flag->is_off = is_on == 0;
	return good;
}

/* Returns what the kind allows, for a message; NULL: the text is allowed, and stored. */
static const char *store(const mw_subcommand_t *subcommand, const mw_option_t *option,
			 place_t place, const char *text) {
	place.text->given = true;
	place.text->text = text;
	switch (mw_option_kind(option)) {
	case MW_OPTION_FLAG:
		return NULL;
	case MW_OPTION_LIST:
		add_text(place.list, text);
		return *text != '\0' ? NULL : "a text that is not empty";
	case MW_OPTION_TEXT:
		if (*text == '\0' && subcommand->empty_is_default) {
			*place.text = (mw_text_value_t){0};
			return NULL;
		}
		return *text != '\0' ? NULL : "a text that is not empty";
	case MW_OPTION_BYTES:
		return mw_parse_bytes(text, &place.number->number)
			       ? NULL
			       : "bytes from 1 to 1T, such as 524288, 512K or 4M";
	case MW_OPTION_COUNT:
		return parse_number(text, &place.number->number) && place.number->number > 0
			       ? NULL
			       : "a whole number from 1";
	case MW_OPTION_LIMIT:
		return parse_number(text, &place.number->number) ? NULL
								 : "a whole number; 0 for no limit";
	case MW_OPTION_SECONDS:
		return mw_parse_seconds(text, &place.seconds->seconds)
			       ? NULL
			       : "seconds, or a time such as 0.5, 90s, 10m, 2h or 1d, up to 366d";
	case MW_OPTION_SWITCH:
		return set_switch(option, place, text) ? NULL : "true or false";
	case MW_OPTION_FRACTION:
		return parse_fraction(text, &place.fraction->fraction)
			       ? NULL
			       : "a number such as 0.005 or 2";
	case MW_OPTION_CHOICE:
		return is_choice(option->choices, text, strlen(text)) ? NULL : option->choices;
	case MW_OPTION_WORDS:
		return are_choices(option->choices, text) ? NULL : option->choices;
	}
	return NULL;
}

static bool set_value(const mw_subcommand_t *subcommand, const mw_option_t *option, void *value,
		      const char *text) {
	const char *allowed = store(subcommand, option, (place_t){value}, text);
	if (allowed != NULL)
		mw_complain("%s: --%s does not take '%s'; allowed: %s", subcommand->name,
			    option->name, text, allowed);
	return allowed == NULL;
}

static const mw_command_table_t *commands;

/* Bytes of mw_subcommand_call(). */
#define CALL_BYTES 48

void mw_commands_register(const mw_command_table_t *table) {
	commands = table;
}

const mw_command_table_t *mw_commands(void) {
	return commands;
}

const mw_subcommand_t *mw_subcommand_find(const char *name) {
	for (size_t i = 0; i < commands->subcommand_count; i++)
		if (strcmp(commands->subcommands[i].name, name) == 0)
			return &commands->subcommands[i];
	return NULL;
}

const mw_subcommand_t *mw_compat_find(const char *path) {
	const char *slash = strrchr(path, '/');
	for (size_t i = 0; i < commands->program_count; i++)
		if (strcmp(commands->programs[i].name, slash != NULL ? slash + 1 : path) == 0)
			return &commands->programs[i];
	return NULL;
}

const char *mw_subcommand_call(const mw_subcommand_t *subcommand, char *buffer, size_t size) {
	bool is_program = subcommand >= commands->programs &&
			  subcommand < commands->programs + commands->program_count;
	snprintf(buffer, size, "%s%s", is_program ? "" : "mallow ", subcommand->name);
	return buffer;
}

const mw_option_t *mw_subcommand_option(const mw_subcommand_t *subcommand, size_t i) {
	const mw_option_t *const lists[] = {subcommand->options, subcommand->shared,
					    subcommand->more};
	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++)
		for (const mw_option_t *option = lists[k]; option != NULL && option->name; option++)
			if (i-- == 0)
				return option;
	return NULL;
}

/* Returns the option that a mistyped word probably means; NULL = none.  The word has its dashes
 * and may have a value. */
static const char *meant_option(const mw_subcommand_t *subcommand, const char *word) {
	char name[64];
	const mw_option_t *option;
	mw_suggestion_t meant = {NULL, 0};
	word += strspn(word, "-");
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	for (size_t i = 0; (option = mw_subcommand_option(subcommand, i)) != NULL; i++)
		mw_suggest(&meant, name, option->name);
	mw_suggest(&meant, name, "help");
	return meant.best;
}

/* The message lists only the subcommand's own options, because the shared options do not fit on
 * a line. */
static void complain_unknown(const mw_subcommand_t *subcommand, const char *word) {
	char call[CALL_BYTES];
	mw_subcommand_call(subcommand, call, sizeof(call));
	const char *meant = meant_option(subcommand, word);
	if (meant != NULL) {
		mw_complain("%s: unknown option '%s'; did you mean '--%s'? '%s --help' "
			    "lists all",
			    subcommand->name, word, meant, call);
		return;
	}
	char allowed[512] = "";
	size_t used = 0;
	for (const mw_option_t *option = subcommand->options; option->name; option++) {
		int wrote =
			snprintf(allowed + used, sizeof(allowed) - used, "--%s%s%s, ", option->name,
				 option->value ? " " : "", option->value ? option->value : "");
		used += (size_t)wrote;
	}
	if (subcommand->shared != NULL)
		mw_complain("%s: unknown option '%s'; allowed: %s%swhat '%s --help' lists",
			    subcommand->name, word, allowed, used > 0 ? "and " : "", call);
	else
		mw_complain("%s: unknown option '%s'; allowed: %s--help", subcommand->name, word,
			    allowed);
}

/* '_' equals '-', because names of pprof and jeprof have '_'. */
static bool same_name(const char *name, const char *word, size_t length) {
	for (size_t i = 0; i < length; i++)
		if (name[i] != word[i] && !(name[i] == '-' && word[i] == '_'))
			return false;
	return name[length] == '\0';
}

/* Index of an option; -1 = not found. */
typedef int option_number_t;

/* Finds an option by its long name, which has `length` bytes. */
static option_number_t find_long(const mw_subcommand_t *subcommand, const char *name,
				 size_t length) {
	const mw_option_t *option;
	for (int i = 0; (option = mw_subcommand_option(subcommand, (size_t)i)) != NULL; i++)
		if (strlen(option->name) == length && same_name(option->name, name, length))
			return i;
	return -1;
}

/* Finds the option of which `name` is the begin, among those that may be abbreviated. */
static option_number_t find_begin(const mw_subcommand_t *subcommand, const char *name,
				  size_t length) {
	const char *found = NULL;
	for (const char *const *one = subcommand->abbreviated; one != NULL && *one; one++) {
		size_t i = 0;
		while (i < length && ((*one)[i] == name[i] || ((*one)[i] == '_' && name[i] == '-')))
			i++;
		if (i < length)
			continue;
		if (found != NULL)
			return -1;
		found = *one;
	}
	return found != NULL ? find_long(subcommand, found, strlen(found)) : -1;
}

static bool is_switch(const mw_subcommand_t *subcommand, option_number_t number) {
	return number >= 0 &&
	       mw_option_kind(mw_subcommand_option(subcommand, (size_t)number)) == MW_OPTION_SWITCH;
}

/* Finds an abbreviated option, or "no" before a switch, which sets *value. */
static option_number_t find_abbreviated(const mw_subcommand_t *subcommand, const char *name,
					size_t length, const char **value) {
	option_number_t number = find_begin(subcommand, name, length);
	if (number >= 0 || length <= 2 || strncmp(name, "no", 2) != 0 || name[length] == '=')
		return number;
	size_t skipped = name[2] == '-' || name[2] == '_' ? 3 : 2;
	number = find_long(subcommand, name + skipped, length - skipped);
	if (number < 0)
		number = find_begin(subcommand, name + skipped, length - skipped);
	if (!is_switch(subcommand, number))
		return -1;
	*value = "false";
	return number;
}

bool mw_subcommand_has_option(const mw_subcommand_t *subcommand, const char *name, size_t length) {
	return find_long(subcommand, name, length) >= 0;
}

static option_number_t find_short(const mw_subcommand_t *subcommand, char letter) {
	const mw_option_t *option;
	for (int i = 0; (option = mw_subcommand_option(subcommand, (size_t)i)) != NULL; i++)
		if (option->letter != 0 && option->letter == letter)
			return i;
	return -1;
}

static bool is_flag(const mw_option_t *option) {
	return mw_option_kind(option) == MW_OPTION_FLAG ||
	       mw_option_kind(option) == MW_OPTION_SWITCH;
}

/* Returns the offset of an option's value in mw_option_values_t. */
static size_t value_at(const mw_subcommand_t *subcommand, const mw_option_t *option) {
	return option->value_at != 0
		       ? option->value_at
		       : (size_t)(option - subcommand->more) * sizeof(mw_text_value_t);
}

static void *value_of(mw_arguments_t *arguments, const mw_option_t *option) {
	return (char *)&arguments->options + value_at(arguments->subcommand, option);
}

/* Takes the option at argv[*index] and, if the option has a value, the value.  False: a message
 * was printed. */
static bool take_option(mw_arguments_t *out, int argc, char **argv, int *index) {
	const char *word = argv[*index];
	const mw_subcommand_t *subcommand = out->subcommand;
	const char *value = NULL, *name = word + 1 + (word[1] == '-');
	size_t length = strcspn(name, "=");
	option_number_t number = -1;
	/* A single dash and one letter is a short option. */
	bool is_long = word[1] == '-' || (subcommand->shared != NULL && length > 1);
	if (is_long)
		number = find_long(subcommand, name, length);
	if (is_long && number < 0 && subcommand->abbreviated != NULL)
		number = find_abbreviated(subcommand, name, length, &value);
	if (number >= 0 && name[length] == '=')
		value = name + length + 1;
	if (number < 0 && word[1] != '-') {
		is_long = false;
		number = find_short(subcommand, word[1]);
		if (word[2] != '\0')
			value = word + 2;
	}
	const mw_option_t *option =
		number >= 0 ? mw_subcommand_option(subcommand, (size_t)number) : NULL;
	if (!option || (is_flag(option) && value && !is_long)) {
		complain_unknown(subcommand, word);
		return false;
	}
	if (mw_option_kind(option) == MW_OPTION_FLAG && value) {
		mw_complain("%s: --%s takes no value", subcommand->name, option->name);
		return false;
	}
	if (mw_option_kind(option) == MW_OPTION_SWITCH && !value)
		value = "true";
	if (mw_option_kind(option) != MW_OPTION_FLAG && !value) {
		if (*index + 1 >= argc) {
			mw_complain("%s: --%s needs a value: %s", subcommand->name, option->name,
				    option->choices ? option->choices : option->value);
			return false;
		}
		value = argv[++*index];
	}
	return set_value(subcommand, option, value_of(out, option), value);
}

static bool has_stand_in(const mw_arguments_t *arguments) {
	const char *stand_in = arguments->subcommand->stands_for_operand;
	return stand_in != NULL && mw_argument(arguments, stand_in)->given;
}

unsigned mw_arguments_least(const mw_arguments_t *arguments) {
	unsigned least = arguments->subcommand->operands_min - has_stand_in(arguments);
	return least > 0 ? least : 1;
}

/* Returns whether the command finds the target that the command line does not name. In a difference
 * of two targets only the moment in place of the first one makes clear what is missing. */
static bool may_lack_target(const mw_arguments_t *arguments) {
	const mw_subcommand_t *subcommand = arguments->subcommand;
	bool is_difference = subcommand->stands_for_operand != NULL && !has_stand_in(arguments);
	return (subcommand->name_adds_targets && arguments->options.name.given) ||
	       (subcommand->has_default_target && !is_difference);
}

static bool check_operand_count(const mw_arguments_t *arguments) {
	const mw_subcommand_t *subcommand = arguments->subcommand;
	char call[CALL_BYTES];
	mw_subcommand_call(subcommand, call, sizeof(call));
	if (arguments->help)
		return true;
	bool stands_for_one = has_stand_in(arguments);
	unsigned least = subcommand->operands_min - stands_for_one;
	unsigned most = subcommand->operands_max - stands_for_one;
	if (least > 0 && may_lack_target(arguments))
		least--;
	bool has_instead =
		subcommand->instead && mw_argument(arguments, subcommand->instead)->given;
	if (has_instead && arguments->operand_count > 0) {
		mw_complain("%s: --%s and '%s' cannot be combined; leave one out", subcommand->name,
			    subcommand->instead, arguments->operands[0]);
		return false;
	}
	if (arguments->operand_count < least && !has_instead) {
		mw_complain("%s: too few arguments; usage: %s %s", subcommand->name, call,
			    subcommand->operands);
		return false;
	}
	if (arguments->operand_count > most) {
		mw_complain("%s: does not take '%s'; usage: %s [OPTION]...%s%s", subcommand->name,
			    arguments->operands[most], call, *subcommand->operands ? " " : "",
			    subcommand->operands);
		return false;
	}
	return true;
}

/* True if the command line asks for help. --all then means all options. */
static bool wants_help(const mw_subcommand_t *subcommand, int argc, char **argv) {
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return true;
		if (subcommand->ends_at_operand && argv[i][0] != '-')
			return false;
	}
	return false;
}

bool mw_arguments_parse(mw_arguments_t *out, const mw_subcommand_t *subcommand, int argc,
			char **argv) {
	*out = (mw_arguments_t){.subcommand = subcommand, .operands = argv};
	bool options_end = false, is_help = wants_help(subcommand, argc, argv);
	for (int i = 0; i < argc; i++) {
		char *word = argv[i];
		/* "-" alone is an operand, as in other programs. */
		if (options_end || word[0] != '-' || word[1] == '\0') {
			/* Operands move towards the front of argv, so this never overwrites an
			 * argument that is not parsed yet. */
			out->operands[out->operand_count++] = word;
			if (subcommand->ends_at_operand)
				options_end = true;
		} else if (strcmp(word, "--") == 0) {
			options_end = true;
		} else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			out->help = true;
		} else if (is_help && strcmp(word, "--all") == 0) {
			out->help_all = true;
		} else if (!take_option(out, argc, argv, &i)) {
			return false;
		}
	}
	out->operands[out->operand_count] = NULL;
	return check_operand_count(out);
}

bool mw_arguments_set(mw_arguments_t *arguments, const char *name, const char *value) {
	option_number_t number = find_long(arguments->subcommand, name, strlen(name));
	if (number < 0)
		return false;
	const mw_option_t *option = mw_subcommand_option(arguments->subcommand, (size_t)number);
	return set_value(arguments->subcommand, option, value_of(arguments, option), value);
}

void mw_arguments_release(mw_arguments_t *arguments) {
	const mw_option_t *option;
	for (size_t i = 0; (option = mw_subcommand_option(arguments->subcommand, i)) != NULL; i++)
		if (mw_option_kind(option) == MW_OPTION_LIST)
			free((place_t){value_of(arguments, option)}.list->texts);
}

bool mw_value_has_word(const mw_text_value_t *value, const char *word) {
	const char *text = value->text;
	size_t length = strlen(word);
	while (text != NULL && *text != '\0') {
		size_t next = strcspn(text, ":");
		if (next == length && memcmp(text, word, length) == 0)
			return true;
		text += next + (text[next] == ':');
	}
	return false;
}

const mw_text_value_t *mw_argument(const mw_arguments_t *arguments, const char *name) {
	option_number_t number = find_long(arguments->subcommand, name, strlen(name));
	if (number < 0) {
		/* Only an error in mallow's own code leads here.  The first test of the
		 * subcommand finds it. */
		fprintf(stderr, "mallow: %s has no option %s\n", arguments->subcommand->name, name);
		abort();
	}
	const void *values = &arguments->options;
	const mw_option_t *option = mw_subcommand_option(arguments->subcommand, (size_t)number);
	return (const void *)((const char *)values + value_at(arguments->subcommand, option));
}
