/* SPDX-License-Identifier: MIT
 * options.h -- the start-up options and their parser.
 * Layer: ctl.  Pure on strings: reads no environment, so that set-uid programs are the caller's one
 * decision (pass NULL).  Allocates nothing; complaints go to stderr, one line each. */
#ifndef MW_CTL_OPTIONS_H
#define MW_CTL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Names of jemalloc's options that somebody set and that have no effect here, with commas. */
#define MW_UNUSED_OPTIONS_BYTES 512

/* A field for each row of options.def, named as the option.  The longer texts, most of which stay
 * empty, lie behind the rest: few pages are written in every process. */
typedef struct mw_options {
#define MW_FIELD_FLAG(name, max) bool name;
#define MW_FIELD_SIZE(name, max) uint64_t name;
#define MW_FIELD_NUMBER(name, max) int64_t name;
#define MW_FIELD_CUT(name, max) int64_t name;
#define MW_FIELD_UNSIGNED(name, max) int64_t name;
#define MW_FIELD_CHOICE(name, max) int64_t name;
#define MW_FIELD_WORD(name, max) char name[(max) + 1];
#define MW_FIELD_RATIO MW_FIELD_WORD
#define MW_FIELD_SHARE MW_FIELD_WORD
#define MW_FIELD_TEXT(name, max)
#define MW_FIELD_LETTERS(name, max)
#define MW_FIELD_RANGES(name, max)
#define MW_FIELD_SHARES(name, max)
#define MW_OPTION(name, kind, standard, min, max, unit, help) MW_FIELD_##kind(name, max)
#define MW_OPTION_LOG2(name, target, standard, min, max, help)
#define MW_OPTION_JEMALLOC(name, kind, standard, min, max, unit) MW_FIELD_##kind(name, max)
#include "ctl/options.def"
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
	/* Not a row: jemalloc's sources ask for dumps in jemalloc's words, and nobody names them in
	 * mallow's. */
	bool jemalloc_dumps;
	bool mallow_prefix; /* nor this: MALLOW_CONF has prof_prefix */
#define MW_FIELD_FLAG(name, max)
#define MW_FIELD_SIZE(name, max)
#define MW_FIELD_NUMBER(name, max)
#define MW_FIELD_CUT(name, max)
#define MW_FIELD_UNSIGNED(name, max)
#define MW_FIELD_CHOICE(name, max)
#define MW_FIELD_WORD(name, max)
#define MW_FIELD_RATIO(name, max)
#define MW_FIELD_SHARE(name, max)
#define MW_FIELD_TEXT(name, max) char name[(max) + 1];
#define MW_FIELD_LETTERS MW_FIELD_TEXT
#define MW_FIELD_RANGES MW_FIELD_TEXT
#define MW_FIELD_SHARES MW_FIELD_TEXT
#include "ctl/options.def"
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
	char unused[MW_UNUSED_OPTIONS_BYTES];
} mw_options_t;

/* Where options come from, in the order they are read: the later of two settings wins.  NULL: not
 * set.  All but the last are jemalloc's. */
typedef struct mw_conf_sources {
	const char *built_in; /* when the library was configured */
	const char *variable; /* the program's malloc_conf */
	const char *symlink;  /* what /etc/malloc.conf points to */
	const char *environment;
	const char *variable_harder; /* malloc_conf_2_conf_harder */
	const char *mallow;          /* MALLOW_CONF */
} mw_conf_sources_t;

/* Fills `options` with the defaults, then with what the sources say ("name:value,name:value").
 * Bad input is named on stderr and left out: for jemalloc's sources in its words, and what is not
 * name:value ends the source there; a line in ours follows where it helps.  With abort_conf:true
 * the program is then aborted, after the source that holds it.  jemalloc's options without effect
 * here pass silently in its sources, and are named in MALLOW_CONF. */
void mw_ctl_configure(mw_options_t *options, const mw_conf_sources_t *sources);

/* The pattern for jemalloc's names: what option dump_name takes.  A prefix that leaves no room for
 * the rest is %P there. */
typedef struct mw_dump_pattern {
	char text[sizeof((mw_options_t *)0)->dump_name];
} mw_dump_pattern_t;
mw_dump_pattern_t mw_ctl_dump_pattern(const mw_options_t *options, const char *prefix);

/* The number that `value` stands for where the option `name` takes one: 0 or 1, bytes, or plain.
 * MW_ERR_NOT_FOUND: there is no such option, or it takes a text; MW_ERR_BAD_VALUE. */
mw_result_t mw_ctl_parse(const char *name, const char *value, int64_t *number);

/* One line an option: "name:default  help; allowed", NUL-terminated, as mw_fmt() cuts and counts.
 */
size_t mw_ctl_help(char *buffer, size_t capacity);

#endif
