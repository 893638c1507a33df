/* SPDX-License-Identifier: MIT
 * misuse.cc -- makes the mistake that its argument names. */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gperftools/malloc_extension.h>
#include <new>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline))

static char *volatile block;
static int *volatile array;

NOINLINE static void allocate_here() {
	block = (char *)malloc(100);
	array = new int[10];
}

NOINLINE static void free_here() {
	free(block);
	array = nullptr;
}

static void resize_in_pieces() {
	char *text = nullptr;
	for (size_t bytes = 1; bytes < 5000; bytes += 13) {
		text = (char *)realloc(text, bytes);
		memset(text, (int)(bytes % 250), bytes);
	}
	free(text);
}

/* No mistake: what a program may do, in many threads. */
static int do_nothing_wrong() {
	std::vector<std::thread> threads;
	for (int t = 0; t < 4; t++)
		threads.emplace_back([] {
			for (int i = 0; i < 200; i++) {
				int *number = new int(i);
				resize_in_pieces();
				delete number;
				if (i % 50 != 0)
					continue;
				pid_t child = fork();
				if (child == 0) {
					free(malloc(10));
					_exit(0);
				}
				int status;
				if (waitpid(child, &status, 0) != child || status != 0)
					abort();
			}
		});
	for (auto &thread : threads)
		thread.join();
	volatile size_t too_large = (size_t)1 << 62;
	try {
		array = new int[too_large / 4];
		return 1;
	} catch (const std::bad_alloc &) {
	}
	errno = 0;
	if (new (std::nothrow) char[too_large] || malloc(too_large) || errno != ENOMEM)
		return 2;
	struct alignas(256) wide {
		char bytes[300];
	} *wides = new wide[3];
	if ((size_t)wides % 256 != 0)
		return 3;
	delete[] wides;
	free(calloc(0, 0));
	free(nullptr);
	char *zeroed = (char *)calloc(10, 30);
	for (int i = 0; i < 300; i++)
		if (zeroed[i])
			return 4;
	/* Sizes that the program requested, as in gperftools. */
	if (MallocExtension::instance()->GetAllocatedSize(zeroed) != 300)
		return 5;
	free(zeroed);
	MallocExtension::instance()->VerifyAllMemory();
	return 0;
}

int main(int count, char **arguments) {
	const char *what = count > 1 ? arguments[1] : "nothing";
	if (strcmp(what, "nothing") == 0)
		return do_nothing_wrong();
	static char variable[64];
	allocate_here();
	if (strcmp(what, "malloc-delete") == 0)
		delete block;
	else if (strcmp(what, "new-free") == 0)
		free(array);
	else if (strcmp(what, "array-delete") == 0)
		delete array;
	else if (strcmp(what, "malloc-delete-array") == 0)
		delete[] block;
	else if (strcmp(what, "new-realloc") == 0)
		array = (int *)realloc(array, 100);
	else if (strcmp(what, "overrun") == 0) {
		memset(block, 1, 101);
		free(block);
	} else if (strcmp(what, "underrun") == 0) {
		block[-3] = 1;
		free(block);
	} else if (strcmp(what, "overrun-realloc") == 0) {
		block[104] = 0;
		block = (char *)realloc(block, 500);
	} else if (strcmp(what, "overrun-exit") == 0)
		block[100] = 0;
	else if (strcmp(what, "overrun-verify") == 0) {
		block[100] = 0;
		MallocExtension::instance()->VerifyAllMemory();
	} else if (strcmp(what, "verify-kind") == 0)
		MallocExtension::instance()->VerifyNewMemory(block);
	else if (strcmp(what, "foreign") == 0)
		free(variable + 16);
	else if (strcmp(what, "inside") == 0)
		free(block + 16);
	else if (strcmp(what, "double-free") == 0) {
		free_here();
		free(block);
	} else if (strcmp(what, "freed-realloc") == 0) {
		free_here();
		block = (char *)realloc(block, 300);
	} else if (strcmp(what, "wrong-size") == 0)
		::operator delete(::operator new(100), (std::size_t)300);
	else if (strcmp(what, "written-exit") == 0) {
		free_here();
		block[7] = 1;
	} else if (strcmp(what, "written-reused") == 0) {
		free_here();
		block[7] = 1;
		for (int i = 0; i < 1100; i++)
			free(malloc(10));
		_exit(3);
	} else if (strcmp(what, "fence-overrun") == 0)
		block[112] = 1;
	else if (strcmp(what, "fence-freed") == 0) {
		free_here();
		putchar(block[7]);
	} else if (strcmp(what, "fence-read") == 0) {
		if (block[112] != 0)
			return 4;
		block[112] = 1;
	} else
		return 5;
	return 0;
}
