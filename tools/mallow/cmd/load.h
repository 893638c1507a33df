/* SPDX-License-Identifier: MIT
 * load.h -- from a target to a profile in memory, with symbols.
 * Layer: cmd. */
#ifndef MW_CMD_LOAD_H
#define MW_CMD_LOAD_H

#include <stdbool.h>

#include "cmd/options.h"
#include "live/target.h"
#include "model/error.h"
#include "model/profile.h"
#include "symbol/symbolize.h"
#include "write/write.h"

/* Where symbols come from: MW_SYMBOL_OPTIONS, which mw_load_take_options() takes. */
#define MW_SYMBOLIZE_OPTION                                                                        \
	{                                                                                          \
		"symbolize", 0, MW_OPTION_WORDS, "HOW",                                            \
			"none|local|fastlocal|remote|debuginfod|force|demangle=none|"              \
			"demangle=full|demangle=templates|demangle=default",                       \
			"names from nothing; from files here, as the process sees them or by "     \
			"their paths, and their debug files (local); from the server that a "      \
			"profile came from (remote); unless given, both; debuginfod: also from "   \
			"the servers in DEBUGINFOD_URLS. Files of another build are never used. "  \
			"force: also what has names; demangle=none: names as the linker has "      \
			"them; demangle=full: with parameters and return types; templates and "    \
			"default: with template arguments, without these. Several with ':' "       \
			"between"                                                                  \
	}
#define MW_BINARY_PATH_OPTION                                                                      \
	{                                                                                          \
		"binary-path", 0, MW_OPTION_TEXT, "DIRS", NULL,                                    \
			"where to look for binaries first: by name, path, or in a folder named "   \
			"like the build-id; directories between colons (or PPROF_BINARY_PATH)"     \
	}
#define MW_SYSROOT_OPTION                                                                          \
	{                                                                                          \
		"sysroot", 0, MW_OPTION_TEXT, "DIR", NULL,                                         \
			"where the root directory of the profiled system is"                       \
	}

#define MW_SYMBOL_OPTIONS MW_SYMBOLIZE_OPTION, MW_BINARY_PATH_OPTION, MW_SYSROOT_OPTION

typedef enum mw_load_symbols {
	MW_LOAD_NO_SYMBOLS,
	MW_LOAD_SYMBOLS,
	MW_LOAD_SYMBOLS_NOTES, /* says on stderr which files could not be used */
} mw_load_symbols_t;

/* What comes of a state file; other profiles are as they are. */
typedef enum mw_load_detail {
	MW_LOAD_STACKS,
	MW_LOAD_SPLIT, /* by thread, size and lifetime: read/state_file.h */
} mw_load_detail_t;

/* Of a server's profile: MW_FETCH_OPTIONS, which mw_load_take_fetch_options() takes. */
#define MW_SECONDS_OPTION                                                                          \
	{ "seconds", 0, MW_OPTION_COUNT, "N", NULL, "of a URL: let the server collect for so long" }
/* The certificates of https:// servers, under the names pprof gives them. */
#define MW_TLS_OPTIONS                                                                             \
	{"tls-ca", 0, MW_OPTION_TEXT, "FILE", NULL, "certificates to trust, for https://"},        \
		{"tls-cert", 0,    MW_OPTION_TEXT,                                                 \
		 "FILE",     NULL, "the certificate to show to servers that ask for one"},         \
	{                                                                                          \
		"tls-key", 0, MW_OPTION_TEXT, "FILE", NULL, "its key (default: in the same file)"  \
	}
#define MW_TIMEOUT_OPTION                                                                          \
	{                                                                                          \
		"timeout", 0, MW_OPTION_SECONDS, "TIME", NULL,                                     \
			"of a URL: how long to wait for the answer, beyond --seconds (60s)"        \
	}

#define MW_FETCH_OPTIONS MW_SECONDS_OPTION, MW_TIMEOUT_OPTION, MW_TLS_OPTIONS

/* What they say, for the rest of this run: how names are found, and how URLs are fetched. */
void mw_load_take_options(const mw_arguments_t *arguments);
void mw_load_take_fetch_options(const mw_arguments_t *arguments);

/* Those as symbolize.h wants them; the caller frees *cache when it is done with them. */
mw_symbolize_options_t mw_load_symbol_options(char **cache);

/* The same without the cache. */
mw_symbolize_options_t mw_load_symbol_places(void);

/* What a subcommand does with one target.  Returns the exit status, or -1 with `error` filled in.
 */
typedef int mw_target_work_t(const mw_target_t *target, const void *context, mw_error_t *error);

/* Resolves `text` and does `work` on it; what goes wrong is said on stderr.  Returns the exit
 * status. */
int mw_on_target(const char *text, mw_target_work_t *work, const void *context);

/* mw_target_resolve(), with its note and the progress of a download on stderr. */
int mw_load_resolve(const char *text, mw_target_t *out, mw_error_t *error);

/* 0: the caller frees *out with mw_profile_free(). */
int mw_load(const mw_target_t *target, mw_load_symbols_t symbols, mw_load_detail_t detail,
	    mw_profile_t **out, mw_error_t *error);

/* The symbols alone.  `pid` as in mw_symbolize_options_t; `notes`: says on stderr which files could
 * not be used. */
void mw_load_symbols(mw_profile_t *profile, uint32_t pid, bool notes);

/* The names of a profile that was loaded without; `program`: the executable, which is not where the
 * profile says; NULL: it is. */
void mw_load_names(const mw_target_t *target, const char *program, mw_load_symbols_t symbols,
		   mw_profile_t *profile);

/* The format a file's name asks for: .heap (also .heap.gz) is jemalloc's. */
mw_format_t mw_format_of_name(const char *path);

#endif
