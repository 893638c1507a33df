/* SPDX-License-Identifier: MIT
 * lsan_options.h -- LSAN_OPTIONS.
 * Layer: compat/lsan. */
#ifndef MW_COMPAT_LSAN_LSAN_OPTIONS_H
#define MW_COMPAT_LSAN_LSAN_OPTIONS_H

#include <limits.h>

/* X(name, default): whole numbers; 0 and 1 also as false, no, true and yes. */
#define MW_LSAN_NUMBERS(X)                                                                         \
	X(detect_leaks, 1)                                                                         \
	X(leak_check_at_exit, 1)                                                                   \
	X(exitcode, 23) /* status when something leaked; 0: the program's own */                   \
	X(max_leaks, 0) /* stacks that are printed; 0: all */                                      \
	X(report_objects, 0)                                                                       \
	X(print_suppressions, 1)                                                                   \
	X(resolution, 0) /* bytes of a frame's address that tell leaks apart; without effect */    \
	X(use_stacks, 1)                                                                           \
	X(use_registers, 1)                                                                        \
	X(use_globals, 1)                                                                          \
	X(use_root_regions, 1)                                                                     \
	X(use_unaligned, 0)                                                                        \
	X(symbolize, 1)                                                                            \
	X(verbosity, 0)

typedef struct mw_lsan_options {
#define MW_LSAN_NUMBER(name, standard) int name;
	MW_LSAN_NUMBERS(MW_LSAN_NUMBER)
#undef MW_LSAN_NUMBER
	char suppressions[PATH_MAX]; /* file; "": none */
	char log_path[PATH_MAX];     /* reports go to this file with ".PID" behind; "": stderr */
	char strip_path_prefix[PATH_MAX];
} mw_lsan_options_t;

void mw_lsan_options_default(mw_lsan_options_t *options);
/* Reads "name=value" with ':', ',' or white space between. Names that are not known are left out,
 * or with verbosity named on stderr. A malformed value ends the program, as there. `text` may be
 * NULL. */
void mw_lsan_options_read(mw_lsan_options_t *options, const char *text);

#endif
