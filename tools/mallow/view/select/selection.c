/* SPDX-License-Identifier: MIT
 * selection.c -- removes frames and samples, in pprof's order and with pprof's meaning. */
#include "view/select/selection.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "view/select/pattern.h"
#include "view/select/source_paths.h"
#include "view/select/tags.h"

typedef struct patterns {
	mw_pattern_t *focus, *ignore, *hide, *show, *show_from, *prune_from, *retain, *exclude;
} patterns_t;

static bool name_matches(const mw_profile_t *p, const mw_line_t *line, const mw_pattern_t *re) {
	return mw_pattern_matches(re, mw_profile_string(p, p->functions[line->function].name));
}

static bool line_matches(const mw_profile_t *p, const mw_line_t *line, const mw_pattern_t *re) {
	const mw_function_t *f = &p->functions[line->function];
	return name_matches(p, line, re) || mw_pattern_matches(re, mw_profile_string(p, f->file));
}

static bool module_matches(const mw_profile_t *p, const mw_location_t *l, const mw_pattern_t *re) {
	return l->mapping != 0 &&
	       mw_pattern_matches(re, mw_profile_string(p, p->mappings[l->mapping].path));
}

bool mw_location_matches(const mw_profile_t *p, uint32_t location, const mw_pattern_t *re) {
	const mw_location_t *l = &p->locations[location];
	for (uint32_t i = 0; i < l->line_count; i++)
		if (line_matches(p, &p->lines[l->line_first + i], re))
			return true;
	return module_matches(p, l, re);
}

/* Type of a function that tests a line. */
typedef bool line_test_t(const mw_profile_t *p, const mw_line_t *line, const mw_pattern_t *re);

/* Keeps the lines that pass the test, or with `keep` false, those that fail.  False: no line is
 * left. */
static bool filter_lines(mw_profile_t *p, uint32_t location, line_test_t *test,
			 const mw_pattern_t *re, bool keep) {
	const mw_location_t *l = &p->locations[location];
	uint32_t count = l->line_count, left = 0;
	if (count == 0)
		return !keep;
	mw_line_t *lines = mw_xcalloc(count, sizeof(*lines));
	for (uint32_t i = 0; i < count; i++)
		if (test(p, &p->lines[l->line_first + i], re) == keep)
			lines[left++] = p->lines[l->line_first + i];
	if (left != count)
		mw_profile_set_lines(p, location, lines, left);
	free(lines);
	return left > 0;
}

/* Filters a location for show and hide.  A match of its module decides for all of its lines. */
static bool filter_place(mw_profile_t *p, uint32_t location, const mw_pattern_t *re, bool keep) {
	if (module_matches(p, &p->locations[location], re))
		return keep;
	return filter_lines(p, location, line_matches, re, keep);
}

enum { IN_FOCUS = 1, IGNORED = 2, HIDDEN = 4, SHOW_FROM = 8, PRUNE_FROM = 16 };

static uint8_t mark_focus(mw_profile_t *p, uint32_t i, const patterns_t *re) {
	if (re->ignore != NULL && mw_location_matches(p, i, re->ignore))
		return IGNORED;
	return re->focus == NULL || mw_location_matches(p, i, re->focus) ? IN_FOCUS : 0;
}

static uint8_t mark_show_from(mw_profile_t *p, uint32_t i, const mw_pattern_t *re) {
	mw_location_t *l = &p->locations[i];
	if (module_matches(p, l, re))
		return SHOW_FROM;
	for (uint32_t k = l->line_count; k > 0; k--)
		if (line_matches(p, &p->lines[l->line_first + k - 1], re)) {
			l->line_count = k;
			return SHOW_FROM;
		}
	return 0;
}

static uint8_t mark_prune_from(mw_profile_t *p, uint32_t i, const mw_pattern_t *re) {
	mw_location_t *l = &p->locations[i];
	for (uint32_t k = 0; k < l->line_count; k++) {
		const mw_line_t *line = &p->lines[l->line_first + k];
		const char *name = mw_profile_string(p, p->functions[line->function].name);
		if (*name != '\0' && mw_pattern_matches(re, name)) {
			l->line_first += k;
			l->line_count -= k;
			return PRUNE_FROM;
		}
	}
	return 0;
}

static uint8_t mark_location(mw_profile_t *p, uint32_t i, const patterns_t *re) {
	uint8_t marks = mark_focus(p, i, re);
	if (re->hide != NULL && !filter_place(p, i, re->hide, false))
		marks |= HIDDEN;
	if (re->show != NULL && !filter_place(p, i, re->show, true))
		marks |= HIDDEN;
	if (re->retain != NULL && !filter_lines(p, i, name_matches, re->retain, true))
		marks |= HIDDEN;
	if (re->exclude != NULL && !filter_lines(p, i, name_matches, re->exclude, false))
		marks |= HIDDEN;
	if (re->show_from != NULL)
		marks |= mark_show_from(p, i, re->show_from);
	if (re->prune_from != NULL)
		marks |= mark_prune_from(p, i, re->prune_from);
	return marks;
}

static bool keep_in_focus(const mw_profile_t *p, const mw_sample_t *s, const uint8_t *marks,
			  bool has_focus) {
	bool in_focus = !has_focus;
	for (uint32_t i = 0; i < s->depth; i++) {
		uint8_t mark = marks[p->frames[s->frame_first + i]];
		if (mark & IGNORED)
			return false;
		in_focus |= mark & IN_FOCUS;
	}
	return in_focus;
}

/* Removes hidden frames of a sample.  False: no frame is left. */
static bool drop_hidden(mw_profile_t *p, mw_sample_t *s, const uint8_t *marks) {
	uint32_t *frames = p->frames + s->frame_first, left = 0;
	for (uint32_t i = 0; i < s->depth; i++)
		if (!(marks[frames[i]] & HIDDEN))
			frames[left++] = frames[i];
	bool had = s->depth > 0;
	s->depth = left;
	return left > 0 || !had;
}

static bool cut_to_show_from(const mw_profile_t *p, mw_sample_t *s, const uint8_t *marks) {
	for (uint32_t i = s->depth; i > 0; i--)
		if (marks[p->frames[s->frame_first + i - 1]] & SHOW_FROM) {
			s->depth = i;
			return true;
		}
	return false;
}

static void cut_to_prune_from(const mw_profile_t *p, mw_sample_t *s, const uint8_t *marks) {
	for (uint32_t i = 0; i < s->depth; i++)
		if (marks[p->frames[s->frame_first + i]] & PRUNE_FROM) {
			s->frame_first += i;
			s->depth -= i;
			return;
		}
}

/* Filters the samples.  `present` has all marks that occur at any location, so that other marks
 * are not searched for. */
static void filter_samples(mw_profile_t *p, const patterns_t *re, const uint8_t *marks,
			   uint8_t present, const mw_tag_filter_t *tags, size_t *boundary) {
	size_t left = 0, before = *boundary;
	for (size_t i = 0; i < p->sample_count; i++) {
		mw_sample_t s = p->samples[i];
		if (i == before)
			*boundary = left;
		if (((re->focus != NULL || (present & IGNORED)) &&
		     !keep_in_focus(p, &s, marks, re->focus != NULL)) ||
		    !mw_tag_filter_keeps(tags, p, &s) ||
		    ((present & HIDDEN) && !drop_hidden(p, &s, marks)) ||
		    (re->show_from != NULL && !cut_to_show_from(p, &s, marks)))
			continue;
		if (present & PRUNE_FROM)
			cut_to_prune_from(p, &s, marks);
		mw_profile_move_sample(p, left, i);
		p->samples[left++] = s;
	}
	if (before >= p->sample_count)
		*boundary = left;
	p->sample_count = left;
}

static int make_patterns(const mw_selection_t *s, patterns_t *re, mw_error_t *error) {
	const struct {
		const char *option, *text;
		mw_pattern_t **out;
	} all[] = {
		{"focus", s->focus, &re->focus},
		{"ignore", s->ignore, &re->ignore},
		{"hide", s->hide, &re->hide},
		{"show", s->show, &re->show},
		{"show_from", s->show_from, &re->show_from},
		{"prune_from", s->prune_from, &re->prune_from},
		{"retain", s->retain, &re->retain},
		{"exclude", s->exclude, &re->exclude},
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (mw_pattern_make(all[i].option, all[i].text, all[i].out, error) != 0)
			return -1;
	return 0;
}

static void free_patterns(patterns_t *re) {
	mw_pattern_free(re->focus);
	mw_pattern_free(re->ignore);
	mw_pattern_free(re->hide);
	mw_pattern_free(re->show);
	mw_pattern_free(re->show_from);
	mw_pattern_free(re->prune_from);
	mw_pattern_free(re->retain);
	mw_pattern_free(re->exclude);
}

int mw_selection_check(const mw_selection_t *selection, mw_error_t *error) {
	patterns_t re = {0};
	mw_tag_filter_t *tags = NULL;
	int result = make_patterns(selection, &re, error);
	if (result == 0)
		result = mw_tag_filter_make(selection->tag_focus, selection->tag_ignore,
					    selection->thread, &tags, error);
	mw_tag_filter_free(tags);
	free_patterns(&re);
	return result;
}

int mw_selection_apply(mw_profile_t *p, const mw_selection_t *selection, mw_error_t *error) {
	size_t all = p->sample_count;
	return mw_selection_apply_split(p, selection, &all, error);
}

int mw_selection_apply_split(mw_profile_t *p, const mw_selection_t *selection, size_t *boundary,
			     mw_error_t *error) {
	patterns_t re = {0};
	mw_tag_filter_t *tags = NULL;
	mw_tags_to_frames(p, selection->tag_root, selection->tag_leaf, selection->unit);
	int result = make_patterns(selection, &re, error);
	if (result == 0)
		result = mw_tag_filter_make(selection->tag_focus, selection->tag_ignore,
					    selection->thread, &tags, error);
	if (result == 0) {
		uint8_t *marks = mw_xcalloc(p->location_count, 1), present = 0;
		for (size_t i = 1; i < p->location_count; i++)
			present |= marks[i] = mark_location(p, (uint32_t)i, &re);
		filter_samples(p, &re, marks, present, tags, boundary);
		free(marks);
		for (size_t i = 1; i < p->location_count && selection->no_inlines; i++) {
			mw_location_t *l = &p->locations[i];
			if (l->line_count > 1)
				l->line_first += l->line_count - 1;
			l->line_count = l->line_count > 0;
		}
		mw_trim_paths(p, selection->trim_path, selection->source_path);
		mw_clean_paths(p);
		result = mw_tags_keep(p, selection->tag_show, selection->tag_hide, error);
	}
	mw_tag_filter_free(tags);
	free_patterns(&re);
	return result;
}
