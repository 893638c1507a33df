/* SPDX-License-Identifier: MIT
 * mapped_code.c -- reads /proc/<pid>/maps and opens /proc/<pid>/map_files. */
#include "live/outside/code/mapped_code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/files/regular_file.h"
#include "live/process/maps.h"
#include "live/process/process.h"
#include "model/memory.h"
#include "model/profile.h"
#include "state/attach.h"

/* Most files that are looked at: each takes a descriptor. */
#define MODULES_MAX 600
/* The code of `mallow attach` has fewer bytes, and its notes are in the first HEAD_BYTES. */
#define BLOB_BYTES_MAX ((size_t)1 << 20)
#define HEAD_BYTES ((size_t)4096)

/* Code without a file is told apart by its address. */
static bool is_of(const mw_map_t *map, const mw_outside_module_t *module) {
	return module->inode == map->inode && module->device == map->device &&
	       (map->inode != 0 || module->base == map->start);
}

static size_t find(const mw_outside_modules_t *modules, const mw_map_t *map) {
	size_t i = 0;
	while (i < modules->count && !is_of(map, &modules->all[i]))
		i++;
	return i;
}

/* The kernel's links take CAP_CHECKPOINT_RESTORE: without it a file is opened by its name, and is
 * taken if it is the one that is mapped. */
static int open_mapped(int pid, const mw_map_t *map) {
	char path[64], *named = NULL;
	struct stat info;
	int thread = mw_process_thread(pid);
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, thread, map->start,
		 map->limit);
	int fd = mw_open_regular_file(path);
	if (fd >= 0 || (errno != EPERM && errno != EACCES))
		return fd;
	if (asprintf(&named, "/proc/%d/root%s", thread, map->name) < 0)
		return -1;
	fd = mw_open_regular_file(named);
	free(named);
	if (fd >= 0 &&
	    (fstat(fd, &info) != 0 || info.st_dev != map->device || info.st_ino != map->inode)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Returns a file without a name that has the bytes, or -1. */
static int file_of(const void *memory, size_t bytes) {
	int fd = memfd_create("code", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, memory, bytes) != (ssize_t)bytes) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The code that the kernel maps into each process is the same in this one. */
static int copy_vdso(const mw_map_t *map) {
	const void *own = (const void *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	size_t bytes = (size_t)(map->limit - map->start);
	mw_maps_t maps;
	mw_map_t its = {.start = 0};
	bool is_same = own != NULL && mw_maps_open(&maps, getpid());
	if (!is_same)
		return -1;
	while (mw_maps_next(&maps, "", &its) && its.start != (uint64_t)(uintptr_t)own)
		continue;
	mw_maps_close(&maps);
	if (its.start != (uint64_t)(uintptr_t)own || its.limit - its.start != bytes)
		return -1;
	return file_of(own, bytes);
}

/* Whether the first bytes of a mapping are those of the code of `mallow attach` (state/attach.h).
 */
static bool is_blob_head(const void *head, size_t bytes) {
	static const struct {
		uint32_t name_bytes, value_bytes, type;
		char name[sizeof(MW_ATTACH_NOTE_OWNER)];
	} note = {sizeof(MW_ATTACH_NOTE_OWNER), sizeof(mw_attach_note_t), MW_ATTACH_NOTE_TYPE,
		  MW_ATTACH_NOTE_OWNER};
	size_t length = offsetof(__typeof__(note), name) + sizeof(note.name);
	return bytes > SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0 &&
	       memmem(head, bytes, &note, length) != NULL;
}

/* Copies the code that `mallow attach` has put into the process, with its unwind tables. */
static int copy_blob(int pid, const mw_map_t *map) {
	char path[64];
	uint8_t head[HEAD_BYTES];
	Elf64_Ehdr *image = NULL;
	int fd = -1;
	size_t bytes = (size_t)(map->limit - map->start);
	snprintf(path, sizeof(path), "/proc/%d/mem", mw_process_thread(pid));
	int memory = open(path, O_RDONLY | O_CLOEXEC);
	/* Code of JIT compilers has no file either. */
	if (memory >= 0 && bytes >= HEAD_BYTES && bytes <= BLOB_BYTES_MAX &&
	    pread(memory, head, HEAD_BYTES, (off_t)map->start) == (ssize_t)HEAD_BYTES &&
	    is_blob_head(head, HEAD_BYTES))
		image = mw_xcalloc(1, bytes);
	if (image != NULL && pread(memory, image, bytes, (off_t)map->start) == (ssize_t)bytes) {
		/* The table of sections is not in memory. */
		image->e_shoff = 0;
		image->e_shnum = image->e_shstrndx = 0;
		fd = file_of(image, bytes);
	}
	free(image);
	if (memory >= 0)
		close(memory);
	return fd;
}

static bool has_no_file(const mw_map_t *map) {
	return map->inode == 0 && map->name[0] == '\0';
}

static bool is_vdso(const mw_map_t *map) {
	return map->inode == 0 && strcmp(map->name, "[vdso]") == 0;
}

static bool add(mw_outside_modules_t *modules, int pid, const mw_map_t *map, uint64_t base) {
	int fd = -1;
	if (modules->count < MODULES_MAX)
		fd = is_vdso(map)       ? copy_vdso(map)
		     : has_no_file(map) ? copy_blob(pid, map)
					: open_mapped(pid, map);
	if (fd < 0)
		return false;
	modules->all = mw_grow(modules->all, &modules->capacity, modules->count + 1,
			       sizeof(*modules->all));
	modules->all[modules->count++] = (mw_outside_module_t){
		.fd = fd,
		.device = map->device,
		.inode = map->inode,
		.base = base,
		.path = mw_xstrdup(has_no_file(map) ? MW_ATTACH_MAPPING : map->name),
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
		if (map.inode == 0 && !is_vdso(&map) && !has_no_file(&map))
			continue;
		if (map.inode == 0 || map.inode != inode || map.device != device)
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
