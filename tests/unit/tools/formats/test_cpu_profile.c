/* SPDX-License-Identifier: MIT
 * test_cpu_profile.c -- the profile of a state file's CPU samples, and the difference of two. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_state.h"
#include "formats/read.h"
#include "formats/state/state_file.h"
#include "formats/write.h"
#include "test.h"

static mw_snapshot_t *read_state(const fake_state_t *s) {
	int fd = memfd_create("fake", MFD_CLOEXEC);
	CHECK(fd >= 0 && write(fd, s->bytes, s->length) == (ssize_t)s->length);
	mw_snapshot_t *snapshot = NULL;
	mw_error_t error;
	CHECK_EQ(mw_snapshot_read_fd(fd, "fake", MW_SNAPSHOT_STACKS | MW_SNAPSHOT_CPU, &snapshot,
				     &error),
		 0);
	close(fd);
	return snapshot;
}

static void make(fake_state_t *s) {
	fake_state_init(s);
	uint32_t m = fake_state_add_module(s, "/opt/demo/bin/demo", 0x555000001000, 0x555000009000,
					   0x1000, 0x555000000000,
					   "00112233445566778899aabbccddeeff00112233");
	uint64_t frames[] = {fake_frame(m, 0x1234) | MW_FRAME_EXACT, fake_frame(m, 0x2000)};
	fake_state_add_stack(s, frames, 2, 0, 0, 0);
	s->live->cpu_used = 5;
	s->live->cpu_hz = 100;
	s->cpu[1] = (mw_state_cpu_t){.stack = 1, .thread_id = 7, .samples = 3, .time_ns = 30};
	s->cpu[2] = (mw_state_cpu_t){.stack = 77, .thread_id = 7, .samples = 1, .time_ns = 10};
	s->cpu[3] = (mw_state_cpu_t){.stack = 1, .thread_id = 8, .samples = 2, .time_ns = 25};
	s->live->cpu_samples = 6;
	s->live->cpu_ns = 65;
}

static void samples_are_taken_over(void) {
	fake_state_t s;
	make(&s);
	mw_snapshot_t *snapshot = read_state(&s);
	mw_profile_t *p = mw_profile_of_cpu(snapshot);
	CHECK_EQ(p->type_count, 2);
	CHECK_STR(mw_profile_string(p, p->types[p->default_type].type), "cpu");
	CHECK_EQ(p->period, 10000000);
	CHECK_EQ(p->sample_count, 3);
	CHECK_EQ(mw_profile_total(p, 0), 6);
	CHECK_EQ(mw_profile_total(p, 1), 65);
	/* A stack that does not exist is unknown; entry 4 has no sample. */
	CHECK_EQ(p->samples[0].depth, 1);
	CHECK_EQ(p->samples[1].depth, 2);
	CHECK(mw_profile_same_stack(p, 1, 2));
	CHECK_EQ(p->labels[p->samples[1].label_first + 1].number, 7);
	CHECK_EQ(p->labels[p->samples[2].label_first + 1].number, 8);
	const mw_location_t *leaf = &p->locations[p->frames[p->samples[1].frame_first]];
	CHECK(leaf->is_exact && leaf->address == 0x555000001234);
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	free(s.bytes);
}

/* Bit 47 says nothing: on aarch64 it is set in the program's addresses as well. */
static void frames_of_the_kernel(void) {
	fake_state_t s;
	fake_state_init(&s);
	uint64_t frames[] = {MW_FRAME_KERNEL | MW_FRAME_EXACT | 0xffff80081234,
			     MW_FRAME_KERNEL | 0x800008000101, 0xfffff7001235};
	fake_state_add_stack(&s, frames, 3, 0, 0, 0);
	s.live->cpu_used = 2;
	s.live->cpu_hz = 100;
	s.cpu[1] = (mw_state_cpu_t){.stack = 1, .thread_id = 7, .samples = 3, .time_ns = 30};
	mw_snapshot_t *snapshot = read_state(&s);
	mw_profile_t *p = mw_profile_of_cpu(snapshot);
	CHECK_EQ(p->sample_count, 1);
	CHECK_EQ(p->samples[0].depth, 3);
	const uint64_t addresses[] = {0xffffffff80081234, 0xffff800008000100, 0xfffff7001234};
	for (size_t i = 0; i < 3; i++) {
		const mw_location_t *l = &p->locations[p->frames[p->samples[0].frame_first + i]];
		CHECK_EQ(l->address, addresses[i]);
		bool is_kernel = l->mapping != 0;
		CHECK_EQ(is_kernel, i < 2);
		if (is_kernel)
			CHECK_STR(mw_profile_string(p, p->mappings[l->mapping].path),
				  MW_KERNEL_MAPPING);
	}
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	free(s.bytes);
}

/* Wall-clock time is a type of its own, with a label that says whether the thread waited. */
static void wall_clock_time(void) {
	fake_state_t s;
	make(&s);
	s.cpu[3].state = MW_CPU_WAITING;
	s.cpu[3].processor = 5;
	s.cpu[4] = s.cpu[3];
	s.cpu[4].state = 99; /* of no version */
	s.live->cpu_ns = 40;
	s.live->wall_ns = 50;
	for (unsigned has_cpu = 2; has_cpu-- > 0;) {
		if (!has_cpu) {
			s.live->cpu_ns = 0;
			s.cpu[1].samples = s.cpu[2].samples = 0;
		}
		mw_snapshot_t *snapshot = read_state(&s);
		mw_profile_t *p = mw_profile_of_cpu(snapshot);
		CHECK_EQ(p->type_count, 2 + has_cpu);
		CHECK_STR(mw_profile_string(p, p->types[1 + has_cpu].type), "wall");
		CHECK_STR(mw_profile_string(p, p->types[p->default_type].type),
			  has_cpu ? "cpu" : "wall");
		CHECK_EQ(mw_profile_total(p, 1 + has_cpu), 50);
		size_t last = p->sample_count - 1;
		const mw_label_t *labels = &p->labels[p->samples[last].label_first];
		CHECK_STR(mw_profile_string(p, labels[2].key), "cpu");
		CHECK_EQ(labels[2].number, 5);
		CHECK_STR(mw_profile_string(p, labels[3].key), "state");
		CHECK_STR(mw_profile_string(p, labels[3].text), "waiting");
		CHECK_STR(
			mw_profile_string(p, p->labels[p->samples[last - 1].label_first + 3].text),
			"running");
		mw_profile_free(p);
		mw_snapshot_free(snapshot);
	}
	free(s.bytes);
}

/* With the heap the types of time come last, and samples of the heap have no time. */
static void beside_the_heap(void) {
	fake_state_t s;
	make(&s);
	mw_snapshot_t *snapshot = read_state(&s);
	mw_profile_t *p = mw_profile_from_snapshot(snapshot);
	size_t cpu = p->type_count - 1;
	CHECK_STR(mw_profile_string(p, p->types[cpu].type), "cpu");
	CHECK_STR(mw_profile_string(p, p->types[p->default_type].type), "inuse_space");
	CHECK_EQ(mw_profile_find_type(p, "samples"), -1);
	CHECK_EQ(mw_profile_total(p, cpu), 65);
	/* The fake process has one object. */
	for (size_t i = 0; i < p->sample_count; i++) {
		const int64_t *values = mw_profile_values(p, i);
		bool has_heap = false;
		for (size_t type = 0; type < cpu; type++)
			has_heap |= values[type] != 0;
		CHECK(has_heap != (values[cpu] != 0));
	}
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	free(s.bytes);
}

/* gperftools' binary format has whole periods; what is left of one goes to the next stack. */
static void words_of_gperftools(void) {
	fake_state_t s;
	mw_error_t error;
	make(&s);
	const uint64_t period_ns = 10000000;
	s.cpu[1].time_ns = 3 * period_ns + period_ns / 2;
	s.cpu[2].time_ns = period_ns / 4;
	s.cpu[3].time_ns = 2 * period_ns + period_ns / 4;
	mw_snapshot_t *snapshot = read_state(&s);
	mw_profile_t *p = mw_profile_of_cpu(snapshot), *again = NULL;
	char path[] = "/tmp/mallow-test-cpu.XXXXXX";
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK_EQ(mw_write_profile(p, path, MW_FORMAT_GPERFTOOLS, MW_GZIP_BY_NAME, &error), 0);
	CHECK_EQ(mw_read_profile(path, &again, &error), 0);
	CHECK_EQ(again->type_count, 2);
	CHECK_EQ(again->period, (int64_t)period_ns);
	CHECK_EQ(mw_profile_total(again, 0), 6);
	CHECK_EQ(mw_profile_total(again, 1), 6 * (int64_t)period_ns);
	size_t last = again->sample_count - 1;
	CHECK_EQ(again->samples[last].depth, 2);
	const uint32_t *frames = &again->frames[again->samples[last].frame_first];
	CHECK_EQ(again->locations[frames[0]].address, 0x555000001234);
	CHECK(again->locations[frames[0]].is_exact);
	CHECK_EQ(again->mapping_count, p->mapping_count);
	mw_profile_free(again);
	unlink(path);
	close(fd);
	mw_profile_free(p);
	mw_snapshot_free(snapshot);
	free(s.bytes);
}

static void difference_of_two(void) {
	fake_state_t s;
	make(&s);
	mw_snapshot_t *before = read_state(&s);
	s.cpu[1].samples += 4;
	s.cpu[1].time_ns += 44;
	s.cpu[4] = (mw_state_cpu_t){.stack = 1, .thread_id = 9, .samples = 1, .time_ns = 5};
	s.live->cpu_samples += 5;
	mw_snapshot_t *after = read_state(&s);
	mw_snapshot_cpu_since(after, before);
	mw_profile_t *p = mw_profile_of_cpu(after);
	CHECK_EQ(p->sample_count, 2);
	CHECK_EQ(mw_profile_total(p, 0), 5);
	CHECK_EQ(mw_profile_total(p, 1), 49);
	CHECK_EQ(after->live.cpu_samples, 5);
	mw_profile_free(p);
	mw_snapshot_free(after);
	/* After a reset the counts began at 0. */
	s.live->resets_done++;
	after = read_state(&s);
	mw_snapshot_cpu_since(after, before);
	p = mw_profile_of_cpu(after);
	CHECK_EQ(mw_profile_total(p, 0), 11);
	mw_profile_free(p);
	mw_snapshot_free(after);
	mw_snapshot_free(before);
	free(s.bytes);
}

int main(void) {
	RUN(samples_are_taken_over);
	RUN(frames_of_the_kernel);
	RUN(wall_clock_time);
	RUN(beside_the_heap);
	RUN(words_of_gperftools);
	RUN(difference_of_two);
	return 0;
}
