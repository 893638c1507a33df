/* SPDX-License-Identifier: MIT
 * test_snapshot.c -- the profile that is made of a state file: values by size, and of mappings. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_state.h"
#include "formats/read.h"
#include "formats/state/state_file.h"
#include "test.h"

static mw_snapshot_t *read_whole(const fake_state_t *s) {
	int fd = fake_state_fd(s, s->length);
	mw_snapshot_t *snapshot = NULL;
	mw_error_t error;
	CHECK_EQ(mw_snapshot_read_fd(fd, "fake", MW_SNAPSHOT_ALL, &snapshot, &error), 0);
	close(fd);
	return snapshot;
}

static void set_size(fake_state_t *s, uint32_t i, uint32_t stack, uint64_t usable_bytes,
		     double objects, uint32_t next) {
	s->sizes[i] = (mw_state_size_t){.objects_q16 = (int64_t)(objects * 65536.0),
					.bytes = (int64_t)(objects * (double)usable_bytes),
					.requested_bytes = (int64_t)objects,
					.samples = 2,
					.usable_bytes = usable_bytes,
					.next = next,
					.stack = stack};
	s->live->sizes_used = i + 1;
}

/* A stack of 1000 objects of 64 bytes, which none of the sizes' entries speak of yet. */
static uint32_t add_sized_stack(fake_state_t *s, uint32_t sizes) {
	uint64_t frame = fake_frame(0, 0x1234 + s->live->stacks_used);
	uint32_t number = fake_state_add_stack(s, &frame, 1, 1000.0, 64000, 0.0);
	s->stacks[number].alloc_samples = 100;
	s->stacks[number].alloc_requested_bytes = 6000;
	s->stacks[number].first_size_bytes = 64;
	s->stacks[number].sizes = sizes;
	return number;
}

static int64_t value_of(const mw_profile_t *p, const char *type, int64_t size) {
	int index = mw_profile_find_type(p, type);
	int64_t sum = 0;
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_sample_t *sample = &p->samples[i];
		int64_t its_size = 0;
		for (uint32_t k = 0; k < sample->label_count; k++) {
			const mw_label_t *label = &p->labels[sample->label_first + k];
			if (strcmp(mw_profile_string(p, label->key), MW_LABEL_SIZE) == 0)
				its_size = label->number;
		}
		if (its_size == size)
			sum += mw_profile_values(p, i)[index];
	}
	return sum;
}

static void allocated_is_split_by_size(void) {
	fake_state_t s;
	fake_state_init(&s);
	uint32_t number = add_sized_stack(&s, 3);
	s.stacks[number].alloc_objects_q16 = 1000 * 65536 + 32768;
	s.stacks[number].alloc_zero_objects_q16 = 10 * 65536;
	set_size(&s, 1, number, 128, 200.25, 0);
	set_size(&s, 3, number, 16, 40.25, 1);
	mw_snapshot_t *snapshot = read_whole(&s);
	mw_profile_t *p = mw_profile_from_snapshot(snapshot);
	CHECK_EQ(value_of(p, "alloc_objects", 128), 201);
	CHECK_EQ(value_of(p, "alloc_space", 128), 25632);
	/* The ten requests for no byte among them. */
	CHECK_EQ(value_of(p, "alloc_objects", 16), 40);
	CHECK_EQ(value_of(p, "alloc_space", 16), 644);
	CHECK_EQ(value_of(p, "alloc_objects", 64), 760);
	CHECK_EQ(value_of(p, "alloc_space", 64), 64000 - 25632 - 644);
	CHECK_EQ(value_of(p, "alloc_samples", 64), 96);
	CHECK_EQ(value_of(p, "alloc_requested", 64), 6000 - 200 - 40);
	CHECK_EQ(value_of(p, "alloc_objects", 0), 0);
	CHECK_EQ(mw_profile_total(p, 0), 1001);
	CHECK_EQ(mw_profile_total(p, 1), 64000);
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

/* One stack each: of an entry that is behind the end, is its own next, leads up, has no size, leads
 * to such a one, is another stack's, leads to another's, or is not there though it should be; and
 * one that says more than the stack has. */
static void hostile_sizes_are_none(void) {
	fake_state_t s;
	fake_state_init(&s);
	const uint32_t bad[] = {MW_SIZES_UNKNOWN, FAKE_SIZES, 9, 2, 3, 4, 5, 8, 6};
	uint32_t first = (uint32_t)s.live->stacks_used;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		add_sized_stack(&s, bad[i]);
	uint32_t good = add_sized_stack(&s, 8);
	set_size(&s, 1, good, 256, 0.0, 0);
	set_size(&s, 2, first + 3, 128, 1.0, 2);
	set_size(&s, 3, first + 4, 128, 1.0, 4);
	set_size(&s, 4, first + 5, 0, 1.0, 0);
	set_size(&s, 5, first + 6, 128, 1.0, 4);
	set_size(&s, 6, first + 8, 128, 1.0, 1);
	set_size(&s, 8, good, 128, 1e9, 1);
	mw_snapshot_t *snapshot = read_whole(&s);
	for (uint32_t i = first; i < good; i++)
		CHECK(snapshot->stacks[i].first_size_bytes == 0 && snapshot->stacks[i].sizes == 0);
	CHECK_EQ(snapshot->stacks[good].first_size_bytes, 64);
	mw_profile_t *p = mw_profile_from_snapshot(snapshot);
	CHECK_EQ(value_of(p, "alloc_objects", 0), 1000 * (int64_t)(sizeof(bad) / sizeof(bad[0])));
	CHECK_EQ(value_of(p, "alloc_objects", 128), 1000);
	CHECK_EQ(value_of(p, "alloc_objects", 64), 0);
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

/* Stacks of calls that map memory have sample types of their own and are in no other. */
static void mappings_have_their_types(void) {
	fake_state_t s;
	fake_state_init(&s);
	uint64_t frame = 0x1234;
	fake_state_add_stack(&s, &frame, 1, 5.0, 500, 0.0);
	mw_snapshot_t *snapshot = read_whole(&s);
	mw_profile_t *p = mw_profile_from_snapshot(snapshot);
	CHECK_EQ(mw_profile_find_type(p, "inuse_mapped"), -1);
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	uint32_t number = fake_state_add_stack(&s, &frame, 1, 2.0, 8192, 0.0);
	s.stacks[number].flags = MW_STACK_MAPPING;
	s.stacks[number].alloc_objects_q16 = 3 * 65536;
	s.stacks[number].alloc_bytes = 12288;
	snapshot = read_whole(&s);
	p = mw_profile_from_snapshot(snapshot);
	const struct {
		const char *type;
		int64_t total;
	} wanted[] = {
		{"inuse_mapped", 8192}, {"inuse_mappings", 2}, {"alloc_mapped", 12288},
		{"alloc_mappings", 3},  {"inuse_space", 500},  {"inuse_objects", 5},
	};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		int type = mw_profile_find_type(p, wanted[i].type);
		CHECK(type >= 0);
		CHECK_EQ(mw_profile_total(p, (size_t)type), wanted[i].total);
	}
	mw_profile_free(p);
	const mw_stack_bytes_t owner = {.stack = number, .bytes = 777};
	p = mw_profile_of_stacks(snapshot, &owner, 1);
	CHECK_EQ(p->sample_count, 1);
	CHECK(p->samples[0].depth == 1 && mw_profile_values(p, 0)[0] == 777);
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

/* ---- functions of scripts ---- */

static void put_text(fake_state_t *s, uint32_t number, const char *text) {
	s->texts[number] = 1;
	s->texts[number + 1] = strlen(text);
	memcpy(&s->texts[number + MW_TEXT_HEAD_ENTRIES], text, strlen(text));
}

static uint32_t add_script(fake_state_t *s) {
	uint32_t module =
		fake_state_add_module(s, "[python]", mw_script_module_start(0),
				      mw_script_module_start(1), 0, mw_script_module_start(0), "");
	const uint64_t frames[] = {fake_frame(module, 3 << MW_SCRIPT_LINE_BITS | 17) |
				   MW_FRAME_EXACT};
	s->functions[3] = (mw_state_function_t){.hash = 1, .name = 1, .file = 8, .first_line = 12};
	put_text(s, 1, "Store.fill");
	put_text(s, 8, "/srv/app.py");
	s->live->functions_used = 4;
	s->live->texts_used = 12;
	return fake_state_add_stack(s, frames, 1, 10.0, 640, 0.0);
}

/* The name of the only stack's only function; its file, and its lines. */
static void check_script(const fake_state_t *s, const char *name, const char *file, int64_t first) {
	mw_snapshot_t *snapshot = read_whole(s);
	mw_profile_t *p = mw_profile_from_snapshot(snapshot);
	CHECK_EQ(p->sample_count, 1);
	uint32_t location = p->frames[p->samples[0].frame_first];
	CHECK(mw_profile_is_script(p, location));
	const mw_line_t *line = mw_location_line(p, &p->locations[location], 0);
	CHECK(line != NULL);
	CHECK_STR(mw_profile_string(p, p->functions[line->function].name), name);
	CHECK_STR(mw_profile_string(p, p->functions[line->function].file), file);
	CHECK_EQ(p->functions[line->function].start_line, first);
	CHECK_EQ(line->line, 17);
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
}

static void frames_of_scripts_have_function_and_line(void) {
	fake_state_t s;
	fake_state_init(&s);
	add_script(&s);
	check_script(&s, "Store.fill", "/srv/app.py", 12);
	/* Damaged files: texts that end behind the section, or have no end; no such function. */
	s.texts[9] = 17;
	check_script(&s, "Store.fill", "", 12);
	s.texts[9] = UINT64_MAX;
	check_script(&s, "Store.fill", "", 12);
	s.functions[3].file = UINT32_MAX;
	check_script(&s, "Store.fill", "", 12);
	s.functions[3].file = 11;
	check_script(&s, "Store.fill", "", 12);
	s.functions[3].name = 0;
	check_script(&s, "[unknown]", "", 12);
	s.live->texts_used = 1;
	s.functions[3].name = 1;
	check_script(&s, "[unknown]", "", 12);
	s.live->functions_used = 3;
	check_script(&s, "[unknown]", "", 0);
	s.live->functions_used = s.live->texts_used = 0;
	check_script(&s, "[unknown]", "", 0);
	fake_state_release(&s);
}

int main(void) {
	RUN(frames_of_scripts_have_function_and_line);
	RUN(allocated_is_split_by_size);
	RUN(hostile_sizes_are_none);
	RUN(mappings_have_their_types);
	return 0;
}
