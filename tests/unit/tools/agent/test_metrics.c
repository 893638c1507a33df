/* SPDX-License-Identifier: MIT
 * test_metrics.c -- the page of the agent's counters: each metric once, with help and type, as
 * Prometheus' text format wants them; counters of a process that was started count. */
#include <sys/wait.h>
#include <unistd.h>

#include "agent/metrics.h"
#include "test.h"

/* Checks a line "mallow_agent_NAME VALUE" behind its HELP and TYPE. */
static void shows(const char *page, const char *name, const char *type, const char *value) {
	char want[256];
	snprintf(want, sizeof(want), "# TYPE mallow_agent_%s %s\nmallow_agent_%s %s\n", name, type,
		 name, value);
	const char *at = strstr(page, want);
	CHECK(at != NULL);
	CHECK(strstr(at + 1, want) == NULL);
	snprintf(want, sizeof(want), "# HELP mallow_agent_%s ", name);
	CHECK(strstr(page, want) != NULL && strstr(page, want) < at);
}

int main(void) {
	mw_error_t error;
	mw_metrics_t *metrics = mw_metrics_map(&error);
	CHECK(metrics != NULL);
	mw_metric_add(&metrics->sent_total, 2);
	mw_metric_set(&metrics->spool_bytes, UINT64_MAX);
	mw_metric_set(&metrics->cpu_seconds_total, 1500000000);
	pid_t child = fork();
	if (child == 0) {
		mw_metric_add(&metrics->sent_total, 3);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, NULL, 0), child);
	char *page = mw_metrics_text(metrics, "1.2");
	CHECK(page != NULL);
	shows(page, "sent_total", "counter", "5");
	shows(page, "spool_bytes", "gauge", "18446744073709551615");
	shows(page, "cpu_seconds_total", "counter", "1.500000");
	shows(page, "lost_total", "counter", "0");
	CHECK(strstr(page, "mallow_agent_info{version=\"1.2\"} 1\n") != NULL);
	/* Each line is a comment, or a name and a number. */
	for (char *line = strtok(page, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		char name[128], number[64], rest[2];
		CHECK(*line == '#' ||
		      sscanf(line, "%127[a-z_0-9{}=\".] %63[0-9.]%1s", name, number, rest) == 2);
	}
	free(page);
	return 0;
}
