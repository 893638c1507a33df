/* SPDX-License-Identifier: MIT
 * cpu_file.h -- the legacy binary format of CPU profiles, in words of the machine:
 *   header   0, 3, 0, period in microseconds, 0
 *   stacks   samples, depth, addresses with the leaf first
 *   trailer  0, 1, 0
 * and behind it the text of /proc/self/maps. */
#ifndef MW_COMPAT_GPERFTOOLS_CPU_FILE_H
#define MW_COMPAT_GPERFTOOLS_CPU_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Writes all counts into the file, over its former content. Returns the bytes of its binary part;
 * 0: the file cannot be written. Async-signal-safe. */
size_t mw_gpc_file_write(const char *path, uint64_t period_us);

#endif
