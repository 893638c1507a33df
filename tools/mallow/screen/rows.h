/* SPDX-License-Identifier: MIT
 * rows.h -- what the live view lists: stacks, functions or modules, from one refresh to the next.
 * Layer: tools/screen. */
#ifndef MW_TOOL_SCREEN_ROWS_H
#define MW_TOOL_SCREEN_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"
#include "screen/names.h"

typedef enum mw_fold {
	MW_FOLD_STACK,
	MW_FOLD_FUNCTION, /* that allocated */
	MW_FOLD_CALLEES,  /* each function of the stack, once: what it and its callees allocated */
	MW_FOLD_MODULE,
	MW_FOLD_COUNT
} mw_fold_t;
typedef enum mw_row_order { MW_ROWS_BY_LIVE, MW_ROWS_BY_RATE, MW_ROWS_BY_GROWTH } mw_row_order_t;

typedef struct mw_live_row {
	char *text;
	int64_t live_bytes;
	int64_t alloc_bytes;      /* since the start of the program */
	double alloc_bytes_per_s; /* over the last seconds */
	int64_t marked_bytes;     /* live at the mark */
} mw_live_row_t;

typedef struct mw_rows mw_rows_t;

mw_rows_t *mw_rows_new(mw_fold_t fold);
void mw_rows_free(mw_rows_t *rows);

/* Takes over a profile with inuse_space and alloc_space, whose names are known. */
void mw_rows_update(mw_rows_t *rows, const mw_profile_t *profile, const mw_names_t *names,
		    double now_s);
/* From now on growth is what was added after this. */
void mw_rows_mark(mw_rows_t *rows);
/* Rows with something in them, whose text contains `filter` (NULL or "": all), largest
 * first, and among equals the one with more live bytes.
 * Valid until the next call here.  Upper and lower case are the same to the filter. */
const mw_live_row_t *const *mw_rows_sorted(mw_rows_t *rows, mw_row_order_t order,
					   const char *filter, size_t *count);

#endif
