/* SPDX-License-Identifier: MIT
 * local_time.h -- local time without libc's localtime(3), which locks and allocates.
 * Layer: os.  Async-signal-safe, errno kept.  Reads the zone's file (RFC 8536) each time, so that a
 * process follows a change of /etc/localtime. */
#ifndef MW_OS_LOCAL_TIME_H
#define MW_OS_LOCAL_TIME_H

#include <stdint.h>

typedef struct mw_local_time {
	int year;
	unsigned month, day, hour, minute, second; /* month and day from 1 */
} mw_local_time_t;

/* Keeps what $TZ says; once, at start-up.  NULL: not set. */
void mw_os_set_zone(const char *tz);
/* In UTC when the zone cannot be found.  Zones given as a rule ("CET-1CEST,M3.5.0,M10.5.0") are
 * taken at their standard offset. */
mw_local_time_t mw_os_local_time(uint64_t realtime_ns);

#endif
