/* SPDX-License-Identifier: MIT
 * load.h -- loads a target into a profile in memory, with symbols.
 * Layer: cmd/input.  The folder's door. inputs.h loads several targets as one profile,
 * directory.h a directory of dumps, made_times.h the times of a mark's objects.
 * leak_check_request.h has a process check itself for leaks. selected_processes.h chooses live
 * processes by --all, --name and --cgroup. */
#ifndef MW_TOOL_CMD_INPUT_LOAD_H
#define MW_TOOL_CMD_INPUT_LOAD_H

#include <stdbool.h>

#include "cli/options.h"
#include "formats/state/state_file.h"
#include "formats/write.h"
#include "live/target.h"
#include "model/error.h"
#include "model/profile.h"
#include "symbol/symbolize.h"

/* Rows of the option table for symbols (MW_SYMBOL_OPTIONS), which mw_load_take_options() reads. */
#define MW_SYMBOLIZE_OPTION                                                                        \
	{                                                                                          \
		"symbolize", 0, MW_BOUND(WORDS, symbolize), "HOW",                                 \
			"none|local|fastlocal|remote|debuginfod|force|demangle=none|"              \
			"demangle=full|demangle=templates|demangle=default",                       \
			"how addresses get names. none: they get none; local: from "               \
			"files and their debug files, as the process sees the files, or "          \
			"by their paths; fastlocal: the same; remote: from the server "            \
			"that the profile came from; default: local and remote. "                  \
			"debuginfod: also from the servers in DEBUGINFOD_URLS. force: "            \
			"also replace the names in the profile. demangle=none: names as "          \
			"the linker has them; demangle=full: with parameters and return "          \
			"types; demangle=templates: with template arguments; "                     \
			"demangle=default: without them. Join several words with ':'. "            \
			"Files of another build are never used"                                    \
	}
#define MW_BINARY_PATH_OPTION                                                                      \
	{                                                                                          \
		"binary-path", 0, MW_BOUND(TEXT, binary_path), "DIRS", NULL,                       \
			"directories to search first for binaries: by name, by path, and in a "    \
			"subdirectory named like the build-id; put colons between several (or "    \
			"set PPROF_BINARY_PATH)"                                                   \
	}
#define MW_SYSROOT_OPTION                                                                          \
	{                                                                                          \
		"sysroot", 0, MW_BOUND(TEXT, sysroot), "DIR", NULL,                                \
			"root directory of the profiled system"                                    \
	}

/* Row of the option table for the reader's memory limit, for every subcommand that reads
 * profiles. */
#define MW_MEMORY_OPTION                                                                           \
	{                                                                                          \
		"memory", 0, MW_BOUND(BYTES, memory), "SIZE", NULL,                                \
			"use at most this much memory to read a profile (default 1G)"              \
	}

#define MW_SYMBOL_OPTIONS                                                                          \
	MW_SYMBOLIZE_OPTION, MW_BINARY_PATH_OPTION, MW_SYSROOT_OPTION, MW_MEMORY_OPTION

typedef enum mw_load_symbols {
	MW_LOAD_NO_SYMBOLS,
	MW_LOAD_SYMBOLS,
	MW_LOAD_SYMBOLS_NOTES, /* prints a note on stderr for files that could not be used */
} mw_load_symbols_t;

/* Parts of a state file that are loaded.  Other formats are always loaded whole. */
typedef enum mw_load_detail {
	MW_LOAD_STACKS,
	MW_LOAD_SPLIT, /* samples split by thread, size and lifetime (formats/state/state_file.h) */
} mw_load_detail_t;

/* Rows of the option table for servers (MW_FETCH_OPTIONS), which mw_load_take_options() reads. */
#define MW_SECONDS_OPTION                                                                          \
	{                                                                                          \
		"seconds", 0, MW_BOUND(COUNT, seconds), "N", NULL,                                 \
			"URLs: how long the server collects the profile"                           \
	}
/* Certificates of https:// servers, with pprof's option names. */
#define MW_TLS_OPTIONS                                                                             \
	{"tls-ca", 0,    MW_BOUND(TEXT, tls_ca),                                                   \
	 "FILE",   NULL, "https:// URLs: file of trusted certificates"},                           \
		{"tls-cert", 0,    MW_BOUND(TEXT, tls_cert),                                       \
		 "FILE",     NULL, "https:// URLs: your certificate, if servers ask for one"},     \
	{                                                                                          \
		"tls-key", 0, MW_BOUND(TEXT, tls_key), "FILE", NULL,                               \
			"https:// URLs: the key of your certificate (default: in the same file)"   \
	}
#define MW_TIMEOUT_OPTION                                                                          \
	{                                                                                          \
		"timeout", 0, MW_BOUND(SECONDS, timeout), "TIME", NULL,                            \
			"URLs: how long to wait for the answer, in addition to --seconds "         \
			"(default 60s)"                                                            \
	}

#define MW_FETCH_OPTIONS MW_SECONDS_OPTION, MW_TIMEOUT_OPTION, MW_TLS_OPTIONS

/* Reads the options for symbols and for URLs.  They hold for the rest of this run. */
void mw_load_take_options(const mw_arguments_t *arguments);
void mw_load_take_fetch_options(const mw_arguments_t *arguments);

/* For the rest of this run, limits live processes, state files and marks to live objects
 * allocated in this time (CLOCK_REALTIME).  Other profiles are refused.  0, 0 = no limit. */
void mw_load_set_window(int64_t from_ns, int64_t until_ns);

/* For the rest of this run, the objects of live processes and state files keep the times at which
 * they were allocated (MW_LABEL_MADE). */
void mw_load_keep_times(void);

/* For the rest of this run, names code that has no symbols by its ranges
 * (mw_profile_name_ranges()). */
void mw_load_name_ranges(void);

/* For the rest of this run, loads the CPU time of live processes and state files, not their heap.
 * Other profiles are loaded if they hold CPU time. */
void mw_load_choose_cpu(void);
/* For the rest of this run, loads the CPU time of live processes and state files beside their
 * heap, where there is some. */
void mw_load_add_cpu(void);

/* For the rest of this run, finds out what the resident memory of live processes is used for now;
 * otherwise profiles say what it was used for at the peak. */
void mw_load_add_resident(void);
/* Returns what its resident memory is used for: of a live process now, else at the peak. `snapshot`
 * was read with MW_SNAPSHOT_HEAP_WALK. */
mw_resident_t mw_resident_of_target(const mw_target_t *target, const mw_snapshot_t *snapshot);
/* Returns the name of the memory that the program, or the first of its modules that is known to do
 * so, manages itself (mw_arenas_of()); NULL: none is known. */
const char *mw_arenas_of_snapshot(const mw_snapshot_t *snapshot);
/* Asks a process for a heap walk, because an idle process may have walked its heap long ago, and
 * waits some tenths of a second.  A process that a debugger holds, or whose threads all sleep, does
 * not answer: then the state file keeps the last walk, with its time. */
void mw_heap_walk_request(const mw_target_t *target);

/* Returns the options as symbolize.h takes them.  The caller frees *cache after the last use of
 * the result. */
mw_symbolize_options_t mw_load_symbol_options(char **cache);

/* As mw_load_symbol_options(), without the cache. */
mw_symbolize_options_t mw_load_symbol_places(void);

/* Type of the work on one target.  Returns the exit status, or -1 with `error` filled in. */
typedef int mw_target_work_t(const mw_target_t *target, const void *context, mw_error_t *error);

/* Resolves `text` and runs `work` on the target.  Errors are printed on stderr.  Returns the
 * exit status. */
int mw_on_target(const char *text, mw_target_work_t *work, const void *context);

/* As mw_target_resolve().  Prints the target's note, and the progress of a download, on stderr. */
int mw_load_resolve(const char *text, mw_target_t *out, mw_error_t *error);

/* Loads a target.  Returns 0: the caller frees *out with mw_profile_free(). */
int mw_load(const mw_target_t *target, mw_load_symbols_t symbols, mw_load_detail_t detail,
	    mw_profile_t **out, mw_error_t *error);

/* Looks names up.  `pid` as in mw_symbolize_options_t.  `notes`: prints on stderr which files
 * could not be used. */
void mw_load_symbols(mw_profile_t *profile, uint32_t pid, bool notes);

/* Looks up the names of a profile that was loaded without them.  `program` is the path of the
 * executable; NULL = the path in the profile. */
void mw_load_names(const mw_target_t *target, const char *program, mw_load_symbols_t symbols,
		   mw_profile_t *profile);

/* Returns the format for a file's name: .heap and .heap.gz mean jemalloc's. */
mw_format_t mw_format_of_name(const char *path);

#endif
