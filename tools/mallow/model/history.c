/* SPDX-License-Identifier: MIT
 * history.c -- the two growing lists of a history: ticks and pauses. */
#include "model/history.h"

#include <stdlib.h>

#include "model/memory.h"

void mw_history_add_tick(mw_history_t *h, const mw_tick_t *tick) {
	h->ticks = mw_grow(h->ticks, &h->tick_capacity, h->tick_count + 1, sizeof(*h->ticks));
	h->ticks[h->tick_count++] = *tick;
}

void mw_history_add_pause(mw_history_t *h, int64_t from_ns, int64_t until_ns) {
	if (from_ns >= until_ns)
		return;
	h->pauses = mw_grow(h->pauses, &h->pause_capacity, h->pause_count + 1, sizeof(*h->pauses));
	h->pauses[h->pause_count++] = (mw_pause_t){from_ns, until_ns};
}

void mw_history_add(mw_history_t *h, const mw_history_t *from) {
	for (size_t i = 0; i < from->tick_count; i++)
		mw_history_add_tick(h, &from->ticks[i]);
	for (size_t i = 0; i < from->pause_count; i++)
		mw_history_add_pause(h, from->pauses[i].from_ns, from->pauses[i].until_ns);
}

void mw_history_clear(mw_history_t *h) {
	free(h->ticks);
	free(h->pauses);
	*h = (mw_history_t){0};
}
