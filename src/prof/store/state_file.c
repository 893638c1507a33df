/* SPDX-License-Identifier: MIT
 * state_file.c -- creates the state file in its directory, and describes the process in its
 * header. */
#include "prof/store/state_file.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/libc_text.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/memory/map.h"
#include "os/platform/secure_environment.h"
#include "os/time/clock.h"
#include "prof/store/cleanup.h"
#include "prof/store/published.h"
#include "prof/store/store.h"

/* Capacity for a root directory. Longer ones are cut, so that the appended text always fits. */
#define ROOT_BYTES 160
#define PATH_BYTES 256
/* Bytes of other processes' files that are removed when the file system is full: the file's largest
 * growth step. */
#define ROOM_BYTES ((uint64_t)1 << 20)

/* Delay before a copy that was cut is tried to be completed; it doubles with each refusal. */
#define RETRY_NS ((uint64_t)1000000000)
#define RETRY_DOUBLINGS 6u

static struct {
	char runtime_root[ROOT_BYTES]; /* $XDG_RUNTIME_DIR at start-up; empty: not set */
	char session[sizeof((mw_state_header_t *)0)->session];
	char unused_options[sizeof((mw_state_header_t *)0)->unused_options];
	char path[PATH_BYTES]; /* file made by process `owner`; empty: none */
	void *lifetimes;       /* mapping that holds the file's lock; NULL: none */
	unsigned refusals;     /* of the file system to hold the whole copy, one after the other */
	_Atomic uint64_t complete_after_ns; /* monotonic time before which that is not tried */
	uint32_t owner;
	bool is_roots;        /* nobody but root has ever been able to open the file */
	uint32_t forked_from; /* pid of the parent, if the process was forked without exec */
#ifdef MW_TESTING
	const char *test_root;
#endif
} state;

#ifdef MW_TESTING
void mw_state_file_set_root(const char *root) {
	state.test_root = root;
}
#endif

static const char *shared_memory_root(void) {
#ifdef MW_TESTING
	if (state.test_root)
		return state.test_root;
#endif
	return "/dev/shm";
}

void mw_state_file_configure(const char *session, const char *unused_options) {
	/* Read at start-up: later other threads may change the environment. */
	const char *root = mw_environment("XDG_RUNTIME_DIR");
	if (root && root[0] == '/' && mw_strlen(root) < ROOT_BYTES)
		mw_fmt_copy(state.runtime_root, sizeof state.runtime_root, root);
	mw_fmt_copy(state.session, sizeof state.session, session ? session : "");
	mw_fmt_copy(state.unused_options, sizeof state.unused_options,
		    unused_options ? unused_options : "");
}

static bool is_plain(char c) {
	unsigned letter = (unsigned char)c | 0x20u;
	return (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
	       c == '+' || c == '-';
}

/* Names the program by argv[0] if that is a plain name: redis-server is a link to redis-check-rdb.
 * A server that writes its state over its arguments ("nginx: master process /usr/sbin/nginx -c
 * /etc/nginx.conf"), or a login shell, gets the executable's name. */
static void name_program(mw_state_header_t *header) {
	const char *slash = mw_strrchr(header->args, '/');
	if (slash && mw_strcspn(header->args, " :") < (size_t)(slash - header->args))
		return;
	const char *name = slash ? slash + 1 : header->args;
	const char *end = name;
	while (is_plain(*end))
		end++;
	if (end > name && *end == '\0' && name[0] != '-')
		mw_fmt_copy(header->program, sizeof header->program, name);
}

static void describe_process(mw_state_header_t *header) {
	header->pid = mw_os_process_id();
	header->uid = mw_os_effective_user();
	header->start_ticks = mw_os_start_ticks();
	header->pid_namespace = mw_os_pid_namespace();
	header->created_realtime_ns = mw_os_realtime_ns();
	header->created_monotonic_ns = mw_os_monotonic_ns();
	header->parent_pid = state.forked_from;
	mw_fmt_copy(header->library_version, sizeof header->library_version, MALLOW_VERSION);
	memcpy(header->session, state.session, sizeof header->session);
	memcpy(header->unused_options, state.unused_options, sizeof header->unused_options);
	mw_os_executable(header->exe, sizeof header->exe);
	const char *slash = mw_strrchr(header->exe, '/');
	mw_fmt_copy(header->program, sizeof header->program, slash ? slash + 1 : header->exe);
	if (header->exe[0] == '\0') /* /proc is not there, as in a folder that is the root */
		mw_os_thread_name(header->program);
	memset(header->args, 0, sizeof header->args);
	mw_os_arguments(header->args, sizeof header->args);
	name_program(header);
}

void mw_state_file_describe(void) {
	describe_process(mw_store_header());
}

/* Opens a directory that belongs to the process's user and that no other user may enter. In any
 * other directory another user could replace the file. */
static int open_directory(const char *path) {
	if (mw_os_make_directory(path) != MW_OK)
		return MW_ERR_IO;
	int directory = mw_os_open(MW_OS_NO_DIRECTORY, path, MW_OS_DIRECTORY);
	if (directory < 0)
		return directory;
	mw_os_file_info_t info;
	if (mw_os_file_info(directory, &info) == MW_OK && info.is_directory &&
	    info.owner == mw_os_effective_user() && (info.permissions & 077) == 0)
		return directory;
	mw_os_close(directory);
	return MW_ERR_FORBIDDEN;
}

static void release_file(void) {
	if (state.lifetimes)
		mw_os_unmap(state.lifetimes, mw_os_page_bytes());
	state.lifetimes = NULL;
}

/* Locks the file until this process's memory is gone (state/layout.h). The lock belongs to an open
 * file description of its own, of which one page is mapped and never touched. All descriptors may
 * then be closed. Forked children inherit the mappings of the published copy, but not this one. */
static void hold_file(int directory, const char *path, mw_os_open_mode_t mode) {
	int file = mw_os_open(directory, path, mode);
	if (file < 0)
		return;
	if (mw_os_lock_byte(file, MW_STATE_ALIVE_LOCK))
		state.lifetimes = mw_os_reserve(file, 0, mw_os_page_bytes());
	if (state.lifetimes)
		mw_os_no_fork(state.lifetimes, mw_os_page_bytes());
	mw_os_close(file);
}

/* Returns a descriptor of a new file, or a negative code. */
static int create_file(int directory, const char *name) {
	/* A file of the same name without a lock is this process's own, made before exec(3). If it
	 * has a lock (pids may be equal without /proc), the creation fails. */
	if (!mw_cleanup_is_held(directory, name))
		mw_os_remove(directory, name);
	int file;
	do
		file = mw_os_open(directory, name, MW_OS_CREATE);
	while (file == MW_ERR_NO_MEMORY && mw_cleanup_make_room(directory, name, 1) > 0);
	return file;
}

/* Makes the file the published copy, at the cost of files of dead processes. */
static mw_result_t attach_file(int directory, const char *name, const mw_published_file_t *target,
			       void (*freeze)(void), void (*thaw)(void)) {
	mw_result_t result;
	do
		result = mw_published_attach(target, freeze, thaw);
	while (result == MW_ERR_NO_MEMORY && mw_cleanup_make_room(directory, name, ROOM_BYTES) > 0);
	return result;
}

static mw_result_t create_in(const char *root, void (*freeze)(void), void (*thaw)(void)) {
	const mw_state_header_t *header = mw_store_header();
	char directory_path[PATH_BYTES], name[80], path[PATH_BYTES];
	mw_fmt(directory_path, sizeof directory_path, "%s/mallow-%u", root, header->uid);
	mw_fmt(name, sizeof name, "%u.%lu.%lu", header->pid, (unsigned long)header->start_ticks,
	       (unsigned long)header->pid_namespace);
	mw_fmt(path, sizeof path, "%s/%s", directory_path, name);
	int directory = open_directory(directory_path);
	if (directory < 0)
		return (mw_result_t)directory;
	int file = create_file(directory, name);
	mw_result_t result = file < 0 ? (mw_result_t)file : MW_OK;
	mw_os_file_info_t info;
	if (result == MW_OK)
		result = mw_os_file_info(file, &info);
	if (result == MW_OK) {
		hold_file(directory, name, MW_OS_REWRITE);
		mw_published_file_t target = {
			.file = file, .path = path, .device = info.device, .inode = info.inode};
		result = attach_file(directory, name, &target, freeze, thaw);
	}
	if (file >= 0)
		mw_os_close(file);
	if (file >= 0 && result != MW_OK) {
		release_file();
		mw_os_remove(directory, name);
	}
	if (result == MW_OK) {
		memcpy(state.path, path, sizeof path);
		mw_cleanup_run(directory, name);
	}
	mw_os_close(directory);
	return result;
}

static mw_result_t create_unnamed(void (*freeze)(void), void (*thaw)(void)) {
	int file = mw_os_memory_file("mallow-state");
	if (file < 0)
		return (mw_result_t)file;
	char path[32];
	mw_fmt(path, sizeof path, "/proc/self/fd/%d", file);
	hold_file(MW_OS_NO_DIRECTORY, path, MW_OS_REOPEN);
	mw_published_file_t target = {.file = file};
	mw_result_t result = mw_published_attach(&target, freeze, thaw);
	mw_os_close(file);
	if (result != MW_OK)
		release_file();
	return result;
}

mw_result_t mw_state_file_create(void (*freeze)(void), void (*thaw)(void)) {
	describe_process(mw_store_header());
	state.owner = mw_store_header()->pid;
	release_file();
	/* If the process has more rights than its user, other processes of the user could use the
	 * file to do and read more than they may. Root can open a file without a name, too. */
	bool is_hidden = mw_os_exceeds_user();
	state.is_roots = is_hidden || mw_store_header()->uid == 0;
	mw_result_t result =
		is_hidden ? MW_ERR_FORBIDDEN : create_in(shared_memory_root(), freeze, thaw);
	if (result != MW_OK && !is_hidden && state.runtime_root[0])
		result = create_in(state.runtime_root, freeze, thaw);
	if (result != MW_OK)
		result = create_unnamed(freeze, thaw);
	return result;
}

bool mw_state_file_is_roots(void) {
	return state.is_roots;
}

/* Removes files of dead processes, the oldest first. */
static void make_room(void) {
	char directory_path[PATH_BYTES];
	mw_fmt_copy(directory_path, sizeof directory_path, state.path);
	char *slash = mw_strrchr(directory_path, '/');
	if (!slash)
		return;
	*slash = '\0';
	int directory = open_directory(directory_path);
	if (directory < 0)
		return;
	mw_cleanup_make_room(directory, slash + 1, ROOM_BYTES);
	mw_os_close(directory);
}

bool mw_state_file_completion_is_due(void) {
	return mw_os_monotonic_coarse_ns() >=
	       atomic_load_explicit(&state.complete_after_ns, memory_order_relaxed);
}

void mw_state_file_complete(void (*freeze)(void), void (*thaw)(void)) {
	bool whole = mw_published_complete(freeze, thaw);
	if (!whole) {
		make_room();
		whole = mw_published_complete(freeze, thaw);
	}
	state.refusals = whole ? 0 : state.refusals + (state.refusals < RETRY_DOUBLINGS);
	atomic_store_explicit(&state.complete_after_ns,
			      mw_os_monotonic_coarse_ns() + (RETRY_NS << state.refusals),
			      memory_order_relaxed);
}

void mw_state_file_remove(void) {
	/* A forked child that has not created a file of its own must not remove its parent's. */
	if (state.path[0] && state.owner == mw_os_process_id())
		mw_os_remove(MW_OS_NO_DIRECTORY, state.path);
	state.path[0] = '\0';
}

void mw_state_file_forked(uint32_t parent_pid) {
	state.path[0] = '\0';
	state.lifetimes = NULL; /* Not mapped in a child. */
	state.forked_from = parent_pid;
}
