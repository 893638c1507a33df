/* SPDX-License-Identifier: MIT
 * checker_settings.h -- HEAPCHECK and the variables HEAP_CHECK_...
 * Layer: compat/gperftools/checker. */
#ifndef MW_COMPAT_GPERFTOOLS_CHECKER_CHECKER_SETTINGS_H
#define MW_COMPAT_GPERFTOOLS_CHECKER_CHECKER_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mw_gp_checker_settings {
	bool checks_at_end;    /* not in mode local */
	bool ignores_earlier;  /* mode minimal: blocks of constructors do not count */
	bool skips_threads;    /* registers and stacks keep no block */
	bool skips_data;       /* writable data keeps no block */
	bool shows_addresses;  /* prints the address of each block, and aborts at the end */
	bool tries_unaligned;  /* after leaks, looks for unaligned pointers, too */
	size_t step_bytes;     /* places of pointers */
	int64_t max_offset;    /* of addresses inside blocks; -1: any */
	int64_t max_leaks;     /* stacks that are shown; 0 or less: all */
	char prefix[PATH_MAX]; /* of files: directory, program, process id */
} mw_gp_checker_settings_t;

/* Reads the variables. Returns false if HEAPCHECK is not set, or empty. Ends the program if it
 * names no mode. */
bool mw_gp_checker_read_settings(mw_gp_checker_settings_t *settings);

#endif
