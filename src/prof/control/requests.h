/* SPDX-License-Identifier: MIT
 * requests.h -- what a tool asks of the process by the control words of the state file.
 * Layer: prof/control. Another process writes the words: each word is read once and then checked.
 * All functions are called with the control lock unless they say otherwise; mw_control_poll()
 * decides when.
 *
 * A standing request ("sample from now on") holds until the next one. A lease holds in its place
 * while a tool prolongs it (state/layout.h): a tool that was killed leaves nothing switched on. */
#ifndef MW_PROF_CONTROL_REQUESTS_H
#define MW_PROF_CONTROL_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "state/layout.h"

/* Returns the words in the published copy; NULL: there is none. Needs no lock. */
mw_state_control_t *mw_requests_words(void);
/* Writes the present state into the words, before the state file is made. */
void mw_requests_offer(uint64_t mean_bytes);
/* Applies all words but the number of the dump; rejects values out of range. */
void mw_requests_follow(mw_state_control_t *words, uint32_t sequence);
/* Makes a requested dump due. It is written without the lock, so that a slow disk does not delay
 * other threads. */
void mw_requests_follow_dumps(const mw_state_control_t *words);
/* Orders the leak check that a tool requests. */
void mw_requests_follow_leaks(const mw_state_control_t *words, uint32_t sequence);
/* Gives free memory back to the kernel if a tool asks for that. */
void mw_requests_follow_trims(const mw_state_control_t *words);
/* Returns the rate of CPU samples that is asked for now, as live.cpu_hz: that of the lease, else
 * the standing one. A lease whose time is over ends. Async-signal-safe, needs no lock. */
uint32_t mw_requests_cpu_rate(void);
/* The rate that mw_requests_cpu_rate() returned cannot be had: it is not asked for any more.
 * Async-signal-safe, needs no lock. */
void mw_requests_refuse_cpu(void);
/* Returns whether the heap is to be sampled, by the lease or by the standing request. */
bool mw_requests_is_active(void);
/* Standing requests of the program itself, which end leases. */
void mw_requests_stand_active(bool active);
void mw_requests_stand_cpu(uint32_t rate);
/* Returns whether a lease is held. Needs no lock. */
bool mw_requests_has_lease(void);
/* Writes leases and standing requests to the live section. The tables exist. Async-signal-safe,
 * needs no lock. */
void mw_requests_show_leases(void);
/* Ends leases whose time is over. Returns the monotonic time of the next check; UINT64_MAX: no
 * lease is held. Called without the lock; if another thread has it, the next sample checks again.
 */
uint64_t mw_requests_check_leases(uint64_t now_ns);
/* Plans the next check, and returns as mw_requests_check_leases() does. */
uint64_t mw_requests_plan_check(uint64_t now_ns);
/* Called in the child of a fork: leases, and CPU samples, are the parent's. */
void mw_requests_forked(void);
/* Tells the tool, and the event log, that a value of this request was not applied. */
void mw_requests_reject(uint32_t sequence, mw_reject_reason_t reason, uint64_t value);

#endif
