/* SPDX-License-Identifier: MIT
 * local_time.h -- local time without libc's localtime(3), which locks and allocates.
 * Layer: os/file. Async-signal-safe, errno kept. Each call reads the zone's file (RFC 8536), so
 * that a change of /etc/localtime takes effect. */
#ifndef MW_OS_LOCAL_TIME_H
#define MW_OS_LOCAL_TIME_H

#include <stdint.h>

typedef struct mw_local_time {
	int year;
	unsigned month, day, hour, minute, second; /* month and day count from 1 */
} mw_local_time_t;

/* Stores the value of $TZ, once, at start-up. NULL: $TZ is not set. */
void mw_os_set_zone(const char *tz);
/* Returns local time, or UTC if the zone's file cannot be read. A zone given as a rule
 * ("CET-1CEST,M3.5.0,M10.5.0") keeps its standard offset all year. */
mw_local_time_t mw_os_local_time(uint64_t realtime_ns);

#endif
