/* SPDX-License-Identifier: MIT
 * compat_calls.h -- functions of libmallow.so for libraries of lib/mallow/compat/ that have code of
 * their own.
 * Layer: api. These libraries are built with libmallow.so and refuse another version of it. They
 * call through one table, so that libmallow.so exports one name. Code fills the table, so that no
 * process relocates it at its start. Any thread may call, not a signal
 * handler, if not said otherwise. */
#ifndef MW_API_COMPAT_CALLS_H
#define MW_API_COMPAT_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/stats/heap_walk.h"
#include "leak/leak.h"
#include "prof/mappings/mapping_call.h"
#include "prof/sample/program_hooks.h"
#include "state/stats.h"

/* Depth of stacks in gperftools' profiles. */
#define MW_COMPAT_DEPTH_MAX 32

/* Counts of a stack; bytes are those that the program requested. */
typedef struct mw_compat_stack {
	int64_t inuse_objects, inuse_bytes, alloc_objects, alloc_bytes;
	bool is_mapping; /* of calls that map memory: objects are mappings */
	unsigned depth;
	uint64_t pcs[MW_COMPAT_DEPTH_MAX]; /* return addresses, leaf first */
} mw_compat_stack_t;

/* A leaked block that is recorded. */
typedef struct mw_compat_leak {
	uint64_t stack; /* number for stack_at() */
	uint64_t address, requested_bytes;
	uint32_t record, sequence; /* both together are never used again */
	bool is_direct;
} mw_compat_leak_t;

typedef struct mw_compat_leak_check {
	mw_leak_scope_t scope;
	/* Called for each recorded block that is leaked, in a copy of the process: what it stores
	 * is lost, but for memory that is mapped as shared. */
	void (*found)(void *context, const mw_compat_leak_t *leak);
	void *context;
	mw_leak_sums_t sums; /* of all blocks; set by the check */
} mw_compat_leak_check_t;

typedef struct mw_compat_calls {
	const char *version; /* of libmallow.so */

	/* Sets the function that is called at _exit(2), also in signal handlers; NULL: none. */
	void (*at_leave)(void (*function)(void));
	/* Returns whether the calling thread runs a signal handler that interrupted libmallow. */
	bool (*is_interrupted)(void);

	/* Statistics. */
	void (*stats)(uint64_t stats[MW_STAT_COUNT]);
	void (*totals)(mw_heap_totals_t *totals);
	void (*walk)(const mw_heap_walk_sink_t *sink);
	/* Bytes in the calling thread's lists of free blocks. */
	uint64_t (*thread_cache_bytes)(void);
	/* Returns whether the address lies in memory of the heap. */
	bool (*owns)(const void *address);
	/* Returns the bytes that a program may use of a block for such a request; `align` is a
	 * power of two. 0: the request is too large for any block. */
	size_t (*usable_for)(size_t align, size_t bytes);
	/* Returns whether a recorded block starts at the address, which may be any word, and the
	 * bytes that were requested for it. */
	bool (*find_recorded)(const void *address, size_t *requested_bytes);
	/* true: the program freed the block, which its library holds back; it counts as freed.
	 * false: before the library frees it. */
	void (*set_waiting)(void *block, bool waits);
	/* Usable bytes of such blocks, as far as `totals` and `stats` count them as live. */
	size_t (*waiting_bytes)(void);
	/* Puts the calling thread's lists of free blocks back into their pages. */
	void (*flush_thread)(void);

	/* Stacks.  `capture` writes return addresses, leaf first, and returns their number; signal
	 * handlers may call it.  `from_caller`: starts at the caller of malloc() or free()
	 * that called a hook. */
	unsigned (*capture)(uint64_t *pcs, unsigned max_depth, bool from_caller);
	uint64_t (*stack_count)(void);
	/* Returns false if nothing was counted for the stack. */
	bool (*stack_at)(uint64_t number, mw_compat_stack_t *stack);

	/* true: drops the profile, and records every allocation from now on.  false: the rate is as
	 * before.  Calls are not nested. */
	void (*record_all)(bool on);
	/* Sets the function that is called for each sample and each free of one; NULL: none. */
	void (*watch)(mw_on_watched_t *function);
	/* Sets the function that is called when the heap has taken memory into use, at most once
	 * per 64 KiB, inside of malloc(); NULL: none. */
	void (*watch_growth)(mw_on_grew_t *function);
	/* Exempt blocks: mallow_leak_ignore(), and mallow_leak_ignore_begin() or _end(). */
	int (*ignore_leak)(const void *block, int on);
	void (*ignore_leaks)(bool begins);
	/* Checks; returns 0 or an error number as mallow_leak_check(). */
	int (*check_leaks)(mw_compat_leak_check_t *check);
	/* Returns the number of records, and writes the sequence numbers of the first `room`. */
	uint32_t (*record_sequences)(uint32_t *sequences, uint32_t room);

	/* Records the program's mappings from now on, or not (option prof_mappings). Returns
	 * whether they were recorded. */
	bool (*record_mappings)(bool on);
	/* Sets the function that is called before and after each call of the program that changes
	 * its mappings, in signal handlers, too; NULL: none. */
	void (*watch_mappings)(mw_on_mapping_call_t *function);
} mw_compat_calls_t;

/* The table lasts as long as the process. */
MW_EXPORT const mw_compat_calls_t *mallow_compat_calls(void);

#endif
