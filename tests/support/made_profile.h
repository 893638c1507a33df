/* SPDX-License-Identifier: MIT
 * made_profile.h -- profiles of a few stacks, written down as folded ones are. */
#ifndef MW_TEST_MADE_PROFILE_H
#define MW_TEST_MADE_PROFILE_H

#include <stdlib.h>
#include <string.h>

#include "model/profile.h"
#include "test.h"

/* A location of one function, or of several with '+' between them, the outermost first: the others
 * are inlined.  A function is in "src/<name>.c", at line 10. */
static inline uint32_t made_location(mw_profile_t *p, const char *names) {
	char copy[1024], *at[16], *rest = copy;
	mw_line_t lines[16];
	size_t count = 0;
	snprintf(copy, sizeof(copy), "%s", names);
	while ((at[count] = strsep(&rest, "+")) != NULL)
		count++;
	uint32_t mapping = mw_profile_add_mapping(
		p, &(mw_mapping_t){.start = 0x1000,
				   .limit = 0x100000,
				   .path = mw_profile_intern(p, "/bin/made")});
	for (size_t i = 0; i < count; i++) {
		char file[1100];
		snprintf(file, sizeof(file), "src/%s.c", at[i]);
		mw_function_t function = {.name = mw_profile_intern(p, at[i]),
					  .file = mw_profile_intern(p, file)};
		lines[count - 1 - i] = (mw_line_t){mw_profile_add_function(p, &function), 10};
	}
	/* The same names, the same place. */
	uint64_t address = 0x1000 + 16 * (uint64_t)mw_profile_intern(p, names);
	uint32_t location = mw_profile_add_location(p, mapping, address, false);
	mw_profile_set_lines(p, location, lines, count);
	return location;
}

/* "main;f;g+h": main called f, that called g, into which h was inlined. */
static inline void made_labelled(mw_profile_t *p, const char *stack, const int64_t *values,
				 const mw_label_t *labels, size_t label_count) {
	char copy[1024], *at[64], *rest = copy;
	uint32_t frames[64];
	size_t depth = 0;
	snprintf(copy, sizeof(copy), "%s", stack);
	while ((at[depth] = strsep(&rest, ";")) != NULL)
		depth++;
	for (size_t i = 0; i < depth; i++)
		frames[depth - 1 - i] = made_location(p, at[i]);
	mw_profile_add_sample(p, frames, depth, values, labels, label_count);
}

/* `label` NULL: none. */
static inline void made_stack(mw_profile_t *p, const char *stack, const int64_t *values,
			      const mw_label_t *label) {
	made_labelled(p, stack, values, label, label != NULL);
}

#endif
