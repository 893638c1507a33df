/* SPDX-License-Identifier: MIT
 * show.h -- times, rates and flags as people read them, and what several subcommands share.
 * Layer: cmd.  Bytes and counts: report/report.h. */
#ifndef MW_CMD_SHOW_H
#define MW_CMD_SHOW_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "model/error.h"
#include "model/profile.h"

enum { MW_SHOW_BYTES = 48 };

uint64_t mw_now_ns(void);

/* Each fills in `buffer` and returns it. */

/* Local time: "12:03:04" today, else "2026-11-19 12:03:04"; "?" for 0. */
const char *mw_show_time(uint64_t realtime_ns, char buffer[MW_SHOW_BYTES]);
/* "5 ms", "3.2 s", "12 min", "3 h 12 min", "5 d 2 h". */
const char *mw_show_duration(uint64_t ns, char buffer[MW_SHOW_BYTES]);
/* "512 KiB", or "1 (exact)". */
const char *mw_show_rate(uint64_t mean_bytes, char buffer[MW_SHOW_BYTES]);

/* Control characters of a text that comes from a process become '?'. */
const char *mw_show_text(const char *text, char *buffer, size_t size);

/* What the bit number `bit` of live.flags means for the reader of a profile, or NULL for those that
 * are not about something missing. */
const char *mw_flag_text(unsigned bit);
/* One word for --json. */
const char *mw_flag_name(unsigned bit);
/* A line for each flag that is about something missing. */
void mw_show_flags(FILE *out, const char *indent, uint32_t flags);

/* A text that comes from a process as JSON: in what is not UTF-8, bytes outside ASCII become '?'.
 */
json_t *mw_json_text(const char *text);

/* Prints `value` and gives it back.  Returns the exit status. */
int mw_print_json(json_t *value);

/* Prints `text` in lines of at most `columns`, the first of which begins at column `first`, the
 * others at `indent`.  A newline in the text is kept. */
void mw_print_wrapped(FILE *out, const char *text, int first, int indent, int columns);

/* "<directory>/mallow.<program>.<pid>.<time><suffix>", the caller frees it.  Without `directory`
 * (NULL) the name alone.  What the program's name holds besides letters, digits, '.', '_', '+' and
 * '-' becomes '_'.  `pid` is the one seen from here: in containers, that of most is 1. */
char *mw_profile_path(const char *directory, const char *program, unsigned pid,
		      uint64_t realtime_ns, const char *suffix);

#endif
