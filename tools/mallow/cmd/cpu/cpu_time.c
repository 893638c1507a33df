/* SPDX-License-Identifier: MIT
 * cpu_time.c -- `mallow cpu`: samples the CPU time of a live process for some time and shows it.
 * SIGINT and SIGTERM end the time early. Afterwards the process samples as before. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cli/pager.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "cmd/cpu/cpu_command.h"
#include "cmd/cpu/cpu_outside.h"
#include "cmd/cpu/lock_table.h"
#include "cmd/cpu/lock_waits.h"
#include "cmd/input/cpu_rate.h"
#include "cmd/input/load.h"
#include "cmd/profile/view.h"
#include "cmd/profile/view_request.h"
#include "formats/file/open_state_file.h"
#include "formats/state/state_file.h"
#include "live/control.h"
#include "live/process/process.h"
#include "live/sampling_lease.h"
#include "model/monotonic.h"
#include "symbol/kernel.h"
#include "view/table/memory_cost.h"

#define DEFAULT_SECONDS 30.0
#define COST_ROWS 40
/* How often the progress line changes, and whether the process still runs is looked at. */
#define STEP_NS 100000000
/* How often --locks looks at the threads. */
#define LOOK_NS 10000000

/* A program that is on a CPU for a smaller share of the time mostly waits. */
#define WAITING_SHARE 0.1

typedef struct cpu_job {
	const mw_arguments_t *arguments;
	double seconds, wait_seconds;
	uint32_t rate;          /* as live.cpu_hz */
	bool has_file;          /* the result is not a text for a person */
	bool is_cost;           /* --memory-cost */
	mw_lock_waits_t *locks; /* --locks; NULL: without */
} cpu_job_t;

/* Samples that were begun. */
typedef struct samples {
	mw_lease_t lease;
	mw_reply_t begun;
	uint64_t since_ns; /* CLOCK_MONOTONIC */
	bool has_faults;   /* of the kernel's frames, those that handle page faults are known */
	double stopped_seconds; /* in which a signal or a debugger had stopped the process */
	bool is_stopped;        /* at the end */
	char reset[160]; /* that the counters were set to zero meanwhile; "": they were not */
} samples_t;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
	(void)signal_number;
	interrupted = 1;
}

/* Looks whether the process is stopped, as it was for all of the time since the last look then. */
static void look_at_stop(const mw_target_t *target, samples_t *samples, double seconds) {
	mw_process_t process;
	int pid = mw_target_process(target);
	samples->is_stopped =
		pid > 0 && mw_process_read(mw_process_thread(pid), &process) && process.paused;
	samples->stopped_seconds += samples->is_stopped ? seconds : 0;
}

/* Looks at the locks that threads wait for.  The look does not count if the process has ended:
 * another process may have its pid. */
static void poll_locks(const cpu_job_t *job, mw_lease_t *lease) {
	if (job->locks == NULL)
		return;
	mw_lock_waits_poll(job->locks);
	if (!mw_lease_has_process(lease))
		mw_lock_waits_undo(job->locks);
}

/* Waits, and shows how far it is. Returns the seconds that it took. */
static double wait_for(const mw_target_t *target, const cpu_job_t *job, samples_t *samples) {
	mw_lease_t *lease = &samples->lease;
	struct sigaction action = {.sa_handler = on_interrupt}, interrupt, terminate, hangup;
	const struct timespec step = {.tv_nsec = job->locks != NULL ? LOOK_NS : STEP_NS};
	double begin = mw_monotonic_seconds(), past = 0, seconds = job->seconds;
	sigaction(SIGINT, &action, &interrupt);
	sigaction(SIGTERM, &action, &terminate);
	sigaction(SIGHUP, &action, &hangup);
	while (!interrupted && past < seconds && mw_lease_has_process(lease)) {
		mw_progress("pid %d: %s, %.0f of %.3g s; ^C shows what there is", target->pid,
			    mw_cpu_source(job->rate), past, seconds);
		const struct timespec rest = {.tv_nsec = (long)((seconds - past) * 1e9)};
		nanosleep(seconds - past < (double)step.tv_nsec / 1e9 ? &rest : &step, NULL);
		mw_lease_keep(lease);
		double now = mw_monotonic_seconds() - begin;
		look_at_stop(target, samples, now - past);
		past = now;
		/* A stopped process waits for no lock. */
		if (!samples->is_stopped)
			poll_locks(job, lease);
	}
	mw_progress_end();
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGTERM, &terminate, NULL);
	sigaction(SIGHUP, &hangup, NULL);
	return past;
}

static int read_cpu(int fd, const mw_target_t *target, mw_snapshot_t **snapshot,
		    mw_error_t *error) {
	return mw_target_read_fd(target, fd, MW_SNAPSHOT_STACKS | MW_SNAPSHOT_CPU, snapshot, error);
}

/* Says what makes the result incomplete. `seconds` becomes the time that it covers. */
static void say_notes(const mw_target_t *target, const mw_snapshot_t *after,
		      const mw_snapshot_t *before, samples_t *samples, double *seconds) {
	const mw_state_live_t *live = &after->live;
	double whole = *seconds;
	if (mw_snapshot_was_reset(after, before, seconds)) {
		snprintf(samples->reset, sizeof(samples->reset),
			 "'mallow reset' set the counters to zero after %.3g s: this is what was "
			 "sampled in the %.3g s since",
			 whole - *seconds, *seconds);
		mw_complain("note: pid %d: %s", target->pid, samples->reset);
	}
	if (samples->stopped_seconds > 0)
		mw_complain("note: pid %d: the process was stopped, by a signal or a debugger, for "
			    "about %.3g of %.3g s",
			    target->pid, samples->stopped_seconds, whole);
	if (live->cpu_error == MW_CPU_NO_SIGNAL)
		mw_complain(
			"note: pid %d: the samples ended early: the program has handlers of its "
			"own for all signals that would do",
			target->pid);
	if (live->cpu_truncated > 0)
		mw_complain("note: %llu of %llu stacks are truncated",
			    (unsigned long long)live->cpu_truncated,
			    (unsigned long long)live->cpu_samples);
	if (live->cpu_dropped > 0)
		mw_complain("note: %llu samples were dropped: the tables were locked or full",
			    (unsigned long long)live->cpu_dropped);
	if (live->cpu_refused > 0)
		mw_complain("note: the kernel refused timers to %llu threads, which are missing "
			    "(ulimit -i)",
			    (unsigned long long)live->cpu_refused);
}

/* Shows the time in malloc(), free() and page faults. */
static int show_memory_cost(const mw_target_t *target, const cpu_job_t *job, int fd,
			    const mw_snapshot_t *before, mw_snapshot_t *cpu,
			    const samples_t *samples, double seconds, mw_error_t *error) {
	mw_snapshot_t *heap;
	if (mw_target_read_fd(target, fd, MW_SNAPSHOT_STACKS | MW_SNAPSHOT_RECORDS, &heap, error) !=
	    0)
		return -1;
	mw_memory_cost_t cost = {.cpu = mw_profile_of_cpu(cpu),
				 .whole_run = mw_profile_from_snapshot(heap),
				 .seconds = seconds,
				 .row_limit = COST_ROWS,
				 .has_faults = samples->has_faults,
				 .is_json = job->arguments->options.json.given};
	mw_snapshot_since(heap, before, samples->since_ns);
	cost.heap = mw_profile_from_snapshot(heap);
	mw_load_names(target, NULL, MW_LOAD_SYMBOLS_NOTES, cost.cpu);
	mw_load_names(target, NULL, MW_LOAD_SYMBOLS, cost.heap);
	mw_load_names(target, NULL, MW_LOAD_SYMBOLS, cost.whole_run);
	mw_memory_cost_print(stdout, &cost);
	mw_profile_free(cost.cpu);
	mw_profile_free(cost.heap);
	mw_profile_free(cost.whole_run);
	mw_snapshot_free(heap);
	return 0;
}

/* Prints a note if the program waited most of the time: samples of CPU time show little of such a
 * program, and --wall shows what it waits for. */
static void say_waiting(const mw_target_t *target, const cpu_job_t *job,
			const mw_profile_t *profile, double seconds) {
	int type = mw_profile_find_type(profile, "cpu");
	if (type < 0 || seconds <= 0 || mw_cpu_is_wall(job->rate) ||
	    mw_cpu_event(job->rate) != MW_CPU_BY_TIMER)
		return;
	double share = (double)mw_profile_total(profile, (size_t)type) / 1e9 / seconds;
	if (share < WAITING_SHARE)
		mw_complain("note: pid %d was on a CPU %.2g %% of the time; 'mallow cpu --wall %d' "
			    "shows what it waits for",
			    target->pid, share * 100, target->pid);
}

/* Shows the locks that threads waited for. */
static int show_locks(const mw_target_t *target, const cpu_job_t *job, const mw_snapshot_t *after,
		      const samples_t *samples, double seconds, mw_error_t *error) {
	size_t count;
	mw_lock_table_t table;
	uint64_t looks;
	const mw_lock_wait_t *waits = mw_lock_waits_all(job->locks, &count, &looks);
	if (mw_lock_waits_were_refused(job->locks))
		return mw_error_set(error,
				    "pid %d: the kernel does not tell what its threads wait for: "
				    "that takes the right to trace the process (ptrace(2))",
				    target->pid);
	mw_profile_t *profile = mw_profile_of_cpu(after);
	mw_lock_table_make(&table, waits, count, profile);
	table.looks = looks;
	table.stopped_seconds = samples->stopped_seconds;
	table.seconds = seconds > table.stopped_seconds ? seconds - table.stopped_seconds : 0;
	mw_load_names(target, NULL, MW_LOAD_SYMBOLS_NOTES, profile);
	mw_lock_table_name(&table, profile);
	int result = 0;
	if (job->arguments->options.json.given)
		result = mw_print_json(mw_lock_table_json(&table, profile));
	else
		mw_lock_table_print(stdout, &table);
	mw_lock_table_release(&table);
	mw_profile_free(profile);
	return result;
}

static int show(const mw_target_t *target, const cpu_job_t *job, const mw_snapshot_t *after,
		const samples_t *samples, double seconds, mw_error_t *error) {
	mw_profile_t *profile = mw_profile_of_cpu(after);
	/* For who has the file, from `mallow serve` too. */
	if (samples->reset[0] != '\0')
		mw_profile_add_comment(profile, samples->reset);
	profile->duration_ns = (int64_t)(seconds * 1e9);
	/* The kernel chooses how many events lie between two samples. */
	if (mw_cpu_state_of_event(mw_cpu_event(job->rate)) < MW_CPU_FIRST_EVENT)
		profile->period = 1000000000 / mw_cpu_hz(job->rate);
	mw_load_names(target, NULL, MW_LOAD_SYMBOLS_NOTES, profile);
	int result = 0;
	if (profile->sample_count == 0)
		mw_complain("pid %d: no %s%s was sampled in %.3g s", target->pid,
			    mw_cpu_source(job->rate),
			    mw_cpu_event(job->rate) != MW_CPU_BY_TIMER ? " event" : "", seconds);
	say_waiting(target, job, profile, seconds);
	/* A file is written all the same: who asked for one reads it. */
	if (profile->sample_count > 0 || job->has_file)
		result = mw_view_show(job->arguments, profile, profile->sample_count, error);
	mw_profile_free(profile);
	return result;
}

/* Page faults are seen by the kernel's frames, which samples of the CPU clock have. Returns false,
 * with nothing begun, if there are none. */
static bool begin_with_faults(const mw_target_t *target, const cpu_job_t *job, samples_t *out) {
	uint32_t rate = job->rate | MW_CPU_CPU_CLOCK << MW_CPU_EVENT_SHIFT;
	mw_error_t ignored;
	if (!job->is_cost || !mw_kernel_has_names() ||
	    mw_lease_begin(&out->lease, target, rate, job->wait_seconds, &out->begun, &ignored) !=
		    0)
		return false;
	out->has_faults = out->begun.cpu_error != MW_CPU_USER_ONLY;
	if (!out->has_faults)
		mw_lease_end(&out->lease, NULL);
	return out->has_faults;
}

static int begin(const mw_target_t *target, const cpu_job_t *job, samples_t *out,
		 mw_error_t *error) {
	if (!begin_with_faults(target, job, out)) {
		if (mw_lease_begin(&out->lease, target, job->rate, job->wait_seconds, &out->begun,
				   error) != 0)
			return -1;
		if (job->is_cost)
			mw_complain("note: page faults are left out: the kernel does not permit "
				    "frames of its own, or their names "
				    "(kernel.perf_event_paranoid, kernel.kptr_restrict)");
	}
	out->since_ns = (uint64_t)(mw_monotonic_seconds() * 1e9);
	if (!out->has_faults && out->lease.rate != job->rate)
		mw_complain("note: pid %d: %u samples per second and not %u, because another "
			    "mallow began before",
			    target->pid, mw_cpu_hz(out->lease.rate), mw_cpu_hz(job->rate));
	if (out->begun.cpu_error == MW_CPU_USER_ONLY)
		mw_complain("note: the kernel permits no frames of its own, and no events in it "
			    "(kernel.perf_event_paranoid)");
	return 0;
}

/* The process has not seen the request: the profile would be empty. */
static int say_not_begun(const mw_target_t *target, const cpu_job_t *job, samples_t *samples,
			 mw_error_t *error) {
	const char *why = samples->begun.why.text;
	samples->lease.wait_seconds = 0;
	mw_lease_end(&samples->lease, NULL);
	return mw_error_set(
		error,
		"pid %d: nothing was sampled: the process has not allocated for %.3g s, "
		"so it has not seen the request%s%s",
		target->pid, job->wait_seconds, why[0] != '\0' ? "; " : "", why);
}

/* True if the process is stopped and there is nothing to show. */
static bool is_empty_by_stop(const cpu_job_t *job, const mw_snapshot_t *after,
			     const samples_t *samples) {
	size_t waits = 0;
	uint64_t looks;
	if (job->locks != NULL)
		mw_lock_waits_all(job->locks, &waits, &looks);
	return samples->is_stopped &&
	       (job->locks != NULL ? waits == 0 : after->live.cpu_samples == 0);
}

/* Takes samples between two copies of the state file, which is kept open, because the process may
 * end meanwhile. */
static int sample(const mw_target_t *target, const cpu_job_t *job, int fd, mw_error_t *error) {
	mw_snapshot_t *before, *after;
	samples_t samples = {0};
	if (read_cpu(fd, target, &before, error) != 0)
		return -1;
	if (before->live.flags & MW_STATE_ATTACHED) {
		char pid[16];
		mw_snapshot_free(before);
		snprintf(pid, sizeof(pid), "%d", mw_target_process(target));
		return mw_cpu_outside(job->arguments, pid, mw_cpu_hz(job->rate), job->seconds,
				      error);
	}
	if (begin(target, job, &samples, error) != 0) {
		mw_snapshot_free(before);
		return -1;
	}
	if (samples.begun.outcome == MW_OUTCOME_PENDING && mw_lease_has_process(&samples.lease)) {
		mw_snapshot_free(before);
		return say_not_begun(target, job, &samples, error);
	}
	double seconds = wait_for(target, job, &samples);
	if (!mw_lease_has_process(&samples.lease))
		mw_complain("note: pid %d: the process %s after %.3g s", target->pid,
			    mw_target_end(target, fd), seconds);
	mw_lease_end(&samples.lease, NULL);
	if (samples.lease.lost_seconds > 0)
		mw_complain(
			"note: pid %d: nothing was sampled for about %.3g s, in which this command "
			"was stopped or suspended",
			target->pid, samples.lease.lost_seconds);
	int result = read_cpu(fd, target, &after, error);
	if (result == 0) {
		mw_snapshot_cpu_since(after, before);
		if (!is_empty_by_stop(job, after, &samples))
			say_notes(target, after, before, &samples, &seconds);
		if (is_empty_by_stop(job, after, &samples))
			result = mw_error_set(error,
					      "pid %d: nothing was sampled: the process is "
					      "stopped, by a signal or a debugger; 'kill -CONT %d' "
					      "has it go on",
					      target->pid, target->pid);
		else if (job->is_cost)
			result = show_memory_cost(target, job, fd, before, after, &samples, seconds,
						  error);
		else if (job->locks != NULL)
			result = show_locks(target, job, after, &samples, seconds, error);
		else
			result = show(target, job, after, &samples, seconds, error);
		mw_snapshot_free(after);
	}
	mw_snapshot_free(before);
	return result;
}

static int work(const mw_target_t *target, const void *context, mw_error_t *error) {
	const cpu_job_t *job = context;
	if (!target->is_state || !target->alive)
		return mw_error_set(error,
				    "%s: it is no live process; 'mallow top --cpu' shows the CPU "
				    "time in a state file",
				    target->shown);
	if (job->locks != NULL && mw_target_process(target) <= 0)
		return mw_error_set(error, "%s: --locks needs a process that can be seen from here",
				    target->shown);
	int fd = mw_open_file(target->path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return mw_error_set(error, "%s: %s", target->shown, strerror(errno));
	if (job->locks != NULL)
		mw_lock_waits_begin(job->locks, target->pid);
	int result = sample(target, job, fd, error);
	close(fd);
	return result;
}

/* The table of --memory-cost is of CPU time, that of --locks of wall-clock time; they have no other
 * form. */
static bool is_alone(const mw_arguments_t *arguments, const char *table,
		     const char *const *others) {
	for (; mw_argument(arguments, table)->given && *others != NULL; others++)
		if (mw_argument(arguments, *others)->given) {
			mw_complain("cpu: --%s and --%s do not go together", *others, table);
			return false;
		}
	return true;
}

static bool are_tables_alone(const mw_arguments_t *arguments) {
	static const char *const beside_cost[] = {"wall", "event", "output", "format", NULL};
	static const char *const beside_locks[] = {"memory-cost", "event", "output", "format",
						   NULL};
	return is_alone(arguments, "memory-cost", beside_cost) &&
	       is_alone(arguments, "locks", beside_locks);
}

/* pprof's --seconds means the same as --for. */
static double chosen_seconds(const mw_arguments_t *arguments) {
	const mw_seconds_value_t *length = &arguments->options.for_time;
	const mw_number_value_t *seconds = &arguments->options.seconds;
	if (length->given)
		return length->seconds;
	return seconds->given && seconds->number > 0 ? (double)seconds->number : DEFAULT_SECONDS;
}

/* A process with a state file that it was attached to is seen when that is read. */
static bool is_outside(const mw_arguments_t *arguments) {
	mw_target_t target;
	mw_error_t ignored;
	const char *word = arguments->operands[0];
	if (arguments->options.outside.given)
		return true;
	if (!mw_cpu_is_without_mallow(word))
		return false;
	bool has_file = mw_target_resolve(word, &target, &ignored) == 0;
	if (has_file)
		mw_target_release(&target);
	return !has_file;
}

static int sample_outside(const cpu_job_t *job) {
	mw_error_t error;
	int status = mw_cpu_outside(job->arguments, job->arguments->operands[0],
				    mw_cpu_hz(job->rate), job->seconds, &error);
	if (status >= 0)
		return status;
	mw_complain("%s", error.text);
	return MW_EXIT_TROUBLE;
}

int mw_cmd_cpu(const mw_arguments_t *arguments) {
	const mw_seconds_value_t *wait = &arguments->options.wait;
	mw_view_request_t request;
	mw_error_t error;
	cpu_job_t job = {
		.arguments = arguments,
		.seconds = chosen_seconds(arguments),
		.wait_seconds = wait->given ? wait->seconds : MW_REQUEST_WAIT_SECONDS,
		.rate = MW_CPU_DEFAULT_HZ,
		.is_cost = arguments->options.memory_cost.given,
		.locks = arguments->options.locks.given ? mw_lock_waits_new() : NULL,
	};
	if (!mw_cpu_rate_take(arguments, &arguments->options.rate, &job.rate))
		return MW_EXIT_TROUBLE;
	if (!are_tables_alone(arguments))
		return MW_EXIT_TROUBLE;
	if (arguments->options.locks.given)
		job.rate |= MW_CPU_WALL;
	mw_load_take_options(arguments);
	mw_view_request_make(arguments, &request);
	if (mw_view_request_check(&request, &error) != 0) {
		mw_complain("%s", error.text);
		return MW_EXIT_TROUBLE;
	}
	job.has_file = request.path != NULL || request.picture != NULL;
	if (!job.has_file)
		mw_pager_begin(arguments);
	int status = is_outside(arguments) ? sample_outside(&job)
					   : mw_on_target(arguments->operands[0], work, &job);
	mw_lock_waits_free(job.locks);
	return status;
}
