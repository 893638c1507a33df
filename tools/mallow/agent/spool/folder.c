/* SPDX-License-Identifier: MIT
 * folder.c -- opens and locks the agent's folder, writes files in it. */
#include "agent/spool/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "model/memory.h"

#define FOLDER_MODE 0700
/* Five seconds. */
#define LOCK_NAP_NS 20000000
#define LOCK_NAPS 250

int mw_agent_folder_step(const mw_agent_folder_t *folder, const char *what) {
	int why = folder->step != NULL ? folder->step(folder->step_context, what) : 0;
	if (why == 0)
		return 0;
	errno = why;
	return -1;
}

/* Makes a folder and those above it. */
static int make_folders(const char *path) {
	char *copy = mw_xstrdup(path);
	for (char *at = copy + 1; *at != '\0'; at++)
		if (*at == '/') {
			*at = '\0';
			/* Those that are there, and errors, show when the last one is made. */
			mkdir(copy, 0755);
			*at = '/';
		}
	int result = mkdir(copy, FOLDER_MODE);
	free(copy);
	return result == 0 || errno == EEXIST ? 0 : -1;
}

/* What another user could put there would be sent as if it were measured here. */
static int check_owner(int fd, const char *path, mw_error_t *error) {
	struct stat info;
	if (fstat(fd, &info) != 0)
		return mw_error_set(error, "%s: %s", path, strerror(errno));
	if (info.st_uid != geteuid())
		return mw_error_set(error,
				    "%s: belongs to user %u, not to you; name another folder by "
				    "--folder or in the configuration",
				    path, info.st_uid);
	if ((info.st_mode & 022) != 0)
		return mw_error_set(error, "%s: other users may write to it; chmod go-w it", path);
	return 0;
}

/* Reads the pid of the agent that has the lock, or had it last; "": not known. */
static void read_holder(const mw_agent_folder_t *folder, char pid[32]) {
	ssize_t got = pread(folder->lock, pid, 31, 0);
	pid[got > 0 ? got : 0] = '\0';
	pid[strspn(pid, "0123456789")] = '\0';
}

/* flock(2): children that were forked have the lock, too, until the last one ends.  Those of an
 * agent that was killed end within moments: they are waited for. */
static int lock(const mw_agent_folder_t *folder) {
	const struct timespec nap = {.tv_nsec = LOCK_NAP_NS};
	char pid[32];
	for (int naps = 0; flock(folder->lock, LOCK_EX | LOCK_NB) != 0; naps++) {
		if (errno != EWOULDBLOCK)
			return -1;
		read_holder(folder, pid);
		bool is_there = kill((pid_t)atol(pid), 0) == 0 || errno != ESRCH;
		if (is_there || naps == LOCK_NAPS) {
			errno = EWOULDBLOCK;
			return -1;
		}
		nanosleep(&nap, NULL);
	}
	return 0;
}

static int say_locked(const mw_agent_folder_t *folder, mw_error_t *error) {
	char pid[32];
	read_holder(folder, pid);
	return mw_error_set(error,
			    "%s: another agent%s%s has this folder; end it, or give this one "
			    "another folder",
			    folder->path, *pid != '\0' ? " with the pid " : "", pid);
}

static int take_lock(mw_agent_folder_t *folder, mw_error_t *error) {
	folder->lock = openat(folder->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (folder->lock < 0)
		return mw_error_set(error, "%s/lock: %s", folder->path, strerror(errno));
	if (lock(folder) != 0)
		return errno == EWOULDBLOCK
			       ? say_locked(folder, error)
			       : mw_error_set(error, "%s/lock: %s", folder->path, strerror(errno));
	char pid[32];
	int length = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	/* The pid is for the message of another agent only: a full disk does no harm. */
	if (ftruncate(folder->lock, 0) == 0 && pwrite(folder->lock, pid, (size_t)length, 0) < 0)
		errno = 0;
	return 0;
}

int mw_agent_folder_open(mw_agent_folder_t *out, const char *path, mw_error_t *error) {
	*out = (mw_agent_folder_t){.path = mw_xstrdup(path), .fd = -1, .lock = -1};
	if (make_folders(path) == 0)
		out->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result = out->fd < 0 ? mw_error_set(error, "%s: %s", path, strerror(errno)) : 0;
	if (result == 0)
		result = check_owner(out->fd, path, error);
	if (result == 0)
		result = take_lock(out, error);
	if (result != 0)
		mw_agent_folder_close(out);
	return result;
}

void mw_agent_folder_close(mw_agent_folder_t *folder) {
	if (folder->lock >= 0)
		close(folder->lock);
	if (folder->fd >= 0)
		close(folder->fd);
	free(folder->path);
	*folder = (mw_agent_folder_t){.fd = -1, .lock = -1};
}

int mw_agent_folder_part(const mw_agent_folder_t *folder, const char *name, mw_error_t *error) {
	char path[64];
	int fd = -1;
	if (mkdirat(folder->fd, name, FOLDER_MODE) == 0 || errno == EEXIST)
		fd = openat(folder->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return mw_error_set(error, "%s/%s: %s", folder->path, name, strerror(errno));
	snprintf(path, sizeof(path), "%s", name);
	if (check_owner(fd, path, error) == 0)
		return fd;
	close(fd);
	return -1;
}

static int write_all(const mw_agent_folder_t *folder, int fd, const char *text, size_t length) {
	while (length > 0) {
		if (mw_agent_folder_step(folder, "write") != 0)
			return -1;
		ssize_t done = write(fd, text, length);
		if (done < 0 && errno != EINTR)
			return -1;
		text += done > 0 ? done : 0;
		length -= done > 0 ? (size_t)done : 0;
	}
	return mw_agent_folder_step(folder, "fsync") == 0 ? fsync(fd) : -1;
}

int mw_agent_folder_write(const mw_agent_folder_t *folder, const char *name, const char *text,
			  size_t length) {
	char other[256];
	if (snprintf(other, sizeof(other), "%s.new", name) >= (int)sizeof(other)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (mw_agent_folder_step(folder, "create") != 0)
		return -1;
	int fd = openat(folder->fd, other, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600);
	if (fd < 0)
		return -1;
	int result = write_all(folder, fd, text, length);
	int why = errno;
	if (close(fd) != 0 && result == 0) {
		result = -1;
		why = errno;
	}
	if (result == 0) {
		result = mw_agent_folder_step(folder, "rename");
		if (result == 0)
			result = renameat(folder->fd, other, folder->fd, name);
		why = errno;
	}
	if (result != 0)
		unlinkat(folder->fd, other, 0);
	errno = why;
	return result;
}
