/* SPDX-License-Identifier: MIT
 * claim.h -- claims one of 64 things by a bit, without waiting: signal handlers take buffers so.
 * Layer: base. */
#ifndef MW_BASE_CLAIM_H
#define MW_BASE_CLAIM_H

#include <stdatomic.h>
#include <stdint.h>

#define MW_CLAIMS 64u

/* Sets a bit that is 0. Returns its number; MW_CLAIMS: all are 1. */
static inline unsigned mw_claim(_Atomic uint64_t *claimed) {
	uint64_t bits = atomic_load_explicit(claimed, memory_order_relaxed);
	while (bits != UINT64_MAX) {
		unsigned number = (unsigned)__builtin_ctzll(~bits);
		/* Pairs with the release below: the former user is done with the thing. */
		if (atomic_compare_exchange_weak_explicit(
			    claimed, &bits, bits | UINT64_C(1) << number, memory_order_acquire,
			    memory_order_relaxed))
			return number;
	}
	return MW_CLAIMS;
}

static inline void mw_unclaim(_Atomic uint64_t *claimed, unsigned number) {
	atomic_fetch_and_explicit(claimed, ~(UINT64_C(1) << number), memory_order_release);
}

#endif
