/* SPDX-License-Identifier: MIT
 * call_filter.h -- whether a thread's filters of system calls (seccomp(2)) let a call through.
 * Layer: live/enter.  A filter is a program of classic BPF that the kernel runs for each call; it
 * sees the call's number and arguments, and nothing else of the process. */
#ifndef MW_TOOL_LIVE_ENTER_CALL_FILTER_H
#define MW_TOOL_LIVE_ENTER_CALL_FILTER_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"

/* A system call, and which of its arguments are known. */
typedef struct mw_filtered_call {
	const char *name;
	int number;
	unsigned known; /* bits 0 to 5: arguments */
	uint64_t arguments[6];
} mw_filtered_call_t;

typedef enum mw_filter_answer {
	MW_FILTER_ALLOWS,
	MW_FILTER_FAILS, /* the call returns an error */
	MW_FILTER_KILLS, /* a signal, a tracer or another process is asked */
	/* It depends on arguments that are not known, or the program is damaged or too long. */
	MW_FILTER_UNKNOWN,
} mw_filter_answer_t;

/* Most instructions of a filter (BPF_MAXINSNS), and most filters of a thread that are read. */
enum { MW_FILTER_LENGTH_MAX = 4096, MW_FILTERS_MAX = 64 };

/* Runs one filter on this machine's kind of call. Ends for any program. */
mw_filter_answer_t mw_filter_run(const struct sock_filter *program, size_t length,
				 const mw_filtered_call_t *call);

/* Asks all filters of a thread that this command traces and has stopped about these calls.
 * Returns 0: they let all through; an answer of MW_FILTER_FAILS is fine unless the call is among
 * the first `strict_count`.  -1: a part of a sentence is in `error`. */
int mw_filters_check(int thread, const mw_filtered_call_t *calls, size_t count, size_t strict_count,
		     mw_error_t *error);

#endif
