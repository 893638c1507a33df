/* SPDX-License-Identifier: MIT
 * extension.cc -- MallocExtension in C++ and in C.  With the argument "layout" it checks only which
 * function each place of the object's table of virtual functions has, and runs on any libtcmalloc.
 */
#include <gperftools/malloc_extension.h>
#include <gperftools/malloc_extension_c.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>

#include "gperftools_test.h"

static size_t get(const char *name) {
	size_t value = 12345;
	CHECK(MallocExtension::instance()->GetNumericProperty(name, &value));
	size_t again;
	CHECK(MallocExtension_GetNumericProperty(name, &again));
	return value;
}

/* 40 MiB make the heap grow, from one place; freed and allocated again, they do not. */
static __attribute__((noinline)) void grow_here() {
	for (int turn = 0; turn < 2; turn++) {
		void *blocks[40];
		for (void *&block : blocks)
			block = malloc(1 << 20);
		for (void *block : blocks)
			free(block);
	}
}

static void check_growth(MallocExtension *it) {
	grow_here();
	std::string text;
	it->GetHeapGrowthStacks(&text);
	CHECK(text.find("@ growth\n") != std::string::npos);
	CHECK(text.find("MAPPED_LIBRARIES") != std::string::npos);
	void **words = it->ReadHeapGrowthStackTraces();
	CHECK(words != nullptr);
	size_t all = 0;
	for (void **word = words; *word;) {
		all += (size_t)word[1];
		word += 3 + (size_t)word[2];
	}
	delete[] words;
	CHECK(all >= (38u << 20) && all < (60u << 20));
}

/* Functions whose results differ from each other: a wrong place in the table is seen. */
static void check_layout() {
	MallocExtension *it = MallocExtension::instance();
	CHECK(it != nullptr);
	void *p = malloc(1000);
	size_t usable = it->GetAllocatedSize(p);
	CHECK(usable >= 1000 && usable < 2000);
	size_t estimate = it->GetEstimatedAllocatedSize(1000);
	CHECK(estimate >= usable && estimate < 2000);
	CHECK(it->GetOwnership(p) == MallocExtension::kOwned);
	CHECK(it->GetOwnership((const void *)&check_layout) == MallocExtension::kNotOwned);
	it->SetMemoryReleaseRate(3.5);
	CHECK(it->GetMemoryReleaseRate() == 3.5);
	char text[8192];
	it->GetStats(text, sizeof text);
	CHECK(strstr(text, "Bytes in use by application") != nullptr);
	size_t value = 0;
	CHECK(it->GetNumericProperty("generic.current_allocated_bytes", &value) && value >= 1000);
	CHECK(!it->GetNumericProperty("no.such.property", &value));
	CHECK(it->SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", 1 << 20));
	CHECK(!it->SetNumericProperty("generic.heap_size", 1));
	int blocks = -1, histogram[kMallocHistogramSize];
	size_t total = 1;
	CHECK(it->MallocMemoryStats(&blocks, &total, histogram) && blocks >= 0);
	CHECK(it->VerifyAllMemory() && it->VerifyMallocMemory(p));
	std::string profile;
	it->GetHeapSample(&profile);
	check_growth(it);
	std::vector<MallocExtension::FreeListInfo> lists;
	it->GetFreeListSizes(&lists);
	CHECK(lists.size() > 10 && lists[0].max_object_size >= 8 && lists[0].type[0] != '\0');
	int period = -1;
	void **words = it->ReadStackTraces(&period);
	CHECK(words != nullptr && period != -1);
	delete[] words;
	int ranges = 0;
	it->Ranges(&ranges, [](void *context, const base::MallocRange *range) {
		CHECK(range->length > 0 && range->fraction >= 0 && range->fraction <= 1);
		++*(int *)context;
	});
	CHECK(ranges > 0);
	CHECK(it->GetThreadCacheSize() < (size_t)1 << 30);
	it->MarkThreadTemporarilyIdle();
	it->MarkThreadIdle();
	it->MarkThreadBusy();
	it->ReleaseToSystem(1 << 20);
	it->ReleaseFreeMemory();
	free(p);
}

static void check_release() {
	MallocExtension *it = MallocExtension::instance();
	it->SetMemoryReleaseRate(0);
	const size_t bytes = 32 << 20, each = 100000;
	static char *blocks[bytes / each];
	size_t before = get("generic.current_allocated_bytes");
	for (char *&block : blocks)
		memset(block = (char *)malloc(each), 1, each);
	CHECK(get("generic.current_allocated_bytes") >= before + bytes / each * each);
	CHECK(get("generic.heap_size") >= get("generic.current_allocated_bytes"));
	for (char *block : blocks)
		free(block);
	size_t kept = get("tcmalloc.pageheap_free_bytes");
	CHECK(kept > bytes / 2);
	CHECK(get("generic.current_allocated_bytes") < before + bytes / 10);
	it->ReleaseFreeMemory();
	CHECK(get("tcmalloc.pageheap_free_bytes") < kept / 10);
	CHECK(get("tcmalloc.pageheap_total_decommit_bytes") > bytes / 2);
	CHECK(get("generic.total_physical_bytes") < get("generic.heap_size") + (1 << 24));
	CHECK(it->SetNumericProperty("tcmalloc.aggressive_memory_decommit", 1));
	CHECK(get("tcmalloc.aggressive_memory_decommit") == 1);
	CHECK(it->SetNumericProperty("tcmalloc.aggressive_memory_decommit", 0));
	CHECK(get("tcmalloc.aggressive_memory_decommit") == 0);
}

static void check_limit() {
	MallocExtension *it = MallocExtension::instance();
	CHECK(get("tcmalloc.heap_limit_mb") == 0);
	CHECK(it->SetNumericProperty("tcmalloc.heap_limit_mb", 64));
	CHECK(get("tcmalloc.heap_limit_mb") == 64);
	void *volatile too_much = malloc(100 << 20);
	CHECK(too_much == nullptr);
	CHECK(it->SetNumericProperty("tcmalloc.heap_limit_mb", 0));
	too_much = malloc(100 << 20);
	CHECK(too_much != nullptr);
	free(too_much);
}

static void count(void *length, const char *, size_t more) {
	*(size_t *)length += more;
}

static void check_sample() {
	MallocExtension *it = MallocExtension::instance();
	CHECK(it->SetNumericProperty("tcmalloc.sample_parameter", 1));
	CHECK(get("tcmalloc.sample_parameter") == 1);
	void *volatile kept = malloc(7777);
	std::string profile;
	it->GetHeapSample(&profile);
	CHECK(profile.find("heap profile: ") == 0 && profile.find("@ heap_v2/1\n") < 80);
	CHECK(profile.find("1:     7777 [     1:     7777] @ 0x") != std::string::npos);
	CHECK(profile.find("\nMAPPED_LIBRARIES:\n") != std::string::npos);
	size_t length = 0;
	MallocExtension_GetHeapSample(count, &length);
	CHECK(length > 1000);
	int period;
	void **words = it->ReadStackTraces(&period);
	bool found = false;
	for (void **at = words; at[0] != nullptr; at += 3 + (size_t)at[2])
		found |= (size_t)at[0] == 1 && (size_t)at[1] == 7777 && (size_t)at[2] > 1;
	CHECK(found);
	delete[] words;
	CHECK(it->SetNumericProperty("tcmalloc.sample_parameter", 0));
	CHECK(get("tcmalloc.sample_parameter") == 0);
	free(kept);
}

static void *use_cache(void *) {
	for (int i = 0; i < 100; i++)
		free(malloc(3000));
	size_t before = MallocExtension_GetThreadCacheSize();
	MallocExtension_MarkThreadIdle();
	CHECK(before > 0 && MallocExtension_GetThreadCacheSize() < before);
	return nullptr;
}

/* A program's own extension, which inherits what it does not replace. */
class Counting : public MallocExtension {
      public:
	size_t GetAllocatedSize(const void *) override {
		return 42;
	}
};

class Source : public SysAllocator {
      public:
	void *Alloc(size_t, size_t *, size_t) override {
		return nullptr;
	}
};

static void check_classes() {
	MallocExtension *own = MallocExtension::instance();
	Counting counting;
	CHECK(dynamic_cast<Counting *>(own) == nullptr);
	MallocExtension::Register(&counting);
	CHECK(MallocExtension::instance()->GetAllocatedSize(nullptr) == 42);
	CHECK(MallocExtension::instance()->GetOwnership(&counting) == MallocExtension::kNotOwned);
	CHECK(dynamic_cast<Counting *>(MallocExtension::instance()) == &counting);
	MallocExtension::Register(own);
	Source source;
	own->SetSystemAllocator(&source);
	CHECK(own->GetSystemAllocator() == &source);
	MallocExtension::Initialize();
}

int main(int count_of_arguments, char **arguments) {
	if (count_of_arguments > 1 && strcmp(arguments[1], "limited") == 0)
		return malloc(100 << 20) != nullptr;
	check_layout();
	if (count_of_arguments > 1)
		return 0;
	check_release();
	check_limit();
	check_sample();
	pthread_t thread;
	CHECK(pthread_create(&thread, nullptr, use_cache, nullptr) == 0);
	pthread_join(thread, nullptr);
	check_classes();
	char small[20];
	MallocExtension_GetStats(small, sizeof small);
	CHECK(strlen(small) == sizeof small - 1);
	return 0;
}
