/* SPDX-License-Identifier: MIT
 * leaks_growth.c -- groups blocks by the variable or thread that holds them, then by the block that
 * they hang on, and by the stack that allocated them. */
#include "cmd/leaks/leaks_growth.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print.h"
#include "cmd/leaks/leaks_text.h"
#include "cmd/report/report_json.h"
#include "model/memory.h"
#include "model/text.h"
#include "report/stacks.h"
#include "report/text/units.h"
#include "symbol/symbolize.h"

/* Blocks that other blocks hang on, and stacks, that are shown for each holder. */
#define SHOWN_MAX 3
#define NAME_BYTES 512

typedef struct part {
	char *name;    /* of the root, or of the caller of malloc that made the block between */
	size_t sample; /* one of the part; its stack, for parts by stack */
	int64_t bytes, objects;
} part_t;

typedef struct parts {
	part_t *all;
	size_t count, capacity;
} parts_t;

static void add_part(parts_t *parts, const char *name, size_t sample, const int64_t *values) {
	size_t i = 0;
	while (i < parts->count && strcmp(parts->all[i].name, name) != 0)
		i++;
	if (i == parts->count) {
		parts->all = mw_grow(parts->all, &parts->capacity, i + 1, sizeof(*parts->all));
		parts->all[parts->count++] = (part_t){.name = mw_xstrdup(name), .sample = sample};
	}
	parts->all[i].objects += values[0];
	parts->all[i].bytes += values[1];
}

static int by_bytes(const void *left, const void *right) {
	const part_t *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void sort_parts(parts_t *parts) {
	if (parts->count > 0)
		qsort(parts->all, parts->count, sizeof(*parts->all), by_bytes);
}

static void release_parts(parts_t *parts) {
	for (size_t i = 0; i < parts->count; i++)
		free(parts->all[i].name);
	free(parts->all);
}

static uint32_t frame_of(const mw_profile_t *p, const mw_sample_t *sample, size_t from_end) {
	return p->frames[sample->frame_first + sample->depth - 1 - from_end];
}

/* The outermost function of the code, or the variable. */
static const char *name_of(const mw_profile_t *p, uint32_t number, char buffer[NAME_BYTES]) {
	const mw_location_t *location = &p->locations[number];
	if (location->line_count == 0)
		return mw_location_name(p, number, buffer, NAME_BYTES);
	const mw_line_t *line = mw_location_line(p, location, location->line_count - 1);
	return mw_profile_string(p, p->functions[line->function].name);
}

static const char *label_text(const mw_profile_t *p, const mw_sample_t *sample, const char *key) {
	const mw_label_t *label = mw_leaks_label(p, (size_t)(sample - p->samples), key);
	return label != NULL ? mw_profile_string(p, label->text) : "";
}

static bool has_through(const mw_profile_t *p, const mw_sample_t *sample) {
	const mw_label_t *label =
		mw_leaks_label(p, (size_t)(sample - p->samples), MW_LABEL_THROUGH);
	return label != NULL && label->number > 0 && sample->depth > 2;
}

/* "the variable cache in program", "[stack of main (4711)]" or "memory ... at 0x7f..." */
static void name_root(const mw_profile_t *p, const mw_sample_t *sample, char name[NAME_BYTES]) {
	uint32_t number = frame_of(p, sample, 0);
	const mw_location_t *root = &p->locations[number];
	char buffer[NAME_BYTES];
	const char *path = mw_profile_string(p, p->mappings[root->mapping].path);
	const char *file = strrchr(path, '/');
	file = file != NULL ? file + 1 : path;
	if (strcmp(label_text(p, sample, MW_LABEL_HELD), "data") != 0)
		snprintf(name, NAME_BYTES, "%s", name_of(p, number, buffer));
	else if (root->line_count > 0)
		snprintf(name, NAME_BYTES, "the variable %s in %s", name_of(p, number, buffer),
			 file);
	else if (root->mapping != 0)
		snprintf(name, NAME_BYTES, "data at %s",
			 mw_location_name(p, number, buffer, sizeof(buffer)));
	else
		snprintf(name, NAME_BYTES, "memory that the program mapped, at 0x%" PRIx64,
			 root->address);
}

/* One text for each stack of a block, without those who hold it. */
static void name_stack(const mw_profile_t *p, const mw_sample_t *sample, char name[NAME_BYTES]) {
	size_t depth = sample->depth - 1 - has_through(p, sample), used = 0;
	*name = '\0';
	for (size_t i = 0; i < depth && used + 12 < NAME_BYTES; i++)
		used += (size_t)snprintf(name + used, NAME_BYTES - used, "%" PRIx32 " ",
					 p->frames[sample->frame_first + i]);
}

typedef struct holder {
	const part_t *root;
	parts_t through, stacks;
} holder_t;

static void gather(const mw_profile_t *p, holder_t *holder) {
	char name[NAME_BYTES], buffer[NAME_BYTES];
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_sample_t *sample = &p->samples[i];
		const int64_t *values = mw_profile_values(p, i);
		name_root(p, sample, name);
		if (strcmp(name, holder->root->name) != 0)
			continue;
		if (has_through(p, sample))
			add_part(&holder->through, name_of(p, frame_of(p, sample, 1), buffer), i,
				 values);
		name_stack(p, sample, name);
		add_part(&holder->stacks, name, i, values);
	}
	sort_parts(&holder->through);
	sort_parts(&holder->stacks);
}

static void release(holder_t *holder) {
	release_parts(&holder->through);
	release_parts(&holder->stacks);
}

static void find_roots(const mw_profile_t *p, parts_t *roots) {
	char name[NAME_BYTES];
	for (size_t i = 0; i < p->sample_count; i++) {
		name_root(p, &p->samples[i], name);
		add_part(roots, name, i, mw_profile_values(p, i));
	}
	sort_parts(roots);
}

/* ---- text ---- */

static void print_amount(const part_t *part) {
	char bytes[32], blocks[32];
	printf("%s in %s", mw_format_bytes(part->bytes, bytes, sizeof(bytes)),
	       mw_format_counted(part->objects, "block", blocks, sizeof(blocks)));
}

static void print_stack(const mw_growth_report_t *r, const part_t *part) {
	const mw_profile_t *p = r->profile;
	mw_sample_t sample = p->samples[part->sample];
	sample.depth -= 1 + has_through(p, &p->samples[part->sample]);
	fputs("    allocated  ", stdout);
	print_amount(part);
	putchar('\n');
	mw_stack_print_frames(stdout, p, &sample, false, r->columns);
}

static void print_holder(const mw_growth_report_t *r, const part_t *root, size_t number) {
	holder_t holder = {.root = root};
	gather(r->profile, &holder);
	printf("#%zu  ", number);
	print_amount(root);
	fputs(", held by ", stdout);
	mw_text_print(stdout, root->name);
	putchar('\n');
	for (size_t i = 0; i < holder.through.count && i < SHOWN_MAX; i++) {
		fputs("    through    ", stdout);
		print_amount(&holder.through.all[i]);
		fputs(" on blocks of ", stdout);
		mw_text_print(stdout, holder.through.all[i].name);
		putchar('\n');
	}
	size_t shown = 0;
	for (; shown < holder.stacks.count && shown < SHOWN_MAX; shown++)
		print_stack(r, &holder.stacks.all[shown]);
	if (shown < holder.stacks.count)
		printf("    ... and %zu more stacks\n", holder.stacks.count - shown);
	putchar('\n');
	release(&holder);
}

static void print_title(const mw_growth_report_t *r, const parts_t *roots) {
	const mw_profile_t *p = r->profile;
	part_t sum = {.bytes = 0};
	char rate[32], age[32];
	for (size_t i = 0; i < roots->count; i++) {
		sum.bytes += roots->all[i].bytes;
		sum.objects += roots->all[i].objects;
	}
	mw_text_print(stdout, mw_profile_string(p, p->origin.program));
	printf(" (pid %" PRIu32 "): ", p->origin.pid);
	print_amount(&sum);
	printf(" allocated in the last %s, in use and reachable\n",
	       mw_format_nanoseconds((int64_t)(r->seconds * 1e9), age, sizeof(age)));
	if (p->period > 1)
		printf("  one sample in %s: sizes and counts are estimates\n",
		       mw_format_bytes(p->period, rate, sizeof(rate)));
	if (r->missing > 0)
		printf("  the state file is full: %" PRIu64 " sampled blocks are missing\n",
		       r->missing);
	putchar('\n');
}

int mw_growth_print_text(const mw_growth_report_t *r, mw_error_t *error) {
	(void)error;
	parts_t roots = {.all = NULL};
	find_roots(r->profile, &roots);
	print_title(r, &roots);
	size_t shown = 0;
	for (; shown < roots.count && (r->row_limit == 0 || shown < r->row_limit); shown++)
		print_holder(r, &roots.all[shown], shown + 1);
	if (shown < roots.count)
		printf("... and %zu more holders\n", roots.count - shown);
	release_parts(&roots);
	return 0;
}

/* ---- JSON ---- */

static json_t *part_json(const part_t *part) {
	return json_pack("{s:I,s:I}", "bytes", (json_int_t)part->bytes, "blocks",
			 (json_int_t)part->objects);
}

static json_t *holder_json(const mw_growth_report_t *r, const part_t *root) {
	const mw_profile_t *p = r->profile;
	holder_t holder = {.root = root};
	json_t *through = json_array(), *stacks = json_array(), *value = part_json(root);
	gather(p, &holder);
	for (size_t i = 0; i < holder.through.count; i++) {
		json_t *entry = part_json(&holder.through.all[i]);
		json_object_set_new(entry, "function", mw_json_text(holder.through.all[i].name));
		json_array_append_new(through, entry);
	}
	for (size_t i = 0; i < holder.stacks.count; i++) {
		size_t number = holder.stacks.all[i].sample;
		mw_sample_t sample = p->samples[number];
		sample.depth -= 1 + has_through(p, &p->samples[number]);
		json_t *entry = part_json(&holder.stacks.all[i]);
		json_object_set_new(entry, "frames", mw_frames_json(p, &sample));
		json_array_append_new(stacks, entry);
	}
	json_object_set_new(value, "kind",
			    mw_json_text(label_text(p, &p->samples[root->sample], MW_LABEL_HELD)));
	json_object_set_new(value, "name", mw_json_text(root->name));
	json_object_set_new(value, "through", through);
	json_object_set_new(value, "stacks", stacks);
	release(&holder);
	return value;
}

int mw_growth_print_json(const mw_growth_report_t *r, mw_error_t *error) {
	(void)error;
	const mw_profile_t *p = r->profile;
	parts_t roots = {.all = NULL};
	json_t *list = json_array();
	find_roots(p, &roots);
	for (size_t i = 0; i < roots.count && (r->row_limit == 0 || i < r->row_limit); i++)
		json_array_append_new(list, holder_json(r, &roots.all[i]));
	json_t *value =
		json_pack("{s:s,s:o,s:I,s:I,s:f,s:I,s:o}", "view", "growth", "program",
			  mw_json_text(mw_profile_string(p, p->origin.program)), "pid",
			  (json_int_t)p->origin.pid, "mean_bytes", (json_int_t)p->period, "seconds",
			  r->seconds, "holder_count", (json_int_t)roots.count, "holders", list);
	release_parts(&roots);
	return mw_print_json(value);
}
