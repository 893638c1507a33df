/* SPDX-License-Identifier: MIT
 * option_row.h -- what the parser of options and its messages share.
 * Layer: ctl. */
#ifndef MW_CTL_OPTION_ROW_H
#define MW_CTL_OPTION_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum mw_option_kind {
	MW_KIND_FLAG,
	MW_KIND_SIZE,
	MW_KIND_NUMBER,
	MW_KIND_CUT,
	MW_KIND_UNSIGNED,
	MW_KIND_CHOICE,
	MW_KIND_WORD,
	MW_KIND_TEXT, /* texts: from here on */
	MW_KIND_LETTERS,
	MW_KIND_RANGES,
	MW_KIND_SHARES,
	MW_KIND_RATIO,
	MW_KIND_SHARE, /* to here */
	MW_KIND_LOG2,
} mw_option_kind_t;

/* Holds no pointers: the loader would write each of them in every process. */
typedef struct mw_option {
	uint8_t kind;    /* mw_option_kind_t */
	bool unused;     /* jemalloc's, without effect here */
	uint16_t offset; /* of the field in mw_options_t; of the target's, for a LOG2 */
	uint16_t name_at, standard_at, unit_at, help_at; /* among the texts of all rows */
	int64_t min, max;
} mw_option_t;

/* Is its value kept as it is written? */
static inline bool mw_option_is_text(const mw_option_t *option) {
	return option->kind >= MW_KIND_TEXT && option->kind <= MW_KIND_SHARE;
}

extern const mw_option_t mw_option_table[];
extern const size_t mw_option_count;

const char *mw_option_name(const mw_option_t *option);
const char *mw_option_standard(const mw_option_t *option);
const char *mw_option_unit(const mw_option_t *option);
const char *mw_option_help(const mw_option_t *option);

/* A piece of a configuration string; not NUL-terminated. */
typedef struct mw_text {
	const char *start;
	size_t length;
} mw_text_t;

bool mw_text_is(mw_text_t text, const char *word);
/* The words of a CHOICE or WORD, in order; *cursor begins at its `unit`.  An empty one: no more. */
mw_text_t mw_option_next_word(const char **cursor);

/* A number of 64 bits, modulo 2^64 if it is negative; with `suffixes` also K, M, G, T.  False: it
 * is none. */
bool mw_option_read_number(mw_text_t value, bool suffixes, uint64_t *number);
/* Whether it is one that jemalloc takes, which is all that is asked. */
bool mw_option_is_ratio(mw_text_t value, bool up_to_one);
/* The same as 16 bits and 16 behind the point; MW_NO_RATIO: it is the word that stands for none. */
#define MW_NO_RATIO UINT32_MAX
uint32_t mw_option_ratio(const char *text);
bool mw_option_is_ranges(mw_text_t value, uint64_t most);

/* A source being read. */
typedef struct mw_conf_source {
	const char *name;
	const char *what; /* in jemalloc's words; NULL: MALLOW_CONF, and complaints in ours */
	unsigned complaints;
} mw_conf_source_t;

/* What a complaint quotes: more would push the advice off the screen. */
#define MW_QUOTE_BYTES 64
/* Copies at most `capacity` - 1 bytes, control characters replaced: a complaint is one line. */
const char *mw_option_quote(mw_text_t text, char *buffer, size_t capacity);
/* "1 .. 512 frames", "true, false" */
const char *mw_option_allowed(const mw_option_t *option, char *buffer, size_t capacity);

typedef struct mw_conf_pair {
	mw_text_t name, value;
} mw_conf_pair_t;

/* Each counts as a complaint of the source. */
void mw_option_say_unknown(mw_conf_source_t *source, mw_conf_pair_t pair);
/* `why`: as "out of range"; `jemalloc_says`: its words for that. */
void mw_option_say_bad(mw_conf_source_t *source, const mw_option_t *option, mw_text_t value,
		       const char *why, const char *jemalloc_says);
/* `text` is not name:value; `last`: nothing comes after it. */
void mw_option_say_malformed(mw_conf_source_t *source, mw_text_t text, bool last);
void mw_option_say_unused(mw_conf_source_t *source, const mw_option_t *option);

#endif
