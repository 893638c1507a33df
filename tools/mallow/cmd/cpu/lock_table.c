/* SPDX-License-Identifier: MIT
 * lock_table.c -- sums up waits by lock and thread, and prints the sums. */
#include "cmd/cpu/lock_table.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print.h"
#include "model/memory.h"
#include "report/text/names.h"
#include "symbol/symbolize.h"
#include "view/select/wrappers.h"

/* Distance that a variable may have from the start of its module. */
#define DATA_DISTANCE_MAX ((uint64_t)1 << 30)

/* ---- sums ---- */

static uint32_t add_location(mw_profile_t *p, uint64_t address) {
	uint32_t found = 0;
	for (uint32_t i = 1; i < p->mapping_count; i++) {
		uint64_t start = p->mappings[i].start;
		if (start <= address && address - start < DATA_DISTANCE_MAX &&
		    (found == 0 || start > p->mappings[found].start))
			found = i;
	}
	return mw_profile_add_location(p, found, address, true);
}

static int compare_looks(uint64_t left, uint64_t right) {
	return (left < right) - (left > right);
}

static int compare_locks(const void *a, const void *b) {
	const mw_lock_t *left = a, *right = b;
	int order = compare_looks(left->looks, right->looks);
	return order != 0 ? order : compare_looks(right->address, left->address);
}

static int compare_threads(const void *a, const void *b) {
	const mw_lock_thread_t *left = a, *right = b;
	int order = compare_looks(left->looks, right->looks);
	return order != 0 ? order : (left->thread > right->thread) - (left->thread < right->thread);
}

static void add_thread(mw_lock_threads_t *threads, int thread, uint64_t looks) {
	size_t i = 0;
	while (i < threads->count && threads->all[i].thread != thread)
		i++;
	if (i == threads->count) {
		threads->all =
			mw_grow(threads->all, &threads->capacity, i + 1, sizeof(*threads->all));
		threads->all[threads->count++] = (mw_lock_thread_t){.thread = thread};
	}
	threads->all[i].looks += looks;
}

static mw_lock_t *find_lock(mw_lock_table_t *t, uint64_t address, mw_profile_t *p) {
	size_t i = 0;
	while (i < t->count && t->locks[i].address != address)
		i++;
	if (i == t->count) {
		t->locks = mw_grow(t->locks, &t->capacity, i + 1, sizeof(*t->locks));
		t->locks[t->count++] =
			(mw_lock_t){.address = address, .location = add_location(p, address)};
	}
	return &t->locks[i];
}

static void sort_threads(mw_lock_threads_t *threads) {
	qsort(threads->all, threads->count, sizeof(*threads->all), compare_threads);
}

void mw_lock_table_make(mw_lock_table_t *t, const mw_lock_wait_t *waits, size_t count,
			mw_profile_t *p) {
	*t = (mw_lock_table_t){.locks = NULL};
	for (size_t i = 0; i < count; i++) {
		if (waits[i].looks == 0)
			continue;
		mw_lock_t *lock = find_lock(t, waits[i].lock, p);
		lock->looks += waits[i].looks;
		add_thread(&lock->waiters, waits[i].waiter, waits[i].looks);
		add_thread(&lock->holders, waits[i].holder, waits[i].looks);
	}
	for (size_t i = 0; i < t->count; i++) {
		sort_threads(&t->locks[i].waiters);
		sort_threads(&t->locks[i].holders);
	}
	if (t->count > 0)
		qsort(t->locks, t->count, sizeof(*t->locks), compare_locks);
}

void mw_lock_table_release(mw_lock_table_t *t) {
	for (size_t i = 0; i < t->count; i++) {
		free(t->locks[i].waiters.all);
		free(t->locks[i].holders.all);
	}
	free(t->locks);
	*t = (mw_lock_table_t){.locks = NULL};
}

/* ---- names ---- */

static bool is_of_thread(const mw_profile_t *p, size_t sample, int thread) {
	const mw_label_t *id = mw_profile_label(p, sample, MW_LABEL_THREAD_ID);
	return id != NULL && id->number == thread;
}

/* Functions that take a lock, and what C++ has around them. */
static bool takes_lock(const char *name) {
	return strstr(name, "mutex_lock") != NULL || strstr(name, "lll_lock") != NULL ||
	       strstr(name, "rwlock_rdlock") != NULL || strstr(name, "rwlock_wrlock") != NULL;
}

/* Fills in the innermost function of the program's own in a stack.  False: it has none, or the
 * stack does not wait for a lock although `waits` says so, or the other way round. */
static bool find_own(const mw_profile_t *p, mw_wrappers_t *w, const mw_sample_t *s, bool waits,
		     char name[MW_LOCK_NAME_BYTES]) {
	bool has_lock = false, has_own = false;
	for (uint32_t i = 0; i < s->depth && !has_own; i++) {
		uint32_t number = p->frames[s->frame_first + i];
		const mw_location_t *location = &p->locations[number];
		for (uint32_t k = 0; k < mw_location_frames(location) && !has_own; k++) {
			const mw_line_t *line = mw_location_line(p, location, k);
			if (line != NULL)
				snprintf(name, MW_LOCK_NAME_BYTES, "%s",
					 mw_profile_string(p, p->functions[line->function].name));
			else
				mw_location_name(p, number, name, MW_LOCK_NAME_BYTES);
			has_lock |= takes_lock(name);
			has_own =
				!takes_lock(name) && mw_wrappers_kind(w, number, k) == MW_FRAME_OWN;
		}
	}
	return has_own && has_lock == waits;
}

/* Samples of one function. */
typedef struct function_sum {
	char name[MW_LOCK_NAME_BYTES];
	int64_t samples;
} function_sum_t;

/* Fills in in which function a thread was most, when it waited for a lock or when it did not. */
static void find_function(const mw_profile_t *p, mw_wrappers_t *w, mw_lock_thread_t *thread,
			  bool waits) {
	function_sum_t *sums = NULL, one;
	size_t count = 0, capacity = 0, best = 0;
	for (size_t i = 0; i < p->sample_count; i++) {
		if (!is_of_thread(p, i, thread->thread) ||
		    !find_own(p, w, &p->samples[i], waits, one.name))
			continue;
		size_t k = 0;
		while (k < count && strcmp(sums[k].name, one.name) != 0)
			k++;
		if (k == count) {
			one.samples = 0;
			sums = mw_grow(sums, &capacity, count + 1, sizeof(*sums));
			sums[count++] = one;
		}
		sums[k].samples += mw_profile_values(p, i)[0];
		if (sums[k].samples > sums[best].samples)
			best = k;
	}
	if (count > 0)
		memcpy(thread->function, sums[best].name, sizeof(thread->function));
	free(sums);
}

static const char *thread_name(const mw_profile_t *p, int thread) {
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_label_t *name = mw_profile_label(p, i, MW_LABEL_THREAD);
		if (name != NULL && is_of_thread(p, i, thread))
			return mw_profile_string(p, name->text);
	}
	return NULL;
}

static void name_threads(mw_lock_threads_t *threads, const mw_profile_t *p, mw_wrappers_t *w,
			 bool waits) {
	for (size_t i = 0; i < threads->count; i++) {
		mw_lock_thread_t *one = &threads->all[i];
		if (one->thread == 0)
			continue;
		one->name = thread_name(p, one->thread);
		find_function(p, w, one, waits);
	}
}

void mw_lock_table_name(mw_lock_table_t *t, mw_profile_t *p) {
	mw_wrappers_t *w = mw_wrappers_new(p, MW_WRAPPERS_ALL);
	for (size_t i = 0; i < t->count; i++) {
		mw_lock_t *lock = &t->locks[i];
		const mw_location_t *location = &p->locations[lock->location];
		const mw_line_t *line =
			location->line_count > 0 ? mw_location_line(p, location, 0) : NULL;
		if (line != NULL)
			lock->name = mw_profile_string(p, p->functions[line->function].name);
		name_threads(&lock->waiters, p, w, true);
		name_threads(&lock->holders, p, w, false);
	}
	mw_wrappers_free(w);
}

/* ---- output ---- */

static double seconds_of(const mw_lock_table_t *t, uint64_t looks) {
	return t->looks > 0 ? (double)looks * t->seconds / (double)t->looks : 0;
}

static const char *duration_of(const mw_lock_table_t *t, uint64_t looks,
			       char buffer[MW_SHOW_BYTES]) {
	return mw_show_duration((uint64_t)(seconds_of(t, looks) * 1e9), buffer);
}

static const char *show_function(const char *name, char *buffer, size_t size) {
	char shorter[MW_LOCK_NAME_BYTES];
	mw_short_name(name, shorter, sizeof(shorter));
	return mw_show_text(shorter, buffer, size);
}

static void print_thread(FILE *out, const mw_lock_table_t *t, const mw_lock_thread_t *one,
			 bool waits) {
	char time[MW_SHOW_BYTES], shown[MW_LOCK_NAME_BYTES];
	duration_of(t, one->looks, time);
	fprintf(out, "%14s%s", "", waits ? "" : "held by ");
	if (one->thread == 0)
		fprintf(out, "a thread that is not known");
	else if (one->name != NULL)
		fprintf(out, "%s (%d)", mw_show_text(one->name, shown, sizeof(shown)), one->thread);
	else
		fprintf(out, "thread %d", one->thread);
	fprintf(out, waits ? " waited %s" : " while %s were waited", time);
	if (one->function[0] != '\0')
		fprintf(out, "%s in %s", waits ? "," : "; mostly it was",
			show_function(one->function, shown, sizeof(shown)));
	fputc('\n', out);
}

static void print_lock(FILE *out, const mw_lock_table_t *t, const mw_lock_t *lock) {
	char time[MW_SHOW_BYTES], shown[MW_LOCK_NAME_BYTES];
	fprintf(out, "%12s  ", duration_of(t, lock->looks, time));
	if (lock->name != NULL)
		fprintf(out, "%s (0x%" PRIx64 ")\n",
			show_function(lock->name, shown, sizeof(shown)), lock->address);
	else
		fprintf(out, "the lock at 0x%" PRIx64 "\n", lock->address);
	for (size_t i = 0; i < lock->waiters.count; i++)
		print_thread(out, t, &lock->waiters.all[i], true);
	for (size_t i = 0; i < lock->holders.count; i++)
		print_thread(out, t, &lock->holders.all[i], false);
}

void mw_lock_table_print(FILE *out, const mw_lock_table_t *t) {
	char whole[MW_SHOW_BYTES];
	mw_show_duration((uint64_t)(t->seconds * 1e9), whole);
	if (t->count == 0) {
		fprintf(out, "no thread waited for a lock in %s (%" PRIu64 " looks)\n", whole,
			t->looks);
		return;
	}
	fprintf(out, "Locks that threads waited for in %s (%" PRIu64 " looks):\n", whole, t->looks);
	for (size_t i = 0; i < t->count; i++)
		print_lock(out, t, &t->locks[i]);
}

static json_t *text_or_null(const char *text) {
	return text != NULL && *text != '\0' ? mw_json_text(text) : json_null();
}

static json_t *threads_json(const mw_lock_table_t *t, const mw_lock_threads_t *threads) {
	json_t *list = json_array();
	for (size_t i = 0; i < threads->count; i++) {
		const mw_lock_thread_t *one = &threads->all[i];
		json_array_append_new(
			list, json_pack("{s:o,s:o,s:f,s:o}", "thread", text_or_null(one->name),
					"thread_id",
					one->thread != 0 ? json_integer(one->thread) : json_null(),
					"seconds", seconds_of(t, one->looks), "function",
					text_or_null(one->function)));
	}
	return list;
}

json_t *mw_lock_table_json(const mw_lock_table_t *t, const mw_profile_t *p) {
	json_t *list = json_array();
	for (size_t i = 0; i < t->count; i++) {
		const mw_lock_t *lock = &t->locks[i];
		char address[32];
		snprintf(address, sizeof(address), "0x%" PRIx64, lock->address);
		json_array_append_new(list, json_pack("{s:s,s:o,s:f,s:o,s:o}", "address", address,
						      "name", text_or_null(lock->name), "seconds",
						      seconds_of(t, lock->looks), "waiters",
						      threads_json(t, &lock->waiters), "holders",
						      threads_json(t, &lock->holders)));
	}
	return json_pack("{s:s,s:o,s:I,s:f,s:I,s:f,s:o}", "view", "locks", "program",
			 mw_json_text(mw_profile_string(p, p->origin.program)), "pid",
			 (json_int_t)p->origin.pid, "seconds", t->seconds, "looks",
			 (json_int_t)t->looks, "stopped_seconds", t->stopped_seconds, "locks",
			 list);
}
