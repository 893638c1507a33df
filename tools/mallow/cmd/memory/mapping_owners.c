/* SPDX-License-Identifier: MIT
 * mapping_owners.c -- makes a profile of the owners' stacks, looks names up, prints them. */
#include "cmd/memory/mapping_owners.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/print.h"
#include "cmd/input/load.h"
#include "model/text.h"
#include "report/text/names.h"
#include "report/text/units.h"

/* Callers that a line names behind the function that mapped. */
#define CALLERS_MAX 3u
#define NAME_COLUMNS 40

static mw_profile_t *named_profile(const mw_snapshot_t *snapshot, const mw_memory_t *memory,
				   int pid) {
	mw_profile_t *p = mw_profile_of_stacks(snapshot, memory->owners, memory->owner_count);
	mw_load_symbols(p, pid > 0 ? (uint32_t)pid : 0, false);
	mw_profile_name_ranges(p);
	return p;
}

/* Returns the name of the k-th frame of a location. */
static const char *frame_name(const mw_profile_t *p, uint32_t location, uint32_t k, char *buffer,
			      size_t size) {
	const mw_line_t *at = mw_location_line(p, &p->locations[location], k);
	if (at == NULL)
		return mw_location_name(p, location, buffer, size);
	return mw_profile_string(p, p->functions[at->function].name);
}

/* Prints "  (file:line)" of the innermost frame, if it is known. */
static void print_place(const mw_profile_t *p, uint32_t location) {
	const mw_line_t *at = mw_location_line(p, &p->locations[location], 0);
	const char *file = at != NULL ? mw_profile_string(p, p->functions[at->function].file) : "";
	if (*file == '\0')
		return;
	const char *slash = strrchr(file, '/');
	fputs(" (", stdout);
	mw_text_print(stdout, slash != NULL ? slash + 1 : file);
	if (at->line > 0)
		printf(":%" PRId64, at->line);
	putchar(')');
}

static void print_stack(const mw_profile_t *p, const mw_sample_t *sample) {
	char buffer[512], name[512];
	unsigned shown = 0;
	for (uint32_t i = 0; i < sample->depth && shown <= CALLERS_MAX; i++) {
		uint32_t location = p->frames[sample->frame_first + i];
		uint32_t count = mw_location_frames(&p->locations[location]);
		for (uint32_t k = 0; k < count && shown <= CALLERS_MAX; k++, shown++) {
			fputs(shown > 0 ? " < " : "", stdout);
			mw_fit_name(frame_name(p, location, k, buffer, sizeof(buffer)),
				    NAME_COLUMNS, name, sizeof(name));
			mw_text_print(stdout, name);
			if (shown == 0)
				print_place(p, location);
		}
	}
	putchar('\n');
}

void mw_mapping_owners_print(const mw_snapshot_t *snapshot, const mw_memory_t *memory, int pid) {
	if (memory->owner_count == 0)
		return;
	char text[MW_SHOW_BYTES];
	mw_profile_t *p = named_profile(snapshot, memory, pid);
	printf("    of what the program mapped, %s were mapped by\n",
	       mw_format_bytes((int64_t)memory->owned_bytes, text, sizeof(text)));
	for (size_t i = 0; i < p->sample_count; i++) {
		printf("    %12s         ",
		       mw_format_bytes(mw_profile_values(p, i)[0], text, sizeof(text)));
		print_stack(p, &p->samples[i]);
	}
	mw_profile_free(p);
}

json_t *mw_mapping_owners_json(const mw_snapshot_t *snapshot, const mw_memory_t *memory, int pid) {
	json_t *list = json_array();
	if (memory->owner_count == 0)
		return list;
	mw_profile_t *p = named_profile(snapshot, memory, pid);
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_sample_t *sample = &p->samples[i];
		json_t *owner = json_object(), *functions = json_array();
		char buffer[512];
		for (uint32_t f = 0; f < sample->depth; f++) {
			uint32_t location = p->frames[sample->frame_first + f];
			for (uint32_t k = 0; k < mw_location_frames(&p->locations[location]); k++)
				json_array_append_new(
					functions, mw_json_text(frame_name(p, location, k, buffer,
									   sizeof(buffer))));
		}
		json_object_set_new(owner, "bytes",
				    json_integer((json_int_t)mw_profile_values(p, i)[0]));
		json_object_set_new(owner, "functions", functions);
		json_array_append_new(list, owner);
	}
	mw_profile_free(p);
	return list;
}
