/* SPDX-License-Identifier: MIT
 * unwind.h -- captures the stack of the calling thread by unwind tables, without frame pointers.
 * Layer: prof/unwind, the door of this folder. No locks, no allocation, no reads outside of the
 * stack and of loaded objects' tables; errno is kept. Design, caches and limits:
 * doc/internals/unwinding.md.
 *
 * Reading order: unwind (the walk), rule/ (a rule leads from a frame to its caller), resolve
 * (finds the rule for an address), cfi/ (rules from .eh_frame), program_frames (a program whose
 * .eh_frame has no index), step (rare frames), return_code (code that returns at once),
 * interrupted (the walk from a signal's registers), walk_cache (the last walk of a thread),
 * stack_cache (its last stacks). The folder may use src/base, src/os, src/state, rule/ and cfi/. */
#ifndef MW_PROF_UNWIND_UNWIND_H
#define MW_PROF_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Capacity of callers' arrays. Deeper stacks lose their outermost frames. */
#define MW_UNWIND_DEPTH_MAX 512

typedef struct mw_unwind_result {
	unsigned depth;
	bool truncated; /* the outermost frames are missing: the stack is too deep, or the walk
			   could not go on */
	/* Every PC lies in an object of program start or in one whose stamp (os/unwind/object.h) is
	 * in the sum. Two such walks with equal PCs and equal sums have the same code. */
	bool is_stamped;
	bool met_unknown; /* an address in no known object */
	uint64_t stamps;
	/* generation: not 0 if mw_unwind_remember() may store a number for this walk. cached_value:
	 * the number that was noted for an equal walk, if that was the thread's last one; else 0.
	 */
	uint64_t generation, cached_value;
	uint64_t cached_key; /* with which it was noted */
} mw_unwind_result_t;

/* Lists the objects of program start. Called once, before threads exist and before the program can
 * call dlopen(3). Without this call, captures work but take longer. */
void mw_unwind_start(void);

/* Writes the calling thread's stack to `pcs`, leaf first, as return addresses. The library's own
 * frames are omitted, so that the leaf is the caller of malloc. The pc of a frame that a signal
 * interrupted is exact and has MW_FRAME_EXACT set (state/layout.h). Async-signal-safe. */
mw_unwind_result_t mw_unwind_capture(uint64_t *pcs, unsigned max_depth);

/* The calling thread's frame address, __builtin_frame_address(0), of the library's function that
 * the program called. A walk from there skips the library's frames. NULL: unknown, or the function
 * has returned. */
extern MW_TLS const uintptr_t *mw_unwind_entry;

/* Like mw_unwind_capture(), but starts at the caller of mw_unwind_entry's function, if that is
 * known. Not for signal handlers, whose frames lie in between. places[i] becomes the place
 * (place.h) of frame i; NULL: not wanted, which is faster. */
mw_unwind_result_t mw_unwind_capture_caller(uint64_t *pcs, uint32_t *places, unsigned max_depth);
/* Returns the number that was noted with this key for one of the thread's last walks, if a walk now
 * would give the same frames from the caller on; else 0. `key`: what the number depends on besides
 * the native frames. */
uint64_t mw_unwind_recognise(uint64_t key);

/* Like mw_unwind_capture(). If `in_handler`, the caller is a signal handler, and the stack starts
 * at the interrupted frame. Returns the depth. */
unsigned mw_unwind_capture_for(uint64_t *pcs, unsigned max_depth, bool in_handler);

/* Writes the stack of the code that a signal interrupted, with the library's own frames. `context`:
 * third argument of the handler, a ucontext_t. The leaf's PC is exact. Any instruction may have
 * been interrupted. The caller's array is not on the interrupted stack if that may be small.
 * `places` as for mw_unwind_capture_caller(). Async-signal-safe. */
mw_unwind_result_t mw_unwind_capture_interrupted(const void *context, uint64_t *pcs,
						 uint32_t *places, unsigned max_depth);

/* Returns whether this thread runs a signal handler that interrupted the library, so that the
 * library's operation is incomplete and its locks are held. Returns false if the walk cannot pass
 * the handler. */
MW_COLD bool mw_unwind_is_interrupted(void);

/* Returns whether the interrupted code belongs to the library, or is called by it. `context` as for
 * mw_unwind_capture_interrupted(). */
MW_COLD bool mw_unwind_is_in_library(const void *context);

/* Stores a number for the thread's next walk, if that equals the walk with this generation, and the
 * key then equals this one. */
void mw_unwind_remember(uint64_t generation, uint64_t cached_value, uint64_t key);

/* Most frames of a walk that the thread's walk cache keeps. */
#define MW_WALK_CACHE_FRAMES 112u
/* Notes of the walk cache's user on the program's frames of the last walk, outermost first. A walk
 * that shares its outer frames with the last one keeps their notes. */
typedef struct mw_frame_sums {
	unsigned count;      /* frames that have notes */
	uint32_t generation; /* the user's: which notes are still right */
	uint64_t frames[MW_WALK_CACHE_FRAMES];
	uint64_t sums[MW_WALK_CACHE_FRAMES];
} mw_frame_sums_t;

/* Returns the notes on the walk with this generation, which was the thread's last one; NULL: the
 * walk is not cached. Until mw_unwind_let_sums_go(), signal handlers walk without the cache. */
mw_frame_sums_t *mw_unwind_take_sums(uint64_t generation);
void mw_unwind_let_sums_go(void);

/* Called when the thread takes a sample. A thread that samples often, or records every allocation,
 * gets a walk cache (prof/unwind/walk_cache.h). */
void mw_unwind_sampled(uint64_t now_ns, bool is_exact);
/* The calling thread ends: its walk cache is released, and it gets no other. */
void mw_unwind_thread_end(void);
/* Called in the child of a fork: releases the walk caches of threads that do not exist there. */
void mw_unwind_forked(void);

/* The code between both addresses counts as the library's own from now on, in place of an earlier
 * range: stacks begin at its caller. */
MW_COLD void mw_unwind_add_own_code(const void *start, const void *limit);

/* Returns the bytes in use for rules and their cache, at most 0.7 MiB, and for walk caches: 36 KiB
 * per thread that samples often, for at most 512 threads; and the index of a program that the
 * linker gave none. */
uint64_t mw_unwind_memory_bytes(void);

#ifdef MW_TESTING
/* For tests, which are linked without the section of the library's code: sets the code's range. */
void mw_unwind_set_own(uintptr_t start, uintptr_t limit);
#endif

/* Passes the address ranges of walk caches and of the program's index to `see`. No other thread
 * runs. */
MW_COLD void mw_unwind_visit_memory(void (*see)(uintptr_t start, uintptr_t limit));

#endif
