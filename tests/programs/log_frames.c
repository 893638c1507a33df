/* SPDX-License-Identifier: MIT
 * log_frames.c -- every stack that prof_log writes is whole: it begins in the function that called
 * the library and leads to main().
 *
 * Each allocation function and each way to free is called from several depths, with requests that
 * fail and with reallocations between, while many allocations are sampled.  A walk that starts at
 * the frame of an earlier call gives a stack without frames, or another call's. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <jemalloc/jemalloc.h>

#include "programs.h"

enum { DEPTHS = 40, ROUNDS = 30 };
/* None of the heap's: the log stays as it was when it is read. */
#define LOG_BYTES ((size_t)256 << 20)

/* Weak: the program is linked without the library. */
#pragma weak mallctl
#pragma weak mallocx
#pragma weak rallocx
#pragma weak sdallocx
#pragma weak dallocx

static const size_t sizes[] = {1, 24, 200, 1000, 1009, 1024, 3000, 20000, 65000, 70000, 300000};
static uintptr_t return_into_main;
static void *volatile emptied;

/* The functions that call the library lie together, so that their frames are known. */
#define CALLER __attribute__((noinline, section("callers")))
extern const char __start_callers[], __stop_callers[];

static void *checked(void *block) {
	MUST(block != NULL);
	return block;
}

CALLER static void *allocate(unsigned way, size_t bytes, unsigned arena) {
	void *block = NULL;
	switch (way % 9) {
	case 0:
		return checked(malloc(bytes));
	case 1:
		return checked(calloc(3, bytes / 3 + 1));
	case 2:
		return checked(realloc(NULL, bytes));
	case 3:
		MUST(posix_memalign(&block, 64, bytes) == 0);
		return block;
	case 4:
		return checked(aligned_alloc(4096, bytes));
	case 5:
		return checked(mallocx(bytes, MALLOCX_ARENA(arena)));
	case 6:
		return checked(mallocx(bytes, MALLOCX_ARENA(arena) | MALLOCX_ZERO));
	case 7:
		return checked(mallocx(bytes, MALLOCX_ALIGN(128) | MALLOCX_ZERO));
	default:
		return checked(reallocarray(NULL, 1, bytes));
	}
}

/* Requests that no library can serve, each a way out of an allocation function. */
CALLER static void fail(unsigned way) {
	volatile size_t too_many = (size_t)PTRDIFF_MAX;
	void *block = NULL;
	switch (way % 7) {
	case 0:
		MUST(malloc(too_many) == NULL);
		break;
	case 1:
		MUST(calloc(too_many, 4 + way % 2) == NULL);
		break;
	case 2:
		MUST(calloc(1, too_many) == NULL);
		break;
	case 3:
		MUST(aligned_alloc(64, too_many) == NULL);
		break;
	case 4:
		MUST(posix_memalign(&block, 3, 8) != 0);
		break;
	case 5:
		MUST(mallocx(100, MALLOCX_ARENA(4000)) == NULL);
		break;
	default:
		block = checked(malloc(100));
		MUST(realloc(block, too_many) == NULL);
		free(block);
	}
}

CALLER static void release(unsigned way, void *block) {
	if (!block)
		return;
	if (way % 3 == 0)
		free(block);
	else if (way % 3 == 1)
		dallocx(block, 0);
	else
		emptied = realloc(block, 0);
	/* Not a jump into the library: that leaves no frame here. */
	__asm__ volatile("");
}

/* Above the sizes that the hardened library serves at once, and not always sampled. */
CALLER static void *clear(void) {
	return checked(calloc(1, 3000));
}

CALLER static void *grow(unsigned way, void *block, size_t bytes, unsigned arena) {
	return checked(way % 2 ? realloc(block, bytes)
			       : rallocx(block, bytes, MALLOCX_ARENA(arena)));
}

/* Frames of different sizes: what an earlier call left lies in the middle of a later one's. */
__attribute__((noinline)) static void descend(unsigned depth, unsigned round, unsigned arena) {
	static void *kept[DEPTHS];
	volatile char room[16 + 48 * (depth % 5)];
	room[0] = 1;
	unsigned way = depth * 7 + round;
	release(way, kept[depth]);
	kept[depth] = NULL;
	size_t bytes = sizes[(depth + round) % (sizeof sizes / sizeof *sizes)];
	void *block = allocate(way, bytes, arena);
	void *other = allocate(way + 4, bytes, arena);
	if (way % 5 == 0)
		fail(way / 5);
	void *cleared = clear();
	if (depth > 0)
		descend(depth - 1, round, arena);
	if (way % 4 == 1)
		block = grow(1, block, bytes * 2 + 100, arena);
	kept[depth] = block;
	release(way + 2, cleared);
	if (way % 4 == 2)
		other = grow(2, other, bytes * 3, arena);
	release(way + 1, other);
	MUST(room[0] == 1);
}

__attribute__((noinline)) static void work(unsigned arena) {
	return_into_main = (uintptr_t)__builtin_return_address(0);
	for (unsigned round = 0; round < ROUNDS; round++)
		descend((round * 11) % DEPTHS, round, arena);
}

static size_t read_log(const char *path, char *text) {
	FILE *file = fopen(path, "r");
	MUST(file != NULL);
	size_t length = fread(text, 1, LOG_BYTES - 1, file);
	fclose(file);
	return length;
}

/* One stack: a list of numbers in quotes, leaf first. */
static bool is_whole(const char *stack, const char *end) {
	char wanted[40];
	snprintf(wanted, sizeof wanted, "\"0x%lx\"", (unsigned long)return_into_main);
	uintptr_t leaf = stack[1] == '"' ? strtoul(stack + 2, NULL, 16) : 0;
	const char *found = strstr(stack, wanted);
	return leaf > (uintptr_t)__start_callers && leaf <= (uintptr_t)__stop_callers && found &&
	       found < end;
}

static void check_stacks(const char *text) {
	const char *at = strstr(text, "\"stack_traces\":[");
	MUST(at != NULL);
	at = strchr(at, '[') + 1;
	unsigned long count = 0, lacking = 0;
	while (*at == '[' || *at == ',') {
		at += *at == ',';
		const char *end = strchr(at, ']');
		MUST(end != NULL);
		lacking += !is_whole(at, end);
		count++;
		at = end + 1;
	}
	fprintf(stderr, "%lu stacks, %lu of them not whole\n", count, lacking);
	MUST(count > 300 && lacking == 0);
}

int main(void) {
	must_be_mallow();
	unsigned arena;
	size_t length = sizeof arena;
	MUST(mallctl("arenas.create", &arena, &length, NULL, 0) == 0);
	char path[64];
	const char *name = path;
	snprintf(path, sizeof path, "/tmp/mallow_log_frames.%d.json", getpid());
	MUST(mallctl("prof.log_start", NULL, NULL, &name, sizeof name) == 0);
	work(arena);
	MUST(mallctl("prof.log_stop", NULL, NULL, NULL, 0) == 0);
	char *text = mmap(NULL, LOG_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	MUST(text != MAP_FAILED);
	text[read_log(path, text)] = '\0';
	unlink(path);
	check_stacks(text);
	return 0;
}
