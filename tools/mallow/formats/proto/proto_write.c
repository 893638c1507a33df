/* SPDX-License-Identifier: MIT
 * proto_write.c -- writes profile.proto.
 * Protocol buffers that follow each other are merged by readers.  The writer therefore writes a
 * sequence of small Profile messages, and its memory does not grow with the profile. */
#include <stdlib.h>

#include "formats/proto/proto.h"
#include "model/memory.h"
#include "profile.pb-c.h"

/* Strings in one message.  Any number is correct. */
#define BATCH 256

/* Memory in which one message after the other is built. */
typedef struct scratch {
	mw_output_t *output;
	uint8_t *packed;
	uint64_t *ids;
	Mallow__Pprof__Label *labels;
	Mallow__Pprof__Label **label_pointers;
	size_t packed_capacity, id_capacity, label_capacity, pointer_capacity;
} scratch_t;

static void emit(scratch_t *scratch, const Mallow__Pprof__Profile *message) {
	size_t size = mallow__pprof__profile__get_packed_size(message);
	scratch->packed = mw_grow(scratch->packed, &scratch->packed_capacity, size, 1);
	mallow__pprof__profile__pack(message, scratch->packed);
	mw_output_write(scratch->output, scratch->packed, size);
}

static void write_types(const mw_profile_t *p, scratch_t *scratch) {
	Mallow__Pprof__Profile message = MALLOW__PPROF__PROFILE__INIT;
	Mallow__Pprof__ValueType *types =
		mw_xcalloc(p->type_count, sizeof(Mallow__Pprof__ValueType));
	Mallow__Pprof__ValueType **pointers = mw_xcalloc(p->type_count, sizeof(void *));
	for (size_t i = 0; i < p->type_count; i++) {
		mallow__pprof__value_type__init(&types[i]);
		types[i].type = p->types[i].type;
		types[i].unit = p->types[i].unit;
		pointers[i] = &types[i];
	}
	message.n_sample_type = p->type_count;
	message.sample_type = pointers;
	emit(scratch, &message);
	free(pointers);
	free(types);
}

static void set_labels(const mw_profile_t *p, const mw_sample_t *from, scratch_t *scratch,
		       Mallow__Pprof__Sample *sample) {
	size_t count = from->label_count;
	scratch->labels = mw_grow(scratch->labels, &scratch->label_capacity, count,
				  sizeof(Mallow__Pprof__Label));
	scratch->label_pointers = mw_grow(scratch->label_pointers, &scratch->pointer_capacity,
					  count, sizeof(Mallow__Pprof__Label *));
	for (size_t i = 0; i < count; i++) {
		const mw_label_t *label = &p->labels[from->label_first + i];
		Mallow__Pprof__Label *to = &scratch->labels[i];
		mallow__pprof__label__init(to);
		to->key = label->key;
		to->str = label->text;
		to->num = label->text == 0 ? label->number : 0;
		to->num_unit = label->unit;
		scratch->label_pointers[i] = to;
	}
	sample->n_label = count;
	sample->label = scratch->label_pointers;
}

static void write_sample(const mw_profile_t *p, size_t i, scratch_t *scratch) {
	const mw_sample_t *from = &p->samples[i];
	Mallow__Pprof__Profile message = MALLOW__PPROF__PROFILE__INIT;
	Mallow__Pprof__Sample sample = MALLOW__PPROF__SAMPLE__INIT, *samples = &sample;
	scratch->ids = mw_grow(scratch->ids, &scratch->id_capacity, from->depth, sizeof(uint64_t));
	for (size_t k = 0; k < from->depth; k++)
		scratch->ids[k] = p->frames[from->frame_first + k];
	sample.n_location_id = from->depth;
	sample.location_id = scratch->ids;
	sample.n_value = p->type_count;
	sample.value = p->values + i * p->type_count;
	set_labels(p, from, scratch, &sample);
	message.n_sample = 1;
	message.sample = &samples;
	emit(scratch, &message);
}

static void write_mapping(const mw_profile_t *p, size_t i, scratch_t *scratch) {
	const mw_mapping_t *from = &p->mappings[i];
	Mallow__Pprof__Profile message = MALLOW__PPROF__PROFILE__INIT;
	Mallow__Pprof__Mapping mapping = MALLOW__PPROF__MAPPING__INIT, *mappings = &mapping;
	mapping.id = i;
	mapping.memory_start = from->start;
	mapping.memory_limit = from->limit;
	mapping.file_offset = from->offset;
	mapping.filename = from->path;
	mapping.build_id = from->build_id;
	mapping.has_functions = from->has_functions;
	mapping.has_filenames = from->has_filenames;
	mapping.has_line_numbers = from->has_line_numbers;
	mapping.has_inline_frames = from->has_inline_frames;
	message.n_mapping = 1;
	message.mapping = &mappings;
	emit(scratch, &message);
}

static void write_location(const mw_profile_t *p, size_t i, scratch_t *scratch) {
	const mw_location_t *from = &p->locations[i];
	Mallow__Pprof__Profile message = MALLOW__PPROF__PROFILE__INIT;
	Mallow__Pprof__Location location = MALLOW__PPROF__LOCATION__INIT, *locations = &location;
	Mallow__Pprof__Line *lines = mw_xcalloc(from->line_count, sizeof(Mallow__Pprof__Line));
	Mallow__Pprof__Line **pointers = mw_xcalloc(from->line_count, sizeof(void *));
	for (size_t k = 0; k < from->line_count; k++) {
		const mw_line_t *line = &p->lines[from->line_first + k];
		mallow__pprof__line__init(&lines[k]);
		lines[k].function_id = line->function;
		lines[k].line = line->line;
		pointers[k] = &lines[k];
	}
	location.id = i;
	location.mapping_id = from->mapping;
	location.address = from->address;
	location.is_folded = from->is_folded;
	location.n_line = from->line_count;
	location.line = pointers;
	message.n_location = 1;
	message.location = &locations;
	emit(scratch, &message);
	free(pointers);
	free(lines);
}

static void write_function(const mw_profile_t *p, size_t i, scratch_t *scratch) {
	const mw_function_t *from = &p->functions[i];
	Mallow__Pprof__Profile message = MALLOW__PPROF__PROFILE__INIT;
	Mallow__Pprof__Function function = MALLOW__PPROF__FUNCTION__INIT, *functions = &function;
	function.id = i;
	function.name = from->name;
	function.system_name = from->system_name;
	function.filename = from->file;
	function.start_line = from->start_line;
	message.n_function = 1;
	message.function = &functions;
	emit(scratch, &message);
}

static void write_strings(const mw_profile_t *p, scratch_t *scratch) {
	size_t count = mw_profile_string_count(p);
	for (size_t first = 0; first < count; first += BATCH) {
		Mallow__Pprof__Profile message = MALLOW__PPROF__PROFILE__INIT;
		char *strings[BATCH];
		size_t n = 0;
		for (; n < BATCH && first + n < count; n++)
			strings[n] = (char *)mw_profile_string(p, (mw_string_t)(first + n));
		message.n_string_table = n;
		message.string_table = strings;
		emit(scratch, &message);
	}
}

static void write_header(const mw_profile_t *p, scratch_t *scratch) {
	Mallow__Pprof__Profile message = MALLOW__PPROF__PROFILE__INIT;
	Mallow__Pprof__ValueType period_type = MALLOW__PPROF__VALUE_TYPE__INIT;
	int64_t *comments = mw_xcalloc(p->comment_count, sizeof(int64_t));
	for (size_t i = 0; i < p->comment_count; i++)
		comments[i] = p->comments[i];
	period_type.type = p->period_type.type;
	period_type.unit = p->period_type.unit;
	message.drop_frames = p->drop_frames;
	message.keep_frames = p->keep_frames;
	message.time_nanos = p->time_ns;
	message.duration_nanos = p->duration_ns;
	message.period = p->period;
	message.period_type = &period_type;
	message.n_comment = p->comment_count;
	message.comment = comments;
	if (p->default_type < p->type_count)
		message.default_sample_type = p->types[p->default_type].type;
	emit(scratch, &message);
	free(comments);
}

static void write_history(const mw_history_t *h, scratch_t *scratch) {
	Mallow__Pprof__Profile message = MALLOW__PPROF__PROFILE__INIT;
	int64_t *moments = mw_xcalloc(4 * h->tick_count, sizeof(int64_t));
	int64_t *pauses = mw_xcalloc(2 * h->pause_count, sizeof(int64_t));
	for (size_t i = 0; i < h->tick_count; i++) {
		moments[message.n_history++] = h->ticks[i].time_ns;
		moments[message.n_history++] = h->ticks[i].live_bytes;
		moments[message.n_history++] = h->ticks[i].resident_bytes;
		moments[message.n_history++] = h->ticks[i].alloc_bytes;
	}
	for (size_t i = 0; i < h->pause_count; i++) {
		pauses[message.n_pauses++] = h->pauses[i].from_ns;
		pauses[message.n_pauses++] = h->pauses[i].until_ns;
	}
	message.history = moments;
	message.pauses = pauses;
	emit(scratch, &message);
	free(moments);
	free(pauses);
}

void mw_write_proto(const mw_profile_t *p, mw_output_t *output) {
	scratch_t scratch = {.output = output};
	write_types(p, &scratch);
	for (size_t i = 0; i < p->sample_count; i++)
		write_sample(p, i, &scratch);
	for (size_t i = 1; i < p->mapping_count; i++)
		write_mapping(p, i, &scratch);
	for (size_t i = 1; i < p->location_count; i++)
		write_location(p, i, &scratch);
	for (size_t i = 1; i < p->function_count; i++)
		write_function(p, i, &scratch);
	write_strings(p, &scratch);
	write_header(p, &scratch);
	write_history(&p->history, &scratch);
	free(scratch.packed);
	free(scratch.ids);
	free(scratch.labels);
	free(scratch.label_pointers);
}
