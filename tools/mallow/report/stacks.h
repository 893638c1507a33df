/* SPDX-License-Identifier: MIT
 * stacks.h -- all information on each stack.
 * Layer: report. */
#ifndef MW_TOOL_REPORT_STACKS_H
#define MW_TOOL_REPORT_STACKS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/error.h"
#include "model/profile.h"
#include "report/interval.h"
#include "report/report.h"

typedef enum mw_share_kind {
	MW_SHARE_SIZES,      /* memory in use, by the size of each object */
	MW_SHARE_THREADS,    /* memory in use, by the allocating thread */
	MW_SHARE_AGES,       /* memory in use, by its age */
	MW_SHARE_MADE_SIZES, /* all allocations, by the size of each object */
	MW_SHARE_LIFETIMES,  /* freed objects, by their lifetime */
	MW_SHARE_KINDS,
} mw_share_kind_t;

typedef struct mw_share {
	const char *name; /* name of the thread, age or lifetime; NULL = the share is a size */
	int64_t number;   /* size in bytes, or id of the thread */
	int64_t objects;
	int64_t bytes; /* 0 for lifetimes */
} mw_share_t;

typedef struct mw_stack {
	size_t sample;      /* a sample that has the stack's frames */
	int64_t *values;    /* sums by type; type_count numbers */
	mw_spread_t spread; /* uncertainty of the requested type */
	/* Shares, largest first, at most 512 of a kind.  Lifetimes are in rising order. */
	mw_share_t *shares[MW_SHARE_KINDS];
	size_t share_counts[MW_SHARE_KINDS];
} mw_stack_t;

typedef struct mw_stacks {
	/* Stacks by their value of `type`, largest first; stacks without a value are left out. */
	mw_stack_t *stacks;
	size_t count;
	int64_t total;
	size_t type;
} mw_stacks_t;

/* Adds up the stacks.  `sample_type` NULL means the profile's default.  Strings belong to the
 * profile. */
int mw_stacks_init(mw_stacks_t *stacks, const mw_profile_t *profile, const char *sample_type,
		   mw_error_t *error);
void mw_stacks_release(mw_stacks_t *stacks);

/* Returns the sum of the named type over the stack's samples; -1 = the profile has no such type. */
int64_t mw_stack_value(const mw_profile_t *profile, const mw_stack_t *stack, const char *type);

/* Prints one line for a kind of shares; nothing if there are none. */
void mw_stack_print_shares(FILE *out, const mw_stack_t *stack, mw_share_kind_t kind,
			   const char *title);
/* Prints the frames of a sample, leaf first, each in a line; `by_line` and `columns` as in
 * mw_report_options_t. */
void mw_stack_print_frames(FILE *out, const mw_profile_t *profile, const mw_sample_t *sample,
			   bool by_line, int columns);

/* Prints the stacks as text after the header of mw_report_print(). */
int mw_report_print_stacks(FILE *out, const mw_profile_t *profile,
			   const mw_report_options_t *options, mw_error_t *error);

#endif
