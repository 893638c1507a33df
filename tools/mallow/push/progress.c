/* SPDX-License-Identifier: MIT
 * progress.c -- files of what was pushed, each replaced by rename. */
#include "push/progress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "formats/read.h"
#include "formats/write.h"
#include "model/memory.h"
#include "model/merge.h"
#include "push/delta.h"

#define KEPT_SECONDS (14 * 86400)
#define LOOK_SECONDS 86400
/* Its time is that of the last look for old files. */
#define LOOKED ".looked"
#define COMMENT "mallow-push: "

struct mw_progress {
	char *base, *next, *lock; /* paths */
	int lock_fd;
};

char *mw_progress_folder(void) {
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *folder = NULL;
	int length = -1;
	if (state != NULL && state[0] == '/')
		length = asprintf(&folder, "%s/mallow/push", state);
	else if (home != NULL && home[0] == '/')
		length = asprintf(&folder, "%s/.local/state/mallow/push", home);
	return length >= 0 ? folder : NULL;
}

/* Makes the folder and those above it. */
static int make_folder(const char *folder, mw_error_t *error) {
	char *path = mw_xstrdup(folder);
	struct stat info;
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	free(path);
	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return mw_error_set(error, "%s: cannot make the folder: %s", folder,
				    strerror(errno));
	if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
		return mw_error_set(error, "%s: this is no folder", folder);
	/* Who may write there chooses what counts as pushed. */
	if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return mw_error_set(error,
				    "%s: other users can write there; name a folder of your "
				    "own with --state DIR",
				    folder);
	return 0;
}

/* Says whether the folder was not looked through for a day, and notes that it is now: there may be
 * a file for each process of a month, and a push of each comes every few minutes. */
static bool is_look_due(int folder) {
	struct stat info;
	time_t now = time(NULL);
	if (fstatat(folder, LOOKED, &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_mtime <= now &&
	    info.st_mtime + LOOK_SECONDS > now)
		return false;
	int fd = openat(folder, LOOKED, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		futimens(fd, NULL);
		close(fd);
	}
	return true;
}

static void remove_old(const char *folder) {
	DIR *entries = opendir(folder);
	struct stat info;
	if (entries == NULL)
		return;
	bool is_due = is_look_due(dirfd(entries));
	for (struct dirent *entry; is_due && (entry = readdir(entries)) != NULL;)
		if (entry->d_name[0] != '.' &&
		    fstatat(dirfd(entries), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(info.st_mode) && info.st_mtime + KEPT_SECONDS < time(NULL))
			unlinkat(dirfd(entries), entry->d_name, 0);
	closedir(entries);
}

/* Returns a number that follows from the text, the same in every run (FNV-1a). */
static uint64_t text_number(const char *text) {
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

/* Another push may have removed the file that it locked, as too old: then there is a new one. */
static int take_lock(mw_progress_t *progress, mw_error_t *error) {
	struct stat locked, named;
	for (;;) {
		int fd = open(progress->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			break;
		int result;
		while ((result = flock(fd, LOCK_EX)) != 0 && errno == EINTR)
			continue;
		if (result == 0 && fstat(fd, &locked) == 0 && stat(progress->lock, &named) == 0 &&
		    locked.st_ino == named.st_ino && locked.st_dev == named.st_dev) {
			futimens(fd, NULL);
			progress->lock_fd = fd;
			return 0;
		}
		close(fd);
		if (result != 0)
			break;
	}
	return mw_error_set(error, "%s: cannot lock: %s", progress->lock, strerror(errno));
}

int mw_progress_open(const char *folder, const char *receiver, const char *process,
		     mw_progress_t **out, mw_error_t *error) {
	uint64_t number = text_number(receiver);
	*out = NULL;
	if (make_folder(folder, error) != 0)
		return -1;
	remove_old(folder);
	mw_progress_t *p = mw_xcalloc(1, sizeof(*p));
	p->lock_fd = -1;
	if (asprintf(&p->base, "%s/%016" PRIx64 "-%s.base.pb.gz", folder, number, process) < 0)
		p->base = NULL;
	if (asprintf(&p->next, "%s/%016" PRIx64 "-%s.next.pb.gz", folder, number, process) < 0)
		p->next = NULL;
	if (asprintf(&p->lock, "%s/%016" PRIx64 "-%s.lock", folder, number, process) < 0)
		p->lock = NULL;
	int result = p->base != NULL && p->next != NULL && p->lock != NULL
			     ? take_lock(p, error)
			     : mw_error_set(error, "%s: out of memory", folder);
	if (result == 0)
		*out = p;
	else
		mw_progress_close(p);
	return result;
}

void mw_progress_close(mw_progress_t *p) {
	if (p == NULL)
		return;
	if (p->lock_fd >= 0)
		close(p->lock_fd);
	free(p->base);
	free(p->next);
	free(p->lock);
	free(p);
}

/* Reads a file of the folder.  Returns 1, 0 if there is none, or -1. */
static int read_file(const char *path, mw_profile_t **out, mw_error_t *error) {
	mw_error_t why;
	*out = NULL;
	if (access(path, F_OK) != 0 && errno == ENOENT)
		return 0;
	if (mw_read_profile(path, out, &why) == 0)
		return 1;
	return mw_error_set(error,
			    "%s; if you remove the file, counts since the start of the "
			    "process are pushed again",
			    why.text);
}

static int subtract_base(mw_progress_t *p, mw_profile_t *now, mw_error_t *error) {
	mw_profile_t *base;
	int result = read_file(p->base, &base, error);
	if (result == 1)
		mw_delta_subtract(now, base);
	mw_profile_free(base);
	return result < 0 ? -1 : 0;
}

/* Finds the number in the comments; 0: there is none. */
static uint64_t number_of(const mw_profile_t *p) {
	for (size_t i = 0; i < p->comment_count; i++) {
		const char *text = mw_profile_string(p, p->comments[i]);
		if (strncmp(text, COMMENT, strlen(COMMENT)) == 0)
			return strtoull(text + strlen(COMMENT), NULL, 16);
	}
	return 0;
}

int mw_progress_resume(mw_progress_t *p, mw_pending_t *out, mw_error_t *error) {
	*out = (mw_pending_t){.profile = NULL};
	int result = read_file(p->next, &out->profile, error);
	if (result == 1)
		out->number = number_of(out->profile);
	if (result == 1 && subtract_base(p, out->profile, error) != 0)
		result = -1;
	if (result == 1 && out->number != 0)
		return 1;
	mw_profile_free(out->profile);
	out->profile = NULL;
	return result < 0 ? -1 : 0; /* without a number it is no batch, and is overwritten */
}

static uint64_t random_number(void) {
	uint64_t number = 0;
	while (number == 0)
		if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
			number = 0;
	return number;
}

int mw_progress_begin(mw_progress_t *p, const mw_profile_t *now, mw_pending_t *out,
		      mw_error_t *error) {
	char comment[64];
	*out = (mw_pending_t){.profile = mw_profile_copy(now), .number = random_number()};
	mw_profile_t *written = mw_profile_copy(now);
	snprintf(comment, sizeof(comment), COMMENT "%016" PRIx64, out->number);
	mw_profile_add_comment(written, comment);
	int result = subtract_base(p, out->profile, error);
	if (result == 0)
		result = mw_write_profile(written, p->next, MW_FORMAT_PROTO, MW_GZIP_ON, error);
	mw_profile_free(written);
	if (result != 0) {
		mw_profile_free(out->profile);
		out->profile = NULL;
	}
	return result;
}

int mw_progress_commit(mw_progress_t *p, mw_error_t *error) {
	if (rename(p->next, p->base) == 0)
		return 0;
	return mw_error_set(error, "%s: cannot rename: %s", p->next, strerror(errno));
}

void mw_progress_drop(mw_progress_t *p) {
	unlink(p->next);
}
