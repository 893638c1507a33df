/* SPDX-License-Identifier: MIT
 * guard.c -- counts and measures. */
#include "live/outside/guard.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "model/monotonic.h"

/* Nobody waits for it; in a program with 1,000 calls a second it sees 250. */
#define COUNT_NS 250000000
/* Calls of the measured function: some 3 ms in all, and 20 ms where each is single-stepped.  The
 * least time of several turns: others disturb them. */
#define TURNS 8
#define CALLS 250

uint64_t mw_outside_cpu_ns(int pid) {
	clockid_t clock;
	struct timespec time;
	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
		return 0;
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void mw_outside_cost_share(mw_outside_cost_t *cost, double wall_ns, double cpu_ns,
			   double probes_ns) {
	/* The program's own part: not less than a hundredth, as both times are estimates. */
	double own_ns = cpu_ns - probes_ns > cpu_ns / 100 ? cpu_ns - probes_ns : cpu_ns / 100;
	cost->load = probes_ns / wall_ns;
	cost->share = own_ns > 0 ? probes_ns / own_ns : 0;
}

bool mw_outside_cost_is_high(const mw_outside_cost_t *cost) {
	return cost->share > MW_OUTSIDE_SHARE_MAX && cost->load > MW_OUTSIDE_LOAD_MIN;
}

#if defined(__x86_64__)
/* A function whose first instruction the kernel emulates, and one whose first it does not. */
__asm__(".text\n"
	".p2align 4\n"
	"mw_guard_emulated: nop\n"
	"ret\n"
	".p2align 4\n"
	"mw_guard_stepped: endbr64\n"
	"ret\n");
void mw_guard_emulated(void *argument) __attribute__((visibility("hidden")));
void mw_guard_stepped(void *argument) __attribute__((visibility("hidden")));
#else
static void mw_guard_emulated(void *argument) {
	(void)argument;
}
static void mw_guard_stepped(void *argument) {
	(void)argument;
}
#endif

static double nanoseconds(void (*function)(void *argument)) {
	struct timespec begin, end;
	double least = 0;
	for (int turn = 0; turn < TURNS; turn++) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
		for (int i = 0; i < CALLS; i++)
			function((void *)1); /* for malloc a byte, for free no block */
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
		double one = ((double)(end.tv_sec - begin.tv_sec) * 1e9 +
			      (double)(end.tv_nsec - begin.tv_nsec)) /
			     CALLS;
		least = turn == 0 || one < least ? one : least;
	}
	return least;
}

static int attach(mw_uprobes_t *probes, const mw_probe_plan_t *plan, mw_probe_kind_t kind,
		  mw_uprobe_places_t places, mw_error_t *error) {
	int program = mw_probe_load(plan, kind, error), result = -1;
	if (program >= 0)
		result = mw_uprobes_attach(probes, program, mw_probe_attach_type(plan, kind),
					   &places, error);
	if (program >= 0)
		close(program);
	if (result != 0 || plan->way == MW_PROBE_SESSION || kind == MW_PROBE_FREE)
		return result;
	places.at_return = true;
	program = mw_probe_load_return(plan, error);
	result = program < 0 ? -1 : mw_uprobes_attach(probes, program, 0, &places, error);
	if (program >= 0)
		close(program);
	return result;
}

/* What one hit of a function of this command takes, with the program for a kind. */
static int measure(const mw_probe_plan_t *plan, const mw_outside_modules_t *own,
		   mw_probe_kind_t kind, void (*function)(void *argument), double *out,
		   mw_error_t *error) {
	const mw_outside_range_t *range =
		mw_outside_modules_find(own, (uint64_t)(uintptr_t)function);
	mw_uprobes_t probes = {.count = 0};
	if (range == NULL)
		return mw_error_set(error, "cannot find this command's own code");
	uint64_t offset = (uint64_t)(uintptr_t)function - range->start + range->offset;
	const mw_uprobe_places_t places = {
		.file = own->all[range->module].fd,
		.offsets = &offset,
		.count = 1,
		.pid = getpid(),
	};
	double before = nanoseconds(function);
	int result = attach(&probes, plan, kind, places, error);
	*out = result == 0 ? nanoseconds(function) - before : 0;
	mw_uprobes_detach(&probes);
	return result;
}

typedef struct hits {
	double call, free, step; /* `step`: what the place adds where it is not emulated */
} hits_t;

static int measure_hits(const mw_probe_plan_t *plan, hits_t *out, mw_error_t *error) {
	mw_outside_modules_t own = {.count = 0};
	double stepped = 0;
	int result = mw_outside_modules_read(&own, getpid(), error);
	if (result == 0)
		result = measure(plan, &own, MW_PROBE_MALLOC, mw_guard_emulated, &out->call, error);
	if (result == 0)
		result = measure(plan, &own, MW_PROBE_FREE, mw_guard_emulated, &out->free, error);
	if (result == 0)
		result = measure(plan, &own, MW_PROBE_MALLOC, mw_guard_stepped, &stepped, error);
	out->step = stepped > out->call ? stepped - out->call : 0;
	mw_outside_modules_release(&own);
	return result;
}

int mw_outside_cost_measure(const mw_probe_plan_t *plan, const mw_outside_functions_t *functions,
			    const mw_outside_modules_t *modules, int pid, mw_outside_cost_t *out,
			    mw_error_t *error) {
	hits_t hits = {0};
	mw_uprobes_t probes = {.count = 0};
	const struct timespec window = {.tv_nsec = COUNT_NS};
	*out = (mw_outside_cost_t){0};
	if (measure_hits(plan, &hits, error) != 0)
		return -1;
	if (!mw_probe_maps_reset(plan->maps))
		return mw_error_set(error, "cannot write the BPF maps");
	if (mw_outside_count(&probes, plan, functions, modules, pid, error) != 0) {
		mw_uprobes_detach(&probes);
		return -1;
	}
	double begin = mw_monotonic_seconds();
	uint64_t cpu_ns = mw_outside_cpu_ns(pid);
	nanosleep(&window, NULL);
	mw_probe_counts_t counts = mw_probe_maps_counts(plan->maps);
	cpu_ns = mw_outside_cpu_ns(pid) - cpu_ns;
	double wall_ns = (mw_monotonic_seconds() - begin) * 1e9;
	mw_uprobes_detach(&probes);
	double calls = (double)(counts.calls + counts.stepped_calls);
	double frees = (double)(counts.frees + counts.stepped_frees);
	double call_ns = calls * hits.call + (double)counts.stepped_calls * hits.step;
	double free_ns = frees * hits.free + (double)counts.stepped_frees * hits.step;
	out->call_ns = calls > 0 ? call_ns / calls : hits.call;
	out->free_ns = frees > 0 ? free_ns / frees : hits.free;
	out->calls_per_second = (calls + frees) / (wall_ns / 1e9);
	mw_outside_cost_share(out, wall_ns, (double)cpu_ns, call_ns + free_ns);
	return 0;
}
