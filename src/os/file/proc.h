/* SPDX-License-Identifier: MIT
 * proc.h -- facts about this process from /proc and the kernel.
 * Layer: os/file. No locks, never allocates, errno kept. Where /proc is not mounted, functions
 * return "unknown". */
#ifndef MW_OS_PROC_H
#define MW_OS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called when the program is about to set a filter (os/platform/kernel_calls.h). Stores facts that
 * later calls would ask the kernel for. `confined` == false: the filter cannot end the program. */
void mw_os_confine(bool confined);
uint32_t mw_os_process_id(void);
uint32_t mw_os_thread_id(void);
/* Returns the number of the processor that runs the calling thread; 0 if unknown.
 * Async-signal-safe.
 */
unsigned mw_os_processor(void);
/* CPU time of the calling thread; 0 if the program forbids system calls. Async-signal-safe. */
uint64_t mw_os_thread_cpu_ns(void);
/* Writes the calling thread's name (at most 15 bytes); "" if unknown. */
void mw_os_thread_name(char name[16]);
/* Returns the inode of /proc/self/ns/pid; 0: unknown. */
uint64_t mw_os_pid_namespace(void);
uint32_t mw_os_effective_user(void);
/* Returns whether the process has more rights than other processes of its user: other user or group
 * ids beside the effective ones, capabilities without being root, or memory that must not be
 * dumped. ptrace(2) refuses such a process to its user. Without /proc the result is true; for root
 * false. */
bool mw_os_exceeds_user(void);
/* Returns field 22 of /proc/self/stat, which together with the pid and its namespace identifies the
 * process. /proc/<pid> is not read, because /proc may be of another pid namespace. 0: unknown. */
uint64_t mw_os_start_ticks(void);
/* Returns the number of threads of this process; 0: unknown. */
uint64_t mw_os_thread_count(void);
/* Returns the resident memory of this process; 0: unknown. `*of_files`, unless NULL: the part of
 * files and of shared memory. */
uint64_t mw_os_resident_bytes(uint64_t *of_files);
/* Returns the most resident memory that this process had since exec or fork; 0: unknown. Takes
 * about 50 microseconds. */
uint64_t mw_os_resident_most_bytes(void);
/* Writes the path of the executable, NUL-terminated and cut at the end. Returns its length; 0:
 * unknown. */
size_t mw_os_executable(char *path, size_t capacity);
/* Writes the arguments, separated by NUL and cut at the end. Returns the number of bytes. */
size_t mw_os_arguments(char *buffer, size_t capacity);
/* Writes the host's name, NUL-terminated and cut at the end. */
void mw_os_host_name(char *name, size_t capacity);
/* Writes the working directory, NUL-terminated. Returns false if it is unknown or does not fit. */
bool mw_os_working_directory(char *path, size_t capacity);
/* Return how many bytes the process may map (RLIMIT_AS) or write to one file (RLIMIT_FSIZE);
 * UINT64_MAX: no limit. */
uint64_t mw_os_address_space_limit(void);
uint64_t mw_os_file_size_limit(void);
/* Returns a number that differs in each process (AT_RANDOM, drawn by the kernel at exec). */
uint64_t mw_os_random_seed(void);
/* Names the calling thread (prctl(2)). Longer names are cut to 15 bytes. */
void mw_os_set_thread_name(const char *name);
/* Fills the buffer with random bytes of the kernel, or, if there are none, from
 * mw_os_random_seed(). */
void mw_os_random(void *buffer, size_t bytes);
/* One step of a wait that usually ends within a few microseconds: yields the processor; from the
 * 64th step on it sleeps for 50 microseconds. A thread that answers a tool may call it. */
void mw_os_back_off(unsigned attempt);

/* Skips fields of a line of /proc, each with the blanks behind it. Returns the place behind them;
 * the line's end if there are fewer. */
const char *mw_os_skip_fields(const char *cursor, int count);

#endif
