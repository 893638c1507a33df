/* SPDX-License-Identifier: MIT
 * file.h -- files and shared mappings, by raw system calls.
 * Layer: os.  open, read, write and close of libc are cancellation points and may be interposed; a
 * malloc must be neither cancelled nor observed, so these go to the kernel directly.  No locks,
 * never allocates, errno kept.  Descriptors are opened close-on-exec and are for a few lines only:
 * the library keeps none. */
#ifndef MW_OS_FILE_H
#define MW_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Takes the place of a directory descriptor: relative to the working directory, or absolute. */
#define MW_OS_NO_DIRECTORY (-100)

typedef enum mw_os_open_mode {
	MW_OS_READ,          /* an existing file; symlinks are followed */
	MW_OS_DIRECTORY,     /* an existing directory, not through a symlink */
	MW_OS_CREATE,        /* a new file, mode 0600; it must not exist, not even as a symlink */
	MW_OS_REWRITE,       /* an existing file for reading and writing, not through a symlink */
	MW_OS_CREATE_SHARED, /* as MW_OS_CREATE, for others to read as the umask lets them */
	MW_OS_REPLACE, /* a new file or an existing one, emptied; for others to read likewise */
} mw_os_open_mode_t;

/* A descriptor, or MW_ERR_NOT_FOUND, _FORBIDDEN, _IO. */
int mw_os_open(int directory, const char *path, mw_os_open_mode_t mode);
void mw_os_close(int file);
/* An unnamed file in memory, or MW_ERR_IO. */
int mw_os_memory_file(const char *name);
/* Makes a directory of mode 0700; one that is there already is fine. */
mw_result_t mw_os_make_directory(const char *path);
mw_result_t mw_os_remove(int directory, const char *name);

typedef struct mw_os_file_info {
	uint64_t device, inode;
	uint64_t allocated_bytes; /* blocks really held, not the size */
	uint64_t size_bytes;
	uint64_t modified_ns; /* CLOCK_REALTIME */
	uint32_t owner;
	uint32_t permissions; /* the lower nine bits of st_mode */
	bool is_directory;
} mw_os_file_info_t;

mw_result_t mw_os_file_info(int file, mw_os_file_info_t *info);
/* Sets the size; never raises SIGXFSZ: beyond RLIMIT_FSIZE it is MW_ERR_NO_MEMORY. */
mw_result_t mw_os_set_size(int file, uint64_t bytes);
/* Reserves blocks; MW_ERR_NO_MEMORY when the file system is full. */
mw_result_t mw_os_reserve_blocks(int file, uint64_t offset_bytes, uint64_t bytes);
/* Writes all of it to a regular file; MW_ERR_NO_MEMORY when the file system is full. */
mw_result_t mw_os_write(int file, const void *bytes, size_t length);
/* Gives a file its final name; MW_ERR_BAD_VALUE when there is something of that name. */
mw_result_t mw_os_rename_new(const char *from, const char *to);
/* Bytes read (fewer at the end of the file), or MW_ERR_IO. */
long mw_os_read(int file, void *buffer, size_t bytes);
long mw_os_read_at(int file, void *buffer, size_t bytes, uint64_t offset_bytes);
/* The first bytes of a small file such as those of /proc, NUL-terminated; the length, 0 when it
 * cannot be read.  `capacity` includes the NUL. */
size_t mw_os_read_text(const char *path, char *buffer, size_t capacity);
/* What a symbolic link holds, NUL-terminated, cut at the end; the length, 0 when there is none. */
size_t mw_os_read_link(const char *path, char *buffer, size_t capacity);
/* The next names of a directory into `buffer` (aligned to 8); bytes filled, 0 at the end, or
 * MW_ERR_IO.  opendir(3) would allocate. */
long mw_os_list(int directory, void *buffer, size_t bytes);
/* The name in the entry at *position of what mw_os_list() filled; *position moves on.  NULL: no
 * more. */
const char *mw_os_next_name(const void *buffer, size_t bytes, size_t *position);

/* Address space without any permission and without a charge against RLIMIT_DATA or the overcommit
 * limit: private memory (file < 0), or a shared mapping of a file from `offset_bytes` on.  NULL
 * when refused. */
void *mw_os_reserve(int file, uint64_t offset_bytes, size_t bytes);
/* Moves pages to the beginning of another reservation, of at least that size, which they replace
 * there; nothing is left mapped at their old place.  False: both are as they were, or the other is
 * in pieces and can only be unmapped. */
bool mw_os_move(void *from, size_t bytes, void *to);
/* Allows reading and writing in a part of a reservation. */
bool mw_os_open_range(void *base, size_t bytes);
/* Makes pages present, so that no later write can raise SIGBUS.  MW_ERR_NO_MEMORY: no blocks;
 * MW_ERR_UNSUPPORTED: the kernel cannot (before 5.14). */
mw_result_t mw_os_populate(void *base, size_t bytes);
/* One page that reads as zero in the child of a fork; NULL when the kernel cannot. */
void *mw_os_map_wiped_on_fork(void);

#endif
