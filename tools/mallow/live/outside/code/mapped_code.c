/* SPDX-License-Identifier: MIT
 * mapped_code.c -- reads /proc/<pid>/maps and opens /proc/<pid>/map_files. */
#include "live/outside/code/mapped_code.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/files/regular_file.h"
#include "live/process/maps.h"
#include "live/process/process.h"
#include "model/memory.h"

/* Most files that are looked at: each takes a descriptor. */
#define MODULES_MAX 600

static size_t find(const mw_outside_modules_t *modules, const mw_map_t *map) {
	size_t i = 0;
	while (i < modules->count &&
	       (modules->all[i].inode != map->inode || modules->all[i].device != map->device))
		i++;
	return i;
}

static bool add(mw_outside_modules_t *modules, int pid, const mw_map_t *map, uint64_t base) {
	char path[96];
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
		 mw_process_thread(pid), map->start, map->limit);
	int fd = modules->count < MODULES_MAX ? mw_open_regular_file(path) : -1;
	if (fd < 0)
		return false;
	modules->all = mw_grow(modules->all, &modules->capacity, modules->count + 1,
			       sizeof(*modules->all));
	modules->all[modules->count++] = (mw_outside_module_t){
		.fd = fd,
		.device = map->device,
		.inode = map->inode,
		.base = base,
		.path = mw_xstrdup(map->name),
	};
	return true;
}

int mw_outside_modules_read(mw_outside_modules_t *modules, int pid, mw_error_t *error) {
	mw_maps_t maps;
	mw_map_t map;
	/* The first mapping of the file at hand: the lines of a file follow each other. */
	uint64_t base = 0;
	dev_t device = 0;
	ino_t inode = 0;
	if (!mw_maps_open(&maps, pid))
		return mw_error_set(error, "pid %d: cannot read its mappings: %s", pid,
				    strerror(errno));
	modules->range_count = 0;
	while (mw_maps_next(&maps, "", &map)) {
		if (map.inode == 0)
			continue;
		if (map.inode != inode || map.device != device)
			base = map.start;
		inode = map.inode;
		device = map.device;
		if (!map.is_code)
			continue;
		size_t module = find(modules, &map);
		if (module == modules->count && !add(modules, pid, &map, base))
			continue;
		modules->ranges = mw_grow(modules->ranges, &modules->range_capacity,
					  modules->range_count + 1, sizeof(*modules->ranges));
		modules->ranges[modules->range_count++] =
			(mw_outside_range_t){map.start, map.limit, map.offset, module};
	}
	mw_maps_close(&maps);
	return 0;
}

void mw_outside_modules_release(mw_outside_modules_t *modules) {
	for (size_t i = 0; i < modules->count; i++) {
		close(modules->all[i].fd);
		free(modules->all[i].path);
	}
	free(modules->all);
	free(modules->ranges);
	*modules = (mw_outside_modules_t){.all = NULL};
}

const mw_outside_range_t *mw_outside_modules_find(const mw_outside_modules_t *modules,
						  uint64_t address) {
	size_t low = 0, high = modules->range_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (modules->ranges[middle].limit <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const mw_outside_range_t *range = &modules->ranges[low];
	return low < modules->range_count && range->start <= address ? range : NULL;
}
