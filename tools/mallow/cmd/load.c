/* SPDX-License-Identifier: MIT
 * load.c -- reads a target's profile and gives it names. */
#include "cmd/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/terminal.h"
#include "live/fetch.h"
#include "read/read.h"
#include "symbol/cache.h"
#include "symbol/symbolize.h"
#include "view/drop.h"

/* What is said of one file of a sum need not be said of the next. */
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

/* A run of the command looks for symbols in one way. */
static mw_symbolize_options_t places;
static bool wants_local = true, wants_remote = true, wants_all_anew, wants_linker_names,
	    wants_signatures;

void mw_load_take_options(const mw_arguments_t *arguments) {
	static const char how[] = "symbolize";
	bool local = mw_argument_has_word(arguments, how, "local") ||
		     mw_argument_has_word(arguments, how, "fastlocal");
	bool remote = mw_argument_has_word(arguments, how, "remote");
	bool none = mw_argument_has_word(arguments, how, "none");
	places.debuginfod = !none && mw_argument_has_word(arguments, how, "debuginfod");
	wants_local = !none && (local || places.debuginfod || !remote);
	wants_remote = !none && (remote || !local);
	wants_all_anew = mw_argument_has_word(arguments, how, "force");
	wants_linker_names = mw_argument_has_word(arguments, how, "demangle=none");
	wants_signatures = mw_argument_has_word(arguments, how, "demangle=full");
	places.sysroot = mw_argument(arguments, "sysroot")->text;
	places.binary_path = mw_argument(arguments, "binary-path")->text;
	if (places.binary_path == NULL)
		places.binary_path = getenv("PPROF_BINARY_PATH");
}

void mw_load_take_fetch_options(const mw_arguments_t *arguments) {
	const mw_fetch_options_t fetch = {
		.seconds = (unsigned)mw_argument(arguments, "seconds")->number,
		.timeout_seconds = mw_argument(arguments, "timeout")->seconds,
		.authority = mw_argument(arguments, "tls-ca")->text,
		.certificate = mw_argument(arguments, "tls-cert")->text,
		.key = mw_argument(arguments, "tls-key")->text,
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
	/* For people; scripts do not wait for it. */
	options.names_packages = isatty(STDERR_FILENO) != 0;
	mw_symbolize(profile, &options);
	mw_progress_end();
	free(cache);
}

/* The mapping of that name, or the first: profiles begin with the executable. */
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

void mw_load_names(const mw_target_t *target, const char *program, mw_load_symbols_t symbols,
		   mw_profile_t *p) {
	bool notes = symbols == MW_LOAD_SYMBOLS_NOTES;
	mw_error_t error;
	if (program != NULL)
		use_program(p, program);
	if (wants_all_anew)
		forget_names(p);
	/* The server knows its own program; files here may be another build's, or not be here. */
	bool asks_server = target->is_url && wants_remote;
	mw_load_symbols(p, target->alive ? (uint32_t)target->pid : 0, notes && !asks_server);
	if (asks_server) {
		mw_progress("names from %s", target->shown);
		if (mw_fetch_symbols(target->shown, p, &error) != 0 && notes)
			mw_complain("note: names: %s", error.text);
		mw_progress_end();
	}
	if (mw_drop_frames(p, &error) != 0 && notes)
		mw_complain("note: %s: %s", target->shown, error.text);
	if (wants_linker_names)
		take_linker_names(p);
	else if (wants_signatures)
		take_signatures(p);
}

static int read_fetched(const mw_target_t *target, mw_profile_t **out, mw_error_t *error) {
	struct stat info;
	size_t length = fstat(target->fd, &info) == 0 ? (size_t)info.st_size : 0;
	void *bytes =
		length > 0 ? mmap(NULL, length, PROT_READ, MAP_PRIVATE, target->fd, 0) : MAP_FAILED;
	if (bytes == MAP_FAILED)
		return mw_error_set(error, "%s: the answer is empty", target->shown);
	int result = mw_read_profile_bytes(target->shown, bytes, length, out, error);
	munmap(bytes, length);
	return result;
}

static int read_target(const mw_target_t *target, mw_load_detail_t detail, mw_profile_t **out,
		       mw_error_t *error) {
	if (target->is_url)
		return read_fetched(target, out, error);
	return detail == MW_LOAD_SPLIT
		       ? mw_read_profile_split(target->path, target->alive, out, error)
		       : mw_read_profile(target->path, out, error);
}

int mw_load(const mw_target_t *target, mw_load_symbols_t symbols, mw_load_detail_t detail,
	    mw_profile_t **out, mw_error_t *error) {
	mw_progress("reading %s", target->shown);
	int result = read_target(target, detail, out, error);
	mw_progress_end();
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
