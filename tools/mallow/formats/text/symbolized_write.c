/* SPDX-License-Identifier: MIT
 * symbolized_write.c -- writes files as `jeprof --raw` does: a table of names before a heap
 * profile, so that a reader needs no binary. formats/text/symbolized_read.c describes the form. */
#include <inttypes.h>
#include <string.h>

#include "formats/text/text_formats.h"

static void write_name(const char *name, mw_output_t *output) {
	for (; *name != '\0'; name++) {
		/* Characters that would end the line or the name are replaced. */
		bool ends = *name == '\n' || *name == '\r' || (name[0] == '-' && name[1] == '-');
		mw_output_write(output, ends ? "_" : name, 1);
	}
}

/* Writes the outermost function first, then the functions inlined into it. */
static void write_location(const mw_profile_t *p, uint32_t number, mw_output_t *output) {
	const mw_location_t *location = &p->locations[number];
	if (location->line_count == 0)
		return;
	mw_output_printf(output, "0x%" PRIx64 " ", mw_text_address(p, number));
	for (uint32_t i = location->line_count; i-- > 0;) {
		const mw_line_t *line = &p->lines[location->line_first + i];
		write_name(mw_profile_string(p, p->functions[line->function].name), output);
		mw_output_write(output, "--", i > 0 ? 2 : 0);
	}
	mw_output_write(output, "\n", 1);
}

void mw_write_symbolized(const mw_profile_t *p, const mw_heap_types_t *types, mw_output_t *output) {
	mw_output_printf(output, "--- symbol\nbinary=");
	write_name(p->mapping_count > 1 ? mw_profile_string(p, p->mappings[1].path) : "", output);
	mw_output_write(output, "\n", 1);
	for (uint32_t i = 1; i < p->location_count; i++)
		write_location(p, i, output);
	mw_output_printf(output, "---\n--- heap\n");
	mw_write_heap_v2(p, types, output);
}
