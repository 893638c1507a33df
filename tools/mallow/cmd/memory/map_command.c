/* SPDX-License-Identifier: MIT
 * map_command.c -- `mallow map`: chunks, pages and holes of a heap. */
#include <jansson.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/pager.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "cmd/input/load.h"
#include "cmd/input/selected_processes.h"
#include "cmd/memory/heap_map.h"
#include "cmd/memory/memory_commands.h"
#include "report/text/resident_text.h"

/* A letter for each mw_slice_kind_t, in JSON. */
static const char kind_letters[] = "fdmpslru";
_Static_assert(sizeof(kind_letters) == MW_SLICE_KINDS + 1, "one for each kind");

static json_t *chunk_json(const mw_state_chunk_t *chunk) {
	char kinds[MW_STATE_SLICES + 1] = {0}, start[32];
	json_t *blocks = json_array(), *used = json_array(), *touched = json_array(),
	       *holes = json_array();
	for (size_t i = 0; i < MW_STATE_SLICES; i++) {
		const mw_state_slice_t *slice = &chunk->slices[i];
		kinds[i] = slice->kind < MW_SLICE_KINDS ? kind_letters[slice->kind] : 'u';
		json_array_append_new(blocks,
				      json_integer(slice->block_units * MW_STATE_BLOCK_UNIT_BYTES));
		json_array_append_new(used, json_integer(slice->used_blocks));
		json_array_append_new(touched, json_integer(slice->touched_blocks));
		json_array_append_new(holes, json_integer(slice->hole_pages));
	}
	snprintf(start, sizeof(start), "0x%llx", (unsigned long long)chunk->start);
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "start", start, "kinds", kinds,
			 "block_bytes", blocks, "used", used, "touched", touched, "holes", holes);
}

static json_t *size_json(const mw_map_size_t *size) {
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "block_bytes",
			 (json_int_t)size->block_bytes, "pages", (json_int_t)size->pages, "sparse",
			 (json_int_t)size->sparse_pages, "used_bytes", (json_int_t)size->used_bytes,
			 "free_bytes", (json_int_t)size->free_bytes, "hole_bytes",
			 (json_int_t)size->hole_bytes);
}

static int print_json(const mw_resident_t *resident, const mw_snapshot_t *snapshot,
		      const mw_heap_map_t *map) {
	json_t *chunks = json_array(), *sizes = json_array();
	for (size_t i = 0; i < map->chunk_count; i++)
		json_array_append_new(chunks, chunk_json(map->chunks[i].slices));
	for (size_t i = 0; i < map->size_count; i++)
		json_array_append_new(sizes, size_json(&map->sizes[i]));
	json_t *value = json_object();
	json_object_set_new(value, "view", json_string("map"));
	json_object_set_new(value, "program", mw_json_text(snapshot->header.program));
	json_object_set_new(value, "pid", json_integer(snapshot->header.pid));
	json_object_set_new(value, "time_ns",
			    json_integer((json_int_t)snapshot->live.heap_walk_realtime_ns));
	if (resident->bytes > 0)
		json_object_set_new(value, "resident",
				    mw_resident_json(resident, mw_arenas_of_snapshot(snapshot)));
	json_object_set_new(value, "slice_bytes", json_integer(MW_STATE_SLICE_BYTES));
	json_object_set_new(value, "used_bytes", json_integer((json_int_t)map->used_bytes));
	json_object_set_new(value, "free_bytes", json_integer((json_int_t)map->free_bytes));
	json_object_set_new(value, "hole_bytes", json_integer((json_int_t)map->hole_bytes));
	json_object_set_new(value, "large_bytes", json_integer((json_int_t)map->large_bytes));
	json_object_set_new(value, "kept_bytes",
			    json_integer((json_int_t)(map->kind_bytes[MW_SLICE_DIRTY] +
						      map->kind_bytes[MW_SLICE_MUZZY])));
	json_object_set_new(value, "chunks_in_all", json_integer((json_int_t)map->chunks_in_all));
	json_object_set_new(value, "free_chunks", json_integer((json_int_t)map->free_chunks));
	json_object_set_new(value, "sizes", sizes);
	json_object_set_new(value, "chunks", chunks);
	return mw_print_json_compact(value);
}

/* The map is of malloc's memory: how much that is of all. */
static void print_resident(const mw_resident_t *resident, const mw_snapshot_t *snapshot) {
	char text[MW_RESIDENT_TEXT_BYTES];
	mw_resident_print(stdout, mw_resident_text(resident, mw_arenas_of_snapshot(snapshot), text),
			  mw_terminal_columns(stdout), "", "  ");
}

static void print_text(const mw_resident_t *resident, const mw_snapshot_t *snapshot,
		       const mw_heap_map_t *map) {
	char program[MW_SHOW_BYTES * 4], time[MW_SHOW_BYTES];
	setlocale(LC_CTYPE, "");
	printf("pid %u %s: %llu chunks", snapshot->header.pid,
	       mw_show_text(snapshot->header.program, program, sizeof(program)),
	       (unsigned long long)map->chunks_in_all);
	if (map->free_chunks > 0)
		printf(", %llu of them wholly given back", (unsigned long long)map->free_chunks);
	if (map->chunk_count + map->free_chunks < map->chunks_in_all)
		printf(", the %zu with most free memory are shown", map->chunk_count);
	printf("; the heap as of %s\n", mw_show_time(snapshot->live.heap_walk_realtime_ns, time));
	print_resident(resident, snapshot);
	putchar('\n');
	mw_heap_map_print(map, strcmp(nl_langinfo(CODESET), "UTF-8") == 0);
	printf("  'mallow report --sample-type pinned_space %u' names whose blocks keep the free "
	       "memory\n",
	       snapshot->header.pid);
}

static int show_map(const mw_target_t *target, const void *context, mw_error_t *error) {
	mw_snapshot_t *snapshot;
	mw_heap_map_t map;
	if (!target->is_state)
		return mw_error_set(error,
				    "%s: this is not a state file; 'mallow map' takes a pid or a "
				    "state file",
				    target->shown);
	mw_heap_walk_request(target);
	if (mw_target_read(target, MW_SNAPSHOT_HEAP_WALK, &snapshot, error) != 0)
		return -1;
	if (snapshot->chunk_count == 0) {
		mw_snapshot_free(snapshot);
		return mw_error_set(error,
				    "%s: the process has not walked its heap yet; try again later",
				    target->shown);
	}
	const mw_arguments_t *arguments = context;
	const mw_number_value_t *top = &arguments->options.top;
	mw_heap_map_make(&map, snapshot, top->given ? (size_t)top->number : 0);
	int status = MW_EXIT_FINE;
	const mw_resident_t resident = mw_resident_of_target(target, snapshot);
	if (arguments->options.json.given)
		status = print_json(&resident, snapshot, &map);
	else
		print_text(&resident, snapshot, &map);
	mw_heap_map_free(&map);
	mw_snapshot_free(snapshot);
	return status;
}

int mw_cmd_map(const mw_arguments_t *arguments) {
	mw_pager_begin(arguments);
	return mw_on_selected(arguments, show_map, arguments);
}
