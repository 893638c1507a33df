/* SPDX-License-Identifier: MIT
 * thread_stacks.c -- finds the stacks by /proc/<pid>/task/<id>/syscall and the mappings. */
#include "live/pages/thread_stacks.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/process/maps.h"
#include "model/memory.h"
#include "state/stats.h"

#define PAGE_BYTES ((uint64_t)sysconf(_SC_PAGESIZE))

typedef struct stack {
	mw_thread_stack_t out;
	uint64_t pointer;
} stack_t;

static bool read_line(int pid, int thread, const char *file, char *line, int size) {
	char path[80];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, thread, file);
	FILE *in = fopen(path, "re");
	bool is_read = in != NULL && fgets(line, size, in) != NULL;
	if (in != NULL)
		fclose(in);
	return is_read;
}

/* Returns a waiting thread's stack pointer: the last number but one.  0: it runs, or the kernel
 * refuses. */
static uint64_t stack_pointer(int pid, int thread) {
	char line[512];
	if (!read_line(pid, thread, "syscall", line, sizeof(line)))
		return 0;
	char *last = strrchr(line, ' ');
	if (last == NULL)
		return 0;
	*last = '\0';
	char *pointer = strrchr(line, ' ');
	return pointer != NULL ? strtoull(pointer, NULL, 16) : 0;
}

static stack_t *list_threads(int pid, size_t *count) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *directory = opendir(path);
	stack_t *all = NULL;
	size_t capacity = 0;
	*count = 0;
	for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
		int thread = atoi(entry->d_name);
		uint64_t pointer = thread > 0 && thread != pid ? stack_pointer(pid, thread) : 0;
		if (pointer == 0)
			continue;
		all = mw_grow(all, &capacity, *count + 1, sizeof(*all));
		stack_t *stack = &all[(*count)++];
		*stack = (stack_t){.out.thread = thread, .pointer = pointer};
		if (read_line(pid, thread, "comm", stack->out.name, sizeof(stack->out.name)))
			stack->out.name[strcspn(stack->out.name, "\n")] = '\0';
	}
	if (directory != NULL)
		closedir(directory);
	return all;
}

static int compare_pointers(const void *left, const void *right) {
	const stack_t *a = left, *b = right;
	return (a->pointer > b->pointer) - (a->pointer < b->pointer);
}

/* Returns the end of the page with the lowest thread pointer above `address`, which stands on the
 * last page of the thread's stack.  A thread that never allocated tells none: then the page of the
 * stack pointer, above which little of a waiting thread's stack lies. */
static uint64_t end_of_stack(const mw_snapshot_t *snapshot, uint64_t address, uint64_t limit) {
	uint64_t lowest = limit;
	for (size_t i = 0; i < snapshot->range_count; i++) {
		const mw_state_range_t *range = &snapshot->ranges[i];
		if (range->kind == MW_RANGE_THREAD && range->start >= address &&
		    range->start < lowest)
			lowest = range->start;
	}
	return (lowest < limit ? lowest : address) / PAGE_BYTES * PAGE_BYTES + PAGE_BYTES;
}

/* Sets the resident bytes of the stacks in a mapping: each begins where the one below it ends. */
static void take_mapping(const mw_snapshot_t *snapshot, mw_block_pages_t *pages,
			 const mw_map_t *map, stack_t *stacks, size_t count) {
	uint64_t from = map->start;
	for (size_t i = 0; i < count; i++) {
		mw_page_bytes_t bytes;
		if (stacks[i].pointer < from || stacks[i].pointer >= map->limit)
			continue;
		uint64_t end = end_of_stack(snapshot, stacks[i].pointer, map->limit);
		if (end > from && mw_block_pages_read(pages, from, end - from, &bytes))
			stacks[i].out.resident_bytes = bytes.resident;
		from = end > from ? end : from;
	}
}

mw_thread_stack_t *mw_thread_stacks_read(int pid, const mw_snapshot_t *snapshot,
					 mw_block_pages_t *pages, size_t *count) {
	size_t threads;
	stack_t *stacks = list_threads(pid, &threads);
	mw_thread_stack_t *out = mw_xcalloc(threads, sizeof(*out));
	mw_maps_t maps;
	mw_map_t map;
	*count = 0;
	if (threads > 1)
		qsort(stacks, threads, sizeof(*stacks), compare_pointers);
	if (threads > 0 && mw_maps_open(&maps, pid)) {
		while (mw_maps_next(&maps, "", &map))
			if (map.inode == 0 && map.is_writable)
				take_mapping(snapshot, pages, &map, stacks, threads);
		mw_maps_close(&maps);
	}
	for (size_t i = 0; i < threads; i++)
		if (stacks[i].out.resident_bytes > 0)
			out[(*count)++] = stacks[i].out;
	free(stacks);
	return out;
}
