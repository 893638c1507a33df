/* SPDX-License-Identifier: MIT
 * checker.cc CASE... -- uses gperftools' leak checker.  Prints a line for each case; the script
 * knows what it must be. */
#include <gperftools/heap-checker.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static_assert(sizeof(HeapLeakChecker) == 56, "the layout of gperftools 2.10 to 2.16");
static_assert(sizeof(HeapLeakChecker::Disabler) == 1, "as there");

#define NOINLINE __attribute__((noinline))

static void *volatile kept;
static void **volatile list;
static uintptr_t volatile hidden;
static void *volatile cleaned;
static struct {
	char first;
	void *pointer;
} __attribute__((packed)) volatile unaligned;

REGISTER_HEAPCHECK_CLEANUP(cleaned, free(cleaned))

/* Overwrites what earlier calls left below the stack pointer. */
static NOINLINE void scrub() {
	char bytes[16384];
	memset(bytes, 0, sizeof bytes);
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

static NOINLINE void lose(int count, int bytes) {
	for (int i = 0; i < count; i++) {
		char *volatile block = static_cast<char *>(malloc(bytes));
		memset(block, 0, bytes);
		block = NULL;
	}
}

/* A list of blocks, which only `list` leads to. */
static NOINLINE void make_list(int count) {
	for (int i = 0; i < count; i++) {
		void **block = static_cast<void **>(calloc(8, sizeof(void *)));
		block[0] = list;
		list = block;
	}
}

static void show(const char *name, HeapLeakChecker &checker) {
	scrub();
	bool none = checker.NoLeaks();
	printf("%s: %s", name, none ? "no leaks" : "leaks");
	if (HeapLeakChecker::IsActive())
		printf(", %zd bytes in %zd objects", checker.BytesLeaked(),
		       checker.ObjectsLeaked());
	printf("\n");
}

static void *lose_in_thread(void *unused) {
	lose(5, 48);
	scrub();
	return unused;
}

static NOINLINE void fill_unaligned() {
	unaligned.pointer = calloc(1, 80);
}

static NOINLINE void point_inside() {
	kept = static_cast<char *>(calloc(1, 8192)) + 5000;
}

static NOINLINE void hide() {
	hidden = ~reinterpret_cast<uintptr_t>(calloc(1, 96));
}

static NOINLINE void ignore() {
	hide();
	HeapLeakChecker::IgnoreObject(reinterpret_cast<void *>(~hidden));
}

static NOINLINE void ignore_list() {
	make_list(10);
	HeapLeakChecker::IgnoreObject(list);
	list = NULL;
}

static NOINLINE void run(const char *name) {
	HeapLeakChecker checker(name);
	if (strcmp(name, "lost") == 0)
		lose(3, 100);
	else if (strcmp(name, "list") == 0)
		make_list(10);
	else if (strcmp(name, "head") == 0) {
		make_list(10);
		list = NULL;
	} else if (strcmp(name, "disabled") == 0) {
		HeapLeakChecker::Disabler disabler;
		HeapLeakChecker::Disabler inner;
		lose(7, 100);
		make_list(10);
		list = NULL;
	} else if (strcmp(name, "ignored") == 0) {
		ignore();
		ignore_list();
	} else if (strcmp(name, "unignored") == 0) {
		ignore();
		HeapLeakChecker::UnIgnoreObject(reinterpret_cast<void *>(~hidden));
	} else if (strcmp(name, "hidden") == 0) {
		hide();
	} else if (strcmp(name, "unaligned") == 0) {
		fill_unaligned();
	} else if (strcmp(name, "inside") == 0) {
		point_inside();
	} else if (strcmp(name, "thread") == 0) {
		pthread_t thread;
		pthread_create(&thread, NULL, lose_in_thread, NULL);
		pthread_join(thread, NULL);
	} else if (strcmp(name, "cleaned") == 0) {
		cleaned = calloc(1, 300);
	}
	show(name, checker);
}

int main(int argc, char **argv) {
	printf("%s, %s\n", HeapLeakChecker::IsActive() ? "active" : "not active",
	       HeapLeakChecker::GlobalChecker() ? "a check at the end" : "no check at the end");
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "global") == 0) {
			scrub();
			printf("global: %s\n",
			       HeapLeakChecker::NoGlobalLeaks() ? "no leaks" : "leaks");
		} else if (strcmp(argv[i], "cancel") == 0)
			HeapLeakChecker::CancelGlobalCheck();
		else if (strcmp(argv[i], "fork") == 0) {
			fflush(stdout);
			pid_t child = fork();
			if (child == 0)
				exit(7);
			int status;
			waitpid(child, &status, 0);
			printf("child: status %d\n", WEXITSTATUS(status));
		} else
			run(argv[i]);
	}
	int secret = 42;
	HiddenPointer<int> pointer(&secret);
	if (*pointer.get() != 42)
		return 9;
	fflush(stdout);
	scrub();
	return 0;
}
