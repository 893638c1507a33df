/* SPDX-License-Identifier: MIT
 * thread_list.h -- the threads that a stop has found.
 * Layer: os/process. */
#ifndef MW_OS_THREAD_LIST_H
#define MW_OS_THREAD_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "os/process/stop.h"

typedef struct mw_os_thread_list {
	mw_os_stopped_t *threads; /* MW_OS_STOP_THREADS_MAX; NULL: not mapped yet */
	uint32_t count;
	bool is_full; /* a thread found no room */
} mw_os_thread_list_t;

/* Maps the memory, and forgets all threads. Returns false if the kernel refused. The memory is
 * never unmapped: a late signal handler writes there. */
bool mw_os_thread_list_clear(mw_os_thread_list_t *list);
/* Adds a thread that is not in the list. Returns NULL if it is, or if the list is full. */
mw_os_stopped_t *mw_os_thread_list_add(mw_os_thread_list_t *list, uint32_t thread_id);
/* Visits the memory of the list. */
void mw_os_thread_list_visit(const mw_os_thread_list_t *list,
			     void (*visit)(uintptr_t start, uintptr_t limit));

/* Calls `see` for each thread that an open directory /proc/self/task lists at this moment. Returns
 * false if the directory cannot be read. Not reentrant. */
bool mw_os_thread_list_read(int directory, void (*see)(void *context, uint32_t thread_id),
			    void *context);

#endif
