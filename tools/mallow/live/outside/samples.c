/* SPDX-License-Identifier: MIT
 * samples.c -- a table of stacks, and the stack of each sample by its id. */
#include "live/outside/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/bpf/bpf_call.h"
#include "model/memory.h"
#include "model/monotonic.h"
#include "model/table.h"

/* Most samples: 4 bytes each.  At 1,000 a second they last 9 hours. */
#define SAMPLES_MAX ((size_t)1 << 25)
/* Most stacks, and frames of all of them. */
#define STACKS_MAX ((size_t)1 << 20)
#define FRAMES_MAX ((size_t)1 << 26)
/* Most threads that are told apart. */
#define THREADS_MAX ((size_t)1 << 20)
/* Frames next to the allocator's function that may belong to it: glibc's posix_memalign calls
 * malloc through one function. */
#define INNER_FRAMES 4
/* The mappings of a process are read again at most once in this time: code without a file, which
 * JIT compilers write, looks like a new module. */
#define RENEW_SECONDS 1.0

struct mw_outside_samples {
	int pid;
	const mw_probe_maps_t *maps;
	mw_outside_modules_t *modules;
	const mw_outside_functions_t *functions;
	mw_copied_stacks_t *walker;
	double renewed_seconds;
	mw_table_t table; /* stacks; entry numbers are indices plus 1 */
	mw_table_t thread_table;
	mw_outside_thread_t *threads;
	size_t thread_count, thread_capacity;
	mw_outside_stack_t *stacks;
	size_t stack_count, stack_capacity, frame_count;
	uint32_t *stack_of; /* by id: index of the stack plus 1; 0 = none */
	size_t id_capacity, id_limit;
	uint64_t nested, truncated;
	bool is_full; /* of stacks of CPU time */
};

mw_outside_samples_t *mw_outside_samples_new(int pid, const mw_probe_maps_t *maps,
					     mw_outside_modules_t *modules,
					     const mw_outside_functions_t *functions,
					     mw_error_t *error) {
	mw_outside_samples_t *samples = mw_xcalloc(1, sizeof(*samples));
	samples->pid = pid;
	samples->maps = maps;
	samples->modules = modules;
	samples->functions = functions;
	samples->walker = mw_copied_stacks_new(modules, pid, error);
	if (samples->walker != NULL)
		return samples;
	free(samples);
	return NULL;
}

void mw_outside_samples_free(mw_outside_samples_t *samples) {
	for (size_t i = 0; i < samples->stack_count; i++)
		free(samples->stacks[i].frames);
	mw_table_clear(&samples->table);
	mw_table_clear(&samples->thread_table);
	free(samples->threads);
	mw_copied_stacks_free(samples->walker);
	free(samples->stacks);
	free(samples->stack_of);
	free(samples);
}

typedef struct stack_key {
	const uint64_t *frames;
	size_t depth, thread;
} stack_key_t;

static bool is_equal(const void *context, uint32_t entry, const void *key) {
	const mw_outside_samples_t *samples = context;
	const mw_outside_stack_t *stack = &samples->stacks[entry - 1];
	const stack_key_t *sought = key;
	return stack->depth == sought->depth && stack->thread == sought->thread &&
	       memcmp(stack->frames, sought->frames, sought->depth * sizeof(uint64_t)) == 0;
}

/* Returns the entry of a stack; 0: there is no room for another one. */
static uint32_t find_stack(mw_outside_samples_t *samples, const uint64_t *frames, size_t depth,
			   size_t thread) {
	const stack_key_t key = {frames, depth, thread};
	uint64_t hash = mw_table_hash(frames, depth * sizeof(*frames)) ^
			mw_table_hash(&thread, sizeof(thread));
	uint32_t entry = mw_table_find(&samples->table, hash, is_equal, samples, &key);
	if (entry != 0)
		return entry;
	if (samples->stack_count == STACKS_MAX || samples->frame_count + depth > FRAMES_MAX)
		return 0;
	samples->stacks = mw_grow(samples->stacks, &samples->stack_capacity,
				  samples->stack_count + 1, sizeof(*samples->stacks));
	mw_outside_stack_t *stack = &samples->stacks[samples->stack_count++];
	*stack = (mw_outside_stack_t){.depth = depth, .thread = thread};
	stack->frames = mw_xcalloc(depth, sizeof(*frames));
	memcpy(stack->frames, frames, depth * sizeof(*frames));
	samples->frame_count += depth;
	mw_table_add(&samples->table, hash, (uint32_t)samples->stack_count);
	return (uint32_t)samples->stack_count;
}

static bool are_known(const mw_outside_samples_t *samples, const uint64_t *frames, size_t depth) {
	for (size_t i = 0; i < depth; i++)
		if (mw_outside_modules_find(samples->modules, frames[i]) == NULL)
			return false;
	return true;
}

static size_t walk(mw_outside_samples_t *samples, const mw_copied_thread_t *thread,
		   uint64_t frames[MW_OUTSIDE_FRAMES_MAX], bool *is_cut) {
	size_t depth = mw_copied_stacks_walk(samples->walker, thread, frames, is_cut);
	if (are_known(samples, frames, depth) ||
	    mw_monotonic_seconds() - samples->renewed_seconds < RENEW_SECONDS)
		return depth;
	samples->renewed_seconds = mw_monotonic_seconds();
	if (mw_outside_modules_read(samples->modules, samples->pid, NULL) != 0)
		return depth;
	mw_copied_stacks_renew(samples->walker);
	return mw_copied_stacks_walk(samples->walker, thread, frames, is_cut);
}

/* How many calls of this size a sample represents. */
static double weight(const mw_outside_samples_t *samples, uint64_t size) {
	return 1 / -expm1(-(double)size / (double)samples->maps->mean_bytes);
}

bool mw_outside_samples_are_full(const mw_outside_samples_t *samples) {
	return samples->is_full || samples->id_limit >= SAMPLES_MAX;
}

void mw_outside_samples_take(void *context, const void *record, size_t bytes) {
	mw_outside_samples_t *samples = context;
	const mw_probe_event_t *event = record;
	uint64_t frames[MW_OUTSIDE_FRAMES_MAX];
	if (bytes < sizeof(*event) || event->id >= SAMPLES_MAX || event->id == 0)
		return;
	size_t pages = event->pages <= MW_PROBE_PAGES_MAX ? (size_t)event->pages : 0;
	const mw_copied_thread_t thread = {
		.registers = event->registers,
		.memory = event->stack[0],
		.start = event->stack_address,
		.copied = pages * MW_PROBE_PAGE_BYTES,
		.is_at_entry = true,
	};
	size_t depth = walk(samples, &thread, frames, NULL), first = 1;
	size_t id = (size_t)event->id;
	/* The first frame is the allocator's function.  If that was called by another one, the
	 * other one's probe has counted the call. */
	for (size_t i = 1; i < depth && i <= INNER_FRAMES; i++)
		if (mw_outside_functions_have(samples->functions, frames[i])) {
			samples->nested++;
			return;
		}
	if (depth == 1)
		first = 0;
	uint32_t entry = find_stack(samples, frames + first, depth - first, 0);
	if (entry == 0)
		return;
	samples->stack_of = mw_grow(samples->stack_of, &samples->id_capacity, id + 1,
				    sizeof(*samples->stack_of));
	samples->stack_of[id] = entry;
	samples->id_limit = id >= samples->id_limit ? id + 1 : samples->id_limit;
	mw_outside_sum_t *sum = &samples->stacks[entry - 1].allocated;
	double blocks = weight(samples, event->size);
	sum->blocks += blocks;
	sum->bytes += blocks * (double)event->size;
	sum->samples++;
}

static bool is_thread(const void *context, uint32_t entry, const void *key) {
	const mw_outside_samples_t *samples = context;
	return samples->threads[entry - 1].id == *(const int *)key;
}

static void read_name(int pid, mw_outside_thread_t *thread) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, thread->id);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return;
	size_t length = fread(thread->name, 1, sizeof(thread->name) - 1, file);
	thread->name[strcspn(thread->name, "\n")] = '\0';
	thread->name[length] = '\0';
	fclose(file);
}

/* Returns the index of a thread plus 1. */
static uint32_t find_thread(mw_outside_samples_t *samples, int id) {
	uint64_t hash = mw_table_hash(&id, sizeof(id));
	uint32_t entry = mw_table_find(&samples->thread_table, hash, is_thread, samples, &id);
	if (entry != 0 || samples->thread_count == THREADS_MAX)
		return entry;
	samples->threads = mw_grow(samples->threads, &samples->thread_capacity,
				   samples->thread_count + 1, sizeof(*samples->threads));
	mw_outside_thread_t *thread = &samples->threads[samples->thread_count++];
	*thread = (mw_outside_thread_t){.id = id};
	read_name(samples->pid, thread);
	mw_table_add(&samples->thread_table, hash, (uint32_t)samples->thread_count);
	return (uint32_t)samples->thread_count;
}

void mw_outside_samples_take_cpu(void *context, const mw_cpu_sample_t *sample) {
	mw_outside_samples_t *samples = context;
	uint64_t frames[MW_CPU_KERNEL_FRAMES + MW_OUTSIDE_FRAMES_MAX];
	size_t depth = sample->kernel_depth;
	bool is_cut = false;
	/* Processes that the process makes have its events, too. */
	if (sample->process != samples->pid)
		return;
	/* The first one is an address, the others are return addresses. */
	for (size_t i = 0; i < depth; i++)
		frames[i] = sample->kernel_frames[i] - (i > 0);
	if (sample->has_registers) {
		const mw_copied_thread_t thread = {
			.registers = sample->registers,
			.memory = sample->stack,
			.start = sample->registers[MW_PROBE_STACK_POINTER],
			.copied = sample->stack_bytes,
		};
		depth += walk(samples, &thread, frames + depth, &is_cut);
	}
	if (depth == 0)
		return;
	samples->truncated += is_cut && sample->stack_bytes == MW_CPU_STACK_BYTES;
	uint32_t entry = find_stack(samples, frames, depth, find_thread(samples, sample->thread));
	if (entry == 0) {
		samples->is_full = true;
		return;
	}
	samples->stacks[entry - 1].allocated.samples++;
}

uint64_t mw_outside_samples_truncated(const mw_outside_samples_t *samples) {
	return samples->truncated;
}

const mw_outside_thread_t *mw_outside_samples_threads(const mw_outside_samples_t *samples,
						      size_t *count) {
	*count = samples->thread_count;
	return samples->threads;
}

static void add_block(mw_outside_samples_t *samples, const mw_probe_block_t *block,
		      uint64_t old_ns) {
	if (block->id >= samples->id_limit || samples->stack_of[block->id] == 0)
		return;
	mw_outside_stack_t *stack = &samples->stacks[samples->stack_of[block->id] - 1];
	double blocks = weight(samples, block->size);
	bool is_old = block->time_ns <= old_ns;
	for (int i = 0; i < 1 + is_old; i++) {
		mw_outside_sum_t *sum = i == 0 ? &stack->live : &stack->old;
		sum->blocks += blocks;
		sum->bytes += blocks * (double)block->size;
		sum->samples++;
	}
	if (stack->oldest_ns == 0 || block->time_ns < stack->oldest_ns)
		stack->oldest_ns = block->time_ns;
}

void mw_outside_samples_end(mw_outside_samples_t *samples, uint64_t old_ns) {
	uint64_t key, next;
	mw_probe_block_t block;
	size_t count = 0;
	for (bool has = mw_bpf_map_next(samples->maps->live, NULL, &next);
	     has && count < MW_PROBE_LIVE_MAX;
	     has = mw_bpf_map_next(samples->maps->live, &key, &next), count++) {
		key = next;
		if (mw_bpf_map_read(samples->maps->live, &key, &block))
			add_block(samples, &block, old_ns);
	}
}

uint64_t mw_outside_samples_nested(const mw_outside_samples_t *samples) {
	return samples->nested;
}

const mw_outside_stack_t *mw_outside_samples_stacks(const mw_outside_samples_t *samples,
						    size_t *count) {
	*count = samples->stack_count;
	return samples->stacks;
}
