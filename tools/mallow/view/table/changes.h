/* SPDX-License-Identifier: MIT
 * changes.h -- the table of a difference: how much each function grew, how fast, and how likely
 * sampling alone explains the growth.
 * Layer: view/table. */
#ifndef MW_TOOL_VIEW_TABLE_CHANGES_H
#define MW_TOOL_VIEW_TABLE_CHANGES_H

#include "view/common/view.h"

/* Growth of one function between the first and the last profile. */
typedef struct mw_change {
	const char *name;
	int64_t flat;    /* growth of what the function allocated itself */
	int64_t cum;     /* growth of what the function and its callees allocated */
	double fitted;   /* growth of `flat` by least squares; of two profiles the same as `flat` */
	double variance; /* sampling variance of `fitted`; 0 = exact, or not known */
	unsigned grew;   /* number of steps from one profile to the next in which `flat` grew */
} mw_change_t;

typedef struct mw_changes {
	mw_change_t *rows;
	size_t count;
	mw_change_t whole; /* the selection as a whole; its name is not used */
	double seconds;    /* from the first profile to the last; 0 = not known */
	unsigned steps;    /* number of steps from one profile to the next */
	bool has_variance; /* the profiles tell how accurate they are */
	size_t dropped;    /* number of functions that changed too little to be shown */
} mw_changes_t;

/* Returns the probability that sampling alone makes a change of this size if nothing changed; 0
 * for an exact change. */
double mw_change_p_value(const mw_change_t *change);

/* Prints the rows in their order, as a table or, if view->json, as JSON. */
void mw_changes_print(const mw_view_t *view, const mw_changes_t *changes, const char *unit);

#endif
