/* SPDX-License-Identifier: MIT
 * start.c -- start-up, thread exit, fork, exit.
 *
 * The dynamic linker may allocate before any constructor has run. libc's start-up has then not set
 * `environ`. Start-up therefore has two parts. The first slow path initialises the heap. Options
 * and profiler follow as soon as `environ` is set, at the latest in the library's constructor. */
#include "api/process/start.h"

#include "api/process/compat_hooks.h"
#include "api/process/stats_interval.h"
#include "heap/layout/harden_block.h"
#include "heap/local/counts.h"
#include "heap/stats/heap_walk.h"
#include "heap/thread/binding.h"
#include "heap/thread/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "config/options.h"
#include "cpu/cpu.h"
#include "heap/arena/arena.h"
#include "heap/large/huge.h"
#include "heap/layout/page.h"
#include "heap/local/tcache.h"
#include "heap/memory/background.h"
#include "heap/memory/chunk.h"
#include "heap/memory/decay.h"
#include "heap/misuse/guarded.h"
#include "heap/misuse/misuse.h"
#include "heap/sample/slot_cache.h"
#include "heap/stats/stats.h"
#include "heap/thread/verify.h"
#include "leak/requested.h"
#include "os/file/file.h"
#include "os/file/local_time.h"
#include "os/file/proc.h"
#include "os/lock/futex.h"
#include "os/lock/lock.h"
#include "os/lock/stdio_lock.h"
#include "os/memory/huge_pages.h"
#include "os/memory/map.h"
#include "os/memory/numa.h"
#include "os/platform/libc_calls.h"
#include "os/platform/secure_environment.h"
#include "os/platform/single.h"
#include "os/process/registers.h"
#include "os/time/clock.h"
#include "prof/dump/pc_name.h"
#include "prof/prof.h"
#include "prof/store/cleanup.h"
#include "prof/store/store.h"
#include "prof/unwind/unwind.h"
#include "state/settings.h"

/* Capacity for options that are the target of the symbolic link /etc/malloc.conf. */
#define LINK_BYTES 512
/* Interval at which a thread that waits for the fork handlers looks whether it is in a child. */
#define HANDLERS_WAIT_NS UINT64_C(100000000)

bool mw_api_started;
mw_api_policy_t mw_api_policy = {.zero_realloc = MW_ZERO_REALLOC_FREE};

static struct {
	bool configured;
	_Atomic uint64_t thread_end_key; /* key + 1; 0: none */
	mw_conf_sources_t sources;
	mw_options_t options;
	char symlink[LINK_BYTES];
} start;

static void thread_end(void *heap) {
	(void)heap;
	if (mw_cpu_wants_threads())
		mw_cpu_thread_end();
	mw_heap_thread_end();
	mw_unwind_thread_end();
}

/* Forks of this thread that took no lock. fork(2) may be called in a signal handler that
 * interrupted malloc or fork. The thread then holds locks or is about to take them, and would wait
 * for itself. The child continues the interrupted code, so its locks must stay held. The variable
 * is a count, because another handler may interrupt the first one. */
static MW_TLS unsigned bare_forks;

static bool must_be_bare(void) {
	return mw_lock_held_ranks != 0 || mw_lock_is_forking() || mw_unwind_is_interrupted();
}

/* The profiler is stopped before the heap: it waits for samples in flight, and these take the
 * heap's locks.  A fork that takes no lock leaves stdio's to libc, too: the interrupted code may
 * hold what a thread with that lock waits for. */
static void fork_prepare(void) {
	int saved_errno = errno;
	if (must_be_bare()) {
		bare_forks++;
	} else {
		mw_os_stdio_fork_prepare();
		mw_compat_fork_prepare();
		mw_prof_fork_prepare();
		mw_heap_fork_prepare();
		mw_lock_fork_begin();
	}
	errno = saved_errno;
}

static void fork_parent(void) {
	if (bare_forks > 0) {
		bare_forks--;
		return;
	}
	mw_lock_fork_end();
	mw_heap_fork_parent();
	mw_prof_fork_parent();
	mw_compat_fork_release(false);
	mw_os_stdio_fork_parent();
}

/* The child of a fork that took no lock finds at its next sample that it is a child. */
static void fork_child(void) {
	if (bare_forks > 0) {
		bare_forks--;
		return;
	}
	mw_lock_fork_end();
	mw_heap_fork_child();
	mw_prof_fork_child();
	mw_compat_fork_release(true);
	mw_os_stdio_fork_child();
}

/* libc's function behind pthread_atfork(3). Weak: other libraries lack it. */
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *object) __attribute__((weak));

/* Registers the fork handlers in a program that lacks mw_api_register_atfork(). They belong to no
 * object, so that exit(3) does not remove them while another thread forks. */
static bool register_by_libc(void) {
	if (__register_atfork)
		return __register_atfork(fork_prepare, fork_parent, fork_child, NULL) == 0;
	return pthread_atfork(fork_prepare, fork_parent, fork_child) == 0;
}

enum { HANDLERS_NONE, HANDLERS_IN_WORK, HANDLERS_DONE };

/* Whether the handlers are registered.  Not pthread_once(3): the first caller may be a sanitizer
 * that replaces it and is about to start. */
static struct {
	_Atomic uint32_t state;
	_Atomic uint32_t process; /* that registers them */
	_Atomic uintptr_t thread; /* pointer of the thread that does; 0: none */
} handlers;

static void register_fork_handlers(void) {
	/* Relaxed: a thread compares the value only with its own thread pointer. */
	atomic_store_explicit(&handlers.thread, (uintptr_t)__builtin_thread_pointer(),
			      memory_order_relaxed);
	bool done = mw_api_register_atfork
			    ? mw_api_register_atfork(fork_prepare, fork_parent, fork_child)
			    : register_by_libc();
	atomic_store_explicit(&handlers.thread, 0, memory_order_relaxed);
	if (!done)
		mw_warn("no memory for fork handlers: a forked child may hang");
}

/* Returns true if the caller is to register the handlers, false once they are registered. */
static bool claim_handlers(void) {
	for (;;) {
		uint32_t state = HANDLERS_NONE, process = mw_os_process_id();
		/* Acquire pairs with the release in mw_api_need_fork_handlers(). */
		if (atomic_compare_exchange_strong_explicit(&handlers.state, &state,
							    HANDLERS_IN_WORK, memory_order_acquire,
							    memory_order_acquire)) {
			atomic_store_explicit(&handlers.process, process, memory_order_relaxed);
			return true;
		}
		if (state == HANDLERS_DONE)
			return false;
		mw_os_wait_while(&handlers.state, HANDLERS_IN_WORK, HANDLERS_WAIT_NS);
		/* The thread that began is in the parent: this process was forked meanwhile. */
		uint32_t other = atomic_load_explicit(&handlers.process, memory_order_relaxed);
		if (other != 0 && other != process &&
		    atomic_compare_exchange_strong_explicit(&handlers.process, &other, process,
							    memory_order_relaxed,
							    memory_order_relaxed))
			return true;
	}
}

/* A second caller waits until the handlers are registered: it is about to fork, or to take locks
 * that must be free in every fork. */
void mw_api_need_fork_handlers(void) {
	/* Registering may allocate, and this may be the thread's first allocation. */
	if (atomic_load_explicit(&handlers.state, memory_order_acquire) == HANDLERS_DONE ||
	    atomic_load_explicit(&handlers.thread, memory_order_relaxed) ==
		    (uintptr_t)__builtin_thread_pointer())
		return;
	if (!claim_handlers())
		return;
	register_fork_handlers();
	/* Release pairs with the acquire of the threads that wait. */
	atomic_store_explicit(&handlers.state, HANDLERS_DONE, memory_order_release);
	mw_os_wake_all(&handlers.state);
}

/* Makes the key whose destructor is called when a thread ends. Not while glibc before 2.34 has no
 * libpthread: the process then has one thread. */
static uint64_t thread_end_key(void) {
	/* Relaxed: the value alone matters, here and below. */
	uint64_t known = atomic_load_explicit(&start.thread_end_key, memory_order_relaxed);
	pthread_key_t key;
	if (MW_LIKELY(known != 0))
		return known;
	mw_libc_calls_find();
	if (!mw_libc_calls.pthread_setspecific || !mw_libc_calls.pthread_key_create ||
	    mw_libc_calls.pthread_key_create(&key, thread_end) != 0)
		return 0;
	/* If another thread was faster, this thread's key stays unused. */
	return atomic_compare_exchange_strong_explicit(&start.thread_end_key, &known,
						       (uint64_t)key + 1, memory_order_relaxed,
						       memory_order_relaxed)
		       ? (uint64_t)key + 1
		       : known;
}

static void watch_thread_end(mw_heap_t *heap) {
	uint64_t key = thread_end_key();
	if (MW_LIKELY(key != 0))
		mw_libc_calls.pthread_setspecific((pthread_key_t)(key - 1), heap);
}

static void on_thread(mw_heap_t *heap) {
	/* Most processes have one thread and never fork: api/process/fork.c registers the handlers
	 * when needed. */
	if (!mw_os_is_single_threaded())
		mw_api_need_fork_handlers();
	watch_thread_end(heap);
	mw_thread.watched = mw_api_has_interval;
	if (MW_UNLIKELY(mw_arena_watches))
		mw_arena_bind(NULL);
	if (mw_cpu_wants_threads())
		mw_cpu_thread_start();
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

/* Bits of the option's value. */
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
	mw_lock_spins_max = options->mutex_max_spin;
	mw_tcache_config = (mw_tcache_config_t){
		.off = !options->tcache,
		.max_bytes = (size_t)options->tcache_max,
		.first_blocks = (uint32_t)options->tcache_nslots_small_min,
		.most_blocks = (uint32_t)options->tcache_nslots_small_max,
	};
}

/* Words of option on_misuse. */
enum { ON_MISUSE_DEFAULT, ON_MISUSE_ABORT, ON_MISUSE_WARN, ON_MISUSE_IGNORE };

static void configure_misuse(const mw_options_t *options) {
	static const mw_misuse_action_t actions[] = {
		[ON_MISUSE_DEFAULT] = MW_HARDEN_ON ? MW_MISUSE_ABORT : MW_MISUSE_IGNORE,
		[ON_MISUSE_ABORT] = MW_MISUSE_ABORT,
		[ON_MISUSE_WARN] = MW_MISUSE_WARN,
		[ON_MISUSE_IGNORE] = MW_MISUSE_IGNORE,
	};
	mw_misuse_config_t config = {
		.action = actions[options->on_misuse],
		.take_stack = mw_unwind_capture_for,
		.name_place = mw_pc_name,
	};
	if (!MW_HARDEN_ON && MW_UNLIKELY(config.action != MW_MISUSE_IGNORE) &&
	    !mw_api_divert_sized())
		mw_warn("on_misuse: no memory for a table: only large and sampled blocks are "
			"checked");
	mw_misuse_start(&config);
}

static void start_guards(const mw_options_t *options) {
	mw_guarded_config_t config = {
		.every = (uint64_t)options->prof_guard,
		.gap_ns = (uint64_t)options->prof_guard_gap * 1000000u,
		.take_stack = mw_unwind_capture_for,
		.name_place = mw_pc_name,
	};
	if (!mw_guarded_start(&config))
		mw_warn("prof_guard: the kernel refused memory or the handler of SIGSEGV, so no "
			"sample is guarded");
}

void mw_api_stats(uint64_t *stats) {
	mw_heap_stats(stats);
	stats[MW_STAT_unwind_bytes] = mw_unwind_memory_bytes();
	/* The profiler's tables are made at its first sample, or never. */
	bool has_store = mw_store_exists();
	for (unsigned i = MW_STAT_OF_HEAP; i < MW_STAT_COUNT; i++)
		stats[i] = has_store ? atomic_load_explicit(&mw_store_live()->stats[i],
							    memory_order_relaxed)
				     : 0;
}

/* The state file's sections could not be mapped. Blocks are served all the same: what must consist
 * of whole pages of the kernel is refused. */
static MW_COLD void leave_out_profile(mw_options_t *options) {
	mw_warn("no profile: this kernel has pages of %lu KiB; the state file can be mapped with "
		"pages of up to %u KiB",
		(unsigned long)mw_os_page_bytes() / 1024, MW_OS_PAGE_MAX_BYTES / 1024);
	options->prof = false;
	options->prof_guard = 0;
	options->prof_cpu = 0;
	options->prof_state_min = INT64_MAX;
}

static void configure(void) {
	start.configured = true;
	/* The user who starts a set-uid program must not control it. */
	bool secure = mw_environment_is_secure();
	mw_options_t *options = &start.options;
	bool linked = mw_os_read_link("/etc/malloc.conf", start.symlink, sizeof start.symlink) > 0;
	start.sources = (mw_conf_sources_t){
		.built_in = sizeof MALLOW_BUILT_IN_CONF > 1 ? MALLOW_BUILT_IN_CONF : NULL,
		.symlink = linked ? start.symlink : NULL,
		.environment = mw_environment("MALLOC_CONF"),
		.mallow = mw_environment("MALLOW_CONF"),
	};
	mw_compat_add_sources(&start.sources);
	mw_ctl_configure(options, &start.sources);
	if (MW_UNLIKELY(mw_os_page_bytes() > MW_OS_PAGE_MAX_BYTES))
		leave_out_profile(options);
	mw_compat_start(options, &start.sources);
	configure_memory(options);
	configure_api(options);
	mw_os_set_zone(mw_environment("TZ"));
	const uint64_t settings[MW_SETTING_COUNT] = {
#define MW_SETTING(name, kind, standard, min, max, unit, help)                                     \
	[MW_SETTING_##name] = (uint64_t)options->name,
#include "state/settings.def"
#undef MW_SETTING
	};
	mw_verify_set_interval((uint32_t)options->heap_check_interval);
	mw_harden_fill_whole(options->fill_freed);
	configure_misuse(options);
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
		.cost_limit = (unsigned)options->prof_cost_limit,
		.settings = settings,
		.dump_name = options->dump_name,
		.dump_prefix = options->prof_prefix,
		.read_stats = mw_api_stats,
		.walk_heap = mw_heap_walk,
		.thread_bytes = mw_heap_thread_given_bytes,
	};
	mw_cleanup_configure((uint64_t)options->stale_seconds, (unsigned)options->stale_files,
			     options->stale_bytes);
	mw_prof_start(&config);
	if (!secure)
		mw_compat_profiler_started();
	if (options->prof_guard && !secure)
		start_guards(options);
	if (MW_UNLIKELY(options->prof_cpu) && !secure)
		mw_cpu_start((int32_t)options->prof_cpu, (uint32_t)options->prof_cpu_event);
}

void mw_api_start(void) {
	/* Set before the following calls, which may allocate. */
	mw_api_started = true;
	/* Where pages have 16 KiB, a huge page has 32 MiB: one would come for the table's first
	 * byte. */
	if (MW_UNLIKELY(mw_os_page_bytes() > MW_OS_PAGE_BYTES))
		mw_os_huge_pages_never(mw_address_map, sizeof mw_address_map);
	mw_os_clock_start();
	if (mw_cxx_start)
		mw_cxx_start();
	/* Registered early: prepare handlers run in reverse order and the others in order, so that
	 * most libraries' handlers find the heap unlocked. mw_lock_forking covers the others. */
	if (!mw_api_register_atfork)
		mw_api_need_fork_handlers();
	mw_libc_calls_find();
	thread_end_key();
	mw_heap_on_thread = on_thread;
	if (mw_environment_has_begun())
		configure();
}

/* Before other constructors, of which one calls functions that another library may replace and
 * allocate in (next_calls.c). */
__attribute__((constructor(101))) static void start_rest(void) {
	if (!mw_api_started)
		mw_api_start();
	if (!start.configured)
		configure();
}

static const char *plural(uint64_t number) {
	return number == 1 ? "" : "s";
}

/* Blocks that nobody will free. */
typedef struct leaks {
	uint64_t bytes, objects, stacks;
} leaks_t;

/* All blocks that are live at the end. */
static leaks_t count_live(void) {
	mw_prof_figures_t figures;
	mw_prof_figures(&figures);
	if (figures.live_bytes <= 0)
		return (leaks_t){0};
	return (leaks_t){.bytes = (uint64_t)figures.live_bytes,
			 .objects = (uint64_t)figures.live_objects_q16 / 65536,
			 .stacks = mw_prof_live_stacks()};
}

/* Those that no pointer leads to. */
static MW_COLD leaks_t find_unreachable(void) {
	static const char reasons[][28] = {
		[MW_LEAK_NO_MEMORY] = "no memory",
		[MW_LEAK_ENDED] = "the search was ended",
		[MW_LEAK_NO_STOP] = "threads cannot be stopped",
		[MW_LEAK_BUSY] = "another check runs",
	};
	mw_os_stopped_t self = {0};
	mw_leak_sums_t sums;
	uint64_t stacks;
	mw_os_note_registers(&self);
	int saved_errno = errno;
	mw_leak_error_t error = mw_leak_check_and_store(&self, &sums, &stacks);
	errno = saved_errno;
	if (error != MW_LEAK_FINE) {
		mw_warn("no search for leaks at exit: %s", reasons[error]);
		return (leaks_t){0};
	}
	uint64_t objects = sums.direct.blocks + sums.indirect.blocks;
	return (leaks_t){.bytes = sums.direct.bytes + sums.indirect.bytes,
			 .objects = objects,
			 .stacks = stacks == 0 && objects > 0 ? 1 : stacks};
}

/* Scripts search for these words of jemalloc's. */
static void report_leaks(const leaks_t *leaks) {
	uint64_t bytes = leaks->bytes, objects = leaks->objects, stacks = leaks->stacks;
	if (bytes == 0)
		return;
	mw_print_line("<jemalloc>: Leak approximation summary: ~%lu byte%s, ~%lu object%s, >= %lu "
		      "context%s",
		      (unsigned long)bytes, plural(bytes), (unsigned long)objects, plural(objects),
		      (unsigned long)stacks, plural(stacks));
	mw_print_line("<jemalloc>: Run jeprof on dump output for leak detail");
	if (!start.options.prof_leak_error)
		return;
	mw_print_line("<jemalloc>: Exiting with error code because memory leaks were detected");
	/* Writes buffered output of the program, which would be lost otherwise. */
	fflush(NULL);
	_exit(1);
}

__attribute__((destructor)) static void finish(void) {
	leaks_t leaks = {0};
	if (MW_UNLIKELY(start.options.prof_leak_scan))
		leaks = find_unreachable();
	mw_prof_exit();
	if (start.options.stats_print)
		mw_compat_print_stats(start.options.stats_print_opts);
	if (!start.options.prof_leak || !start.options.prof_final)
		return;
	if (!start.options.prof_leak_scan)
		leaks = count_live();
	report_leaks(&leaks);
}
