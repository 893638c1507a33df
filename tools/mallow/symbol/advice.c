/* SPDX-License-Identifier: MIT
 * advice.c -- one line that names the files, those with the most unknown functions first. */
#include "symbol/advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "symbol/package.h"

/* Files that are named; the rest is counted. */
#define FILES_NAMED 3

static const char in_general[] = "debug packages (Debian's end in -dbgsym)";

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

/* " install libstdc++6-dbgsym, redis-server-dbgsym", of the files that are named; without packages
 * that are known, what they are called. */
static size_t name_packages(const mw_profile_t *p, const nameless_t *files, size_t count,
			    char *buffer, size_t size) {
	char known[FILES_NAMED][128];
	size_t known_count = 0;
	for (size_t i = 0; i < count; i++) {
		char *package = known[known_count];
		bool is_new = mw_debug_package_of(mw_profile_string(p, files[i].mapping->path),
						  package, sizeof(known[0]));
		for (size_t k = 0; k < known_count && is_new; k++)
			is_new = strcmp(known[k], package) != 0;
		known_count += is_new;
	}
	size_t used = (size_t)snprintf(buffer, size, " install ");
	for (size_t i = 0; i < known_count; i++)
		used += (size_t)snprintf(buffer + used, size - used, "%s%s", i > 0 ? ", " : "",
					 known[i]);
	if (known_count == 0)
		used += (size_t)snprintf(buffer + used, size - used, "%s", in_general);
	return used;
}

void mw_symbol_advice(const mw_profile_t *p, const mw_symbol_job_t *jobs, size_t job_count,
		      const mw_symbolize_options_t *options) {
	size_t count;
	nameless_t *files = collect(p, jobs, job_count, &count);
	char text[1400] = "no symbols for ";
	size_t used = strlen(text);
	for (size_t i = 0; i < count && i < FILES_NAMED; i++) {
		if (i > 0)
			used += (size_t)snprintf(text + used, sizeof(text) - used, ", ");
		used += name_file(p, files[i].mapping, text + used, sizeof(text) - used);
	}
	if (count > FILES_NAMED)
		used += (size_t)snprintf(text + used, sizeof(text) - used, " and %zu more",
					 count - FILES_NAMED);
	if (count == 0 || options->note == NULL) {
		free(files);
		return;
	}
	bool has_servers = getenv("DEBUGINFOD_URLS") != NULL;
	const char *why = !options->debuginfod ? ":"
			  : has_servers ? ": the servers in DEBUGINFOD_URLS do not have them;"
					: ": DEBUGINFOD_URLS names no server to ask for them";
	used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", why);
	if (!options->debuginfod || has_servers)
		used += name_packages(p, files,
				      !options->names_packages ? 0
				      : count < FILES_NAMED    ? count
							       : FILES_NAMED,
				      text + used, sizeof(text) - used);
	if (!options->debuginfod)
		snprintf(text + used, sizeof(text) - used, ", or pass --symbolize=debuginfod");
	options->note(options->context, text);
	free(files);
}
