/* SPDX-License-Identifier: MIT
 * doctor_symbols.c -- lists files whose functions have no names, and the packages with their
 * debug information. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/doctor/doctor.h"
#include "model/memory.h"
#include "symbol/files/package.h"

/* Most files that are named.  A process may have dozens of libraries without symbols. */
#define FILES_NAMED 8

typedef struct counts {
	size_t all, nameless, lineless;
} counts_t;

static void say_file(mw_doctor_t *doctor, const char *path, const counts_t *counts) {
	char package[128];
	bool found = mw_debug_package_of(path, package, sizeof(package));
	mw_doctor_say(doctor, counts->nameless > 0 ? MW_HEALTH_FINDING : MW_HEALTH_NOTE, "symbols",
		      "%s: %zu of %zu frames have no %s; %s%s%s", path,
		      counts->nameless > 0 ? counts->nameless : counts->lineless, counts->all,
		      counts->nameless > 0 ? "name" : "line",
		      found ? "install " : "build it with -g, or keep its debug file",
		      found ? package : "", found ? ", or pass --symbolize=debuginfod" : "");
}

/* True if there are samples, and each has a marker ("[stack unknown]", "[truncated]") and at most
 * the caller of malloc. */
static bool has_no_stacks(const mw_profile_t *profile) {
	enum { FEW = 3 };
	for (size_t i = 0; i < profile->sample_count; i++) {
		const mw_sample_t *sample = &profile->samples[i];
		uint32_t in_files = 0;
		for (uint32_t k = 0; k < sample->depth; k++) {
			uint32_t location = profile->frames[sample->frame_first + k];
			in_files += profile->locations[location].mapping != 0;
		}
		if (in_files > FEW || in_files == sample->depth)
			return false;
	}
	return profile->sample_count > 0;
}

void mw_doctor_look_at_symbols(mw_doctor_t *doctor, const mw_profile_t *profile) {
	if (has_no_stacks(profile)) {
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "stacks",
			      "no stack of the program could be walked: its unwind tables were not "
			      "found; link it with -Wl,--eh-frame-hdr, and compile it without "
			      "-fno-asynchronous-unwind-tables");
		return;
	}
	counts_t *counts = mw_xcalloc(profile->mapping_count, sizeof(*counts));
	for (size_t i = 1; i < profile->location_count; i++) {
		const mw_location_t *location = &profile->locations[i];
		counts_t *of = &counts[location->mapping];
		of->all++;
		if (location->line_count == 0)
			of->nameless++;
		else if (profile->lines[location->line_first].line == 0)
			of->lineless++;
	}
	size_t named = 0;
	for (size_t i = 1; i < profile->mapping_count; i++) {
		const char *path = mw_profile_string(profile, profile->mappings[i].path);
		/* The kernel's code ([vdso]) has no debug file. */
		if (path[0] != '/' || counts[i].nameless + counts[i].lineless == 0)
			continue;
		if (named++ < FILES_NAMED)
			say_file(doctor, path, &counts[i]);
	}
	if (named > FILES_NAMED)
		mw_doctor_say(doctor, MW_HEALTH_NOTE, "symbols", "and %zu more files",
			      named - FILES_NAMED);
	if (named == 0 && profile->location_count > 1)
		mw_doctor_say(doctor, MW_HEALTH_FINE, "symbols", "all frames have names and lines");
	free(counts);
}
