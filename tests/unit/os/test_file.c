/* SPDX-License-Identifier: MIT
 * test_file.c -- files by raw system calls: modes, links, limits, reservations. */
#include "os/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/memory/map.h"
#include "test.h"

static char root[64];

static const char *in_root(const char *name) {
	static char path[128];
	snprintf(path, sizeof path, "%s/%s", root, name);
	return path;
}

static void opening(void) {
	CHECK_EQ(mw_os_open(MW_OS_NO_DIRECTORY, in_root("none"), MW_OS_READ), MW_ERR_NOT_FOUND);
	int file = mw_os_open(MW_OS_NO_DIRECTORY, in_root("new"), MW_OS_CREATE);
	CHECK(file >= 0);
	CHECK(fcntl(file, F_GETFD) == FD_CLOEXEC);
	mw_os_file_info_t info;
	CHECK_EQ(mw_os_file_info(file, &info), MW_OK);
	CHECK_EQ(info.owner, geteuid());
	CHECK_EQ(info.permissions, 0600);
	CHECK(!info.is_directory && info.size_bytes == 0);
	mw_os_close(file);
	CHECK(fcntl(file, F_GETFD) == -1);
	CHECK(mw_os_open(MW_OS_NO_DIRECTORY, in_root("new"), MW_OS_CREATE) < 0);
	char target[128];
	snprintf(target, sizeof target, "%s", in_root("new"));
	CHECK(symlink(target, in_root("link")) == 0);
	CHECK_EQ(mw_os_open(MW_OS_NO_DIRECTORY, in_root("link"), MW_OS_REWRITE), MW_ERR_FORBIDDEN);
	CHECK(mw_os_open(MW_OS_NO_DIRECTORY, in_root("link"), MW_OS_CREATE) < 0);
	CHECK(mw_os_open(MW_OS_NO_DIRECTORY, in_root("new"), MW_OS_DIRECTORY) < 0);
	CHECK_EQ(mw_os_remove(MW_OS_NO_DIRECTORY, in_root("link")), MW_OK);
	CHECK_EQ(mw_os_remove(MW_OS_NO_DIRECTORY, in_root("new")), MW_OK);
	CHECK_EQ(mw_os_remove(MW_OS_NO_DIRECTORY, in_root("new")), MW_ERR_NOT_FOUND);
}

/* Names of logs and dumps can be guessed, and links put there before. */
static void replacing(void) {
	char target[128];
	struct stat info;
	snprintf(target, sizeof target, "%s", in_root("target"));
	int file = mw_os_open(MW_OS_NO_DIRECTORY, target, MW_OS_REPLACE);
	CHECK(file >= 0 && write(file, "kept", 4) == 4);
	mw_os_close(file);
	CHECK(symlink(target, in_root("link")) == 0);
	CHECK_EQ(mw_os_open(MW_OS_NO_DIRECTORY, in_root("link"), MW_OS_REPLACE), MW_ERR_FORBIDDEN);
	CHECK(unlink(in_root("link")) == 0 && link(target, in_root("link")) == 0);
	CHECK_EQ(mw_os_open(MW_OS_NO_DIRECTORY, in_root("link"), MW_OS_REPLACE), MW_ERR_FORBIDDEN);
	CHECK(stat(target, &info) == 0 && info.st_size == 4);
	CHECK(unlink(in_root("link")) == 0);
	file = mw_os_open(MW_OS_NO_DIRECTORY, target, MW_OS_REPLACE);
	CHECK(file >= 0 && fstat(file, &info) == 0 && info.st_size == 0);
	mw_os_close(file);
	CHECK_EQ(mw_os_remove(MW_OS_NO_DIRECTORY, target), MW_OK);
	file = mw_os_open(MW_OS_NO_DIRECTORY, "/dev/null", MW_OS_REPLACE);
	CHECK(file >= 0);
	mw_os_close(file);
}

static void directories(void) {
	CHECK_EQ(mw_os_make_directory(in_root("d")), MW_OK);
	CHECK_EQ(mw_os_make_directory(in_root("d")), MW_OK);
	CHECK_EQ(mw_os_make_directory(in_root("none/d")), MW_ERR_NOT_FOUND);
	int directory = mw_os_open(MW_OS_NO_DIRECTORY, in_root("d"), MW_OS_DIRECTORY);
	CHECK(directory >= 0);
	char name[32];
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "file-%d", i);
		int file = mw_os_open(directory, name, MW_OS_CREATE);
		CHECK(file >= 0);
		mw_os_close(file);
	}
	int names = 0;
	_Alignas(8) char buffer[1024];
	for (long bytes; (bytes = mw_os_list(directory, buffer, sizeof buffer)) > 0;) {
		size_t position = 0;
		for (const char *entry;
		     (entry = mw_os_next_name(buffer, (size_t)bytes, &position));)
			names += strncmp(entry, "file-", 5) == 0;
	}
	CHECK_EQ(names, 300);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "file-%d", i);
		CHECK_EQ(mw_os_remove(directory, name), MW_OK);
	}
	mw_os_close(directory);
	CHECK(rmdir(in_root("d")) == 0);
}

static void sizes_and_limits(void) {
	signal(SIGXFSZ, SIG_DFL);
	int file = mw_os_memory_file("test");
	CHECK(file >= 0);
	CHECK_EQ(mw_os_set_size(file, (uint64_t)1 << 30), MW_OK);
	struct rlimit old, limit = {1 << 20, RLIM_INFINITY};
	CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0 && setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK_EQ(mw_os_set_size(file, (1 << 20) + 1), MW_ERR_NO_MEMORY);
	CHECK_EQ(mw_os_set_size(file, 1 << 20), MW_OK);
	CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
	mw_os_close(file);
}

static void reservations_are_opened_in_steps(void) {
	int file = mw_os_memory_file("test");
	CHECK(file >= 0 && mw_os_set_size(file, 1 << 20) == MW_OK);
	char *base = mw_os_reserve(file, 65536, 131072);
	CHECK(base && mw_os_open_range(base, 8192));
	CHECK_EQ(mw_os_populate(base, 8192), MW_OK);
	memset(base, 7, 8192);
	char byte = 0;
	CHECK_EQ(mw_os_read_at(file, &byte, 1, 65536 + 8191), 1);
	CHECK_EQ(byte, 7);
	mw_os_file_info_t info;
	CHECK_EQ(mw_os_file_info(file, &info), MW_OK);
	CHECK_EQ(info.allocated_bytes, 8192);
	/* Beyond the end of the file: refused, where a touch would raise SIGBUS. */
	char *beyond = mw_os_reserve(file, 1 << 20, 65536);
	CHECK(beyond && mw_os_open_range(beyond, 4096));
	CHECK_EQ(mw_os_populate(beyond, 4096), MW_ERR_NO_MEMORY);
	CHECK_EQ(mw_os_reserve_blocks(file, 500000, 4096), MW_OK);
	mw_os_close(file);
	mw_os_unmap(base, 131072);
	mw_os_unmap(beyond, 65536);
}

static void reservations_cost_no_data_limit(void) {
	if (TEST_UNDER_SANITIZER) {
		printf("# skipped: a sanitizer needs the address space\n");
		return;
	}
	struct rlimit old, limit;
	CHECK(getrlimit(RLIMIT_DATA, &old) == 0);
	limit = old;
	limit.rlim_cur = 64 << 20;
	CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
	char *base = mw_os_reserve(-1, 0, (size_t)1 << 30);
	CHECK(base && mw_os_open_range(base, 1 << 20));
	CHECK(!mw_os_open_range(base, (size_t)512 << 20));
	CHECK(setrlimit(RLIMIT_DATA, &old) == 0);
	memset(base, 1, 1 << 20);
	mw_os_unmap(base, (size_t)1 << 30);
}

static void wiped_in_a_child(void) {
	int *page = mw_os_map_wiped_on_fork();
	CHECK(page);
	*page = 42;
	pid_t child = fork();
	if (child == 0)
		_exit(*page);
	int status;
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	CHECK_EQ(*page, 42);
}

static void texts(void) {
	char text[16];
	CHECK_EQ(mw_os_read_text(in_root("none"), text, sizeof text), 0);
	CHECK_STR(text, "");
	FILE *file = fopen(in_root("text"), "w");
	fputs("0123456789abcdefghij", file);
	fclose(file);
	errno = 4711;
	CHECK_EQ(mw_os_read_text(in_root("text"), text, sizeof text), 15);
	CHECK_STR(text, "0123456789abcde");
	CHECK_EQ(errno, 4711);
	unlink(in_root("text"));
}

int main(void) {
	CHECK(mkdtemp(strcpy(root, "/tmp/mallow-test-XXXXXX")));
	RUN(opening);
	RUN(replacing);
	RUN(directories);
	RUN(sizes_and_limits);
	RUN(reservations_are_opened_in_steps);
	RUN(reservations_cost_no_data_limit);
	RUN(wiped_in_a_child);
	RUN(texts);
	CHECK(rmdir(root) == 0);
	return 0;
}
