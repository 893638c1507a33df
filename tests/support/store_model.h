/* SPDX-License-Identifier: MIT
 * store_model.h -- random profiles of made-up processes, and what a store has to answer about them.
 * The model keeps every put and adds samples up one by one.  Texts are what hostile processes may
 * choose as names. */
#ifndef MW_TEST_STORE_MODEL_H
#define MW_TEST_STORE_MODEL_H

#include "store/backend.h"
#include "test.h"

/* Middle of a day, 2026-11-28 12:00:00. */
#define MODEL_NOON_NS (INT64_C(1795867200) * 1000000000)
#define MODEL_DAY_NS (INT64_C(86400) * 1000000000)

enum { MODEL_PUTS_MAX = 4096 };

typedef struct model_put {
	mw_put_t put;
	mw_tag_t tags[2];
	mw_profile_t *profile;
	mw_batch_t *batch;
} model_put_t;

typedef struct model {
	model_put_t puts[MODEL_PUTS_MAX];
	size_t count;
	uint64_t random;
} model_t;

static const char *const model_services[] = {
	"api",          "db",          "x'; DROP TABLE profiles; --", "q\"\\", "tab\tand\nline",
	"\xff\xfe\x80", "\xe6\x97\xa5"};
static const char *const model_versions[] = {"1.0", "1.1'", "", "\\", "%s%n"};
static const char *const model_hosts[] = {"h1", "h2", "h'3", "h\\4"};
static const char *const model_keys[] = {"region", "k'ey", "k\\", "tab\t"};
static const char *const model_builds[] = {"00aa", "b1b1", "c'c"};

#define MODEL_PICK(m, list) ((list)[model_random(m) % (sizeof(list) / sizeof((list)[0]))])

static inline uint64_t model_random(model_t *m) {
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random >> 8;
}

/* One of 60 functions in one of three files; every third has no names yet. */
static inline uint32_t model_location(model_t *m, mw_profile_t *p) {
	unsigned number = (unsigned)(model_random(m) % 60);
	const char *build = model_builds[number % 3];
	uint32_t mapping =
		mw_profile_add_mapping(p, &(mw_mapping_t){.start = 0x100000 * (1 + number % 3),
							  .limit = 0x100000 * (2 + number % 3),
							  .path = mw_profile_intern(p, build),
							  .build_id = mw_profile_intern(p, build)});
	uint32_t location = mw_profile_add_location(
		p, mapping, 0x100000 * (1 + number % 3) + 64 * number, false);
	if (number % 9 < 3)
		return location;
	mw_line_t lines[2];
	for (unsigned i = 0; i < 1 + number % 2; i++) {
		char name[64];
		snprintf(name, sizeof(name), "f%u%s<'\\\t%u>", number, i > 0 ? "outer" : "", i);
		mw_function_t function = {.name = mw_profile_intern(p, name),
					  .system_name = mw_profile_intern(p, name + 1),
					  .file = mw_profile_intern(p, "src/a'b.c"),
					  .start_line = number};
		lines[i] = (mw_line_t){mw_profile_add_function(p, &function), number + i};
	}
	mw_profile_set_lines(p, location, lines, 1 + number % 2);
	return location;
}

static inline mw_profile_t *model_profile(model_t *m, const mw_kind_values_t *kind, size_t stacks) {
	mw_profile_t *p = mw_profile_new();
	size_t types = 0;
	for (int v = 0; v < MW_VALUES; v++)
		if (kind->values[v].type != NULL) {
			mw_profile_add_type(p, kind->values[v].type, kind->values[v].unit);
			types++;
		}
	for (size_t i = 0; i < stacks; i++) {
		uint32_t frames[8];
		int64_t values[MW_VALUES];
		size_t depth = 1 + model_random(m) % 8;
		for (size_t k = 0; k < depth; k++)
			frames[k] = model_location(m, p);
		for (size_t v = 0; v < types; v++)
			values[v] = (int64_t)(model_random(m) % 100000) - 1000;
		mw_profile_add_sample(p, frames, depth, values, NULL, 0);
	}
	return p;
}

/* Adds a random put of this time, and returns it. */
static inline model_put_t *model_add(model_t *m, int64_t time_ns, size_t stacks) {
	static char instances[64][32];
	CHECK(m->count < MODEL_PUTS_MAX);
	model_put_t *put = &m->puts[m->count++];
	unsigned instance = (unsigned)(model_random(m) % 12);
	snprintf(instances[instance], sizeof(instances[0]), "h:%u:'\\%u", instance, instance * 7);
	put->tags[0] = (mw_tag_t){MODEL_PICK(m, model_keys), MODEL_PICK(m, model_versions)};
	put->put = (mw_put_t){
		.identity = {.service = MODEL_PICK(m, model_services),
			     .instance = instances[instance],
			     .host = MODEL_PICK(m, model_hosts),
			     .version = MODEL_PICK(m, model_versions),
			     .build_id = MODEL_PICK(m, model_builds),
			     .tags = put->tags,
			     .tag_count = 1},
		.kind = model_random(m) % 4 == 0 ? MW_KIND_CPU : MW_KIND_HEAP,
		.number = model_random(m) << 9 ^ model_random(m),
		.time_ns = time_ns,
		.duration_ns = 900000000000,
		.period = 524288,
	};
	put->profile = model_profile(m, mw_kind_values(put->put.kind), stacks);
	put->put.profile = put->profile;
	put->batch = mw_batch_of(put->profile, put->put.kind);
	return put;
}

static inline void model_forget(model_t *m) {
	for (size_t i = 0; i < m->count; i++) {
		mw_profile_free(m->puts[i].profile);
		mw_batch_free(m->puts[i].batch);
	}
	m->count = 0;
}

static inline const char *model_value(const mw_identity_t *who, const char *key) {
	if (strcmp(key, "instance") == 0)
		return who->instance;
	if (strcmp(key, "host") == 0)
		return who->host;
	if (strcmp(key, "version") == 0)
		return who->version;
	if (strcmp(key, "build_id") == 0)
		return who->build_id;
	for (size_t i = 0; i < who->tag_count; i++)
		if (strcmp(who->tags[i].key, key) == 0)
			return who->tags[i].value;
	return "";
}

static inline bool model_matches(const mw_put_t *put, const mw_range_t *range) {
	if (put->kind != range->kind || put->time_ns < range->from_ns ||
	    put->time_ns >= range->until_ns ||
	    (range->service != NULL && strcmp(put->identity.service, range->service) != 0))
		return false;
	for (size_t i = 0; i < range->where_count; i++)
		if (strcmp(model_value(&put->identity, range->where[i].key),
			   range->where[i].value) != 0)
			return false;
	return true;
}

static inline bool model_is_newer(const mw_put_t *a, const mw_put_t *b) {
	return a->time_ns != b->time_ns ? a->time_ns > b->time_ns : a->number > b->number;
}

/* True if the put is one of those that are added up. */
static inline bool model_is_taken(const model_t *m, size_t i, const mw_range_t *range,
				  mw_sum_t sum) {
	const mw_put_t *put = &m->puts[i].put;
	if (!model_matches(put, range))
		return false;
	for (size_t k = 0; k < m->count && sum == MW_SUM_NEWEST; k++) {
		const mw_put_t *other = &m->puts[k].put;
		if (model_matches(other, range) && model_is_newer(other, put) &&
		    strcmp(other->identity.service, put->identity.service) == 0 &&
		    strcmp(other->identity.instance, put->identity.instance) == 0)
			return false;
	}
	return true;
}

/* Different values of a key among the puts that are taken; with the service before it if
 * `by_service`. */
static inline uint64_t model_different(const model_t *m, const bool *taken, const char *key,
				       bool by_service) {
	uint64_t different = 0;
	for (size_t i = 0; i < m->count; i++) {
		bool is_new = taken[i];
		const mw_identity_t *who = &m->puts[i].put.identity;
		for (size_t k = 0; k < i && is_new; k++) {
			const mw_identity_t *other = &m->puts[k].put.identity;
			is_new = !taken[k] ||
				 strcmp(model_value(who, key), model_value(other, key)) != 0 ||
				 (by_service && strcmp(who->service, other->service) != 0);
		}
		different += is_new;
	}
	return different;
}

static inline void model_sum(const model_put_t *put, int64_t totals[MW_VALUES]) {
	for (size_t i = 0; i < put->batch->sample_count; i++)
		for (int v = 0; v < MW_VALUES; v++)
			totals[v] = mw_row_sum(totals[v], put->batch->samples[i].values[v]);
}

/* Sums of the model by stack. */
static inline mw_batch_t *model_sums(const model_t *m, const mw_range_t *range, mw_sum_t sum,
				     mw_counted_t *counted) {
	static bool taken[MODEL_PUTS_MAX];
	mw_batch_t *batch = mw_batch_new();
	*counted = (mw_counted_t){0};
	for (size_t i = 0; i < m->count; i++) {
		const model_put_t *p = &m->puts[i];
		taken[i] = model_is_taken(m, i, range, sum);
		if (!taken[i])
			continue;
		counted->profiles++;
		if (p->put.time_ns > counted->newest_ns)
			counted->newest_ns = p->put.time_ns;
		model_sum(p, counted->totals);
		for (size_t k = 0; k < p->batch->sample_count; k++)
			mw_batch_add_sample(batch, p->batch->samples[k].stack,
					    p->batch->samples[k].values);
	}
	counted->instances = model_different(m, taken, "instance", true);
	return batch;
}

/* True if a sample's stack has one of the locations. */
static inline bool model_holds(const mw_batch_t *batch, uint64_t stack, const uint64_t *locations,
			       size_t count) {
	const mw_row_stack_t *s = mw_batch_stack(batch, stack);
	for (uint32_t i = 0; i < s->depth; i++)
		for (size_t k = 0; k < count; k++)
			if (batch->frames[s->frame_first + i] == locations[k])
				return true;
	return false;
}

#endif
