/* SPDX-License-Identifier: MIT
 * ticks.c -- readings of two clocks side by side. */
#include "os/time/ticks.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "os/time/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Longest use of a reading. The kernel slews its clock by at most 500 ppm: half a microsecond. */
#define LASTS_NS 1000000u
/* Most ticks that are converted. The product stays within 64 bits for ticks of up to 256 ns. */
#define LASTS_TICKS ((uint64_t)1 << 24)
/* Most ticks between the readings of two clocks that count as one moment: 1.5 microseconds at 2.7
 * GHz. More ticks mean that the thread was interrupted. */
#define MOMENT_TICKS 4096u
/* Time between two readings that give the length of a tick. The shortest gives it to one part in
 * 10,000. Between readings further apart than the longest, the machine may have been suspended. */
#define APART_MIN_NS 10000000u
#define APART_MAX_NS 1000000000u

typedef struct reading {
	uint64_t ticks; /* 0: none */
	uint64_t ns;
} reading_t;

static MW_TLS reading_t last;
/* Length of a tick in units of 2^-32 ns; 0: unknown. Relaxed: no other data depends on it. */
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

/* Returns whether the counter has a constant rate in all states of the processor. */
static bool is_steady(void) {
#if defined(__x86_64__)
	/* The bit "Invariant TSC" of AMD's and Intel's manuals. */
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
#else
	return true; /* the architecture guarantees it */
#endif
}

/* Computes the length of a tick from two readings of this thread, `ticks` and `ns` apart. */
static void measure(uint64_t ticks, uint64_t ns) {
	if (ns < APART_MIN_NS || ns > APART_MAX_NS || ticks == 0 ||
	    atomic_load_explicit(&unsteady, memory_order_relaxed))
		return;
	/* is_steady() is called once, because cpuid takes microseconds in a virtual machine. */
	if (atomic_load_explicit(&tick_ns_q32, memory_order_relaxed) == 0 && !is_steady()) {
		atomic_store_explicit(&unsteady, true, memory_order_relaxed);
		return;
	}
	atomic_store_explicit(&tick_ns_q32, (ns << 32) / ticks, memory_order_relaxed);
}

static void keep(uint64_t ticks, uint64_t ns) {
	/* A signal handler of this thread may read the clock between these stores; 0: no reading.
	 */
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
	/* While the length of a tick is unknown, the first of the two readings that will give it is
	 * kept. */
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
	/* ns == 0: the length of a tick is unknown. */
	if (MW_LIKELY(since < LASTS_TICKS && ns - 1 < LASTS_NS))
		return last.ns + ns;
	return read_anew();
}
