/* SPDX-License-Identifier: MIT
 * status_memory.c -- where resident memory goes, as text and JSON. */
#include "cmd/status_memory.h"

#include <stdio.h>

#include "cmd/show.h"
#include "report/report.h"

void mw_print_memory(const mw_memory_t *memory) {
	char text[MW_SHOW_BYTES], time_text[MW_SHOW_BYTES];
	printf("  resident   %s now, of which",
	       mw_format_bytes((int64_t)memory->resident_bytes, text, sizeof(text)));
	if (memory->surveyed_ns > 0)
		printf(" (the heap as of %s)",
		       mw_show_time((uint64_t)memory->surveyed_ns, time_text));
	putchar('\n');
	for (int use = 0; use < MW_MEMORY_USES; use++) {
		double share = memory->resident_bytes > 0 ? 100.0 * (double)memory->bytes[use] /
								    (double)memory->resident_bytes
							  : 0;
		printf("    %12s  %4.1f%%  %s\n",
		       mw_format_bytes((int64_t)memory->bytes[use], text, sizeof(text)), share,
		       mw_memory_text((mw_memory_use_t)use));
	}
	if (memory->surveyed_ns <= 0)
		printf("    the heap has not been looked through yet: it is among the other "
		       "mappings\n");
	if (memory->ranges_missing > 0)
		printf("    %llu huge blocks or chunks did not fit into the survey: they are among "
		       "the other mappings\n",
		       (unsigned long long)memory->ranges_missing);
}

json_t *mw_memory_json(const mw_memory_t *memory) {
	json_t *value = json_object();
	json_object_set_new(value, "resident", json_integer((json_int_t)memory->resident_bytes));
	for (int use = 0; use < MW_MEMORY_USES; use++)
		json_object_set_new(value, mw_memory_name((mw_memory_use_t)use),
				    json_integer((json_int_t)memory->bytes[use]));
	json_object_set_new(value, "blocks", json_integer((json_int_t)memory->blocks_bytes));
	json_object_set_new(value, "surveyed", json_real((double)memory->surveyed_ns / 1e9));
	json_object_set_new(value, "ranges_missing",
			    json_integer((json_int_t)memory->ranges_missing));
	return value;
}
