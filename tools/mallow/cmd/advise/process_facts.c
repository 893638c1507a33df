/* SPDX-License-Identifier: MIT
 * process_facts.c -- reads /proc of the process that a state file belongs to. */
#include "cmd/advise/process_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/print.h"
#include "cmd/input/load.h"
#include "live/enter/enter.h"
#include "live/pages/block_pages.h"
#include "live/pages/thread_stacks.h"
#include "live/process/process.h"
#include "live/process/resident_memory.h"
#include "model/memory.h"
#include "model/table.h"
#include "report/text/resident_text.h"
#include "state/stats.h"
#include "view/select/wrappers.h"

/* Five times as long as free memory is kept by default while threads allocate. */
#define IDLE_NS_MIN ((int64_t)5000000000)
/* Contents that are read at most, the largest blocks first, and at once. */
#define LOOK_BYTES_MAX ((uint64_t)4 << 30)
#define PIECE_BYTES ((size_t)256 << 10)
/* A second in all for a walk by a thread that was woken. */
#define WALK_POLL_NS 20000000
#define WALK_POLLS 50

/* ---- The heap of an idle process ---- */

int64_t mw_process_updated_ns(const mw_target_t *target) {
	mw_snapshot_t *snapshot;
	mw_error_t error;
	if (mw_target_read(target, 0, &snapshot, &error) != 0)
		return 0;
	int64_t updated_ns = (int64_t)snapshot->live.updated_realtime_ns;
	mw_snapshot_free(snapshot);
	return updated_ns;
}

static bool has_walked_since(const mw_target_t *target, uint64_t since_ns) {
	mw_snapshot_t *snapshot;
	mw_error_t error;
	if (mw_target_read(target, 0, &snapshot, &error) != 0)
		return true;
	bool has_walked = snapshot->live.heap_walk_realtime_ns >= since_ns;
	mw_snapshot_free(snapshot);
	return has_walked;
}

void mw_process_walk(const mw_target_t *target) {
	uint64_t began_ns = mw_now_ns();
	const struct timespec pause = {.tv_nsec = WALK_POLL_NS};
	mw_process_key_t key = mw_target_key(target);
	mw_process_t process;
	mw_error_t why;
	mw_heap_walk_request(target);
	if (mw_target_process(target) <= 0 || has_walked_since(target, began_ns) ||
	    !mw_process_read(target->pid, &process) || process.paused ||
	    mw_process_enter(&key, &why) != 0)
		return;
	for (int i = 0; i < WALK_POLLS && !has_walked_since(target, began_ns); i++)
		nanosleep(&pause, NULL);
}

/* Returns since when the process has allocated next to nothing.  A tick since then may be an answer
 * to a tool. */
static int64_t idle_since_ns(const mw_snapshot_t *snapshot, int64_t updated_ns) {
	int64_t since_ns = updated_ns;
	for (size_t i = snapshot->tick_count;
	     i-- > 0 && snapshot->ticks[i].alloc_bytes == snapshot->live.alloc_bytes;)
		if ((int64_t)snapshot->ticks[i].time_ns < since_ns)
			since_ns = (int64_t)snapshot->ticks[i].time_ns;
	return since_ns;
}

static void add_idle(mw_facts_t *facts, const mw_snapshot_t *snapshot, const mw_memory_t *memory,
		     int64_t updated_ns) {
	int64_t idle_ns = snapshot->taken_ns - idle_since_ns(snapshot, updated_ns);
	if (updated_ns <= 0 || idle_ns < IDLE_NS_MIN)
		return;
	facts->kept_bytes = (int64_t)memory->bytes[MW_MEMORY_KEPT];
	facts->kept_ns = idle_ns;
}

/* ---- Large blocks ---- */

typedef struct known_block {
	uint64_t address;
	int64_t made_ns;
} known_block_t;

static int compare_known(const void *left, const void *right) {
	const known_block_t *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->made_ns > b->made_ns) - (a->made_ns < b->made_ns);
}

/* Forgets what was read of blocks that are no longer in use: their memory may be another's. */
static void keep_live(mw_facts_t *facts, const mw_target_t *target) {
	mw_snapshot_t *later = NULL;
	mw_error_t error;
	known_block_t *known = NULL;
	size_t count = 0;
	if (mw_target_read(target, MW_SNAPSHOT_STACKS | MW_SNAPSHOT_RECORDS, &later, &error) == 0) {
		count = later->record_count;
		known = mw_xcalloc(count, sizeof(*known));
		for (size_t i = 0; i < count; i++)
			known[i] = (known_block_t){later->records[i].address,
						   mw_snapshot_made_ns(later, &later->records[i])};
		if (count > 1)
			qsort(known, count, sizeof(*known), compare_known);
	}
	for (size_t i = 0; i < facts->block_count; i++) {
		mw_fact_block_t *block = &facts->blocks[i];
		known_block_t key = {block->address, block->made_ns};
		if (block->address != 0 &&
		    (known == NULL ||
		     !bsearch(&key, known, count, sizeof(*known), compare_known))) {
			block->untouched_bytes = -1;
			block->content = 0;
		}
	}
	free(known);
	mw_snapshot_free(later);
}

static int compare_sizes(const void *left, const void *right) {
	const mw_fact_block_t *a = *(mw_fact_block_t *const *)left;
	const mw_fact_block_t *b = *(mw_fact_block_t *const *)right;
	return (a->usable_bytes < b->usable_bytes) - (a->usable_bytes > b->usable_bytes);
}

/* Returns the hash of a block's contents; 0: it cannot be read, or one byte is repeated. */
static uint64_t hash_block(int memory, const mw_fact_block_t *block, unsigned char *piece) {
	uint64_t bytes = (uint64_t)block->requested_bytes, sums[2] = {0, 0};
	bool is_constant = true;
	unsigned char first = 0;
	for (uint64_t at = 0; at < bytes;) {
		size_t wanted = bytes - at < PIECE_BYTES ? (size_t)(bytes - at) : PIECE_BYTES;
		if (pread(memory, piece, wanted, (off_t)(block->address + at)) != (ssize_t)wanted)
			return 0;
		first = at == 0 ? piece[0] : first;
		is_constant = is_constant && piece[0] == first &&
			      memcmp(piece, piece + 1, wanted - 1) == 0;
		sums[1] = mw_table_hash(piece, wanted);
		sums[0] = mw_table_hash(sums, sizeof(sums));
		at += wanted;
	}
	return is_constant ? 0 : sums[0];
}

/* Reads blocks all of whose pages are resident: reading another page would make it so. */
static const char *read_contents(mw_facts_t *facts, int pid, const bool *is_resident) {
	static char why[128];
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	int memory = open(path, O_RDONLY | O_CLOEXEC);
	if (memory < 0) {
		snprintf(why, sizeof(why), "%s: cannot open: %s", path, strerror(errno));
		return why;
	}
	mw_fact_block_t **order = mw_xcalloc(facts->block_count, sizeof(*order));
	unsigned char *piece = mw_xcalloc(PIECE_BYTES, 1);
	uint64_t left = LOOK_BYTES_MAX;
	size_t count = 0;
	for (size_t i = 0; i < facts->block_count; i++)
		if (is_resident[i])
			order[count++] = &facts->blocks[i];
	if (count > 1)
		qsort(order, count, sizeof(*order), compare_sizes);
	for (size_t i = 0; i < count && (uint64_t)order[i]->usable_bytes <= left; i++) {
		left -= (uint64_t)order[i]->usable_bytes;
		order[i]->content = hash_block(memory, order[i], piece);
	}
	free(piece);
	free(order);
	close(memory);
	return NULL;
}

static void add_blocks(mw_facts_t *facts, const mw_target_t *target, mw_block_pages_t *pages,
		       bool has_look) {
	bool *is_resident = mw_xcalloc(facts->block_count, sizeof(*is_resident));
	for (size_t i = 0; i < facts->block_count; i++) {
		mw_fact_block_t *block = &facts->blocks[i];
		mw_page_bytes_t bytes;
		if (block->address == 0 ||
		    !mw_block_pages_read(pages, block->address, (uint64_t)block->usable_bytes,
					 &bytes))
			continue;
		block->untouched_bytes = (int64_t)bytes.untouched;
		is_resident[i] = bytes.untouched + bytes.swapped == 0 &&
				 block->requested_bytes > 0 &&
				 block->requested_bytes <= block->usable_bytes;
	}
	if (has_look)
		facts->unanswered[MW_FINDING_duplicates] =
			read_contents(facts, target->pid, is_resident);
	keep_live(facts, target);
	free(is_resident);
}

/* ---- Stacks ---- */

/* Returns where a thread started, by any of its live blocks; NULL: none is sampled. */
static const char *start_of(mw_wrappers_t *wrappers, const mw_profile_t *p, int thread) {
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_label_t *id = mw_profile_label(p, i, MW_LABEL_THREAD_ID);
		if (id != NULL && id->number == thread)
			return mw_fact_thread_start(wrappers, p, &p->samples[i]);
	}
	return NULL;
}

static bool is_same(const char *a, const char *b) {
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Threads of one function form a group; those whose function is not known, by name. */
static mw_fact_stacks_t *group_of(mw_facts_t *facts, const char *function, const char *name) {
	for (size_t i = 0; i < facts->stack_count; i++) {
		mw_fact_stacks_t *group = &facts->stacks[i];
		if (is_same(group->function, function) &&
		    (function != NULL || strcmp(group->name, name) == 0))
			return group;
	}
	facts->stacks = mw_grow(facts->stacks, &facts->stack_capacity, facts->stack_count + 1,
				sizeof(*facts->stacks));
	mw_fact_stacks_t *group = &facts->stacks[facts->stack_count++];
	*group = (mw_fact_stacks_t){.function = function != NULL ? mw_xstrdup(function) : NULL};
	snprintf(group->name, sizeof(group->name), "%s", name);
	return group;
}

static void add_stacks(mw_facts_t *facts, mw_profile_t *p, const mw_process_t *process,
		       const mw_snapshot_t *snapshot, mw_block_pages_t *pages) {
	size_t count;
	mw_thread_stack_t *stacks = mw_thread_stacks_read(process->pid, snapshot, pages, &count);
	/* The profile has the numbers of threads as the process sees them. */
	bool has_ids = process->inner_pid == process->pid;
	mw_wrappers_t *wrappers = mw_wrappers_new(p, MW_WRAPPERS_ALL);
	for (size_t i = 0; i < count; i++) {
		const char *start = has_ids ? start_of(wrappers, p, stacks[i].thread) : NULL;
		mw_fact_stacks_t *group = group_of(facts, start, stacks[i].name);
		group->threads++;
		group->resident_bytes += stacks[i].resident_bytes;
		if (stacks[i].resident_bytes > group->largest_bytes)
			group->largest_bytes = stacks[i].resident_bytes;
	}
	mw_wrappers_free(wrappers);
	free(stacks);
	if (process->threads > 1 && count == 0)
		facts->unanswered[MW_FINDING_stacks] =
			"no thread waits in the kernel, or this user may not trace the process";
}

/* Takes the counts at the peak where a process has ended or its mappings cannot be read: no others
 * are known then. */
static void add_mapped(mw_facts_t *facts, const mw_profile_t *p, const mw_memory_t *memory,
		       const mw_snapshot_t *snapshot) {
	mw_resident_t resident =
		memory != NULL ? mw_memory_parts(memory) : mw_resident_from_snapshot(snapshot);
	if (!mw_resident_asks_who_mapped(&resident))
		return;
	facts->mapped_bytes = (int64_t)resident.parts[MW_RESIDENT_MAPPED];
	facts->mapped_arenas = mw_arenas_of_profile(p);
	facts->mapped_by_known = mw_profile_find_type(p, "inuse_mapped") >= 0;
}

static void set_unanswered(mw_facts_t *facts, const char *why) {
	facts->unanswered[MW_FINDING_untouched] = why;
	facts->unanswered[MW_FINDING_stacks] = why;
	facts->unanswered[MW_FINDING_duplicates] = why;
}

void mw_process_facts_add(mw_facts_t *facts, mw_profile_t *profile, const mw_target_t *target,
			  const mw_snapshot_t *snapshot, int64_t updated_ns, bool has_look) {
	static mw_error_t error;
	const long ticks = sysconf(_SC_CLK_TCK);
	mw_process_t process;
	mw_memory_t memory;
	mw_reach_t reach;
	mw_block_pages_t pages;
	mw_process_key_t key = mw_target_key(target);
	if (mw_target_process(target) <= 0 || mw_reach_open(&key, &reach, &error) != 0) {
		set_unanswered(facts, "the process has ended, or is in another pid namespace");
		facts->unanswered[MW_FINDING_option] = facts->unanswered[MW_FINDING_untouched];
		add_mapped(facts, profile, NULL, snapshot);
		return;
	}
	if (mw_process_read(target->pid, &process) && process.cpu_ticks > 0 && ticks > 0) {
		facts->cpu_ns = (int64_t)(process.cpu_ticks * (1000000000u / (uint64_t)ticks));
		facts->cpu_is_known = true;
	}
	bool is_read = mw_memory_read(target->pid, snapshot, &memory, &error) == 0;
	add_mapped(facts, profile, is_read ? &memory : NULL, snapshot);
	if (is_read) {
		facts->resident_bytes = (int64_t)memory.resident_bytes;
		add_idle(facts, snapshot, &memory, updated_ns);
	}
	facts->unanswered[MW_FINDING_duplicates] = "--look reads the contents of large blocks";
	if (mw_block_pages_open(&pages, target->pid, &error) != 0) {
		set_unanswered(facts, error.text);
	} else {
		/* From here on all is of the address space that was opened. */
		if (mw_reach_holds(&reach)) {
			add_blocks(facts, target, &pages, has_look);
			add_stacks(facts, profile, &process, snapshot, &pages);
		}
		mw_block_pages_close(&pages);
	}
	mw_reach_close(&reach);
}
