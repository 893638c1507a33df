/* SPDX-License-Identifier: MIT
 * file.c -- files and shared mappings, by raw system calls. */
#include "os/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h> /* RENAME_NOREPLACE */
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/check.h"
#include "base/put.h"
#include "os/memory/map.h"
#include "os/memory/raw_map.h"
#include "os/platform/kernel_calls.h"
#include "os/platform/system_call.h"

_Static_assert(MW_OS_NO_DIRECTORY == AT_FDCWD, "kernel interface");

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static mw_result_t result_of(int error) {
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return MW_ERR_NOT_FOUND;
	case EACCES:
	case EPERM:
	case ELOOP:
	case EROFS:
		return MW_ERR_FORBIDDEN;
	case ENOSPC:
	case ENOMEM:
	case EFBIG:
	case EDQUOT:
		return MW_ERR_NO_MEMORY;
	case ENOSYS:
	case EOPNOTSUPP:
		return MW_ERR_UNSUPPORTED;
	default:
		return MW_ERR_IO;
	}
}

/* Empties a file that may be written. */
static bool empty_file(int file) {
	struct stat info;
	if (mw_system_call(SYS_fstat, file, &info) != 0)
		return false;
	if (!mw_put_is_allowed(&info)) {
		errno = EPERM;
		return false;
	}
	mw_system_call(SYS_fcntl, file, F_SETFL, 0); /* writes wait for the reader of a FIFO */
	return !S_ISREG(info.st_mode) || mw_system_call(SYS_ftruncate, file, 0) == 0;
}

int mw_os_open(int directory, const char *path, mw_os_open_mode_t mode) {
	static const int flags[] = {
		[MW_OS_READ] = O_RDONLY,
		[MW_OS_DIRECTORY] = O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
		[MW_OS_CREATE] = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
		[MW_OS_REWRITE] = O_RDWR | O_NOFOLLOW,
		[MW_OS_REOPEN] = O_RDWR,
		[MW_OS_CREATE_SHARED] = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
		[MW_OS_REPLACE] = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
	};
	if (mw_os_fault(MW_OS_OPEN))
		return MW_ERR_IO;
	if (mw_os_is_confined())
		return MW_ERR_FORBIDDEN;
	int saved_errno = errno;
	long file;
	bool is_shared = mode == MW_OS_CREATE_SHARED || mode == MW_OS_REPLACE;
	do
		file = mw_system_call(SYS_openat, directory, path, flags[mode] | O_CLOEXEC,
				      is_shared ? 0666 : 0600);
	while (file < 0 && errno == EINTR);
	/* A file that this call makes is not examined: some file systems give it another owner. */
	bool is_old = file < 0 && errno == EEXIST && mode == MW_OS_REPLACE;
	if (is_old)
		file = mw_system_call(SYS_openat, directory, path,
				      O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int result = file < 0 ? (int)result_of(errno) : (int)file;
	if (file >= 0 && is_old && !empty_file((int)file)) {
		result = (int)result_of(errno);
		mw_os_close((int)file);
	}
	errno = saved_errno;
	return result;
}

void mw_os_close(int file) {
	int saved_errno = errno;
	/* Linux releases the descriptor even when close(2) reports EINTR, so the call is not
	 * repeated. */
	mw_system_call(SYS_close, file);
	errno = saved_errno;
}

int mw_os_memory_file(const char *name) {
	if (mw_os_fault(MW_OS_OPEN) || mw_os_is_confined())
		return MW_ERR_IO;
	int saved_errno = errno;
	long file = mw_system_call(SYS_memfd_create, name, (unsigned)MFD_CLOEXEC);
	errno = saved_errno;
	return file < 0 ? (int)MW_ERR_IO : (int)file;
}

mw_result_t mw_os_make_directory(const char *path) {
	if (mw_os_fault(MW_OS_MKDIR))
		return MW_ERR_IO;
	if (mw_os_is_confined())
		return MW_ERR_FORBIDDEN;
	int saved_errno = errno;
	mw_result_t result = MW_OK;
	if (mw_system_call(SYS_mkdirat, AT_FDCWD, path, 0700) != 0 && errno != EEXIST)
		result = result_of(errno);
	errno = saved_errno;
	return result;
}

mw_result_t mw_os_remove(int directory, const char *name) {
	if (mw_os_is_confined())
		return MW_ERR_FORBIDDEN;
	int saved_errno = errno;
	mw_result_t result =
		mw_system_call(SYS_unlinkat, directory, name, 0) == 0 ? MW_OK : result_of(errno);
	errno = saved_errno;
	return result;
}

mw_result_t mw_os_file_info(int file, mw_os_file_info_t *info) {
	if (mw_os_fault(MW_OS_STAT) || mw_os_is_confined())
		return MW_ERR_IO;
	int saved_errno = errno;
	struct stat status;
	mw_result_t result =
		mw_system_call(SYS_fstat, file, &status) == 0 ? MW_OK : result_of(errno);
	errno = saved_errno;
	if (result != MW_OK)
		return result;
	info->device = status.st_dev;
	info->inode = status.st_ino;
	info->allocated_bytes = (uint64_t)status.st_blocks * 512;
	info->size_bytes = (uint64_t)status.st_size;
	info->modified_ns =
		(uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
	info->owner = status.st_uid;
	info->permissions = status.st_mode & 0777u;
	info->is_directory = S_ISDIR(status.st_mode);
	info->is_regular = S_ISREG(status.st_mode);
	return MW_OK;
}

mw_os_file_system_t mw_os_file_system(int file, const char *path) {
	struct statfs system;
	if (mw_os_is_confined())
		return (mw_os_file_system_t){0};
	int saved_errno = errno;
	long status = path ? mw_system_call(SYS_statfs, path, &system)
			   : mw_system_call(SYS_fstatfs, file, &system);
	errno = saved_errno;
	if (status != 0)
		return (mw_os_file_system_t){0};
	uint64_t block_bytes = (uint64_t)system.f_bsize;
	return (mw_os_file_system_t){.bytes = (uint64_t)system.f_blocks * block_bytes,
				     .free_bytes = (uint64_t)system.f_bavail * block_bytes};
}

mw_result_t mw_os_set_size(int file, uint64_t bytes) {
	if (mw_os_fault(MW_OS_TRUNCATE) || mw_os_is_confined())
		return MW_ERR_NO_MEMORY;
	int saved_errno = errno;
	struct rlimit limit;
	mw_result_t result = MW_OK;
	if (mw_system_call(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 &&
	    bytes > limit.rlim_cur)
		result = MW_ERR_NO_MEMORY;
	else if (mw_system_call(SYS_ftruncate, file, (off_t)bytes) != 0)
		result = result_of(errno);
	errno = saved_errno;
	return result;
}

mw_result_t mw_os_reserve_blocks(int file, uint64_t offset_bytes, uint64_t bytes) {
	if (mw_os_fault(MW_OS_POPULATE) || mw_os_is_confined())
		return MW_ERR_NO_MEMORY;
	int saved_errno = errno;
	long status;
	do
		status = mw_system_call(SYS_fallocate, file, 0, (off_t)offset_bytes, (off_t)bytes);
	while (status != 0 && errno == EINTR);
	mw_result_t result = status == 0 ? MW_OK : result_of(errno);
	errno = saved_errno;
	return result;
}

mw_result_t mw_os_write(int file, const void *bytes, size_t length) {
	int saved_errno = errno;
	const char *next = bytes;
	mw_result_t result = MW_OK;
	while (length > 0 && result == MW_OK) {
		long put = mw_os_fault(MW_OS_WRITE) ? -1 : mw_put(file, next, length);
		if (put > 0) {
			next += put;
			length -= (size_t)put;
		} else if (put == 0 || errno != EINTR) {
			result = put == 0 ? MW_ERR_IO : result_of(errno);
		}
	}
	errno = saved_errno;
	return result;
}

mw_result_t mw_os_rename_new(const char *from, const char *to) {
	int saved_errno = errno;
	mw_result_t result = MW_OK;
	if (mw_os_is_confined())
		return MW_ERR_FORBIDDEN;
	if (mw_system_call(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) != 0)
		result = errno == EEXIST ? MW_ERR_BAD_VALUE : result_of(errno);
	/* The file system lacks RENAME_NOREPLACE: make a second link, which must be new as well. */
	if (result != MW_OK && result != MW_ERR_BAD_VALUE) {
		if (mw_system_call(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0) == 0) {
			mw_system_call(SYS_unlinkat, AT_FDCWD, from, 0);
			result = MW_OK;
		} else if (errno == EEXIST) {
			result = MW_ERR_BAD_VALUE;
		}
	}
	errno = saved_errno;
	return result;
}

static long read_result(long got, int saved_errno) {
	errno = saved_errno;
	return got < 0 ? (long)MW_ERR_IO : got;
}

bool mw_os_lock_byte(int file, uint64_t offset_bytes) {
	int saved_errno = errno;
	struct flock lock = {.l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = (off_t)offset_bytes,
			     .l_len = 1};
	bool done =
		!mw_os_is_confined() && mw_system_call(SYS_fcntl, file, F_OFD_SETLK, &lock) == 0;
	/* Kernels before 3.15: a lock of the whole file, which belongs to an open file, too. */
	if (!done && errno == EINVAL && !mw_os_is_confined())
		done = mw_system_call(SYS_flock, file, LOCK_EX | LOCK_NB) == 0;
	errno = saved_errno;
	return done;
}

bool mw_os_is_byte_locked(int file, uint64_t offset_bytes) {
	int saved_errno = errno;
	struct flock lock = {.l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = (off_t)offset_bytes,
			     .l_len = 1};
	bool is_locked = !mw_os_is_confined() &&
			 mw_system_call(SYS_fcntl, file, F_OFD_GETLK, &lock) == 0 &&
			 lock.l_type != F_UNLCK;
	/* A process on a kernel without such locks. A shared lock does not stand in another
	 * reader's way. */
	if (!is_locked && !mw_os_is_confined()) {
		is_locked = mw_system_call(SYS_flock, file, LOCK_SH | LOCK_NB) != 0 &&
			    errno == EWOULDBLOCK;
		if (!is_locked)
			mw_system_call(SYS_flock, file, LOCK_UN);
	}
	errno = saved_errno;
	return is_locked;
}

long mw_os_read(int file, void *buffer, size_t bytes) {
	int saved_errno = errno;
	long got;
	do
		got = mw_system_call(SYS_read, file, buffer, bytes);
	while (got < 0 && errno == EINTR);
	return read_result(got, saved_errno);
}

long mw_os_read_at(int file, void *buffer, size_t bytes, uint64_t offset_bytes) {
	int saved_errno = errno;
	long got;
	do
		got = mw_system_call(SYS_pread64, file, buffer, bytes, (off_t)offset_bytes);
	while (got < 0 && errno == EINTR);
	return read_result(got, saved_errno);
}

size_t mw_os_read_text(const char *path, char *buffer, size_t capacity) {
	MW_ASSERT(capacity > 0);
	buffer[0] = '\0';
	int file = mw_os_open(MW_OS_NO_DIRECTORY, path, MW_OS_READ);
	if (file < 0)
		return 0;
	size_t length = 0;
	while (length < capacity - 1) {
		long got = mw_os_read(file, buffer + length, capacity - 1 - length);
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	mw_os_close(file);
	buffer[length] = '\0';
	return length;
}

size_t mw_os_read_link(const char *path, char *buffer, size_t capacity) {
	MW_ASSERT(capacity > 0);
	int saved_errno = errno;
	long length = mw_os_is_confined() ? -1
					  : mw_system_call(SYS_readlinkat, MW_OS_NO_DIRECTORY, path,
							   buffer, capacity - 1);
	errno = saved_errno;
	if (length < 0)
		length = 0;
	buffer[length] = '\0';
	return (size_t)length;
}

long mw_os_list(int directory, void *buffer, size_t bytes) {
	int saved_errno = errno;
	return read_result(mw_system_call(SYS_getdents64, directory, buffer, bytes), saved_errno);
}

void mw_os_list_again(int directory) {
	int saved_errno = errno;
	mw_system_call(SYS_lseek, directory, 0L, SEEK_SET);
	errno = saved_errno;
}

const char *mw_os_next_name(const void *buffer, size_t bytes, size_t *position) {
	if (*position >= bytes)
		return NULL;
	const struct dirent64 *entry =
		(const struct dirent64 *)(const void *)((const char *)buffer + *position);
	*position += entry->d_reclen;
	return entry->d_name;
}

void *mw_os_reserve(int file, uint64_t offset_bytes, size_t bytes) {
	if (mw_os_fault(MW_OS_MAP))
		return NULL;
	int saved_errno = errno;
	int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
	void *base = mw_os_raw_mmap(NULL, bytes, PROT_NONE, flags, file < 0 ? -1 : file,
				    (off_t)offset_bytes);
	if (base != MAP_FAILED) {
		/* The tables are sparse: a huge page for each touched entry would multiply their
		 * memory. */
		mw_system_call(SYS_madvise, base, bytes, MADV_NOHUGEPAGE);
		/* After mlockall(MCL_FUTURE) the tables would use up the program's
		 * RLIMIT_MEMLOCK. */
		if (!mw_os_is_confined())
			mw_system_call(SYS_munlock, base, bytes);
	}
	errno = saved_errno;
	return base == MAP_FAILED ? NULL : base;
}

bool mw_os_open_range(void *base, size_t bytes) {
	if (mw_os_fault(MW_OS_MAP))
		return false;
	int saved_errno = errno;
	bool done = mw_system_call(SYS_mprotect, base, mw_os_whole_pages(bytes),
				   PROT_READ | PROT_WRITE) == 0;
	errno = saved_errno;
	return done;
}

mw_result_t mw_os_populate(void *base, size_t bytes) {
	if (mw_os_fault(MW_OS_POPULATE_KNOWN))
		return MW_ERR_UNSUPPORTED;
	if (mw_os_fault(MW_OS_POPULATE))
		return MW_ERR_NO_MEMORY;
	int saved_errno = errno;
	long status;
	do
		status = mw_system_call(SYS_madvise, base, bytes, MADV_POPULATE_WRITE);
	while (status != 0 && (errno == EINTR || errno == EAGAIN));
	/* EFAULT replaces the SIGBUS that a store would raise. */
	mw_result_t result = MW_OK;
	if (status != 0)
		result = errno == EINVAL ? MW_ERR_UNSUPPORTED : MW_ERR_NO_MEMORY;
	errno = saved_errno;
	return result;
}

void *mw_os_map_wiped_on_fork(void) {
	size_t bytes = mw_os_page_bytes();
	void *page = mw_os_map(bytes);
	if (!page)
		return NULL;
	int saved_errno = errno;
	bool done = mw_system_call(SYS_madvise, page, bytes, MADV_WIPEONFORK) == 0;
	errno = saved_errno;
	if (done)
		return page;
	mw_os_unmap(page, bytes);
	return NULL;
}
