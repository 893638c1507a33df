/* SPDX-License-Identifier: MIT
 * hint.c -- writes one line that names the files whose nameless functions weigh most. */
#include "symbol/hint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "symbol/files/package.h"

/* Most files that the note names.  It counts the others. */
#define FILES_NAMED 3

static const char in_general[] = "debug packages (on Debian their names end in -dbgsym)";

/* Smallest share of the bytes that is worth a note. */
#define SHARE_MIN 0.005

typedef struct nameless {
	const mw_mapping_t *mapping;
	/* Share of the profile's bytes in stacks with a nameless function of the file. */
	double share;
	size_t places, nameless; /* places in the file's code, and those without a name */
} nameless_t;

static int compare_most_first(const void *a, const void *b) {
	const nameless_t *x = a, *y = b;
	return x->share < y->share ? 1 : -(x->share > y->share);
}

/* Returns the type that weighs a stack: the default type, or allocated bytes if its values are
 * all 0. */
static size_t weight_type(const mw_profile_t *p) {
	int allocated = mw_profile_find_type(p, "alloc_space");
	if (mw_profile_total(p, p->default_type) > 0 || allocated < 0)
		return p->default_type;
	return (size_t)allocated;
}

static bool is_main(const mw_profile_t *p, const mw_location_t *l) {
	if (l->line_count == 0)
		return false;
	const mw_line_t *outermost = &p->lines[l->line_first + l->line_count - 1];
	return strcmp(mw_profile_string(p, p->functions[outermost->function].name), "main") == 0;
}

/* True if the inner half of the stack, which says who allocates, has a nameless function of the
 * file.  One outer function without a name is missed by nobody, nor is libc's function that calls
 * main, which is in each stack of a short program. */
static bool has_nameless(const mw_profile_t *p, const mw_sample_t *s, uint32_t mapping) {
	for (uint32_t i = 0; i < s->depth - s->depth / 2; i++) {
		const mw_location_t *l = &p->locations[p->frames[s->frame_first + i]];
		if (l->mapping == mapping && l->line_count == 0)
			return true;
		if (is_main(p, l))
			return false;
	}
	return false;
}

static double share_of(const mw_profile_t *p, uint32_t mapping) {
	size_t type = p->type_count > 0 ? weight_type(p) : 0;
	double without = 0, all = 0;
	for (size_t i = 0; i < p->sample_count && p->type_count > 0; i++) {
		double value = fabs((double)mw_profile_values(p, i)[type]);
		all += value;
		without += has_nameless(p, &p->samples[i], mapping) ? value : 0;
	}
	return all > 0 ? without / all : 0;
}

static void count_places(const mw_profile_t *p, uint32_t mapping, nameless_t *file) {
	for (size_t i = 1; i < p->location_count; i++) {
		const mw_location_t *l = &p->locations[i];
		file->places += l->mapping == mapping;
		file->nameless += l->mapping == mapping && l->line_count == 0;
	}
}

static nameless_t *collect(const mw_profile_t *p, const mw_symbol_job_t *jobs, size_t job_count,
			   size_t *count) {
	nameless_t *files = mw_xcalloc(job_count, sizeof(nameless_t));
	*count = 0;
	for (size_t i = 0; i < job_count; i++) {
		const mw_mapping_t *mapping = &p->mappings[jobs[i].mapping];
		/* Files that could not be read have a note of their own. */
		if (!mapping->has_functions || mapping->has_line_numbers)
			continue;
		nameless_t file = {mapping, share_of(p, jobs[i].mapping), 0, 0};
		if (file.share < SHARE_MIN)
			continue;
		count_places(p, jobs[i].mapping, &file);
		/* A library that has most of its names lacks only functions of its own. */
		if (file.nameless >= file.places - file.nameless)
			files[(*count)++] = file;
	}
	if (*count > 1)
		qsort(files, *count, sizeof(nameless_t), compare_most_first);
	return files;
}

/* Returns the word for values of the type that weighs a stack. */
static const char *weighed(const mw_profile_t *p) {
	const char *unit = mw_profile_string(p, p->types[weight_type(p)].unit);
	if (strcmp(unit, "nanoseconds") == 0)
		return "time";
	return strcmp(unit, "bytes") == 0 ? "bytes" : "samples";
}

/* Writes "9 of 31 code addresses in redis-server (in stacks with 97 % of the bytes, build-id
 * 1234)". */
static size_t name_file(const mw_profile_t *p, const nameless_t *file, char *buffer, size_t size) {
	const mw_mapping_t *mapping = file->mapping;
	const char *path = mw_profile_string(p, mapping->path), *slash = strrchr(path, '/');
	const char *build_id = mw_profile_string(p, mapping->build_id);
	int length = snprintf(buffer, size,
			      "%zu of %zu code addresses in %.100s (in stacks with %.*f %% of the "
			      "%s%s%.16s)",
			      file->nameless, file->places, slash != NULL ? slash + 1 : path,
			      file->share < 0.1 ? 1 : 0, 100 * file->share, weighed(p),
			      *build_id != '\0' ? ", build-id " : "", build_id);
	return (size_t)length;
}

/* Writes " install libstdc++6-dbgsym, redis-server-dbgsym" for the named files.  If no package
 * is known, writes how packages with debug information are named. */
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

void mw_symbol_hint(const mw_profile_t *p, const mw_symbol_job_t *jobs, size_t job_count,
		    const mw_symbolize_options_t *options) {
	size_t count;
	nameless_t *files = collect(p, jobs, job_count, &count);
	char text[1400] = "no symbols for ";
	size_t used = strlen(text);
	for (size_t i = 0; i < count && i < FILES_NAMED; i++) {
		if (i > 0)
			used += (size_t)snprintf(text + used, sizeof(text) - used, ", ");
		used += name_file(p, &files[i], text + used, sizeof(text) - used);
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
