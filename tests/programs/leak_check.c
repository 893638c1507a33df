/* SPDX-License-Identifier: MIT
 * leak_check.c -- mallow_leak_check(): known shapes, then random forests whose leaks are known. */
#define MALLOW_WEAK
#include <mallow/mallow.h>

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "programs.h"

enum { SEEDS = 100, NODES = 2000, LINKS = 3 };

static void take_arguments(long a, long b, long c, long d, long e, long f) {
	(void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
}
/* Volatile: the compiler must pass the arguments. */
static void (*volatile take)(long, long, long, long, long, long) = take_arguments;

/* Overwrites what earlier calls left on the stack and in the registers of arguments, which
 * getcontext() and signals save. */
__attribute__((noinline)) static void wipe_stack(void) {
	volatile char bytes[32768];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = 0;
	take(0, 0, 0, 0, 0, 0);
}

__attribute__((noinline)) static mallow_leaks_t check_here(void) {
	mallow_leaks_t leaks = {.size = sizeof leaks};
	MUST(mallow_leak_check(&leaks) == 0);
	MUST(leaks.unread_bytes == 0);
	return leaks;
}

/* Called by functions that have pointers to blocks in no variable any more. */
#define check() (wipe_stack(), check_here())

typedef struct counts {
	uint64_t direct, indirect;
} counts_t;

/* Fails unless the leaks since `before` are those that are wanted. A thread that was joined may
 * still be at its end, and then its stack is read: the check is repeated. */
__attribute__((noinline)) static void expect_here(const char *what, const mallow_leaks_t *before,
						  counts_t wanted) {
	uint64_t direct = 0, indirect = 0;
	for (unsigned tries = 0; tries < 100; tries++) {
		mallow_leaks_t now = check_here();
		direct = now.direct_blocks - before->direct_blocks;
		indirect = now.indirect_blocks - before->indirect_blocks;
		if (direct == wanted.direct && indirect == wanted.indirect)
			return;
		if (now.running_threads == 0)
			break;
		usleep(10000);
	}
	fprintf(stderr, "%s: %ld direct and %ld indirect leaks instead of %ld and %ld\n", what,
		(long)direct, (long)indirect, (long)wanted.direct, (long)wanted.indirect);
	_Exit(1);
}
#define expect(...) (wipe_stack(), expect_here(__VA_ARGS__))

typedef struct node {
	struct node *links[LINKS];
	uint64_t number;
} node_t;

static node_t *global, *volatile kept_for_good;
static __thread node_t *thread_local_node;
static node_t **pool;

__attribute__((noinline)) static node_t *chain(unsigned length) {
	node_t *first = NULL;
	for (unsigned i = 0; i < length; i++) {
		node_t *node = calloc(1, sizeof *node);
		MUST(node);
		node->links[1] = first;
		first = node;
	}
	return first;
}

__attribute__((noinline)) static void make_cycle(unsigned length) {
	node_t *first = chain(length), *last = first;
	while (last->links[1])
		last = last->links[1];
	last->links[2] = first;
	first->links[0] = first;
}

/* ---- shapes ---- */

__attribute__((noinline)) static void reachable_shapes(void) {
	mallow_leaks_t before = check();
	global = chain(10);
	expect("a global variable", &before, (counts_t){0, 0});
	global = (node_t *)((char *)global + 12);
	expect("a pointer into a block", &before, (counts_t){0, 0});
	global = NULL;
	expect("a chain", &before, (counts_t){1, 9});
	before = check();
	thread_local_node = chain(5);
	expect("thread-local storage", &before, (counts_t){0, 0});
	thread_local_node = (node_t *)((uintptr_t)thread_local_node | 1);
	expect("a tag in the low bits", &before, (counts_t){0, 0});
	pool = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(pool != MAP_FAILED);
	pool[77] = chain(3);
	expect("a pool", &before, (counts_t){0, 0});
	MUST(munmap(pool, 1 << 20) == 0);
	pool = NULL;
	expect("a pool that is gone", &before, (counts_t){1, 2});
	before = check();
	make_cycle(4);
	expect("a cycle", &before, (counts_t){1, 3});
}

__attribute__((noinline)) static void keep_one(void **kept, size_t bytes) {
	*kept = malloc(bytes);
	MUST(*kept);
	/* What is behind the bytes that were asked for may be a pointer of an earlier block. */
	memset(*kept, 0, malloc_usable_size(*kept));
}

__attribute__((noinline)) static void sizes(void) {
	static const size_t bytes[] = {1, 16, 200, 1024, 5000, 40000, 70000, 300000};
	static void *kept[sizeof bytes / sizeof *bytes];
	mallow_leaks_t before = check();
	for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
		keep_one(&kept[i], bytes[i]);
	expect("blocks of all sizes", &before, (counts_t){0, 0});
	for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
		char what[64];
		snprintf(what, sizeof what, "a leak of %zu bytes", bytes[i]);
		kept[i] = NULL;
		expect(what, &before, (counts_t){i + 1, 0});
	}
}

__attribute__((noinline)) static void huge_blocks(void) {
	static void *kept[8];
	mallow_leaks_t before = check();
	for (size_t i = 0; i < 8; i++)
		keep_one(&kept[i], 5000000);
	expect("huge blocks", &before, (counts_t){0, 0});
	memset(kept, 0, sizeof kept);
	mallow_leaks_t now = check();
	/* Where another mapping ends, there may be a pointer to its end: the start of a block. */
	MUST(now.direct_blocks > before.direct_blocks + 4);
	MUST(now.direct_blocks <= before.direct_blocks + 8);
	MUST(now.indirect_blocks == before.indirect_blocks);
}

__attribute__((noinline)) static void make_and_free(size_t bytes) {
	void *volatile blocks[200];
	for (size_t i = 0; i < 200; i++)
		blocks[i] = malloc(bytes);
	for (size_t i = 0; i < 200; i++)
		free(blocks[i]);
}

__attribute__((noinline)) static void freed_blocks(void) {
	mallow_leaks_t before = check();
	for (size_t bytes = 8; bytes < 2000000; bytes = bytes * 5 / 2)
		make_and_free(bytes);
	expect("freed blocks", &before, (counts_t){0, 0});
}

/* ---- threads ---- */

static pthread_barrier_t barrier;

static void *hold(void *argument) {
	node_t *volatile kept = chain(7);
	thread_local_node = chain(2);
	make_and_free(*(size_t *)argument);
	wipe_stack();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	MUST(kept && thread_local_node);
	return NULL;
}

static void *free_other(void *blocks) {
	for (size_t i = 0; i < 300; i++)
		free(((void **)blocks)[i]);
	wipe_stack();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

__attribute__((noinline)) static void threads(void) {
	pthread_t thread[8];
	size_t bytes = 100;
	static void *blocks[300];
	mallow_leaks_t before = check();
	MUST(pthread_barrier_init(&barrier, NULL, 9) == 0);
	for (size_t i = 0; i < 8; i++)
		MUST(pthread_create(&thread[i], NULL, hold, &bytes) == 0);
	pthread_barrier_wait(&barrier);
	/* Joined or not, the C library keeps a block for each thread. */
	mallow_leaks_t with = check();
	/* On a busy machine a thread may not stop in time. */
	for (unsigned tries = 0; tries < 100 && with.running_threads != 0; tries++)
		with = check();
	MUST(with.threads == before.threads + 8 && with.running_threads == 0);
	expect("running threads", &before, (counts_t){0, 0});
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < 8; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	expect("ended threads", &before, (counts_t){16, 64 + 8 - 16});
	MUST(pthread_barrier_destroy(&barrier) == 0);
	MUST(pthread_barrier_init(&barrier, NULL, 2) == 0);
	before = check();
	for (size_t i = 0; i < 300; i++)
		blocks[i] = malloc(64);
	MUST(pthread_create(&thread[0], NULL, free_other, blocks) == 0);
	pthread_barrier_wait(&barrier);
	memset(blocks, 0, sizeof blocks);
	expect("blocks freed by another thread", &before, (counts_t){0, 0});
	pthread_barrier_wait(&barrier);
	MUST(pthread_join(thread[0], NULL) == 0);
	expect("and after its end", &before, (counts_t){0, 0});
}

/* ---- stacks of coroutines ---- */

static ucontext_t outside, inside;

static void coroutine(void) {
	node_t *volatile kept = chain(4);
	MUST(swapcontext(&inside, &outside) == 0);
	MUST(kept);
}

__attribute__((noinline)) static void coroutines(void) {
	mallow_leaks_t before = check();
	MUST(getcontext(&inside) == 0);
	inside.uc_stack.ss_size = 65536;
	inside.uc_stack.ss_sp =
		mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	MUST(swapcontext(&outside, &inside) == 0);
	expect("a coroutine", &before, (counts_t){0, 0});
	MUST(munmap(inside.uc_stack.ss_sp, 65536) == 0);
	memset(&inside, 0, sizeof inside);
	expect("a coroutine without its stack", &before, (counts_t){1, 3});
}

/* A thread's own stack while the thread executes on another one. */
static pthread_barrier_t away;
static char *other_stack;
enum { OTHER_STACK_BYTES = 65536 };

static void wait_away(int number) {
	(void)number;
	pthread_barrier_wait(&away);
	pthread_barrier_wait(&away);
}

static void *keep_on_coroutine(void *unused) {
	ucontext_t here, there;
	node_t *volatile kept = chain(4);
	wipe_stack();
	MUST(getcontext(&there) == 0);
	there.uc_stack.ss_sp = other_stack;
	there.uc_stack.ss_size = OTHER_STACK_BYTES;
	there.uc_link = &here;
	makecontext(&there, (void (*)(void))wait_away, 1, 0);
	wipe_stack();
	MUST(swapcontext(&here, &there) == 0);
	MUST(kept);
	return unused;
}

static void *keep_in_handler(void *unused) {
	node_t *volatile kept = chain(4);
	stack_t stack = {.ss_sp = other_stack, .ss_size = OTHER_STACK_BYTES};
	struct sigaction action = {.sa_handler = wait_away, .sa_flags = SA_ONSTACK};
	MUST(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
	wipe_stack();
	MUST(pthread_kill(pthread_self(), SIGUSR1) == 0);
	MUST(kept);
	return unused;
}

__attribute__((noinline)) static void away_from_stack(void *(*work)(void *), const char *what) {
	pthread_t thread;
	mallow_leaks_t before = check();
	MUST(pthread_create(&thread, NULL, work, NULL) == 0);
	pthread_barrier_wait(&away);
	expect(what, &before, (counts_t){0, 0});
	pthread_barrier_wait(&away);
	MUST(pthread_join(thread, NULL) == 0);
	expect("and after its end", &before, (counts_t){1, 3});
}

__attribute__((noinline)) static void away_from_stacks(void) {
	other_stack = mmap(NULL, OTHER_STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(other_stack != MAP_FAILED && pthread_barrier_init(&away, NULL, 2) == 0);
	away_from_stack(keep_on_coroutine, "a thread on a coroutine's stack");
	away_from_stack(keep_in_handler, "a thread on its alternate stack");
	MUST(munmap(other_stack, OTHER_STACK_BYTES) == 0);
	MUST(pthread_barrier_destroy(&away) == 0);
}

/* ---- random forests ---- */

typedef struct forest {
	node_t **hidden; /* each node's address, inverted */
	bool reached[NODES];
	uint64_t random;
} forest_t;

static uint64_t draw(forest_t *forest, uint64_t limit) {
	forest->random = forest->random * 6364136223846793005u + 1442695040888963407u;
	return (forest->random >> 33) % limit;
}

static node_t *node_of(const forest_t *forest, uint64_t number) {
	return (node_t *)~(uintptr_t)forest->hidden[number];
}

static node_t *untagged(node_t *link) {
	return (node_t *)((uintptr_t)link & ~(uintptr_t)15);
}

static void reach(forest_t *forest, uint64_t number) {
	static uint64_t list[NODES * LINKS + NODES];
	size_t count = 0;
	list[count++] = number;
	while (count > 0) {
		number = list[--count];
		if (forest->reached[number])
			continue;
		forest->reached[number] = true;
		for (unsigned i = 0; i < LINKS; i++) {
			node_t *to = untagged(node_of(forest, number)->links[i]);
			if (to)
				list[count++] = to->number;
		}
	}
}

static node_t *roots[NODES];

/* Leaked nodes; those without a leaked node that leads there are at least so many direct ones. */
typedef struct wanted {
	uint64_t leaked, sources;
} wanted_t;

__attribute__((noinline)) static wanted_t plant(forest_t *forest) {
	static bool led_to[NODES];
	uint64_t roots_wanted = draw(forest, NODES / 20);
	memset(roots, 0, sizeof roots);
	memset(led_to, 0, sizeof led_to);
	memset(forest->reached, 0, sizeof forest->reached);
	for (uint64_t i = 0; i < NODES; i++) {
		size_t bytes = sizeof(node_t) + draw(forest, 16) * draw(forest, 60);
		node_t *node = malloc(bytes);
		MUST(node);
		/* Bytes behind those that were asked for count too. */
		memset(node, 0, malloc_usable_size(node));
		node->number = i;
		forest->hidden[i] = (node_t *)~(uintptr_t)node;
	}
	for (uint64_t i = 0; i < NODES; i++)
		for (unsigned k = 0; k < LINKS; k++)
			if (draw(forest, 100) < 35)
				node_of(forest, i)->links[k] =
					(node_t *)((uintptr_t)node_of(forest, draw(forest, NODES)) |
						   draw(forest, 4));
	for (uint64_t i = 0; i < roots_wanted; i++) {
		uint64_t number = draw(forest, NODES);
		roots[i] = node_of(forest, number);
		reach(forest, number);
	}
	wanted_t wanted = {0};
	for (uint64_t i = 0; i < NODES; i++)
		for (unsigned k = 0; k < LINKS; k++) {
			node_t *to = untagged(node_of(forest, i)->links[k]);
			if (to && !forest->reached[i] && to->number != i)
				led_to[to->number] = true;
		}
	for (uint64_t i = 0; i < NODES; i++) {
		wanted.leaked += !forest->reached[i];
		wanted.sources += !forest->reached[i] && !led_to[i];
	}
	return wanted;
}

__attribute__((noinline)) static void fell(forest_t *forest) {
	for (uint64_t i = 0; i < NODES; i++)
		free(node_of(forest, i));
	memset(roots, 0, sizeof roots);
}

static void forests(void) {
	forest_t *forest = mmap(NULL, sizeof *forest + NODES * sizeof(node_t *),
				PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(forest != MAP_FAILED);
	forest->hidden = (node_t **)(forest + 1);
	mallow_leaks_t before = check();
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		forest->random = seed;
		wanted_t wanted = plant(forest);
		mallow_leaks_t now = check();
		uint64_t direct = now.direct_blocks - before.direct_blocks;
		uint64_t indirect = now.indirect_blocks - before.indirect_blocks;
		if (direct + indirect != wanted.leaked || direct < wanted.sources) {
			fprintf(stderr,
				"seed %u: %ld + %ld leaks, %ld are wanted, %ld or more direct\n",
				seed, (long)direct, (long)indirect, (long)wanted.leaked,
				(long)wanted.sources);
			_Exit(1);
		}
		fell(forest);
	}
	expect("no forest", &before, (counts_t){0, 0});
	MUST(munmap(forest, sizeof *forest + NODES * sizeof(node_t *)) == 0);
}

/* ---- exempt blocks ---- */

/* The chain hangs on an exempt block alone. */
__attribute__((noinline)) static uintptr_t hide_exempt(size_t bytes) {
	node_t *head = calloc(1, bytes);
	MUST(head && mallow_leak_ignore(head, 1) == 0);
	head->links[0] = chain(4);
	return ~(uintptr_t)head;
}

__attribute__((noinline)) static uintptr_t hide_all(void) {
	mallow_leak_ignore_begin();
	mallow_leak_ignore_begin();
	node_t *head = chain(5);
	mallow_leak_ignore_end();
	head->links[0] = chain(1);
	mallow_leak_ignore_end();
	return ~(uintptr_t)head;
}

__attribute__((noinline)) static void ignore_hidden(uintptr_t hidden, int on) {
	MUST(mallow_leak_ignore((void *)~hidden, on) == 0);
}

__attribute__((noinline)) static void free_hidden(uintptr_t hidden) {
	for (node_t *node = (node_t *)~hidden, *next; node; node = next) {
		next = node->links[1];
		free(node->links[0]);
		free(node);
	}
}

/* Blocks are recorded, so they can be exempt: small ones, and those of both large kinds. */
static void exempt(void) {
	static const size_t sizes[] = {sizeof(node_t), 500000, 50000000};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		mallow_leaks_t before = check();
		uintptr_t hidden = hide_exempt(sizes[i]);
		expect("an exempt block", &before, (counts_t){0, 0});
		ignore_hidden(hidden, 0);
		expect("a block that is exempt no more", &before, (counts_t){1, 4});
		ignore_hidden(hidden, 1);
		expect("a block that is exempt again", &before, (counts_t){0, 0});
	}
	mallow_leaks_t before = check();
	uintptr_t hidden = hide_all();
	expect("blocks that were allocated between begin and end", &before, (counts_t){0, 0});
	free_hidden(hidden);
	chain(6);
	expect("a chain in the memory of exempt blocks", &before, (counts_t){1, 5});
	MUST(mallow_leak_ignore(&hidden, 1) == ENOENT);
	MUST(mallow_leak_ignore(NULL, 1) == ENOENT);
	mallow_leak_ignore_end(); /* without a begin: nothing */
}

/* ---- what the program sees of a check ---- */

static void unseen(void) {
	sigset_t before, after;
	MUST(sigprocmask(SIG_BLOCK, NULL, &before) == 0);
	errno = 77;
	check();
	MUST(errno == 77);
	MUST(sigprocmask(SIG_BLOCK, NULL, &after) == 0);
	for (int number = 1; number <= SIGRTMAX; number++)
		MUST(sigismember(&before, number) == sigismember(&after, number));
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
		struct sigaction action;
		MUST(sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
	}
	MUST(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	mallow_leaks_t small = {.size = 8};
	MUST(mallow_leak_check(&small) == EINVAL);
}

int main(void) {
	must_be_mallow();
	mallow_status_t status = {.size = sizeof status};
	MUST(mallow_status(&status) == 0);
	bool exempts = status.active && status.mean_bytes == 1;
	/* The C library may still have pointers to blocks that it freed: these are used up first.
	 */
	kept_for_good = chain(200);
	/* Large leaks come last: the end of a mapping before one, a stack for example, is the
	 * address of its start. */
	reachable_shapes();
	threads();
	coroutines();
	away_from_stacks();
	freed_blocks();
	forests();
	sizes();
	huge_blocks();
	unseen();
	if (exempts)
		exempt();
	return 0;
}
