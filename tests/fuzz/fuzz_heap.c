/* SPDX-License-Identifier: MIT
 * fuzz_heap.c -- allocation against a model, driven by the input: no two live blocks overlap,
 * contents stay, alignments and usable sizes hold, calloc's memory is zero, a refusal changes
 * nothing and comes only from the kernel, each sample is freed with its block, and at the end
 * nothing is in use.
 *
 * One thread plays three: the thread-local state is exchanged between operations, so that frees are
 * remote and pages become full, abandoned and reclaimed.  tests/model tests single instructions. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../torture/shadow.h"
#include "api/libc.h"
#include "api/process/background_thread.h"
#include "api/process/start.h"
#include "heap/local/heap.h"
#include "heap/sample/hooks.h"
#include "heap/stats/heap_walk.h"
#include "heap/stats/stats.h"
#include "heap/thread/thread.h"
#include "heap_cxx.h"
#include "os/lock/lock.h"
#include "os/platform/kernel_calls.h"
#include "os/time/clock.h"

enum { SLOTS = 256, THREADS = 3, RECORDS = 512 };
/* Of all live blocks: keeps the address space and the time of an input in bounds. */
#define LIVE_MAX_BYTES ((size_t)512 << 20)
/* Each unmapping that fails leaves a mapping behind, and a process has 65,530. */
#define UNMAP_REFUSALS_MAX 500

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

bool mw_api_started = true;
void mw_api_start(void) {
}
void mw_api_start_background(void) {
}

/* ---- input ---- */

static struct { const uint8_t *at, *limit; } input;

static unsigned take8(void) {
	return input.at < input.limit ? *input.at++ : 0;
}

static unsigned take16(void) {
	unsigned low = take8();
	return low | take8() << 8;
}

/* ---- what the model knows ---- */

typedef struct slot {
	unsigned char *block; /* NULL: free */
	size_t bytes, usable_bytes;
	size_t align; /* as requested */
	bool cxx;     /* from operator new */
	uint64_t seed;
} slot_t;

typedef enum sampling { SAMPLING_OFF, SAMPLING_RANDOM, SAMPLING_EXACT } sampling_t;

static struct {
	slot_t slots[SLOTS];
	size_t live_bytes;
	uint64_t next_seed;
	void *records[RECORDS]; /* block of each live record */
	sampling_t sampling;
	bool all_sampled; /* exact, and no list is left that was made before */
	uint64_t random;
	uint64_t now_ns;
	mw_thread_t threads[THREADS]; /* of those that are not on stage */
	bool threads_known[THREADS];
	unsigned thread;
	bool several; /* more than one thread has been on stage */
	unsigned fail_after, fail_count;
	bool refused; /* the kernel, during this operation */
	unsigned unmap_refusals;
} model;

static uint64_t next_random(void) {
	model.random ^= model.random << 13;
	model.random ^= model.random >> 7;
	model.random ^= model.random << 17;
	return model.random;
}

static bool fault(mw_os_call_t call) {
	if (model.fail_count == 0 || (call == MW_OS_UNMAP && model.unmap_refusals == 0))
		return false;
	if (model.fail_after > 0) {
		model.fail_after--;
		return false;
	}
	model.fail_count--;
	if (call == MW_OS_UNMAP)
		model.unmap_refusals--;
	model.refused = true;
	return true;
}

static uint64_t now(void) {
	return model.now_ns;
}

/* ---- the sampler's part, played ---- */

static void hook_thread(mw_hook_thread_t *thread) {
	(void)thread;
}

static uint64_t draw(uint64_t mean) {
	switch (model.sampling) {
	case SAMPLING_RANDOM:
		return 1 + next_random() % mean;
	case SAMPLING_EXACT:
		return 1;
	default:
		return UINT64_MAX;
	}
}

static uint64_t draw_objects(mw_hook_thread_t *thread, size_t size_bytes) {
	(void)thread;
	TORTURE_MUST(size_bytes > 0);
	return draw(40);
}

static uint64_t draw_bytes(mw_hook_thread_t *thread) {
	(void)thread;
	return draw(300000);
}

static mw_record_id_t sampled(mw_hook_thread_t *thread, const mw_sample_request_t *request) {
	(void)thread;
	TORTURE_MUST(request->block != NULL && request->usable_bytes >= request->requested_bytes);
	for (mw_record_id_t id = 1; id < RECORDS; id++) {
		TORTURE_MUST(model.records[id] != request->block);
		if (!model.records[id]) {
			model.records[id] = request->block;
			return id;
		}
	}
	return 0;
}

static void sample_freed(mw_hook_thread_t *thread, mw_record_id_t record, bool temporary) {
	(void)temporary;
	(void)thread;
	TORTURE_MUST(record > 0 && record < RECORDS && model.records[record] != NULL);
	model.records[record] = NULL;
}

static void grew(mw_hook_thread_t *thread, size_t in_use_bytes) {
	(void)thread;
	TORTURE_MUST(in_use_bytes > 0);
}

static bool has_record(const void *block) {
	for (int id = 1; id < RECORDS; id++)
		if (model.records[id] == block)
			return true;
	return false;
}

static void set_sampling(unsigned choice) {
	model.sampling = (sampling_t)(choice % 3);
	model.all_sampled = false;
	atomic_fetch_add(&mw_heap_rate_generation, 1);
}

/* ---- threads ---- */

/* No thread of the model is the real one when there are several: free() may not take its fast path
 * into a page of another. */
static void name_thread(mw_heap_t *heap) {
	if (model.several)
		heap->owner = (uintptr_t)&model.threads[model.thread] | 2;
}

static void switch_thread(unsigned number) {
	number %= THREADS;
	if (number == model.thread || !model.several)
		return;
	model.threads[model.thread] = mw_thread;
	model.thread = number;
	mw_thread = model.threads[number];
	model.all_sampled = false;
}

/* The thread on stage ends; a new one plays on. */
static void end_thread(void) {
	mw_heap_thread_end();
	mw_thread = (mw_thread_t)MW_THREAD_INITIAL;
}

/* ---- contents ---- */

static unsigned char pattern(uint64_t seed, size_t offset) {
	return (unsigned char)((seed * 31 + offset) * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

/* The first bytes, some of each 4 KiB, and the last: a hundred times as many operations as with all
 * of them, in the same time. */
static size_t next_offset(size_t offset) {
	return offset < 32 ? offset + 1 : offset + 1021;
}

static size_t tail_of(size_t bytes) {
	return bytes < 8 ? 0 : bytes - 8;
}

static void fill(slot_t *slot) {
	for (size_t i = 0; i < slot->bytes; i = next_offset(i))
		slot->block[i] = pattern(slot->seed, i);
	for (size_t i = tail_of(slot->bytes); i < slot->bytes; i++)
		slot->block[i] = pattern(slot->seed, i);
}

static void check_start(const unsigned char *block, size_t bytes, uint64_t seed) {
	for (size_t i = 0; i < bytes; i = next_offset(i))
		TORTURE_MUST(block[i] == pattern(seed, i));
}

static void check(const slot_t *slot) {
	check_start(slot->block, slot->bytes, slot->seed);
	for (size_t i = tail_of(slot->bytes); i < slot->bytes; i++)
		TORTURE_MUST(slot->block[i] == pattern(slot->seed, i));
}

/* ---- operations ---- */

/* Small sizes most of the time, others as the input likes, each boundary within reach. */
static size_t draw_size(void) {
	unsigned kind = take8();
	size_t value = take16();
	switch (kind % 8) {
	case 0:
		return value % 65;
	case 1:
		return value;
	case 2:
		return value * 41 % ((size_t)3 << 20);
	case 3:
		return ((size_t)1 << (4 + value % 20)) + (value >> 5) % 5 - 2;
	case 4:
		return kind == 4 ? (value << 9) % ((size_t)24 << 20) : value % 300000;
	default:
		return value % 1100;
	}
}

static slot_t *choose(bool full) {
	unsigned start = take8();
	for (unsigned i = 0; i < SLOTS; i++) {
		slot_t *slot = &model.slots[(start + i) % SLOTS];
		if ((slot->block != NULL) == full)
			return slot;
	}
	return NULL;
}

static void store_block(slot_t *slot, void *block, size_t bytes, uint64_t seed) {
	*slot = (slot_t){block, bytes, malloc_usable_size(block), 16, false, seed};
	/* The hardened library says what was requested; a block without a byte is no sample. */
	TORTURE_MUST(slot->usable_bytes >= bytes && (slot->usable_bytes > 0 || MW_HARDEN_ON));
	shadow_claim(block, slot->usable_bytes | (slot->usable_bytes == 0));
	fill(slot);
	model.live_bytes += slot->usable_bytes;
	if (model.all_sampled && !model.refused && slot->usable_bytes > 0)
		TORTURE_MUST(has_record(block));
}

static void disown(slot_t *slot) {
	check(slot);
	TORTURE_MUST(malloc_usable_size(slot->block) == slot->usable_bytes);
	shadow_release(slot->block, slot->usable_bytes | (slot->usable_bytes == 0));
	model.live_bytes -= slot->usable_bytes;
}

static void must_be_refused(const void *block) {
	TORTURE_MUST(block == NULL && model.refused && errno == ENOMEM);
}

static void *allocate_aligned(size_t bytes, size_t *align) {
	unsigned way = take8();
	*align = (size_t)1 << way % 23;
	void *block = NULL;
	switch (way / 64) {
	case 0:
		if (*align < sizeof(void *))
			*align = sizeof(void *);
		if (posix_memalign(&block, *align, bytes) != 0)
			errno = ENOMEM;
		return block;
	case 1:
		return memalign(*align, bytes);
	case 2:
		*align = 4096;
		return bytes % 2 ? valloc(bytes) : pvalloc(bytes);
	default:
		return aligned_alloc(*align, bytes);
	}
}

static void op_allocate(unsigned way) {
	slot_t *slot = choose(false);
	size_t bytes = draw_size(), align = 16;
	if (!slot || model.live_bytes + bytes > LIVE_MAX_BYTES)
		return;
	void *block;
	switch (way) {
	case 0:
		block = malloc(bytes);
		break;
	case 1:
		block = calloc(bytes / 3 + 1, 3);
		bytes = (bytes / 3 + 1) * 3;
		break;
	case 2:
		block = realloc(NULL, bytes);
		break;
	default:
		block = allocate_aligned(bytes, &align);
		break;
	}
	if (!block) {
		must_be_refused(block);
		return;
	}
	TORTURE_MUST(((uintptr_t)block & (align - 1)) == 0 && ((uintptr_t)block & 15) == 0);
	if (way == 1)
		zero_check(block, bytes);
	store_block(slot, block, bytes, ++model.next_seed);
	slot->align = align;
}

/* The forms without std::nothrow would throw: only while the kernel refuses nothing. */
static void op_new(void) {
	slot_t *slot = choose(false);
	unsigned way = take8();
	size_t bytes = draw_size(), align = way & 1 ? (size_t)16 << way / 8 % 10 : 16;
	if (!slot || model.live_bytes + bytes > LIVE_MAX_BYTES || model.fail_count > 0)
		return;
	void *block = cxx_new(way, bytes, align);
	TORTURE_MUST(block != NULL && ((uintptr_t)block & (align - 1)) == 0);
	store_block(slot, block, bytes, ++model.next_seed);
	slot->align = align;
	slot->cxx = true;
}

static void release(slot_t *slot) {
	unsigned char *block = slot->block;
	disown(slot);
	errno = 77;
	if (slot->cxx)
		/* By the size, so that freeing takes no input. */
		cxx_delete(slot->bytes, block, slot->bytes, slot->align);
	else if (slot->bytes % 16 == 3 && slot->align == 16)
		free_sized(block, slot->bytes);
	else if (slot->bytes % 16 == 3)
		free_aligned_sized(block, slot->align, slot->bytes);
	else
		free(block);
	TORTURE_MUST(errno == 77);
	slot->block = NULL;
	TORTURE_MUST(!has_record(block));
}

static void op_resize(void) {
	slot_t *slot = choose(true);
	if (!slot || slot->cxx)
		return;
	slot_t old = *slot;
	size_t bytes = draw_size() + 1;
	unsigned near = take8();
	if (near & 1)
		bytes = old.bytes + near / 2 + 1;
	if (model.live_bytes + bytes > LIVE_MAX_BYTES)
		return;
	disown(slot);
	unsigned char *block =
		near & 2 ? reallocarray(old.block, bytes, 1) : realloc(old.block, bytes);
	if (!block) {
		must_be_refused(block);
		check(&old);
		store_block(slot, old.block, old.bytes, old.seed);
		slot->align = old.align;
		return;
	}
	check_start(block, bytes < old.bytes ? bytes : old.bytes, old.seed);
	if (bytes >= old.bytes)
		for (size_t i = tail_of(old.bytes); i < old.bytes; i++)
			TORTURE_MUST(block[i] == pattern(old.seed, i));
	TORTURE_MUST(block == old.block || !has_record(old.block));
	model.all_sampled &= block != old.block;
	store_block(slot, block, bytes, old.seed);
}

/* Many of one size: pages become full. */
static void op_burst(void) {
	size_t bytes = draw_size() % 70000;
	unsigned count = take8();
	for (unsigned i = 0; i < count; i++) {
		slot_t *slot = choose(false);
		if (!slot || model.live_bytes + bytes > LIVE_MAX_BYTES)
			return;
		void *block = malloc(bytes);
		if (!block) {
			must_be_refused(block);
			return;
		}
		store_block(slot, block, bytes, ++model.next_seed);
	}
}

static void op_free_many(void) {
	unsigned step = take8() % 4 + 1;
	for (unsigned i = take8() % 4; i < SLOTS; i += step)
		if (model.slots[i].block)
			release(&model.slots[i]);
}

static void op_refuse(void) {
	size_t bytes = SIZE_MAX - (size_t)take16() * (take8() + 1);
	slot_t *slot = choose(true);
	errno = 0;
	TORTURE_MUST(malloc(bytes) == NULL && errno == ENOMEM);
	TORTURE_MUST(calloc(bytes / 2, 3) == NULL && memalign(128, bytes) == NULL);
	if (!slot)
		return;
	TORTURE_MUST(realloc(slot->block, bytes) == NULL);
	TORTURE_MUST(reallocarray(slot->block, bytes, bytes) == NULL);
	check(slot);
}

static void op_free(void) {
	slot_t *slot = choose(true);
	if (slot)
		release(slot);
}

static void op_trim(void) {
	malloc_trim(0);
	/* This thread's lists are empty now, the others' may not be; and with the next block it
	 * notices the rate, which decides what free() may put into a list. */
	void *block = malloc(1);
	model.all_sampled = block && model.sampling == SAMPLING_EXACT && !model.several;
	free(block);
}

/* Handlers of fork(2) that other libraries registered run while this thread holds every lock. */
static void op_fork(void) {
	mw_heap_fork_prepare();
	mw_lock_fork_begin();
	op_free();
	op_allocate(take8() % 4);
	mw_lock_fork_end();
	mw_heap_fork_parent();
}

static void op_ask(void) {
	struct mallinfo2 wide = mallinfo2();
	TORTURE_MUST(wide.uordblks + wide.hblkhd >= model.live_bytes);
	TORTURE_MUST(wide.uordblks <= wide.arena);
	TORTURE_MUST(malloc_usable_size(NULL) == 0);
	free(NULL);
}

static void operate(void) {
	unsigned op = take8();
	model.refused = false;
	switch (op % 32) {
	case 0:
		/* For the next operation. */
		model.fail_after = take8() % 8;
		model.fail_count = take8();
		if (model.fail_count > 3)
			model.fail_count = model.fail_count & 1 ? UINT_MAX : 1;
		return;
	case 1:
		op_trim();
		break;
	case 2:
		end_thread();
		break;
	case 3:
		model.now_ns += (uint64_t)take8() << 24;
		break;
	case 4:
		set_sampling(take8());
		break;
	case 5:
		op_refuse();
		break;
	case 6:
		op_free_many();
		break;
	case 7:
	case 8:
		op_burst();
		break;
	case 9 ... 11:
		switch_thread(take8());
		break;
	case 12 ... 16:
		op_resize();
		break;
	case 17 ... 23:
		op_free();
		break;
	case 24 ... 25:
		op_new();
		break;
	case 26:
		op < 128 ? op_fork() : op_ask();
		break;
	default:
		op_allocate(op % 4);
		break;
	}
	model.fail_count = 0;
}

/* ---- an input ---- */

static void begin(void) {
	static const mw_heap_hooks_t hooks = {
		.thread_start = hook_thread,
		.draw_objects = draw_objects,
		.draw_bytes = draw_bytes,
		.sampled = sampled,
		.sample_freed = sample_freed,
		.poll = hook_thread,
		.grew = grew,
	};
	static bool done;
	if (!done) {
		shadow_init();
		model.unmap_refusals = UNMAP_REFUSALS_MAX;
		model.now_ns = 1;
		mw_heap_set_hooks(&hooks);
		mw_heap_on_thread = name_thread;
		mw_os_clock_set_source(now);
		mw_os_fault_hook = fault;
		done = true;
	}
	unsigned choices = take8();
	model.several = choices & 1;
	set_sampling(choices >> 1);
	op_trim();
	model.random = UINT64_C(0x9e3779b97f4a7c15) ^ take16();
	model.next_seed = 0;
}

static void end(void) {
	model.fail_count = 0;
	for (int i = 0; i < SLOTS; i++)
		if (model.slots[i].block)
			release(&model.slots[i]);
	/* The pages of all three threads, also those that others freed blocks of. */
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < THREADS; i++) {
			switch_thread(i);
			end_thread();
		}
	}
	model.several = true;
	switch_thread(0);
	malloc_trim(0);
	TORTURE_MUST(shadow_claimed() == 0 && model.live_bytes == 0);
	for (int id = 1; id < RECORDS; id++)
		TORTURE_MUST(model.records[id] == NULL);
	TORTURE_MUST(mw_heap_live_bytes() == 0);
	uint64_t stats[MW_STAT_COUNT];
	mw_heap_stats(stats);
	TORTURE_MUST(stats[MW_STAT_huge_bytes] == 0 && stats[MW_STAT_huge_blocks] == 0);
	TORTURE_MUST(stats[MW_STAT_abandoned_pages] == 0);
	TORTURE_MUST(stats[MW_STAT_live_threads] == 0);
	/* Of each class the slab of samples used last may stay. */
	size_t slabs_max = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		slabs_max += mw_class_run_slices[c] * MW_SLICE_BYTES;
	TORTURE_MUST(stats[MW_STAT_in_use_bytes] <= slabs_max);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
	input.at = bytes;
	input.limit = bytes + length;
	begin();
	while (input.at < input.limit)
		operate();
	end();
	return 0;
}
