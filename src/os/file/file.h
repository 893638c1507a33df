/* SPDX-License-Identifier: MIT
 * file.h -- files and shared mappings, by raw system calls.
 * Layer: os/file, the door of this folder. The folder holds files, and facts that files of the
 * system tell; it may use src/base, os/platform, os/memory and os/unwind. Reading order: file, proc
 * (this process), proc_maps, proc_threads and page_presence (its mappings, threads and pages),
 * cgroup (memory limit), local_time (time zone).
 *
 * libc's open, read, write and close are cancellation points and may be interposed.
 * malloc must not be cancelled or observed, so these functions make the system calls directly. No
 * locks, never allocates, errno kept. Descriptors are close-on-exec. The library closes each
 * descriptor in the function that opened it. */
#ifndef MW_OS_FILE_H
#define MW_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Value of `directory` for a path that is absolute or relative to the working directory. */
#define MW_OS_NO_DIRECTORY (-100)

typedef enum mw_os_open_mode {
	MW_OS_READ,      /* an existing file; symbolic links are followed */
	MW_OS_DIRECTORY, /* an existing directory; symbolic links are refused */
	MW_OS_CREATE,  /* a new file, mode 0600; any existing file or link of the name is refused */
	MW_OS_REWRITE, /* an existing file for reading and writing; symbolic links are refused */
	MW_OS_REOPEN,  /* as MW_OS_REWRITE, but follows symbolic links such as /proc/self/fd/<n> */
	MW_OS_CREATE_SHARED, /* as MW_OS_CREATE, with mode 0666 reduced by the umask */
	MW_OS_REPLACE, /* a new or emptied file, mode 0666 reduced by the umask; refused are links
			  and what mw_put_is_allowed() refuses */
} mw_os_open_mode_t;

/* Returns a descriptor, or MW_ERR_NOT_FOUND, MW_ERR_FORBIDDEN or MW_ERR_IO. */
int mw_os_open(int directory, const char *path, mw_os_open_mode_t mode);
void mw_os_close(int file);
/* Returns a descriptor of an unnamed file in memory, or MW_ERR_IO. */
int mw_os_memory_file(const char *name);
/* Makes a directory of mode 0700. An existing directory is no error. */
mw_result_t mw_os_make_directory(const char *path);
mw_result_t mw_os_remove(int directory, const char *name);

typedef struct mw_os_file_info {
	uint64_t device, inode;
	uint64_t allocated_bytes; /* bytes of the blocks that the file occupies */
	uint64_t size_bytes;
	uint64_t modified_ns; /* CLOCK_REALTIME */
	uint32_t owner;
	uint32_t permissions; /* the lower nine bits of st_mode */
	bool is_directory, is_regular;
} mw_os_file_info_t;

mw_result_t mw_os_file_info(int file, mw_os_file_info_t *info);

typedef struct mw_os_file_system {
	uint64_t bytes; /* 0: the file system has no limit, or is not known */
	uint64_t free_bytes;
} mw_os_file_system_t;

/* Returns the size of a file system: that of an open file, or of `path` where it is not NULL. */
mw_os_file_system_t mw_os_file_system(int file, const char *path);
/* Sets the file's size. A size beyond RLIMIT_FSIZE gives MW_ERR_NO_MEMORY, without SIGXFSZ. */
mw_result_t mw_os_set_size(int file, uint64_t bytes);
/* Reserves blocks for a part of the file. MW_ERR_NO_MEMORY: the file system is full. */
mw_result_t mw_os_reserve_blocks(int file, uint64_t offset_bytes, uint64_t bytes);
/* Writes all bytes to a regular file. MW_ERR_NO_MEMORY: the file system is full, or the file would
 * exceed RLIMIT_FSIZE; SIGXFSZ is not raised. */
mw_result_t mw_os_write(int file, const void *bytes, size_t length);
/* Renames a file. MW_ERR_BAD_VALUE: the new name exists. */
mw_result_t mw_os_rename_new(const char *from, const char *to);
/* Locks one byte of a file that was opened for writing; on kernels before 3.15 all of it. The lock
 * belongs to the open file description, not to the process: it lasts until every descriptor and
 * every mapping of the description is gone, so a mapping keeps the lock when all descriptors are
 * closed. Returns false if the lock is refused. */
bool mw_os_lock_byte(int file, uint64_t offset_bytes);
/* Returns whether another open file description holds a lock on the byte. Returns false also if the
 * kernel cannot tell. */
bool mw_os_is_byte_locked(int file, uint64_t offset_bytes);
/* Returns the number of bytes read, which is smaller at the end of the file, or MW_ERR_IO. */
long mw_os_read(int file, void *buffer, size_t bytes);
long mw_os_read_at(int file, void *buffer, size_t bytes, uint64_t offset_bytes);
/* Reads the first bytes of a small file, such as a file of /proc, and adds a NUL. Returns the
 * length, or 0 if the file cannot be read. `capacity` includes the NUL. */
size_t mw_os_read_text(const char *path, char *buffer, size_t capacity);
/* Reads the target of a symbolic link, NUL-terminated and cut at `capacity`. Returns the length, or
 * 0 if there is no link. */
size_t mw_os_read_link(const char *path, char *buffer, size_t capacity);
/* Reads the next entries of a directory into `buffer` (aligned to 8 bytes). Returns the number of
 * bytes, 0 at the end, or MW_ERR_IO. opendir(3) would allocate. */
long mw_os_list(int directory, void *buffer, size_t bytes);
/* Makes mw_os_list() begin again. */
void mw_os_list_again(int directory);
/* Returns the name in the entry at *position of a buffer that mw_os_list() filled, and advances
 * *position. NULL: no more entries. */
const char *mw_os_next_name(const void *buffer, size_t bytes, size_t *position);

/* Reserves address space without any permission and without a charge against RLIMIT_DATA or the
 * overcommit limit: private memory (file < 0), or a shared mapping of a file from `offset_bytes`
 * on. Returns NULL if refused. */
void *mw_os_reserve(int file, uint64_t offset_bytes, size_t bytes);
/* Allows reading and writing in a part of reserved address space. */
bool mw_os_open_range(void *base, size_t bytes);
/* Makes pages present, so that no later write can raise SIGBUS.  MW_ERR_NO_MEMORY: no blocks;
 * MW_ERR_UNSUPPORTED: the kernel cannot (before 5.14). */
mw_result_t mw_os_populate(void *base, size_t bytes);
/* One page that reads as zero in the child of a fork; NULL when the kernel cannot. */
void *mw_os_map_wiped_on_fork(void);

#endif
