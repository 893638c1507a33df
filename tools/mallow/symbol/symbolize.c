/* SPDX-License-Identifier: MIT
 * symbolize.c -- hands addresses to the worker and puts its answers into the profile. */
#include "symbol/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/alloc.h"
#include "symbol/advice.h"
#include "symbol/jit.h"
#include "symbol/object.h"
#include "symbol/worker.h"

/* A worker that says nothing for so long hangs.  The index of the largest debug files there are
 * (several GiB) takes some ten seconds to read. */
#define SILENCE_MS 120000

typedef struct session {
	mw_profile_t *profile;
	const mw_symbolize_options_t *options;
	mw_symbol_job_t *jobs;
	size_t job_count;
	uint32_t *job_of_mapping; /* index + 1 */
	mw_symbol_job_t *current; /* whose messages come */

	uint32_t location; /* whose frames are being collected; 0: none */
	mw_line_t lines[MW_OBJECT_INLINE_MAX];
	size_t line_count;

	bool is_alone; /* jobs are done one by one */
	int fd;        /* of the pipe */
	char buffer[64 << 10];
	size_t used;
} session_t;

static void note(const session_t *s, const char *text) {
	if (s->options->note != NULL)
		s->options->note(s->options->context, text);
}

/* Code of the kernel or made at run time: "[vdso]", "//anon", nothing. */
static bool is_file(const char *path) {
	return path[0] == '/' && path[1] != '/';
}

static int compare_addresses(const void *a, const void *b, void *context) {
	const mw_location_t *locations = context;
	uint64_t x = locations[*(const uint32_t *)a].address;
	uint64_t y = locations[*(const uint32_t *)b].address;
	return x < y ? -1 : x > y;
}

static void make_jobs(session_t *s) {
	mw_profile_t *p = s->profile;
	s->job_of_mapping = mw_xcalloc(p->mapping_count, sizeof(uint32_t));
	size_t capacity = 0;
	for (size_t i = 1; i < p->location_count; i++) {
		const mw_location_t *l = &p->locations[i];
		if (l->line_count > 0 || l->mapping == 0 ||
		    !is_file(mw_profile_string(p, p->mappings[l->mapping].path)))
			continue;
		if (s->job_of_mapping[l->mapping] == 0) {
			s->jobs = mw_grow(s->jobs, &capacity, s->job_count + 1,
					  sizeof(mw_symbol_job_t));
			s->jobs[s->job_count++].mapping = l->mapping;
			s->job_of_mapping[l->mapping] = (uint32_t)s->job_count;
		}
		mw_symbol_job_t *job = &s->jobs[s->job_of_mapping[l->mapping] - 1];
		job->locations =
			mw_grow(job->locations, &job->capacity, job->count + 1, sizeof(uint32_t));
		job->locations[job->count++] = (uint32_t)i;
	}
	for (size_t i = 0; i < s->job_count; i++)
		qsort_r(s->jobs[i].locations, s->jobs[i].count, sizeof(uint32_t), compare_addresses,
			p->locations);
}

/* Puts the collected frames of a location into the profile. */
static void finish_location(session_t *s) {
	if (s->location != 0)
		mw_profile_set_lines(s->profile, s->location, s->lines, s->line_count);
	s->location = 0;
	s->line_count = 0;
}

/* A worker that numbers beyond this has gone mad. */
#define FUNCTIONS_MAX (1u << 26)

static void take_function(session_t *s, const mw_message_t *message, const char *text) {
	mw_profile_t *p = s->profile;
	if (s->current == NULL || message->number == 0 || message->number >= FUNCTIONS_MAX)
		return;
	const char *end = text + message->length, *name = text;
	const char *system_name = name + strnlen(name, (size_t)(end - name)) + 1;
	if (system_name >= end)
		return;
	const char *file = system_name + strnlen(system_name, (size_t)(end - system_name)) + 1;
	if (file >= end)
		return;
	mw_function_t function = {
		.name = mw_profile_intern_bytes(p, name, (size_t)(system_name - name)),
		.system_name =
			mw_profile_intern_bytes(p, system_name, (size_t)(file - system_name)),
		.file = mw_profile_intern_bytes(p, file, (size_t)(end - file)),
	};
	mw_symbol_job_t *job = s->current;
	job->functions = mw_grow(job->functions, &job->function_capacity,
				 (size_t)message->number + 1, sizeof(uint32_t));
	job->functions[message->number] = mw_profile_add_function(p, &function);
}

static void take_frame(session_t *s, const mw_message_t *message) {
	if (message->number != s->location)
		finish_location(s);
	const mw_symbol_job_t *job = s->current;
	if (job == NULL || message->number == 0 || message->number >= s->profile->location_count ||
	    message->detail >= job->function_capacity || job->functions[message->detail] == 0 ||
	    s->line_count == MW_OBJECT_INLINE_MAX)
		return;
	s->location = message->number;
	s->lines[s->line_count++] = (mw_line_t){.function = job->functions[message->detail],
						.line = (int64_t)message->value};
}

static void take_opened(session_t *s, const mw_message_t *message) {
	if (message->number == 0 || message->number >= s->profile->mapping_count)
		return;
	mw_mapping_t *mapping = &s->profile->mappings[message->number];
	mapping->bias = message->value;
	mapping->bias_known = true;
	mapping->has_functions = true;
	mapping->has_filenames = mapping->has_line_numbers = message->detail != 0;
	mapping->has_inline_frames = message->detail != 0;
}

static void say_progress(const session_t *s) {
	if (s->options->progress == NULL || s->current == NULL)
		return;
	const mw_mapping_t *mapping = &s->profile->mappings[s->current->mapping];
	size_t done = 0;
	for (size_t i = 0; i < s->job_count; i++)
		done += s->jobs[i].done;
	s->options->progress(s->options->context, done, s->job_count,
			     mw_profile_string(s->profile, mapping->path));
}

static mw_symbol_job_t *job_of(const session_t *s, uint32_t mapping) {
	bool is_one = mapping < s->profile->mapping_count && s->job_of_mapping[mapping] != 0;
	return is_one ? &s->jobs[s->job_of_mapping[mapping] - 1] : NULL;
}

static void take_message(session_t *s, const mw_message_t *message, const char *text) {
	if (message->kind != MW_MESSAGE_FRAME && message->kind != MW_MESSAGE_FUNCTION)
		finish_location(s);
	switch (message->kind) {
	case MW_MESSAGE_OF:
		s->current = job_of(s, message->number);
		break;
	case MW_MESSAGE_BEGIN:
		if (s->current != NULL)
			s->current->is_begun = true;
		say_progress(s);
		break;
	case MW_MESSAGE_NOTE:
		note(s, text);
		break;
	case MW_MESSAGE_OPENED:
		take_opened(s, message);
		break;
	case MW_MESSAGE_FUNCTION:
		take_function(s, message, text);
		break;
	case MW_MESSAGE_FRAME:
		take_frame(s, message);
		break;
	case MW_MESSAGE_END:
		if (s->current != NULL)
			s->current->done = true;
		break;
	default:
		break;
	}
}

/* Takes the whole messages out of the buffer. */
static int take_messages(session_t *s) {
	size_t at = 0;
	static char text[MW_MESSAGE_TEXT_MAX + 1];
	while (s->used - at >= sizeof(mw_message_t)) {
		mw_message_t message;
		memcpy(&message, s->buffer + at, sizeof(message));
		if (message.length > MW_MESSAGE_TEXT_MAX)
			return -1;
		if (s->used - at < sizeof(message) + message.length)
			break;
		memcpy(text, s->buffer + at + sizeof(message), message.length);
		text[message.length] = '\0';
		take_message(s, &message, text);
		at += sizeof(message) + message.length;
	}
	memmove(s->buffer, s->buffer + at, s->used - at);
	s->used -= at;
	return 0;
}

/* Reads until the worker is done (0), or did something it should not (-1). */
static int listen_to(session_t *s) {
	s->used = 0;
	for (;;) {
		struct pollfd wait = {.fd = s->fd, .events = POLLIN};
		/* A download takes as long as it takes; libdebuginfod has time limits of its own.
		 */
		int ready = poll(&wait, 1, s->options->debuginfod ? -1 : SILENCE_MS);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return -1;
		ssize_t got = read(s->fd, s->buffer + s->used, sizeof(s->buffer) - s->used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 ? 0 : -1;
		s->used += (size_t)got;
		if (take_messages(s) != 0)
			return -1;
	}
}

/* Whichever job a worker has died of is given up; of several that it was at none is, the next one
 * takes them one by one.  False: it was at none. */
static bool give_up(session_t *s) {
	mw_symbol_job_t *culprit = NULL;
	size_t begun = 0;
	for (size_t i = 0; i < s->job_count; i++)
		if (s->jobs[i].is_begun && !s->jobs[i].done) {
			culprit = &s->jobs[i];
			begun++;
		}
	if (begun == 0)
		return false;
	s->is_alone = true;
	if (begun > 1)
		return true;
	char text[600];
	snprintf(text, sizeof(text),
		 "%.400s: its debug information is damaged, or takes more than 4 GiB to read; "
		 "some functions have no names",
		 mw_profile_string(s->profile, s->profile->mappings[culprit->mapping].path));
	note(s, text);
	culprit->done = true;
	return true;
}

static void forget_worker(session_t *s) {
	s->current = NULL;
	for (size_t i = 0; i < s->job_count; i++) {
		mw_symbol_job_t *job = &s->jobs[i];
		job->is_begun = false;
		free(job->functions);
		job->functions = NULL;
		job->function_capacity = 0;
	}
}

/* One worker's life.  0: all jobs are done; -1: it died of one; -2: none could be started. */
static int run_worker(session_t *s) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -2;
	fflush(NULL); /* nothing buffered twice */
	pid_t worker = fork();
	if (worker == 0) {
		close(ends[0]);
		mw_symbol_worker(s->profile, s->jobs, s->job_count, s->options, s->is_alone,
				 ends[1]);
	}
	close(ends[1]);
	if (worker < 0) {
		close(ends[0]);
		return -2;
	}
	s->fd = ends[0];
	forget_worker(s);
	int result = listen_to(s);
	finish_location(s);
	close(ends[0]);
	if (result != 0)
		kill(worker, SIGKILL);
	int status = 0;
	while (waitpid(worker, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return give_up(s) ? -1 : -2;
}

static mw_symbolize_result_t count_results(const mw_profile_t *p) {
	mw_symbolize_result_t result = {0};
	for (size_t i = 1; i < p->location_count; i++)
		if (p->locations[i].line_count > 0)
			result.resolved++;
		else
			result.unresolved++;
	return result;
}

mw_symbolize_result_t mw_symbolize(mw_profile_t *profile, const mw_symbolize_options_t *options) {
	session_t *s = mw_xcalloc(1, sizeof(*s));
	s->profile = profile;
	static const mw_symbolize_options_t nothing;
	s->options = options != NULL ? options : &nothing;
	make_jobs(s);
	int result = s->job_count > 0 ? -1 : 0;
	/* Every worker that dies takes one job with it, but for the first. */
	for (size_t i = 0; i < s->job_count + 1 && result == -1; i++)
		result = run_worker(s);
	forget_worker(s);
	if (result == -2)
		note(s, "cannot start a process to look up symbols; functions have no names");
	mw_symbol_advice(profile, s->jobs, s->job_count, s->options);
	for (size_t i = 0; i < s->job_count; i++)
		free(s->jobs[i].locations);
	free(s->jobs);
	free(s->job_of_mapping);
	mw_jit_symbolize(profile, s->options->pid);
	free(s);
	return count_results(profile);
}

const char *mw_location_name(const mw_profile_t *profile, uint32_t location, char *buffer,
			     size_t size) {
	const mw_location_t *l = &profile->locations[location];
	if (l->mapping == 0) {
		snprintf(buffer, size, "0x%" PRIx64, l->address);
		return buffer;
	}
	const mw_mapping_t *m = &profile->mappings[l->mapping];
	uint64_t offset = m->bias_known ? l->address - m->bias : l->address - m->start + m->offset;
	const char *path = mw_profile_string(profile, m->path);
	const char *slash = strrchr(path, '/');
	if (slash != NULL && slash[1] != '\0')
		path = slash + 1;
	snprintf(buffer, size, "%.255s+0x%" PRIx64, *path != '\0' ? path : "[anonymous]", offset);
	return buffer;
}
