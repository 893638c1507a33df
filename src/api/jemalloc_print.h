/* SPDX-License-Identifier: MIT
 * jemalloc_print.h -- what the two forms of malloc_stats_print() share.
 * Layer: api.  Every figure is read by its control name, so nothing is shown that cannot be asked
 * for.  Nothing is allocated. */
#ifndef MW_API_JEMALLOC_PRINT_H
#define MW_API_JEMALLOC_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "ctl/mallctl.h"

/* Sections, each left out by a letter of jemalloc's. */
typedef struct mw_printer {
	void (*write)(void *context, const char *text);
	void *context;
	bool general, merged, destroyed, unmerged; /* g m d a */
	bool bins, large, mutexes, extents, hpa;   /* b l x e h */
} mw_printer_t;

MW_PRINTF(2, 3) void mw_print_text(const mw_printer_t *out, const char *format, ...);

/* By name; 0 and "": there is none. */
uint64_t mw_print_figure(const char *name);
const char *mw_print_words(const char *name);
/* A MW_MALLCTL_FIXED as jemalloc writes it: "0.25", in quotes. */
void mw_print_fixed(uint32_t value, char *text, size_t room);

void mw_print_json(const mw_printer_t *out);
void mw_print_tables(const mw_printer_t *out);

#endif
