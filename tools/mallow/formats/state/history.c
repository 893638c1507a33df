/* SPDX-License-Identifier: MIT
 * history.c -- makes a history of a state file's ticks and events. */
#include <string.h>

#include "formats/state/state_file.h"

static int64_t clamped(uint64_t value) {
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* Adds the peak as a tick if it lies between two ticks. */
static void add_peak(mw_history_t *h, const mw_snapshot_t *snapshot) {
	const mw_state_live_t *live = &snapshot->live;
	const mw_state_header_t *header = &snapshot->header;
	mw_tick_t peak = {.live_bytes = live->peak_bytes};
	peak.time_ns = (int64_t)((header->created_realtime_ns + live->peak_monotonic_ns -
				  header->created_monotonic_ns) &
				 INT64_MAX);
	size_t at = 0;
	for (size_t i = 0; i < h->tick_count; i++) {
		if (h->ticks[i].live_bytes >= peak.live_bytes)
			return;
		at = h->ticks[i].time_ns <= peak.time_ns ? i : at;
	}
	if (live->peak_number == 0 || h->tick_count == 0)
		return;
	/* Ticks are ordered by time. */
	const mw_tick_t before = h->ticks[at];
	peak.resident_bytes = before.resident_bytes;
	peak.alloc_bytes = before.alloc_bytes;
	mw_history_add_tick(h, &peak);
	size_t place = before.time_ns <= peak.time_ns ? at + 1 : at;
	memmove(&h->ticks[place + 1], &h->ticks[place],
		(h->tick_count - 1 - place) * sizeof(mw_tick_t));
	h->ticks[place] = peak;
}

/* Adds pauses from the event log.  A program that began with sampling off has no event for the
 * begin of that pause. */
static void add_pauses(mw_history_t *h, const mw_snapshot_t *snapshot) {
	bool is_on = false, is_known = false;
	int64_t off_since_ns = h->tick_count > 0 ? h->ticks[0].time_ns : 0;
	for (size_t i = 0; i < snapshot->event_count; i++) {
		const mw_state_event_t *event = &snapshot->events[i];
		if (event->kind == MW_EVENT_START && !is_on && (is_known || i == 0))
			mw_history_add_pause(h, off_since_ns, clamped(event->time_ns));
		if (event->kind == MW_EVENT_STOP)
			off_since_ns = clamped(event->time_ns);
		if (event->kind == MW_EVENT_START || event->kind == MW_EVENT_STOP) {
			is_on = event->kind == MW_EVENT_START;
			is_known = true;
		}
	}
	if (!snapshot->live.active)
		mw_history_add_pause(h, off_since_ns, snapshot->time_ns);
}

void mw_history_from_snapshot(mw_history_t *h, const mw_snapshot_t *snapshot) {
	for (size_t i = 0; i < snapshot->tick_count; i++) {
		const mw_state_tick_t *from = &snapshot->ticks[i];
		const mw_tick_t tick = {
			.time_ns = clamped(from->time_ns),
			.live_bytes = from->live_bytes,
			.resident_bytes = clamped(from->resident_bytes),
			.alloc_bytes = from->alloc_bytes,
		};
		mw_history_add_tick(h, &tick);
	}
	add_peak(h, snapshot);
	add_pauses(h, snapshot);
}
