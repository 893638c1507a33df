/* SPDX-License-Identifier: MIT
 * mallctl_hooks.c -- jemalloc's controls of actions after a sample: functions of the program, the
 * log, recent allocations, sums by size class. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "api/process/compat_hooks.h"
#include "base/check.h"
#include "base/compiler.h"
#include "base/fmt.h"
#include "compat/jemalloc/mallctl/mallctl.h"
#include "compat/jemalloc/mallctl/mallctl_row.h"
#include "os/file/proc.h"
#include "prof/control/prof_log.h"
#include "prof/control/prof_recent.h"
#include "prof/dump/dump.h"
#include "prof/prof.h"
#include "prof/sample/activity.h"
#include "prof/sample/program_hooks.h"
#include "prof/unwind/unwind.h"
#include "state/layout.h"

/* ---- functions of the program ---- */

static void own_backtrace(void **pcs, unsigned *depth, unsigned max) {
	uint64_t frames[MW_PROF_DEPTH_MAX];
	mw_unwind_result_t stack =
		mw_unwind_capture(frames, max < MW_PROF_DEPTH_MAX ? max : MW_PROF_DEPTH_MAX);
	for (unsigned i = 0; i < stack.depth; i++)
		pcs[i] = (void *)(uintptr_t)(frames[i] & ~MW_FRAME_EXACT);
	*depth = stack.depth;
}

/* Argument: which function. */
int mw_ctl_at_hook(mw_ctl_call_t *call) {
	mw_program_hook_t which = (mw_program_hook_t)call->argument;
	call->value =
		call->writing ? mw_program_hook_set(which, call->value) : mw_program_hook(which);
	return 0;
}

int mw_ctl_at_hook_abort(mw_ctl_call_t *call) {
	/* Relaxed: the variable holds a function's address. */
	if (call->writing)
		atomic_store_explicit(&mw_fatal_hook, call->value, memory_order_relaxed);
	return 0;
}

/* The library's own function is the default, and a program may set it again. */
int mw_ctl_at_hook_backtrace(mw_ctl_call_t *call) {
	if (call->writing && !call->value)
		return EINVAL;
	if (call->value == (uintptr_t)own_backtrace)
		call->value = 0;
	mw_ctl_at_hook(call);
	if (!call->value)
		call->value = (uintptr_t)own_backtrace;
	return 0;
}

/* ---- log ---- */

/* Writes into <prefix>.<pid>.<n>.json. Not inlined: the name takes a page of stack. */
static MW_NOINLINE mw_result_t start_log(void) {
	static _Atomic unsigned logs;
	char path[PATH_MAX], space[32] = "";
	const mw_options_t *options = mw_ctl_options();
	if (options && options->prof_pid_namespace)
		mw_fmt(space, sizeof space, ".%lu", (unsigned long)mw_os_pid_namespace());
	mw_fmt(path, sizeof path, "%s%s.%u.%u.json", mw_dump_prefix(), space, mw_os_process_id(),
	       atomic_fetch_add_explicit(&logs, 1, memory_order_relaxed));
	return mw_prof_log_start(path);
}

int mw_ctl_at_prof_log_start(mw_ctl_call_t *call) {
	const char *wanted = call->writing ? (const char *)(uintptr_t)call->value : NULL;
	if (mw_prof_log_is_on())
		return EFAULT;
	return (wanted ? mw_prof_log_start(wanted) : start_log()) == MW_OK ? 0 : EFAULT;
}

int mw_ctl_at_prof_log_stop(mw_ctl_call_t *call) {
	(void)call;
	return mw_prof_log_stop() == MW_OK ? 0 : EFAULT;
}

/* ---- recent allocations ---- */

static int error_of(mw_result_t result) {
	return result == MW_OK ? 0 : result == MW_ERR_FORBIDDEN ? EAGAIN : EFAULT;
}

int mw_ctl_at_recent_max(mw_ctl_call_t *call) {
	int64_t before = atomic_load_explicit(&mw_prof_recent_max, memory_order_relaxed);
	int64_t wanted = (int64_t)call->value;
	if (call->writing && wanted < -1)
		return EINVAL;
	call->value = (uint64_t)before;
	return call->writing ? error_of(mw_prof_recent_set_max(wanted)) : 0;
}

typedef struct receiver {
	void (*write)(void *context, const char *text);
	void *context;
} receiver_t;

/* The program's function expects text that ends in NUL. */
static bool give_text(void *context, const void *bytes, size_t length) {
	const receiver_t *to = context;
	const char *next = bytes;
	char text[4096];
	while (length > 0) {
		size_t now = length < sizeof text - 1 ? length : sizeof text - 1;
		memcpy(text, next, now);
		text[now] = '\0';
		to->write(to->context, text);
		next += now;
		length -= now;
	}
	return true;
}

/* The new value is a function and its argument. */
int mw_ctl_at_recent_dump(mw_ctl_call_t *call) {
	receiver_t to;
	if (!call->new || call->new_length != sizeof to)
		return EINVAL;
	memcpy(&to, call->new, sizeof to);
	return to.write ? error_of(mw_prof_recent_write(give_text, &to)) : EINVAL;
}

/* ---- samples by size class ---- */

#define SIZES (MW_CLASS_COUNT + MW_CTL_LEXTENTS)

/* Layout of jemalloc's struct of this name, which programs read. */
typedef struct prof_stats {
	uint64_t requested_bytes, count;
} prof_stats_t;

/* Argument of a row: which of the two sums. */
enum { LIVE_STATS, ACCUMULATED_STATS };
static MW_SPARSE prof_stats_t stats[2][SIZES];
/* Held while a sum is read or written, so that both words are of the same time. */
static mw_lock_t sums_lock;

mw_lock_t *mw_ctl_sums_lock(void) {
	return &sums_lock;
}

static size_t size_index(size_t usable_bytes) {
	size_t i = 0;
	while (i < MW_CLASS_COUNT && mw_class_bytes[i] < usable_bytes)
		i++;
	if (i < MW_CLASS_COUNT)
		return i;
	for (; i < SIZES - 1; i++)
		if (mw_ctl_lextent_bytes(i - MW_CLASS_COUNT) >= usable_bytes)
			break;
	return i;
}

static void add_stats(prof_stats_t *sum, uint64_t requested_bytes, uint64_t count) {
	sum->requested_bytes += requested_bytes;
	sum->count += count;
}

static void count_sample(size_t requested_bytes, size_t usable_bytes, bool freed) {
	size_t i = size_index(usable_bytes);
	mw_lock_acquire(&sums_lock, MW_RANK_SUMS);
	if (freed) {
		add_stats(&stats[LIVE_STATS][i], -(uint64_t)requested_bytes, UINT64_MAX);
	} else {
		add_stats(&stats[LIVE_STATS][i], requested_bytes, 1);
		add_stats(&stats[ACCUMULATED_STATS][i], requested_bytes, 1);
	}
	mw_lock_release(&sums_lock, MW_RANK_SUMS);
}

static int give_stats(mw_ctl_call_t *call, size_t first, size_t count) {
	const mw_options_t *options = mw_ctl_options();
	size_t i = call->mib[3];
	if (!options || !options->prof_stats || i >= count)
		return ENOENT;
	if (!call->old || !call->old_length || *call->old_length != sizeof(prof_stats_t))
		return EINVAL;
	mw_lock_acquire(&sums_lock, MW_RANK_SUMS);
	memcpy(call->old, &stats[call->argument][first + i], sizeof(prof_stats_t));
	mw_lock_release(&sums_lock, MW_RANK_SUMS);
	return 0;
}

int mw_ctl_at_prof_stats_bin(mw_ctl_call_t *call) {
	return give_stats(call, 0, MW_CLASS_COUNT);
}

int mw_ctl_at_prof_stats_lextent(mw_ctl_call_t *call) {
	return give_stats(call, MW_CLASS_COUNT, MW_CTL_LEXTENTS);
}

/* ---- as the options have it ---- */

void mw_compat_profiler_started(void) {
	const mw_options_t *options = mw_ctl_options();
	mw_prof_log_set_realtime(options->prof_time_resolution[0] == 'h');
	if (options->prof_stats)
		mw_program_hook_set(MW_PROGRAM_HOOK_COUNTED, (uintptr_t)count_sample);
	if (options->prof_recent_alloc_max)
		mw_prof_recent_set_max(options->prof_recent_alloc_max);
	if (options->prof_log)
		start_log();
}
