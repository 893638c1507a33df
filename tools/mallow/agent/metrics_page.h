/* SPDX-License-Identifier: MIT
 * metrics_page.h -- serves the agent's counters to Prometheus, on loopback.
 * Layer: agent.  Runs in a child, whose threads the agent, which forks, does not have. */
#ifndef MW_TOOL_AGENT_METRICS_PAGE_H
#define MW_TOOL_AGENT_METRICS_PAGE_H

#include "agent/metrics.h"

/* Serves GET /metrics at "HOST:PORT", an address of loopback, until the process is killed.  Prints
 * the page's address, or why it cannot serve.  Returns the exit status. */
int mw_metrics_page_serve(const char *address, const mw_metrics_t *metrics);

#endif
