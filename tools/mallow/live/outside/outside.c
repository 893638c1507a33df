/* SPDX-License-Identifier: MIT
 * outside.c -- the process that samples, and how its result comes back: lines of text. */
#include "live/outside/outside.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "live/bpf/ring.h"
#include "live/outside/cpu_clock.h"
#include "live/outside/guard.h"
#include "live/outside/result_lines.h"
#include "live/outside/samples.h"
#include "live/process/process.h"
#include "live/process/reach.h"
#include "model/memory.h"
#include "model/monotonic.h"
#include "symbol/workers/confine.h"

/* How often the process, the time and the cost are looked at. */
#define STEP_MS 200
/* How many samples are taken between two looks. */
#define BATCH 256
/* Largest block of an operator new whose return is probed.  Larger ones may throw, which ends a
 * program whose return is probed. */
#define NEW_BYTES_MAX ((uint64_t)1 << 30)

typedef struct watch {
	const mw_outside_options_t *options;
	mw_reach_t reach;
	mw_outside_modules_t modules;
	mw_outside_functions_t functions;
	mw_probe_maps_t maps;
	mw_probe_plan_t plan;
	mw_uprobes_t probes;
	mw_bpf_ring_t ring;
	mw_cpu_clock_t clock;
	mw_outside_samples_t *samples;
	mw_outside_cost_t cost;
	uint64_t stack_start, cpu_ns; /* at the begin */
	double begin_seconds;
	mw_outside_result_t *result;
} watch_t;

/* An address that is another one in each program that a process runs: where the stack begins. */
static uint64_t stack_start(int pid) {
	char path[64], line[1024] = "", *at;
	unsigned long long start = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *file = fopen(path, "re");
	size_t got = file != NULL ? fread(line, 1, sizeof(line) - 1, file) : 0;
	if (file != NULL)
		fclose(file);
	line[got] = '\0';
	at = strrchr(line, ')'); /* behind the name, which may have anything in it */
	for (int field = 2; at != NULL && field < 28; field++)
		at = strchr(at + 1, ' ');
	if (at == NULL || sscanf(at, "%llu", &start) != 1)
		return 0;
	return start;
}

/* The largest block of operator new whose return may be probed in this process: none if the process
 * has a limit at which new throws. */
static uint64_t new_bytes_max(int pid) {
	struct rlimit limit;
	int overcommit = 0;
	FILE *file = fopen("/proc/sys/vm/overcommit_memory", "re");
	if (file == NULL || fscanf(file, "%d", &overcommit) != 1)
		overcommit = 2;
	if (file != NULL)
		fclose(file);
	for (int i = 0; i < 2; i++)
		if (prlimit(pid, i == 0 ? RLIMIT_AS : RLIMIT_DATA, NULL, &limit) != 0 ||
		    limit.rlim_cur != RLIM_INFINITY)
			return 0;
	return overcommit == 2 ? 0 : NEW_BYTES_MAX;
}

static int find_functions(watch_t *watch, mw_error_t *error) {
	int pid = watch->options->pid;
	if (mw_outside_modules_read(&watch->modules, pid, error) != 0)
		return -1;
	for (size_t i = 0; i < watch->modules.count; i++)
		mw_outside_functions_add(&watch->functions, &watch->modules, i);
	if (watch->functions.count > 0)
		return 0;
	if (watch->modules.count == 0)
		return mw_error_set(error,
				    "pid %d: cannot open the files that it has mapped; --outside "
				    "needs CAP_CHECKPOINT_RESTORE, too: run it as root",
				    pid);
	return mw_error_set(error,
			    "pid %d: it has no malloc with a name; a static program needs its "
			    "symbols (no 'strip'), and Go programs have a profiler of their own",
			    pid);
}

static int check_cost(watch_t *watch, mw_error_t *error) {
	const mw_outside_options_t *options = watch->options;
	mw_probe_maps_t maps;
	if (mw_probe_maps_open(&maps, options->mean_bytes, error) != 0)
		return -1;
	watch->plan.maps = &maps;
	int result = mw_outside_cost_measure(&watch->plan, &watch->functions, &watch->modules,
					     options->pid, &watch->cost, error);
	mw_probe_maps_close(&maps);
	if (result != 0 || options->is_forced || !mw_outside_cost_is_high(&watch->cost))
		return result;
	return mw_error_set(error,
			    "pid %d: it calls its allocator %.0f times a second: probes would take "
			    "%.3g %% more CPU time, and more than %.0f %% is refused; --force does "
			    "it, 'mallow run' costs less",
			    options->pid, watch->cost.calls_per_second, watch->cost.share * 100,
			    MW_OUTSIDE_SHARE_MAX * 100);
}

static int prepare_probes(watch_t *watch, mw_error_t *error) {
	const mw_outside_options_t *options = watch->options;
	watch->plan.way = mw_probe_way(&watch->plan.session_type);
	if (options->has_return_probes)
		watch->plan.way = MW_PROBE_RETURNS;
	watch->plan.new_bytes_max = new_bytes_max(options->pid);
	watch->result->follows_new = watch->plan.new_bytes_max != 0;
	if (find_functions(watch, error) != 0 || check_cost(watch, error) != 0)
		return -1;
	if (mw_probe_maps_open(&watch->maps, options->mean_bytes, error) != 0)
		return -1;
	watch->plan.maps = &watch->maps;
	if (mw_bpf_ring_open(&watch->ring, watch->maps.ring, MW_PROBE_RING_BYTES, error) != 0)
		return -1;
	watch->samples = mw_outside_samples_new(options->pid, &watch->maps, &watch->modules,
						&watch->functions, error);
	return watch->samples != NULL ? 0 : -1;
}

static int prepare_clock(watch_t *watch, mw_error_t *error) {
	int pid = watch->options->pid;
	if (mw_outside_modules_read(&watch->modules, pid, error) != 0)
		return -1;
	watch->samples = mw_outside_samples_new(pid, NULL, &watch->modules, NULL, error);
	return watch->samples != NULL ? 0 : -1;
}

static int prepare(watch_t *watch, mw_error_t *error) {
	const mw_outside_options_t *options = watch->options;
	bool is_cpu = options->cpu_hz > 0;
	watch->stack_start = stack_start(options->pid);
	if ((is_cpu ? prepare_clock : prepare_probes)(watch, error) != 0)
		return -1;
	if (!mw_reach_holds(&watch->reach))
		return mw_error_set(error, "pid %d: the process has %s", options->pid,
				    mw_process_end(options->pid, options->start_ticks));
	watch->cpu_ns = mw_outside_cpu_ns(options->pid);
	watch->begin_seconds = mw_monotonic_seconds();
	if (is_cpu)
		return mw_cpu_clock_open(&watch->clock, options->pid, options->cpu_hz, error);
	return mw_outside_probe(&watch->probes, &watch->plan, &watch->functions, &watch->modules,
				options->pid, error);
}

/* Takes samples that are there, a number of them at most.  Returns how many. */
static size_t take_samples(watch_t *watch) {
	if (watch->options->cpu_hz > 0)
		return mw_cpu_clock_read(&watch->clock, mw_outside_samples_take_cpu,
					 watch->samples);
	return mw_bpf_ring_read(&watch->ring, BATCH, mw_outside_samples_take, watch->samples);
}

/* What the probes have cost since the begin. */
static double share_so_far(const watch_t *watch, double seconds) {
	mw_probe_counts_t counts = mw_probe_maps_counts(&watch->maps);
	mw_outside_cost_t cost = {0};
	uint64_t now_ns = mw_outside_cpu_ns(watch->options->pid);
	double cpu_ns = now_ns > watch->cpu_ns ? (double)(now_ns - watch->cpu_ns) : 0;
	mw_outside_cost_share(&cost, seconds * 1e9, cpu_ns,
			      (double)counts.calls * watch->cost.call_ns +
				      (double)counts.frees * watch->cost.free_ns);
	/* Of little time nothing is known. */
	return seconds >= 1 && mw_outside_cost_is_high(&cost) ? cost.share : 0;
}

/* Returns whether the sampling is over, with the reason in the result. */
static bool is_over(watch_t *watch, bool is_stopped, bool has_ended) {
	const mw_outside_options_t *options = watch->options;
	mw_outside_result_t *result = watch->result;
	/* 0: the process is about to end. */
	uint64_t start = stack_start(options->pid);
	result->seconds = mw_monotonic_seconds() - watch->begin_seconds;
	result->end = MW_OUTSIDE_TIME;
	if (has_ended || mw_process_has_ended(options->pid, options->start_ticks))
		result->end = MW_OUTSIDE_ENDED;
	else if (start != 0 && start != watch->stack_start)
		result->end = MW_OUTSIDE_EXEC;
	else if (is_stopped)
		result->end = MW_OUTSIDE_INTERRUPTED;
	else if (mw_outside_samples_are_full(watch->samples))
		result->end = MW_OUTSIDE_FULL;
	else if (!options->is_forced && options->cpu_hz == 0 &&
		 (result->end_share = share_so_far(watch, result->seconds)) > 0)
		result->end = MW_OUTSIDE_COSTLY;
	return result->end != MW_OUTSIDE_TIME ||
	       (options->seconds > 0 && result->seconds >= options->seconds);
}

static void say_progress(const watch_t *watch, double *said) {
	const mw_outside_options_t *options = watch->options;
	double past = mw_monotonic_seconds() - watch->begin_seconds;
	if (options->progress == NULL || past < *said)
		return;
	*said = past + 1;
	options->progress(options->pid, options->seconds > 0 ? options->seconds - past : past);
}

static void sample(watch_t *watch) {
	double said = 0, looked = mw_monotonic_seconds();
	bool goes_on = true;
	while (goes_on) {
		struct pollfd fds[] = {
			{.fd = watch->options->cpu_hz > 0 ? watch->clock.ready_fd
							  : watch->maps.ring,
			 .events = POLLIN},
			{.fd = watch->options->stop_fd, .events = POLLIN},
			{.fd = watch->reach.pidfd, .events = POLLIN},
		};
		poll(fds, 3, STEP_MS);
		take_samples(watch);
		bool is_news = fds[1].revents != 0 || fds[2].revents != 0;
		double now = mw_monotonic_seconds();
		if (!is_news && now - looked < STEP_MS / 1e3)
			continue;
		looked = now;
		goes_on = !is_over(watch, fds[1].revents != 0, fds[2].revents != 0);
		say_progress(watch, &said);
	}
}

/* Adds up what the clock and the samples have counted. */
static void finish_clock(watch_t *watch) {
	mw_outside_result_t *result = watch->result;
	size_t count;
	const mw_outside_stack_t *stacks = mw_outside_samples_stacks(watch->samples, &count);
	for (size_t i = 0; i < count; i++)
		result->samples += stacks[i].allocated.samples;
	result->lost = watch->clock.lost;
	result->is_user_only = watch->clock.is_user_only;
}

static void finish_probes(watch_t *watch) {
	mw_outside_result_t *result = watch->result;
	uint64_t older_ns = (uint64_t)(watch->options->older_seconds * 1e9);
	mw_outside_samples_end(watch->samples,
			       result->end_ns > older_ns ? result->end_ns - older_ns : 0);
	mw_probe_counts_t counts = mw_probe_maps_counts(&watch->maps);
	uint64_t nested = mw_outside_samples_nested(watch->samples) + counts.passed_on;
	result->calls = counts.calls;
	result->bytes = counts.bytes;
	result->samples = counts.sampled - counts.lost - nested;
	result->lost = counts.lost;
	result->unfollowed = counts.unfollowed;
	result->calls_per_second = watch->cost.calls_per_second;
	result->share = watch->cost.share;
	result->hit_ns = watch->cost.call_ns;
}

static void finish(watch_t *watch) {
	watch->result->end_ns = (uint64_t)(mw_monotonic_seconds() * 1e9);
	mw_uprobes_detach(&watch->probes);
	mw_cpu_clock_stop(&watch->clock);
	while (take_samples(watch) > 0)
		continue;
	(watch->options->cpu_hz > 0 ? finish_clock : finish_probes)(watch);
}

static void release(watch_t *watch) {
	mw_uprobes_detach(&watch->probes);
	mw_bpf_ring_close(&watch->ring);
	mw_probe_maps_close(&watch->maps);
	mw_cpu_clock_close(&watch->clock);
	if (watch->samples != NULL)
		mw_outside_samples_free(watch->samples);
	mw_outside_functions_release(&watch->functions);
	mw_outside_modules_release(&watch->modules);
	mw_reach_close(&watch->reach);
}

/* The other process.  The command has the handlers of signals: it says when to end, and its own end
 * ends this process, too. */
static int work(const void *context, FILE *out, mw_error_t *error) {
	mw_outside_result_t result = {.end = MW_OUTSIDE_TIME};
	watch_t watch = {.options = context, .result = &result, .clock.ready_fd = -1};
	const mw_process_key_t key = {.pid = watch.options->pid,
				      .start_ticks = watch.options->start_ticks};
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP};
	watch.maps = (mw_probe_maps_t){-1, -1, -1, -1, -1, -1, -1, 0, 0};
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mw_reach_open(&key, &watch.reach, error) != 0)
		return -1;
	int status = prepare(&watch, error);
	if (status == 0) {
		if (watch.options->begun != NULL)
			watch.options->begun(watch.options->pid);
		sample(&watch);
		finish(&watch);
		mw_outside_lines_write(out, &result, &watch.modules, watch.samples);
	}
	release(&watch);
	return status;
}

int mw_outside_run(const mw_outside_options_t *options, mw_outside_result_t *out,
		   mw_error_t *error) {
	char what[32], *text = NULL;
	size_t bytes = 0;
	*out = (mw_outside_result_t){.end = MW_OUTSIDE_TIME};
#if !defined(__x86_64__)
	return mw_error_set(error, "--outside knows x86-64 only; start the program with "
				   "'mallow run'");
#endif
	snprintf(what, sizeof(what), "pid %d", options->pid);
	FILE *lines = open_memstream(&text, &bytes);
	if (lines == NULL)
		return mw_error_set(error, "%s: %s", what, strerror(errno));
	int result = mw_confine(work, options, what, lines, error);
	fclose(lines);
	if (result == 0)
		result = mw_outside_lines_read(text, out, error);
	free(text);
	if (result != 0)
		mw_outside_result_release(out);
	return result;
}

void mw_outside_result_release(mw_outside_result_t *result) {
	for (size_t i = 0; i < result->stack_count; i++)
		free(result->stacks[i].frames);
	for (size_t i = 0; i < result->mapping_count; i++) {
		free(result->mappings[i].path);
		free(result->mappings[i].build_id);
	}
	free(result->stacks);
	free(result->mappings);
	free(result->threads);
	*result = (mw_outside_result_t){.end = MW_OUTSIDE_TIME};
}
