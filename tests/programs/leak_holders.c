/* SPDX-License-Identifier: MIT
 * leak_holders.c -- 100 random shapes, each held by a pointer in one place alone: a register, a
 * thread's stack, an alternate signal stack, thread-local storage of the program and of a module
 * that was loaded later, memory from mmap(2), a coroutine's stack.  mallow_leak_check() finds
 * nothing while the pointer is there, and each block when it is gone. */
#define MALLOW_WEAK
#include <mallow/mallow.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "programs.h"

enum { SEEDS = 100, LENGTH_MAX = 300, STACK_BYTES = 65536 };

#define NOINLINE __attribute__((noinline))

/* 0 is never a block. */
static _Atomic uintptr_t hidden; /* the pointer to hold, inverted */
/* 4: the thread starts; 3: it is to take the pointer; 1: a place holds it; 2: it is to be dropped;
 * 0: it is gone. */
static atomic_int held = 4;

static NOINLINE void wipe_stack(void) {
	volatile char bytes[32768];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = 0;
}

static void wait_for(int value) {
	while (atomic_load(&held) != value)
		usleep(100);
}

/* ---- shapes ---- */

/* Of a size that libc does not use: in a block that it has not written there may be an address. */
typedef struct node {
	struct node *links[3];
	char text[456];
} node_t;

static uint64_t random_state;

static uint64_t draw(uint64_t limit) {
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % limit;
}

/* A pointer to the node as programs have it: to its start, into it, or with a tag. */
static node_t *pointer_to(node_t *node) {
	switch (draw(3)) {
	case 0:
		return node;
	case 1:
		return (node_t *)((char *)node + draw(sizeof *node));
	default:
		return (node_t *)((uintptr_t)node | draw(8));
	}
}

/* Makes `count` nodes: a list, a tree, or a cycle with a list. Returns the pointer that holds them,
 * inverted. */
static NOINLINE uintptr_t make_shape(unsigned count) {
	static uintptr_t nodes[LENGTH_MAX]; /* inverted */
	uint64_t kind = draw(3);
	for (unsigned i = 0; i < count; i++) {
		node_t *node = calloc(1, sizeof *node);
		MUST(node);
		nodes[i] = ~(uintptr_t)node;
		unsigned parent = kind == 1 ? (i - 1) / 2 : i - 1;
		if (i > 0)
			((node_t *)~nodes[parent])->links[kind == 1 ? i % 2 : 2] = pointer_to(node);
	}
	if (kind == 2)
		((node_t *)~nodes[count - 1])->links[0] = pointer_to((node_t *)~nodes[draw(count)]);
	uintptr_t result = ~(uintptr_t)pointer_to((node_t *)~nodes[0]);
	memset(nodes, 0, sizeof nodes);
	return result;
}

/* ---- places in threads ---- */

typedef void place_t(void);

static NOINLINE void on_stack(void) {
	void *volatile kept = (void *)~atomic_load(&hidden);
	atomic_store(&held, 1);
	wait_for(2);
	kept = NULL;
	MUST(!kept);
}

static __thread void *volatile own_place;

static NOINLINE void in_thread_local_storage(void) {
	own_place = (void *)~atomic_load(&hidden);
	wipe_stack();
	atomic_store(&held, 1);
	wait_for(2);
	own_place = NULL;
}

static void **(*module_place)(void);

static NOINLINE void in_module(void) {
	*module_place() = (void *)~atomic_load(&hidden);
	wipe_stack();
	atomic_store(&held, 1);
	wait_for(2);
	*module_place() = NULL;
}

#if defined(__x86_64__)
static NOINLINE void in_register(void) {
	__asm__ volatile("movq (%0), %%r12\n"
			 "notq %%r12\n"
			 "movl $1, (%1)\n"
			 "1: pause\n"
			 "cmpl $2, (%1)\n"
			 "jne 1b\n"
			 "xorl %%r12d, %%r12d\n"
			 :
			 : "r"(&hidden), "r"(&held)
			 : "r12", "memory", "cc");
}
#elif defined(__aarch64__)
static NOINLINE void in_register(void) {
	__asm__ volatile("ldr x20, [%0]\n"
			 "mvn x20, x20\n"
			 "mov w21, #1\n"
			 "str w21, [%1]\n"
			 "1: yield\n"
			 "ldr w21, [%1]\n"
			 "cmp w21, #2\n"
			 "b.ne 1b\n"
			 "mov x20, #0\n"
			 :
			 : "r"(&hidden), "r"(&held)
			 : "x20", "x21", "memory", "cc");
}
#endif

static void on_signal(int number) {
	(void)number;
	on_stack();
}

static NOINLINE void on_alternate_stack(void) {
	stack_t stack = {.ss_size = STACK_BYTES}, before;
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	stack.ss_sp =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(stack.ss_sp != MAP_FAILED && sigaltstack(&stack, &before) == 0);
	MUST(sigaction(SIGUSR1, &action, NULL) == 0);
	MUST(pthread_kill(pthread_self(), SIGUSR1) == 0);
	MUST(sigaltstack(&before, NULL) == 0 && munmap(stack.ss_sp, STACK_BYTES) == 0);
}

static ucontext_t outside, inside;

static void coroutine(void) {
	void *volatile kept = (void *)~atomic_load(&hidden);
	MUST(swapcontext(&inside, &outside) == 0);
	kept = NULL;
	MUST(!kept);
}

static NOINLINE void on_coroutine(void) {
	void *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(stack != MAP_FAILED && getcontext(&inside) == 0);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = STACK_BYTES;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	MUST(swapcontext(&outside, &inside) == 0);
	wipe_stack();
	atomic_store(&held, 1);
	wait_for(2);
	memset(&inside, 0, sizeof inside);
	memset(&outside, 0, sizeof outside);
	MUST(munmap(stack, STACK_BYTES) == 0);
}

/* On aarch64 the processor ignores the uppermost byte of a pointer. */
#if defined(__aarch64__)
#define TAG ((uintptr_t)0xa5 << 56)
#else
#define TAG ((uintptr_t)0)
#endif

static NOINLINE void in_mapping(void) {
	void *volatile *memory =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(memory != MAP_FAILED);
	memory[1234] = (void *)(~atomic_load(&hidden) | TAG);
	wipe_stack();
	atomic_store(&held, 1);
	wait_for(2);
	MUST(munmap((void *)(uintptr_t)memory, STACK_BYTES) == 0);
}

static place_t *const places[] = {on_stack,    in_thread_local_storage, in_module,
				  in_register, on_alternate_stack,      on_coroutine,
				  in_mapping};
enum { PLACES = sizeof places / sizeof *places };

static void *hold(void *unused) {
	/* A thread blocks all signals at its very start. */
	atomic_store(&held, 0);
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		wait_for(3);
		places[seed % PLACES]();
		wipe_stack();
		atomic_store(&held, 0);
	}
	return unused;
}

/* ---- checks ---- */

static NOINLINE mallow_leaks_t check(void) {
	mallow_leaks_t leaks = {.size = sizeof leaks};
	wipe_stack();
	/* On a busy machine a thread may not answer in time. */
	do
		MUST(mallow_leak_check(&leaks) == 0);
	while (leaks.running_threads > 0);
	MUST(leaks.unread_bytes == 0);
	return leaks;
}

static void expect(unsigned seed, const char *when, const mallow_leaks_t *before, uint64_t direct,
		   uint64_t indirect) {
	mallow_leaks_t now = check();
	if (now.direct_blocks - before->direct_blocks == direct &&
	    now.indirect_blocks - before->indirect_blocks == indirect)
		return;
	fprintf(stderr, "seed %u, place %u, %s: %ld + %ld leaks instead of %ld + %ld\n", seed,
		seed % PLACES, when, (long)(now.direct_blocks - before->direct_blocks),
		(long)(now.indirect_blocks - before->indirect_blocks), (long)direct,
		(long)indirect);
	_Exit(1);
}

static void try_seed(unsigned seed) {
	random_state = seed + 1;
	unsigned count = 2 + (unsigned)draw(LENGTH_MAX - 2);
	mallow_leaks_t before = check();
	atomic_store(&hidden, make_shape(count));
	wipe_stack();
	atomic_store(&held, 3);
	wait_for(1);
	expect(seed, "while it is held", &before, 0, 0);
	atomic_store(&held, 2);
	wait_for(0);
	expect(seed, "when it is gone", &before, 1, count - 1);
}

int main(void) {
	must_be_mallow();
	pthread_t thread;
	void *module = dlopen(LEAK_TLS_PATH, RTLD_NOW);
	MUST(module);
	*(void **)&module_place = dlsym(module, "leak_tls_place");
	MUST(module_place);
	MUST(pthread_create(&thread, NULL, hold, NULL) == 0);
	wait_for(0);
	for (unsigned seed = 0; seed < SEEDS; seed++)
		try_seed(seed);
	MUST(pthread_join(thread, NULL) == 0);
	return 0;
}
