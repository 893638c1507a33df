/* SPDX-License-Identifier: MIT
 * stack_room.c -- looks at the mapping of a stack, and at what the kernel would add to it. */
#include "live/enter/stack_room.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/memory.h"

/* The kernel leaves so much between a stack that grows and the mapping below
 * (stack_guard_gap=256). */
#define PAGE_BYTES ((uint64_t)sysconf(_SC_PAGESIZE))
#define GROWTH_GAP_BYTES (256 * PAGE_BYTES)

/* Reads `name`, /proc/<pid>/task/<thread>/syscall or the end of that path from `folder` on. */
static uint64_t read_stack_pointer(int folder, const char *name) {
	char text[256];
	uint64_t rsp = 0;
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[bytes > 0 ? bytes : 0] = '\0';
	/* "CALL ARGUMENT0 ... ARGUMENT5 SP PC", "-1 SP PC", or "running". */
	return sscanf(text, "%*s %*s %*s %*s %*s %*s %*s %" SCNx64, &rsp) == 1 ? rsp : 0;
}

uint64_t mw_sleeper_stack_pointer(int pid, int thread) {
	char path[96];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, thread);
	return read_stack_pointer(AT_FDCWD, path);
}

mw_sleepers_t mw_sleepers_list(int pid) {
	char path[64], name[sizeof(((struct dirent *)NULL)->d_name) + sizeof("/syscall")];
	mw_sleepers_t threads = {0};
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *entries = opendir(path);
	for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
		int id = (int)strtol(entry->d_name, NULL, 10);
		if (id <= 0)
			continue;
		snprintf(name, sizeof(name), "%s/syscall", entry->d_name);
		threads.items = mw_grow(threads.items, &threads.capacity, threads.count + 1,
					sizeof(*threads.items));
		threads.items[threads.count++] =
			(struct mw_sleeper){id, read_stack_pointer(dirfd(entries), name)};
	}
	if (entries != NULL)
		closedir(entries);
	return threads;
}

/* Returns a limit of /proc/<pid>/limits; UINT64_MAX: "unlimited", 0: it cannot be read. */
static uint64_t limit_of(int pid, const char *key) {
	char path[64], line[256], number[32];
	size_t length = strlen(key);
	uint64_t limit = 0;
	snprintf(path, sizeof(path), "/proc/%d/limits", pid);
	FILE *file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, key, length) == 0 && sscanf(line + length, "%31s", number) == 1)
			limit = number[0] == 'u' ? UINT64_MAX : strtoull(number, NULL, 10);
	if (file != NULL)
		fclose(file);
	return limit;
}

/* Returns the address down to which the kernel lets the stack of the first thread grow. A process
 * with a limit of its address space may be at it. */
static uint64_t growth_end(const mw_address_space_t *space, int pid, const mw_map_t *stack) {
	uint64_t limit = limit_of(pid, "Max stack size") & ~(PAGE_BYTES - 1);
	uint64_t end = stack->limit > limit ? stack->limit - limit : 0;
	uint64_t gap_end = stack > space->maps ? stack[-1].limit + GROWTH_GAP_BYTES : 0;
	if (limit_of(pid, "Max address space") != UINT64_MAX)
		return stack->start;
	end = end > gap_end ? end : gap_end;
	return end < stack->start ? end : stack->start;
}

/* Returns whether a mapping ends at a guard: else it may have been merged with others, and other
 * data of the program may lie in it, such as the stacks of other threads. */
static bool has_guard(const mw_address_space_t *space, const mw_map_t *stack) {
	const mw_map_t *below = mw_address_space_at(space, stack->start - 1);
	return below != NULL && !below->is_readable && !below->is_writable && !below->is_code;
}

/* Returns whether another thread sleeps on a stack in this mapping: a program may have put several
 * stacks above one guard, and nothing says where one of them ends. */
static bool is_shared(const mw_sleepers_t *threads, int id, const mw_map_t *stack) {
	for (size_t i = 0; i < threads->count; i++)
		if (threads->items[i].id != id && threads->items[i].rsp >= stack->start &&
		    threads->items[i].rsp < stack->limit)
			return true;
	return false;
}

bool mw_stack_may_have_room(const mw_address_space_t *space, int pid, const mw_sleepers_t *threads,
			    int id, uint64_t rsp, uint64_t bytes) {
	const mw_map_t *stack = mw_address_space_at(space, rsp);
	if (stack == NULL || !stack->is_writable || is_shared(threads, id, stack))
		return false;
	if (rsp - stack->start >= bytes)
		return stack->is_stack || (!space->blocks_have_guards && has_guard(space, stack));
	return stack->is_stack && rsp - growth_end(space, pid, stack) >= bytes;
}
