/* SPDX-License-Identifier: MIT
 * options.h -- the table of subcommands and their options, and what a command line said.
 * Layer: cmd.  Each subcommand and option is declared once, in subcommands.c; the parser, --help,
 * the completions and the man pages come from that table. */
#ifndef MW_CMD_OPTIONS_H
#define MW_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum mw_option_kind {
	MW_OPTION_FLAG,
	MW_OPTION_TEXT,
	MW_OPTION_LIST,     /* a text each time it is given */
	MW_OPTION_BYTES,    /* 1 .. MW_STATE_MEAN_BYTES_MAX; K, M, G, T are powers of 1024 */
	MW_OPTION_COUNT,    /* a whole number >= 1 */
	MW_OPTION_LIMIT,    /* likewise; 0: none */
	MW_OPTION_SECONDS,  /* a number >= 0, with fractions */
	MW_OPTION_CHOICE,   /* one of `choices` */
	MW_OPTION_WORDS,    /* some of them, with ':' between */
	MW_OPTION_SWITCH,   /* a flag, of which =false takes back what was there by itself */
	MW_OPTION_FRACTION, /* a number > 0, with decimals */
} mw_option_kind_t;

typedef struct mw_option {
	const char *name; /* without the dashes; NULL ends a list */
	char letter;      /* 0: no short form */
	mw_option_kind_t kind;
	const char *value;   /* how the help calls the value; NULL for a flag */
	const char *choices; /* "a|b|c", for MW_OPTION_CHOICE and _WORDS */
	const char *help;
} mw_option_t;

/* Of a subcommand's own, and of a shared list. */
enum { MW_OPTIONS_MAX = 24, MW_SHARED_OPTIONS_MAX = 128 };

struct mw_arguments;

typedef struct mw_subcommand {
	const char *name;
	const char *operands; /* as the usage line shows them */
	const char *summary;  /* one line, lower case, no full stop */
	const char *details;  /* paragraphs, an empty line between them; wrapped when shown */
	const char *examples; /* lines "command  # what it does" */
	unsigned operands_min;
	unsigned operands_max;
	const char *instead;  /* an option that takes the place of operands; NULL: none */
	bool ends_at_operand; /* what follows the first operand belongs to another program */
	int (*run)(const struct mw_arguments *arguments);
	mw_option_t options[MW_OPTIONS_MAX];
	const mw_option_t *shared; /* what several subcommands have; NULL: nothing.  Long options
				    * may then have one dash only, as pprof's */
	const mw_option_t *more;   /* behind those; NULL: nothing */
	bool empty_is_default; /* --option= is as if it was not given, for options with a text */
} mw_subcommand_t;

extern const mw_subcommand_t mw_subcommands[];
extern const size_t mw_subcommand_count;

/* Own, shared and more options, one after the other; NULL at the end. */
const mw_option_t *mw_subcommand_option(const mw_subcommand_t *subcommand, size_t i);

/* NULL: there is none of that name. */
const mw_subcommand_t *mw_subcommand_find(const char *name);

typedef struct mw_option_value {
	bool given;
	const char *text;
	uint64_t number; /* of a switch: on or off */
	double seconds;
	double fraction;
	const char **texts; /* of a list; `text` is the last */
	size_t text_count, text_capacity;
} mw_option_value_t;

typedef struct mw_arguments {
	const mw_subcommand_t *subcommand;
	mw_option_value_t
		values[MW_OPTIONS_MAX + MW_SHARED_OPTIONS_MAX]; /* as mw_subcommand_option() */
	bool help;
	bool is_jeprof; /* tables are to have jeprof's columns */
	bool is_pprof;  /* files are to be as pprof writes them */
	bool is_shell; /* an output is named as in pprof's shell: what it holds, the command says */
	const char *comment; /* to be added to the profile; NULL: none */
	const char *program; /* the executable, where the command line names it; else NULL */
	char **operands;     /* borrowed from argv, whose order may have been changed; NULL-ended */
	unsigned operand_count;
} mw_arguments_t;

/* Parses what follows the subcommand's name.  False: it complained on stderr.  The caller releases
 * `out` either way. */
bool mw_arguments_parse(mw_arguments_t *out, const mw_subcommand_t *subcommand, int argc,
			char **argv);

/* Sets an option as if the command line had.  False: it complained. */
bool mw_arguments_set(mw_arguments_t *arguments, const char *name, const char *value);

/* Is `word` among the words of an MW_OPTION_WORDS? */
bool mw_argument_has_word(const mw_arguments_t *arguments, const char *name, const char *word);

void mw_arguments_release(mw_arguments_t *arguments);

/* The value of an option, which the subcommand's table must hold. */
const mw_option_value_t *mw_argument(const mw_arguments_t *arguments, const char *name);

/* "512K" -> 524288.  False: not a number of bytes from 1 to 1 TiB. */
bool mw_parse_bytes(const char *text, uint64_t *out_bytes);

#endif
