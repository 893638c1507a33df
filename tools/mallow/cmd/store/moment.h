/* SPDX-License-Identifier: MIT
 * moment.h -- times as users write them.
 * Layer: cmd/store. */
#ifndef MW_TOOL_CMD_STORE_MOMENT_H
#define MW_TOOL_CMD_STORE_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

/* Parses a time: "5m", "-90s" or "1d" ago, "14:30" or "14:30:05" in the last 24 hours,
 * "2026-11-30" or "2026-11-30T14:30" (local time; UTC with a Z at the end), "@1795824000" seconds
 * since 1970, "now".  False: it is no time. */
bool mw_moment_parse(const char *text, int64_t now_ns, int64_t *time_ns);

#endif
