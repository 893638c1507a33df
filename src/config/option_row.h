/* SPDX-License-Identifier: MIT
 * option_row.h -- types and functions that the option parser and its messages share.
 * Layer: config. */
#ifndef MW_CONFIG_OPTION_ROW_H
#define MW_CONFIG_OPTION_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mw_options; /* options.h */

typedef enum mw_option_kind {
	MW_KIND_FLAG,
	MW_KIND_SIZE,
	MW_KIND_NUMBER,
	MW_KIND_CUT,
	MW_KIND_UNSIGNED,
	MW_KIND_CHOICE,
	MW_KIND_WORD,
	MW_KIND_TEXT, /* the first kind that is kept as text */
	MW_KIND_LETTERS,
	MW_KIND_RANGES,
	MW_KIND_SHARES,
	MW_KIND_RATIO,
	MW_KIND_SHARE, /* the last kind that is kept as text */
	MW_KIND_LOG2,
} mw_option_kind_t;

typedef struct mw_option {
	const char *name;
	const char *standard; /* default value, as a user would write it */
	const char *unit;     /* unit of a number; words of a CHOICE or WORD, separated by '|' */
	const char *help;     /* NULL: an option of jemalloc without effect in mallow */
	int64_t min, max;
	uint16_t offset; /* offset in mw_options_t of the option's field; of a LOG2: of its target's
			    field */
	uint8_t kind;    /* mw_option_kind_t */
} mw_option_t;

static inline bool mw_option_is_unused(const mw_option_t *option) {
	return option->help == NULL;
}

/* Returns whether the option's value is kept as text. */
static inline bool mw_option_is_text(const mw_option_t *option) {
	return option->kind >= MW_KIND_TEXT && option->kind <= MW_KIND_SHARE;
}

extern const mw_option_t mw_option_table[];
extern const size_t mw_option_count;

/* A piece of a configuration string; not NUL-terminated. */
typedef struct mw_text {
	const char *start;
	size_t length;
} mw_text_t;

bool mw_text_is(mw_text_t text, const char *word);
/* Returns the next of the words of a CHOICE or WORD. *cursor begins at the option's `unit` and
 * moves behind the word. Returns an empty text after the last word. */
mw_text_t mw_option_next_word(const char **cursor);

/* Reads a number of 64 bits; a negative one modulo 2^64. With `suffixes` also K, M, G and T.
 * Returns false if `value` is not a number. */
bool mw_option_read_number(mw_text_t value, bool suffixes, uint64_t *number);
/* Returns whether jemalloc accepts the text as a ratio. */
bool mw_option_is_ratio(mw_text_t value, bool up_to_one);
/* Reads a ratio as a fixed-point number: 16 bits before and 16 bits behind the point. Returns
 * MW_NO_RATIO for the word that means "none". */
#define MW_NO_RATIO UINT32_MAX
uint32_t mw_option_ratio(const char *text);
bool mw_option_is_ranges(mw_text_t value, uint64_t most);

/* A source of options while the parser reads it. */
typedef struct mw_conf_source {
	const char *name;
	const char *what; /* jemalloc's name of the source; NULL: MALLOW_CONF, whose messages are in
			     mallow's words */
	unsigned complaints;
} mw_conf_source_t;

/* Checks the text and stores the value in the option's field. Returns false, after a message, if
 * the value is not allowed. */
bool mw_option_set(struct mw_options *options, mw_conf_source_t *source, const mw_option_t *option,
		   mw_text_t value);

/* Longest quotation in a message. A longer one would push the hint off the screen. */
#define MW_QUOTE_BYTES 64
/* Copies at most `capacity` - 1 bytes and replaces control characters, so that a message stays on
 * one line. */
const char *mw_option_quote(mw_text_t text, char *buffer, size_t capacity);
/* Writes the allowed values: "1 .. 512 frames" or "true, false". */
const char *mw_option_allowed(const mw_option_t *option, char *buffer, size_t capacity);

typedef struct mw_conf_pair {
	mw_text_t name, value;
} mw_conf_pair_t;

/* Each of the following functions prints one message and counts it in the source. */
void mw_option_say_unknown(mw_conf_source_t *source, mw_conf_pair_t pair);
/* `why`: mallow's words, such as "out of range"; `jemalloc_says`: jemalloc's words for the same. */
void mw_option_say_bad(mw_conf_source_t *source, const mw_option_t *option, mw_text_t value,
		       const char *why, const char *jemalloc_says);
/* `text` is not name:value. `last`: true if no text follows it in the source. */
void mw_option_say_malformed(mw_conf_source_t *source, mw_text_t text, bool last);
void mw_option_say_unused(mw_conf_source_t *source, const mw_option_t *option);

#endif
