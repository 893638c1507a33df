/* SPDX-License-Identifier: MIT
 * metrics.h -- counters of the agent, and their page for Prometheus.
 * Layer: agent.  The agent and the processes that it starts share the counters: they lie in memory
 * that was mapped to be shared before the first of them started.  Each counter is one word, which
 * several may add to at once; the page reads each by itself. */
#ifndef MW_TOOL_AGENT_METRICS_H
#define MW_TOOL_AGENT_METRICS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"

/* METRIC(name, type, divisor, text): the page shows the value divided by the divisor. */
#define MW_METRIC_LIST(METRIC)                                                                     \
	METRIC(processes, gauge, 1, "Live processes that run mallow, as the last scan found them") \
	METRIC(unreadable, gauge, 1,                                                               \
	       "Processes that the last scan found beyond the most that it takes")                 \
	METRIC(scans_total, counter, 1, "Searches for processes")                                  \
	METRIC(scans_failed_total, counter, 1, "Searches that did not end in time")                \
	METRIC(profiles_total, counter, 1, "Profiles taken, of live and of ended processes")       \
	METRIC(profiles_last_total, counter, 1, "Profiles taken of processes that had ended")      \
	METRIC(profiles_failed_total, counter, 1, "Processes that could not be read when due")     \
	METRIC(profiles_late_total, counter, 1, "Processes whose reading was ended by the limit")  \
	METRIC(sent_total, counter, 1, "Profiles that the receiver has taken")                     \
	METRIC(refused_total, counter, 1, "Profiles that the receiver refused for good")           \
	METRIC(send_failures_total, counter, 1,                                                    \
	       "Tries after which the receiver is to be tried "                                    \
	       "again later")                                                                      \
	METRIC(lost_total, counter, 1, "Profiles removed from the spool for want of room")         \
	METRIC(lost_bytes_total, counter, 1, "Bytes of these")                                     \
	METRIC(spool_profiles, gauge, 1, "Profiles in the spool")                                  \
	METRIC(spool_bytes, gauge, 1, "Bytes of these")                                            \
	METRIC(spool_limit_bytes, gauge, 1, "Bound of the spool")                                  \
	METRIC(last_sent_time_seconds, gauge, 1,                                                   \
	       "When the receiver took a profile last, in "                                        \
	       "seconds since 1970; 0: not yet")                                                   \
	METRIC(configuration_errors_total, counter, 1, "Changed configurations that had mistakes") \
	METRIC(cpu_seconds_total, counter, 1e9,                                                    \
	       "CPU time of the agent and of processes of its "                                    \
	       "that have ended")

typedef struct mw_metrics {
#define MW_METRIC_FIELD(name, type, divisor, text) _Atomic uint64_t name;
	MW_METRIC_LIST(MW_METRIC_FIELD)
#undef MW_METRIC_FIELD
} mw_metrics_t;

/* Returns zeroed counters in shared memory, which stay until the process ends; NULL with an error.
 */
mw_metrics_t *mw_metrics_map(mw_error_t *error);

/* Relaxed: each counter is read by itself. */
static inline void mw_metric_add(_Atomic uint64_t *counter, uint64_t count) {
	atomic_fetch_add_explicit(counter, count, memory_order_relaxed);
}
static inline void mw_metric_set(_Atomic uint64_t *gauge, uint64_t value) {
	atomic_store_explicit(gauge, value, memory_order_relaxed);
}

/* Returns the page in Prometheus' text format, which the caller frees; NULL: no memory. */
char *mw_metrics_text(const mw_metrics_t *metrics, const char *version);

#endif
