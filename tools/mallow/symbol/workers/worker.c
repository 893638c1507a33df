/* SPDX-License-Identifier: MIT
 * worker.c -- looks up locations that are not cached, and sends the results. */
#include "symbol/workers/worker.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/memory.h"
#include "symbol/cache/symbol_cache.h"
#include "symbol/elf/elf_object.h"
#include "symbol/files/debuginfod.h"
#include "symbol/workers/address_lookup.h"
#include "symbol/workers/confine.h"
#include "symbol/workers/found.h"

/* Size of the output buffer: the capacity of a pipe. */
#define PIPE_BYTES ((size_t)64 << 10)
/* Fewest places for which another worker pays off: opening a file takes as long as some hundred
 * lookups. */
#define PLACES_WORTH_HELP 500

/* A worker's state. */
typedef struct desk {
	const mw_worker_input_t *input;
	int fd;
	char *out; /* messages that are not written yet */
	size_t out_bytes, out_capacity;
} desk_t;

/* Work on one mapping. */
typedef struct task {
	desk_t *desk;
	const mw_profile_t *profile;
	const mw_symbol_job_t *job;
	const mw_mapping_t *mapping;
	const mw_symbolize_options_t *options;
	mw_symbol_cache_t *cache; /* names from earlier runs; NULL after they were sent */
	mw_found_t *names;        /* names that this worker found */
	/* Number of the first function of `names`; the functions of `cache` come before it. */
	uint32_t names_first;
	uint32_t names_sent; /* how many functions of `names` were sent */
	bool *known_sent;    /* known_sent[i]: function i of `cache` was sent */
	mw_object_t *object; /* opened when a location is not cached */
	uint64_t bias;
} task_t;

/* Adds a message to the buffer, which flush() writes. */
static void emit(desk_t *d, mw_message_t message, const char *text) {
	size_t bytes = sizeof(message) + message.length;
	if (d->out_bytes + bytes > d->out_capacity) {
		d->out_capacity = 2 * (d->out_bytes + bytes) + PIPE_BYTES;
		d->out = mw_xrealloc(d->out, d->out_capacity, 1);
	}
	memcpy(d->out + d->out_bytes, &message, sizeof(message));
	if (message.length > 0)
		memcpy(d->out + d->out_bytes + sizeof(message), text, message.length);
	d->out_bytes += bytes;
}

static void write_all(int fd, const void *bytes, size_t length) {
	for (const char *at = bytes; length > 0;) {
		ssize_t written = write(fd, at, length);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			_exit(2); /* the parent has ended */
		at += written;
		length -= (size_t)written;
	}
}

static void flush(desk_t *d) {
	write_all(d->fd, d->out, d->out_bytes);
	d->out_bytes = 0;
}

static void send_note(task_t *t, const char *text) {
	mw_message_t message = {.kind = MW_MESSAGE_NOTE, .length = (uint32_t)strlen(text)};
	emit(t->desk, message, text);
}

/* Appends a text and its NUL. */
static size_t pack(char *buffer, size_t used, const char *text) {
	size_t length = strnlen(text, MW_MESSAGE_TEXT_MAX / 3 - 1);
	memcpy(buffer + used, text, length);
	buffer[used + length] = '\0';
	return used + length + 1;
}

static void send_opened(task_t *t, bool has_debug) {
	char text[MW_BUILD_ID_BYTES + MW_IDENTITY_BYTES];
	size_t used = pack(text, 0, t->object != NULL ? mw_object_build_id(t->object) : "");
	used = pack(text, used, t->object != NULL ? mw_object_identity(t->object) : "");
	mw_message_t message = {.kind = MW_MESSAGE_OPENED,
				.number = t->job->mapping,
				.value = t->bias,
				.detail = has_debug,
				.length = (uint32_t)used};
	emit(t->desk, message, text);
}

/* Sends a function of a profile under the given number. */
static void send_function(task_t *t, const mw_profile_t *p, uint32_t function, uint32_t number) {
	char buffer[MW_MESSAGE_TEXT_MAX];
	const mw_function_t *f = &p->functions[function];
	size_t used = pack(buffer, 0, mw_profile_string(p, f->name));
	used = pack(buffer, used, mw_profile_string(p, f->system_name));
	used = pack(buffer, used, mw_profile_string(p, f->file));
	mw_message_t message = {
		.kind = MW_MESSAGE_FUNCTION, .number = number, .length = (uint32_t)used};
	emit(t->desk, message, buffer);
}

static void send_frame(task_t *t, uint32_t location, uint32_t function, int64_t line) {
	mw_message_t message = {.kind = MW_MESSAGE_FRAME,
				.number = location,
				.detail = function,
				.value = (uint64_t)line};
	emit(t->desk, message, "");
	if (t->desk->out_bytes >= PIPE_BYTES)
		flush(t->desk);
}

/* Sends a location's functions; `known` is the location in the cache's profile. */
static void send_known(task_t *t, uint32_t location, uint32_t known) {
	const mw_profile_t *p = mw_symbol_cache_profile(t->cache);
	const mw_location_t *l = &p->locations[known];
	for (uint32_t i = 0; i < l->line_count; i++) {
		const mw_line_t *line = &p->lines[l->line_first + i];
		if (!t->known_sent[line->function])
			send_function(t, p, line->function, line->function);
		t->known_sent[line->function] = true;
		send_frame(t, location, line->function, line->line);
	}
}

/* Opens the file and computes its bias.  Its debug information is read only if a location is not
 * cached. */
static int open_object(task_t *t) {
	mw_error_t error;
	t->object = mw_object_open(t->profile, t->mapping, t->options, &error);
	if (t->object != NULL && !t->mapping->bias_known &&
	    !mw_object_bias(t->object, t->mapping, &t->bias)) {
		mw_error_set(&error,
			     "%.400s: has no segment at the addresses that the profile has of it; "
			     "its symbols are not used",
			     mw_profile_string(t->profile, t->mapping->path));
		mw_object_close(t->object);
		t->object = NULL;
	}
	if (t->object == NULL) {
		send_note(t, error.text);
		return -1;
	}
	return 0;
}

/* Sends all cached answers.  Returns how many locations are left, with their numbers in `left`. */
static size_t send_all_known(task_t *t, uint32_t *left) {
	size_t count = 0, functions = mw_symbol_cache_profile(t->cache)->function_count;
	t->known_sent = mw_xcalloc(functions, sizeof(bool));
	for (size_t i = 0; i < t->job->count; i++) {
		uint32_t location = t->job->locations[i];
		/* Another worker found this location before it died of a different file. */
		if (t->profile->locations[location].line_count > 0)
			continue;
		uint32_t known = mw_symbol_cache_find(
			t->cache, t->profile->locations[location].address - t->bias);
		if (known != 0)
			send_known(t, location, known);
		else
			left[count++] = location;
	}
	free(t->known_sent);
	t->names_first = (uint32_t)functions;
	return count;
}

static void take_found(void *context, uint32_t location, const mw_line_t *lines, size_t count) {
	task_t *t = context;
	const mw_profile_t *p = mw_found_profile(t->names);
	for (; t->names_sent + 1 < p->function_count; t->names_sent++)
		send_function(t, p, t->names_sent + 1, t->names_first + t->names_sent + 1);
	for (size_t i = 0; i < count; i++)
		send_frame(t, location, t->names_first + lines[i].function, lines[i].line);
}

/* Flushes messages before a unit is read, because a damaged unit may end the process. */
static void before_unit(void *context) {
	const task_t *t = context;
	flush(t->desk);
}

static mw_lookup_t lookup_of(task_t *t, mw_queue_t *queue) {
	t->names = mw_found_new();
	return (mw_lookup_t){
		.profile = t->profile,
		.mapping = t->mapping,
		.options = t->options,
		.bias = t->bias,
		.names = t->names,
		.queue = queue,
		.found = take_found,
		.before_unit = before_unit,
		.context = t,
	};
}

/* True if split debug information is not there: names and lines of functions remain. */
static bool send_incomplete(task_t *t) {
	const mw_message_t message = {.kind = MW_MESSAGE_INCOMPLETE};
	if (t->object == NULL || *mw_object_missing(t->object) == '\0')
		return false;
	emit(t->desk, message, "");
	return true;
}

static void send_missing(task_t *t) {
	mw_error_t error;
	if (!send_incomplete(t))
		return;
	mw_error_set(&error,
		     "%.300s: its debug information is in %s and others, which are not there, so "
		     "inlined functions have no names; put back the .dwo files, or a package of "
		     "them (.dwp) beside the program",
		     mw_profile_string(t->profile, t->mapping->path), mw_object_missing(t->object));
	send_note(t, error.text);
}

static void look_up(task_t *t, const uint32_t *locations, size_t count) {
	mw_queue_t *own = t->job->queue == NULL ? mw_queue_new(count) : NULL;
	const mw_lookup_t lookup = lookup_of(t, own != NULL ? own : t->job->queue);
	const mw_message_t message = {
		.kind = MW_MESSAGE_LOOKUP, .number = t->job->mapping, .value = count};
	emit(t->desk, message, "");
	flush(t->desk);
	send_opened(t, mw_object_has_debug(t->object));
	if (lookup.queue != NULL) {
		mw_lookup_list(&lookup, t->object, locations, count);
		mw_lookup_all(&lookup, &t->object);
	}
	mw_queue_free(own);
	send_missing(t);
}

/* Does all of a file.  Profiles without build-ids (jemalloc's text) use the cache of the file
 * that exists now. */
static void do_task(task_t *t) {
	const char *build_id = mw_profile_string(t->profile, t->mapping->build_id);
	t->bias = t->mapping->bias;
	if ((!t->mapping->bias_known || build_id[0] == '\0') && open_object(t) != 0)
		return;
	if (build_id[0] == '\0')
		build_id = mw_object_build_id(t->object);
	char identity[MW_IDENTITY_BYTES];
	const mw_symbol_cache_file_t file = {
		.path = mw_profile_string(t->profile, t->mapping->path),
		.build_id = build_id,
		.identity = t->object != NULL ? mw_object_identity(t->object)
					      : mw_object_identify(t->profile, t->mapping,
								   t->options, identity)};
	t->cache = mw_symbol_cache_open(t->options->cache_directory, &file);
	if (mw_symbol_cache_has_names(t->cache))
		send_opened(t, true);
	uint32_t *left = mw_xcalloc(t->job->count, sizeof(uint32_t));
	size_t count = send_all_known(t, left);
	mw_symbol_cache_close(t->cache);
	if (count > 0 && (t->object != NULL || open_object(t) == 0))
		look_up(t, left, count);
	free(left);
}

/* Helps with a file that another worker has begun. */
static void help(task_t *t) {
	if (mw_queue_wait(t->job->queue) < PLACES_WORTH_HELP)
		return;
	t->bias = t->mapping->bias;
	if (open_object(t) != 0)
		return;
	mw_object_has_debug(t->object);
	const mw_lookup_t lookup = lookup_of(t, t->job->queue);
	mw_lookup_all(&lookup, &t->object);
	send_incomplete(t);
}

static void do_job(desk_t *d, const mw_symbol_job_t *job, void (*part)(task_t *t)) {
	const mw_mapping_t *mapping = &d->input->profile->mappings[job->mapping];
	task_t t = {.desk = d,
		    .profile = d->input->profile,
		    .job = job,
		    .mapping = mapping,
		    .options = d->input->options};
	mw_message_t message = {.kind = MW_MESSAGE_BEGIN, .number = job->mapping};
	emit(d, message, "");
	flush(d);
	part(&t);
	mw_object_close(t.object);
	if (t.names != NULL)
		mw_found_free(t.names);
	message.kind = MW_MESSAGE_END;
	emit(d, message, "");
	flush(d);
}

/* Does the jobs of one size that no worker has taken. */
static void do_jobs(desk_t *d, bool are_small) {
	const mw_worker_input_t *s = d->input;
	for (size_t i = 0; i < s->job_count; i++)
		if ((s->jobs[i].count < MW_JOB_SMALL_MAX) == are_small && !s->jobs[i].is_done &&
		    !atomic_exchange(&s->taken[i], true))
			do_job(d, &s->jobs[i], do_task);
}

void mw_symbol_worker(const mw_worker_input_t *input, int pipe_fd) {
	desk_t d = {.input = input, .fd = pipe_fd};
	mw_confine_memory(MW_CONFINED_BYTES);
	mw_debuginfod_allow(input->options->debuginfod);
	if (input->helped == NULL)
		do_jobs(&d, false);
	do_jobs(&d, true);
	if (input->helped != NULL)
		do_job(&d, input->helped, help);
	const mw_message_t message = {.kind = MW_MESSAGE_DONE};
	emit(&d, message, "");
	flush(&d);
	/* Closes the pipe before the process frees its memory, which takes a while. */
	close(pipe_fd);
	_exit(0);
}
