/* SPDX-License-Identifier: MIT
 * made_times.c -- chooses samples of a mark by the label MW_LABEL_MADE, and removes the label. */
#include "cmd/input/made_times.h"

#include <string.h>

#include "model/merge.h"

/* Returns the sample's label MW_LABEL_MADE; NULL = none. */
static const mw_label_t *find_made(const mw_profile_t *p, const mw_sample_t *sample) {
	for (uint32_t i = 0; i < sample->label_count; i++) {
		const mw_label_t *label = &p->labels[sample->label_first + i];
		if (label->text == 0 &&
		    strcmp(mw_profile_string(p, label->key), MW_LABEL_MADE) == 0)
			return label;
	}
	return NULL;
}

bool mw_made_times_known(const mw_profile_t *p) {
	for (size_t i = 0; i < p->sample_count; i++)
		if (find_made(p, &p->samples[i]) != NULL)
			return true;
	return false;
}

void mw_made_times_keep(mw_profile_t *p, int64_t from_ns, int64_t until_ns) {
	size_t kept = 0;
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_label_t *made = find_made(p, &p->samples[i]);
		if (made == NULL || made->number < from_ns || made->number >= until_ns)
			continue;
		mw_profile_move_sample(p, kept++, i);
	}
	p->sample_count = kept;
}

void mw_made_times_forget(mw_profile_t *p) {
	bool found = false;
	for (size_t i = 0; i < p->sample_count; i++) {
		mw_sample_t *sample = &p->samples[i];
		const mw_label_t *made = find_made(p, sample);
		if (made == NULL)
			continue;
		mw_label_t *labels = p->labels + sample->label_first;
		size_t at = (size_t)(made - labels);
		memmove(labels + at, labels + at + 1,
			(--sample->label_count - at) * sizeof(*labels));
		found = true;
	}
	if (found)
		mw_profile_combine(p);
}
