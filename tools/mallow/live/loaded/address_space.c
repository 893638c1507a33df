/* SPDX-License-Identifier: MIT
 * address_space.c -- reads /proc/<pid>/maps and /proc/<pid>/mem. */
#include "live/loaded/address_space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/memory.h"

int mw_address_space_open(int thread, mw_address_space_t *out) {
	char path[64];
	mw_maps_t maps;
	mw_map_t map;
	snprintf(path, sizeof(path), "/proc/%d/mem", thread);
	*out = (mw_address_space_t){.memory = open(path, O_RDWR | O_CLOEXEC)};
	if (out->memory < 0 || !mw_maps_open(&maps, thread))
		return -1;
	while (mw_maps_next(&maps, "", &map)) {
		out->maps = mw_grow(out->maps, &out->capacity, out->count + 1, sizeof(*out->maps));
		map.name = NULL;
		out->maps[out->count++] = map;
	}
	mw_maps_close(&maps);
	errno = ESRCH;
	return out->count > 0 ? 0 : -1;
}

void mw_address_space_close(mw_address_space_t *space) {
	if (space->memory >= 0)
		close(space->memory);
	free(space->maps);
	*space = (mw_address_space_t){.memory = -1};
}

const mw_map_t *mw_address_space_at(const mw_address_space_t *space, uint64_t address) {
	size_t low = 0, high = space->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (address >= space->maps[middle].limit)
			low = middle + 1;
		else
			high = middle;
	}
	return low < space->count && address >= space->maps[low].start ? &space->maps[low] : NULL;
}

const mw_map_t *mw_address_space_in_file(const mw_address_space_t *space, const mw_map_t *map,
					 uint64_t address, uint64_t bytes) {
	const mw_map_t *found = mw_address_space_at(space, address);
	return found != NULL && found->inode == map->inode && found->device == map->device &&
			       found->limit - address >= bytes
		       ? found
		       : NULL;
}

bool mw_address_space_read(const mw_address_space_t *space, uint64_t address, void *out,
			   size_t bytes) {
	return address <= INT64_MAX &&
	       pread(space->memory, out, bytes, (off_t)address) == (ssize_t)bytes;
}

mw_module_table_t mw_relro_pages(uint64_t address, uint64_t bytes) {
	uint64_t mask = ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	uint64_t start = address & mask;
	return (mw_module_table_t){start, ((address + bytes) & mask) - start};
}
