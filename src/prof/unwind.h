/* SPDX-License-Identifier: MIT
 * unwind.h -- the stack of the calling thread, by unwind tables, without frame pointers.
 * Layer: prof.  No locks, no allocation, no reads outside of the stack and of loaded objects'
 * tables; errno kept.  Design, cache and limits: doc/unwinding.md. */
#ifndef MW_PROF_UNWIND_H
#define MW_PROF_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* What callers make room for; deeper stacks are cut at the outer end. */
#define MW_UNWIND_DEPTH_MAX 512

typedef struct mw_unwind_result {
	unsigned depth;
	bool truncated; /* the outermost frames are missing: too deep, or the walk had to stop */
	/* Every PC lies in an object of program start, or in one whose stamp (os/object.h) is in
	 * the sum: of two such walks with the same PCs and sum the code is the same. */
	bool is_stamped;
	uint64_t stamps;
	/* Not 0: mw_unwind_note() may note something with this walk.  What was noted with one just
	 * the same, if that was the thread's last, is in `memo`; else that is 0. */
	uint64_t serial, memo;
	/* Of all PCs, by which the stack may be recognised (recall.h); 0: not known. */
	uint64_t sum;
	unsigned written; /* PCs; the others are for mw_unwind_write_rest() */
} mw_unwind_result_t;

/* Lists the objects of program start.  Once, before threads, before the program can have called
 * dlopen(3).  Without it captures work, slower. */
void mw_unwind_start(void);

/* Writes the calling thread's stack to `pcs`, leaf first: return addresses, the library's own
 * frames left out, so that the leaf is whoever called malloc.  The pc of a frame that a signal
 * interrupted is exact and carries MW_FRAME_EXACT (state/layout.h).  Async-signal-safe. */
mw_unwind_result_t mw_unwind_capture(uint64_t *pcs, unsigned max_depth);

/* Where the function of the library that the program called keeps what it was called with: what
 * __builtin_frame_address(0) gives in it.  A walk from here has none of the library's frames to
 * pass.  NULL: not known, or the function is over.  The thread's own. */
extern MW_TLS const uintptr_t *mw_unwind_entry;

/* The same as mw_unwind_capture(), from the caller of that function on, if it is known.  Not for
 * signal handlers, which come between.  If it may, it leaves out what the thread's last walk has
 * written as well: see `written`. */
mw_unwind_result_t mw_unwind_capture_caller(uint64_t *pcs, unsigned max_depth, bool may_leave_out);
/* Writes what this, the thread's last walk, has left out.  False: another came between. */
bool mw_unwind_write_rest(const mw_unwind_result_t *walk, uint64_t *pcs);
/* What mw_unwind_note() noted with the thread's last walk, if that of now would be the same from
 * the caller on, through objects of program start alone; else 0. */
uint64_t mw_unwind_recognise(void);

/* In a handler of a signal: the stack from what it interrupted on.  Otherwise as
 * mw_unwind_capture().  Returns the depth. */
unsigned mw_unwind_capture_for(uint64_t *pcs, unsigned max_depth, bool in_handler);

/* For the thread's next walk, if it gives the same as the one that had this number. */
void mw_unwind_note(uint64_t serial, uint64_t memo);

/* From now on the thread's stacks with this memo have another. */
void mw_unwind_note_again(uint64_t memo, uint64_t new_memo);

/* The calling thread has come to a sample: one that samples often gets a trail
 * (prof/unwind_trail.h). */
void mw_unwind_sampled(uint64_t now_ns);
/* The calling thread ends: its trail goes, and there is no other. */
void mw_unwind_thread_end(void);
/* In the child of a fork: the trails of threads that did not come over go. */
void mw_unwind_forked(void);

/* Memory in use for rules and their cache, bounded at 0.7 MiB, and for trails: 32 KiB for each
 * thread that samples often, at most 512. */
uint64_t mw_unwind_memory_bytes(void);

#ifdef MW_TESTING
/* Stands for the library's own code, which a test links without the section that marks it. */
void mw_unwind_set_own(uintptr_t start, uintptr_t limit);
#endif

#endif
