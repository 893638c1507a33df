/* SPDX-License-Identifier: MIT
 * asleep.c -- reads the time at which a thread last ran.
 *
 * The kernel counts that time by a clock of the processor that ran the thread
 * (/proc/PID/task/TID/sched, se.exec_start). The calling thread reads the same clock: it runs on
 * that processor, and reads its own time. */
#include "os/process/asleep.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fmt.h"
#include "base/libc_text.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/platform/interrupted_call.h"
#include "os/process/child.h"
#include "os/time/clock.h"

static bool read_file(int directory, const char *path, char *text, size_t capacity) {
	int file = mw_os_open(directory, path, MW_OS_READ);
	long bytes = file >= 0 ? mw_os_read(file, text, capacity - 1) : -1;
	if (file >= 0)
		mw_os_close(file);
	text[bytes > 0 ? bytes : 0] = '\0';
	return bytes > 0;
}

static bool read_of_thread(int directory, uint32_t thread_id, const char *name, char *text,
			   size_t capacity) {
	char path[64];
	mw_fmt(path, sizeof path, "%u/%s", thread_id, name);
	return read_file(directory, path, text, capacity);
}

static uint64_t number_at(const char **cursor, unsigned base) {
	uint64_t number = 0;
	for (;; ++*cursor) {
		char c = **cursor;
		unsigned digit = c >= 'a' ? (unsigned)(c - 'a') + 10 : (unsigned)(c - '0');
		if (c < '0' || digit >= base)
			return number;
		number = number * base + digit;
	}
}

#if defined(__x86_64__)

/* Most processors of a Linux kernel for x86-64. */
#define PROCESSORS_MAX 8192u
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
/* A longer limit is none. */
#define SECONDS_MAX UINT64_C(1000000000)
/* Number of the field of /proc/PID/stat that names the processor; the thread's name is the second
 * (proc(5)). */
#define PROCESSOR_FIELD 39
/* A thread that woke late, or a clock that means something else. */
#define TOLERANCE_NS UINT64_C(1000000000)

static uint64_t limit_in_memory(uintptr_t address) {
	struct timespec limit;
	if (mw_os_copy_memory(&limit, address, sizeof limit) != sizeof limit ||
	    (uint64_t)limit.tv_sec > SECONDS_MAX || (uint64_t)limit.tv_nsec >= NS_PER_S)
		return 0;
	return (uint64_t)limit.tv_sec * NS_PER_S + (uint64_t)limit.tv_nsec;
}

/* "CALL ARGUMENT0 ... ARGUMENT5 SP PC", or "running". Returns the limit; 0: none. */
static uint64_t limit_ns(const char *text) {
	const mw_timed_call_t *call =
		*text >= '0' && *text <= '9' ? mw_timed_call(number_at(&text, 10)) : NULL;
	if (!call)
		return 0;
	text = mw_os_skip_fields(text, call->argument + 1);
	if (text[0] != '0' || text[1] != 'x')
		return 0;
	text += 2;
	uint64_t argument = number_at(&text, 16);
	if (!call->is_ms)
		return limit_in_memory((uintptr_t)argument);
	return (int32_t)argument > 0 ? (uint64_t)(uint32_t)argument * NS_PER_MS : 0;
}

/* Reads the number of a line "KEY : NUMBER" of /proc/PID/task/TID/sched; *cursor is behind it then.
 * False: no such line. */
static bool find_number(const char *text, const char *key, uint64_t *number, const char **cursor) {
	const char *line = mw_strstr(text, key);
	if (!line)
		return false;
	*cursor = line + mw_strlen(key);
	while (**cursor == ' ' || **cursor == ':')
		++*cursor;
	*number = number_at(cursor, 10);
	return true;
}

/* Milliseconds, with six digits behind the point. 0: unknown. */
static uint64_t last_ran_ns(const char *text) {
	const char *cursor;
	uint64_t ms;
	if (!find_number(text, "se.exec_start", &ms, &cursor) || *cursor != '.')
		return 0;
	cursor++;
	return ms * NS_PER_MS + number_at(&cursor, 10);
}

static uint64_t sleeps_in(const char *text) {
	const char *cursor;
	uint64_t sleeps;
	return find_number(text, "nr_voluntary_switches", &sleeps, &cursor) ? sleeps : 0;
}

static bool run_on(uint64_t processor) {
	static uint64_t set[PROCESSORS_MAX / 64];
	if (processor >= PROCESSORS_MAX)
		return false;
	memset(set, 0, sizeof set);
	set[processor / 64] = (uint64_t)1 << processor % 64;
	int saved_errno = errno;
	bool done = syscall(SYS_sched_setaffinity, 0, sizeof set, set) == 0;
	errno = saved_errno;
	return done;
}

MW_COLD mw_os_asleep_t mw_os_asleep_read(int directory, uint32_t thread_id) {
	const mw_os_asleep_t unknown = {0};
	char text[2048];
	if (!read_of_thread(directory, thread_id, "syscall", text, sizeof text))
		return unknown;
	uint64_t limit = limit_ns(text);
	if (limit == 0 || !read_of_thread(directory, thread_id, "sched", text, sizeof text))
		return unknown;
	uint64_t before = last_ran_ns(text), sleeps = sleeps_in(text);
	if (before == 0 || !read_of_thread(directory, thread_id, "stat", text, sizeof text))
		return unknown;
	/* The program may choose the name, which is in parentheses. */
	const char *fields = mw_strrchr(text, ')');
	if (!fields)
		return unknown;
	fields = mw_os_skip_fields(fields, PROCESSOR_FIELD - 2);
	if (!run_on(number_at(&fields, 10)) ||
	    !read_file(MW_OS_NO_DIRECTORY, "/proc/thread-self/sched", text, sizeof text))
		return unknown;
	uint64_t now = last_ran_ns(text), now_ns = mw_os_monotonic_ns();
	uint64_t slept = now > before ? now - before : 0;
	if (now == 0 || slept > limit + TOLERANCE_NS || slept > now_ns)
		return unknown;
	return (mw_os_asleep_t){now_ns - slept + limit, sleeps};
}

/* To stop is to sleep once more. */
MW_COLD bool mw_os_asleep_only_stopped(int directory, uint32_t thread_id,
				       const mw_os_asleep_t *before) {
	char text[2048];
	return read_of_thread(directory, thread_id, "sched", text, sizeof text) &&
	       sleeps_in(text) == before->sleeps + 1;
}

#else

/* "CALL ARGUMENT0 ... ARGUMENT5 SP PC", "-1 SP PC", or "running". No time is told: calls with a
 * limit begin anew. */
MW_COLD mw_os_asleep_t mw_os_asleep_read(int directory, uint32_t thread_id) {
	enum { FIRST_ARGUMENT = 1, SP = 7, PC = 8, FIELDS };
	char text[512];
	uint64_t fields[FIELDS] = {0};
	mw_os_asleep_t out = {0};
	if (!read_of_thread(directory, thread_id, "syscall", text, sizeof text) || *text < '0' ||
	    *text > '9')
		return out;
	const char *cursor = text;
	fields[0] = number_at(&cursor, 10);
	for (unsigned i = FIRST_ARGUMENT; i < FIELDS; i++) {
		cursor = mw_os_skip_fields(cursor, 1);
		if (cursor[0] != '0' || cursor[1] != 'x')
			return out;
		cursor += 2;
		fields[i] = number_at(&cursor, 16);
	}
	out.call = (mw_sleeping_call_t){fields[0], fields[FIRST_ARGUMENT], fields[SP], fields[PC]};
	return out;
}

MW_COLD bool mw_os_asleep_only_stopped(int directory, uint32_t thread_id,
				       const mw_os_asleep_t *before) {
	(void)directory;
	(void)thread_id;
	(void)before;
	return false;
}

#endif
