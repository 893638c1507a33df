/* SPDX-License-Identifier: MIT
 * lsan_report.h -- which leaks are suppressed, and LeakSanitizer's report of the others.
 * Layer: compat/lsan. One thread at a time. */
#ifndef MW_COMPAT_LSAN_LSAN_REPORT_H
#define MW_COMPAT_LSAN_LSAN_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "compat/leaks/leak_search.h"
#include "compat/lsan/lsan_options.h"

/* Exempts suppressed blocks from checks, with all that they lead to. Returns whether there were
 * any: then the leaks are to be searched again. */
bool mw_lsan_suppress(const mw_leaks_t *leaks);
/* Prints the leaks, if there are any, and the suppressions that were used. */
void mw_lsan_report(const mw_lsan_options_t *options, const mw_leaks_t *leaks);

/* Prints to where reports go. */
MW_PRINTF(1, 2) void mw_lsan_print(const char *format, ...);
/* Prints a stack as in a report: return addresses, leaf first. */
void mw_lsan_print_stack(const uint64_t *pcs, unsigned depth);
/* The three functions do the work of __sanitizer_set_report_path(), __sanitizer_set_report_fd() and
 * __sanitizer_get_report_path(). A path or file that they set replaces log_path. */
void mw_lsan_report_set_path(const char *path);
void mw_lsan_report_set_file(int file);
const char *mw_lsan_report_path(void);

#endif
