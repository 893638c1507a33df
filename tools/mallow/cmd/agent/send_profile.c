/* SPDX-License-Identifier: MIT
 * send_profile.c -- opens the receiver; counts since the last push, names, and the sending. */
#include "cmd/agent/send_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/sender.h"
#include "cli/complain.h"
#include "cmd/agent/names_of.h"
#include "push/progress.h"
#include "push/read_process.h"
#include "push/receiver.h"
#include "push/secret.h"
#include "store/kind.h"

/* Tries of one profile within a run; the agent waits between runs. */
#define RETRY_SECONDS 2.0

/* Secrets come from the files that the configuration names, or the environment of the agent. */
static int open_receiver(const mw_rules_t *rules, mw_receiver_t **out, mw_error_t *error) {
	mw_secrets_t secrets;
	*out = NULL;
	if (mw_secrets_read(rules->token_file, rules->password_file, &secrets, error) != 0)
		return -1;
	const mw_receiver_options_t options = {
		.token = secrets.token,
		.user = rules->user,
		.password = secrets.password,
		.tenant = rules->tenant,
		.tls = {.authority = rules->tls_ca,
			.certificate = rules->tls_cert,
			.key = rules->tls_key},
	};
	int result = mw_receiver_open(rules->push, &options, out, error);
	mw_secrets_free(&secrets);
	return result;
}

static int check_readable(const char *file, mw_error_t *error) {
	return file == NULL || access(file, R_OK) == 0
		       ? 0
		       : mw_error_set(error, "%s: cannot read: %s", file, strerror(errno));
}

int mw_send_check(const mw_rules_t *rules, mw_error_t *error) {
	mw_secrets_t secrets;
	if (mw_receiver_check(rules->push, error) != 0 ||
	    check_readable(rules->tls_ca, error) != 0 ||
	    check_readable(rules->tls_cert, error) != 0 ||
	    check_readable(rules->tls_key, error) != 0 ||
	    mw_secrets_read(rules->token_file, rules->password_file, &secrets, error) != 0)
		return -1;
	mw_secrets_free(&secrets);
	return 0;
}

/* ---- one entry ---- */

typedef struct sending {
	mw_receiver_t *receiver;
	char folder[PATH_MAX]; /* of what was pushed */
	const mw_spool_entry_t *entry;
	const mw_identity_t *identity;
	const mw_profile_t *named; /* the entry, whose locations have names */
} sending_t;

static mw_sent_t sent_of(mw_send_result_t result) {
	return result == MW_SEND_DONE    ? MW_SENT_DONE
	       : result == MW_SEND_AGAIN ? MW_SENT_LATER
					 : MW_SENT_REFUSED;
}

/* Sends a batch, and notes that the receiver has it. */
static mw_sent_t send_batch(sending_t *sending, const mw_kind_values_t *kind,
			    mw_progress_t *progress, mw_pending_t *batch, mw_error_t *error) {
	mw_profile_t *p = batch->profile;
	mw_retry_t retry = mw_retry_begin(RETRY_SECONDS);
	mw_names_take(p, sending->named);
	const mw_put_t put = {.identity = *sending->identity,
			      .kind = kind->kind,
			      .number = batch->number,
			      .time_ns = p->time_ns,
			      .duration_ns = p->duration_ns,
			      .period = kind->kind != MW_KIND_MAPPED ? p->period : 0,
			      .profile = p};
	mw_send_result_t result = mw_receiver_deliver(sending->receiver, &put, &retry, error);
	mw_profile_free(p);
	if (result == MW_SEND_REFUSED)
		mw_progress_drop(progress);
	/* The next try sends the same batch with the same number. */
	if (result == MW_SEND_DONE && mw_progress_commit(progress, error) != 0)
		return MW_SENT_SKIPPED;
	return sent_of(result);
}

/* Sends one kind of the entry: first what an earlier sender has begun, which may be this one. */
static mw_sent_t send_since(sending_t *sending, const mw_kind_values_t *kind,
			    const mw_profile_t *now, mw_progress_t *progress, mw_error_t *error) {
	mw_pending_t batch;
	mw_sent_t sent = MW_SENT_DONE;
	int resumed = mw_progress_resume(progress, &batch, error);
	if (resumed < 0)
		return MW_SENT_SKIPPED;
	if (resumed == 1) {
		int64_t time_ns = batch.profile->time_ns;
		sent = send_batch(sending, kind, progress, &batch, error);
		if (sent != MW_SENT_DONE || time_ns >= now->time_ns)
			return sent;
	}
	/* A full disk, or a damaged file of what was pushed: the entry waits. */
	if (mw_progress_begin(progress, now, &batch, error) != 0)
		return MW_SENT_SKIPPED;
	return send_batch(sending, kind, progress, &batch, error);
}

static mw_sent_t send_kind(sending_t *sending, const mw_kind_values_t *kind, mw_profile_t *now,
			   mw_error_t *error) {
	char process[MW_PROCESS_NAME_BYTES];
	mw_progress_t *progress;
	snprintf(process, sizeof(process), "%016" PRIx64 ".%s", sending->entry->key, kind->name);
	if (mw_progress_open(sending->folder, mw_receiver_name(sending->receiver), process,
			     &progress, error) != 0)
		return MW_SENT_SKIPPED;
	mw_names_forget(now);
	mw_sent_t sent = send_since(sending, kind, now, progress, error);
	mw_progress_close(progress);
	return sent;
}

static mw_sent_t send_entry(void *context, const mw_spool_entry_t *entry,
			    const mw_identity_t *identity, mw_profile_t *profile,
			    mw_error_t *error) {
	sending_t *sending = context;
	mw_gathered_t gathered = {0};
	mw_sent_t sent = MW_SENT_DONE;
	sending->entry = entry;
	sending->identity = identity;
	sending->named = profile;
	mw_gather_profile(profile, &gathered);
	for (const mw_kind_values_t *k = mw_kinds; k->name != NULL && sent == MW_SENT_DONE; k++)
		if (gathered.profiles[k->kind] != NULL)
			sent = send_kind(sending, k, gathered.profiles[k->kind], error);
	mw_gathered_release(&gathered);
	return sent;
}

int mw_send_profiles(const mw_rules_t *rules, mw_spool_t *spool, mw_metrics_t *metrics) {
	sending_t sending = {0};
	mw_error_t error;
	snprintf(sending.folder, sizeof(sending.folder), "%s/pushed", spool->folder->path);
	if (open_receiver(rules, &sending.receiver, &error) != 0) {
		mw_metric_add(&metrics->send_failures_total, 1);
		mw_complain("agent: %s; profiles wait in the spool", error.text);
		return MW_SENDER_LATER;
	}
	int status = mw_sender_run(spool, send_entry, &sending, metrics);
	mw_receiver_close(sending.receiver);
	return status;
}
