/* SPDX-License-Identifier: MIT
 * sampling_lease.h -- has a live process take samples for as long as this command runs.
 * Layer: live.  The process stops by itself a few seconds after the last command that has a lease
 * has ended, in whatever way, was stopped, or was suspended (state/layout.h, MW_LEASE_NS).  What a
 * user switched on by a request of control.h stays on.
 *
 * Several commands may have a lease of one process: the first one chooses the rate, and the process
 * goes on until the last one ends. */
#ifndef MW_TOOL_LIVE_SAMPLING_LEASE_H
#define MW_TOOL_LIVE_SAMPLING_LEASE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "live/control.h"
#include "live/target.h"
#include "model/error.h"

typedef struct mw_lease {
	bool is_cpu;   /* of CPU samples; else of the heap's */
	uint32_t rate; /* as live.cpu_hz, or 1; after the begin that of the first command */
	/* The state file, also when the process has ended; -1: no lease. */
	int fd;
	uint64_t beats_at, held_at; /* offsets of the beats, and of what the process says, in it */
	double lost_seconds; /* for which the process had stopped, because the command did not run
			      */
	/* Of the thread that prolongs the lease. */
	const mw_target_t *target;
	double wait_seconds;
	uint64_t last_beat_ns; /* before the thread */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	bool has_thread, is_ending;
	_Atomic uint64_t gap_ns; /* time without beats that was too long; 0: none since last seen */
} mw_lease_t;

/* Begins a lease of CPU samples, with a rate as live.cpu_hz, or of the heap's, with `rate` 0. The
 * target outlives the lease. Returns 0, also if the request is pending (reply->outcome); -1: the
 * process does not sample, or another command samples something else. lease->rate may then differ
 * from `rate` in the number of samples per second. */
int mw_lease_begin(mw_lease_t *lease, const mw_target_t *target, uint32_t rate, double wait_seconds,
		   mw_reply_t *reply, mw_error_t *error);
/* Called a few times a second by a command that waits: begins again if the command was stopped or
 * suspended for so long that the process has stopped to sample. */
void mw_lease_keep(mw_lease_t *lease);
/* Returns whether the process still runs the program that the lease was begun with. */
bool mw_lease_has_process(const mw_lease_t *lease);
/* Ends the lease; one that was not begun is left alone. `reply` may be NULL. The process stops if
 * no other command has a lease; wait_seconds of the begin is the longest wait for that. */
void mw_lease_end(mw_lease_t *lease, mw_reply_t *reply);

#endif
