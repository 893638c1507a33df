/* SPDX-License-Identifier: MIT
 * state_header.h -- the header of a state file, the first thing that is read of it.
 * Layer: formats/file. */
#ifndef MW_TOOL_FORMATS_FILE_STATE_HEADER_H
#define MW_TOOL_FORMATS_FILE_STATE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "state/layout.h"

/* True if the file begins like a state file.  The rest may still be damaged. */
bool mw_state_file_is_magic(const void *bytes, size_t length);

/* True if the file begins with zeros: its process has not written the header yet. */
bool mw_state_file_is_blank(const char *path);

/* True if the file is a state file of another version of the layout. */
bool mw_state_file_is_of_other_layout(const char *path);

/* Reads the header, and checks it without the sections.  Waits a second at most for a process that
 * has just created the file.  Returns 0; -1: it is no state file that this command reads, and
 * `error`, which begins with `name`, says why. */
int mw_state_header_read(int fd, const char *name, mw_state_header_t *header, mw_error_t *error);

/* Copies exactly `length` bytes.  Returns 0; -1: the file has fewer. */
int mw_state_file_read_exactly(int fd, const char *name, void *into, uint64_t offset, size_t length,
			       mw_error_t *error);

#endif
