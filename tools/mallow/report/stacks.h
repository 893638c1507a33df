/* SPDX-License-Identifier: MIT
 * stacks.h -- all that is known of each stack, one after the other.
 * Layer: tools/report. */
#ifndef MW_TOOL_REPORT_STACKS_H
#define MW_TOOL_REPORT_STACKS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/error.h"
#include "model/profile.h"
#include "report/report.h"

typedef enum mw_share_kind {
	MW_SHARE_SIZES,      /* of what is in use, by the size of each object */
	MW_SHARE_THREADS,    /* of what is in use, by the thread that made it */
	MW_SHARE_AGES,       /* of what is in use, by how long ago it was made */
	MW_SHARE_MADE_SIZES, /* of all that was allocated, by the size of each object */
	MW_SHARE_LIFETIMES,  /* of what was freed */
	MW_SHARE_KINDS,
} mw_share_kind_t;

typedef struct mw_share {
	const char *name; /* of the thread, age or lifetime; NULL: a size */
	int64_t number;   /* bytes of a size, id of a thread */
	int64_t objects;
	int64_t bytes; /* 0 for lifetimes */
} mw_share_t;

typedef struct mw_stack {
	size_t sample;   /* one that has its frames */
	int64_t *values; /* type_count sums */
	double variance; /* of the type that was asked for */
	/* Largest first, lifetimes in rising order; 512 of a kind at most. */
	mw_share_t *shares[MW_SHARE_KINDS];
	size_t share_counts[MW_SHARE_KINDS];
} mw_stack_t;

typedef struct mw_stacks {
	mw_stack_t *stacks; /* largest value of `type` first; those without one are left out */
	size_t count;
	int64_t total;
	size_t type;
} mw_stacks_t;

/* `sample_type` NULL: the profile's default.  The strings stay the profile's. */
int mw_stacks_init(mw_stacks_t *stacks, const mw_profile_t *profile, const char *sample_type,
		   mw_error_t *error);
void mw_stacks_release(mw_stacks_t *stacks);

/* The sum of the named type over the stack's samples; -1: the profile has no such type. */
int64_t mw_stack_value(const mw_profile_t *profile, const mw_stack_t *stack, const char *type);

/* As text, under the header of mw_report_print(). */
int mw_report_print_stacks(FILE *out, const mw_profile_t *profile,
			   const mw_report_options_t *options, mw_error_t *error);

#endif
