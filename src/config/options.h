/* SPDX-License-Identifier: MIT
 * options.h -- start-up options and their parser.
 * Layer: config, the door of this folder. The parser gets strings and does not read the
 * environment: for a set-uid program the caller passes NULL. The parser allocates nothing. Messages
 * go to stderr, one line each.
 *
 * Reading order: options.def (one row per option), options (sources), option_row.h (types of rows),
 * option_set (checks and stores a value), option_value (numbers and ratios), option_say
 * (messages). */
#ifndef MW_CONFIG_OPTIONS_H
#define MW_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Names of the options of jemalloc that a source sets and that have no effect in mallow, separated
 * by commas. */
#define MW_UNUSED_OPTIONS_BYTES 512

/* A field for each row of options.def, with the option's name. The longer texts, most of which stay
 * empty, lie behind the other fields, so that a process writes few pages. */
typedef struct mw_options {
/* For each kind of option, the group of its field, SHORT or LONG, around the field. */
#define MW_FIELD_FLAG(SHORT, LONG, name, max) SHORT(bool name;)
#define MW_FIELD_SIZE(SHORT, LONG, name, max) SHORT(uint64_t name;)
#define MW_FIELD_NUMBER(SHORT, LONG, name, max) SHORT(int64_t name;)
#define MW_FIELD_CUT MW_FIELD_NUMBER
#define MW_FIELD_UNSIGNED MW_FIELD_NUMBER
#define MW_FIELD_CHOICE MW_FIELD_NUMBER
#define MW_FIELD_WORD(SHORT, LONG, name, max) SHORT(char name[(max) + 1];)
#define MW_FIELD_RATIO MW_FIELD_WORD
#define MW_FIELD_SHARE MW_FIELD_WORD
#define MW_FIELD_TEXT(SHORT, LONG, name, max) LONG(char name[(max) + 1];)
#define MW_FIELD_LETTERS MW_FIELD_TEXT
#define MW_FIELD_RANGES MW_FIELD_TEXT
#define MW_FIELD_SHARES MW_FIELD_TEXT
#define MW_FIELD_KEPT(field) field
#define MW_FIELD_LEFT_OUT(field)
#define MW_OPTION(name, kind, standard, min, max, unit, help)                                      \
	MW_FIELD_##kind(MW_FIELD_KEPT, MW_FIELD_LEFT_OUT, name, max)
#define MW_OPTION_LOG2(name, target, standard, min, max, help)
#define MW_OPTION_JEMALLOC(name, kind, standard, min, max, unit)                                   \
	MW_FIELD_##kind(MW_FIELD_KEPT, MW_FIELD_LEFT_OUT, name, max)
#include "config/options.def"
#undef MW_OPTION
#undef MW_OPTION_JEMALLOC
	/* true: one of jemalloc's sources asked for dumps, and no option gives their names in
	 * mallow's form. Not an option. */
	bool jemalloc_dumps;
	bool mallow_prefix; /* true: MALLOW_CONF sets prof_prefix; not an option */
#define MW_OPTION(name, kind, standard, min, max, unit, help)                                      \
	MW_FIELD_##kind(MW_FIELD_LEFT_OUT, MW_FIELD_KEPT, name, max)
#define MW_OPTION_JEMALLOC(name, kind, standard, min, max, unit)                                   \
	MW_FIELD_##kind(MW_FIELD_LEFT_OUT, MW_FIELD_KEPT, name, max)
#include "config/options.def"
#undef MW_OPTION
#undef MW_OPTION_LOG2
#undef MW_OPTION_JEMALLOC
#undef MW_FIELD_FLAG
#undef MW_FIELD_SIZE
#undef MW_FIELD_NUMBER
#undef MW_FIELD_CUT
#undef MW_FIELD_UNSIGNED
#undef MW_FIELD_CHOICE
#undef MW_FIELD_WORD
#undef MW_FIELD_RATIO
#undef MW_FIELD_SHARE
#undef MW_FIELD_TEXT
#undef MW_FIELD_LETTERS
#undef MW_FIELD_RANGES
#undef MW_FIELD_SHARES
#undef MW_FIELD_KEPT
#undef MW_FIELD_LEFT_OUT
	char unused[MW_UNUSED_OPTIONS_BYTES];
} mw_options_t;

/* Sources of options, in the order in which they are read. The last setting of an option wins.
 * NULL: the source does not exist. All but the last source are jemalloc's. */
typedef struct mw_conf_sources {
	const char *built_in; /* set when the library was built */
	const char *variable; /* the program's variable malloc_conf */
	const char *symlink;  /* what /etc/malloc.conf points to */
	const char *environment;
	const char *variable_harder; /* the program's variable malloc_conf_2_conf_harder */
	const char *mallow;          /* environment variable MALLOW_CONF */
} mw_conf_sources_t;

/* Fills `options` with the defaults, then with the settings of the sources
 * ("name:value,name:value"). An unknown option or a bad value is skipped after a message on stderr.
 * For jemalloc's sources the message is in jemalloc's words, and text that is not name:value ends
 * the source; a second line in mallow's words follows where it helps. With abort_conf:true the
 * program is aborted after a source with such an error. Options of jemalloc without effect in
 * mallow are accepted silently in jemalloc's sources, and reported in MALLOW_CONF. */
void mw_ctl_configure(mw_options_t *options, const mw_conf_sources_t *sources);

/* Pattern of dump names in jemalloc's form, as a value of option dump_name. A prefix that is too
 * long for the pattern is written as %P. */
typedef struct mw_dump_pattern {
	char text[sizeof((mw_options_t *)0)->dump_name];
} mw_dump_pattern_t;
mw_dump_pattern_t mw_ctl_dump_pattern(const mw_options_t *options, const char *prefix);

/* Parses `value` for the option `name`: a FLAG gives 0 or 1, a SIZE bytes, a NUMBER its value.
 * MW_ERR_NOT_FOUND: there is no such option, or its value is a text. MW_ERR_BAD_VALUE: the value is
 * malformed or out of range. */
mw_result_t mw_ctl_parse(const char *name, const char *value, int64_t *number);

/* Writes one line per option: "name:default help; allowed". Ends with NUL, truncates and returns
 * the length as mw_fmt() does. */
size_t mw_ctl_help(char *buffer, size_t capacity);

#endif
