/* SPDX-License-Identifier: MIT
 * mapped_file.h -- whether a file without a build-id is the one that a program had loaded.
 * Layer: symbol/files.  A new file may have taken the place of one that is mapped. */
#ifndef MW_TOOL_SYMBOL_FILES_MAPPED_FILE_H
#define MW_TOOL_SYMBOL_FILES_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* False if the open file was written or put at its path after a program had loaded its file from
 * there (CLOCK_REALTIME, 0 = not known), and the live process `pid` (0 = none) does not have the
 * open file mapped at the address.  True also where the time is not known. */
bool mw_mapped_file_is(int fd, int64_t loaded_ns, uint32_t pid, uint64_t address);

#endif
