/* SPDX-License-Identifier: MIT
 * history.h -- how one process's heap grew: the ticks and pauses that the process recorded.
 * Layer: model. */
#ifndef MW_TOOL_MODEL_HISTORY_H
#define MW_TOOL_MODEL_HISTORY_H

#include <stddef.h>
#include <stdint.h>

typedef struct mw_tick {
	int64_t time_ns; /* nanoseconds since 1970 */
	int64_t live_bytes;
	int64_t resident_bytes;
	int64_t alloc_bytes; /* bytes allocated from the start of the profile to this tick */
} mw_tick_t;

/* A time in which sampling was off.  The ticks leave out allocations of this time. */
typedef struct mw_pause {
	int64_t from_ns, until_ns;
} mw_pause_t;

/* A zeroed history is empty. */
typedef struct mw_history {
	mw_tick_t *ticks;
	size_t tick_count, tick_capacity;
	mw_pause_t *pauses;
	size_t pause_count, pause_capacity;
} mw_history_t;

void mw_history_add_tick(mw_history_t *history, const mw_tick_t *tick);
void mw_history_add_pause(mw_history_t *history, int64_t from_ns, int64_t until_ns);
/* Appends all ticks and pauses of `from`. */
void mw_history_add(mw_history_t *history, const mw_history_t *from);
/* Frees the lists; the history is then empty. */
void mw_history_clear(mw_history_t *history);

#endif
