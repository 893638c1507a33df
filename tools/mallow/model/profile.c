/* SPDX-License-Identifier: MIT
 * profile.c -- the profile in memory: growing arrays, and hash tables that find equal entries. */
#include "model/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/table.h"
#include "state/cpu_source.h"

/* Size of a block of strings.  Strings never move, because blocks never do; a longer string gets
 * a block of its own.  A usual profile needs a few blocks. */
#define STRING_BLOCK_BYTES ((size_t)64 << 10)

typedef struct text {
	const char *bytes; /* NUL-terminated text, in a block */
	size_t length;
} text_t;

struct mw_profile_index {
	text_t *strings;
	size_t string_count;
	char **blocks;
	size_t block_count;
	size_t block_left; /* bytes free in the last block */
	char *block_next;

	mw_table_t string_table;
	mw_table_t mapping_table;
	mw_table_t function_table;
	mw_table_t location_table;

	/* Numbers of the first `sorted_count` mappings, ordered by start address. */
	uint32_t *by_address;
	size_t sorted_count;

	size_t string_capacity, block_capacity, type_capacity, sample_capacity, value_capacity;
	size_t frame_capacity, label_capacity, location_capacity, line_capacity, mapping_capacity;
	size_t function_capacity, comment_capacity;
};

mw_profile_t *mw_profile_new(void) {
	mw_profile_t *p = mw_xcalloc(1, sizeof(*p));
	struct mw_profile_index *index = mw_xcalloc(1, sizeof(*index));
	p->index = index;
	index->strings = mw_grow(NULL, &index->string_capacity, 1, sizeof(text_t));
	index->strings[0] = (text_t){"", 0};
	index->string_count = 1;
	p->locations = mw_grow(NULL, &index->location_capacity, 1, sizeof(mw_location_t));
	p->mappings = mw_grow(NULL, &index->mapping_capacity, 1, sizeof(mw_mapping_t));
	p->functions = mw_grow(NULL, &index->function_capacity, 1, sizeof(mw_function_t));
	p->location_count = p->mapping_count = p->function_count = 1;
	return p;
}

void mw_profile_free(mw_profile_t *p) {
	if (p == NULL)
		return;
	struct mw_profile_index *index = p->index;
	for (size_t i = 0; i < index->block_count; i++)
		free(index->blocks[i]);
	free(index->blocks);
	free(index->strings);
	free(index->by_address);
	mw_table_clear(&index->string_table);
	mw_table_clear(&index->mapping_table);
	mw_table_clear(&index->function_table);
	mw_table_clear(&index->location_table);
	free(index);
	free(p->types);
	free(p->samples);
	free(p->values);
	free(p->frames);
	free(p->labels);
	free(p->locations);
	free(p->lines);
	free(p->mappings);
	free(p->functions);
	free(p->comments);
	mw_history_clear(&p->history);
	free(p);
}

static const char *store_text(struct mw_profile_index *index, const char *text, size_t length) {
	if (length + 1 > index->block_left) {
		size_t bytes = length + 1 > STRING_BLOCK_BYTES ? length + 1 : STRING_BLOCK_BYTES;
		index->blocks = mw_grow(index->blocks, &index->block_capacity,
					index->block_count + 1, sizeof(char *));
		index->block_next = mw_xcalloc(bytes, 1);
		index->blocks[index->block_count++] = index->block_next;
		index->block_left = bytes;
	}
	char *stored = index->block_next;
	memcpy(stored, text, length);
	stored[length] = '\0';
	index->block_next += length + 1;
	index->block_left -= length + 1;
	return stored;
}

static bool text_equal(const void *context, uint32_t entry, const void *key) {
	const struct mw_profile_index *index = context;
	const text_t *have = &index->strings[entry], *want = key;
	return have->length == want->length && memcmp(have->bytes, want->bytes, want->length) == 0;
}

mw_string_t mw_profile_intern_bytes(mw_profile_t *p, const char *text, size_t length) {
	struct mw_profile_index *index = p->index;
	text_t key = {text, strnlen(text, length)};
	if (key.length == 0)
		return 0;
	uint64_t hash = mw_table_hash(key.bytes, key.length);
	uint32_t found = mw_table_find(&index->string_table, hash, text_equal, index, &key);
	if (found != 0)
		return found;
	index->strings = mw_grow(index->strings, &index->string_capacity, index->string_count + 1,
				 sizeof(text_t));
	mw_string_t added = (mw_string_t)index->string_count++;
	index->strings[added] = (text_t){store_text(index, key.bytes, key.length), key.length};
	mw_table_add(&index->string_table, hash, added);
	return added;
}

mw_string_t mw_profile_intern(mw_profile_t *p, const char *text) {
	return mw_profile_intern_bytes(p, text, strlen(text));
}

const char *mw_profile_string(const mw_profile_t *p, mw_string_t string) {
	return string < p->index->string_count ? p->index->strings[string].bytes : "";
}

size_t mw_profile_string_count(const mw_profile_t *p) {
	return p->index->string_count;
}

size_t mw_profile_add_type(mw_profile_t *p, const char *type, const char *unit) {
	p->types = mw_grow(p->types, &p->index->type_capacity, p->type_count + 1,
			   sizeof(mw_value_type_t));
	p->types[p->type_count].type = mw_profile_intern(p, type);
	p->types[p->type_count].unit = mw_profile_intern(p, unit);
	return p->type_count++;
}

static const char *const heap_types[][2] = {
#define MW_SAMPLE_TYPE(name, text, unit) {text, unit},
#include "state/sample_types.def"
#undef MW_SAMPLE_TYPE
};
/* The first four types, which every format of heap profiles has; the last four, of mappings. */
enum {
	COMMON_TYPES = 4,
	MAPPING_TYPES = 4,
	ALL_TYPES = sizeof(heap_types) / sizeof(heap_types[0]),
	STATE_TYPES = ALL_TYPES - MAPPING_TYPES,
};

const char *const mw_decade_names[MW_DECADES] = {
	"under 1 us",    "1 us to 10 us",   "10 us to 100 us", "100 us to 1 ms",
	"1 ms to 10 ms", "10 ms to 0.1 s",  "0.1 s to 1 s",    "1 s to 10 s",
	"10 s to 100 s", "100 s to 1000 s", "over 1000 s",
};

int mw_decade_of(const char *text) {
	for (int i = 0; i < MW_DECADES; i++)
		if (strcmp(text, mw_decade_names[i]) == 0)
			return i;
	return -1;
}

void mw_profile_add_heap_types(mw_profile_t *p) {
	for (size_t i = 0; i < COMMON_TYPES; i++)
		mw_profile_add_type(p, heap_types[i][0], heap_types[i][1]);
	p->default_type = COMMON_TYPES - 1;
	p->period_type.type = mw_profile_intern(p, "space");
	p->period_type.unit = mw_profile_intern(p, "bytes");
}

void mw_profile_add_state_types(mw_profile_t *p) {
	for (size_t i = COMMON_TYPES; i < STATE_TYPES; i++)
		mw_profile_add_type(p, heap_types[i][0], heap_types[i][1]);
}

void mw_profile_add_mapping_types(mw_profile_t *p) {
	for (size_t i = STATE_TYPES; i < ALL_TYPES; i++)
		mw_profile_add_type(p, heap_types[i][0], heap_types[i][1]);
}

int mw_profile_find_type(const mw_profile_t *p, const char *type) {
	for (size_t i = 0; i < p->type_count; i++)
		if (strcmp(mw_profile_string(p, p->types[i].type), type) == 0)
			return (int)i;
	return -1;
}

bool mw_profile_is_cpu_type(const mw_profile_t *p, size_t type) {
	static const char *const names[] = {"cpu", "wall",
#define EVENT(name, text, unit) text,
					    MW_CPU_COUNTED_LIST(EVENT)
#undef EVENT
	};
	const char *name = mw_profile_string(p, p->types[type].type);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

int mw_profile_cpu_type(const mw_profile_t *p) {
	for (size_t i = 0; i < p->type_count; i++)
		if (mw_profile_is_cpu_type(p, i))
			return (int)i;
	return -1;
}

/* Fills in the fields that identify a mapping, without padding, so that they can be hashed. */
enum { MAPPING_KEYS = 5 };
static void mapping_key(const mw_mapping_t *m, uint64_t key[MAPPING_KEYS]) {
	key[0] = m->start;
	key[1] = m->limit;
	key[2] = m->offset;
	key[3] = (uint64_t)m->path << 32 | m->build_id;
	/* Another file may have been loaded from the path, at the same place. */
	key[4] = m->build_id == 0 ? (uint64_t)m->loaded_ns : 0;
}

static bool mapping_equal(const void *context, uint32_t entry, const void *key) {
	const mw_profile_t *p = context;
	uint64_t have[MAPPING_KEYS];
	mapping_key(&p->mappings[entry], have);
	return memcmp(have, key, sizeof(have)) == 0;
}

uint32_t mw_profile_append_mapping(mw_profile_t *p, const mw_mapping_t *mapping) {
	p->mappings = mw_grow(p->mappings, &p->index->mapping_capacity, p->mapping_count + 1,
			      sizeof(mw_mapping_t));
	p->mappings[p->mapping_count] = *mapping;
	return (uint32_t)p->mapping_count++;
}

uint32_t mw_profile_add_mapping(mw_profile_t *p, const mw_mapping_t *mapping) {
	struct mw_profile_index *index = p->index;
	uint64_t key[MAPPING_KEYS];
	mapping_key(mapping, key);
	uint64_t hash = mw_table_hash(key, sizeof(key));
	uint32_t found = mw_table_find(&index->mapping_table, hash, mapping_equal, p, key);
	if (found != 0)
		return found;
	uint32_t added = mw_profile_append_mapping(p, mapping);
	mw_table_add(&index->mapping_table, hash, added);
	return added;
}

uint32_t mw_profile_add_kernel_mapping(mw_profile_t *p) {
	const mw_mapping_t mapping = {
		.start = MW_KERNEL_START,
		.limit = UINT64_MAX,
		.path = mw_profile_intern(p, MW_KERNEL_MAPPING),
		.build_id = mw_profile_intern(p, ""),
	};
	return mw_profile_add_mapping(p, &mapping);
}

static void function_key(const mw_function_t *f, uint64_t key[3]) {
	key[0] = (uint64_t)f->name << 32 | f->system_name;
	key[1] = f->file;
	key[2] = (uint64_t)f->start_line;
}

static bool function_equal(const void *context, uint32_t entry, const void *key) {
	const mw_profile_t *p = context;
	uint64_t have[3];
	function_key(&p->functions[entry], have);
	return memcmp(have, key, sizeof(have)) == 0;
}

uint32_t mw_profile_append_function(mw_profile_t *p, const mw_function_t *function) {
	p->functions = mw_grow(p->functions, &p->index->function_capacity, p->function_count + 1,
			       sizeof(mw_function_t));
	p->functions[p->function_count] = *function;
	return (uint32_t)p->function_count++;
}

uint32_t mw_profile_add_function(mw_profile_t *p, const mw_function_t *function) {
	struct mw_profile_index *index = p->index;
	uint64_t key[3];
	function_key(function, key);
	uint64_t hash = mw_table_hash(key, sizeof(key));
	uint32_t found = mw_table_find(&index->function_table, hash, function_equal, p, key);
	if (found != 0)
		return found;
	uint32_t added = mw_profile_append_function(p, function);
	mw_table_add(&index->function_table, hash, added);
	return added;
}

uint32_t mw_profile_append_location(mw_profile_t *p, uint32_t mapping, uint64_t address,
				    bool is_exact) {
	p->locations = mw_grow(p->locations, &p->index->location_capacity, p->location_count + 1,
			       sizeof(mw_location_t));
	uint32_t added = (uint32_t)p->location_count++;
	p->locations[added] =
		(mw_location_t){.address = address, .mapping = mapping, .is_exact = is_exact};
	return added;
}

static bool location_equal(const void *context, uint32_t entry, const void *key) {
	const mw_location_t *have = &((const mw_profile_t *)context)->locations[entry];
	const uint64_t *want = key;
	return have->address == want[0] &&
	       ((uint64_t)have->mapping << 1 | have->is_exact) == want[1];
}

uint32_t mw_profile_add_location(mw_profile_t *p, uint32_t mapping, uint64_t address,
				 bool is_exact) {
	const uint64_t key[2] = {address, (uint64_t)mapping << 1 | is_exact};
	uint64_t hash = mw_table_hash(key, sizeof(key));
	mw_table_t *table = &p->index->location_table;
	uint32_t found = mw_table_find(table, hash, location_equal, p, key);
	if (found != 0)
		return found;
	uint32_t added = mw_profile_append_location(p, mapping, address, is_exact);
	mw_table_add(table, hash, added);
	return added;
}

void mw_profile_set_lines(mw_profile_t *p, uint32_t location, const mw_line_t *lines,
			  size_t count) {
	p->lines = mw_grow(p->lines, &p->index->line_capacity, p->line_count + count,
			   sizeof(mw_line_t));
	mw_location_t *l = &p->locations[location];
	l->line_first = p->line_count;
	l->line_count = (uint32_t)count;
	if (count > 0)
		memcpy(p->lines + p->line_count, lines, count * sizeof(*lines));
	p->line_count += count;
}

static int compare_starts(const void *a, const void *b, void *context) {
	const mw_mapping_t *mappings = ((const mw_profile_t *)context)->mappings;
	uint64_t x = mappings[*(const uint32_t *)a].start, y = mappings[*(const uint32_t *)b].start;
	return x < y ? -1 : x > y;
}

void mw_profile_name_ranges(mw_profile_t *p) {
	for (uint32_t i = 1; i < p->location_count; i++) {
		const mw_line_t line = {.function = p->locations[i].range_function};
		if (p->locations[i].line_count == 0 && line.function != 0)
			mw_profile_set_lines(p, i, &line, 1);
	}
}

bool mw_function_is_range(const mw_profile_t *p, uint32_t function) {
	const mw_function_t *f = &p->functions[function];
	const char *at = strrchr(mw_profile_string(p, f->name), '@');
	return f->system_name == 0 && at != NULL && strncmp(at, "@0x", 3) == 0 &&
	       at[3 + strspn(at + 3, "0123456789abcdef")] == '\0';
}

uint32_t mw_profile_find_mapping(mw_profile_t *p, uint64_t address) {
	struct mw_profile_index *index = p->index;
	size_t count = p->mapping_count - 1;
	if (index->sorted_count != count) {
		index->by_address = mw_xrealloc(index->by_address, count, sizeof(uint32_t));
		for (size_t i = 0; i < count; i++)
			index->by_address[i] = (uint32_t)(i + 1);
		qsort_r(index->by_address, count, sizeof(uint32_t), compare_starts, p);
		index->sorted_count = count;
	}
	/* After the loop, `low` counts the mappings that start at or before `address`. */
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (p->mappings[index->by_address[middle]].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= p->mappings[index->by_address[low - 1]].limit)
		return 0;
	return index->by_address[low - 1];
}

void mw_profile_add_sample(mw_profile_t *p, const uint32_t *locations, size_t depth,
			   const int64_t *values, const mw_label_t *labels, size_t label_count) {
	struct mw_profile_index *index = p->index;
	p->samples = mw_grow(p->samples, &index->sample_capacity, p->sample_count + 1,
			     sizeof(mw_sample_t));
	p->values = mw_grow(p->values, &index->value_capacity,
			    (p->sample_count + 1) * p->type_count, sizeof(int64_t));
	p->frames = mw_grow(p->frames, &index->frame_capacity, p->frame_count + depth,
			    sizeof(uint32_t));
	p->labels = mw_grow(p->labels, &index->label_capacity, p->label_count + label_count,
			    sizeof(mw_label_t));
	p->samples[p->sample_count] = (mw_sample_t){.frame_first = p->frame_count,
						    .label_first = p->label_count,
						    .depth = (uint32_t)depth,
						    .label_count = (uint32_t)label_count};
	memcpy(p->values + p->sample_count * p->type_count, values,
	       p->type_count * sizeof(*values));
	if (depth > 0)
		memcpy(p->frames + p->frame_count, locations, depth * sizeof(*locations));
	if (label_count > 0)
		memcpy(p->labels + p->label_count, labels, label_count * sizeof(*labels));
	p->sample_count++;
	p->frame_count += depth;
	p->label_count += label_count;
}

void mw_profile_set_frames(mw_profile_t *p, size_t sample, const uint32_t *locations,
			   size_t depth) {
	p->frames = mw_grow(p->frames, &p->index->frame_capacity, p->frame_count + depth,
			    sizeof(uint32_t));
	if (depth > 0)
		memcpy(p->frames + p->frame_count, locations, depth * sizeof(*locations));
	p->samples[sample].frame_first = p->frame_count;
	p->samples[sample].depth = (uint32_t)depth;
	p->frame_count += depth;
}

void mw_profile_move_sample(mw_profile_t *p, size_t to, size_t from) {
	p->samples[to] = p->samples[from];
	memmove(p->values + to * p->type_count, p->values + from * p->type_count,
		p->type_count * sizeof(*p->values));
}

void mw_profile_add_comment(mw_profile_t *p, const char *text) {
	p->comments = mw_grow(p->comments, &p->index->comment_capacity, p->comment_count + 1,
			      sizeof(mw_string_t));
	p->comments[p->comment_count++] = mw_profile_intern(p, text);
}

bool mw_profile_is_zero_request(const mw_profile_t *p, const mw_sample_t *sample) {
	for (uint32_t i = 0; i < sample->label_count; i++) {
		const mw_label_t *label = &p->labels[sample->label_first + i];
		if (label->text == 0 && label->number == 0 &&
		    strcmp(mw_profile_string(p, label->key), MW_LABEL_REQUEST) == 0)
			return true;
	}
	return false;
}

const mw_label_t *mw_profile_label(const mw_profile_t *p, size_t sample, const char *key) {
	const mw_sample_t *s = &p->samples[sample];
	for (uint32_t i = 0; i < s->label_count; i++)
		if (strcmp(mw_profile_string(p, p->labels[s->label_first + i].key), key) == 0)
			return &p->labels[s->label_first + i];
	return NULL;
}

bool mw_profile_same_stack(const mw_profile_t *p, size_t a, size_t b) {
	const mw_sample_t *x = &p->samples[a], *y = &p->samples[b];
	return x->depth == y->depth &&
	       (x->depth == 0 || memcmp(p->frames + x->frame_first, p->frames + y->frame_first,
					x->depth * sizeof(uint32_t)) == 0);
}

int64_t mw_profile_total(const mw_profile_t *p, size_t type) {
	int64_t total = 0;
	for (size_t i = 0; i < p->sample_count; i++) {
		int64_t value = mw_profile_values(p, i)[type];
		if (__builtin_add_overflow(total, value, &total))
			return value > 0 ? INT64_MAX : INT64_MIN;
	}
	return total;
}

#define RESIDENT_COMMENT                                                                           \
	"resident at the peak, in bytes: %" PRIu64 " malloc, %" PRIu64 " mapped, %" PRIu64         \
	" files, %" PRIu64 " profiler, %" PRIu64 " unexplained; %" PRIu64                          \
	" in blocks in use; threads: %" PRIu64
#define RESIDENT_COMMENT_SCAN                                                                      \
	"resident at the peak, in bytes: %" SCNu64 " malloc, %" SCNu64 " mapped, %" SCNu64         \
	" files, %" SCNu64 " profiler, %" SCNu64 " unexplained; %" SCNu64                          \
	" in blocks in use; threads: %" SCNu64

void mw_profile_set_resident(mw_profile_t *p, const mw_resident_t *r) {
	char text[256];
	mw_resident_t before;
	p->origin.resident = *r;
	if (r->bytes == 0 || !r->at_peak)
		return;
	snprintf(text, sizeof(text), RESIDENT_COMMENT, r->parts[MW_RESIDENT_MALLOC],
		 r->parts[MW_RESIDENT_MAPPED], r->parts[MW_RESIDENT_FILES],
		 r->parts[MW_RESIDENT_PROFILER], r->parts[MW_RESIDENT_UNEXPLAINED], r->block_bytes,
		 r->threads);
	for (size_t i = 0; i < p->comment_count; i++)
		if (mw_resident_of_comment(mw_profile_string(p, p->comments[i]), &before)) {
			p->comments[i] = mw_profile_intern(p, text);
			return;
		}
	mw_profile_add_comment(p, text);
}

bool mw_resident_of_comment(const char *text, mw_resident_t *out) {
	mw_resident_t r = {.at_peak = true};
	if (sscanf(text, RESIDENT_COMMENT_SCAN, &r.parts[MW_RESIDENT_MALLOC],
		   &r.parts[MW_RESIDENT_MAPPED], &r.parts[MW_RESIDENT_FILES],
		   &r.parts[MW_RESIDENT_PROFILER], &r.parts[MW_RESIDENT_UNEXPLAINED],
		   &r.block_bytes, &r.threads) != 7)
		return false;
	for (int i = 0; i < MW_RESIDENT_PARTS; i++)
		if (r.parts[i] > INT64_MAX / MW_RESIDENT_PARTS)
			return false;
		else
			r.bytes += r.parts[i];
	r.most_bytes = r.bytes;
	r.touched_bytes = r.parts[MW_RESIDENT_MALLOC] < r.block_bytes ? r.parts[MW_RESIDENT_MALLOC]
								      : r.block_bytes;
	*out = r;
	return true;
}

bool mw_is_script_module(const char *path) {
	static const char *const modules[] = {
#define MW_SCRIPT_KIND(name, module) module,
#include "state/script_kinds.def"
#undef MW_SCRIPT_KIND
		"[javascript]", "[java]"};
	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		if (strcmp(path, modules[i]) == 0)
			return true;
	return false;
}

bool mw_profile_is_script(const mw_profile_t *p, uint32_t location) {
	uint32_t mapping = p->locations[location].mapping;
	return mw_is_script_module(mw_profile_string(p, p->mappings[mapping].path));
}
