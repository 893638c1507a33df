/* SPDX-License-Identifier: MIT
 * jit.c -- reads the map once.  A later line replaces an earlier one, because it describes newer
 * code.  Lines may overlap in any way: a tree over the locations, in the order of addresses, keeps
 * for each range the last line that covers it. */
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
/* Largest map that is read.  Reading more would take ten seconds. */
#define FILE_BYTES_MAX ((off_t)256 << 20)

/* Locations that are in no file, ordered by address. */
typedef struct places {
	uint32_t *locations;
	size_t count;
	/* Node i of the tree is the parent of nodes 2i and 2i+1; node count+k is location k. Its
	 * value is where the last line that covers the whole node begins in the file, plus 1;
	 * 0 = no line does. */
	uint64_t *covers;
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
	places.covers = mw_xcalloc(places.count + 1, 2 * sizeof(uint64_t));
	return places;
}

/* Whose files are believed about a process: its user's. Before it, root's and the asker's. */
typedef struct owner {
	uid_t user;
	bool is_known;
} owner_t;

static owner_t owner_of(const mw_profile_t *p, uint32_t pid) {
	char path[32];
	struct stat process;
	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	if (pid != 0)
		return stat(path, &process) == 0 ? (owner_t){process.st_uid, true}
						 : (owner_t){.is_known = false};
	return (owner_t){p->origin.uid, p->origin.uid_known};
}

static bool is_believed(const struct stat *file, owner_t owner) {
	bool is_owner = file->st_uid == 0 || file->st_uid == geteuid() ||
			(owner.is_known && file->st_uid == owner.user);
	return S_ISREG(file->st_mode) && file->st_nlink == 1 && is_owner &&
	       file->st_size <= FILE_BYTES_MAX;
}

static FILE *open_map(const char *path, owner_t owner) {
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	struct stat file;
	FILE *stream = NULL;
	if (fd >= 0 && fstat(fd, &file) == 0 && is_believed(&file, owner))
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
	owner_t owner = owner_of(p, pid);
	FILE *map = NULL;
	if (own_pid == 0)
		return NULL;
	if (pid != 0) {
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root/tmp/perf-%" PRIu32 ".map", pid,
			 own_pid);
		map = open_map(path, owner);
	}
	if (map == NULL) {
		snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", own_pid);
		map = open_map(path, owner);
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

/* The line at `offset` covers the locations in [start, start + bytes). Lines come in the order of
 * the file, so that a node's value only grows. */
static void cover(const mw_profile_t *p, const places_t *places, uint64_t start, uint64_t bytes,
		  off_t offset) {
	size_t first = lower_bound(p, places, start) + places->count;
	size_t limit = lower_bound(p, places, start + bytes) + places->count;
	for (; first < limit; first /= 2, limit /= 2) {
		if (first % 2 == 1)
			places->covers[first++] = (uint64_t)offset + 1;
		if (limit % 2 == 1)
			places->covers[--limit] = (uint64_t)offset + 1;
	}
}

/* Returns where the last line about location number `k` begins, plus 1; 0 = no line is about it. */
static uint64_t last_cover(const places_t *places, size_t k) {
	uint64_t last = 0;
	for (size_t node = k + places->count; node > 0; node /= 2)
		last = places->covers[node] > last ? places->covers[node] : last;
	return last;
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
	mw_text_clean(*name, "");
	return **name != '\0';
}

/* Reads a line without its end, cut to LINE_BYTES. False: the file ends. */
static bool read_line(FILE *map, char line[LINE_BYTES]) {
	size_t length = 0;
	int c = getc_unlocked(map);
	if (c == EOF)
		return false;
	for (; c != EOF && c != '\n'; c = getc_unlocked(map))
		if (length < LINE_BYTES - 1)
			line[length++] = (char)c;
	line[length] = '\0';
	return true;
}

/* Names the locations in the order of their addresses. Neighbours that one line is about share the
 * function. */
static void name_places(mw_profile_t *p, const places_t *places, FILE *map) {
	char line[LINE_BYTES];
	uint64_t start, bytes, before = 0;
	mw_line_t named = {.function = 0};
	char *name;
	for (size_t i = 0; i < places->count; i++) {
		uint64_t last = last_cover(places, i);
		if (last == 0)
			continue;
		if (last != before) {
			named.function = 0;
			if (fseeko(map, (off_t)(last - 1), SEEK_SET) == 0 && read_line(map, line) &&
			    parse_line(line, &start, &bytes, &name)) {
				mw_function_t entry = {.name = mw_profile_intern(p, name)};
				entry.system_name = entry.name;
				named.function = mw_profile_add_function(p, &entry);
			}
			before = last;
		}
		if (named.function != 0)
			mw_profile_set_lines(p, places->locations[i], &named, 1);
	}
}

void mw_jit_symbolize(mw_profile_t *p, uint32_t pid) {
	places_t places = find_places(p);
	FILE *map = places.count > 0 ? find_map(p, pid) : NULL;
	char line[LINE_BYTES];
	if (map != NULL) {
		uint64_t start, bytes;
		char *name;
		for (off_t at = 0; at >= 0 && read_line(map, line); at = ftello(map))
			if (parse_line(line, &start, &bytes, &name))
				cover(p, &places, start, bytes, at);
		name_places(p, &places, map);
		fclose(map);
	}
	free(places.covers);
	free(places.locations);
}
