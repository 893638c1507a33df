/* SPDX-License-Identifier: MIT
 * compat_calls.h -- functions of libmallow.so for libraries of lib/mallow/compat/ that have code of
 * their own.
 * Layer: api, the door of this folder. Reading order: the tables here, from the last to the first;
 * compat_calls.c fills the whole one, compat_blocks.c and compat_arenas.c the other two
 * (compat_parts.h). These libraries are built with libmallow.so and refuse another version of it.
 * They call through one table, so that libmallow.so exports one name. Code fills the table, so that
 * no process relocates it at its start. Any thread may call, not a signal handler, if not said
 * otherwise. */
#ifndef MW_API_COMPAT_CALLS_H
#define MW_API_COMPAT_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/arena/extent.h"
#include "heap/layout/size_class.h"
#include "heap/stats/arena_walk.h"
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

/* Blocks.  Failures set errno to ENOMEM and return NULL; otherwise errno stays.  None of these
 * calls a function that the program put in front of libmallow's malloc. */
#define MW_COMPAT_NO_CLAIM SIZE_MAX
typedef struct mw_compat_blocks {
	bool is_hardened; /* blocks have the requested size, and are checked */
	/* Serves a request from the thread's list; NULL: it is empty, errno stays. */
	void *(*alloc_at_once)(size_t bytes);
	void *(*alloc)(size_t bytes);
	/* Contents are zero, up to the requested size. */
	void *(*alloc_zeroed)(size_t bytes);
	void *(*alloc_aligned)(size_t align, size_t bytes);
	/* In an arena, by its number. */
	void *(*alloc_in)(unsigned arena, size_t align, size_t bytes, bool zero);
	/* Sets the usable bytes beyond `bytes` to zero. */
	void (*zero_rest)(void *block, size_t bytes);
	/* Resizes a block as realloc() does; `bytes` is above 0. */
	void *(*resize)(void *block, size_t bytes);
	/* Returns whether a block of the alignment that shrinks to `bytes` stays in place. */
	bool (*shrink_stays)(size_t usable_bytes, size_t bytes, size_t align);
	void (*free)(void *block);
	/* Checks what the caller claims, as libmallow's options say; MW_COMPAT_NO_CLAIM: nothing.
	 */
	void (*free_claimed)(void *block, size_t bytes, size_t align, const char *function);
	size_t (*usable_bytes)(const void *block);
	/* Returns the bytes that a program may use of a block for such a request; `align` is a
	 * power of two. 0: the request is too large for any block. */
	size_t (*usable_for)(size_t align, size_t bytes);
	/* Does what libmallow does when there is no memory: errno, or the end of the program.
	 * Returns NULL. */
	void *(*no_memory)(void);
	/* Calls the program's new handler as operator new does; returns false if there is none.
	 * `caller`: the return address of the function that the program called. */
	bool (*call_new_handler)(void *caller);
	void (*throw_bad_alloc)(void *caller);
} mw_compat_blocks_t;

/* The numbers of arenas are below this. */
#define MW_COMPAT_ARENAS_MAX 4095u

/* Counters of an arena, by size class and together. */
typedef struct mw_compat_arena_stats {
	uint64_t taken[MW_CLASS_COUNT], given[MW_CLASS_COUNT]; /* blocks allocated and freed */
	uint64_t pages_made, large_made, large_bytes, huge_bytes, kept_bytes;
	uint64_t chunks, slices_in_use, dirty_slices, purged_slices, purges, purge_calls;
} mw_compat_arena_stats_t;

struct mw_arena_lists;

/* Arenas, by their numbers; 0: all memory outside of them.  The caller ensures that no thread uses
 * an arena or its blocks while it is reset or destroyed. */
typedef struct mw_compat_arenas {
	unsigned (*count)(void); /* numbers given so far, 0 among them */
	/* Returns the number of a new arena whose memory comes from the hooks, which stay the
	 * caller's; NULL: from the kernel. 0: no memory, or no number is left. */
	unsigned (*create)(mw_extent_hooks_t *hooks);
	void (*reset)(unsigned number);
	bool (*destroy)(unsigned number);   /* false: threads are bound to it */
	bool (*is_unused)(unsigned number); /* no thread is bound to it, and no block is live */
	void (*purge)(unsigned number, bool all);
	void (*set_decay)(unsigned number, int64_t ms);
	/* The calling thread takes its blocks from the arena from now on. */
	bool (*bind)(unsigned number);
	unsigned (*bound)(void);
	/* Returns the number of a live block's arena; -1: it is no block of libmallow's. */
	int (*of_block)(const void *block);
	/* Returns whether less than this part of the block's page is in use. */
	bool (*is_sparse)(const void *block, size_t percent);
	bool (*walk)(unsigned number, bool blocks, mw_arena_visit_t *visit, void *context);
	void (*stats)(unsigned number, mw_compat_arena_stats_t *stats);
	/* Free blocks of an arena that the calling thread keeps. `lists`: memory of lists that
	 * nobody uses any more; NULL: new. NULL: no memory. */
	struct mw_arena_lists *(*keep_lists)(struct mw_arena_lists *lists, unsigned number);
	bool (*lists_are_own)(const struct mw_arena_lists *lists);
	/* Serves a request from the lists; NULL: they are another thread's, or empty; errno stays.
	 */
	void *(*alloc_listed_at_once)(struct mw_arena_lists *lists, size_t bytes);
	/* Serves a request from the lists, which it fills from the arena where they are empty.
	 * NULL: they are another thread's, or have none of the size, or there is no memory. */
	void *(*alloc_listed)(struct mw_arena_lists *lists, size_t bytes);
	/* Frees the blocks of the lists. No other thread uses them meanwhile. */
	void (*flush_lists)(struct mw_arena_lists *lists);
	/* They are no thread's from now on. */
	void (*release_lists)(struct mw_arena_lists *lists);
} mw_compat_arenas_t;

/* Counters of the process beside those of state/stats.def. */
typedef struct mw_compat_heap_stats {
	uint64_t given[MW_CLASS_COUNT]; /* blocks of each class that threads got */
	uint64_t large, large_bytes;    /* blocks above the classes, since the start */
	uint64_t slices_in_use, purges, purge_calls;
} mw_compat_heap_stats_t;

typedef struct mw_compat_calls {
	const char *version; /* of libmallow.so */
	mw_compat_blocks_t blocks;
	mw_compat_arenas_t arenas;
	const uint32_t *class_bytes; /* block size of each of the MW_CLASS_COUNT classes */

	/* The code between both addresses counts as the library's in stacks: they begin at its
	 * caller.  One range in a process, set before the program's threads call it. */
	void (*add_own_code)(const void *start, const void *limit);
	/* Memory for structures: zero, never freed. NULL: there is none. */
	void *(*alloc_metadata)(size_t bytes);

	/* Settings: how long free memory is kept (-1: forever); whether it is given to the kernel
	 * lazily before that; huge pages; one node of memory even if there are several. */
	void (*set_decay)(int64_t ms);
	void (*set_lazy_purge)(bool on);
	void (*set_huge_pages)(bool always, bool never, bool from_pool);
	void (*set_one_node)(void);
	/* Gives back free memory: all, or what is due. */
	void (*purge)(bool all);
	void (*heap_stats)(mw_compat_heap_stats_t *stats);

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
