/* SPDX-License-Identifier: MIT
 * moved_lines.c -- a plugin for qemu-user that runs a program as if each thread had a processor,
 * and counts the cache lines that would move between processors.
 *
 * Threads run in turns of about TURN instructions, one at a time.  A line moves when a thread reads
 * or writes it after another one wrote it, or writes it after another one read it.  Caches are
 * endless: only such moves count.  What is counted lies between the two marks of markers.h.
 *
 * On stderr, at the end: "moved_lines NAME VALUE ...", "line ADDRESS MOVES" for each line that
 * moved, and "code ADDRESS MOVES" for each instruction that moved lines. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "markers.h"
#include "qemu_plugin.h"

enum { THREADS_MAX = 256, TURN = 120, LINE_SHIFT = 6, SHOWN_LINES = 100000 };
enum { WORD_BITS = 64, SET_WORDS = THREADS_MAX / WORD_BITS };
enum { TABLE_BITS = 22, CODE_BITS = 16 };

int qemu_plugin_version = 1;

/* ---- lines ---- */

typedef struct line {
	uint64_t number; /* address >> LINE_SHIFT, plus 1; 0: the place is free */
	uint64_t holders[SET_WORDS];
	uint64_t moves;
} line_t;

static line_t *lines;
static uint64_t line_count;

/* Under the turn. */
static line_t *line_of(uint64_t address) {
	const uint64_t mask = ((uint64_t)1 << TABLE_BITS) - 1;
	uint64_t number = (address >> LINE_SHIFT) + 1, i = number * 0x9e3779b97f4a7c15u >> 40;
	for (i &= mask; lines[i].number != number; i = (i + 1) & mask) {
		if (lines[i].number != 0)
			continue;
		if (++line_count > mask / 2) {
			fprintf(stderr, "moved_lines: too many lines\n");
			abort();
		}
		lines[i].number = number;
		break;
	}
	return &lines[i];
}

typedef struct code {
	uint64_t address, moves; /* moves == 0: the place is free */
} code_t;

static code_t codes[1u << CODE_BITS];

/* Under the turn. */
static void count_code(uint64_t address) {
	const uint64_t mask = ((uint64_t)1 << CODE_BITS) - 1;
	uint64_t i = address * 0x9e3779b97f4a7c15u >> (64 - CODE_BITS), looked_at = 0;
	while (codes[i].moves != 0 && codes[i].address != address) {
		if (++looked_at > mask) {
			fprintf(stderr, "moved_lines: too much code\n");
			abort();
		}
		i = (i + 1) & mask;
	}
	codes[i].address = address;
	codes[i].moves++;
}

static struct {
	bool counting;
	uint64_t instructions, atomics, reads_moved, writes_moved, calls, futexes, clocks;
} counted;

/* What a thread finds when it touches a line. */
typedef struct held {
	bool by_anyone, by_self, by_others;
} held_t;

static held_t held_before(const line_t *line, unsigned cpu) {
	held_t held = {0};
	for (unsigned w = 0; w < SET_WORDS; w++) {
		uint64_t self = w == cpu / WORD_BITS ? (uint64_t)1 << cpu % WORD_BITS : 0;
		held.by_self |= (line->holders[w] & self) != 0;
		held.by_others |= (line->holders[w] & ~self) != 0;
	}
	held.by_anyone = held.by_self || held.by_others;
	return held;
}

static void on_access(unsigned cpu, uint32_t access, uint64_t address, void *code) {
	line_t *line = line_of(address);
	held_t held = held_before(line, cpu);
	bool store = qemu_plugin_mem_is_store(access);
	bool moves = held.by_anyone && (store ? held.by_others : !held.by_self);
	if (moves && counted.counting) {
		*(store ? &counted.writes_moved : &counted.reads_moved) += 1;
		line->moves++;
		count_code((uintptr_t)code);
	}
	if (store)
		memset(line->holders, 0, sizeof line->holders);
	line->holders[cpu / WORD_BITS] |= (uint64_t)1 << cpu % WORD_BITS;
}

/* ---- turns ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t given[THREADS_MAX];
	bool runs[THREADS_MAX]; /* not in a system call, not ended */
	int holder;             /* whose turn it is; -1: nobody's */
	unsigned limit;         /* threads so far */
	int64_t left;           /* instructions of the turn */
	uint64_t random;
	uint64_t blocks; /* of instructions, executed by all: tells whether anybody runs */
} turns = {.lock = PTHREAD_MUTEX_INITIALIZER, .holder = -1, .random = 1};

/* Half a turn to one and a half: a fixed length would let threads run in step. */
static int64_t turn_length(void) {
	turns.random = turns.random * 6364136223846793005u + 1442695040888963407u;
	return TURN / 2 + (int64_t)(turns.random >> 33) % TURN;
}

/* Under the lock: gives the turn to the next thread that runs. */
static void pass_on(unsigned from) {
	turns.holder = -1;
	for (unsigned i = 1; i <= turns.limit; i++) {
		unsigned next = (from + i) % turns.limit;
		if (!turns.runs[next])
			continue;
		turns.holder = (int)next;
		turns.left = turn_length();
		pthread_cond_signal(&turns.given[next]);
		return;
	}
}

static struct timespec in_two_ms(void) {
	struct timespec time;
	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_nsec += 2000000;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

/* Under the lock.  Goes on without the turn when nobody ran for 2 ms: qemu itself may hold the
 * thread whose turn it is until all others have stopped. */
static void wait_for_turn(unsigned cpu) {
	while (turns.holder != (int)cpu) {
		if (turns.holder < 0) {
			turns.holder = (int)cpu;
			turns.left = turn_length();
			return;
		}
		uint64_t before = __atomic_load_n(&turns.blocks, __ATOMIC_RELAXED);
		struct timespec until = in_two_ms();
		if (pthread_cond_timedwait(&turns.given[cpu], &turns.lock, &until) != 0 &&
		    __atomic_load_n(&turns.blocks, __ATOMIC_RELAXED) == before)
			return;
	}
}

static void take_part(unsigned cpu) {
	pthread_mutex_lock(&turns.lock);
	turns.runs[cpu] = true;
	if (turns.limit <= cpu)
		turns.limit = cpu + 1;
	wait_for_turn(cpu);
	pthread_mutex_unlock(&turns.lock);
}

static void step_out(unsigned cpu) {
	pthread_mutex_lock(&turns.lock);
	turns.runs[cpu] = false;
	if (turns.holder == (int)cpu)
		pass_on(cpu);
	pthread_mutex_unlock(&turns.lock);
}

static void on_block(unsigned cpu, void *instructions) {
	int64_t count = (int64_t)(intptr_t)instructions;
	if (counted.counting)
		counted.instructions += (uint64_t)count;
	__atomic_store_n(&turns.blocks, turns.blocks + 1, __ATOMIC_RELAXED);
	if (turns.holder == (int)cpu && (turns.left -= count) > 0)
		return;
	pthread_mutex_lock(&turns.lock);
	if (turns.holder == (int)cpu)
		pass_on(cpu);
	wait_for_turn(cpu);
	pthread_mutex_unlock(&turns.lock);
}

/* ---- qemu's calls ---- */

static void on_start(qemu_plugin_id_t id, unsigned cpu) {
	(void)id;
	if (cpu >= THREADS_MAX) {
		fprintf(stderr, "moved_lines: too many threads\n");
		abort();
	}
	take_part(cpu);
}

static void on_end(qemu_plugin_id_t id, unsigned cpu) {
	(void)id;
	step_out(cpu);
}

static void on_atomic(unsigned cpu, void *unused) {
	(void)cpu, (void)unused;
	counted.atomics += counted.counting;
}

/* A lock prefix, or an exchange with memory. */
static bool is_atomic(const struct qemu_plugin_insn *instruction) {
	const unsigned char *byte = qemu_plugin_insn_data(instruction);
	const unsigned char *end = byte + qemu_plugin_insn_size(instruction);
	for (; byte < end; byte++) {
		if (*byte == 0xf0)
			return true;
		if (*byte != 0x66 && (*byte & 0xf0) != 0x40)
			break;
	}
	return end - byte >= 2 && (byte[0] | 1) == 0x87 && byte[1] < 0xc0;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
	(void)id;
	size_t count = qemu_plugin_tb_n_insns(block);
	qemu_plugin_register_vcpu_tb_exec_cb(block, on_block, QEMU_PLUGIN_CB_NO_REGS,
					     (void *)(intptr_t)count);
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
		if (is_atomic(instruction))
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_atomic,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
		qemu_plugin_register_vcpu_mem_cb(
			instruction, on_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
			(void *)(uintptr_t)qemu_plugin_insn_vaddr(instruction));
	}
}

static void on_call(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2,
		    uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8) {
	(void)id, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
	if (number == MARK_COUNT_BEGIN || number == MARK_COUNT_END) {
		counted.counting = number == MARK_COUNT_BEGIN;
	} else if (counted.counting) {
		counted.calls++;
		counted.futexes += number == SYS_futex;
		counted.clocks += number == SYS_clock_gettime;
	}
	step_out(cpu);
}

static void on_return(qemu_plugin_id_t id, unsigned cpu, int64_t number, int64_t result) {
	(void)id, (void)number, (void)result;
	take_part(cpu);
}

static int more_moves_first(const void *a, const void *b) {
	const line_t *first = a, *second = b;
	return (first->moves < second->moves) - (first->moves > second->moves);
}

static void on_exit_of_program(qemu_plugin_id_t id, void *unused) {
	(void)id, (void)unused;
	fprintf(stderr,
		"moved_lines instructions %lu atomics %lu reads %lu writes %lu calls %lu futexes "
		"%lu clocks %lu\n",
		counted.instructions, counted.atomics, counted.reads_moved, counted.writes_moved,
		counted.calls, counted.futexes, counted.clocks);
	qsort(lines, (size_t)1 << TABLE_BITS, sizeof *lines, more_moves_first);
	for (unsigned i = 0; i < SHOWN_LINES && lines[i].moves > 0; i++)
		fprintf(stderr, "line %#lx %lu\n", (lines[i].number - 1) << LINE_SHIFT,
			lines[i].moves);
	for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].moves > 0)
			fprintf(stderr, "code %#lx %lu\n", codes[i].address, codes[i].moves);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *information, int argc, char **argv) {
	(void)information, (void)argc, (void)argv;
	lines = calloc((size_t)1 << TABLE_BITS, sizeof *lines);
	if (!lines)
		return 1;
	for (unsigned i = 0; i < THREADS_MAX; i++)
		pthread_cond_init(&turns.given[i], NULL);
	qemu_plugin_register_vcpu_init_cb(id, on_start);
	qemu_plugin_register_vcpu_exit_cb(id, on_end);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_vcpu_syscall_cb(id, on_call);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_return);
	qemu_plugin_register_atexit_cb(id, on_exit_of_program, NULL);
	return 0;
}
