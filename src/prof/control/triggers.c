/* SPDX-License-Identifier: MIT
 * triggers.c -- conditions for automatic dumps. */
#include "prof/control/triggers.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "base/fmt.h"
#include "base/libc_text.h"
#include "heap/memory/limit.h"
#include "heap/sample/hooks.h"
#include "os/file/cgroup.h"
#include "os/file/proc.h"
#include "os/time/clock.h"
#include "prof/control/due_dumps.h"
#include "prof/dump/crash.h"
#include "prof/dump/dump.h"
#include "prof/mappings/mappings.h"
#include "prof/sample/sampler.h"
#include "prof/store/event_log.h"
#include "prof/store/store.h"

/* Interval between reads of the cgroup's limit: it seldom changes, and a read takes a dozen
 * files. */
#define CGROUP_CHECK_NS ((uint64_t)10000000000)
/* Number of checks of resident memory while the heap grows towards the limit, but at growth of at
 * least the following size. */
#define LOOKS_TO_LIMIT 4u
#define LOOK_MIN_BYTES ((uint64_t)1 << 20)
/* Least interval between reads of resident memory while no thread allocates. A read takes 10 us. */
#define RESIDENT_CHECK_NS ((uint64_t)1000000000)
/* A limit that was passed takes effect again when the value has fallen by this share, so that a
 * value that swings does not cause many dumps. */
#define REARM_SHARE 10u
/* The heap serves smaller requests without calling the hook (heap/sample/hooks.h). */
#define REQUEST_MIN_BYTES MW_HEAP_CERTAIN_MIN_BYTES
_Static_assert(REQUEST_MIN_BYTES == MW_REQUEST_LIMIT_MIN_BYTES, "as the command says");
/* Most stacks of large requests that one process prints on stderr. */
#define REPORTS_MAX 100u

static const struct {
	uint64_t standard, min, max;
} ranges[MW_SETTING_COUNT] = {
#define MW_SETTING(name, kind, standard, min, max, unit, help) {standard, min, max},
#include "state/settings.def"
#undef MW_SETTING
};

static struct {
	_Atomic uint64_t values[MW_SETTING_COUNT];
	char name[MW_STATE_DUMP_NAME_BYTES];
	/* Values of the counters at which the next dump is due. */
	_Atomic uint64_t next_allocated, next_freed;
	uint64_t (*thread_bytes)(void); /* see allocated_bytes() */
	_Atomic uint64_t
		noted_bytes;         /* bytes allocated by all threads, each up to its last check */
	_Atomic uint32_t generation; /* number of times that the counters were set */
	_Atomic int64_t peak;
	_Atomic int64_t use_peak;   /* see is_new_height() */
	_Atomic bool peak_was_seen; /* true: a sample has shown the peak since the heap last grew */
	_Atomic bool above_live, above_resident; /* true: the value passed its limit and has not yet
						    fallen below it */
	_Atomic uint64_t next_time_ns;           /* monotonic time of the next dump by time */
	_Atomic uint64_t look_at_bytes; /* bytes in use at which resident memory is read next */
	_Atomic uint64_t cgroup_limit, cgroup_check_ns;
	_Atomic uint32_t reports;
} triggers;

_Atomic bool mw_triggers_armed;

uint64_t mw_triggers_value(mw_setting_t setting) {
	return atomic_load_explicit(&triggers.values[setting], memory_order_relaxed);
}
#define VALUE(name) mw_triggers_value(MW_SETTING_##name)

const char *mw_triggers_name(void) {
	return triggers.name;
}

/* ---- counters ---- */

static int64_t live_bytes(void) {
	return atomic_load_explicit(&mw_store_live()->live_bytes, memory_order_relaxed);
}

static uint64_t estimated_bytes(void) {
	return (uint64_t)atomic_load_explicit(&mw_store_live()->alloc_bytes, memory_order_relaxed);
}

/* State at the thread's last check. `generation` changes when the rate changes or the counters are
 * set; 0: the thread has not checked yet. */
static MW_TLS struct {
	uint64_t bytes; /* value of thread_bytes() */
	uint32_t generation;
} noted;
#define FIRST_GENERATION 1u

/* Adds the bytes that the thread allocated since its last check, sampled or not. If they are not
 * known because sampling was off, a sample counts as the mean number of bytes between samples. */
static void note_thread_bytes(void) {
	uint64_t bytes = triggers.thread_bytes();
	uint32_t of_counters = atomic_load_explicit(&triggers.generation, memory_order_relaxed);
	uint32_t generation =
		of_counters + atomic_load_explicit(&mw_heap_rate_generation, memory_order_relaxed);
	bool known = noted.generation == generation ||
		     (noted.generation == 0 && of_counters == FIRST_GENERATION);
	/* The heap may have belonged to another thread before. */
	uint64_t more = bytes > noted.bytes ? bytes - noted.bytes : 0;
	atomic_fetch_add_explicit(&triggers.noted_bytes, known ? more : mw_sampler_mean(),
				  memory_order_relaxed);
	noted.bytes = bytes;
	noted.generation = generation;
}

/* Counter for prof_interval. */
static uint64_t allocated_bytes(void) {
	return triggers.thread_bytes
		       ? atomic_load_explicit(&triggers.noted_bytes, memory_order_relaxed)
		       : estimated_bytes();
}

static uint64_t freed_bytes(void) {
	int64_t freed = (int64_t)estimated_bytes() - live_bytes();
	return freed > 0 ? (uint64_t)freed : 0;
}

/* ---- conditions ---- */

/* Returns whether the counter has reached its next value, and moves that value on. */
static bool has_come(_Atomic uint64_t *next, uint64_t now, uint64_t step) {
	uint64_t wanted = atomic_load_explicit(next, memory_order_relaxed);
	if (step == 0 || now < wanted)
		return false;
	uint64_t after = wanted + ((now - wanted) / step + 1) * step;
	/* Only one of several threads gets true. */
	return atomic_compare_exchange_strong_explicit(next, &wanted, after, memory_order_relaxed,
						       memory_order_relaxed);
}

static bool rises(_Atomic int64_t *highest, int64_t now) {
	uint64_t step = VALUE(dump_peak), percent = VALUE(dump_peak_percent);
	int64_t peak = atomic_load_explicit(highest, memory_order_relaxed);
	if ((step == 0 && percent == 0) || now <= peak)
		return false;
	uint64_t above = (uint64_t)(now - peak);
	if (above < step || above < (uint64_t)peak / 100 * percent)
		return false;
	return atomic_compare_exchange_strong_explicit(highest, &peak, now, memory_order_relaxed,
						       memory_order_relaxed);
}

static bool is_new_peak(int64_t live) {
	bool is_new = rises(&triggers.peak, live);
	if (is_new)
		atomic_store_explicit(&triggers.peak_was_seen, true, memory_order_relaxed);
	return is_new;
}

/* Returns whether the heap's memory in use is a new maximum. A dump_peak of one byte (prof_gdump)
 * asks for every new peak, and samples show few of them, so memory in use, which is known when the
 * heap grows, counts as well. A peak that a sample has shown for the same growth does not count
 * twice. */
static bool is_new_height(uint64_t in_use_bytes) {
	return VALUE(dump_peak) == 1 && rises(&triggers.use_peak, (int64_t)in_use_bytes) &&
	       !atomic_exchange_explicit(&triggers.peak_was_seen, false, memory_order_relaxed);
}

/* Returns true once each time that `now` rises above the limit. */
static bool passes(_Atomic bool *above, uint64_t now, uint64_t limit) {
	if (limit == 0)
		return false;
	if (now >= limit)
		return !atomic_exchange_explicit(above, true, memory_order_relaxed);
	if (now < limit - limit / REARM_SHARE)
		atomic_store_explicit(above, false, memory_order_relaxed);
	return false;
}

void mw_triggers_count_by(uint64_t (*thread_bytes)(void)) {
	triggers.thread_bytes = thread_bytes;
}

void mw_triggers_check(void) {
	if (!mw_store_exists())
		return;
	int64_t live = live_bytes();
	if (triggers.thread_bytes && VALUE(prof_interval))
		note_thread_bytes();
	if (has_come(&triggers.next_allocated, allocated_bytes(), VALUE(prof_interval)))
		mw_due_dumps_add(MW_DUMP_allocated);
	if (has_come(&triggers.next_freed, freed_bytes(), VALUE(dump_freed)))
		mw_due_dumps_add(MW_DUMP_freed);
	if (is_new_peak(live))
		mw_due_dumps_add(MW_DUMP_peak);
	if (passes(&triggers.above_live, live > 0 ? (uint64_t)live : 0, VALUE(dump_live)))
		mw_due_dumps_add(MW_DUMP_live);
	if (mw_due_dumps_any())
		mw_due_dumps_write_soon();
}

void mw_triggers_dumped(void) {
	if (mw_triggers_are_armed())
		mw_triggers_check();
	if (mw_due_dumps_any())
		mw_due_dumps_write();
}

static uint64_t cgroup_limit(uint64_t now_ns) {
	uint64_t next = atomic_load_explicit(&triggers.cgroup_check_ns, memory_order_relaxed);
	if (now_ns >= next) {
		atomic_store_explicit(&triggers.cgroup_check_ns, now_ns + CGROUP_CHECK_NS,
				      memory_order_relaxed);
		atomic_store_explicit(&triggers.cgroup_limit, mw_os_cgroup_limit_bytes(""),
				      memory_order_relaxed);
	}
	return atomic_load_explicit(&triggers.cgroup_limit, memory_order_relaxed);
}

/* Returns the smaller of `bytes` and a share of the cgroup's limit (UINT64_MAX: no limit); 0:
 * neither is set. */
static uint64_t smaller_limit(uint64_t bytes, uint64_t percent, uint64_t whole_bytes) {
	uint64_t share = whole_bytes == UINT64_MAX ? 0 : whole_bytes / 100 * percent;
	return bytes == 0 || (share != 0 && share < bytes) ? share : bytes;
}

static uint64_t resident_limit(uint64_t now_ns) {
	uint64_t percent = VALUE(dump_resident_percent);
	return smaller_limit(VALUE(dump_resident), percent,
			     percent ? cgroup_limit(now_ns) : UINT64_MAX);
}

/* Memory may grow quickly between two ticks: the nearer the limit, the sooner the next check. */
void mw_triggers_grew(uint64_t in_use_bytes) {
	if (!mw_store_exists())
		return;
	if (is_new_height(in_use_bytes)) {
		mw_due_dumps_add(MW_DUMP_peak);
		mw_due_dumps_write_soon();
	}
	uint64_t next = atomic_load_explicit(&triggers.look_at_bytes, memory_order_relaxed);
	if (in_use_bytes < next)
		return;
	uint64_t limit = resident_limit(mw_os_monotonic_ns());
	uint64_t resident = limit ? mw_os_resident_bytes(NULL) : 0;
	uint64_t room = resident < limit ? (limit - resident) / LOOKS_TO_LIMIT : 0;
	atomic_store_explicit(&triggers.look_at_bytes,
			      in_use_bytes + (room > LOOK_MIN_BYTES ? room : LOOK_MIN_BYTES),
			      memory_order_relaxed);
	if (passes(&triggers.above_resident, resident, limit)) {
		mw_due_dumps_add(MW_DUMP_resident);
		mw_due_dumps_write_soon();
	}
}

void mw_triggers_tick(void) {
	if (!atomic_load_explicit(&mw_triggers_armed, memory_order_relaxed))
		return;
	/* Memory may have been freed since the last check. */
	atomic_store_explicit(&triggers.look_at_bytes, 0, memory_order_relaxed);
	uint64_t now_ns = mw_os_monotonic_ns();
	if (has_come(&triggers.next_time_ns, now_ns, VALUE(dump_seconds) * 1000000000u))
		mw_due_dumps_add(MW_DUMP_time);
	uint64_t resident =
		atomic_load_explicit(&mw_store_live()->resident_bytes, memory_order_relaxed);
	if (passes(&triggers.above_resident, resident, resident_limit(now_ns)))
		mw_due_dumps_add(MW_DUMP_resident);
	mw_triggers_check();
}

uint64_t mw_triggers_background(void) {
	if (!atomic_load_explicit(&mw_triggers_armed, memory_order_relaxed))
		return UINT64_MAX;
	/* Called here as well: the last tick may be recent, and a time may have come since. */
	mw_triggers_tick();
	mw_due_dumps_write();
	uint64_t now_ns = mw_os_monotonic_ns(), next = UINT64_MAX;
	if (VALUE(dump_seconds))
		next = atomic_load_explicit(&triggers.next_time_ns, memory_order_relaxed);
	if ((VALUE(dump_resident) || VALUE(dump_resident_percent) || mw_due_dumps_any()) &&
	    next > now_ns + RESIDENT_CHECK_NS)
		next = now_ns + RESIDENT_CHECK_NS;
	return next;
}

void mw_triggers_request(uint64_t bytes, uint32_t stack) {
	mw_event_log_add(MW_EVENT_REQUEST, bytes, stack);
	if (VALUE(request_report) &&
	    atomic_fetch_add_explicit(&triggers.reports, 1, memory_order_relaxed) < REPORTS_MAX) {
		mw_warn("request of %lu bytes by thread %u:", (unsigned long)bytes,
			mw_os_thread_id());
		mw_crash_print_stack(stack);
	}
	if (VALUE(request_dump)) {
		mw_due_dumps_add(MW_DUMP_request);
		mw_due_dumps_write_soon();
	}
}

static void fire(mw_dump_reason_t reason) {
	mw_due_dumps_add(reason);
	mw_due_dumps_write();
}

void mw_triggers_exit(void) {
	if (VALUE(prof_final))
		fire(MW_DUMP_exit);
}

/* ---- settings ---- */

static bool is_signal(mw_setting_t setting) {
	return setting == MW_SETTING_dump_signal || setting == MW_SETTING_leak_signal;
}

static void change_request_limit(uint64_t bytes) {
	uint64_t limit = bytes == 0 ? UINT64_MAX : bytes;
	if (limit < REQUEST_MIN_BYTES)
		limit = REQUEST_MIN_BYTES;
	/* Relaxed: each thread applies the value at its next check. */
	atomic_store_explicit(&mw_heap_certain_bytes, limit, memory_order_relaxed);
}

static size_t heap_limit(uint64_t bytes, uint64_t percent) {
	uint64_t whole_bytes = percent ? mw_os_cgroup_limit_bytes("") : UINT64_MAX;
	uint64_t limit = smaller_limit(bytes, percent, whole_bytes);
	return limit ? limit : SIZE_MAX;
}

/* Memory that the heap has already stays: the limits apply to further memory. */
static void change_heap_limits(void) {
	mw_limit_set(heap_limit(VALUE(soft_limit), VALUE(soft_limit_percent)),
		     heap_limit(VALUE(hard_limit), VALUE(hard_limit_percent)));
}

/* Counts from now on, not from the start of the process. */
static void arm_counters(void) {
	bool known = mw_store_exists();
	atomic_fetch_add_explicit(&triggers.generation, 1, memory_order_relaxed);
	atomic_store_explicit(&triggers.next_allocated,
			      (known ? allocated_bytes() : 0) + VALUE(prof_interval),
			      memory_order_relaxed);
	atomic_store_explicit(&triggers.next_freed, (known ? freed_bytes() : 0) + VALUE(dump_freed),
			      memory_order_relaxed);
	atomic_store_explicit(&triggers.peak, known ? live_bytes() : 0, memory_order_relaxed);
	atomic_store_explicit(&triggers.use_peak, 0, memory_order_relaxed);
}

static void arm_time(void) {
	atomic_store_explicit(&triggers.next_time_ns,
			      mw_os_monotonic_ns() + VALUE(dump_seconds) * 1000000000u,
			      memory_order_relaxed);
}

static void arm(void) {
	bool armed = VALUE(prof_interval) || VALUE(dump_freed) || VALUE(dump_peak) ||
		     VALUE(dump_peak_percent) || VALUE(dump_live) || VALUE(dump_resident) ||
		     VALUE(dump_resident_percent) || VALUE(dump_seconds) || VALUE(dump_signal) ||
		     VALUE(request_dump);
	atomic_store_explicit(&mw_triggers_armed, armed, memory_order_relaxed);
	if (VALUE(dump_seconds) || VALUE(dump_resident) || VALUE(dump_resident_percent)) {
		mw_heap_want_background();
		/* The background thread may sleep without a time limit. */
		mw_heap_wake_background();
	}
}

bool mw_triggers_set(mw_setting_t setting, uint64_t value) {
	uint64_t old = mw_triggers_value(setting);
	if (value < ranges[setting].min || value > ranges[setting].max)
		return false;
	if (value == old)
		return true;
	if (is_signal(setting) && !mw_due_dumps_change_signal(setting, old, value))
		return false;
	atomic_store_explicit(&triggers.values[setting], value, memory_order_relaxed);
	switch (setting) {
	case MW_SETTING_prof_interval:
	case MW_SETTING_dump_freed:
	case MW_SETTING_dump_peak:
	case MW_SETTING_dump_peak_percent:
		arm_counters();
		break;
	case MW_SETTING_dump_live:
		atomic_store_explicit(&triggers.above_live, false, memory_order_relaxed);
		break;
	case MW_SETTING_dump_resident:
	case MW_SETTING_dump_resident_percent:
		atomic_store_explicit(&triggers.above_resident, false, memory_order_relaxed);
		break;
	case MW_SETTING_dump_seconds:
		arm_time();
		break;
	case MW_SETTING_request_limit:
		change_request_limit(value);
		break;
	case MW_SETTING_soft_limit:
	case MW_SETTING_soft_limit_percent:
	case MW_SETTING_hard_limit:
	case MW_SETTING_hard_limit_percent:
		change_heap_limits();
		break;
	case MW_SETTING_crash_report:
		mw_crash_set_report(value != 0);
		break;
	case MW_SETTING_dump_max:
		mw_due_dumps_set_max(value);
		break;
	case MW_SETTING_dump_min_ms:
		mw_due_dumps_set_interval(value * 1000000u);
		break;
	case MW_SETTING_prof_mappings:
		mw_mappings_set(value != 0);
		break;
	case MW_SETTING_dump_keep:
		mw_dump_set_keep((unsigned)value);
		break;
	default:
		break;
	}
	arm();
	return true;
}

bool mw_triggers_set_name(const char *dump_name) {
	if (mw_strnlen(dump_name, sizeof triggers.name) == sizeof triggers.name)
		return false;
	mw_fmt_copy(triggers.name, sizeof triggers.name, dump_name);
	mw_dump_set_name(dump_name);
	return true;
}

static void show_name(char *live) {
	if (live)
		memcpy(live + MW_LIVE(dump_name), triggers.name, sizeof triggers.name);
}

void mw_triggers_show(void) {
	mw_both_t live = mw_store_live_both();
	for (size_t i = 0; i < MW_SETTING_COUNT; i++)
		mw_both_set64(live, MW_LIVE(settings) + i * sizeof(uint64_t),
			      mw_triggers_value((mw_setting_t)i));
	mw_both_set32(live, MW_LIVE(setting_count), MW_SETTING_COUNT);
	show_name(live.table);
	show_name(live.published);
}

void mw_triggers_start(const uint64_t settings[MW_SETTING_COUNT], const char *dump_name) {
	for (size_t i = 0; i < MW_SETTING_COUNT; i++)
		atomic_store_explicit(&triggers.values[i], 0, memory_order_relaxed);
	mw_due_dumps_set_max(0);
	mw_due_dumps_set_interval(0);
	mw_triggers_set_name(dump_name);
	for (size_t i = 0; i < MW_SETTING_COUNT; i++)
		if (!mw_triggers_set((mw_setting_t)i, settings[i]) && is_signal((mw_setting_t)i))
			mw_warn("%s_signal:%lu: the program or another option handles this "
				"signal, or no program can handle it; choose another",
				i == MW_SETTING_dump_signal ? "dump" : "leak",
				(unsigned long)settings[i]);
	atomic_store_explicit(&triggers.generation, FIRST_GENERATION, memory_order_relaxed);
}

void mw_triggers_reset(void) {
	arm_counters();
	atomic_store_explicit(&triggers.above_live, false, memory_order_relaxed);
}

void mw_triggers_forked(void) {
	mw_due_dumps_forked();
	atomic_store_explicit(&triggers.reports, 0, memory_order_relaxed);
	arm_counters();
	arm_time();
}
