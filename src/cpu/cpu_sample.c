/* SPDX-License-Identifier: MIT
 * cpu_sample.c -- the steps of a CPU sample: walk, encode, find the stack, count. */
#include "cpu/cpu_sample.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "cpu/thread_timers.h"
#include "os/file/proc.h"
#include "os/file/proc_maps.h"
#include "os/memory/map.h"
#include "os/platform/arch.h"
#include "os/time/clock.h"
#include "os/unwind/object.h"
#include "prof/control/control.h"
#include "prof/modules/modules.h"
#include "prof/sample/threads.h"
#include "prof/script/script.h"
#include "prof/store/index.h"
#include "prof/store/published.h"
#include "prof/store/store.h"
#include "prof/table/depot.h"
#include "prof/unwind/unwind.h"
#include "state/layout.h"

/* Samples that can be taken at the same time. Each has an array of frames of 4 KiB, which does not
 * lie on the interrupted stack: an alternate stack may have 8 KiB, of which the kernel takes up to
 * 3.5 for the processor's registers. */
#define BUFFERS MW_CLAIMS
#define CPU(field) offsetof(mw_state_cpu_t, field)
/* Frames of the kernel that a sample has at most. */
#define KERNEL_DEPTH_MAX 64u

typedef struct buffer {
	uint64_t frames[MW_STATE_DEPTH_MAX];
	uint32_t places[MW_STATE_DEPTH_MAX]; /* of the frames, on the stack */
} buffer_t;

static struct {
	buffer_t *buffers;     /* BUFFERS of them; NULL: not mapped yet */
	_Atomic uint64_t busy; /* bit i: buffers[i] is in use */
	mw_index_t index;      /* entries of MW_SECTION_CPU by stack and thread */
} samples MW_SPARSE;

/* What samples know of the calling thread. It is one variable, because each thread-local variable
 * costs every process resident bytes. */
static MW_TLS struct {
	/* Its entry in MW_SECTION_THREADS. A forked child has its parent's, with another thread id.
	 */
	uint32_t named_thread_id, named_number;
	uint64_t cpu_ns; /* its CPU time at its last sample */
} own;

/* ---- preparation ---- */

/* Registers the objects of program start, so that handlers seldom have to. They are never
 * unloaded. */
static bool register_object(void *context, const mw_os_mapping_t *mapping) {
	(void)context;
	uintptr_t lo, hi;
	uint64_t frame = mapping->start | MW_FRAME_EXACT;
	if (mapping->executable &&
	    mw_os_object_permanent(mapping->start, &lo, &hi) != MW_OS_NOT_PERMANENT)
		mw_modules_encode(&frame, 1);
	return true;
}

bool mw_cpu_sample_prepare(void) {
	if (!samples.buffers) {
		samples.buffers = mw_os_map(BUFFERS * sizeof *samples.buffers);
		if (!samples.buffers)
			return false;
		mw_index_start(&samples.index,
			       mw_store_header()->sections[MW_SECTION_CPU].capacity);
		/* From now on, also while this call takes entries. */
		mw_store_has_handlers = true;
	}
	/* Entry 0 is unused. */
	if (mw_store_used_bytes(MW_SECTION_CPU) == 0 &&
	    mw_store_take(MW_SECTION_CPU, 1) == MW_STORE_NO_ENTRY)
		return false;
	mw_tables_enter(&mw_control_table_lock);
	mw_os_visit_mappings(register_object, NULL);
	mw_tables_leave(&mw_control_table_lock);
	return true;
}

/* ---- counters ---- */

typedef struct key {
	uint32_t stack, thread_id;
	uint16_t processor, state;
} entry_key_t;

static const mw_state_cpu_t *entry_at(uint32_t number) {
	return mw_store_private(MW_SECTION_CPU, number);
}

static bool is_same(const void *thing, uint32_t number) {
	const entry_key_t *key = thing;
	const mw_state_cpu_t *entry = entry_at(number);
	return entry->stack == key->stack && entry->thread_id == key->thread_id &&
	       entry->processor == key->processor && entry->state == key->state;
}

/* The thread has a new stack: a rare moment, in which its name may have changed, too. */
static uint32_t append(const void *thing) {
	const entry_key_t *key = thing;
	uint64_t number = mw_store_take(MW_SECTION_CPU, 1);
	if (number == MW_STORE_NO_ENTRY)
		return 0;
	const mw_state_cpu_t head = {.stack = key->stack,
				     .thread_id = key->thread_id,
				     .processor = key->processor,
				     .state = key->state};
	mw_both_copy(mw_store_both(MW_SECTION_CPU, number), &head, CPU(samples));
	if (own.named_thread_id != key->thread_id)
		own.named_number = 0;
	own.named_thread_id = key->thread_id;
	own.named_number =
		mw_threads_put(own.named_number, key->thread_id, mw_os_monotonic_coarse_ns());
	return (uint32_t)number;
}

static uint32_t find_entry(const entry_key_t *key) {
	const mw_index_kind_t kind = {is_same, append};
	uint64_t hash = mw_depot_sum(MW_DEPOT_SUM_START, key->stack | (uint64_t)key->state << 32);
	hash = mw_depot_sum(hash, key->thread_id | (uint64_t)key->processor << 32);
	return mw_index_find(&samples.index, hash, key, kind);
}

static void count_live(size_t offset_bytes) {
	mw_both_add(mw_store_live_both(), offset_bytes, 1);
}

/* A thread that was interrupted in a system call waited there if it used less than half of the time
 * since its last sample: the kernel also sends the signal of a thread that runs when that leaves a
 * system call. */
static mw_cpu_state_t state_of(const mw_os_tick_t *tick, mw_cpu_period_t period) {
	if (!period.is_wall)
		return MW_CPU_USED;
	uint64_t now_ns = mw_os_thread_cpu_ns(), used_ns = now_ns - own.cpu_ns;
	own.cpu_ns = now_ns;
	uint64_t past_ns = period.ns * (1 + (uint64_t)tick->missed);
	return mw_os_interrupted_call(tick->context) && used_ns < past_ns / 2 ? MW_CPU_WAITING
									      : MW_CPU_RUNNING;
}

/* ---- events ---- */

/* What the kernel counted and recorded of a thread's event. */
typedef struct counted {
	uint32_t thread_id;
	uint32_t kernel_depth;
	int64_t events; /* since the thread's last sample; 0: an earlier sample has them */
} counted_t;

/* Reads the thread's event, and stores the kernel's frames. Returns false if another thread changes
 * the table of events. */
static bool read_event(counted_t *out, uint64_t *frames) {
	mw_thread_event_t *own_event = mw_thread_timers_event();
	if (!own_event)
		return false;
	mw_os_event_read_t now =
		mw_os_thread_event_read(own_event->event, frames, KERNEL_DEPTH_MAX);
	out->thread_id = mw_os_thread_id();
	out->events =
		now.count > own_event->counted ? (int64_t)(now.count - own_event->counted) : 0;
	own_event->counted += (uint64_t)out->events;
	out->kernel_depth = now.depth;
	for (uint32_t i = 0; i < now.depth; i++)
		frames[i] = MW_FRAME_KERNEL | (frames[i] & MW_FRAME_ADDRESS_MASK);
	if (now.depth > 0)
		frames[0] |= MW_FRAME_EXACT;
	return true;
}

/* ---- a sample ---- */

static size_t sum_offset(mw_cpu_period_t period) {
	return period.is_wall ? MW_LIVE(wall_ns) : MW_LIVE(cpu_ns);
}

/* Walks the interrupted stack, and encodes it behind the kernel's frames. */
static mw_script_stack_t capture(const mw_os_tick_t *tick, buffer_t *buffer, uint32_t inner) {
	bool has_script = mw_script_is_on();
	uint32_t *places = has_script ? buffer->places : NULL;
	uint64_t *frames = buffer->frames + inner;
	unsigned max = MW_STATE_DEPTH_MAX - inner;
	mw_unwind_result_t walk = mw_unwind_capture_interrupted(tick->context, frames, places, max);
	mw_script_stack_t stack = {.frames = frames,
				   .places = places,
				   .depth = walk.depth,
				   .max = max,
				   .truncated = walk.truncated};
	/* Asked before the PCs are encoded. */
	bool is_held = has_script && mw_script_is_held(frames, walk.depth);
	mw_modules_encode_at_once(frames, walk.depth);
	if (is_held)
		mw_script_merge(&stack);
	return stack;
}

static void count(const mw_os_tick_t *tick, mw_cpu_period_t period, buffer_t *buffer) {
	uint64_t *frames = buffer->frames;
	counted_t counted = {.thread_id = tick->thread_id,
			     .events = (int64_t)(period.ns * (1 + (uint64_t)tick->missed))};
	if (tick->is_event && !read_event(&counted, frames)) {
		count_live(MW_LIVE(cpu_dropped));
		return;
	}
	if (counted.events == 0)
		return;
	uint32_t inner = counted.kernel_depth;
	mw_script_stack_t walk = capture(tick, buffer, inner);
	const entry_key_t key = {
		.stack = mw_depot_find(frames, inner + walk.depth, walk.truncated),
		.thread_id = counted.thread_id,
		.processor = (uint16_t)mw_os_processor(),
		.state = (uint16_t)(period.event != MW_CPU_BY_TIMER
					    ? mw_cpu_state_of_event(period.event)
					    : state_of(tick, period)),
	};
	uint32_t number = find_entry(&key);
	if (number == 0) {
		count_live(MW_LIVE(cpu_dropped));
		return;
	}
	mw_both_t entry = mw_store_both(MW_SECTION_CPU, number);
	mw_both_add(entry, CPU(samples), 1);
	mw_both_add(entry, CPU(time_ns), counted.events);
	if (key.state < MW_CPU_FIRST_EVENT)
		mw_both_add(mw_store_live_both(), sum_offset(period), counted.events);
	count_live(MW_LIVE(cpu_samples));
	if (walk.truncated)
		count_live(MW_LIVE(cpu_truncated));
}

void mw_cpu_sample_take(const mw_os_tick_t *tick, mw_cpu_period_t period) {
	/* A child that was forked without the library's handlers. */
	if (mw_published_was_wiped())
		return;
	/* A reset and the publication of the state file need to be alone. A fork does not: what is
	 * half written stays unknown in the child, which has no samples of its parent. */
	bool is_inside = mw_tables_try_enter(&mw_control_table_lock);
	if (!is_inside &&
	    !atomic_load_explicit(&mw_control_view.is_forking, memory_order_seq_cst)) {
		count_live(MW_LIVE(cpu_dropped));
		return;
	}
	unsigned buffer = mw_claim(&samples.busy);
	if (buffer < BUFFERS) {
		count(tick, period, &samples.buffers[buffer]);
		mw_unclaim(&samples.busy, buffer);
	} else {
		count_live(MW_LIVE(cpu_dropped));
	}
	if (is_inside)
		mw_tables_leave(&mw_control_table_lock);
}

void mw_cpu_sample_reset(void) {
	uint64_t entries = mw_store_used_bytes(MW_SECTION_CPU) / sizeof(mw_state_cpu_t);
	mw_both_t live = mw_store_live_both();
	for (uint64_t i = 1; i < entries; i++) {
		mw_both_t entry = mw_store_both(MW_SECTION_CPU, i);
		mw_both_set64(entry, CPU(samples), 0);
		mw_both_set64(entry, CPU(time_ns), 0);
	}
	mw_both_set64(live, MW_LIVE(cpu_ns), 0);
	mw_both_set64(live, MW_LIVE(wall_ns), 0);
	mw_both_set64(live, MW_LIVE(cpu_samples), 0);
	mw_both_set64(live, MW_LIVE(cpu_truncated), 0);
	mw_both_set64(live, MW_LIVE(cpu_dropped), 0);
}

void mw_cpu_sample_forked(void) {
	/* Handlers of threads that do not exist here had these. */
	atomic_store_explicit(&samples.busy, 0, memory_order_relaxed);
	if (mw_store_used_bytes(MW_SECTION_CPU) > 0)
		mw_cpu_sample_reset();
}
