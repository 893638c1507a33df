/* SPDX-License-Identifier: MIT
 * test_state_file.c -- the reader of state files: what it takes over, and what it refuses. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_state.h"
#include "formats/read.h"
#include "formats/state/state_file.h"
#include "test.h"

static mw_error_t error;
static int fake_fd;

/* Reads the first `length` bytes of the state; NULL with `error` set when that fails. */
static mw_snapshot_t *read_cut(const fake_state_t *s, size_t length) {
	int fd = fake_state_fd(s, length);
	mw_snapshot_t *snapshot = NULL;
	error.text[0] = '\0';
	int result = mw_snapshot_read_fd(fd, "fake", MW_SNAPSHOT_ALL, &snapshot, &error);
	CHECK((result == 0) == (snapshot != NULL));
	CHECK((result == 0) == (error.text[0] == '\0'));
	close(fd);
	return snapshot;
}

static mw_snapshot_t *read_whole(const fake_state_t *s) {
	return read_cut(s, s->length);
}

static void check_refused(const fake_state_t *s, const char *why) {
	mw_snapshot_t *snapshot = read_whole(s);
	CHECK(snapshot == NULL);
	if (strstr(error.text, why) == NULL) {
		fprintf(stderr, "error is \"%s\", without \"%s\"\n", error.text, why);
		exit(1);
	}
}

static void good_file_is_read(void) {
	fake_state_t s;
	fake_state_init(&s);
	uint32_t m = fake_state_add_module(&s, "/opt/demo/bin/demo", 0x555000001000, 0x555000009000,
					   0x1000, 0x555000000000,
					   "00112233445566778899aabbccddeeff00112233");
	uint64_t frames[] = {fake_frame(m, 0x1234), fake_frame(m, 0x2000) | MW_FRAME_EXACT,
			     0x7fff12345678};
	fake_state_add_stack(&s, frames, 3, 10.0, 10240, 2.0);
	s.control->want_mean_bytes = 99;
	mw_snapshot_t *snapshot = read_whole(&s);
	CHECK(snapshot != NULL);
	CHECK_EQ(snapshot->header.pid, 4711);
	CHECK_EQ(snapshot->control.want_mean_bytes, 99);
	CHECK_EQ(snapshot->stack_count, 2);
	CHECK_EQ(snapshot->module_count, 1);

	mw_profile_t *p = mw_profile_from_snapshot(snapshot);
	/* The zero-size requests are a sample of their own. */
	CHECK_EQ(p->sample_count, 2);
	CHECK_EQ(mw_profile_total(p, 0), 10);
	CHECK_EQ(mw_profile_total(p, 2), 10);
	CHECK_EQ(mw_profile_total(p, 3), 10240);
	CHECK(!mw_profile_is_zero_request(p, &p->samples[0]));
	CHECK(mw_profile_is_zero_request(p, &p->samples[1]));
	CHECK_EQ(mw_profile_values(p, 1)[2], 2);
	CHECK_EQ(mw_profile_values(p, 1)[3], 32);
	const mw_sample_t *sample = &p->samples[0];
	CHECK_EQ(sample->depth, 3);
	const mw_location_t *leaf = &p->locations[p->frames[sample->frame_first]];
	CHECK_EQ(leaf->address, 0x555000001233); /* in the call */
	CHECK(!leaf->is_exact);
	const mw_location_t *second = &p->locations[p->frames[sample->frame_first + 1]];
	CHECK_EQ(second->address, 0x555000002000);
	CHECK(second->is_exact);
	const mw_location_t *third = &p->locations[p->frames[sample->frame_first + 2]];
	CHECK_EQ(third->mapping, 0);
	CHECK_EQ(third->address, 0x7fff12345677);
	CHECK_STR(mw_profile_string(p, p->mappings[leaf->mapping].build_id),
		  "00112233445566778899aabbccddeeff00112233");
	CHECK_STR(mw_profile_string(p, p->origin.args), "demo --fast");
	CHECK_EQ(p->period, 512 << 10);
	CHECK_EQ(p->duration_ns, 35200000000);
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

static void cut_stacks_say_so(void) {
	fake_state_t s;
	fake_state_init(&s);
	uint64_t frames[] = {0x1234, 0x2345};
	uint32_t number = fake_state_add_stack(&s, frames, 2, 1.0, 16, 0.0);
	s.stacks[number].flags = MW_STACK_TRUNCATED;
	mw_snapshot_t *snapshot = read_whole(&s);
	mw_profile_t *p = mw_profile_from_snapshot(snapshot);
	const mw_sample_t *sample = &p->samples[0];
	CHECK_EQ(sample->depth, 3);
	const mw_location_t *root = &p->locations[p->frames[sample->frame_first + 2]];
	CHECK_EQ(root->line_count, 1);
	CHECK_STR(mw_profile_string(p, p->functions[p->lines[root->line_first].function].name),
		  "[truncated]");
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

/* Sections that share bytes would be read once each: a small file would take much memory. */
static void sections_that_overlap_are_refused(void) {
	fake_state_t s;
	fake_state_init(&s);
	mw_state_section_t *sections = s.header->sections;
	const mw_state_section_t stacks = sections[MW_SECTION_STACKS];
	sections[MW_SECTION_STACKS].offset_bytes = sections[MW_SECTION_FRAMES].offset_bytes;
	check_refused(&s, "overlap");
	sections[MW_SECTION_STACKS].offset_bytes = stacks.offset_bytes + 8;
	check_refused(&s, "overlap");
	/* Its first entries within itself, and within another one. */
	sections[MW_SECTION_STACKS] = stacks;
	sections[MW_SECTION_STACKS].first_entries = 2;
	sections[MW_SECTION_STACKS].first_offset_bytes =
		stacks.offset_bytes + 2 * stacks.stride_bytes;
	check_refused(&s, "overlap");
	sections[MW_SECTION_STACKS].first_offset_bytes = sections[MW_SECTION_RECORDS].offset_bytes;
	check_refused(&s, "overlap");
	/* The place its first entries would have in the rest is free for others. */
	sections[MW_SECTION_STACKS].first_offset_bytes = stacks.offset_bytes;
	mw_snapshot_free(read_whole(&s));
	fake_state_release(&s);
}

static void every_truncation_is_an_error(void) {
	fake_state_t s;
	fake_state_init(&s);
	for (size_t length = 0; length < s.length; length += 509)
		CHECK(read_cut(&s, length) == NULL);
	CHECK(read_cut(&s, s.length - 1) == NULL);
	CHECK(strstr(error.text, "cut short") != NULL);
	fake_state_release(&s);
}

static void bad_headers_are_refused(void) {
	fake_state_t s;
	fake_state_init(&s);
	s.header->magic[0] = 'X';
	check_refused(&s, "not a state file");
	s.header->magic[0] = 'M';
	s.header->layout_version = 77;
	check_refused(&s, "layout version 77, this command reads version 15");
	s.header->layout_version = MW_STATE_VERSION;
	s.header->section_count++;
	check_refused(&s, "sections");
	s.header->section_count--;
	s.header->file_bytes++;
	check_refused(&s, "cut short");
	s.header->file_bytes--;
	for (int id = 0; id < MW_SECTION_COUNT; id++) {
		mw_state_section_t *section = &s.header->sections[id], good = *section;
		section->offset_bytes = s.length;
		check_refused(&s, "does not fit");
		*section = good;
		section->offset_bytes++;
		check_refused(&s, "does not fit");
		*section = good;
		section->offset_bytes = UINT64_MAX - 4095;
		check_refused(&s, "does not fit");
		*section = good;
		section->capacity = UINT64_MAX / 16;
		check_refused(&s, "does not fit");
		*section = good;
		section->capacity = 0;
		check_refused(&s, "does not fit");
		*section = good;
		section->stride_bytes++;
		check_refused(&s, "does not fit");
		*section = good;
	}
	mw_snapshot_free(read_whole(&s));
	CHECK_STR(error.text, "");
	fake_state_release(&s);
}

static void bad_places_of_first_entries_are_refused(void) {
	fake_state_t s;
	fake_state_init(&s);
	for (int id = 0; id < MW_SECTION_COUNT; id++) {
		mw_state_section_t *section = &s.header->sections[id], good = *section;
		section->first_entries = (uint32_t)section->capacity + 1;
		section->first_offset_bytes = section->offset_bytes;
		check_refused(&s, "does not fit");
		section->first_entries = 1;
		section->first_offset_bytes = s.length;
		check_refused(&s, "does not fit");
		section->first_offset_bytes = UINT64_MAX - 7;
		check_refused(&s, "does not fit");
		section->first_offset_bytes = good.offset_bytes + 4;
		check_refused(&s, "does not fit");
		section->first_offset_bytes = 0;
		check_refused(&s, "does not fit");
		*section = good;
	}
	fake_state_release(&s);
}

/* The first stacks, frames and records stand elsewhere, those behind where they stood. */
static void first_entries_are_read(void) {
	fake_state_t s;
	fake_state_init(&s);
	for (uint64_t i = 0; i < 5; i++)
		fake_state_add_stack(&s, &(uint64_t){0x1000 + i}, 1, 5.0, 500, 0.0);
	size_t length = s.length + MW_STATE_PAGE_BYTES;
	s.bytes = realloc(s.bytes, length);
	CHECK(s.bytes != NULL);
	mw_state_header_t *header = (mw_state_header_t *)s.bytes;
	mw_state_section_t *stacks = &header->sections[MW_SECTION_STACKS];
	size_t bytes = 3 * sizeof(mw_state_stack_t);
	stacks->first_entries = 3;
	stacks->first_offset_bytes = s.length;
	memcpy(s.bytes + s.length, s.bytes + stacks->offset_bytes, bytes);
	memset(s.bytes + stacks->offset_bytes, 0xee, bytes);
	header->file_bytes = length;
	int fd = memfd_create("first", MFD_CLOEXEC);
	CHECK(fd >= 0 && pwrite(fd, s.bytes, length, 0) == (ssize_t)length);
	mw_snapshot_t *snapshot;
	CHECK(mw_snapshot_read_fd(fd, "first", MW_SNAPSHOT_STACKS, &snapshot, &error) == 0);
	CHECK_EQ(snapshot->stack_count, 6);
	for (size_t i = 1; i < 6; i++)
		CHECK(snapshot->stacks[i].depth == 1 && snapshot->stacks[i].live_bytes == 500);
	mw_snapshot_free(snapshot);
	close(fd);
	free(s.bytes);
}

static void hostile_counts_are_clamped(void) {
	fake_state_t s;
	fake_state_init(&s);
	uint64_t frames[] = {fake_frame(30000, 0x1234), UINT64_MAX};
	uint32_t good = fake_state_add_stack(&s, frames, 2, 1.0, 16, 9.0);
	uint32_t bad = fake_state_add_stack(&s, frames, 2, 3.0, INT64_MAX, 0.0);
	uint32_t negative = fake_state_add_stack(&s, frames, 2, -3.0, -4096, -1.0);
	s.stacks[bad].node = UINT32_MAX;
	s.stacks[bad].depth = UINT16_MAX;
	memset(s.modules[0].path, 'x', sizeof(s.modules[0].path));
	s.modules[0].build_id_bytes = 255;
	memset(s.header->args, 'y', sizeof(s.header->args));
	memset(s.header->program, 'z', sizeof(s.header->program));
	s.live->modules_used = s.live->stacks_used = s.live->frames_used = UINT64_MAX;
	s.live->nodes_used = UINT64_MAX;
	s.live->records_used = s.live->ticks_written = s.live->events_written = UINT64_MAX;
	s.live->stat_count = UINT64_MAX;
	mw_snapshot_t *snapshot = read_whole(&s);
	CHECK(snapshot != NULL);
	CHECK_EQ(snapshot->module_count, FAKE_MODULES);
	CHECK_EQ(snapshot->modules[0].build_id_bytes, 0);
	CHECK_EQ(snapshot->stack_count, FAKE_STACKS);
	CHECK_EQ(snapshot->frame_count, FAKE_FRAMES);
	CHECK_EQ(snapshot->node_count, FAKE_NODES);
	CHECK_EQ(snapshot->event_count, FAKE_EVENTS);
	CHECK_EQ(snapshot->live.stat_count, MW_STAT_CAPACITY);
	CHECK_EQ(snapshot->stacks[good].depth, 2);
	CHECK_EQ(snapshot->stacks[bad].depth, 0);
	CHECK_EQ(strlen(snapshot->header.program), 63);
	mw_profile_t *p = mw_profile_from_snapshot(snapshot);
	CHECK_EQ(mw_profile_total(p, 3), INT64_MAX); /* saturated; the negative stack counts 0 */
	CHECK_EQ(mw_profile_total(p, 2), 4);
	(void)negative;
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

static uint32_t add_node(fake_state_t *s, uint64_t frame, uint32_t caller) {
	s->nodes[s->live->nodes_used] = frame << MW_NODE_FRAME_SHIFT | caller;
	return (uint32_t)s->live->nodes_used++;
}

/* One stack each: of a node that is its own caller, of two that are each other's, of a caller or a
 * frame that is not there, of a path that is longer or shorter than it says, of one behind a bad
 * node, and of one that is too deep.  Each is "unknown", the good one is whole. */
static void hostile_nodes_lead_nowhere(void) {
	fake_state_t s;
	fake_state_init(&s);
	uint64_t frames[] = {fake_frame(0, 0x1234), fake_frame(0, 0x2345)};
	uint32_t good = fake_state_add_stack(&s, frames, 2, 1.0, 16, 0.0), outer = 1;
	uint32_t next = (uint32_t)s.live->nodes_used;
	uint32_t self = add_node(&s, 1, next);
	uint32_t mutual = add_node(&s, 1, self + 2);
	add_node(&s, 1, mutual);
	uint32_t no_caller = add_node(&s, 1, UINT32_MAX), no_frame = add_node(&s, 4711, outer);
	uint32_t zero_frame = add_node(&s, 0, outer), behind = add_node(&s, 1, no_frame);
	const struct {
		uint32_t node;
		uint16_t depth;
	} bad[] = {{self, 1},           {self, UINT16_MAX},
		   {mutual, 2},         {no_caller, 2},
		   {no_frame, 2},       {zero_frame, 2},
		   {behind, 3},         {outer, 2},
		   {outer + 1, 1},      {outer + 1, 0},
		   {FAKE_NODES - 1, 1}, {FAKE_NODES, 1},
		   {UINT32_MAX, 0},     {0, 1}};
	uint32_t first = (uint32_t)s.live->stacks_used;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint32_t stack = fake_state_add_stack(&s, frames, 0, 1.0, 16, 0.0);
		s.stacks[stack].node = bad[i].node;
		s.stacks[stack].depth = bad[i].depth;
	}
	mw_snapshot_t *snapshot = read_whole(&s);
	CHECK(snapshot != NULL);
	CHECK_EQ(snapshot->stacks[good].depth, 2);
	for (uint32_t i = first; i < snapshot->stack_count; i++)
		CHECK(snapshot->stacks[i].depth == 0 && snapshot->stacks[i].node == 0);
	mw_profile_t *p = mw_profile_from_snapshot(snapshot);
	CHECK_EQ(mw_profile_total(p, 3), (int64_t)(16 * (snapshot->stack_count - 1)));
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

static void paths_end_at_the_deepest_stack(void) {
	fake_state_t s;
	fake_state_init(&s);
	s.frames[s.live->frames_used++] = fake_frame(0, 0x1234);
	uint32_t node = 0, at[FAKE_NODES];
	for (unsigned depth = 1; depth < FAKE_NODES; depth++)
		at[depth] = node = add_node(&s, 1, node);
	uint32_t deep = fake_state_add_stack(&s, NULL, 0, 1.0, 16, 0.0);
	s.stacks[deep].node = at[MW_STATE_DEPTH_MAX];
	s.stacks[deep].depth = MW_STATE_DEPTH_MAX;
	uint32_t deeper = fake_state_add_stack(&s, NULL, 0, 1.0, 16, 0.0);
	s.stacks[deeper].node = at[MW_STATE_DEPTH_MAX + 1];
	s.stacks[deeper].depth = MW_STATE_DEPTH_MAX + 1;
	mw_snapshot_t *snapshot = read_whole(&s);
	CHECK(snapshot != NULL);
	CHECK_EQ(snapshot->stacks[deep].depth, MW_STATE_DEPTH_MAX);
	CHECK_EQ(snapshot->stacks[deeper].depth, 0);
	mw_profile_free(mw_profile_from_snapshot(snapshot));
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

static void records_are_seen_whole(void) {
	fake_state_t s;
	fake_state_init(&s);
	s.live->records_used = 7;
	s.live->generation = 3;
	for (uint32_t i = 1; i < 7; i++)
		s.records[i] = (mw_state_record_t){.sequence = 2,
						   .address = 0x1000 * i,
						   .usable_bytes = i,
						   .weight_q16 = 65536,
						   .generation = 3};
	s.records[2].sequence = 5; /* being written */
	s.records[3].stack = MW_RECORD_FREE;
	s.records[4].generation = 2; /* before a reset */
	s.records[5].stack = 1000;   /* no such stack */
	mw_snapshot_t *snapshot = read_whole(&s);
	CHECK(snapshot != NULL);
	CHECK_EQ(snapshot->record_count, 2);
	CHECK_EQ(snapshot->records[0].usable_bytes, 1);
	CHECK_EQ(snapshot->records[1].usable_bytes, 6);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

/* Records are read by the piece: those at the ends of pieces, and behind holes, keep their
 * numbers. */
static void many_records_keep_their_numbers(void) {
	static const size_t live[] = {1, 4095, 4096, 8191, 8192, 99999};
	enum { LIVE = sizeof live / sizeof live[0], RECORDS = 100000 };
	fake_state_t s;
	fake_state_init(&s);
	mw_state_section_t *section = &s.header->sections[MW_SECTION_RECORDS];
	uint64_t moved = (uint64_t)1 << 30;
	section->offset_bytes = moved;
	section->capacity = RECORDS;
	s.live->records_used = RECORDS;
	s.live->generation = 3;
	s.header->file_bytes = moved + (uint64_t)RECORDS * sizeof(mw_state_record_t);
	int fd = memfd_create("records", MFD_CLOEXEC);
	CHECK(fd >= 0 && ftruncate(fd, (off_t)s.header->file_bytes) == 0);
	CHECK(pwrite(fd, s.bytes, s.length, 0) == (ssize_t)s.length);
	for (size_t i = 0; i < LIVE; i++) {
		mw_state_record_t record = {.sequence = 2,
					    .address = 0x1000,
					    .usable_bytes = live[i],
					    .weight_q16 = 65536,
					    .generation = 3};
		off_t at = (off_t)(moved + live[i] * sizeof record);
		CHECK(pwrite(fd, &record, sizeof record, at) == (ssize_t)sizeof record);
	}
	mw_snapshot_t *snapshot;
	CHECK(mw_snapshot_read_fd(fd, "records", MW_SNAPSHOT_STACKS | MW_SNAPSHOT_RECORDS,
				  &snapshot, &error) == 0);
	CHECK_EQ(snapshot->record_count, LIVE);
	for (size_t i = 0; i < LIVE; i++) {
		CHECK_EQ(snapshot->records[i].reserved, live[i]);
		CHECK_EQ(snapshot->records[i].usable_bytes, live[i]);
	}
	mw_snapshot_free(snapshot);
	close(fd);
	fake_state_release(&s);
}

static void history_comes_in_order(void) {
	fake_state_t s;
	fake_state_init(&s);
	/* 11 events in a ring of 8: the oldest left is number 3. */
	for (uint64_t n = 0; n < 11; n++)
		s.events[n % FAKE_EVENTS] = (mw_state_event_t){.time_ns = 100 + n, .a = n};
	s.live->events_written = 11;
	/* A thinning that goes on: the third tick is a left-over. */
	const uint64_t times[] = {10, 20, 15, 30};
	for (int i = 0; i < 4; i++)
		s.ticks[i].time_ns = times[i];
	s.live->ticks_written = 4;
	mw_snapshot_t *snapshot = read_whole(&s);
	CHECK(snapshot != NULL);
	CHECK_EQ(snapshot->event_count, FAKE_EVENTS);
	for (size_t i = 0; i < snapshot->event_count; i++)
		CHECK_EQ(snapshot->events[i].a, 3 + i);
	CHECK_EQ(snapshot->tick_count, 3);
	CHECK_EQ(snapshot->ticks[2].time_ns, 30);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

/* A header that claims a big heap over a file of holes. */
static void holes_are_not_read(void) {
	fake_state_t s;
	fake_state_init(&s);
	uint64_t frames[] = {0x1234};
	fake_state_add_stack(&s, frames, 1, 5.0, 500, 0.0);
	mw_state_section_t *stacks = &s.header->sections[MW_SECTION_STACKS];
	uint64_t moved = (uint64_t)1 << 30;
	mw_state_section_t old = *stacks;
	stacks->offset_bytes = moved;
	stacks->capacity = 1 << 20;
	s.live->stacks_used = 1 << 20;
	s.header->file_bytes = moved + ((uint64_t)1 << 20) * sizeof(mw_state_stack_t);
	int fd = memfd_create("sparse", MFD_CLOEXEC);
	CHECK(fd >= 0 && ftruncate(fd, (off_t)s.header->file_bytes) == 0);
	CHECK(pwrite(fd, s.bytes, s.length, 0) == (ssize_t)s.length);
	size_t bytes = FAKE_STACKS * sizeof(mw_state_stack_t);
	CHECK(pwrite(fd, s.bytes + old.offset_bytes, bytes, (off_t)moved) == (ssize_t)bytes);
	mw_snapshot_t *snapshot;
	CHECK(mw_snapshot_read_fd(fd, "sparse", MW_SNAPSHOT_STACKS, &snapshot, &error) == 0);
	CHECK_EQ(snapshot->stack_count, 1 << 20);
	mw_profile_t *p = mw_profile_from_snapshot(snapshot);
	CHECK_EQ(mw_profile_total(p, 2), 5);
	struct stat file;
	CHECK(fstat(fd, &file) == 0 && file.st_blocks * 512 < (1 << 20));
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	close(fd);
	fake_state_release(&s);
}

/* A process that has just created its file gives it its length and writes it a moment later, the
 * magic last. */
static void *write_header_later(void *file) {
	const fake_state_t *s = file;
	const size_t magic_bytes = sizeof(s->header->magic), rest = s->length - magic_bytes;
	usleep(100000);
	CHECK(ftruncate(fake_fd, (off_t)s->length) == 0);
	CHECK_EQ(pwrite(fake_fd, s->bytes + magic_bytes, rest, (off_t)magic_bytes), rest);
	CHECK_EQ(pwrite(fake_fd, s->bytes, magic_bytes, 0), magic_bytes);
	return NULL;
}

static void header_of_a_new_file_is_awaited(void) {
	fake_state_t s;
	pthread_t thread;
	mw_snapshot_t *snapshot = NULL;
	fake_state_init(&s);
	fake_fd = memfd_create("new", MFD_CLOEXEC);
	CHECK(fake_fd >= 0 && pthread_create(&thread, NULL, write_header_later, &s) == 0);
	CHECK_EQ(mw_snapshot_read_fd(fake_fd, "new", MW_SNAPSHOT_ALL, &snapshot, &error), 0);
	CHECK_EQ(snapshot->header.pid, 4711);
	CHECK(pthread_join(thread, NULL) == 0);
	mw_snapshot_free(snapshot);
	/* One that nobody fills is refused. */
	CHECK(ftruncate(fake_fd, 0) == 0 && ftruncate(fake_fd, 8192) == 0);
	CHECK(mw_snapshot_read_fd(fake_fd, "new", MW_SNAPSHOT_ALL, &snapshot, &error) != 0);
	CHECK(strstr(error.text, "has just created it") != NULL);
	close(fake_fd);
	fake_state_release(&s);
}

static void other_things_are_refused(void) {
	mw_profile_t *p;
	mw_snapshot_t *snapshot;
	CHECK(mw_read_profile("/nonexistent/file", &p, &error) != 0);
	CHECK_STR(error.text, "/nonexistent/file: cannot open: No such file or directory");
	CHECK(mw_read_profile("/tmp", &p, &error) != 0);
	CHECK(strstr(error.text, "is a directory") != NULL);
	CHECK(mw_snapshot_read("/tmp", MW_SNAPSHOT_ALL, &snapshot, &error) != 0);
	CHECK(mw_snapshot_read("/dev/zero", MW_SNAPSHOT_ALL, &snapshot, &error) != 0);
	CHECK(strstr(error.text, "not a regular file") != NULL);
	CHECK(mw_read_profile("/dev/null", &p, &error) != 0);
	CHECK_STR(error.text, "/dev/null: is empty");
}

/* Bytes anywhere in the file, from a fixed seed: no crash, and no sums out of thin air. */
static void damaged_bytes_do_no_harm(void) {
	fake_state_t s;
	fake_state_init(&s);
	uint32_t m = fake_state_add_module(&s, "/bin/true", 0x400000, 0x500000, 0, 0, "0011");
	uint64_t frames[] = {fake_frame(m, 0x1234), fake_frame(m, 0x2000)};
	for (int i = 0; i < 20; i++)
		fake_state_add_stack(&s, frames, 2, i, i * 100, 1.0);
	s.live->records_used = 20;
	unsigned char *good = malloc(s.length);
	CHECK(good != NULL);
	memcpy(good, s.bytes, s.length);
	srand(20240601);
	for (int round = 0; round < 3000; round++) {
		memcpy(s.bytes, good, s.length);
		for (int k = rand() % 8; k >= 0; k--) {
			/* Mostly where it hurts: header, control and live page. */
			size_t limit = rand() % 4 != 0 ? 3 * 4096 : s.length;
			s.bytes[(size_t)rand() % limit] = (unsigned char)rand();
		}
		mw_snapshot_t *snapshot = read_whole(&s);
		if (snapshot != NULL)
			mw_profile_free(mw_profile_from_snapshot(snapshot));
		mw_snapshot_free(snapshot);
	}
	free(good);
	fake_state_release(&s);
}

int main(void) {
	RUN(good_file_is_read);
	RUN(cut_stacks_say_so);
	RUN(sections_that_overlap_are_refused);
	RUN(every_truncation_is_an_error);
	RUN(bad_headers_are_refused);
	RUN(bad_places_of_first_entries_are_refused);
	RUN(first_entries_are_read);
	RUN(hostile_counts_are_clamped);
	RUN(hostile_nodes_lead_nowhere);
	RUN(paths_end_at_the_deepest_stack);
	RUN(records_are_seen_whole);
	RUN(many_records_keep_their_numbers);
	RUN(history_comes_in_order);
	RUN(holes_are_not_read);
	RUN(header_of_a_new_file_is_awaited);
	RUN(other_things_are_refused);
	RUN(damaged_bytes_do_no_harm);
	return 0;
}
