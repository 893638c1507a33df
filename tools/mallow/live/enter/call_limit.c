/* SPDX-License-Identifier: MIT
 * call_limit.c -- reads when a thread last ran: the kernel counts by a clock of the processor that
 * ran the thread (/proc/PID/task/TID/sched, se.exec_start), which this command reads by its own
 * time there. */
#include "live/enter/call_limit.h"

#include <inttypes.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "model/monotonic.h"
#include "os/platform/interrupted_call.h"

#if defined(__x86_64__)

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
/* A longer limit is none. */
#define SECONDS_MAX 1000000000
/* A thread that woke late, or a clock that means something else. */
#define TOLERANCE_NS NS_PER_S

static bool read_text(const char *path, char *text, size_t capacity) {
	FILE *file = fopen(path, "re");
	size_t bytes = file != NULL ? fread(text, 1, capacity - 1, file) : 0;
	text[bytes] = '\0';
	if (file != NULL)
		fclose(file);
	return bytes > 0;
}

static bool read_of_thread(int pid, int thread, const char *name, char *text, size_t capacity) {
	char path[96];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, thread, name);
	return read_text(path, text, capacity);
}

static uint64_t limit_in_memory(int thread, uint64_t address) {
	struct timespec limit;
	struct iovec into = {&limit, sizeof(limit)};
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): an address in the other process. */
	struct iovec from = {(void *)address, sizeof(limit)};
	if (process_vm_readv(thread, &into, 1, &from, 1, 0) != (ssize_t)sizeof(limit) ||
	    limit.tv_sec < 0 || limit.tv_sec > SECONDS_MAX || limit.tv_nsec < 0 ||
	    limit.tv_nsec >= (long)NS_PER_S)
		return 0;
	return (uint64_t)limit.tv_sec * NS_PER_S + (uint64_t)limit.tv_nsec;
}

/* "CALL ARGUMENT0 ... ARGUMENT5 SP PC", or "running".  Returns the limit; 0: none. */
static uint64_t limit_ns(int thread, const char *text, uint64_t *number) {
	uint64_t arguments[6];
	if (sscanf(text,
		   "%" SCNu64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		   " %" SCNx64,
		   number, &arguments[0], &arguments[1], &arguments[2], &arguments[3],
		   &arguments[4], &arguments[5]) != 7)
		return 0;
	const mw_timed_call_t *call = mw_timed_call(*number);
	if (call == NULL)
		return 0;
	uint64_t argument = arguments[call->argument];
	if (!call->is_ms)
		return limit_in_memory(thread, argument);
	return (int32_t)argument > 0 ? (uint64_t)(uint32_t)argument * NS_PER_MS : 0;
}

/* Reads "KEY : NUMBER" or "KEY : NUMBER.FRACTION" of /proc/PID/task/TID/sched. */
static bool find_number(const char *text, const char *key, uint64_t *number, uint64_t *fraction) {
	const char *line = strstr(text, key);
	*fraction = 0;
	return line != NULL &&
	       sscanf(line + strlen(key), " : %" SCNu64 ".%" SCNu64, number, fraction) >= 1;
}

static uint64_t last_ran_ns(const char *text) {
	uint64_t ms, ns;
	return find_number(text, "se.exec_start", &ms, &ns) ? ms * NS_PER_MS + ns : 0;
}

static uint64_t sleeps_in(const char *text) {
	uint64_t sleeps, none;
	return find_number(text, "nr_voluntary_switches", &sleeps, &none) ? sleeps : 0;
}

/* Returns what the clock of a processor shows; 0: unknown. */
static uint64_t clock_of(int processor) {
	char text[2048];
	cpu_set_t before, one;
	uint64_t now = 0;
	if (processor < 0 || processor >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof(before), &before) != 0)
		return 0;
	CPU_ZERO(&one);
	CPU_SET((size_t)processor, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		return 0;
	if (read_text("/proc/thread-self/sched", text, sizeof(text)))
		now = last_ran_ns(text);
	sched_setaffinity(0, sizeof(before), &before);
	return now;
}

/* Returns the processor that ran the thread: the 39th field of /proc/PID/stat, of which the second
 * is a name in parentheses.  -1: unknown. */
static int processor_in(const char *text) {
	const char *fields = strrchr(text, ')');
	int processor;
	for (int field = 2; fields != NULL && field < 39; field++) {
		fields = strchr(fields, ' ');
		fields = fields != NULL ? fields + 1 : NULL;
	}
	return fields != NULL && sscanf(fields, "%d", &processor) == 1 ? processor : -1;
}

mw_asleep_t mw_asleep_read(int pid, int thread) {
	mw_asleep_t out = {0};
	char text[2048];
	if (!read_of_thread(pid, thread, "syscall", text, sizeof(text)))
		return out;
	uint64_t limit = limit_ns(thread, text, &out.number);
	if (limit == 0 || !read_of_thread(pid, thread, "sched", text, sizeof(text)))
		return out;
	uint64_t before = last_ran_ns(text);
	out.sleeps = sleeps_in(text);
	if (before == 0 || !read_of_thread(pid, thread, "stat", text, sizeof(text)))
		return out;
	uint64_t now = clock_of(processor_in(text)), now_ns = mw_monotonic_ns();
	uint64_t slept = now > before ? now - before : 0;
	if (now != 0 && slept <= limit + TOLERANCE_NS && slept <= now_ns)
		out.until_ns = now_ns - slept + limit;
	return out;
}

/* To stop is to sleep once more. */
uint64_t mw_asleep_rest_ns(int pid, int thread, const mw_asleep_t *before) {
	char text[2048];
	uint64_t now_ns = mw_monotonic_ns();
	if (before->until_ns == 0 || !read_of_thread(pid, thread, "sched", text, sizeof(text)) ||
	    sleeps_in(text) != before->sleeps + 1)
		return 0;
	return before->until_ns > now_ns ? before->until_ns - now_ns : 1;
}

#else

mw_asleep_t mw_asleep_read(int pid, int thread) {
	(void)pid;
	(void)thread;
	return (mw_asleep_t){0};
}

uint64_t mw_asleep_rest_ns(int pid, int thread, const mw_asleep_t *before) {
	(void)pid;
	(void)thread;
	(void)before;
	return 0;
}

#endif
