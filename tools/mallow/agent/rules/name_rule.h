/* SPDX-License-Identifier: MIT
 * name_rule.h -- one rule that names the service of a process, its version or a label, or that has
 * the agent leave the process alone.
 * Layer: agent/rules.  A rule takes a text from a source, such as the systemd unit, compares it
 * with a pattern, and makes the name of the parts that the pattern found. */
#ifndef MW_TOOL_AGENT_RULES_NAME_RULE_H
#define MW_TOOL_AGENT_RULES_NAME_RULE_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/rules/line_words.h"
#include "model/error.h"

/* What a rule is for. */
typedef enum mw_rule_field {
	MW_RULE_SERVICE,
	MW_RULE_VERSION,
	MW_RULE_LABEL,
	MW_RULE_IGNORE,
	MW_RULE_FIELDS,
} mw_rule_field_t;

/* Where the text comes from. */
typedef enum mw_rule_source {
	MW_SOURCE_TEXT,            /* the rule itself */
	MW_SOURCE_PROGRAM,         /* base name of the executable */
	MW_SOURCE_COMMAND,         /* the command line, words separated by blanks */
	MW_SOURCE_UNIT,            /* the systemd service, without ".service" */
	MW_SOURCE_CGROUP,          /* path of the control group */
	MW_SOURCE_CONTAINER_LABEL, /* a label or annotation of the container */
	MW_SOURCE_FILE,            /* first line of a file that the process sees */
	MW_SOURCE_FILE_KEY,        /* value of KEY="VALUE" in such a file (Kubernetes) */
	MW_RULE_SOURCES,
} mw_rule_source_t;

typedef struct mw_name_rule {
	mw_rule_field_t field;
	mw_rule_source_t source;
	char *label;   /* key of the label; NULL: another field */
	char *text;    /* the text, label's name or path of the file; NULL: the source needs none */
	char *key;     /* of MW_SOURCE_FILE_KEY, else NULL */
	void *pattern; /* compiled by PCRE2; NULL: the whole text counts */
	char *form;    /* the name, with $0 to $9 for what the pattern found and $$ for a dollar */
} mw_name_rule_t;

/* Makes a rule of the words of a line: FIELD [LABEL] SOURCE [ARGUMENT]... [PATTERN [FORM]]. Returns
 * 0: the caller calls mw_name_rule_release(). */
int mw_name_rule_make(const mw_line_words_t *words, mw_name_rule_t *out, mw_error_t *error);
void mw_name_rule_release(mw_name_rule_t *rule);
/* Returns whether the first word of a line is a field of rules. */
bool mw_name_rule_is_field(const char *word);

/* Applies pattern and form to a text from the rule's source.  Returns the name, which the caller
 * frees; NULL: the pattern does not match, or the name is empty. */
char *mw_name_rule_apply(const mw_name_rule_t *rule, const char *text);

#endif
