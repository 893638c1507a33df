/* SPDX-License-Identifier: MIT
 * stats_print.h -- shared by the two forms of malloc_stats_print().
 * Layer: compat/jemalloc. Every figure is read by its control name, so a program can read each
 * figure, too. Nothing is allocated. */
#ifndef MW_COMPAT_JEMALLOC_STATS_PRINT_H
#define MW_COMPAT_JEMALLOC_STATS_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Sections of the output. Each is left out by one of jemalloc's letters. */
typedef struct mw_printer {
	void (*write)(void *context, const char *text);
	void *context;
	bool general, merged, destroyed, unmerged; /* g m d a */
	bool bins, large, mutexes, extents, hpa;   /* b l x e h */
} mw_printer_t;

MW_PRINTF(2, 3) void mw_print_text(const mw_printer_t *out, const char *format, ...);

/* Reads a control name; 0 or "": the name does not exist. */
uint64_t mw_print_figure(const char *name);
const char *mw_print_words(const char *name);
/* Writes a MW_MALLCTL_FIXED as jemalloc does: "0.25", in quotes. */
void mw_print_fixed(uint32_t value, char *text, size_t room);

void mw_print_json(const mw_printer_t *out);
void mw_print_tables(const mw_printer_t *out);

#endif
