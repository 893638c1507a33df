/* SPDX-License-Identifier: MIT
 * options.h -- the table of subcommands and their options, and the parsed command line.
 * Layer: cli.  The folder's door.  The folder knows no subcommand. parse.c reads command lines,
 * environment.h reads MALLOW_OPTIONS, suggest.h finds the word that a mistyped word means,
 * complain.h prints messages, terminal.h and pager.h handle the terminal, print.h prints values
 * that several subcommands show; cli/help writes help, man pages and completions. Each subcommand
 * and option is declared once, in cmd/subcommands.c.  The parser, --help, the completions and the
 * man pages come from that table. option_values.h holds the values of all options. */
#ifndef MW_TOOL_CLI_OPTIONS_H
#define MW_TOOL_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/option_values.h"

typedef enum mw_option_kind {
	MW_OPTION_FLAG,
	MW_OPTION_TEXT,
	MW_OPTION_LIST, /* a text; the option may be given several times */
	/* Bytes from 1 to MW_STATE_MEAN_BYTES_MAX; K, M, G, T are powers of 1024. */
	MW_OPTION_BYTES,
	MW_OPTION_COUNT,    /* a whole number >= 1 */
	MW_OPTION_LIMIT,    /* a whole number >= 0; 0 means no limit */
	MW_OPTION_SECONDS,  /* a number >= 0, with fractions */
	MW_OPTION_CHOICE,   /* one of `choices` */
	MW_OPTION_WORDS,    /* several of `choices`, separated by ':' */
	MW_OPTION_SWITCH,   /* a flag; =false switches off a flag that is on by default */
	MW_OPTION_FRACTION, /* a number > 0, with decimals */
} mw_option_kind_t;

enum {
	MW_OPTION_KINDS = 15, /* mask of the kinds in mw_option_t.kind */
	/* Flag beside the kind: the option changes the views' tables and pictures, but not the
	 * table of `report`. */
	MW_OPTION_OF_VIEWS = 16,
	/* Flag beside the kind: a former name, which the command still takes and no help shows. */
	MW_OPTION_FORMER = 32,
};

typedef struct mw_option {
	const char *name; /* without the dashes; NULL ends the list */
	char letter;      /* short form; 0 = none */
	/* An mw_option_kind_t, and perhaps MW_OPTION_OF_VIEWS or MW_OPTION_FORMER; see
	 * mw_option_kind(). */
	unsigned kind;
	/* offset of the value in mw_option_values_t; 0: the value is in `unbound` */
	unsigned value_at;
	const char *value;   /* name of the value in the help; NULL for a flag */
	const char *choices; /* allowed values "a|b|c", for MW_OPTION_CHOICE and MW_OPTION_WORDS */
	const char *help;
} mw_option_t;

/* The types of values, by kind. */
#define MW_VALUE_OF_FLAG mw_flag_value_t
#define MW_VALUE_OF_SWITCH mw_flag_value_t
#define MW_VALUE_OF_TEXT mw_text_value_t
#define MW_VALUE_OF_CHOICE mw_text_value_t
#define MW_VALUE_OF_WORDS mw_text_value_t
#define MW_VALUE_OF_LIST mw_list_value_t
#define MW_VALUE_OF_BYTES mw_number_value_t
#define MW_VALUE_OF_COUNT mw_number_value_t
#define MW_VALUE_OF_LIMIT mw_number_value_t
#define MW_VALUE_OF_SECONDS mw_seconds_value_t
#define MW_VALUE_OF_FRACTION mw_fraction_value_t
/* The members `kind` and `value_at` of a row: the option fills in a member of mw_option_values_t. A
 * member of another type does not compile. */
#define MW_BOUND(kind, member) MW_OPTION_##kind, MW_VALUE_AT(MW_VALUE_OF_##kind, member)
#define MW_BOUND_OF_VIEWS(kind, member)                                                            \
	MW_OPTION_##kind | MW_OPTION_OF_VIEWS, MW_VALUE_AT(MW_VALUE_OF_##kind, member)
#define MW_BOUND_FORMER(kind, member)                                                              \
	MW_OPTION_##kind | MW_OPTION_FORMER, MW_VALUE_AT(MW_VALUE_OF_##kind, member)
#define MW_VALUE_AT(type, member)                                                                  \
	_Generic(((mw_option_values_t *)0)->member, type : offsetof(mw_option_values_t, member))

static inline mw_option_kind_t mw_option_kind(const mw_option_t *option) {
	return (mw_option_kind_t)(option->kind & MW_OPTION_KINDS);
}

static inline bool mw_option_is_shown(const mw_option_t *option) {
	return (option->kind & MW_OPTION_FORMER) == 0;
}

/* Most options of one subcommand's own list, and most options behind it. */
enum { MW_OPTIONS_MAX = 28, MW_SHARED_OPTIONS_MAX = 128 };

struct mw_arguments;

typedef struct mw_subcommand {
	const char *name;
	const char *operands; /* operands in the usage line */
	const char *summary;  /* one line, lower case, no full stop */
	const char *details;  /* paragraphs, separated by empty lines; the help wraps them */
	const char *examples; /* lines "command  # description" */
	unsigned operands_min;
	unsigned operands_max;
	const char *instead;            /* option that replaces the operands; NULL = none */
	const char *stands_for_operand; /* option that replaces the first operand; NULL = none */
	/* Without a target: the only process that runs mallow. */
	bool has_default_target;
	/* --name adds the processes that match to the operands. */
	bool name_adds_targets;
	bool ends_at_operand; /* arguments after the first operand belong to another program */
	int (*run)(const struct mw_arguments *arguments);
	mw_option_t options[MW_OPTIONS_MAX];
	/* Options shared with other subcommands; NULL = none.  With shared options, long options
	 * may begin with a single dash, as pprof's do. */
	const mw_option_t *shared;
	const mw_option_t *more; /* further options, listed after the shared ones; NULL = none */
	/* Options that --help shows, NULL-terminated; --all shows the rest.  NULL = --help shows
	 * all. */
	const char *const *common;
	/* Names of options of which a begin that fits one of them only stands for the option, and
	 * which take "no" before them if they are switches; NULL = none. */
	const char *const *abbreviated;
	bool empty_is_default; /* an empty text (--option=) means that the option is not given */
} mw_subcommand_t;

/* Subcommands for one kind of task, in the order of the help. */
typedef struct mw_command_group {
	const char *title;
	const char *names[12]; /* NULL-terminated */
} mw_command_group_t;

/* An answer of `mallow help WORD`. */
typedef struct mw_help_topic {
	const char *words;   /* what users call it, separated by blanks */
	const char *command; /* a command line */
	const char *meaning; /* one line, lower case, no full stop */
} mw_help_topic_t;

/* All subcommands, and the programs whose command lines mallow also accepts: jeprof and pprof. */
typedef struct mw_command_table {
	const mw_subcommand_t *subcommands;
	size_t subcommand_count;
	const mw_command_group_t *groups; /* every subcommand is in one group */
	size_t group_count;
	const mw_help_topic_t *topics; /* the last one has no words (NULL) */
	const mw_subcommand_t *programs;
	size_t program_count;
} mw_command_table_t;

/* Sets the table, once, before any other function of this folder is called.  The table is
 * static.  The caller passes the table because its rows call the subcommands, which use this
 * directory. */
void mw_commands_register(const mw_command_table_t *table);
const mw_command_table_t *mw_commands(void);

/* Returns option `i` of a subcommand, counted over its own, shared and additional options; NULL
 * after the last. */
const mw_option_t *mw_subcommand_option(const mw_subcommand_t *subcommand, size_t i);

/* True if the subcommand has a long option of this name, which has `length` bytes. '_' equals
 * '-'. */
bool mw_subcommand_has_option(const mw_subcommand_t *subcommand, const char *name, size_t length);

/* Returns the subcommand of this name, or NULL. */
const mw_subcommand_t *mw_subcommand_find(const char *name);
/* Returns how the user calls the subcommand: "mallow top", or the name of a compatible program. */
const char *mw_subcommand_call(const mw_subcommand_t *subcommand, char *buffer, size_t size);
/* Returns the compatible program that `path` names (jeprof or pprof), or NULL. */
const mw_subcommand_t *mw_compat_find(const char *path);

typedef struct mw_arguments {
	const mw_subcommand_t *subcommand;
	mw_option_values_t options;
	bool help, help_all;
	bool is_jeprof; /* tables have jeprof's columns */
	bool is_pprof;  /* files are written as pprof writes them */
	/* The outputs have the names of pprof's shell, and the command decides their content. */
	bool is_shell;
	const char *comment; /* comment to add to the profile; NULL = none */
	const char *program; /* the executable that the command line names; NULL = none */
	/* The operands, NULL-terminated; borrowed from argv, whose order may have changed. */
	char **operands;
	unsigned operand_count;
} mw_arguments_t;

/* Parses the arguments after the subcommand's name.  False: a message was printed on stderr.
 * The caller releases `out` in both cases. */
bool mw_arguments_parse(mw_arguments_t *out, const mw_subcommand_t *subcommand, int argc,
			char **argv);

/* Returns the fewest operands with which the subcommand has a target. */
unsigned mw_arguments_least(const mw_arguments_t *arguments);

/* Sets an option as the command line does.  False: a message was printed. */
bool mw_arguments_set(mw_arguments_t *arguments, const char *name, const char *value);

/* True if `word` is one of the words of an option of kind WORDS. */
bool mw_value_has_word(const mw_text_value_t *value, const char *word);

void mw_arguments_release(mw_arguments_t *arguments);

/* Returns whether an option is given, and its text, for lists of options and messages. Where the
 * option is known when the code is written, the member of `options` is read. The subcommand's table
 * must hold the option. */
const mw_text_value_t *mw_argument(const mw_arguments_t *arguments, const char *name);

/* Reads "90s", "5m", "2h", "1d" or a number of seconds.  False: no time from 0 to a year. */
bool mw_parse_seconds(const char *text, double *out);

/* Reads a number of bytes: "512K" gives 524288.  False: no number of bytes from 1 to 1 TiB. */
bool mw_parse_bytes(const char *text, uint64_t *out_bytes);

#endif
