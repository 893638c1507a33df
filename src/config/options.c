/* SPDX-License-Identifier: MIT
 * options.c -- the parser of jemalloc's sources of options and of MALLOW_CONF, driven by
 * options.def. */
#include "config/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/compiler.h"
#include "base/fmt.h"
#include "base/libc_text.h"
#include "config/option_row.h"
#include "state/settings.h"

#define JEMALLOC_ARENAS_MAX 4094

_Static_assert(sizeof(mw_options_t) <= UINT16_MAX, "rows find their fields by 16 bits");

/* Macro that makes the texts of a row. An argument that another macro passes on is already expanded
 * here. */
#define ROW(name, kind, field, standard, min, max, unit, help)                                     \
	{name, standard, unit, help, min, max, offsetof(mw_options_t, field), kind},
const mw_option_t mw_option_table[] = {
#define MW_OPTION(name, kind, standard, min, max, unit, help)                                      \
	ROW(#name, MW_KIND_##kind, name, #standard, min, max, unit, help)
#define MW_OPTION_LOG2(name, target, standard, min, max, help)                                     \
	ROW(#name, MW_KIND_LOG2, target, #standard, min, max, "", help)
#define MW_OPTION_JEMALLOC(name, kind, standard, min, max, unit)                                   \
	ROW(#name, MW_KIND_##kind, name, #standard, min, max, unit, NULL)
#include "config/options.def"
#undef MW_OPTION
#undef MW_OPTION_LOG2
#undef MW_OPTION_JEMALLOC
};
#undef ROW
const size_t mw_option_count = sizeof mw_option_table / sizeof *mw_option_table;

bool mw_text_is(mw_text_t text, const char *word) {
	return mw_strlen(word) == text.length && memcmp(text.start, word, text.length) == 0;
}

static const mw_option_t *find(mw_text_t name) {
	for (size_t i = 0; i < mw_option_count; i++)
		if (mw_text_is(name, mw_option_table[i].name))
			return &mw_option_table[i];
	return NULL;
}

mw_text_t mw_option_next_word(const char **cursor) {
	const char *end = mw_strchrnul(*cursor, '|');
	mw_text_t word = {*cursor, (size_t)(end - *cursor)};
	*cursor = *end ? end + 1 : end;
	return word;
}

/* ---- sources ---- */

/* A user who sets dump options in jemalloc's sources expects dump names in jemalloc's form. */
static void note_dumps(mw_options_t *options, const mw_conf_source_t *source, mw_text_t name) {
	static const char *const dumping[] = {"prof_prefix", "prof_gdump",      "prof_final",
					      "prof_leak",   "prof_leak_error", "lg_prof_interval"};
	if (mw_text_is(name, "dump_name"))
		options->jemalloc_dumps = false;
	options->mallow_prefix |= !source->what && mw_text_is(name, "prof_prefix");
	for (size_t i = 0; source->what && i < sizeof dumping / sizeof *dumping; i++)
		options->jemalloc_dumps |= mw_text_is(name, dumping[i]);
}

/* Collects the name of an option without effect, once, for `mallow status`. */
static void note_unused(mw_options_t *options, const mw_option_t *option) {
	char *list = options->unused;
	size_t length = mw_strlen(list), name_length = mw_strlen(option->name);
	for (const char *at = list; (at = mw_strstr(at, option->name)); at += name_length)
		if ((at == list || at[-1] == ',') &&
		    (at[name_length] == ',' || at[name_length] == '\0'))
			return;
	if (length + 1 + name_length < sizeof options->unused)
		mw_fmt(list + length, sizeof options->unused - length, "%s%s", length ? "," : "",
		       option->name);
}

/* Warns about values that are accepted but probably not intended. */
static MW_NOINLINE MW_COLD void say_odd(const mw_options_t *options, const mw_conf_source_t *source,
					mw_text_t name) {
	const char *at = mw_text_is(name, "dump_name") ? options->dump_name : "";
	for (; (at = mw_dump_name_odd(at)); at += 1 + (at[1] != '\0'))
		mw_warn("%s: dump_name:%s: '%%%.1s' has no meaning; allowed: %s", source->name,
			options->dump_name, at + 1, MW_DUMP_NAME_ALLOWED);
	if (mw_text_is(name, "request_limit") && options->request_limit > 0 &&
	    options->request_limit < MW_REQUEST_LIMIT_MIN_BYTES)
		mw_warn("%s: request_limit:%lu counts as %u bytes, the smallest limit",
			source->name, (unsigned long)options->request_limit,
			MW_REQUEST_LIMIT_MIN_BYTES);
}

static void take(mw_options_t *options, mw_conf_source_t *source, mw_conf_pair_t pair) {
	char name[MW_QUOTE_BYTES + 1], value[MW_QUOTE_BYTES + 1];
	const mw_option_t *option = find(pair.name);
	if (!option) {
		mw_option_say_unknown(source, pair);
		return;
	}
	if (mw_option_is_unused(option) && !source->what) {
		mw_option_say_unused(source, option);
		return;
	}
	if (!mw_option_set(options, source, option, pair.value))
		return;
	note_dumps(options, source, pair.name);
	if (mw_text_is(pair.name, "dump_name") || mw_text_is(pair.name, "request_limit"))
		say_odd(options, source, pair.name);
	if (mw_option_is_unused(option))
		note_unused(options, option);
	if (!options->confirm_conf)
		return;
	mw_option_quote(pair.name, name, sizeof name);
	mw_option_quote(pair.value, value, sizeof value);
	if (source->what)
		mw_print_line("<jemalloc>: -- Set conf value: %s:%s", name, value);
	else
		mw_warn("%s: %s:%s", source->name, name, value);
}

static bool is_name(mw_text_t text) {
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
				      "0123456789";
	size_t length = 0;
	while (length < text.length && mw_memchr(letters, text.start[length], sizeof letters - 1))
		length++;
	return length > 0 && length == text.length;
}

/* Returns false if the text is not name:value. */
static bool split_pair(const mw_conf_source_t *source, mw_text_t text, mw_conf_pair_t *pair) {
	const char *colon = mw_memchr(text.start, ':', text.length);
	if (!colon)
		return false;
	pair->name = (mw_text_t){text.start, (size_t)(colon - text.start)};
	pair->value = (mw_text_t){colon + 1, text.length - pair->name.length - 1};
	return !source->what || is_name(pair->name);
}

static void read_pairs(mw_options_t *options, mw_conf_source_t *source, const char *conf) {
	mw_conf_pair_t pair;
	for (const char *start = conf, *end; *start; start = end + (*end == ',')) {
		end = mw_strchrnul(start, ',');
		mw_text_t text = {start, (size_t)(end - start)};
		if (text.length == 0 && !source->what)
			continue;
		if (split_pair(source, text, &pair)) {
			if (source->what && *end &&
			    !end[1]) /* jemalloc prints this message first */
				mw_option_say_malformed(source, (mw_text_t){end, 0}, true);
			take(options, source, pair);
			continue;
		}
		mw_option_say_malformed(source, text, *end == '\0');
		if (source->what)
			return;
	}
}

static void read_source(mw_options_t *options, mw_conf_source_t *source, const char *conf) {
	if (options->confirm_conf && source->what)
		mw_print_line("<jemalloc>: malloc_conf %s: \"%s\"", source->what, conf ? conf : "");
	if (!conf || !*conf)
		return;
	read_pairs(options, source, conf);
	if (!options->abort_conf || source->complaints == 0)
		return;
	mw_print_line("<jemalloc>: Abort (abort_conf:true) on invalid conf value (see above).");
	abort();
}

/* Reads the last setting of confirm_conf in all sources before any source is read, because it
 * applies to all of them. */
static bool wants_confirmation(const char *const *confs, size_t count) {
	static const char name[] = "confirm_conf:";
	bool wanted = false;
	for (size_t i = 0; i < count; i++)
		for (const char *at = confs[i]; at && *at && (at = mw_strstr(at, name)); at++)
			if (at == confs[i] || at[-1] == ',')
				wanted = mw_strncmp(at + sizeof name - 1, "true", 4) == 0;
	return wanted;
}

static void read_sources(mw_options_t *options, const mw_conf_sources_t *sources) {
	mw_conf_source_t all[] = {
		{"the built-in options", "#1 (string specified via --with-malloc-conf)", 0},
		{"malloc_conf", "#2 (string pointed to by the global variable malloc_conf)", 0},
		{"/etc/malloc.conf",
		 "#3 (\"name\" of the file referenced by the symbolic link named /etc/malloc.conf)",
		 0},
		{"MALLOC_CONF", "#4 (value of the environment variable MALLOC_CONF)", 0},
		{"malloc_conf_2_conf_harder",
		 "#5 (string pointed to by the global variable malloc_conf_2_conf_harder)", 0},
		{"MALLOW_CONF", NULL, 0},
	};
	const char *const confs[] = {sources->built_in,        sources->variable,
				     sources->symlink,         sources->environment,
				     sources->variable_harder, sources->mallow};
	enum { COUNT = sizeof all / sizeof *all };
	options->confirm_conf = wants_confirmation(confs, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		read_source(options, &all[i], confs[i]);
}

/* jemalloc writes every dump that is due and keeps all of them. */
static void name_as_jemalloc(mw_options_t *options) {
	mw_dump_pattern_t pattern = mw_ctl_dump_pattern(options, options->prof_prefix);
	memcpy(options->dump_name, pattern.text, sizeof options->dump_name);
	options->dump_min_ms = 0;
	options->dump_keep = 0;
	if (options->prof_prefix[0])
		return;
	options->prof_final = false;
	options->prof_interval = 0;
	options->dump_peak = 0;
}

/* Writes a default value. An empty text whose field is already empty is not written, because the
 * longer texts have pages of their own, which then stay untouched. */
static MW_NOINLINE void store_text(char *field, const char *standard) {
	if (*field || *standard)
		memcpy(field, standard, mw_strlen(standard) + 1);
}

static MW_NOINLINE MW_COLD void say_prefix(const mw_options_t *options) {
	if (!mw_strstr(options->dump_name, "%P"))
		mw_warn("MALLOW_CONF: prof_prefix has no effect without jemalloc's options for "
			"dumps in MALLOC_CONF; dump_name sets the names of dumps, and %%P in it is "
			"the prefix");
}

void mw_ctl_configure(mw_options_t *options, const mw_conf_sources_t *sources) {
#define MW_STORE_VALUE_FLAG(name, standard) options->name = (standard);
#define MW_STORE_VALUE_SIZE MW_STORE_VALUE_FLAG
#define MW_STORE_VALUE_NUMBER MW_STORE_VALUE_FLAG
#define MW_STORE_VALUE_CUT MW_STORE_VALUE_FLAG
#define MW_STORE_VALUE_UNSIGNED MW_STORE_VALUE_FLAG
#define MW_STORE_VALUE_CHOICE MW_STORE_VALUE_FLAG
/* The value is an array, so that it lies with the constants and not with the texts of messages. */
#define MW_STORE_VALUE_TEXT(name, standard)                                                        \
	{                                                                                          \
		static const char name[] = standard;                                               \
		store_text(options->name, name);                                                   \
	}
#define MW_STORE_VALUE_WORD MW_STORE_VALUE_TEXT
#define MW_STORE_VALUE_RATIO MW_STORE_VALUE_TEXT
#define MW_STORE_VALUE_SHARE MW_STORE_VALUE_TEXT
#define MW_STORE_VALUE_LETTERS MW_STORE_VALUE_TEXT
#define MW_STORE_VALUE_RANGES MW_STORE_VALUE_TEXT
#define MW_STORE_VALUE_SHARES MW_STORE_VALUE_TEXT
#define MW_OPTION(name, kind, standard, min, max, unit, help) MW_STORE_VALUE_##kind(name, standard)
#define MW_OPTION_LOG2(name, target, standard, min, max, help)
#define MW_OPTION_JEMALLOC(name, kind, standard, min, max, unit)                                   \
	MW_STORE_VALUE_##kind(name, standard)
#include "config/options.def"
#undef MW_OPTION
#undef MW_OPTION_LOG2
#undef MW_OPTION_JEMALLOC
	options->jemalloc_dumps = false;
	options->mallow_prefix = false;
	if (options->unused[0])
		options->unused[0] = '\0';
	read_sources(options, sources);
	if ((uint32_t)options->narenas > JEMALLOC_ARENAS_MAX)
		mw_print_line("<jemalloc>: Reducing narenas to limit (%d)", JEMALLOC_ARENAS_MAX);
	if (options->prof_leak_error) {
		options->prof_leak = true;
		if (!options->prof_final)
			mw_print_line("<jemalloc>: prof_leak_error is set w/o prof_final.");
	}
	if (options->prof_leak)
		options->prof = true;
	if (options->prof_gdump && options->dump_peak == 0)
		options->dump_peak = 1;
	if (options->jemalloc_dumps)
		name_as_jemalloc(options);
	else if (options->mallow_prefix)
		say_prefix(options);
}

/* Writes '%' as "%%". Returns false if the buffer is too small. */
static bool escape(const char *text, char *buffer, size_t capacity) {
	size_t length = 0;
	for (; *text; text++) {
		if (length + 2 >= capacity)
			return false;
		if (*text == '%')
			buffer[length++] = '%';
		buffer[length++] = *text;
	}
	buffer[length] = '\0';
	return true;
}

mw_dump_pattern_t mw_ctl_dump_pattern(const mw_options_t *options, const char *prefix) {
	static const char standard[] =
		".%p.%i.%t.%s.%j.heap"; /* the longest text that can follow the prefix */
	mw_dump_pattern_t pattern;
	char escaped[sizeof pattern.text - sizeof standard + 1];
	bool fits = escape(prefix, escaped, sizeof escaped);
	mw_fmt(pattern.text, sizeof pattern.text, "%s%s.%%p%s.%%s.%%j.heap", fits ? escaped : "%P",
	       options->prof_pid_namespace ? ".%i" : "", options->prof_timestamp ? ".%t" : "");
	return pattern;
}

static const char *shown_default(const mw_option_t *option, char word[MW_QUOTE_BYTES + 1]) {
	if (mw_option_is_text(option))
		return "";
	if (option->kind != MW_KIND_CHOICE)
		return option->standard;
	const char *cursor = option->unit;
	for (int64_t number = 0; number < strtol(option->standard, NULL, 10); number++)
		mw_option_next_word(&cursor);
	return mw_option_quote(mw_option_next_word(&cursor), word, MW_QUOTE_BYTES + 1);
}

mw_result_t mw_ctl_parse(const char *name, const char *value, int64_t *number) {
	const mw_option_t *option = find((mw_text_t){name, mw_strlen(name)});
	mw_text_t text = {value, mw_strlen(value)};
	if (!option || (option->kind != MW_KIND_FLAG && option->kind != MW_KIND_SIZE &&
			option->kind != MW_KIND_NUMBER))
		return MW_ERR_NOT_FOUND;
	if (option->kind == MW_KIND_FLAG) {
		*number = mw_text_is(text, "true");
		return *number || mw_text_is(text, "false") ? MW_OK : MW_ERR_BAD_VALUE;
	}
	uint64_t read;
	if (!mw_option_read_number(text, option->kind == MW_KIND_SIZE, &read))
		return MW_ERR_BAD_VALUE;
	*number = (int64_t)read;
	if (*number < option->min || *number > option->max)
		return MW_ERR_BAD_VALUE;
	return MW_OK;
}

size_t mw_ctl_help(char *buffer, size_t capacity) {
	size_t length = 0;
	if (capacity > 0)
		buffer[0] = '\0';
	for (size_t i = 0; i < mw_option_count; i++) {
		if (mw_option_is_unused(&mw_option_table[i]))
			continue;
		char range[96], word[MW_QUOTE_BYTES + 1];
		size_t used = length < capacity ? length : capacity;
		length += mw_fmt(buffer + used, capacity - used, "%s:%s  %s; %s\n",
				 mw_option_table[i].name, shown_default(&mw_option_table[i], word),
				 mw_option_table[i].help,
				 mw_option_allowed(&mw_option_table[i], range, sizeof range));
	}
	return length;
}
