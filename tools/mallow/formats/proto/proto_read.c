/* SPDX-License-Identifier: MIT
 * proto_read.c -- reads profile.proto.
 * The reader splits the fields of the outermost message itself and unpacks each entry on its
 * own, so that any file takes memory of a small multiple of its size.  The reader decodes
 * samples itself, because there may be millions; protobuf-c decodes the other entries.  Entries
 * may refer to entries that come later in the file.  The reader therefore makes one pass for
 * each kind of entry, from the first entry of the kind to the last. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/proto/proto.h"
#include "formats/proto/wire.h"
#include "model/memory.h"
#include "model/table.h"
#include "profile.pb-c.h"

/* Field numbers of message Profile. */
enum {
	FIELD_SAMPLE_TYPE = 1,
	FIELD_SAMPLE = 2,
	FIELD_MAPPING = 3,
	FIELD_LOCATION = 4,
	FIELD_FUNCTION = 5,
	FIELD_STRING = 6,
	FIELD_DROP = 7,
	FIELD_KEEP = 8,
	FIELD_TIME = 9,
	FIELD_DURATION = 10,
	FIELD_PERIOD_TYPE = 11,
	FIELD_PERIOD = 12,
	FIELD_COMMENT = 13,
	FIELD_DEFAULT_TYPE = 14,
	FIELD_HISTORY = 1000, /* a field that only mallow writes */
	FIELD_PAUSES = 1001,
};

/* One more than the largest field number of the format itself. */
#define FIELD_END (FIELD_DEFAULT_TYPE + 1)
enum { EXTENT_COUNT = FIELD_END + 2 };

/* Field numbers of message Sample, and of its labels. */
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3, LABEL_UNIT = 4 };

/* Most bytes of one entry; larger ones are refused. protobuf-c needs up to 40 times as many. */
#define ENTRY_BYTES_MAX ((size_t)1 << 20)
/* Most sample types.  No profiler has more. */
#define TYPES_MAX 64

/* Longest start of a field: its key, and its value or length, each a number of up to 10 bytes. */
#define FIELD_HEAD_BYTES_MAX 20

bool mw_may_be_proto(const char *bytes, size_t length) {
	const unsigned char *at = (const unsigned char *)bytes, *end = at + length;
	/* A field that the end of the buffer cuts off proves nothing. */
	while (end - at > FIELD_HEAD_BYTES_MAX) {
		const unsigned char *from = at;
		mw_wire_field_t field;
		uint64_t key, field_bytes;
		if (mw_wire_next(&at, end, &field))
			continue;
		bool is_long = mw_wire_varint(&from, end, &key) && key >> 3 != 0 &&
			       (key & 7) == MW_WIRE_BYTES &&
			       mw_wire_varint(&from, end, &field_bytes);
		return is_long && field_bytes > (uint64_t)(end - from);
	}
	return true;
}

/* Maps the file's ids, which may be any numbers, to numbers in the profile. */
typedef struct id_map {
	mw_table_t table;
	uint64_t *ids; /* ids[i]: id in the file of entry i of the profile */
	size_t capacity;
	/* The first `in_order` ids equal their numbers in the profile; most writers number
	 * entries so. */
	uint32_t in_order;
} id_map_t;

/* Range of the file that holds all fields of one kind. */
typedef struct extent {
	const unsigned char *first, *end; /* NULL = the file has no such field */
} extent_t;

typedef struct proto_reader {
	mw_profile_t *profile;
	const char *name;
	const unsigned char *bytes;
	size_t length;
	mw_error_t *error;
	mw_string_t *strings; /* strings[i]: string i of the file */
	size_t string_count, string_capacity;
	id_map_t mappings, locations, functions;
	extent_t extents[EXTENT_COUNT]; /* index: extent_number() */
	int64_t default_type;           /* number of a string of the file */
	/* The sample that is being read. */
	uint32_t *frames;
	size_t frame_count, frame_capacity;
	int64_t values[TYPES_MAX];
	size_t value_count;
	mw_label_t *labels;
	size_t label_count, label_capacity;
} proto_reader_t;

typedef int (*field_fn)(proto_reader_t *r, const mw_wire_field_t *field);

static int damaged(proto_reader_t *r, const char *why) {
	return mw_error_set(r->error,
			    "%s: is not a profile that mallow can read, or is damaged: %s", r->name,
			    why);
}

/* Index in `extents` of a field; EXTENT_COUNT = the reader skips the field. */
static unsigned extent_number(unsigned field) {
	if (field == FIELD_HISTORY || field == FIELD_PAUSES)
		return FIELD_END + (field == FIELD_PAUSES);
	return field < FIELD_END ? field : EXTENT_COUNT;
}

static int find_extents(proto_reader_t *r) {
	const unsigned char *at = r->bytes, *end = r->bytes + r->length;
	while (at < end) {
		const unsigned char *start = at;
		mw_wire_field_t field;
		if (!mw_wire_next(&at, end, &field))
			return damaged(r, "a field is cut off or has an unknown type");
		unsigned number = extent_number(field.number);
		if (number == EXTENT_COUNT)
			continue;
		extent_t *extent = &r->extents[number];
		if (extent->first == NULL)
			extent->first = start;
		extent->end = at;
	}
	return 0;
}

/* Calls `take` for each field that has this number and wire type. */
static int each_field(proto_reader_t *r, unsigned number, unsigned wire_type, field_fn take) {
	const extent_t *extent = &r->extents[extent_number(number)];
	const unsigned char *at = extent->first, *end = extent->end;
	size_t count = 0;
	while (at < end) {
		mw_wire_field_t field;
		if (!mw_wire_next(&at, end, &field))
			return damaged(r, "a field is cut off or has an unknown type");
		if (field.number != number || field.type != wire_type)
			continue;
		if (wire_type == MW_WIRE_BYTES && field.length > ENTRY_BYTES_MAX)
			return damaged(r, "an entry is larger than 1 MiB");
		if (count++ >= MW_READ_ENTRIES_MAX)
			return damaged(r, "it has more entries than any profile has");
		if (take(r, &field) != 0)
			return -1;
	}
	return 0;
}

static bool id_equal(const void *context, uint32_t entry, const void *key) {
	return ((const id_map_t *)context)->ids[entry] == *(const uint64_t *)key;
}

static uint32_t find_id(const id_map_t *map, uint64_t id) {
	if (id <= map->in_order)
		return (uint32_t)id;
	return mw_table_find(&map->table, mw_table_hash(&id, sizeof(id)), id_equal, map, &id);
}

static int add_id(proto_reader_t *r, id_map_t *map, uint64_t id, uint32_t entry) {
	if (id == 0)
		return damaged(r, "an entry has the id 0");
	if (find_id(map, id) != 0)
		return damaged(r, "two entries have the same id");
	if (id == entry && map->in_order + 1 == entry) {
		map->in_order = entry;
		return 0;
	}
	map->ids = mw_grow(map->ids, &map->capacity, (size_t)entry + 1, sizeof(uint64_t));
	map->ids[entry] = id;
	mw_table_add(&map->table, mw_table_hash(&id, sizeof(id)), entry);
	return 0;
}

static mw_string_t string_at(const proto_reader_t *r, int64_t number) {
	return number > 0 && (uint64_t)number < r->string_count ? r->strings[number] : 0;
}

static int take_string(proto_reader_t *r, const mw_wire_field_t *field) {
	r->strings =
		mw_grow(r->strings, &r->string_capacity, r->string_count + 1, sizeof(mw_string_t));
	r->strings[r->string_count++] =
		mw_profile_intern_bytes(r->profile, (const char *)field->bytes, field->length);
	return 0;
}

static int take_type(proto_reader_t *r, const mw_wire_field_t *field) {
	Mallow__Pprof__ValueType *type =
		mallow__pprof__value_type__unpack(NULL, field->length, field->bytes);
	if (type == NULL)
		return damaged(r, "a sample type is malformed");
	mw_profile_t *p = r->profile;
	mw_string_t name = string_at(r, type->type), unit = string_at(r, type->unit);
	mallow__pprof__value_type__free_unpacked(type, NULL);
	if (p->type_count == TYPES_MAX)
		return damaged(r, "too many sample types");
	mw_profile_add_type(p, mw_profile_string(p, name), mw_profile_string(p, unit));
	return 0;
}

static int take_mapping(proto_reader_t *r, const mw_wire_field_t *field) {
	Mallow__Pprof__Mapping *from =
		mallow__pprof__mapping__unpack(NULL, field->length, field->bytes);
	if (from == NULL)
		return damaged(r, "a mapping is malformed");
	mw_mapping_t mapping = {
		.start = from->memory_start,
		.limit = from->memory_limit,
		.offset = from->file_offset,
		.path = string_at(r, from->filename),
		.build_id = string_at(r, from->build_id),
		.has_functions = from->has_functions,
		.has_filenames = from->has_filenames,
		.has_line_numbers = from->has_line_numbers,
		.has_inline_frames = from->has_inline_frames,
	};
	uint64_t id = from->id;
	mallow__pprof__mapping__free_unpacked(from, NULL);
	return add_id(r, &r->mappings, id, mw_profile_append_mapping(r->profile, &mapping));
}

static int take_function(proto_reader_t *r, const mw_wire_field_t *field) {
	Mallow__Pprof__Function *from =
		mallow__pprof__function__unpack(NULL, field->length, field->bytes);
	if (from == NULL)
		return damaged(r, "a function is malformed");
	mw_function_t function = {
		.name = string_at(r, from->name),
		.system_name = string_at(r, from->system_name),
		.file = string_at(r, from->filename),
		.start_line = from->start_line,
	};
	uint64_t id = from->id;
	mallow__pprof__function__free_unpacked(from, NULL);
	return add_id(r, &r->functions, id, mw_profile_append_function(r->profile, &function));
}

static int add_lines(proto_reader_t *r, uint32_t location, const Mallow__Pprof__Location *from) {
	if (from->n_line == 0)
		return 0;
	mw_line_t *lines = mw_xcalloc(from->n_line, sizeof(mw_line_t));
	size_t count = 0;
	for (size_t i = 0; i < from->n_line; i++) {
		uint32_t function = find_id(&r->functions, from->line[i]->function_id);
		if (function != 0)
			lines[count++] = (mw_line_t){function, from->line[i]->line};
	}
	mw_profile_set_lines(r->profile, location, lines, count);
	free(lines);
	return 0;
}

static int take_location(proto_reader_t *r, const mw_wire_field_t *field) {
	Mallow__Pprof__Location *from =
		mallow__pprof__location__unpack(NULL, field->length, field->bytes);
	if (from == NULL)
		return damaged(r, "a location is malformed");
	uint32_t mapping = from->mapping_id != 0 ? find_id(&r->mappings, from->mapping_id) : 0;
	uint32_t location = mw_profile_append_location(r->profile, mapping, from->address, false);
	r->profile->locations[location].is_folded = from->is_folded;
	int result = add_id(r, &r->locations, from->id, location);
	if (result == 0)
		result = add_lines(r, location, from);
	mallow__pprof__location__free_unpacked(from, NULL);
	return result;
}

static int add_frame(proto_reader_t *r, uint64_t id) {
	if (r->frame_count == MW_READ_DEPTH_MAX)
		return damaged(r, "a stack is deeper than 32768 frames");
	uint32_t location = find_id(&r->locations, id);
	if (location == 0)
		return damaged(r, "a sample names a location that does not exist");
	r->frames = mw_grow(r->frames, &r->frame_capacity, r->frame_count + 1, sizeof(uint32_t));
	r->frames[r->frame_count++] = location;
	return 0;
}

static int add_value(proto_reader_t *r, uint64_t value) {
	if (r->value_count == r->profile->type_count)
		return damaged(r, "a sample does not have one value for each sample type");
	r->values[r->value_count++] = (int64_t)value;
	return 0;
}

/* Adds the value of a repeated number: a single number, or many packed into bytes. */
static inline int add_numbers(proto_reader_t *r, const mw_wire_field_t *field,
			      int (*add)(proto_reader_t *r, uint64_t number)) {
	if (field->type == MW_WIRE_VARINT)
		return add(r, field->value);
	if (field->type != MW_WIRE_BYTES)
		return damaged(r, "a list of numbers is malformed");
	const unsigned char *at = field->bytes, *end = field->bytes + field->length;
	while (at < end) {
		uint64_t number;
		if (!mw_wire_varint(&at, end, &number))
			return damaged(r, "a list of numbers is malformed");
		if (add(r, number) != 0)
			return -1;
	}
	return 0;
}

static int add_label(proto_reader_t *r, const mw_wire_field_t *field) {
	mw_label_t label = {0};
	if (field->type != MW_WIRE_BYTES)
		return damaged(r, "a label is malformed");
	const unsigned char *at = field->bytes, *end = field->bytes + field->length;
	while (at < end) {
		mw_wire_field_t part;
		if (!mw_wire_next(&at, end, &part))
			return damaged(r, "a label is malformed");
		int64_t value = (int64_t)part.value;
		if (part.type != MW_WIRE_VARINT)
			continue;
		if (part.number == LABEL_KEY)
			label.key = string_at(r, value);
		else if (part.number == LABEL_TEXT)
			label.text = string_at(r, value);
		else if (part.number == LABEL_NUMBER)
			label.number = value;
		else if (part.number == LABEL_UNIT)
			label.unit = string_at(r, value);
	}
	r->labels = mw_grow(r->labels, &r->label_capacity, r->label_count + 1, sizeof(mw_label_t));
	r->labels[r->label_count++] = label;
	return 0;
}

static int add_part(proto_reader_t *r, const mw_wire_field_t *part) {
	switch (part->number) {
	case SAMPLE_LOCATION:
		return add_numbers(r, part, add_frame);
	case SAMPLE_VALUE:
		return add_numbers(r, part, add_value);
	case SAMPLE_LABEL:
		return add_label(r, part);
	default:
		return 0;
	}
}

static int take_sample(proto_reader_t *r, const mw_wire_field_t *field) {
	const unsigned char *at = field->bytes, *end = field->bytes + field->length;
	r->frame_count = r->value_count = r->label_count = 0;
	while (at < end) {
		mw_wire_field_t part;
		if (!mw_wire_next(&at, end, &part))
			return damaged(r, "a sample");
		if (add_part(r, &part) != 0)
			return -1;
	}
	if (r->value_count != r->profile->type_count)
		return damaged(r, "a sample does not have one value for each sample type");
	mw_profile_add_sample(r->profile, r->frames, r->frame_count, r->values, r->labels,
			      r->label_count);
	return 0;
}

static int take_drop(proto_reader_t *r, const mw_wire_field_t *field) {
	r->profile->drop_frames = string_at(r, (int64_t)field->value);
	return 0;
}

static int take_keep(proto_reader_t *r, const mw_wire_field_t *field) {
	r->profile->keep_frames = string_at(r, (int64_t)field->value);
	return 0;
}

static int take_time(proto_reader_t *r, const mw_wire_field_t *field) {
	r->profile->time_ns = (int64_t)field->value;
	return 0;
}

static int take_duration(proto_reader_t *r, const mw_wire_field_t *field) {
	r->profile->duration_ns = (int64_t)field->value;
	return 0;
}

static int take_period(proto_reader_t *r, const mw_wire_field_t *field) {
	r->profile->period = (int64_t)field->value;
	return 0;
}

static int take_period_type(proto_reader_t *r, const mw_wire_field_t *field) {
	Mallow__Pprof__ValueType *type =
		mallow__pprof__value_type__unpack(NULL, field->length, field->bytes);
	if (type == NULL)
		return damaged(r, "the type of the period is malformed");
	r->profile->period_type.type = string_at(r, type->type);
	r->profile->period_type.unit = string_at(r, type->unit);
	mallow__pprof__value_type__free_unpacked(type, NULL);
	return 0;
}

static int take_default_type(proto_reader_t *r, const mw_wire_field_t *field) {
	r->default_type = (int64_t)field->value;
	return 0;
}

static int add_comment(proto_reader_t *r, uint64_t number) {
	mw_profile_t *p = r->profile;
	mw_profile_add_comment(p, mw_profile_string(p, string_at(r, (int64_t)number)));
	return 0;
}

static int take_comments(proto_reader_t *r, const mw_wire_field_t *field) {
	return add_numbers(r, field, add_comment);
}

/* Reads `count` numbers.  False: the bytes end earlier. */
static bool take_numbers(const unsigned char **at, const unsigned char *end, int64_t *numbers,
			 size_t count) {
	for (size_t i = 0; i < count; i++) {
		uint64_t value;
		if (!mw_wire_varint(at, end, &value))
			return false;
		numbers[i] = (int64_t)value;
	}
	return true;
}

static int take_history(proto_reader_t *r, const mw_wire_field_t *field) {
	const unsigned char *at = field->bytes, *end = field->bytes + field->length;
	int64_t n[4];
	while (take_numbers(&at, end, n, 4))
		mw_history_add_tick(&r->profile->history, &(mw_tick_t){n[0], n[1], n[2], n[3]});
	return 0;
}

static int take_pauses(proto_reader_t *r, const mw_wire_field_t *field) {
	const unsigned char *at = field->bytes, *end = field->bytes + field->length;
	int64_t n[2];
	while (take_numbers(&at, end, n, 2))
		mw_history_add_pause(&r->profile->history, n[0], n[1]);
	return 0;
}

static int take_all(proto_reader_t *r) {
	static const struct {
		unsigned number, wire_type;
		field_fn take;
	} passes[] = {
		{FIELD_STRING, MW_WIRE_BYTES, take_string},
		{FIELD_SAMPLE_TYPE, MW_WIRE_BYTES, take_type},
		{FIELD_MAPPING, MW_WIRE_BYTES, take_mapping},
		{FIELD_FUNCTION, MW_WIRE_BYTES, take_function},
		{FIELD_LOCATION, MW_WIRE_BYTES, take_location},
		{FIELD_DROP, MW_WIRE_VARINT, take_drop},
		{FIELD_KEEP, MW_WIRE_VARINT, take_keep},
		{FIELD_TIME, MW_WIRE_VARINT, take_time},
		{FIELD_DURATION, MW_WIRE_VARINT, take_duration},
		{FIELD_PERIOD, MW_WIRE_VARINT, take_period},
		{FIELD_PERIOD_TYPE, MW_WIRE_BYTES, take_period_type},
		{FIELD_DEFAULT_TYPE, MW_WIRE_VARINT, take_default_type},
		{FIELD_COMMENT, MW_WIRE_VARINT, take_comments},
		{FIELD_COMMENT, MW_WIRE_BYTES, take_comments},
		{FIELD_SAMPLE, MW_WIRE_BYTES, take_sample},
		{FIELD_HISTORY, MW_WIRE_BYTES, take_history},
		{FIELD_PAUSES, MW_WIRE_BYTES, take_pauses},
	};
	if (find_extents(r) != 0)
		return -1;
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
		if (each_field(r, passes[i].number, passes[i].wire_type, passes[i].take) != 0)
			return -1;
		if (passes[i].number == FIELD_STRING && r->string_count == 0)
			return damaged(r, "it has no strings");
		if (passes[i].number == FIELD_SAMPLE_TYPE && r->profile->type_count == 0)
			return damaged(r, "it has no sample types");
	}
	return 0;
}

/* Sets the default type as pprof does: the named type, or the last one. */
static void set_default_type(proto_reader_t *r) {
	mw_profile_t *p = r->profile;
	mw_string_t name = string_at(r, r->default_type);
	int found = name != 0 ? mw_profile_find_type(p, mw_profile_string(p, name)) : -1;
	p->default_type = found >= 0 ? (uint32_t)found : (uint32_t)p->type_count - 1;
}

static void read_pauses(mw_origin_t *origin, const char *text) {
	uint64_t stops;
	int64_t off_ns, counted_ns;
	if (sscanf(text, "sampling off: %" SCNu64 " times, %" SCNd64 " of %" SCNd64, &stops,
		   &off_ns, &counted_ns) != 3 ||
	    off_ns < 0 || counted_ns < off_ns)
		return;
	origin->stops = stops;
	origin->off_ns = off_ns;
	origin->counted_ns = counted_ns;
}

/* Reads the comments that formats/state/snapshot.c writes. */
static void read_comments(mw_profile_t *p) {
	mw_origin_t *origin = &p->origin;
	if (p->comment_count == 0 ||
	    strncmp(mw_profile_string(p, p->comments[0]), "mallow ", 7) != 0)
		return;
	for (size_t i = 0; i < p->comment_count; i++) {
		const char *text = mw_profile_string(p, p->comments[i]);
		if (i == 0)
			origin->version = mw_profile_intern(p, text + 7);
		else if (strncmp(text, "program: ", 9) == 0)
			origin->program = mw_profile_intern(p, text + 9);
		else if (strncmp(text, "command: ", 9) == 0)
			origin->args = mw_profile_intern(p, text + 9);
		else if (strncmp(text, "pid: ", 5) == 0)
			origin->pid = (uint32_t)strtoul(text + 5, NULL, 10);
		else if (strncmp(text, "flags: ", 7) == 0)
			origin->flags = (uint32_t)strtoul(text + 7, NULL, 16);
		else if (strncmp(text, "samples: ", 9) == 0)
			sscanf(text, "samples: %" SCNu64 " in use, %" SCNu64, &origin->live_samples,
			       &origin->alloc_samples);
		else if (strcmp(text, MW_COMMENT_KILLED) == 0)
			origin->killed = true;
		else if (strncmp(text, "sampling off: ", 14) == 0)
			read_pauses(origin, text);
		else
			mw_resident_of_comment(text, &origin->resident);
	}
}

/* Takes the first mapped file for the program, as pprof does. */
static void guess_program(mw_profile_t *p) {
	if (p->origin.program != 0 || p->mapping_count < 2)
		return;
	const char *path = mw_profile_string(p, p->mappings[1].path);
	const char *slash = strrchr(path, '/');
	p->origin.program = mw_profile_intern(p, slash != NULL ? slash + 1 : path);
}

static void release_map(id_map_t *map) {
	mw_table_clear(&map->table);
	free(map->ids);
}

int mw_read_proto(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		  mw_error_t *error) {
	proto_reader_t r = {.profile = profile,
			    .name = name,
			    .bytes = (const unsigned char *)bytes,
			    .length = length,
			    .error = error};
	int result = take_all(&r);
	if (result == 0) {
		set_default_type(&r);
		read_comments(profile);
		guess_program(profile);
		profile->origin.format = mw_profile_intern(profile, "profile.proto");
	}
	release_map(&r.mappings);
	release_map(&r.locations);
	release_map(&r.functions);
	free(r.strings);
	free(r.frames);
	free(r.labels);
	return result;
}
