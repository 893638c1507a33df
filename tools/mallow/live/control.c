/* SPDX-License-Identifier: MIT
 * control.c -- the command's side of the control protocol (state/layout.h).
 * The file belongs to another process, which may truncate it at any time.  Access to a page that
 * no longer exists raises SIGBUS; the command then ends the request with an error. */
#include "live/control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "formats/file/open_state_file.h"
#include "formats/state/state_file.h"
#include "live/control_page.h"
#include "live/enter/enter.h"
#include "live/process/process.h"
#include "live/process/reach.h"
#include "model/monotonic.h"
#include "state/layout.h"

/* Rate that `start` requests if the process never had one: the library's default. */
#define DEFAULT_MEAN_BYTES ((uint64_t)512 << 10)
/* Longest wait for the lock.  The lock is held for a few stores, so a process that holds it
 * longer is stopped or damaged. */
#define LOCK_WAIT_NS 1000000000ull
#define POLL_MIN_NS 200000u
#define POLL_MAX_NS 20000000u
#define BY_ITSELF_NS ((uint64_t)(MW_REQUEST_BY_ITSELF_SECONDS * 1e9))
#define ANSWER_FIRST_NS ((uint64_t)(MW_REQUEST_ANSWER_SECONDS * 1e9))
/* Longest wait for a dump.  A dump of 100,000 samples takes 50 ms, and more on a slow disk. */
#define DUMP_WAIT_NS 5000000000ull
#define FOLLOW_ROUND_NS 100000000ull

typedef mw_control_page_t control_page_t;

static sigjmp_buf bus_jump;

static void on_bus_error(int signal_number) {
	(void)signal_number;
	siglongjmp(bus_jump, 1);
}

static void sleep_ns(uint32_t ns) {
	struct timespec pause = {.tv_nsec = (long)ns};
	nanosleep(&pause, NULL);
}

static void *map_section(int fd, const mw_state_section_t *section, uint64_t file_bytes,
			 size_t bytes, int protection) {
	if (section->offset_bytes > file_bytes || file_bytes - section->offset_bytes < bytes)
		return NULL;
	/* The page that the section begins on may also hold other sections. It is one of this
	 * machine's, whichever machine wrote the file. */
	uint64_t before = section->offset_bytes % (uint64_t)sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, before + bytes, protection, MAP_SHARED, fd,
			 (off_t)(section->offset_bytes - before));
	return map == MAP_FAILED ? NULL : map + before;
}

static void unmap_section(const void *section, size_t bytes) {
	uintptr_t before = (uintptr_t)section % (uintptr_t)sysconf(_SC_PAGESIZE);
	if (section)
		munmap((void *)((uintptr_t)section - before), before + bytes);
}

static void close_page(control_page_t *page) {
	unmap_section(page->control, sizeof(*page->control));
	unmap_section(page->live, sizeof(*page->live));
	close(page->fd);
}

static int open_page(const mw_target_t *target, const mw_reach_t *reach, control_page_t *page,
		     mw_error_t *error) {
	const char *shown = target->shown;
	int fd = mw_target_open(target, O_RDWR);
	if (fd < 0)
		return mw_error_set(error, "%s: %s", shown, strerror(errno));
	mw_snapshot_t *snapshot = NULL;
	if (mw_snapshot_read_fd(fd, shown, 0, &snapshot, error) != 0) {
		close(fd);
		return -1;
	}
	/* The process has ended, and its pid may belong to another process now. */
	if (reach != NULL ? !mw_reach_holds(reach) : !mw_state_file_is_held(fd)) {
		mw_snapshot_free(snapshot);
		close(fd);
		return reach != NULL
			       ? mw_error_set(error, "pid %d: the process has ended", target->pid)
			       : mw_error_set(error, "%s: its process has ended", shown);
	}
	struct stat info;
	uint64_t file_bytes = fstat(fd, &info) == 0 ? (uint64_t)info.st_size : 0;
	const mw_state_section_t *sections = snapshot->header.sections;
	*page = (control_page_t){.shown = shown,
				 .target = target,
				 .reach = reach,
				 .fd = fd,
				 .control_at = sections[MW_SECTION_CONTROL].offset_bytes,
				 .live_at = sections[MW_SECTION_LIVE].offset_bytes};
	page->control = map_section(fd, &sections[MW_SECTION_CONTROL], file_bytes,
				    sizeof(*page->control), PROT_READ | PROT_WRITE);
	page->live = map_section(fd, &sections[MW_SECTION_LIVE], file_bytes, sizeof(*page->live),
				 PROT_READ);
	mw_snapshot_free(snapshot);
	if (page->control && page->live)
		return 0;
	close_page(page);
	return mw_error_set(error, "%s: cannot map the control page: %s", shown,
			    errno ? strerror(errno) : "the file is too short");
}

/* Takes a lock of the kernel, which ends with the command that holds it, in whichever pid namespace
 * that command runs. */
static int lock_page(const control_page_t *page, mw_error_t *error) {
	uint64_t deadline = mw_monotonic_ns() + LOCK_WAIT_NS;
	for (;;) {
		struct flock lock = mw_state_file_lock(MW_STATE_TOOL_LOCK, F_WRLCK);
		if (fcntl(page->fd, F_OFD_SETLK, &lock) == 0)
			return 0;
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return mw_error_set(error, "%s: cannot lock the control page: %s",
					    page->shown, strerror(errno));
		if (mw_monotonic_ns() > deadline)
			return mw_error_set(
				error,
				"%s: another mallow has been writing the control page for a "
				"second; end it and try again",
				page->shown);
		sleep_ns(POLL_MIN_NS * 5);
	}
}

static void unlock_page(const control_page_t *page) {
	struct flock lock = mw_state_file_lock(MW_STATE_TOOL_LOCK, F_UNLCK);
	fcntl(page->fd, F_OFD_SETLK, &lock);
}

/* Fills in the current state.  If a request is pending, fills in the values of the request. */
static void find_out(const control_page_t *page, mw_reply_t *out, uint32_t *out_resets) {
	const mw_state_live_t *live = page->live;
	/* Pairs with the process's release of sequence_seen: the other words of the live page
	 * are at least as new. */
	uint32_t seen = atomic_load_explicit(&live->sequence_seen, memory_order_acquire);
	/* Relaxed, because this command holds the lock under which the word is written. */
	uint32_t requested = atomic_load_explicit(&page->control->sequence, memory_order_relaxed);
	out->was_pending = requested != seen;
	if (out->was_pending) {
		out->was_active = page->control->want_active != 0;
		out->was_mean_bytes = page->control->want_mean_bytes;
		out->was_cpu_hz = page->control->want_cpu_hz;
		*out_resets = page->control->want_resets;
	} else {
		out->was_active = live->standing_active != 0;
		out->was_mean_bytes = live->mean_bytes;
		out->was_cpu_hz = live->standing_cpu_hz;
		*out_resets = live->resets_done;
	}
	out->was_changed_ns =
		(live->active != 0) == out->was_active ? live->changed_realtime_ns : 0;
	if (out->was_mean_bytes == 0 || out->was_mean_bytes > MW_STATE_MEAN_BYTES_MAX)
		out->was_mean_bytes = DEFAULT_MEAN_BYTES;
	out->is_active = out->was_active;
	out->mean_bytes = out->was_mean_bytes;
	if (mw_cpu_hz(out->was_cpu_hz) > MW_CPU_HZ_MAX)
		out->was_cpu_hz = 0;
	out->cpu_hz = out->was_cpu_hz;
	out->was_cpu_changed_ns =
		(live->cpu_hz != 0) == (out->was_cpu_hz != 0) ? live->cpu_changed_ns : 0;
	out->cpu_lease_hz = live->cpu_lease_hz;
	out->has_heap_lease = live->heap_lease != 0;
	const _Atomic uint64_t *settings =
		out->was_pending ? page->control->want_settings : live->settings;
	for (size_t i = 0; i < MW_SETTING_COUNT; i++)
		out->was_settings[i] = settings[i];
	memcpy(out->was_dump_name,
	       out->was_pending ? page->control->want_dump_name : live->dump_name,
	       sizeof(out->was_dump_name));
	out->was_dump_name[sizeof(out->was_dump_name) - 1] = '\0';
}

static bool wants_settings(const mw_request_t *request, const mw_reply_t *reply) {
	if (request->kind != MW_REQUEST_SETTINGS)
		return false;
	for (size_t i = 0; i < MW_SETTING_COUNT; i++)
		if (request->settings_mask & (uint64_t)1 << i &&
		    request->settings[i] != reply->was_settings[i])
			return true;
	return request->dump_name && strcmp(request->dump_name, reply->was_dump_name) != 0;
}

/* Writes all settings.  Settings that the program itself changed since the last request stay. */
static void write_settings(mw_state_control_t *control, const mw_request_t *request,
			   const mw_reply_t *reply) {
	bool ours = request->kind == MW_REQUEST_SETTINGS;
	const char *name = ours && request->dump_name ? request->dump_name : reply->was_dump_name;
	for (size_t i = 0; i < MW_SETTING_COUNT; i++) {
		bool set = ours && request->settings_mask & (uint64_t)1 << i;
		atomic_store_explicit(&control->want_settings[i],
				      set ? request->settings[i] : reply->was_settings[i],
				      memory_order_relaxed);
	}
	memset(control->want_dump_name, 0, sizeof(control->want_dump_name));
	memcpy(control->want_dump_name, name, strnlen(name, sizeof(control->want_dump_name) - 1));
}

static uint32_t raise_sequence(mw_state_control_t *control) {
	uint32_t sequence = atomic_load_explicit(&control->sequence, memory_order_relaxed) + 1;
	if (sequence == 0)
		sequence = 1; /* 0 means "no request" here, and "none" in rejected_sequence */
	/* Pairs with the process's acquire in its refill. */
	atomic_store_explicit(&control->sequence, sequence, memory_order_release);
	/* Wakes the background thread of an idle process, which sleeps on this word. */
	syscall(SYS_futex, &control->sequence, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return sequence;
}

/* Most pending dumps (on a slow disk).  A larger number must have been written by another
 * program and is ignored. */
#define DUMPS_UNDER_WAY_MAX 16u
static uint32_t dumps_under_way(const control_page_t *page) {
	uint32_t wanted = atomic_load_explicit(&page->control->want_dumps, memory_order_relaxed);
	uint32_t ahead = wanted - page->live->dumps_done;
	return ahead <= DUMPS_UNDER_WAY_MAX ? ahead : 0;
}

/* True if the request is for something to be done, and not for a state. */
static bool is_order(mw_request_kind_t kind) {
	return kind == MW_REQUEST_RESET || kind == MW_REQUEST_DUMP || kind == MW_REQUEST_WALK ||
	       kind == MW_REQUEST_LEAK_CHECK || kind == MW_REQUEST_LEASE ||
	       kind == MW_REQUEST_LEASE_END || kind == MW_REQUEST_TRIM;
}

static void order_leak_check(mw_state_control_t *control, const mw_request_t *request,
			     mw_reply_t *out) {
	uint32_t number = atomic_load_explicit(&control->want_leak_checks, memory_order_relaxed);
	out->leak_check = number + 1 != 0 ? number + 1 : 1;
	/* Relaxed: the release of the sequence publishes these words. */
	atomic_store_explicit(&control->want_leak_options, request->leak_options,
			      memory_order_relaxed);
	atomic_store_explicit(&control->want_leak_checks, out->leak_check, memory_order_relaxed);
}

/* Writes a request.  Returns its sequence number, or 0 if the process already is in the
 * requested state. */
static uint32_t write_request(control_page_t *page, const mw_request_t *request, mw_reply_t *out) {
	uint32_t resets;
	find_out(page, out, &resets);
	switch (request->kind) {
	case MW_REQUEST_START:
		out->is_active = true;
		break;
	case MW_REQUEST_STOP:
		out->is_active = false;
		break;
	case MW_REQUEST_RATE:
		out->mean_bytes = request->mean_bytes;
		break;
	case MW_REQUEST_RESET:
		resets++;
		break;
	case MW_REQUEST_CPU:
		out->cpu_hz = request->cpu_hz;
		break;
	case MW_REQUEST_SETTINGS:
	case MW_REQUEST_DUMP:
	case MW_REQUEST_WALK:
	case MW_REQUEST_LEAK_CHECK:
	case MW_REQUEST_TRIM:
	case MW_REQUEST_LEASE:
	case MW_REQUEST_LEASE_END:
		break;
	}
	bool changes = out->is_active != out->was_active ||
		       out->mean_bytes != out->was_mean_bytes || out->cpu_hz != out->was_cpu_hz;
	if (!is_order(request->kind) && !changes && !wants_settings(request, out))
		return 0;
	mw_state_control_t *control = page->control;
	if (request->kind == MW_REQUEST_LEAK_CHECK)
		order_leak_check(control, request, out);
	uint32_t trims = page->live->trims_done + (request->kind == MW_REQUEST_TRIM);
	if (request->kind == MW_REQUEST_TRIM || !out->was_pending)
		atomic_store_explicit(&control->want_trims, trims, memory_order_relaxed);
	write_settings(control, request, out);
	uint32_t dumps =
		page->live->dumps_done + dumps_under_way(page) + (request->kind == MW_REQUEST_DUMP);
	if (request->kind == MW_REQUEST_DUMP || !out->was_pending)
		atomic_store_explicit(&control->want_dumps, dumps, memory_order_relaxed);
	/* Relaxed: the release below publishes these words. */
	atomic_store_explicit(&control->want_active, out->is_active, memory_order_relaxed);
	atomic_store_explicit(&control->want_mean_bytes, out->mean_bytes, memory_order_relaxed);
	atomic_store_explicit(&control->want_cpu_hz, out->cpu_hz, memory_order_relaxed);
	atomic_store_explicit(&control->want_resets, resets, memory_order_relaxed);
	atomic_store_explicit(&control->writer_pid, (uint32_t)getpid(), memory_order_relaxed);
	return raise_sequence(control);
}

/* Waits until the process has read the request or a later one.  False: it did not. */
static bool wait_seen(const control_page_t *page, uint32_t sequence, uint64_t wait_ns) {
	uint64_t deadline = mw_monotonic_ns() + wait_ns;
	uint32_t pause_ns = POLL_MIN_NS;
	for (;;) {
		/* Pairs with the process's release after it applied the request. */
		uint32_t seen =
			atomic_load_explicit(&page->live->sequence_seen, memory_order_acquire);
		if ((int32_t)(seen - sequence) >= 0)
			return true;
		if (mw_monotonic_ns() >= deadline)
			return false;
		sleep_ns(pause_ns);
		pause_ns = pause_ns * 2 < POLL_MAX_NS ? pause_ns * 2 : POLL_MAX_NS;
	}
}

/* Returns whether the process still runs the program whose page this is. */
static bool has_process(const control_page_t *page) {
	return page->reach != NULL ? mw_reach_holds(page->reach) : mw_state_file_is_held(page->fd);
}

static bool is_stopped(const control_page_t *page) {
	mw_process_t process;
	return page->reach != NULL && !page->hangs &&
	       mw_process_read(mw_process_thread(page->target->pid), &process) && process.paused;
}

/* Says what keeps a process from answering that has ended or is stopped. Returns 0 for any other,
 * which answers when it allocates. */
static int say_silent(const control_page_t *page, mw_error_t *error) {
	int pid = page->target->pid;
	if (!has_process(page))
		return mw_error_set(error, "pid %d: the process %s before it answered", pid,
				    page->reach != NULL
					    ? mw_process_end(pid, page->reach->key.start_ticks)
					    : "ended");
	if (is_stopped(page))
		return mw_error_set(error,
				    "pid %d: the process is stopped, by a signal or a debugger, "
				    "and has not answered; it does what was requested when it goes "
				    "on ('kill -CONT %d')",
				    pid, pid);
	return 0;
}

/* Has the process answer if it does not by itself.  False: it has not seen the request. */
static bool wait_answer(control_page_t *page, uint32_t sequence, uint64_t wait_ns,
			mw_error_t *why) {
	const mw_process_key_t key = mw_target_key(page->target);
	uint64_t deadline = mw_monotonic_ns() + wait_ns, step_ns = ANSWER_FIRST_NS;
	if (wait_seen(page, sequence, wait_ns < BY_ITSELF_NS ? wait_ns : BY_ITSELF_NS))
		return true;
	if (mw_target_process(page->target) <= 0) {
		mw_error_set(why, "it cannot be woken from another pid namespace");
		return wait_seen(page, sequence, deadline - mw_monotonic_ns());
	}
	for (uint64_t now;
	     (now = mw_monotonic_ns()) < deadline && has_process(page) && !page->hangs;
	     step_ns *= 2) {
		int result = mw_process_enter(&key, why);
		page->hangs = result == MW_ENTRY_HANGS;
		if (result == 0)
			mw_error_set(why, "it was woken, and has not answered");
		uint64_t rest_ns = deadline - now;
		if (wait_seen(page, sequence, rest_ns < step_ns ? rest_ns : step_ns))
			return true;
	}
	return false;
}

static bool is_had_to_answer(mw_request_kind_t kind) {
	return kind != MW_REQUEST_WALK && kind != MW_REQUEST_LEAK_CHECK;
}

const char *mw_control_pending(const mw_reply_t *reply, char text[MW_PENDING_BYTES]) {
	bool has_why = reply->why.text[0] != '\0';
	snprintf(text, MW_PENDING_BYTES, "pending; takes effect once the process allocates%s%s%s",
		 has_why ? " (" : "", reply->why.text, has_why ? ")" : "");
	return text;
}

/* Waits for the dump, which is written after the acknowledgement.  A process that cannot write
 * the dump prints an error. */
static void take_last_dump(const control_page_t *page, uint64_t failed_before, mw_reply_t *out) {
	uint64_t deadline = mw_monotonic_ns() + DUMP_WAIT_NS;
	uint32_t pause_ns = POLL_MIN_NS;
	uint32_t wanted = atomic_load_explicit(&page->control->want_dumps, memory_order_relaxed);
	while ((int32_t)(page->live->dumps_done - wanted) < 0) {
		if (mw_monotonic_ns() >= deadline || !has_process(page)) {
			out->outcome = MW_OUTCOME_PENDING;
			return;
		}
		sleep_ns(pause_ns);
		pause_ns = pause_ns * 2 < POLL_MAX_NS ? pause_ns * 2 : POLL_MAX_NS;
	}
	if (page->live->dumps_failed != failed_before)
		return;
	memcpy(out->last_dump, page->live->last_dump, sizeof(out->last_dump));
	out->last_dump[sizeof(out->last_dump) - 1] = '\0';
}

static bool takes_signal(const mw_request_t *request) {
	for (int i = 0; i < MW_SETTING_COUNT && request->kind == MW_REQUEST_SETTINGS; i++)
		if ((i == MW_SETTING_dump_signal || i == MW_SETTING_leak_signal) &&
		    request->settings_mask & (uint64_t)1 << i && request->settings[i] != 0)
			return true;
	return false;
}

const char *mw_control_cpu_trouble(uint32_t why) {
	switch (why) {
	case MW_CPU_NO_MEMORY:
		return "no memory for the samples";
	case MW_CPU_NO_SIGNAL:
		return "it handles or ignores every real-time signal, SIGURG and SIGWINCH (events "
		       "need one of these two)";
	case MW_CPU_NO_TIMER:
		return "the kernel refuses timers (ulimit -i), or the process forbids system calls";
	case MW_CPU_FORBIDDEN:
		return "the kernel does not permit the event (kernel.perf_event_paranoid, or a "
		       "container)";
	case MW_CPU_NO_EVENT:
		return "this machine does not count the event";
	default:
		return NULL;
	}
}

/* Says why the process does not take CPU samples at the requested rate. */
static int cpu_refused(const control_page_t *page, mw_error_t *error) {
	const char *trouble = mw_control_cpu_trouble(page->live->cpu_error);
	return mw_error_set(
		error, "%s: the process could not begin to sample CPU time: %s; nothing changed",
		page->shown, trouble ? trouble : "another request came between");
}

const char *mw_control_rejected(const mw_state_live_t *live, uint32_t sequence) {
	uint32_t rejected = live->rejected_sequence;
	if (rejected == sequence && live->rejected_reason == MW_REJECT_VALUE)
		return "a value is out of range";
	/* It reads the last request only, and answers for those before. */
	if (rejected != 0 && (int32_t)(rejected - sequence) >= 0 &&
	    live->rejected_reason == MW_REJECT_PRIVILEGES)
		return "it may do more than the user who could open its state file when it was "
		       "made (it has forbidden to be dumped since, prctl(2), or has got "
		       "privileges)";
	return NULL;
}

static int say_rejected(const control_page_t *page, const mw_request_t *request, const char *why,
			mw_error_t *error) {
	if (page->live->rejected_reason == MW_REJECT_VALUE && takes_signal(request))
		why = "the program or another option handles this signal, or no program can handle "
		      "it";
	return mw_error_set(error, "%s: the process rejected the request: %s; nothing changed",
			    page->shown, why);
}

/* Not inlined: its variables must not be in the frame that siglongjmp returns to. */
static MW_NOINLINE int exchange(control_page_t *page, const mw_request_t *request,
				double wait_seconds, mw_reply_t *out, mw_error_t *error) {
	if (mw_page_check_request(page, request, error) != 0 || lock_page(page, error) != 0)
		return -1;
	uint64_t failed_before = page->live->dumps_failed;
	int change = mw_lease_change(page, request, error);
	uint32_t sequence = change == 0 ? write_request(page, request, out) : 0;
	unlock_page(page);
	if (change < 0)
		return -1;
	out->outcome = MW_OUTCOME_NOTHING;
	out->sequence = sequence;
	bool is_had_to = is_had_to_answer(request->kind);
	if (sequence == 0)
		return out->was_pending && is_had_to ? say_silent(page, error) : 0;
	out->outcome = MW_OUTCOME_PENDING;
	uint64_t wait_ns = (uint64_t)(wait_seconds * 1e9);
	if (is_had_to && wait_ns > 0 ? !wait_answer(page, sequence, wait_ns, &out->why)
				     : !wait_seen(page, sequence, wait_ns))
		return is_had_to ? say_silent(page, error) : 0;
	const char *rejected = mw_control_rejected(page->live, sequence);
	if (rejected != NULL)
		return say_rejected(page, request, rejected, error);
	out->outcome = MW_OUTCOME_DONE;
	out->cpu_error = page->live->cpu_error;
	out->trimmed_bytes = page->live->trimmed_bytes;
	if (request->kind == MW_REQUEST_CPU && page->live->standing_cpu_hz != request->cpu_hz)
		return cpu_refused(page, error);
	if (request->kind == MW_REQUEST_LEASE && !mw_lease_is_followed(page, request->lease))
		return cpu_refused(page, error);
	if (request->kind == MW_REQUEST_DUMP)
		take_last_dump(page, failed_before, out);
	return out->outcome == MW_OUTCOME_PENDING ? say_silent(page, error) : 0;
}

/* The process counts its threads once for each request, so the request is repeated until no
 * thread is behind. */
static MW_NOINLINE int follow_threads(control_page_t *page, double wait_seconds, mw_follow_t *out,
				      mw_error_t *error) {
	uint64_t deadline = mw_monotonic_ns() + (uint64_t)(wait_seconds * 1e9);
	do {
		if (lock_page(page, error) != 0)
			return -1;
		uint32_t sequence = raise_sequence(page->control);
		unlock_page(page);
		bool seen = wait_seen(page, sequence, FOLLOW_ROUND_NS);
		const char *rejected = seen ? mw_control_rejected(page->live, sequence) : NULL;
		if (rejected != NULL)
			return say_rejected(page, &(mw_request_t){0}, rejected, error);
		if (!seen && say_silent(page, error) != 0)
			return -1;
		*out = (mw_follow_t){page->live->threads, page->live->threads_behind,
				     out->seen || seen};
		if (seen && out->behind == 0)
			return 0;
		sleep_ns(POLL_MAX_NS);
	} while (mw_monotonic_ns() < deadline);
	return 0;
}

/* One use of the page. */
typedef struct use {
	const mw_request_t *request; /* NULL: waits until the threads follow */
	double wait_seconds;
	mw_reply_t *reply;
	mw_follow_t *follow;
} use_t;

/* Turns SIGBUS into an error. */
static MW_NOINLINE int use_guarded(control_page_t *page, const use_t *use, mw_error_t *error) {
	if (sigsetjmp(bus_jump, 1) != 0)
		return mw_error_set(error, "%s: the state file became shorter while mallow %s",
				    page->shown, use->request ? "wrote to it" : "read it");
	return use->request ? exchange(page, use->request, use->wait_seconds, use->reply, error)
			    : follow_threads(page, use->wait_seconds, use->follow, error);
}

static int use_file(const mw_target_t *target, const mw_reach_t *reach, const use_t *use,
		    mw_error_t *error) {
	control_page_t page;
	errno = 0;
	if (open_page(target, reach, &page, error) != 0)
		return -1;
	struct sigaction guard = {.sa_handler = on_bus_error}, before;
	sigaction(SIGBUS, &guard, &before);
	int result = use_guarded(&page, use, error);
	sigaction(SIGBUS, &before, NULL);
	close_page(&page);
	return result;
}

/* Makes sure that the file is the one that the process of the target maps at this moment. */
static int use_process(const mw_target_t *target, const use_t *use, mw_error_t *error) {
	const mw_process_key_t key = mw_target_key(target);
	mw_reach_t reach;
	if (!target->is_state)
		return mw_error_set(error, "%s: this is a profile, not a process; give a pid",
				    target->shown);
	if (!target->alive)
		return mw_error_set(
			error,
			"pid %d: the process has ended; 'mallow report %s' still reads its profile",
			target->pid, target->shown);
	if (mw_target_process(target) == MW_PID_ELSEWHERE)
		return use_file(target, NULL, use, error);
	if (mw_reach_open(&key, &reach, error) != 0)
		return -1;
	int result = use_file(target, &reach, use, error);
	mw_reach_close(&reach);
	return result;
}

int mw_control_send(const mw_target_t *target, const mw_request_t *request, double wait_seconds,
		    mw_reply_t *out, mw_error_t *error) {
	*out = (mw_reply_t){0};
	use_t use = {.request = request, .wait_seconds = wait_seconds, .reply = out};
	return use_process(target, &use, error);
}

int mw_control_wait_threads(const mw_target_t *target, double wait_seconds, mw_follow_t *out,
			    mw_error_t *error) {
	use_t use = {.wait_seconds = wait_seconds, .follow = out};
	return use_process(target, &use, error);
}
