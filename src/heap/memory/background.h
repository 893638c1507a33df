/* SPDX-License-Identifier: MIT
 * background.h -- the state of the background thread, which purges memory that is due while no
 * other thread calls the heap.
 * Layer: heap.  Off until enabled.  src/api starts the thread, because libc starts threads; its
 * body is mw_background_run() (heap/thread/maintain.h).  The thread holds no lock while it sleeps.
 * It sleeps without a time limit while nothing is due and the word that refills poll does not
 * change. */
#ifndef MW_HEAP_BACKGROUND_H
#define MW_HEAP_BACKGROUND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum mw_background_state {
	MW_BACKGROUND_OFF = 0,
	MW_BACKGROUND_ENABLED, /* enabled; the heap is too small to need the thread so far */
	MW_BACKGROUND_WANTED,  /* the next slow path of malloc starts the thread */
	MW_BACKGROUND_RUNNING,
} mw_background_state_t;

/* Relaxed: a thread that acts on the value changes it by a compare-and-swap, or purges in addition
 * to the background thread. */
extern _Atomic uint32_t mw_background_state;

static inline bool mw_background_is_running(void) {
	return atomic_load_explicit(&mw_background_state, memory_order_relaxed) ==
	       MW_BACKGROUND_RUNNING;
}
static inline bool mw_background_is_wanted(void) {
	return atomic_load_explicit(&mw_background_state, memory_order_relaxed) ==
	       MW_BACKGROUND_WANTED;
}

/* Called before threads exist. */
void mw_background_enable(void);
/* Called when the heap gets its second chunk or a huge block: it is then large enough for a
 * background thread, if one is enabled. */
void mw_background_heap_grew(void);
/* Returns true to one caller, which then starts a thread that calls mw_background_run(). */
bool mw_background_claim(void);
/* Called if that caller could not start the thread.  The other threads then purge, as without a
 * background thread. */
void mw_background_refused(void);
void mw_background_wake(void);
/* The word that the thread sleeps on. */
extern _Atomic uint32_t mw_background_sleeping;
/* Called when memory is due at a known time and nothing was due before.  No lock is held. */
static inline void mw_background_notify(void) {
	if (!mw_background_is_running())
		return;
	/* Pairs with the exchange in mw_background_run().  Each side changes the word and sees the
	 * other's earlier change: either the thread sees the new time, or this call sees the thread
	 * asleep. */
	if (atomic_fetch_or_explicit(&mw_background_sleeping, 0, memory_order_acq_rel))
		mw_background_wake();
}

/* Wakes the background thread now, for work without a due time.  Returns whether there is one. */
bool mw_background_wake_for_hooks(void);
/* Returns whether mw_background_wake_for_hooks() was called since the last call.  The background
 * thread calls it after it has set the word that it will sleep on: later requests change the word.
 */
bool mw_background_take_request(void);

/* Called in the child of a fork, which has no background thread: its next slow path starts one. */
void mw_background_fork_child(void);

#endif
