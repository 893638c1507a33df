/* SPDX-License-Identifier: MIT
 * lock_table.h -- a table of locks: how long threads waited for each, which threads these were, and
 * which threads held it.
 * Layer: cmd/cpu.  Samples of wall-clock time tell what the threads do. */
#ifndef MW_TOOL_CMD_CPU_LOCK_TABLE_H
#define MW_TOOL_CMD_CPU_LOCK_TABLE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/cpu/lock_waits.h"
#include "model/profile.h"

enum { MW_LOCK_NAME_BYTES = 256 };

/* A thread that waited for a lock, or that held one for which others waited. */
typedef struct mw_lock_thread {
	int thread;       /* 0: not known */
	uint64_t looks;   /* that saw somebody wait because of it */
	const char *name; /* NULL: not known; belongs to the profile */
	/* The function of the program in which the thread was most often; "": not known. */
	char function[MW_LOCK_NAME_BYTES];
} mw_lock_thread_t;

typedef struct mw_lock_threads {
	mw_lock_thread_t *all; /* those with most looks first */
	size_t count, capacity;
} mw_lock_threads_t;

typedef struct mw_lock {
	uint64_t address, looks;
	uint32_t location; /* of the address, in the profile */
	const char *name;  /* of the variable; NULL: not known; belongs to the profile */
	mw_lock_threads_t waiters, holders;
} mw_lock_t;

typedef struct mw_lock_table {
	mw_lock_t *locks; /* those that were waited for longest first */
	size_t count, capacity;
	uint64_t looks;
	double seconds;         /* that the looks cover */
	double stopped_seconds; /* in which the process was stopped, beside these */
} mw_lock_table_t;

/* Sums up waits by lock, and adds the locks' addresses to a profile of wall-clock time, to be named
 * with its code. */
void mw_lock_table_make(mw_lock_table_t *table, const mw_lock_wait_t *waits, size_t count,
			mw_profile_t *profile);
/* Fills in names, when the profile has them. */
void mw_lock_table_name(mw_lock_table_t *table, mw_profile_t *profile);
void mw_lock_table_release(mw_lock_table_t *table);

void mw_lock_table_print(FILE *out, const mw_lock_table_t *table);
/* Returns the table as JSON: doc/reference/mallow.schema.json, "locks". */
json_t *mw_lock_table_json(const mw_lock_table_t *table, const mw_profile_t *profile);

#endif
