/* SPDX-License-Identifier: MIT
 * hooks.cc -- MallocHook calls the program's functions for each allocation and each free, also in
 * other threads, and for each mapping; GetStackTrace. */
#include <gperftools/malloc_hook.h>
#include <gperftools/stacktrace.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gperftools_test.h"

static std::atomic<int> news, deletes, seconds;
static std::atomic<size_t> bytes;
static const void *volatile last;
static void *stack[32];
static int depth;

static void on_new(const void *block, size_t size) {
	news++;
	bytes += size;
	last = block;
	/* Allocations of a hook call no hook. */
	free(malloc(10));
	depth = MallocHook::GetCallerStackTrace(stack, 32, 0);
}

static void on_delete(const void *block) {
	deletes++;
	last = block;
}

static void on_new_too(const void *, size_t) {
	seconds++;
}

static void *allocate(void *) {
	for (int i = 0; i < 1000; i++)
		free(malloc((size_t)i % 300));
	return nullptr;
}

static void check_counts() {
	CHECK(MallocHook::AddNewHook(on_new) && MallocHook::AddDeleteHook(on_delete));
	int before = news;
	void *volatile p = malloc(12345);
	CHECK(news == before + 1 && bytes >= 12345 && last == p);
	CHECK(depth > 0);
	char *start = (char *)check_counts, *pc = (char *)stack[0];
	CHECK(pc > start && pc < start + 2000);
	int freed = deletes;
	free(p);
	CHECK(deletes == freed + 1 && last == p);
	p = new int[10];
	CHECK(news == before + 2 && last == p);
	delete[](int *) p;
	CHECK(deletes == freed + 2);
	before = news, freed = deletes;
	pthread_t thread;
	CHECK(pthread_create(&thread, nullptr, allocate, nullptr) == 0);
	pthread_join(thread, nullptr);
	CHECK(news >= before + 1000 && deletes >= freed + 1000);
}

static void check_removal() {
	CHECK(MallocHook::AddNewHook(on_new_too));
	void *volatile p = malloc(1);
	CHECK(seconds == 1);
	CHECK(MallocHook::RemoveNewHook(on_new_too) && !MallocHook::RemoveNewHook(on_new_too));
	CHECK(MallocHook::RemoveNewHook(on_new) && MallocHook::RemoveDeleteHook(on_delete));
	int before = news + deletes + seconds;
	free(p);
	allocate(nullptr);
	CHECK(news + deletes + seconds == before);
	CHECK(MallocHook::SetNewHook(on_new) == nullptr);
	free(malloc(1));
	CHECK(news + deletes + seconds == before + 1);
	CHECK(MallocHook::SetNewHook(nullptr) == on_new);
	int added = 0;
	while (added < 100 && MallocHook::AddNewHook(on_new))
		added++;
	CHECK(added == 7);
	while (added-- > 0)
		CHECK(MallocHook::RemoveNewHook(on_new));
	CHECK(!MallocHook::AddNewHook(nullptr));
}

static int premaps, maps, unmaps, remaps, presbrks, sbrks;
static const void *mapped;

static void before_map(const void *, size_t size, int, int, int fd, off_t) {
	CHECK(size == 12288 && fd == -1);
	premaps++;
}

static void on_map(const void *result, const void *, size_t size, int protection, int flags, int fd,
		   off_t offset) {
	CHECK(size == 12288 && protection == PROT_READ && fd == -1 && offset == 0);
	CHECK(flags == (MAP_PRIVATE | MAP_ANONYMOUS) && premaps == maps + 1);
	mapped = result;
	maps++;
	/* Mappings of a hook call no hook. */
	void *own = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(own != MAP_FAILED && munmap(own, 4096) == 0);
}

static void on_unmap(const void *start, size_t size) {
	unsigned char there;
	CHECK(start == mapped && size == 8192);
	/* The hook runs before the call. */
	CHECK(mincore((void *)start, 4096, &there) == 0);
	unmaps++;
}

static void on_remap(const void *result, const void *old, size_t old_size, size_t new_size,
		     int flags, const void *) {
	CHECK(result == old && old == mapped && old_size == 12288 && new_size == 8192 &&
	      flags == 0);
	remaps++;
}

static void before_sbrk(ptrdiff_t increment) {
	CHECK(increment == 4096);
	presbrks++;
}

static void on_sbrk(const void *result, ptrdiff_t increment) {
	CHECK(result == (char *)sbrk(0) - 4096 && increment == 4096);
	sbrks++;
}

static void map_and_unmap() {
	void *p = mmap(nullptr, 12288, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED && mremap(p, 12288, 8192, 0) == p && munmap(p, 8192) == 0);
	CHECK(sbrk(4096) != (void *)-1);
}

static void check_mappings() {
	CHECK(MallocHook::AddPreMmapHook(before_map) && MallocHook::AddMmapHook(on_map));
	CHECK(MallocHook::SetMunmapHook(on_unmap) == nullptr &&
	      MallocHook::AddMremapHook(on_remap));
	CHECK(MallocHook::AddPreSbrkHook(before_sbrk) && MallocHook::AddSbrkHook(on_sbrk));
	map_and_unmap();
	CHECK(premaps == 1 && maps == 1 && unmaps == 1 && remaps == 1 && presbrks == 1 &&
	      sbrks == 1);
	CHECK(mmap(nullptr, 12288, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == mapped);
	void *p = MallocHook::UnhookedMMap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
					   -1, 0);
	CHECK(p != MAP_FAILED && MallocHook::UnhookedMUnmap(p, 4096) == 0);
	CHECK(maps == 2 && unmaps == 1);
	CHECK(MallocHook::RemovePreMmapHook(before_map) && MallocHook::RemoveMmapHook(on_map));
	CHECK(MallocHook::SetMunmapHook(nullptr) == on_unmap);
	CHECK(MallocHook::RemoveMremapHook(on_remap) && MallocHook::RemoveSbrkHook(on_sbrk));
	CHECK(MallocHook::RemovePreSbrkHook(before_sbrk));
	map_and_unmap();
	CHECK(premaps == 2 && maps == 2 && unmaps == 1 && remaps == 1 && presbrks == 1 &&
	      sbrks == 1);
}

static __attribute__((noinline)) int take_stack(void **result, int skip) {
	int count = GetStackTrace(result, 10, skip);
	__asm__ volatile("" ::: "memory");
	return count;
}

static void check_others() {
	void *pcs[10], *fewer[10];
	int sizes[10];
	int count = take_stack(pcs, 0), less = take_stack(fewer, 1);
	CHECK(count >= 3 && less == count - 1);
	char *start = (char *)take_stack, *pc = (char *)pcs[0];
	CHECK(pc > start && pc < start + 200);
	start = (char *)check_others, pc = (char *)fewer[0];
	CHECK(pc > start && pc < start + 2000);
	memset(sizes, 1, sizeof sizes);
	CHECK(GetStackFrames(pcs, sizes, 10, 0) >= 2 && sizes[0] == 0);
	CHECK(GetStackTraceWithContext(pcs, 2, 0, nullptr) == 2 && GetStackTrace(pcs, 0, 0) == 0);
	CHECK(GetStackTrace(pcs, 10, 10000) == 0);
}

int main() {
	check_counts();
	check_removal();
	check_mappings();
	check_others();
	return 0;
}
