/* SPDX-License-Identifier: MIT
 * ticks.c -- readings of two clocks side by side. */
#include "os/ticks.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "os/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* The kernel slews its clock by 500 ppm at most: half a microsecond. */
#define LASTS_NS 1000000u
/* A product of so many ticks stays within 64 bits for ticks of up to 256 ns. */
#define LASTS_TICKS ((uint64_t)1 << 24)
/* Two clocks are read at one moment when this passes between: 1.5 microseconds at 2.7 GHz.  If not,
 * the thread was interrupted. */
#define MOMENT_TICKS 4096u
/* Readings so far apart tell a tick's length to a ten-thousandth, a microsecond in ten
 * milliseconds; much later ones may have a suspended machine in between. */
#define APART_MIN_NS 10000000u
#define APART_MAX_NS 1000000000u

typedef struct reading {
	uint64_t ticks; /* 0: none */
	uint64_t ns;
} reading_t;

static MW_TLS reading_t last;
/* Nanoseconds, in 2^-32; 0: not known.  Relaxed: a number by itself. */
static _Atomic uint64_t tick_ns_q32;
static _Atomic bool unsteady;

#ifdef MW_TESTING
static uint64_t (*test_source)(void);

void mw_os_ticks_set_source(uint64_t (*source)(void)) {
	test_source = source;
	last = (reading_t){0};
	tick_ns_q32 = 0;
	unsteady = false;
}
#endif

static inline uint64_t read_ticks(void) {
#ifdef MW_TESTING
	if (test_source)
		return test_source();
#endif
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#endif
}

/* Does it count at one rate, whatever the processor does? */
static bool is_steady(void) {
#if defined(__x86_64__)
	/* "Invariant TSC", in AMD's and Intel's manuals alike. */
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
#else
	return true; /* by its architecture */
#endif
}

/* From two readings of this thread. */
static void measure(uint64_t ticks, uint64_t ns) {
	if (ns < APART_MIN_NS || ns > APART_MAX_NS || ticks == 0 ||
	    atomic_load_explicit(&unsteady, memory_order_relaxed))
		return;
	/* Asked once: it may take a virtual machine's monitor microseconds to answer. */
	if (atomic_load_explicit(&tick_ns_q32, memory_order_relaxed) == 0 && !is_steady()) {
		atomic_store_explicit(&unsteady, true, memory_order_relaxed);
		return;
	}
	atomic_store_explicit(&tick_ns_q32, (ns << 32) / ticks, memory_order_relaxed);
}

static void keep(uint64_t ticks, uint64_t ns) {
	/* A signal handler of this thread may come in between. */
	last.ticks = 0;
	atomic_signal_fence(memory_order_seq_cst);
	last.ns = ns;
	atomic_signal_fence(memory_order_seq_cst);
	last.ticks = ticks;
}

static MW_NOINLINE uint64_t read_anew(void) {
	uint64_t ticks = read_ticks(), ns = mw_os_monotonic_ns();
	if (read_ticks() - ticks > MOMENT_TICKS)
		return ns;
	uint64_t since_ns = ns - last.ns;
	if (last.ticks != 0)
		measure(ticks - last.ticks, since_ns);
	/* The first of two that are to tell a tick's length stays until then. */
	if (last.ticks == 0 || since_ns >= APART_MIN_NS ||
	    atomic_load_explicit(&tick_ns_q32, memory_order_relaxed) != 0)
		keep(ticks, ns);
	return ns;
}

uint64_t mw_os_quick_ns(void) {
#ifdef MW_TESTING
	if (mw_os_clock_has_source() && !test_source)
		return mw_os_monotonic_ns();
#endif
	uint64_t since = read_ticks() - last.ticks;
	uint64_t ns = since * atomic_load_explicit(&tick_ns_q32, memory_order_relaxed) >> 32;
	/* 0: a tick's length is not known. */
	if (MW_LIKELY(since < LASTS_TICKS && ns - 1 < LASTS_NS))
		return last.ns + ns;
	return read_anew();
}
