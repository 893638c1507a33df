/* SPDX-License-Identifier: MIT
 * pyroscope.h -- a profile as Pyroscope's push takes it: JSON around a compressed profile.proto.
 * Layer: push/encode.  The folder's door.  otlp.h does the same for OpenTelemetry; message.h has
 * the encodings below both, kind_samples.h the part of a profile that is sent, profile_id.h the id.
 */
#ifndef MW_TOOL_PUSH_ENCODE_PYROSCOPE_H
#define MW_TOOL_PUSH_ENCODE_PYROSCOPE_H

#include <stdbool.h>

#include "push/encode/message.h"
#include "store/profile_store.h"

/* Below the address of the server. */
#define MW_PYROSCOPE_PATH "/push.v1.PusherService/Push"

/* Writes the request.  Returns 1; 0: the profile has no sample of the kind, and there is nothing to
 * send; -1: `error` says why it cannot be made. */
int mw_pyroscope_request(const mw_put_t *put, mw_message_t *out, mw_error_t *error);

/* Writes the profile.proto in the request, not compressed.  False: there is nothing to send. */
bool mw_pyroscope_profile(const mw_put_t *put, mw_message_t *out);

#endif
