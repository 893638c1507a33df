/* SPDX-License-Identifier: MIT
 * jit.c -- reads the map once.  A later line replaces an earlier one, because it describes newer
 * code. */
#include "symbol/jit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/memory.h"
#include "model/text.h"

/* Longest line; the rest is cut.  A line has the name of a function and perhaps the path of its
 * source. */
#define LINE_BYTES 1024
/* Largest map that is read.  Reading more would take a minute. */
#define FILE_BYTES_MAX ((off_t)1 << 30)

/* Locations that are in no file, ordered by address. */
typedef struct places {
	uint32_t *locations;
	size_t count;
} places_t;

static int compare_addresses(const void *a, const void *b, void *context) {
	const mw_location_t *locations = context;
	uint64_t x = locations[*(const uint32_t *)a].address;
	uint64_t y = locations[*(const uint32_t *)b].address;
	return x < y ? -1 : x > y;
}

static places_t find_places(const mw_profile_t *p) {
	places_t places = {.locations = mw_xcalloc(p->location_count, sizeof(uint32_t))};
	for (size_t i = 1; i < p->location_count; i++) {
		const mw_location_t *l = &p->locations[i];
		const char *path = mw_profile_string(p, p->mappings[l->mapping].path);
		/* perf's own files call memory without a file "//anon". */
		if (l->line_count == 0 && l->address != 0 && (path[0] != '/' || path[1] == '/'))
			places.locations[places.count++] = (uint32_t)i;
	}
	qsort_r(places.locations, places.count, sizeof(uint32_t), compare_addresses, p->locations);
	return places;
}

static FILE *open_map(const char *path) {
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat file;
	FILE *stream = NULL;
	if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
	    file.st_size <= FILE_BYTES_MAX)
		stream = fdopen(fd, "r");
	if (stream == NULL && fd >= 0)
		close(fd);
	return stream;
}

/* Opens the map that the process sees, with the pid that it has there, or else the map in this
 * process's /tmp. */
static FILE *find_map(const mw_profile_t *p, uint32_t pid) {
	char path[96];
	uint32_t own_pid = p->origin.pid != 0 ? p->origin.pid : pid;
	FILE *map = NULL;
	if (own_pid == 0)
		return NULL;
	if (pid != 0) {
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root/tmp/perf-%" PRIu32 ".map", pid,
			 own_pid);
		map = open_map(path);
	}
	if (map == NULL) {
		snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", own_pid);
		map = open_map(path);
	}
	return map;
}

/* Returns the index of the first location at or above the address. */
static size_t lower_bound(const mw_profile_t *p, const places_t *places, uint64_t address) {
	size_t lo = 0, hi = places->count;
	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;
		if (p->locations[places->locations[middle]].address < address)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

static void name_places(mw_profile_t *p, const places_t *places, uint64_t start, uint64_t bytes,
			const char *name) {
	size_t i = lower_bound(p, places, start);
	uint32_t function = 0;
	for (; i < places->count; i++) {
		uint32_t location = places->locations[i];
		if (p->locations[location].address - start >= bytes)
			return;
		if (function == 0) {
			mw_function_t entry = {.name = mw_profile_intern(p, name)};
			entry.system_name = entry.name;
			function = mw_profile_add_function(p, &entry);
		}
		mw_line_t line = {.function = function};
		mw_profile_set_lines(p, location, &line, 1);
	}
}

/* Reads "3ef414c0 398 RegExp:abc".  False: the line has another form. */
static bool parse_line(char *line, uint64_t *start, uint64_t *bytes, char **name) {
	char *end;
	*start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	char *size = end + 1;
	*bytes = strtoull(size, &end, 16);
	if (end == size || *end != ' ' || *bytes > UINT64_MAX - *start)
		return false;
	*name = end + 1;
	(*name)[strcspn(*name, "\n")] = '\0';
	mw_text_clean(*name, "");
	return **name != '\0';
}

/* Skips the rest of a line that is too long. */
static void skip_rest(FILE *map, const char *line) {
	if (strchr(line, '\n') != NULL)
		return;
	for (int c = getc(map); c != EOF && c != '\n'; c = getc(map))
		continue;
}

void mw_jit_symbolize(mw_profile_t *p, uint32_t pid) {
	places_t places = find_places(p);
	FILE *map = places.count > 0 ? find_map(p, pid) : NULL;
	char line[LINE_BYTES];
	while (map != NULL && fgets(line, sizeof(line), map) != NULL) {
		uint64_t start, bytes;
		char *name;
		skip_rest(map, line);
		if (parse_line(line, &start, &bytes, &name))
			name_places(p, &places, start, bytes, name);
	}
	if (map != NULL)
		fclose(map);
	free(places.locations);
}
