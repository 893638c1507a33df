/* SPDX-License-Identifier: MIT
 * gate.h -- order among those who write to the profile's tables.
 * Layer: prof.  Samples take turns, one at a time: a turn is over in some 50 ns, and its counters
 * then need no locked additions (doc/adr/0017-samples-take-turns.md).  Ticks and surveys, which
 * take longer and write elsewhere, pass through beside them.  A reset, a fork and the publication
 * of the state file close the gate to both, and so see and leave tables in which nothing is half
 * written.
 *
 * No wait is for ever: a signal handler that leaves malloc by longjmp never ends its turn, and one
 * that allocates during its own thread's turn would wait for itself.  Such programs break the
 * rules, and lose the consistency of one sample instead of hanging. */
#ifndef MW_PROF_GATE_H
#define MW_PROF_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/lock.h"
#include "os/single.h"

typedef struct mw_gate {
	/* Is it somebody's?  In a line of cache with what changes seldom. */
	_Alignas(MW_CACHE_LINE_BYTES) _Atomic uint32_t turn;
	_Atomic int32_t inside;
	_Atomic uint32_t closed; /* by how many */
} mw_gate_t;

/* It is this thread's turn. */
extern MW_TLS bool mw_gate_has_turn;

#ifdef MW_TESTING
/* For how long a turn is waited for before it is taken over. */
extern uint64_t mw_gate_turn_max_ns;
#endif

MW_COLD bool mw_gate_wait_turn(mw_gate_t *gate);

static inline bool mw_gate_try_turn(mw_gate_t *gate) {
	uint32_t nobodys = 0;
	/* Pairs with the release in mw_gate_end_turn(). */
	return atomic_compare_exchange_strong_explicit(&gate->turn, &nobodys, 1,
						       memory_order_acquire, memory_order_relaxed);
}

/* The result is for mw_gate_end_turn(). */
static inline bool mw_gate_take_turn(mw_gate_t *gate) {
	if (mw_os_is_single_threaded())
		return false;
	if (MW_UNLIKELY(mw_gate_has_turn) || MW_UNLIKELY(!mw_gate_try_turn(gate)))
		return mw_gate_wait_turn(gate);
	mw_gate_has_turn = true;
	return true;
}

static inline void mw_gate_end_turn(mw_gate_t *gate, bool taken) {
	if (!taken)
		return;
	mw_gate_has_turn = false;
	/* A store, which waits for nobody: an exchange, as would say whether somebody sleeps, waits
	 * until all that the turn has written is in the cache, from where other threads had it. */
	atomic_store_explicit(&gate->turn, 0, memory_order_release);
}

MW_COLD void mw_gate_wait(mw_gate_t *gate);

static inline void mw_gate_enter(mw_gate_t *gate) {
	/* Sequentially consistent, as is mw_gate_close(): of an entering and a closing thread at
	 * least one sees the other. */
	atomic_fetch_add_explicit(&gate->inside, 1, memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&gate->closed, memory_order_seq_cst) != 0, 0))
		mw_gate_wait(gate);
}

static inline void mw_gate_leave(mw_gate_t *gate) {
	/* Pairs with the loads in mw_gate_close(): what was written inside is seen by the closer.
	 */
	atomic_fetch_sub_explicit(&gate->inside, 1, memory_order_release);
}

/* Returns when nobody is inside any more and the turn is the caller's, or a fifth of a second
 * later.  Not from inside.  The result is for mw_gate_open(). */
MW_COLD bool mw_gate_close(mw_gate_t *gate);
MW_COLD void mw_gate_open(mw_gate_t *gate, bool turn);
/* In the child of a fork: open, and nobody inside. */
MW_COLD void mw_gate_reset(mw_gate_t *gate);

#endif
