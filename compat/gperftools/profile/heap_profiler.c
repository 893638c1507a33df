/* SPDX-License-Identifier: MIT
 * heap_profiler.c -- gperftools' heap profiler: HEAPPROFILE, its C functions, and files that are
 * written after so many bytes, at intervals, at a signal and at exit.
 *
 * A lock guards the files. A thread that finds it taken during an allocation continues without it:
 * the holder is writing a file. Files for signals and intervals are written by a thread of its own.
 */
#include <gperftools/heap-profiler.h>

#include <errno.h>
#include <mallow/mallow.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/fmt.h"
#include "base/put.h"
#include "compat/gperftools/futex_lock.h"
#include "compat/gperftools/gperftools.h"
#include "compat/gperftools/profile/final_file.h"
#include "compat/gperftools/profile/heap_profiler.h"
#include "compat/gperftools/profile/profile_name.h"
#include "compat/gperftools/variables.h"
#include "os/platform/libc_calls.h"
#include "os/platform/secure_environment.h"

#define REASON_BYTES 128
#define INTERVAL_MAX ((int64_t)1 << 60)
#define SECONDS_MAX 31536000
#define HELPER_STACK_BYTES ((size_t)256 << 10)

static struct {
	mw_gp_lock_t lock; /* protects the files and all following fields that are not atomic */
	_Atomic bool running;
	bool can_write; /* a prefix is known */
	bool finished;  /* the last file was written */
	mw_gp_profile_t kind;
	bool logs_mappings;
	bool mappings_before; /* were recorded before the profiler started */
	char prefix[PATH_MAX];
	unsigned number; /* number of the last file; not reset by a stop */
	int64_t alloc_interval, freed_interval, live_interval, seconds;
	int64_t dumped_alloc, dumped_freed, most_live; /* at the last file */
	time_t dumped_time;
} profiler;

/* Bytes since the start of the profiler, and the values at which a file is due. Each thread adds to
 * them at each allocation and free. */
static struct {
	_Atomic int64_t alloc_bytes, freed_bytes;
	_Atomic int64_t alloc_due, freed_due, live_due;
} totals;

static struct {
	mw_gp_counter_t wake;
	_Atomic bool wanted, is_there; /* is_there: it was started, or cannot be */
	_Atomic bool runs;             /* it was started */
	_Atomic bool signalled;
} helper;

/* ---- files ---- */

typedef struct file {
	int number;
	bool failed;
	uint64_t bytes, limit; /* written so far, and RLIMIT_FSIZE, whose signal ends a program */
} file_t;

static void write_piece(void *context, const char *text, size_t length) {
	file_t *file = context;
	file->bytes += length;
	if (file->bytes > file->limit) {
		file->failed = true;
		errno = EFBIG;
	}
	while (length > 0 && !file->failed) {
		long written = mw_put(file->number, text, length);
		file->failed = written < 0 && errno != EINTR;
		if (written > 0) {
			text += written;
			length -= (size_t)written;
		}
	}
}

/* Closes the file. Returns false if a part of it is missing; the rest is then removed. */
static bool is_kept(const file_t *file, const char *path) {
	struct stat status;
	int saved_errno = errno;
	bool is_regular = mw_put_stat(file->number, &status) && S_ISREG(status.st_mode);
	bool is_closed = close(file->number) == 0;
	if (is_closed && !file->failed)
		return true;
	saved_errno = is_closed ? saved_errno : errno;
	if (is_regular)
		unlink(path);
	errno = saved_errno;
	return false;
}

/* With the lock. */
static void write_file(const char *reason) {
	if (!profiler.can_write)
		return;
	char path[PATH_MAX];
	bool fits = mw_gp_profile_name(path, profiler.prefix, ++profiler.number);
	mw_gp_log(0, "Dumping heap profile to %.400s (%s)", path, reason);
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	getrlimit(RLIMIT_FSIZE, &limit);
	file_t file = {.number = -1, .limit = limit.rlim_cur};
	if (fits)
		file.number = mw_put_open(path, false, 0644);
	if (file.number >= 0) {
		mw_gp_profile_text(profiler.kind, write_piece, &file);
		file.failed |= !is_kept(&file, path);
	}
	if (file.number < 0 || file.failed)
		mw_gp_log(-2, "Failed dumping heap profile to %.400s. Numeric errno is %d", path,
			  errno);
}

static int64_t live_bytes(void) {
	return totals.alloc_bytes - totals.freed_bytes;
}

static int64_t due(int64_t value, int64_t interval) {
	return interval > 0 ? value + interval : INT64_MAX;
}

/* With the lock: sets the values at which the next files are due. */
static void count_from_here(void) {
	profiler.dumped_alloc = totals.alloc_bytes;
	profiler.dumped_freed = totals.freed_bytes;
	if (live_bytes() > profiler.most_live)
		profiler.most_live = live_bytes();
	totals.alloc_due = due(profiler.dumped_alloc, profiler.alloc_interval);
	totals.freed_due = due(profiler.dumped_freed, profiler.freed_interval);
	totals.live_due = due(profiler.most_live, profiler.live_interval);
}

/* With the lock. Writes the reason why a file is due because of the bytes; false: no file is due.
 */
static bool is_due(char reason[REASON_BYTES]) {
	long alloc = totals.alloc_bytes, freed = totals.freed_bytes, live = live_bytes();
	if (alloc >= totals.alloc_due)
		mw_fmt(reason, REASON_BYTES,
		       "%ld MB allocated cumulatively, %ld MB currently in use", alloc >> 20,
		       live >> 20);
	else if (freed >= totals.freed_due)
		mw_fmt(reason, REASON_BYTES, "%ld MB freed cumulatively, %ld MB currently in use",
		       freed >> 20, live >> 20);
	else if (live > totals.live_due)
		mw_fmt(reason, REASON_BYTES, "%ld MB currently in use", live >> 20);
	else
		return false;
	return true;
}

static MW_COLD void write_due(void) {
	char reason[REASON_BYTES];
	if (!mw_gp_lock_try(&profiler.lock))
		return;
	mallow_ignore_begin();
	if (profiler.running && is_due(reason)) {
		write_file(reason);
		count_from_here();
	}
	mallow_ignore_end();
	mw_gp_unlock(&profiler.lock);
}

static void start_helper(void);

void mw_gp_profiler_see(size_t bytes, bool freed) {
	if (!atomic_load_explicit(&profiler.running, memory_order_relaxed))
		return;
	int64_t change = (int64_t)bytes;
	int64_t sum = change +
		      atomic_fetch_add_explicit(freed ? &totals.freed_bytes : &totals.alloc_bytes,
						change, memory_order_relaxed);
	int64_t limit = atomic_load_explicit(freed ? &totals.freed_due : &totals.alloc_due,
					     memory_order_relaxed);
	if (MW_UNLIKELY(sum >= limit || (!freed && live_bytes() > totals.live_due)))
		write_due();
	if (MW_UNLIKELY(helper.wanted && !helper.is_there))
		start_helper();
}

/* HEAP_PROFILE_MMAP_LOG: a line for each call, in gperftools' words. */
void mw_gp_profiler_see_mapping(const mw_mapping_call_t *call) {
	unsigned long address = (uintptr_t)call->address, result = (uintptr_t)call->result;
	if (!profiler.logs_mappings)
		return;
	if (call->function == MW_CALL_MMAP && !call->is_before)
		mw_gp_log(-1,
			  "mmap(start=0x%lx, len=%zu, prot=0x%x, flags=0x%x, fd=%d, offset=0x%x) = "
			  "0x%lx",
			  address, call->length, (unsigned)call->protection, (unsigned)call->flags,
			  call->file, (unsigned)call->offset, result);
	else if (call->function == MW_CALL_MREMAP && !call->is_before)
		mw_gp_log(-1,
			  "mremap(old_addr=0x%lx, old_size=%zu, new_size=%zu, flags=0x%x, "
			  "new_addr=0x%lx) = 0x%lx",
			  address, call->length, call->new_length, (unsigned)call->flags,
			  (unsigned long)(uintptr_t)call->new_address, result);
	else if (call->function == MW_CALL_MUNMAP && call->is_before)
		mw_gp_log(-1, "munmap(start=0x%lx, len=%zu)", address, call->length);
	else if (call->function == MW_CALL_SBRK && !call->is_before && call->offset != 0)
		mw_gp_log(-1, "sbrk(inc=%ld) = 0x%lx", (long)call->offset, result);
}

/* ---- signals and intervals ---- */

bool mw_gp_profiler_wake_helper(void) {
	if (helper.runs)
		mw_gp_counter_raise(&helper.wake);
	return helper.runs;
}

static void on_signal(int number) {
	(void)number;
	helper.signalled = true;
	mw_gp_counter_raise(&helper.wake);
}

/* With the lock. */
static void write_interval(void) {
	char reason[REASON_BYTES];
	time_t now = time(NULL);
	if (profiler.seconds == 0 || now - profiler.dumped_time < profiler.seconds)
		return;
	mw_fmt(reason, sizeof reason, "%ld sec since the last dump",
	       (long)(now - profiler.dumped_time));
	profiler.dumped_time = now;
	write_file(reason);
	count_from_here();
}

/* Waits for a signal or until the next file of the interval is due. */
static void wait_for_work(void) {
	struct timespec until = {.tv_sec = profiler.dumped_time + profiler.seconds};
	mw_gp_counter_lower(&helper.wake, profiler.seconds ? &until : NULL);
}

static void *help(void *unused) {
	mallow_ignore_begin();
	for (;;) {
		wait_for_work();
		mw_gp_final_serve();
		mw_gp_lock(&profiler.lock);
		if (atomic_exchange(&helper.signalled, false) && profiler.running)
			write_file("signal");
		if (profiler.running)
			write_interval();
		else
			profiler.dumped_time = time(NULL);
		mw_gp_unlock(&profiler.lock);
	}
	return unused;
}

/* The thread blocks all signals, so that the program's handlers run in the program's threads. */
static MW_COLD void start_helper(void) {
	if (atomic_exchange(&helper.is_there, true))
		return;
	mallow_ignore_begin();
	mw_libc_calls_find();
	const mw_libc_calls_t *libc = &mw_libc_calls;
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (libc->pthread_attr_setstacksize)
		libc->pthread_attr_setstacksize(&attributes, HELPER_STACK_BYTES);
	if (!libc->pthread_create || libc->pthread_create(&thread, &attributes, help, NULL) != 0) {
		helper.wanted = false;
		mw_warn("the system refused a thread: no heap profile at intervals and signals");
	} else {
		helper.runs = true;
	}
	pthread_attr_destroy(&attributes);
	sigprocmask(SIG_SETMASK, &before, NULL);
	mallow_ignore_end();
}

static void take_signal(void) {
	int number = (int)mw_gp_number_from("HEAPPROFILESIGNAL", 0, 1, SIGRTMAX);
	struct sigaction before, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	if (number == 0)
		return;
	if (sigaction(number, NULL, &before) != 0)
		mw_fatal("Failed to set signal. Perhaps signal number %d is invalid", number);
	if (before.sa_handler != SIG_DFL)
		mw_fatal("Signal %d already in use", number);
	if (sigaction(number, &action, NULL) != 0)
		mw_fatal("Failed to set signal. Perhaps signal number %d is invalid", number);
	mw_gp_log(0, "Using signal %d as heap profiling switch", number);
	helper.wanted = true;
}

/* ---- start and end ---- */

static void before_fork(void) {
	mw_gp_lock(&profiler.lock);
}

static void in_parent(void) {
	mw_gp_unlock(&profiler.lock);
}

/* The child's files have names of their own. */
static void in_child(void) {
	mw_gp_path_of_child(profiler.prefix);
	profiler.number = 0;
	profiler.finished = false;
	helper.is_there = helper.runs = false;
	helper.signalled = false;
	mw_gp_final_forked();
	atomic_store(&helper.wake.value, 0);
	mw_gp_unlock(&profiler.lock);
}

static void prepare(void) {
	pthread_atfork(before_fork, in_parent, in_child);
	profiler.alloc_interval =
		mw_gp_number_from("HEAP_PROFILE_ALLOCATION_INTERVAL", 1 << 30, 0, INTERVAL_MAX);
	profiler.freed_interval =
		mw_gp_number_from("HEAP_PROFILE_DEALLOCATION_INTERVAL", 0, 0, INTERVAL_MAX);
	profiler.live_interval =
		mw_gp_number_from("HEAP_PROFILE_INUSE_INTERVAL", 100 << 20, 0, INTERVAL_MAX);
	profiler.seconds = mw_gp_number_from("HEAP_PROFILE_TIME_INTERVAL", 0, 0, SECONDS_MAX);
	if (mw_gp_flag_from("HEAP_PROFILE_MMAP", false))
		profiler.kind = MW_GP_PROFILE_ALL;
	if (mw_gp_flag_from("HEAP_PROFILE_ONLY_MMAP", false))
		profiler.kind = MW_GP_PROFILE_MAPPINGS;
	profiler.logs_mappings = mw_gp_flag_from("HEAP_PROFILE_MMAP_LOG", false);
}

/* With the lock: begins or ends recording. */
static void record(bool on) {
	if (profiler.kind != MW_GP_PROFILE_MAPPINGS)
		mw_gp_record(MW_GP_USER_PROFILER, on);
	if (profiler.logs_mappings)
		mw_gp_record(MW_GP_USER_MAPPING_LOG, on);
	if (profiler.kind == MW_GP_PROFILE_FULL)
		return;
	if (on)
		profiler.mappings_before = mw_gp_calls()->record_mappings(true);
	else
		mw_gp_calls()->record_mappings(profiler.mappings_before);
}

static void start(const char *prefix, bool removes) {
	static mw_gp_once_t once;
	mw_gp_call_once(&once, prepare);
	mw_gp_lock(&profiler.lock);
	if (profiler.running) {
		mw_gp_unlock(&profiler.lock);
		return;
	}
	mallow_ignore_begin();
	mw_gp_log(0, "Starting tracking the heap");
	if (prefix != profiler.prefix)
		mw_fmt_copy(profiler.prefix, sizeof profiler.prefix, prefix);
	profiler.can_write = *profiler.prefix != '\0';
	if (removes && profiler.can_write)
		mw_gp_remove_profiles(profiler.prefix);
	totals.alloc_bytes = totals.freed_bytes = 0;
	profiler.most_live = 0;
	profiler.dumped_time = time(NULL);
	count_from_here();
	helper.wanted |= profiler.seconds > 0;
	record(true);
	profiler.running = true;
	mw_gp_unlock(&profiler.lock);
	mallow_ignore_end();
}

void HeapProfilerStart(const char *prefix) {
	start(prefix ? prefix : "", false);
}

int IsHeapProfilerRunning(void) {
	return profiler.running;
}

mw_gp_profile_t mw_gp_profiler_kind(void) {
	return profiler.kind;
}

void HeapProfilerStop(void) {
	mw_gp_lock(&profiler.lock);
	if (profiler.running) {
		profiler.running = false;
		profiler.can_write = false;
		record(false);
	}
	mw_gp_unlock(&profiler.lock);
}

void HeapProfilerDump(const char *reason) {
	mw_gp_lock(&profiler.lock);
	if (profiler.running)
		write_file(reason ? reason : "");
	mw_gp_unlock(&profiler.lock);
}

void mw_gp_profiler_start(void) {
	const char *wanted = mw_environment("HEAPPROFILE");
	if (mw_gp_is_secure() && mw_environment_is_set("HEAPPROFILE")) {
		mw_gp_log(-1, "HeapProfiler: ignoring HEAPPROFILE because program seems to be "
			      "setuid");
		return;
	}
	if (!wanted || !*wanted)
		return;
	if (!mw_gp_path_from("HEAPPROFILE", profiler.prefix))
		return;
	start(profiler.prefix, mw_gp_flag_from("HEAP_PROFILE_CLEANUP", true));
	take_signal();
	if (mw_gp_final_start())
		helper.wanted = true;
	if (helper.wanted)
		start_helper();
}

void mw_gp_profiler_finish(bool waits) {
	if (!profiler.running)
		return;
	if (!waits && !mw_gp_lock_try(&profiler.lock))
		return;
	if (waits)
		mw_gp_lock(&profiler.lock);
	char reason[REASON_BYTES];
	long live = live_bytes();
	if (live >> 20 > 0)
		mw_fmt(reason, sizeof reason, "Exiting, %ld MB in use", live >> 20);
	else if (live >> 10 > 0)
		mw_fmt(reason, sizeof reason, "Exiting, %ld kB in use", live >> 10);
	else
		mw_fmt(reason, sizeof reason, "Exiting, %ld bytes in use", live);
	if (profiler.running && !profiler.finished)
		write_file(reason);
	profiler.finished = true;
	mw_gp_unlock(&profiler.lock);
}
