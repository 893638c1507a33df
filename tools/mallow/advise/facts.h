/* SPDX-License-Identifier: MIT
 * facts.h -- what the detectors of findings look at: a profile by functions of the program.
 * Layer: advise. */
#ifndef MW_TOOL_ADVISE_FACTS_H
#define MW_TOOL_ADVISE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"
#include "view/select/wrappers.h"

/* Kinds of findings, in the order of kinds.def. */
typedef enum mw_data {
#define MW_FINDING(name, title, of, command) MW_FINDING_##name,
#include "advise/kinds.def"
#undef MW_FINDING
	MW_FINDING_KINDS,
} mw_finding_kind_t;

/* Blocks of one size that a function allocated to make something larger. */
typedef struct mw_fact_rung {
	uint64_t block_bytes;
	int64_t objects, samples;
} mw_fact_rung_t;

/* A function of the program, with the memory that it asked for itself or through wrappers.
 * Numbers are estimates. */
typedef struct mw_fact_function {
	char *name;
	int64_t alloc_objects, alloc_bytes, live_objects, live_bytes;
	int64_t alloc_samples, live_samples;
	int64_t freed_objects, freed_elsewhere;
	int64_t freed_at_once; /* objects that lived less than 10 us, without those of rungs */
	int64_t pinned_bytes;  /* free bytes that its blocks keep resident */
	const char *grows;     /* what it makes larger ("a std::vector"); NULL: nothing */
	mw_fact_rung_t *rungs; /* sizes in between, rising */
	size_t rung_count, rung_capacity;
} mw_fact_function_t;

/* Live blocks of one stack, size and time; a single one if `address` is known. */
typedef struct mw_fact_block {
	size_t function;
	int64_t usable_bytes; /* of one block */
	int64_t requested_bytes;
	int64_t objects, bytes; /* estimates: what a sample stands for */
	int64_t samples;
	int64_t made_ns;         /* CLOCK_REALTIME; 0: not known */
	uint64_t address;        /* 0: not known */
	int64_t untouched_bytes; /* of one block: in kernel pages that were never touched; -1: not
				    known */
	uint64_t content;        /* hash of the contents; 0: not read, or one byte repeated */
} mw_fact_block_t;

/* Stacks of threads that were started in one function. */
typedef struct mw_fact_stacks {
	char *function; /* of the program; NULL: not known */
	char name[16];  /* of one of these threads */
	uint64_t threads, resident_bytes, largest_bytes;
} mw_fact_stacks_t;

typedef struct mw_facts {
	mw_fact_function_t *functions;
	size_t function_count, function_capacity;
	mw_fact_block_t *blocks;
	size_t block_count, block_capacity;
	mw_fact_stacks_t *stacks;
	size_t stack_count, stack_capacity;
	int64_t alloc_objects, alloc_bytes, live_bytes, freed_objects; /* sums of all functions */
	int64_t resident_bytes;                                        /* 0: not known */
	int64_t cpu_ns;    /* CPU time of the process, else the time that the profile covers */
	bool cpu_is_known; /* it is CPU time */
	/* The profile's time and the time from which on it counts; 0: not known. */
	int64_t time_ns, began_ns;
	/* Free memory that was resident before and after a time in which the process allocated
	 * nothing; 0: none was, or it is not known. */
	int64_t kept_bytes, kept_ns;
	/* By the walk of the heap: blocks in use, and resident free memory between them. */
	int64_t used_bytes, free_between_bytes;
	/* How much more was in use after three quarters of the time than after the first; 0: not
	 * more, or not known. */
	int64_t grown_bytes;
	/* The memory that the program mapped itself, if that is much of the resident memory; else
	 * 0.
	 */
	int64_t mapped_bytes;
	const char *mapped_arenas; /* see mw_arenas_of() */
	bool mapped_by_known;      /* the profile has stacks for it */
	/* Why a kind cannot be answered; NULL: it can. */
	const char *unanswered[MW_FINDING_KINDS];
} mw_facts_t;

/* Returns the target of the call at a location ("realloc"), or NULL. */
typedef const char *mw_fact_callee_t(void *context, uint32_t location);

/* Fills in functions, blocks, sums and times from a profile with names.  Blocks need labels, as
 * mw_profile_from_snapshot() makes them with MW_SNAPSHOT_RECORDS; addresses and times need
 * keeps_addresses and keeps_times.  Sets `unanswered` of the kinds that the profile has no values
 * for.  `callee` may be NULL.  The caller calls mw_facts_free(). */
void mw_facts_make(mw_facts_t *facts, mw_profile_t *profile, mw_fact_callee_t *callee,
		   void *context);
void mw_facts_free(mw_facts_t *facts);

/* Returns the outermost function of a sample that is the program's own: where its thread started.
 * NULL: none has a name.  Valid as long as the profile, which is that of `wrappers`. */
const char *mw_fact_thread_start(mw_wrappers_t *wrappers, const mw_profile_t *profile,
				 const mw_sample_t *sample);

#endif
