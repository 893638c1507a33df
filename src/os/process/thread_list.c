/* SPDX-License-Identifier: MIT
 * thread_list.c -- an array, and a hash table of its thread ids. */
#include "os/process/thread_list.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/file/file.h"
#include "os/file/proc_threads.h"
#include "os/memory/map.h"

/* Twice the number of threads, so that searches in the table are short. */
#define SLOTS (2 * MW_OS_STOP_THREADS_MAX)
#define THREADS_BYTES (MW_OS_STOP_THREADS_MAX * sizeof(mw_os_stopped_t))
#define LIST_BYTES (THREADS_BYTES + SLOTS * sizeof(uint32_t))

/* Entries of /proc/self/task. */
static _Alignas(8) char names[4096] MW_SPARSE;

/* Behind the threads: slots with a thread's index + 1; 0: free. */
static uint32_t *slots_of(const mw_os_thread_list_t *list) {
	return (uint32_t *)(void *)(list->threads + MW_OS_STOP_THREADS_MAX);
}

MW_COLD bool mw_os_thread_list_clear(mw_os_thread_list_t *list) {
	list->count = 0;
	list->is_full = false;
	if (list->threads)
		return mw_os_purge(list->threads, LIST_BYTES);
	list->threads = mw_os_map(LIST_BYTES);
	return list->threads != NULL;
}

MW_COLD mw_os_stopped_t *mw_os_thread_list_add(mw_os_thread_list_t *list, uint32_t thread_id) {
	uint32_t *slots = slots_of(list), slot = thread_id % SLOTS;
	for (; slots[slot] != 0; slot = (slot + 1) % SLOTS)
		if (list->threads[slots[slot] - 1].thread_id == thread_id)
			return NULL;
	if (list->count == MW_OS_STOP_THREADS_MAX) {
		list->is_full = true;
		return NULL;
	}
	mw_os_stopped_t *thread = &list->threads[list->count++];
	slots[slot] = list->count;
	thread->thread_id = thread_id;
	return thread;
}

void mw_os_thread_list_visit(const mw_os_thread_list_t *list,
			     void (*visit)(uintptr_t start, uintptr_t limit)) {
	if (list->threads)
		visit((uintptr_t)list->threads, (uintptr_t)list->threads + LIST_BYTES);
}

MW_COLD bool mw_os_thread_list_read(int directory, void (*see)(void *context, uint32_t thread_id),
				    void *context) {
	int saved_errno = errno;
	long bytes = syscall(SYS_lseek, directory, 0, SEEK_SET);
	errno = saved_errno;
	if (bytes < 0)
		return false;
	while ((bytes = mw_os_list(directory, names, sizeof names)) > 0) {
		const char *name;
		size_t position = 0;
		while ((name = mw_os_next_name(names, (size_t)bytes, &position)) != NULL) {
			uint32_t thread_id = mw_os_thread_of_name(name);
			if (thread_id != 0)
				see(context, thread_id);
		}
	}
	return bytes == 0;
}
