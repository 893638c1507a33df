/* SPDX-License-Identifier: MIT
 * otlp.h -- a profile as OpenTelemetry's signal "profiles" has it, version v1development.
 * Layer: push/encode.  An ExportProfilesServiceRequest has one Profile for each sample type, one
 * value in each sample, and tables that all profiles share (the dictionary). */
#ifndef MW_TOOL_PUSH_ENCODE_OTLP_H
#define MW_TOOL_PUSH_ENCODE_OTLP_H

#include <stdbool.h>

#include "push/encode/message.h"
#include "store/profile_store.h"

/* Below the address of the receiver. */
#define MW_OTLP_PATH "/v1development/profiles"

/* Writes the request, which is not compressed.  False: the profile has no sample of the kind, and
 * there is nothing to send. */
bool mw_otlp_request(const mw_put_t *put, mw_message_t *out);

/* Reads an ExportProfilesServiceResponse.  -1: the receiver has rejected profiles; `error` has its
 * words. */
int mw_otlp_answer(const void *bytes, size_t length, mw_error_t *error);

#endif
