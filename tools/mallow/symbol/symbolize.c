/* SPDX-License-Identifier: MIT
 * symbolize.c -- sorts locations by file and passes them to workers. */
#include "symbol/symbolize.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "symbol/hint.h"
#include "symbol/jit.h"
#include "symbol/kernel.h"
#include "symbol/workers/worker_pool.h"

static void note(const mw_session_t *s, const char *text) {
	if (s->options->note != NULL)
		s->options->note(s->options->context, text);
}

/* False for code of the kernel and code made at run time: "[vdso]", "//anon", "". */
static bool is_file(const char *path) {
	return path[0] == '/' && path[1] != '/';
}

static int compare_addresses(const void *a, const void *b, void *context) {
	const mw_location_t *locations = context;
	uint64_t x = locations[*(const uint32_t *)a].address;
	uint64_t y = locations[*(const uint32_t *)b].address;
	return x < y ? -1 : x > y;
}

static void make_jobs(mw_session_t *s) {
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
	for (size_t i = 0; i < s->job_count; i++) {
		mw_symbol_job_t *job = &s->jobs[i];
		qsort_r(job->locations, job->count, sizeof(uint32_t), compare_addresses,
			p->locations);
		job->is_whole = true;
		if (job->count >= MW_JOB_SMALL_MAX)
			job->queue = mw_queue_new(job->count);
	}
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

/* Counts the unusable files that have no note of their own. */
static void say_other_files(const mw_session_t *s) {
	char text[128];
	if (s->note_count <= MW_NOTES_MAX)
		return;
	size_t more = s->note_count - MW_NOTES_MAX;
	snprintf(text, sizeof(text),
		 "%zu more file%s could not be used; their functions have no names", more,
		 more == 1 ? "" : "s");
	note(s, text);
}

mw_symbolize_result_t mw_symbolize(mw_profile_t *profile, const mw_symbolize_options_t *options) {
	static const mw_symbolize_options_t nothing;
	mw_session_t s = {.profile = profile, .options = options != NULL ? options : &nothing};
	mw_worker_pool_finish();
	make_jobs(&s);
	int result = s.job_count > 0 ? -1 : 0;
	/* Each run of the pool that does not finish all jobs gives up one job. */
	for (size_t i = 0; i < s.job_count && result == -1; i++)
		result = mw_worker_pool_run(&s);
	say_other_files(&s);
	if (result == -2)
		note(&s, "cannot start a process to look up symbols; functions have no names");
	mw_worker_pool_fill_cache(&s);
	mw_symbol_hint(profile, s.jobs, s.job_count, s.options);
	for (size_t i = 0; i < s.job_count; i++) {
		free(s.jobs[i].locations);
		mw_queue_free(s.jobs[i].queue);
	}
	free(s.jobs);
	free(s.job_of_mapping);
	mw_jit_symbolize(profile, s.options->pid);
	if (s.options->pid != 0)
		mw_kernel_symbolize(profile);
	return count_results(profile);
}

void mw_symbolize_finish(void) {
	mw_worker_pool_finish();
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
