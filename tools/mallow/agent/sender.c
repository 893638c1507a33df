/* SPDX-License-Identifier: MIT
 * sender.c -- one entry after the other. */
#include "agent/sender.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/complain.h"
#include "formats/read.h"
#include "model/memory.h"

/* Reads an entry and sends it.  A damaged one is refused. */
static mw_sent_t send_entry(const mw_spool_t *spool, const mw_spool_entry_t *entry, mw_send_t *send,
			    void *context, mw_error_t *error) {
	char path[PATH_MAX];
	mw_profile_t *profile = NULL;
	mw_read_identity_t read;
	mw_spool_path(spool, entry, path, sizeof(path));
	mw_memory_limit_begin(path);
	int result = mw_read_profile(path, &profile, error);
	mw_memory_limit_end();
	if (result != 0)
		return MW_SENT_REFUSED;
	mw_sent_t sent = MW_SENT_REFUSED;
	if (mw_identity_read(profile, &read, error) == 0)
		sent = send(context, entry, &read.identity, profile, error);
	mw_read_identity_free(&read);
	mw_profile_free(profile);
	return sent;
}

static void note_sent(mw_metrics_t *metrics) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	mw_metric_add(&metrics->sent_total, 1);
	mw_metric_set(&metrics->last_sent_time_seconds, (uint64_t)now.tv_sec);
}

int mw_sender_run(mw_spool_t *spool, mw_send_t *send, void *context, mw_metrics_t *metrics) {
	size_t count;
	int status = MW_SENDER_EMPTY;
	mw_spool_entry_t *entries = mw_spool_list(spool, &count);
	bool is_down = false;
	for (size_t i = 0; i < count && !is_down; i++) {
		mw_error_t error = {.text = ""};
		mw_sent_t sent = send_entry(spool, &entries[i], send, context, &error);
		if (sent == MW_SENT_LATER) {
			mw_metric_add(&metrics->send_failures_total, 1);
			mw_complain("agent: %s; %zu profiles wait in the spool", error.text,
				    count - i);
			status = MW_SENDER_LATER;
			is_down = true;
			continue;
		}
		if (sent == MW_SENT_SKIPPED) {
			mw_metric_add(&metrics->send_failures_total, 1);
			mw_complain("agent: %s; its profile waits in the spool", error.text);
			status = MW_SENDER_LATER;
			continue;
		}
		if (sent == MW_SENT_REFUSED) {
			mw_metric_add(&metrics->refused_total, 1);
			mw_complain("agent: lost a profile: %s", error.text);
		} else {
			note_sent(metrics);
		}
		/* The agent may have removed it meanwhile, for want of room. */
		if (mw_spool_remove(spool, &entries[i]) != 0 && errno != ENOENT)
			mw_complain("agent: %s: cannot remove it: %s", entries[i].name,
				    strerror(errno));
	}
	free(entries);
	return status;
}
