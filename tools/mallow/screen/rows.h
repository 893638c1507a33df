/* SPDX-License-Identifier: MIT
 * rows.h -- rows of the live view: stacks, functions or modules, updated at each refresh.
 * Layer: screen. */
#ifndef MW_TOOL_SCREEN_ROWS_H
#define MW_TOOL_SCREEN_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"
#include "screen/live_names.h"

typedef enum mw_fold {
	MW_FOLD_STACK,
	MW_FOLD_FUNCTION, /* the function that allocated */
	/* Every function of the stack, once: memory that it and its callees allocated. */
	MW_FOLD_CALLEES,
	MW_FOLD_MODULE,
	MW_FOLD_COUNT
} mw_fold_t;
typedef enum mw_row_order { MW_ROWS_BY_LIVE, MW_ROWS_BY_RATE, MW_ROWS_BY_GROWTH } mw_row_order_t;

/* Points of a row's history.  When all are used, every second point is removed. */
#define MW_ROW_POINTS 64

typedef struct mw_live_row {
	char *text;
	int64_t live_bytes;
	int64_t alloc_bytes;           /* since the start of the program */
	double alloc_bytes_per_s;      /* over the last seconds */
	int64_t marked_bytes;          /* bytes in use at the mark */
	int64_t points[MW_ROW_POINTS]; /* bytes in use since the view began, oldest first */
	size_t point_count;
} mw_live_row_t;

typedef struct mw_rows mw_rows_t;

mw_rows_t *mw_rows_new(mw_fold_t fold);
void mw_rows_free(mw_rows_t *rows);

/* Takes the stacks in focus (live_names.h) of a profile with inuse_space and alloc_space, whose
 * names are known; of another profile the default type stands for both. */
void mw_rows_update(mw_rows_t *rows, const mw_profile_t *profile, mw_names_t *names, double now_s);
/* Sets the mark: growth is the memory added after this call. */
void mw_rows_mark(mw_rows_t *rows);
/* Returns the sample of the stack with most live bytes among the stacks of the row;
 * MW_ROWS_NO_SAMPLE = none. */
#define MW_ROWS_NO_SAMPLE SIZE_MAX
size_t mw_rows_largest_sample(const mw_rows_t *rows, const char *text, const mw_profile_t *profile,
			      mw_names_t *names);
/* Returns the rows that are not empty, largest first; rows with equal values are ordered by live
 * bytes.  Valid until the next call of a function of this header. */
const mw_live_row_t *const *mw_rows_sorted(mw_rows_t *rows, mw_row_order_t order, size_t *count);

#endif
