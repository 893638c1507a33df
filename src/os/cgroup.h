/* SPDX-License-Identifier: MIT
 * cgroup.h -- the memory limit that the control groups of this process set, versions 1 and 2.
 * Layer: os.  No locks, never allocates, errno kept.  Some ten small files are read: for start-up
 * and for orders from outside, not for every allocation. */
#ifndef MW_OS_CGROUP_H
#define MW_OS_CGROUP_H

#include <stdint.h>

/* The smallest of memory.max, memory.high (version 2) and memory.limit_in_bytes (version 1) of the
 * process's group and all groups around it that this mount namespace shows; UINT64_MAX: none, or
 * not known.  `root` stands before every path: "" for the system's own, a directory with a made-up
 * tree in tests. */
uint64_t mw_os_cgroup_limit_bytes(const char *root);

#endif
