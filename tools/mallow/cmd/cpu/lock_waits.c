/* SPDX-License-Identifier: MIT
 * lock_waits.c -- looks at threads that wait in futex(2), and sums up by lock. */
#include "cmd/cpu/lock_waits.h"

#include <dirent.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "cli/print.h"
#include "model/memory.h"
#include "symbol/symbolize.h"

/* Value of a glibc mutex that somebody waits for (nptl/lowlevellock.h). */
#define CONTENDED 2u
/* Distance that a variable may have from the start of its module. */
#define DATA_DISTANCE_MAX ((uint64_t)1 << 30)

/* One thread that waited for one lock, which one thread held. */
typedef struct wait {
	uint64_t lock; /* address */
	int waiter;
	int holder; /* 0: not known */
	uint64_t looks;
} wait_t;

typedef struct lock {
	uint64_t address, looks;
	uint32_t location; /* in the profile */
} lock_t;

struct mw_lock_waits {
	int pid;
	int *threads; /* at the last look */
	size_t thread_count, thread_capacity;
	wait_t *waits;
	size_t wait_count, wait_capacity;
	size_t *last; /* waits that the last look counted */
	size_t last_count, last_capacity;
	lock_t *locks;
	size_t lock_count, lock_capacity;
	uint64_t looks, refused;
};

mw_lock_waits_t *mw_lock_waits_new(void) {
	return mw_xcalloc(1, sizeof(mw_lock_waits_t));
}

void mw_lock_waits_begin(mw_lock_waits_t *w, int pid) {
	w->pid = pid;
}

void mw_lock_waits_free(mw_lock_waits_t *w) {
	if (w == NULL)
		return;
	free(w->threads);
	free(w->waits);
	free(w->last);
	free(w->locks);
	free(w);
}

bool mw_lock_waits_were_refused(const mw_lock_waits_t *w) {
	return w->refused > 0 && w->wait_count == 0;
}

/* ---- looking ---- */

static void find_threads(mw_lock_waits_t *w) {
	char path[64];
	const struct dirent *entry;
	snprintf(path, sizeof(path), "/proc/%d/task", w->pid);
	DIR *entries = opendir(path);
	w->thread_count = 0;
	while (entries != NULL && (entry = readdir(entries)) != NULL) {
		int thread = atoi(entry->d_name);
		if (thread <= 0)
			continue;
		w->threads = mw_grow(w->threads, &w->thread_capacity, w->thread_count + 1,
				     sizeof(*w->threads));
		w->threads[w->thread_count++] = thread;
	}
	if (entries != NULL)
		closedir(entries);
}

/* Returns the thread if the process has it, or else 0. */
static int known_thread(const mw_lock_waits_t *w, uint32_t thread) {
	for (size_t i = 0; i < w->thread_count; i++)
		if ((uint32_t)w->threads[i] == thread)
			return w->threads[i];
	return 0;
}

/* Reads in which system call a thread waits: its number and first arguments. */
static bool read_call(mw_lock_waits_t *w, int thread, uint64_t call[4]) {
	char path[80], text[256];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", w->pid, thread);
	FILE *file = fopen(path, "re");
	char *line = file != NULL ? fgets(text, sizeof(text), file) : NULL;
	if (file != NULL)
		fclose(file);
	w->refused += line == NULL;
	/* A thread that runs has the word "running". */
	return line != NULL && sscanf(line, "%" SCNu64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
				      &call[0], &call[1], &call[2], &call[3]) == 4;
}

/* Fills in the lock for which a thread waits, and who holds it.  False: it waits for no lock. */
static bool find_lock(mw_lock_waits_t *w, int thread, wait_t *out) {
	uint64_t call[4];
	uint32_t mutex[3]; /* glibc's: the word, a count, the holder's thread id */
	if (!read_call(w, thread, call) || call[0] != SYS_futex)
		return false;
	uint32_t operation = (uint32_t)call[2] & (uint32_t)FUTEX_CMD_MASK;
	bool is_pi = operation == FUTEX_LOCK_PI;
	bool is_wait = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
	if (!is_pi && !(is_wait && (uint32_t)call[3] == CONTENDED))
		return false;
	struct iovec to = {mutex, sizeof(mutex)},
		     from = {(void *)(uintptr_t)call[1], sizeof(mutex)};
	if (process_vm_readv(w->pid, &to, 1, &from, 1, 0) != (ssize_t)sizeof(mutex) ||
	    (!is_pi && mutex[0] != CONTENDED))
		return false;
	*out = (wait_t){.lock = call[1],
			.waiter = thread,
			.holder = known_thread(w, is_pi ? mutex[0] & FUTEX_TID_MASK : mutex[2])};
	return out->holder != thread;
}

static void count(mw_lock_waits_t *w, const wait_t *wait) {
	size_t i = 0;
	while (i < w->wait_count &&
	       (w->waits[i].lock != wait->lock || w->waits[i].waiter != wait->waiter ||
		w->waits[i].holder != wait->holder))
		i++;
	if (i == w->wait_count) {
		w->waits =
			mw_grow(w->waits, &w->wait_capacity, w->wait_count + 1, sizeof(*w->waits));
		w->waits[w->wait_count++] = *wait;
	}
	w->waits[i].looks++;
	w->last = mw_grow(w->last, &w->last_capacity, w->last_count + 1, sizeof(*w->last));
	w->last[w->last_count++] = i;
}

void mw_lock_waits_poll(mw_lock_waits_t *w) {
	wait_t wait;
	find_threads(w);
	w->last_count = 0;
	w->looks++;
	for (size_t i = 0; i < w->thread_count; i++)
		if (find_lock(w, w->threads[i], &wait))
			count(w, &wait);
}

void mw_lock_waits_undo(mw_lock_waits_t *w) {
	for (size_t i = 0; i < w->last_count; i++)
		w->waits[w->last[i]].looks--;
	w->looks -= w->looks > 0;
	w->last_count = 0;
}

/* ---- names ---- */

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

static int compare_locks(const void *a, const void *b) {
	const lock_t *left = a, *right = b;
	return (left->looks < right->looks) - (left->looks > right->looks);
}

void mw_lock_waits_add(mw_lock_waits_t *w, mw_profile_t *p) {
	for (size_t i = 0; i < w->wait_count; i++) {
		const wait_t *wait = &w->waits[i];
		size_t k = 0;
		while (k < w->lock_count && w->locks[k].address != wait->lock)
			k++;
		if (k == w->lock_count) {
			w->locks = mw_grow(w->locks, &w->lock_capacity, w->lock_count + 1,
					   sizeof(*w->locks));
			w->locks[w->lock_count++] = (lock_t){
				.address = wait->lock, .location = add_location(p, wait->lock)};
		}
		w->locks[k].looks += wait->looks;
	}
	qsort(w->locks, w->lock_count, sizeof(*w->locks), compare_locks);
}

static bool is_of_thread(const mw_profile_t *p, size_t sample, int thread) {
	const mw_label_t *id = mw_profile_label(p, sample, MW_LABEL_THREAD_ID);
	return id != NULL && id->number == thread;
}

/* Functions that take a lock, and what C++ has around them. */
static bool takes_lock(const char *name) {
	return strstr(name, "mutex_lock") != NULL || strstr(name, "lll_lock") != NULL ||
	       strstr(name, "rwlock_rdlock") != NULL || strstr(name, "rwlock_wrlock") != NULL;
}

static bool is_library(const mw_profile_t *p, uint32_t location, const char *name) {
	static const char *const libraries[] = {"libc.",     "libc-",     "libpthread", "ld-",
						"libstdc++", "libmallow", "[kernel",    "[vdso"};
	const char *path = mw_profile_string(p, p->mappings[p->locations[location].mapping].path);
	const char *slash = strrchr(path, '/');
	const char *base = slash != NULL ? slash + 1 : path;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (strncmp(base, libraries[i], strlen(libraries[i])) == 0)
			return true;
	return takes_lock(name) || strncmp(name, "std::", 5) == 0;
}

/* Fills in the innermost function of the program's own in a stack.  False: it has none, or the
 * stack does not wait for a lock although `waits` says so, or the other way round. */
static bool find_own(const mw_profile_t *p, const mw_sample_t *s, bool waits, char name[256]) {
	bool has_lock = false, has_own = false;
	for (uint32_t i = 0; i < s->depth && !has_own; i++) {
		uint32_t number = p->frames[s->frame_first + i];
		const mw_location_t *location = &p->locations[number];
		for (uint32_t k = 0; k < mw_location_frames(location) && !has_own; k++) {
			const mw_line_t *line = mw_location_line(p, location, k);
			if (line != NULL)
				snprintf(name, 256, "%s",
					 mw_profile_string(p, p->functions[line->function].name));
			else
				mw_location_name(p, number, name, 256);
			has_lock |= takes_lock(name);
			has_own = !is_library(p, number, name);
		}
	}
	return has_own && has_lock == waits;
}

/* Samples of one function. */
typedef struct function_sum {
	char name[256];
	int64_t samples;
} function_sum_t;

/* Prints in which function a thread was mostly, when it waited for a lock or when it did not. */
static void print_function(FILE *out, const mw_profile_t *p, int thread, bool waits) {
	function_sum_t *sums = NULL, one;
	size_t count = 0, capacity = 0, best = 0;
	for (size_t i = 0; i < p->sample_count; i++) {
		if (!is_of_thread(p, i, thread) || !find_own(p, &p->samples[i], waits, one.name))
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
	char shown[256];
	if (count > 0)
		fprintf(out, "%s in %s", waits ? "," : "; mostly it was",
			mw_show_text(sums[best].name, shown, sizeof(shown)));
	free(sums);
}

static void print_thread(FILE *out, const mw_profile_t *p, int thread) {
	char shown[MW_SHOW_BYTES * 2];
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_label_t *name = mw_profile_label(p, i, MW_LABEL_THREAD);
		if (name == NULL || !is_of_thread(p, i, thread))
			continue;
		fprintf(out, "%s (%d)",
			mw_show_text(mw_profile_string(p, name->text), shown, sizeof(shown)),
			thread);
		return;
	}
	fprintf(out, "thread %d", thread);
}

static void print_lock_name(FILE *out, const mw_profile_t *p, const lock_t *lock) {
	const mw_location_t *location = &p->locations[lock->location];
	char shown[256];
	if (location->line_count > 0) {
		const mw_line_t *line = mw_location_line(p, location, 0);
		const char *name = mw_profile_string(p, p->functions[line->function].name);
		fprintf(out, "%s (0x%" PRIx64 ")\n", mw_show_text(name, shown, sizeof(shown)),
			lock->address);
	} else {
		fprintf(out, "the lock at 0x%" PRIx64 "\n", lock->address);
	}
}

/* Prints the threads that waited for the lock, or those that held it. */
static void print_threads(FILE *out, const mw_lock_waits_t *w, const mw_profile_t *p,
			  const lock_t *lock, double look_seconds, bool holders) {
	char time[MW_SHOW_BYTES];
	for (size_t i = 0; i < w->wait_count; i++) {
		const wait_t *wait = &w->waits[i];
		int thread = holders ? wait->holder : wait->waiter;
		uint64_t looks = 0;
		bool is_first = wait->lock == lock->address;
		for (size_t k = 0; k < w->wait_count && is_first; k++) {
			const wait_t *other = &w->waits[k];
			bool is_same = other->lock == lock->address &&
				       (holders ? other->holder : other->waiter) == thread;
			is_first = !is_same || k >= i;
			looks += is_same ? other->looks : 0;
		}
		if (!is_first || looks == 0)
			continue;
		mw_show_duration((uint64_t)((double)looks * look_seconds * 1e9), time);
		fprintf(out, "%14s", "");
		if (holders && thread == 0) {
			fprintf(out, "held by a thread that is not known while %s were waited\n",
				time);
			continue;
		}
		fputs(holders ? "held by " : "", out);
		print_thread(out, p, thread);
		fprintf(out, holders ? " while %s were waited" : " waited %s", time);
		print_function(out, p, thread, !holders);
		fputc('\n', out);
	}
}

void mw_lock_waits_print(FILE *out, const mw_lock_waits_t *w, const mw_profile_t *p,
			 double seconds) {
	char time[MW_SHOW_BYTES], whole[MW_SHOW_BYTES];
	double look_seconds = w->looks > 0 ? seconds / (double)w->looks : 0;
	mw_show_duration((uint64_t)(seconds * 1e9), whole);
	if (w->lock_count == 0) {
		fprintf(out, "no thread waited for a lock in %s (%" PRIu64 " looks)\n", whole,
			w->looks);
		return;
	}
	fprintf(out, "Locks that threads waited for in %s (%" PRIu64 " looks):\n", whole, w->looks);
	for (size_t i = 0; i < w->lock_count; i++) {
		const lock_t *lock = &w->locks[i];
		if (lock->looks == 0)
			continue;
		mw_show_duration((uint64_t)((double)lock->looks * look_seconds * 1e9), time);
		fprintf(out, "%12s  ", time);
		print_lock_name(out, p, lock);
		print_threads(out, w, p, lock, look_seconds, false);
		print_threads(out, w, p, lock, look_seconds, true);
	}
}
