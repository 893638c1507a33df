/* SPDX-License-Identifier: MIT
 * test_encode.c -- requests to receivers: numbers and texts on the wire, base64, the profile of
 * Pyroscope read back by the project's own reader, time and memory for 20,000 stacks by hand. */
#include <jansson.h>
#include <sys/resource.h>
#include <time.h>

#include "formats/read.h"
#include "push/encode/message.h"
#include "push/encode/otlp.h"
#include "push/encode/pyroscope.h"
#include "test.h"

static mw_error_t error;

static void expect(mw_message_t *message, const char *bytes, size_t length) {
	CHECK_EQ(message->length, length);
	CHECK(memcmp(message->bytes, bytes, length) == 0);
	mw_message_release(message);
}
#define EXPECT(message, bytes) expect(&(message), bytes, sizeof(bytes) - 1)

static void fields_have_the_bytes_of_the_specification(void) {
	mw_message_t m = {0};
	mw_message_number(&m, 1, 150);
	mw_message_number(&m, 2, 0);
	mw_message_number(&m, 16, UINT64_MAX);
	EXPECT(m, "\x08\x96\x01\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	mw_message_fixed64(&m, 3, 0x0102030405060708);
	EXPECT(m, "\x19\x08\x07\x06\x05\x04\x03\x02\x01");
	mw_message_text(&m, 2, "testing");
	mw_message_text(&m, 2, "");
	mw_message_text_entry(&m, 2, "");
	mw_message_bytes(&m, 2, "\0\1", 2);
	EXPECT(m, "\x12\x07testing\x12\x00\x12\x02\x00\x01");
	mw_message_text(&m, 1, "a\xff\xc3\xa4\xc3");
	EXPECT(m, "\x0a\x05"
		  "a?\xc3\xa4?");
}

/* A length of one byte is written first: contents of 127 and 128 bytes, and of 3 bytes' length,
 * nested. */
static void contents_of_any_length_nest(void) {
	static const size_t lengths[] = {0, 1, 127, 128, 16383, 16384, 3000000};
	char *text = calloc(3000001, 1);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		mw_message_t built = {0}, inner = {0}, outer = {0};
		memset(text, 'x', lengths[i]);
		text[lengths[i]] = '\0';
		size_t a = mw_message_begin(&built, 1), b = mw_message_begin(&built, 2);
		mw_message_append(&built, text, lengths[i]);
		mw_message_end(&built, b);
		mw_message_number(&built, 3, 7);
		mw_message_end(&built, a);
		mw_message_text_entry(&inner, 2, text);
		mw_message_number(&inner, 3, 7);
		mw_message_bytes(&outer, 1, inner.bytes, inner.length);
		CHECK_EQ(built.length, outer.length);
		CHECK(memcmp(built.bytes, outer.bytes, outer.length) == 0);
		mw_message_release(&built);
		mw_message_release(&inner);
		mw_message_release(&outer);
	}
	free(text);
}

static void base64_as_in_rfc_4648(void) {
	static const char *const pairs[][2] = {
		{"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
		{"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"foobar", "Zm9vYmFy"}};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		mw_message_t m = {0};
		mw_message_base64(&m, pairs[i][0], strlen(pairs[i][0]));
		mw_message_append(&m, "", 1);
		CHECK_STR((const char *)m.bytes, pairs[i][1]);
		mw_message_release(&m);
	}
}

/* Two mappings, one with a build-id; three stacks, of which one has no value of the heap. */
static mw_profile_t *make_profile(size_t stacks, size_t depth) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	mw_profile_add_type(p, "cpu", "nanoseconds");
	mw_mapping_t mapping = {.start = 0x400000,
				.limit = 0x900000,
				.path = mw_profile_intern(p, "/bin/a"),
				.build_id = mw_profile_intern(p, "0123abcd")};
	uint32_t first = mw_profile_add_mapping(p, &mapping);
	mapping = (mw_mapping_t){.start = 0x7f0000000000,
				 .limit = 0x7f0000900000,
				 .path = mw_profile_intern(p, "/lib/b.so")};
	uint32_t second = mw_profile_add_mapping(p, &mapping);
	for (size_t i = 0; i < stacks; i++) {
		uint32_t frames[64];
		for (size_t k = 0; k < depth; k++) {
			/* Frames near the leaf differ between stacks, those near main are shared.
			 */
			size_t at = k < 3 ? (i * 7 + k * 131) % (stacks + 3) : k * 97 + i / 500;
			char name[64];
			frames[k] = mw_profile_add_location(
				p, k % 2 ? second : first,
				(k % 2 ? 0x7f0000000000 : 0x400000) + at * 16, false);
			if (p->locations[frames[k]].line_count > 0)
				continue;
			snprintf(name, sizeof(name), "some_function_of_the_program_%zu", at / 4);
			const mw_function_t function = {
				.name = mw_profile_intern(p, name),
				.system_name = mw_profile_intern(p, name),
				.file = mw_profile_intern(p, "source/file.c")};
			const mw_line_t line = {mw_profile_add_function(p, &function),
						(int64_t)(at % 1000 + 1)};
			mw_profile_set_lines(p, frames[k], &line, 1);
		}
		int64_t bytes = (int64_t)(i * 37 % 100000 + 16);
		const int64_t heap[] = {2, 2 * bytes, 1, bytes, 0};
		const int64_t time[] = {0, 0, 0, 0, 10000000};
		mw_profile_add_sample(p, frames, depth, i % 3 == 2 ? time : heap, NULL, 0);
	}
	p->time_ns = INT64_C(1700000000000000000);
	p->period = 524288;
	return p;
}

static mw_put_t put_of(const mw_profile_t *p, mw_kind_t kind) {
	return (mw_put_t){
		.identity = {.service = "web",
			     .instance = "h:1:2",
			     .host = "h",
			     .version = "",
			     .build_id = "0123abcd"},
		.kind = kind,
		.number = 42,
		.time_ns = p->time_ns,
		.duration_ns = 900000000000,
		.period = p->period,
		.profile = p,
	};
}

static void pyroscopes_profile_is_read_back(void) {
	mw_profile_t *p = make_profile(30, 6), *back;
	mw_put_t put = put_of(p, MW_KIND_HEAP);
	mw_message_t m = {0};
	CHECK(mw_pyroscope_profile(&put, &m));
	CHECK_EQ(mw_read_profile_bytes("m", m.bytes, m.length, &back, &error), 0);
	static const char *const types[] = {"inuse_objects", "inuse_space", "alloc_objects",
					    "alloc_space"};
	CHECK_EQ(back->type_count, 4);
	for (size_t i = 0; i < 4; i++) {
		CHECK_STR(mw_profile_string(back, back->types[i].type), types[i]);
		CHECK_EQ(mw_profile_total(back, i),
			 mw_profile_total(p, (size_t)mw_profile_find_type(p, types[i])));
	}
	CHECK_EQ(back->sample_count, 20);
	CHECK_EQ(back->time_ns, p->time_ns);
	CHECK_EQ(back->period, 524288);
	CHECK_STR(mw_profile_string(back, back->mappings[1].build_id), "0123abcd");
	/* The leaf of the second stack: location, line, function, file. */
	const mw_location_t *was = &p->locations[p->frames[p->samples[1].frame_first]];
	const mw_location_t *is = &back->locations[back->frames[back->samples[1].frame_first]];
	CHECK_EQ(is->address, was->address);
	CHECK_EQ(back->lines[is->line_first].line, p->lines[was->line_first].line);
	CHECK_STR(
		mw_profile_string(back, back->functions[back->lines[is->line_first].function].name),
		mw_profile_string(p, p->functions[p->lines[was->line_first].function].name));
	mw_profile_free(back);
	mw_message_clear(&m);
	put.kind = MW_KIND_CPU;
	CHECK(mw_pyroscope_profile(&put, &m));
	CHECK_EQ(mw_read_profile_bytes("m", m.bytes, m.length, &back, &error), 0);
	CHECK_EQ(mw_profile_total(back, 0), 100000000);
	mw_profile_free(back);
	mw_message_clear(&m);
	put.kind = MW_KIND_MAPPED;
	CHECK(!mw_pyroscope_profile(&put, &m));
	CHECK(!mw_otlp_request(&put, &m));
	CHECK_EQ(m.length, 0);
	CHECK_EQ(mw_pyroscope_request(&put, &m, &error), 0);
	mw_message_release(&m);
	mw_profile_free(p);
}

/* The ID of Pyroscope's request of a put. */
static void id_of(const mw_put_t *put, char id[40]) {
	mw_message_t m = {0};
	CHECK_EQ(mw_pyroscope_request(put, &m, &error), 1);
	json_t *request = json_loadb((const char *)m.bytes, m.length, 0, NULL);
	CHECK(request != NULL);
	json_t *series = json_array_get(json_object_get(request, "series"), 0);
	json_t *sample = json_array_get(json_object_get(series, "samples"), 0);
	snprintf(id, 40, "%s", json_string_value(json_object_get(sample, "ID")));
	json_decref(request);
	mw_message_release(&m);
}

static void ids_follow_from_number_and_kind(void) {
	mw_profile_t *p = make_profile(30, 6);
	mw_put_t put = put_of(p, MW_KIND_HEAP);
	char first[40], again[40], other[40], kind[40];
	id_of(&put, first);
	put.time_ns++;
	id_of(&put, again);
	put.number++;
	id_of(&put, other);
	put.number--;
	put.kind = MW_KIND_CPU;
	id_of(&put, kind);
	CHECK_EQ(strlen(first), 36);
	CHECK_STR(again, first);
	CHECK(strcmp(other, first) != 0 && strcmp(kind, first) != 0);
	mw_profile_free(p);
}

static void answers_that_reject_are_errors(void) {
	CHECK_EQ(mw_otlp_answer("", 0, &error), 0);
	CHECK_EQ(mw_otlp_answer("\x0a\x00", 2, &error), 0);
	CHECK_EQ(mw_otlp_answer("\x0a\x04\x12\x02hm", 6, &error), 0); /* a warning */
	CHECK_EQ(mw_otlp_answer("\x0a\x06\x08\x03\x12\x02hm", 8, &error), -1);
	CHECK_STR(error.text, "the receiver rejected 3 profiles: hm");
	CHECK_EQ(mw_otlp_answer("\x0a\xff\xff", 3, &error), 0); /* not the protocol's */
}

static double seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static long peak_kib(void) {
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* By hand: MALLOW_TEST_STACKS=20000 prints processor time and memory; 300 otherwise. */
static void many_stacks(void) {
	const char *wanted = getenv("MALLOW_TEST_STACKS");
	size_t count = wanted != NULL ? strtoul(wanted, NULL, 10) : 300;
	mw_profile_t *p = make_profile(count * 3 / 2, 25);
	mw_put_t put = put_of(p, MW_KIND_HEAP);
	mw_message_t json = {0}, otlp = {0}, packed = {0};
	long before_kib = peak_kib();
	double start = seconds();
	CHECK(mw_otlp_request(&put, &otlp));
	CHECK_EQ(mw_message_gzip(&packed, otlp.bytes, otlp.length, &error), 0);
	double middle = seconds();
	long otlp_kib = peak_kib() - before_kib;
	CHECK_EQ(mw_pyroscope_request(&put, &json, &error), 1);
	double end = seconds();
	if (wanted != NULL)
		printf("%zu stacks of 25 frames, %zu locations: OTLP %.1f ms, %ld KiB, %zu bytes, "
		       "%zu packed; Pyroscope %.1f ms, %ld KiB with it, %zu bytes\n",
		       count, p->location_count, (middle - start) * 1e3, otlp_kib, otlp.length,
		       packed.length, (end - middle) * 1e3, peak_kib() - before_kib, json.length);
	mw_message_release(&json);
	mw_message_release(&otlp);
	mw_message_release(&packed);
	mw_profile_free(p);
}

int main(void) {
	RUN(fields_have_the_bytes_of_the_specification);
	RUN(contents_of_any_length_nest);
	RUN(base64_as_in_rfc_4648);
	RUN(pyroscopes_profile_is_read_back);
	RUN(ids_follow_from_number_and_kind);
	RUN(answers_that_reject_are_errors);
	RUN(many_stacks);
	return 0;
}
