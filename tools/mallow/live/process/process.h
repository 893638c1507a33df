/* SPDX-License-Identifier: MIT
 * process.h -- reads information on a process from /proc.
 * Layer: live/process.  The folder's door. launch.h starts a process, maps.h reads its mappings,
 * reach.h makes sure that it still is the one that was found, resident_memory.h tells how memory is
 * used, mallow_files.h which files are mallow.  Every answer may be outdated on arrival.  Pid and
 * start time together identify a process, so that a process with a reused pid is never taken for
 * the old one. */
#ifndef MW_TOOL_LIVE_PROCESS_PROCESS_H
#define MW_TOOL_LIVE_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct mw_process {
	int pid;
	int inner_pid; /* pid in its own pid namespace, as in its state file */
	uid_t uid;     /* real uid */
	uid_t euid;
	bool zombie;          /* the process has ended, and its parent has not waited for it */
	int threads;          /* how many, the first one included, also if that has ended */
	bool paused;          /* stopped by a signal or a debugger */
	bool is_kernel;       /* a thread of the kernel, which has no program */
	uint64_t start_ticks; /* field 22 of /proc/<pid>/stat */
	uint64_t cpu_ticks;   /* CPU time of all its threads, in ticks of sysconf(_SC_CLK_TCK) */
	char name[64];        /* name in the kernel (comm) */
} mw_process_t;

/* Reads a process.  False: it does not exist. */
bool mw_process_read(int pid, mw_process_t *out);

/* Returns a thread of the process that has not ended: `pid`, or another one if the first thread has
 * ended before the process. Of that, /proc/<pid> tells no mappings, memory, root or namespaces, and
 * /proc/<thread> does. */
int mw_process_thread(int pid);

/* Returns the number of a process's pid namespace; pid 0 means this command.  0 = not known. */
uint64_t mw_process_namespace(int pid);

/* True if /proc shows this command's pid namespace.  After `unshare --pid` without a new /proc,
 * it shows the outer namespace. */
bool mw_process_numbers_are_ours(void);

/* True if the process with this pid and start time exists and is no zombie. */
bool mw_process_is_alive(int pid, uint64_t start_ticks);

/* Returns whether the process with this pid and start time has ended, or has no memory any more
 * because it is about to. */
bool mw_process_has_ended(int pid, uint64_t start_ticks);
/* Writes the path of the executable as it is seen from here, cut at the end; false: it is not
 * known. */
bool mw_process_executable(int pid, char *path, size_t size);
/* Returns what a process has done that no longer has the memory in which something was found:
 * "ended" or "started another program (exec)", for messages. */
const char *mw_process_end(int pid, uint64_t start_ticks);

/* Reads the title that the process has set with setproctitle(3), "postgres: checkpointer".
 * False: its command line is no such title, or cannot be read. */
bool mw_process_title(int pid, char *title, size_t capacity);

/* Returns whether the first word of the process's command line ends in this name, or the kernel
 * calls the process so. */
bool mw_process_is_named(int pid, const char *name);

/* Returns whether the kernel refuses the user of this command to look into the process, as
 * ptrace(2) would. */
bool mw_process_is_closed(int pid);
/* Returns whether the process began with more privileges than its user (AT_SECURE): a set-uid or
 * set-gid program, or one with file capabilities. False also if the kernel does not tell. */
bool mw_process_is_secure(int pid);
/* True if the process maps mallow's library or a program that is linked with it.  False also if its
 * mappings cannot be read. */
bool mw_process_has_library(int pid);
/* The same of a child of this command, which waits as long as the child's files do. */
bool mw_process_child_has_library(int pid);

/* Writes the path by which this command finds a file that the process calls `path`: below the
 * process's root in /proc if that has another root or other mounts (a container), and relative
 * to its working directory if `path` is relative. */
void mw_process_file(int pid, const char *path, char *found, size_t capacity);

/* Returns the CLOCK_REALTIME at which a process with these start ticks started. */
uint64_t mw_process_start_realtime_ns(uint64_t start_ticks);

#endif
