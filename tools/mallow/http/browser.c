/* SPDX-License-Identifier: MIT
 * browser.c -- the file that leads to an address, and the command that opens it. */
#include "http/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_NAME "open.html"
#define PAGE_BYTES 4096
#define FOLDER_BYTES (PATH_MAX - sizeof(FILE_NAME))

extern char **environ;

static struct {
	pthread_mutex_t lock;
	pid_t pid;  /* of xdg-open; 0: none */
	int folder; /* -1: there is no file.  The name may be another's folder by then. */
	char name[FOLDER_BYTES];
} browser = {.lock = PTHREAD_MUTEX_INITIALIZER, .folder = -1};

bool mw_browser_is_there(void) {
	return getenv("DISPLAY") != NULL || getenv("WAYLAND_DISPLAY") != NULL;
}

/* ---- the file ---- */

static bool is_private(const struct stat *info) {
	return S_ISDIR(info->st_mode) && info->st_uid == geteuid() &&
	       (info->st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

/* Makes a folder for this user alone, and opens it.  Returns -1 with errno. */
static int make_folder_in(const char *parent) {
	struct stat info;
	int length = snprintf(browser.name, sizeof(browser.name), "%s/mallow-web.XXXXXX", parent);
	if (length < 0 || (size_t)length >= sizeof(browser.name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (mkdtemp(browser.name) == NULL)
		return -1;
	int folder = open(browser.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder >= 0 && fstat(folder, &info) == 0 && is_private(&info))
		return folder;
	if (folder >= 0) {
		close(folder);
		errno = EPERM;
	}
	return -1;
}

/* Lists where the folder may be: the session's folder is in memory, and the system removes it when
 * the user logs out.  Under sudo it may be another user's. */
static unsigned list_parents(const char *parents[2]) {
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
	struct stat info;
	unsigned count = 0;
	if (runtime != NULL && *runtime == '/' && stat(runtime, &info) == 0 && is_private(&info))
		parents[count++] = runtime;
	parents[count++] = temporary != NULL && *temporary == '/' ? temporary : "/tmp";
	return count;
}

static void add_escaped(FILE *out, const char *text) {
	for (; *text != '\0'; text++) {
		if (strchr("&<>\"'", *text) != NULL)
			fprintf(out, "&#%d;", *text);
		else
			fputc(*text, out);
	}
}

static bool write_page(int file, const char *address) {
	char page[PAGE_BYTES];
	FILE *out = fmemopen(page, sizeof(page), "w");
	if (out == NULL)
		return false;
	fputs("<!DOCTYPE html>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n"
	      "<meta http-equiv=\"refresh\" content=\"0; url=",
	      out);
	add_escaped(out, address);
	fputs("\">\n<title>mallow</title>\n<p><a href=\"", out);
	add_escaped(out, address);
	fputs("\">The page of mallow web</a>\n", out);
	long length = ftell(out);
	bool is_whole = fclose(out) == 0 && length > 0 && (size_t)length < sizeof(page);
	return is_whole && write(file, page, (size_t)length) == (ssize_t)length;
}

/* With the lock. */
static void remove_file(void) {
	if (browser.folder >= 0) {
		unlinkat(browser.folder, FILE_NAME, 0);
		close(browser.folder);
		rmdir(browser.name);
	}
	browser.folder = -1;
}

void mw_browser_remove_file(void) {
	pthread_mutex_lock(&browser.lock);
	remove_file();
	pthread_mutex_unlock(&browser.lock);
}

/* With the lock.  False with errno: there is no file. */
static bool write_file_in(const char *parent, const char *address) {
	browser.folder = make_folder_in(parent);
	if (browser.folder < 0)
		return false;
	int file = openat(browser.folder, FILE_NAME,
			  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
	bool is_written = file >= 0 && fchmod(file, S_IRUSR | S_IWUSR) == 0;
	if (is_written) {
		errno = ENOSPC; /* of a write that is too short */
		is_written = write_page(file, address);
	}
	int failed = errno;
	if (file >= 0)
		close(file);
	if (!is_written)
		remove_file();
	errno = failed;
	return is_written;
}

static int write_file(const char *address, mw_error_t *error) {
	const char *parents[2];
	unsigned count = list_parents(parents);
	bool is_written = false;
	pthread_mutex_lock(&browser.lock);
	for (unsigned i = 0; i < count && !is_written; i++)
		is_written = write_file_in(parents[i], address);
	if (!is_written)
		mw_error_set(error, "%.200s: %s", browser.name, strerror(errno));
	pthread_mutex_unlock(&browser.lock);
	return is_written ? 0 : -1;
}

/* ---- the command ---- */

/* ^C in the terminal of mallow does not reach the browser, which has a session of its own. */
static int spawn(const char *file) {
	const char *const words[] = {"xdg-open", file, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
	/* posix_spawnp() does not change the words. */
	int failed = posix_spawnp(&browser.pid, words[0], &actions, &attributes,
				  (char *const *)(uintptr_t)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (failed != 0)
		browser.pid = 0;
	return failed;
}

int mw_browser_open(const char *address, mw_error_t *error) {
	char file[PATH_MAX];
	if (write_file(address, error) != 0)
		return -1;
	snprintf(file, sizeof(file), "%s/%s", browser.name, FILE_NAME);
	int failed = spawn(file);
	if (failed == 0)
		return 0;
	mw_browser_remove_file();
	return mw_error_set(error, "xdg-open: %s", strerror(failed));
}

void mw_browser_collect(void) {
	if (browser.pid > 0 && waitpid(browser.pid, NULL, WNOHANG) != 0)
		browser.pid = 0;
}
