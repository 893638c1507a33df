/* SPDX-License-Identifier: MIT
 * phases.c -- tries threads until one is at a place where it can be entered. */
#include "live/inject/phases.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "live/enter/call_filter.h"
#include "live/enter/thread_entry.h"
#include "live/files/apart.h"
#include "live/inject/cave.h"
#include "live/process/process.h"
#include "model/monotonic.h"

/* How long threads are tried until one is at a fit place; how long all may take. */
#define TRY_NS UINT64_C(2000000000)
#define PAUSE_NS 1000000
#define LIMIT_MS 10000
/* Registers of floating point (AMX: 11 KiB), the frame and the order, and what the code takes. */
#define STACK_BYTES 20480

/* Calls that the injected code makes, and that the blob makes until the profile is there. The first
 * STRICT_CALLS have to succeed; the others may fail, but not with a signal. */
enum { STRICT_CALLS = 6 };
static const mw_filtered_call_t calls[] = {
	{"mmap",
	 SYS_mmap,
	 0x3e,
	 {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0}},
	{"mprotect with PROT_EXEC", SYS_mprotect, 6, {0, 4096, PROT_READ | PROT_EXEC}},
	{"mprotect", SYS_mprotect, 6, {0, 4096, PROT_READ | PROT_WRITE}},
	{"rt_sigprocmask", SYS_rt_sigprocmask, 0, {0}},
	{"rt_sigpending", SYS_rt_sigpending, 0, {0}},
	{"rt_sigaction", SYS_rt_sigaction, 0, {0}},
	{"munmap", SYS_munmap, 0, {0}},
	{"madvise", SYS_madvise, 0, {0}},
	{"openat", SYS_openat, 0, {0}},
	{"close", SYS_close, 0, {0}},
	{"fstat", SYS_fstat, 0, {0}},
	{"newfstatat", SYS_newfstatat, 0, {0}},
	{"ftruncate", SYS_ftruncate, 0, {0}},
	{"fallocate", SYS_fallocate, 0, {0}},
	{"read", SYS_read, 0, {0}},
	{"write", SYS_write, 0, {0}},
	{"mkdirat", SYS_mkdirat, 0, {0}},
	{"unlinkat", SYS_unlinkat, 0, {0}},
	{"renameat", SYS_renameat, 0, {0}},
	{"readlinkat", SYS_readlinkat, 0, {0}},
	{"flock", SYS_flock, 0, {0}},
	{"getdents64", SYS_getdents64, 0, {0}},
	{"getpid", SYS_getpid, 0, {0}},
	{"gettid", SYS_gettid, 0, {0}},
	{"geteuid", SYS_geteuid, 0, {0}},
	{"getuid", SYS_getuid, 0, {0}},
	{"clock_gettime", SYS_clock_gettime, 0, {0}},
	{"futex", SYS_futex, 0, {0}},
	{"sched_yield", SYS_sched_yield, 0, {0}},
};

typedef struct phase {
	mw_thread_entry_t entry; /* first: its functions get a pointer to it */
	mw_injected_order_t order;
	mw_error_t *error; /* why filters are in the way */
} phase_t;

static uint64_t find_code(const mw_thread_entry_t *entry, mw_address_space_t *space) {
	size_t bytes;
	bool has_code = false;
	const uint8_t *code = mw_injected_code(&bytes);
	uint64_t at = bytes != 0 ? mw_cave_find(space, code, bytes, &has_code) : 0;
	(void)entry;
	return at != 0 ? at + mw_injected_entry_offset() : 0;
}

static bool write_code(const mw_thread_entry_t *entry, const mw_address_space_t *space,
		       int thread) {
	size_t bytes;
	bool has_code = false;
	const uint8_t *code = mw_injected_code(&bytes);
	uint64_t at = mw_cave_find(space, code, bytes, &has_code);
	(void)entry;
	return at != 0 && (has_code || mw_cave_write(thread, at, code, bytes));
}

static bool passes_filters(const mw_thread_entry_t *entry, int thread) {
	const phase_t *phase = (const phase_t *)entry;
	return mw_filters_check(thread, calls, sizeof(calls) / sizeof(calls[0]), STRICT_CALLS,
				phase->error) == 0;
}

static int say_refused(int pid, int why, mw_error_t *error) {
	if (mw_status_number(pid, "TracerPid") > 0)
		return mw_error_set(error,
				    "pid %d: another process traces it (strace, gdb); end that "
				    "first",
				    pid);
	return mw_error_set(error, "pid %d: it may not be traced: %s; root may attach", pid,
			    strerror(why));
}

static int say_outcome(const mw_reach_t *reach, mw_entry_outcome_t outcome, int why_refused,
		       mw_error_t *error) {
	int pid = reach->key.pid;
	mw_error_t why = *error;
	switch (outcome) {
	case MW_ENTRY_DONE:
		return 0;
	case MW_ENTRY_REFUSED:
		return say_refused(pid, why_refused, error);
	case MW_ENTRY_PAUSED:
		return mw_error_set(error, "pid %d: it is stopped; 'kill -CONT %d' first", pid,
				    pid);
	case MW_ENTRY_FILTERED:
		return mw_error_set(error, "pid %d: %.400s", pid, why.text);
	case MW_ENTRY_SHADOWED:
		return mw_error_set(error,
				    "pid %d: it uses shadow stacks, which no thread can be "
				    "redirected on; start it with 'mallow run'",
				    pid);
	case MW_ENTRY_OTHER:
		return mw_error_set(error, "pid %d: the process has %s", pid,
				    mw_process_end(pid, reach->key.start_ticks));
	case MW_ENTRY_EXCEEDS:
		return mw_error_set(error,
				    "pid %d: it has users, groups or capabilities that this "
				    "command lacks; root may attach",
				    pid);
	case MW_ENTRY_NO_CODE:
		return mw_error_set(error,
				    "pid %d: none of its modules has room for code in its last "
				    "page; start it with 'mallow run'",
				    pid);
	default:
		return mw_error_set(error,
				    "pid %d: no thread could be entered within 2 s (all wait in "
				    "the kernel, or have no room on their stacks); try again",
				    pid);
	}
}

static mw_apart_outcome_t enter_apart(const void *context, mw_error_t *error) {
	phase_t phase = *(const phase_t *)context;
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t until_ns = mw_monotonic_ns() + TRY_NS;
	int why_refused = 0;
	mw_entry_outcome_t outcome;
	phase.entry.order = &phase.order;
	phase.error = error;
	do {
		outcome = mw_thread_enter(&phase.entry, &why_refused);
	} while (outcome == MW_ENTRY_UNFIT && mw_monotonic_ns() < until_ns &&
		 nanosleep(&pause, NULL) == 0);
	if (say_outcome(phase.entry.reach, outcome, why_refused, error) == 0)
		return MW_APART_DONE;
	return outcome == MW_ENTRY_REFUSED ? MW_APART_REFUSED : MW_APART_FAILED;
}

/* Another process does it: a command that is killed then leaves no thread that is stopped. Only
 * this one may be permitted to, as an ancestor of the process (kernel.yama.ptrace_scope). */
int mw_phase_enter(const mw_reach_t *reach, const mw_injected_order_t *order, mw_error_t *error) {
	phase_t phase = {
		.entry = {.reach = reach,
			  .stack_bytes = STACK_BYTES,
			  .find_code = find_code,
			  .write_code = write_code,
			  .passes_filters = passes_filters,
			  .order_bytes = sizeof(*order)},
		.order = *order,
	};
	mw_apart_outcome_t outcome = mw_apart_do(enter_apart, &phase, LIMIT_MS, error);
	if (outcome == MW_APART_REFUSED)
		outcome =
			mw_apart_do_in_thread(enter_apart, &phase, sizeof(phase), LIMIT_MS, error);
	if (outcome == MW_APART_LATE)
		mw_error_set(error,
			     "pid %d: a page of its memory has not come within %d s (FUSE, "
			     "userfaultfd(2))",
			     reach->key.pid, LIMIT_MS / 1000);
	return outcome == MW_APART_DONE ? 0 : -1;
}
