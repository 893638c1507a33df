/* SPDX-License-Identifier: MIT
 * requests.c -- reads, checks and applies the control words. */
#include "prof/control/requests.h"

#include <stdatomic.h>
#include <string.h>

#include "base/compiler.h"
#include "base/libc_text.h"
#include "heap/memory/chunk.h"
#include "heap/memory/limit.h"
#include "os/lock/lock.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof/control/due_dumps.h"
#include "prof/control/triggers.h"
#include "prof/store/event_log.h"
#include "prof/store/published.h"
#include "prof/store/store.h"
#include "state/lease.h"
#include "state/settings.h"

/* want_dumps and want_leak_checks at the last request; under the control lock. */
static uint32_t dumps_requested, leak_checks_requested;

/* A lease is granted with the control lock. Signal handlers prolong and end it. */
typedef struct lease {
	/* Bits 0..31: the rate that it is for (as control.lease_cpu_hz, or 1); 0: none is held.
	 * Bits 32..63: the tool's beats when they were last read, also of a lease that has ended.
	 */
	_Atomic uint64_t held;
	_Atomic uint64_t until_ns; /* monotonic time of its end unless beats prolong it */
} lease_t;

/* What the process does while no lease is held, and the leases. */
static struct {
	bool active;
	_Atomic uint32_t cpu_rate;
	lease_t cpu, heap;
} standing;

mw_state_control_t *mw_requests_words(void) {
	return (mw_state_control_t *)(void *)mw_published_range(MW_SECTION_CONTROL, 0,
								sizeof(mw_state_control_t));
}

void mw_requests_offer(uint64_t mean_bytes) {
	mw_state_control_t *words = mw_store_private(MW_SECTION_CONTROL, 0);
	mw_state_live_t *live = mw_store_live();
	words->want_active = standing.active;
	words->want_mean_bytes = mean_bytes;
	words->want_resets = live->resets_done;
	words->want_cpu_hz = standing.cpu_rate;
	words->want_dumps = dumps_requested = live->dumps_done;
	words->want_leak_checks = leak_checks_requested = 0;
	words->want_trims = live->trims_done;
	for (size_t i = 0; i < MW_SETTING_COUNT; i++)
		words->want_settings[i] = mw_triggers_value((mw_setting_t)i);
	memcpy(words->want_dump_name, mw_triggers_name(), MW_STATE_DUMP_NAME_BYTES);
	words->sequence = live->sequence_seen;
}

void mw_requests_reject(uint32_t sequence, mw_reject_reason_t reason, uint64_t value) {
	mw_both_set32(mw_store_live_both(), MW_LIVE(rejected_reason), reason);
	mw_both_set32(mw_store_live_both(), MW_LIVE(rejected_sequence), sequence);
	mw_event_log_add(MW_EVENT_REJECTED, value, 0);
}

/* ---- leases ---- */

static uint32_t rate_of(uint64_t held) {
	return (uint32_t)held;
}

static uint64_t held_of(uint32_t rate, uint32_t beats) {
	return (uint64_t)beats << 32 | rate;
}

static uint32_t held_rate(const lease_t *lease) {
	return rate_of(atomic_load_explicit(&lease->held, memory_order_relaxed));
}

/* Ends the lease unless it was granted anew since `held` was read. */
static void drop(lease_t *lease, uint64_t held) {
	atomic_compare_exchange_strong_explicit(&lease->held, &held, held & ~(uint64_t)UINT32_MAX,
						memory_order_relaxed, memory_order_relaxed);
}

static void give_up(lease_t *lease) {
	drop(lease, atomic_load_explicit(&lease->held, memory_order_relaxed));
}

/* Grants what the words ask for. Words that a tool left behind have the beats of the lease that has
 * ended: they grant nothing. */
static void take_lease(lease_t *lease, uint32_t rate, uint32_t beats) {
	uint64_t held = atomic_load_explicit(&lease->held, memory_order_relaxed);
	if (rate == 0) {
		drop(lease, held);
		return;
	}
	if (beats == (uint32_t)(held >> 32))
		return;
	atomic_store_explicit(&lease->until_ns, mw_os_monotonic_coarse_ns() + MW_LEASE_NS,
			      memory_order_relaxed);
	/* Release: pairs with the acquire in look_at(). */
	atomic_store_explicit(&lease->held, held_of(rate, beats), memory_order_release);
}

static uint32_t word(const _Atomic uint32_t *word) {
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* Returns the rate of the lease; 0: none is held. A lease with new beats is prolonged. Another one
 * ends when its time is over, or as soon as the tool has withdrawn it. The words are read after the
 * lease: what they said before another thread granted it anew does not end it. */
static uint32_t look_at(lease_t *lease, const _Atomic uint32_t *rate_word,
			const _Atomic uint32_t *beats_word) {
	uint64_t held = atomic_load_explicit(&lease->held, memory_order_acquire);
	if (rate_of(held) == 0)
		return 0;
	uint32_t wanted = word(rate_word), beats = word(beats_word);
	uint64_t now_ns = mw_os_monotonic_coarse_ns();
	if (wanted != 0 && beats != (uint32_t)(held >> 32)) {
		/* Stored first: who sees the new beats sees the new time. */
		atomic_store_explicit(&lease->until_ns, now_ns + MW_LEASE_NS, memory_order_relaxed);
		uint64_t prolonged = held_of(rate_of(held), beats);
		/* Release: pairs with the acquire above. */
		atomic_compare_exchange_strong_explicit(&lease->held, &held, prolonged,
							memory_order_release, memory_order_relaxed);
	} else if (wanted == 0 ||
		   now_ns >= atomic_load_explicit(&lease->until_ns, memory_order_relaxed)) {
		drop(lease, held);
	}
	return held_rate(lease);
}

uint32_t mw_requests_cpu_rate(void) {
	uint32_t wanted = word(&standing.cpu_rate);
	if (MW_LIKELY(held_rate(&standing.cpu) == 0))
		return wanted;
	const mw_state_control_t *words = mw_requests_words();
	uint32_t rate = words ? look_at(&standing.cpu, &words->lease_cpu_hz, &words->cpu_beats) : 0;
	return rate != 0 ? rate : wanted;
}

bool mw_requests_is_active(void) {
	const mw_state_control_t *words = mw_requests_words();
	return standing.active ||
	       (words && look_at(&standing.heap, &words->lease_active, &words->heap_beats) != 0);
}

void mw_requests_refuse_cpu(void) {
	if (held_rate(&standing.cpu) != 0)
		give_up(&standing.cpu);
	else
		atomic_store_explicit(&standing.cpu_rate, 0, memory_order_relaxed);
}

void mw_requests_stand_active(bool active) {
	give_up(&standing.heap);
	standing.active = active;
}

void mw_requests_stand_cpu(uint32_t rate) {
	give_up(&standing.cpu);
	atomic_store_explicit(&standing.cpu_rate, rate, memory_order_relaxed);
}

bool mw_requests_has_lease(void) {
	return held_rate(&standing.cpu) != 0 || held_rate(&standing.heap) != 0;
}

void mw_requests_show_leases(void) {
	mw_both_t live = mw_store_live_both();
	mw_both_set32(live, MW_LIVE(cpu_lease_hz), held_rate(&standing.cpu));
	mw_both_set32(live, MW_LIVE(heap_lease), held_rate(&standing.heap));
	mw_both_set32(live, MW_LIVE(standing_cpu_hz), word(&standing.cpu_rate));
	mw_both_set32(live, MW_LIVE(standing_active), standing.active);
}

/* How often leases are checked, beside the signals of CPU samples. */
#define LEASE_CHECK_NS (MW_LEASE_NS / 5)

uint64_t mw_requests_plan_check(uint64_t now_ns) {
	uint64_t check_ns = mw_requests_has_lease() ? now_ns + LEASE_CHECK_NS : UINT64_MAX;
	mw_event_log_look_by(check_ns);
	return check_ns;
}

uint64_t mw_requests_check_leases(uint64_t now_ns) {
	mw_lock_t *lock = mw_control_lock();
	/* A signal handler may have ended the last lease: the check that was planned is then
	 * without cause. */
	if (!mw_requests_has_lease() && mw_store_live()->cpu_hz == 0)
		return mw_requests_plan_check(now_ns);
	if (!mw_lock_try(lock))
		return now_ns + LEASE_CHECK_NS;
	mw_lock_rank_push(MW_RANK_CONTROL);
	mw_lock_count(lock);
	mw_control_apply_active(mw_requests_is_active());
	mw_control_cpu_follow();
	mw_requests_show_leases();
	uint64_t check_ns = mw_requests_plan_check(now_ns);
	mw_lock_release(lock, MW_RANK_CONTROL);
	mw_control_poll();
	return check_ns;
}

void mw_requests_forked(void) {
	atomic_store_explicit(&standing.cpu.held, 0, memory_order_relaxed);
	atomic_store_explicit(&standing.heap.held, 0, memory_order_relaxed);
	atomic_store_explicit(&standing.cpu_rate, 0, memory_order_relaxed);
}

/* A word that is rejected is cleared: the next request would be rejected for it as well. */
static void reject_word(_Atomic uint32_t *word, uint32_t value, uint32_t sequence) {
	mw_requests_reject(sequence, MW_REJECT_VALUE, value);
	atomic_store_explicit(word, 0, memory_order_relaxed);
}

static void follow_leases(mw_state_control_t *words, uint32_t sequence) {
	uint32_t rate = word(&words->lease_cpu_hz), active = word(&words->lease_active);
	if (mw_cpu_rate_is_valid(rate))
		take_lease(&standing.cpu, rate, word(&words->cpu_beats));
	else
		reject_word(&words->lease_cpu_hz, rate, sequence);
	if (active <= 1)
		take_lease(&standing.heap, active, word(&words->heap_beats));
	else
		reject_word(&words->lease_active, active, sequence);
}

/* ---- requests ---- */

static void follow_settings(mw_state_control_t *words, uint32_t sequence) {
	char name[MW_STATE_DUMP_NAME_BYTES];
	memcpy(name, words->want_dump_name, sizeof name);
	if (!mw_memchr(name, '\0', sizeof name))
		mw_requests_reject(sequence, MW_REJECT_VALUE, sizeof name);
	else if (mw_strcmp(name, mw_triggers_name()) != 0)
		mw_triggers_set_name(name);
	for (size_t i = 0; i < MW_SETTING_COUNT; i++) {
		uint64_t value =
			atomic_load_explicit(&words->want_settings[i], memory_order_relaxed);
		if (mw_triggers_set((mw_setting_t)i, value))
			continue;
		mw_requests_reject(sequence, MW_REJECT_VALUE, value);
		/* Restores the value, which would otherwise be rejected with each later request. */
		atomic_store_explicit(&words->want_settings[i], mw_triggers_value((mw_setting_t)i),
				      memory_order_relaxed);
	}
	mw_triggers_show();
}

void mw_requests_follow(mw_state_control_t *words, uint32_t sequence) {
	uint64_t mean = atomic_load_explicit(&words->want_mean_bytes, memory_order_relaxed);
	uint32_t active = atomic_load_explicit(&words->want_active, memory_order_relaxed);
	uint32_t resets = atomic_load_explicit(&words->want_resets, memory_order_relaxed);
	uint32_t cpu_hz = atomic_load_explicit(&words->want_cpu_hz, memory_order_relaxed);
	if (mean < 1 || mean > MW_STATE_MEAN_BYTES_MAX)
		mw_requests_reject(sequence, MW_REJECT_VALUE, mean);
	else
		mw_control_apply_mean(mean);
	follow_leases(words, sequence);
	if (mw_cpu_rate_is_valid(cpu_hz))
		atomic_store_explicit(&standing.cpu_rate, cpu_hz, memory_order_relaxed);
	else
		mw_requests_reject(sequence, MW_REJECT_VALUE, cpu_hz);
	mw_control_cpu_follow();
	/* A rate that was refused is not tried again with the next request. */
	atomic_store_explicit(&words->want_cpu_hz, word(&standing.cpu_rate), memory_order_relaxed);
	if (active > 1)
		mw_requests_reject(sequence, MW_REJECT_VALUE, active);
	else
		standing.active = active;
	mw_control_apply_active(mw_requests_is_active());
	mw_requests_show_leases();
	if (resets != mw_store_live()->resets_done)
		mw_control_apply_reset(resets);
	follow_settings(words, sequence);
}

void mw_requests_follow_dumps(const mw_state_control_t *words) {
	uint32_t dumps = atomic_load_explicit(&words->want_dumps, memory_order_relaxed);
	if (dumps == dumps_requested)
		return;
	dumps_requested = dumps;
	mw_due_dumps_request(dumps);
}

void mw_requests_follow_leaks(const mw_state_control_t *words, uint32_t sequence) {
	uint32_t number = atomic_load_explicit(&words->want_leak_checks, memory_order_relaxed);
	uint32_t options = atomic_load_explicit(&words->want_leak_options, memory_order_relaxed);
	if (number == leak_checks_requested)
		return;
	leak_checks_requested = number;
	const uint32_t known = MW_LEAK_PEEK | MW_LEAK_SHARED | MW_LEAK_HOLDERS;
	if ((options & ~known & ((1u << MW_LEAK_SECONDS_SHIFT) - 1)) != 0)
		mw_requests_reject(sequence, MW_REJECT_VALUE, options);
	else
		mw_control_leaks_order(number, options);
}

/* The thread may be in the middle of a refill, or be had to answer by a tool: the heaps of threads,
 * this one's included, and arenas with functions of the program are left alone. */
void mw_requests_follow_trims(const mw_state_control_t *words) {
	uint32_t trims = atomic_load_explicit(&words->want_trims, memory_order_relaxed);
	if (trims == mw_store_live()->trims_done)
		return;
	size_t bytes = mw_huge_purge(true) + mw_chunk_purge(true);
	mw_both_set64(mw_store_live_both(), MW_LIVE(trimmed_bytes), bytes);
	mw_both_set32(mw_store_live_both(), MW_LIVE(trims_done), trims);
}
