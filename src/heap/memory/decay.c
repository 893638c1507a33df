/* SPDX-License-Identifier: MIT
 * decay.c -- how much freed memory is kept for reuse. */
#include "heap/memory/decay.h"

#include "os/time/clock.h"

static size_t keep_bytes(const mw_decay_t *decay) {
	size_t least = decay->keep_min_bytes ? decay->keep_min_bytes : MW_DECAY_KEEP_MIN_BYTES;
	return decay->keep_bytes > least ? decay->keep_bytes : least;
}

static bool is_young(const mw_decay_t *decay) {
	return decay->gone_bytes == 0 && mw_os_monotonic_coarse_ns() < decay->youth_end_ns;
}

size_t mw_decay_excess_bytes(mw_decay_t *decay, size_t kept_bytes, size_t share_bytes) {
	if (decay->youth_end_ns == 0)
		decay->youth_end_ns = mw_os_monotonic_coarse_ns() + MW_DECAY_YOUTH_NS;
	if (decay->high_bytes < kept_bytes)
		decay->high_bytes = kept_bytes;
	size_t keep = keep_bytes(decay);
	if (keep < share_bytes)
		keep = share_bytes;
	if (!decay->early || kept_bytes <= keep || decay->delay_ns >= MW_DECAY_NEVER_NS)
		return 0;
	if (kept_bytes < MW_DECAY_YOUTH_BYTES && is_young(decay))
		return 0;
	return kept_bytes - keep / 2;
}

void mw_decay_went_early(mw_decay_t *decay, size_t bytes, uint64_t now_ns) {
	/* No memory can go, as with mlockall(2): ask more and more rarely. */
	if (bytes == 0)
		decay->keep_bytes = 2 * keep_bytes(decay);
	if (now_ns >= decay->gone_due_ns)
		decay->gone_bytes = 0;
	decay->high_bytes = 0;
	decay->gone_bytes += bytes;
	decay->gone_due_ns = now_ns + decay->delay_ns;
}

void mw_decay_stayed(mw_decay_t *decay, size_t bytes) {
	if (decay->keep_bytes < bytes + bytes / 4)
		decay->keep_bytes = bytes + bytes / 4;
}

void mw_decay_went_late(mw_decay_t *decay, size_t bytes) {
	if (bytes == 0)
		return;
	size_t keep = keep_bytes(decay);
	decay->keep_bytes = keep > bytes ? keep - bytes : 0;
	decay->high_bytes = 0;
}

void mw_decay_missed_slow(mw_decay_t *decay, size_t bytes) {
	if (mw_os_monotonic_coarse_ns() >= decay->gone_due_ns) {
		decay->gone_bytes = 0;
		return;
	}
	size_t missed = bytes < decay->gone_bytes ? bytes : decay->gone_bytes;
	decay->gone_bytes -= missed;
	decay->keep_bytes = keep_bytes(decay) + 2 * missed;
}
