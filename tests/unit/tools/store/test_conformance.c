/* SPDX-License-Identifier: MIT
 * test_conformance.c -- what holds for every kind of store: all answers are those of a model that
 * adds the samples up one by one.
 * Alone it runs on a directory.  With MALLOW_TEST_STORE=clickhouse://HOST:PORT it runs on a
 * database of its own on that server instead, with MALLOW_TEST_CLUSTER on that cluster, which also
 * has the server MALLOW_TEST_OTHER (tests/tool/clickhouse.sh). */
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/clickhouse/clickhouse.h"
#include "store/directory/store_directory.h"
#include "store_model.h"

#define HOUR_NS (INT64_C(3600) * 1000000000)

static model_t model;
static mw_error_t error;
static const mw_backend_t *backend;
static void *store;
static char url[256], other_url[256];
static const mw_store_options_t options = {.timeout_seconds = 60};

static void open_store(bool may_create) {
	CHECK(backend->open(url, &options, may_create, &store, &error) == 0);
}

static void reopen(void) {
	backend->close(store);
	open_store(false);
}

static void put(const model_put_t *p) {
	bool may_retry;
	if (backend->put(store, &p->put, p->batch, &may_retry, &error) != 0) {
		fprintf(stderr, "put: %s\n", error.text);
		exit(1);
	}
}

#define ASK(call)                                                                                  \
	do {                                                                                       \
		if ((call) != 0) {                                                                 \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, error.text);            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Number of the model's samples that come before `sample` in the order of an answer. */
static size_t place_of(const mw_batch_t *batch, const mw_row_sample_t *sample, int value) {
	size_t before = 0;
	uint64_t size = (uint64_t)llabs(sample->values[value]);
	for (size_t i = 0; i < batch->sample_count; i++) {
		uint64_t other = (uint64_t)llabs(batch->samples[i].values[value]);
		before +=
			other > size || (other == size && batch->samples[i].stack < sample->stack);
	}
	return before;
}

static void check_values(const int64_t got[MW_VALUES], const int64_t want[MW_VALUES]) {
	for (int v = 0; v < MW_VALUES; v++)
		CHECK_EQ(got[v], want[v]);
}

/* Names of all frames are those that the put came with, or those that `rename` says. */
static void check_frames(const mw_batch_t *got) {
	for (size_t i = 0; i < got->sample_count; i++) {
		const mw_row_stack_t *stack = mw_batch_stack(got, got->samples[i].stack);
		CHECK(stack != NULL && stack->depth > 0);
		const mw_batch_t *from = NULL;
		for (size_t k = 0; k < model.count && from == NULL; k++)
			if (mw_batch_stack(model.puts[k].batch, stack->id) != NULL)
				from = model.puts[k].batch;
		CHECK(from != NULL);
		const mw_row_stack_t *want = mw_batch_stack(from, stack->id);
		CHECK_EQ(stack->depth, want->depth);
		for (uint32_t f = 0; f < stack->depth; f++) {
			uint64_t id = got->frames[stack->frame_first + f];
			CHECK(id == from->frames[want->frame_first + f]);
			const mw_row_location_t *l = mw_batch_location(got, id);
			const mw_row_location_t *w = mw_batch_location(from, id);
			CHECK(l != NULL);
			CHECK_STR(l->build_id, w->build_id);
			CHECK_STR(l->path, w->path);
			CHECK_EQ(l->offset, w->offset);
			CHECK_EQ(l->flags, w->flags);
			CHECK_EQ(l->line_count, w->line_count);
			for (uint32_t n = 0; n < l->line_count; n++) {
				const mw_row_line_t *a = &got->lines[l->line_first + n];
				const mw_row_line_t *b = &from->lines[w->line_first + n];
				CHECK_STR(a->function, b->function);
				CHECK_STR(a->system_name, b->system_name);
				CHECK_STR(a->file, b->file);
				CHECK_EQ(a->line, b->line);
				CHECK_EQ(a->start_line, b->start_line);
			}
		}
	}
}

static void check_samples(const mw_range_t *range, mw_sum_t sum, int value, size_t most) {
	mw_counted_t counted = {0}, want_counted;
	int64_t other[MW_VALUES] = {0}, rest[MW_VALUES] = {0};
	mw_batch_t *got = mw_batch_new(), *want = model_sums(&model, range, sum, &want_counted);
	ASK(backend->samples(store, range, sum, value, most, got, other, &counted, &error));
	CHECK_EQ(counted.profiles, want_counted.profiles);
	CHECK_EQ(counted.instances, want_counted.instances);
	CHECK_EQ(counted.newest_ns, want_counted.newest_ns);
	check_values(counted.totals, want_counted.totals);
	CHECK_EQ(got->sample_count, want->sample_count < most ? want->sample_count : most);
	for (size_t i = 0; i < want->sample_count; i++) {
		const mw_row_sample_t *sample = mw_batch_sample(got, want->samples[i].stack);
		if (place_of(want, &want->samples[i], value) < most) {
			CHECK(sample != NULL);
			check_values(sample->values, want->samples[i].values);
		} else
			for (int v = 0; v < MW_VALUES; v++)
				rest[v] += want->samples[i].values[v];
	}
	check_values(other, rest);
	ASK(backend->stacks(store, got, &error));
	check_frames(got);
	mw_batch_free(got);
	mw_batch_free(want);
}

static void check_timeline(const mw_range_t *range, int64_t step_ns) {
	mw_point_t *points;
	size_t count;
	uint64_t profiles = 0;
	ASK(backend->timeline(store, range, step_ns, &points, &count, &error));
	for (size_t i = 0; i < count; i++) {
		mw_range_t step = *range;
		mw_counted_t want;
		CHECK(i == 0 || points[i - 1].time_ns < points[i].time_ns);
		CHECK_EQ(points[i].time_ns % step_ns, 0);
		if (step.from_ns < points[i].time_ns)
			step.from_ns = points[i].time_ns;
		if (step.until_ns > points[i].time_ns + step_ns)
			step.until_ns = points[i].time_ns + step_ns;
		mw_batch_free(model_sums(&model, &step, MW_SUM_ALL, &want));
		CHECK(points[i].profiles > 0);
		CHECK_EQ(points[i].profiles, want.profiles);
		CHECK_EQ(points[i].instances, want.instances);
		check_values(points[i].totals, want.totals);
		profiles += points[i].profiles;
	}
	mw_counted_t all;
	mw_batch_free(model_sums(&model, range, MW_SUM_ALL, &all));
	CHECK_EQ(profiles, all.profiles);
	free(points);
}

static void free_services(mw_service_row_t *services, size_t count) {
	for (size_t i = 0; i < count; i++)
		free(services[i].service);
	free(services);
}

/* What a row of an answer is about. */
static const char *group_of(const mw_range_t *range, const mw_identity_t *who) {
	return range->by != NULL ? model_value(who, range->by) : who->service;
}

/* Marks the puts of a row that are taken, and returns how many there are. */
static uint64_t mark(const mw_range_t *range, mw_sum_t sum, const char *group, bool *taken) {
	uint64_t count = 0;
	for (size_t i = 0; i < model.count; i++) {
		taken[i] = model_is_taken(&model, i, range, sum) &&
			   strcmp(group_of(range, &model.puts[i].put.identity), group) == 0;
		count += taken[i];
	}
	return count;
}

static void check_services(const mw_range_t *range) {
	static bool taken[MODEL_PUTS_MAX];
	mw_service_row_t *services;
	size_t count;
	uint64_t profiles = 0;
	ASK(backend->services(store, range, &services, &count, &error));
	for (size_t i = 0; i < count; i++) {
		const mw_service_row_t *row = &services[i];
		int64_t totals[MW_VALUES] = {0}, newest_ns = 0;
		CHECK(i == 0 || strcmp(services[i - 1].service, row->service) < 0);
		CHECK_EQ(row->profiles, mark(range, MW_SUM_ALL, row->service, taken));
		CHECK(row->profiles > 0);
		CHECK_EQ(row->instances, model_different(&model, taken, "instance", true));
		CHECK_EQ(row->hosts, model_different(&model, taken, "host", false));
		CHECK_EQ(row->versions, model_different(&model, taken, "version", false));
		mark(range, MW_SUM_NEWEST, row->service, taken);
		for (size_t k = 0; k < model.count; k++) {
			if (!taken[k])
				continue;
			model_sum(&model.puts[k], totals);
			if (model.puts[k].put.time_ns > newest_ns)
				newest_ns = model.puts[k].put.time_ns;
		}
		CHECK_EQ(row->newest_ns, newest_ns);
		check_values(row->totals, totals);
		profiles += row->profiles;
	}
	mw_counted_t all;
	mw_batch_free(model_sums(&model, range, MW_SUM_ALL, &all));
	CHECK_EQ(profiles, all.profiles);
	free_services(services, count);
}

static void check_holders(const mw_range_t *range, const uint64_t *locations,
			  size_t location_count) {
	static bool taken[MODEL_PUTS_MAX];
	mw_service_row_t *services;
	size_t count, at = 0;
	ASK(backend->holders(store, range, locations, location_count, &services, &count, &error));
	for (size_t i = 0; i < sizeof(model_services) / sizeof(model_services[0]); i++) {
		int64_t totals[MW_VALUES] = {0}, newest_ns = 0;
		uint64_t profiles = 0;
		mark(range, MW_SUM_NEWEST, model_services[i], taken);
		for (size_t k = 0; k < model.count; k++) {
			const mw_batch_t *batch = model.puts[k].batch;
			bool holds = false;
			for (size_t s = 0; s < batch->sample_count && taken[k]; s++) {
				if (!model_holds(batch, batch->samples[s].stack, locations,
						 location_count))
					continue;
				holds = true;
				for (int v = 0; v < MW_VALUES; v++)
					totals[v] += batch->samples[s].values[v];
			}
			taken[k] = holds;
			profiles += holds;
			if (holds && model.puts[k].put.time_ns > newest_ns)
				newest_ns = model.puts[k].put.time_ns;
		}
		size_t row = 0;
		while (row < count && strcmp(services[row].service, model_services[i]) != 0)
			row++;
		CHECK_EQ(row<count, profiles> 0);
		if (profiles == 0)
			continue;
		at++;
		CHECK_EQ(services[row].profiles, profiles);
		CHECK_EQ(services[row].instances, model_different(&model, taken, "instance", true));
		CHECK_EQ(services[row].hosts, model_different(&model, taken, "host", false));
		CHECK_EQ(services[row].versions, model_different(&model, taken, "version", false));
		CHECK_EQ(services[row].newest_ns, newest_ns);
		check_values(services[row].totals, totals);
	}
	CHECK_EQ(count, at);
	free_services(services, count);
}

/* Asks a store all questions about one range, with other numbers each time. */
static void ask_range(const mw_range_t *range) {
	static const size_t most[] = {0, 1, 7, 1000000, SIZE_MAX};
	const uint64_t absent[] = {1, 2};
	const size_t counts = sizeof(most) / sizeof(most[0]);
	check_samples(range, MW_SUM_NEWEST, (int)(model_random(&model) % MW_VALUES),
		      most[model_random(&model) % counts]);
	check_samples(range, MW_SUM_ALL, (int)(model_random(&model) % MW_VALUES),
		      most[model_random(&model) % counts]);
	check_timeline(range, model_random(&model) % 2 ? INT64_C(900000000000) : 7000000001);
	check_services(range);
	static const char *const by[] = {"host", "version", "build_id", "instance", "k'ey", "none"};
	mw_range_t grouped = *range;
	grouped.by = MODEL_PICK(&model, by);
	check_services(&grouped);
	const mw_batch_t *batch = model.puts[model_random(&model) % model.count].batch;
	check_holders(range, batch->frames, model_random(&model) % (batch->frame_count + 1));
	check_holders(range, absent, model_random(&model) % 3);
}

/* A question takes ClickHouse some milliseconds, and a directory less than one. */
static void check_range(const mw_range_t *range) {
	for (int i = 0; i < (backend == &mw_directory_backend ? 6 : 1); i++)
		ask_range(range);
}

/* Asks a store about all profiles of a heap, and about `some` other ranges. */
static void check_all(size_t some) {
	const int64_t day = MODEL_DAY_NS;
	mw_tag_t where[2] = {{"version", "1.1'"}, {"k'ey", "\\"}};
	mw_range_t ranges[] = {
		{.kind = MW_KIND_HEAP, .until_ns = INT64_MAX},
		{.kind = MW_KIND_CPU, .from_ns = INT64_MIN, .until_ns = INT64_MAX},
		{.kind = MW_KIND_WALL, .until_ns = INT64_MAX},
		{.kind = MW_KIND_HEAP,
		 .from_ns = MODEL_NOON_NS,
		 .until_ns = MODEL_NOON_NS + day,
		 .service = "x'; DROP TABLE profiles; --"},
		{.kind = MW_KIND_HEAP, .from_ns = MODEL_NOON_NS, .until_ns = MODEL_NOON_NS},
		{.kind = MW_KIND_HEAP, .until_ns = INT64_MAX, .where = where, .where_count = 1},
		{.kind = MW_KIND_HEAP, .until_ns = INT64_MAX, .where = where, .where_count = 2},
		{.kind = MW_KIND_HEAP,
		 .until_ns = INT64_MAX,
		 .service = "api",
		 .where = &(mw_tag_t){"nobody's", ""},
		 .where_count = 1},
		{.kind = MW_KIND_HEAP, .until_ns = INT64_MAX, .service = "' OR '1'='1"},
	};
	check_range(&ranges[0]);
	for (size_t i = 1; i < sizeof(ranges) / sizeof(ranges[0]) && i <= some; i++)
		check_range(&ranges[i]);
}

static void random_profiles(void) {
	const char *number = getenv("MALLOW_TEST_PUTS");
	for (int i = 0; i < (number != NULL ? atoi(number) : 60); i++) {
		/* Some times are equal: the greater number is the newer. */
		int64_t time_ns = MODEL_NOON_NS - MODEL_DAY_NS +
				  (int64_t)(model_random(&model) % 500) * 500000000000 +
				  (int64_t)(model_random(&model) % 2);
		put(model_add(&model, time_ns, model_random(&model) % 20));
	}
	check_all(SIZE_MAX);
}

static void twice_is_once(void) {
	for (size_t i = 0; i < model.count; i += 5) {
		put(&model.puts[i]);
		if (i % 2 == 0)
			reopen();
		put(&model.puts[i]);
	}
	check_all(0);
}

/* One number for two kinds of one push. */
static void number_of_two_kinds(void) {
	model_put_t *heap = model_add(&model, MODEL_NOON_NS, 4);
	model_put_t *cpu = model_add(&model, MODEL_NOON_NS, 4);
	while (heap->put.kind == cpu->put.kind) {
		model.count--;
		mw_profile_free(cpu->profile);
		mw_batch_free(cpu->batch);
		cpu = model_add(&model, MODEL_NOON_NS, 4);
	}
	cpu->put.number = heap->put.number;
	put(heap);
	put(cpu);
	check_all(1);
}

/* Sums stay within 64 bits. */
static void large_values(void) {
	for (int i = 0; i < 3; i++) {
		model_put_t *p = model_add(&model, MODEL_NOON_NS + 4 * MODEL_DAY_NS + i, 1);
		for (size_t k = 0; k < p->batch->sample_count; k++)
			p->batch->samples[k].values[MW_VALUE_SINCE_AMOUNT] = INT64_MAX - 5;
		put(p);
	}
	const mw_range_t range = {.kind = MW_KIND_HEAP,
				  .from_ns = MODEL_NOON_NS + 3 * MODEL_DAY_NS,
				  .until_ns = INT64_MAX};
	check_samples(&range, MW_SUM_ALL, MW_VALUE_SINCE_AMOUNT, 1000);
	check_timeline(&range, MODEL_DAY_NS);
}

/* Each server of a cluster drops its own part of a day, and says what the others have left. */
static void drop(int64_t day) {
	size_t kept = 0;
	if (other_url[0] != '\0') {
		void *other;
		ASK(backend->open(other_url, &options, false, &other, &error));
		if (backend->drop_day(other, day, &error) != 0)
			CHECK(strstr(error.text, "drop it there, too") != NULL);
		backend->close(other);
	}
	ASK(backend->drop_day(store, day, &error));
	for (size_t i = 0; i < model.count; i++) {
		if (model.puts[i].put.time_ns / MODEL_DAY_NS == day) {
			mw_profile_free(model.puts[i].profile);
			mw_batch_free(model.puts[i].batch);
		} else
			model.puts[kept++] = model.puts[i];
	}
	model.count = kept;
	for (size_t i = 0; i < kept; i++)
		model.puts[i].put.identity.tags = model.puts[i].tags;
}

static void dropped_day(void) {
	int64_t day = MODEL_NOON_NS / MODEL_DAY_NS;
	size_t before = model.count;
	drop(day + 4);
	drop(day - 1);
	CHECK(model.count > 0 && model.count < before);
	drop(day - 400);
	drop(-1);
	check_all(3);
	/* Stacks of the day are sent again. */
	for (size_t i = 0; i < 5; i++)
		put(model_add(&model, MODEL_NOON_NS - MODEL_DAY_NS + (int64_t)i, 10));
	check_all(0);
}

/* All locations that have names, as profiles brought them. */
static void all_names(void) {
	mw_batch_t *got = mw_batch_new();
	size_t named = 0;
	ASK(backend->names(store, got, &error));
	for (size_t i = 0; i < model.count; i++)
		for (size_t k = 0; k < model.puts[i].batch->location_count; k++) {
			const mw_row_location_t *want = &model.puts[i].batch->locations[k];
			const mw_row_location_t *l = mw_batch_location(got, want->id);
			if (want->line_count == 0)
				continue;
			CHECK(l != NULL);
			CHECK_EQ(l->line_count, want->line_count);
			CHECK_STR(got->lines[l->line_first].function,
				  model.puts[i].batch->lines[want->line_first].function);
			named++;
		}
	CHECK(named > 0);
	mw_batch_free(got);
}

/* Pushes names of the ranges [offset - 3, offset + 5) around the offsets of a build, and one range
 * that is long. */
static void push_symbols(const char *build_id, const char *prefix) {
	mw_batch_t *symbols = mw_batch_new();
	uint64_t ends[64];
	for (unsigned i = 0; i < 60; i++) {
		char name[64];
		snprintf(name, sizeof(name), "%s%u'\\", prefix, i);
		mw_row_line_t lines[2] = {{name, "sys", "pushed.c", i, 1}, {"outer", "", "", 7, 0}};
		mw_row_location_t l = {.id = i + 1,
				       .build_id = build_id,
				       .path = "",
				       .offset = i > 0 ? 64 * i - 3 : 0,
				       .line_count = 1 + i % 2};
		ends[symbols->location_count] = 64 * i + 5;
		mw_batch_add_location(symbols, &l, lines);
	}
	mw_row_line_t line = {"long", "", "", 1, 1};
	mw_row_location_t l = {
		.id = 100, .build_id = build_id, .path = "", .offset = 0x10000, .line_count = 1};
	ends[symbols->location_count] = 0x900000;
	mw_batch_add_location(symbols, &l, &line);
	ASK(backend->put_symbols(store, build_id, symbols, ends, &error));
	mw_batch_free(symbols);
}

/* Locations of build 0 have the pushed names, others those that they came with. */
static void check_pushed(const char *prefix) {
	const mw_range_t range = {.kind = MW_KIND_HEAP, .until_ns = INT64_MAX};
	mw_counted_t counted;
	int64_t other[MW_VALUES] = {0};
	size_t pushed = 0, own = 0;
	mw_batch_t *got = mw_batch_new(), *all = mw_batch_new();
	ASK(backend->samples(store, &range, MW_SUM_ALL, 0, 100000, got, other, &counted, &error));
	ASK(backend->stacks(store, got, &error));
	ASK(backend->names(store, all, &error));
	for (size_t i = 0; i < got->location_count; i++) {
		const mw_row_location_t *l = &got->locations[i];
		if (strcmp(l->build_id, model_builds[0]) != 0) {
			own += l->line_count > 0;
			CHECK(l->line_count == 0 || got->lines[l->line_first].function[0] == 'f');
			continue;
		}
		char name[64];
		unsigned number = (unsigned)(l->offset / 64);
		snprintf(name, sizeof(name), "%s%u'\\", prefix, number);
		CHECK_EQ(l->line_count, 1 + number % 2);
		CHECK_STR(got->lines[l->line_first].function, name);
		CHECK_STR(got->lines[l->line_first].file, "pushed.c");
		const mw_row_location_t *named = mw_batch_location(all, l->id);
		CHECK(named != NULL && named->line_count == l->line_count);
		CHECK_STR(all->lines[named->line_first].function, name);
		pushed++;
	}
	CHECK(pushed > 0 && own > 0);
	mw_batch_free(got);
	mw_batch_free(all);
}

/* Names that are pushed after the profiles are theirs; those that are pushed later count. */
static void late_symbols(void) {
	const char *asked[] = {model_builds[0], "unheard'of", model_builds[1], model_builds[0], ""};
	bool has[5];
	ASK(backend->has_symbols(store, asked, 5, has, &error));
	CHECK(!has[0] && !has[1] && !has[2] && !has[3] && !has[4]);
	push_symbols(model_builds[0], "late");
	ASK(backend->has_symbols(store, asked, 5, has, &error));
	CHECK(has[0] && !has[1] && !has[2] && has[3] && !has[4]);
	check_pushed("late");
	push_symbols(model_builds[0], "later");
	check_pushed("later");
}

/* Texts of the user's that are longer than any that is stored. */
static void long_texts(void) {
	size_t length = (size_t)1 << 20;
	char *text = malloc(length + 1);
	memset(text, '\'', length);
	text[length] = '\0';
	mw_range_t range = {.kind = MW_KIND_HEAP, .until_ns = INT64_MAX, .service = text};
	mw_service_row_t *services = NULL;
	size_t count = 0;
	/* It is refused, or there is no such service. */
	if (backend->services(store, &range, &services, &count, &error) == 0)
		CHECK_EQ(count, 0);
	free(services);
	free(text);
}

/* A question does not make a store. */
static void no_store(void) {
	bool failed = backend->open(url, &options, false, &store, &error) != 0;
	if (!failed) {
		const mw_range_t range = {.kind = MW_KIND_HEAP, .until_ns = INT64_MAX};
		mw_service_row_t *services;
		size_t count;
		failed = backend->services(store, &range, &services, &count, &error) != 0;
		backend->close(store);
	}
	CHECK(failed && strlen(error.text) > 0);
}

/* Number of the hours in which puts are. */
static uint64_t hours_of_puts(void) {
	uint64_t hours = 0;
	for (size_t i = 0; i < model.count; i++) {
		bool is_new = true;
		for (size_t k = 0; k < i; k++)
			is_new &= model.puts[i].put.time_ns / HOUR_NS !=
				  model.puts[k].put.time_ns / HOUR_NS;
		hours += is_new;
	}
	return hours;
}

/* Samples that were added up by the hour change no answer, and hours that got profiles since are
 * not used. */
static void added_hours(void) {
	uint64_t made;
	/* Hours begin and end within the range. */
	const mw_range_t range = {.kind = MW_KIND_HEAP,
				  .from_ns = MODEL_NOON_NS - MODEL_DAY_NS + HOUR_NS / 3,
				  .until_ns = MODEL_NOON_NS + MODEL_DAY_NS + HOUR_NS / 2};
	ASK(mw_clickhouse_add_hours(url, &options, 0, INT64_MAX, &made, &error));
	CHECK_EQ(made, hours_of_puts());
	check_all(3);
	check_samples(&range, MW_SUM_ALL, 0, 5);
	ASK(mw_clickhouse_add_hours(url, &options, 0, INT64_MAX, &made, &error));
	CHECK_EQ(made, 0);
	model_put_t *late = model_add(&model, model.puts[0].put.time_ns, 5);
	put(late);
	check_all(0);
	check_samples(&range, MW_SUM_ALL, 0, 5);
	ASK(mw_clickhouse_add_hours(url, &options, 0, INT64_MAX, &made, &error));
	CHECK_EQ(made, 1);
	check_all(0);
	check_samples(&range, MW_SUM_ALL, 0, SIZE_MAX);
}

static void init_cluster(void) {
	const mw_clickhouse_layout_t layout = {.cluster = getenv("MALLOW_TEST_CLUSTER")};
	snprintf(other_url, sizeof(other_url), "%s/conformance_%d", getenv("MALLOW_TEST_OTHER"),
		 (int)getpid());
	ASK(mw_clickhouse_init(url, &options, &layout, &error));
	ASK(mw_clickhouse_init(other_url, &options, &layout, &error));
	/* A second time changes nothing. */
	ASK(mw_clickhouse_init(url, &options, &layout, &error));
}

int main(void) {
	const char *server = getenv("MALLOW_TEST_STORE"), *seed = getenv("MALLOW_TEST_SEED");
	char folder[] = "/tmp/mallow-store.XXXXXX";
	model.random = seed != NULL ? strtoull(seed, NULL, 10) : 1000003 * (uint64_t)getpid();
	printf("seed %" PRIu64 "\n", model.random);
	CHECK(mkdtemp(folder) != NULL);
	backend = server != NULL ? &mw_clickhouse_backend : &mw_directory_backend;
	if (server != NULL)
		snprintf(url, sizeof(url), "%s/conformance_%d", server, (int)getpid());
	else
		snprintf(url, sizeof(url), "dir://%s/store", folder);
	RUN(no_store);
	if (getenv("MALLOW_TEST_CLUSTER") != NULL)
		RUN(init_cluster);
	open_store(true);
	RUN(random_profiles);
	RUN(twice_is_once);
	RUN(number_of_two_kinds);
	if (server != NULL)
		RUN(added_hours);
	RUN(large_values);
	RUN(dropped_day);
	RUN(all_names);
	RUN(late_symbols);
	RUN(long_texts);
	backend->close(store);
	model_forget(&model);
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	CHECK(system(command) == 0);
	return 0;
}
