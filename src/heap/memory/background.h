/* SPDX-License-Identifier: MIT
 * background.h -- a thread that purges what is due while nobody else calls.
 * Layer: heap.  Here is what it does and whether there is one; src/api starts it, because starting
 * a thread is libc's.  Off until enabled.  The thread holds no lock while it sleeps, and sleeps
 * without an end while nothing is due and the word that refills poll stays as it is. */
#ifndef MW_HEAP_BACKGROUND_H
#define MW_HEAP_BACKGROUND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum mw_background_state {
	MW_BACKGROUND_OFF = 0,
	MW_BACKGROUND_ENABLED, /* the heap is too small to need it so far */
	MW_BACKGROUND_WANTED,  /* to be started by the next slow path of malloc */
	MW_BACKGROUND_RUNNING,
} mw_background_state_t;

/* Relaxed: whoever acts on it changes it by a compare-and-swap, or purges as well as the thread. */
extern _Atomic uint32_t mw_background_state;

static inline bool mw_background_is_running(void) {
	return atomic_load_explicit(&mw_background_state, memory_order_relaxed) ==
	       MW_BACKGROUND_RUNNING;
}
static inline bool mw_background_is_wanted(void) {
	return atomic_load_explicit(&mw_background_state, memory_order_relaxed) ==
	       MW_BACKGROUND_WANTED;
}

/* Before threads exist. */
void mw_background_enable(void);
/* The heap got a second chunk or a huge block: worth a thread, if one may be. */
void mw_background_heap_grew(void);
/* True for one caller: it starts a thread that calls mw_background_run(). */
bool mw_background_claim(void);
/* It could not: others purge, as without it. */
void mw_background_refused(void);
/* The thread's body; never returns.  Needs no heap of its own. */
_Noreturn void mw_background_run(void);

void mw_background_wake(void);
extern _Atomic uint32_t mw_background_sleeping;
/* Something is due at some time, where nothing was before.  No lock is held. */
static inline void mw_background_notify(void) {
	if (!mw_background_is_running())
		return;
	/* Pairs with the exchange in mw_background_run(): of two that change one word each sees
	 * what the other did before, so either the thread sees the new time, or this sees it
	 * asleep. */
	if (atomic_fetch_or_explicit(&mw_background_sleeping, 0, memory_order_acq_rel))
		mw_background_wake();
}

/* Since the start. */
typedef struct mw_background_stats {
	uint64_t turns, slept_ns;
} mw_background_stats_t;
mw_background_stats_t mw_background_stats(void);

/* Wakes the background thread now, for work without a due time. Returns whether there is one. */
bool mw_background_wake_for_hooks(void);

/* The thread did not come over: a new one when the child allocates. */
void mw_background_fork_child(void);

#endif
