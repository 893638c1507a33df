/* SPDX-License-Identifier: MIT
 * lock_waits.c -- looks at threads that wait in futex(2). */
#include "cmd/cpu/lock_waits.h"

#include <dirent.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "model/memory.h"

/* Value of a glibc mutex that somebody waits for (nptl/lowlevellock.h). */
#define CONTENDED 2u
struct mw_lock_waits {
	int pid;
	int *threads; /* at the last look */
	size_t thread_count, thread_capacity;
	mw_lock_wait_t *waits;
	size_t wait_count, wait_capacity;
	size_t *last; /* waits that the last look counted */
	size_t last_count, last_capacity;
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
static bool find_lock(mw_lock_waits_t *w, int thread, mw_lock_wait_t *out) {
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
	*out = (mw_lock_wait_t){
		.lock = call[1],
		.waiter = thread,
		.holder = known_thread(w, is_pi ? mutex[0] & FUTEX_TID_MASK : mutex[2])};
	return out->holder != thread;
}

static void count(mw_lock_waits_t *w, const mw_lock_wait_t *wait) {
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
	mw_lock_wait_t wait;
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

const mw_lock_wait_t *mw_lock_waits_all(const mw_lock_waits_t *w, size_t *count, uint64_t *looks) {
	*count = w->wait_count;
	*looks = w->looks;
	return w->waits;
}
