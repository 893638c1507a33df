/* SPDX-License-Identifier: MIT
 * push_target.c -- reads what a target has, sends each kind, and prints what was sent. */
#include "cmd/push/push_target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cmd/input/load.h"
#include "cmd/push/push_options.h"
#include "push/progress.h"
#include "push/read_process.h"
#include "report/text/units.h"
#include "store/row_batch.h"

enum { INSTANCE_BYTES = 320 };

/* One target while it is pushed. */
typedef struct push_job {
	const mw_push_options_t *options;
	const mw_target_t *target;
	mw_gathered_t gathered;
	char instance[INSTANCE_BYTES];
	bool has_samples; /* of any kind, pushed before or not */
	char sent[400];   /* for the line that is printed */
} push_job_t;

static mw_identity_t identity_of(push_job_t *job, const mw_profile_t *p) {
	mw_identity_t identity = job->options->identity;
	if (identity.service[0] == '\0')
		identity.service = mw_profile_string(p, p->origin.program);
	if (identity.instance[0] == '\0' && job->gathered.process[0] != '\0') {
		mw_instance_name(identity.host, job->gathered.pid, job->gathered.start_ticks,
				 job->instance, sizeof(job->instance));
		identity.instance = job->instance;
	}
	identity.build_id = mw_program_build_id(p);
	return identity;
}

static void add_words(push_job_t *job, const mw_profile_t *p, const mw_kind_values_t *kind) {
	size_t used = strlen(job->sent);
	char text[32] = "";
	const char *type = kind->values[kind->standard].type;
	int64_t total = mw_profile_total(p, (size_t)mw_profile_find_type(p, type));
	if (total == 0)
		return;
	if (strcmp(kind->values[kind->standard].unit, "bytes") == 0)
		mw_format_bytes(total, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%.3g s", (double)total / 1e9);
	snprintf(job->sent + used, sizeof(job->sent) - used, "%s%s %s", used > 0 ? ", " : "",
		 kind->name, text);
}

/* Sends a prepared profile, whose counts are those since the last push. */
static mw_send_result_t send_profile(push_job_t *job, mw_profile_t *p, uint64_t number,
				     const mw_kind_values_t *kind, mw_error_t *error) {
	mw_retry_t retry = mw_retry_begin(job->options->retry_seconds);
	if (job->options->has_names)
		mw_load_names(job->target, NULL, MW_LOAD_SYMBOLS, p);
	const mw_put_t put = {
		.identity = identity_of(job, p),
		.kind = kind->kind,
		.number = number,
		.time_ns = p->time_ns > 0 ? p->time_ns : (int64_t)mw_now_ns(),
		.duration_ns = p->duration_ns,
		.period = kind->kind != MW_KIND_MAPPED ? p->period : 0,
		.profile = p,
	};
	if (put.identity.service[0] == '\0') {
		mw_error_set(error,
			     "%s: the profile does not say which program it is of; name it with "
			     "--service NAME",
			     job->target->shown);
		return MW_SEND_REFUSED;
	}
	mw_send_result_t result = mw_receiver_deliver(job->options->receiver, &put, &retry, error);
	if (result == MW_SEND_DONE)
		add_words(job, p, kind);
	return result;
}

/* Sends a batch, and notes the end of it. */
static int send_batch(push_job_t *job, mw_progress_t *progress, mw_pending_t *batch,
		      const mw_kind_values_t *kind, mw_error_t *error) {
	mw_send_result_t result = send_profile(job, batch->profile, batch->number, kind, error);
	mw_profile_free(batch->profile);
	if (result == MW_SEND_DONE)
		return mw_progress_commit(progress, error);
	if (result == MW_SEND_REFUSED)
		mw_progress_drop(progress);
	return -1;
}

/* Pushes a kind of a process: first what an earlier push has begun. */
static int push_since(push_job_t *job, const mw_profile_t *now, const mw_kind_values_t *kind,
		      mw_error_t *error) {
	char process[MW_PROCESS_NAME_BYTES + 16];
	mw_progress_t *progress;
	mw_pending_t batch;
	snprintf(process, sizeof(process), "%s.%s", job->gathered.process, kind->name);
	if (mw_progress_open(job->options->folder, mw_receiver_name(job->options->receiver),
			     process, &progress, error) != 0)
		return -1;
	int result = mw_progress_resume(progress, &batch, error);
	if (result == 1)
		result = send_batch(job, progress, &batch, kind, error);
	if (result == 0)
		result = mw_progress_begin(progress, now, &batch, error);
	if (result == 0)
		result = send_batch(job, progress, &batch, kind, error);
	mw_progress_close(progress);
	return result;
}

static uint64_t identity_number(const mw_identity_t *identity, uint64_t hash) {
	const char *const texts[] = {identity->service, identity->instance, identity->host,
				     identity->version, identity->build_id};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		hash = mw_row_hash(hash, texts[i], strlen(texts[i]));
	for (size_t i = 0; i < identity->tag_count; i++) {
		const mw_tag_t *tag = &identity->tags[i];
		hash = mw_row_hash(hash, tag->key, strlen(tag->key));
		hash = mw_row_hash(hash, tag->value, strlen(tag->value));
	}
	return hash;
}

/* Returns a number that follows from what a file's profile holds and whose it is, so that a file
 * that is pushed twice counts once. */
static uint64_t content_number(push_job_t *job, const mw_profile_t *p) {
	const mw_identity_t identity = identity_of(job, p);
	uint64_t hash = identity_number(&identity, (uint64_t)p->time_ns);
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_sample_t *s = &p->samples[i];
		for (uint32_t k = 0; k < s->depth; k++)
			hash = (hash ^ p->locations[p->frames[s->frame_first + k]].address) *
			       UINT64_C(0x9e3779b97f4a7c15);
		for (size_t k = 0; k < p->type_count; k++)
			hash = (hash ^ hash >> 29 ^ (uint64_t)mw_profile_values(p, i)[k]) *
			       UINT64_C(0xbf58476d1ce4e5b9);
	}
	return hash ^ hash >> 32;
}

static int push_kinds(push_job_t *job, mw_error_t *error) {
	int result = 0;
	for (const mw_kind_values_t *k = mw_kinds; k->name != NULL && result == 0; k++) {
		mw_profile_t *p = job->gathered.profiles[k->kind];
		bool is_time = k->kind == MW_KIND_CPU || k->kind == MW_KIND_WALL;
		if (p == NULL || (job->options->is_time_only && !is_time))
			continue;
		job->has_samples = true;
		if (job->gathered.process[0] != '\0')
			result = push_since(job, p, k, error);
		else if (send_profile(job, p, content_number(job, p), k, error) != MW_SEND_DONE)
			result = -1;
	}
	return result;
}

static int gather(const mw_target_t *target, mw_gathered_t *out, mw_error_t *error) {
	mw_profile_t *profile;
	*out = (mw_gathered_t){.pid = 0};
	if (target->is_state)
		return mw_gather(target, out, error);
	if (mw_load(target, MW_LOAD_NO_SYMBOLS, MW_LOAD_STACKS, &profile, error) != 0)
		return -1;
	mw_gather_profile(profile, out);
	mw_profile_free(profile);
	return 0;
}

static void say(const push_job_t *job) {
	const char *sent = job->sent[0] != '\0' ? job->sent : "nothing new";
	const char *url = mw_receiver_url(job->options->receiver);
	if (job->target->is_state)
		printf("pid %d: pushed %s to %s\n", job->target->pid, sent, url);
	else
		printf("%s: pushed %s to %s\n", job->target->shown, sent, url);
}

int mw_push_target(const mw_target_t *target, const void *context, mw_error_t *error) {
	push_job_t job = {.options = context, .target = target};
	int result = gather(target, &job.gathered, error);
	if (result == 0)
		result = push_kinds(&job, error);
	mw_gathered_release(&job.gathered);
	if (!job.options->is_quiet && (job.sent[0] != '\0' || (result == 0 && job.has_samples)))
		say(&job);
	/* Who pushes all processes has some that are not sampled. */
	if (result == 0 && !job.has_samples && !job.options->is_several)
		return mw_error_set(error,
				    job.options->is_time_only
					    ? "%s: there are no samples of time to push; 'mallow "
					      "start --cpu' begins with them"
					    : "%s: there are no samples to push",
				    target->shown);
	return result == 0 ? MW_EXIT_FINE : -1;
}
