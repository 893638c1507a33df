/* SPDX-License-Identifier: MIT
 * inject.c -- the steps of attaching and detaching. */
#include "live/inject/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "live/inject/attach_target.h"
#include "live/inject/injected.h"
#include "live/inject/phases.h"
#include "live/process/reach.h"
#include "model/memory.h"
#include "model/monotonic.h"
#include "state/attach.h"

/* How long a thread may take to do what it was pointed to: it waits for a processor. */
#define ANSWER_NS UINT64_C(10000000000)
/* How long another command may take. */
#define LOCK_NS UINT64_C(20000000000)
/* How long modules may take that are being loaded.  A program can leave pages open that the dynamic
 * linker closes elsewhere: their slots are left out. */
#define LOADING_NS UINT64_C(3000000000)
#define PAUSE_FIRST_NS 50000
#define PAUSE_NS 2000000
enum { BUSY_TRIES = 100 };
#define PAGE_BYTES UINT64_C(4096)
/* Room that is left to the mappings on both sides, which grow. */
#define MARGIN_BYTES (UINT64_C(1) << 24)

/* A process that is worked on. */
typedef struct session {
	mw_reach_t reach;
	mw_attach_target_t target;
	int lock;      /* holds the right to change the process */
	uint64_t work; /* address of mw_attach_work_t */
} session_t;

typedef bool condition_t(session_t *session, uint64_t value);

static bool wait_for(condition_t *condition, session_t *session, uint64_t value,
		     uint64_t limit_ns) {
	struct timespec pause = {.tv_nsec = PAUSE_FIRST_NS};
	uint64_t until_ns = mw_monotonic_ns() + limit_ns;
	while (!condition(session, value)) {
		if (mw_monotonic_ns() > until_ns || !mw_reach_holds(&session->reach))
			return false;
		nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec * 2 < PAUSE_NS ? pause.tv_nsec * 2 : PAUSE_NS;
	}
	return true;
}

/* The lock is on the file of the process's memory, which only those can open who may trace it. */
static bool can_lock(session_t *session, uint64_t unused) {
	(void)unused;
	return flock(session->lock, LOCK_EX | LOCK_NB) == 0;
}

static int say_ended(const session_t *session, mw_error_t *error) {
	int pid = session->reach.key.pid;
	return mw_error_set(error, "pid %d: the process has %s", pid,
			    mw_process_end(pid, session->reach.key.start_ticks));
}

/* Takes hold of the process and of the right to change it.  The mappings are read after that:
 * another command may have changed them. */
static int begin(const mw_process_t *process, session_t *session, mw_error_t *error) {
	const mw_process_key_t key = {.pid = process->pid, .start_ticks = process->start_ticks};
	*session = (session_t){.target = {.space = {.memory = -1}}, .lock = -1};
	if (mw_reach_open(&key, &session->reach, error) != 0)
		return -1;
	if (mw_attach_open(process, &session->target, error) != 0)
		return -1;
	session->lock = fcntl(session->target.space.memory, F_DUPFD_CLOEXEC, 0);
	if (!wait_for(can_lock, session, 0, LOCK_NS))
		return mw_reach_holds(&session->reach)
			       ? mw_error_set(error,
					      "pid %d: another mallow is attaching or detaching; "
					      "try again",
					      process->pid)
			       : say_ended(session, error);
	mw_attach_close(&session->target);
	return mw_attach_open(process, &session->target, error);
}

/* Returns the status of a step of an attach or detach. A step may fail because the process ends
 * meanwhile: the error then says that, not what the step found in memory that was going away. */
static int or_ended(const session_t *session, int status, mw_error_t *error) {
	return status != 0 && !mw_reach_holds(&session->reach) ? say_ended(session, error) : status;
}

static int end(session_t *session, int status) {
	mw_attach_close(&session->target);
	if (session->lock >= 0)
		close(session->lock);
	mw_reach_close(&session->reach);
	return status;
}

static bool write_memory(const session_t *session, uint64_t address, const void *from,
			 size_t bytes) {
	return pwrite(session->target.space.memory, from, bytes, (off_t)address) == (ssize_t)bytes;
}

/* Writes a number of 4 or 8 bytes into the work area; both processors are little-endian. */
static bool write_number(const session_t *session, size_t offset, size_t bytes, uint64_t number) {
	return write_memory(session, session->work + offset, &number, bytes);
}

/* One field of the work area. */
#define WRITE_FIELD(session, field, value)                                                         \
	write_number(session, offsetof(mw_attach_work_t, field),                                   \
		     sizeof(((mw_attach_work_t *)NULL)->field), value)

static bool read_work(const session_t *session, mw_attach_work_t *out) {
	return mw_address_space_read(&session->target.space, session->work, out, sizeof(*out));
}

/* ---- memory for the blob ---- */

/* Returns an address in the middle of the largest gap between mappings. */
static uint64_t choose_address(const mw_address_space_t *space, uint64_t bytes) {
	uint64_t gap = 0, address = 0;
	for (size_t i = 1; i < space->count; i++) {
		uint64_t low = space->maps[i - 1].limit, high = space->maps[i].start;
		if (high <= low || high - low <= gap || high > INT64_MAX)
			continue;
		gap = high - low;
		address = (low + gap / 2) & ~(PAGE_BYTES - 1);
	}
	return gap / 2 > bytes + MARGIN_BYTES ? address : 0;
}

static bool is_mapped(session_t *session, uint64_t address) {
	mw_injected_head_t head;
	return mw_address_space_read(&session->target.space, address, &head, sizeof(head)) &&
	       head.magic == MW_INJECTED_MAGIC;
}

/* Phase 1.  Sets where the memory is. */
static int map_memory(session_t *session, uint64_t bytes, uint64_t *address, mw_error_t *error) {
	int pid = session->reach.key.pid;
	mw_injected_order_t order = {.address = choose_address(&session->target.space, bytes),
				     .bytes = bytes};
	if (order.address == 0)
		return mw_error_set(error,
				    "pid %d: its address space has no room; start it with 'mallow "
				    "run'",
				    pid);
	if (mw_phase_enter(&session->reach, &order, error) != 0)
		return -1;
	*address = order.address;
	if (wait_for(is_mapped, session, order.address, ANSWER_NS))
		return 0;
	if (!mw_reach_holds(&session->reach))
		return say_ended(session, error);
	return mw_error_set(error,
			    "pid %d: the kernel gave it no memory (RLIMIT_AS, cgroup), or its "
			    "thread did not run for %d s; try again",
			    pid, (int)(ANSWER_NS / 1000000000));
}

/* Reads the mappings anew, by the descriptor that was opened first: it is of the address space that
 * everything was read from.  False: the memory is not there as it was mapped. */
static bool holds_memory(session_t *session, uint64_t address, uint64_t bytes) {
	mw_address_space_t now;
	bool is_open = mw_address_space_open(mw_process_thread(session->reach.key.pid), &now) == 0;
	const mw_map_t *map = is_open ? mw_address_space_at(&now, address) : NULL;
	bool holds = map != NULL && map->start <= address && map->limit - address >= bytes &&
		     map->inode == 0 && !map->is_shared && map->is_writable && !map->is_code &&
		     mw_reach_holds(&session->reach);
	mw_address_space_close(&now);
	return holds;
}

/* Writes the blob to memory that has none yet. */
static int place_blob(session_t *session, mw_error_t *error) {
	mw_blob_t blob;
	mw_placed_blob_t *placed = &session->target.blob;
	int pid = session->reach.key.pid;
	uint64_t address = placed->address;
	int status = mw_blob_lay_out(0, &blob, error);
	bool is_mapped_already =
		status == 0 && session->target.has_blob && placed->bytes == blob.memory_bytes;
	uint64_t bytes = blob.memory_bytes;
	mw_blob_free(&blob);
	if (status != 0)
		return mw_error_set(error,
				    "pid %d: this command was built without the code that "
				    "it would put into a process",
				    pid);
	if (!is_mapped_already && map_memory(session, bytes, &address, error) != 0)
		return -1;
	if (mw_blob_lay_out(address, &blob, error) == 0 &&
	    holds_memory(session, address, blob.memory_bytes) &&
	    /* The first page last: by it the blob is found. */
	    write_memory(session, address + PAGE_BYTES, blob.bytes + PAGE_BYTES,
			 blob.byte_count - PAGE_BYTES) &&
	    write_memory(session, address, blob.bytes, PAGE_BYTES)) {
		*placed = (mw_placed_blob_t){.address = address,
					     .bytes = blob.memory_bytes,
					     .code_bytes = blob.code_bytes,
					     .entry = address + blob.entry,
					     .work = address + blob.work,
					     .is_current = true};
		session->target.has_blob = true;
	} else {
		status = mw_reach_holds(&session->reach)
				 ? mw_error_set(error,
						"pid %d: the memory that it mapped cannot be "
						"written; try again",
						pid)
				 : say_ended(session, error);
	}
	mw_blob_free(&blob);
	return status;
}

/* ---- requests ---- */

static bool has_answered(session_t *session, uint64_t number) {
	mw_attach_work_t work;
	return read_work(session, &work) &&
	       (atomic_load(&work.answered) == (uint32_t)number || (int32_t)work.request < 0);
}

static int say_state(const session_t *session, const mw_attach_work_t *work, mw_error_t *error) {
	static const char *const reasons[] = {
		[MW_ATTACH_REASON_NONE] = "no reason is told",
		[MW_ATTACH_REASON_VALUE] = "the request was out of range",
		[MW_ATTACH_REASON_MEMORY] = "the kernel gave it no memory for the profile",
		[MW_ATTACH_REASON_SLOTS] = "no slot could be replaced",
		[MW_ATTACH_REASON_ASSERTION] = "an error of mallow's",
		[MW_ATTACH_REASON_FILE] = "it can make no state file (/dev/shm)",
		[MW_ATTACH_REASON_BUSY] = "its threads are in the profiler; try again",
		[MW_ATTACH_REASON_DETACH_TIME] = "the time of --detach-after is over",
		[MW_ATTACH_REASON_FILTER] = "the program is about to filter its system calls",
	};
	const char *reason = work->reason < sizeof(reasons) / sizeof(reasons[0])
				     ? reasons[work->reason]
				     : "a reason that this command does not know";
	char message[sizeof(work->message) + 1] = "";
	memcpy(message, work->message, sizeof(work->message));
	return mw_error_set(error, "pid %d: it did not begin: %s%s%s%s%.128s",
			    session->reach.key.pid, reason, work->error != 0 ? ": " : "",
			    work->error != 0 ? strerror((int)work->error) : "",
			    message[0] != '\0' ? ": " : "", message);
}

/* Raises the number of the request, has a thread enter the blob, and waits. */
static int request_once(session_t *session, mw_attach_request_t what, mw_attach_work_t *work,
			mw_error_t *error) {
	const mw_placed_blob_t *blob = &session->target.blob;
	int pid = session->reach.key.pid;
	const mw_injected_order_t order = {
		.address = blob->address,
		.bytes = blob->bytes,
		.code_bytes = blob->code_bytes,
		.entry = blob->entry,
		.result = session->work + offsetof(mw_attach_work_t, request),
	};
	uint32_t number = atomic_load(&work->answered) + 1;
	if (!WRITE_FIELD(session, request, what) || !WRITE_FIELD(session, requested, number))
		return say_ended(session, error);
	if (mw_phase_enter(&session->reach, &order, error) != 0) {
		/* No thread will answer: as before. */
		WRITE_FIELD(session, requested, number - 1);
		return -1;
	}
	bool has_ended = !wait_for(has_answered, session, number, ANSWER_NS) &&
			 !mw_reach_holds(&session->reach);
	if (has_ended || !read_work(session, work))
		return say_ended(session, error);
	if (atomic_load(&work->answered) == number)
		return 0;
	if ((int32_t)work->request < 0)
		return mw_error_set(error,
				    "pid %d: the kernel refuses code in new memory: %s (SELinux's "
				    "execmem, systemd's MemoryDenyWriteExecute); start it with "
				    "'mallow run'",
				    pid, strerror(-(int32_t)work->request));
	return mw_error_set(error, "pid %d: its thread has not run for %d s; try again", pid,
			    (int)(ANSWER_NS / 1000000000));
}

/* Phase 2.  A thread that is in the profiler at that moment does nothing. */
static int request(session_t *session, mw_attach_request_t what, mw_attach_work_t *work,
		   mw_error_t *error) {
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int status = request_once(session, what, work, error);
	for (int i = 1; i < BUSY_TRIES && status == 0 && work->reason == MW_ATTACH_REASON_BUSY;
	     i++) {
		nanosleep(&pause, NULL);
		status = request_once(session, what, work, error);
	}
	return status;
}

/* A command that was killed has left a request that no thread answers. */
static bool has_no_request(session_t *session, uint64_t unused) {
	mw_attach_work_t work;
	(void)unused;
	return read_work(session, &work) &&
	       atomic_load(&work.requested) == atomic_load(&work.answered);
}

static bool withdraw_request(session_t *session, mw_attach_work_t *work) {
	if (!wait_for(has_no_request, session, 0, UINT64_C(500000000)) &&
	    (!read_work(session, work) ||
	     !WRITE_FIELD(session, requested, atomic_load(&work->answered))))
		return false;
	return read_work(session, work);
}

/* ---- what the blob is told ---- */

/* Returns whether a table of the blob is in the part of its memory that holds data. */
static bool holds_table(const mw_placed_blob_t *blob, uint64_t address, size_t bytes) {
	uint64_t data = blob->address + blob->code_bytes, limit = blob->address + blob->bytes;
	return address >= data && address < limit && bytes <= limit - address;
}

static bool write_tables(const session_t *session, const mw_attach_work_t *work) {
	const mw_attach_target_t *target = &session->target;
	size_t count = target->modules.count < MW_ATTACH_MODULES_MAX ? target->modules.count
								     : MW_ATTACH_MODULES_MAX;
	size_t module_bytes = count * sizeof(mw_attach_module_t);
	size_t slot_bytes = target->slots.count * sizeof(mw_attach_slot_t);
	mw_attach_module_t *modules = mw_xcalloc(count, sizeof(*modules));
	for (size_t i = 0; i < count; i++)
		modules[i] = (mw_attach_module_t){
			target->modules.items[i].bias, target->modules.items[i].headers,
			target->modules.items[i].header_count, target->modules.items[i].name};
	bool is_written = holds_table(&target->blob, work->modules, module_bytes) &&
			  holds_table(&target->blob, work->slots, slot_bytes) &&
			  write_memory(session, work->modules, modules, module_bytes) &&
			  write_memory(session, work->slots, target->slots.items, slot_bytes) &&
			  WRITE_FIELD(session, module_count, count) &&
			  WRITE_FIELD(session, slot_count, target->slots.count);
	free(modules);
	return is_written;
}

static bool write_wish(const session_t *session, const mw_attach_work_t *work,
		       const mw_attach_wish_t *wish) {
	const mw_allocator_t *allocator = &session->target.allocator;
	const mw_placed_blob_t *blob = &session->target.blob;
	return write_tables(session, work) && WRITE_FIELD(session, mean_bytes, wish->mean_bytes) &&
	       WRITE_FIELD(session, detach_after_ns, wish->detach_after_ns) &&
	       WRITE_FIELD(session, blob_address, blob->address) &&
	       WRITE_FIELD(session, blob_bytes, blob->bytes) &&
	       write_memory(session, session->work + offsetof(mw_attach_work_t, original),
			    allocator->functions, sizeof(allocator->functions)) &&
	       WRITE_FIELD(session, malloc_usable_size, allocator->malloc_usable_size) &&
	       WRITE_FIELD(session, dl_find_object, allocator->dl_find_object) &&
	       WRITE_FIELD(session, dl_iterate_phdr, allocator->dl_iterate_phdr);
}

static int say_other_blob(int pid, mw_error_t *error) {
	return mw_error_set(error,
			    "pid %d: the mallow that attached to it is of another build; use that "
			    "one, or restart the program",
			    pid);
}

/* Reads the process anew while its dynamic linker is loading modules, as at its start. */
static int check_when_loaded(const mw_process_t *process, session_t *session, mw_error_t *error) {
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	mw_attach_target_t *target = &session->target;
	uint64_t until_ns = mw_monotonic_ns() + LOADING_NS;
	int status = mw_attach_check(process, target, error);
	while (target->is_early && mw_monotonic_ns() < until_ns) {
		nanosleep(&pause, NULL);
		mw_attach_close(target);
		status = mw_attach_open(process, target, error);
		if (status == 0)
			status = mw_attach_check(process, target, error);
	}
	return status;
}

static int attach(const mw_process_t *process, session_t *session, const mw_attach_wish_t *wish,
		  mw_attach_result_t *result, mw_error_t *error) {
	mw_attach_target_t *target = &session->target;
	mw_attach_work_t *work = mw_xcalloc(1, sizeof(*work));
	int pid = process->pid;
	int status = check_when_loaded(process, session, error);
	bool is_there = status == 0 && target->has_blob && !target->blob.is_empty;
	if (is_there && !target->blob.is_current)
		status = say_other_blob(pid, error);
	else if (status == 0 && !is_there)
		status = place_blob(session, error);
	session->work = target->blob.work;
	if (status == 0 && !withdraw_request(session, work))
		status = say_ended(session, error);
	if (status == 0 && !write_wish(session, work, wish))
		status = say_ended(session, error);
	if (status == 0)
		status = request(session, MW_ATTACH_START, work, error);
	if (status == 0 && atomic_load(&work->state) != MW_ATTACH_ON)
		status = say_state(session, work, error);
	if (status == 0)
		*result = (mw_attach_result_t){.allocator = target->allocator.kind,
					       .slots = atomic_load(&work->slots_replaced),
					       .modules = target->slots.modules,
					       .refused = work->slots_refused,
					       .others = target->slots.others,
					       .generation = work->generation};
	free(work);
	return status;
}

int mw_attach_examine(const mw_process_t *process, mw_attach_result_t *result, mw_error_t *error) {
	mw_attach_target_t target;
	int status = mw_attach_open(process, &target, error);
	if (status == 0)
		status = mw_attach_check(process, &target, error);
	if (status == 0)
		*result = (mw_attach_result_t){.allocator = target.allocator.kind,
					       .slots = target.slots.count,
					       .modules = target.slots.modules};
	mw_attach_close(&target);
	return status;
}

int mw_attach(const mw_process_t *process, const mw_attach_wish_t *wish, mw_attach_result_t *result,
	      mw_error_t *error) {
	session_t session;
	int status = begin(process, &session, error);
	if (status == 0)
		status = or_ended(&session, attach(process, &session, wish, result, error), error);
	return end(&session, status);
}

static int detach(const mw_process_t *process, session_t *session, mw_attach_result_t *result,
		  mw_error_t *error) {
	mw_attach_target_t *target = &session->target;
	mw_attach_work_t *work = mw_xcalloc(1, sizeof(*work));
	int status = 0, pid = process->pid;
	target->has_blob = mw_blob_find(&target->space, &target->blob);
	session->work = target->blob.work;
	if (process->paused)
		status = mw_error_set(error, "pid %d: it is stopped; 'kill -CONT %d' first", pid,
				      pid);
	else if (!target->has_blob || target->blob.is_empty || !withdraw_request(session, work) ||
		 atomic_load(&work->state) != MW_ATTACH_ON)
		status = mw_error_set(error, "pid %d: mallow is not attached to it", pid);
	else if (work->version != MW_ATTACH_VERSION)
		status = say_other_blob(pid, error);
	if (status == 0)
		status = request(session, MW_ATTACH_STOP, work, error);
	if (status == 0 && atomic_load(&work->state) != MW_ATTACH_OFF)
		status = say_state(session, work, error);
	if (status == 0)
		*result = (mw_attach_result_t){.slots = atomic_load(&work->slots_replaced),
					       .generation = work->generation};
	free(work);
	return status;
}

int mw_detach(const mw_process_t *process, mw_attach_result_t *result, mw_error_t *error) {
	session_t session;
	int status = begin(process, &session, error);
	if (status == 0)
		status = or_ended(&session, detach(process, &session, result, error), error);
	return end(&session, status);
}
