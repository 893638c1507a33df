/* SPDX-License-Identifier: MIT
 * test_put.c -- what the library writes does not end the program at RLIMIT_FSIZE. */
#include "base/put.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "os/file/file.h"
#include "test.h"

enum { LIMIT = 4 };

static char path[64];

static void set_limit(void) {
	struct rlimit limit = {LIMIT, LIMIT};
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static int new_file(void) {
	int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(file >= 0);
	return file;
}

/* The wait status of a child that does `work` with a limit on the size of files. */
static int in_child(void (*work)(int file)) {
	pid_t pid = fork();
	if (pid == 0) {
		int file = new_file();
		set_limit();
		work(file);
		_exit(0);
	}
	int status = 0;
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static void warn_thrice(int file) {
	dup2(file, STDERR_FILENO);
	errno = 7;
	for (int i = 0; i < 3; i++)
		mw_warn("a warning");
	mw_print_line("a line");
	CHECK_EQ(errno, 7);
}

static void warnings_do_not_end_the_program(void) {
	CHECK_EQ(in_child(warn_thrice), 0);
	struct stat info;
	CHECK(stat(path, &info) == 0);
	CHECK_EQ(info.st_size, LIMIT);
}

static void write_beyond(int file) {
	CHECK_EQ(mw_put(file, "abcdef", 6), LIMIT);
	CHECK_EQ(mw_put(file, "abcdef", 6), -1);
	CHECK_EQ(errno, EFBIG);
	CHECK_EQ(mw_os_write(file, "abcdef", 6), MW_ERR_NO_MEMORY);
	sigset_t blocked, pending;
	CHECK(sigprocmask(SIG_SETMASK, NULL, &blocked) == 0 && !sigismember(&blocked, SIGXFSZ));
	CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGXFSZ));
}

static void the_signal_is_taken_back(void) {
	CHECK_EQ(in_child(write_beyond), 0);
}

/* The program's own signal, which waits for it, stays. */
static void write_with_pending(int file) {
	sigset_t signals, pending;
	sigemptyset(&signals);
	sigaddset(&signals, SIGXFSZ);
	CHECK(sigprocmask(SIG_BLOCK, &signals, NULL) == 0);
	CHECK_EQ(mw_put(file, "abcdef", 6), LIMIT);
	CHECK(raise(SIGXFSZ) == 0);
	CHECK_EQ(mw_put(file, "abcdef", 6), -1);
	CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ));
}

static void a_signal_that_waits_stays(void) {
	CHECK_EQ(in_child(write_with_pending), 0);
}

static int written(const char *name, bool appends) {
	int file = mw_put_open(name, appends, 0644);
	if (file < 0)
		return -errno;
	CHECK_EQ(mw_put(file, "new", 3), 3);
	CHECK_EQ(close(file), 0);
	return 0;
}

static long size_of(const char *name) {
	struct stat info;
	CHECK(stat(name, &info) == 0);
	return (long)info.st_size;
}

static void a_file_is_made_emptied_or_continued(void) {
	unlink(path);
	CHECK_EQ(written(path, false), 0);
	CHECK_EQ(written(path, false), 0);
	CHECK_EQ(size_of(path), 3);
	CHECK_EQ(written(path, true), 0);
	CHECK_EQ(size_of(path), 6);
	CHECK_EQ(written("/dev/null", false), 0);
	CHECK_EQ(written("/nonexistent/file", false), -ENOENT);
	int file = mw_put_open(path, false, 0644);
	CHECK(fcntl(file, F_GETFD) & FD_CLOEXEC);
	CHECK(!(fcntl(file, F_GETFL) & O_NONBLOCK));
	close(file);
}

/* In a shared folder somebody else may have made what has the name. */
static void what_others_may_have_planted_is_refused(void) {
	char planted[80];
	snprintf(planted, sizeof planted, "%s.planted", path);
	CHECK_EQ(written(path, false), 0);
	CHECK(symlink(path, planted) == 0);
	CHECK_EQ(written(planted, false), -ELOOP);
	CHECK_EQ(written(planted, true), -ELOOP);
	CHECK(unlink(planted) == 0 && symlink("/nonexistent/new", planted) == 0);
	CHECK_EQ(written(planted, false), -ELOOP);
	CHECK(unlink(planted) == 0 && link(path, planted) == 0);
	CHECK_EQ(written(planted, true), -EPERM);
	CHECK_EQ(size_of(path), 3);
	/* Nobody reads it: open(2) would wait without end. */
	CHECK(unlink(planted) == 0 && mkfifo(planted, 0600) == 0);
	CHECK_EQ(written(planted, false), -ENXIO);
	CHECK(unlink(planted) == 0);
	CHECK_EQ(written(planted, false), 0);
	if (getuid() == 0) {
		CHECK(chown(planted, 65534, 65534) == 0);
		CHECK_EQ(written(planted, false), -EPERM);
		CHECK_EQ(size_of(planted), 3);
	}
	CHECK(unlink(planted) == 0);
}

int main(void) {
	snprintf(path, sizeof path, "/tmp/mallow-test-put.%d", getpid());
	RUN(warnings_do_not_end_the_program);
	RUN(the_signal_is_taken_back);
	RUN(a_signal_that_waits_stays);
	RUN(a_file_is_made_emptied_or_continued);
	RUN(what_others_may_have_planted_is_refused);
	CHECK(unlink(path) == 0);
	return 0;
}
