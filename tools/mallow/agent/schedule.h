/* SPDX-License-Identifier: MIT
 * schedule.h -- when each process is pushed, and when the agent tries again after a failure.
 * Layer: agent.  Each process has its moment in the period, which comes from a hash of the host's
 * name and the process: ten thousand hosts with equal programs push at moments that are spread over
 * the whole period, and no two of them need to agree on it.
 *
 * Times are those of the caller's clock, which may stand still or jump: after a jump forward each
 * process is due once, not once for each period that is missing; after a jump back each is due
 * within one period. */
#ifndef MW_TOOL_AGENT_SCHEDULE_H
#define MW_TOOL_AGENT_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mw_due {
	uint64_t key;    /* of the process */
	uint64_t due_ns; /* its next moment */
} mw_due_t;

typedef struct mw_schedule {
	uint64_t period_ns;
	uint64_t host; /* hash of the host's name */
	mw_due_t *items;
	size_t count, capacity;
} mw_schedule_t;

void mw_schedule_init(mw_schedule_t *schedule, const char *host, uint64_t period_ns);
void mw_schedule_release(mw_schedule_t *schedule);

/* Changes the period: each process gets its moment in the new one. */
void mw_schedule_set_period(mw_schedule_t *schedule, uint64_t period_ns, uint64_t now_ns);
/* Returns the process's first moment after now. */
uint64_t mw_schedule_moment(const mw_schedule_t *schedule, uint64_t key, uint64_t now_ns);

/* Adds a process, which is due at its next moment; one that is there stays as it is. */
void mw_schedule_add(mw_schedule_t *schedule, uint64_t key, uint64_t now_ns);
/* Has the process be due within so short a time, at a moment by its hash.  It is added if it is not
 * there. */
void mw_schedule_hasten(mw_schedule_t *schedule, uint64_t key, uint64_t within_ns, uint64_t now_ns);
void mw_schedule_remove(mw_schedule_t *schedule, uint64_t key);
bool mw_schedule_has(const mw_schedule_t *schedule, uint64_t key);

/* Takes the process that is due for longest, and plans its next moment.  False: none is due. */
bool mw_schedule_take(mw_schedule_t *schedule, uint64_t now_ns, uint64_t *key);
/* Returns the time until the next process is due; UINT64_MAX: there is none. */
uint64_t mw_schedule_wait_ns(const mw_schedule_t *schedule, uint64_t now_ns);

/* Waits that double from `first_ns` to `most_ns` while tries fail.  Zero but for the two: no try
 * has failed. */
typedef struct mw_backoff {
	uint64_t first_ns, most_ns;
	unsigned failures;
	uint64_t until_ns; /* no try before; 0: at any time */
} mw_backoff_t;

/* `random`: a number that differs from host to host: the wait is between a half and all of it. */
void mw_backoff_fail(mw_backoff_t *backoff, uint64_t now_ns, uint64_t random);
void mw_backoff_succeed(mw_backoff_t *backoff);
/* Returns the time until the next try; 0: now.  A clock that jumped back makes no wait longer than
 * most_ns. */
uint64_t mw_backoff_wait_ns(mw_backoff_t *backoff, uint64_t now_ns);

#endif
