/* SPDX-License-Identifier: MIT
 * wrappers.c -- finds the allocation wrappers of a profile and removes them. */
#include "view/select/wrappers.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "view/select/pattern.h"

/* Fewest callers of a wrapper.  A function with fewer callers may be the one that the user looks
 * for. */
#define CALLERS_MIN 3

static const char *const patterns[] = {
#define MW_WRAPPER(whose, pattern) "^(" pattern ")$",
#include "view/select/wrappers.def"
#undef MW_WRAPPER
};
enum { PATTERN_COUNT = sizeof(patterns) / sizeof(patterns[0]) };

/* Most functions without a name between an allocation and the wrapper that led to it. */
#define NAMELESS_MAX 4

/* Kind of a function by its name. */
typedef enum name_kind { NAME_NOT_READ, NAME_OTHER, NAME_HAS_ALLOC, NAME_LISTED } name_kind_t;

typedef struct function_state {
	name_kind_t kind;
	bool has_other_callees;        /* the function calls a function that is no wrapper */
	uint32_t callers[CALLERS_MIN]; /* different functions that allocate through this function */
	uint32_t caller_count;
} function_state_t;

/* Added to the number of a location whose function has no name, to distinguish it from numbers
 * of functions. */
#define NAMELESS_CALLER ((uint32_t)1 << 31)

/* A location that keeps only its outer lines. */
typedef struct cut_location {
	uint32_t first_line; /* first line that is kept; 0 = the location was not cut */
	uint32_t location;
} cut_location_t;

struct mw_wrappers {
	mw_profile_t *profile;
	mw_pattern_t *patterns[PATTERN_COUNT];
	function_state_t *functions; /* functions[i] belongs to function i of the profile */
	size_t function_capacity;
};

typedef mw_frame_position_t position_t;

/* True if a row of wrappers.def names the function.  Parameters do not belong to a name;
 * "(anonymous namespace)" and "operator()" do. */
static bool is_listed(const mw_wrappers_t *f, const char *name) {
	for (size_t i = 0; i < PATTERN_COUNT; i++)
		if (f->patterns[i] != NULL && mw_pattern_matches(f->patterns[i], name))
			return true;
	return false;
}

/* Returns the state of a function.  The profile may have got functions since the last call. */
static function_state_t *state_of(mw_wrappers_t *f, uint32_t function) {
	if (function >= f->function_capacity)
		f->functions = mw_grow(f->functions, &f->function_capacity,
				       f->profile->function_count, sizeof(*f->functions));
	return &f->functions[function];
}

static name_kind_t kind_of(mw_wrappers_t *f, uint32_t function) {
	function_state_t *state = state_of(f, function);
	if (function == 0)
		return NAME_OTHER;
	if (state->kind != NAME_NOT_READ)
		return state->kind;
	const char *name = mw_profile_string(f->profile, f->profile->functions[function].name);
	state->kind = is_listed(f, name)                  ? NAME_LISTED
		      : strcasestr(name, "alloc") != NULL ? NAME_HAS_ALLOC
							  : NAME_OTHER;
	return state->kind;
}

/* A stack: numbers of locations, the function that allocated first. */
typedef struct stack {
	const uint32_t *locations;
	uint32_t depth;
} stack_t;

static const mw_location_t *location_at(const mw_wrappers_t *f, stack_t s, uint32_t frame) {
	return &f->profile->locations[s.locations[frame]];
}

/* Returns the function at a position; 0 = it has no name. */
static uint32_t function_at(const mw_wrappers_t *f, stack_t s, position_t at) {
	const mw_line_t *line = mw_location_line(f->profile, location_at(f, s, at.frame), at.line);
	return line != NULL ? line->function : 0;
}

static position_t next(const mw_wrappers_t *f, stack_t s, position_t at) {
	if (at.line + 1 < mw_location_frames(location_at(f, s, at.frame)))
		return (position_t){at.frame, at.line + 1};
	return (position_t){at.frame + 1, 0};
}

static void add_caller(function_state_t *state, uint32_t caller) {
	for (uint32_t i = 0; i < state->caller_count; i++)
		if (state->callers[i] == caller)
			return;
	if (state->caller_count < CALLERS_MIN)
		state->callers[state->caller_count++] = caller;
}

/* Returns the first frame whose name does not contain "alloc" and is not listed. */
static position_t end_of_names(mw_wrappers_t *f, stack_t s) {
	position_t at = {0, 0};
	while (at.frame < s.depth && kind_of(f, function_at(f, s, at)) >= NAME_HAS_ALLOC)
		at = next(f, s, at);
	return at;
}

/* Records the callers of the functions at the inner end, and functions with such names that call
 * other functions. */
static void learn(mw_wrappers_t *f, stack_t s) {
	position_t end = end_of_names(f, s);
	uint32_t caller = 0;
	if (end.frame < s.depth)
		caller = function_at(f, s, end);
	if (end.frame < s.depth && caller == 0)
		caller = s.locations[end.frame] | NAMELESS_CALLER;
	for (position_t at = {0, 0}; at.frame < end.frame || at.line < end.line;
	     at = next(f, s, at))
		if (caller != 0)
			add_caller(state_of(f, function_at(f, s, at)), caller);
	for (position_t at = end; at.frame < s.depth; at = next(f, s, at))
		state_of(f, function_at(f, s, at))->has_other_callees = true;
}

static bool is_wrapper(mw_wrappers_t *f, uint32_t function) {
	name_kind_t kind = kind_of(f, function);
	const function_state_t *state = state_of(f, function);
	return kind == NAME_LISTED || (kind == NAME_HAS_ALLOC && !state->has_other_callees &&
				       state->caller_count == CALLERS_MIN);
}

/* Returns the first frame that is no wrapper and is not called by one.  Between the innermost
 * frame and a wrapper there may be functions with "alloc" in their names, and some without any
 * name: of a program without symbols, palloc() has a name and the functions that it calls have
 * none. */
static position_t first_shown(mw_wrappers_t *f, stack_t s) {
	position_t last = {0, 0}, at = {0, 0}, i = {0, 0};
	for (uint32_t nameless = 0; i.frame < s.depth;) {
		uint32_t function = function_at(f, s, i);
		nameless += function == 0;
		if (function == 0 ? nameless > NAMELESS_MAX : kind_of(f, function) == NAME_OTHER)
			break;
		last = i;
		i = next(f, s, i);
		if (is_wrapper(f, function))
			at = i;
	}
	return at.frame == s.depth ? last : at;
}

mw_wrappers_t *mw_wrappers_new(mw_profile_t *p) {
	mw_wrappers_t *f = mw_xcalloc(1, sizeof(*f));
	mw_error_t error;
	f->profile = p;
	/* The patterns are constant, and the tests compile each of them. */
	for (size_t i = 0; i < PATTERN_COUNT; i++)
		if (mw_pattern_make("wrappers", patterns[i], &f->patterns[i], &error) != 0)
			f->patterns[i] = NULL;
	return f;
}

void mw_wrappers_free(mw_wrappers_t *f) {
	for (size_t i = 0; i < PATTERN_COUNT; i++)
		mw_pattern_free(f->patterns[i]);
	free(f->functions);
	free(f);
}

void mw_wrappers_learn(mw_wrappers_t *f, const uint32_t *locations, uint32_t depth) {
	learn(f, (stack_t){locations, depth});
}

mw_frame_position_t mw_wrappers_skip(mw_wrappers_t *f, const uint32_t *locations, uint32_t depth) {
	return first_shown(f, (stack_t){locations, depth});
}

/* Locations that were cut; cuts[i] belongs to location i. */
typedef struct cutter {
	mw_wrappers_t *finder;
	cut_location_t *cuts;
	size_t location_count; /* number of locations when `cuts` was allocated */
} cutter_t;

/* Returns the location without its lines before `first_line`. */
static uint32_t cut_location(cutter_t *c, uint32_t location, uint32_t first_line) {
	mw_profile_t *p = c->finder->profile;
	cut_location_t *cut = location < c->location_count ? &c->cuts[location] : NULL;
	if (cut != NULL && cut->first_line == first_line)
		return cut->location;
	const mw_location_t from = p->locations[location];
	uint32_t added = mw_profile_append_location(p, from.mapping, from.address, from.is_exact);
	mw_location_t *to = &p->locations[added];
	to->is_folded = from.is_folded;
	to->line_first = from.line_first + first_line;
	to->line_count = from.line_count - first_line;
	if (cut != NULL)
		*cut = (cut_location_t){first_line, added};
	return added;
}

static stack_t stack_of(const mw_profile_t *p, const mw_sample_t *s) {
	return (stack_t){p->frames + s->frame_first, s->depth};
}

static bool cut_sample(cutter_t *c, mw_sample_t *s) {
	mw_profile_t *p = c->finder->profile;
	position_t at = first_shown(c->finder, stack_of(p, s));
	if (at.frame == 0 && at.line == 0)
		return false;
	s->frame_first += at.frame;
	s->depth -= at.frame;
	if (at.line > 0) {
		uint32_t *frame = &p->frames[s->frame_first];
		*frame = cut_location(c, *frame, at.line);
	}
	return true;
}

static bool is_of_cpu(const mw_profile_t *p, size_t sample) {
	const int64_t *values = mw_profile_values(p, sample);
	for (size_t i = 0; i < p->type_count; i++)
		if (values[i] != 0 && mw_profile_is_cpu_type(p, i))
			return true;
	return false;
}

size_t mw_wrappers_cut(mw_profile_t *p) {
	if (mw_profile_cpu_type(p) >= 0 && mw_profile_find_type(p, "alloc_space") < 0)
		return 0;
	cutter_t c = {
		.finder = mw_wrappers_new(p),
		.cuts = mw_xcalloc(p->location_count, sizeof(cut_location_t)),
		.location_count = p->location_count,
	};
	size_t count = 0;
	for (size_t i = 0; i < p->sample_count; i++)
		learn(c.finder, stack_of(p, &p->samples[i]));
	for (size_t i = 0; i < p->sample_count; i++)
		if (!is_of_cpu(p, i))
			count += cut_sample(&c, &p->samples[i]);
	mw_wrappers_free(c.finder);
	free(c.cuts);
	return count;
}
