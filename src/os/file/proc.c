/* SPDX-License-Identifier: MIT
 * proc.c -- reads facts about this process from /proc and by system calls. syscall(2) replaces
 * those functions of libc that lie on pages that small processes read for nothing else
 * (doc/adr/0014-startup-layout.md). */
#include "os/file/proc.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fmt.h"
#include "base/libc_text.h"
#include "base/put.h"
#include "os/file/file.h"
#include "os/memory/map.h"
#include "os/memory/numa.h"
#include "os/platform/kernel_calls.h"
#include "os/platform/system_call.h"
#include "os/unwind/stack.h"

#ifndef GRND_INSECURE
#define GRND_INSECURE 4 /* Linux 5.6 */
#endif

static uint32_t confined_process; /* process id, stored before confinement */
static bool confined_exceeds_user;

MW_COLD void mw_os_confine(bool confined) {
	mw_stack_window_t window;
	if (mw_os_is_confined() || !confined) {
		atomic_store_explicit(&mw_os_confined, confined, memory_order_relaxed);
		return;
	}
	confined_process = mw_os_process_id();
	/* Finds the stack's owner now, by calls that are about to be forbidden. */
	mw_os_stack_open(&window, (uintptr_t)__builtin_frame_address(0));
	mw_os_numa_several = false;
	confined_exceeds_user = mw_os_exceeds_user();
	atomic_store_explicit(&mw_put_is_plain, true, memory_order_relaxed);
	atomic_store_explicit(&mw_os_confined, true, memory_order_relaxed);
}

uint32_t mw_os_process_id(void) {
	return MW_UNLIKELY(mw_os_is_confined()) ? confined_process
						: (uint32_t)mw_system_call(SYS_getpid);
}

/* Above the kernel's thread ids, which end at 2^22. */
#define MADE_THREAD_ID ((uint32_t)1 << 31)

unsigned mw_os_processor(void) {
	unsigned processor = 0;
	/* A system call: each function of libc that the library uses costs room at every start. */
	if (mw_os_is_confined() || mw_system_call(SYS_getcpu, &processor, NULL, NULL) != 0)
		return 0;
	return processor;
}

uint64_t mw_os_thread_cpu_ns(void) {
	struct timespec now = {0};
	if (!mw_os_is_confined())
		mw_system_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint32_t mw_os_thread_id(void) {
	if (MW_UNLIKELY(mw_os_is_confined()))
		return (uint32_t)((uintptr_t)__builtin_thread_pointer() >> 12) | MADE_THREAD_ID;
	return (uint32_t)mw_system_call(SYS_gettid);
}

void mw_os_thread_name(char name[16]) {
	memset(name, 0, 16);
	if (mw_os_is_confined() || mw_system_call(SYS_prctl, PR_GET_NAME, name) != 0)
		name[0] = '\0';
	name[15] = '\0';
}

uint32_t mw_os_effective_user(void) {
	if (mw_os_is_confined())
		return UINT32_MAX; /* a value that no process has */
	return (uint32_t)mw_system_call(SYS_geteuid);
}

/* Returns the text behind `name` at the beginning of a line; NULL: there is no such line. */
static const char *find_field(const char *text, const char *name) {
	size_t length = mw_strlen(name);
	for (const char *line = text; line; line = mw_strchr(line, '\n')) {
		line += *line == '\n';
		if (mw_strncmp(line, name, length) == 0)
			return line + length;
	}
	return NULL;
}

/* Compares the numbers of a line such as "\t1000\t1000\t1000\t1000\n". */
static bool are_equal(const char *numbers) {
	if (!numbers || *numbers != '\t')
		return false;
	size_t length = mw_strcspn(numbers + 1, "\t\n") + 1;
	for (int i = 1; i < 4; i++)
		if (mw_strncmp(numbers, numbers + (size_t)i * length, length) != 0)
			return false;
	return numbers[4 * length] == '\n';
}

/* Returns whether all digits are zeros. */
static bool is_zero(const char *number) {
	if (!number || *number++ != '\t')
		return false;
	return number[mw_strspn(number, "0")] == '\n';
}

/* Bytes read at a time, and bytes that are kept for the next read: more than the longest line that
 * is needed. The list of groups before the capabilities has any length. */
enum { STATUS_BYTES = 512, STATUS_OVERLAP = 64 };

static bool has_plain_status(int file) {
	char piece[STATUS_BYTES + 1];
	bool users = false, groups = false, capabilities = false;
	long bytes = STATUS_BYTES;
	for (uint64_t at = 0; bytes > STATUS_OVERLAP; at += (uint64_t)bytes - STATUS_OVERLAP) {
		bytes = mw_os_read_at(file, piece, STATUS_BYTES, at);
		piece[bytes > 0 ? bytes : 0] = '\0';
		users |= are_equal(find_field(piece, "Uid:"));
		groups |= are_equal(find_field(piece, "Gid:"));
		capabilities |= is_zero(find_field(piece, "CapPrm:"));
	}
	return users && groups && capabilities;
}

bool mw_os_exceeds_user(void) {
	/* prctl(2) and capget(2) would report the same, but a filter of system calls may forbid
	 * them. This code opens files in any case. */
	mw_os_file_info_t info;
	if (mw_os_is_confined())
		return confined_exceeds_user;
	uint32_t user = mw_os_effective_user();
	int file = user != 0 ? mw_os_open(MW_OS_NO_DIRECTORY, "/proc/self/status", MW_OS_READ) : -1;
	if (file < 0)
		return user != 0;
	/* The files in /proc of a process that must not be dumped belong to root. */
	bool is_own = mw_os_file_info(file, &info) == MW_OK && info.owner == user;
	bool is_plain = is_own && has_plain_status(file);
	mw_os_close(file);
	return !is_plain;
}

static uint64_t parse_decimal(const char **cursor) {
	uint64_t value = 0;
	for (; **cursor >= '0' && **cursor <= '9'; (*cursor)++)
		value = value * 10 + (uint64_t)(**cursor - '0');
	return value;
}

/* Parses a number such as "\t    1632 kB". */
static uint64_t parse_kilobytes(const char *cursor) {
	cursor += mw_strspn(cursor, " \t");
	return parse_decimal(&cursor) * 1024;
}

const char *mw_os_skip_fields(const char *cursor, int count) {
	for (; count > 0 && *cursor; count--) {
		while (*cursor && *cursor != ' ')
			cursor++;
		while (*cursor == ' ')
			cursor++;
	}
	return cursor;
}

static uint64_t stat_field(int number) {
	char text[1024];
	if (mw_os_read_text("/proc/self/stat", text, sizeof text) == 0)
		return 0;
	/* Field 2 is the name in parentheses and may contain any character, so the last ')' is
	 * searched. */
	const char *cursor = mw_strrchr(text, ')');
	if (!cursor)
		return 0;
	cursor = mw_os_skip_fields(cursor, number - 2);
	return parse_decimal(&cursor);
}

uint64_t mw_os_start_ticks(void) {
	return stat_field(22);
}

uint64_t mw_os_thread_count(void) {
	return stat_field(20);
}

uint64_t mw_os_resident_bytes(uint64_t *of_files) {
	char text[128];
	mw_os_read_text("/proc/self/statm", text, sizeof text);
	const char *cursor = mw_os_skip_fields(text, 1);
	uint64_t resident = parse_decimal(&cursor) * mw_os_counted_page_bytes();
	cursor = mw_os_skip_fields(text, 2);
	if (of_files)
		*of_files = parse_decimal(&cursor) * mw_os_counted_page_bytes();
	return resident;
}

/* getrusage(2) would name the memory of the process before exec, too. */
MW_COLD uint64_t mw_os_resident_most_bytes(void) {
	char piece[STATUS_BYTES + 1];
	const char *found = NULL;
	int file = mw_os_open(MW_OS_NO_DIRECTORY, "/proc/self/status", MW_OS_READ);
	if (file < 0)
		return 0;
	long bytes = STATUS_BYTES;
	for (uint64_t at = 0; !found && bytes > STATUS_OVERLAP;
	     at += (uint64_t)bytes - STATUS_OVERLAP) {
		bytes = mw_os_read_at(file, piece, STATUS_BYTES, at);
		piece[bytes > 0 ? bytes : 0] = '\0';
		found = find_field(piece, "VmHWM:");
		/* A line at the end of the piece may be cut: the next piece has all of it. */
		if (found && bytes == STATUS_BYTES && !mw_strchr(found, '\n'))
			found = NULL;
	}
	mw_os_close(file);
	return found ? parse_kilobytes(found) : 0;
}

size_t mw_os_executable(char *path, size_t capacity) {
	return mw_os_read_link("/proc/self/exe", path, capacity);
}

uint64_t mw_os_pid_namespace(void) {
	char text[64]; /* pid:[4026531836] */
	mw_os_read_link("/proc/self/ns/pid", text, sizeof text);
	const char *digits = mw_strchr(text, '[');
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
	bool known = !mw_os_is_confined() && mw_system_call(SYS_uname, &system) == 0;
	mw_fmt(name, capacity, "%s", known ? system.nodename : "");
	errno = saved_errno;
}

bool mw_os_working_directory(char *path, size_t capacity) {
	int saved_errno = errno;
	long length = mw_os_is_confined() ? -1 : mw_system_call(SYS_getcwd, path, capacity);
	errno = saved_errno;
	/* The path begins with "(unreachable)" if it lies outside of the root directory. */
	return length > 0 && path[0] == '/';
}

void mw_os_set_thread_name(const char *name) {
	int saved_errno = errno;
	if (!mw_os_is_confined())
		mw_system_call(SYS_prctl, PR_SET_NAME, name, 0, 0, 0);
	errno = saved_errno;
}

static uint64_t limit_of(int resource) {
	struct rlimit limit;
	if (mw_os_is_confined() || mw_system_call(SYS_prlimit64, 0, resource, NULL, &limit) != 0 ||
	    limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

uint64_t mw_os_address_space_limit(void) {
	return limit_of(RLIMIT_AS);
}

uint64_t mw_os_file_size_limit(void) {
	return limit_of(RLIMIT_FSIZE);
}

uint64_t mw_os_random_seed(void) {
	uint64_t seed = 0;
	const void *random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&seed, random, sizeof seed);
	return seed;
}

void mw_os_random(void *buffer, size_t bytes) {
	int saved_errno = errno;
	/* libc's getrandom() is a cancellation point. GRND_INSECURE never waits: while the system
	 * starts, the numbers may be less random. */
	long got = mw_os_is_confined()
			   ? -1
			   : mw_system_call(SYS_getrandom, buffer, bytes, GRND_INSECURE);
	/* Kernels before 5.6 do not know this flag. */
	if (got < 0 && errno == EINVAL && !mw_os_is_confined())
		got = mw_system_call(SYS_getrandom, buffer, bytes, GRND_NONBLOCK);
	uint64_t seed = mw_os_random_seed();
	for (size_t i = got < 0 ? 0 : (size_t)got; i < bytes; i++)
		((unsigned char *)buffer)[i] = (unsigned char)(seed >> i % 8 * 8);
	errno = saved_errno;
}

void mw_os_back_off(unsigned attempt) {
	int saved_errno = errno;
	const uint32_t unchanged = 0;
	if (attempt < 64 || mw_os_is_confined())
		mw_system_call(SYS_sched_yield);
	else
		/* A thread that answers a tool has left a call of the program that the kernel is to
		 * go on with. nanosleep(2) would have the kernel forget that call. */
		mw_system_call(SYS_futex, &unchanged, FUTEX_WAIT_PRIVATE, unchanged,
			       &(struct timespec){.tv_nsec = 50000}, NULL, 0);
	errno = saved_errno;
}
