/* SPDX-License-Identifier: MIT
 * resident_text.c -- writes the sentence about resident memory. */
#include "report/text/resident_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "report/text/units.h"

#define COLUMNS_STANDARD 80
/* Parts below this part of all are left out of the sentence. */
#define SMALL_PART 100u
/* What is in use counts as untouched if it is this much more, and a quarter more, than what is
 * resident. */
#define UNTOUCHED_MIN_BYTES ((uint64_t)1 << 20)
/* Anonymous memory of a process that has ended, up to this and this for each thread, may be stacks
 * and data of libraries alone. */
#define STACKS_AND_DATA_BYTES ((uint64_t)4 << 20)
#define THREAD_BYTES ((uint64_t)64 << 10)

static const struct {
	const char *name, *text;
} parts[MW_RESIDENT_PARTS] = {
	[MW_RESIDENT_MALLOC] = {"malloc", "from malloc"},
	[MW_RESIDENT_MAPPED] = {"mapped", "mapped by the program itself"},
	[MW_RESIDENT_FILES] = {"files", "of files"},
	[MW_RESIDENT_SHARED] = {"shared", "of shared memory"},
	[MW_RESIDENT_STACKS] = {"stacks", "of stacks"},
	[MW_RESIDENT_PROFILER] = {"profiler", "of mallow's profile"},
	[MW_RESIDENT_UNEXPLAINED] = {"unexplained", "that no counter explains"},
};

const char *mw_resident_part_name(mw_resident_part_t part) {
	return parts[part].name;
}

const char *mw_resident_part_text(mw_resident_part_t part) {
	return parts[part].text;
}

static const struct {
	const char *begin, *arenas, *variable;
} known_arenas[] = {
#define MW_ARENAS(begin, arenas, variable) {begin, arenas, variable},
#include "report/text/arenas.def"
#undef MW_ARENAS
};

const char *mw_arenas_of(const char *path) {
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	for (size_t i = 0; i < sizeof(known_arenas) / sizeof(known_arenas[0]); i++) {
		size_t length = strlen(known_arenas[i].begin);
		if (strncmp(name, known_arenas[i].begin, length) == 0 &&
		    (name[length] == '\0' || strchr(".-0123456789", name[length]) != NULL))
			return known_arenas[i].arenas;
	}
	return NULL;
}

const char *mw_arenas_variable(const char *arenas) {
	for (size_t i = 0; i < sizeof(known_arenas) / sizeof(known_arenas[0]); i++)
		if (strcmp(known_arenas[i].arenas, arenas) == 0)
			return known_arenas[i].variable;
	return "";
}

const char *mw_arenas_of_profile(const mw_profile_t *p) {
	const char *found = mw_arenas_of(mw_profile_string(p, p->origin.program));
	for (size_t i = 1; i < p->mapping_count && found == NULL; i++)
		found = mw_arenas_of(mw_profile_string(p, p->mappings[i].path));
	return found;
}

static bool may_be_stacks_and_data(const mw_resident_t *r) {
	return r->at_peak &&
	       r->parts[MW_RESIDENT_MAPPED] < STACKS_AND_DATA_BYTES + r->threads * THREAD_BYTES;
}

bool mw_resident_asks_who_mapped(const mw_resident_t *r) {
	return r->parts[MW_RESIDENT_MAPPED] > r->bytes / 4 && !may_be_stacks_and_data(r);
}

typedef struct sentence {
	char *text;
	size_t used;
} sentence_t;

static void add(sentence_t *s, const char *text) {
	size_t room = MW_RESIDENT_TEXT_BYTES - s->used;
	int length = snprintf(s->text + s->used, room, "%s", text);
	s->used += (size_t)length < room ? (size_t)length : room - 1;
}

static void add_bytes(sentence_t *s, const char *before, uint64_t bytes, const char *after) {
	char number[32];
	add(s, before);
	add(s, mw_format_bytes((int64_t)bytes, number, sizeof(number)));
	add(s, after);
}

static void add_part(sentence_t *s, const mw_resident_t *r, mw_resident_part_t part,
		     const char *arenas) {
	char share[32];
	const char *text = parts[part].text;
	if (part == MW_RESIDENT_MAPPED && may_be_stacks_and_data(r))
		text = "of stacks and data";
	else if (part == MW_RESIDENT_FILES && r->at_peak)
		text = "of files and shared memory";
	else if (part == MW_RESIDENT_UNEXPLAINED && r->at_peak)
		text = "that came between two looks";
	add_bytes(s, "", r->parts[part], " ");
	add(s, text);
	if (part == MW_RESIDENT_MAPPED && arenas != NULL && !may_be_stacks_and_data(r)) {
		add(s, ", such as ");
		add(s, arenas);
	}
	snprintf(share, sizeof(share), " (%.0f %%)",
		 100.0 * (double)r->parts[part] / (double)r->bytes);
	add(s, share);
}

/* Adds "; 146 MiB live, 4.5 MiB of it ever touched". */
static void add_untouched(sentence_t *s, const mw_resident_t *r) {
	uint64_t touched = r->touched_bytes;
	if (r->block_bytes < touched + touched / 4 + UNTOUCHED_MIN_BYTES)
		return;
	add_bytes(s, "; ", r->block_bytes, " live, ");
	if (r->at_peak)
		add(s, "at most ");
	add_bytes(s, "", touched, r->swapped_bytes > 0 ? " of it resident" : " of it ever touched");
}

const char *mw_resident_text(const mw_resident_t *r, const char *arenas,
			     char buffer[MW_RESIDENT_TEXT_BYTES]) {
	sentence_t s = {.text = buffer};
	buffer[0] = '\0';
	if (r->bytes == 0)
		return buffer;
	add_bytes(&s, "resident ", r->bytes, r->at_peak ? " at the peak: " : " now: ");
	add_part(&s, r, MW_RESIDENT_MALLOC, arenas);
	for (int part = MW_RESIDENT_MALLOC + 1; part < MW_RESIDENT_PARTS; part++) {
		if (r->parts[part] < r->bytes / SMALL_PART || r->parts[part] == 0)
			continue;
		add(&s, ", ");
		add_part(&s, r, (mw_resident_part_t)part, arenas);
	}
	add_untouched(&s, r);
	if (r->swapped_bytes > 0)
		add_bytes(&s, "; ", r->swapped_bytes, " swapped out");
	if (!r->at_peak && r->most_bytes > r->bytes + r->bytes / 4)
		add_bytes(&s, "; ", r->most_bytes, " at the peak");
	return buffer;
}

/* Lines end at a blank that is not between a number and its unit. */
size_t mw_resident_line(const char *text, size_t width) {
	size_t best = 0, length = strlen(text);
	if (length <= width)
		return length;
	for (size_t i = 1; i <= width; i++)
		if (text[i] == ' ' && !isdigit((unsigned char)text[i - 1]))
			best = i;
	return best > 0 ? best : width;
}

void mw_resident_print(FILE *out, const char *sentence, int columns, const char *first,
		       const char *next) {
	size_t all = columns > 0 ? (size_t)columns : COLUMNS_STANDARD;
	const char *before = first;
	while (*sentence != '\0') {
		size_t taken = strlen(before);
		size_t bytes = mw_resident_line(sentence, all > taken + 20 ? all - taken : 20);
		fprintf(out, "%s%.*s\n", before, (int)bytes, sentence);
		sentence += bytes;
		sentence += strspn(sentence, " ");
		before = next;
	}
}
