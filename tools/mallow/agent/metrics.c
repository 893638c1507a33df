/* SPDX-License-Identifier: MIT
 * metrics.c -- maps the counters, writes their page. */
#include "agent/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

mw_metrics_t *mw_metrics_map(mw_error_t *error) {
	void *block = mmap(NULL, sizeof(mw_metrics_t), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (block != MAP_FAILED)
		return block;
	mw_error_set(error, "no memory for counters: %s", strerror(errno));
	return NULL;
}

static void print_metric(FILE *out, const char *name, const char *type, const char *text,
			 uint64_t value, double divisor) {
	fprintf(out, "# HELP mallow_agent_%s %s.\n# TYPE mallow_agent_%s %s\nmallow_agent_%s ",
		name, text, name, type, name);
	if (divisor > 1)
		fprintf(out, "%.6f\n", (double)value / divisor);
	else
		fprintf(out, "%" PRIu64 "\n", value);
}

char *mw_metrics_text(const mw_metrics_t *metrics, const char *version) {
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	if (out == NULL)
		return NULL;
	fprintf(out,
		"# HELP mallow_agent_info Version of the agent.\n# TYPE mallow_agent_info gauge\n"
		"mallow_agent_info{version=\"%s\"} 1\n",
		version);
#define PRINT(name, type, divisor, text)                                                           \
	print_metric(out, #name, #type, text,                                                      \
		     atomic_load_explicit(&metrics->name, memory_order_relaxed), divisor);
	MW_METRIC_LIST(PRINT)
#undef PRINT
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
