/* SPDX-License-Identifier: MIT
 * proc.h -- what /proc and the kernel say about this process.
 * Layer: os.  No locks, never allocates, errno kept.  Everything may fail where /proc is not
 * mounted; the answers then say "unknown". */
#ifndef MW_OS_PROC_H
#define MW_OS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint32_t mw_os_process_id(void);
uint32_t mw_os_thread_id(void);
/* The calling thread's name (at most 15 bytes); "" when the kernel does not say. */
void mw_os_thread_name(char name[16]);
/* Number of the pid namespace (the inode of /proc/self/ns/pid); 0: unknown. */
uint64_t mw_os_pid_namespace(void);
uint32_t mw_os_effective_user(void);
/* Field 22 of /proc/<pid>/stat: with the pid it names a process for good.  0: unknown, or gone. */
uint64_t mw_os_start_ticks(uint32_t pid);
/* False only when the kernel says that there is no such process. */
bool mw_os_process_exists(uint32_t pid);
/* Resident memory of this process; 0: unknown. */
uint64_t mw_os_resident_bytes(void);
/* Path of the executable, NUL-terminated, cut at the end; its length, 0 when unknown. */
size_t mw_os_executable(char *path, size_t capacity);
/* The arguments, NUL-separated, cut at the end; bytes filled. */
size_t mw_os_arguments(char *buffer, size_t capacity);
/* The host's name, NUL-terminated, cut at the end. */
void mw_os_host_name(char *name, size_t capacity);
/* The working directory, NUL-terminated; false when it is unknown or longer than that. */
bool mw_os_working_directory(char *path, size_t capacity);
/* Bytes the process may map in all (RLIMIT_AS), or write to one file (RLIMIT_FSIZE); UINT64_MAX: no
 * limit. */
uint64_t mw_os_address_space_limit(void);
uint64_t mw_os_file_size_limit(void);
/* Different in each process (AT_RANDOM, drawn by the kernel at exec). */
uint64_t mw_os_random_seed(void);
/* Names the calling thread (prctl(2)); longer ones are cut to 15 bytes. */
void mw_os_set_thread_name(const char *name);
/* Random bytes of the kernel; on one that has none to give, repeats of that seed. */
void mw_os_random(void *buffer, size_t bytes);
/* One turn of a rare wait that is mostly over in a few microseconds: lets others run, and from the
 * 64th turn on sleeps 50 microseconds. */
void mw_os_wait_turn(unsigned turn);

typedef struct mw_os_mapping {
	uintptr_t start, limit;
	uint64_t file_offset;
	bool executable;
	char path[256]; /* empty: anonymous; longer ones are cut */
} mw_os_mapping_t;

/* The mappings of this process in rising order, until `visit` returns false.  Reads
 * /proc/self/maps in pieces. */
void mw_os_visit_mappings(bool (*visit)(void *context, const mw_os_mapping_t *mapping),
			  void *context);

#endif
