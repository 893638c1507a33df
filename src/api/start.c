/* SPDX-License-Identifier: MIT
 * start.c -- start-up, thread exit, fork, exit.
 *
 * The first allocation may come before any constructor has run, from the dynamic linker; libc's own
 * start-up has then not set `environ`.  So start-up has two halves: what malloc needs, at the first
 * slow path; options and profiler as soon as the environment is there, at the latest in our
 * constructor. */
#include "api/start.h"

#include "api/alloc.h"
#include "api/interval.h"
#include "api/jemalloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/check.h"
#include "ctl/mallctl.h"
#include "ctl/options.h"
#include "heap/arena.h"
#include "heap/background.h"
#include "heap/chunk.h"
#include "heap/decay.h"
#include "heap/guarded.h"
#include "heap/head.h"
#include "heap/heap.h"
#include "heap/huge.h"
#include "heap/magazine.h"
#include "heap/stats.h"
#include "heap/verify.h"
#include "os/file.h"
#include "os/huge_pages.h"
#include "os/local_time.h"
#include "os/lock.h"
#include "os/numa.h"
#include "os/single.h"
#include "prof/place.h"
#include "prof/prof.h"
#include "prof/stale.h"
#include "prof/unwind.h"
#include "state/settings.h"

/* Longer options than this are not put into the name of a file. */
#define LINK_BYTES 512

bool mw_api_started;

static struct {
	bool configured;
	pthread_key_t thread_end_key;
	mw_conf_sources_t sources;
	mw_options_t options;
	char symlink[LINK_BYTES];
} start;

static void thread_end(void *heap) {
	(void)heap;
	mw_heap_thread_end();
	mw_unwind_thread_end();
}

/* The profiler first: it waits for samples in flight, which take the heap's locks. */
static void fork_prepare(void) {
	mw_mallctl_fork_prepare();
	mw_prof_fork_prepare();
	mw_heap_fork_prepare();
	mw_lock_fork_begin();
}

static void fork_parent(void) {
	mw_lock_fork_end();
	mw_heap_fork_parent();
	mw_prof_fork_parent();
	mw_mallctl_fork_release(false);
}

static void fork_child(void) {
	mw_lock_fork_end();
	mw_heap_fork_child();
	mw_prof_fork_child();
	mw_mallctl_fork_release(true);
}

/* The thread that registers the handlers; 0: none. */
static _Atomic uintptr_t registering_thread;

static void register_fork_handlers(void) {
	/* Relaxed: only the own value counts. */
	atomic_store_explicit(&registering_thread, (uintptr_t)__builtin_thread_pointer(),
			      memory_order_relaxed);
	bool done = mw_api_register_atfork
			    ? mw_api_register_atfork(fork_prepare, fork_parent, fork_child)
			    : pthread_atfork(fork_prepare, fork_parent, fork_child) == 0;
	atomic_store_explicit(&registering_thread, 0, memory_order_relaxed);
	if (!done)
		mw_warn("no memory for fork handlers: a forked child may hang");
}

/* Whoever comes second waits: it is about to fork, or to take locks that no fork may find taken. */
void mw_api_watch_forks(void) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	/* Registering may allocate, and that be the thread's first allocation. */
	if (atomic_load_explicit(&registering_thread, memory_order_relaxed) ==
	    (uintptr_t)__builtin_thread_pointer())
		return;
	pthread_once(&once, register_fork_handlers);
}

static void on_thread(mw_heap_t *heap) {
	/* Most processes have one thread and never fork: see fork.c. */
	if (!mw_os_is_single_threaded())
		mw_api_watch_forks();
	pthread_setspecific(start.thread_end_key, heap);
	mw_thread.watched = mw_api_has_interval;
	if (MW_UNLIKELY(mw_arena_watches))
		mw_arena_bind(NULL);
}

static uint64_t decay_ns(int64_t ms) {
	return ms < 0 ? MW_DECAY_NEVER_NS : (uint64_t)ms * 1000000u;
}

static void configure_memory(const mw_options_t *options) {
	uint64_t delay_ns = decay_ns(options->dirty_decay_ms);
	mw_chunk_set_decay(delay_ns, options->purge_early);
	mw_huge_set_decay(delay_ns, options->purge_early);
	if (options->muzzy_decay_ms)
		mw_chunk_set_muzzy_decay(decay_ns(options->muzzy_decay_ms));
	mw_os_numa_start();
	mw_os_huge_pages_t huge_pages = (mw_os_huge_pages_t)options->thp;
	if (options->hpa && huge_pages == MW_OS_HUGE_PAGES_DEFAULT)
		huge_pages = MW_OS_HUGE_PAGES_ALWAYS;
	mw_os_huge_pages_set(huge_pages, options->hugetlb);
	if (options->background_thread)
		mw_background_enable();
}

#define JUNK_FREED 0x5a /* as jemalloc */

/* The options' words are bits. */
enum { JUNK_NEW = 1, JUNK_GIVEN_BACK = 2 };

static MW_COLD MW_NOINLINE void configure_fill(const mw_options_t *options) {
	if (options->junk & JUNK_NEW)
		mw_api_policy.fill = MW_FILL_JUNK;
	if (options->zero)
		mw_api_policy.fill = MW_FILL_ZERO;
	if (options->junk & JUNK_GIVEN_BACK)
		mw_heap_fill_freed = JUNK_FREED;
	mw_arena_watch();
}

static void configure_api(const mw_options_t *options) {
	mw_api_policy = (mw_api_policy_t){
		.xmalloc = options->xmalloc,
		.infallible_new = options->experimental_infallible_new,
		.keep_deepbind = options->dlopen_deepbind,
		.zero_realloc = (mw_zero_realloc_t)options->zero_realloc,
	};
	if (MW_UNLIKELY(options->junk | options->zero))
		configure_fill(options);
	if (options->stats_interval >= 0)
		mw_api_stats_every((uint64_t)options->stats_interval, options->stats_interval_opts);
	mw_warnings_are_fatal = options->abort;
	mw_lock_spin_turns = options->mutex_max_spin;
	mw_head_config = (mw_head_config_t){
		.off = !options->tcache,
		.max_bytes = (size_t)options->tcache_max,
		.first_blocks = (uint32_t)options->tcache_nslots_small_min,
		.most_blocks = (uint32_t)options->tcache_nslots_small_max,
	};
}

static void start_guards(const mw_options_t *options) {
	mw_guarded_config_t config = {
		.every = (uint64_t)options->prof_guard,
		.gap_ns = (uint64_t)options->prof_guard_gap * 1000000u,
		.take_stack = mw_unwind_capture_for,
		.name_place = mw_place_name,
	};
	if (!mw_guarded_start(&config))
		mw_warn("prof_guard: the kernel refused memory or the handler of SIGSEGV; no "
			"sample "
			"is guarded");
}

void mw_api_stats(uint64_t *stats) {
	mw_heap_stats(stats);
	stats[MW_STAT_unwind_bytes] = mw_unwind_memory_bytes();
}

static void configure(void) {
	start.configured = true;
	/* Whoever starts a set-uid program has no say in it. */
	bool secure = getauxval(AT_SECURE) != 0;
	mw_options_t *options = &start.options;
	bool linked = mw_os_read_link("/etc/malloc.conf", start.symlink, sizeof start.symlink) > 0;
	start.sources = (mw_conf_sources_t){
		.built_in = sizeof MALLOW_BUILT_IN_CONF > 1 ? MALLOW_BUILT_IN_CONF : NULL,
		.variable = malloc_conf,
		.symlink = linked ? start.symlink : NULL,
		.environment = secure ? NULL : getenv("MALLOC_CONF"),
		.variable_harder = malloc_conf_2_conf_harder,
		.mallow = secure ? NULL : getenv("MALLOW_CONF"),
	};
	mw_ctl_configure(options, &start.sources);
	mw_mallctl_start(options, &start.sources);
	configure_memory(options);
	configure_api(options);
	mw_os_set_zone(secure ? NULL : getenv("TZ"));
	const uint64_t settings[MW_SETTING_COUNT] = {
#define MW_SETTING(name, kind, standard, min, max, unit, help)                                     \
	[MW_SETTING_##name] = (uint64_t)options->name,
#include "state/settings.def"
#undef MW_SETTING
	};
	mw_verify_set_interval((uint32_t)options->heap_check_interval);
	mw_harden_fill_whole(options->fill_freed);
	mw_prof_config_t config = {
		.active = options->prof && options->prof_active,
		.mean_bytes = options->prof_sample,
		.state_min_bytes = options->prof_state_min,
		.threads_start_inactive = !options->prof_thread_active_init,
		.dump_without_allocated = !options->prof_accum,
		.own_thread_names = !options->prof_sys_thread_name,
		.keep_state = options->prof_keep,
		.secure = secure,
		.session = options->prof_session,
		.unused_options = options->unused,
		.seed = (uint64_t)options->prof_seed,
		.depth_max = (unsigned)options->prof_bt_max,
		.settings = settings,
		.dump_name = options->dump_name,
		.dump_prefix = options->prof_prefix,
		.read_stats = mw_api_stats,
		.survey = mw_heap_survey,
		.thread_bytes = mw_heap_thread_given_bytes,
	};
	mw_stale_configure((uint64_t)options->stale_seconds, (unsigned)options->stale_files,
			   options->stale_bytes);
	mw_prof_start(&config);
	if (!secure)
		mw_mallctl_start_watching();
	if (options->prof_guard && !secure)
		start_guards(options);
}

MW_RESIDENT void mw_api_start(void) {
	/* At once: what follows may allocate. */
	mw_api_started = true;
	/* Early: prepare handlers run last come first served, the others in order, so that most
	 * libraries' handlers find the heap unlocked.  For the rest see mw_lock_forking. */
	if (!mw_api_register_atfork)
		mw_api_watch_forks();
	if (pthread_key_create(&start.thread_end_key, thread_end) == 0)
		mw_heap_on_thread = on_thread;
	if (environ)
		configure();
}

__attribute__((constructor)) static void start_rest(void) {
	if (!mw_api_started)
		mw_api_start();
	if (!start.configured)
		configure();
}

static const char *plural(uint64_t number) {
	return number == 1 ? "" : "s";
}

/* jemalloc's words, which scripts look for. */
static void report_leaks(void) {
	mw_prof_figures_t figures;
	mw_prof_figures(&figures);
	if (figures.live_bytes <= 0)
		return;
	uint64_t bytes = (uint64_t)figures.live_bytes, stacks = mw_prof_live_stacks();
	uint64_t objects = (uint64_t)figures.live_objects_q16 / 65536;
	mw_print_line("<jemalloc>: Leak approximation summary: ~%lu byte%s, ~%lu object%s, >= %lu "
		      "context%s",
		      (unsigned long)bytes, plural(bytes), (unsigned long)objects, plural(objects),
		      (unsigned long)stacks, plural(stacks));
	mw_print_line("<jemalloc>: Run jeprof on dump output for leak detail");
	if (!start.options.prof_leak_error)
		return;
	mw_print_line("<jemalloc>: Exiting with error code because memory leaks were detected");
	/* What the program has written and not sent would be lost. */
	fflush(NULL);
	_exit(1);
}

__attribute__((destructor)) static void finish(void) {
	mw_prof_exit();
	if (start.options.stats_print)
		malloc_stats_print(NULL, NULL, start.options.stats_print_opts);
	if (start.options.prof_leak && start.options.prof_final)
		report_leaks();
}
