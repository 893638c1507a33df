/* SPDX-License-Identifier: MIT
 * push_symbols.c -- `mallow symbols push`: names of a build, for profiles that came without. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/terminal.h"
#include "cmd/store/question.h"
#include "cmd/store/store_commands.h"
#include "model/memory.h"
#include "symbol/code/object_places.h"
#include "symbol/symbolize.h"

typedef struct symbols_job {
	const mw_backend_t *backend;
	void *self;
	bool is_forced;
} symbols_job_t;

/* Opens a file as the one mapping of a profile, whose addresses are those of the ELF file. */
static mw_object_t *open_file(const char *path, mw_profile_t *p, mw_error_t *error) {
	static const mw_symbolize_options_t options;
	char *whole = realpath(path, NULL);
	mw_mapping_t mapping = {.limit = UINT64_MAX,
				.bias_known = true,
				.path = mw_profile_intern(p, whole != NULL ? whole : path)};
	free(whole);
	mw_profile_append_mapping(p, &mapping);
	mw_object_t *object = mw_object_open(p, &p->mappings[1], &options, error);
	if (object == NULL)
		return NULL;
	p->mappings[1].build_id = mw_profile_intern(p, mw_object_build_id(object));
	if (p->mappings[1].build_id != 0)
		return object;
	mw_error_set(error, "%s: it has no build-id; link it with -Wl,--build-id", path);
	mw_object_close(object);
	return NULL;
}

/* Looks the names up as views do, in processes of their own. */
static mw_object_place_t *name_places(mw_object_t *object, mw_profile_t *p, size_t *count) {
	mw_object_place_t *places = mw_object_places(object, count);
	for (size_t i = 0; i < *count; i++)
		mw_profile_append_location(p, 1, places[i].address, true);
	const mw_symbolize_options_t options = {.debuginfod = getenv("DEBUGINFOD_URLS") != NULL};
	mw_symbolize(p, &options);
	return places;
}

static bool are_equal(const mw_profile_t *p, const mw_location_t *a, const mw_location_t *b) {
	if (a->line_count != b->line_count)
		return false;
	for (uint32_t i = 0; i < a->line_count; i++) {
		const mw_line_t *x = &p->lines[a->line_first + i],
				*y = &p->lines[b->line_first + i];
		if (x->function != y->function || x->line != y->line)
			return false;
	}
	return true;
}

static void add_range(mw_batch_t *batch, const mw_profile_t *p, const mw_location_t *l,
		      uint64_t offset) {
	mw_row_line_t *lines = mw_xcalloc(l->line_count, sizeof(*lines));
	const mw_row_location_t location = {.id = batch->location_count + 1,
					    .build_id = "",
					    .path = "",
					    .offset = offset,
					    .line_count = l->line_count};
	mw_row_lines_of(p, l, lines);
	mw_batch_add_location(batch, &location, lines);
	free(lines);
}

/* Joins places of equal names to ranges.  A range ends where the next place is, which may have no
 * names. */
static uint64_t *make_ranges(mw_batch_t *batch, const mw_profile_t *p,
			     const mw_object_place_t *places, size_t count) {
	uint64_t *ends = mw_xcalloc(count, sizeof(*ends));
	const mw_location_t *last = NULL;
	for (size_t i = 0; i + 1 < count; i++) {
		const mw_location_t *l = &p->locations[i + 1];
		uint64_t end = places[i + 1].offset;
		/* The next place may be in another segment, which lies before this one. */
		if (l->line_count == 0 || end <= places[i].offset) {
			last = NULL;
			continue;
		}
		if (last == NULL || !are_equal(p, last, l))
			add_range(batch, p, l, places[i].offset);
		ends[batch->location_count - 1] = end;
		last = l;
	}
	return ends;
}

static int push_object(const symbols_job_t *job, const char *path, mw_object_t *object,
		       mw_profile_t *p, mw_error_t *error) {
	const char *build_id = mw_profile_string(p, p->mappings[1].build_id);
	bool has = false;
	size_t count;
	if (job->backend->has_symbols(job->self, &build_id, 1, &has, error) != 0)
		return -1;
	if (has && !job->is_forced) {
		printf("%s: build-id %s is known\n", path, build_id);
		return 0;
	}
	mw_progress("names of %s", path);
	mw_object_place_t *places = name_places(object, p, &count);
	mw_progress_end();
	mw_batch_t *batch = mw_batch_new();
	uint64_t *ends = make_ranges(batch, p, places, count);
	int result = 0;
	if (batch->location_count == 0)
		result = mw_error_set(error,
				      "%s: it has no names; install its debug symbols, or give the "
				      "file that is not stripped",
				      path);
	else
		result = job->backend->put_symbols(job->self, build_id, batch, ends, error);
	if (result == 0)
		printf("%s: build-id %s, %zu ranges\n", path, build_id, batch->location_count);
	mw_batch_free(batch);
	free(ends);
	free(places);
	return result;
}

static int push_file(const symbols_job_t *job, const char *path, mw_error_t *error) {
	mw_profile_t *p = mw_profile_new();
	mw_object_t *object = open_file(path, p, error);
	int result = -1;
	if (object != NULL) {
		result = push_object(job, path, object, p, error);
		mw_object_close(object);
	}
	mw_profile_free(p);
	return result;
}

static int push_files(const symbols_job_t *job, const mw_arguments_t *arguments) {
	mw_error_t error;
	int status = MW_EXIT_FINE;
	for (unsigned i = 1; i < arguments->operand_count; i++)
		if (push_file(job, arguments->operands[i], &error) != 0) {
			mw_complain("%s", error.text);
			status = MW_EXIT_TROUBLE;
		}
	return status;
}

int mw_cmd_symbols(const mw_arguments_t *arguments) {
	mw_question_t q;
	mw_error_t error;
	mw_store_t *store;
	if (strcmp(arguments->operands[0], "push") != 0) {
		mw_complain("symbols %s: allowed: push FILE...", arguments->operands[0]);
		return MW_EXIT_TROUBLE;
	}
	int status = MW_EXIT_TROUBLE;
	if (mw_question_parse_store(arguments->options.to.text, 0, &q, &error) != 0) {
		mw_complain("%s", error.text);
		return status;
	}
	if (mw_question_open(&q, true, &store, &error) == 0) {
		symbols_job_t job = {.is_forced = arguments->options.force.given};
		job.backend = mw_store_backend(store, &job.self);
		status = push_files(&job, arguments);
		mw_store_close(store);
	} else {
		mw_complain("%s", error.text);
	}
	mw_question_free(&q);
	return status;
}
