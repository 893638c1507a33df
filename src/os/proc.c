/* SPDX-License-Identifier: MIT
 * proc.c -- what /proc and the kernel say about this process.  By syscall(2) where libc's own
 * function lies where small processes read nothing else (doc/adr/0014-resident-first.md). */
#include "os/proc.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fmt.h"
#include "os/file.h"
#include "os/map.h"

MW_RESIDENT uint32_t mw_os_process_id(void) {
	return (uint32_t)syscall(SYS_getpid);
}

uint32_t mw_os_thread_id(void) {
	return (uint32_t)syscall(SYS_gettid);
}

void mw_os_thread_name(char name[16]) {
	memset(name, 0, 16);
	if (syscall(SYS_prctl, PR_GET_NAME, name) != 0)
		name[0] = '\0';
	name[15] = '\0';
}

uint32_t mw_os_effective_user(void) {
	return (uint32_t)syscall(SYS_geteuid);
}

static uint64_t parse_decimal(const char **cursor) {
	uint64_t value = 0;
	for (; **cursor >= '0' && **cursor <= '9'; (*cursor)++)
		value = value * 10 + (uint64_t)(**cursor - '0');
	return value;
}

static uint64_t parse_hex(const char **cursor) {
	uint64_t value = 0;
	for (;; (*cursor)++) {
		char c = **cursor;
		unsigned digit;
		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		else
			return value;
		value = value << 4 | digit;
	}
}

static const char *skip_fields(const char *cursor, int count) {
	for (; count > 0 && *cursor; count--) {
		while (*cursor && *cursor != ' ')
			cursor++;
		while (*cursor == ' ')
			cursor++;
	}
	return cursor;
}

uint64_t mw_os_start_ticks(uint32_t pid) {
	char path[32], text[1024];
	mw_fmt(path, sizeof path, "/proc/%u/stat", pid);
	if (mw_os_read_text(path, text, sizeof text) == 0)
		return 0;
	/* Field 2 is the name in parentheses and may hold anything, so count from the last ')'. */
	const char *cursor = strrchr(text, ')');
	if (!cursor)
		return 0;
	cursor = skip_fields(cursor, 22 - 2);
	return parse_decimal(&cursor);
}

bool mw_os_process_exists(uint32_t pid) {
	int saved_errno = errno;
	bool exists = syscall(SYS_kill, pid, 0) == 0 || errno != ESRCH;
	errno = saved_errno;
	return exists;
}

uint64_t mw_os_resident_bytes(void) {
	char text[128];
	if (mw_os_read_text("/proc/self/statm", text, sizeof text) == 0)
		return 0;
	const char *cursor = skip_fields(text, 1);
	return parse_decimal(&cursor) * MW_OS_PAGE_BYTES;
}

size_t mw_os_executable(char *path, size_t capacity) {
	return mw_os_read_link("/proc/self/exe", path, capacity);
}

uint64_t mw_os_pid_namespace(void) {
	char text[64]; /* pid:[4026531836] */
	mw_os_read_link("/proc/self/ns/pid", text, sizeof text);
	const char *digits = strchr(text, '[');
	if (!digits)
		return 0;
	digits++;
	return parse_decimal(&digits);
}

size_t mw_os_arguments(char *buffer, size_t capacity) {
	return mw_os_read_text("/proc/self/cmdline", buffer, capacity);
}

void mw_os_host_name(char *name, size_t capacity) {
	int saved_errno = errno;
	struct utsname system;
	mw_fmt(name, capacity, "%s", uname(&system) == 0 ? system.nodename : "");
	errno = saved_errno;
}

bool mw_os_working_directory(char *path, size_t capacity) {
	int saved_errno = errno;
	long length = syscall(SYS_getcwd, path, capacity);
	errno = saved_errno;
	/* "(unreachable)/..." when it lies outside of the root directory. */
	return length > 0 && path[0] == '/';
}

void mw_os_set_thread_name(const char *name) {
	int saved_errno = errno;
	prctl(PR_SET_NAME, name, 0, 0, 0);
	errno = saved_errno;
}

static uint64_t limit_of(__rlimit_resource_t resource) {
	struct rlimit limit;
	if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

uint64_t mw_os_address_space_limit(void) {
	return limit_of(RLIMIT_AS);
}

uint64_t mw_os_file_size_limit(void) {
	return limit_of(RLIMIT_FSIZE);
}

MW_RESIDENT uint64_t mw_os_random_seed(void) {
	uint64_t seed = 0;
	const void *random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&seed, random, sizeof seed);
	return seed;
}

void mw_os_random(void *buffer, size_t bytes) {
	int saved_errno = errno;
	/* Not getrandom() of libc: a cancellation point.  Never waits: early in the system's start
	 * the numbers may be worse. */
	long got = syscall(SYS_getrandom, buffer, bytes, GRND_INSECURE);
	uint64_t seed = mw_os_random_seed();
	for (size_t i = got < 0 ? 0 : (size_t)got; i < bytes; i++)
		((unsigned char *)buffer)[i] = (unsigned char)(seed >> i % 8 * 8);
	errno = saved_errno;
}

void mw_os_wait_turn(unsigned turn) {
	int saved_errno = errno;
	if (turn < 64)
		sched_yield();
	else
		/* nanosleep() of libc is a cancellation point. */
		syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 50000}, NULL);
	errno = saved_errno;
}

/* "start-limit perms offset device inode   path" */
static void parse_mapping(const char *line, mw_os_mapping_t *mapping) {
	const char *cursor = line;
	mapping->start = parse_hex(&cursor);
	cursor += *cursor == '-';
	mapping->limit = parse_hex(&cursor);
	cursor += *cursor == ' ';
	mapping->executable = strnlen(cursor, 4) == 4 && cursor[2] == 'x';
	cursor = skip_fields(cursor, 1);
	mapping->file_offset = parse_hex(&cursor);
	cursor = skip_fields(cursor, 3);
	mw_fmt(mapping->path, sizeof mapping->path, "%s", cursor);
}

void mw_os_visit_mappings(bool (*visit)(void *context, const mw_os_mapping_t *mapping),
			  void *context) {
	int file = mw_os_open(MW_OS_NO_DIRECTORY, "/proc/self/maps", MW_OS_READ);
	if (file < 0)
		return;
	char text[1024];
	size_t held = 0;
	bool skipping = false, going = true;
	while (going) {
		long got = mw_os_read(file, text + held, sizeof text - 1 - held);
		if (got <= 0)
			break;
		held += (size_t)got;
		text[held] = '\0';
		char *line = text, *end;
		while (going && (end = memchr(line, '\n', held - (size_t)(line - text)))) {
			*end = '\0';
			mw_os_mapping_t mapping;
			if (!skipping) {
				parse_mapping(line, &mapping);
				going = visit(context, &mapping);
			}
			skipping = false;
			line = end + 1;
		}
		held -= (size_t)(line - text);
		memmove(text, line, held);
		if (held < sizeof text - 1 || !going)
			continue;
		/* A path longer than the buffer: what is known so far is enough, the rest is
		 * dropped. */
		text[held] = '\0';
		mw_os_mapping_t mapping;
		if (!skipping) {
			parse_mapping(text, &mapping);
			going = visit(context, &mapping);
		}
		skipping = true;
		held = 0;
	}
	mw_os_close(file);
}
