/* SPDX-License-Identifier: MIT
 * cgroup.h -- memory limit of this process's control groups, versions 1 and 2.
 * Layer: os/file. No locks, never allocates, errno kept. A call reads about ten small files. It is
 * made at start-up and on requests from the command, not in allocations. */
#ifndef MW_OS_CGROUP_H
#define MW_OS_CGROUP_H

#include <stdint.h>

/* Returns the smallest of memory.max, memory.high (version 2) and memory.limit_in_bytes (version 1)
 * of the process's group and all groups around it that are visible in the mount namespace;
 * UINT64_MAX: there is no limit, or it is unknown. `root` is put before each path: "" for the real
 * files; tests pass a directory. */
uint64_t mw_os_cgroup_limit_bytes(const char *root);

#endif
