/* SPDX-License-Identifier: MIT
 * maps.c -- parses /proc/<pid>/maps. */
#include "live/process/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "live/files/apart.h"
#include "live/process/process.h"

/* How long the path of a mapped file is looked at. */
#define READING_MS 1000

bool mw_maps_open(mw_maps_t *maps, int pid) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/maps", mw_process_thread(pid));
	*maps = (mw_maps_t){.file = fopen(path, "re")};
	return maps->file != NULL;
}

static bool parse(char *line, mw_map_t *out) {
	char access[8];
	unsigned major_number, minor_number;
	uint64_t inode;
	int name_at = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &out->start, &out->limit, access, &out->offset, &major_number, &minor_number,
		   &inode, &name_at) < 7 ||
	    name_at == 0 || strlen(access) < 4 || out->start >= out->limit)
		return false;
	out->device = makedev(major_number, minor_number);
	out->inode = (ino_t)inode;
	out->is_readable = access[0] == 'r';
	out->is_writable = access[1] == 'w';
	out->is_code = access[2] == 'x';
	out->is_shared = access[3] == 's';
	out->name = line + name_at;
	out->name[strcspn(out->name, "\n")] = '\0';
	out->is_stack = strcmp(out->name, "[stack]") == 0;
	return true;
}

bool mw_maps_next(mw_maps_t *maps, const char *text, mw_map_t *out) {
	while (getline(&maps->line, &maps->capacity, maps->file) > 0)
		/* To search is cheaper than to parse. */
		if (strstr(maps->line, text) != NULL && parse(maps->line, out))
			return true;
	return false;
}

void mw_maps_close(mw_maps_t *maps) {
	free(maps->line);
	if (maps->file != NULL)
		fclose(maps->file);
	*maps = (mw_maps_t){0};
}

typedef struct file {
	const char *path;
	dev_t device;
	ino_t inode;
} file_t;

/* In a process of its own: the process has chosen the path, whose file system need not answer. */
static mw_apart_outcome_t is_at_path(const void *context, mw_error_t *error) {
	const file_t *file = context;
	struct stat info;
	(void)error;
	return stat(file->path, &info) == 0 && info.st_dev == file->device &&
			       info.st_ino == file->inode
		       ? MW_APART_DONE
		       : MW_APART_FAILED;
}

/* File systems with several devices, as overlays are, show another device number here than stat(2)
 * does.  map_files leads to the file itself, but only root may use it. */
static bool leads_to(int pid, const mw_map_t *map, dev_t device, ino_t inode) {
	char path[PATH_MAX + 64];
	struct statx info;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, map->start,
		 map->limit);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &info) == 0 &&
	    makedev(info.stx_dev_major, info.stx_dev_minor) == device && info.stx_ino == inode)
		return true;
	mw_process_file(pid, map->name, path, sizeof(path));
	const file_t file = {.path = path, .device = device, .inode = inode};
	return mw_apart_do(is_at_path, &file, READING_MS, NULL) == MW_APART_DONE;
}

bool mw_process_maps_file(int pid, dev_t device, ino_t inode) {
	mw_maps_t maps;
	mw_map_t map;
	bool is_mapped = false;
	char number[32];
	pid = mw_process_thread(pid);
	snprintf(number, sizeof(number), " %ju ", (uintmax_t)inode);
	if (!mw_maps_open(&maps, pid))
		return false;
	while (!is_mapped && mw_maps_next(&maps, number, &map))
		is_mapped = map.is_shared && map.is_writable && map.inode == inode &&
			    (map.device == device || leads_to(pid, &map, device, inode));
	mw_maps_close(&maps);
	errno = 0;
	return is_mapped;
}
