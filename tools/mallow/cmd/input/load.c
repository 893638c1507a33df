/* SPDX-License-Identifier: MIT
 * load.c -- reads a target's profile and looks its names up. */
#include "cmd/input/load.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cli/terminal.h"
#include "cmd/input/made_times.h"
#include "cmd/store/stored_profile.h"
#include "formats/read.h"
#include "formats/state/state_file.h"
#include "live/control.h"
#include "live/fetch.h"
#include "live/process/process.h"
#include "live/process/resident_memory.h"
#include "model/memory.h"
#include "report/text/names.h"
#include "report/text/resident_text.h"
#include "symbol/cache/cache_folder.h"
#include "symbol/elf/demangle.h"
#include "symbol/symbolize.h"
#include "view/select/drop_frames.h"

/* Prints a note unless it was printed for an earlier file of the sum. */
static void say_note(void *context, const char *text) {
	static char last[1400];
	(void)context;
	if (strcmp(last, text) == 0)
		return;
	snprintf(last, sizeof(last), "%s", text);
	mw_complain("note: %s", text);
}

static void say_progress(void *context, size_t done, size_t all, const char *path) {
	(void)context;
	mw_progress("symbols of file %zu of %zu: %s", done + 1, all, basename(path));
}

int mw_load_resolve(const char *text, mw_target_t *out, mw_error_t *error) {
	if (mw_question_is(text)) {
		*out = (mw_target_t){.path = mw_xstrdup(text),
				     .shown = mw_xstrdup(text),
				     .is_stored = true,
				     .fd = -1};
		return 0;
	}
	if (mw_is_url(text))
		mw_progress("fetching %s", text);
	int result = mw_target_resolve(text, out, error);
	mw_progress_end();
	if (result == 0 && out->note[0])
		mw_complain("note: %s", out->note);
	return result;
}

int mw_on_target(const char *text, mw_target_work_t *work, const void *context) {
	mw_target_t target;
	mw_error_t error;
	int status = mw_load_resolve(text, &target, &error);
	if (status == 0) {
		status = work(&target, context, &error);
		mw_target_release(&target);
	}
	if (status >= 0)
		return status;
	mw_complain("%s", error.text);
	return MW_EXIT_TROUBLE;
}

/* Options for symbols, which hold for the whole run. */
static mw_symbolize_options_t places;
static bool wants_local = true, wants_remote = true, wants_all_anew, wants_linker_names,
	    wants_signatures, wants_bare_names;

static bool names_ranges;

void mw_load_name_ranges(void) {
	names_ranges = true;
}

void mw_load_take_options(const mw_arguments_t *arguments) {
	const mw_text_value_t *how = &arguments->options.symbolize;
	bool local = mw_value_has_word(how, "local") || mw_value_has_word(how, "fastlocal");
	bool remote = mw_value_has_word(how, "remote");
	bool none = mw_value_has_word(how, "none");
	places.debuginfod = !none && mw_value_has_word(how, "debuginfod");
	wants_local = !none && (local || places.debuginfod || !remote);
	wants_remote = !none && (remote || !local);
	wants_all_anew = mw_value_has_word(how, "force");
	wants_linker_names = mw_value_has_word(how, "demangle=none");
	wants_signatures = mw_value_has_word(how, "demangle=full");
	wants_bare_names = mw_value_has_word(how, "demangle=default");
	const char *names = arguments->options.names.text;
	bool is_old = arguments->is_pprof || arguments->is_jeprof || arguments->is_shell;
	mw_names_keep_whole(is_old || (names != NULL && strcmp(names, "full") == 0));
	places.sysroot = arguments->options.sysroot.text;
	if (arguments->options.memory.given)
		mw_limit_set(arguments->options.memory.number);
	places.binary_path = arguments->options.binary_path.text;
	if (places.binary_path == NULL)
		places.binary_path = getenv("PPROF_BINARY_PATH");
}

void mw_load_take_fetch_options(const mw_arguments_t *arguments) {
	const mw_fetch_options_t fetch = {
		.seconds = (unsigned)arguments->options.seconds.number,
		.timeout_seconds = arguments->options.timeout.seconds,
		.authority = arguments->options.tls_ca.text,
		.certificate = arguments->options.tls_cert.text,
		.key = arguments->options.tls_key.text,
	};
	mw_fetch_configure(&fetch);
}

mw_symbolize_options_t mw_load_symbol_options(char **cache) {
	mw_symbolize_options_t options = places;
	options.cache_directory = *cache = mw_cache_directory();
	return options;
}

mw_symbolize_options_t mw_load_symbol_places(void) {
	return places;
}

void mw_load_symbols(mw_profile_t *profile, uint32_t pid, bool notes) {
	if (!wants_local)
		return;
	char *cache;
	mw_symbolize_options_t options = mw_load_symbol_options(&cache);
	options.pid = pid;
	options.note = notes ? say_note : NULL;
	options.progress = say_progress;
	/* Finding package names takes time, so they are printed only on a terminal. */
	options.names_packages = isatty(STDERR_FILENO) != 0;
	mw_symbolize(profile, &options);
	mw_progress_end();
	free(cache);
}

/* Uses the path for the mapping of this name, or else for the first mapping, which is the
 * executable. */
static void use_program(mw_profile_t *p, const char *program) {
	const char *wanted = basename(program);
	size_t chosen = p->mapping_count > 1 ? 1 : 0;
	for (size_t i = p->mapping_count; i > 1; i--)
		if (strcmp(basename(mw_profile_string(p, p->mappings[i - 1].path)), wanted) == 0)
			chosen = i - 1;
	char *path = realpath(program, NULL);
	mw_string_t old = p->mappings[chosen].path;
	for (size_t i = 1; i < p->mapping_count && path != NULL; i++)
		if (p->mappings[i].path == old)
			p->mappings[i].path = mw_profile_intern(p, path);
	free(path);
}

static void forget_names(mw_profile_t *p) {
	for (uint32_t i = 1; i < p->location_count; i++)
		if (p->locations[i].mapping != 0)
			mw_profile_set_lines(p, i, NULL, 0);
}

static void take_linker_names(mw_profile_t *p) {
	for (size_t i = 1; i < p->function_count; i++)
		if (p->functions[i].system_name != 0)
			p->functions[i].name = p->functions[i].system_name;
}

static void take_signatures(mw_profile_t *p) {
	for (size_t i = 1; i < p->function_count; i++) {
		if (p->functions[i].system_name == 0)
			continue;
		char *name = mw_demangle_whole(mw_profile_string(p, p->functions[i].system_name));
		p->functions[i].name = mw_profile_intern(p, name);
		free(name);
	}
}

static void take_bare_names(mw_profile_t *p) {
	for (size_t i = 1; i < p->function_count; i++) {
		const char *name = mw_profile_string(p, p->functions[i].name);
		size_t size = strlen(name) + 1;
		char *bare = mw_xcalloc(size, 1);
		mw_bare_name(name, bare, size);
		p->functions[i].name = mw_profile_intern(p, bare);
		free(bare);
	}
}

void mw_load_names(const mw_target_t *target, const char *program, mw_load_symbols_t symbols,
		   mw_profile_t *p) {
	bool notes = symbols == MW_LOAD_SYMBOLS_NOTES;
	mw_error_t error;
	if (program != NULL)
		use_program(p, program);
	if (wants_all_anew)
		forget_names(p);
	/* The server knows its own program.  Files on this machine may be another build, or
	 * missing. */
	bool asks_server = target->is_url && wants_remote;
	int process = mw_target_process(target);
	mw_load_symbols(p, process > 0 ? (uint32_t)process : 0, notes && !asks_server);
	if (asks_server) {
		mw_progress("names from %s", target->shown);
		if (mw_fetch_symbols(target->shown, p, &error) != 0 && notes)
			mw_complain("note: some functions have no names: %s", error.text);
		mw_progress_end();
	}
	if (mw_drop_frames(p, &error) != 0 && notes)
		mw_complain("note: %s: %s", target->shown, error.text);
	if (wants_linker_names)
		take_linker_names(p);
	else if (wants_signatures)
		take_signatures(p);
	else if (wants_bare_names)
		take_bare_names(p);
	if (names_ranges)
		mw_profile_name_ranges(p);
}

static int read_fetched(const mw_target_t *target, mw_profile_t **out, mw_error_t *error) {
	struct stat info;
	size_t length = fstat(target->fd, &info) == 0 ? (size_t)info.st_size : 0;
	void *bytes =
		length > 0 ? mmap(NULL, length, PROT_READ, MAP_PRIVATE, target->fd, 0) : MAP_FAILED;
	if (bytes == MAP_FAILED)
		return mw_error_set(error, "%s: the server's answer is empty; check the URL",
				    target->shown);
	int result = mw_read_profile_bytes(target->shown, bytes, length, out, error);
	munmap(bytes, length);
	return result;
}

static int64_t window_from_ns, window_until_ns;

void mw_load_set_window(int64_t from_ns, int64_t until_ns) {
	window_from_ns = from_ns;
	window_until_ns = until_ns;
}

static int choose_made(const mw_target_t *target, mw_profile_t *profile, mw_error_t *error) {
	if (!mw_made_times_known(profile))
		return mw_error_set(error,
				    "%s: only live processes, state files and marks store when "
				    "objects were allocated; leave out --made-between and --since",
				    target->shown);
	mw_made_times_keep(profile, window_from_ns, window_until_ns);
	return 0;
}

/* Reads stacks, and `what` else, of a live process or state file. */
static int read_state(const mw_target_t *target, unsigned what, mw_snapshot_t **snapshot,
		      mw_error_t *error) {
	what |= MW_SNAPSHOT_STACKS | (target->alive ? MW_SNAPSHOT_OF_NOW : 0);
	return mw_target_read(target, what, snapshot, error);
}

/* Reads a live process. */
static int read_live(const mw_target_t *target, mw_load_detail_t detail, mw_profile_t **out,
		     mw_error_t *error) {
	unsigned what =
		detail == MW_LOAD_SPLIT ? MW_SNAPSHOT_ALL | MW_SNAPSHOT_OF_NOW : MW_SNAPSHOT_STACKS;
	mw_snapshot_t *snapshot;
	mw_memory_limit_begin(target->path);
	int result = mw_target_read(target, what, &snapshot, error);
	if (result == 0) {
		*out = mw_profile_from_snapshot(snapshot);
		(*out)->origin.source = mw_profile_intern(*out, target->path);
		mw_snapshot_free(snapshot);
	}
	mw_memory_limit_end();
	return result;
}

/* Reads a live process or state file, limited to objects of the time window. */
static int read_window(const mw_target_t *target, mw_profile_t **out, mw_error_t *error) {
	mw_snapshot_t *snapshot;
	if (read_state(target, MW_SNAPSHOT_RECORDS, &snapshot, error) != 0)
		return -1;
	mw_snapshot_made_between(snapshot, window_from_ns, window_until_ns);
	*out = mw_profile_from_snapshot(snapshot);
	/* Objects that were allocated since then and are still live are the growth from that time
	 * on. */
	if (window_until_ns == INT64_MAX)
		(*out)->origin.base_time_ns = window_from_ns;
	mw_snapshot_free(snapshot);
	return 0;
}

static bool keeps_times, wants_cpu, adds_cpu;

void mw_load_keep_times(void) {
	keeps_times = true;
}

/* Reads a live process or state file, each object with the time of its allocation. */
static int read_times(const mw_target_t *target, mw_profile_t **out, mw_error_t *error) {
	mw_snapshot_t *snapshot;
	if (read_state(target, MW_SNAPSHOT_RECORDS, &snapshot, error) != 0)
		return -1;
	snapshot->keeps_times = true;
	*out = mw_profile_from_snapshot(snapshot);
	mw_snapshot_free(snapshot);
	return 0;
}

void mw_load_choose_cpu(void) {
	wants_cpu = true;
}

void mw_load_add_cpu(void) {
	adds_cpu = true;
}

/* Reads the heap and the CPU time of a live process or state file. */
static int read_both(const mw_target_t *target, mw_profile_t **out, mw_error_t *error) {
	mw_snapshot_t *snapshot;
	if (read_state(target, MW_SNAPSHOT_CPU, &snapshot, error) != 0)
		return -1;
	*out = mw_profile_from_snapshot(snapshot);
	mw_snapshot_free(snapshot);
	return 0;
}

/* Reads the CPU time of a live process or state file. */
static int read_cpu(const mw_target_t *target, mw_profile_t **out, mw_error_t *error) {
	mw_snapshot_t *snapshot;
	if (read_state(target, MW_SNAPSHOT_CPU, &snapshot, error) != 0)
		return -1;
	bool was_on = snapshot->live.cpu_used > 0;
	if (was_on)
		*out = mw_profile_of_cpu(snapshot);
	mw_snapshot_free(snapshot);
	if (was_on)
		return 0;
	return mw_error_set(error,
			    "%s: its CPU time was never sampled; 'mallow start --cpu' begins that, "
			    "'mallow run --cpu' does it from the start",
			    target->shown);
}

static int check_cpu(const mw_target_t *target, mw_profile_t *profile, mw_error_t *error) {
	if (mw_profile_cpu_type(profile) >= 0)
		return 0;
	return mw_error_set(error, "%s: it holds no CPU time; leave out --cpu", target->shown);
}

static int read_target(const mw_target_t *target, mw_load_detail_t detail, mw_profile_t **out,
		       mw_error_t *error) {
	int result;
	if (wants_cpu && target->is_state)
		return read_cpu(target, out, error);
	if (window_until_ns != 0 && target->is_state)
		return read_window(target, out, error);
	if (keeps_times && target->is_state)
		return read_times(target, out, error);
	if (adds_cpu && target->is_state && detail == MW_LOAD_STACKS)
		return read_both(target, out, error);
	if (target->is_stored)
		result = mw_stored_profile(target->path, wants_cpu ? MW_KIND_CPU : MW_KIND_HEAP,
					   out, error);
	else if (target->is_url)
		result = read_fetched(target, out, error);
	else if (target->is_state && mw_target_process(target) > 0)
		result = read_live(target, detail, out, error);
	else if (detail == MW_LOAD_SPLIT)
		result = mw_read_profile_split(target->path, target->alive, out, error);
	else
		result = mw_read_profile(target->path, out, error);
	if (result != 0)
		return result;
	if (window_until_ns != 0)
		result = choose_made(target, *out, error);
	else if (wants_cpu)
		result = check_cpu(target, *out, error);
	mw_made_times_forget(*out);
	if (result != 0)
		mw_profile_free(*out);
	return result;
}

static void note_end(const mw_target_t *target, mw_profile_t *p) {
	p->origin.killed = mw_target_process(target) == 0 && !mw_target_is_alive(target) &&
			   (p->origin.flags & (MW_STATE_ENDED | MW_STATE_QUIT)) == 0;
	if (p->origin.killed)
		mw_profile_add_comment(p, MW_COMMENT_KILLED);
}

/* A process may have set its title since it started ("postgres: checkpointer"). */
static void take_title(const mw_target_t *target, mw_profile_t *p) {
	char title[256];
	if (mw_target_title(target, title, sizeof(title)))
		p->origin.args = mw_profile_intern(p, title);
}

/* Longest wait for a heap walk.  A thread that allocates reads a request at its next refill. */
#define WALK_SECONDS 0.2

void mw_heap_walk_request(const mw_target_t *target) {
	mw_request_t request = {.kind = MW_REQUEST_WALK};
	mw_reply_t reply;
	mw_error_t error;
	mw_process_t process;
	int pid = mw_target_process(target);
	if (pid > 0 && mw_process_read(pid, &process) && !process.paused)
		mw_control_send(target, &request, WALK_SECONDS, &reply, &error);
}

static bool adds_resident;

void mw_load_add_resident(void) {
	adds_resident = true;
}

/* Of other users' processes only the division at the peak can be read. */
mw_resident_t mw_resident_of_target(const mw_target_t *target, const mw_snapshot_t *snapshot) {
	mw_memory_t memory;
	mw_error_t error;
	if (mw_target_process(target) > 0 &&
	    mw_memory_read(target->pid, snapshot, &memory, &error) == 0)
		return mw_memory_parts(&memory);
	return mw_resident_from_snapshot(snapshot);
}

const char *mw_arenas_of_snapshot(const mw_snapshot_t *snapshot) {
	const char *found = mw_arenas_of(snapshot->header.program);
	for (size_t i = 0; i < snapshot->module_count && found == NULL; i++)
		found = mw_arenas_of(snapshot->modules[i].path);
	return found;
}

static void take_resident(const mw_target_t *target, mw_profile_t *p) {
	mw_snapshot_t *snapshot;
	mw_error_t error;
	if (!adds_resident || mw_target_process(target) == 0)
		return;
	mw_heap_walk_request(target);
	if (mw_target_read(target, MW_SNAPSHOT_HEAP_WALK, &snapshot, &error) != 0)
		return;
	p->origin.resident = mw_resident_of_target(target, snapshot);
	mw_snapshot_free(snapshot);
}

int mw_load(const mw_target_t *target, mw_load_symbols_t symbols, mw_load_detail_t detail,
	    mw_profile_t **out, mw_error_t *error) {
	mw_progress("reading %s", target->shown);
	int result = read_target(target, detail, out, error);
	mw_progress_end();
	if (result == 0 && target->is_state) {
		take_title(target, *out);
		note_end(target, *out);
		take_resident(target, *out);
	}
	if (result == 0 && symbols != MW_LOAD_NO_SYMBOLS)
		mw_load_names(target, NULL, symbols, *out);
	return result;
}

mw_format_t mw_format_of_name(const char *path) {
	size_t length = strlen(path);
	if (length > 3 && strcmp(path + length - 3, ".gz") == 0)
		length -= 3;
	bool heap = length > 5 && memcmp(path + length - 5, ".heap", 5) == 0;
	return heap ? MW_FORMAT_JEMALLOC : MW_FORMAT_PROTO;
}
