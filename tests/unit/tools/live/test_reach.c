/* SPDX-License-Identifier: MIT
 * test_reach.c -- which process a command is about to change. */
#include "live/process/reach.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/enter/enter.h"
#include "live/process/process.h"
#include "test.h"

enum { BYTES = 4096 };

static char file_path[64];

static int make_file(struct stat *info) {
	snprintf(file_path, sizeof(file_path), "/tmp/mallow-test-reach.%d", getpid());
	int fd = open(file_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && ftruncate(fd, BYTES) == 0 && fstat(fd, info) == 0);
	return fd;
}

/* A process that maps the file, and executes sleep(1) when its pipe ends. */
typedef struct child {
	mw_process_key_t key;
	int input;
} child_t;

static child_t start(int protection, int flags) {
	struct stat info;
	int input[2], ready[2], fd = make_file(&info);
	char byte;
	CHECK(pipe2(input, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(input[1]);
		bool is_mapped = mmap(NULL, BYTES, protection, flags, fd, 0) != MAP_FAILED;
		if (!is_mapped || write(ready[1], "", 1) != 1 || read(input[0], &byte, 1) != 0)
			_exit(1);
		execlp("sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	CHECK(pid > 0 && read(ready[0], &byte, 1) == 1);
	close(input[0]);
	close(ready[0]);
	close(ready[1]);
	close(fd);
	mw_process_t process;
	CHECK(mw_process_read(pid, &process));
	return (child_t){.key = {.pid = pid,
				 .start_ticks = process.start_ticks,
				 .device = info.st_dev,
				 .inode = info.st_ino},
			 .input = input[1]};
}

static void end(child_t *child) {
	kill(child->key.pid, SIGKILL);
	CHECK(waitpid(child->key.pid, NULL, 0) == child->key.pid);
	if (child->input >= 0)
		close(child->input);
	unlink(file_path);
}

static bool is_reached(const mw_process_key_t *key) {
	mw_reach_t reach;
	if (mw_reach_open(key, &reach, NULL) != 0)
		return false;
	mw_reach_close(&reach);
	return true;
}

static void test_process_that_maps_the_file(void) {
	child_t child = start(PROT_READ | PROT_WRITE, MAP_SHARED);
	CHECK(is_reached(&child.key));
	/* A file without a name is mapped all the same. */
	CHECK(unlink(file_path) == 0 && is_reached(&child.key));
	mw_process_key_t other = child.key;
	other.start_ticks++;
	CHECK(!is_reached(&other));
	other = child.key;
	other.inode++;
	CHECK(!is_reached(&other));
	other.inode = 0; /* any process */
	CHECK(is_reached(&other));
	end(&child);
	CHECK(!is_reached(&child.key));
	other.pid = getpid();
	other.start_ticks = 1;
	CHECK(!is_reached(&other));
}

/* A program may map any file that its user names, to read it. */
static void test_other_mappings_do_not_count(void) {
	child_t child = start(PROT_READ, MAP_SHARED);
	CHECK(!is_reached(&child.key));
	end(&child);
	child = start(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	CHECK(!is_reached(&child.key));
	end(&child);
}

static bool has_executed(int pid) {
	char path[64], text[64] = "";
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	return got > 0 && strcmp(text, "sleep\n") == 0;
}

static void test_reach_ends_with_the_program(void) {
	child_t child = start(PROT_READ | PROT_WRITE, MAP_SHARED);
	mw_reach_t reach;
	CHECK(mw_reach_open(&child.key, &reach, NULL) == 0 && mw_reach_holds(&reach));
	CHECK(mw_reach_has_thread(&reach, child.key.pid) && !mw_reach_has_thread(&reach, getpid()));
	close(child.input);
	child.input = -1;
	while (!has_executed(child.key.pid))
		usleep(1000);
	CHECK(!mw_reach_holds(&reach));
	mw_reach_close(&reach);
	end(&child);
	child = start(PROT_READ | PROT_WRITE, MAP_SHARED);
	CHECK(mw_reach_open(&child.key, &reach, NULL) == 0);
	end(&child);
	CHECK(!mw_reach_holds(&reach) && !mw_reach_has_thread(&reach, child.key.pid));
	mw_reach_close(&reach);
}

/* It maps the file, and has no library: nothing is done in it. */
static void test_process_without_the_library(void) {
	child_t child = start(PROT_READ | PROT_WRITE, MAP_SHARED);
	mw_error_t why = {""};
	CHECK_EQ(mw_process_enter(&child.key, &why), -1);
	CHECK(strstr(why.text, "woken"));
	child.key.start_ticks++;
	CHECK_EQ(mw_process_enter(&child.key, &why), -1);
	CHECK(strstr(why.text, "has ended"));
	CHECK_EQ(waitpid(child.key.pid, NULL, WNOHANG), 0);
	end(&child);
}

static void test_rights(void) {
	CHECK(!mw_thread_exceeds_command(getpid()));
	CHECK(mw_thread_exceeds_command(0));
	/* As a user: root's process has more. */
	pid_t pid = fork();
	if (pid == 0) {
		if (getuid() != 0)
			_exit(0);
		bool is_user =
			setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0;
		_exit(!is_user || !mw_thread_exceeds_command(getppid()));
	}
	int status = 0;
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void) {
	RUN(test_process_that_maps_the_file);
	RUN(test_other_mappings_do_not_count);
	RUN(test_reach_ends_with_the_program);
	RUN(test_process_without_the_library);
	RUN(test_rights);
	return 0;
}
