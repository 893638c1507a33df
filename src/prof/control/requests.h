/* SPDX-License-Identifier: MIT
 * requests.h -- what a tool asks of the process by the control words of the state file.
 * Layer: prof/control. Another process writes the words: each word is read once and then checked.
 * All functions are called with the control lock; mw_control_poll() decides when. */
#ifndef MW_PROF_CONTROL_REQUESTS_H
#define MW_PROF_CONTROL_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "state/layout.h"

/* Returns the words in the published copy; NULL: there is none. Needs no lock. */
mw_state_control_t *mw_requests_words(void);
/* Writes the present state into the words, before the state file is made. */
void mw_requests_offer(bool active, uint64_t mean_bytes);
/* Applies all words but the number of the dump; rejects values out of range. */
void mw_requests_obey(mw_state_control_t *words, uint32_t sequence);
/* Makes a requested dump due. It is written without the lock, so that a slow disk does not delay
 * other threads. */
void mw_requests_obey_dumps(const mw_state_control_t *words);
/* Orders the leak check that a tool requests. */
void mw_requests_obey_leaks(const mw_state_control_t *words, uint32_t sequence);
/* Tells the tool, and the event log, that a value of this request was not applied. */
void mw_requests_reject(uint32_t sequence, mw_reject_reason_t reason, uint64_t value);

#endif
