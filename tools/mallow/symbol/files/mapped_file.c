/* SPDX-License-Identifier: MIT
 * mapped_file.c -- compares the times of a file, and the mappings of a live process. */
#include "symbol/files/mapped_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

/* Returns the number of the file that the process has mapped at the mapping's start; 0 = none. */
static uint64_t mapped_inode(uint32_t pid, uint64_t address) {
	char path[64], line[8192];
	uint64_t start, limit, inode, found = 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	FILE *maps = fopen(path, "re");
	if (maps == NULL)
		return 0;
	while (found == 0 && fgets(line, sizeof(line), maps) != NULL)
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %" SCNu64, &start, &limit,
			   &inode) == 3 &&
		    start <= address && address < limit)
			found = inode;
	fclose(maps);
	return found;
}

bool mw_mapped_file_is(int fd, int64_t loaded_ns, uint32_t pid, uint64_t address) {
	struct stat file;
	if (loaded_ns == 0 || fstat(fd, &file) != 0)
		return true;
	/* A file that is renamed has its time of modification, and a new time of change. */
	int64_t changed_ns = (int64_t)file.st_ctim.tv_sec * 1000000000 + file.st_ctim.tv_nsec;
	if (changed_ns <= loaded_ns)
		return true;
	/* The file itself may have been renamed or got other rights. The device is not compared:
	 * with overlayfs and btrfs /proc/<pid>/maps has another one than stat(2). */
	return pid != 0 && mapped_inode(pid, address) == (uint64_t)file.st_ino;
}
