/* SPDX-License-Identifier: MIT
 * advice.c -- one line that names the files, those with the most unknown functions first. */
#include "symbol/advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"

/* Files that are named; the rest is counted. */
#define FILES_NAMED 3

typedef struct nameless {
	const mw_mapping_t *mapping;
	size_t count; /* of locations */
} nameless_t;

static int compare_most_first(const void *a, const void *b) {
	const nameless_t *x = a, *y = b;
	return x->count < y->count ? 1 : -(x->count > y->count);
}

static size_t count_nameless(const mw_profile_t *p, const mw_symbol_job_t *job) {
	size_t count = 0;
	for (size_t i = 0; i < job->count; i++)
		count += p->locations[job->locations[i]].line_count == 0;
	return count;
}

static nameless_t *collect(const mw_profile_t *p, const mw_symbol_job_t *jobs, size_t job_count,
			   size_t *count) {
	nameless_t *files = mw_xcalloc(job_count, sizeof(nameless_t));
	*count = 0;
	for (size_t i = 0; i < job_count; i++) {
		const mw_mapping_t *mapping = &p->mappings[jobs[i].mapping];
		nameless_t file = {mapping, count_nameless(p, &jobs[i])};
		/* Those that could not be read have a note of their own. */
		if (file.count > 0 && mapping->has_functions && !mapping->has_line_numbers)
			files[(*count)++] = file;
	}
	if (*count > 1)
		qsort(files, *count, sizeof(nameless_t), compare_most_first);
	return files;
}

/* "redis-server (build-id 1234567890abcdef)". */
static size_t name_file(const mw_profile_t *p, const mw_mapping_t *mapping, char *buffer,
			size_t size) {
	const char *path = mw_profile_string(p, mapping->path), *slash = strrchr(path, '/');
	const char *build_id = mw_profile_string(p, mapping->build_id);
	int length = snprintf(buffer, size, "%.100s", slash != NULL ? slash + 1 : path);
	if (*build_id != '\0')
		length += snprintf(buffer + length, size - (size_t)length, " (build-id %.16s)",
				   build_id);
	return (size_t)length;
}

void mw_symbol_advice(const mw_profile_t *p, const mw_symbol_job_t *jobs, size_t job_count,
		      const mw_symbolize_options_t *options) {
	size_t count;
	nameless_t *files = collect(p, jobs, job_count, &count);
	char text[800] = "no symbols for ";
	size_t used = strlen(text);
	for (size_t i = 0; i < count && i < FILES_NAMED; i++) {
		if (i > 0)
			used += (size_t)snprintf(text + used, sizeof(text) - used, ", ");
		used += name_file(p, files[i].mapping, text + used, sizeof(text) - used);
	}
	if (count > FILES_NAMED)
		used += (size_t)snprintf(text + used, sizeof(text) - used, " and %zu more",
					 count - FILES_NAMED);
	const char *urls = getenv("DEBUGINFOD_URLS");
	const char *advice =
		!options->debuginfod ? ": install debug packages (Debian's end in -dbgsym), or "
				       "pass --symbolize=debuginfod"
		: urls != NULL ? ": the servers in DEBUGINFOD_URLS do not have them; install debug "
				 "packages"
			       : ": DEBUGINFOD_URLS names no server to ask for them";
	snprintf(text + used, sizeof(text) - used, "%s", advice);
	if (count > 0 && options->note != NULL)
		options->note(options->context, text);
	free(files);
}
