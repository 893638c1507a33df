/* SPDX-License-Identifier: MIT
 * test_leaks.c -- the leak check in a state file: which samples become leaks, and what a damaged
 * file does. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake_state.h"
#include "formats/state/state_file.h"
#include "test.h"

enum { WHAT = MW_SNAPSHOT_STACKS | MW_SNAPSHOT_RECORDS | MW_SNAPSHOT_LEAKS };

static uint32_t stack;

static mw_snapshot_t *read_state(const fake_state_t *s) {
	mw_error_t error;
	mw_snapshot_t *snapshot = NULL;
	int fd = fake_state_fd(s, s->length);
	CHECK_EQ(mw_snapshot_read_fd(fd, "fake", WHAT, &snapshot, &error), 0);
	close(fd);
	return snapshot;
}

/* A live sample of 100 bytes with the weight 2, made `ns` after the process's file. */
static void set_record(const fake_state_t *s, uint32_t number, uint32_t sequence, uint64_t ns) {
	s->records[number] = (mw_state_record_t){
		.sequence = sequence,
		.stack = stack,
		.address = 0x1000 * (uint64_t)number,
		.requested_bytes = 100,
		.usable_bytes = 112,
		.weight_q16 = 2 * 65536,
		.time_ns = s->header->created_monotonic_ns + ns,
		.thread_id = 7,
		.generation = s->live->generation,
	};
	if (s->live->records_used <= number)
		s->live->records_used = number + 1;
}

static void add_leak(const fake_state_t *s, uint32_t record, uint32_t sequence, mw_leak_kind_t kind,
		     uint64_t below) {
	s->leaks[s->leak_check->leaks_used++] = (mw_state_leak_t){.record = record,
								  .sequence = sequence,
								  .kind = (uint16_t)kind,
								  .below_bytes = below};
}

static void make(fake_state_t *s) {
	fake_state_init(s);
	uint32_t module = fake_state_add_module(s, "/opt/demo/bin/demo", 0x555000001000,
						0x555000009000, 0x1000, 0x555000000000, "0011");
	const uint64_t frames[] = {fake_frame(module, 0x1234)};
	stack = fake_state_add_stack(s, frames, 1, 10.0, 1120, 0.0);
	s->leak_check->number = 1;
	s->leak_check->state = MW_LEAK_CHECK_DONE;
	for (uint32_t i = 1; i <= 4; i++)
		set_record(s, i, 2 * i, 1000 * i);
}

static int64_t value(const mw_profile_t *p, size_t sample, const char *type) {
	return mw_profile_values(p, sample)[mw_profile_find_type(p, type)];
}

static const mw_label_t *label(const mw_profile_t *p, size_t sample, const char *key) {
	const mw_sample_t *s = &p->samples[sample];
	for (uint32_t i = 0; i < s->label_count; i++)
		if (strcmp(mw_profile_string(p, p->labels[s->label_first + i].key), key) == 0)
			return &p->labels[s->label_first + i];
	return NULL;
}

static void leaks_become_samples_by_kind(void) {
	fake_state_t s;
	make(&s);
	add_leak(&s, 3, 6, MW_LEAK_KIND_DIRECT, 50);
	add_leak(&s, 1, 2, MW_LEAK_KIND_DIRECT, 0);
	add_leak(&s, 4, 8, MW_LEAK_KIND_INDIRECT, 0);
	s.leaks[0].peek_bytes = 2;
	memcpy(s.leaks[0].peek, "A\xff", 2);
	mw_snapshot_t *snapshot = read_state(&s);
	mw_profile_t *p = mw_profile_of_leaks(snapshot, NULL);
	CHECK_EQ(p->sample_count, 2);
	CHECK_EQ(value(p, 0, "inuse_objects"), 4);
	CHECK_EQ(value(p, 0, "inuse_space"), 448);
	CHECK_EQ(value(p, 0, "inuse_requested"), 400);
	CHECK_EQ(value(p, 0, "samples"), 2);
	CHECK_EQ(value(p, 0, "below_space"), 100);
	CHECK_STR(mw_profile_string(p, label(p, 0, MW_LABEL_LEAK)->text), "direct");
	CHECK_EQ(label(p, 0, MW_LABEL_OLDEST)->number,
		 (int64_t)s.header->created_realtime_ns + 1000);
	CHECK_EQ(label(p, 0, MW_LABEL_NEWEST)->number,
		 (int64_t)s.header->created_realtime_ns + 3000);
	CHECK_STR(mw_profile_string(p, label(p, 0, MW_LABEL_PEEK)->text), "41ff");
	CHECK_EQ(value(p, 1, "inuse_objects"), 2);
	CHECK_STR(mw_profile_string(p, label(p, 1, MW_LABEL_LEAK)->text), "indirect");
	CHECK(label(p, 1, MW_LABEL_PEEK) == NULL);
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

/* The block was freed after the process was copied, and the record is another sample's. */
static void freed_blocks_are_no_leaks(void) {
	fake_state_t s;
	make(&s);
	for (uint32_t i = 1; i <= 4; i++)
		add_leak(&s, i, 2 * i, MW_LEAK_KIND_DIRECT, 0);
	set_record(&s, 2, 6, 9000);
	s.records[3].sequence = 8;
	s.records[3].stack = MW_RECORD_FREE;
	mw_snapshot_t *snapshot = read_state(&s);
	mw_profile_t *p = mw_profile_of_leaks(snapshot, NULL);
	CHECK_EQ(p->sample_count, 1);
	CHECK_EQ(value(p, 0, "samples"), 2); /* records 1 and 4 */
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

static void of_two_checks_both_must_find_a_leak(void) {
	fake_state_t s;
	make(&s);
	add_leak(&s, 3, 6, MW_LEAK_KIND_DIRECT, 0);
	add_leak(&s, 1, 2, MW_LEAK_KIND_DIRECT, 0);
	mw_snapshot_t *earlier = read_state(&s);
	s.leak_check->leaks_used = 0;
	set_record(&s, 1, 4, 8000); /* freed, and leaked again */
	add_leak(&s, 1, 4, MW_LEAK_KIND_DIRECT, 0);
	add_leak(&s, 2, 4, MW_LEAK_KIND_DIRECT, 0);
	add_leak(&s, 3, 6, MW_LEAK_KIND_INDIRECT, 0);
	mw_snapshot_t *last = read_state(&s);
	mw_profile_t *p = mw_profile_of_leaks(last, earlier);
	CHECK_EQ(p->sample_count, 1);
	CHECK_EQ(value(p, 0, "samples"), 1);
	CHECK_STR(mw_profile_string(p, label(p, 0, MW_LABEL_LEAK)->text), "indirect");
	CHECK_EQ(label(p, 0, MW_LABEL_OLDEST)->number,
		 (int64_t)s.header->created_realtime_ns + 3000);
	mw_profile_free(p);
	mw_snapshot_free(earlier);
	mw_snapshot_free(last);
	fake_state_release(&s);
}

/* Ten blocks leaked, of which four are sampled: three of one stack, one of another. */
static void samples_divide_the_exact_sums(void) {
	fake_state_t s;
	make(&s);
	const uint64_t frames[] = {0x1000};
	uint32_t other = fake_state_add_stack(&s, frames, 1, 10.0, 1120, 0.0);
	s.records[4].stack = other;
	for (uint32_t i = 1; i <= 4; i++)
		add_leak(&s, i, 2 * i, MW_LEAK_KIND_DIRECT, 30);
	s.leak_check->class_count = 2;
	s.leak_check->classes[0].block_bytes = 96;
	s.leak_check->classes[1] = (mw_state_leak_class_t){
		.block_bytes = 112, .direct_blocks = 10, .direct_bytes = 1120};
	mw_snapshot_t *snapshot = read_state(&s);
	mw_profile_t *p = mw_profile_of_leaks(snapshot, NULL);
	CHECK_EQ(p->sample_count, 2);
	CHECK_EQ(value(p, 0, "inuse_objects"), 8);
	CHECK_EQ(value(p, 0, "inuse_space"), 840);
	CHECK_EQ(value(p, 0, "inuse_requested"), 750);
	CHECK_EQ(value(p, 0, "below_space"), 225);
	CHECK_EQ(value(p, 1, "inuse_space"), 280);
	int64_t least = label(p, 0, MW_LABEL_LEAST)->number;
	int64_t most = label(p, 0, MW_LABEL_MOST)->number;
	CHECK(least > 336 && least < 840); /* three blocks are there for certain */
	CHECK(most > 840 && most < 1120 - 56);
	CHECK_EQ(label(p, 1, MW_LABEL_LEAST)->number, 1120 - most);
	CHECK_EQ(label(p, 1, MW_LABEL_MOST)->number, 1120 - least);
	mw_profile_free(p);
	/* All leaked blocks are sampled: nothing is estimated. */
	s.leak_check->classes[1].direct_blocks = 4;
	s.leak_check->classes[1].direct_bytes = 448;
	mw_snapshot_free(snapshot);
	snapshot = read_state(&s);
	p = mw_profile_of_leaks(snapshot, NULL);
	CHECK_EQ(value(p, 0, "inuse_space"), 336);
	CHECK_EQ(label(p, 0, MW_LABEL_LEAST)->number, 336);
	CHECK_EQ(label(p, 0, MW_LABEL_MOST)->number, 336);
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

static void a_check_that_runs_has_no_leaks(void) {
	fake_state_t s;
	make(&s);
	add_leak(&s, 1, 2, MW_LEAK_KIND_DIRECT, 0);
	s.leak_check->state = MW_LEAK_CHECK_RUNNING;
	mw_snapshot_t *snapshot = read_state(&s);
	CHECK_EQ(snapshot->leak_count, 0);
	CHECK_EQ(snapshot->leak_check.number, 1);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

static void damaged_checks_are_read_safely(void) {
	fake_state_t s;
	make(&s);
	add_leak(&s, UINT32_MAX, 2, MW_LEAK_KIND_DIRECT, 0);
	add_leak(&s, 2, 4, (mw_leak_kind_t)77, 0);
	add_leak(&s, 1, 2, MW_LEAK_KIND_DIRECT, UINT64_MAX);
	s.leaks[2].peek_bytes = UINT16_MAX;
	s.leak_check->leaks_used = UINT64_MAX;
	s.leak_check->class_count = UINT64_MAX;
	mw_snapshot_t *snapshot = read_state(&s);
	CHECK_EQ(snapshot->leak_count, FAKE_LEAKS);
	CHECK_EQ(snapshot->leak_check.class_count, MW_LEAK_CLASS_CAPACITY);
	mw_profile_t *p = mw_profile_of_leaks(snapshot, NULL);
	CHECK_EQ(p->sample_count, 1);
	CHECK_EQ(value(p, 0, "below_space"), INT64_MAX);
	CHECK_EQ(strlen(mw_profile_string(p, label(p, 0, MW_LABEL_PEEK)->text)),
		 2 * MW_LEAK_PEEK_BYTES);
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	fake_state_release(&s);
}

int main(void) {
	RUN(leaks_become_samples_by_kind);
	RUN(freed_blocks_are_no_leaks);
	RUN(of_two_checks_both_must_find_a_leak);
	RUN(samples_divide_the_exact_sums);
	RUN(a_check_that_runs_has_no_leaks);
	RUN(damaged_checks_are_read_safely);
	return 0;
}
