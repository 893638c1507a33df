/* SPDX-License-Identifier: MIT
 * stable_hash.h -- a hash that is equal in each run of the agent and on each host.
 * Layer: agent/rules.  Whoever chooses the bytes can choose the hash: no table is indexed by it. */
#ifndef MW_TOOL_AGENT_RULES_STABLE_HASH_H
#define MW_TOOL_AGENT_RULES_STABLE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define MW_STABLE_HASH_SEED 0xcbf29ce484222325ull

/* FNV-1a (Fowler, Noll, Vo) with 64 bits.  `hash`: MW_STABLE_HASH_SEED, or that of what comes
 * before. */
static inline uint64_t mw_stable_hash(uint64_t hash, const void *bytes, size_t length) {
	const unsigned char *at = bytes;
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ull;
	return hash;
}

/* Spreads the differences of two hashes over all bits (the finalizer of MurmurHash3, by Austin
 * Appleby): FNV-1a leaves those of the last bytes in the lower ones. */
static inline uint64_t mw_stable_hash_spread(uint64_t hash) {
	hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdull;
	hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ull;
	return hash ^ (hash >> 33);
}

#endif
