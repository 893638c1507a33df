/* SPDX-License-Identifier: MIT
 * print.h -- times, rates and flags as people read them, and values that several subcommands
 * print.
 * Layer: cli.  Functions for bytes and counts: report/text/units.h. */
#ifndef MW_TOOL_CLI_PRINT_H
#define MW_TOOL_CLI_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/profile.h"

enum { MW_SHOW_BYTES = 64 };

uint64_t mw_now_ns(void);

/* Each function fills in `buffer` and returns it. */

/* Local time: "12:03:04" if the time is today, otherwise "2026-11-19 12:03:04"; "?" for 0. */
const char *mw_show_time(uint64_t realtime_ns, char buffer[MW_SHOW_BYTES]);
/* Returns a count of the state file, which has 16 bits behind the point, as a whole number. */
int64_t mw_whole_count(int64_t count_q16);
/* A duration: "5 ms", "3.2 s", "12 min", "3 h 12 min", "5 d 2 h". */
const char *mw_show_duration(uint64_t ns, char buffer[MW_SHOW_BYTES]);
/* A sampling rate: "512 KiB", or "1 (exact)". */
const char *mw_show_rate(uint64_t mean_bytes, char buffer[MW_SHOW_BYTES]);

/* Text that comes from a process, with unsafe characters (model/text.h) replaced by '?'. */
const char *mw_show_text(const char *text, char *buffer, size_t size);
/* A command line: `args` of `capacity` bytes, words that end in NUL and are padded with NULs, with
 * a space between them. Words may be empty; the last non-empty word ends the line. */
const char *mw_show_arguments(const char *args, size_t capacity, char *buffer, size_t size);

/* Says what is missing in a profile whose live.flags has bit number `bit`.  NULL: the bit does
 * not mean that something is missing. */
const char *mw_flag_text(unsigned bit);
/* Returns the flag's name in JSON, one word. */
const char *mw_flag_name(unsigned bit);
/* Prints a line for each flag that says that something is missing. */
void mw_show_flags(FILE *out, const char *indent, uint32_t flags);

/* Returns text of a process as a JSON string.  If the text is not UTF-8, unsafe characters
 * (model/text.h) become '?'. */
json_t *mw_json_text(const char *text);

/* Returns an object that says what resident memory is used for: bytes, most_bytes, at ("now",
 * "peak"), parts by name, block_bytes, touched_bytes, arenas, text.  NULL: the use is not known.
 * `arenas`: a result of mw_arenas_of(). */
json_t *mw_resident_json(const mw_resident_t *resident, const char *arenas);

/* Prints `value` with control characters escaped, and frees it.  False: memory ran out. */
bool mw_json_print(FILE *out, json_t *value);
/* Prints `value` on standard output and frees it.  Returns the exit status. */
int mw_print_json(json_t *value);
/* Prints `value` in one line, for output of many numbers, and frees it.  Returns the exit status.
 */
int mw_print_json_compact(json_t *value);

/* Prints `text` in lines of at most `columns` columns.  The first line begins at column `first`,
 * the others at `indent`.  Newlines in the text are kept. */
void mw_print_wrapped(FILE *out, const char *text, int first, int indent, int columns);

/* Returns "<directory>/mallow.<program>.<pid>.<time><suffix>", or the name alone if `directory`
 * is NULL. Characters of the program's name other than letters, digits, '.', '_', '+' and '-'
 * become '_'.  `pid` is the pid that the caller sees: inside containers most programs have pid
 * 1.  The caller frees the result. */
char *mw_profile_path(const char *directory, const char *program, unsigned pid,
		      uint64_t realtime_ns, const char *suffix);

#endif
