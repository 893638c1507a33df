/* SPDX-License-Identifier: MIT
 * pyroscope.c -- profile.proto with one kind of values, and push.v1's JSON by jansson. */
#include "push/encode/pyroscope.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "push/encode/kind_samples.h"
#include "push/encode/profile_id.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME = 9,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_DEFAULT_TYPE = 14
};
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2 };
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILE,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILES,
	MAPPING_HAS_LINES,
	MAPPING_HAS_INLINE
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE, LOCATION_IS_FOLDED };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_START_LINE };

/* Pyroscope averages over time what is named inuse_..., and adds up what is not.  It knows these
 * names of the heap's types; memory that the program mapped itself has the same under another name
 * of the profile. */
typedef struct names {
	mw_kind_t kind;
	const char *profile;          /* label __name__ */
	const char *period, *unit;    /* type of the period */
	const char *types[MW_VALUES]; /* NULL: as the kind has it */
} names_t;

static const names_t all_names[] = {
	{MW_KIND_HEAP, "memory", "space", "bytes", {NULL}},
	{MW_KIND_MAPPED,
	 "mapped",
	 "space",
	 "bytes",
	 {"inuse_objects", "inuse_space", "alloc_objects", "alloc_space"}},
	{MW_KIND_CPU, "process_cpu", "cpu", "nanoseconds", {NULL}},
	{MW_KIND_WALL, "wall", "wall", "nanoseconds", {NULL}},
};

static const names_t *names_of(mw_kind_t kind) {
	size_t i = sizeof(all_names) / sizeof(all_names[0]) - 1;
	while (i > 0 && all_names[i].kind != kind)
		i--;
	return &all_names[i];
}

static const char *type_name(mw_kind_t kind, int value) {
	const char *name = names_of(kind)->types[value];
	return name != NULL ? name : mw_kind_values(kind)->values[value].type;
}

static void put_value_type(mw_message_t *out, unsigned field, mw_selection_t *s, const char *type,
			   const char *unit) {
	size_t at = mw_message_begin(out, field);
	mw_message_number(out, VALUE_TYPE_TYPE, mw_selection_text(s, type));
	mw_message_number(out, VALUE_TYPE_UNIT, mw_selection_text(s, unit));
	mw_message_end(out, at);
}

static void put_samples(mw_message_t *out, const mw_selection_t *s) {
	const mw_profile_t *p = s->profile;
	for (size_t i = 0; i < s->sample_count; i++) {
		const mw_sample_t *from = &p->samples[s->samples[i]];
		const int64_t *values = mw_profile_values(p, s->samples[i]);
		size_t sample = mw_message_begin(out, PROFILE_SAMPLE);
		size_t list = mw_message_begin(out, SAMPLE_LOCATIONS);
		for (uint32_t k = 0; k < from->depth; k++)
			mw_message_varint(out,
					  s->locations.numbers[p->frames[from->frame_first + k]]);
		mw_message_end(out, list);
		list = mw_message_begin(out, SAMPLE_VALUES);
		for (int k = 0; k < MW_VALUES; k++)
			if (s->types[k] >= 0)
				mw_message_varint(out, (uint64_t)values[s->types[k]]);
		mw_message_end(out, list);
		mw_message_end(out, sample);
	}
}

static void put_mappings(mw_message_t *out, const mw_selection_t *s) {
	for (size_t i = 1; i <= s->mappings.count; i++) {
		const mw_mapping_t *m = &s->profile->mappings[s->mappings.entries[i]];
		size_t mapping = mw_message_begin(out, PROFILE_MAPPING);
		mw_message_number(out, MAPPING_ID, i);
		mw_message_number(out, MAPPING_START, m->start);
		mw_message_number(out, MAPPING_LIMIT, m->limit);
		mw_message_number(out, MAPPING_OFFSET, m->offset);
		mw_message_number(out, MAPPING_FILE, mw_selection_string(s, m->path));
		mw_message_number(out, MAPPING_BUILD_ID, mw_selection_string(s, m->build_id));
		mw_message_number(out, MAPPING_HAS_FUNCTIONS, m->has_functions);
		mw_message_number(out, MAPPING_HAS_FILES, m->has_filenames);
		mw_message_number(out, MAPPING_HAS_LINES, m->has_line_numbers);
		mw_message_number(out, MAPPING_HAS_INLINE, m->has_inline_frames);
		mw_message_end(out, mapping);
	}
}

static void put_locations(mw_message_t *out, const mw_selection_t *s) {
	const mw_profile_t *p = s->profile;
	for (size_t i = 1; i <= s->locations.count; i++) {
		const mw_location_t *l = &p->locations[s->locations.entries[i]];
		size_t location = mw_message_begin(out, PROFILE_LOCATION);
		mw_message_number(out, LOCATION_ID, i);
		mw_message_number(out, LOCATION_MAPPING, s->mappings.numbers[l->mapping]);
		mw_message_number(out, LOCATION_ADDRESS, l->address);
		for (uint32_t k = 0; k < l->line_count; k++) {
			const mw_line_t *from = &p->lines[l->line_first + k];
			size_t line = mw_message_begin(out, LOCATION_LINE);
			mw_message_number(out, LINE_FUNCTION, s->functions.numbers[from->function]);
			mw_message_number(out, LINE_LINE, (uint64_t)from->line);
			mw_message_end(out, line);
		}
		mw_message_number(out, LOCATION_IS_FOLDED, l->is_folded);
		mw_message_end(out, location);
	}
}

static void put_functions(mw_message_t *out, const mw_selection_t *s) {
	for (size_t i = 1; i <= s->functions.count; i++) {
		const mw_function_t *f = &s->profile->functions[s->functions.entries[i]];
		size_t function = mw_message_begin(out, PROFILE_FUNCTION);
		mw_message_number(out, FUNCTION_ID, i);
		mw_message_number(out, FUNCTION_NAME, mw_selection_string(s, f->name));
		mw_message_number(out, FUNCTION_SYSTEM_NAME,
				  mw_selection_string(s, f->system_name));
		mw_message_number(out, FUNCTION_FILE, mw_selection_string(s, f->file));
		mw_message_number(out, FUNCTION_START_LINE, (uint64_t)f->start_line);
		mw_message_end(out, function);
	}
}

static void put_profile(const mw_put_t *put, mw_selection_t *s, mw_message_t *out) {
	const mw_kind_values_t *kind = mw_kind_values(put->kind);
	const names_t *names = names_of(put->kind);
	for (int i = 0; i < MW_VALUES; i++)
		if (s->types[i] >= 0)
			put_value_type(out, PROFILE_SAMPLE_TYPE, s, type_name(put->kind, i),
				       kind->values[i].unit);
	put_samples(out, s);
	put_mappings(out, s);
	put_locations(out, s);
	put_functions(out, s);
	put_value_type(out, PROFILE_PERIOD_TYPE, s, names->period, names->unit);
	mw_message_number(out, PROFILE_DEFAULT_TYPE,
			  mw_selection_text(s, type_name(put->kind, kind->standard)));
	mw_message_number(out, PROFILE_TIME, (uint64_t)put->time_ns);
	mw_message_number(out, PROFILE_DURATION, (uint64_t)put->duration_ns);
	mw_message_number(out, PROFILE_PERIOD, (uint64_t)put->period);
	for (size_t i = 0; i < mw_selection_string_count(s); i++)
		mw_message_text_entry(out, PROFILE_STRING, mw_selection_string_of(s, i));
}

bool mw_pyroscope_profile(const mw_put_t *put, mw_message_t *out) {
	mw_selection_t s = mw_select(put->profile, put->kind);
	bool is_any = s.sample_count > 0;
	if (is_any)
		put_profile(put, &s, out);
	mw_selection_release(&s);
	return is_any;
}

/* Changes a key into a label's name as Prometheus has them: letters, digits and '_', no digit
 * first.  A name that begins with "__" is the server's own. */
static char *label_name(const char *key) {
	size_t size = strlen(key) + 3;
	char *name = mw_xcalloc(size, 1);
	bool needs_letter = isdigit((unsigned char)*key) || strncmp(key, "__", 2) == 0;
	snprintf(name, size, "%s%s", needs_letter ? "l_" : "", key);
	for (char *at = name; *at != '\0'; at++)
		if (!isascii((unsigned char)*at) || !isalnum((unsigned char)*at))
			*at = '_';
	return name;
}

/* A label without a value says the same as none. */
static int add_label(json_t *labels, const char *name, const char *value, mw_error_t *error) {
	if (*value == '\0')
		return 0;
	char *text = mw_message_utf8(value);
	size_t i;
	json_t *other;
	int result = 0;
	json_array_foreach(labels, i, other) {
		if (strcmp(json_string_value(json_object_get(other, "name")), name) == 0)
			result = mw_error_set(error,
					      "label '%s': Pyroscope gets another label of this "
					      "name; rename one",
					      name);
	}
	if (result == 0)
		json_array_append_new(labels, json_pack("{s:s, s:s}", "name", name, "value", text));
	free(text);
	return result;
}

static int add_labels(json_t *labels, const mw_put_t *put, mw_error_t *error) {
	const mw_identity_t *identity = &put->identity;
	const struct {
		const char *name, *value;
	} own[] = {
		{"__name__", names_of(put->kind)->profile},
		/* The counts are differences already: the server is not to subtract. */
		{"__delta__", "false"},
		{"service_name", identity->service},
		{"instance", identity->instance},
		{"host", identity->host},
		{"version", identity->version},
		{"build_id", identity->build_id},
	};
	int result = 0;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && result == 0; i++)
		result = add_label(labels, own[i].name, own[i].value, error);
	for (size_t i = 0; i < identity->tag_count && result == 0; i++) {
		char *name = label_name(identity->tags[i].key);
		result = add_label(labels, name, identity->tags[i].value, error);
		free(name);
	}
	return result;
}

static void append_text(mw_message_t *out, const char *text) {
	mw_message_append(out, text, strlen(text));
}

/* jansson writes the labels.  It would look at each of the profile's million characters, none of
 * which JSON needs escaped: ID and profile are hexadecimal and base64. */
static int append_json(mw_message_t *out, const json_t *labels, const char *id,
		       const mw_message_t *packed) {
	char *text = json_dumps(labels, JSON_COMPACT);
	if (text == NULL)
		return -1;
	append_text(out, "{\"series\":[{\"labels\":");
	append_text(out, text);
	append_text(out, ",\"samples\":[{\"ID\":\"");
	append_text(out, id);
	append_text(out, "\",\"rawProfile\":\"");
	mw_message_base64(out, packed->bytes, packed->length);
	append_text(out, "\"}]}]}");
	free(text);
	return 0;
}

static void write_id(const mw_put_t *put, char text[37]) {
	unsigned char id[MW_PROFILE_ID_BYTES];
	mw_profile_id(put, 0, id);
	for (size_t i = 0, at = 0; i < sizeof(id); i++)
		at += (size_t)snprintf(text + at, 37 - at, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
}

int mw_pyroscope_request(const mw_put_t *put, mw_message_t *out, mw_error_t *error) {
	mw_message_t profile = {0}, packed = {0};
	char id[37];
	if (!mw_pyroscope_profile(put, &profile))
		return 0;
	write_id(put, id);
	json_t *labels = json_array();
	int result = add_labels(labels, put, error);
	if (result == 0)
		result = mw_message_gzip(&packed, profile.bytes, profile.length, error);
	mw_message_release(&profile);
	if (result == 0 && append_json(out, labels, id, &packed) != 0)
		result = mw_error_set(error, "cannot write JSON: out of memory");
	mw_message_release(&packed);
	json_decref(labels);
	return result == 0 ? 1 : -1;
}
