/* SPDX-License-Identifier: MIT
 * programs.c -- the instructions of the programs.
 * Registers of all programs: 6 is the context, the probed thread's registers; 7 the size, then the
 * first page of the stack; 8 the processor's counters; 9 what a map or the ring returned. */
#include "live/bpf/programs.h"

#include <string.h>

#include "live/bpf/bpf_call.h"
#include "live/bpf/kernel_types.h"
#include "live/bpf/probe_registers.h"

enum { CONTEXT = 6, SIZE = 7, COUNTS = 8, FOUND = 9, FRAME = 10 };

/* What the stack of a program holds, below register 10. */
enum {
	KEY = -8,        /* number 0, or the address of a block */
	OLD_BLOCK = -16, /* block that realloc was given, if it is a live sample; else 0 */
	OLD_ID = -24,
	OWN_ID = -32,   /* 0: the call is not sampled */
	CALL_KEY = -48, /* thread, stack pointer at the return */
	CALL = -96,     /* id, size, time, old block, old id, where posix_memalign stores */
	BLOCK = -136,   /* mw_probe_block_t */
	OWN_SIZE = -144,
	OUTER = -168, /* stack pointer, return address, PC */
};

enum {
	L_SAMPLED,
	L_UNSAMPLED,
	L_LOST,
	L_STACK_END,
	L_SKIP,
	L_RETURN,
	L_NOT_FOUND,
	L_OWN,
	L_NEW,
	L_FULL,
	L_FOLLOW,
	L_PASSED_ON,
	L_FREE,
	L_NO_OUTER
};

#define COUNT_OF(member) ((int)offsetof(mw_probe_counts_t, member))
#define EVENT_OF(member) ((int)offsetof(mw_probe_event_t, member))

static void store_constant(mw_bpf_code_t *c, int offset, int32_t value) {
	mw_bpf_set_constant(c, BPF_MOV, BPF_REG_1, value);
	mw_bpf_store(c, BPF_DW, FRAME, offset, BPF_REG_1);
}

/* register = address of a place on the stack */
static void set_place(mw_bpf_code_t *c, int to, int offset) {
	mw_bpf_set(c, BPF_MOV, to, FRAME);
	mw_bpf_set_constant(c, BPF_ADD, to, offset);
}

static void add_one(mw_bpf_code_t *c, int member) {
	mw_bpf_set_constant(c, BPF_MOV, BPF_REG_1, 1);
	mw_bpf_atomic(c, BPF_ADD, COUNTS, member, BPF_REG_1);
}

static void argument(mw_bpf_code_t *c, int to, int number) {
	mw_bpf_load(c, BPF_DW, to, CONTEXT, mw_probe_argument_at[number]);
}

/* Looks up the counters of this processor; ends if there are none, which cannot be. */
static void find_counts(mw_bpf_code_t *c, const mw_probe_maps_t *maps) {
	store_constant(c, KEY, 0);
	mw_bpf_set_map(c, BPF_REG_1, maps->counts);
	set_place(c, BPF_REG_2, KEY);
	mw_bpf_call(c, BPF_FUNC_map_lookup_elem);
	mw_bpf_jump_if_constant(c, BPF_JEQ, BPF_REG_0, 0, L_SKIP);
	mw_bpf_set(c, BPF_MOV, COUNTS, BPF_REG_0);
}

static void map_call(mw_bpf_code_t *c, int helper, int map, int key, int value) {
	mw_bpf_set_map(c, BPF_REG_1, map);
	set_place(c, BPF_REG_2, key);
	if (helper == BPF_FUNC_map_update_elem) {
		set_place(c, BPF_REG_3, value);
		mw_bpf_set_constant(c, BPF_MOV, BPF_REG_4, BPF_ANY);
	}
	mw_bpf_call(c, helper);
}

/* Sets SIZE to the bytes requested, at least 1.  Sizes that no allocator has are not looked at. */
static void find_size(mw_bpf_code_t *c, mw_probe_kind_t kind) {
	static const uint8_t at[MW_PROBE_KINDS] = {
		[MW_PROBE_MALLOC] = 0,  [MW_PROBE_NEW] = 0,     [MW_PROBE_CALLOC] = 1,
		[MW_PROBE_REALLOC] = 1, [MW_PROBE_ALIGNED] = 1, [MW_PROBE_POSIX] = 2,
	};
	argument(c, SIZE, at[kind]);
	if (kind == MW_PROBE_CALLOC) {
		/* A product that does not fit is refused by calloc. */
		argument(c, BPF_REG_1, 0);
		mw_bpf_set(c, BPF_MOV, BPF_REG_2, SIZE);
		mw_bpf_set(c, BPF_MUL, SIZE, BPF_REG_1);
		mw_bpf_jump_if_constant(c, BPF_JEQ, BPF_REG_1, 0, L_OWN);
		mw_bpf_set(c, BPF_MOV, BPF_REG_3, SIZE);
		mw_bpf_set(c, BPF_DIV, BPF_REG_3, BPF_REG_1);
		mw_bpf_jump_if(c, BPF_JNE, BPF_REG_3, BPF_REG_2, L_SKIP);
		mw_bpf_label(c, L_OWN);
	}
	mw_bpf_set_wide(c, BPF_REG_1, (uint64_t)1 << MW_PROBE_SIZE_BITS);
	mw_bpf_jump_if(c, BPF_JGT, SIZE, BPF_REG_1, L_SKIP);
	mw_bpf_jump_if_constant(c, BPF_JNE, SIZE, 0, L_FOLLOW);
	mw_bpf_set_constant(c, BPF_MOV, SIZE, 1);
	mw_bpf_label(c, L_FOLLOW);
}

/* Stores stack pointer, return address and PC of the call at OUTER. */
static void find_outer(mw_bpf_code_t *c) {
	mw_bpf_load(c, BPF_DW, BPF_REG_3, CONTEXT, MW_PROBE_PC_AT);
	mw_bpf_store(c, BPF_DW, FRAME, OUTER + 16, BPF_REG_3);
	mw_bpf_load(c, BPF_DW, BPF_REG_3, CONTEXT, MW_PROBE_STACK_POINTER_AT);
	mw_bpf_store(c, BPF_DW, FRAME, OUTER, BPF_REG_3);
	store_constant(c, OUTER + 8, 0);
	set_place(c, BPF_REG_1, OUTER + 8);
	mw_bpf_set_constant(c, BPF_MOV, BPF_REG_2, 8);
	mw_bpf_call(c, BPF_FUNC_probe_read_user);
}

static void set_thread_key(mw_bpf_code_t *c) {
	mw_bpf_call(c, BPF_FUNC_get_current_pid_tgid);
	mw_bpf_store(c, BPF_DW, FRAME, KEY, BPF_REG_0);
}

/* realloc(NULL, n) and memalign(16, n) may end in a jump to malloc, musl's memalign in one to
 * aligned_alloc.  For its probe that is a call of its own, with the stack pointer and the return
 * address of the first one.  They leave both, and their own PC. */
static void leave_outer(mw_bpf_code_t *c, const mw_probe_maps_t *maps) {
	find_outer(c);
	set_thread_key(c);
	map_call(c, BPF_FUNC_map_update_elem, maps->outer, KEY, OUTER);
}

/* Stores the key of the call at hand: its thread, and the stack pointer at its return. */
static void set_call_key(mw_bpf_code_t *c) {
	mw_bpf_call(c, BPF_FUNC_get_current_pid_tgid);
	mw_bpf_store(c, BPF_DW, FRAME, CALL_KEY, BPF_REG_0);
	mw_bpf_load(c, BPF_DW, BPF_REG_1, CONTEXT, MW_PROBE_STACK_POINTER_AT);
	mw_bpf_set_constant(c, BPF_ADD, BPF_REG_1, MW_PROBE_RETURN_POPS);
	mw_bpf_store(c, BPF_DW, FRAME, CALL_KEY + 8, BPF_REG_1);
}

/* Goes to a label if the call is such a jump. */
static void pass_if_outer(mw_bpf_code_t *c, const mw_probe_maps_t *maps, unsigned label) {
	set_thread_key(c);
	map_call(c, BPF_FUNC_map_lookup_elem, maps->outer, KEY, 0);
	mw_bpf_jump_if_constant(c, BPF_JEQ, BPF_REG_0, 0, L_NO_OUTER);
	mw_bpf_set(c, BPF_MOV, FOUND, BPF_REG_0);
	find_outer(c);
	for (int i = 0; i < 16; i += 8) {
		mw_bpf_load(c, BPF_DW, BPF_REG_1, FOUND, i);
		mw_bpf_load(c, BPF_DW, BPF_REG_2, FRAME, OUTER + i);
		mw_bpf_jump_if(c, BPF_JNE, BPF_REG_1, BPF_REG_2, L_NO_OUTER);
	}
	mw_bpf_load(c, BPF_DW, BPF_REG_1, FOUND, 16);
	mw_bpf_load(c, BPF_DW, BPF_REG_2, FRAME, OUTER + 16);
	mw_bpf_jump_if(c, BPF_JNE, BPF_REG_1, BPF_REG_2, label);
	mw_bpf_label(c, L_NO_OUTER);
	/* The return address of a sampled call is the kernel's: such a call waits for its return.
	 */
	set_call_key(c);
	map_call(c, BPF_FUNC_map_lookup_elem, maps->pending, CALL_KEY, 0);
	mw_bpf_jump_if_constant(c, BPF_JNE, BPF_REG_0, 0, label);
}

/* realloc frees the block that it is given, once it has succeeded. */
static void find_old_block(mw_bpf_code_t *c, const mw_probe_maps_t *maps) {
	argument(c, BPF_REG_1, 0);
	mw_bpf_jump_if_constant(c, BPF_JEQ, BPF_REG_1, 0, L_NEW);
	mw_bpf_store(c, BPF_DW, FRAME, KEY, BPF_REG_1);
	map_call(c, BPF_FUNC_map_lookup_elem, maps->live, KEY, 0);
	mw_bpf_jump_if_constant(c, BPF_JEQ, BPF_REG_0, 0, L_NOT_FOUND);
	mw_bpf_load(c, BPF_DW, BPF_REG_1, BPF_REG_0, (int)offsetof(mw_probe_block_t, id));
	mw_bpf_store(c, BPF_DW, FRAME, OLD_ID, BPF_REG_1);
	mw_bpf_load(c, BPF_DW, BPF_REG_1, FRAME, KEY);
	mw_bpf_store(c, BPF_DW, FRAME, OLD_BLOCK, BPF_REG_1);
	mw_bpf_label(c, L_NOT_FOUND);
	/* realloc(p, 0) is free(p), and returns NULL. */
	argument(c, BPF_REG_1, 1);
	mw_bpf_jump_if_constant(c, BPF_JEQ, BPF_REG_1, 0, L_FREE);
	mw_bpf_jump(c, L_OWN);
	mw_bpf_label(c, L_NEW);
	leave_outer(c, maps);
	mw_bpf_label(c, L_OWN);
}

/* Counts the call, and goes to L_SAMPLED if the countdown ends in it. */
static void count_down(mw_bpf_code_t *c, const mw_probe_maps_t *maps) {
	find_counts(c, maps);
	add_one(c, COUNT_OF(calls));
	mw_bpf_atomic(c, BPF_ADD, COUNTS, COUNT_OF(bytes), SIZE);
	/* Atomic: a thread may take the processor from another one between two instructions. */
	mw_bpf_set_constant(c, BPF_MOV, BPF_REG_1, 0);
	mw_bpf_set(c, BPF_SUB, BPF_REG_1, SIZE);
	mw_bpf_atomic(c, BPF_ADD | BPF_FETCH, COUNTS, COUNT_OF(room), BPF_REG_1);
	mw_bpf_jump_if(c, BPF_JSGT, BPF_REG_1, SIZE, L_UNSAMPLED);
}

/* Draws the next gap: a quantile of the exponential distribution, and where between it and the
 * next one. */
static void draw_gap(mw_bpf_code_t *c, const mw_probe_maps_t *maps) {
	mw_bpf_call(c, BPF_FUNC_get_prandom_u32);
	mw_bpf_set(c, BPF_MOV, BPF_REG_1, BPF_REG_0);
	mw_bpf_set_constant(c, BPF_AND, BPF_REG_1, MW_PROBE_GAPS - 1);
	mw_bpf_set_constant(c, BPF_LSH, BPF_REG_1, 3);
	mw_bpf_set_map_value(c, BPF_REG_2, maps->gaps);
	mw_bpf_set(c, BPF_ADD, BPF_REG_2, BPF_REG_1);
	mw_bpf_load(c, BPF_DW, BPF_REG_3, BPF_REG_2, 0);
	mw_bpf_load(c, BPF_DW, BPF_REG_4, BPF_REG_2, 8);
	mw_bpf_set(c, BPF_SUB, BPF_REG_4, BPF_REG_3);
	mw_bpf_set_constant(c, BPF_RSH, BPF_REG_0, 12);
	mw_bpf_set_wide(c, BPF_REG_1, 0xfffff);
	mw_bpf_set(c, BPF_AND, BPF_REG_0, BPF_REG_1);
	mw_bpf_set(c, BPF_MUL, BPF_REG_4, BPF_REG_0);
	mw_bpf_set_constant(c, BPF_RSH, BPF_REG_4, 20);
	mw_bpf_set(c, BPF_ADD, BPF_REG_3, BPF_REG_4);
	mw_bpf_set_constant(c, BPF_ADD, BPF_REG_3, 1);
	mw_bpf_atomic(c, BPF_XCHG, COUNTS, COUNT_OF(room), BPF_REG_3);
	add_one(c, COUNT_OF(sampled));
}

/* Sends registers and the stack: whole pages, as many as can be read. */
static void send_event(mw_bpf_code_t *c, const mw_probe_maps_t *maps) {
	mw_bpf_store(c, BPF_DW, FRAME, OWN_SIZE, SIZE);
	mw_bpf_set_map(c, BPF_REG_1, maps->ring);
	mw_bpf_set_constant(c, BPF_MOV, BPF_REG_2, sizeof(mw_probe_event_t));
	mw_bpf_set_constant(c, BPF_MOV, BPF_REG_3, 0);
	mw_bpf_call(c, BPF_FUNC_ringbuf_reserve);
	mw_bpf_jump_if_constant(c, BPF_JEQ, BPF_REG_0, 0, L_LOST);
	mw_bpf_set(c, BPF_MOV, FOUND, BPF_REG_0);
	mw_bpf_set_map_value(c, BPF_REG_1, maps->ids);
	mw_bpf_set_constant(c, BPF_MOV, BPF_REG_2, 1);
	mw_bpf_atomic(c, BPF_ADD | BPF_FETCH, BPF_REG_1, 0, BPF_REG_2);
	mw_bpf_set_constant(c, BPF_ADD, BPF_REG_2, 1);
	mw_bpf_store(c, BPF_DW, FRAME, OWN_ID, BPF_REG_2);
	mw_bpf_store(c, BPF_DW, FOUND, EVENT_OF(id), BPF_REG_2);
	mw_bpf_store(c, BPF_DW, FOUND, EVENT_OF(size), SIZE);
	mw_bpf_call(c, BPF_FUNC_ktime_get_ns);
	mw_bpf_store(c, BPF_DW, FOUND, EVENT_OF(time_ns), BPF_REG_0);
	mw_bpf_store(c, BPF_DW, FRAME, CALL + 16, BPF_REG_0);
	mw_bpf_call(c, BPF_FUNC_get_current_pid_tgid);
	mw_bpf_store(c, BPF_DW, FOUND, EVENT_OF(thread), BPF_REG_0);
	mw_bpf_store(c, BPF_DW, FRAME, CALL_KEY, BPF_REG_0);
	for (int i = 0; i < MW_PROBE_REGISTERS; i++) {
		mw_bpf_load(c, BPF_DW, BPF_REG_1, CONTEXT, mw_probe_register_at[i]);
		mw_bpf_store(c, BPF_DW, FOUND, EVENT_OF(registers) + 8 * i, BPF_REG_1);
	}
	mw_bpf_load(c, BPF_DW, SIZE, CONTEXT, MW_PROBE_STACK_POINTER_AT);
	mw_bpf_set_constant(c, BPF_AND, SIZE, -MW_PROBE_PAGE_BYTES);
	mw_bpf_store(c, BPF_DW, FOUND, EVENT_OF(stack_address), SIZE);
	mw_bpf_set_constant(c, BPF_MOV, BPF_REG_1, 0);
	mw_bpf_store(c, BPF_DW, FOUND, EVENT_OF(pages), BPF_REG_1);
	for (int i = 0; i < MW_PROBE_PAGES_MAX; i++) {
		mw_bpf_set(c, BPF_MOV, BPF_REG_1, FOUND);
		mw_bpf_set_constant(c, BPF_ADD, BPF_REG_1,
				    EVENT_OF(stack) + i * MW_PROBE_PAGE_BYTES);
		mw_bpf_set_constant(c, BPF_MOV, BPF_REG_2, MW_PROBE_PAGE_BYTES);
		mw_bpf_set(c, BPF_MOV, BPF_REG_3, SIZE);
		mw_bpf_set_constant(c, BPF_ADD, SIZE, MW_PROBE_PAGE_BYTES);
		mw_bpf_call(c, BPF_FUNC_probe_read_user);
		mw_bpf_jump_if_constant(c, BPF_JNE, BPF_REG_0, 0, L_STACK_END);
		mw_bpf_set_constant(c, BPF_MOV, BPF_REG_1, i + 1);
		mw_bpf_store(c, BPF_DW, FOUND, EVENT_OF(pages), BPF_REG_1);
	}
	mw_bpf_label(c, L_STACK_END);
	mw_bpf_set(c, BPF_MOV, BPF_REG_1, FOUND);
	mw_bpf_set_constant(c, BPF_MOV, BPF_REG_2, 0);
	mw_bpf_call(c, BPF_FUNC_ringbuf_submit);
}

/* Leaves for the return what it has to know, by thread and by the stack pointer at the return. */
static void await_return(mw_bpf_code_t *c, const mw_probe_maps_t *maps) {
	set_call_key(c);
	mw_bpf_load(c, BPF_DW, BPF_REG_1, FRAME, OWN_ID);
	mw_bpf_store(c, BPF_DW, FRAME, CALL, BPF_REG_1);
	mw_bpf_load(c, BPF_DW, BPF_REG_1, FRAME, OWN_SIZE);
	mw_bpf_store(c, BPF_DW, FRAME, CALL + 8, BPF_REG_1);
	mw_bpf_load(c, BPF_DW, BPF_REG_1, FRAME, OLD_BLOCK);
	mw_bpf_store(c, BPF_DW, FRAME, CALL + 24, BPF_REG_1);
	mw_bpf_load(c, BPF_DW, BPF_REG_1, FRAME, OLD_ID);
	mw_bpf_store(c, BPF_DW, FRAME, CALL + 32, BPF_REG_1);
	map_call(c, BPF_FUNC_map_update_elem, maps->pending, CALL_KEY, CALL);
}

/* The return of a sampled call: the block is live now, and the one that realloc was given not. */
static void write_return(mw_bpf_code_t *c, const mw_probe_maps_t *maps) {
	mw_bpf_call(c, BPF_FUNC_get_current_pid_tgid);
	mw_bpf_store(c, BPF_DW, FRAME, CALL_KEY, BPF_REG_0);
	mw_bpf_load(c, BPF_DW, BPF_REG_1, CONTEXT, MW_PROBE_STACK_POINTER_AT);
	mw_bpf_store(c, BPF_DW, FRAME, CALL_KEY + 8, BPF_REG_1);
	map_call(c, BPF_FUNC_map_lookup_elem, maps->pending, CALL_KEY, 0);
	mw_bpf_jump_if_constant(c, BPF_JEQ, BPF_REG_0, 0, L_SKIP);
	/* The entry may be used again once it is deleted: its values are copied first. */
	for (int i = 0; i < 24; i += 8) {
		mw_bpf_load(c, BPF_DW, BPF_REG_1, BPF_REG_0, i);
		mw_bpf_store(c, BPF_DW, FRAME, BLOCK + i, BPF_REG_1);
	}
	mw_bpf_load(c, BPF_DW, SIZE, BPF_REG_0, 24); /* the old block */
	mw_bpf_load(c, BPF_DW, BPF_REG_1, BPF_REG_0, 32);
	mw_bpf_store(c, BPF_DW, FRAME, OLD_ID, BPF_REG_1);
	mw_bpf_load(c, BPF_DW, FOUND, BPF_REG_0, 40);
	map_call(c, BPF_FUNC_map_delete_elem, maps->pending, CALL_KEY, 0);
	mw_bpf_load(c, BPF_DW, BPF_REG_1, CONTEXT, MW_PROBE_RESULT_AT);
	mw_bpf_store(c, BPF_DW, FRAME, KEY, BPF_REG_1);
	mw_bpf_jump_if_constant(c, BPF_JEQ, FOUND, 0, L_OWN);
	/* posix_memalign has stored the block, if it returns 0. */
	mw_bpf_jump_if_constant(c, BPF_JNE, BPF_REG_1, 0, L_SKIP);
	set_place(c, BPF_REG_1, KEY);
	mw_bpf_set_constant(c, BPF_MOV, BPF_REG_2, 8);
	mw_bpf_set(c, BPF_MOV, BPF_REG_3, FOUND);
	mw_bpf_call(c, BPF_FUNC_probe_read_user);
	mw_bpf_jump_if_constant(c, BPF_JNE, BPF_REG_0, 0, L_SKIP);
	mw_bpf_label(c, L_OWN);
	mw_bpf_load(c, BPF_DW, BPF_REG_1, FRAME, KEY);
	mw_bpf_jump_if_constant(c, BPF_JEQ, BPF_REG_1, 0, L_SKIP);
	mw_bpf_jump_if_constant(c, BPF_JEQ, SIZE, 0, L_NEW);
	/* The old block's address may be another sample's by now. */
	mw_bpf_store(c, BPF_DW, FRAME, OLD_BLOCK, SIZE);
	map_call(c, BPF_FUNC_map_lookup_elem, maps->live, OLD_BLOCK, 0);
	mw_bpf_jump_if_constant(c, BPF_JEQ, BPF_REG_0, 0, L_NEW);
	mw_bpf_load(c, BPF_DW, BPF_REG_1, BPF_REG_0, (int)offsetof(mw_probe_block_t, id));
	mw_bpf_load(c, BPF_DW, BPF_REG_2, FRAME, OLD_ID);
	mw_bpf_jump_if(c, BPF_JNE, BPF_REG_1, BPF_REG_2, L_NEW);
	map_call(c, BPF_FUNC_map_delete_elem, maps->live, OLD_BLOCK, 0);
	mw_bpf_label(c, L_NEW);
	mw_bpf_load(c, BPF_DW, BPF_REG_1, FRAME, BLOCK);
	mw_bpf_jump_if_constant(c, BPF_JEQ, BPF_REG_1, 0, L_SKIP);
	map_call(c, BPF_FUNC_map_update_elem, maps->live, KEY, BLOCK);
	mw_bpf_jump_if_constant(c, BPF_JEQ, BPF_REG_0, 0, L_SKIP);
	find_counts(c, maps);
	add_one(c, COUNT_OF(unfollowed));
	mw_bpf_label(c, L_SKIP);
	mw_bpf_exit(c, 0);
}

/* An allocating function.  Exits with 0: the return is probed, in a session. */
static void write_entry(mw_bpf_code_t *c, const mw_probe_plan_t *plan, mw_probe_kind_t kind) {
	const mw_probe_maps_t *maps = plan->maps;
	const int32_t unwanted = plan->way == MW_PROBE_SESSION;
	static const int cleared[] = {OLD_BLOCK, OLD_ID, OWN_ID, OWN_SIZE, CALL + 16, CALL + 40};
	for (size_t i = 0; i < sizeof(cleared) / sizeof(cleared[0]); i++)
		store_constant(c, cleared[i], 0);
	find_size(c, kind);
	if (kind == MW_PROBE_REALLOC)
		find_old_block(c, maps);
	if (kind == MW_PROBE_ALIGNED) {
		pass_if_outer(c, maps, L_SKIP);
		leave_outer(c, maps);
	}
	count_down(c, maps);
	draw_gap(c, maps);
	if (kind == MW_PROBE_MALLOC)
		pass_if_outer(c, maps, L_PASSED_ON);
	send_event(c, maps);
	if (kind == MW_PROBE_NEW) {
		mw_bpf_set_wide(c, BPF_REG_1, plan->new_bytes_max);
		mw_bpf_load(c, BPF_DW, BPF_REG_2, FRAME, OWN_SIZE);
		mw_bpf_jump_if(c, BPF_JGT, BPF_REG_2, BPF_REG_1, L_FULL);
	}
	if (kind == MW_PROBE_POSIX) {
		argument(c, BPF_REG_1, 0);
		mw_bpf_store(c, BPF_DW, FRAME, CALL + 40, BPF_REG_1);
	}
	mw_bpf_label(c, L_SAMPLED);
	await_return(c, maps);
	mw_bpf_jump_if_constant(c, BPF_JNE, BPF_REG_0, 0, L_FULL);
	mw_bpf_exit(c, 0);
	mw_bpf_label(c, L_UNSAMPLED);
	if (kind == MW_PROBE_REALLOC) {
		mw_bpf_load(c, BPF_DW, BPF_REG_1, FRAME, OLD_BLOCK);
		mw_bpf_jump_if_constant(c, BPF_JNE, BPF_REG_1, 0, L_SAMPLED);
	}
	mw_bpf_label(c, L_SKIP);
	mw_bpf_exit(c, unwanted);
	mw_bpf_label(c, L_LOST);
	add_one(c, COUNT_OF(lost));
	mw_bpf_exit(c, unwanted);
	mw_bpf_label(c, L_FULL);
	add_one(c, COUNT_OF(unfollowed));
	mw_bpf_exit(c, unwanted);
	if (kind == MW_PROBE_MALLOC) {
		mw_bpf_label(c, L_PASSED_ON);
		add_one(c, COUNT_OF(passed_on));
		mw_bpf_exit(c, unwanted);
	}
	if (kind == MW_PROBE_REALLOC) {
		mw_bpf_label(c, L_FREE);
		argument(c, BPF_REG_1, 0);
		mw_bpf_store(c, BPF_DW, FRAME, KEY, BPF_REG_1);
		map_call(c, BPF_FUNC_map_delete_elem, maps->live, KEY, 0);
		mw_bpf_exit(c, unwanted);
	}
}

static void write_free(mw_bpf_code_t *c, const mw_probe_maps_t *maps) {
	find_counts(c, maps);
	add_one(c, COUNT_OF(frees));
	argument(c, BPF_REG_1, 0);
	mw_bpf_store(c, BPF_DW, FRAME, KEY, BPF_REG_1);
	map_call(c, BPF_FUNC_map_lookup_elem, maps->live, KEY, 0);
	mw_bpf_jump_if_constant(c, BPF_JEQ, BPF_REG_0, 0, L_SKIP);
	map_call(c, BPF_FUNC_map_delete_elem, maps->live, KEY, 0);
	add_one(c, COUNT_OF(freed));
	mw_bpf_label(c, L_SKIP);
	mw_bpf_exit(c, 0);
}

uint32_t mw_probe_attach_type(const mw_probe_plan_t *plan, mw_probe_kind_t kind) {
	if (plan->way != MW_PROBE_SESSION)
		return 0;
	return kind == MW_PROBE_FREE ? MW_BPF_TRACE_UPROBE_MULTI : MW_BPF_TRACE_UPROBE_SESSION;
}

int mw_probe_load(const mw_probe_plan_t *plan, mw_probe_kind_t kind, mw_error_t *error) {
	static const char *const names[MW_PROBE_KINDS] = {
		"mallow_malloc",  "mallow_new",   "mallow_calloc", "mallow_realloc",
		"mallow_aligned", "mallow_posix", "mallow_free"};
	mw_bpf_code_t code = {.count = 0}, *c = &code;
	mw_bpf_set(c, BPF_MOV, CONTEXT, BPF_REG_1);
	if (kind == MW_PROBE_FREE) {
		write_free(c, plan->maps);
		return mw_bpf_program_load(c, names[kind], mw_probe_attach_type(plan, kind), error);
	}
	/* Labels are of one half each: the return's are placed in a table of their own. */
	if (plan->way == MW_PROBE_SESSION) {
		mw_bpf_call_kernel(c, plan->session_type);
		mw_bpf_set_constant(c, BPF_AND, BPF_REG_0, 255);
		mw_bpf_jump_if_constant(c, BPF_JNE, BPF_REG_0, 0, L_RETURN);
	}
	write_entry(c, plan, kind);
	if (plan->way == MW_PROBE_SESSION) {
		mw_bpf_label(c, L_RETURN);
		if (!mw_bpf_close_labels(c))
			return mw_error_set(error, "cannot load BPF program %s: too long",
					    names[kind]);
		write_return(c, plan->maps);
	}
	return mw_bpf_program_load(c, names[kind], mw_probe_attach_type(plan, kind), error);
}

int mw_probe_load_return(const mw_probe_plan_t *plan, mw_error_t *error) {
	mw_bpf_code_t code = {.count = 0};
	mw_bpf_set(&code, BPF_MOV, CONTEXT, BPF_REG_1);
	write_return(&code, plan->maps);
	return mw_bpf_program_load(&code, "mallow_return", 0, error);
}

uint32_t mw_probe_counter_type(const mw_probe_plan_t *plan) {
	return plan->way == MW_PROBE_SESSION ? MW_BPF_TRACE_UPROBE_MULTI : 0;
}

int mw_probe_load_counter(const mw_probe_plan_t *plan, mw_probe_kind_t kind, bool is_emulated,
			  mw_error_t *error) {
	static const int members[2][2] = {
		{COUNT_OF(stepped_calls), COUNT_OF(calls)},
		{COUNT_OF(stepped_frees), COUNT_OF(frees)},
	};
	mw_bpf_code_t code = {.count = 0}, *c = &code;
	mw_bpf_set(c, BPF_MOV, CONTEXT, BPF_REG_1);
	find_counts(c, plan->maps);
	add_one(c, members[kind == MW_PROBE_FREE][is_emulated]);
	mw_bpf_label(c, L_SKIP);
	mw_bpf_exit(c, 0);
	return mw_bpf_program_load(c, "mallow_count", mw_probe_counter_type(plan), error);
}

mw_probe_way_t mw_probe_way(uint32_t *session_type) {
	*session_type = mw_kernel_function("bpf_session_is_return");
	return *session_type != 0 ? MW_PROBE_SESSION : MW_PROBE_RETURNS;
}
