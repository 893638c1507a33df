/* SPDX-License-Identifier: MIT
 * wrappers.c -- finds the wrappers of a profile's stacks and removes them. */
#include "view/select/wrappers.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "report/text/names.h"
#include "view/select/pattern.h"

/* Fewest callers of a wrapper.  A function with fewer callers may be the one that the user looks
 * for. */
#define CALLERS_MIN 3

/* What a row of wrappers.def says of the functions that it names. */
typedef enum row_kind {
	ROW_WRAPPER,
	ROW_LIBRARY,
	ROW_LIBRARY_FILE, /* the pattern is one of loaded files */
	ROW_OWN,
	ROW_START,
} row_kind_t;

typedef struct row {
	row_kind_t kind;
	const char *pattern;
	const char *source; /* pattern of the function's source file; NULL = any */
} row_t;

static const row_t rows[] = {
#define MW_WRAPPER(whose, pattern) {ROW_WRAPPER, "^(" pattern ")$", NULL},
#define MW_LIBRARY(whose, pattern) {ROW_LIBRARY, "^(" pattern ")$", NULL},
#define MW_LIBRARY_SOURCE(whose, pattern, source)                                                  \
	{ROW_LIBRARY, "^(" pattern ")$", "^(" source ")$"},
#define MW_LIBRARY_FILE(whose, pattern) {ROW_LIBRARY_FILE, "^(" pattern ")$", NULL},
#define MW_OWN(whose, pattern) {ROW_OWN, "^(" pattern ")$", NULL},
#define MW_START(whose, pattern) {ROW_START, "^(" pattern ")$", NULL},
#define MW_INTERPRETER_FILE(whose, pattern) /* interpreters.c */
#include "view/select/wrappers.def"
#undef MW_INTERPRETER_FILE
#undef MW_START
#undef MW_OWN
#undef MW_LIBRARY_FILE
#undef MW_LIBRARY_SOURCE
#undef MW_LIBRARY
#undef MW_WRAPPER
};
enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

/* Most functions without a name between an allocation and the wrapper that led to it. */
#define NAMELESS_MAX 4

/* Kind of a function by its name. */
typedef enum name_kind {
	NAME_NOT_READ,
	NAME_NONE, /* the function has no name in its file */
	NAME_OTHER,
	NAME_HAS_ALLOC,
	NAME_LISTED
} name_kind_t;

typedef struct function_state {
	name_kind_t kind;
	mw_frame_kind_t whose;         /* by the name alone */
	bool is_kept;                  /* the caller's pattern matches the name */
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

/* Whether a loaded file is a language's library. */
typedef enum file_kind { FILE_NOT_READ, FILE_OTHER, FILE_OF_LIBRARY } file_kind_t;

struct mw_wrappers {
	mw_profile_t *profile;
	mw_wrapper_kinds_t kinds;
	const mw_pattern_t *kept; /* NULL = none */
	mw_pattern_t *patterns[ROW_COUNT];
	mw_pattern_t *sources[ROW_COUNT]; /* NULL = any source file */
	file_kind_t *files;               /* files[i] belongs to mapping i of the profile */
	size_t file_capacity;
	function_state_t *functions; /* functions[i] belongs to function i of the profile */
	size_t function_capacity;
};

typedef mw_frame_position_t position_t;

/* True if row `i` names the function, whose source file is `source`. */
static bool row_names(const mw_wrappers_t *f, size_t i, const char *name, const char *source) {
	return f->patterns[i] != NULL && mw_pattern_matches(f->patterns[i], name) &&
	       (f->sources[i] == NULL || mw_pattern_matches(f->sources[i], source));
}

/* True if a row of the kind names the function. */
static bool is_listed(const mw_wrappers_t *f, row_kind_t kind, const char *name,
		      const char *source) {
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (rows[i].kind == kind && row_names(f, i, name, source))
			return true;
	return false;
}

static mw_frame_kind_t whose_function(const mw_wrappers_t *f, const char *name,
				      const char *source) {
	char bare[4096];
	mw_bare_name(name, bare, sizeof(bare));
	if (is_listed(f, ROW_LIBRARY, bare, source))
		return is_listed(f, ROW_OWN, bare, source) ? MW_FRAME_HOLDER : MW_FRAME_LIBRARY;
	return is_listed(f, ROW_START, bare, source) ? MW_FRAME_START : MW_FRAME_OWN;
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
		return NAME_NONE;
	if (state->kind != NAME_NOT_READ)
		return state->kind;
	const mw_function_t *its = &f->profile->functions[function];
	const char *name = mw_profile_string(f->profile, its->name);
	const char *source = mw_profile_string(f->profile, its->file);
	if (mw_function_is_range(f->profile, function))
		return state->kind = NAME_NONE;
	state->kind = is_listed(f, ROW_WRAPPER, name, source) ? NAME_LISTED
		      : strcasestr(name, "alloc") != NULL     ? NAME_HAS_ALLOC
							      : NAME_OTHER;
	if (f->kinds == MW_WRAPPERS_ALL)
		state->whose = whose_function(f, name, source);
	state->is_kept = f->kept != NULL && mw_pattern_matches(f->kept, name);
	return state->kind;
}

/* True if the mapping is a file that holds a language's library. */
static bool is_file_of_library(mw_wrappers_t *f, uint32_t mapping) {
	if (f->kinds != MW_WRAPPERS_ALL || mapping == 0)
		return false;
	if (mapping >= f->file_capacity)
		f->files = mw_grow(f->files, &f->file_capacity, f->profile->mapping_count,
				   sizeof(*f->files));
	if (f->files[mapping] == FILE_NOT_READ) {
		const char *path =
			mw_profile_string(f->profile, f->profile->mappings[mapping].path);
		const char *slash = strrchr(path, '/');
		bool is_listed_file =
			is_listed(f, ROW_LIBRARY_FILE, slash != NULL ? slash + 1 : path, "");
		f->files[mapping] = is_listed_file ? FILE_OF_LIBRARY : FILE_OTHER;
	}
	return f->files[mapping] == FILE_OF_LIBRARY;
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

mw_frame_kind_t mw_wrappers_kind(mw_wrappers_t *f, uint32_t location, uint32_t line) {
	const mw_location_t *its = &f->profile->locations[location];
	const mw_line_t *at = mw_location_line(f->profile, its, line);
	uint32_t function = at != NULL ? at->function : 0;
	kind_of(f, function);
	return is_file_of_library(f, its->mapping) ? MW_FRAME_LIBRARY
						   : state_of(f, function)->whose;
}

/* True if the function at a position belongs to a language's library. */
static bool is_library_at(mw_wrappers_t *f, stack_t s, position_t at) {
	return mw_wrappers_kind(f, s.locations[at.frame], at.line) == MW_FRAME_LIBRARY;
}

static position_t next(const mw_wrappers_t *f, stack_t s, position_t at) {
	if (at.line + 1 < mw_location_frames(location_at(f, s, at.frame)))
		return (position_t){at.frame, at.line + 1};
	return (position_t){at.frame + 1, 0};
}

static position_t skip_library(mw_wrappers_t *f, stack_t s, position_t at) {
	while (at.frame < s.depth && is_library_at(f, s, at) &&
	       !state_of(f, function_at(f, s, at))->is_kept)
		at = next(f, s, at);
	return at;
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
	position_t end = end_of_names(f, s), behind = skip_library(f, s, end);
	uint32_t caller = 0;
	if (behind.frame < s.depth)
		caller = function_at(f, s, behind);
	if (behind.frame < s.depth && caller == 0)
		caller = s.locations[behind.frame] | NAMELESS_CALLER;
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

/* Returns the first frame from `from` on that is no wrapper and is not called by one.  Between the
 * innermost frame and a wrapper there may be functions with "alloc" in their names, and some
 * without any name: of a program without symbols, palloc() has a name and the functions that it
 * calls have none. */
static position_t skip_wrappers(mw_wrappers_t *f, stack_t s, position_t from) {
	position_t at = from, i = from;
	for (uint32_t nameless = 0; i.frame < s.depth;) {
		uint32_t function = function_at(f, s, i);
		name_kind_t kind = kind_of(f, function);
		nameless += kind == NAME_NONE;
		if (kind == NAME_NONE ? nameless > NAMELESS_MAX : kind == NAME_OTHER)
			break;
		if (state_of(f, function)->is_kept)
			break;
		i = next(f, s, i);
		if (is_wrapper(f, function))
			at = i;
	}
	return at;
}

static bool is_same(position_t a, position_t b) {
	return a.frame == b.frame && a.line == b.line;
}

/* Returns the outermost frame. */
static position_t outermost(const mw_wrappers_t *f, stack_t s) {
	uint32_t frame = s.depth > 0 ? s.depth - 1 : 0;
	return (position_t){frame,
			    s.depth > 0 ? mw_location_frames(location_at(f, s, frame)) - 1 : 0};
}

/* Returns the first frame that is the program's own.  If there is none, the first that is no
 * allocation wrapper; of a stack of these only, the outermost. */
static position_t first_shown(mw_wrappers_t *f, stack_t s) {
	position_t first = skip_wrappers(f, s, (position_t){0, 0}), at = first, before;
	do {
		before = at;
		at = skip_library(f, s, at);
		if (!is_same(at, before))
			at = skip_wrappers(f, s, at);
	} while (!is_same(at, before));
	if (at.frame < s.depth)
		return at;
	return first.frame < s.depth ? first : outermost(f, s);
}

mw_wrappers_t *mw_wrappers_new(mw_profile_t *p, mw_wrapper_kinds_t kinds) {
	mw_wrappers_t *f = mw_xcalloc(1, sizeof(*f));
	mw_error_t error;
	f->profile = p;
	f->kinds = kinds;
	/* The patterns are constant, and the tests compile each of them. */
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (mw_pattern_make("wrappers", rows[i].pattern, &f->patterns[i], &error) != 0)
			f->patterns[i] = NULL;
		if (mw_pattern_make("wrappers", rows[i].source, &f->sources[i], &error) != 0)
			f->sources[i] = NULL;
	}
	return f;
}

void mw_wrappers_free(mw_wrappers_t *f) {
	for (size_t i = 0; i < ROW_COUNT; i++) {
		mw_pattern_free(f->patterns[i]);
		mw_pattern_free(f->sources[i]);
	}
	free(f->files);
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

size_t mw_wrappers_cut(mw_profile_t *p, mw_wrapper_kinds_t kinds, const mw_pattern_t *kept) {
	if (mw_profile_cpu_type(p) >= 0 && mw_profile_find_type(p, "alloc_space") < 0)
		return 0;
	cutter_t c = {
		.finder = mw_wrappers_new(p, kinds),
		.cuts = mw_xcalloc(p->location_count, sizeof(cut_location_t)),
		.location_count = p->location_count,
	};
	size_t count = 0;
	c.finder->kept = kept;
	for (size_t i = 0; i < p->sample_count; i++)
		learn(c.finder, stack_of(p, &p->samples[i]));
	for (size_t i = 0; i < p->sample_count; i++)
		if (!is_of_cpu(p, i))
			count += cut_sample(&c, &p->samples[i]);
	mw_wrappers_free(c.finder);
	free(c.cuts);
	return count;
}
