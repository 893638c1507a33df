/* SPDX-License-Identifier: MIT
 * report_json.h -- a profile's stacks as JSON.
 * Layer: cmd/report. */
#ifndef MW_TOOL_CMD_REPORT_REPORT_JSON_H
#define MW_TOOL_CMD_REPORT_REPORT_JSON_H

#include <jansson.h>

#include "model/error.h"
#include "model/profile.h"
#include "report/report.h"

/* Prints the stacks that `options` ask for, largest first, with exact numbers.  Returns the exit
 * status, or -1 with `error` filled in. */
int mw_report_json(const mw_profile_t *profile, const mw_report_options_t *options,
		   mw_error_t *error);

/* Returns the frames of a sample, leaf first: function, file and line. */
json_t *mw_frames_json(const mw_profile_t *profile, const mw_sample_t *sample);

#endif
