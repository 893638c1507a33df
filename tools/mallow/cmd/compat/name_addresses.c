/* SPDX-License-Identifier: MIT
 * name_addresses.c -- makes a profile with one sample for each address and symbolizes it. */
#include "cmd/compat/name_addresses.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cmd/input/load.h"
#include "formats/read.h"
#include "model/memory.h"
#include "model/text.h"

typedef struct request {
	uint64_t *addresses;
	size_t count, capacity;
	char *maps;
	size_t maps_bytes;
} request_t;

/* Finds "0x401136" anywhere in a line, as jeprof does.  Lines of maps contain no such text. */
static bool find_address(const char *line, uint64_t *address) {
	for (const char *at = line; (at = strstr(at, "0x")) != NULL; at += 2) {
		char *end;
		*address = strtoull(at, &end, 16);
		if (end > at + 2)
			return true;
	}
	return false;
}

static void take_input(request_t *request) {
	FILE *maps = open_memstream(&request->maps, &request->maps_bytes);
	char *line = NULL;
	size_t capacity = 0;
	uint64_t address;
	while (maps != NULL && getline(&line, &capacity, stdin) > 0) {
		if (!find_address(line, &address)) {
			fputs(line, maps);
			continue;
		}
		request->addresses = mw_grow(request->addresses, &request->capacity,
					     request->count + 1, sizeof(uint64_t));
		request->addresses[request->count++] = address;
	}
	free(line);
	if (maps != NULL)
		fclose(maps);
}

/* Makes a heap profile with return addresses: its reader subtracts 1. */
static mw_profile_t *make_profile(const request_t *request, const char *program,
				  mw_error_t *error) {
	char *text = NULL;
	size_t length = 0;
	mw_profile_t *profile = NULL;
	FILE *out = open_memstream(&text, &length);
	if (out == NULL)
		return NULL;
	fputs("heap profile: 1: 1 [1: 1] @ heapprofile\n", out);
	for (size_t i = 0; i < request->count; i++)
		fprintf(out, "1: 1 [1: 1] @ 0x%" PRIx64 "\n", request->addresses[i] + 1);
	fputs("\nMAPPED_LIBRARIES:\n", out);
	if (request->maps_bytes > 0)
		fputs(request->maps, out);
	else
		fprintf(out, "00000000-7fffffffffff r-xp 00000000 00:00 0 %s\n", program);
	fclose(out);
	if (mw_read_profile_bytes("standard input", text, length, &profile, error) != 0)
		profile = NULL;
	free(text);
	return profile;
}

/* Returns NULL if no location has this address. */
static const mw_location_t *find_location(const mw_profile_t *p, uint64_t address) {
	for (size_t i = 1; i < p->location_count; i++)
		if (p->locations[i].address == address)
			return &p->locations[i];
	return NULL;
}

static void print_name(const mw_profile_t *p, uint64_t address) {
	const mw_location_t *location = find_location(p, address);
	const mw_line_t *line = location ? mw_location_line(p, location, 0) : NULL;
	mw_text_print(stdout,
		      line ? mw_profile_string(p, p->functions[line->function].name) : "??");
	putchar('\n');
}

/* Prints "file:line", or the module and the address in its file. */
static void print_place(const mw_profile_t *p, const mw_location_t *location,
			const mw_line_t *line) {
	const mw_mapping_t *m = &p->mappings[location->mapping];
	const char *file = line ? mw_profile_string(p, p->functions[line->function].file) : "";
	if (*file != '\0') {
		mw_text_print(stdout, file);
		if (line->line > 0)
			printf(":%" PRId64, line->line);
	} else if (location->mapping != 0) {
		putchar('(');
		mw_text_print(stdout, mw_profile_string(p, m->path));
		printf("+0x%" PRIx64 ")", location->address - m->start + m->offset);
	}
}

/* Prints the module and, with tabs before, function and place of the address and of each function
 * that it was inlined into. */
static void print_places(const mw_profile_t *p, uint64_t address) {
	const mw_location_t *location = find_location(p, address);
	if (location != NULL) {
		mw_text_print(stdout, mw_profile_string(p, p->mappings[location->mapping].path));
		for (uint32_t i = 0; i < mw_location_frames(location); i++) {
			const mw_line_t *line = mw_location_line(p, location, i);
			putchar('\t');
			if (line)
				mw_text_print(
					stdout,
					mw_profile_string(p, p->functions[line->function].name));
			putchar('\t');
			print_place(p, location, line);
		}
	}
	putchar('\n');
}

int mw_name_addresses(const char *program, bool has_places) {
	request_t request = {0};
	mw_error_t error = {.text = "standard input: no memory"};
	char *path = realpath(program, NULL);
	take_input(&request);
	mw_profile_t *p = make_profile(&request, path != NULL ? path : program, &error);
	if (p != NULL) {
		for (size_t i = 1; i < p->mapping_count && request.maps_bytes == 0; i++)
			p->mappings[i].bias_known = true; /* the bias is 0 */
		mw_load_symbols(p, 0, true);
		for (size_t i = 0; i < request.count; i++)
			(has_places ? print_places : print_name)(p, request.addresses[i]);
	} else
		mw_complain("%s", error.text);
	free(path);
	free(request.addresses);
	free(request.maps);
	mw_profile_free(p);
	return p != NULL ? MW_EXIT_FINE : MW_EXIT_TROUBLE;
}
