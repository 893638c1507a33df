/* SPDX-License-Identifier: MIT
 * cpu_source.h -- the word live.cpu_hz: how often samples of CPU time are taken, and of which clock
 * or event. Layer: state. Bits 0..23: samples of each thread per second; 0: none. Bits 24..27:
 * mw_cpu_event_t. Bit 31: per second of wall-clock time, whether the thread runs or waits. */
#ifndef MW_STATE_CPU_SOURCE_H
#define MW_STATE_CPU_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* Largest number of samples per second. */
#define MW_CPU_HZ_MAX 10000u
#define MW_CPU_WALL (UINT32_C(1) << 31)
#define MW_CPU_EVENT_SHIFT 24
#define MW_CPU_EVENT_MAX 15u

/* Events of perf_event_open(2): name in C, name for users, unit of what a sample stands for. Their
 * samples have frames of the kernel, if it permits that. */
#define MW_CPU_EVENT_LIST(EVENT)                                                                   \
	EVENT(CPU_CLOCK, "cpu-clock", "nanoseconds") MW_CPU_COUNTED_LIST(EVENT)
/* The events whose samples count occurrences, not time. */
#define MW_CPU_COUNTED_LIST(EVENT)                                                                 \
	EVENT(CYCLES, "cycles", "count")                                                           \
	EVENT(CACHE_MISSES, "cache-misses", "count")                                               \
	EVENT(PAGE_FAULTS, "page-faults", "count")                                                 \
	EVENT(CONTEXT_SWITCHES, "context-switches", "count")

typedef enum mw_cpu_event {
	MW_CPU_BY_TIMER, /* no event: a timer of the thread's CPU time, or of wall-clock time */
#define EVENT(name, text, unit) MW_CPU_##name,
	MW_CPU_EVENT_LIST(EVENT)
#undef EVENT
		MW_CPU_EVENTS
} mw_cpu_event_t;

/* State of an entry of MW_SECTION_CPU: the kind of time or event that its samples stand for. */
typedef enum mw_cpu_state {
	MW_CPU_USED,        /* CPU time, of the thread that used it */
	MW_CPU_RUNNING,     /* wall-clock time: the thread ran, or waited for a processor */
	MW_CPU_WAITING,     /* wall-clock time: the thread waited in a system call */
	MW_CPU_FIRST_EVENT, /* and further: events, of mw_cpu_event_t from MW_CPU_CYCLES on */
	MW_CPU_STATES = MW_CPU_FIRST_EVENT + MW_CPU_EVENTS - MW_CPU_CYCLES
} mw_cpu_state_t;

/* Values of live.cpu_error: why the last request to take CPU samples failed. */
typedef enum mw_cpu_error {
	MW_CPU_FINE,
	MW_CPU_NO_MEMORY, /* no room for the samples */
	MW_CPU_NO_SIGNAL, /* the program handles or ignores all signals that would do */
	MW_CPU_NO_TIMER,  /* the kernel refused the first timer */
	MW_CPU_FORBIDDEN, /* the kernel does not permit the event (perf_event_paranoid) */
	MW_CPU_NO_EVENT,  /* the machine does not count the event */
	MW_CPU_USER_ONLY, /* no failure: the kernel permits no samples and frames of itself */
} mw_cpu_error_t;

static inline uint32_t mw_cpu_hz(uint32_t rate) {
	return rate & ((UINT32_C(1) << MW_CPU_EVENT_SHIFT) - 1);
}

static inline uint32_t mw_cpu_event(uint32_t rate) {
	return rate >> MW_CPU_EVENT_SHIFT & MW_CPU_EVENT_MAX;
}

static inline bool mw_cpu_is_wall(uint32_t rate) {
	return (rate & MW_CPU_WALL) != 0;
}

/* Returns whether a process takes the rate, which may be 0. */
static inline bool mw_cpu_rate_is_valid(uint32_t rate) {
	const uint32_t known = MW_CPU_WALL | ((UINT32_C(1) << 28) - 1);
	bool has_source = mw_cpu_is_wall(rate) || mw_cpu_event(rate) != MW_CPU_BY_TIMER;
	return (rate & ~known) == 0 && mw_cpu_hz(rate) <= MW_CPU_HZ_MAX &&
	       mw_cpu_event(rate) < MW_CPU_EVENTS && !(has_source && mw_cpu_hz(rate) == 0) &&
	       !(mw_cpu_is_wall(rate) && mw_cpu_event(rate) != MW_CPU_BY_TIMER);
}

/* Returns the state of an event's samples. Those of the CPU clock are CPU time. */
static inline mw_cpu_state_t mw_cpu_state_of_event(uint32_t event) {
	return event < MW_CPU_CYCLES ? MW_CPU_USED
				     : (mw_cpu_state_t)(MW_CPU_FIRST_EVENT + event - MW_CPU_CYCLES);
}

#endif
