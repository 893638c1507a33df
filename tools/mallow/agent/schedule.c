/* SPDX-License-Identifier: MIT
 * schedule.c -- moments of processes, and waits after failures. */
#include "agent/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "agent/rules/stable_hash.h"
#include "model/memory.h"

/* Doubles of the first wait before the greatest one counts in any case. */
#define DOUBLES_MAX 40u

void mw_schedule_init(mw_schedule_t *schedule, const char *host, uint64_t period_ns) {
	*schedule = (mw_schedule_t){
		.period_ns = period_ns,
		.host = mw_stable_hash(MW_STABLE_HASH_SEED, host, strlen(host)),
	};
}

void mw_schedule_release(mw_schedule_t *schedule) {
	free(schedule->items);
	*schedule = (mw_schedule_t){0};
}

static uint64_t hash_of(const mw_schedule_t *schedule, uint64_t key) {
	return mw_stable_hash_spread(mw_stable_hash(schedule->host, &key, sizeof(key)));
}

uint64_t mw_schedule_moment(const mw_schedule_t *schedule, uint64_t key, uint64_t now_ns) {
	uint64_t period_ns = schedule->period_ns;
	uint64_t offset_ns = hash_of(schedule, key) % period_ns;
	uint64_t moment_ns = now_ns - now_ns % period_ns + offset_ns;
	return moment_ns > now_ns ? moment_ns : moment_ns + period_ns;
}

static mw_due_t *find(const mw_schedule_t *schedule, uint64_t key) {
	for (size_t i = 0; i < schedule->count; i++)
		if (schedule->items[i].key == key)
			return &schedule->items[i];
	return NULL;
}

bool mw_schedule_has(const mw_schedule_t *schedule, uint64_t key) {
	return find(schedule, key) != NULL;
}

static mw_due_t *add(mw_schedule_t *schedule, uint64_t key) {
	schedule->items = mw_grow(schedule->items, &schedule->capacity, schedule->count + 1,
				  sizeof(*schedule->items));
	mw_due_t *item = &schedule->items[schedule->count++];
	*item = (mw_due_t){.key = key};
	return item;
}

void mw_schedule_add(mw_schedule_t *schedule, uint64_t key, uint64_t now_ns) {
	if (!mw_schedule_has(schedule, key))
		add(schedule, key)->due_ns = mw_schedule_moment(schedule, key, now_ns);
}

void mw_schedule_hasten(mw_schedule_t *schedule, uint64_t key, uint64_t within_ns,
			uint64_t now_ns) {
	mw_due_t *item = find(schedule, key);
	if (item == NULL)
		item = add(schedule, key);
	item->due_ns = now_ns + (within_ns > 0 ? hash_of(schedule, key) % within_ns : 0);
}

void mw_schedule_remove(mw_schedule_t *schedule, uint64_t key) {
	mw_due_t *item = find(schedule, key);
	if (item != NULL)
		*item = schedule->items[--schedule->count];
}

void mw_schedule_set_period(mw_schedule_t *schedule, uint64_t period_ns, uint64_t now_ns) {
	if (schedule->period_ns == period_ns)
		return;
	schedule->period_ns = period_ns;
	for (size_t i = 0; i < schedule->count; i++)
		schedule->items[i].due_ns =
			mw_schedule_moment(schedule, schedule->items[i].key, now_ns);
}

/* A moment that is more than a period ahead was planned before the clock jumped back. */
static uint64_t wait_of(const mw_schedule_t *schedule, const mw_due_t *item, uint64_t now_ns) {
	uint64_t due_ns = item->due_ns;
	if (due_ns > now_ns + schedule->period_ns)
		due_ns = mw_schedule_moment(schedule, item->key, now_ns);
	return due_ns > now_ns ? due_ns - now_ns : 0;
}

bool mw_schedule_take(mw_schedule_t *schedule, uint64_t now_ns, uint64_t *key) {
	mw_due_t *first = NULL;
	for (size_t i = 0; i < schedule->count; i++) {
		mw_due_t *item = &schedule->items[i];
		/* The moment of the time that is now is kept. */
		if (item->due_ns > now_ns + schedule->period_ns)
			item->due_ns = mw_schedule_moment(schedule, item->key, now_ns);
		if (item->due_ns <= now_ns && (first == NULL || item->due_ns < first->due_ns))
			first = item;
	}
	if (first == NULL)
		return false;
	*key = first->key;
	first->due_ns = mw_schedule_moment(schedule, first->key, now_ns);
	return true;
}

uint64_t mw_schedule_wait_ns(const mw_schedule_t *schedule, uint64_t now_ns) {
	uint64_t least_ns = UINT64_MAX;
	for (size_t i = 0; i < schedule->count; i++) {
		uint64_t wait_ns = wait_of(schedule, &schedule->items[i], now_ns);
		if (wait_ns < least_ns)
			least_ns = wait_ns;
	}
	return least_ns;
}

void mw_backoff_fail(mw_backoff_t *backoff, uint64_t now_ns, uint64_t random) {
	uint64_t wait_ns = backoff->most_ns;
	if (backoff->failures < DOUBLES_MAX &&
	    backoff->first_ns <= backoff->most_ns >> backoff->failures)
		wait_ns = backoff->first_ns << backoff->failures;
	if (backoff->failures < DOUBLES_MAX)
		backoff->failures++;
	uint64_t half_ns = wait_ns / 2;
	backoff->until_ns = now_ns + wait_ns - (half_ns > 0 ? random % half_ns : 0);
}

void mw_backoff_succeed(mw_backoff_t *backoff) {
	backoff->failures = 0;
	backoff->until_ns = 0;
}

uint64_t mw_backoff_wait_ns(mw_backoff_t *backoff, uint64_t now_ns) {
	if (backoff->until_ns > now_ns + backoff->most_ns)
		backoff->until_ns = now_ns + backoff->most_ns;
	return backoff->until_ns > now_ns ? backoff->until_ns - now_ns : 0;
}
