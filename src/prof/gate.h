/* SPDX-License-Identifier: MIT
 * gate.h -- lets samples be taken side by side, and all of them be held up for a moment.
 * Layer: prof.  Whoever writes to the tables passes through; a reset, a fork and the publication of
 * the state file close the gate, and so see and leave tables in which no sample is half taken.
 *
 * No wait is for ever: a signal handler that leaves malloc by longjmp never passes out, and one
 * that allocates while its own thread holds the gate would wait for itself.  Such programs break
 * the rules, and lose the consistency of one sample instead of hanging. */
#ifndef MW_PROF_GATE_H
#define MW_PROF_GATE_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct mw_gate {
	_Atomic int32_t inside;
	_Atomic uint32_t closed; /* by how many */
} mw_gate_t;

void mw_gate_wait(mw_gate_t *gate);

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

/* Returns when nobody is inside any more, or after a fifth of a second.  Not from inside. */
void mw_gate_close(mw_gate_t *gate);
void mw_gate_open(mw_gate_t *gate);
/* In the child of a fork: open, and nobody inside. */
void mw_gate_reset(mw_gate_t *gate);

#endif
