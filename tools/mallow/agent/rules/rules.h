/* SPDX-License-Identifier: MIT
 * rules.h -- the configuration file of `mallow agent`.
 * Layer: agent/rules.  The folder's door.  rules.c reads the file, whose lines line_words.h
 * divides; name_rule.h is one rule for names; name_sources.h reads what the rules ask of a
 * process, and service_name.h applies them all.
 *
 * A line is a setting and its values, or a rule; '#' begins a comment.  Each mistake is reported
 * with file and line, and the whole file is read in any case, so that one run names all mistakes.
 */
#ifndef MW_TOOL_AGENT_RULES_RULES_H
#define MW_TOOL_AGENT_RULES_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/rules/name_rule.h"

/* Most bytes of a configuration file, and of one of its lines. */
#define MW_RULES_BYTES_MAX ((size_t)1 << 20)
#define MW_RULES_LINE_BYTES_MAX 4096
/* Most rules for names. */
#define MW_RULES_MAX 256
/* Most keys of labels: as many as an identity has (store/profile_store.h). */
#define MW_RULES_LABELS_MAX 32

typedef struct mw_rules {
	/* URL of the receiver; NULL: the file names none. */
	char *push;
	/* Files for the receiver's access; NULL: not given. */
	char *password_file, *token_file, *tls_ca, *tls_cert, *tls_key;
	char *user;   /* for the receiver; NULL: none */
	char *tenant; /* of the receiver; NULL: none */
	char *host;   /* name of this host; NULL: the system's */
	char *folder; /* of spool and memory; NULL: the default */
	/* "HOST:PORT" of the page with the agent's own metrics; NULL: none. */
	char *metrics;
	uint64_t period_ns; /* between two pushes of a process */
	uint64_t scan_ns;   /* between two searches for processes */
	uint64_t limit_ns;  /* longest time that reading one process may take */
	uint64_t spool_bytes;
	uint64_t memory_bytes; /* most that reading one profile may take */
	uint32_t cpu_hz;       /* samples per second of CPU time; 0: none are taken */
	double cpu_share;      /* of the time, while CPU time is sampled */
	unsigned workers;      /* most processes that are read at once */
	bool has_symbols;      /* profiles get names of functions on this host */
	uint64_t hash;         /* of the text of the configuration */
	mw_name_rule_t *names;
	size_t name_count, name_capacity;
} mw_rules_t;

/* Is given each mistake: "FILE:LINE: what: why; what to do", one line. */
typedef void mw_rules_complain_t(void *context, const char *line);

/* Sets the defaults: a period of 15 minutes, no receiver.  The caller calls mw_rules_release(). */
void mw_rules_init(mw_rules_t *rules);
void mw_rules_release(mw_rules_t *rules);

/* Reads a configuration file into rules that were initialised.  Returns the number of mistakes,
 * each of which `complain` was told; a file that cannot be read is one. */
unsigned mw_rules_read(mw_rules_t *rules, const char *path, mw_rules_complain_t *complain,
		       void *context);
/* As mw_rules_read(), of a text.  `name`: of the file, for messages. */
unsigned mw_rules_read_text(mw_rules_t *rules, const char *name, const char *text, size_t length,
			    mw_rules_complain_t *complain, void *context);

#endif
