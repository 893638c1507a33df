/* SPDX-License-Identifier: MIT
 * prof.c -- the heap's hooks, and the start-up and end of the profiler. */
#include "prof/prof.h"

#include <errno.h>
#include <stddef.h>

#include "base/check.h"
#include "base/compiler.h"
#include "heap/sample/hooks.h"
#include "os/file/proc.h"
#include "os/platform/kernel_calls.h"
#include "os/time/clock.h"
#include "os/unwind/roomy_stack.h"
#include "prof/control/control.h"
#include "prof/control/heap_walk.h"
#include "prof/control/prof_log.h"
#include "prof/control/triggers.h"
#include "prof/dump/crash.h"
#include "prof/dump/dump.h"
#include "prof/dump/dump_view.h"
#include "prof/new_objects.h"
#include "prof/sample/activity.h"
#include "prof/sample/program_hooks.h"
#include "prof/sample/sampler.h"
#include "prof/sample/threads.h"
#include "prof/sample_hooks.h"
#include "prof/store/state_file.h"
#include "prof/store/store.h"
#include "prof/unwind/unwind.h"

/* Longest wait for another dump. */
#define DUMP_WAIT_NS ((uint64_t)5000000000)

static struct {
	bool keep_state;
	_Atomic uintptr_t on_leave; /* function of mw_prof_on_leave() */
} prof;

void mw_prof_set_thread_name(const char *name) {
	mw_threads_set_name(name);
	mw_sample_thread_renamed();
}

static void thread_start(mw_hook_thread_t *thread) {
	mw_sampler_start(mw_sampler_of(thread));
	/* The thread keeps the value that new threads have now. */
	mw_prof_set_thread_active(mw_prof_thread_is_active());
}

static uint64_t draw_objects(mw_hook_thread_t *thread, size_t size_bytes) {
	mw_sampler_t *sampler = mw_sampler_of(thread);
	uint64_t objects = mw_sampler_draw_objects(sampler, size_bytes);
	return sampler->mean_bytes == 1 ? MW_DRAW_EVERY : objects;
}

static uint64_t draw_bytes(mw_hook_thread_t *thread) {
	return mw_sampler_draw_bytes(mw_sampler_of(thread));
}

static void poll(mw_hook_thread_t *thread) {
	(void)thread;
	int saved_errno = errno;
	mw_control_check_fork();
	mw_new_objects_poll();
	mw_control_poll();
	errno = saved_errno;
}

static void dump_due(void *in_use_bytes) {
	mw_triggers_grew(*(const size_t *)in_use_bytes);
}

static void grew(mw_hook_thread_t *thread, size_t in_use_bytes) {
	(void)thread;
	int saved_errno = errno;
	mw_control_check_fork();
	mw_new_objects_poll();
	mw_control_maintain(in_use_bytes, mw_os_monotonic_coarse_ns());
	if (MW_UNLIKELY(atomic_load_explicit(&mw_triggers_armed, memory_order_relaxed)))
		mw_os_call_with_room(dump_due, &in_use_bytes);
	uintptr_t function = mw_program_hook(MW_PROGRAM_HOOK_GREW);
	if (MW_UNLIKELY(function))
		((mw_on_grew_t *)function)(in_use_bytes);
	errno = saved_errno;
}

static void pressed(mw_pressure_t pressure, size_t wanted_bytes, size_t limit_bytes) {
	int saved_errno = errno;
	mw_control_check_fork();
	mw_control_event(pressure == MW_PRESSURE_SOFT ? MW_EVENT_SOFT_LIMIT : MW_EVENT_HARD_LIMIT,
			 wanted_bytes, limit_bytes);
	errno = saved_errno;
}

static uint64_t background(void) {
	int saved_errno = errno;
	mw_control_check_fork();
	mw_new_objects_poll();
	uint64_t next_ns = mw_control_background();
	errno = saved_errno;
	return next_ns;
}

static const mw_heap_hooks_t hooks = {
	.thread_start = thread_start,
	.draw_objects = draw_objects,
	.draw_bytes = draw_bytes,
	.sampled = mw_sample_taken,
	.sample_freed = mw_sample_freed,
	.poll = poll,
	.grew = grew,
	.pressed = pressed,
	.show_sample = mw_crash_show_sample,
	.background = background,
};

void mw_prof_start(const mw_prof_config_t *config) {
	int saved_errno = errno;
	MW_ASSERT(config->depth_max >= 1 && config->depth_max <= MW_PROF_DEPTH_MAX);
	mw_sample_start(config->depth_max);
	prof.keep_state = config->keep_state;
	mw_prof_set_threads_start_active(!config->threads_start_inactive);
	mw_threads_own_names = config->own_thread_names;
	mw_dump_leave_out_allocated(config->dump_without_allocated);
	mw_dump_start_prefix(config->dump_prefix);
	if (config->seed)
		mw_sampler_set_seed(config->seed);
	mw_sampler_set_cost_limit(config->cost_limit);
	mw_unwind_start();
	mw_heap_walk_start(config->walk_heap);
	mw_triggers_count_by(config->thread_bytes);
	mw_control_start(&(mw_control_config_t){
		.active = config->active,
		.secure = config->secure,
		.mean_bytes = config->mean_bytes,
		.state_min_bytes = config->state_min_bytes,
		.session = config->session,
		.unused_options = config->unused_options,
		.read_stats = config->read_stats,
		.settings = config->settings,
		.dump_name = config->dump_name,
	});
	mw_heap_set_hooks(&hooks);
	if (config->state_min_bytes == 0)
		mw_control_publish();
	errno = saved_errno;
}

void mw_prof_exit(void) {
	int saved_errno = errno;
	mw_control_check_fork();
	/* The file must be kept, but the process is too small to have published one. */
	if (prof.keep_state)
		mw_control_publish();
	mw_control_end();
	mw_triggers_exit();
	if (mw_prof_log_is_on())
		mw_prof_log_stop();
	if (!prof.keep_state)
		mw_state_file_remove();
	errno = saved_errno;
}

MW_COLD void mw_prof_on_leave(void (*function)(void)) {
	atomic_store_explicit(&prof.on_leave, (uintptr_t)function, memory_order_release);
}

void mw_prof_leave(void) {
	int saved_errno = errno;
	/* Pairs with the release above. */
	uintptr_t function = atomic_load_explicit(&prof.on_leave, memory_order_acquire);
	if (MW_UNLIKELY(function != 0))
		((void (*)(void))function)();
	mw_control_leave();
	errno = saved_errno;
}

MW_COLD void mw_prof_confine(bool confined) {
	int saved_errno = errno;
	mw_control_check_fork();
	if (confined && !mw_os_is_confined() && mw_control_is_active())
		mw_control_publish();
	mw_os_confine(confined);
	errno = saved_errno;
}

MW_COLD void mw_prof_hide(void) {
	int saved_errno = errno;
	mw_control_check_fork();
	mw_control_hide();
	errno = saved_errno;
}

void mw_prof_fork_prepare(void) {
	mw_control_fork_prepare();
}

void mw_prof_fork_parent(void) {
	mw_control_fork_parent();
}

void mw_prof_fork_child(void) {
	int saved_errno = errno;
	mw_control_fork_child();
	errno = saved_errno;
}

void mw_prof_set_active(bool active) {
	int saved_errno = errno;
	mw_control_set_active(active);
	errno = saved_errno;
}

mw_result_t mw_prof_set_mean_bytes(uint64_t mean_bytes) {
	int saved_errno = errno;
	mw_result_t result = mw_control_set_mean(mean_bytes);
	errno = saved_errno;
	return result;
}

bool mw_prof_is_active(void) {
	return mw_control_is_active();
}

bool mw_prof_is_secure(void) {
	return mw_control_is_secure();
}

mw_result_t mw_prof_set(mw_setting_t setting, uint64_t value) {
	int saved_errno = errno;
	mw_result_t result = mw_control_set(setting, value);
	errno = saved_errno;
	return result;
}

mw_result_t mw_prof_set_dump_name(const char *pattern) {
	int saved_errno = errno;
	mw_result_t result = mw_control_set_dump_name(pattern);
	errno = saved_errno;
	return result;
}

/* Retries a dump while another is in progress. Dumps that became due meanwhile are written
 * afterwards. */
static int dump_patiently(int (*try)(const void *what), const void *what) {
	int saved_errno = errno, result;
	mw_control_check_fork();
	if (!mw_control_need_tables())
		return MW_ERR_NO_MEMORY;
	uint64_t deadline_ns = mw_os_monotonic_ns() + DUMP_WAIT_NS;
	unsigned attempt = 0;
	while ((result = try(what)) == MW_DUMP_BUSY && mw_os_monotonic_ns() < deadline_ns)
		mw_os_back_off(attempt++);
	mw_triggers_dumped();
	errno = saved_errno;
	return result;
}

static int try_file(const void *what) {
	return mw_dump_to_file(MW_DUMP_api, what);
}

int mw_prof_dump(const char *path) {
	return dump_patiently(try_file, path);
}

typedef struct receiver {
	bool heap_v2;
	mw_writer_write_t write;
	void *context;
} receiver_t;

static int try_function(const void *what) {
	const receiver_t *to = what;
	return mw_dump_to_function(to->heap_v2 ? MW_DUMP_HEAP_V2 : MW_DUMP_PROTO, to->write,
				   to->context);
}

int mw_prof_dump_to(bool heap_v2, bool (*write)(void *context, const void *bytes, size_t length),
		    void *context) {
	return dump_patiently(try_function, &(receiver_t){heap_v2, write, context});
}

void mw_prof_figures(mw_prof_figures_t *figures) {
	*figures = (mw_prof_figures_t){.active = mw_control_is_active(),
				       .mean_bytes = mw_control_mean()};
	if (!mw_store_exists())
		return;
	const mw_state_live_t *live = mw_store_live();
	figures->samples = atomic_load_explicit(&live->samples, memory_order_relaxed);
	figures->live_bytes = atomic_load_explicit(&live->live_bytes, memory_order_relaxed);
	figures->live_objects_q16 =
		atomic_load_explicit(&live->live_objects_q16, memory_order_relaxed);
	figures->alloc_bytes = atomic_load_explicit(&live->alloc_bytes, memory_order_relaxed);
	figures->alloc_objects_q16 =
		atomic_load_explicit(&live->alloc_objects_q16, memory_order_relaxed);
	figures->dumps_written = atomic_load_explicit(&live->dumps_written, memory_order_relaxed);
	figures->dumps_failed = atomic_load_explicit(&live->dumps_failed, memory_order_relaxed);
}

uint64_t mw_prof_live_stacks(void) {
	uint64_t live = 0;
	if (!mw_store_exists())
		return 0;
	uint64_t count = mw_dump_stack_count();
	for (uint64_t i = 0; i < count; i++) {
		mw_dump_stack_t stack;
		live += mw_dump_stack_at(i, &stack) &&
			stack.sized.inuse_objects + stack.zero.inuse_objects > 0;
	}
	return live;
}

void mw_prof_reset(void) {
	int saved_errno = errno;
	mw_control_reset();
	errno = saved_errno;
}
