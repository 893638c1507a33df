/* SPDX-License-Identifier: MIT
 * test_open.c -- state files are opened and removed where they were found, not where a link of
 * their owner's leads. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/file/open_state_file.h"
#include "formats/read.h"
#include "formats/state/state_file.h"
#include "live/control.h"
#include "live/state_places.h"
#include "test.h"

static char root[64];
static char folder[128]; /* "<root>/mallow-<uid>" */

static const char *below(const char *parent, const char *name) {
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];
	snprintf(path, 256, "%s/%s", parent, name);
	return path;
}

static void make(const char *path) {
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	CHECK(fd >= 0 && write(fd, "kept", 4) == 4 && close(fd) == 0);
}

static bool opens(const char *path) {
	int fd = mw_open_file(path, O_RDONLY);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void links_in_folders_of_the_library_are_not_followed(void) {
	make(below(folder, "12.34"));
	make(below(root, "other"));
	CHECK(opens(below(folder, "12.34")) && opens(below(root, "other")));
	CHECK(symlink(below(root, "other"), below(folder, "56.78")) == 0);
	CHECK(!opens(below(folder, "56.78")) && errno == ELOOP);
	mw_snapshot_t *snapshot;
	mw_profile_t *profile;
	mw_error_t error;
	CHECK(mw_snapshot_read(below(folder, "56.78"), 0, &snapshot, &error) != 0);
	CHECK(strstr(error.text, "cannot open") != NULL);
	CHECK(mw_read_profile(below(folder, "56.78"), &profile, &error) != 0);
	CHECK(strstr(error.text, "cannot open") != NULL);
	/* The folder. */
	CHECK(symlink(folder, below(root, "mallow-77")) == 0);
	CHECK(!opens(below(root, "mallow-77/12.34")) && (errno == ELOOP || errno == ENOTDIR));
	/* Links with names of their own are the user's. */
	CHECK(symlink(folder, below(root, "mine")) == 0);
	CHECK(opens(below(root, "mine/12.34")));
	CHECK(symlink(below(root, "other"), below(folder, "mine")) == 0);
	CHECK(opens(below(folder, "mine")));
	CHECK(unlink(below(root, "mallow-77")) == 0 && unlink(below(root, "mine")) == 0);
	CHECK(unlink(below(folder, "mine")) == 0 && unlink(below(folder, "56.78")) == 0);
	CHECK(unlink(below(folder, "12.34")) == 0 && unlink(below(root, "other")) == 0);
}

static void pipes_do_not_hang(void) {
	CHECK(mkfifo(below(folder, "12.34"), 0600) == 0);
	CHECK(opens(below(folder, "12.34")));
	CHECK(unlink(below(folder, "12.34")) == 0);
}

/* A writer notices that a pipe was opened: its own opening ends. */
static bool has_reader(const char *pipe) {
	int fd = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void only_files_are_opened_where_names_are_found(void) {
	CHECK(mkdir(below(root, "dumps"), 0700) == 0 && mkdir(below(root, "dumps2"), 0700) == 0);
	const char *const names[] = {"dumps/pipe", "dumps/tty", "dumps/link"};
	CHECK(mkfifo(below(root, names[0]), 0600) == 0);
	CHECK(symlink("/dev/ptmx", below(root, names[1])) == 0);
	CHECK(symlink("pipe", below(root, names[2])) == 0);
	make(below(root, "dumps/file"));
	CHECK(symlink("file", below(root, "dumps/good")) == 0);
	make(below(root, "dumps2/file"));
	mw_open_only_files_below(below(root, "dumps"));
	for (size_t i = 0; i < 3; i++) {
		errno = 0;
		CHECK(!opens(below(root, names[i])) && errno == ENXIO);
	}
	CHECK(!has_reader(below(root, "dumps/pipe")));
	CHECK(opens(below(root, "dumps/file")) && opens(below(root, "dumps/good")));
	CHECK(!opens(below(root, "dumps/none")) && errno == ENOENT);
	CHECK(opens(below(root, "dumps2/file")) && opens("/dev/null"));
	setenv(MW_OPEN_ONLY_FILES, "1", 1);
	CHECK(opens(below(root, "dumps2/file")) && !opens("/dev/null") && errno == ENXIO);
	unsetenv(MW_OPEN_ONLY_FILES);
	CHECK(unlink(below(root, "dumps/file")) == 0 && unlink(below(root, "dumps/good")) == 0);
	CHECK(unlink(below(root, "dumps2/file")) == 0 && rmdir(below(root, "dumps2")) == 0);
	for (size_t i = 0; i < 3; i++)
		CHECK(unlink(below(root, names[i])) == 0);
	CHECK(rmdir(below(root, "dumps")) == 0);
}

/* A place whose process has ended, as `mallow clean` finds it. */
static mw_place_t place_of(const char *path) {
	struct stat info;
	CHECK(stat(path, &info) == 0);
	return (mw_place_t){.path = (char *)(uintptr_t)path,
			    .owner = info.st_uid,
			    .device = info.st_dev,
			    .inode = info.st_ino};
}

/* What the owner can do between the moment when a file is found and that when it is removed. */
static void only_the_file_that_was_found_is_removed(void) {
	char path[256], aside[256], victims[256];
	snprintf(path, sizeof(path), "%s/12.34", folder);
	snprintf(aside, sizeof(aside), "%s/aside", root);
	snprintf(victims, sizeof(victims), "%s/victims", root);
	make(path);
	mw_place_t place = place_of(path);
	CHECK(mkdir(victims, 0700) == 0);
	make(below(victims, "12.34"));
	/* The folder becomes a link. */
	CHECK(rename(folder, aside) == 0 && symlink(victims, folder) == 0);
	CHECK(mw_place_remove(&place) != 0);
	CHECK(access(below(victims, "12.34"), F_OK) == 0);
	/* The folder is another one. */
	CHECK(unlink(folder) == 0 && rename(victims, folder) == 0);
	CHECK(mw_place_remove(&place) != 0);
	CHECK(access(path, F_OK) == 0);
	CHECK(rename(folder, victims) == 0 && rename(aside, folder) == 0);
	/* The file becomes a link. */
	CHECK(rename(path, below(root, "file")) == 0);
	CHECK(symlink(below(victims, "12.34"), path) == 0);
	CHECK(mw_place_remove(&place) != 0);
	CHECK(access(below(victims, "12.34"), F_OK) == 0 && unlink(path) == 0);
	CHECK(rename(below(root, "file"), path) == 0);
	CHECK(mw_place_remove(&place) == 0);
	CHECK(access(path, F_OK) != 0);
	CHECK(unlink(below(victims, "12.34")) == 0 && rmdir(victims) == 0);
}

int main(void) {
	snprintf(root, sizeof(root), "/tmp/mallow-test-open.%d", getpid());
	snprintf(folder, sizeof(folder), "%s/mallow-%u", root, geteuid());
	CHECK(mkdir(root, 0700) == 0 && mkdir(folder, 0700) == 0);
	RUN(links_in_folders_of_the_library_are_not_followed);
	RUN(pipes_do_not_hang);
	RUN(only_files_are_opened_where_names_are_found);
	RUN(only_the_file_that_was_found_is_removed);
	CHECK(rmdir(folder) == 0 && rmdir(root) == 0);
	return 0;
}
