/* SPDX-License-Identifier: MIT
 * read_process.c -- one copy of a state file becomes two profiles. */
#include "push/read_process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/memory.h"
#include "model/merge.h"
#include "push/delta.h"

void mw_gather_profile(const mw_profile_t *profile, mw_gathered_t *out) {
	for (const mw_kind_values_t *k = mw_kinds; k->name != NULL; k++) {
		if (out->profiles[k->kind] != NULL || !mw_kind_is_in(k->kind, profile))
			continue;
		mw_profile_t *copy = mw_profile_copy(profile);
		if (mw_delta_prepare(copy, k->kind) && copy->sample_count > 0)
			out->profiles[k->kind] = copy;
		else
			mw_profile_free(copy);
	}
}

int mw_gather(const mw_target_t *target, mw_gathered_t *out, mw_error_t *error) {
	mw_snapshot_t *snapshot;
	unsigned what = MW_SNAPSHOT_STACKS | MW_SNAPSHOT_CPU;
	*out = (mw_gathered_t){.pid = 0};
	mw_memory_limit_begin(target->path);
	int result = mw_target_read(target, what | (target->alive ? MW_SNAPSHOT_OF_NOW : 0),
				    &snapshot, error);
	mw_memory_limit_end();
	if (result != 0)
		return -1;
	out->pid = snapshot->header.pid;
	out->start_ticks = snapshot->header.start_ticks;
	snprintf(out->process, sizeof(out->process), "%" PRIu32 ".%" PRIu64 ".%" PRIu64, out->pid,
		 out->start_ticks, snapshot->header.pid_namespace);
	/* With the heap's types in one profile, samples of time would lose their number. */
	mw_profile_t *time = snapshot->live.cpu_used > 0 ? mw_profile_of_cpu(snapshot) : NULL;
	snapshot->cpu_count = 0;
	mw_profile_t *heap = mw_profile_from_snapshot(snapshot);
	if (time != NULL) {
		time->duration_ns = heap->duration_ns; /* both count since the start or a reset */
		mw_gather_profile(time, out);
	}
	mw_gather_profile(heap, out);
	mw_profile_free(time);
	mw_profile_free(heap);
	mw_snapshot_free(snapshot);
	return 0;
}

void mw_gathered_release(mw_gathered_t *gathered) {
	for (int i = 0; i <= MW_KIND_WALL; i++)
		mw_profile_free(gathered->profiles[i]);
	*gathered = (mw_gathered_t){.pid = 0};
}

void mw_instance_name(const char *host, uint32_t pid, uint64_t start_ticks, char *name,
		      size_t size) {
	snprintf(name, size, "%s:%" PRIu32 ":%" PRIu64, host, pid, start_ticks);
}

const char *mw_program_build_id(const mw_profile_t *p) {
	const char *program = mw_profile_string(p, p->origin.program);
	size_t chosen = p->mapping_count > 1 ? 1 : 0;
	for (size_t i = p->mapping_count; *program != '\0' && i > 1; i--)
		if (strcmp(basename(mw_profile_string(p, p->mappings[i - 1].path)), program) == 0)
			chosen = i - 1;
	return mw_profile_string(p, p->mappings[chosen].build_id);
}
