/* SPDX-License-Identifier: MIT
 * guarded.c CASE -- does one thing wrong to a guarded block, or something right that must stay so.
 * Run by run.sh with prof_sample:1,prof_guard:1; expected.txt has what it must say. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frames.h"

#define MUST(condition) ((condition) ? (void)0 : must_failed(#condition, __LINE__))

enum { OWN_HANDLER_STATUS = 7 };

static void must_failed(const char *condition, int line) {
	fprintf(stderr, "FAILED line %d: %s\n", line, condition);
	_exit(1);
}

static NOINLINE char *make(size_t bytes) {
	char *block = malloc(bytes);
	MUST(block != NULL);
	memset(block, 1, bytes);
	KEEP_FRAME();
	return block;
}

static NOINLINE void drop(void *block) {
	free(block);
	KEEP_FRAME();
}

static NOINLINE void put(char *block, long at) {
	((volatile char *)block)[at] = 3;
	KEEP_FRAME();
}

static NOINLINE int get(const char *block, long at) {
	int value = ((const volatile char *)block)[at];
	KEEP_FRAME();
	return value;
}

/* One block in four begins with its page. */
static char *make_at_page_start(size_t bytes) {
	char *block;
	do
		block = make(bytes);
	while ((uintptr_t)block % 4096 != 0);
	return block;
}

static void use_after_free(void) {
	char *block = make(100);
	drop(block);
	get(block, 40);
}

static void write_after_free(void) {
	char *block = make(24);
	drop(block);
	put(block, 0);
}

static void overflow(void) {
	put(make(48), 64);
}

static void overflow_by_one(void) {
	char *block = make(24);
	put(block, 24);
	drop(block);
}

static void underflow(void) {
	get(make_at_page_start(24), -1);
}

static void underflow_in_page(void) {
	char *block = make(64);
	put(block, -8);
	drop(block);
}

static void double_free(void) {
	char *block = make(24);
	drop(block);
	drop(block);
}

static void inside(void) {
	drop(make(24) + 8);
}

static void realloc_freed(void) {
	char *block = make(24);
	drop(block);
	MUST(realloc(block, 100) == NULL);
}

static void *drop_in_thread(void *block) {
	drop(block);
	return NULL;
}

static void freed_by_thread(void) {
	char *block = make(24);
	pthread_t thread;
	MUST(pthread_create(&thread, NULL, drop_in_thread, block) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	get(block, 3);
}

static void in_child(void) {
	char *block = make(24);
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		drop(block);
		get(block, 3);
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	/* The parent's is alive. */
	put(block, 3);
	drop(block);
}

/* --- handlers of the program's own --- */

static void *volatile expected_address;

static void own_handler(int number, siginfo_t *info, void *context) {
	(void)context;
	if (number != SIGSEGV || info->si_addr != expected_address)
		_exit(1);
	_exit(OWN_HANDLER_STATUS);
}

static void install(void (*handler)(int, siginfo_t *, void *), struct sigaction *old) {
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	MUST(sigaction(SIGSEGV, &action, old) == 0);
}

/* The report comes before the program's handler, installed long after the library's. */
static void with_handler(void) {
	install(own_handler, NULL);
	char *block = make(24);
	drop(block);
	expected_address = block + 5;
	get(block, 5);
}

static void foreign_with_handler(void) {
	install(own_handler, NULL);
	make(24);
	expected_address = (void *)64;
	get(NULL, 64);
}

static void foreign(void) {
	make(24);
	get(NULL, 64);
}

static void sent(void) {
	make(24);
	raise(SIGSEGV);
}

/* Calls the handler it replaced, which is the library's, which would call this one... */
static struct sigaction replaced;

static void chaining_handler(int number, siginfo_t *info, void *context) {
	static const char text[] = "chained\n";
	MUST(write(STDERR_FILENO, text, sizeof text - 1) > 0);
	replaced.sa_sigaction(number, info, context);
}

static void chain(void) {
	make(24);
	install(chaining_handler, &replaced);
	MUST(replaced.sa_flags & SA_SIGINFO);
	make(24);
	get(NULL, 64);
}

static sigjmp_buf back;

static void jumping_handler(int number, siginfo_t *info, void *context) {
	(void)number;
	(void)info;
	(void)context;
	siglongjmp(back, 1);
}

/* Programs that live on after faults of their own, as runtimes of languages do. */
static void jump(void) {
	install(jumping_handler, NULL);
	for (volatile int i = 0; i < 1000; i++) {
		drop(make(24));
		if (sigsetjmp(back, 1) == 0) {
			get(NULL, 64);
			MUST(!"reached");
		}
	}
}

/* --- right use --- */

static void right(void) {
	enum { COUNT = 4000 };
	static char *blocks[COUNT];
	for (unsigned round = 0; round < 3; round++) {
		for (size_t i = 0; i < COUNT; i++) {
			size_t bytes = i % 3 == 0 ? i : i % 300;
			blocks[i] = i % 5 == 0 ? calloc(1, bytes) : malloc(bytes);
			MUST(blocks[i] && (uintptr_t)blocks[i] % 16 == 0);
			MUST(malloc_usable_size(blocks[i]) >= bytes);
			for (size_t k = 0; i % 5 == 0 && k < bytes; k++)
				MUST(blocks[i][k] == 0);
			memset(blocks[i], (int)i, malloc_usable_size(blocks[i]));
		}
		for (size_t i = 0; i < COUNT; i++) {
			size_t bytes = i % 3 == 0 ? i : i % 300, more = bytes + i % 700;
			blocks[i] = realloc(blocks[i], more + 1);
			for (size_t k = 0; k < bytes; k++)
				MUST(blocks[i][k] == (char)i);
		}
		for (size_t i = 0; i < COUNT; i += 1 + round % 2)
			free(blocks[(i * 7 + round) % COUNT]),
				blocks[(i * 7 + round) % COUNT] = NULL;
		for (size_t i = 0; i < COUNT; i++)
			free(blocks[i]);
	}
	for (size_t align = 16; align <= 4096; align *= 2) {
		void *block = aligned_alloc(align, align + 8);
		MUST((uintptr_t)block % align == 0);
		memset(block, 1, align + 8);
		free(block);
	}
}

int main(int argc, char **argv) {
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{"use_after_free", use_after_free},
		{"write_after_free", write_after_free},
		{"overflow", overflow},
		{"overflow_by_one", overflow_by_one},
		{"underflow", underflow},
		{"underflow_in_page", underflow_in_page},
		{"double_free", double_free},
		{"inside", inside},
		{"realloc_freed", realloc_freed},
		{"freed_by_thread", freed_by_thread},
		{"in_child", in_child},
		{"with_handler", with_handler},
		{"foreign_with_handler", foreign_with_handler},
		{"foreign", foreign},
		{"sent", sent},
		{"chain", chain},
		{"jump", jump},
		{"right", right},
	};
	for (unsigned i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			return 0;
		}
	fprintf(stderr, "usage: guarded CASE\n");
	return 2;
}
