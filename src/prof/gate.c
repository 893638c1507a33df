/* SPDX-License-Identifier: MIT
 * gate.c -- the waits at the gate. */
#include "prof/gate.h"

#include "os/clock.h"
#include "os/lock.h"
#include "os/proc.h"

/* A sample takes microseconds, milliseconds when its pages must be fetched: this is an accident. */
#define WAIT_MAX_NS 200000000u
#ifdef MW_TESTING
uint64_t mw_gate_turn_max_ns = WAIT_MAX_NS;
#define TURN_MAX_NS mw_gate_turn_max_ns
#else
#define TURN_MAX_NS WAIT_MAX_NS
#endif
/* More between two looks at the clock is a stop of the whole process. */
#define LOOK_MAX_NS (WAIT_MAX_NS / 8)
/* Looks at the turn before the processor is left to another thread: as long as a turn. */
#define SPIN_LOOKS 100

MW_TLS bool mw_gate_has_turn;

static bool is_soon_ours(mw_gate_t *gate) {
	for (int i = 0; i < SPIN_LOOKS; i++) {
		if (atomic_load_explicit(&gate->turn, memory_order_relaxed) == 0 &&
		    mw_gate_try_turn(gate))
			return true;
		mw_os_relax();
	}
	return false;
}

/* Whoever has it for longer than that never ends it: the turn is taken over. */
static void wait_or_take_over(mw_gate_t *gate) {
	uint64_t waited_ns = 0, looked_ns = mw_os_monotonic_ns();
	for (unsigned looks = 0; !is_soon_ours(gate) && waited_ns < TURN_MAX_NS; looks++) {
		mw_os_wait_turn(looks);
		uint64_t now_ns = mw_os_monotonic_ns(), passed_ns = now_ns - looked_ns;
		waited_ns += passed_ns < LOOK_MAX_NS ? passed_ns : LOOK_MAX_NS;
		looked_ns = now_ns;
	}
	atomic_store_explicit(&gate->turn, 1, memory_order_relaxed);
}

bool mw_gate_wait_turn(mw_gate_t *gate) {
	/* A signal handler in its own thread's turn; another library's handler of the fork for
	 * which this thread closed the gate. */
	if (mw_gate_has_turn || mw_lock_is_forking())
		return false;
	wait_or_take_over(gate);
	mw_gate_has_turn = true;
	return true;
}

void mw_gate_wait(mw_gate_t *gate) {
	/* Another library's handler of the fork this thread closed the gate for. */
	if (mw_lock_is_forking())
		return;
	/* Whoever closes it for more than a moment has the control lock. */
	mw_lock_before_wait(MW_RANK_CONTROL, mw_lock_held_ranks);
	uint64_t deadline = mw_os_monotonic_ns() + WAIT_MAX_NS;
	for (;;) {
		atomic_fetch_sub_explicit(&gate->inside, 1, memory_order_seq_cst);
		/* Pairs with the release in mw_gate_open(). */
		for (unsigned turn = 0;
		     atomic_load_explicit(&gate->closed, memory_order_acquire) != 0 &&
		     mw_os_monotonic_ns() < deadline;
		     turn++)
			mw_os_wait_turn(turn);
		atomic_fetch_add_explicit(&gate->inside, 1, memory_order_seq_cst);
		if (atomic_load_explicit(&gate->closed, memory_order_seq_cst) == 0 ||
		    mw_os_monotonic_ns() >= deadline)
			return;
	}
}

static void wait_until_empty(mw_gate_t *gate) {
	uint64_t deadline = 0;
	int32_t inside;
	unsigned turn = 0;
	while ((inside = atomic_load_explicit(&gate->inside, memory_order_seq_cst)) > 0) {
		uint64_t now = mw_os_monotonic_ns();
		if (deadline == 0)
			deadline = now + WAIT_MAX_NS;
		if (now >= deadline) {
			/* Never to come out; if one does, the count is below zero: as good as
			 * empty. */
			atomic_fetch_sub_explicit(&gate->inside, inside, memory_order_seq_cst);
			return;
		}
		mw_os_wait_turn(turn++);
	}
}

bool mw_gate_close(mw_gate_t *gate) {
	atomic_fetch_add_explicit(&gate->closed, 1, memory_order_seq_cst);
	wait_until_empty(gate);
	return mw_gate_take_turn(gate);
}

void mw_gate_open(mw_gate_t *gate, bool turn) {
	mw_gate_end_turn(gate, turn);
	/* Pairs with the loads in mw_gate_enter() and mw_gate_wait(). */
	atomic_fetch_sub_explicit(&gate->closed, 1, memory_order_release);
}

void mw_gate_reset(mw_gate_t *gate) {
	atomic_store_explicit(&gate->inside, 0, memory_order_relaxed);
	atomic_store_explicit(&gate->closed, 0, memory_order_relaxed);
	atomic_store_explicit(&gate->turn, 0, memory_order_relaxed);
	mw_gate_has_turn = false;
}
