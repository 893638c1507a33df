/* SPDX-License-Identifier: MIT
 * requests.c -- reads, checks and applies the control words. */
#include "prof/control/requests.h"

#include <stdatomic.h>
#include <string.h>

#include "prof/control/control.h"
#include "prof/control/due_dumps.h"
#include "prof/control/triggers.h"
#include "prof/store/event_log.h"
#include "prof/store/published.h"
#include "prof/store/store.h"
#include "state/settings.h"

/* want_dumps and want_leak_checks at the last request; under the control lock. */
static uint32_t dumps_ordered, leak_checks_ordered;

mw_state_control_t *mw_requests_words(void) {
	return (mw_state_control_t *)(void *)mw_published_range(MW_SECTION_CONTROL, 0,
								sizeof(mw_state_control_t));
}

void mw_requests_offer(bool active, uint64_t mean_bytes) {
	mw_state_control_t *words = mw_store_private(MW_SECTION_CONTROL, 0);
	mw_state_live_t *live = mw_store_live();
	words->want_active = active;
	words->want_mean_bytes = mean_bytes;
	words->want_resets = live->resets_done;
	words->want_cpu_hz = live->cpu_hz;
	words->want_dumps = dumps_ordered = live->dumps_done;
	words->want_leak_checks = leak_checks_ordered = 0;
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

static void obey_settings(mw_state_control_t *words, uint32_t sequence) {
	char name[MW_STATE_DUMP_NAME_BYTES];
	memcpy(name, words->want_dump_name, sizeof name);
	if (!memchr(name, '\0', sizeof name))
		mw_requests_reject(sequence, MW_REJECT_VALUE, sizeof name);
	else if (strcmp(name, mw_triggers_name()) != 0)
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

void mw_requests_obey(mw_state_control_t *words, uint32_t sequence) {
	uint64_t mean = atomic_load_explicit(&words->want_mean_bytes, memory_order_relaxed);
	uint32_t active = atomic_load_explicit(&words->want_active, memory_order_relaxed);
	uint32_t resets = atomic_load_explicit(&words->want_resets, memory_order_relaxed);
	uint32_t cpu_hz = atomic_load_explicit(&words->want_cpu_hz, memory_order_relaxed);
	if (mean < 1 || mean > MW_STATE_MEAN_BYTES_MAX)
		mw_requests_reject(sequence, MW_REJECT_VALUE, mean);
	else
		mw_control_apply_mean(mean);
	if (cpu_hz != mw_store_live()->cpu_hz && !mw_control_cpu_apply(cpu_hz))
		mw_requests_reject(sequence, MW_REJECT_VALUE, cpu_hz);
	/* A rate that was refused is not tried again with the next request. */
	atomic_store_explicit(&words->want_cpu_hz, mw_store_live()->cpu_hz, memory_order_relaxed);
	if (active > 1)
		mw_requests_reject(sequence, MW_REJECT_VALUE, active);
	else
		mw_control_apply_active(active);
	if (resets != mw_store_live()->resets_done)
		mw_control_apply_reset(resets);
	obey_settings(words, sequence);
}

void mw_requests_obey_dumps(const mw_state_control_t *words) {
	uint32_t dumps = atomic_load_explicit(&words->want_dumps, memory_order_relaxed);
	if (dumps == dumps_ordered)
		return;
	dumps_ordered = dumps;
	mw_due_dumps_order(dumps);
}

void mw_requests_obey_leaks(const mw_state_control_t *words, uint32_t sequence) {
	uint32_t number = atomic_load_explicit(&words->want_leak_checks, memory_order_relaxed);
	uint32_t options = atomic_load_explicit(&words->want_leak_options, memory_order_relaxed);
	if (number == leak_checks_ordered)
		return;
	leak_checks_ordered = number;
	const uint32_t known = MW_LEAK_PEEK | MW_LEAK_SHARED | MW_LEAK_HOLDERS;
	if ((options & ~known & ((1u << MW_LEAK_SECONDS_SHIFT) - 1)) != 0)
		mw_requests_reject(sequence, MW_REJECT_VALUE, options);
	else
		mw_control_leaks_order(number, options);
}
