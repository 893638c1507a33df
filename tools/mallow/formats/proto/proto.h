/* SPDX-License-Identifier: MIT
 * proto.h -- reads and writes profile.proto, the format of pprof.
 * Layer: formats/proto.  The folder's door; wire.h is the encoding below. */
#ifndef MW_TOOL_FORMATS_PROTO_PROTO_H
#define MW_TOOL_FORMATS_PROTO_PROTO_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/file/output.h"
#include "model/error.h"
#include "model/profile.h"

/* True if `bytes` may be the beginning of a profile, which may be cut at any byte. */
bool mw_may_be_proto(const char *bytes, size_t length);
/* Fills in an empty profile.  `name` appears in messages. */
int mw_read_proto(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		  mw_error_t *error);

/* Writes a profile.  Write errors are kept in `output`. */
void mw_write_proto(const mw_profile_t *profile, mw_output_t *output);

#endif
