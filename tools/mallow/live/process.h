/* SPDX-License-Identifier: MIT
 * process.h -- what /proc says of a process.
 * Layer: live.  All answers may be out of date when they arrive; a process is named by its pid and
 * start time together, so that a reused pid is never taken for the old one. */
#ifndef MW_LIVE_PROCESS_H
#define MW_LIVE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct mw_process {
	int pid;
	int inner_pid; /* in its own pid namespace: the number its state file carries */
	uid_t uid;     /* real */
	uid_t euid;
	bool zombie;          /* ended, not yet waited for */
	bool paused;          /* by a signal or a debugger, until it is told to go on */
	uint64_t start_ticks; /* /proc/<pid>/stat field 22 */
	char name[64];        /* as the kernel has it (comm) */
} mw_process_t;

/* False: there is no such process. */
bool mw_process_read(int pid, mw_process_t *out);

/* Does the process of that pid and start time exist, not only as a zombie? */
bool mw_process_is_alive(int pid, uint64_t start_ticks);

/* Does it map libmallow.so?  False also when its mappings cannot be read. */
bool mw_process_has_library(int pid);

/* Where a file that the process calls `path` is found from here: below its root in /proc when it
 * has another one, or other mounts (a container); from its working directory when `path` is
 * relative. */
void mw_process_file(int pid, const char *path, char *found, size_t capacity);

/* When a process with these start ticks started, by CLOCK_REALTIME. */
uint64_t mw_process_start_realtime_ns(uint64_t start_ticks);

#endif
