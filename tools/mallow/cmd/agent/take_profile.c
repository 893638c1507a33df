/* SPDX-License-Identifier: MIT
 * take_profile.c -- names, CPU samples, the profiles of a state file, their entries. */
#include "cmd/agent/take_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/rules/service_name.h"
#include "agent/spool/known_names.h"
#include "cli/complain.h"
#include "cmd/input/load.h"
#include "formats/write.h"
#include "live/sampling_lease.h"
#include "live/target.h"
#include "model/memory.h"
#include "model/monotonic.h"
#include "push/read_process.h"
#include "store/identity.h"
#include "symbol/symbolize.h"

/* Longest wait for an answer to the request for CPU samples: idle processes do not answer. */
#define LEASE_WAIT_SECONDS 1.0
/* A thread prolongs the lease; this is how often its main thread looks after it. */
#define LEASE_LOOK_NS 500000000L

/* ---- names ---- */

/* Writes the command line of a state file, words separated by blanks. */
static void join_arguments(const mw_state_header_t *header, char *text, size_t size) {
	size_t length = 0;
	for (size_t i = 0; i + 1 < sizeof(header->args) && length + 1 < size; i++) {
		if (header->args[i] == '\0' && header->args[i + 1] == '\0')
			break;
		text[length++] = header->args[i] != '\0' ? header->args[i] : ' ';
	}
	text[length] = '\0';
}

/* Finds the names by the rules. */
static void find_names(const mw_take_t *take, const mw_target_t *target,
		       const mw_state_header_t *header, mw_known_t *out) {
	char command[sizeof(header->args) + 1], instance[512];
	mw_name_sources_t sources;
	int pid = mw_target_process(target);
	join_arguments(header, command, sizeof(command));
	mw_name_sources_take(&sources, pid > 0 ? pid : 0, header->program, command);
	mw_service_name_find(take->rules, &sources, &out->name);
	mw_name_sources_release(&sources);
	/* The pid on this host: in two containers there is the same one. */
	mw_instance_name(take->host, pid > 0 ? (uint32_t)pid : header->pid,
			 pid > 0 ? target->start_ticks : header->start_ticks, instance,
			 sizeof(instance));
	out->instance = mw_xstrdup(instance);
	out->rules = take->rules->hash;
}

/* Returns whether the names that are known come from this configuration.  They stay as they are
 * while the process runs: a file that named it may have gone since. */
static bool is_named(const mw_take_t *take, uint64_t key) {
	mw_known_t known;
	if (!mw_known_load(take->folder, key, &known))
		return false;
	bool is_same = known.rules == take->rules->hash;
	mw_known_release(&known);
	return is_same;
}

void mw_name_processes(const mw_take_t *take, const mw_found_process_t *const *found,
		       size_t count) {
	for (size_t i = 0; i < count; i++) {
		if (is_named(take, found[i]->key))
			continue;
		mw_target_t target = mw_target_of_place(&found[i]->place);
		mw_snapshot_t *snapshot;
		mw_error_t error;
		/* Errors are said when the profile is taken. */
		if (mw_target_read(&target, 0, &snapshot, &error) == 0) {
			mw_known_t known;
			find_names(take, &target, &snapshot->header, &known);
			if (mw_target_is_alive(&target))
				mw_known_save(take->folder, found[i]->key, &known);
			mw_known_release(&known);
			mw_snapshot_free(snapshot);
		}
		mw_target_release(&target);
	}
}

/* ---- CPU samples ---- */

/* Has the process sample its CPU time for a while.  One that does not answer, or that another
 * command samples, goes without. */
static void sample_cpu(const mw_take_t *take, const mw_target_t *target) {
	mw_lease_t lease;
	mw_reply_t reply;
	mw_error_t ignored;
	if (mw_lease_begin(&lease, target, take->rules->cpu_hz, LEASE_WAIT_SECONDS, &reply,
			   &ignored) != 0)
		return;
	const struct timespec look = {.tv_nsec = LEASE_LOOK_NS};
	uint64_t end_ns = mw_monotonic_ns() + (uint64_t)(take->cpu_seconds * 1e9);
	for (uint64_t now_ns; (now_ns = mw_monotonic_ns()) < end_ns;) {
		const struct timespec rest = {.tv_nsec = (long)(end_ns - now_ns)};
		nanosleep(end_ns - now_ns < (uint64_t)LEASE_LOOK_NS ? &rest : &look, NULL);
		mw_lease_keep(&lease);
		if (!mw_lease_has_process(&lease))
			break;
	}
	mw_lease_end(&lease, NULL);
}

/* ---- the profile ---- */

/* Makes the profiles of heap and CPU time; the latter is NULL without samples. */
static int read_profiles(const mw_take_t *take, const mw_target_t *target, mw_known_t *known,
			 mw_profile_t **heap, mw_profile_t **cpu, mw_error_t *error) {
	mw_snapshot_t *snapshot;
	unsigned what = MW_SNAPSHOT_STACKS | MW_SNAPSHOT_CPU;
	mw_memory_limit_begin(target->shown);
	int result = mw_target_read(target, what | (target->alive ? MW_SNAPSHOT_OF_NOW : 0),
				    &snapshot, error);
	if (result == 0) {
		/* With the heap's types in one profile, samples of time would lose their
		 * number. */
		*cpu = snapshot->live.cpu_used > 0 ? mw_profile_of_cpu(snapshot) : NULL;
		snapshot->cpu_count = 0;
		*heap = mw_profile_from_snapshot(snapshot);
	}
	mw_memory_limit_end();
	if (result != 0)
		return -1;
	if (known->instance == NULL)
		find_names(take, target, &snapshot->header, known);
	mw_snapshot_free(snapshot);
	return 0;
}

/* What was written is on the disk before the agent commits it. */
static int sync_file(const char *path, mw_error_t *error) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result = fd >= 0 ? fsync(fd) : -1;
	if (result != 0)
		mw_error_set(error, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return result;
}

static int write_entry(const mw_take_t *take, const mw_target_t *target, const mw_known_t *known,
		       const char *path, mw_profile_t *profile, mw_error_t *error) {
	mw_tag_t tags[MW_RULES_LABELS_MAX];
	for (size_t i = 0; i < known->name.label_count; i++)
		tags[i] = (mw_tag_t){known->name.labels[i].key, known->name.labels[i].value};
	if (take->has_symbols)
		mw_load_names(target, NULL, MW_LOAD_SYMBOLS, profile);
	const mw_identity_t identity = {.service = known->name.service,
					.instance = known->instance,
					.host = take->host,
					.version = known->name.version,
					.build_id = mw_program_build_id(profile),
					.tags = tags,
					.tag_count = known->name.label_count};
	mw_identity_write(profile, &identity);
	if (mw_write_profile(profile, path, MW_FORMAT_PROTO, MW_GZIP_ON, error) != 0)
		return -1;
	return sync_file(path, error);
}

static int write_entries(const mw_take_t *take, const mw_target_t *target, const mw_known_t *known,
			 mw_profile_t *heap, mw_profile_t *cpu) {
	char time_path[PATH_MAX];
	mw_error_t error;
	mw_spool_time_path(take->path, time_path, sizeof(time_path));
	if (write_entry(take, target, known, take->path, heap, &error) == 0 &&
	    (cpu == NULL || write_entry(take, target, known, time_path, cpu, &error) == 0))
		return MW_TAKE_DONE;
	mw_complain("%s", error.text);
	return MW_TAKE_NO_ROOM;
}

/* A process that has ended since the search may have removed its file, or another program of it has
 * made a new one. */
static bool is_gone(const mw_target_t *target) {
	int fd = mw_target_open(target, O_RDONLY);
	bool is_there = fd >= 0;
	if (is_there)
		close(fd);
	return !is_there && (errno == ENOENT || errno == ESTALE || errno == ESRCH);
}

static int take_target(const mw_take_t *take, const mw_target_t *target, mw_known_t *known) {
	mw_profile_t *heap = NULL, *cpu = NULL;
	mw_error_t error;
	if (target->alive && take->cpu_seconds > 0)
		sample_cpu(take, target);
	if (read_profiles(take, target, known, &heap, &cpu, &error) != 0) {
		if (is_gone(target) || mw_place_is_begun(&take->found->place))
			return MW_TAKE_GONE;
		mw_complain("%s", error.text);
		return MW_EXIT_TROUBLE;
	}
	int status = known->name.is_ignored ? MW_TAKE_IGNORED
					    : write_entries(take, target, known, heap, cpu);
	mw_profile_free(heap);
	mw_profile_free(cpu);
	/* The cache of names is filled now, not in an exit handler. */
	mw_symbolize_finish();
	return status;
}

int mw_take_profile(const mw_take_t *take) {
	mw_known_t known = {0};
	mw_target_t target = mw_target_of_place(&take->found->place);
	bool is_known = mw_known_load(take->folder, take->found->key, &known);
	int status = is_known && known.name.is_ignored ? MW_TAKE_IGNORED
						       : take_target(take, &target, &known);
	/* Names that are not on the disk yet: the disk was full, or the process is new. */
	if (!is_known && known.instance != NULL && target.alive)
		mw_known_save(take->folder, take->found->key, &known);
	mw_known_release(&known);
	mw_target_release(&target);
	return status;
}
