/* SPDX-License-Identifier: MIT
 * state_file.c -- the places of the state file, and the header's description of the process. */
#include "prof/state_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/proc.h"
#include "prof/image.h"
#include "prof/mirror.h"
#include "prof/stale.h"

/* Roots are cut at 160 bytes, so that what is appended always fits. */
#define ROOT_BYTES 160
#define PATH_BYTES 256

static struct {
	char runtime_root[ROOT_BYTES]; /* $XDG_RUNTIME_DIR at start-up; empty: none */
	char session[sizeof((mw_state_header_t *)0)->session];
	char unused_options[sizeof((mw_state_header_t *)0)->unused_options];
	char path[PATH_BYTES]; /* of the file made by process `owner`; empty: none */
	uint32_t owner;
	uint32_t forked_from; /* pid of the parent, when forked without exec */
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
	/* Read now: later, other threads may be changing the environment. */
	const char *root = getenv("XDG_RUNTIME_DIR");
	if (root && root[0] == '/' && strlen(root) < ROOT_BYTES)
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

/* As it was called, where that is a plain name: redis-server is a link to redis-check-rdb.  A
 * server that writes its state over its arguments, or a login shell, keeps the executable's. */
static void name_program(mw_state_header_t *header) {
	const char *slash = strrchr(header->args, '/');
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
	header->start_ticks = mw_os_start_ticks(header->pid);
	header->created_realtime_ns = mw_os_realtime_ns();
	header->created_monotonic_ns = mw_os_monotonic_ns();
	header->parent_pid = state.forked_from;
	mw_fmt_copy(header->library_version, sizeof header->library_version, MALLOW_VERSION);
	memcpy(header->session, state.session, sizeof header->session);
	memcpy(header->unused_options, state.unused_options, sizeof header->unused_options);
	mw_os_executable(header->exe, sizeof header->exe);
	const char *slash = strrchr(header->exe, '/');
	mw_fmt_copy(header->program, sizeof header->program, slash ? slash + 1 : header->exe);
	memset(header->args, 0, sizeof header->args);
	mw_os_arguments(header->args, sizeof header->args);
	name_program(header);
}

void mw_state_file_describe(void) {
	describe_process(mw_image_header());
}

/* Only a directory that is ours and closed to all others will do: in any other, somebody could
 * replace the file by one of theirs. */
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

static mw_result_t create_in(const char *root, void (*freeze)(void), void (*thaw)(void)) {
	const mw_state_header_t *header = mw_image_header();
	char directory_path[PATH_BYTES], name[64];
	mw_fmt(directory_path, sizeof directory_path, "%s/mallow-%u", root, header->uid);
	mw_fmt(name, sizeof name, "%u.%lu", header->pid, (unsigned long)header->start_ticks);
	int directory = open_directory(directory_path);
	if (directory < 0)
		return (mw_result_t)directory;
	/* One of the same name is this process's own, from before it called exec(3). */
	mw_os_remove(directory, name);
	int file = mw_os_open(directory, name, MW_OS_CREATE);
	mw_result_t result = file < 0 ? (mw_result_t)file : MW_OK;
	mw_os_file_info_t info;
	if (result == MW_OK)
		result = mw_os_file_info(file, &info);
	if (result == MW_OK) {
		char path[PATH_BYTES];
		mw_fmt(path, sizeof path, "%s/%s", directory_path, name);
		mw_mirror_file_t target = {
			.file = file, .path = path, .device = info.device, .inode = info.inode};
		result = mw_mirror_attach(&target, freeze, thaw);
		if (result == MW_OK)
			memcpy(state.path, path, sizeof path);
	}
	if (file >= 0)
		mw_os_close(file);
	if (file >= 0 && result != MW_OK)
		mw_os_remove(directory, name);
	if (result == MW_OK)
		mw_stale_clean(directory, name);
	mw_os_close(directory);
	return result;
}

static mw_result_t create_unnamed(void (*freeze)(void), void (*thaw)(void)) {
	int file = mw_os_memory_file("mallow-state");
	if (file < 0)
		return (mw_result_t)file;
	mw_mirror_file_t target = {.file = file};
	mw_result_t result = mw_mirror_attach(&target, freeze, thaw);
	mw_os_close(file);
	return result;
}

mw_result_t mw_state_file_create(void (*freeze)(void), void (*thaw)(void)) {
	describe_process(mw_image_header());
	state.owner = mw_image_header()->pid;
	mw_result_t result = create_in(shared_memory_root(), freeze, thaw);
	if (result != MW_OK && state.runtime_root[0])
		result = create_in(state.runtime_root, freeze, thaw);
	if (result != MW_OK)
		result = create_unnamed(freeze, thaw);
	return result;
}

void mw_state_file_remove(void) {
	/* The child of a fork that never made its own must not remove its parent's. */
	if (state.path[0] && state.owner == mw_os_process_id())
		mw_os_remove(MW_OS_NO_DIRECTORY, state.path);
	state.path[0] = '\0';
}

void mw_state_file_forked(uint32_t parent_pid) {
	state.path[0] = '\0';
	state.forked_from = parent_pid;
}
